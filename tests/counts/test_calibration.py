"""Calibration by simulation, in short: fixed seeds, few trials, generous bounds.

`benchmarks/calibration.py` does the same at length; its table is `benchmarks/calibration.md`.
"""

from __future__ import annotations

import numpy as np
from calibrated import NULL, Shares, coverage, differences, findings, gates, greying, runs
from simulated import World, cell, evaluated, sample, system

DOCUMENTS = {"documents": 60}


def share(shares: Shares, what: str) -> float:
    return next(value for name, value, _ in shares if name == what)


def test_the_generator_knows_the_scores_of_an_endless_corpus() -> None:
    world, draw = World(harder={"D": 1.5, "length 3": 1.4, "unseen": 1.6}), np.random.default_rng(0)
    one = sample(world, draw, documents=3000)
    document = evaluated(one, {"a": system(one, draw)}, resamples=0)
    for path, true in world.truth().items():
        assert abs(cell(document, "a", path)[0] - true) < 0.02, path


def test_intervals_near_1_cover_and_are_never_points() -> None:
    found = coverage(World(errors=0.002, spurious=0.0005), DOCUMENTS, trials=40)
    assert share(found, "overall f1") >= 0.87 and share(found, "bucket F1") >= 0.9
    assert share(found, "a point") == 0


def test_intervals_over_twenty_documents_cover() -> None:
    found = coverage(World(), {"documents": 20}, trials=40)
    assert share(found, "overall f1") >= 0.87 and share(found, "subset recall") >= 0.9
    assert share(found, "gain") >= 0.9


def test_equal_systems_are_seldom_called_different_and_better_ones_are_found() -> None:
    found = differences(World(), DOCUMENTS, trials=40, resamples=200, seed=77)
    assert share(found, "F1") <= 0.13 and share(found, "any other score") <= 0.13
    assert share(found, "interval of the difference") >= 0.87
    better = differences(World(), DOCUMENTS, trials=8, better=0.5, resamples=200)
    assert share(better, "F1") == 1


def test_letters_do_not_take_the_luck_of_a_seed_for_a_difference() -> None:
    assert share(runs(World(), DOCUMENTS, number=3, seeds=0.12, trials=25), "a letter") <= 0.16


def test_equal_buckets_stay_grey_however_many_runs_there_are() -> None:
    assert share(greying(NULL, DOCUMENTS, number=8, trials=12), "buckets of entity_length differ") <= 0.25


def test_no_weakness_is_named_where_none_was_planted() -> None:
    found = findings(NULL, DOCUMENTS, trials=25)
    assert share(found, "a weakness is named") <= 0.16
    assert share(found, "interval of the worst slice") >= 0.84
    planted = findings(World(kinds=NULL.kinds, harder={"C": 4.0}), DOCUMENTS, trials=5, weak="C")
    assert share(planted, "the planted one is named") == 1


def test_a_gate_passes_equal_releases_and_stops_a_drop_of_five_points() -> None:
    assert share(gates(World(), DOCUMENTS, drop=0, trials=15), "--fail-drop 0 fails") <= 0.2
    assert share(gates(World(), DOCUMENTS, drop=8, trials=6), "--fail-drop 0 fails") >= 0.8
