"""Do the buckets of an attribute differ? A test over units of a dataset, runs and models averaged first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spanwise.columns import Bools, Floats, ratio
from spanwise.evaluation import same_cells
from spanwise.scores import Measure
from spanwise.statistics import excess_losses
from spanwise.uncertainty import Flips, Resampling, grouped

LEAST_EXPECTED = 5  # errors and successes that a bucket must be expected to hold at the overall score
MOST_UNITS = 20_000  # above, units are flipped in groups of consecutive ones

Runs = Sequence[Sequence[Measure]]


def buckets_differ(
    systems: Mapping[str, Runs], resampling: Resampling, score: str = "f1"
) -> dict[str, dict[str, float]]:
    """p of every attribute for each system, and under "" for the mean of all systems; NaN: not testable.

    The largest |T| over buckets, units changing sign at random: a bucket's losses (1 − score) against
    the overall share. Counts per unit and bucket are of exact matches, so fair scores are not tested.
    Only buckets with at least five expected errors and five expected successes at the overall score take
    part, and two of them are needed.
    """
    found: dict[str, dict[str, float]] = {"": {}}
    names = dict.fromkeys(one.key for runs in systems.values() for run in runs for one in run)
    for key in (key for key in names if key.kind == "attribute" and score in _ITEMS):
        measures = {
            system: [next(one for one in run if one.key == key) for run in runs]
            for system, runs in systems.items()
            if all(any(one.key == key for one in run) for run in runs)
        }
        if not measures:
            continue
        flat = iter(same_cells([one for runs in measures.values() for one in runs]))
        rows: list[Floats] = []
        testable: list[Bools] = []
        for system, runs in measures.items():
            parts = [_excess(next(flat), score) for _ in runs]
            rows.append(np.mean([row for row, _ in parts], axis=0))
            testable.append(np.all([enough for _, enough in parts], axis=0))
            found.setdefault(system, {})[key.attribute] = _p(rows[-1], testable[-1], resampling)
        found[""][key.attribute] = _p(np.mean(rows, axis=0), np.all(testable, axis=0), resampling)
    return found


# The columns gold, predicted and correct of a bucket's counts as items and as losses.
_ITEMS = {"f1": (1, 1, 0), "precision": (0, 1, 0), "recall": (1, 0, 0)}


def _excess(measure: Measure, score: str) -> tuple[Floats, Bools]:
    """Excess losses per unit (units × buckets), and which buckets can be tested."""
    counts = measure.counts
    whole = counts.matrix() if counts.units <= MOST_UNITS else grouped(counts, MOST_UNITS)
    chosen = [at for at, path in enumerate(measure.paths) if not path[-1].startswith("unplaced")]
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
