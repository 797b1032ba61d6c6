"""Measures of random counts, and their scores without each unit."""

from __future__ import annotations

import numpy as np

from spanwise.counts import Counts
from spanwise.matching import OUTCOMES
from spanwise.scores import EXACT, GAINS, Measure, MeasureKey

SCORERS = {
    "exact": (EXACT, ("precision", "recall", "f1")),
    "exact with overall": (EXACT, ("precision", "recall", "f1")),
    "averages": (EXACT, ("f1",)),
    "recall": (("mentions", "correct"), ("recall",)),
    "credited with overall": (OUTCOMES, ("f1",)),
    "gains": (GAINS, ("gain",)),
}


def measure(scorer: str, matrix: np.ndarray, cells: int) -> Measure:
    columns, tested = SCORERS[scorer]
    counts = Counts.of_matrix([f"L{at}" for at in range(cells)], columns, matrix.astype(np.int32))
    scored = len(next(iter(Measure(MeasureKey(scorer), counts, scorer, ()).values().values())))
    paths = tuple((scorer, str(at)) for at in range(scored))
    return Measure(MeasureKey(scorer), counts, scorer, paths, scorer, tested)


def random_measure(scorer: str, units: int, seed: int) -> Measure:
    generator = np.random.default_rng(seed)
    cells = 1 if scorer == "gains" else 3
    columns = len(SCORERS[scorer][0])
    matrix = generator.integers(0, 3, (units, cells, columns)) * (generator.random((units, cells, 1)) < 0.7)
    if scorer == "gains":
        matrix[..., :2] += 6
    if columns <= 3:
        matrix[..., -1] = np.minimum(matrix[..., -1], matrix[..., :-1].min(axis=-1))
    return measure(scorer, matrix.reshape(units, -1), cells)


def left_out(measured: Measure, score: str) -> tuple[np.ndarray, np.ndarray]:
    """Every score without each unit (units × cells), and which units contribute to each cell."""
    counts = measured.counts
    matrix = counts.matrix().reshape(counts.units, len(counts.cells), len(counts.columns)).astype(float)
    whole = matrix.sum(axis=0)
    values = np.array([measured.score((whole - row)[None])[score][0] for row in matrix])
    present = np.array(
        [np.broadcast_to(measured.sizes(row[None])[score], (1, values.shape[1]))[0] > 0 for row in matrix]
    )
    return values, present
