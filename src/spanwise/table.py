"""The performance table: counts on named axes, from which all scores of a study are computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from spanwise.columns import Codes, Floats, Ints, codes, floats, ints, plain, ratio
from spanwise.document import Document, DocumentLike
from spanwise.document.evaluation import ScoreGrid
from spanwise.document.loading import as_document
from spanwise.document.scores import BucketScores, CrossBucket, ExactScores, SystemScores
from spanwise.errors import MissingExtra, unknown
from spanwise.spreadsheet import to_csv

AXES = ("dataset", "model", "run", "attribute", "bucket", "label")
COUNTS = ("gold", "predicted", "correct")
SCORES = ("precision", "recall", "f1")

ALL = ""  # the name of a cell on an axis by which it is not divided


class PerformanceTable(Struct, frozen=True, eq=False):
    """How many units are gold, predicted and correct in each cell; scores are computed from these.

    A cell has a name on every axis (dataset, model, run, attribute, bucket, label), or "" on an axis by
    which it is not divided: the overall counts have no attribute, bucket or label. Cells are in the
    order of the document they come from, buckets in order of value.

    Examples:
        >>> import spanwise
        >>> result = spanwise.evaluate([["B-PER", "O"]], {"mine": [["B-PER", "B-LOC"]]}, resamples=0)
        >>> table = PerformanceTable.of_document(result)
        >>> table.where(label="PER").column("model"), table.where(label="PER").scores("precision").tolist()
        (['mine'], [1.0])
    """

    names: Mapping[str, tuple[str, ...]]
    cells: Codes  # one row per cell, one column per axis
    counts: Ints  # one row per cell: gold, predicted, correct
    unit: tuple[str, ...] = field(default=())  # "mention" or "token", one per cell

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, object]]) -> PerformanceTable:
        """Build a table from rows that have counts, and names on some axes.

        Examples:
            >>> table = PerformanceTable.of([{"model": "crf", "gold": 4, "predicted": 4, "correct": 3}])
            >>> table.scores("f1").tolist()
            [0.75]
        """
        coded: dict[str, dict[str, int]] = {axis: {} for axis in AXES}
        cells = [
            [coded[axis].setdefault(str(row.get(axis, ALL)), len(coded[axis])) for axis in AXES]
            for row in rows
        ]
        return cls(
            names={axis: tuple(numbers) for axis, numbers in coded.items()},
            cells=codes(np.array(cells, np.int32).reshape(-1, len(AXES))),
            counts=ints(np.array([[row[name] for name in COUNTS] for row in rows]).reshape(-1, len(COUNTS))),
            unit=tuple(str(row.get("unit", "mention")) for row in rows),
        )

    @classmethod
    def of_document(cls, document: DocumentLike) -> PerformanceTable:
        """The table of an evaluation, whose systems are models with one run, or of a study."""
        rows: list[dict[str, object]] = []
        for dataset, model, run, system in runs_of(as_document(document)):
            names = {"dataset": dataset, "model": model, "run": run}
            rows.extend({**names, **cell} for cell in _cells(system))
        return cls.of(rows)

    def __len__(self) -> int:
        return len(self.cells)

    def __add__(self, other: PerformanceTable) -> PerformanceTable:
        """The cells of both tables; the counts of equal cells are added."""
        merged: dict[tuple[str, ...], dict[str, Any]] = {}
        for row in (*self._plain(), *other._plain()):
            key = tuple(row[axis] for axis in AXES)
            cell = merged.setdefault(key, {**row, **dict.fromkeys(COUNTS, 0)})
            for name in COUNTS:
                cell[name] += row[name]
        return PerformanceTable.of(list(merged.values()))

    def column(self, axis: str) -> list[str]:
        """The name of every cell on one axis."""
        if axis not in AXES:
            raise unknown("axis", axis, AXES)
        return [self.names[axis][code] for code in self.cells[:, AXES.index(axis)].tolist()]

    def where(self, **wanted: str) -> PerformanceTable:
        """The cells with these names on these axes; `attribute=""` selects those without an attribute."""
        keep = np.ones(len(self), dtype=bool)
        for axis, name in wanted.items():
            keep &= np.array([value == name for value in self.column(axis)], dtype=bool)
        chosen = np.flatnonzero(keep)
        units = tuple(self.unit[at] for at in chosen.tolist())
        return PerformanceTable(self.names, codes(self.cells[chosen]), ints(self.counts[chosen]), units)

    def scores(self, score: str = "f1") -> Floats:
        """Precision, recall or F1 of every cell; NaN where the denominator is 0."""
        gold, predicted, correct = self.counts.T
        match score:
            case "precision":
                return floats(ratio(correct, predicted))
            case "recall":
                return floats(ratio(correct, gold))
            case "f1":
                return floats(ratio(2 * correct, gold + predicted))
        raise unknown("score", score, SCORES)

    def rows(self) -> list[dict[str, Any]]:
        """The table in tidy form: one row per cell with its names, counts and scores (None: undefined)."""
        columns = {score: self.scores(score).tolist() for score in SCORES}
        return [
            {**row, **{score: plain(column[at]) for score, column in columns.items()}}
            for at, row in enumerate(self._plain())
        ]

    def to_csv(self) -> str:
        """The tidy rows as CSV with a header; undefined scores are empty.

        A name that a spreadsheet would take for a formula gets an apostrophe in front.
        """
        header = (*AXES, "unit", *COUNTS, *SCORES)
        return to_csv([header, *([row[name] for name in header] for row in self.rows())])

    def to_parquet(self) -> bytes:
        """The tidy rows as a Parquet file; undefined scores are null."""
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise MissingExtra.of("pyarrow", "arrow", "writing Parquet") from None
        rows = self.rows()
        names = (*AXES, "unit", *COUNTS, *SCORES)
        types = [*[pyarrow.string()] * 7, *[pyarrow.int64()] * 3, *[pyarrow.float64()] * 3]
        columns = {
            name: pyarrow.array([row[name] for row in rows], kind)
            for name, kind in zip(names, types, strict=True)
        }
        sink = pyarrow.BufferOutputStream()
        parquet.write_table(pyarrow.table(columns), sink)
        data: bytes = sink.getvalue().to_pybytes()
        return data

    def _plain(self) -> list[dict[str, Any]]:
        named = [self.column(axis) for axis in AXES]
        return [
            dict(zip((*AXES, *COUNTS, "unit"), (*names, *numbers, unit), strict=True))
            for *names, numbers, unit in zip(*named, self.counts.tolist(), self.unit, strict=True)
        ]


def runs_of(document: Document) -> Iterator[tuple[str, str, str, SystemScores]]:
    """The dataset, model, run and scores of every run in a document."""
    if isinstance(document, ScoreGrid):
        for dataset, model, run, scores in document.scored():
            yield dataset, model, run or ALL, scores


def _cells(system: SystemScores) -> Iterator[dict[str, str | int]]:
    yield _counted(system.exact.overall)
    for label, scores in system.exact.labels.items():
        yield {"label": label, **_counted(scores)}
    for attribute, table in system.attributes.items():
        for bucket in table.buckets:
            yield {"attribute": attribute, "bucket": bucket.name, "unit": table.unit, **_counted(bucket)}
    for crossed in system.cross.values():
        first, second = crossed.attributes
        if second != "label":
            continue  # cells of two attributes do not fit on these axes
        for cell in crossed.cells:
            bucket_name, label = cell.buckets
            yield {"attribute": first, "bucket": bucket_name, "label": label, **_counted(cell)}


def _counted(scores: ExactScores | BucketScores | CrossBucket) -> dict[str, str | int]:
    return {"gold": scores.gold, "predicted": scores.predicted, "correct": scores.correct}
