"""Training files that Spark reads: executors read them, and add up what they know of the test set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from spanwise.corpus import Annotation
from spanwise.engines.spark import FrameEngine, Sent, answer, answers, packed, unpacked
from spanwise.errors import InputError
from spanwise.evaluation._blocks import BlockSums, Joining, TrainingAnswer, TrainingFacts, learnt
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._lake import Lake, LakeBlocks, opened_lake, shown_path
from spanwise.formats import listed_sources

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext
    from pyspark.sql import SparkSession

T = TypeVar("T")
Shared = TypeVar("Shared")
Outcome = TypeVar("Outcome")


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
