"""Blocks that lie in a Spark frame: they stay with the executors, and only results come to the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, islice
from typing import Any, TypeVar

from msgspec import Struct

from spanwise.engines.spark import MOST, ROUNDS, Sent, answer, answers

ROWS = 10_000  # of a block, unless its documents are longer

Shared = TypeVar("Shared")
Outcome = TypeVar("Outcome")


class Packed(Struct, frozen=True, eq=False):
    """A frame whose rows were packed into blocks, each a table in Arrow's stream format.

    With a column `document` no document is cut in two, as its rows must stand side by side in a partition.
    """

    frame: Any  # a row is a block
    rows: Any  # the same as an RDD

    @classmethod
    def of(cls, frame: Any) -> Packed:
        """Pack the rows of a frame; the blocks are kept by the executors until `free`."""
        blocks = frame.mapInArrow(_blocks, "data binary").persist()
        return cls(blocks, blocks.rdd)

    def free(self) -> None:
        """Let the executors forget the blocks."""
        self.frame.unpersist()

    def first(self) -> bytes:
        """The data of the first block."""
        return bytes(self.rows.first()[0])

    def each(self, function: Callable[[bytes, Shared], Outcome], shared: Shared) -> list[list[Outcome]]:
        """`function(data, shared)` of every block, by partition, in order."""
        context = self.frame.sparkSession.sparkContext
        sent = context.broadcast(Sent.of(shared))
        job = self.rows.mapPartitionsWithIndex(partial(_of_every, function, sent))
        found: list[list[Outcome]] = [[] for _ in range(self.rows.getNumPartitions())]
        for partition, outcome in answers(context, job.collect):
            found[partition].append(outcome)
        sent.destroy()
        return found


class FrameEngine(Struct, frozen=True, eq=False):
    """Runs functions over the blocks of a packed frame, of which so many lie in each partition.

    A block is known by its `number` and gets its data, with `with_data`, where they are.
    """

    packed: Packed
    sizes: Sequence[int]

    @property
    def elsewhere(self) -> bool:
        """Blocks are with the executors."""
        return True

    def map(
        self, function: Callable[[Any, Shared], Outcome], blocks: Iterable[Any], shared: Shared
    ) -> Iterator[Outcome]:
        """`function(block, shared)` for each block, in the order of the blocks."""
        context = self.packed.frame.sparkSession.sparkContext
        begins = [0, *accumulate(self.sizes)]
        place = {
            begin + number: (partition, number)
            for partition, (begin, size) in enumerate(zip(begins, self.sizes, strict=False))
            for number in range(size)
        }
        waiting, size = iter(blocks), ROUNDS * int(context.defaultParallelism)
        sent: Any = None
        while some := list(islice(waiting, size)):
            if sent is None:
                sent = context.broadcast(Sent.of(shared))
            wanted = {place[block.number]: block for block in some}
            rows = self.packed.rows.mapPartitionsWithIndex(partial(_of_some, function, sent, wanted))
            partitions = list(dict.fromkeys(partition for partition, _ in wanted))
            yield from answers(context, partial(context.runJob, rows, _as_they_are, partitions))
            size = min(2 * size, MOST)
        if sent is not None:
            sent.destroy()


def _of_some(
    function: Callable[[Any, Any], Any],
    sent: Any,
    wanted: Mapping[tuple[int, int], Any],
    partition: int,
    rows: Iterable[Any],
) -> Iterator[bytes]:
    for number, row in enumerate(rows):
        if (block := wanted.get((partition, number))) is not None:
            yield answer(function, block.with_data(bytes(row[0])), sent.value)


def _of_every(
    function: Callable[[Any, Any], Any], sent: Any, partition: int, rows: Iterable[Any]
) -> Iterator[bytes]:
    def numbered(data: bytes, shared: Any) -> tuple[int, Any]:
        return partition, function(data, shared)

    for row in rows:
        yield answer(numbered, bytes(row[0]), sent.value)


def _as_they_are(rows: Iterable[bytes]) -> Iterable[bytes]:
    return rows


def _blocks(batches: Iterable[Any]) -> Iterator[Any]:
    """The rows of one partition as blocks of whole documents."""
    import pyarrow

    held: Any = None
    for batch in batches:
        more = pyarrow.Table.from_batches([batch])
        held = more if held is None else pyarrow.concat_tables([held, more])
        if len(held) >= ROWS and (cut := _last_cut(held)):
            yield _row(held.slice(0, cut))
            held = held.slice(cut)
    if held is not None and len(held):
        yield _row(held)


def _last_cut(table: Any) -> int:
    """Before which row a document begins, seen from the end; all rows where there are no documents."""
    if "document" not in table.column_names:
        return len(table)
    names = table.column("document").to_pylist()
    return next((i for i in range(len(names) - 1, 0, -1) if names[i] != names[i - 1]), 0)


def _row(table: Any) -> Any:
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return pyarrow.RecordBatch.from_pydict({"data": [sink.getvalue().to_pybytes()]})
