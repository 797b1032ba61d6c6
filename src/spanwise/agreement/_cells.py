"""Cells of sparse tables of counts, which add up over blocks whatever labels each of them has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from spanwise.columns import Column, Floats, Ints, ints


class Cells(Struct, frozen=True, eq=False):
    """How often each distinct row of whole numbers was counted."""

    rows: Ints  # distinct, in order
    count: Ints

    @classmethod
    def of(cls, *columns: Column, count: Column | None = None) -> Cells:
        """Count equal rows, each of them once or as often as `count` says.

        Examples:
            >>> cells = Cells.of(ints([1, 0, 1]), ints([2, 2, 2]))
            >>> cells.rows.tolist(), cells.count.tolist()
            ([[0, 2], [1, 2]], [1, 2])
        """
        rows = np.stack([np.asarray(column, dtype=np.int64) for column in columns], axis=1)
        times = np.ones(len(rows), dtype=np.int64) if count is None else np.asarray(count, dtype=np.int64)
        order = np.lexsort(rows.T[::-1])
        rows, times = rows[order], times[order]
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
        first = np.flatnonzero(new)
        total = np.add.reduceat(times, first) if len(first) else times
        return cls(ints(rows[new]), ints(total))

    @classmethod
    def joined(cls, parts: Sequence[Cells]) -> Cells:
        """The cells of several blocks."""
        rows = np.concatenate([part.rows for part in parts])
        return cls.of(*rows.T, count=np.concatenate([part.count for part in parts]))

    def renamed(self, columns: Sequence[int], name: Callable[[Ints], Ints]) -> Cells:
        """The same cells with other numbers in some columns."""
        rows = self.rows.copy()
        for column in columns:
            rows[:, column] = name(self.rows[:, column])
        return Cells.of(*rows.T, count=self.count)

    def where(self, first: int) -> Cells:
        """The other columns of the rows that begin with a number."""
        low, high = np.searchsorted(self.rows[:, 0], [first, first + 1])
        return Cells(ints(self.rows[low:high, 1:]), ints(self.count[low:high]))

    def square(self, size: int) -> Floats:
        """A table of rows of two numbers."""
        table = np.zeros((size, size))
        table[self.rows[:, 0], self.rows[:, 1]] = self.count
        return table
