"""Tests of what is chosen for its size: the weakest slices of a system, and its costliest kind of error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spanwise.columns import Floats, plain
from spanwise.counts import Counts
from spanwise.diagnosis import LEAST_GOLD
from spanwise.document.scores import GainLead
from spanwise.intervals import contrast, jackknife
from spanwise.scores import Measure
from spanwise.statistics import excess_losses
from spanwise.uncertainty import BLOCK_COUNTS, FEWEST_GROUPS, Flips, Resampling, grouped

Path = tuple[str, ...]


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
