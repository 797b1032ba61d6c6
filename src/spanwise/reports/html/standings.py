"""The opening of a study's page: the best system against the others, and every system on every dataset."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from spanwise.diagnosis import lettering
from spanwise.document.study import MainResult, Study
from spanwise.views import wording as words
from spanwise.views.shown import both_ends
from spanwise.views.standing import tested_on, turned
from spanwise.views.verdict import means_over_datasets

MOST_RIVALS = 5  # systems that the best one is shown against
MOST_COLUMNS = 4  # datasets with a column or a drawing of their own
_APART = 4.0  # the least distance of two runs on one line, in percent of the drawing


class Chip(Struct, frozen=True):
    """The lead of the best system on one dataset."""

    state: str  # "better", "worse" or "open"; empty if nothing was tested
    lead: float | None
    ends: tuple[float, float] | None


class Rival(Struct, frozen=True):
    """The best system against another one on every dataset."""

    name: str
    chips: Sequence[Chip]
    better: int
    worse: int


class Leads(Struct, frozen=True):
    """The best system against the others, the next best first."""

    first: str
    rivals: Sequence[Rival]
    left: int


class DrawnMean(Struct, frozen=True):
    """A mean with its interval and its runs, as positions from 0 to 100 on the axis of its dataset."""

    mean: float | None
    band: tuple[float, float] | None
    runs: Sequence[tuple[float, int]]  # positions, and lines on which runs do not overlap


class ScoreAxis(Struct, frozen=True):
    """The axis of one dataset."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """The position of a score, from 0 to 100."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Positions of round scores, and these scores in points."""
        span = 100 * (self.high - self.low)
        step = next((step for step in (0.5, 1, 2, 5, 10, 20) if span / step <= 4), 50)
        first = -(-100 * self.low // step)
        values = [step * (first + index) for index in range(5) if step * (first + index) <= 100 * self.high]
        return [(self.at(value / 100), f"{value:g}") for value in values]


def leads(study: Study) -> Leads | None:
    """The best system against the others; None without two systems that have scores on all datasets."""
    order = list(lettering(means_over_datasets(study)))
    if len(order) < 2:
        return None
    first, *others = order
    better = {name: tested_on(study, name).better for name in study.datasets}
    rivals = [
        Rival(
            name=other,
            chips=[_chip(study, dataset, first, other) for dataset in study.datasets],
            better=sum((first, other) in pairs for pairs in better.values()),
            worse=sum((other, first) in pairs for pairs in better.values()),
        )
        for other in others[:MOST_RIVALS]
    ]
    return Leads(first, rivals, max(len(others) - MOST_RIVALS, 0))


def _chip(study: Study, dataset: str, first: str, other: str) -> Chip:
    comparison = study.datasets[dataset].comparison(first, other)
    test = None if comparison is None else comparison.primary
    if comparison is None or test is None or test.difference is None:
        return Chip("", None, None)
    test = test if comparison.systems[0] == first else turned(test)
    state = "open" if not test.significant else "better" if (test.difference or 0) > 0 else "worse"
    return Chip(state if test.p_corrected is not None else "", test.difference, both_ends(test.interval))


def ranked_systems(study: Study) -> list[str]:
    """The systems by their mean over all datasets, then those without one."""
    order = list(lettering(means_over_datasets(study)))
    return [*order, *(name for name in study.analyses.holistic if name not in order)]


def scales(study: Study) -> dict[str, ScoreAxis | None]:
    """The axis of every dataset, which covers all intervals and runs; None without scores."""
    table = study.analyses.holistic.values()
    return {dataset: _scale([row[dataset] for row in table if dataset in row]) for dataset in study.datasets}


def _scale(cells: Sequence[MainResult]) -> ScoreAxis | None:
    values = [
        value
        for cell in cells
        for value in (cell.mean, *cell.values.values(), *(both_ends(cell.ends("mean")) or ()))
        if value is not None and words.defined(value)
    ]
    if not values:
        return None
    room = max(0.06 * (max(values) - min(values)), 0.004)
    return ScoreAxis(min(values) - room, max(values) + room)


def place(cell: MainResult | None, scale: ScoreAxis | None) -> DrawnMean | None:
    """Where a mean, its interval and its runs are drawn; runs that would overlap go on lines of their own."""
    if cell is None or scale is None or cell.mean is None or not words.defined(cell.mean):
        return None
    ends = both_ends(cell.ends("mean"))
    band = None if ends is None else (scale.at(ends[0]), scale.at(ends[1]))
    runs: list[tuple[float, int]] = []
    last: list[float] = []  # the last position on every line
    for at in sorted(scale.at(run) for run in cell.values.values() if run is not None):
        line = next((index for index, before in enumerate(last) if at - before >= _APART), len(last))
        last[line : line + 1] = [at]
        runs.append((at, line))
    return DrawnMean(scale.at(cell.mean), band, runs if len(runs) > 1 else ())
