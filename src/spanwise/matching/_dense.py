"""Matching of crowds, mentions that nearly all overlap each other, without listing their pairs."""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace

import numpy as np

from spanwise.columns import Bools, Codes, Ints
from spanwise.matching._events import Pairing
from spanwise.matching._overlaps import Overlaps, Reach, Side, components, relation
from spanwise.matching._remaining import Borders

_DEGREE = 64  # overlaps a mention, above which rows of arrays are cheaper than lists of pairs
_SMALL = 200_000  # pairs that are listed without a second thought


def crowded(gold: Side, predicted: Side, reach: Reach) -> list[tuple[Bools, Bools]]:
    """The crowds: groups of contiguous mentions with so many overlaps that pairs should not be listed."""
    number = len(gold) + len(predicted)
    if reach.total <= _SMALL + _DEGREE * number or not (gold.contiguous and predicted.contiguous):
        return []
    left, right = components(gold, predicted)
    group = np.concatenate([left, right])
    pairs = np.bincount(group, weights=np.concatenate([reach.gold_size, reach.predicted_size]))
    heavy = np.flatnonzero(pairs > _DEGREE * np.bincount(group))
    return [(left == crowd, right == crowd) for crowd in heavy.tolist()]


def play_crowd(gold: Side, predicted: Side, pairing: Pairing) -> None:
    """Steps 2 and 3 of the algorithm, with one row of arrays a mention instead of a list of pairs."""
    crowd = _Crowd(gold, predicted)
    for same in (True, False):
        crowd.first(same)
        crowd.late(same, turn=2)
        crowd.late(same, turn=3)
    crowd.record(pairing)


class _Crowd:
    def __init__(self, gold: Side, predicted: Side) -> None:
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


def pair_crowd(gold: Side, predicted: Side, places: tuple[Ints, Ints]) -> Overlaps:
    """One-to-one pairs of a crowd, the best first; `places` order the mentions of each side among equals."""
    if len(gold) <= len(predicted):
        first, second, shared = _named_pairs(gold, predicted, places, swapped=False)
    else:
        second, first, shared = _named_pairs(predicted, gold, places[::-1], swapped=True)
    return Overlaps(first, second, shared)


def _named_pairs(few: Side, many: Side, places: tuple[Ints, Ints], *, swapped: bool) -> Ints:
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
