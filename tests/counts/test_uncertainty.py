"""Intervals and tests: exact in their means, the same for the same seed, honest where undefined."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import spanwise.uncertainty as uncertainty
from spanwise.counts import Counts
from spanwise.scores import exact
from spanwise.uncertainty import Resampling, interval, p_value, standard_error


def table(matrix: object) -> Counts:
    return Counts.of_matrix(["all"], ["gold", "predicted", "correct"], np.asarray(matrix, dtype=np.int32))


def random_table(units: int, seed: int) -> Counts:
    generator = np.random.default_rng(seed)
    gold = generator.integers(0, 4, units)
    correct = generator.binomial(gold, 0.8)
    return table(np.stack([gold, correct + generator.integers(0, 2, units), correct], axis=1))


@pytest.fixture(params=["matrix", "rows"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to resample: a matrix product over units, draws over distinct rows."""
    if request.param == "rows":
        monkeypatch.setattr(uncertainty, "MATRIX_UNITS", 0)
        monkeypatch.setattr(uncertainty, "FEWER_ROWS", 0)
    return str(request.param)


def test_the_same_seed_gives_the_same_draws(way: str) -> None:
    counts = random_table(50, 1)
    first, second = (Resampling(50, 20, seed=3).bootstrap([counts], ["x"])[0] for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, Resampling(50, 20, seed=4).bootstrap([counts], ["x"])[0])


def test_resamples_have_the_mean_and_spread_of_the_sample(way: str) -> None:
    counts = random_table(200, 2)
    drawn = Resampling(200, 4000).bootstrap([counts], ["x"])[0][:, 0]
    sample = counts.matrix()
    assert drawn.mean(axis=0) == pytest.approx(sample.sum(axis=0), rel=0.01)
    assert drawn.std(axis=0) == pytest.approx(sample.std(axis=0) * np.sqrt(200), rel=0.05)


def test_a_table_keeps_its_draws_when_another_one_joins(way: str) -> None:
    one, other = random_table(40, 1), random_table(40, 2)
    resampling = Resampling(40, 10)
    assert np.array_equal(
        resampling.bootstrap([one], ["x"])[0], resampling.bootstrap([one, other], ["x", "y"])[0]
    )


def test_blocks_of_resamples_do_not_change_the_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = random_table(30, 5)
    drawn = Resampling(30, 64).bootstrap([counts], ["x"])[0]
    assert drawn[:, 0, 0].sum() > 0
    for row in drawn[:, 0]:
        assert row[2] <= row[0] and row[2] <= row[1]


def test_both_systems_see_the_same_units(way: str) -> None:
    counts = random_table(60, 3)
    ((one, other),) = Resampling(60, 30).paired_bootstrap([counts], [counts], ["x"])
    assert np.array_equal(one, other)


def test_shuffling_keeps_the_sum_of_both_sides(way: str) -> None:
    one, other = random_table(60, 3), random_table(60, 4)
    for first, second in Resampling(60, 50).shuffled([one], [other], ["x"]):
        assert np.array_equal(first + second, np.broadcast_to(one.total + other.total, first.shape))


def test_the_randomisation_test_nears_full_enumeration(way: str) -> None:
    one = table([[2, 2, 2], [1, 1, 1], [2, 2, 1], [1, 1, 1], [2, 2, 2], [1, 2, 1], [1, 1, 0]])
    other = table([[2, 2, 1], [1, 1, 0], [2, 2, 1], [1, 2, 1], [2, 2, 0], [1, 1, 1], [1, 1, 1]])
    f1 = lambda totals: exact(totals)["f1"][..., 0]  # noqa: E731
    observed = f1(one.total.astype(float)) - f1(other.total.astype(float))
    differences = []
    for swap in product([0, 1], repeat=7):
        chosen = np.array(swap)[:, None]
        first = (one.matrix() * (1 - chosen) + other.matrix() * chosen).sum(axis=0)
        second = one.total[0] + other.total[0] - first
        differences.append(f1(first[None].astype(float)) - f1(second[None].astype(float)))
    truth = np.mean(np.abs(np.array(differences)) >= np.abs(observed) - 1e-12)
    (shuffled,) = Resampling(7, 20_000).shuffled([one], [other], ["x"])
    p = p_value(observed, f1(shuffled[0]) - f1(shuffled[1]))
    assert float(p) == pytest.approx(truth, abs=0.015)


