"""The documents of planning: how many more units an answer needs, and what more training data would give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from spanwise.document import Count, Document, DocumentPart, Fraction, Interval, Probability


class PlanSettings(Struct, frozen=True, kw_only=True):
    """What a plan is for: the difference to be found, the unit, and the numbers of units.

    `all` is the number of units that a judge annotated; None without a judge.
    """

    difference: float
    unit: str
    units: Count
    all: Count | None
    confidence: float
    level: float
    pairs: Count


class PlannedInterval(Struct, frozen=True, kw_only=True):
    """The width of the interval of F1 with a number of units; None where it is unknown."""

    units: Count
    width: Fraction
    width_judge: Fraction


class PlannedPower(Struct, frozen=True, kw_only=True):
    """What a comparison finds with a number of units: the smallest difference, and the power for one."""

    units: Count
    detectable: float | None
    power: Probability
    detectable_judge: float | None
    power_judge: Probability


class SystemPlan(DocumentPart, frozen=True, kw_only=True):
    """The interval of one system's F1 against the number of units."""

    f1: Fraction
    rows: tuple[PlannedInterval, ...]


class PairPlan(DocumentPart, frozen=True, kw_only=True):
    """The power for a difference between two systems against the number of units.

    `needed` is the number of units from which the difference is found four times in five, up to 16 times as
    many as now, and `needed_judge` the same with the judge, up to all units that the judge annotated; None
    if they do not suffice. `why` says why nothing can be planned.
    """

    systems: tuple[str, str]
    needed: Count | None
    needed_judge: Count | None
    rows: tuple[PlannedPower, ...]
    why: str | UnsetType = UNSET


class PlanDocument(Document, frozen=True, kw_only=True):
    """How many more units an evaluation needs."""

    kind: Literal["plan"] = "plan"
    settings: PlanSettings
    systems: Mapping[str, SystemPlan]
    pairs: tuple[PairPlan, ...] = ()

    def inconsistent(self) -> tuple[str, str] | None:
        """An error if the systems are not planned for the same numbers; see `Document.inconsistent`."""
        if not self.systems:
            return "$.systems", "there is no system"
        units = [row.units for row in next(iter(self.systems.values())).rows]
        for name, own in self.systems.items():
            if not units or [row.units for row in own.rows] != units:
                return f"$.systems.{name}.rows", "the numbers of units are not those of the other systems"
        planned = {f"systems.{name}": [row.units for row in own.rows] for name, own in self.systems.items()}
        planned |= {f"pairs[{at}]": [row.units for row in pair.rows] for at, pair in enumerate(self.pairs)}
        for where, numbers in planned.items():
            if 0 in numbers:
                return f"$.{where}.rows[{numbers.index(0)}].units", "0 is not above 0"
        for number, pair in enumerate(self.pairs):
            if not pair.rows and not pair.why:
                return f"$.pairs[{number}].rows", "there is no number of units, and no reason"
        return None

    def __repr__(self) -> str:
        needed = ", ".join(f"{' and '.join(pair.systems)} {pair.needed}" for pair in self.pairs)
        return f"<spanwise.Plan {self.settings.units} {self.settings.unit}s now; needed: {needed or 'n/a'}>"


# ---- learning curves -------------------------------------------------------------------------------


class CurveSettings(Struct, frozen=True, kw_only=True):
    """Where the sizes come from: a tag, a pattern of file names, or "given" with the results."""

    size: str
    confidence: float


class TrainingSize(Struct, frozen=True, kw_only=True):
    """A training size: the mean F1 of its results, None where there are none, and F1 by the curve."""

    size: Count
    results: Count
    f1: Fraction
    fitted: Fraction
    interval: Interval


class CurveLine(Struct, frozen=True, kw_only=True):
    """A point of the line and its band."""

    size: float
    fitted: Fraction
    interval: Interval


class SystemCurve(DocumentPart, frozen=True, kw_only=True):
    """The curve F(n) = a − b·n^(−c) of one system; `c` is None where F1 does not grow.

    `points` are the sizes of results and those predicted, up to twice the `largest`; `line` is for charts.
    """

    a: float
    b: float
    c: float | None
    largest: Count
    points: tuple[TrainingSize, ...]
    line: tuple[CurveLine, ...]


class LearningCurve(Document, frozen=True, kw_only=True):
    """How F1 grows with the training data, and what up to twice as much would give."""

    kind: Literal["curve"] = "curve"
    settings: CurveSettings
    systems: Mapping[str, SystemCurve]

    def inconsistent(self) -> tuple[str, str] | None:
        """An error if a size is 0 or less, or no point is at the largest; see `Document.inconsistent`."""
        if not self.systems:
            return "$.systems", "there is no system"
        for name, own in self.systems.items():
            if all(point.size != own.largest for point in own.points):
                return f"$.systems.{name}.points", f"there is no point of the largest size, {own.largest}"
            sizes: dict[str, list[float]] = {
                "points": [point.size for point in own.points],
                "line": [at.size for at in own.line],
            }
            for part, listed in sizes.items():
                for number, size in enumerate(listed):
                    if size <= 0:
                        return f"$.systems.{name}.{part}[{number}].size", f"{size:g} is not above 0"
        return None

    def __repr__(self) -> str:
        return f"<spanwise.LearningCurve {', '.join(self.systems)}>"
