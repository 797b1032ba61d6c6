"""How far the parts of a lead may be off: the jackknife over units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Floats, plain, ratio
from spanwise.diagnosis import PREDICTED
from spanwise.document.scores import Comparison, LeadPart
from spanwise.intervals import NO_SPREAD, t_quantile
from spanwise.scores import Measure, MeasureKey

MOST = (
    60_000_000  # values that are computed for all pairs of systems together; beyond it there are no intervals
)


class _Division(Struct, frozen=True, eq=False):
    """The mentions of one system per unit and part: predicted, and right (units × parts)."""

    predicted: Floats
    correct: Floats


def with_lead_intervals(
    comparisons: Sequence[Comparison],
    systems: Mapping[str, Sequence[Measure]],
    units: int,
    confidence: float,
) -> tuple[Comparison, ...]:
    """The comparisons, whose parts of the lead have intervals: contribution ± t·SE.

    SE is the delete-one jackknife's over all units, t has one degree of freedom fewer than there are
    units. With very many pairs or units the intervals are left out.
    """
    size = units * sum(len(parts) for row in comparisons for parts in row.lead.values())
    if units < 2 or size > MOST:
        return tuple(comparisons)
    tables = {name: {one.key: one for one in measures} for name, measures in systems.items()}
    t = float(t_quantile(float(units - 1), confidence))
    return tuple(
        replace(
            row,
            lead={
                division: _bounded(parts, [tables[name] for name in row.systems], division, t)
                for division, parts in row.lead.items()
            },
        )
        for row in comparisons
    )


def _bounded(
    parts: Sequence[LeadPart], tables: Sequence[Mapping[MeasureKey, Measure]], division: str, t: float
) -> tuple[LeadPart, ...]:
    if not all(_key(division) in table for table in tables):
        return tuple(parts)  # the two results cut this attribute differently
    names = [part.name for part in parts]
    exact = [_matrix(table[MeasureKey("exact")]).sum(axis=1) for table in tables]
    errors = _errors(exact, [_division(table, division, names) for table in tables])
    return tuple(
        replace(part, interval=_interval(part.contribution, float(error), t))
        for part, error in zip(parts, errors, strict=True)
    )


def _interval(value: float, error: float, t: float) -> tuple[float | None, float | None] | None:
    if error < NO_SPREAD and abs(value) > NO_SPREAD:
        return None  # nothing varies, which says nothing of how sure the value is
    return plain(value - t * error), plain(value + t * error)


def _matrix(measure: Measure) -> Floats:
    """Units × cells × (gold, predicted, correct), or (mentions, correct) of a subset."""
    counts = measure.counts
    matrix = counts.matrix().reshape(-1, len(counts.cells), len(counts.columns))
    return np.asarray(matrix, dtype=np.float64)


def _key(division: str) -> MeasureKey:
    known = {"labels": MeasureKey("exact"), "tough": MeasureKey("tough")}
    return known.get(division) or MeasureKey("attribute", division)


def _division(table: Mapping[MeasureKey, Measure], division: str, names: Sequence[str]) -> _Division:
    measure = table[_key(division)]
    cells, rows = list(measure.counts.cells), _matrix(measure)
    predicted, correct = (np.zeros((len(rows), len(names))) for _ in range(2))
    for at, name in enumerate(names):
        if name in cells:
            correct[:, at] = rows[:, cells.index(name), -1]
            if division != "tough":
                predicted[:, at] = rows[:, cells.index(name), 1]
        elif division == "tough" and name == PREDICTED:
            predicted[:, at] = _matrix(table[MeasureKey("exact")]).sum(axis=1)[:, 1]
    return _Division(predicted, correct)


def _errors(exact: Sequence[Floats], divisions: Sequence[_Division]) -> Floats:
    """The jackknife's standard error of every part's contribution.

    Args:
        exact: gold, predicted and correct of each system per unit.
    """
    rest = [one.sum(axis=0) - one for one in exact]  # of everything but one unit
    size = [one[:, 0] + one[:, 1] for one in rest]
    f1 = [ratio(2 * one[:, 2], below) for one, below in zip(rest, size, strict=True)]
    first, second = divisions
    right = (first.correct - second.correct).sum(axis=0) - (first.correct - second.correct)
    predicted = (first.predicted - second.predicted).sum(axis=0) - (first.predicted - second.predicted)
    without = sum(
        ratio(2 * right - price[:, None] * predicted, 2 * below[:, None])
        for price, below in ((f1[1], size[0]), (f1[0], size[1]))
    )
    values = np.nan_to_num(np.asarray(without))
    spread = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt(spread * (len(values) - 1) / len(values)))