def test_equal_systems_have_p_one(way: str) -> None:
    counts = random_table(20, 6)
    (pair,) = Resampling(20, 100).shuffled([counts], [counts], ["x"])
    difference = exact(pair[0])["f1"] - exact(pair[1])["f1"]
    assert p_value(np.zeros(1), difference).tolist() == [1.0]


def test_intervals_are_numpys_percentiles() -> None:
    values = np.random.default_rng(0).normal(size=(101, 3))
    expected = np.percentile(values, [2.5, 97.5], axis=0).T
    assert interval(values) == pytest.approx(expected)


def test_undefined_resamples_are_left_out_of_an_interval() -> None:
    values = np.array([[np.nan, np.nan], [0.2, np.nan], [0.4, np.nan]])
    found = interval(values)
    assert found[0] == pytest.approx(np.percentile([0.2, 0.4], [2.5, 97.5]))
    assert np.isnan(found[1]).all()


def test_the_p_value_of_an_undefined_difference_is_undefined() -> None:
    assert np.isnan(p_value(np.array([np.nan]), np.zeros((10, 1)))).all()


def test_p_values_are_never_zero() -> None:
    assert p_value(np.array([1.0]), np.zeros((99, 1))).tolist() == [0.01]


def test_standard_errors_leave_undefined_values_out() -> None:
    values = np.array([[1.0], [np.nan], [3.0]])
    assert standard_error(values).tolist() == [pytest.approx(np.sqrt(2))]
    assert np.isnan(standard_error(np.array([[1.0]]))).all()


def test_large_counts_are_summed_exactly() -> None:
    counts = table(np.full((10, 3), 3_000_001))
    drawn = Resampling(10, 5).bootstrap([counts], ["x"])[0]
    assert (drawn == 30_000_010).all()


def test_a_table_of_many_distinct_rows_is_drawn_unit_by_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uncertainty, "MATRIX_UNITS", 0)
    few, many = table(np.ones((400, 3))), table(np.arange(1200).reshape(400, 3))
    resampling = Resampling(400, 10)
    assert not resampling.shares_draws(few) and resampling.shares_draws(many)
    drawn = resampling.bootstrap([few, many, few], ["x", "y", "x"])
    alone = resampling.bootstrap([many], ["y"])[0]
    assert np.array_equal(drawn[1], alone) and np.array_equal(drawn[0], drawn[2])


def test_both_ways_give_the_same_spread_to_every_cell(way: str) -> None:
    sides = [random_table(300, seed).matrix() for seed in (7, 8)]
    counts = Counts.of_matrix(["x", "y"], ["gold", "predicted", "correct"], np.concatenate(sides, axis=1))
    drawn = Resampling(300, 4000).bootstrap([counts], ["it"])[0]
    for cell, side in enumerate(sides):
        f1 = exact(drawn[:, cell])["f1"]
        one = exact(Resampling(300, 4000, seed=1).bootstrap([table(side)], ["it"])[0][:, 0])["f1"]
        assert f1.mean() == pytest.approx(one.mean(), abs=0.002)
        assert f1.std() == pytest.approx(one.std(), rel=0.06)


def test_shuffling_moves_as_much_in_both_ways(way: str) -> None:
    one, other = random_table(300, 9), random_table(300, 10)
    (pair,) = Resampling(300, 4000).shuffled([one], [other], ["x"])
    change = other.matrix() - one.matrix()
    moved = pair[0][:, 0] - one.total[0]
    assert moved.mean(axis=0) == pytest.approx(change.sum(axis=0) / 2, abs=1.0)
    assert moved.std(axis=0) == pytest.approx(np.sqrt((change**2).sum(axis=0)) / 2, rel=0.06)
