"""Tests on one dataset, from counts per unit: between the systems of a study, and between buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, field

from spanwise.columns import Bools, Floats, plain, ratio
from spanwise.counts import grouped
from spanwise.diagnosis import with_leads
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
    letters_about: str
    interval: Mapping[str, tuple[float, float] | None]  # of each system's mean score over runs
    tests: tuple[str, ...] = ()  # the tests between systems, as written in a signature
    # By system ("" for the mean of all) and attribute, the p-value for its buckets to differ.
    buckets_differ: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    unit: str = "unit"  # what the units of the tests are called


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
    others: int = 0,
) -> PairedTests:
    """Test the systems of one dataset against each other, over data and runs.

    If both systems of a pair have two or more runs, data and training both vary, and the difference of
    means is tested by a t-test. If one has a single run, the claim is only about these trained models: a
    paired randomisation test, in which the score of the other system is its mean over runs.

    Args:
        units: the counts per unit of every system's runs.
        pairs: the pairs to test.
        primary: the primary score.
        shared_seeds: whether runs at the same position share their seed, so that their differences are
            tested.
        score: the score of the means and intervals.
        scores: the scores of every system's runs, to split leads into parts.
        memory: a bound on the memory for shuffles, in bytes; it does not change any number.
        others: the number of tests on other datasets that are corrected together with these.

    Returns:
        The comparisons, corrected over the pairs of this dataset alone; what letters do not take into
        account; and the interval of each system's mean score over its runs.
    """
    runs = _unpacked(units)
    number, unit = next(((own.number, own.kind) for own in units.values()), (0, "unit"))
    resampling = Resampling(number, resamples, seed, memory, (1.0,) * others)
    chosen = [pair for pair in pairs if pair[0] in runs and pair[1] in runs]
    comparisons = compare_runs(
        runs,
        chosen,
        resampling,
        confidence=confidence,
        correction=correction,
        primary=PRIMARY[primary],
        shared_seeds=shared_seeds,
        unit=unit,
    )
    if scores is not None:
        comparisons = with_lead_intervals(
            with_leads(comparisons, scores), runs, number if resamples else 0, confidence,
            shared_seeds=shared_seeds,
        )  # fmt: skip
    return PairedTests(
        comparisons=comparisons,
        letters_about=ONE_RUN if any(len(own) < 2 for own in runs.values()) else "",
        tests=tuple(sorted({_test_name(row, resamples) for row in comparisons if row.test})),
        interval={
            system: _interval(own, score, confidence) if resamples and number else None
            for system, own in runs.items()
        },
        buckets_differ={
            system: {attribute: plain(p) for attribute, p in row.items()}
            for system, row in buckets_differ(runs, resampling, score).items()
        },
        unit=unit,
    )


def shuffled_again(
    units: Mapping[str, UnitCounts],
    pairs: Sequence[tuple[str, str]],
    others: Sequence[float],
    *,
    resamples: int,
    seed: int,
    confidence: float,
    correction: str,
    primary: str = "f1",
    memory: int | None = None,
) -> tuple[Comparison, ...]:
    """The randomisation tests of the primary score for some pairs, with more shuffles than before.

    Args:
        others: the p-values of all other tests that are corrected together with these.
        resamples: the least number of shuffles; the first ones are those of a test with fewer.
    """
    path = PRIMARY[primary]
    runs = {
        system: [[measure for measure in run if measure.name == path[0]] for run in own]
        for system, own in _unpacked(units).items()
    }
    number = next(iter(units.values())).number
    return compare_runs(
        runs,
        pairs,
        Resampling(number, resamples, seed, memory, tuple(others)),
        confidence=confidence,
        correction=correction,
        primary=path,
        only_primary=True,
    )


def _unpacked(units: Mapping[str, UnitCounts]) -> dict[str, list[list[Measure]]]:
    """The measures of every run of every system."""
    return {
        system: [unpack_measures(entries, location=system) for entries in part.systems.values()]
        for system, part in units.items()
    }


def _test_name(comparison: Comparison, resamples: int) -> str:
    return "t-runs" if comparison.test == T_TEST else f"randomisation.{resamples}"


def _measures(runs: Runs, score: str) -> tuple[list[Measure], str]:
    """The measure of every run that a score is part of, and the name of the score in it."""
    counting, _, name = SCORE_PATHS[score]
    measures = same_cells([next(m for m in run if m.name == counting) for run in runs])
    return [measure.cell_by_cell for measure in measures], name


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
