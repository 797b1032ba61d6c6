"""Steps that matchers share: pairs without rivals, the tokens still unmatched, and clusters of mentions."""

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

_SHORT = 512  # mentions up to this long are faster as bit masks than as lists of borders


class Remaining(Protocol):
    """The unmatched positions of the mentions of one side; `other` holds those of the other side."""

    def match(self, mention: int, other: Any, partner: int) -> None:
        """Remove the positions shared by a mention and its partner from both."""

    def join(self, mentions: Ints, other: Any, partners: Ints) -> Ints:
        """Match each mention, in order, to the best of the partners listed beside it.

        Returns:
            The indices of the pairs that were made; a mention that shares no unmatched
            position with any partner makes none.
        """


def remaining(gold: FreeSide, predicted: FreeSide) -> tuple[Remaining, Remaining]:
    """The unmatched positions of both sides at the start, when nothing is matched."""
    if max(_extent(gold), _extent(predicted)) <= _SHORT:
        return Masks(gold), Masks(predicted)
    return Borders(gold), Borders(predicted)


def _extent(side: FreeSide) -> int:
    """The largest distance from the start to the end of a mention."""
    first, last = _first(side), _first(side, 1) - 1
    return int((side.end[last] - side.start[first]).max(initial=0))


def _first(side: FreeSide, after: int = 0) -> Ints:
    """The index of the first interval of each mention, or of the mention `after` rows later."""
    numbers = np.arange(len(side)) + after
    return numbers if side.contiguous else np.searchsorted(side.owner, numbers)


class Masks:
    """The unmatched positions of each mention of one side, as a bit mask counted from its start."""

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
        """Remove the positions shared by a mention and its partner from both."""
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
        """See `Remaining.join`."""
        pairs = []
        starts, bits, sizes = other._start, other._bits, other._size
        for mention, begin, offered in _offers(mentions, partners):
            start, mine = self._start[mention], self._bits[mention]
            best: tuple[int, int, int, int] | None = None
            index = -1
            for position, partner in enumerate(offered, begin):
                theirs, shift = bits[partner], start - starts[partner]
                common = mine & (theirs >> shift) if shift >= 0 else (mine >> -shift) & theirs
                if common:
                    shared = common.bit_count()
                    # The remaining positions of the mention itself count equally for every partner.
                    rank = (-shared, theirs.bit_count() - 2 * shared, sizes[partner], partner)
                    if best is None or rank < best:
                        best, index = rank, position
            if best is not None:
                self.match(mention, other, best[3])
                pairs.append(index)
        return np.array(pairs, dtype=np.int64)


def _offers(mentions: Ints, partners: Ints) -> Iterator[tuple[int, int, list[int]]]:
    """For each run of equal mentions: the mention, where the run begins, and the partners beside it."""
    if not len(mentions):
        return
    starts = np.concatenate([[0], np.flatnonzero(mentions[1:] != mentions[:-1]) + 1])
    ends = [*starts[1:].tolist(), len(mentions)]
    listed = partners.tolist()
    for mention, begin, end in zip(mentions[starts].tolist(), starts.tolist(), ends, strict=True):
        yield mention, begin, listed[begin:end]


class Borders:
    """The unmatched positions of each mention of one side, as borders [start, end, start, end, …].

    A mention that is not in `_borders` still has all of its positions.
    """

    def __init__(self, side: FreeSide) -> None:
        self._start, self._end = side.start.tolist(), side.end.tolist()
        self._at = np.searchsorted(side.owner, np.arange(len(side) + 1)).tolist()
        self._size: list[int] = side.size.tolist()
        self._left: list[int] = side.size.tolist()
        self._borders: dict[int, list[int]] = {}

    def borders(self, mention: int) -> list[int]:
        """The borders of what remains of a mention; callers must not modify the list."""
        stored = self._borders.get(mention)
        return self._whole(mention) if stored is None else stored

    def left(self, mention: int) -> int:
        """The number of positions that remain of a mention."""
        return self._left[mention]

    def _whole(self, mention: int) -> list[int]:
        first, last = self._at[mention], self._at[mention + 1]
        if last - first == 1:
            return [self._start[first], self._end[first]]
        return [border for at in range(first, last) for border in (self._start[at], self._end[at])]

    def match(self, mention: int, other: Borders, partner: int) -> None:
        """Remove the positions shared by a mention and its partner from both."""
        mine, theirs = self.borders(mention), other.borders(partner)
        shared = _shared(mine, theirs)
        taken = mine.copy()
        self._take(mention, mine, theirs, shared)
        other._take(partner, theirs, taken, shared)

    def _take(self, mention: int, borders: list[int], removed: list[int], shared: int) -> None:
        self._left[mention] -= shared
        # Skip pieces out of reach: the other may be one long mention in thousands of pieces.
        at = _piece_after(removed, borders[0]) if borders else len(removed)
        end = borders[-1] if borders else 0
        while at < len(removed) and removed[at] < end:
            _remove(borders, removed[at], removed[at + 1])
            at += 2
        self._borders[mention] = borders

    def join(self, mentions: Ints, other: Borders, partners: Ints) -> Ints:
        """See `Remaining.join`."""
        pairs = []
        for mention, begin, offered in _offers(mentions, partners):
            mine = self.borders(mention)
            best: tuple[int, int, int, int] | None = None
            index = -1
            for position, partner in enumerate(offered, begin):
                shared = _shared(mine, other.borders(partner))
                if shared:
                    rank = (-shared, other._left[partner] - 2 * shared, other._size[partner], partner)
                    if best is None or rank < best:
                        best, index = rank, position
            if best is not None:
                self.match(mention, other, best[3])
                pairs.append(index)
        return np.array(pairs, dtype=np.int64)


