"""Curves, areas, thresholds and calibration of scores, with intervals, for cells and pairs of systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
from msgspec import UNSET, Struct

from spanwise.buckets import BUCKETINGS
from spanwise.columns import Bools, Column, Floats, Ints, floats, ints, on_grid, plain, ratio
from spanwise.counts import Counts
from spanwise.document.confidence import (
    AtPrecision,
    Brier,
    ChanceError,
    ConfidenceCell,
    ConfidencePair,
    CurvePoint,
    EqualScore,
    Macro,
    ReliabilityBin,
    RiskPoint,
    Threshold,
)
from spanwise.intervals import jackknife
from spanwise.scores import Measure, MeasureKey
from spanwise.settings import CONFIDENCE
from spanwise.uncertainty import bernoulli_sums, draw_weights, interval, joined_units

BINS = 10
POINTS = 1000  # maximum number of points of a resampled curve
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

    def chance(self, score: Floats, draws: int, seed: int) -> tuple[float, float]:
        """Mean and 95th percentile of ECE if scores are the true probabilities of being right."""
        if not len(score) or not draws:
            return float("nan"), float("nan")
        sums = bernoulli_sums(score, self.bins, len(self.number), draws, seed)
        errors = np.abs(self.score - sums).sum(axis=1) / len(score)
        return float(errors.mean()), float(np.quantile(errors, 0.95))

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


def intervals(
    scored: Scored,
    calibration: Calibration | None,
    weights: Floats,
    group: Ints,
    *,
    confidence: float = CONFIDENCE,
) -> dict[str, tuple[float, float]]:
    """Percentile intervals of the scores over resampled units (or groups of units).

    Curves with more than 1,000 points are thinned by joining neighbouring scores, and the intervals are
    shifted by the difference that this makes to the estimate.
    """
    if not len(scored.score) or not len(weights):
        return {}
    groups = weights.shape[1]
    owner = group[scored.unit]
    gold = _drawn(weights, np.bincount(group, weights=scored.gold_by_unit, minlength=groups))
    bounds: dict[str, tuple[float, float]] = {}
    for name, exact, joined, resampled in _resampled_curves(scored, owner, gold, weights):
        bounds[name] = _ends(exact, joined, resampled, confidence)
    if calibration is not None:
        sums = _by_group(
            owner, calibration.bins, len(calibration.number), groups, [None, scored.score, scored.right]
        )
        number, score, right = (_drawn(weights, table) for table in sums)
        errors = ratio(np.abs(score - right).sum(axis=1), number.sum(axis=1))
        # Resampled outcomes are noisier than the original ones, which raises ECE; correct for that bias.
        bounds["ece"] = _ends(calibration.ece(), float(np.nanmean(errors)), errors, confidence)
        square = np.bincount(owner, weights=(scored.score - scored.right) ** 2, minlength=groups)
        whole = np.bincount(owner, minlength=groups)
        briers = ratio(_drawn(weights, square), _drawn(weights, whole))
        exact = brier(scored.score, scored.right)
        bounds["brier"] = _ends(exact, exact, briers, confidence)
    return bounds


def _drawn(weights: Floats, sums: Column) -> Floats:
    """Add up sums per group (groups, or groups × columns) over each resample, exactly in any order."""
    most = float(np.abs(sums).sum()) * float(weights.max(initial=1))
    return np.asarray(weights.astype(np.float64) @ on_grid(sums, most))


def _ends(exact: float, joined: float, resampled: Floats, confidence: float) -> tuple[float, float]:
    low, high = interval(resampled, confidence).tolist()
    shift = exact - joined
    return min(max(low + shift, 0.0), 1.0), min(max(high + shift, 0.0), 1.0)


def _by_group(
    owner: Ints, column: Ints, columns: int, groups: int, values: list[Floats | Bools | None]
) -> list[Floats]:
    key = owner * columns + column
    return [
        np.bincount(key, weights=value, minlength=groups * columns)
        .reshape(groups, columns)
        .astype(np.float64)
        for value in values
    ]


class Resampled(Struct, frozen=True, eq=False):
    """The curves of resamples (one per row) and, in `point`, the curve without resampling."""

    predicted: Floats
    correct: Floats
    gold: Floats
    point: Resampled | None = None

    def precision_at(self, recall: Floats) -> Floats:
        """Precision at the first point that reaches a recall; NaN if none does."""
        reached = self.correct >= recall[:, None] * self.gold[:, None] - 1e-9
        return self._at(reached.argmax(axis=1), np.asarray(reached.any(axis=1)), self.predicted)

    def recall_at(self, precision: float) -> Floats:
        """The highest recall at this precision or more; NaN if it is never reached."""
        enough = self.correct >= precision * self.predicted - 1e-9
        most = np.where(enough & (self.predicted > 0), self.correct, -1.0).max(axis=1)
        return np.where(most >= 0, ratio(most, self.gold), np.nan)

    def _at(self, index: Ints, reached: Bools, below: Floats) -> Floats:
        rows = np.arange(len(index))
        return np.where(reached, ratio(self.correct[rows, index], below[rows, index]), np.nan)

    @property
    def recall(self) -> Floats:
        """The recall of all predictions, in each resample."""
        return ratio(self.correct[:, -1], self.gold)

    @property
    def average_precision(self) -> Floats:
        """The average precision, in each resample."""
        return _areas_under(self.predicted, self.correct, self.gold)


def resampled(scored: Scored, weights: Floats, group: Ints) -> Resampled:
    """The curve in every resample of units (or groups of units), at no more than 1,000 points."""
    owner = group[scored.unit]
    by_group = np.bincount(group, weights=scored.gold_by_unit, minlength=weights.shape[1])
    gold = _drawn(weights, by_group)
    return _curves(scored, owner, gold, weights)


def _curves(scored: Scored, owner: Ints, gold: Floats, weights: Floats) -> Resampled:
    curve = scored.curve
    # The point of each row on the curve; neighbouring points are joined if there are too many.
    point_of = np.empty(len(scored.score), dtype=np.int64)
    point_of[scored.order] = np.repeat(np.arange(len(curve.predicted)), np.diff(curve.predicted, prepend=0))
    points = len(curve.predicted)
    if points > POINTS:
        joined = np.minimum(curve.predicted * POINTS // (curve.predicted[-1] + 1), POINTS - 1)
        point_of, points = joined[point_of], POINTS
    tables = _by_group(owner, point_of, points, weights.shape[1], [None, scored.right])
    # Sums of counts are exact in single precision.
    predicted, correct = (
        np.cumsum(weights @ table.astype(np.float32), axis=1, dtype=np.float64) for table in tables
    )
    point = [np.cumsum(table.sum(axis=0, dtype=np.float64))[None] for table in tables]
    return Resampled(predicted, correct, gold, Resampled(point[0], point[1], floats([scored.gold])))


def _resampled_curves(
    scored: Scored, owner: Ints, gold: Floats, weights: Floats
) -> list[tuple[str, float, float, Floats]]:
    curves = _curves(scored, owner, gold, weights)
    point = curves.point
    assert point is not None
    return [
        (
            "average_precision",
            average_precision(scored.curve),
            float(point.average_precision[0]),
            curves.average_precision,
        ),
        (
            "aurc",
            risk_area(scored.curve)[0],
            float(_areas_of_risk(point.predicted, point.correct)[0]),
            _areas_of_risk(curves.predicted, curves.correct),
        ),
    ]


def _areas_under(predicted: Floats, correct: Floats, gold: Floats) -> Floats:
    precision = correct / np.maximum(predicted, 1)
    return ratio((np.diff(correct, axis=1, prepend=0) * precision).sum(axis=1), gold)


def _areas_of_risk(predicted: Floats, correct: Floats) -> Floats:
    """AURC of curves given at some points, with errors spread evenly between them."""
    wrong = predicted - correct
    size, lost = np.diff(predicted, axis=1, prepend=0), np.diff(wrong, axis=1, prepend=0)
    before, lost_before = predicted - size, wrong - lost
    share = lost / np.maximum(size, 1)
    top = int(predicted.max(initial=0))
    harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, top + 1))])
    within = harmonic[predicted.astype(np.int64)] - harmonic[before.astype(np.int64)]
    sums = (lost + (lost_before - share * before) * within).sum(axis=1)
    return ratio(sums, predicted[:, -1])


MOST_UNITS = 2000  # with more units than this, random groups of them are resampled
GROUPS = 1000
MOST_POINTS = 10_000  # in a curve of the document
FEWER_POINTS = 1000  # in a longer curve, after thinning


class Draws(Struct, frozen=True, eq=False):
    """Resamples of units, or of random groups of units if there are many."""

    weights: Floats
    group: Ints
    groups: int | None

    @classmethod
    def of(cls, units: int, resamples: int, seed: int) -> Draws:
        """Draw the resamples of this many units."""
        if units > MOST_UNITS:
            group, number = joined_units(units, GROUPS, seed), GROUPS
        else:
            group, number = ints(np.arange(units)), units
        weights = draw_weights(number, resamples if number > 1 else 0, seed)
        return cls(np.asarray(weights), group, GROUPS if units > MOST_UNITS else None)


def cell_of(scored: Scored, draws: Draws, seed: int) -> ConfidenceCell:
    """Compute all measures for a set of predictions."""
    curve = scored.curve
    area, excess = risk_area(curve)
    score, right = scored.score, scored.right
    possible = bool(len(score)) and bool(((score >= 0) & (score <= 1)).all())
    calibration = Calibration.balanced(score, right) if possible else None
    even = Calibration.even(score, right) if possible else None
    resamples = len(draws.weights)
    chance = (float("nan"),) * 2 if calibration is None else calibration.chance(score, resamples, seed)
    why = "no predictions" if not len(score) else "scores are outside [0, 1]"
    bounds = intervals(scored, calibration, draws.weights, draws.group)
    return ConfidenceCell(
        predicted=len(score),
        correct=int(right.sum()),
        gold=scored.gold,
        average_precision=plain(average_precision(curve)),
        ap101=plain(ap101(scored)),
        aurc=plain(area),
        e_aurc=plain(excess),
        ece=None if calibration is None else plain(calibration.ece()),
        ece_width=None if even is None else plain(even.ece()),
        mce=None if calibration is None else plain(calibration.mce()),
        brier=None if calibration is None else plain(brier(score, right)),
        chance_ece=ChanceError(mean=plain(chance[0]), high=plain(chance[1])),
        parts=None if calibration is None else _parts(calibration, score, right),
        bins=() if calibration is None else _bins(calibration),
        interval={name: (plain(low), plain(high)) for name, (low, high) in bounds.items()} or UNSET,
        why=UNSET if calibration is not None else why,
    )


def _parts(calibration: Calibration, score: Floats, right: Bools) -> Brier:
    reliability, resolution, uncertainty, within = calibration.parts(score, right)
    return Brier(reliability=reliability, resolution=resolution, uncertainty=uncertainty, within=within)


def _bins(calibration: Calibration) -> tuple[ReliabilityBin, ...]:
    borders = [None, *calibration.edges.tolist(), None]
    return tuple(
        ReliabilityBin(
            low=borders[index],
            high=borders[index + 1],
            predicted=number,
            correct=int(right),
            score=score / number,
            precision=right / number,
        )
        for index, (number, score, right) in enumerate(
            zip(
                calibration.number.tolist(),
                calibration.score.tolist(),
                calibration.right.tolist(),
                strict=True,
            )
        )
        if number
    )


def macro_of(cells: Mapping[str, ConfidenceCell]) -> Macro:
    """Average over labels."""
    defined = [cell for cell in cells.values() if cell.average_precision is not None]
    return Macro(
        average_precision=plain(ratio(sum(cell.average_precision or 0.0 for cell in defined), len(defined))),
        ap101=plain(ratio(sum(cell.ap101 or 0.0 for cell in defined), len(defined))),
        labels=len(defined),
    )


def points_of(curve: Curve) -> tuple[tuple[CurvePoint, ...], bool]:
    """The points of the curve, thinned if it is long, and whether it was thinned."""
    chosen = np.arange(len(curve.threshold))
    thinned = len(chosen) > MOST_POINTS
    if thinned:
        chosen = np.unique(np.linspace(0, len(chosen) - 1, FEWER_POINTS).round().astype(np.int64))
    columns = (curve.threshold, curve.predicted, curve.correct)
    return tuple(
        CurvePoint(threshold=threshold, predicted=predicted, correct=correct)
        for threshold, predicted, correct in zip(
            *(column[chosen].tolist() for column in columns), strict=True
        )
    ), thinned


def risk_of(curve: Curve, most: int = 200) -> tuple[RiskPoint, ...]:
    """At most `most` points of the risk-coverage curve."""
    coverage, risk = curve.risk()
    number = min(most, len(risk))
    chosen = np.unique(np.linspace(0, max(len(risk) - 1, 0), number).round().astype(np.int64)).tolist()
    return tuple(RiskPoint(coverage=float(coverage[at]), risk=float(risk[at])) for at in chosen)


def threshold_of(scored: Scored, dev: Curve | None) -> Threshold:
    """The threshold with the best F1 on dev, and its scores on test."""
    curve = scored.curve
    best = curve.best()
    best_f1 = None if best is None else plain(curve.f1[best])
    value = None if best is None else float(curve.threshold[best])
    if dev is None:
        return Threshold(
            value=None, dev_f1=None, test_f1=None, optimism=None, best=value, best_f1=best_f1,
            why="no dev set was given",
        )  # fmt: skip
    chosen = dev.best()
    if chosen is None:
        return Threshold(
            value=None, dev_f1=None, test_f1=None, optimism=None, best=value, best_f1=best_f1,
            why="the dev set has no gold mentions or no predictions",
        )  # fmt: skip
    threshold = float(dev.threshold[chosen])
    predicted, correct = curve.at(threshold)
    test_f1 = plain(ratio(2 * correct, scored.gold + predicted))
    return Threshold(
        value=threshold,
        dev_f1=plain(dev.f1[chosen]),
        test_f1=test_f1,
        optimism=None if test_f1 is None or best_f1 is None else best_f1 - test_f1,
        test_precision=plain(ratio(correct, predicted)),
        test_recall=plain(ratio(correct, scored.gold)),
        best=value,
        best_f1=best_f1,
        interval={"test_f1": _f1_interval(scored, threshold)},
    )


def _f1_interval(scored: Scored, threshold: float) -> tuple[float | None, float | None]:
    """The logit-t interval of F1 at a threshold, over the units."""
    kept = scored.score >= threshold
    units = len(scored.gold_by_unit)
    predicted = np.bincount(scored.unit[kept], minlength=units)
    correct = np.bincount(scored.unit[kept & scored.right], minlength=units)
    rows = np.stack([scored.gold_by_unit, predicted, correct], axis=1)
    counts = Counts.of_matrix(["overall"], ["gold", "predicted", "correct"], rows)
    measure = Measure(MeasureKey("exact"), counts, "exact", (("exact", "overall"),))
    low, high = jackknife(measure)["f1"].interval()[0].tolist()
    return plain(low), plain(high)


def at_precision_of(curve: Curve, dev: Curve | None, precision: float) -> AtPrecision:
    """The highest recall at a precision, with the threshold chosen on dev if given."""
    chosen_from = curve if dev is None else dev
    index = chosen_from.at_precision(precision)
    on = "test" if dev is None else "dev"
    if index is None:
        return AtPrecision(precision=precision, threshold=None, recall=None, chosen_on=on)
    threshold = float(chosen_from.threshold[index])
    predicted, correct = curve.at(threshold)
    return AtPrecision(
        precision=precision,
        threshold=threshold,
        recall=plain(ratio(correct, curve.gold)),
        reached=plain(ratio(correct, predicted)),
        chosen_on=on,
    )


def pair_of(
    names: tuple[str, str],
    one: Scored,
    other: Scored,
    draws: Draws,
    *,
    precision: float,
    recall: float | None,
) -> ConfidencePair:
    """The differences between two systems, with intervals over the same resamples for both.

    Args:
        precision: the precision at which recalls are compared.
        recall: the recall at which precisions are compared; by default, the highest that both reach.
    """
    curves = one.curve, other.curve
    target = recall
    if target is None:
        target = min((float(curve.correct[-1]) / curve.gold if len(curve.correct) and curve.gold else 0.0)
                    for curve in curves)  # fmt: skip
    sides: list[Resampled] = []
    if len(draws.weights) and len(one.score) and len(other.score):
        sides = [resampled(side, draws.weights, draws.group) for side in (one, other)]

    def bounds(make: Callable[[Resampled], Floats]) -> tuple[float, float] | None:
        """The percentile interval of the resampled differences."""
        if not sides:
            return None
        differences = make(sides[0]) - make(sides[1])
        defined = differences[np.isfinite(differences)]
        if len(defined) < 0.95 * len(differences) or not len(defined):
            return None
        low, high = interval(floats(defined)).tolist()
        return low, high

    def precision_at_recall(side: Resampled) -> Floats:
        reached = np.minimum(sides[0].recall, sides[1].recall)
        return side.precision_at(floats(reached if recall is None else np.full(len(reached), recall)))

    at_targets = [_at_recall(curve, target) for curve in curves]
    precisions = [None if at is None else plain(ratio(curve.correct[at], curve.predicted[at]))
                  for curve, at in zip(curves, at_targets, strict=True)]  # fmt: skip
    at_points = [curve.at_precision(precision) for curve in curves]
    recalls = [None if at is None else plain(ratio(curve.correct[at], curve.gold))
               for curve, at in zip(curves, at_points, strict=True)]  # fmt: skip
    areas = [plain(average_precision(curve)) for curve in curves]
    return ConfidencePair(
        systems=names,
        average_precision=_score(None, areas, [None, None], bounds(lambda side: side.average_precision)),
        at_recall=_score(target, precisions, _thresholds(curves, at_targets), bounds(precision_at_recall)),
        at_precision=_score(
            precision, recalls, _thresholds(curves, at_points), bounds(lambda side: side.recall_at(precision))
        ),
    )


def _at_recall(curve: Curve, recall: float) -> int | None:
    """The index of the highest threshold that reaches a recall."""
    reached = np.flatnonzero(curve.correct >= recall * curve.gold - 1e-9)
    return int(reached[0]) if len(reached) and curve.gold else None


def _thresholds(curves: tuple[Curve, Curve], indices: list[int | None]) -> list[float | None]:
    return [
        None if at is None else float(curve.threshold[at]) for curve, at in zip(curves, indices, strict=True)
    ]


def _score(
    at: float | None,
    values: list[float | None],
    thresholds: list[float | None],
    ends: tuple[float, float] | None,
) -> EqualScore:
    first, second = values
    difference = None if first is None or second is None else first - second
    return EqualScore(
        at=at,
        first=first,
        second=second,
        difference=difference,
        interval=None if difference is None or ends is None else (plain(ends[0]), plain(ends[1])),
        thresholds=(thresholds[0], thresholds[1]),
    )
