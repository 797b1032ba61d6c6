"""The tokens of mentions that no match has used yet: bits where all mentions are short, else borders."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from spanwise.columns import Ints
from spanwise.matching._overlaps import Side

_SHORT = 512  # positions up to which the bits of one number are faster than a list of borders


class Remaining(Protocol):
    """What is left of the mentions of one side; `other` keeps those of the other side in the same way."""

    def match(self, mention: int, other: Any, partner: int) -> None:
        """Take what a mention and its partner share away from both."""

    def join(self, mentions: Ints, other: Any, partners: Ints) -> Ints:
        """Match each mention, in order, to the best of the partners offered beside it.

        Returns:
            The positions of the pairs that were made; a mention whose partners have
            nothing left of it makes none.
        """


def remaining(gold: Side, predicted: Side) -> tuple[Remaining, Remaining]:
    """What remains of the mentions of both sides: at first, all of it."""
    if max(_extent(gold), _extent(predicted)) <= _SHORT:
        return Masks(gold), Masks(predicted)
    return Borders(gold), Borders(predicted)


def _extent(side: Side) -> int:
    """The most positions from the first to the last of a mention."""
    first, last = _first(side), _first(side, 1) - 1
    return int((side.end[last] - side.start[first]).max(initial=0))


def _first(side: Side, after: int = 0) -> Ints:
    """Where the intervals of each mention begin, or those of the mention so many places after it."""
    numbers = np.arange(len(side)) + after
    return numbers if side.contiguous else np.searchsorted(side.owner, numbers)


class Masks:
    """For each mention of one side the positions still free, as bits counted from its start."""

    def __init__(self, side: Side) -> None:
        first = _first(side)
        self._start: list[int] = side.start[first].tolist()
        self._size: list[int] = side.size.tolist()
        self._bits = [(1 << size) - 1 for size in (side.end[first] - side.start[first]).tolist()]
        if not side.contiguous:
            pieces = zip(side.start.tolist(), side.end.tolist(), side.owner.tolist(), strict=True)
            for start, end, owner in pieces:
                self._bits[owner] |= ((1 << end - start) - 1) << (start - self._start[owner])

    def match(self, mention: int, other: Masks, partner: int) -> None:
        """Take what a mention and its partner share away from both."""
        shift = self._start[mention] - other._start[partner]
        if shift >= 0:
            common = self._bits[mention] & (other._bits[partner] >> shift)
            self._bits[mention] ^= common
            other._bits[partner] ^= common << shift
        else:
            common = (self._bits[mention] >> -shift) & other._bits[partner]
            self._bits[mention] ^= common << -shift
            other._bits[partner] ^= common

    def join(self, mentions: Ints, other: Masks, partners: Ints) -> Ints:
        """As promised by `Remaining`."""
        made = []
        starts, bits, sizes = other._start, other._bits, other._size
        for mention, begin, offered in _offers(mentions, partners):
            start, mine = self._start[mention], self._bits[mention]
            best: tuple[int, int, int, int] | None = None
            chosen = -1
            for position, partner in enumerate(offered, begin):
                theirs, shift = bits[partner], start - starts[partner]
                common = mine & (theirs >> shift) if shift >= 0 else (mine >> -shift) & theirs
                if common:
                    shared = common.bit_count()
                    # What remains of the mention itself is the same for every partner.
                    rank = (-shared, theirs.bit_count() - 2 * shared, sizes[partner], partner)
                    if best is None or rank < best:
                        best, chosen = rank, position
            if best is not None:
                self.match(mention, other, best[3])
                made.append(chosen)
        return np.array(made, dtype=np.int64)


def _offers(mentions: Ints, partners: Ints) -> Iterator[tuple[int, int, list[int]]]:
    """Each run of equal mentions: the mention, where the run begins, and the partners beside it."""
    if not len(mentions):
        return
    starts = np.concatenate([[0], np.flatnonzero(mentions[1:] != mentions[:-1]) + 1])
    ends = [*starts[1:].tolist(), len(mentions)]
    listed = partners.tolist()
    for mention, begin, end in zip(mentions[starts].tolist(), starts.tolist(), ends, strict=True):
        yield mention, begin, listed[begin:end]


class Borders:
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

    def match(self, mention: int, other: Borders, partner: int) -> None:
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

    def join(self, mentions: Ints, other: Borders, partners: Ints) -> Ints:
        """As promised by `Remaining`."""
        made = []
        for mention, begin, offered in _offers(mentions, partners):
            mine = self.borders(mention)
            best: tuple[int, int, int, int] | None = None
            chosen = -1
            for position, partner in enumerate(offered, begin):
                shared = _shared(mine, other.borders(partner))
                if shared:
                    rank = (-shared, other._left[partner] - 2 * shared, other._size[partner], partner)
                    if best is None or rank < best:
                        best, chosen = rank, position
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
