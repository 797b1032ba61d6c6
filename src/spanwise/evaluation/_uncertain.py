"""Intervals of every score, and paired tests of the differences between systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Floats, plain
from spanwise.counts import Counts
from spanwise.diagnosis import F1
from spanwise.engines.threads import MOST, together
from spanwise.scores import Measure, Scores
from spanwise.statistics import LEVEL, correct
from spanwise.uncertainty import Resampling, interval, p_value, standard_error

Path = tuple[str, ...]
Cell = dict[str, Any]

# Two-sided 5 %, power 80 %: z(0.975) + z(0.8).
DETECTABLE = 2.80
# A family of k tests can only be significant under Holm's correction where shuffles outnumber 20 k.
SHUFFLES_PER_TEST = 100


class Scored(Struct, frozen=True, eq=False):
    """Every score of one system, by the path of its cell, and the resampled scores behind the intervals."""

    measures: Sequence[Measure]
    cells: Mapping[Path, Cell]
    resampled: Mapping[str, Scores]  # by the name of a measure; empty without resampling


def tested(
    systems: Mapping[str, Sequence[Measure]],
    pairs: Sequence[tuple[str, str]],
    resampling: Resampling,
    *,
    confidence: float,
    correction: str,
) -> tuple[dict[str, Scored], list[dict[str, Any]]]:
    """The scores of all systems with their intervals, and the tests of these pairs of systems."""
    if not resampling.resamples:  # nothing but totals is asked for, and units need not be told apart
        systems = {name: [one.of_one_unit() for one in measures] for name, measures in systems.items()}
    joined = [_joined(systems[one], systems[other]) for one, other in pairs]
    more = replace(resampling, resamples=_shuffles(joined, resampling))
    work: list[Callable[[], Any]] = [
        lambda: [_drawn_apart(systems, *both, resampling) for both in zip(pairs, joined, strict=True)],
        lambda: [_shuffled(measures, more) for measures in joined],
        lambda: _scored(systems, resampling, confidence),
    ]
    apart, shuffled, found = together(work, threads=MOST if pairs and resampling.resamples else 1)
    compared = Compared(pairs, joined, shuffled, apart, more.resamples)
    return found, _compared(found, compared, confidence=confidence, correction=correction)


def _scored(
    systems: Mapping[str, Sequence[Measure]], resampling: Resampling, confidence: float
) -> dict[str, Scored]:
    """All systems' scores, resampled by the same draws of units."""
    resampled = _resampled(systems, resampling)
    return {
        name: Scored(measures, _cells(measures, resampled.get(name, {}), confidence), resampled.get(name, {}))
        for name, measures in systems.items()
    }


def _resampled(
    systems: Mapping[str, Sequence[Measure]], resampling: Resampling
) -> dict[str, dict[str, Scores]]:
    """The scores of every resample (resamples × scored cells), by system and measure."""
    if resampling.resamples == 0 or resampling.units == 0:
        return {}
    drawn = [measure.cell_by_cell for measures in systems.values() for measure in measures]
    totals = iter(
        resampling.bootstrap([_table(measure) for measure in drawn], [measure.name for measure in drawn])
    )
    return {
        name: {measure.name: _scores(measure.cell_by_cell, next(totals)) for measure in measures}
        for name, measures in systems.items()
    }


def _table(measure: Measure) -> Counts:
    """The table to draw: averages need all their cells from the same draws, others only one at a time."""
    return measure.counts.as_one_cell() if measure.scorer == "averages" else measure.counts


def _scores(measure: Measure, totals: Floats) -> Scores:
    counts = measure.counts
    return measure.score(totals.reshape(len(totals), len(counts.cells), len(counts.columns)))


def _cells(
    measures: Sequence[Measure], resampled: Mapping[str, Scores], confidence: float
) -> dict[Path, Cell]:
    cells: dict[Path, Cell] = {}
    for measure in measures:
        values = measure.values()
        intervals = {}
        if measure.name in resampled:
            spread = resampled[measure.name]
            intervals = {name: interval(array, confidence) for name, array in spread.items()}
        for place, path in enumerate(measure.paths):
            cell = cells.setdefault(path, {"interval": {}})
            for name, array in values.items():
                cell[name] = plain(array[place])
                if name in intervals and cell[name] is not None:
                    cell["interval"][name] = [plain(bound) for bound in intervals[name][place]]
    for cell in cells.values():
        if not cell["interval"]:
            del cell["interval"]
    return cells


class Row(Struct, frozen=True):
    """One tested score of a pair of systems."""

    path: Path
    family: str
    first: float
    second: float
    differences: Floats | None  # resampled
    p: float
    mentions: int | None