def _shared(left: list[int], right: list[int]) -> int:
    """The number of positions that two lists of borders have in common.

    Examples:
        >>> _shared([0, 3, 5, 9], [2, 6])
        2
    """
    if len(left) > len(right):
        left, right = right, left
    total = 0
    for piece in range(0, len(left), 2):
        start, end = left[piece], left[piece + 1]
        at = _piece_after(right, start)
        while at < len(right) and right[at] < end:
            total += min(end, right[at + 1]) - max(start, right[at])
            at += 2
    return total


def _piece_after(borders: list[int], position: int) -> int:
    """The index of the first piece that ends after a position."""
    at = bisect_right(borders, position)
    return at - at % 2  # an odd index is inside a piece, which begins one border earlier


def _remove(borders: list[int], start: int, end: int) -> None:
    """Remove the positions from `start` to `end` from a list of borders, in place.

    Examples:
        >>> borders = [0, 10]
        >>> _remove(borders, 4, 6)
        >>> borders
        [0, 4, 6, 10]
    """
    low, high = bisect_left(borders, start), bisect_right(borders, end)
    borders[low:high] = ([start] if low % 2 else []) + ([end] if high % 2 else [])


_DEGREE = 64  # overlaps per mention above which rows of arrays are cheaper than lists of pairs
_SMALL = 200_000  # up to this many pairs are always listed


def find_clusters(gold: FreeSide, predicted: FreeSide, reach: Reach) -> list[tuple[Bools, Bools]]:
    """Masks of the clusters: groups of contiguous mentions with too many overlaps to list as pairs."""
    number = len(gold) + len(predicted)
    if reach.total <= _SMALL + _DEGREE * number or not (gold.contiguous and predicted.contiguous):
        return []
    left, right = components(gold, predicted)
    group = np.concatenate([left, right])
    pairs = np.bincount(group, weights=np.concatenate([reach.gold_size, reach.predicted_size]))
    heavy = np.flatnonzero(pairs > _DEGREE * np.bincount(group))
    return [(left == cluster, right == cluster) for cluster in heavy.tolist()]


def match_cluster(gold: FreeSide, predicted: FreeSide, pairing: Pairing) -> None:
    """Steps 2 and 3 of fair matching, with one row of arrays per mention instead of a list of pairs."""
    cluster = _Cluster(gold, predicted)
    for same in (True, False):
        cluster.first(same)
        cluster.late(same, turn=2)
        cluster.late(same, turn=3)
    cluster.record(pairing)


