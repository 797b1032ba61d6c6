"""Every score as one row, for pandas and polars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import UnsetType

from spanwise.document.evaluation import Evaluation
from spanwise.document.head import DocumentLike, Interval
from spanwise.document.loading import as_document
from spanwise.document.scores import BucketScores, Rates, SystemScores
from spanwise.document.study import Study
from spanwise.errors import MissingExtra
from spanwise.reports._tables import Cell, Number, Table
from spanwise.reports._wording import ERRORS

COLUMNS = ("dataset", "system", "run", "kind", "name", "part", "score", "value", "low", "high", "gold")


def rows(document: DocumentLike) -> list[dict[str, Any]]:
    """One row a score, with the columns of `COLUMNS`; what is undefined or does not apply is None.

    `kind` is overall, macro, weighted, fair, gain, label, tough or attribute; `name` the error, the label,
    the tough subset or the attribute; `part` the bucket or, of tough mentions, the label. `low` and
    `high` are the ends of the interval, `gold` the gold mentions or units.
    """
    typed = as_document(document)
    if isinstance(typed, Study):
        return [
            row
            for dataset, part in typed.datasets.items()
            for system, runs in part.runs.items()
            for run, scored in runs.items()
            for row in _system(dataset, system, run, scored)
        ]
    if not isinstance(typed, Evaluation):
        return []
    name = typed.dataset.name
    return [row for system, scored in typed.systems.items() for row in _system(name, system, None, scored)]


def rows_csv(document: DocumentLike) -> str:
    """The rows as comma-separated values; undefined numbers are `n/a`, what does not apply is empty."""
    made: list[tuple[Cell, ...]] = []
    for row in rows(document):
        texts = tuple(row[name] or "" for name in COLUMNS[:7])
        ends = tuple("" if row[name] is None else Number(row[name], "") for name in COLUMNS[8:])
        made.append((*texts, Number(row["value"], ""), *ends))
    return Table("rows", "", COLUMNS, tuple(made)).to_csv()


def to_pandas(document: DocumentLike) -> Any:
    """The rows as a pandas frame."""
    try:
        import pandas
    except ImportError as error:
        raise _missing("pandas") from error
    return pandas.DataFrame(rows(document), columns=list(COLUMNS))


def to_polars(document: DocumentLike) -> Any:
    """The rows as a polars frame."""
    try:
        import polars
    except ImportError as error:
        raise _missing("polars") from error
    texts = dict.fromkeys(COLUMNS[:7], polars.String)
    schema = {**texts, **dict.fromkeys(COLUMNS[7:10], polars.Float64), "gold": polars.Int64}
    return polars.DataFrame(rows(document), schema=schema)


def _missing(package: str) -> MissingExtra:
    return MissingExtra(
        f"a {package} frame needs the package {package!r}, which is not installed.\n"
        f"Install it with: pip install {package}"
    )


def _system(
    dataset: str | None, system: str, run: str | None, scored: SystemScores
) -> Iterator[dict[str, Any]]:
    for kind, name, part, gold, interval, scores in _cells(scored):
        for score, value in scores.items():
            low, high = interval.get(score) or (None, None)
            yield {
                "dataset": dataset, "system": system, "run": run, "kind": kind, "name": name, "part": part,
                "score": score, "value": value, "low": low, "high": high, "gold": gold,
            }  # fmt: skip


_Scores: TypeAlias = dict[str, float | None]
_Ends: TypeAlias = Mapping[str, Interval | None]
_Cells: TypeAlias = Iterator[tuple[str, str | None, str | None, int | None, _Ends, _Scores]]


def _three(rates: Rates | BucketScores) -> _Scores:
    return {"precision": rates.precision, "recall": rates.recall, "f1": rates.f1}


def _cells(scored: SystemScores) -> _Cells:
    """Kind, name and part of every cell, its gold units, its intervals and its scores."""
    exact, fair = scored.exact, scored.fair
    overall = exact.overall
    accuracy = None if isinstance(overall.accuracy, UnsetType) else overall.accuracy
    scores = {**_three(overall), "accuracy": accuracy}
    yield "overall", None, None, overall.gold, overall.interval, scores
    yield "macro", None, None, None, exact.macro.interval, _three(exact.macro)
    yield "weighted", None, None, None, exact.weighted.interval, _three(exact.weighted)
    for label, cell in exact.labels.items():
        yield "label", label, None, cell.gold, cell.interval, _three(cell)
    yield "fair", None, None, None, fair.overall.interval, _three(fair.overall)
    for label, rates in fair.labels.items():
        yield "fair", label, None, None, rates.interval, _three(rates)
    for kind in ERRORS:
        gain = scored.gains.of(kind)
        yield "gain", kind, None, None, gain.interval, {"gain": gain.gain}
    for subset, recalls in scored.tough.items():
        for part, row in ((None, recalls.overall), *recalls.labels.items()):
            yield "tough", subset, part, row.mentions, row.interval, {"recall": row.recall}
    for attribute, table in scored.attributes.items():
        for bucket in table.buckets:
            yield "attribute", attribute, bucket.name, bucket.gold, bucket.interval, _three(bucket)
