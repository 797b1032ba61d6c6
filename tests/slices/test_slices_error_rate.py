"""Error rate and power of the search, in short; `benchmarks/slices.py` has the long form."""

from __future__ import annotations

from math import sqrt

import pytest
from simulated_slices import World, listing

TRIALS = 100


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("documents", [40, 100])
def test_nothing_is_listed_where_nothing_is_weak(documents: int, clustered: bool) -> None:
    share = listing(World(documents, clustered=clustered), TRIALS).anything
    assert share <= 0.05 + 2 * sqrt(0.05 * 0.95 / TRIALS)


def test_a_planted_conjunction_is_found() -> None:
    found = listing(World(100, planted=True), TRIALS)
    assert found.anything >= 0.75
    assert found.planted >= 0.65