class _Cluster:
    """The state of fair matching within a cluster: which mentions are free and which positions remain."""

    def __init__(self, gold: FreeSide, predicted: FreeSide) -> None:
        self.sides = gold, predicted
        self.order = tuple(np.argsort(side.size, kind="stable") for side in self.sides)
        self.free = tuple(np.ones(len(side), dtype=bool) for side in self.sides)
        self.remaining = Borders(gold), Borders(predicted)
        self.made: dict[tuple[int, bool], list[tuple[int, int]]] = {}

    def first(self, same: bool) -> None:
        """Pair free mentions: each gold mention, shortest first, takes its best free partner."""
        gold, predicted = self.sides
        # Shortest first, so that `argmax`, which returns the first maximum, finds the best partner.
        offered = self.order[1][self.free[1][self.order[1]]]
        start, end, label = predicted.start[offered], predicted.end[offered].copy(), predicted.label[offered]
        pairs = self.made.setdefault((1, same), [])
        for mention in self.order[0][self.free[0][self.order[0]]].tolist() if len(offered) else []:
            shared = np.minimum(end, gold.end[mention]) - np.maximum(start, gold.start[mention])
            shared *= (label == gold.label[mention]) == same
            best = int(shared.argmax())
            if shared[best] > 0:
                partner = int(offered[best])
                end[best] = start[best] - 1  # taken: overlaps nothing any more
                pairs.append((mention, partner))
                self.remaining[0].match(mention, self.remaining[1], partner)
        for mention, partner in pairs:
            self.free[0][mention] = self.free[1][partner] = False

    def late(self, same: bool, *, turn: int) -> None:
        """Join each free mention of one side, shortest first, to the best matched mention of the other."""
        mine, theirs = (0, 1) if turn == 2 else (1, 0)
        side, other = self.sides[mine], self.sides[theirs]
        matched = np.flatnonzero(~self.free[theirs])
        pieces = _Pieces(self.remaining[theirs], matched, other.label[matched])
        pairs = self.made.setdefault((turn, same), [])
        joined = []
        for mention in self.order[mine][self.free[mine][self.order[mine]]].tolist():
            shared = pieces.shared(
                int(side.start[mention]), int(side.end[mention]), int(side.label[mention]), same=same
            )
            most = shared.max(initial=0)
            if most > 0:
                ties = np.flatnonzero(shared == most)
                rows = matched[ties]
                left = np.array([self.remaining[theirs].left(row) for row in rows.tolist()])
                best = int(ties[np.lexsort((rows, other.size[rows], left))[0]])
                partner = int(matched[best])
                self.remaining[mine].match(mention, self.remaining[theirs], partner)
                pieces.replace(best, self.remaining[theirs].borders(partner))
                joined.append(mention)
                pairs.append((mention, partner) if turn == 2 else (partner, mention))
        self.free[mine][joined] = False

    def record(self, pairing: Pairing) -> None:
        """Record the pairs that were made in a pairing."""
        gold, predicted = self.sides
        for (turn, same), pairs in self.made.items():
            first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
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
    """What remains of matched mentions, as arrays that can grow."""

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
        rows = slice(first, last)
        self._start[rows], self._end[rows], self._owner[rows] = borders[::2], borders[1::2], owner
        self._used = last
        return rows

    def replace(self, owner: int, borders: list[int]) -> None:
        """Replace the pieces of a mention; its old ones become empty."""
        self._end[self._places[owner]] = self._start[self._places[owner]]
        self._places[owner] = self._append(owner, borders)

    def shared(self, start: int, end: int, label: int, *, same: bool) -> Ints:
        """The number of positions each mention shares with an interval; 0 if its label does not qualify."""
        used = slice(0, self._used)
        common = np.minimum(self._end[used], end) - np.maximum(self._start[used], start)
        np.maximum(common, 0, out=common)
        total = np.bincount(self._owner[used], weights=common, minlength=self._number).astype(np.int64)
        total *= (self._labels == label) == same
        return total


def pair_cluster(gold: FreeSide, predicted: FreeSide, ranks: tuple[Ints, Ints]) -> Overlaps:
    """Pair the mentions of a cluster one to one, the best pairs first; `ranks` break ties on each side."""
    if len(gold) <= len(predicted):
        first, second, shared = _proposed_pairs(gold, predicted, ranks, swapped=False)
    else:
        second, first, shared = _proposed_pairs(predicted, gold, ranks[::-1], swapped=True)
    return Overlaps(first, second, shared)


def _proposed_pairs(few: FreeSide, many: FreeSide, ranks: tuple[Ints, Ints], *, swapped: bool) -> Ints:
    """The pairs and the number of positions they share, as three rows.

    Every mention of the smaller side proposes to its best free partner. The best proposal is accepted,
    and a mention whose partner is already taken proposes again. The smaller side needs fewer proposals.
    """
    offered = np.lexsort((ranks[1], many.size))  # the first maximum is then the best partner
    start, end, label = many.start[offered], many.end[offered].copy(), many.label[offered]
    taken = np.zeros(len(offered), dtype=bool)

    def propose(mention: int) -> tuple[int, ...] | None:
        shared = np.minimum(end, few.end[mention]) - np.maximum(start, few.start[mention])
        alike = shared * (label == few.label[mention])
        same = bool(alike.max(initial=0) > 0)
        best = int((alike if same else shared).argmax())
        most = int(shared[best])
        if most <= 0:
            return None
        partner = int(offered[best])
        differing = int(few.size[mention] + many.size[partner]) - 2 * most
        ties = int(ranks[0][mention]), int(ranks[1][partner])
        return not same, -most, differing, *(ties[::-1] if swapped else ties), mention, best

    proposals = [proposal for mention in range(len(few)) if (proposal := propose(mention)) is not None]
    heapify(proposals)
    pairs = []
    while proposals:
        *_, mention, best = proposals[0]
        if not taken[best]:
            taken[best] = True
            end[best] = start[best] - 1  # overlaps nothing any more
            pairs.append((mention, int(offered[best]), -proposals[0][1]))
            heappop(proposals)
        elif (proposal := propose(mention)) is not None:
            heapreplace(proposals, proposal)
        else:
            heappop(proposals)
    return np.array(pairs, dtype=np.int64).reshape(-1, 3).T


