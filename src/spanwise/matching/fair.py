"""Ortmann's fair matching: every error is named, and counted once."""

from __future__ import annotations

import numpy as np

from spanwise.columns import Ints
from spanwise.corpus import Mentions
from spanwise.matching._choosing import Contest, Ground, play_crowd, remaining
from spanwise.matching._join import packed_order
from spanwise.matching._overlaps import Matching, Pairing, greedy, relation


def match_fair(gold: Mentions, predicted: Mentions, *, ground: Ground | None = None) -> Matching:
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
    then first in the input. Where the `ground` of both is known already, it need not be made anew.

    Examples:
        >>> gold = Mentions.of([(0, 0, 2, "PER"), (0, 4, 5, "LOC"), (1, 0, 1, "PER")])
        >>> predicted = Mentions.of([(0, 0, 2, "LOC"), (0, 4, 6, "LOC")])
        >>> match_fair(gold, predicted).events().rows()
        [(0, 0, 'LE', 1), (1, 1, 'BEl', 1), (2, -1, 'FN', 0)]

    References:
        Ortmann (2022), Fine-Grained Error Analysis and Fair Evaluation of Labeled Spans, LREC.
    """
    contest = (Ground(gold, predicted) if ground is None else ground).contest
    pairing = contest.pairing.copy()
    # Sentences need no loop, since they share no position.
    for crowd in contest.crowds:
        play_crowd(*crowd, pairing)
    if len(contest.pairs):
        _Game(contest, pairing).play()
    return pairing.matching()


class _Game:
    """Who is still free, and what is left of the others; pairs are named by their numbers."""

    def __init__(self, contest: Contest, pairing: Pairing) -> None:
        sides = contest.gold, contest.predicted
        pairs = contest.pairs
        self.mentions = pairs.gold, pairs.predicted
        self.same = sides[0].label[pairs.gold] == sides[1].label[pairs.predicted]
        self.outcome = relation(pairs, *sides, self.same)
        self.unshared = pairs.shared.max(initial=0) - pairs.shared
        self.row = sides[0].row, sides[1].row
        self.rank = _ranks(sides[0].size), _ranks(sides[1].size)
        self.free = np.ones(len(sides[0]), dtype=bool), np.ones(len(sides[1]), dtype=bool)
        self.remaining = remaining(*sides)
        self.pairing = pairing

    def play(self) -> None:
        """Three passes over pairs with the same label, then three over the others."""
        for pairs in (np.flatnonzero(self.same), np.flatnonzero(~self.same)):
            self._first(pairs)
            self._late(pairs, turn=2)
            self._late(pairs, turn=3)

    def _first(self, pairs: Ints) -> None:
        """Both mentions are free: shortest gold mention first, each takes the best one that is left."""
        gold, predicted = self.mentions
        pairs = pairs[self.free[0][gold[pairs]] & self.free[1][predicted[pairs]]]
        # Both are whole, so of two partners that share as much the shorter one differs in less.
        order = packed_order(self.rank[0][gold[pairs]], self.unshared[pairs], self.rank[1][predicted[pairs]])
        pairs = pairs[order]
        made = pairs[greedy(gold[pairs], predicted[pairs])]
        first, second = gold[made], predicted[made]
        for mention, partner in zip(first.tolist(), second.tolist(), strict=True):
            self.remaining[0].match(mention, self.remaining[1], partner)
        self.free[0][first], self.free[1][second] = False, False
        self.pairing.both(self.row[0][first], self.row[1][second], self.outcome[made])

    def _late(self, pairs: Ints, *, turn: int) -> None:
        """Each free mention of one side, shortest first, joins the best matched one of the other side."""
        here, there = (0, 1) if turn == 2 else (1, 0)
        mention, partner = self.mentions[here], self.mentions[there]
        pairs = pairs[self.free[here][mention[pairs]] & ~self.free[there][partner[pairs]]]
        if not len(pairs):
            return
        pairs = pairs[packed_order(self.rank[here][mention[pairs]])]
        made = pairs[self.remaining[here].join(mention[pairs], self.remaining[there], partner[pairs])]
        self.free[here][mention[made]] = False
        rows = self.row[here][mention[made]], self.row[there][partner[made]]
        if turn == 2:
            self.pairing.first(*rows, self.outcome[made])
        else:
            self.pairing.second(*rows, self.outcome[made])


def _ranks(size: Ints) -> Ints:
    """The place of each mention when the shortest come first, ties in input order."""
    rank = np.empty(len(size), dtype=np.int64)
    rank[np.argsort(size, kind="stable")] = np.arange(len(size))
    return rank
