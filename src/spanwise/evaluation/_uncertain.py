"""Intervals of every score, tests of differences, counts per unit packed for later ones, parts of a lead."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Floats, codes, plain, ratio
from spanwise.counts import Counts
from spanwise.diagnosis import LEAST_GOLD, PREDICTED
from spanwise.document.evaluation import PackedMeasure
from spanwise.document.scores import PRIMARY, Comparison, GainLead, LeadPart
from spanwise.errors import InputError
from spanwise.evaluation._compared import compared
from spanwise.intervals import FEW_UNITS, NO_SPREAD, contrast, jackknife, t_quantile
from spanwise.scores import SCORERS, Measure, MeasureKey
from spanwise.statistics import excess_losses
from spanwise.uncertainty import BLOCK_COUNTS, FEWEST_GROUPS, Flips, Resampling, grouped

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


def gain_lead(measures: Sequence[Measure], confidence: float) -> tuple[Path, GainLead] | None:
    """The kind of error with the largest gain, and its lead over the second: a paired t-test over units."""
    one = next((measure for measure in measures if measure.scorer == "gains"), None)
    if one is None:
        return None
    values = one.values()["gain"]
    order = np.argsort(-values, kind="stable")
    if np.isnan(values).any() or not values[order[0]] > 0:
        return None
    found = contrast(one, "gain", int(order[0]), int(order[1]))
    low, high = found.interval(confidence)[0, 0]
    lead = GainLead(
        over=one.paths[order[1]][-1],
        difference=plain(found.value[0, 0]),
        interval=None if np.isnan(low) else (float(low), float(high)),
        p=plain(found.p()[0, 0]),
    )
    return one.paths[order[0]], lead


def weak_slices(
    measures: Sequence[Measure], resampling: Resampling, confidence: float
) -> dict[Path, dict[str, Any]]:
    """Which labels, buckets of mentions and tough subsets score lower than the rest, all tested at once.

    Losses of a slice are held against the overall share of losses: of gold and predicted mentions together
    (1 − F1), or of gold mentions for tough subsets (1 − recall). Slices need 50 gold mentions inside and
    outside. p is family-wise over all slices (maxT on sign flips of units, one-sided); the interval holds
    for all slices at once, so that it still holds for the one that is chosen as the worst.
    """
    exact = next((one for one in measures if one.key.kind == "exact"), None)
    if exact is None:
        return {}
    whole = exact.cell_by_cell.counts.of_cells([0])
    gold, predicted, _ = (int(one) for one in whole.total[0])
    chosen = [(one, place) for one in measures for place in _places(one, gold, predicted)]
    if not chosen:
        return {}
    groups = max(BLOCK_COUNTS // (4 * len(chosen)), FEWEST_GROUPS)
    overall = _rows(whole, groups)[:, 0]
    # Of F1 the items are gold and predicted mentions, of recall gold mentions alone.
    f1 = overall[:, 0] + overall[:, 1] - 2 * overall[:, 2], overall[:, 0] + overall[:, 1]
    recall = overall[:, 0] - overall[:, 2], overall[:, 0]
    columns = []
    for one in dict.fromkeys(measure.key for measure, _ in chosen):
        places = [place for measure, place in chosen if measure.key == one]
        measure = next(measure for measure, _ in chosen if measure.key == one)
        rows = _rows(measure.cell_by_cell.counts, groups)[:, places]
        if measure.scorer == "recall":
            columns.append(excess_losses(rows[..., 0] - rows[..., 1], rows[..., 0], *recall))
        else:
            items = rows[..., 0] + rows[..., 1]
            columns.append(excess_losses(items - 2 * rows[..., 2], items, *f1))
    losses = np.concatenate(columns, axis=1)
    rows = np.ascontiguousarray(losses.T)
    del losses, columns
    distinct = len({(row.round(9) + 0.0).tobytes() for row in rows})  # row by row: a copy of all is large
    one_sided, two_sided = (
        Flips(rows.shape[1], resampling.resamples, resampling.seed, two_sided=both) for both in (False, True)
    )
    statistics = one_sided.statistics(rows)
    p_values = one_sided.p_values(statistics, one_sided.maxima([rows]))
    bounds = _simultaneous(chosen, two_sided.critical(two_sided.maxima([rows]), 1 - confidence))
    return {
        measure.cell_by_cell.paths[place]: {
            "t": float(t),
            "p": float(p),
            "interval": None if np.isnan(bounds[at]).any() else bounds[at].tolist(),
            "of": distinct,
        }
        for at, ((measure, place), t, p) in enumerate(zip(chosen, statistics, p_values, strict=True))
    }


def _rows(counts: Counts, groups: int) -> Floats:
    """Counts per unit (or group of units) × cells × columns."""
    rows = counts.matrix() if counts.units <= groups else grouped(counts, groups)
    return rows.reshape(len(rows), len(counts.cells), len(counts.columns)).astype(np.float64)


def _places(measure: Measure, gold: int, predicted: int) -> list[int]:
    """The cells of a measure that are slices with enough mentions inside and outside."""
    counts = measure.cell_by_cell.counts
    paths = measure.cell_by_cell.paths
    if measure.key.kind not in ("exact", "tough", "attribute"):
        return []
    if measure.key.kind == "attribute":
        held = counts.total.sum(axis=0)
        if int(held[0]) != gold or int(held[1]) != predicted:  # its units are tokens
            return []
        named = [at for at, path in enumerate(paths) if not path[-1].startswith("unplaced")]
    else:
        inner = "labels" if measure.key.kind == "exact" else "overall"
        named = [at for at, path in enumerate(paths) if inner in path[-2:]]
    return [at for at in named if LEAST_GOLD <= int(counts.total[at, 0]) <= gold - LEAST_GOLD]


def _simultaneous(chosen: Sequence[tuple[Measure, int]], critical: float) -> list[Floats]:
    """The interval of each slice's score with the critical value of all of them."""
    of: dict[str, Floats] = {}
    for measure, _ in chosen:
        if measure.name not in of:
            score = "recall" if measure.scorer == "recall" else "f1"
            of[measure.name] = jackknife(measure.cell_by_cell)[score].interval(critical=critical)
    return [of[measure.name][place] for measure, place in chosen]


