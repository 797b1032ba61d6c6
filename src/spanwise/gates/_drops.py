"""Whether a drop since an earlier result is larger than allowed, or excluded: intervals and sign flips."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import UNSET, Struct

from spanwise.columns import Floats, ratio
from spanwise.document.scores import PRIMARY, Comparison, ScoreTest
from spanwise.errors import many
from spanwise.scores import Measure, fraction
from spanwise.slices.index import Check
from spanwise.statistics import LEVEL
from spanwise.uncertainty import Resampling, sign_flips

FEWEST = 6  # units: with five, one-sided flips cannot give less than 1/2⁵ > .025
ONE_SIDED = LEVEL / 2

Runs = Sequence[Sequence[Measure]]


class UnitDrops(Struct, frozen=True, eq=False):
    """What each unit adds to a drop Δ = F_ref − F_new, and its share of all mentions.

    ψ_d = (a_d − F·b_d) / b of the reference minus the same of the new result, for a score F = a / b (F1: a is
    twice the number of correct mentions, b the number of gold and predicted ones), averaged over runs.
    """

    drop: float
    influence: Floats
    share: Floats

    @classmethod
    def of(cls, new: Runs, old: Runs, path: tuple[str, ...]) -> UnitDrops:
        """The units of two results over the same gold data."""
        (after, gained, size_after), (before, lost, size_before) = (
            _influence(runs, path) for runs in (new, old)
        )
        sizes = size_after / len(new) + size_before / len(old)
        return cls(before - after, lost - gained, ratio(sizes, sizes.sum()))

    def shifted(self, allowed: float) -> Floats:
        """x_d = ψ_d + w_d (Δ − D): under a true drop of D both signs are equally likely; Σx = Δ − D."""
        return self.influence + self.share * (self.drop - allowed)


def _influence(runs: Runs, path: tuple[str, ...]) -> tuple[float, Floats, Floats]:
    """The mean score over runs, the mean influence of each unit, and the summed size of each unit."""
    scores, influences, sizes = [], [], []
    for run in runs:
        above, below = _terms(run, path)
        value = ratio(above.sum(axis=0), below.sum(axis=0))
        defined = below.sum(axis=0) > 0
        influence = ratio(above - value * below, below.sum(axis=0))[:, defined]
        scores.append(float(value[defined].mean()))
        influences.append(influence.mean(axis=1))
        sizes.append(below.sum(axis=1))
    return float(np.mean(scores)), np.mean(influences, axis=0), np.sum(sizes, axis=0)


def _terms(run: Sequence[Measure], path: tuple[str, ...]) -> tuple[Floats, Floats]:
    """The numerators and denominators of a score per unit (units × 1; a macro average: units × labels)."""
    measure = next(measure for measure in run if measure.name == path[0]).cell_by_cell
    macro = path == PRIMARY["macro"]
    cells = range(1, len(measure.counts.cells)) if macro else [measure.paths.index(path[:-1])]
    form = fraction(measure, path[-1])
    counts = measure.counts.select_cells(list(cells))
    rows = counts.matrix().reshape(counts.units, len(cells), -1).astype(np.float64)
    above, below = (np.einsum("ucn,n->uc", rows, weights[:, 0]) for weights in (form.above, form.below))
    return above, below


class TestedDrop(Struct, frozen=True, eq=False):
    """The change of one system since an earlier result, ready to be held against thresholds."""

    name: str
    spoken: str  # the change in words
    unit: str
    units: int
    comparison: Comparison
    row: ScoreTest
    drops: UnitDrops | None  # None: both results have several runs, which the interval allows for
    resampling: Resampling
    # The interval of the difference, new minus earlier, at another confidence; with several runs.
    interval_at: Callable[[float], tuple[float | None, float | None] | None]

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The 95 % interval of the drop."""
        return _drop(self.row.interval)

    @property
    def same(self) -> bool:
        """Whether no unit differs, so that the drop is exactly 0."""
        return self.comparison.differing == 0 or bool(self.comparison.identical)

    def too_few(self, allowed: float) -> str:
        """The sentence that says that there are too few units for any test; empty if there are enough."""
        if self.same:
            return ""
        differing = self.comparison.differing
        if self.units < FEWEST:
            return f"too few {self.unit}s to decide: {self.units} of at least {FEWEST}"
        if allowed == 0 and differing is not UNSET and differing < FEWEST:
            differ = f"{many(differing, self.unit)} {'differs' if differing == 1 else 'differ'}"
            return f"too few {self.unit}s to decide: only {differ}, of at least {FEWEST}"
        return ""

    @property
    def note(self) -> str:
        """What the test does not consider."""
        return "" if self.drops is None else "; training seeds are not considered"


