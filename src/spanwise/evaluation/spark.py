"""Frames, folders, patterns and addresses that Spark reads, opened as blocks; found by name when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct

from spanwise.corpus import Annotation
from spanwise.engines import engine_of, most_shared
from spanwise.engines.spark import FrameEngine, Sent, SparkEngine, answer, answers, packed, unpacked
from spanwise.errors import InputError
from spanwise.evaluation._blocks import (
    BlockSums,
    Joining,
    Progress,
    TrainingAnswer,
    TrainingFacts,
    TrainingFiles,
    learnt,
)
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._dataset import Opened, Unopened, learnt_here, opened_with
from spanwise.evaluation._frames import (
    FrameColumns,
    columns_of,
    frame_training,
    is_frame,
    joined_frames,
    opened_frame,
)
from spanwise.evaluation._lake import Lake, LakeBlocks, any_in_lake, lake_blocks, opened_lake, shown_path
from spanwise.formats import listed_sources

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["LakeTraining", "WhereFilesLie", "any_in_lake", "framed", "spark_opened"]

T = TypeVar("T")
Shared = TypeVar("Shared")
Outcome = TypeVar("Outcome")

ROLES = ("tokens", "document", "sentence")  # of the columns of a frame, beside gold and systems


def framed(
    source: object, gold: Any, systems: object, reading: dict[str, Any]
) -> tuple[object, object, FrameColumns | None]:
    """A frame, its systems and its columns, whose names are taken out of `reading`; None of anything else."""
    if not is_frame(source):
        return source, systems, None
    named = {key: reading.pop(key, None) for key in ROLES}
    frame, systems = joined_frames(source, gold, systems, named["sentence"])
    return frame, systems, columns_of(frame, gold, systems, named)


def spark_opened(given: Unopened, progress: Progress) -> Opened | None:
    """A frame, or files that Spark reads, as blocks; None where this machine reads the files."""
    if given.columns is not None:
        return _opened_frame(cast("DataFrame", given.gold), given.columns, given, progress)
    if isinstance(given.engine, SparkEngine) and any_in_lake(given.gold, given.systems, given.train):
        return _opened_lake(given, given.engine, progress)
    return None


def _opened_lake(given: Unopened, engine: SparkEngine, progress: Progress) -> Opened:
    """Files that Spark reads."""
    progress("read", 0, 1)
    session, choices = engine.session, given.choices
    source, where = lake_blocks(
        session, given.gold, given.systems, choices, name=given.name, partitions=engine.partitions
    )
    choices.check_systems(list(source.systems))
    training = lake_training(session, given.train, choices, source, where, bound=engine.lexicon)
    progress("read", 1, 1)
    return opened_with(source, choices, training, where, free=where.packed.free)


def _opened_frame(frame: DataFrame, columns: FrameColumns, given: Unopened, progress: Progress) -> Opened:
    """A Spark frame."""
    engine, choices, train = given.engine or engine_of(frame.sparkSession), given.choices, given.train
    partitions = engine.partitions if isinstance(engine, SparkEngine) else None
    choices.check_systems(list(columns.systems))
    progress("read", 0, 1)
    source, where = opened_frame(frame, columns, choices, name=given.name or "frame", partitions=partitions)
    if is_frame(train):
        training = frame_training(
            train, columns, choices, source, where, partitions=partitions, bound=most_shared(engine)
        )
    else:
        files = TrainingFiles.of(train, choices.reading, keep=False)
        there = engine or SparkEngine(frame.sparkSession)
        training = learnt_here(source, files, choices, where, there, bound=most_shared(there))
    progress("read", 1, 1)
    return opened_with(source, choices, training, where, free=where.packed.free)


# ---- training files that Spark reads: executors add up what they know of the test set ----


class LakeTraining(Struct, frozen=True, eq=False):
    """Training files as a `TrainingSource`: a reference is the path of a file with its content."""

    lakes: tuple[Lake, ...]

    def references(self) -> Iterator[Any]:
        """Files lie with the executors."""
        return iter(())

    def read(self, reference: tuple[int, str, bytes]) -> tuple[int, Annotation]:
        """The number of the source, and one of its files."""
        number, path, data = reference
        found = self.lakes[number].read(path, data)
        if found.corpus.without_text:
            wrong = InputError(
                f"{path}: training data without tokens cannot tell what was seen.\n"
                "Give a file that holds the text."
            )
            raise wrong
        return number, found

    def entries(self, sums: Mapping[int, BlockSums]) -> list[dict[str, object]]:
        """The `inputs` of the document."""
        return [lake.entry("train", sums[number]) for number, lake in enumerate(self.lakes)]


def lake_training(
    session: SparkSession,
    train: Any,
    choices: Choices,
    source: LakeBlocks,
    engine: FrameEngine,
    *,
    bound: int | None = None,
) -> TrainingFacts:
    """What training files know of what the test set asks: executors read them, and add up what they find."""
    given = listed_sources(train)
    if not given:
        return TrainingFacts()
    reading = {**choices.reading, "documents": "none"}
    lakes = [opened_lake(session, one, reading) for one in given]
    training = LakeTraining(tuple(lake for lake, _ in lakes))
    where = WhereFilesLie(session.sparkContext, tuple(contents for _, contents in lakes))
    return learnt(
        source, training, lowercase=choices.lowercase, engine=engine, training_engine=where, bound=bound
    )


class WhereFilesLie(Struct, frozen=True, eq=False):
    """Runs a function over the contents of training files; the answers of a partition come joined as one."""

    context: SparkContext
    contents: tuple[RDD, ...]  # of each source
    join: Callable[[Sequence[Any]], Any] = TrainingAnswer.joined

    @property
    def elsewhere(self) -> bool:
        """Files are read by executors."""
        return True

    def map(
        self, function: Callable[[T, Shared], Outcome], blocks: Iterable[T], shared: Shared
    ) -> Iterator[Outcome]:
        """The answers of all partitions; there are no blocks but files."""
        sent = self.context.broadcast(Sent.of(shared))
        learning = self.context.union([
            rows.mapPartitions(partial(_learning, function, self.join, number, sent))
            for number, rows in enumerate(self.contents)
        ])  # fmt: skip
        yield from answers(self.context, learning.collect)
        sent.destroy()


def _learning(
    function: Callable[..., object],
    join: Callable[[Sequence[Any]], Any],
    number: int,
    sent: Any,
    rows: Iterable[Any],
) -> Iterator[bytes]:
    """The answers of all files of a partition, joined; the first error in their place."""
    found: Joining[Any] = Joining(join)
    some = False
    for row in rows:
        reference = (number, shown_path(row["path"]), bytes(row["content"]))
        told = answer(function, reference, sent.value)
        failed, outcome = unpacked(told)
        if failed:
            yield told
            return
        found.add(outcome)
        some = True
    if some:
        yield packed((False, found.total()))
