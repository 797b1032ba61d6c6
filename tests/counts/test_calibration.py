"""Calibration by simulation: intervals cover what they say, tests reject what they should, seeds fixed.

Tolerances are those stated in the tests; `benchmarks/calibration.py` does the same at length.
"""

from __future__ import annotations

import numpy as np
import pytest
from simulated import (
    DOCUMENTS,
    SENTENCES,
    coverage,
    detectable,
    family_errors,
    rejections,
    rejections_of_runs,
)

from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.evaluation import evaluate


# The standard error of the simulation itself is half a point (300) and 0.6 points (1,000).
@pytest.mark.parametrize("units, trials", [(300, 2000), (1000, 1200)])
def test_intervals_over_sentences_cover_93_to_97_percent(units, trials):
    assert 0.93 <= coverage(SENTENCES, units, trials=trials) <= 0.97


@pytest.mark.parametrize("units, trials", [(60, 3000), (150, 1500)])
def test_intervals_over_60_documents_or_more_cover_93_to_97_percent(units, trials):
    assert 0.93 <= coverage(DOCUMENTS, units, trials=trials, resamples=1000) <= 0.97


def test_intervals_over_few_documents_cover_less_than_they_say(record_property):
    found = {units: coverage(DOCUMENTS, units, trials=1500) for units in (10, 20, 30)}
    for units, share in found.items():
        record_property(f"coverage of {units} documents", float(share))
    assert 0.84 <= found[10] <= 0.93 and 0.88 <= found[20] <= 0.95
    assert found[10] < found[30]


@pytest.mark.parametrize("documents, few", [(59, True), (60, False)])
def test_an_interval_over_few_documents_carries_its_mark(documents, few):
    corpus = Corpus.of([["a"]] * documents, documents=[1] * documents)
    mentions = Mentions.of([(at, 0, 1, "X") for at in range(documents)])
    result = evaluate(Annotation(corpus, mentions), {"mine": Annotation(corpus, mentions)}, resamples=10)
    settings = result.to_dict()["settings"]
    assert (settings["unit"], settings["units"], settings["few_units"]) == ("document", documents, few)


@pytest.mark.parametrize("world, units", [(SENTENCES, 300), (DOCUMENTS, 60)], ids=["sentences", "documents"])
def test_the_paired_test_rejects_a_true_null_in_4_to_6_percent(world, units):
    assert 0.04 <= rejections(world, units, trials=3000) <= 0.06


def test_the_family_wise_error_under_holm_stays_at_5_percent():
    trials = 400
    tolerance = 2 * np.sqrt(0.05 * 0.95 / trials)  # two standard errors of the simulation itself
    assert family_errors(SENTENCES, 200, labels=5, trials=trials) <= 0.05 + tolerance


def test_drawing_runs_too_keeps_the_luck_of_a_seed_from_looking_like_a_difference(record_property):
    both, data = rejections_of_runs(SENTENCES, 300, runs=3, spread=0.015, trials=300)
    record_property("rejections over units and runs", float(both))
    record_property("rejections over units alone", float(data))
    assert both <= 0.05 < data


def test_a_difference_of_the_detectable_size_is_found_four_times_in_five(record_property):
    units = 300
    size = detectable(SENTENCES, units)
    # the gain in recall that moves F1 by that much, by the definition of F1
    better = next(
        step
        for step in np.arange(0, 0.15, 0.001)
        if type(SENTENCES)(found=SENTENCES.found + step).f1 - SENTENCES.f1 >= size
    )
    power = rejections(SENTENCES, units, trials=500, better=float(better))
    record_property("power at the smallest detectable difference", float(power))
    assert 0.7 <= power <= 0.95
    assert rejections(SENTENCES, units, trials=300, better=float(better) / 2) < power
