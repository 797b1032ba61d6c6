"""Plan from a result: how many more units would answer a question."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, floor, log, sqrt
from pathlib import Path
from statistics import NormalDist

from spanwise import __version__
from spanwise.document import Interval, given
from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import load_summary
from spanwise.document.planning import (
    PairPlan,
    PlanDocument,
    PlannedInterval,
    PlannedPower,
    PlanSettings,
    SystemPlan,
)
from spanwise.document.scores import PRIMARY, Comparison, SystemScores
from spanwise.document.silver import SilverScores, SilverTest
from spanwise.errors import ChoiceError, InputError
from spanwise.families import unreachable
from spanwise.intervals import POWER
from spanwise.statistics import LEVEL
from spanwise.student import t_quantile

__all__ = ["plan"]

MOST = 16  # times as many units as there are: beyond, nothing is extrapolated
STEPS = (1, 1.5, 2, 3, 4, 6, 8, 12, MOST)
UNTESTED = "the result has no interval of this difference"
STILL = "the difference between the two never varies"
NORMAL = NormalDist()

Error = Callable[[float], float | None]  # the standard error with a number of units


def plan(result: Evaluation | str | Path, *, difference: float = 0.02) -> PlanDocument:
    """Say how narrow intervals become, and which differences are found, with more units.

    Standard errors shrink with the root of the number of units: SE(n) = SE·√(n₀/n) from a result with n₀
    units. With a judge, the variance is `within`/n + `shared`/N, of which more gold units reduce the first
    part alone. The smallest detectable difference is (z + 0.84)·SE(n), z at the level of the test after
    correction over pairs, and the power for a difference d is Φ(d/SE − z) + Φ(−d/SE − z).

    Args:
        result: a result of `evaluate` or `compare`, or the path of a saved one. A pilot is a result on few
            units that were drawn at random from those to come.
        difference: the difference in F1 to be found, as a fraction.

    Returns:
        The figures for 1 to 16 times as many units; what is unknown is None.

    Examples:
        >>> import spanwise
        >>> gold = [["B-PER", "O"]] * 40
        >>> first, second = ([["O" if n % k == 0 else "B-PER", "O"] for n in range(40)] for k in (3, 4))
        >>> plan(spanwise.evaluate(gold, {"a": first, "b": second}), difference=0.1).pairs[0].needed
        152
    """
    if isinstance(difference, bool) or not isinstance(difference, int | float) or not 0 < difference < 1:
        raise ChoiceError(f"difference is {difference!r}, but must be between 0 and 1, such as 0.02 (2 F1).")
    document = load_summary(result) if isinstance(result, str | Path) else result
    if not isinstance(document, Evaluation) or not document.systems:
        raise InputError(
            f"{result if isinstance(result, str | Path) else 'the document'}: nothing can be planned from a "
            f"document of kind {document.kind!r}.\nUse the result of spanwise evaluate or compare."
        )
    silver = [scores.silver for scores in document.systems.values() if scores.silver]
    units = silver[0].units.gold if silver else document.settings.units
    settings = PlanSettings(
        difference=difference,
        unit=document.settings.unit,
        units=units,
        all=silver[0].units.all if silver else None,
        confidence=document.settings.confidence,
        level=LEVEL,
        pairs=max((given(row.pairs) or 1 for row in document.comparisons), default=1),
    )
    systems = {name: _system(scores, settings) for name, scores in document.systems.items()}
    if all(row.width is None for one in systems.values() for row in one.rows):
        raise InputError(
            "the result has no intervals, so nothing can be planned from it.\n"
            "Evaluate without --resamples 0, on at least two units."
        )
    return PlanDocument(
        spanwise=__version__,
        signature=document.signature,
        inputs=document.inputs,
        settings=settings,
        systems=systems,
        pairs=tuple(_pair(row, settings) for row in document.comparisons),
    )


def _grid(settings: PlanSettings) -> list[int]:
    return sorted({round(step * settings.units) for step in STEPS})


def _judged(silver: SilverScores | SilverTest | None, settings: PlanSettings) -> Error:
    """The standard error with a judge, who cannot help beyond the units that were annotated."""
    within, shared = (None, None) if silver is None else (given(silver.within), given(silver.shared))

    def error(units: float) -> float | None:
        if settings.all is None or within is None or shared is None or units > settings.all:
            return None
        return sqrt(within / units + shared / settings.all)

    return error


# ---- the width of intervals --------------------------------------------------------------------


def _system(scores: SystemScores, settings: PlanSettings) -> SystemPlan:
    """The interval of gold alone continues that of the result; at F1 of 0 or 1 it is unknown."""
    silver = given(scores.silver)
    overall = scores.exact.overall
    f1 = overall.f1 if silver is None else silver.gold_only.f1
    ends = overall.ends("f1") if silver is None else silver.gold_only.interval.get("f1")
    reach = _logit_reach(ends) if f1 is not None and 0 < f1 < 1 else None
    judged = _judged(silver, settings)
    both = None if silver is None else silver.combined.f1

    def width(units: int) -> float | None:
        if reach is None or f1 is None or settings.units < 2:
            return None
        narrower = _t(units, settings) / _t(settings.units, settings) * sqrt(settings.units / units)
        return _width(f1, reach * narrower)

    def width_judge(units: int) -> float | None:
        error = judged(units)
        if both is None or error is None or not 0 < both < 1:
            return None
        return _width(both, _t(units, settings) * error / (both * (1 - both)))

    rows = [
        PlannedInterval(units=units, width=width(units), width_judge=width_judge(units))
        for units in _grid(settings)
    ]
    return SystemPlan(f1=f1, rows=tuple(rows))


def _t(units: int, settings: PlanSettings) -> float:
    return float(t_quantile(units - 1, settings.confidence))


def _logit_reach(ends: Interval | None) -> float | None:
    """Half of the length of an interval on the logit scale."""
    low, high = ends or (None, None)
    if low is None or high is None or not 0 < low < high < 1:
        return None
    return (log(high / (1 - high)) - log(low / (1 - low))) / 2


def _width(centre: float, reach: float) -> float:
    """The length of an interval that is symmetric on the logit scale."""
    odds = log(centre / (1 - centre))
    return 1 / (1 + exp(-odds - reach)) - 1 / (1 + exp(-odds + reach))


# ---- power -------------------------------------------------------------------------------------


def _pair(row: Comparison, settings: PlanSettings) -> PairPlan:
    test, silver = row.score(PRIMARY["f1"]), given(row.silver)
    ends = None if test is None else test.interval
    if test is None or ends is None or ends[0] is None or ends[1] is None:
        return PairPlan(systems=row.systems, needed=None, needed_judge=None, rows=(), why=UNTESTED)
    if ends[0] == ends[1]:
        return PairPlan(systems=row.systems, needed=None, needed_judge=None, rows=(), why=STILL)
    held = given(test.units) or settings.units
    now = (ends[1] - ends[0]) / 2 / float(t_quantile(held - 1, settings.confidence))
    differing = given(row.differing)

    def error(units: float) -> float | None:
        """Of gold alone; None where too few units would differ for the test to reach its level."""
        share = units / settings.units
        few = differing is not None and unreachable(floor(differing * share), settings.pairs, settings.unit)
        return None if few else now / sqrt(share)

    judged = _judged(silver, settings)
    z = NORMAL.inv_cdf(1 - settings.level / settings.pairs / 2)
    reach = z + NORMAL.inv_cdf(POWER)

    def power(one: float | None) -> float | None:
        if one is None:
            return None
        size = settings.difference / one if one > 0 else float("inf")
        return NORMAL.cdf(size - z) + NORMAL.cdf(-size - z)

    rows = []
    for units in _grid(settings):
        own, helped = error(units), judged(units)
        rows.append(
            PlannedPower(
                units=units,
                detectable=None if own is None else reach * own,
                power=power(own),
                detectable_judge=None if helped is None else reach * helped,
                power_judge=power(helped),
            )
        )
    return PairPlan(
        systems=row.systems,
        needed=_needed(error, reach, settings),
        needed_judge=_needed(judged, reach, settings, settings.all),
        rows=tuple(rows),
    )


def _needed(error: Error, reach: float, settings: PlanSettings, most: int | None = None) -> int | None:
    """The fewest units, from those there are up to 16 times as many or `most`, that find the difference."""

    def found(units: int) -> bool:
        one = error(units)
        return one is not None and reach * one <= settings.difference

    low, high = settings.units, min(MOST * settings.units, most or MOST * settings.units)
    if found(low):
        return low
    if not found(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high
