"""Tests on one dataset, from counts per unit: between the systems of a study, and between buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np
from msgspec import Struct, field

from spanwise.columns import Bools, Floats, plain, ratio
from spanwise.counts import grouped
from spanwise.diagnosis import lettering, letters, with_leads
from spanwise.document.evaluation import UnitCounts
from spanwise.document.scores import PRIMARY, SCORE_PATHS, Comparison, SystemScores
from spanwise.evaluation.comparisons import T_TEST, compare_runs, same_cells
from spanwise.evaluation.scoring import unpack_measures, with_lead_intervals
from spanwise.intervals import jackknife
from spanwise.scores import Measure
from spanwise.statistics import excess_losses
from spanwise.uncertainty import MOST_FLIPPED, Flips, Resampling

ONE_RUN = "of these models; training seeds not considered"

Runs = Sequence[Sequence[Measure]]


class PairedTests(Struct, frozen=True):
    """The paired tests between the systems of one dataset."""

    comparisons: tuple[Comparison, ...]
    letters: Mapping[str, str]  # for each system, the letters of those it is significantly better than
    letter: Mapping[str, str]  # the letter of each system
    letters_about: str
    interval: Mapping[str, tuple[float, float] | None]  # of each system's mean score over runs
    tests: tuple[str, ...] = ()  # the tests between systems, as written in a signature
    # By system ("" for the mean of all) and attribute, the p-value for its buckets to differ.
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
    """Test the systems of one dataset against each other, over data and runs.

    If both systems of a pair have two or more runs, data and training both vary, and the difference of
    means is tested by a t-test. If one has a single run, the claim is only about these trained models: a
    paired randomisation test, with the counts of all runs of the other system added up.

    Args:
        units: the counts per unit of every system's runs.
        pairs: the pairs to test in full; letters are based on tests of the primary score for all pairs.
        primary: the primary score.
        shared_seeds: whether runs at the same position share their seed, so that their differences are
            tested.
        score: the score of the means and intervals.
        scores: the scores of every system's runs, to split leads into parts.
        memory: a bound on the memory for shuffles, in bytes; it does not change any number.

    Returns:
        The comparisons; the letters of each system, and what they do not take into account; and the
        interval of each system's mean score over its runs.
    """
    runs = {
        system: [unpack_measures(entries, location=system) for entries in part.systems.values()]
        for system, part in units.items()
    }
    number = next(iter(units.values())).number if units else 0
    resampling = Resampling(number, resamples, seed, memory)
    chosen_score = PRIMARY[primary]
    compare = partial(
        compare_runs,
        resampling=resampling,
        confidence=confidence,
        correction=correction,
        primary=chosen_score,
        shared_seeds=shared_seeds,
    )
    chosen = [pair for pair in pairs if pair[0] in runs and pair[1] in runs]
    comparisons = compare(runs, chosen)
    if scores is not None:
        comparisons = with_lead_intervals(
            with_leads(comparisons, scores), runs, number if resamples else 0, confidence,
            shared_seeds=shared_seeds,
        )  # fmt: skip
    first = {
        system: [[measure for measure in run if measure.name == chosen_score[0]] for run in own]
        for system, own in runs.items()
    }
    all_pairs = compare(first, list(combinations(first, 2)), only_primary=True)
    means = {system: _mean(own, score) for system, own in runs.items()}
    return PairedTests(
        comparisons=comparisons,
        letters=letters(means, all_pairs, path=chosen_score),
        letter=lettering(means),
        letters_about=ONE_RUN if any(len(own) < 2 for own in runs.values()) else "",
        tests=tuple(sorted({_test_name(row, resamples) for row in all_pairs if row.test})),
        interval={
            system: _interval(own, score, confidence) if resamples and number else None
            for system, own in runs.items()
        },
        buckets_differ={
            system: {attribute: plain(p) for attribute, p in row.items()}
            for system, row in buckets_differ(runs, resampling, score).items()
        },
    )


def _test_name(comparison: Comparison, resamples: int) -> str:
    return "t-runs" if comparison.test == T_TEST else f"randomisation.{resamples}"


def _measures(runs: Runs, score: str) -> tuple[list[Measure], str]:
    """The measure of every run that a score is part of, and the name of the score in it."""
    counting, _, name = SCORE_PATHS[score]
    measures = same_cells([next(m for m in run if m.name == counting) for run in runs])
    return [measure.cell_by_cell for measure in measures], name


def _mean(runs: Runs, score: str) -> float | None:
    measures, name = _measures(runs, score)
    values = [measure.values()[name][0] for measure in measures]
    defined = [float(value) for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else None


def _interval(runs: Runs, score: str, confidence: float) -> tuple[float, float] | None:
    measures, name = _measures(runs, score)
    low, high = jackknife(*measures)[name].interval(confidence)[0]
    return None if np.isnan(low) else (float(low), float(high))


LEAST_EXPECTED = 5  # errors, and successes, that a bucket is expected to have at the overall score


def buckets_differ(
    systems: Mapping[str, Runs], resampling: Resampling, score: str = "f1"
) -> dict[str, dict[str, float]]:
    """For each system and attribute, the p-value for its buckets to differ; NaN if it cannot be tested.

    Under the system "", the p-values are for the mean of all systems. The statistic is the largest |T| over
    buckets, where T compares a bucket's losses (1 − score) with the overall share of losses; its distribution
    comes from random changes of the sign of units. Counts per unit and bucket are those of exact matches, so
    fair scores are not tested. Only buckets with at least five expected errors and five expected successes
    at the overall score take part, and at least two such buckets are needed.
    """
    p_values: dict[str, dict[str, float]] = {"": {}}
    keys = dict.fromkeys(measure.key for runs in systems.values() for run in runs for measure in run)
    for key in (key for key in keys if key.kind == "attribute" and score in _ITEMS):
        measures = {
            system: [next(measure for measure in run if measure.key == key) for run in runs]
            for system, runs in systems.items()
            if all(any(measure.key == key for measure in run) for run in runs)
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


# The weights of the columns gold, predicted and correct in the number of items that a score is about.
_ITEMS = {"f1": (1, 1, 0), "precision": (0, 1, 0), "recall": (1, 0, 0)}


def _excess(measure: Measure, score: str) -> tuple[Floats, Bools]:
    """The excess losses per unit (units × buckets), and which buckets can be tested."""
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