class Compared(Struct, frozen=True, eq=False):
    """The tested scores that each pair of systems shares, and their differences, shuffled and resampled."""

    pairs: Sequence[tuple[str, str]]
    measures: Sequence[Sequence[tuple[Measure, Measure]]]  # of each pair
    shuffled: Sequence[Sequence[Scores]]  # of each pair and measure; none without resampling
    apart: Sequence[Mapping[str, Scores]]  # of each pair, by measures whose resamples are drawn for pairs
    shuffles: int


def _compared(
    systems: Mapping[str, Scored], compared: Compared, *, confidence: float, correction: str
) -> list[dict[str, Any]]:
    """For each pair the differences of all tested scores, first minus second, with intervals and p-values.

    p-values are corrected within a family: one kind of score over all pairs.
    """
    tables = [
        _rows(systems, pair, measures, shuffled, apart)
        for pair, measures, shuffled, apart in zip(
            compared.pairs, compared.measures, compared.shuffled, compared.apart, strict=True
        )
    ]
    flat = [row for table in tables for row in table]
    adjusted_p = _corrected(flat, correction)
    result, at = [], 0
    for pair, rows in zip(compared.pairs, tables, strict=True):
        scores = [
            _score(row, p, confidence) for row, p in zip(rows, adjusted_p[at : at + len(rows)], strict=True)
        ]
        at += len(rows)
        result.append(
            {
                "systems": list(pair),
                "shuffles": compared.shuffles,
                "correction": correction,
                "scores": scores,
                "detectable": _detectable(rows),
            }
        )
    return result


def _joined(first: Sequence[Measure], second: Sequence[Measure]) -> list[tuple[Measure, Measure]]:
    """The tested scores that two systems share, a cell each, with the same cells on both sides."""
    others = {measure.name: measure for measure in second}
    return [
        _tested(*_same_cells(measure, others[measure.name]))
        for measure in first
        if measure.tested and measure.name in others
    ]


def _tested(first: Measure, second: Measure) -> tuple[Measure, Measure]:
    """The same measures with those cells alone that are tested."""
    one, other = first.cell_by_cell, second.cell_by_cell
    if len(one.paths) != len(one.counts.cells):  # such as the gains of several kinds from one cell
        return one, other
    places = [
        place
        for place, path in enumerate(one.paths)
        if any(_family(one, path, name) is not None for name in one.tested)
    ]
    return one.of_paths(places), other.of_paths(places)


def _same_cells(first: Measure, second: Measure) -> tuple[Measure, Measure]:
    if first.counts.cells == second.counts.cells:
        return first, second
    added = len(first.paths) - len(first.counts.cells)  # such as the sum over labels, which stand in front
    path_of = dict(zip(second.counts.cells, second.paths[added:], strict=True))
    path_of = dict(zip(first.counts.cells, first.paths[added:], strict=True)) | path_of
    cells = (*first.counts.cells, *(c for c in second.counts.cells if c not in set(first.counts.cells)))
    paths = (*first.paths[:added], *(path_of[cell] for cell in cells))
    return (
        replace(first, counts=first.counts.with_cells(cells), paths=paths),
        replace(second, counts=second.counts.with_cells(cells), paths=paths),
    )


def _shuffles(joined: Sequence[Sequence[tuple[Measure, Measure]]], resampling: Resampling) -> int:
    """As many shuffles as resamples, and more where a family is large."""
    if resampling.resamples == 0:
        return 0
    sizes: dict[str, int] = {}
    for measures in joined:
        for measure, _ in measures:
            for path in measure.paths:
                for name in measure.tested:
                    family = _family(measure, path, name)
                    if family is not None:
                        sizes[family] = sizes.get(family, 0) + 1
    return max(resampling.resamples, SHUFFLES_PER_TEST * max(sizes.values(), default=0))


def _family(measure: Measure, path: Path, score: str) -> str | None:
    """The family of tests that a score belongs to; None: it is shown, but not tested."""
    if measure.family in ("exact", "fair"):
        if path[-1] == "overall":
            return (
                "overall"
                if (measure.family, score) == ("exact", "f1")
                else f"overall {measure.family} {score}"
            )
        return "labels" if measure.family == "exact" and score == "f1" else None
    if measure.family == "tough":
        return "tough" if path[-1] == "overall" else None
    return measure.family


def _rows(
    systems: Mapping[str, Scored],
    pair: tuple[str, str],
    measures: Sequence[tuple[Measure, Measure]],
    shuffled: Sequence[Scores],
    apart: Mapping[str, Scores],
) -> list[Row]:
    spreads = _differences(systems, pair, measures, apart) if shuffled else []
    rows = []
    for place, (first, second) in enumerate(measures):
        mentions = _mentions(first)
        values = first.values(), second.values()
        for name in first.tested:
            observed = values[0][name] - values[1][name]
            p = p_value(observed, shuffled[place][name]) if shuffled else np.full(len(observed), np.nan)
            for cell, path in enumerate(first.paths):
                family = _family(first, path, name)
                if family is not None:
                    spread = spreads[place][name][:, cell] if spreads else None
                    both = float(values[0][name][cell]), float(values[1][name][cell])
                    rows.append(Row((*path, name), family, *both, spread, float(p[cell]), mentions[cell]))
    return rows


