"""The numbers of a confidence document: cells, curves and thresholds from scored predictions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import UNSET, Struct

from spanwise.calibration._kernel import (
    Calibration,
    Curve,
    Scored,
    ap101,
    average_precision,
    brier,
    intervals,
    risk_area,
)
from spanwise.columns import Bools, Floats, Ints, ints, plain, ratio
from spanwise.counts import Counts
from spanwise.document.analyses import (
    AtPrecision,
    Brier,
    ChanceError,
    ConfidenceCell,
    CurvePoint,
    Macro,
    ReliabilityBin,
    RiskPoint,
    Threshold,
)
from spanwise.intervals import jackknife
from spanwise.scores import Measure, MeasureKey
from spanwise.uncertainty import drawn_weights, joined_units

MOST_UNITS = 2000  # units that are resampled singly; more are joined at random into groups
GROUPS = 1000
MOST_POINTS = 10_000  # of a curve in the document
FEWER_POINTS = 1000  # what a longer one is thinned to


class Draws(Struct, frozen=True, eq=False):
    """Resamples of units, or of random groups of them where there are many."""

    weights: Floats
    group: Ints
    groups: int | None

    @classmethod
    def of(cls, units: int, resamples: int, seed: int) -> Draws:
        """The resamples of so many units."""
        if units > MOST_UNITS:
            group, number = joined_units(units, GROUPS, seed), GROUPS
        else:
            group, number = ints(np.arange(units)), units
        weights = drawn_weights(number, resamples if number > 1 else 0, seed)
        return cls(np.asarray(weights), group, GROUPS if units > MOST_UNITS else None)


def cell_of(scored: Scored, draws: Draws, seed: int) -> ConfidenceCell:
    """Everything that is said of some predictions."""
    curve = scored.curve
    area, excess = risk_area(curve)
    score, right = scored.score, scored.right
    possible = bool(len(score)) and bool(((score >= 0) & (score <= 1)).all())
    calibration = Calibration.balanced(score, right) if possible else None
    even = Calibration.even(score, right) if possible else None
    resamples = len(draws.weights)
    chance = (float("nan"),) * 2 if calibration is None else calibration.chance(score, resamples, seed)
    why = "no predictions" if not len(score) else "scores lie outside [0, 1]"
    found = intervals(scored, calibration, draws.weights, draws.group)
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
        interval={name: (plain(low), plain(high)) for name, (low, high) in found.items()} or UNSET,
        why=UNSET if calibration is not None else why,
    )


def _parts(calibration: Calibration, score: Floats, right: Bools) -> Brier:
    reliability, resolution, uncertainty, within = calibration.parts(score, right)
    return Brier(reliability=reliability, resolution=resolution, uncertainty=uncertainty, within=within)


def _bins(calibration: Calibration) -> tuple[ReliabilityBin, ...]:
    borders = [None, *calibration.edges.tolist(), None]
    return tuple(
        ReliabilityBin(
            low=borders[at],
            high=borders[at + 1],
            predicted=number,
            correct=int(right),
            score=score / number,
            precision=right / number,
        )
        for at, (number, score, right) in enumerate(
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
    """Means over labels."""
    defined = [one for one in cells.values() if one.average_precision is not None]
    return Macro(
        average_precision=plain(ratio(sum(one.average_precision or 0.0 for one in defined), len(defined))),
        ap101=plain(ratio(sum(one.ap101 or 0.0 for one in defined), len(defined))),
        labels=len(defined),
    )


def points_of(curve: Curve) -> tuple[tuple[CurvePoint, ...], bool]:
    """The curve, thinned where it is long, and whether it was."""
    chosen = np.arange(len(curve.threshold))
    thinned = len(chosen) > MOST_POINTS
    if thinned:
        chosen = np.unique(np.linspace(0, len(chosen) - 1, FEWER_POINTS).round().astype(np.int64))
    columns = (curve.threshold, curve.predicted, curve.correct)
    return tuple(
        CurvePoint(threshold=threshold, predicted=predicted, correct=correct)
        for threshold, predicted, correct in zip(*(one[chosen].tolist() for one in columns), strict=True)
    ), thinned


def risk_of(curve: Curve, most: int = 200) -> tuple[RiskPoint, ...]:
    """Some points of the risk-coverage curve."""
    coverage, risk = curve.risk()
    number = min(most, len(risk))
    chosen = np.unique(np.linspace(0, max(len(risk) - 1, 0), number).round().astype(np.int64)).tolist()
    return tuple(RiskPoint(coverage=float(coverage[at]), risk=float(risk[at])) for at in chosen)


def threshold_of(scored: Scored, dev: Curve | None) -> Threshold:
    """The threshold with the best F1 on dev, and what it gives on test."""
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
    """The highest recall at a precision, the threshold chosen on dev where there is one."""
    chosen_from = curve if dev is None else dev
    place = chosen_from.at_precision(precision)
    on = "test" if dev is None else "dev"
    if place is None:
        return AtPrecision(precision=precision, threshold=None, recall=None, chosen_on=on)
    threshold = float(chosen_from.threshold[place])
    predicted, correct = curve.at(threshold)
    return AtPrecision(
        precision=precision,
        threshold=threshold,
        recall=plain(ratio(correct, curve.gold)),
        reached=plain(ratio(correct, predicted)),
        chosen_on=on,
    )
