"""A short check of the error rate and power of the search; `benchmarks/slices.py` runs the full version."""

from __future__ import annotations

from math import sqrt

import pytest
from simulated_slices import World, listing

TRIALS = 100


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("documents", [40, 100])
def test_nothing_is_listed_if_nothing_is_weak(documents: int, clustered: bool) -> None:
    share = listing(World(documents, clustered=clustered), TRIALS).anything
    assert share <= 0.05 + 2 * sqrt(0.05 * 0.95 / TRIALS)


def test_a_planted_conjunction_is_found() -> None:
    shares = listing(World(100, planted=True), TRIALS)
    assert shares.anything >= 0.75
    assert shares.planted >= 0.65
