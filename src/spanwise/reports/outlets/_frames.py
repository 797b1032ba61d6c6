"""Every score as one row, for pandas and polars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from spanwise.document.head import Document, plain_of
from spanwise.errors import MissingExtra
from spanwise.reports._tables import Cell, Number, Table
from spanwise.reports._wording import ERRORS

COLUMNS = ("dataset", "system", "run", "kind", "name", "part", "score", "value", "low", "high", "gold")


def rows(document: Mapping[str, Any] | Document) -> list[dict[str, Any]]:
    """One row a score, with the columns of `COLUMNS`; what is undefined or does not apply is None.

    `kind` is overall, macro, weighted, fair, gain, label, tough or attribute; `name` the error, the label,
    the tough subset or the attribute; `part` the bucket or, of tough mentions, the label. `low` and
    `high` are the ends of the interval, `gold` the gold mentions or units.
    """
    document = plain_of(document)
    if "datasets" in document:
        return [
            row
            for dataset, found in document["datasets"].items()
            for system, runs in (found.get("runs") or {}).items()
            for run, scored in runs.items()
            for row in _system(dataset, system, run, scored)
        ]
    dataset = (document.get("dataset") or {}).get("name")
    systems: Mapping[str, Any] = document.get("systems") or {}
    return [row for system, scored in systems.items() for row in _system(dataset, system, None, scored)]


def rows_csv(document: Mapping[str, Any] | Document) -> str:
    """The rows as comma-separated values; undefined numbers are `n/a`, what does not apply is empty."""
    document = plain_of(document)
    made: list[tuple[Cell, ...]] = []
    for row in rows(document):
        texts = tuple(row[name] or "" for name in COLUMNS[:7])
        ends = tuple("" if row[name] is None else Number(row[name], "") for name in COLUMNS[8:])
        made.append((*texts, Number(row["value"], ""), *ends))
    return Table("rows", "", COLUMNS, tuple(made)).to_csv()


def to_pandas(document: Mapping[str, Any] | Document) -> Any:
    """The rows as a pandas frame."""
    document = plain_of(document)
    try:
        import pandas
    except ImportError as error:
        raise _missing("pandas") from error
    return pandas.DataFrame(rows(document), columns=list(COLUMNS))


def to_polars(document: Mapping[str, Any] | Document) -> Any:
    """The rows as a polars frame."""
    document = plain_of(document)
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
    dataset: str | None, system: str, run: str | None, scored: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    for kind, name, part, cell, scores in _cells(scored):
        for score in scores:
            ends = (cell.get("interval") or {}).get(score) or (None, None)
            yield {
                "dataset": dataset, "system": system, "run": run, "kind": kind, "name": name, "part": part,
                "score": score, "value": cell.get(score), "low": ends[0], "high": ends[1],
                "gold": cell.get("gold", cell.get("mentions")),
            }  # fmt: skip


_Cells = Iterator[tuple[str, str | None, str | None, Mapping[str, Any], tuple[str, ...]]]
_EXACT = ("precision", "recall", "f1")


def _cells(scored: Mapping[str, Any]) -> _Cells:
    exact = scored["exact"]
    yield "overall", None, None, exact["overall"], (*_EXACT, "accuracy")
    for kind in ("macro", "weighted"):
        if exact.get(kind):
            yield kind, None, None, exact[kind], _EXACT
    for label, cell in exact["labels"].items():
        yield "label", label, None, cell, _EXACT
    fair = scored.get("fair") or {}
    if fair:
        yield "fair", None, None, fair["overall"], _EXACT
        for label, cell in fair["labels"].items():
            yield "fair", label, None, cell, _EXACT
    for kind in ERRORS:
        if kind in (scored.get("gains") or {}):
            yield "gain", kind, None, scored["gains"][kind], ("gain",)
    for subset, cell in (scored.get("tough") or {}).items():
        yield "tough", subset, None, cell["overall"], ("recall",)
        for label, inner in cell["labels"].items():
            yield "tough", subset, label, inner, ("recall",)
    for attribute, found in (scored.get("attributes") or {}).items():
        for bucket in found["buckets"]:
            yield "attribute", attribute, bucket["name"], bucket, _EXACT
