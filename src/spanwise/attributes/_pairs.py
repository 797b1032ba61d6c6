"""How often pairs of an item, be it a word or a token sequence, and a label were met."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from spanwise.columns import Column, Ints, ints


class PairCounts(Struct, frozen=True, eq=False):
    """How often each (item, label) pair was met; both are small numbers, and -1 is never met.

    Only items that were met at all have a row, so the table is never larger
    than pairs × labels.
    """

    row: Ints
    table: Ints

    @classmethod
    def of(
        cls, item: Ints, label: Column, *, items: int, labels: int, times: Ints | None = None
    ) -> PairCounts:
        """The counts of the given pairs of `items` × `labels` possible ones; pairs with item -1 are left out.

        With `times` every pair was met so often.

        Examples:
            >>> pairs = PairCounts.of(np.array([7, 7, -1]), np.array([0, 1, 1]), items=9, labels=2)
            >>> pairs.count(np.array([7, 8]), np.array([1, 1])).tolist()
            [1, 0]
            >>> pairs.total(np.array([7, -1])).tolist()
            [2, 0]
        """
        met = item >= 0
        if not met.all():
            item, label = item[met], label[met]
            times = None if times is None else times[met]
        present = np.zeros(items, dtype=bool)
        present[item] = True
        rows = np.flatnonzero(present)
        row = np.full(items + 1, len(rows), dtype=np.int64)  # the last place serves -1
        row[rows] = np.arange(len(rows))
        # Sums of whole numbers are exact in floats up to 2⁵³.
        flat = np.bincount(row[item] * labels + label, weights=times, minlength=(len(rows) + 1) * labels)
        return cls(ints(row), ints(flat.reshape(len(rows) + 1, labels)))

    @classmethod
    def joined(cls, parts: Sequence[tuple[PairCounts, Ints, Ints]], *, items: int, labels: int) -> PairCounts:
        """The sum of tables, each with the new numbers of its items and of its labels."""
        met = [part.met() for part, _, _ in parts]
        items_met = [place[item] for (item, _, _), (_, place, _) in zip(met, parts, strict=True)]
        labels_met = [code[label] for (_, label, _), (_, _, code) in zip(met, parts, strict=True)]
        times = [number for _, _, number in met]
        columns = [ints(np.concatenate(column)) for column in (items_met, labels_met, times)]
        return cls.of(columns[0], columns[1], items=items, labels=labels, times=columns[2])

    def met(self) -> tuple[Ints, Ints, Ints]:
        """The pairs that were met, items and labels, and how often each was."""
        item = np.flatnonzero(self.row[:-1] < len(self.table) - 1)
        times = self.table[self.row[item]]
        place, label = np.nonzero(times)
        return ints(item[place]), ints(label), ints(times[place, label])

    def count(self, item: Ints, label: Column) -> Ints:
        """How often each pair was met; 0 for items or labels of -1."""
        if not self.table.shape[1]:
            return np.zeros(len(item), dtype=np.int64)
        return np.where(label >= 0, self.table[self.row[item], label], 0)

    def at(self, item: Ints) -> PairCounts:
        """The counts of other items, each of which is one of ours, or none (-1)."""
        return PairCounts(ints(self.row[np.append(item, -1)]), self.table)

    def total(self, item: Ints) -> Ints:
        """How often each item was met with any label."""
        return np.asarray(self.table.sum(axis=1)[self.row[item]])
