"""Tests between the systems of a study on one dataset, from the counts per unit of their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import combinations
from math import lcm
from typing import Any

import numpy as np
from msgspec.structs import replace

from spanwise.columns import frozen
from spanwise.counts import Counts
from spanwise.diagnosis import F1, lettering, letters, score_row
from spanwise.evaluation import compared, same_cells, unpacked
from spanwise.intervals import jackknife
from spanwise.scores import Measure
from spanwise.statistics import LEVEL, correct
from spanwise.uncertainty import Resampling

ONE_RUN = "of these models; training seeds not considered"

Runs = Sequence[Sequence[Measure]]


def paired(
    units: Mapping[str, Mapping[str, Any]],
    pairs: Sequence[tuple[str, str]],
    *,
    resamples: int,
    seed: int,
    confidence: float,
    correction: str,
    shared_seeds: bool = False,
) -> dict[str, Any]:
    """Tests of the systems of one dataset over data and runs.

    Where both systems of a pair have two runs or more, data and training both vary: a t-test of the
    difference of means. Where one has a single run the claim is about these trained models alone:
    paired randomisation, the counts of all runs of the other system added up.

    Args:
        units: `units` of every system's result document, whose "systems" are its runs.
        pairs: those to test in full; letters come from tests of overall F1 over all pairs.
        shared_seeds: runs of equal place share their seed, and are differenced first.

    Returns:
        "comparisons" as in a result document; "letters" and the "letter" of each system; "interval",
        that of each system's mean F1 over its runs; and "letters_about", what letters leave out.
    """
    runs = {
        system: [unpacked(entries, place=system) for entries in part["systems"].values()]
        for system, part in units.items()
    }
    number = next(iter(units.values()))["number"] if units else 0
    resampling = Resampling(number, resamples, seed)
    options = {"confidence": confidence, "correction": correction, "shared_seeds": shared_seeds}
    chosen = [pair for pair in pairs if pair[0] in runs and pair[1] in runs]
    comparisons = _tested(runs, chosen, resampling, options)
    first = {
        name: [[one for one in run if one.name == "exact"] for run in named] for name, named in runs.items()
    }
    every = _tested(first, list(combinations(first, 2)), resampling, options, only_f1=True)
    means = {system: _mean_f1(named) for system, named in runs.items()}
    return {
        "comparisons": comparisons,
        "letters": letters(means, every),
        "letter": lettering(means),
        "letters_about": ONE_RUN if any(len(named) < 2 for named in runs.values()) else "",
        "interval": {
            system: _interval(named, confidence) if resamples and number else None
            for system, named in runs.items()
        },
    }


def _tested(
    runs: Mapping[str, Runs],
    pairs: Sequence[tuple[str, str]],
    resampling: Resampling,
    options: Mapping[str, Any],
    *,
    only_f1: bool = False,
) -> list[dict[str, Any]]:
    """The comparisons of all pairs, each by the test that its runs allow; F1 is corrected over all."""
    several = [pair for pair in pairs if all(len(runs[name]) > 1 for name in pair)]
    single = [pair for pair in pairs if pair not in several]
    wanted = (lambda question: question.path == F1) if only_f1 else None
    found: dict[tuple[str, str], dict[str, Any]] = {}
    over = compared(runs, several, resampling, over_runs=True, wanted=wanted, **options)
    found |= dict(zip(several, over, strict=True))
    most = lcm(*(len(named) for named in runs.values())) if runs else 1
    pooled = {name: [_pooled(named, most)] for name, named in runs.items()}
    of_models = compared(
        pooled,
        single,
        resampling,
        wanted=wanted,
        confidence=options["confidence"],
        correction=options["correction"],
    )
    found |= dict(zip(single, (_once(one, most) for one in of_models), strict=True))
    for pair, comparison in found.items():
        comparison["runs"] = [len(runs[name]) for name in pair]
    ordered = [found[pair] for pair in pairs]
    if several and single:
        _correct_together(ordered, options["correction"])
    return ordered


def _correct_together(comparisons: Sequence[dict[str, Any]], correction: str) -> None:
    """Correct the primary question over all pairs, though they were tested in two ways."""
    rows: list[Any] = [score_row(comparison, F1) for comparison in comparisons]
    defined = [row for row in rows if row is not None and row["p"] is not None]
    for row, p in zip(defined, correct([row["p"] for row in defined], correction).tolist(), strict=True):
        row |= {"p_corrected": p, "significant": p < LEVEL}
    for comparison in comparisons:
        comparison["pairs"] = len(defined)


def _pooled(runs: Runs, most: int) -> list[Measure]:
    """The measures of several runs as one: counts added up unit by unit.

    Every system is weighed as if it had the same number of runs, since units change sides in the test.
    """
    by_name = [{measure.name: measure for measure in run} for run in runs]
    shared = [name for name in by_name[0] if all(name in found for found in by_name)]
    return [_added([found[name] for found in by_name], most // len(runs)) for name in shared]


def _added(measures: Sequence[Measure], times: int) -> Measure:
    same = same_cells(measures)
    total = reduce(np.add, [one.counts.matrix() for one in same]) * np.int32(times)
    counts = Counts.of_matrix(same[0].counts.cells, same[0].counts.columns, frozen(total))
    return replace(same[0], counts=counts)


def _once(comparison: dict[str, Any], most: int) -> dict[str, Any]:
    """Gold mentions were added up over runs; say how many there are."""
    for row in comparison["scores"]:
        if row["mentions"] is not None:
            row["mentions"] //= most
    return comparison


def _exact(runs: Runs) -> list[Measure]:
    return [
        one.cell_by_cell for one in same_cells([next(m for m in run if m.name == "exact") for run in runs])
    ]


def _mean_f1(runs: Runs) -> float | None:
    values = [one.values()["f1"][0] for one in _exact(runs)]
    defined = [float(value) for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else None


def _interval(runs: Runs, confidence: float) -> list[float] | None:
    low, high = jackknife(*_exact(runs))["f1"].interval(confidence)[0]
    return None if np.isnan(low) else [float(low), float(high)]
