"""Tests on one dataset from counts per unit: between the systems of a study, and between buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from msgspec import Struct, field

from spanwise.columns import Bools, Floats, plain, ratio
from spanwise.counts import grouped
from spanwise.diagnosis import lettering, letters, with_leads
from spanwise.document.evaluation import UnitCounts
from spanwise.document.scores import PRIMARY, SCORE_PATHS, Comparison, SystemScores
from spanwise.evaluation import T_TEST, compared_runs, same_cells, unpacked, with_lead_intervals
from spanwise.intervals import jackknife
from spanwise.scores import Measure
from spanwise.statistics import excess_losses
from spanwise.uncertainty import MOST_FLIPPED, Flips, Resampling

ONE_RUN = "of these models; training seeds not considered"

Runs = Sequence[Sequence[Measure]]


class PairedTests(Struct, frozen=True):
    """The paired tests between the systems of one dataset."""

    comparisons: tuple[Comparison, ...]
    letters: Mapping[str, str]  # of those that each system is significantly better than
    letter: Mapping[str, str]  # of each system
    letters_about: str
    interval: Mapping[str, tuple[float, float] | None]  # of its mean score over runs
    tests: tuple[str, ...] = ()  # between systems, in the words of a signature
    # By system, and under "" for the mean of all, p of every attribute that its buckets differ.
    buckets_differ: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)


def paired(
    units: Mapping[str, UnitCounts],
    pairs: Sequence[tuple[str, str]],
    *,
    resamples: int,
    seed: int,
    confidence: float,
    correction: str,
    primary: str = "f1",
    shared_seeds: bool = False,
    score: str = "f1",
    scores: Mapping[str, Sequence[SystemScores]] | None = None,
    memory: int | None = None,
) -> PairedTests:
    """Tests of the systems of one dataset over data and runs.

    Where both systems of a pair have two runs or more, data and training both vary: a t-test of the
    difference of means. Where one has a single run the claim is about these trained models alone:
    paired randomisation, the counts of all runs of the other system added up.

    Args:
        units: the counts per unit of every system's runs.
        pairs: those to test in full; letters come from tests of the primary score over all pairs.
        primary: the score that the primary question is about.
        shared_seeds: runs of equal place share their seed, and are differenced first.
        score: what means and intervals are about.
        scores: those of every system's runs, for the parts of leads.
        memory: the bytes that shuffles may take; it changes no number.

    Returns:
        The comparisons; the letters of each system, and what they leave out; and the interval of each
        system's mean score over its runs.
    """
    runs = {
        system: [unpacked(entries, place=system) for entries in part.systems.values()]
        for system, part in units.items()
    }
    number = next(iter(units.values())).number if units else 0
    resampling = Resampling(number, resamples, seed, memory)
    chosen_score = PRIMARY[primary]
    options: dict[str, Any] = {
        "confidence": confidence,
        "correction": correction,
        "primary": chosen_score,
        "shared_seeds": shared_seeds,
    }
    chosen = [pair for pair in pairs if pair[0] in runs and pair[1] in runs]
    comparisons = compared_runs(runs, chosen, resampling, **options)
    if scores is not None:
        comparisons = with_lead_intervals(
            with_leads(comparisons, scores), runs, number if resamples else 0, confidence,
            shared_seeds=shared_seeds,
        )  # fmt: skip
    first = {
        name: [[one for one in run if one.name == chosen_score[0]] for run in named]
        for name, named in runs.items()
    }
    every = compared_runs(first, list(combinations(first, 2)), resampling, **options, only_primary=True)
    means = {system: _mean(named, score) for system, named in runs.items()}
    return PairedTests(
        comparisons=comparisons,
        letters=letters(means, every, path=chosen_score),
        letter=lettering(means),
        letters_about=ONE_RUN if any(len(named) < 2 for named in runs.values()) else "",
        tests=tuple(sorted({_test_made(one, resamples) for one in every if one.test})),
        interval={
            system: _interval(named, score, confidence) if resamples and number else None
            for system, named in runs.items()
        },
        buckets_differ={
            system: {attribute: plain(p) for attribute, p in row.items()}
            for system, row in buckets_differ(runs, resampling, score).items()
        },
    )


def _test_made(comparison: Comparison, resamples: int) -> str:
    return "t-runs" if comparison.test == T_TEST else f"randomisation.{resamples}"


def _measures(runs: Runs, score: str) -> tuple[list[Measure], str]:
    """The measure of every run that holds a score, and the name of the score in it."""
    counting, _, name = SCORE_PATHS[score]
    found = same_cells([next(m for m in run if m.name == counting) for run in runs])
    return [one.cell_by_cell for one in found], name


def _mean(runs: Runs, score: str) -> float | None:
    measures, name = _measures(runs, score)
    values = [measure.values()[name][0] for measure in measures]
    defined = [float(value) for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else None


def _interval(runs: Runs, score: str, confidence: float) -> tuple[float, float] | None:
    measures, name = _measures(runs, score)
    low, high = jackknife(*measures)[name].interval(confidence)[0]
    return None if np.isnan(low) else (float(low), float(high))


LEAST_EXPECTED = 5  # errors and successes that a bucket must be expected to hold at the overall score


def buckets_differ(
    systems: Mapping[str, Runs], resampling: Resampling, score: str = "f1"
) -> dict[str, dict[str, float]]:
    """p of every attribute for each system, and under "" for the mean of all systems; NaN: not testable.

    The largest |T| over buckets, units changing sign at random: a bucket's losses (1 − score) against
    the overall share. Counts per unit and bucket are of exact matches, so fair scores are not tested.
    Only buckets with at least five expected errors and five expected successes at the overall score take
    part, and two of them are needed.
    """
    p_values: dict[str, dict[str, float]] = {"": {}}
    names = dict.fromkeys(one.key for runs in systems.values() for run in runs for one in run)
    for key in (key for key in names if key.kind == "attribute" and score in _ITEMS):
        measures = {
            system: [next(one for one in run if one.key == key) for run in runs]
            for system, runs in systems.items()
            if all(any(one.key == key for one in run) for run in runs)
        }
        if not measures:
            continue
        flat = iter(same_cells([run for runs in measures.values() for run in runs]))
        rows: list[Floats] = []
        testable: list[Bools] = []
        for system, runs in measures.items():
            parts = [_excess(next(flat), score) for _ in runs]
            rows.append(np.mean([row for row, _ in parts], axis=0))
            testable.append(np.all([enough for _, enough in parts], axis=0))
            p_values.setdefault(system, {})[key.attribute] = _p(rows[-1], testable[-1], resampling)
        p_values[""][key.attribute] = _p(np.mean(rows, axis=0), np.all(testable, axis=0), resampling)
    return p_values


# The columns gold, predicted and correct of a bucket's counts as items and as losses.
_ITEMS = {"f1": (1, 1, 0), "precision": (0, 1, 0), "recall": (1, 0, 0)}


def _excess(measure: Measure, score: str) -> tuple[Floats, Bools]:
    """Excess losses per unit (units × buckets), and which buckets can be tested."""
    counts = measure.counts
    whole = counts.matrix() if counts.units <= MOST_FLIPPED else grouped(counts, MOST_FLIPPED)
    chosen = [at for at, path in enumerate(measure.paths) if path[-1] != measure.unplaced]
    rows = whole.reshape(len(whole), len(counts.cells), len(counts.columns))[:, chosen].astype(np.float64)
    weights = np.array(_ITEMS[score], dtype=np.float64)
    items = rows @ weights
    losses = items - weights.sum() * rows[..., 2]
    share = float(ratio(losses.sum(), items.sum()))
    expected = items.sum(axis=0) / weights.sum()
    enough = (expected * share >= LEAST_EXPECTED) & (expected * (1 - share) >= LEAST_EXPECTED)
    return excess_losses(losses, items, losses.sum(axis=1), items.sum(axis=1)), np.asarray(enough)


def _p(rows: Floats, testable: Bools, resampling: Resampling) -> float:
    if int(testable.sum()) < 2 or not resampling.resamples:
        return float("nan")
    flips = Flips(len(rows), resampling.resamples, resampling.seed, two_sided=True)
    chosen = np.ascontiguousarray(rows[:, testable].T)
    return float(flips.p_values(flips.statistics(chosen), flips.maxima([chosen])).min())
