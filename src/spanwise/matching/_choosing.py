"""What matchings share: pairs that need no choice, the tokens that are left, and crowds of mentions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from heapq import heapify, heappop, heapreplace
from typing import Any, Protocol

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Codes, Ints
from spanwise.corpus import Mentions
from spanwise.matching._overlaps import (
    FN,
    FP,
    LE,
    TP,
    FreeSide,
    Overlaps,
    Pairing,
    Reach,
    components,
    equal_mentions,
    equal_spans,
    lines,
    overlaps,
    relation,
)

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


def remaining(gold: FreeSide, predicted: FreeSide) -> tuple[Remaining, Remaining]:
    """What remains of the mentions of both sides: at first, all of it."""
    if max(_extent(gold), _extent(predicted)) <= _SHORT:
        return Masks(gold), Masks(predicted)
    return Borders(gold), Borders(predicted)


def _extent(side: FreeSide) -> int:
    """The most positions from the first to the last of a mention."""
    first, last = _first(side), _first(side, 1) - 1
    return int((side.end[last] - side.start[first]).max(initial=0))


def _first(side: FreeSide, after: int = 0) -> Ints:
    """Where the intervals of each mention begin, or those of the mention this many places after it."""
    numbers = np.arange(len(side)) + after
    return numbers if side.contiguous else np.searchsorted(side.owner, numbers)


class Masks:
    """For each mention of one side the positions still free, as bits counted from its start."""

    def __init__(self, side: FreeSide) -> None:
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

    def __init__(self, side: FreeSide) -> None:
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


_DEGREE = 64  # overlaps a mention, above which rows of arrays are cheaper than lists of pairs
_SMALL = 200_000  # pairs that are always listed


def crowded(gold: FreeSide, predicted: FreeSide, reach: Reach) -> list[tuple[Bools, Bools]]:
    """The crowds: groups of contiguous mentions with so many overlaps that pairs should not be listed."""
    number = len(gold) + len(predicted)
    if reach.total <= _SMALL + _DEGREE * number or not (gold.contiguous and predicted.contiguous):
        return []
    left, right = components(gold, predicted)
    group = np.concatenate([left, right])
    pairs = np.bincount(group, weights=np.concatenate([reach.gold_size, reach.predicted_size]))
    heavy = np.flatnonzero(pairs > _DEGREE * np.bincount(group))
    return [(left == crowd, right == crowd) for crowd in heavy.tolist()]


def play_crowd(gold: FreeSide, predicted: FreeSide, pairing: Pairing) -> None:
    """Steps 2 and 3 of the algorithm, with one row of arrays a mention instead of a list of pairs."""
    crowd = _Crowd(gold, predicted)
    for same in (True, False):
        crowd.first(same)
        crowd.late(same, turn=2)
        crowd.late(same, turn=3)
    crowd.record(pairing)


class _Crowd:
    def __init__(self, gold: FreeSide, predicted: FreeSide) -> None:
        self.sides = gold, predicted
        self.order = tuple(np.argsort(side.size, kind="stable") for side in self.sides)
        self.free = tuple(np.ones(len(side), dtype=bool) for side in self.sides)
        self.remaining = Borders(gold), Borders(predicted)
        self.made: dict[tuple[int, bool], list[tuple[int, int]]] = {}

    def first(self, same: bool) -> None:
        """Both mentions are free: shortest gold mention first, each takes the best one that is left."""
        gold, predicted = self.sides
        # Shortest first, so that the first of those that share most is the best.
        offered = self.order[1][self.free[1][self.order[1]]]
        start, end, label = predicted.start[offered], predicted.end[offered].copy(), predicted.label[offered]
        made = self.made.setdefault((1, same), [])
        for mention in self.order[0][self.free[0][self.order[0]]].tolist() if len(offered) else []:
            shared = np.minimum(end, gold.end[mention]) - np.maximum(start, gold.start[mention])
            shared *= (label == gold.label[mention]) == same
            best = int(shared.argmax())
            if shared[best] > 0:
                partner = int(offered[best])
                end[best] = start[best] - 1  # taken: shares nothing with anyone
                made.append((mention, partner))
                self.remaining[0].match(mention, self.remaining[1], partner)
        for mention, partner in made:
            self.free[0][mention] = self.free[1][partner] = False

    def late(self, same: bool, *, turn: int) -> None:
        """Each free mention of one side, shortest first, joins the best matched one of the other side."""
        here, there = (0, 1) if turn == 2 else (1, 0)
        side, other = self.sides[here], self.sides[there]
        matched = np.flatnonzero(~self.free[there])
        pieces = _Pieces(self.remaining[there], matched, other.label[matched])
        made = self.made.setdefault((turn, same), [])
        joined = []
        for mention in self.order[here][self.free[here][self.order[here]]].tolist():
            shared = pieces.shared(
                int(side.start[mention]), int(side.end[mention]), int(side.label[mention]), same=same
            )
            most = shared.max(initial=0)
            if most > 0:
                ties = np.flatnonzero(shared == most)
                rows = matched[ties]
                left = np.array([self.remaining[there].left(row) for row in rows.tolist()])
                best = int(ties[np.lexsort((rows, other.size[rows], left))[0]])
                partner = int(matched[best])
                self.remaining[here].match(mention, self.remaining[there], partner)
                pieces.replace(best, self.remaining[there].borders(partner))
                joined.append(mention)
                made.append((mention, partner) if turn == 2 else (partner, mention))
        self.free[here][joined] = False

    def record(self, pairing: Pairing) -> None:
        """Write what was made into a pairing."""
        gold, predicted = self.sides
        for (turn, same), made in self.made.items():
            first, second = np.array(made, dtype=np.int64).reshape(-1, 2).T
            begin = np.maximum(gold.start[first], predicted.start[second])
            shared = np.minimum(gold.end[first], predicted.end[second]) - begin
            outcome = relation(Overlaps(first, second, shared), gold, predicted, same)
            rows = gold.row[first], predicted.row[second]
            if turn == 1:
                pairing.both(*rows, outcome)
            elif turn == 2:
                pairing.first(*rows, outcome)
            else:
                pairing.second(rows[1], rows[0], outcome)


class _Pieces:
    """What remains of matched mentions, as arrays with room to grow."""

    def __init__(self, remaining: Borders, mentions: Ints, labels: Codes) -> None:
        self._labels = labels
        self._number = len(mentions)
        self._start = self._end = self._owner = np.zeros(0, dtype=np.int64)
        self._used = 0
        self._places: list[slice] = []
        for owner, mention in enumerate(mentions.tolist()):
            self._places.append(self._append(owner, remaining.borders(mention)))

    def _append(self, owner: int, borders: list[int]) -> slice:
        first, last = self._used, self._used + len(borders) // 2
        if last > len(self._start):
            room = np.zeros(max(last, 64), dtype=np.int64)
            self._start, self._end, self._owner = (
                np.concatenate([column, room]) for column in (self._start, self._end, self._owner)
            )
        place = slice(first, last)
        self._start[place], self._end[place], self._owner[place] = borders[::2], borders[1::2], owner
        self._used = last
        return place

    def replace(self, owner: int, borders: list[int]) -> None:
        """Give a mention other pieces; its old ones become empty."""
        self._end[self._places[owner]] = self._start[self._places[owner]]
        self._places[owner] = self._append(owner, borders)

    def shared(self, start: int, end: int, label: int, *, same: bool) -> Ints:
        """How many positions each mention shares with an interval, 0 where its label is of the wrong kind."""
        used = slice(0, self._used)
        common = np.minimum(self._end[used], end) - np.maximum(self._start[used], start)
        np.maximum(common, 0, out=common)
        total = np.bincount(self._owner[used], weights=common, minlength=self._number).astype(np.int64)
        total *= (self._labels == label) == same
        return total


def pair_crowd(gold: FreeSide, predicted: FreeSide, places: tuple[Ints, Ints]) -> Overlaps:
    """One-to-one pairs of a crowd, the best first; `places` order the mentions of each side among equals."""
    if len(gold) <= len(predicted):
        first, second, shared = _named_pairs(gold, predicted, places, swapped=False)
    else:
        second, first, shared = _named_pairs(predicted, gold, places[::-1], swapped=True)
    return Overlaps(first, second, shared)


def _named_pairs(few: FreeSide, many: FreeSide, places: tuple[Ints, Ints], *, swapped: bool) -> Ints:
    """Pairs and what they share, as three rows.

    Every mention of the smaller side names its best free partner; the best of these pairs is made,
    and who named a partner that is gone names another. The smaller side finds one soon.
    """
    offered = np.lexsort((places[1], many.size))  # the first of those that share most is the best
    start, end, label = many.start[offered], many.end[offered].copy(), many.label[offered]
    taken = np.zeros(len(offered), dtype=bool)

    def name(mention: int) -> tuple[int, ...] | None:
        shared = np.minimum(end, few.end[mention]) - np.maximum(start, few.start[mention])
        alike = shared * (label == few.label[mention])
        same = bool(alike.max(initial=0) > 0)
        best = int((alike if same else shared).argmax())
        most = int(shared[best])
        if most <= 0:
            return None
        partner = int(offered[best])
        differing = int(few.size[mention] + many.size[partner]) - 2 * most
        ties = int(places[0][mention]), int(places[1][partner])
        return not same, -most, differing, *(ties[::-1] if swapped else ties), mention, best

    named = [entry for mention in range(len(few)) if (entry := name(mention)) is not None]
    heapify(named)
    made = []
    while named:
        *_, mention, best = named[0]
        if not taken[best]:
            taken[best] = True
            end[best] = start[best] - 1  # shares nothing with anyone
            made.append((mention, int(offered[best]), -named[0][1]))
            heappop(named)
        elif (entry := name(mention)) is not None:
            heapreplace(named, entry)
        else:
            heappop(named)
    return np.array(made, dtype=np.int64).reshape(-1, 3).T


class Contest(Struct, frozen=True, eq=False):
    """The free mentions that have rivals: of two that overlap, one is overlapped by others as well."""

    pairing: Pairing  # the pairs that were made before, to be copied before it is changed
    crowds: Sequence[
        tuple[FreeSide, FreeSide]
    ]  # mentions that nearly all overlap each other: too many pairs to list
    gold: FreeSide  # all others
    predicted: FreeSide
    pairs: Overlaps

    def repaired(self, gold: Ints, predicted: Ints) -> Contest:
        """The same contest after the same mentions of equal spans were paired in another way."""
        pairing = self.pairing.copy()
        pairing.both(gold, predicted, LE)
        return Contest(pairing, self.crowds, self.gold, self.predicted, self.pairs)


class Ground:
    """Gold and predicted mentions of the same sentences, the equal ones paired.

    Matchings that are made on the same ground share what they have in common.
    """

    def __init__(self, gold: Mentions, predicted: Mentions) -> None:
        self.mentions = gold, predicted
        self.lines = lines(gold, predicted)
        self._equal = Pairing.none(len(gold), len(predicted))
        self._equal.both(*equal_mentions(gold, predicted, *self.lines), TP)
        self._free = (
            np.flatnonzero(self._equal.gold_outcome == FN),
            np.flatnonzero(self._equal.predicted_outcome == FP),
        )

    @cached_property
    def _in_order(self) -> tuple[Ints, Ints, bool]:
        return equal_spans(*self.lines, self._free)

    @cached_property
    def contest(self) -> Contest:
        """What is left when equal spans are paired in the order of the input."""
        return self._after(*self._in_order[:2])

    def contest_by(self, rank: Codes) -> Contest:
        """What is left when equal spans are paired in the order of their labels, which have these ranks."""
        gold, predicted, repeated = self._in_order
        if not repeated:
            return self.contest
        ranks = [rank[side.label[free]] for side, free in zip(self.mentions, self._free, strict=True)]
        first, second, _ = equal_spans(*self.lines, self._free, (ranks[0], ranks[1]))
        same = np.array_equal(np.sort(first), np.sort(gold))
        same = same and np.array_equal(np.sort(second), np.sort(predicted))
        return self.contest.repaired(first, second) if same else self._after(first, second)

    def _after(self, gold: Ints, predicted: Ints) -> Contest:
        """What is left after these pairs of equal spans, and after those of mentions without a rival."""
        pairing = self._equal.copy()
        pairing.both(gold, predicted, LE)
        here, there = map(FreeSide.of, self.lines, self.mentions, _free(pairing, *self._free))
        reach = Reach.of(here, there)
        crowds = crowded(here, there, reach)
        apart = [(here.take(first), there.take(second)) for first, second in crowds]
        if crowds:
            busy = [np.logical_or.reduce(masks) for masks in zip(*crowds, strict=True)]
            here, there = here.take(~busy[0]), there.take(~busy[1])
            reach = Reach.of(here, there)
        pairs = overlaps(here, there, reach)
        lone = _are_sole(pairs.gold) & _are_sole(pairs.predicted)
        made = pairs.take(lone)
        same = here.label[made.gold] == there.label[made.predicted]
        pairing.both(here.row[made.gold], there.row[made.predicted], relation(made, here, there, same))
        return Contest(pairing, apart, *_among(here, there, pairs.take(~lone)))


def _are_sole(numbers: Ints) -> Bools:
    return np.asarray((np.bincount(numbers) == 1)[numbers])


def _free(pairing: Pairing, gold: Ints, predicted: Ints) -> tuple[Ints, Ints]:
    """Which of these rows are still free after the pairs."""
    return gold[pairing.gold_outcome[gold] == FN], predicted[pairing.predicted_outcome[predicted] == FP]


def _among(gold: FreeSide, predicted: FreeSide, pairs: Overlaps) -> tuple[FreeSide, FreeSide, Overlaps]:
    """Those mentions that are in the pairs, and the pairs in their numbers."""
    here, there = np.zeros(len(gold), dtype=bool), np.zeros(len(predicted), dtype=bool)
    here[pairs.gold], there[pairs.predicted] = True, True
    first, second = (np.cumsum(mask) - 1 for mask in (here, there))
    inner = Overlaps(first[pairs.gold], second[pairs.predicted], pairs.shared)
    return gold.take(here), predicted.take(there), inner
