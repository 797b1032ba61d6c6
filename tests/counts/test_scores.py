"""Scores computed by hand, and the cases in which they are undefined."""

from __future__ import annotations

from fractions import Fraction
from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.counts import Counts
from spanwise.credits import credit_of
from spanwise.matching import OUTCOMES
from spanwise.rates import LEAK_COUNTS, LEAK_RATES, RATES
from spanwise.scores import (
    EXACT,
    GAINS,
    SCORERS,
    Measure,
    MeasureKey,
    averages,
    credited,
    exact,
    fraction,
    gains,
    recall,
    relaxed,
)


def one(scores: dict[str, np.ndarray]) -> dict[str, float]:
    return {name: float(np.asarray(value).reshape(-1)[0]) for name, value in scores.items()}


def test_precision_recall_and_f1_by_hand() -> None:
    assert one(exact(np.array([[4.0, 2.0, 1.0]]))) == {"precision": 1 / 2, "recall": 1 / 4, "f1": 2 / 6}


def test_nothing_predicted_is_f1_zero_and_precision_undefined() -> None:
    scores = one(exact(np.array([[3.0, 0.0, 0.0]])))
    assert isnan(scores["precision"])
    assert scores["recall"] == 0
    assert scores["f1"] == 0


def test_nothing_at_all_is_undefined() -> None:
    assert all(isnan(value) for value in one(exact(np.array([[0.0, 0.0, 0.0]]))).values())


def test_macro_averages_leave_out_labels_without_a_defined_score() -> None:
    totals = np.array([[2.0, 2, 2], [2, 0, 0], [0, 0, 0]])
    scores = averages(totals)
    assert scores["f1"].tolist() == [1 / 2, 1 / 2]
    assert scores["precision"][0] == 1, "the second label has no precision"
    assert scores["recall"][0] == 1 / 2


def test_weighted_means_use_the_number_of_gold_mentions() -> None:
    totals = np.array([[3.0, 3, 3], [1, 1, 0]])
    assert averages(totals)["f1"].tolist() == [1 / 2, 3 / 4]


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 20), min_size=8, max_size=8))
def test_fair_credit_counts_each_error_as_half_of_both(counts: list[int]) -> None:
    named = dict(zip(OUTCOMES, counts, strict=True))
    half = Fraction(sum(named[name] for name in ("LE", "BEs", "BEl", "BEo", "LBE")), 2)
    right, false, missed = named["TP"], named["FP"] + half, named["FN"] + half
    scores = one(credited(np.array([counts], dtype=float), credit_of("fair")))
    bottom = 2 * right + false + missed
    if bottom:
        assert scores["f1"] == pytest.approx(float(Fraction(2 * right) / bottom), abs=1e-12)
    else:
        assert isnan(scores["f1"])


def test_gains_follow_their_formula() -> None:
    columns = dict.fromkeys(GAINS, 0.0)
    columns.update({"gold": 10, "predicted": 8, "correct": 5, "BE.a": 2, "BE.b": 1, "BE.c": 1, "FN.b": 2})
    gain = gains(np.array([[list(columns.values())]]))["gain"][0]
    before = 2 * 5 / 18
    assert gain[1] == pytest.approx(2 * (5 + 2 + 1) / (18 + 1 - 1) - before)
    assert gain[3] == pytest.approx(2 * (5 + 2) / (18 + 2) - before)
    assert gain[0] == gain[4] == 0


def test_gains_are_zero_if_there_is_no_error() -> None:
    columns = dict.fromkeys(GAINS, 0.0) | {"gold": 4, "predicted": 4, "correct": 4}
    assert not gains(np.array([[list(columns.values())]]))["gain"].any()


def test_recall_of_nothing_is_undefined() -> None:
    assert isnan(one(recall(np.array([[0.0, 0.0]])))["recall"])


def test_relaxed_schemes_share_one_matching() -> None:
    counts = dict.fromkeys(OUTCOMES, 0.0) | {"TP": 2, "LE": 1, "BEs": 1, "FN": 1, "FP": 1}
    scores = relaxed(np.array([[list(counts.values())]]))
    strict, boundaries, partial, kind = scores["f1"][0].tolist()
    assert (strict, boundaries, partial, kind) == (2 / 5, 3 / 5, 3.5 / 5, 3 / 5)


@pytest.mark.parametrize("scorer", ["averages", "relaxed", "unknown"])
def test_a_score_that_is_not_a_single_fraction_is_refused(scorer: str) -> None:
    counts = Counts.of_matrix(["A"], EXACT, np.ones((1, 3), int))
    with pytest.raises(ValueError, match=f"the scores of '{scorer}' are not single fractions"):
        fraction(Measure(MeasureKey("exact"), counts, scorer, ()), "f1")


COLUMNS = {
    "leaks": LEAK_COUNTS,
    "gains": GAINS,
    "credited": OUTCOMES,
    "accuracy": EXACT[:2],
    "recall": EXACT[:2],
    "exact": EXACT,
}


@pytest.mark.parametrize("scorer", sorted(set(SCORERS) - {"averages", "relaxed"}))
def test_fractions_divide_to_the_scores_of_a_cell(scorer: str) -> None:
    columns = COLUMNS[scorer.removesuffix(" with overall")]
    totals = np.arange(2.0, 2 + len(columns))
    names = tuple(LEAK_RATES if scorer == "leaks" else RATES)
    counts = Counts.of_matrix(["A"], columns, totals[None].astype(int))
    measure = Measure(MeasureKey("one"), counts, scorer, (), scores=names)
    for name, values in measure.score(totals[None]).items():
        form = fraction(measure, name)
        value = (totals @ form.above) / (totals @ form.below)
        if form.less is not None:
            value = value - (totals @ form.less[0]) / (totals @ form.less[1])
        assert np.broadcast_to(value, values.shape) == pytest.approx(values)