def packed(measures: Sequence[Measure]) -> tuple[PackedMeasure, ...]:
    """The tested measures with their counts: distinct rows, and the row of every unit, compressed."""
    return tuple(
        PackedMeasure(
            name=measure.name,
            scorer=measure.scorer,
            family=measure.family,
            tested=measure.tested,
            credit=measure.credit,
            share=measure.share,
            paths=measure.paths,
            cells=measure.counts.cells,
            columns=measure.counts.columns,
            rows=_pack(np.asarray(measure.counts.rows)),
            row=_pack(np.asarray(measure.counts.row)),
        )
        for measure in measures
        if measure.tested
    )


def unpacked(entries: Sequence[PackedMeasure], *, place: str) -> list[Measure]:
    """The measures of a result document, as they were before they were packed."""
    try:
        return [_measure(entry) for entry in entries]
    except (ValueError, TypeError, zlib.error) as error:
        raise InputError(
            f"{place}: its counts per unit cannot be read ({error}).\n"
            "Make the result document again with spanwise evaluate --json."
        ) from error


def _measure(entry: PackedMeasure) -> Measure:
    if entry.scorer not in SCORERS:
        raise ValueError(f"no scorer is called {entry.scorer!r}")
    width = len(entry.cells) * len(entry.columns)
    rows = _unpack(entry.rows).reshape(-1, width)
    row = _unpack(entry.row)
    if len(row) and not 0 <= int(row.min()) <= int(row.max()) < len(rows):
        raise ValueError("a unit names a row that is not there")
    return Measure(
        key=MeasureKey.of_name(entry.name),
        counts=Counts(entry.cells, entry.columns, rows, codes(row)),
        scorer=entry.scorer,
        paths=entry.paths,
        family=entry.family,
        tested=entry.tested,
        credit=entry.credit,
        share=entry.share,
    )


def _pack(column: np.ndarray[Any, Any]) -> str:
    little = np.ascontiguousarray(column, dtype="<i4")
    return base64.b64encode(zlib.compress(little.tobytes(), 6)).decode("ascii")


def _unpack(text: str) -> np.ndarray[Any, Any]:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<i4").astype(np.int32)


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
