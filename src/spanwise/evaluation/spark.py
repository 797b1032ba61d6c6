"""Frames, folders, patterns and addresses that Spark reads, opened as blocks; found by name when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spanwise.engines import Engine, engine_of, most_shared
from spanwise.engines.spark import SparkEngine
from spanwise.evaluation._blocks import Progress, TrainingFiles
from spanwise.evaluation._choices import Choices
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
from spanwise.evaluation._opened import Opened, learnt_here, opened_with

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["any_in_lake", "framed", "spark_opened"]

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
    return opened_with(source, choices, training, where, free=where.packed.free)


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
            train, columns, choices, source, where, partitions=partitions, bound=most_shared(engine)
        )
    else:
        files = TrainingFiles.of(train, choices.reading, keep=False)
        there = engine or SparkEngine(frame.sparkSession)
        training = learnt_here(source, files, choices, where, there, bound=most_shared(there))
    progress("read", 1, 1)
    return opened_with(source, choices, training, where, free=where.packed.free)
