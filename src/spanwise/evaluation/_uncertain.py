"""Intervals of every score, and paired tests of the differences between systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from spanwise.columns import Floats, plain
from spanwise.document.comparison import PRIMARY, Comparison
from spanwise.evaluation._compared import compared
from spanwise.evaluation._weak import gain_lead, weak_slices
from spanwise.intervals import FEW_UNITS, jackknife
from spanwise.scores import Measure
from spanwise.uncertainty import Resampling

Path = tuple[str, ...]
Cell = dict[str, Any]

ONE_UNIT = "fewer than two {unit}s hold it"


class Scored(Struct, frozen=True, eq=False):
    """Every score of one system by the path of its cell, and which of its slices are weak."""

    measures: Sequence[Measure]
    cells: Mapping[Path, Cell]
    slices: Mapping[Path, Mapping[str, Any]]


def tested(
    systems: Mapping[str, Sequence[Measure]],
    pairs: Sequence[tuple[str, str]],
    resampling: Resampling,
    *,
    confidence: float,
    correction: str,
    primary: Path = PRIMARY["f1"],
    unit: str = "unit",
) -> tuple[dict[str, Scored], tuple[Comparison, ...]]:
    """The scores of all systems with their intervals, and the tests of these pairs of systems."""
    if not resampling.resamples:  # nothing but totals is asked for, and units need not be told apart
        systems = {name: [one.of_one_unit() for one in measures] for name, measures in systems.items()}
    scored = {name: _scored(measures, resampling, confidence, unit) for name, measures in systems.items()}
    runs = {name: [measures] for name, measures in systems.items()}
    return scored, compared(
        runs, pairs, resampling, confidence=confidence, correction=correction, primary=primary
    )


# ---- one system -----------------------------------------------------------------------------


def _scored(measures: Sequence[Measure], resampling: Resampling, confidence: float, unit: str) -> Scored:
    cells: dict[Path, Cell] = {}
    bounded = resampling.resamples > 0 and resampling.units > 0
    for measure in measures:
        found = jackknife(measure) if bounded else {}
        values = measure.values()
        intervals = {name: one.interval(confidence) for name, one in found.items()}
        for place, path in enumerate(measure.paths):
            cell = cells.setdefault(path, {"interval": {}})
            for name, array in values.items():
                cell[name] = plain(array[place])
                if name in intervals and cell[name] is not None:
                    _bound(cell, name, intervals[name][place], int(found[name].units[place]), unit)
    for cell in cells.values():
        if not cell["interval"]:
            del cell["interval"]
    if not bounded:
        return Scored(measures, cells, {})
    lead = gain_lead(measures, confidence)
    if lead is not None:
        cells[lead[0]]["lead"] = lead[1]
    return Scored(measures, cells, weak_slices(measures, resampling, confidence))


def _bound(cell: Cell, name: str, bounds: Floats, units: int, unit: str) -> None:
    """Add the interval of a score, or why there is none, and the mark of one that few units hold."""
    if np.isnan(bounds).any():
        cell["interval"][name] = None
        cell["why"] = ONE_UNIT.format(unit=unit)
    else:
        cell["interval"][name] = float(bounds[0]), float(bounds[1])
    if units < FEW_UNITS:
        cell["few_units"] = min(units, cell.get("few_units", units))
