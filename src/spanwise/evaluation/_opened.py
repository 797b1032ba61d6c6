"""Sources of any kind opened as blocks: what training data know of them, and the engine that runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from spanwise.engines import MOST_THREADS, Engine, at_once, local_engine, most_shared
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
from spanwise.registry import reach

if TYPE_CHECKING:
    from spanwise.evaluation._frames import FrameColumns


def unheard(step: str, done: int, total: int) -> None:
    """Progress that nobody asked for."""


def _nothing() -> None:
    pass


SPARK = ("pyspark.", "spanwise.engines.spark")  # where the types of Spark, and of our engines on it, live


class Opened(Struct, frozen=True, eq=False):
    """Blocks, what all of them share, the attributes that cannot be computed, and the training files."""

    shared: BlockContext
    absent: Mapping[str, str]
    training: Sequence[Mapping[str, object]]  # entries of the result document
    engine: Engine
    free: Callable[[], None] = _nothing  # lets executors forget the blocks

    def fixed(self, progress: Progress = unheard) -> BlockContext:
        """Look at all blocks, and fix what follows from them."""
        return fixed(self.shared, looking_by(self.engine), self.absent, progress)


def of_spark(value: object) -> bool:
    """Whether a value is Spark's, or our engine on it, told without loading either."""
    return any(kind.__module__.startswith(SPARK) for kind in type(value).__mro__)


def framed(
    source: object, gold: object, systems: object, reading: dict[str, Any]
) -> tuple[object, object, FrameColumns | None]:
    """A frame, its systems and its columns, whose names are taken out of `reading`; None of anything else."""
    if not of_spark(source):
        return source, systems, None
    found: tuple[object, object, FrameColumns | None]
    found = reach("evaluation.spark:framed")(source, gold, systems, reading)
    return found


def read_by_spark(gold: object, systems: object, train: object, engine: Engine | None) -> bool:
    """Whether the files are such that Spark, the engine, reads them itself."""
    return of_spark(engine) and reach("evaluation.spark:any_in_lake")(gold, systems, train)


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
    if columns is None and not of_spark(engine):
        return None
    found: Opened | None = reach("evaluation.spark:spark_opened")(
        source, systems, train, choices, columns=columns, name=name, engine=engine, progress=progress
    )
    return found


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
            lambda: TrainingFiles.of(train, choices.reading, keep=keep, held=memory if keep else 0),
        )
        training = learnt_here(source, files, choices, where, where, bound=most_shared(where))
    threads = MOST_THREADS if memory is None and engine is None else 1
    return opened_with(source, choices, training, where, threads=threads)


def opened_with(
    source: BlockSource, choices: Choices, training: TrainingFacts, engine: Engine, *, threads: int = 1,
    free: Callable[[], None] = _nothing,
) -> Opened:  # fmt: skip
    """A source, with what training data know of it, and the engine that runs its blocks."""
    unit = unit_of(choices.unit, source.documents, source.path)
    shared = BlockContext(
        source, choices, training.lexicon, training.known, unit, threads=threads, parts=training.parts
    )
    with_attributes, absent = shared.with_attributes()
    return Opened(with_attributes, absent, training.entries, engine, free)


def learnt_here(
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
