"""Counts of mentions in named cells, unit by unit; over parts of a corpus they add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from spanwise.columns import Codes, Ints, codes, frozen, ints, offsets

Matrix = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Counts:
    """How many mentions fell into each cell and column, in every unit (sentence or document).

    Units with the same counts share a row: `rows[row[u]]` are the counts of unit `u`,
    its cells one after the other. Rows stand in an order that depends on their
    contents alone. Counts over two halves of a corpus add up to the counts over
    the whole: every engine, every bucket and every resample rests on that.
    """

    cells: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Matrix  # distinct rows × (cells · columns)
    row: Codes  # of each unit

    @classmethod
    def of(
        cls,
        cells: Sequence[str],
        columns: Sequence[str],
        *,
        unit: Ints,
        cell: Ints,
        column: Ints | int,
        units: int,
    ) -> Counts:
        """Count events: one row each of `unit`, `cell` and `column` (their numbers).

        Examples:
            >>> counts = Counts.of(["PER"], ["gold", "correct"], unit=np.array([0, 2, 2]),
            ...     cell=np.array([0, 0, 0]), column=np.array([0, 0, 1]), units=3)
            >>> counts.total.tolist()
            [[2, 1]]
        """
        width = len(cells) * len(columns)
        flat = np.asarray(unit) * width + np.asarray(cell) * len(columns) + column
        dense = np.bincount(flat, minlength=units * width).astype(np.int32)
        return cls.of_matrix(cells, columns, dense.reshape(units, width))

    @classmethod
    def of_matrix(
        cls, cells: Sequence[str], columns: Sequence[str], matrix: npt.NDArray[np.integer]
    ) -> Counts:
        """Counts of a matrix of one row a unit."""
        rows, row = distinct_rows(np.asarray(matrix, dtype=np.int32))
        return cls(tuple(cells), tuple(columns), frozen(rows), codes(row))

    @property
    def units(self) -> int:
        """The number of units."""
        return len(self.row)

    @cached_property
    def times(self) -> Ints:
        """How many units have each of the distinct rows."""
        return frozen(np.bincount(self.row, minlength=len(self.rows)))

    @cached_property
    def total(self) -> Ints:
        """The counts over all units, cells × columns."""
        summed = self.times @ self.rows.astype(np.int64)
        return frozen(summed.reshape(len(self.cells), len(self.columns)))

    def matrix(self) -> Matrix:
        """One row a unit."""
        return np.asarray(self.rows[self.row])

    def __add__(self, other: Counts) -> Counts:
        """The counts over the units of both, those of `other` last; cells that only one of them has join."""
        return Counts.joined([self, other])

    @classmethod
    def joined(cls, parts: Sequence[Counts]) -> Counts:
        """The counts over the units of all parts, one part after the other."""
        cells = tuple(dict.fromkeys(cell for part in parts for cell in part.cells))
        same = [part.with_cells(cells) for part in parts]
        rows, number = distinct_rows(np.concatenate([part.rows for part in same]))
        first = offsets([len(part.rows) for part in same])
        row = np.concatenate([number[part.row + at] for part, at in zip(same, first[:-1], strict=True)])
        return cls(cells, parts[0].columns, frozen(rows), codes(row))

    def with_cells(self, cells: Sequence[str]) -> Counts:
        """The counts in the cells of these names, in their order; a cell that is not there is 0."""
        if tuple(cells) == self.cells:
            return self
        number = {name: place for place, name in enumerate(self.cells)}
        wide = len(self.columns)
        rows = np.zeros((len(self.rows), len(cells) * wide), dtype=np.int32)
        for place, name in enumerate(cells):
            if name in number:
                source = number[name] * wide
                rows[:, place * wide : (place + 1) * wide] = self.rows[:, source : source + wide]
        merged, row = distinct_rows(rows)
        return Counts(tuple(cells), self.columns, frozen(merged), codes(row[self.row]))


@dataclass(frozen=True, eq=False)
class CrossTable:
    """How many mentions fell into each pair of a named row and a named column; tables of parts add up."""

    rows: tuple[str | None, ...]
    columns: tuple[str | None, ...]
    counts: Ints

    @classmethod
    def of(
        cls, rows: Sequence[str | None], columns: Sequence[str | None], *, row: Ints, column: Ints
    ) -> CrossTable:
        """Count pairs of numbers of a row and a column.

        Examples:
            >>> CrossTable.of("ab", "x", row=np.array([0, 1, 1]), column=np.array([0, 0, 0])).counts.tolist()
            [[1], [2]]
        """
        flat = np.asarray(row, dtype=np.int64) * len(columns) + column
        counts = np.bincount(flat, minlength=len(rows) * len(columns))
        return cls(tuple(rows), tuple(columns), ints(counts.reshape(len(rows), len(columns))))

    def __add__(self, other: CrossTable) -> CrossTable:
        rows = tuple(dict.fromkeys((*self.rows, *other.rows)))
        columns = tuple(dict.fromkeys((*self.columns, *other.columns)))
        return CrossTable(rows, columns, ints(self.chosen(rows, columns) + other.chosen(rows, columns)))

    def chosen(self, rows: Sequence[str | None], columns: Sequence[str | None]) -> Ints:
        """The counts in rows and columns of these names, 0 where there is none."""
        row_at = {name: place for place, name in enumerate(self.rows)}
        column_at = {name: place for place, name in enumerate(self.columns)}
        padded = np.zeros((len(self.rows) + 1, len(self.columns) + 1), dtype=np.int64)
        padded[:-1, :-1] = self.counts
        take_rows = [row_at.get(name, len(self.rows)) for name in rows]
        take_columns = [column_at.get(name, len(self.columns)) for name in columns]
        return np.asarray(padded[np.ix_(take_rows, take_columns)])


def distinct_rows(matrix: Matrix) -> tuple[Matrix, Ints]:
    """The distinct rows of a matrix in an order of their own, and for each row its number among them."""
    if len(matrix) == 0:
        return matrix, np.zeros(0, dtype=np.int64)
    # Columns that count nothing cost time and tell nothing apart.
    used = np.flatnonzero(matrix.any(axis=0))
    if len(used) == 0:
        return matrix[:1], np.zeros(len(matrix), dtype=np.int64)
    narrow = matrix[:, used]
    # A linear hash by fixed odd multipliers; equal hashes are compared, so that a collision costs time only.
    hashed = narrow.astype(np.uint64) @ _multipliers(matrix.shape[1])[used]
    order = np.argsort(hashed, kind="stable")
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = hashed[order[1:]] != hashed[order[:-1]]
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(fresh) - 1
    rows = matrix[order[fresh]]
    if not np.array_equal(rows[number][:, used], narrow):
        return _sorted_rows(matrix)
    return rows, number


def _sorted_rows(matrix: Matrix) -> tuple[Matrix, Ints]:
    rows, number = np.unique(matrix, axis=0, return_inverse=True)
    return rows, np.asarray(number, dtype=np.int64).reshape(-1)


def _multipliers(width: int) -> npt.NDArray[np.uint64]:
    """Fixed odd 64-bit numbers (a Weyl sequence, mixed), so that the order of rows is the same everywhere."""
    with np.errstate(over="ignore"):
        mixed = np.arange(1, width + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    return mixed | np.uint64(1)
