"""Ortmann's fair matching: every error is named, and counted once."""

from __future__ import annotations

import numpy as np

from spanwise.columns import Ints
from spanwise.corpus import Mentions
from spanwise.matching._dense import crowded, play_crowd
from spanwise.matching._events import FN, FP, LE, TP, Matching, Pairing
from spanwise.matching._join import equal_mentions, equal_spans, lines, packed_order
from spanwise.matching._overlaps import Overlaps, Reach, Side, greedy, overlaps, relation
from spanwise.matching._remaining import remaining


def match_fair(gold: Mentions, predicted: Mentions) -> Matching:
    """Ortmann's Algorithm 2.

    1. Equal span and label: TP. Then equal span: LE. Both mentions leave the game.
    2. Same label and a shared token: BE (BEs: the predicted mention lies inside the gold one,
       BEl: it contains it, BEo: they cross). Shortest gold mentions choose first.
       Afterwards each gold mention left over may join a predicted one that is matched already,
       then each predicted one a gold one, as long as they share a token that no
       earlier match has used.
    3. The same with different labels: LBE.
    4. What is left is FN or FP.

    The best partner shares most remaining tokens, then differs in fewest, then is shortest,
    then first in the input.

    Examples:
        >>> gold = Mentions.of([(0, 0, 2, "PER"), (0, 4, 5, "LOC"), (1, 0, 1, "PER")])
        >>> predicted = Mentions.of([(0, 0, 2, "LOC"), (0, 4, 6, "LOC")])
        >>> match_fair(gold, predicted).events().rows()
        [(0, 0, 'LE', 1), (1, 1, 'BEl', 1), (2, -1, 'FN', 0)]

    References:
        Ortmann (2022), Fine-Grained Error Analysis and Fair Evaluation of Labeled Spans, LREC.
    """
    left, right = lines(gold, predicted)
    pairing = Pairing.none(len(gold), len(predicted))
    pairing.both(*equal_mentions(gold, predicted, left, right), TP)
    free = np.flatnonzero(pairing.gold_outcome == FN), np.flatnonzero(pairing.predicted_outcome == FP)
    pairing.both(*equal_spans(left, right, free), LE)
    _play(
        Side.of(left, gold, pairing.gold_outcome == FN),
        Side.of(right, predicted, pairing.predicted_outcome == FP),
        pairing,
    )
    return pairing.matching()


def _play(gold: Side, predicted: Side, pairing: Pairing) -> None:
    """Steps 2 and 3 among free mentions; sentences need no loop, since they share no position."""
    reach = Reach.of(gold, predicted)
    crowds = crowded(gold, predicted, reach)
    if crowds:
        for first, second in crowds:
            play_crowd(gold.take(first), predicted.take(second), pairing)
        busy = [np.logical_or.reduce(masks) for masks in zip(*crowds, strict=True)]
        gold, predicted = gold.take(~busy[0]), predicted.take(~busy[1])
        reach = Reach.of(gold, predicted)
    pairs = overlaps(gold, predicted, reach)
    # Most pairs have no rival on either side: every rule makes them.
    lone = (np.bincount(pairs.gold) == 1)[pairs.gold] & (np.bincount(pairs.predicted) == 1)[pairs.predicted]
    alone = pairs.take(lone)
    same = gold.label[alone.gold] == predicted.label[alone.predicted]
    outcome = relation(alone, gold, predicted, same)
    pairing.both(gold.row[alone.gold], predicted.row[alone.predicted], outcome)
    if not lone.all():
        _Game.among(gold, predicted, pairs.take(~lone), pairing).play()


class _Game:
    """Who is still free, and what is left of the others."""

    def __init__(self, gold: Side, predicted: Side, pairs: Overlaps, pairing: Pairing) -> None:
        self.sides = gold, predicted
        self.pairs = pairs
        self.pairing = pairing
        self.free = np.ones(len(gold), dtype=bool), np.ones(len(predicted), dtype=bool)
        self.rank = _ranks(gold.size), _ranks(predicted.size)
        self.remaining = remaining(gold, predicted)

    @classmethod
    def among(cls, gold: Side, predicted: Side, pairs: Overlaps, pairing: Pairing) -> _Game:
        """The game of those mentions that are in the pairs."""
        here, there = np.zeros(len(gold), dtype=bool), np.zeros(len(predicted), dtype=bool)
        here[pairs.gold], there[pairs.predicted] = True, True
        first, second = (np.cumsum(mask) - 1 for mask in (here, there))
        inner = Overlaps(first[pairs.gold], second[pairs.predicted], pairs.shared)
        return cls(gold.take(here), predicted.take(there), inner, pairing)

    def play(self) -> None:
        """Three passes over pairs with the same label, then three over the others."""
        gold, predicted = self.sides
        same = gold.label[self.pairs.gold] == predicted.label[self.pairs.predicted]
        for alike in (True, False):
            chosen = self.pairs.take(same == alike)
            self._first(chosen, alike)
            self._late(chosen, alike, turn=2)
            self._late(chosen, alike, turn=3)

    def _first(self, pairs: Overlaps, same: bool) -> None:
        """Both mentions are free: shortest gold mention first, each takes the best one that is left."""
        pairs = pairs.take(self.free[0][pairs.gold] & self.free[1][pairs.predicted])
        # Both are whole, so of two partners that share as much the shorter one differs in less.
        order = packed_order(
            self.rank[0][pairs.gold],
            pairs.shared.max(initial=0) - pairs.shared,
            self.rank[1][pairs.predicted],
        )
        pairs = pairs.take(order)
        made = pairs.take(greedy(pairs.gold, pairs.predicted))
        for first, second in zip(made.gold.tolist(), made.predicted.tolist(), strict=True):
            self.remaining[0].match(first, self.remaining[1], second)
        gold, predicted = self.sides
        self.free[0][made.gold], self.free[1][made.predicted] = False, False
        outcome = relation(made, gold, predicted, same)
        self.pairing.both(gold.row[made.gold], predicted.row[made.predicted], outcome)

    def _late(self, pairs: Overlaps, same: bool, *, turn: int) -> None:
        """Each free mention of one side, shortest first, joins the best matched one of the other side."""
        here, there = (0, 1) if turn == 2 else (1, 0)
        mentions = pairs.gold, pairs.predicted
        pairs = pairs.take(self.free[here][mentions[here]] & ~self.free[there][mentions[there]])
        if not len(pairs):
            return
        mentions = pairs.gold, pairs.predicted
        pairs = pairs.take(packed_order(self.rank[here][mentions[here]]))
        mentions = pairs.gold, pairs.predicted
        made = pairs.take(self.remaining[here].join(mentions[here], self.remaining[there], mentions[there]))
        gold, predicted = self.sides
        rows = gold.row[made.gold], predicted.row[made.predicted]
        outcome = relation(made, gold, predicted, same)
        if turn == 2:
            self.free[0][made.gold] = False
            self.pairing.first(*rows, outcome)
        else:
            self.free[1][made.predicted] = False
            self.pairing.second(rows[1], rows[0], outcome)


def _ranks(size: Ints) -> Ints:
    """The place of each mention when the shortest come first, ties in input order."""
    rank = np.empty(len(size), dtype=np.int64)
    rank[np.argsort(size, kind="stable")] = np.arange(len(size))
    return rank
