"""Counts of mentions in named cells, unit by unit; over parts of a corpus they add up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Column, Ints, frozen, ints
from spanwise.hashing import multipliers, numbered

Matrix = npt.NDArray[np.int32]
Groups = Sequence[tuple[Ints, Column, Column | int]]  # of events: the unit, cell and column of each
_BLOCK = 1 << 18  # events looked at together, so that they stay in the processor's cache


class Counts(Struct, frozen=True, eq=False, dict=True):
    """How many mentions fell into each cell and column, in every unit (sentence or document).

    Units with the same counts share a row: `rows[row[u]]` are the counts of unit `u`,
    its cells one after the other. The order of rows depends only on their contents.
    Counts over two halves of a corpus add up to the counts over
    the whole: every engine, every bucket and every resample relies on that.
    """

    cells: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Matrix  # distinct rows × (cells · columns)
    row: Column  # of each unit, in the narrowest numbers: units are many, and stay until the end

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
        return cls.of_groups(cells, columns, [(unit, cell, column)], units=units)

    @classmethod
    def of_groups(
        cls,
        cells: Sequence[str],
        columns: Sequence[str],
        groups: Groups,
        *,
        units: int,
    ) -> Counts:
        """Count events in several groups of `unit`, `cell` and `column`."""
        rows, row = _rows_of_events(groups, units, len(cells), len(columns))
        return cls(tuple(cells), tuple(columns), frozen(rows), _narrow(row, len(rows)))

    @classmethod
    def of_matrix(
        cls, cells: Sequence[str], columns: Sequence[str], matrix: npt.NDArray[np.integer]
    ) -> Counts:
        """Counts of a matrix with one row per unit."""
        rows, row = distinct_rows(np.asarray(matrix, dtype=np.int32))
        return cls(tuple(cells), tuple(columns), frozen(rows), _narrow(row, len(rows)))

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
        """One row per unit."""
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
        places = np.split(_narrow(number, len(rows)), np.cumsum([len(part.rows) for part in same])[:-1])
        row = np.concatenate([place[part.row] for place, part in zip(places, same, strict=True)])
        return cls(cells, parts[0].columns, frozen(rows), frozen(row))

    def with_cells(self, cells: Sequence[str]) -> Counts:
        """The counts in the cells of these names, in their order; a cell that is not there is 0."""
        if tuple(cells) == self.cells:
            return self
        number = {name: index for index, name in enumerate(self.cells)}
        wide = len(self.columns)
        rows = np.zeros((len(self.rows), len(cells) * wide), dtype=np.int32)
        for index, name in enumerate(cells):
            if name in number:
                source = number[name] * wide
                rows[:, index * wide : (index + 1) * wide] = self.rows[:, source : source + wide]
        merged, row = distinct_rows(rows)
        return Counts(tuple(cells), self.columns, frozen(merged), frozen(_narrow(row, len(merged))[self.row]))

    def with_sum(self) -> Counts:
        """The counts with one more cell in front: all cells added up.

        Examples:
            >>> Counts.of_matrix(["PER", "LOC"], ["gold"], np.array([[2, 1]])).with_sum().total.tolist()
            [[3], [2], [1]]
        """
        wide = len(self.columns)
        summed = self.rows.reshape(len(self.rows), -1, wide).sum(axis=1, dtype=np.int32)
        # Distinct rows stay distinct, so they keep their numbers.
        rows = np.concatenate([summed, self.rows], axis=1)
        return Counts(("all", *self.cells), self.columns, frozen(rows), self.row)

    def summed(self, cells: Sequence[str], parts: Sequence[Sequence[int]]) -> Counts:
        """The counts in new cells, each the sum of the cells at some places; units stay apart.

        Examples:
            >>> two = Counts.of_matrix(["x", "y"], ["gold"], np.array([[2, 1]]))
            >>> two.summed(["both", "x"], [[0, 1], [0]]).total.tolist()
            [[3], [2]]
        """
        by_cell = self.rows.reshape(len(self.rows), len(self.cells), len(self.columns))
        sums = [by_cell[:, list(part)].sum(axis=1, dtype=np.int32) for part in parts]
        rows = np.concatenate(sums, axis=1)
        order, rank = _ordered(rows)
        return Counts(
            tuple(cells), self.columns, frozen(rows[order]), frozen(_narrow(rank, len(rank))[self.row])
        )

    def in_blocks(self, size: int) -> Counts:
        """The counts of blocks of this many consecutive units; the last one may be smaller.

        Examples:
            >>> Counts.of_matrix(["x"], ["gold"], np.array([[1], [2], [3]])).in_blocks(2).matrix().tolist()
            [[3], [3]]
        """
        parts = []
        step = size * max(1, _BLOCK // size)
        for at in range(0, self.units, step):
            rows = self.rows[self.row[at : at + step]]
            parts.append(np.add.reduceat(rows, np.arange(0, len(rows), size), axis=0))
        whole = np.concatenate(parts) if parts else self.matrix()
        return Counts.of_matrix(self.cells, self.columns, whole)

    def as_one_unit(self) -> Counts:
        """The counts over all units as those of a single one."""
        rows = self.total.reshape(1, -1).astype(np.int32)
        return Counts(self.cells, self.columns, frozen(rows), frozen(np.zeros(1, dtype=np.uint8)))

    def of_cells(self, places: Sequence[int]) -> Counts:
        """The counts in the cells at these places; units stay apart even if only other cells differ."""
        wide = len(self.columns)
        taken = np.concatenate([np.arange(index * wide, (index + 1) * wide) for index in places])
        cells = tuple(self.cells[index] for index in places)
        return Counts(cells, self.columns, frozen(self.rows[:, taken]), self.row)


class CrossTable(Struct, frozen=True, eq=False):
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
        row_at = {name: index for index, name in enumerate(self.rows)}
        column_at = {name: index for index, name in enumerate(self.columns)}
        padded = np.zeros((len(self.rows) + 1, len(self.columns) + 1), dtype=np.int64)
        padded[:-1, :-1] = self.counts
        take_rows = [row_at.get(name, len(self.rows)) for name in rows]
        take_columns = [column_at.get(name, len(self.columns)) for name in columns]
        return np.asarray(padded[np.ix_(take_rows, take_columns)])


def _rows_of_events(groups: Groups, units: int, cells: int, columns: int) -> tuple[Matrix, Ints]:
    """The distinct rows of the matrix units × (cells · columns) that counts the events, and each unit's row.

    The matrix itself, mostly zeros, is never made: the counts of a unit are packed into as few 64-bit words
    as hold them, and units are told apart by their words.
    """
    width = cells * columns
    size = np.zeros(units, dtype=np.int64)
    for unit, _, _ in groups:
        size += np.bincount(unit, minlength=units)
    bits = int(size.max(initial=0)).bit_length()
    if not bits:
        return np.zeros((min(units, 1), width), dtype=np.int32), np.zeros(units, dtype=np.int64)
    in_word = 64 // bits
    wide = -(-width // in_word)
    word, inner = np.divmod(np.arange(width), in_word)
    shift = (inner * bits).astype(np.uint64)
    one = np.uint64(1) << shift
    words = np.zeros((units, wide), dtype=np.uint64)
    flat = words.reshape(-1)
    for unit, cell, column in groups:
        for at in range(0, len(unit), _BLOCK):
            here = slice(at, at + _BLOCK)
            if isinstance(column, int):
                place, words_of, ones = cell[here], word[column::columns], one[column::columns]
            else:
                place, words_of, ones = cell[here] * np.int64(columns) + column[here], word, one
            np.add.at(flat, unit[here] * wide + words_of[place], ones[place])
    first, number = numbered(words)
    rows = (words[first][:, word] >> shift & np.uint64((1 << bits) - 1)).astype(np.int32)
    order, rank = _ordered(rows)
    return rows[order], rank[number]


def _narrow(number: Ints, size: int) -> Column:
    """Numbers below `size` in the narrowest type that holds them."""
    return frozen(number.astype(np.min_scalar_type(max(size - 1, 0))))


def _ordered(rows: Matrix) -> tuple[Ints, Ints]:
    """The order of distinct rows by their contents, and the place of each in it."""
    order = _order(rows)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return order, rank


def _order(rows: Matrix) -> Ints:
    """The order of distinct rows, which depends only on their contents: by a linear hash of them."""
    hashed = rows.astype(np.uint64) @ multipliers(rows.shape[1])
    order = np.argsort(hashed)
    if (hashed[order[1:]] == hashed[order[:-1]]).any():
        return np.lexsort(rows.T[::-1])
    return order


def distinct_rows(matrix: Matrix) -> tuple[Matrix, Ints]:
    """The distinct rows of a matrix in an order of their own, and for each row its number among them."""
    if len(matrix) == 0:
        return matrix, np.zeros(0, dtype=np.int64)
    words = np.zeros((len(matrix), (matrix.shape[1] + 1) // 2), dtype=np.uint64)
    words.view(np.int32)[:, : matrix.shape[1]] = matrix
    first, number = numbered(words)
    rows = matrix[first]
    order, rank = _ordered(rows)
    return rows[order], rank[number]


def joint_numbers(tables: Sequence[Counts]) -> tuple[Matrix, Ints]:
    """The distinct combinations of rows of several tables over the same units, and how many units have each.

    Examples:
        >>> one, other = (Counts.of_matrix(["x"], ["gold"], np.array([[1], [1], [size]])) for size in (1, 2))
        >>> sorted(joint_numbers([one, other])[1].tolist())
        [1, 2]
    """
    ways = prod(len(table.rows) for table in tables)
    if not 0 < ways <= 2 * tables[0].units:
        distinct, number = distinct_rows(np.stack([table.row.astype(np.int32) for table in tables], axis=1))
        return distinct, np.bincount(number, minlength=len(distinct))
    # So few that each has its own slot to be counted in.
    code = np.zeros(tables[0].units, dtype=np.int64)
    for table in tables:
        code = code * len(table.rows) + table.row
    times = np.bincount(code, minlength=ways)
    there = np.flatnonzero(times)
    places = np.unravel_index(there, [len(table.rows) for table in tables])
    distinct = np.stack(places, axis=1).astype(np.int32)
    order = _order(distinct)
    return distinct[order], times[there][order]
