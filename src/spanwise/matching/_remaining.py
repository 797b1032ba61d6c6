"""The tokens of matched mentions that no match has used yet."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from spanwise.columns import Ints
from spanwise.matching._join import Line


class Remaining:
    """For each mention of one side the positions still free, as borders [from, to, from, to, …].

    Mentions that no match has touched still have all of theirs and take no room here.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        self._borders: dict[int, list[int]] = {}
        self._size: dict[int, int] = {}

    def borders(self, row: int) -> list[int]:
        """The borders of the remaining pieces of a mention."""
        known = self._borders.get(row)
        if known is not None:
            return known
        line = self._line
        if line.pieces is None:
            return [int(line.start[row]), int(line.end[row])]
        at = slice(int(line.pieces.at[row]), int(line.pieces.at[row + 1]))
        return np.stack([line.pieces.start[at], line.pieces.end[at]], axis=1).ravel().tolist()

    def size(self, row: int) -> int:
        """How many positions remain."""
        known = self._size.get(row)
        return int(self._line.size[row]) if known is None else known

    def match(self, row: int, other: Remaining, partner: int) -> None:
        """Take what a mention and its partner share away from both."""
        mine, theirs = self.borders(row), other.borders(partner)
        shared = _shared(mine, theirs)
        taken = mine.copy()
        self._keep(row, mine, theirs, shared)
        other._keep(partner, theirs, taken, shared)

    def _keep(self, row: int, borders: list[int], removed: list[int], shared: int) -> None:
        self._size[row] = self.size(row) - shared
        for start, end in zip(removed[::2], removed[1::2], strict=True):
            _remove(borders, start, end)
        self._borders[row] = borders

    def join(self, rows: Ints, other: Remaining, partners: Ints) -> Ints:
        """Match each row, in order, to the best of the partners offered beside it.

        Returns:
            The positions of the pairs that were made; a row whose partners have
            nothing left of it makes none.
        """
        made = []
        starts = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]])).tolist()
        offered = partners.tolist()
        for begin, end in zip(starts, [*starts[1:], len(offered)], strict=True):
            row = int(rows[begin])
            borders = self.borders(row)
            size = self.size(row)
            best, chosen = None, -1
            for position in range(begin, end):
                partner = offered[position]
                shared = _shared(borders, other.borders(partner))
                if shared == 0:
                    continue
                differing = size + other.size(partner) - 2 * shared
                rank = (-shared, differing, int(other._line.size[partner]), partner)
                if best is None or rank < best:
                    best, chosen = rank, position
            if chosen >= 0:
                self.match(row, other, offered[chosen])
                made.append(chosen)
        return np.array(made, dtype=np.int64)


def _shared(left: list[int], right: list[int]) -> int:
    """How many positions two lists of borders have in common."""
    if len(left) > len(right):
        left, right = right, left
    total = 0
    for start, end in zip(left[::2], left[1::2], strict=True):
        at = bisect_right(right, start)
        at -= at % 2  # an odd place lies inside a piece that began before
        while at < len(right) and right[at] < end:
            total += max(0, min(end, right[at + 1]) - max(start, right[at]))
            at += 2
    return total


def _remove(borders: list[int], start: int, end: int) -> None:
    """Take the positions from `start` to `end` out of a list of borders.

    Examples:
        >>> borders = [0, 10]
        >>> _remove(borders, 4, 6)
        >>> borders
        [0, 4, 6, 10]
    """
    low, high = bisect_left(borders, start), bisect_right(borders, end)
    kept = ([start] if low % 2 else []) + ([end] if high % 2 else [])
    borders[low:high] = kept
