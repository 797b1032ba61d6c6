"""Sources of any kind opened as blocks: what training data know of them, and the engine that runs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from spanwise.engines import MOST_THREADS, Engine, at_once, engine_of, local_engine
from spanwise.engines.spark import FrameEngine, SparkEngine
from spanwise.evaluation._blocks import (
    BlockSource,
    OneBlock,
    Progress,
    TrainingFacts,
    TrainingFiles,
    learnt,
    many_blocks,
)
from spanwise.evaluation._choices import Choices, check_keywords, gather, parts_of, unit_of
from spanwise.evaluation._dataset import BlockContext, fixed, looking_by
from spanwise.evaluation._frames import (
    FrameColumns,
    columns_of,
    frame_training,
    is_frame,
    joined_frames,
    opened_frame,
)
from spanwise.evaluation._lake import any_in_lake, lake_blocks
from spanwise.evaluation._lake_training import lake_training

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def unheard(step: str, done: int, total: int) -> None:
    """Progress that nobody asked for."""


ROLES = ("tokens", "document", "sentence")  # of the columns of a frame, beside gold and systems


class Opened(Struct, frozen=True, eq=False):
    """Blocks, what all of them share, the attributes that cannot be computed, and the training files."""

    shared: BlockContext
    absent: Mapping[str, str]
    training: Sequence[Mapping[str, object]]  # entries of the result document
    engine: Engine

    def fixed(self, progress: Progress = unheard) -> BlockContext:
        """Look at all blocks, and fix what follows from them."""
        return fixed(self.shared, looking_by(self.engine), self.absent, progress)

    def free(self) -> None:
        """Let executors forget the blocks."""
        if isinstance(self.engine, FrameEngine):
            self.engine.packed.free()


def framed(
    source: object, gold: Any, systems: object, reading: dict[str, Any]
) -> tuple[object, object, FrameColumns | None]:
    """A frame, its systems and its columns, whose names are taken out of `reading`; None of anything else."""
    if not is_frame(source):
        return source, systems, None
    named = {key: reading.pop(key, None) for key in ROLES}
    frame, systems = joined_frames(source, gold, systems, named["sentence"])
    return frame, systems, columns_of(frame, gold, systems, named)


def spark_opened(
    source: object,
    systems: object,
    train: object,
    choices: Choices,
    *,
    columns: FrameColumns | None,
    name: str | None,
    engine: Engine | None,
    progress: Progress,
) -> Opened | None:
    """A frame, or files that Spark reads, as blocks; None where this machine reads the files."""
    if columns is not None:
        return _opened_frame(source, columns, train, choices, name, progress, engine)
    if isinstance(engine, SparkEngine) and any_in_lake(source, systems, train):
        return _opened_lake(source, systems, train, choices, name, progress, engine)
    return None


def opened_elsewhere(
    source: object,
    systems: object,
    train: object,
    choices: Choices,
    *,
    columns: FrameColumns | None,
    name: str | None,
    engine: Engine | None,
    always_tough: bool = False,
) -> Opened:
    """Sources of any kind, opened for the engine of a verb that asks less than `evaluate`."""
    check_keywords(choices.reading)
    opened = spark_opened(
        source, systems, train, choices, columns=columns, name=name, engine=engine, progress=unheard
    )
    if opened is None:
        opened = _parts_elsewhere(source, systems, train, choices, name, engine)
    return replace(opened, shared=replace(opened.shared, always_tough=always_tough))


def _parts_elsewhere(
    source: object, systems: object, train: object, choices: Choices, name: str | None, engine: Engine | None
) -> Opened:
    memory, workers = parts_of(
        None, 1, source, systems, streamable=True, reading=choices.reading, elsewhere=True
    )
    return opened_here(
        source, systems, train, choices, name=name, memory=memory, workers=workers, progress=unheard,
        engine=engine,
    )  # fmt: skip


def opened_here(
    gold: object,
    systems: object,
    train: object,
    choices: Choices,
    *,
    name: str | None,
    memory: int | None,
    workers: int,
    progress: Progress,
    engine: Engine | None,
) -> Opened:
    """Sources that this machine reads: in memory as one block, or in parts that need about so much memory."""
    source: BlockSource
    where = engine or local_engine(workers)
    if memory is None:
        progress("read", 0, 1)
        inputs = gather(gold, systems, train, align=choices.align, reading=choices.reading, name=name)
        progress("read", 1, 1)
        choices.check_systems(list(inputs.systems))
        source, training = OneBlock(inputs), TrainingFacts.of(inputs.train)
    else:
        keep = engine is None or not engine.elsewhere  # rows that are kept would travel with every block
        source, files = at_once(
            lambda: many_blocks(
                gold, systems, choices, name=name, memory=memory, keep=keep, progress=progress
            ),
            lambda: TrainingFiles.of(train, choices.reading, keep=keep),
        )
        training = _learnt(source, files, choices, where, where, bound=_bound(where))
    threads = MOST_THREADS if memory is None and engine is None else 1
    return _opened(source, choices, training, where, threads=threads)


def _opened(
    source: BlockSource, choices: Choices, training: TrainingFacts, engine: Engine, *, threads: int = 1
) -> Opened:
    unit = unit_of(choices.unit, source.documents, source.path)
    shared = BlockContext(
        source, choices, training.lexicon, training.known, unit, threads=threads, parts=training.parts
    )
    with_attributes, absent = shared.with_attributes()
    return Opened(with_attributes, absent, training.entries, engine)


def _learnt(
    source: BlockSource,
    files: TrainingFiles,
    choices: Choices,
    engine: Engine,
    training_engine: Engine,
    *,
    bound: int | None,
) -> TrainingFacts:
    """What training files know of what the test set asks."""
    if not files.files:
        return TrainingFacts()
    return learnt(
        source, files, lowercase=choices.lowercase, engine=engine, training_engine=training_engine,
        bound=bound,
    )  # fmt: skip


def _bound(engine: Engine | None) -> int | None:
    """The bytes of what training data know that may be sent to every block."""
    return engine.lexicon if isinstance(engine, SparkEngine) else None


def _opened_lake(
    gold: object,
    systems: object,
    train: object,
    choices: Choices,
    name: str | None,
    progress: Progress,
    engine: SparkEngine,
) -> Opened:
    """Files that Spark reads."""
    progress("read", 0, 1)
    session = engine.session
    source, where = lake_blocks(session, gold, systems, choices, name=name, partitions=engine.partitions)
    choices.check_systems(list(source.systems))
    training = lake_training(session, train, choices, source, where, bound=engine.lexicon)
    progress("read", 1, 1)
    return _opened(source, choices, training, where)


def _opened_frame(
    frame: DataFrame,
    columns: FrameColumns,
    train: object,
    choices: Choices,
    name: str | None,
    progress: Progress,
    engine: Engine | None,
) -> Opened:
    """A Spark frame."""
    engine = engine or engine_of(frame.sparkSession)
    partitions = engine.partitions if isinstance(engine, SparkEngine) else None
    choices.check_systems(list(columns.systems))
    progress("read", 0, 1)
    source, where = opened_frame(frame, columns, choices, name=name or "frame", partitions=partitions)
    if is_frame(train):
        training = frame_training(
            train, columns, choices, source, where, partitions=partitions, bound=_bound(engine)
        )
    else:
        files = TrainingFiles.of(train, choices.reading, keep=False)
        there = engine or SparkEngine(frame.sparkSession)
        training = _learnt(source, files, choices, where, there, bound=_bound(there))
    progress("read", 1, 1)
    return _opened(source, choices, training, where)
