"""What matchings have in common: the pairs that need no choice, and the mentions that are left to choose."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Codes, Ints
from spanwise.corpus import Mentions
from spanwise.matching._dense import crowded
from spanwise.matching._events import FN, FP, LE, TP, Pairing
from spanwise.matching._join import equal_mentions, equal_spans, lines
from spanwise.matching._overlaps import Overlaps, Reach, Side, overlaps, relation


class Contest(Struct, frozen=True, eq=False):
    """The free mentions that have rivals: of two that overlap, one is overlapped by others as well."""

    pairing: Pairing  # the pairs that were made before, to be copied before it is changed
    crowds: Sequence[tuple[Side, Side]]  # mentions that nearly all overlap each other: too many pairs to list
    gold: Side  # all others
    predicted: Side
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
        here, there = map(Side.of, self.lines, self.mentions, _free(pairing, *self._free))
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


def _among(gold: Side, predicted: Side, pairs: Overlaps) -> tuple[Side, Side, Overlaps]:
    """Those mentions that are in the pairs, and the pairs in their numbers."""
    here, there = np.zeros(len(gold), dtype=bool), np.zeros(len(predicted), dtype=bool)
    here[pairs.gold], there[pairs.predicted] = True, True
    first, second = (np.cumsum(mask) - 1 for mask in (here, there))
    inner = Overlaps(first[pairs.gold], second[pairs.predicted], pairs.shared)
    return gold.take(here), predicted.take(there), inner
