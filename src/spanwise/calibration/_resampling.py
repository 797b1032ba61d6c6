"""Intervals and tests of measures over units: units left out, resampled, or with their signs flipped."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from spanwise.calibration.measures import Calibration, Scored, average_precision, brier, risk_area
from spanwise.columns import Bools, Column, Floats, Ints, floats, ints, on_grid, ratio
from spanwise.document import Interval
from spanwise.intervals import FEW_UNITS, NO_SPREAD, Jackknife, effective_freedom
from spanwise.statistics import LEVEL
from spanwise.uncertainty import bernoulli_sums, draw_numbers, draw_weights, joined_units

POINTS = 1000  # maximum number of points of a resampled curve
FLIPS = 2000  # draws of each null hypothesis of calibration
TIE = 1e-12  # sums in a different order differ in the last bits, but count as ties
LEFT_OUT = 4_000_000  # points of all curves without one unit; with more, neighbouring scores are joined
TOGETHER = 500_000  # of them in memory at once
MOST_UNITS = 2000  # with more units than this, random groups of them are left out, flipped and resampled
GROUPS = 1000


class Draws(Struct, frozen=True, eq=False, dict=True):
    """The units, or random groups of units if there are many, with resamples and sign flips of them."""

    weights: Floats
    group: Ints
    number: int  # of units or groups
    groups: int | None  # their number, if units are joined
    seed: int

    @classmethod
    def of(cls, units: int, resamples: int, seed: int) -> Draws:
        """Draw the resamples of this many units."""
        if units > MOST_UNITS:
            group, number = joined_units(units, GROUPS, seed), GROUPS
        else:
            group, number = ints(np.arange(units)), units
        weights = draw_weights(number, resamples if number > 1 else 0, seed)
        return cls(np.asarray(weights), group, number, GROUPS if units > MOST_UNITS else None, seed)

    @cached_property
    def signs(self) -> Floats:
        """The sign of each unit or group in each flip (flips × units)."""
        return np.where(draw_numbers(self.seed, "signs", FLIPS, self.number) < 0.5, -1.0, 1.0)

    def owner(self, scored: Scored) -> Ints:
        """The unit or group of each prediction."""
        return ints(self.group[scored.unit])

    def gold(self, scored: Scored) -> Floats:
        """The gold mentions of each unit or group."""
        return floats(np.bincount(self.group, weights=scored.gold_by_unit, minlength=self.number))


# ---- is the calibration error more than chance? ---------------------------------------------


class Chance(Struct, frozen=True, eq=False):
    """Mean and 95 % point of ECE of calibrated scores, and the p-values of ECE under both null hypotheses.

    Mean and 95 % point are the larger of the two. ECE exceeds the 95 % point exactly if both p-values are at
    most .05.
    """

    mean: float
    high: float
    p_units: float
    p_outcomes: float
    reachable: bool  # whether flips of so few units can have a p-value of at most .05 at all


def chance(scored: Scored, calibration: Calibration, draws: Draws) -> Chance:
    """Compare ECE with that of calibrated scores.

    Errors of one unit may depend on each other, so one null hypothesis flips the signs of units:
    `Σ_b |Σ_d ε_d r_db| / n`, r_db = Σ(y − s) of unit d in bin b. Where errors are rare their sums are not
    symmetric, so the other draws each y with probability s. `p = (1 + count) / (1 + 2,000)` each.
    """
    number = len(scored.score)
    gaps = _by_group(
        draws.owner(scored), calibration.bins, len(calibration.number), draws.number,
        [scored.right - scored.score],
    )[0]  # fmt: skip
    gaps = on_grid(gaps, float(np.abs(gaps).sum()))
    flipped = np.abs(draws.signs @ gaps).sum(axis=1) / number
    p_units = _p(flipped, float(np.abs(gaps.sum(axis=0)).sum()) / number)
    sums = bernoulli_sums(scored.score, calibration.bins, len(calibration.number), FLIPS, draws.seed)
    drawn = np.abs(calibration.score - sums).sum(axis=1) / number
    means, highs = zip(*((float(errors.mean()), _high(errors)) for errors in (flipped, drawn)), strict=True)
    units = int(gaps.any(axis=1).sum())
    return Chance(max(means), max(highs), p_units, _p(drawn, calibration.ece()), 2.0 ** (1 - units) <= LEVEL)


def _p(errors: Floats, observed: float) -> float:
    return float((1 + (errors >= observed - TIE).sum()) / (1 + len(errors)))


def _high(errors: Floats) -> float:
    """The 95 % point that is exceeded exactly where p is at most .05."""
    return float(np.quantile(errors, 1 - LEVEL, method="higher"))


# ---- intervals: the whole statistic without one unit ----------------------------------------


class MeasureIntervals(Struct, frozen=True, eq=False):
    """The interval of each measure, or None with the reason, and the number of units behind them."""

    interval: dict[str, Interval | None]
    why: dict[str, str]
    units: int

    @property
    def few_units(self) -> bool:
        """Whether the intervals need a mark."""
        return self.units < FEW_UNITS


def intervals(scored: Scored, draws: Draws, *, calibrated: bool) -> MeasureIntervals:
    """Logit-t intervals of AP, AURC and, if scores are `calibrated` to [0, 1], Brier, by a jackknife.

    Each unit (or group of units) that holds gold or predicted mentions is left out in turn. Where units times
    distinct scores exceed four million, neighbouring scores are joined, which changes standard errors little.
    """
    gold, predicted = draws.gold(scored), np.bincount(draws.owner(scored), minlength=draws.number)
    weight = gold + predicted
    held = np.asarray(weight > 0)
    area, risk = _curves_without_one(scored, draws, gold)
    named: dict[str, tuple[float, Floats, float]] = {
        "average_precision": (average_precision(scored.curve), area, scored.gold),
        "aurc": (risk_area(scored.curve)[0], risk, len(scored.score)),
    }
    if calibrated:
        squares = np.bincount(
            draws.owner(scored), weights=(scored.score - scored.right) ** 2, minlength=draws.number
        )
        left = ratio(squares.sum() - squares, len(scored.score) - predicted)
        named["brier"] = (brier(scored.score, scored.right), left, len(scored.score))
    interval: dict[str, Interval | None] = {}
    why: dict[str, str] = {}
    for name, (value, left_out, size) in named.items():
        reason = _reason(value, left_out[held])
        interval[name] = None if reason else _logit_t(value, left_out[held], floats(weight[held]), size)
        if reason:
            why[name] = reason
    return MeasureIntervals(interval, why, int(held.sum()))


def _reason(value: float, left_out: Floats) -> str:
    if np.isnan(value):
        return "it is undefined"
    if len(left_out) < 2:
        return "fewer than two units hold it"
    return "it is undefined without one of the units" if np.isnan(left_out).any() else ""


def _logit_t(value: float, left_out: Floats, weight: Floats, size: float) -> tuple[float, float]:
    """The interval of a measure from its values without each unit; Wilson's where it does not vary."""
    units, apart = len(left_out), left_out - left_out.mean()
    square = float((apart**2).sum())
    error = np.sqrt((units - 1) / units * square)
    varies = 0 < value < 1 and error >= NO_SPREAD
    freedom = effective_freedom(
        units, weight.sum(), (weight**2).sum(), square if varies else 0.0, (apart**4).sum()
    )
    cell = Jackknife(floats([value]), floats([size]), ints([units]), floats([error]), floats([freedom]))
    low, high = cell.interval()[0].tolist()
    return low, high


