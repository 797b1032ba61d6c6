"""The tokens of matched mentions that no match has used yet."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from spanwise.columns import Ints
from spanwise.matching._overlaps import Side


class Remaining:
    """For each mention of one side the positions still free, as borders [from, to, from, to, …].

    A mention that no match has touched still has all of its positions.
    """

    def __init__(self, side: Side) -> None:
        self._start, self._end = side.start.tolist(), side.end.tolist()
        self._at = np.searchsorted(side.owner, np.arange(len(side) + 1)).tolist()
        self._size: list[int] = side.size.tolist()
        self._left: list[int] = side.size.tolist()
        self._borders: dict[int, list[int]] = {}

    def borders(self, mention: int) -> list[int]:
        """The borders of the pieces that remain of a mention; not to be changed."""
        known = self._borders.get(mention)
        return self._whole(mention) if known is None else known

    def left(self, mention: int) -> int:
        """How many positions remain."""
        return self._left[mention]

    def _whole(self, mention: int) -> list[int]:
        first, last = self._at[mention], self._at[mention + 1]
        if last - first == 1:
            return [self._start[first], self._end[first]]
        return [border for at in range(first, last) for border in (self._start[at], self._end[at])]

    def match(self, mention: int, other: Remaining, partner: int) -> None:
        """Take what a mention and its partner share away from both."""
        mine, theirs = self.borders(mention), other.borders(partner)
        shared = _shared(mine, theirs)
        taken = mine.copy()
        self._take(mention, mine, theirs, shared)
        other._take(partner, theirs, taken, shared)

    def _take(self, mention: int, borders: list[int], removed: list[int], shared: int) -> None:
        self._left[mention] -= shared
        # Only what lies within reach: the other may be one long mention in thousands of pieces.
        at = _place(removed, borders[0]) if borders else len(removed)
        end = borders[-1] if borders else 0
        while at < len(removed) and removed[at] < end:
            _remove(borders, removed[at], removed[at + 1])
            at += 2
        self._borders[mention] = borders

    def join(self, mentions: Ints, other: Remaining, partners: Ints) -> Ints:
        """Match each mention, in order, to the best of the partners offered beside it.

        Returns:
            The positions of the pairs that were made; a mention whose partners have
            nothing left of it makes none.
        """
        made = []
        position, offered = 0, partners.tolist()
        mine = mentions.tolist()
        while position < len(mine):
            mention = mine[position]
            borders, left = self.borders(mention), self._left[mention]
            best: tuple[int, int, int, int] | None = None
            chosen = -1
            while position < len(mine) and mine[position] == mention:
                partner = offered[position]
                shared = _shared(borders, other.borders(partner))
                if shared:
                    differing = left + other._left[partner] - 2 * shared
                    rank = (-shared, differing, other._size[partner], partner)
                    if best is None or rank < best:
                        best, chosen = rank, position
                position += 1
            if best is not None:
                self.match(mention, other, best[3])
                made.append(chosen)
        return np.array(made, dtype=np.int64)


def _shared(left: list[int], right: list[int]) -> int:
    """How many positions two lists of borders have in common.

    Examples:
        >>> _shared([0, 3, 5, 9], [2, 6])
        2
    """
    if len(left) > len(right):
        left, right = right, left
    total = 0
    for piece in range(0, len(left), 2):
        start, end = left[piece], left[piece + 1]
        at = _place(right, start)
        while at < len(right) and right[at] < end:
            total += min(end, right[at + 1]) - max(start, right[at])
            at += 2
    return total


def _place(borders: list[int], position: int) -> int:
    """Where the first piece begins that ends after a position."""
    at = bisect_right(borders, position)
    return at - at % 2  # an odd place lies inside a piece that begins one before


def _remove(borders: list[int], start: int, end: int) -> None:
    """Take the positions from `start` to `end` out of a list of borders.

    Examples:
        >>> borders = [0, 10]
        >>> _remove(borders, 4, 6)
        >>> borders
        [0, 4, 6, 10]
    """
    low, high = bisect_left(borders, start), bisect_right(borders, end)
    borders[low:high] = ([start] if low % 2 else []) + ([end] if high % 2 else [])
