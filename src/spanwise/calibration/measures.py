"""Curves, areas and calibration of scored predictions, as they are defined."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from spanwise.buckets import BUCKETINGS
from spanwise.columns import Bools, Floats, Ints, floats, ints, ratio

BINS = 10
RECALLS = np.linspace(0.0, 1.0, 101)


class Scored(Struct, frozen=True, eq=False, dict=True):
    """Scored predictions, with their units and whether each is right, and gold mentions per unit.

    Rows are in the order of the input.
    """

    score: Floats
    right: Bools
    unit: Ints
    gold_by_unit: Ints

    @property
    def gold(self) -> int:
        """The number of gold mentions."""
        return int(self.gold_by_unit.sum())

    @cached_property
    def order(self) -> Ints:
        """The rows from the highest to the lowest score, ties in input order."""
        return ints(np.argsort(-self.score, kind="stable"))

    @cached_property
    def curve(self) -> Curve:
        """The number of predictions, and of right ones, at each distinct score or above."""
        ordered = self.score[self.order]
        last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else ints([])
        correct = np.cumsum(self.right[self.order])
        return Curve(floats(ordered[last]), ints(last + 1), ints(correct[last]), self.gold)


class Curve(Struct, frozen=True, eq=False):
    """The number of predictions, and of right ones, at decreasing thresholds; ties share one point."""

    threshold: Floats
    predicted: Ints
    correct: Ints
    gold: int

    @property
    def separation(self) -> float:
        """How often a right prediction has a higher score than a wrong one (ties: half); NaN without both.

        Examples:
            >>> Curve(np.array([0.9, 0.5]), np.array([2, 4]), np.array([2, 2]), 2).separation
            1.0
        """
        right = np.diff(self.correct, prepend=0)
        wrong = np.diff(self.predicted, prepend=0) - right
        below = wrong.sum() - np.cumsum(wrong) + wrong / 2
        return float(ratio((right * below).sum(), right.sum() * wrong.sum()))

    @property
    def f1(self) -> Floats:
        """F1 at each threshold."""
        return ratio(2 * self.correct, self.gold + self.predicted)

    def best(self) -> int | None:
        """The index of the highest F1; among equal ones, the highest threshold."""
        return int(np.argmax(self.f1)) if len(self.threshold) and self.gold else None

    def at_precision(self, precision: float) -> int | None:
        """The index of the highest recall at this precision or more; among equal ones, the first."""
        enough = np.flatnonzero(self.correct >= precision * self.predicted - 1e-9)
        if not len(enough) or not self.gold:
            return None
        most = self.correct[enough].max()
        return int(enough[np.argmax(self.correct[enough] == most)])

    def at(self, threshold: float) -> tuple[int, int]:
        """The number of predictions, and of right ones, with at least this score."""
        number = int(np.searchsorted(-self.threshold, -threshold, side="right"))
        return (int(self.predicted[number - 1]), int(self.correct[number - 1])) if number else (0, 0)

    def risk(self) -> tuple[Floats, Floats]:
        """Coverage (the share of predictions kept) and risk (the share of errors among them)."""
        whole = self.predicted[-1] if len(self.predicted) else 0
        return ratio(self.predicted, whole), ratio(self.predicted - self.correct, self.predicted)


def average_precision(curve: Curve) -> float:
    """The sum over thresholds of (R_k - R_{k-1}) P_k, with recall over all gold; NaN without gold.

    scikit-learn divides by the number of gold mentions that were predicted at all; its figure times the
    share of these mentions is this one.

    Examples:
        >>> right = np.array([True, False, True])
        >>> scored = Scored(floats([0.9, 0.8, 0.7]), right, ints([0, 0, 0]), ints([4]))
        >>> round(average_precision(scored.curve), 4)
        0.4167
    """
    if not curve.gold:
        return float("nan")
    gained = np.diff(curve.correct, prepend=0)
    return float((gained * ratio(curve.correct, curve.predicted)).sum() / curve.gold)


def ap101(scored: Scored) -> float:
    """COCO's average precision: the mean of the highest precision at 101 recalls, ties in input order."""
    if not scored.gold:
        return float("nan")
    correct = np.cumsum(scored.right[scored.order])
    precision = correct / np.arange(1, len(correct) + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    index = np.searchsorted(correct / scored.gold, RECALLS, side="left")
    return float(np.append(envelope, 0.0)[index].sum() / len(RECALLS))


def risk_area(curve: Curve) -> tuple[float, float]:
    """AURC and E-AURC: the mean share of errors among the k most confident, and its excess over the optimum.

    Errors are spread evenly within ties.
    """
    if not len(curve.predicted):
        return float("nan"), float("nan")
    number = int(curve.predicted[-1])
    size = np.diff(curve.predicted, prepend=0)
    wrong = curve.predicted - curve.correct
    before, lost_before = curve.predicted - size, wrong - np.diff(wrong, prepend=0)
    rank = np.arange(1, number + 1)
    group = np.repeat(np.arange(len(size)), size)
    share = np.diff(wrong, prepend=0) / size
    lost = lost_before[group] + share[group] * (rank - before[group])
    area = float((lost / rank).mean())
    right = int(curve.correct[-1])
    perfect = float((np.maximum(rank - right, 0) / rank).mean())
    return area, area - perfect


class Calibration(Struct, frozen=True, eq=False):
    """Scores and outcomes summed in bins."""

    edges: Floats  # inner edges only; a bin holds low < score <= high
    bins: Ints
    number: Ints
    score: Floats
    right: Floats

    @classmethod
    def of(cls, score: Floats, right: Bools, edges: Floats) -> Calibration:
        """Sum scores and outcomes in the bins between the edges."""
        bins = np.searchsorted(edges, score, side="left")
        many = len(edges) + 1
        return cls(
            floats(edges),
            ints(bins),
            ints(np.bincount(bins, minlength=many)),
            floats(np.bincount(bins, weights=score, minlength=many)),
            floats(np.bincount(bins, weights=right, minlength=many)),
        )

    @classmethod
    def balanced(cls, score: Floats, right: Bools) -> Calibration:
        """Use ten bins with about the same number of predictions each; ties are never split."""
        edges = BUCKETINGS.find("balanced").function(floats(np.sort(score)), (float(BINS),))
        return cls.of(score, right, floats(list(edges)))

    @classmethod
    def even(cls, score: Floats, right: Bools) -> Calibration:
        """Use ten bins of equal width."""
        return cls.of(score, right, floats(np.linspace(0.0, 1.0, BINS + 1)[1:-1]))

    def ece(self) -> float:
        """The mean gap between score and precision, weighted by predictions; NaN if there are none."""
        return float(ratio(np.abs(self.score - self.right).sum(), self.number.sum()))

    def mce(self) -> float:
        """The largest gap of any bin."""
        gaps = ratio(np.abs(self.score - self.right), self.number)
        return float(np.nanmax(gaps)) if (self.number > 0).any() else float("nan")

    def parts(self, score: Floats, right: Bools) -> tuple[float, float, float, float]:
        """Reliability, resolution, uncertainty and the within-bin term of the Brier score."""
        whole = self.number.sum()
        mean_score, precision = ratio(self.score, self.number), ratio(self.right, self.number)
        overall = float(self.right.sum() / whole)
        filled = self.number > 0
        share = self.number[filled] / whole
        reliability = float((share * (mean_score[filled] - precision[filled]) ** 2).sum())
        resolution = float((share * (precision[filled] - overall) ** 2).sum())
        apart, outcome = score - mean_score[self.bins], right - precision[self.bins]
        within = float((apart**2 - 2 * apart * outcome).mean())
        return reliability, resolution, overall * (1 - overall), within


def brier(score: Floats, right: Bools) -> float:
    """The mean squared difference between score and outcome; NaN without predictions."""
    return float(((score - right) ** 2).mean()) if len(score) else float("nan")
