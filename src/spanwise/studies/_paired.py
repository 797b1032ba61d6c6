"""Paired tests between the systems of a study on one dataset, from the counts per unit of their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import combinations
from math import lcm
from typing import Any

import numpy as np
from msgspec.structs import replace

from spanwise.columns import Floats, frozen
from spanwise.counts import Counts
from spanwise.diagnosis import lettering, letters
from spanwise.evaluation import tested, unpacked
from spanwise.scores import Measure
from spanwise.statistics import LEVEL
from spanwise.uncertainty import MATRIX_UNITS, Resampling, interval

HIERARCHICAL = "hierarchical bootstrap over units and runs"


def paired(
    units: Mapping[str, Mapping[str, Any]],
    pairs: Sequence[tuple[str, str]],
    *,
    resamples: int,
    seed: int,
    confidence: float,
    correction: str,
) -> dict[str, Any]:
    """Tests of the systems of one dataset, the counts of all runs of a system added up.

    Args:
        units: `units` of every system's result document, whose "systems" are its runs.
        pairs: those to test in full; letters come from tests of overall F1 over all pairs.

    Returns:
        "comparisons" as in a result document, each with a hierarchical bootstrap over units and
        runs; "letters" and the "letter" of each system; and "interval", the bootstrap interval
        of each system's mean F1 over its runs.
    """
    runs = {
        system: {run: unpacked(entries, place=system) for run, entries in part["systems"].items()}
        for system, part in units.items()
    }
    number = next(iter(units.values()))["number"] if units else 0
    resampling = Resampling(number, resamples, seed)
    most = lcm(*(len(found) for found in runs.values())) if runs else 1
    pooled = {system: _pooled(list(found.values()), most) for system, found in runs.items()}
    chosen = [pair for pair in pairs if pair[0] in pooled and pair[1] in pooled]
    having = _having(pooled, chosen)
    _, comparisons = tested(having, chosen, resampling, confidence=confidence, correction=correction)
    first = {system: [one for one in measures if one.name == "exact"] for system, measures in pooled.items()}
    _, every = tested(
        first, list(combinations(first, 2)), resampling, confidence=confidence, correction=correction
    )
    means = {system: _mean_f1(list(found.values())) for system, found in runs.items()}
    spreads = _spreads(runs, resampling)
    for comparison, pair in zip(comparisons, chosen, strict=True):
        _once(comparison, most)
        comparison["hierarchical"] = _hierarchical(pair, spreads, resampling, confidence)
    return {
        "comparisons": comparisons,
        "letters": letters(means, every),
        "letter": lettering(means),
        "interval": {
            system: _interval_of(scores.mean(axis=0), confidence) for system, scores in spreads.items()
        },
    }


def _having(
    pooled: Mapping[str, Sequence[Measure]], pairs: Sequence[tuple[str, str]]
) -> dict[str, Sequence[Measure]]:
    named = {name for pair in pairs for name in pair}
    return {name: measures for name, measures in pooled.items() if name in named}


def _pooled(runs: Sequence[Sequence[Measure]], most: int) -> list[Measure]:
    """The measures of several runs as one: counts added up unit by unit.

    Every system is weighed as if it had the same number of runs, since units change sides in the test.
    """
    by_name = [{measure.name: measure for measure in run} for run in runs]
    shared = [name for name in by_name[0] if all(name in found for found in by_name)]
    return [_added([found[name] for found in by_name], most // len(runs)) for name in shared]


def _added(measures: Sequence[Measure], times: int) -> Measure:
    path_of: dict[str, tuple[str, ...]] = {}
    for measure in measures:
        added = len(measure.paths) - len(measure.counts.cells)  # such as the sum over labels, in front
        for cell, path in zip(measure.counts.cells, measure.paths[added:], strict=True):
            path_of.setdefault(cell, path)
    cells = tuple(path_of)
    matrices = [measure.counts.with_cells(cells).matrix() for measure in measures]
    total = reduce(np.add, matrices) * np.int32(times)
    counts = Counts.of_matrix(cells, measures[0].counts.columns, frozen(total))
    front = measures[0].paths[: len(measures[0].paths) - len(measures[0].counts.cells)]
    return replace(measures[0], counts=counts, paths=(*front, *path_of.values()))


def _once(comparison: dict[str, Any], most: int) -> None:
    """Gold mentions were added up over runs; say how many there are."""
    comparison["runs_pooled"] = True
    for row in comparison["scores"]:
        if row["mentions"] is not None:
            row["mentions"] //= most


def _mean_f1(runs: Sequence[Sequence[Measure]]) -> float | None:
    values = [_exact(run).values()["f1"][0] for run in runs]
    defined = [float(value) for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else None


def _exact(run: Sequence[Measure]) -> Measure:
    return next(measure for measure in run if measure.name == "exact")


def _spreads(
    runs: Mapping[str, Mapping[str, Sequence[Measure]]], resampling: Resampling
) -> dict[str, Floats]:
    """F1 of every run in every resample (runs × resamples) of each system, all over the same units."""
    if not resampling.resamples or not resampling.units:
        return {}
    found = {}
    for system, named in runs.items():
        measures = [_exact(run).cell_by_cell for run in named.values()]
        totals = resampling.bootstrap([one.counts for one in measures], [one.name for one in measures])
        scores = [one.score(total)["f1"][:, 0] for one, total in zip(measures, totals, strict=True)]
        found[system] = np.stack(scores)
    return found


def _interval_of(values: Floats, confidence: float) -> list[float] | None:
    bounds = interval(values[:, None], confidence)[0]
    return None if np.isnan(bounds).any() else [float(bound) for bound in bounds]


def _hierarchical(
    pair: tuple[str, str], spreads: Mapping[str, Floats], resampling: Resampling, confidence: float
) -> dict[str, Any]:
    """The difference of mean F1 when units and runs are both drawn anew: first minus second.

    Units are drawn once for both systems, runs for each of them. Runs that err on different
    mentions differ by chance too, so that part of the noise counts twice: the test rejects a true
    null less often than it says, where one over data alone takes the luck of a seed for a
    difference (both measured in benchmarks/calibration.md). With one run its spread is not seen.
    """
    about: dict[str, Any] = {"test": HIERARCHICAL, "runs": [len(spreads.get(name, ())) for name in pair]}
    if resampling.units > MATRIX_UNITS or not spreads:
        why = "more units than are drawn at once for all systems" if spreads else "no resamples"
        return {**about, "interval": None, "p": None, "significant": False, "why": why}
    sides = []
    for name in pair:
        scores = spreads[name]
        drawn = resampling.drawn_runs(len(scores), name)
        sides.append(scores[drawn.T, np.arange(resampling.resamples)].mean(axis=0))
    difference = sides[0] - sides[1]
    defined = difference[~np.isnan(difference)]
    beyond = min(int((defined <= 0).sum()), int((defined >= 0).sum()))
    p = min(1.0, 2 * (1 + beyond) / (1 + len(defined)))
    bounds = _interval_of(difference, confidence)
    return {**about, "interval": bounds, "p": p, "significant": p < LEVEL}
