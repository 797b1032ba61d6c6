"""A short calibration by simulation: fixed seeds, few trials, generous bounds.

`benchmarks/calibration.py` runs the full version and writes its results to `benchmarks/calibration.md`.
"""

from __future__ import annotations

import numpy as np
import pytest
from calibrated import (
    NULL,
    coverage,
    differences,
    findings,
    gates,
    greying,
    repeated,
    runs,
    slicing,
    weaker,
)
from simulated import World, cell, evaluated, sample, system

DOCUMENTS = {"documents": 60}


def test_the_generator_predicts_the_scores_of_a_very_large_corpus() -> None:
    world, draw = World(harder={"D": 1.5, "length 3": 1.4, "unseen": 1.6}), np.random.default_rng(0)
    test_set = sample(world, draw, documents=3000)
    document = evaluated(test_set, {"a": system(test_set, draw)}, resamples=0)
    for path, true in world.truth().items():
        assert abs(cell(document, "a", path)[0] - true) < 0.02, path


@pytest.mark.parametrize("hardness", ["few", "longer"])
def test_the_truth_does_not_depend_on_which_documents_are_hard(hardness: str) -> None:
    world, draw = World(hardness=hardness, sentences=(1, 40)), np.random.default_rng(1)
    test_set = sample(world, draw, documents=3000)
    document = evaluated(test_set, {"a": system(test_set, draw)}, resamples=0)
    for path, true in World().truth().items():
        assert abs(cell(document, "a", path)[0] - true) < 0.02, path


def test_trials_are_independent_of_earlier_ones() -> None:
    together = repeated(coverage, trials=4, world=World(), size={"documents": 20})
    apart = [
        repeated(coverage, trials=2, first=first, world=World(), size={"documents": 20}) for first in (0, 2)
    ]
    for row in apart[1]:
        apart[0].add(*row)
    assert list(together) == list(apart[0])


def test_intervals_near_1_have_coverage_and_are_never_points() -> None:
    shares = repeated(coverage, trials=60, world=World(errors=0.002, spurious=0.0005), size=DOCUMENTS)
    assert shares.share("F1") >= 0.87 and shares.share("buckets") >= 0.9
    assert shares.share("points") == 0


def test_intervals_over_twenty_documents_have_coverage() -> None:
    shares = repeated(coverage, trials=60, world=World(), size={"documents": 20})
    assert shares.share("F1") >= 0.87 and shares.share("subsets") >= 0.9
    assert shares.share("gains") >= 0.9


def test_equal_systems_are_rarely_called_different_and_better_ones_are_detected() -> None:
    shares = repeated(differences, trials=60, world=World(), size=DOCUMENTS, resamples=200)
    assert shares.share("F1") <= 0.13 and shares.share("any other score") <= 0.13
    assert shares.share("interval of the difference") >= 0.87
    better = repeated(differences, trials=8, world=World(), size=DOCUMENTS, better=0.5, resamples=200)
    assert better.share("F1") == 1


def test_letters_of_a_study_do_not_mistake_the_luck_of_a_seed_for_a_difference() -> None:
    shares = repeated(runs, trials=25, world=World(), size=DOCUMENTS, number=3, seeds=0.12)
    assert shares.share("a letter") <= 0.16


def test_equal_buckets_stay_grey_however_many_runs_there_are() -> None:
    shares = repeated(greying, trials=12, world=NULL, size=DOCUMENTS, number=8)
    assert shares.share("buckets of entity_length") <= 0.25


def test_no_weakness_is_reported_if_none_was_planted() -> None:
    shares = repeated(findings, trials=60, world=NULL, size=DOCUMENTS)
    assert shares.share("a weakness is named") <= 0.13
    assert shares.share("interval of the worst slice") >= 0.87
    assert repeated(slicing, trials=60, world=NULL, size=DOCUMENTS).share("a slice is listed") <= 0.13
    planted = repeated(findings, trials=5, world=weaker("C", 17), size=DOCUMENTS, weak="C")
    assert planted.share("the planted one is named") == 1


def test_a_gate_passes_equal_releases_and_stops_a_drop_of_eight_points() -> None:
    shares = repeated(gates, trials=15, world=World(), size=DOCUMENTS, drop=0)
    assert shares.share("--fail-drop 0 fails") <= 0.2
    worse = repeated(gates, trials=6, world=World(), size=DOCUMENTS, drop=8)
    assert worse.share("--fail-drop 0 fails") >= 0.8 and worse.share("--not-worse-than 2 passes") == 0