def _curves_without_one(scored: Scored, draws: Draws, gold: Floats) -> tuple[Floats, Floats]:
    """AP and AURC without each unit or group, from the curve that is left."""
    owner = draws.owner(scored)
    holders, number = np.unique(owner, return_counts=True)
    most = max(POINTS, LEFT_OUT // max(len(holders), 1))
    point_of, points = _points(scored, most)
    row = np.argsort(owner, kind="stable")
    begins = np.concatenate([[0], np.cumsum(number)])
    one = ints(np.zeros(len(owner)))
    predicted, correct = (
        np.cumsum(table, axis=1) for table in _by_group(one, point_of, points, 1, [None, scored.right])
    )
    harmonic = _harmonic(len(owner))
    left_gold = scored.gold - gold
    area = ratio(np.full(draws.number, _areas_under(predicted, correct, floats([1]))[0]), left_gold)
    risk = np.full(draws.number, _areas_of_risk(predicted, correct, harmonic)[0])
    step = max(1, TOGETHER // points)
    for at in range(0, len(holders), step):
        chosen = holders[at : at + step]
        own = row[begins[at] : begins[at + len(chosen)]]
        local = ints(np.repeat(np.arange(len(chosen)), number[at : at + step]))
        tables = _by_group(local, ints(point_of[own]), points, len(chosen), [None, scored.right[own]])
        left = predicted - np.cumsum(tables[0], axis=1), correct - np.cumsum(tables[1], axis=1)
        area[chosen] = _areas_under(*left, floats(left_gold[chosen]))
        risk[chosen] = _areas_of_risk(*left, harmonic)
    return floats(area), floats(risk)


def _points(scored: Scored, most: int) -> tuple[Ints, int]:
    """The point of each row on the curve, and the number of points, joined to at most `most`."""
    curve = scored.curve
    point_of = np.empty(len(scored.score), dtype=np.int64)
    point_of[scored.order] = np.repeat(np.arange(len(curve.predicted)), np.diff(curve.predicted, prepend=0))
    if len(curve.predicted) <= most:
        return ints(point_of), len(curve.predicted)
    joined = np.minimum(curve.predicted * most // (curve.predicted[-1] + 1), most - 1)
    return ints(joined[point_of]), most


def _drawn(weights: Floats, sums: Column) -> Floats:
    """Add up sums per group (groups, or groups × columns) over each resample, exactly in any order."""
    most = float(np.abs(sums).sum()) * float(weights.max(initial=1))
    return np.asarray(weights.astype(np.float64) @ on_grid(sums, most))


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


def resampled(scored: Scored, draws: Draws) -> Resampled:
    """The curve in every resample of units (or groups of units), at no more than 1,000 points."""
    weights = draws.weights
    point_of, points = _points(scored, POINTS)
    tables = _by_group(draws.owner(scored), point_of, points, draws.number, [None, scored.right])
    # Sums of counts are exact in single precision.
    predicted, correct = (
        np.cumsum(weights @ table.astype(np.float32), axis=1, dtype=np.float64) for table in tables
    )
    point = [np.cumsum(table.sum(axis=0, dtype=np.float64))[None] for table in tables]
    gold = _drawn(weights, draws.gold(scored))
    return Resampled(predicted, correct, gold, Resampled(point[0], point[1], floats([scored.gold])))


def _areas_under(predicted: Floats, correct: Floats, gold: Floats) -> Floats:
    precision = correct / np.maximum(predicted, 1)
    return ratio((np.diff(correct, axis=1, prepend=0) * precision).sum(axis=1), gold)


def _harmonic(most: int) -> Floats:
    """The harmonic numbers from 0 to `most`."""
    return np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, most + 1))])


def _areas_of_risk(predicted: Floats, correct: Floats, harmonic: Floats) -> Floats:
    """AURC of curves given at some points, with errors spread evenly between them."""
    wrong = predicted - correct
    size, lost = np.diff(predicted, axis=1, prepend=0), np.diff(wrong, axis=1, prepend=0)
    before, lost_before = predicted - size, wrong - lost
    share = lost / np.maximum(size, 1)
    within = harmonic[predicted.astype(np.int64)] - harmonic[before.astype(np.int64)]
    sums = (lost + (lost_before - share * before) * within).sum(axis=1)
    return ratio(sums, predicted[:, -1])
