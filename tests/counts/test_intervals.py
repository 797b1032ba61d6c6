"""The jackknife over units equals leaving out one unit at a time; intervals are never points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jackknifed import SCORERS, left_out, measure, random_measure
from scipy import stats

from spanwise.intervals import (
    Jackknife,
    contrast,
    differences,
    jackknife,
    wilson,
)
from spanwise.scores import Measure, average_sizes, fraction
from spanwise.student import satterthwaite, t_p, t_quantile


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("seed", range(3))
def test_standard_errors_equal_those_of_leaving_out_one_unit_at_a_time(scorer: str, seed: int) -> None:
    measured = random_measure(scorer, 25, seed)
    for score, estimate in jackknife(measured).items():
        values, present = left_out(measured, score)
        for cell in range(values.shape[1]):
            part = values[present[:, cell], cell]
            n = len(part)
            assert estimate.units[cell] == n
            assert estimate.error[cell] == pytest.approx(
                np.sqrt((n - 1) / n * ((part - part.mean()) ** 2).sum())
            )


@pytest.mark.parametrize("scorer", SCORERS)
def test_differences_are_jackknifed_together(scorer: str) -> None:
    tables = [random_measure(scorer, 25, seed) for seed in (4, 5, 6)]
    pairs = [(0, 1), (2, 0), (1, 1)]
    runs = [[measured] for measured in tables]
    for score, estimate in differences(runs, pairs).items():
        parts = [left_out(measured, score) for measured in tables]
        for at, (a, b) in enumerate(pairs):
            assert estimate.value[at] == pytest.approx(tables[a].values()[score] - tables[b].values()[score])
            for cell in range(estimate.value.shape[1]):
                present = parts[a][1][:, cell] | parts[b][1][:, cell]
                part = (parts[a][0] - parts[b][0])[present, cell]
                n = len(part)
                expected = np.sqrt((n - 1) / n * ((part - part.mean()) ** 2).sum())
                assert estimate.units[at, cell] == n and estimate.error[at, cell] == pytest.approx(
                    expected, abs=1e-9
                )


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = random_measure("exact", 40, 1), random_measure("exact", 40, 2)
    whole = differences([[first], [second]], [(0, 1)])["f1"]
    monkeypatch.setattr("spanwise.intervals.BLOCK", 20)
    parts = differences([[first], [second]], [(0, 1)])["f1"]
    assert parts.error == pytest.approx(whole.error, rel=1e-12)
    assert jackknife(first)["f1"].error == pytest.approx(left_out_error(first, "f1"))


def left_out_error(measured: Measure, score: str) -> list[float]:
    values, present = left_out(measured, score)
    parts = [values[present[:, cell], cell] for cell in range(values.shape[1])]
    return [float(np.sqrt((len(p) - 1) / len(p) * ((p - p.mean()) ** 2).sum())) for p in parts]


def test_the_units_of_a_difference_over_runs_hold_the_cell_in_any_run() -> None:
    runs = [[random_measure("exact", 30, 10 * k + r) for r in range(3)] for k in range(2)]
    data = differences(runs, [(0, 1)])["f1"]
    present = np.any([left_out(run, "f1")[1] for system in runs for run in system], axis=0)
    assert np.array_equal(data.units[0], present.sum(axis=0))


def test_two_cells_of_one_measure_are_contrasted_unit_by_unit() -> None:
    measured = random_measure("gains", 40, 3)
    values, present = left_out(measured, "gain")
    part = (values[:, 0] - values[:, 3])[present[:, 0]]
    n = len(part)
    estimate = contrast(measured, "gain", 0, 3)
    assert estimate.error[0, 0] == pytest.approx(np.sqrt((n - 1) / n * ((part - part.mean()) ** 2).sum()))


def test_logit_t_by_hand() -> None:
    estimate = Jackknife(np.array([0.8]), np.array([50.0]), np.array([10]), np.array([0.04]), np.array([9.0]))
    reach = stats.t.ppf(0.975, 9) * 0.04 / (0.8 * 0.2)
    odds = np.log(4)
    expected = [1 / (1 + np.exp(-(odds - reach))), 1 / (1 + np.exp(-(odds + reach)))]
    assert estimate.interval()[0].tolist() == pytest.approx(expected)


def test_a_perfect_score_has_wilsons_interval_and_is_never_a_point() -> None:
    perfect = measure("exact", np.ones((12, 3)), 1)
    low, high = jackknife(perfect)["f1"].interval()[0]
    t = stats.t.ppf(0.975, 11)
    assert (low, high) == (pytest.approx(12 / (12 + t * t)), 1.0)
    nothing = measure("exact", np.array([[1, 1, 0]] * 12), 1)
    low, high = jackknife(nothing)["f1"].interval()[0]
    assert (low, high) == (0.0, pytest.approx(t * t / (12 + t * t)))


def test_one_unit_has_no_interval() -> None:
    alone = measure("exact", np.array([[3, 3, 2], [0, 0, 0]]), 1)
    estimate = jackknife(alone)["f1"]
    assert estimate.units.tolist() == [1] and np.isnan(estimate.interval()).all()


@given(st.floats(0, 1), st.integers(1, 10_000), st.floats(0.5, 13))
def test_wilsons_interval_lies_within_0_and_1_around_the_share(share: float, size: int, t: float) -> None:
    low, high = wilson(share, size, t)
    assert 0 <= low <= share + 1e-12 and share - 1e-12 <= high <= 1 and low < high


def test_wilsons_interval_equals_that_of_statsmodels_if_t_is_normal() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    z = float(stats.norm.ppf(0.975))
    for right, size in ((0, 7), (7, 7), (3, 40), (399, 400)):
        expected = proportion.proportion_confint(right, size, method="wilson")
        assert wilson(right / size, size, z).tolist() == pytest.approx(expected)


def test_the_effective_size_of_a_macro_average_is_k_squared_over_the_sum_of_inverses() -> None:
    totals = np.array([[4.0, 6.0, 3.0], [20.0, 20.0, 10.0], [0.0, 0.0, 0.0]])
    assert average_sizes(totals)["f1"][0] == pytest.approx(4 / (1 / 5 + 1 / 20))
    assert average_sizes(totals)["recall"].tolist() == pytest.approx([4 / (1 / 4 + 1 / 20), 24**2 / (4 + 20)])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_fractions_are_the_scores(seed: int) -> None:
    for scorer in ("exact", "recall", "credited with overall", "gains"):
        measured = random_measure(scorer, 6, seed).cell_by_cell
        totals = measured.counts.total.astype(float)
        for score in measured.tested:
            form = fraction(measured, score)
            with np.errstate(invalid="ignore", divide="ignore"):
                value = (totals @ form.above) / (totals @ form.below)
                if form.less is not None:
                    value = value - (totals @ form.less[0]) / (totals @ form.less[1])
            assert value.reshape(-1) == pytest.approx(measured.values()[score], nan_ok=True)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_students_t_equals_that_of_scipy(confidence: float) -> None:
    freedom = np.array([*range(1, 130), 1000, 1e6, 2.5, 17.3, 80.4])
    assert t_quantile(freedom, confidence) == pytest.approx(
        stats.t.ppf((1 + confidence) / 2, freedom), rel=1e-7
    )
    for t, f in ((0.3, 1), (2.1, 2), (2.1, 35), (4.0, 4999), (1.0, 10**6), (3.0, 7.5)):
        assert float(t_p(t, f)) == pytest.approx(2 * stats.t.sf(t, f), rel=1e-9)
    for f in (5001, 5002, 20_001, 702_028, 10**7):  # far into the tail
        for t in (0.0, 1e-6, 1.3, 3.5, 8.0, 20.0):
            assert float(t_p(t, f)) == pytest.approx(2 * stats.t.sf(t, f), rel=1e-11)
    assert float(t_p(60.0, 54_321)) == 0.0
    assert np.isnan(t_quantile(0)) and np.isnan(t_p(np.nan, 3))


def test_satterthwaite_of_two_samples_equals_welch() -> None:
    generator = np.random.default_rng(0)
    first, second = generator.normal(0, 1, 7), generator.normal(0, 3, 11)
    variance, freedom = satterthwaite([(first.var(ddof=1) / 7, 6), (second.var(ddof=1) / 11, 10)])
    expected = stats.ttest_ind(first, second, equal_var=False)
    assert float(freedom) == pytest.approx(expected.df)
    assert float(t_p((first.mean() - second.mean()) / np.sqrt(variance), freedom)) == pytest.approx(
        expected.pvalue
    )
