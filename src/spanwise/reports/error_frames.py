"""The table of errors as a Spark frame, whose rows are computed and written by the executors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise.document.evaluation import Evaluation
from spanwise.engines import Engine
from spanwise.engines.spark import FrameEngine, SparkEngine
from spanwise.errors import ChoiceError
from spanwise.evaluation import evaluate_blocks, sentences_with_errors
from spanwise.evaluation.dataset import BlockContext
from spanwise.reports.errors import COLUMNS, Over, cells_of, listing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_WHOLE = {"turn", *(name for name in COLUMNS if name.endswith(("_start", "_end")))}
SCHEMA = ", ".join(f"`{name}` {'int' if name in _WHOLE else 'string'}" for name in COLUMNS)


class ErrorTable(Struct, frozen=True, eq=False):
    """A frame with one row per error and the same columns as the CSV.

    Executors keep the underlying blocks until `free` is called.
    """

    frame: DataFrame
    engine: SparkEngine | FrameEngine

    def write(self, folder: str) -> int:
        """Write the frame as Parquet to any folder that Spark can write to, and return the number of rows."""
        self.frame.write.mode("overwrite").parquet(folder)
        return int(self.frame.sparkSession.read.parquet(folder).count())

    def free(self) -> None:
        """Release the blocks that executors keep."""
        if isinstance(self.engine, FrameEngine):
            self.engine.packed.free()


def error_table(
    source: object,
    systems: object = None,
    *,
    engine: Engine | SparkSession | None = None,
    outcome: str | Sequence[str] | None = None,
    gold_label: str | None = None,
    predicted: str | None = None,
    system: str | None = None,
    bucket: tuple[str, str] | None = None,
    tough: str | None = None,
    where: str | None = None,
    over: Over = "error",
    **options: Any,
) -> ErrorTable:
    """Every error as a row of a Spark frame, from files, folders or a frame as in `evaluate`.

    Args:
        source: as in `evaluate`, as are `systems` and `options` (gold, train, name, attributes, buckets,
            edges, align, and the keywords of `spanwise.read`).
        engine: a Spark session, or an engine based on one; not needed if `source` is a Spark frame.
        outcome: selects errors as in `spanwise.reports.errors.listing`, as do `gold_label` (`gold` there),
            `predicted`, `system`, `bucket`, `tough`, `where` and `over`.
    """
    result, shared, chosen = evaluate_blocks(source, systems, engine=engine, **options)
    if not isinstance(chosen, SparkEngine | FrameEngine):
        raise ChoiceError("a frame of errors needs Spark.\nGive a session as engine=.")
    choices: dict[str, Any] = {
        "outcome": outcome, "gold": gold_label, "predicted": predicted, "system": system, "bucket": bucket,
        "tough": tough, "where": where, "over": over,
    }  # fmt: skip
    document = replace(result, examples=UNSET, units=UNSET, mentions=UNSET, sentences=())
    listing(document, **choices)  # raises an error for unknown names
    frames = [
        chosen.rows(_rows, blocks, _SelectionContext(own, document, choices), SCHEMA)
        for own, blocks in shared.portions(shared.source.references())
    ]
    return ErrorTable(reduce(lambda first, second: first.unionAll(second), frames), chosen)


class _SelectionContext(Struct, frozen=True, eq=False):
    """What executors need, besides a block, to select its errors."""

    shared: BlockContext
    document: Evaluation  # without sentences
    options: dict[str, Any]


def _rows(reference: object, choosing: _SelectionContext) -> Iterator[tuple[object, ...]]:
    sentences = tuple(sentences_with_errors(reference, choosing.shared))
    for error in listing(replace(choosing.document, sentences=sentences), **choosing.options):
        yield tuple(cells_of(error))
