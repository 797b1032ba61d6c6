"""Estimate a score from a few gold units and the annotation of a judge for all units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from spanwise.columns import Floats, Ints, distinct, floats
from spanwise.student import t_p, t_quantile

LEAST_UNITS = 20  # gold units; with fewer, the covariance with the judge is not known well enough
LEAST_CARRIERS = 6  # units that carry what the judge leaves open; with fewer, coverage can fall below 90 %
NEGLIGIBLE = 1e-24  # a sum of fourth powers
LEAST_STRATUM = 3  # units; smaller strata are joined for the variance


class Ratios(Struct, frozen=True, eq=False):
    """A score as a ratio of sums: what each unit adds above and below the line."""

    above: Floats
    below: Floats

    def take(self, units: Ints) -> Ratios:
        """The ratios of some units."""
        return Ratios(self.above[units], self.below[units])


class Design(Struct, frozen=True, eq=False):
    """How the gold units were drawn: the number of all units, and the stratum and weight of each gold unit.

    The weight of a unit is the number of units in its stratum divided by those that were drawn from it.
    """

    units: int
    weight: Floats
    stratum: Ints

    @classmethod
    def simple(cls, drawn: int, units: int) -> Design:
        """A simple random sample."""
        return cls(units, np.full(drawn, units / drawn), np.zeros(drawn, np.int64))

    @property
    def equal(self) -> bool:
        """Whether all units count the same."""
        return bool(np.ptp(self.weight) == 0)

    def groups(self) -> list[Ints]:
        """The rows of each stratum; strata with fewer than three units are joined with neighbours."""
        groups: list[list[int]] = []
        for number in distinct(self.stratum).tolist():
            rows = np.flatnonzero(self.stratum == number).tolist()
            if groups and (len(rows) < LEAST_STRATUM or len(groups[-1]) < LEAST_STRATUM):
                groups[-1] += rows
            else:
                groups.append(rows)
        return [np.asarray(rows, np.int64) for rows in groups]


class Influences(Struct, frozen=True, eq=False):
    """A score on the gold units, and by how much each of them moves it, scaled to the mean over all units.

    `value` is a score or a difference of two; `effects` are `(n − 1)(F − F₋ᵢ)` in a simple random sample.
    """

    value: float
    effects: Floats

    @classmethod
    def of(cls, ratios: Ratios, design: Design) -> Influences:
        """The influences on one score; NaN where it is undefined, also without one of the units."""
        above, below = design.weight * ratios.above, design.weight * ratios.below
        rest = below.sum() - below
        with np.errstate(invalid="ignore", divide="ignore"):
            value = above.sum() / below.sum() if below.sum() else np.nan
            without = np.where(rest > 0, (above.sum() - above) / rest, np.nan)
        number = len(above)
        effects = (value - without) * (number - 1) / number * design.units / design.weight
        return cls(float(value), floats(effects))

    def minus(self, other: Influences) -> Influences:
        """The influences on the difference of two scores."""
        return Influences(self.value - other.value, floats(self.effects - other.effects))


class Combined(Struct, frozen=True):
    """A score, or a difference, from gold and judge together.

    `se` is None where the estimate has no interval. `within` and `shared` are the two parts of its variance,
    times the number of gold units and of all units: what more gold labels reduce, and what they do not.
    """

    gold: float
    judged_part: float  # by the judge on the gold units
    judged: float  # by the judge on all units
    value: float
    weight: float  # λ, from 0 (the judge is of no use) to 1
    se: float
    gold_se: float
    units: int
    within: float
    shared: float
    few_carry: bool  # whether few gold units show where the judge errs, so that the interval is unreliable

    @property
    def bias(self) -> float:
        """By how much the judge alone misstates the score, measured on the gold units."""
        return self.judged_part - self.gold

    @property
    def effective(self) -> float:
        """The number of gold units that would give the same precision without the judge."""
        return self.units * (self.gold_se / self.se) ** 2 if self.se > 0 else np.nan

    def interval(self, confidence: float) -> tuple[float, float] | None:
        """The interval of a score on the logit scale; None where gold, or the estimate, is at 0 or 1."""
        return self._around(self.value, self.se, confidence) if 0 < self.gold < 1 else None

    def gold_interval(self, confidence: float) -> tuple[float, float] | None:
        """The interval of a score from gold alone, for units that were drawn within strata."""
        return self._around(self.gold, self.gold_se, confidence)

    def _around(self, value: float, se: float, confidence: float) -> tuple[float, float] | None:
        if not 0 < value < 1:
            return None
        odds = np.log(value / (1 - value))
        half = float(t_quantile(self.units - 1, confidence)) * se / (value * (1 - value))
        low, high = 1 / (1 + np.exp(-(odds - half))), 1 / (1 + np.exp(-(odds + half)))
        return float(low), float(high)

    def difference_interval(self, confidence: float) -> tuple[float, float]:
        """The interval of a difference."""
        half = float(t_quantile(self.units - 1, confidence)) * self.se
        return self.value - half, self.value + half

    @property
    def p(self) -> float:
        """The two-sided p-value of a difference, by the t distribution."""
        if self.se == 0:
            return 1.0 if self.value == 0 else 0.0
        return float(t_p(self.value / self.se, self.units - 1))


def combined(gold: Influences, part: Influences, judged: float, design: Design) -> Combined | None:
    """Combine gold with a judge who annotated all units.

    The judge is a control variate: where it misjudges the gold units as it misjudges all others, the mean
    of its scores over all units says how the gold units differ from the rest.

    Args:
        gold, part: influences under gold and under the judge's annotation, both on the gold units.
        judged: the score, or the difference, under the judge's annotation on all units.

    Returns:
        None where one of the scores is undefined.
    """
    h, g = gold.effects, part.effects
    if not (np.isfinite(h).all() and np.isfinite(g).all() and np.isfinite(judged)):
        return None
    groups = design.groups()
    shares = [float(design.weight[rows].sum()) / design.units for rows in groups]
    covariance = sum(share * _moment(h[rows], g[rows]) for share, rows in zip(shares, groups, strict=True))
    variance = sum(share * _moment(g[rows], g[rows]) for share, rows in zip(shares, groups, strict=True))
    weight = float(np.clip(covariance / variance, 0, 1)) if variance > 0 else 0.0
    residuals = h - weight * g
    within = _within(residuals, groups, shares, estimated=2)
    shared = max(2 * weight * covariance - weight**2 * variance, 0.0)
    number = len(h)
    return Combined(
        gold=gold.value,
        judged_part=part.value,
        judged=judged,
        value=gold.value + weight * (judged - part.value),
        weight=weight,
        se=float(np.sqrt(within / number + shared / design.units)),
        gold_se=float(np.sqrt(_within(h, groups, shares, estimated=1) / number)),
        units=number,
        within=within,
        shared=shared,
        few_carry=_carriers(residuals, groups) < LEAST_CARRIERS,
    )


def _carriers(residuals: Floats, groups: Sequence[Ints]) -> float:
    """How many units carry the variance that is left: (Σr²)²/Σr⁴, 0 where the judge never errs."""
    squares = np.concatenate([(residuals[rows] - residuals[rows].mean()) ** 2 for rows in groups])
    fourth = float((squares**2).sum())
    return float(squares.sum()) ** 2 / fourth if fourth > NEGLIGIBLE else 0.0


def _moment(first: Floats, second: Floats) -> float:
    return float(((first - first.mean()) * (second - second.mean())).sum() / (len(first) - 1))


def _within(residuals: Floats, groups: Sequence[Ints], shares: Sequence[float], *, estimated: int) -> float:
    """The variance of the mean over strata, times the number of units.

    Args:
        estimated: how many numbers were estimated from the units of a stratum: the mean, and λ.
    """
    number = sum(len(rows) for rows in groups)
    parts = []
    for rows, share in zip(groups, shares, strict=True):
        some = residuals[rows]
        parts.append(
            share**2 * float(((some - some.mean()) ** 2).sum()) / ((len(rows) - estimated) * len(rows))
        )
    return number * sum(parts)