class Contest(Struct, frozen=True, eq=False):
    """Free mentions that have rivals: of two that overlap, at least one overlaps others as well."""

    pairing: Pairing  # the pairs made so far; copy before changing it
    # Mentions that nearly all overlap each other: too many pairs to list.
    clusters: Sequence[tuple[FreeSide, FreeSide]]
    gold: FreeSide  # all other mentions
    predicted: FreeSide
    pairs: Overlaps

    def with_pairs(self, gold: Ints, predicted: Ints) -> Contest:
        """The same contest with the mentions of equal span paired in another way."""
        pairing = self.pairing.copy()
        pairing.both(gold, predicted, LE)
        return Contest(pairing, self.clusters, self.gold, self.predicted, self.pairs)


class Prepared:
    """The starting point of matchers: gold and predicted mentions, with equal ones paired.

    Matchers that are given the same one share this part of the work.
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
        """What is left to match after pairing equal spans in input order."""
        return self._after(*self._in_order[:2])

    def contest_by(self, rank: Codes) -> Contest:
        """What is left to match after pairing equal spans in the order of their labels, given by `rank`."""
        gold, predicted, repeated = self._in_order
        if not repeated:
            return self.contest
        ranks = [rank[side.label[free]] for side, free in zip(self.mentions, self._free, strict=True)]
        first, second, _ = equal_spans(*self.lines, self._free, (ranks[0], ranks[1]))
        same = np.array_equal(np.sort(first), np.sort(gold))
        same = same and np.array_equal(np.sort(second), np.sort(predicted))
        return self.contest.with_pairs(first, second) if same else self._after(first, second)

    def _after(self, gold: Ints, predicted: Ints) -> Contest:
        """What is left to match after pairing these equal spans and all overlapping spans without rivals."""
        pairing = self._equal.copy()
        pairing.both(gold, predicted, LE)
        left, right = map(FreeSide.of, self.lines, self.mentions, _free(pairing, *self._free))
        reach = Reach.of(left, right)
        clusters = find_clusters(left, right, reach)
        cluster_sides = [(left.take(first), right.take(second)) for first, second in clusters]
        if clusters:
            in_clusters = [np.logical_or.reduce(masks) for masks in zip(*clusters, strict=True)]
            left, right = left.take(~in_clusters[0]), right.take(~in_clusters[1])
            reach = Reach.of(left, right)
        pairs = overlaps(left, right, reach)
        lone = _are_sole(pairs.gold) & _are_sole(pairs.predicted)
        sole = pairs.take(lone)
        same = left.label[sole.gold] == right.label[sole.predicted]
        pairing.both(left.row[sole.gold], right.row[sole.predicted], relation(sole, left, right, same))
        return Contest(pairing, cluster_sides, *_among(left, right, pairs.take(~lone)))


def _are_sole(numbers: Ints) -> Bools:
    return np.asarray((np.bincount(numbers) == 1)[numbers])


def _free(pairing: Pairing, gold: Ints, predicted: Ints) -> tuple[Ints, Ints]:
    """Those of the given rows that are still free."""
    return gold[pairing.gold_outcome[gold] == FN], predicted[pairing.predicted_outcome[predicted] == FP]


def _among(gold: FreeSide, predicted: FreeSide, pairs: Overlaps) -> tuple[FreeSide, FreeSide, Overlaps]:
    """The mentions that occur in the pairs, and the pairs renumbered to match."""
    in_gold, in_predicted = np.zeros(len(gold), dtype=bool), np.zeros(len(predicted), dtype=bool)
    in_gold[pairs.gold], in_predicted[pairs.predicted] = True, True
    first, second = (np.cumsum(mask) - 1 for mask in (in_gold, in_predicted))
    inner = Overlaps(first[pairs.gold], second[pairs.predicted], pairs.shared)
    return gold.take(in_gold), predicted.take(in_predicted), inner