def _mentions(measure: Measure) -> list[int | None]:
    """The gold mentions (or units) of each scored cell."""
    if measure.scorer == "gains" or measure.family == "fair":
        return [None] * len(measure.paths)
    gold: list[int | None] = measure.counts.total[:, 0].tolist()
    return gold


def _shuffled(measures: Sequence[tuple[Measure, Measure]], resampling: Resampling) -> list[Scores]:
    """First minus second of every tested score in every shuffle, one entry a measure."""
    if resampling.resamples == 0 or resampling.units == 0:
        return []
    totals = resampling.shuffled(*_tables(measures))
    return [_difference(*both, *pair) for both, pair in zip(measures, totals, strict=True)]


def _tables(measures: Sequence[tuple[Measure, Measure]]) -> tuple[list[Counts], list[Counts], list[str]]:
    return (
        [first.counts for first, _ in measures],
        [second.counts for _, second in measures],
        [first.name for first, _ in measures],
    )


def _difference(first: Measure, second: Measure, one: Floats, other: Floats) -> Scores:
    scores = first.score(one), second.score(other)
    return {name: scores[0][name] - scores[1][name] for name in first.tested}


def _drawn_apart(
    systems: Mapping[str, Sequence[Measure]],
    pair: tuple[str, str],
    measures: Sequence[tuple[Measure, Measure]],
    resampling: Resampling,
) -> dict[str, Scores]:
    """First minus second in every resample, of measures whose tables do not share their draws with others."""
    if resampling.resamples == 0 or resampling.units == 0:
        return {}
    alone = [both for both in measures if not _drawn_alike(systems, pair, both[0].name, resampling)]
    totals = resampling.paired_bootstrap(*_tables(alone))
    return {both[0].name: _difference(*both, *pair) for both, pair in zip(alone, totals, strict=True)}


def _drawn_alike(
    systems: Mapping[str, Sequence[Measure]], pair: tuple[str, str], name: str, resampling: Resampling
) -> bool:
    """Whether the tables of two systems behind a measure see the same draws when they are resampled."""
    found = [one for system in pair for one in systems[system] if one.name == name]
    return all(resampling.shares_draws(_table(one.cell_by_cell)) for one in found)


def _differences(
    systems: Mapping[str, Scored],
    pair: tuple[str, str],
    measures: Sequence[tuple[Measure, Measure]],
    apart: Mapping[str, Scores],
) -> list[Scores]:
    """First minus second of every tested score in every resample, one entry a measure."""
    found = []
    for measure, _ in measures:
        if measure.name in apart:
            found.append(apart[measure.name])
        else:  # the same units were drawn for both systems
            one, other = (_spread(systems[name], measure) for name in pair)
            found.append({name: one[name] - other[name] for name in measure.tested})
    return found


def _spread(system: Scored, measure: Measure) -> Scores:
    """The resampled scores of a system at the paths of `measure`, some of which it may not have."""
    own = next(one for one in system.measures if one.name == measure.name)
    place = {path: number for number, path in enumerate(own.paths)}
    taken = [place.get(path, len(place)) for path in measure.paths]  # where there is none: undefined
    resampled = system.resampled[measure.name]
    return {
        name: np.pad(resampled[name], ((0, 0), (0, 1)), constant_values=np.nan)[:, taken]
        for name in measure.tested
    }


def _corrected(rows: Sequence[Row], correction: str) -> list[float]:
    """p-values corrected within each family; undefined ones take no part."""
    result = [float("nan")] * len(rows)
    for family in dict.fromkeys(row.family for row in rows):
        members = [i for i, row in enumerate(rows) if row.family == family and not np.isnan(row.p)]
        for i, p in zip(members, correct([rows[i].p for i in members], correction), strict=True):
            result[i] = float(p)
    return result


def _score(row: Row, corrected: float, confidence: float) -> dict[str, Any]:
    difference = row.first - row.second
    bounds = None
    if row.differences is not None and not np.isnan(difference):
        bounds = [plain(bound) for bound in interval(row.differences, confidence)]
    return {
        "path": list(row.path),
        "family": row.family,
        "a": plain(row.first),
        "b": plain(row.second),
        "difference": plain(difference),
        "interval": bounds,
        "p": plain(row.p),
        "p_corrected": plain(corrected),
        "significant": bool(corrected < LEVEL),
        "mentions": row.mentions,
    }


def _detectable(rows: Sequence[Row]) -> dict[str, float | None]:
    """The smallest difference of overall F1 that this test set can be expected to show."""
    for row in rows:
        if row.path == F1 and row.differences is not None:
            return {"f1": plain(DETECTABLE * standard_error(row.differences))}
    return {}
