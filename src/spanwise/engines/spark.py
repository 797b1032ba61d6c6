"""Engines on Apache Spark, whose executors run blocks of files, or blocks of a frame where its data are."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from io import BytesIO
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar
from uuid import uuid4

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Column
from spanwise.errors import ChoiceError, InputError, MissingExtra, SpanwiseError, WorkerLost

if TYPE_CHECKING:
    from pyarrow import Table
    from pyspark import RDD, Broadcast, SparkContext
    from pyspark.sql import DataFrame, Row, SparkSession

ROUNDS = 2  # blocks per core in the first job; later jobs are larger, up to MOST blocks
MOST = 4096
LEXICON = 1 << 30
LONG = 256  # the fewest values of a column for which narrower integers are worth looking for
NARROW = [np.iinfo(kind) for kind in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32)]
RETURNED = 1 << 28  # about how many bytes a job may return: Spark refuses more than 1 GB by default
ATTEMPTS = 4  # per task if Spark runs on this machine only; on a cluster, Spark's own setting applies
# Java has little to do here, and rarely for long: its optimising compiler would cost more than it saves.
LOCAL_JAVA = "-XX:TieredStopAtLevel=1"

Block = TypeVar("Block")
Shared = TypeVar("Shared")
Outcome = TypeVar("Outcome")


class SparkEngine(Struct, frozen=True, eq=False):
    """Runs blocks as tasks of a Spark session.

    Blocks are sent in jobs of growing size: the results of each job show how many blocks the next may
    have, and the driver never holds more than one job's results. `shared` is broadcast once. Spark repeats
    the tasks of a lost executor; an error that a block raises comes back as a value and is raised here.
    """

    session: SparkSession
    partitions: int | None = None  # per job; by default one per block
    lexicon: int = LEXICON  # about how many bytes of training facts may be broadcast at once

    @property
    def elsewhere(self) -> bool:
        """True: blocks leave this machine's memory, so they should be references rather than data."""
        return True

    def map(
        self, function: Callable[[Block, Shared], Outcome], blocks: Iterable[Block], shared: Shared
    ) -> Iterator[Outcome]:
        """Yield `function(block, shared)` for each block, in the order of the blocks."""
        context = self.session.sparkContext
        waiting = iter(blocks)
        size = ROUNDS * int(context.defaultParallelism)
        sent: Broadcast | None = None
        while job := [packed(block) for block in islice(waiting, size)]:
            if sent is None:
                sent = context.broadcast(Sent.of(shared))
            slices = min(len(job), self.partitions or len(job))
            rows = context.parallelize(job, slices).mapPartitions(partial(_results, function, sent))
            results = collected(context, rows.collect)
            size = _next_size(size, results)
            yield from map(outcome_of, results)
        if sent is not None:
            sent.destroy()  # after an error, Spark does this itself once the last task has ended

    def rows(
        self, function: Callable[[Block, Shared], Iterable[tuple[object, ...]]], blocks: Iterable[Block],
        shared: Shared, schema: str,
    ) -> DataFrame:  # fmt: skip
        """Return a frame of the rows that `function(block, shared)` yields on executors for each block."""
        context = self.session.sparkContext
        job = [packed(block) for block in blocks]
        sent = context.broadcast(Sent.of(shared))
        slices = min(len(job), self.partitions or len(job))
        rows = context.parallelize(job, slices).mapPartitions(partial(_rows_of_blocks, function, sent))
        return self.session.createDataFrame(rows, schema)


class Sent(Struct, frozen=True, eq=False):
    """A value pickled with cloudpickle, which can also pickle functions of a user's own script."""

    data: bytes

    @classmethod
    def of(cls, value: object) -> Sent:
        """Pack a value."""
        return cls(packed(value))

    def __reduce__(self) -> tuple[Callable[[bytes], object], tuple[bytes]]:
        return unpacked, (self.data,)  # so that a worker unpacks a broadcast once, not once per task


def answers(context: SparkContext, job: Callable[[], Sequence[bytes]]) -> Iterator[Any]:
    """Run one job and yield its results; the first error among them is raised."""
    yield from map(outcome_of, collected(context, job))


