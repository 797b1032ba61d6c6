"""Open frames, folders, patterns and addresses as blocks that Spark reads; imported only when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Ints, ints
from spanwise.corpus import Annotation, Corpus
from spanwise.document import Input
from spanwise.engines import Joining, engine_of, most_shared
from spanwise.engines.spark import FrameEngine, Sent, SparkEngine, answer, answers, packed, unpacked
from spanwise.evaluation.blocks import (
    BlockSums,
    Progress,
    ReadLabels,
    TrainingData,
    TrainingFiles,
    learn_facts,
    units_of,
)
from spanwise.evaluation.dataset import OpenedSources, UnopenedSources, prepare_source
from spanwise.evaluation.frames import (
    FrameBlocks,
    FrameColumns,
    TrainingFrame,
    columns_of,
    is_frame,
    joined_frames,
    open_frame,
)
from spanwise.evaluation.lake import (
    Lake,
    LakeBlocks,
    any_in_lake,
    in_lake,
    lake_blocks,
    open_lake,
    shown_path,
)
from spanwise.formats import listed_sources

if TYPE_CHECKING:
    from pyspark import RDD, Broadcast, SparkContext
    from pyspark.sql import DataFrame, Row

__all__ = ["any_in_lake", "open_with_spark", "resolve_frame"]

T = TypeVar("T")
Shared = TypeVar("Shared")
Outcome = TypeVar("Outcome")

ROLES = ("tokens", "document", "sentence")  # of the columns of a frame, besides gold and systems


def resolve_frame(
    source: object, gold: Any, systems: object, reading: dict[str, Any]
) -> tuple[object, object, FrameColumns | None]:
    """A frame, its systems and its columns, which are taken out of `reading`; other sources have none."""
    if not is_frame(source):
        return source, systems, None
    named = {key: reading.pop(key, None) for key in ROLES}
    frame, systems = joined_frames(source, gold, systems, named["sentence"])
    return frame, systems, columns_of(frame, gold, systems, named)


def open_with_spark(sources: UnopenedSources, progress: Progress) -> OpenedSources | None:
    """Open a frame, or files that Spark reads, as blocks; None if this machine reads the files."""
    if sources.columns is not None:
        return _open_frame_blocks(cast("DataFrame", sources.gold), sources.columns, sources, progress)
    if isinstance(sources.engine, SparkEngine) and any_in_lake(sources.gold, sources.systems, sources.train):
        return _open_lake_files(sources, sources.engine, progress)
    return None


def _open_lake_files(sources: UnopenedSources, engine: SparkEngine, progress: Progress) -> OpenedSources:
    """Open files that Spark reads."""
    progress("read", 0, 1)
    choices = sources.choices
    source, frame_engine = lake_blocks(
        engine.session,
        sources.gold,
        sources.systems,
        choices,
        name=sources.name,
        partitions=engine.partitions,
    )
    choices.check_systems(list(source.systems))
    return _with_training(source, frame_engine, sources, engine, progress)


def _open_frame_blocks(
    frame: DataFrame, columns: FrameColumns, sources: UnopenedSources, progress: Progress
) -> OpenedSources:
    """Open a Spark frame."""
    engine, choices = sources.engine or engine_of(frame.sparkSession), sources.choices
    if not isinstance(engine, SparkEngine):
        engine = SparkEngine(frame.sparkSession)
    choices.check_systems(list(columns.systems))
    progress("read", 0, 1)
    source, frame_engine = open_frame(
        frame, columns, choices, name=sources.name or "frame", partitions=engine.partitions
    )
    return _with_training(source, frame_engine, sources, engine, progress)


def _with_training(
    source: FrameBlocks | LakeBlocks,
    frame_engine: FrameEngine,
    sources: UnopenedSources,
    engine: SparkEngine,
    progress: Progress,
) -> OpenedSources:
    """Add the training facts to blocks that the executors hold."""
    choices = sources.choices
    frees = [frame_engine.packed.free]
    try:
        train = _training(sources, engine)
        if train is not None:
            frees.append(train.free)
        training = learn_facts(
            source, train, lowercase=choices.lowercase, engine=frame_engine, bound=most_shared(engine)
        )
        (source.read_labels | ReadLabels(training.labels)).check(choices.reading)
        progress("read", 1, 1)
        if train is not None and not sources.alone:
            frees.pop()()
        opened = prepare_source(source, choices, training, frame_engine, free=partial(_free, frees))
    except BaseException:
        _free(frees)
        raise
    return replace(opened, train=train) if sources.alone else opened


def _free(frees: Sequence[Callable[[], None]]) -> None:
    for free in frees:
        free()


def _training(unopened: UnopenedSources, engine: SparkEngine) -> TrainingData | None:
    """Open training data: a frame, files that Spark reads, or files of this machine."""
    train, choices = unopened.train, unopened.choices
    if unopened.columns is not None and is_frame(train):
        source, frame_engine = open_frame(
            train, unopened.columns.of_training(), choices, name="train", partitions=engine.partitions
        )
        return TrainingData(TrainingFrame(source), frame_engine, frame_engine.packed.free)
    sources = listed_sources(train)
    if not sources:
        return None
    if unopened.columns is not None and not any(map(in_lake, sources)):
        files = TrainingFiles.of(train, choices.reading, keep=False, documents=unopened.alone)
        return TrainingData(files, engine)
    reading = choices.reading if unopened.alone else {**choices.reading, "documents": "none"}
    lakes = [open_lake(engine.session, source, reading) for source in sources]
    contents = tuple(rows for _, rows in lakes)
    return TrainingData(
        LakeTraining(tuple(lake for lake, _ in lakes)), LakeFileEngine(engine.session.sparkContext, contents)
    )


# ---- training files that Spark reads -------------------------------------------------------------


class LakeTraining(Struct, frozen=True, eq=False):
    """Training files as a `TrainingSource`; a reference is the number of a source, a path and its content."""

    lakes: tuple[Lake, ...]

    def references(self) -> Iterator[tuple[int, str, bytes]]:
        """Yield nothing: the executors hold the files."""
        return iter(())

    @property
    def sources(self) -> int:
        """The number of files, folders and patterns."""
        return len(self.lakes)

    @property
    def marked(self) -> bool:
        """Whether each of them marks at least two documents."""
        return all(lake.documents is not None and len(lake.documents) > 1 for lake in self.lakes)

    def read(self, reference: tuple[int, str, bytes]) -> tuple[int, Annotation]:
        """Read a file; return the number of its source, and its annotation."""
        number, path, data = reference
        return number, self.lakes[number].read(path, data)

    def first(self, reference: tuple[int, str, bytes]) -> int:
        """The number of a file's first sentence, counted over all sources."""
        number, path, _ = reference
        lake = self.lakes[number]
        index = [file.path for file in lake.files].index(path)
        return lake.begins[index] + self._before(number)

    def _before(self, number: int) -> int:
        """The number of sentences in the sources before this one."""
        return sum(lake.sentences for lake in self.lakes[:number])

    def units(self, reference: tuple[int, str, bytes], corpus: Corpus) -> Ints:
        """The unit of each sentence of a file, by the number of its first sentence."""
        number = reference[0]
        documents = self.lakes[number].documents if self.marked else None
        starts = None if documents is None else ints(documents + self._before(number))
        return units_of(self.first(reference), len(corpus), starts)

    def entries(self, sums: Mapping[int, BlockSums]) -> list[Input]:
        """The entries of the sources in `inputs` of the document."""
        return [lake.entry("train", sums[number]) for number, lake in enumerate(self.lakes)]


