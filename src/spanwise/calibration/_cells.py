"""The assessment of cells and of pairs of systems, as the document holds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec import UNSET

from spanwise.calibration._resampling import Draws, Resampled, chance, intervals, resampled
from spanwise.calibration.measures import (
    Calibration,
    Curve,
    Scored,
    ap101,
    average_precision,
    brier,
    risk_area,
)
from spanwise.columns import Bools, Floats, distinct, floats, plain, ratio
from spanwise.counts import Counts
from spanwise.document import Interval
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
from spanwise.uncertainty import interval

MOST_POINTS = 10_000  # in a curve of the document
FEWER_POINTS = 1000  # in a longer curve, after thinning


NO_ECE_INTERVAL = (
    "resampling raises ECE itself, so that no interval holds its level; chance_ece stands beside it"
)


def cell_of(scored: Scored, draws: Draws) -> ConfidenceCell:
    """Compute all measures for a set of predictions."""
    curve = scored.curve
    area, excess = risk_area(curve)
    score, right = scored.score, scored.right
    possible = bool(len(score)) and bool(((score >= 0) & (score <= 1)).all())
    calibration = Calibration.balanced(score, right) if possible else None
    even = Calibration.even(score, right) if possible else None
    why = "no predictions" if not len(score) else "scores are outside [0, 1]"
    bounds = intervals(scored, draws, calibrated=possible) if len(draws.weights) and len(score) else None
    reasons = {} if bounds is None else bounds.why | ({"ece": NO_ECE_INTERVAL} if possible else {})
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
        chance_ece=_chance(scored, calibration, draws),
        parts=None if calibration is None else _parts(calibration, score, right),
        bins=() if calibration is None else _bins(calibration),
        interval=UNSET if bounds is None else bounds.interval | ({"ece": None} if possible else {}),
        no_interval=reasons or UNSET,
        few_units=bounds.units if bounds is not None and bounds.few_units else UNSET,
        why=UNSET if calibration is not None else why,
    )


def _chance(scored: Scored, calibration: Calibration | None, draws: Draws) -> ChanceError:
    if calibration is None or not len(draws.weights):
        return ChanceError(mean=None, high=None)
    found = chance(scored, calibration, draws)
    return ChanceError(
        mean=found.mean,
        high=found.high,
        p=max(found.p_units, found.p_outcomes),
        p_units=found.p_units,
        p_outcomes=found.p_outcomes,
        reachable=found.reachable,
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
        chosen = distinct(np.linspace(0, len(chosen) - 1, FEWER_POINTS).round().astype(np.int64))
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
    chosen = distinct(np.linspace(0, max(len(risk) - 1, 0), number).round().astype(np.int64)).tolist()
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
        interval={"test_f1": _interval_at(scored, threshold, "f1")},
    )


def _interval_at(scored: Scored, threshold: float, score: str) -> Interval:
    """The logit-t interval of F1 or recall at a given threshold, over the units."""
    kept = scored.score >= threshold
    units = len(scored.gold_by_unit)
    predicted = np.bincount(scored.unit[kept], minlength=units)
    correct = np.bincount(scored.unit[kept & scored.right], minlength=units)
    rows = np.stack([scored.gold_by_unit, predicted, correct], axis=1)
    counts = Counts.of_matrix(["overall"], ["gold", "predicted", "correct"], rows)
    measure = Measure(MeasureKey("exact"), counts, "exact", (("exact", "overall"),))
    low, high = jackknife(measure)[score].interval()[0].tolist()
    return plain(low), plain(high)


def at_precision_of(scored: Scored, dev: Curve | None, precision: float, draws: Draws) -> AtPrecision:
    """The highest recall at a precision, with the threshold chosen on dev if given.

    The interval is logit-t at a threshold from dev. If the threshold is chosen on test, recall jumps with it,
    so the interval is that of resampled units, each of which chooses its own threshold.
    """
    curve = scored.curve
    chosen_from = curve if dev is None else dev
    index = chosen_from.at_precision(precision)
    on = "test" if dev is None else "dev"
    if index is None:
        return AtPrecision(precision=precision, threshold=None, recall=None, chosen_on=on)
    threshold = float(chosen_from.threshold[index])
    predicted, correct = curve.at(threshold)
    recall = plain(ratio(correct, curve.gold))
    ends: Interval | None = None
    if recall is not None and dev is not None:
        ends = _interval_at(scored, threshold, "recall")
    elif recall is not None and len(draws.weights):
        ends = _resampled_recall(scored, draws, precision, recall)
    return AtPrecision(
        precision=precision,
        threshold=threshold,
        recall=recall,
        reached=plain(ratio(correct, predicted)),
        chosen_on=on,
        interval={"recall": ends} if len(draws.weights) or dev is not None else UNSET,
    )


def _resampled_recall(scored: Scored, draws: Draws, precision: float, recall: float) -> Interval | None:
    """The percentile interval of recall at a precision, shifted by what joining scores changes."""
    curves = resampled(scored, draws)
    point = curves.point
    assert point is not None
    ends = _percentiles(curves.recall_at(precision))
    shift = recall - float(point.recall_at(precision)[0])
    if ends is None or np.isnan(shift):
        return None
    return min(max(ends[0] + shift, 0.0), 1.0), min(max(ends[1] + shift, 0.0), 1.0)


def _percentiles(values: Floats) -> tuple[float, float] | None:
    """The percentile interval; None where fewer than 95 % of the resamples are defined."""
    defined = values[np.isfinite(values)]
    if len(defined) < 0.95 * len(values) or not len(defined):
        return None
    low, high = interval(floats(defined)).tolist()
    return low, high


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
        sides = [resampled(side, draws) for side in (one, other)]

    def bounds(make: Callable[[Resampled], Floats]) -> tuple[float, float] | None:
        """The percentile interval of the resampled differences."""
        if not sides:
            return None
        return _percentiles(make(sides[0]) - make(sides[1]))

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
