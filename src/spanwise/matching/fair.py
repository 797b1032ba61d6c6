"""Ortmann's fair matching: every error is named, and counted once."""

from __future__ import annotations

import numpy as np

from spanwise.columns import Bools, Ints, Small
from spanwise.corpus import Mentions
from spanwise.matching._events import BEL, BEO, BES, FN, FP, LBE, LE, TP, Matching, Pairing
from spanwise.matching._join import (
    Line,
    Overlaps,
    Spread,
    equal_mentions,
    equal_spans,
    lines,
    overlaps,
    reach,
)
from spanwise.matching._remaining import Remaining


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
    pairing.both(*equal_spans(left, right, _free(pairing)), LE)
    free = _free(pairing)
    spreads = Spread.of(left, free[0]), Spread.of(right, free[1])
    pairs = overlaps(*spreads, reach(*spreads))
    if len(pairs.gold):
        _Game(gold, predicted, left, right, pairing).play(pairs)
    return pairing.matching()


def _free(pairing: Pairing) -> tuple[Ints, Ints]:
    return np.flatnonzero(pairing.gold_outcome == FN), np.flatnonzero(pairing.predicted_outcome == FP)


class _Game:
    """Steps 2 and 3 over the pairs that overlap; sentences need no loop, since they share no position."""

    def __init__(
        self, gold: Mentions, predicted: Mentions, left: Line, right: Line, pairing: Pairing
    ) -> None:
        self.gold, self.predicted = gold, predicted
        self.left, self.right = left, right
        self.pairing = pairing
        self.remaining = Remaining(left), Remaining(right)

    def play(self, pairs: Overlaps) -> None:
        """Give every mention that overlaps one of the other side its outcome, where it gets one."""
        same = self.gold.label[pairs.gold] == self.predicted.label[pairs.predicted]
        lone = _lone(pairs.gold) & _lone(pairs.predicted)
        self._pair(pairs.take(lone), same[lone])
        pairs, same = pairs.take(~lone), same[~lone]
        if len(pairs.gold):
            for alike in (True, False):
                chosen = pairs.take(same == alike)
                self._first(chosen, alike)
                self._late(chosen, alike, turn=2)
                self._late(chosen, alike, turn=3)

    def _pair(self, pairs: Overlaps, same: Bools | bool) -> None:
        self.pairing.both(pairs.gold, pairs.predicted, self._outcome(pairs, same))

    def _outcome(self, pairs: Overlaps, same: Bools | bool) -> Small:
        inside = pairs.shared == self.right.size[pairs.predicted]
        around = pairs.shared == self.left.size[pairs.gold]
        boundary = np.where(inside, BES, np.where(around, BEL, BEO))
        return np.where(same, boundary, LBE).astype(np.int8)

    def _first(self, pairs: Overlaps, same: bool) -> None:
        """Both mentions are free: shortest gold mention first, each takes the best one that is left."""
        free_gold = self.pairing.gold_outcome[pairs.gold] == FN
        free_predicted = self.pairing.predicted_outcome[pairs.predicted] == FP
        pairs = pairs.take(free_gold & free_predicted)
        gold_size, predicted_size = self.left.size[pairs.gold], self.right.size[pairs.predicted]
        differing = gold_size + predicted_size - 2 * pairs.shared
        order = np.lexsort((pairs.predicted, predicted_size, differing, -pairs.shared, pairs.gold, gold_size))
        pairs = pairs.take(order)
        chosen = _greedy(pairs.gold.tolist(), pairs.predicted.tolist())
        made = pairs.take(chosen)
        self._pair(made, same)
        for gold, predicted in zip(made.gold.tolist(), made.predicted.tolist(), strict=True):
            self.remaining[0].match(gold, self.remaining[1], predicted)

    def _late(self, pairs: Overlaps, same: bool, *, turn: int) -> None:
        """Each free mention of one side, shortest first, joins the best matched one of the other side."""
        outcomes = self.pairing.gold_outcome, self.pairing.predicted_outcome
        rows = pairs.gold, pairs.predicted
        here, there = (0, 1) if turn == 2 else (1, 0)
        alone = FN if turn == 2 else FP
        other_alone = FP if turn == 2 else FN
        mask = (outcomes[here][rows[here]] == alone) & (outcomes[there][rows[there]] != other_alone)
        pairs = pairs.take(mask)
        if not len(pairs.gold):
            return
        rows = pairs.gold, pairs.predicted
        size = (self.left, self.right)[here].size
        order = np.lexsort((rows[here], size[rows[here]]))
        made = self.remaining[here].join(rows[here][order], self.remaining[there], rows[there][order])
        pairs = pairs.take(order[made])
        outcome = self._outcome(pairs, same)
        if turn == 2:
            self.pairing.first(pairs.gold, pairs.predicted, outcome)
        else:
            self.pairing.second(pairs.predicted, pairs.gold, outcome)


def _lone(rows: Ints) -> Bools:
    """Which entries of a column occur once in it."""
    _, inverse, number = np.unique(rows, return_inverse=True, return_counts=True)
    return np.asarray(number[inverse] == 1)


def _greedy(gold: list[int], predicted: list[int]) -> Ints:
    """Positions of the pairs that are made when pairs are offered in order and each row is used once."""
    used_gold: set[int] = set()
    used_predicted: set[int] = set()
    made = []
    for number, (first, second) in enumerate(zip(gold, predicted, strict=True)):
        if first not in used_gold and second not in used_predicted:
            used_gold.add(first)
            used_predicted.add(second)
            made.append(number)
    return np.array(made, dtype=np.int64)