class LakeFileEngine(Struct, frozen=True, eq=False):
    """Runs a function over training files on the executors; the results of each partition are joined."""

    context: SparkContext
    contents: tuple[RDD, ...]  # by source

    @property
    def elsewhere(self) -> bool:
        """True: executors read the files."""
        return True

    def map(
        self, function: Callable[[T, Shared], Outcome], blocks: Iterable[T], shared: Shared
    ) -> Iterator[Outcome]:
        """Yield the joined results of each partition; `blocks` is not used, as the blocks are the files."""
        sent = self.context.broadcast(Sent.of(shared))
        results = self.context.union([
            rows.mapPartitions(partial(_joined_results, function, number, sent))
            for number, rows in enumerate(self.contents)
        ])  # fmt: skip
        yield from answers(self.context, results.collect)
        sent.destroy()


def _joined_results(
    function: Callable[..., object], number: int, sent: Broadcast, rows: Iterable[Row]
) -> Iterator[bytes]:
    """Join the results of all files in a partition; if one fails, yield its error instead."""
    joining: Joining[object] | None = None
    for row in rows:
        reference = (number, shown_path(row["path"]), bytes(row["content"]))
        packed_answer = answer(function, reference, sent.value)
        failed, outcome = unpacked(packed_answer)
        if failed:
            yield packed_answer
            return
        joining = joining or Joining(type(outcome).joined)
        joining.add(outcome)
    if joining is not None:
        yield packed((False, joining.total()))