def _drop(bounds: tuple[float | None, float | None] | None) -> tuple[float, float] | None:
    if bounds is None or bounds[0] is None or bounds[1] is None:
        return None
    return -bounds[1], -bounds[0]


def drop_checks(tested: Sequence[TestedDrop], allowed: float, *, strict: bool) -> list[Check]:
    """Check that no score drops by significantly more than `allowed` points (`--fail-drop`).

    A check fails if the lower end of the 95 % interval exceeds D and one-sided sign flips of x_d give
    p ≤ .025, by Holm's method over all systems, and the two-sided p of the difference is below .05 as well.
    """
    limit, size = allowed / 100, len(tested)
    few = {row.name: row.too_few(allowed) for row in tested}
    open_ = [row for row in tested if not few[row.name] and not row.same]
    reached = {row.name: _beyond(row, limit, size) for row in open_}
    failed: set[str] = set()
    while len(failed) < len(open_):  # Holm: each rejection raises the level of the rest
        level = LEVEL / (size - len(failed))
        more = {name for name, beyond in reached.items() if name not in failed and beyond(level)}
        if not more:
            break
        failed.add(sorted(more)[0])
    corrected = f" after Holm's correction over {size} tests" if size > 1 else ""
    checks = []
    for row in tested:
        name = f"{row.name} drop"
        if few[row.name]:
            checks.append(_few(name, row, few[row.name], strict=strict))
            continue
        bad = row.name in failed
        what = f"{'a' if bad else 'no'} significant drop of more than {allowed:g}{corrected}{row.note}"
        checks.append(Check(name, not bad, f"{row.spoken}: {what}.", "failed" if bad else "passed"))
    return checks


def not_worse_checks(tested: Sequence[TestedDrop], allowed: float, *, strict: bool) -> list[Check]:
    """Check that a drop of `allowed` points or more is excluded for every score (`--not-worse-than`).

    It is excluded if the upper end of the 95 % interval is below D and one-sided sign flips of x_d give
    p ≤ .025 on that side; a drop that is significantly larger fails; otherwise the data cannot decide.
    """
    checks = []
    for row in tested:
        name = f"{row.name} not worse"
        if few := row.too_few(allowed):
            checks.append(_few(name, row, few, strict=strict))
            continue
        if _excluded(row, allowed / 100):
            state, verdict = "passed", f"a drop of {allowed:g} or more is excluded"
        elif not row.same and _beyond(row, allowed / 100, 1)(LEVEL):
            state, verdict = "failed", f"the drop is significantly larger than {allowed:g}"
        else:
            state, verdict = "cannot decide", f"cannot decide: a drop of {allowed:g} is not excluded"
        message = f"{row.spoken}: {verdict}{row.note}."
        checks.append(Check(name, state == "passed", message, state))
    return checks


def _few(name: str, row: TestedDrop, why: str, *, strict: bool) -> Check:
    return Check(name, not strict, f"{row.spoken}: {why}{row.note}.", "too few units")


def _beyond(row: TestedDrop, limit: float, systems: int) -> Callable[[float], bool]:
    """Whether the drop is larger than `limit` at a two-sided level; all tests agree on it."""
    bounds = row.bounds
    if bounds is None or not bounds[0] > limit or row.row.p is None or not row.row.p < LEVEL:
        return lambda level: False
    if row.drops is None:

        def of_runs(level: float) -> bool:
            ends = bounds if level == LEVEL else _drop(row.interval_at(1 - level))
            return ends is not None and ends[0] > limit

        return of_runs
    levels = [ONE_SIDED / number for number in range(1, systems + 1)]
    flips = sign_flips(row.drops.shifted(limit), row.resampling, levels=levels)
    return lambda level: flips.high <= level / 2 and not flips.is_open(flips.high, level / 2)


def _excluded(row: TestedDrop, limit: float) -> bool:
    """Whether a drop of `limit` or more is excluded."""
    if row.same:
        return limit > 0
    bounds = row.bounds
    if bounds is None or not bounds[1] < limit:
        return False
    if row.drops is None:
        return True
    flips = sign_flips(row.drops.shifted(limit), row.resampling, levels=[ONE_SIDED])
    return flips.low <= ONE_SIDED and not flips.is_open(flips.low, ONE_SIDED)
