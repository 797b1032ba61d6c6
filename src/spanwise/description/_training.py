"""Training data beside a test set that is described where it lies: files that Spark reads, or a frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Words
from spanwise.corpus import Corpus
from spanwise.engines.spark import FrameEngine, SparkEngine
from spanwise.evaluation._blocks import Joining
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._frames import FrameColumns, FramePiece, TrainingFrame, is_frame, opened_frame
from spanwise.evaluation._lake import ROWS_FROM, opened_lake
from spanwise.evaluation.spark import LakeTraining, WhereFilesLie
from spanwise.formats import listed_sources
from spanwise.hashing import word_hashes

TrainingSource = LakeTraining | TrainingFrame
Shared = TypeVar("Shared")
Outcome = TypeVar("Outcome")


class TrainingPlace(Struct, frozen=True, eq=False):
    """Training data, and the engine that runs functions where they lie."""

    source: TrainingSource
    engine: WhereFilesLie | FrameEngine

    @property
    def sources(self) -> int:
        """How many files, folders, patterns or frames were given."""
        return len(self.source.lakes) if isinstance(self.source, LakeTraining) else 1

    @property
    def marked(self) -> bool:
        """Whether all of them mark at least two documents."""
        if isinstance(self.source, TrainingFrame):
            return (self.source.frame.documents or 0) > 1
        return all(lake.documents is not None and len(lake.documents) > 1 for lake in self.source.lakes)

    def joined(
        self,
        join: Callable[[Sequence[Outcome]], Outcome],
        function: Callable[[Any, Shared], Outcome],
        shared: Shared,
    ) -> Outcome:
        """What a function answers to all files or blocks, joined."""
        engine = replace(self.engine, join=join) if isinstance(self.engine, WhereFilesLie) else self.engine
        total: Joining[Outcome] = Joining(join)
        for part in engine.map(function, self.source.references(), shared):
            total.add(part)
        return total.total()

    def free(self) -> None:
        """Let the executors forget a frame."""
        if isinstance(self.engine, FrameEngine):
            self.engine.packed.free()


def training_place(
    train: Any, columns: FrameColumns | None, choices: Choices, engine: SparkEngine
) -> TrainingPlace | None:
    """Open training data; None where there are none."""
    if columns is not None and is_frame(train):
        frame, where = opened_frame(
            train, columns.of_training(), choices, name="train", partitions=engine.partitions
        )
        return TrainingPlace(TrainingFrame(frame), where)
    lakes = [opened_lake(engine.session, one, choices.reading) for one in listed_sources(train)]
    if not lakes:
        return None
    contents = tuple(rows for _, rows in lakes)
    return TrainingPlace(
        LakeTraining(tuple(lake for lake, _ in lakes)), WhereFilesLie(engine.session.sparkContext, contents)
    )


def order_of(reference: Any, training: TrainingSource) -> int:
    """The place of a file or a block among those of its source."""
    if isinstance(training, TrainingFrame):
        return int(reference.number)
    number, path, _ = reference
    return [file.path for file in training.lakes[number].files].index(path)


def units_of(corpus: Corpus, reference: Any, *, marked: bool) -> Words:
    """The unit of each sentence as a number of its own: its document, or itself."""
    path = str(reference.number) if isinstance(reference, FramePiece) else reference[1]
    if not marked:
        return word_hashes([f"{path}\0{number}" for number in range(len(corpus))])[:, 0]
    if corpus.documents is None:
        return np.repeat(word_hashes([path])[:, 0], len(corpus))
    called = [f"{path}\0{number}" for number in range(len(corpus.documents) - 1)]
    if ROWS_FROM in path and corpus.document_ids is not None:  # rows may go on with the document before
        called = [f"{path.partition(ROWS_FROM)[0]}\0{name}" for name in corpus.document_ids]
    return np.repeat(word_hashes(called)[:, 0], np.diff(corpus.documents))