def _next_size(size: int, results: Sequence[bytes]) -> int:
    """The number of blocks in the next job: twice as many, unless their results would be too large."""
    largest = max(map(len, results), default=1)
    return max(1, min(2 * size, MOST, RETURNED // max(largest, 1)))


def collected(context: SparkContext, job: Callable[[], Sequence[bytes]]) -> Sequence[bytes]:
    """Run one job and return its results; an interrupt cancels the job.

    A separate thread waits for Spark, so that this one can receive the interrupt and cancel the job.
    """
    from concurrent.futures import ThreadPoolExecutor

    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    tag = f"spanwise-{uuid4()}"

    def tagged() -> Sequence[bytes]:
        context.addJobTag(tag)
        return job()

    with ThreadPoolExecutor(1) as waiting:
        try:
            return waiting.submit(tagged).result()
        except (Py4JError, PySparkException) as error:
            failed = _failed(_cause(error))
            raise failed from None
        except BaseException:
            context.cancelJobsWithTag(tag)
            raise


def _failed(cause: str) -> SpanwiseError:
    """The error for a job that Spark could not run, given the most informative line of its message."""
    if missing := re.match(r"(?:ModuleNotFound|Import)Error: .*?'([\w.]+)'", cause):
        return MissingExtra(
            f"the executors of Spark cannot import {missing[1].partition('.')[0]!r}.\n"
            "Install spanwise in the Python that they run, which PYSPARK_PYTHON names."
        )
    if unseen := re.match(
        r"(?:FileNotFound|Permission|NotADirectory)Error: \[Errno \d+\] .*?: '(.+)'", cause
    ):
        return InputError(
            f"{unseen[1]}: the executors of Spark cannot open this file.\n"
            "Put it where every machine can read it, such as a shared folder, or give an address (hdfs://…)."
        )
    return WorkerLost(
        f"Spark failed to run a job: {cause}.\n"
        "Look into the executors' logs; where memory ran out, use smaller parts with memory=."
    )


def outcome_of(row: bytes) -> object:
    """Unpack what `answer` packed: return the result of a block, or raise its error."""
    failed, outcome = unpacked(row)
    if failed:
        raise outcome
    return outcome


def answer(function: Callable[..., object], block: object, shared: object) -> bytes:
    """Run one block on a worker and pack its result, or its error, which Spark should not retry."""
    try:
        return packed((False, function(block, shared)))
    except (OSError, MemoryError):
        raise  # another attempt, or another executor, may succeed
    except Exception as error:
        return packed((True, error))


def _results(function: Callable[..., object], sent: Broadcast, rows: Iterable[bytes]) -> Iterator[bytes]:
    for row in rows:
        yield answer(function, unpacked(row), sent.value)


def _rows_of_blocks(
    function: Callable[..., Iterable[object]], sent: Broadcast, rows: Iterable[bytes]
) -> Iterator[object]:
    for row in rows:
        yield from function(unpacked(row), sent.value)


def packed(value: object) -> bytes:
    """Pickle a value with cloudpickle, which can also pickle functions of a user's own script.

    Integer columns are stored in the narrowest type that holds them: most counts and codes are small.
    """
    data = BytesIO()
    _pickler()(data).dump(value)
    return data.getvalue()


@cache
def _pickler() -> Callable[[BytesIO], Any]:
    from pyspark.cloudpickle import CloudPickler

    table = CloudPickler.dispatch_table.new_child({np.ndarray: _narrowed})
    return type("Pickler", (CloudPickler,), {"dispatch_table": table})


def _narrowed(column: Column) -> str | tuple[object, ...]:
    if column.dtype.kind in "iu" and column.size >= LONG:
        least, most = int(column.min()), int(column.max())
        for narrow in NARROW:
            if narrow.bits // 8 >= column.dtype.itemsize:
                break
            if narrow.min <= least and most <= narrow.max:
                return _widened, (column.astype(narrow.dtype), column.dtype)
    return column.__reduce_ex__(5)


def _widened(column: Column, kind: npt.DTypeLike) -> Column:
    return column.astype(kind)


def unpacked(data: bytes) -> Any:
    """Unpickle a value that `packed` returned."""
    from pyspark import cloudpickle

    return cloudpickle.loads(data)


def _cause(error: Exception) -> str:
    """The most informative line of an error message of Java or Python."""
    lines = [line.strip() for line in str(error).splitlines()]
    python = [line for line in lines if re.match(r"[\w.]+(Error|Exception): ", line)]
    failed = [line for line in lines if "stage failure" in line or "cancelled" in line]
    cause = (python or failed or lines or [type(error).__name__])[0]
    return cause.removeprefix("org.apache.spark.SparkException: ").rstrip(".:")[:300]


def spark_session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Return a Spark session on a master, by default on all cores of this machine.

    Raises:
        MissingExtra: PySpark or Java is missing.
    """
    if not _has_java():
        raise _no_java()
    try:
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra.of("pyspark", "spark", "the engine spark") from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("spanwise").master(_master(master))
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    settings |= {"spark.log.level": "ERROR"}
    if _master(master).startswith("local["):
        settings["spark.driver.defaultJavaOptions"] = LOCAL_JAVA
    settings |= conf or {}
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError:  # java exists, but did not start Spark
        trouble: Exception = _no_java()
    except Exception as error:
        trouble = ChoiceError(
            f"Spark did not start on the master {_master(master)!r}: {_cause(error)}.\n"
            "Give a master such as local[2] or spark://host:7077."
        )
    raise trouble


def _master(master: str | None) -> str:
    """The master; a local one with several attempts per task, as Spark makes only one there by default."""
    local = re.fullmatch(r"local(?:\[(\*|\d+)\])?", master or "local[*]")
    return str(master) if local is None else f"local[{local[1] or 1},{ATTEMPTS}]"


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is not None


def _no_java() -> MissingExtra:
    return MissingExtra(
        "the engine spark needs Java 17 or later, which was not found.\n"
        "Install it (on Debian and Ubuntu: apt install openjdk-17-jre-headless), or set JAVA_HOME."
    )


ROWS = 10_000  # per block, unless a document is longer


class Packed(Struct, frozen=True, eq=False):
    """A frame whose rows were packed into blocks, each a table in Arrow's stream format.

    No document is split across blocks, provided that equal values of a column `document` are adjacent.
    """

    frame: DataFrame  # one row per block
    rows: RDD  # the same rows as an RDD

    @classmethod
    def of(cls, frame: DataFrame) -> Packed:
        """Pack the rows of a frame into blocks, which the executors keep until `free` is called."""
        blocks = frame.mapInArrow(_blocks, "data binary").persist()
        return cls(blocks, blocks.rdd)

    def free(self) -> None:
        """Let the executors drop the blocks."""
        self.frame.unpersist()

    def first(self) -> bytes:
        """The data of the first block."""
        return bytes(self.rows.first()[0])

    def each(self, function: Callable[[bytes, Shared], Outcome], shared: Shared) -> list[list[Outcome]]:
        """Return `function(data, shared)` of every block, in order, as one list per partition."""
        context = self.frame.sparkSession.sparkContext
        sent = context.broadcast(Sent.of(shared))
        job = self.rows.mapPartitionsWithIndex(partial(_results_of_all, function, sent))
        outcomes: list[list[Outcome]] = [[] for _ in range(self.rows.getNumPartitions())]
        for partition, outcome in answers(context, job.collect):
            outcomes[partition].append(outcome)
        sent.destroy()
        return outcomes


class HeldBlock(Protocol):
    """A block whose data the executors hold."""

    @property
    def number(self) -> int: ...
    def with_data(self, data: bytes) -> Self: ...


Held = TypeVar("Held", bound=HeldBlock)


class FrameEngine(Struct, frozen=True, eq=False):
    """Runs functions over the blocks of a packed frame, on the executors that hold them.

    A block is identified by its `number`; the executor adds its data by `with_data`.
    """

    packed: Packed
    sizes: Sequence[int]  # the number of blocks in each partition

    @property
    def elsewhere(self) -> bool:
        """True: executors hold the blocks."""
        return True

    def _begins(self) -> list[int]:
        """The number of the first block of each partition, followed by the number of all blocks."""
        return [0, *accumulate(self.sizes)]

    def rows(
        self, function: Callable[[Held, Shared], Iterable[tuple[object, ...]]], blocks: Iterable[Held],
        shared: Shared, schema: str,
    ) -> DataFrame:  # fmt: skip
        """Return a frame of the rows that `function(block, shared)` yields on executors for each block.

        The blocks must not be freed before the frame is written.
        """
        session = self.packed.frame.sparkSession
        sent = session.sparkContext.broadcast(Sent.of(({block.number: block for block in blocks}, shared)))
        job = partial(_rows_of_partition, function, sent, self._begins())
        return session.createDataFrame(self.packed.rows.mapPartitionsWithIndex(job), schema)

    def map(
        self, function: Callable[[Any, Shared], Outcome], blocks: Iterable[Any], shared: Shared
    ) -> Iterator[Outcome]:
        """Yield `function(block, shared)` for each block, in the order of the blocks."""
        context = self.packed.frame.sparkSession.sparkContext
        begins = self._begins()
        positions = {
            begin + number: (partition, number)
            for partition, (begin, size) in enumerate(zip(begins, self.sizes, strict=False))
            for number in range(size)
        }
        waiting, size = iter(blocks), ROUNDS * int(context.defaultParallelism)
        sent: Broadcast | None = None
        while job := list(islice(waiting, size)):
            if sent is None:
                sent = context.broadcast(Sent.of(shared))
            selected = {positions[block.number]: block for block in job}
            rows = self.packed.rows.mapPartitionsWithIndex(
                partial(_results_of_some, function, sent, selected)
            )
            partitions = list(dict.fromkeys(partition for partition, _ in selected))
            results = collected(context, partial(context.runJob, rows, _identity, partitions))
            size = _next_size(size, results)
            yield from map(outcome_of, results)
        if sent is not None:
            sent.destroy()


def _rows_of_partition(
    function: Callable[..., Iterable[object]],
    sent: Broadcast,
    begins: Sequence[int],
    partition: int,
    rows: Iterable[Row],
) -> Iterator[object]:
    blocks, shared = sent.value
    for number, row in enumerate(rows, start=begins[partition]):
        if number in blocks:
            yield from function(blocks[number].with_data(bytes(row[0])), shared)


def _results_of_some(
    function: Callable[..., object],
    sent: Broadcast,
    selected: Mapping[tuple[int, int], HeldBlock],
    partition: int,
    rows: Iterable[Row],
) -> Iterator[bytes]:
    for number, row in enumerate(rows):
        if (block := selected.get((partition, number))) is not None:
            yield answer(function, block.with_data(bytes(row[0])), sent.value)


def _results_of_all(
    function: Callable[..., object], sent: Broadcast, partition: int, rows: Iterable[Row]
) -> Iterator[bytes]:
    def numbered(data: bytes, shared: object) -> tuple[int, object]:
        return partition, function(data, shared)

    for row in rows:
        yield answer(numbered, bytes(row[0]), sent.value)


def _identity(rows: Iterable[bytes]) -> Iterable[bytes]:
    return rows


def _blocks(batches: Iterable[object]) -> Iterator[object]:
    """Split the rows of one partition into blocks of whole documents."""
    import pyarrow

    rows: Table | None = None
    for batch in batches:
        batch_rows = pyarrow.Table.from_batches([batch])
        rows = batch_rows if rows is None else pyarrow.concat_tables([rows, batch_rows])
        if len(rows) >= ROWS and (cut := _last_cut(rows)):
            yield _row(rows.slice(0, cut))
            rows = rows.slice(cut)
    if rows is not None and len(rows):
        yield _row(rows)


def _last_cut(table: Table) -> int:
    """The row where the last document begins; the number of rows if documents are not marked."""
    if "document" not in table.column_names:
        return len(table)
    names = table.column("document").to_pylist()
    return next((i for i in range(len(names) - 1, 0, -1) if names[i] != names[i - 1]), 0)


def _row(table: object) -> object:
    import pyarrow

    return pyarrow.RecordBatch.from_pydict({"data": [table_bytes(table)]})


def table_bytes(table: Table) -> bytes:
    """Serialise a table in Arrow's stream format."""
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data
