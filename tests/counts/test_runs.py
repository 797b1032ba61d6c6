"""Differences over runs, degrees of freedom and marks equal plain computations, and examples by hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import nan, sqrt
from statistics import fmean, variance

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jackknifed import SCORERS, left_out, measure, random_measure
from scipy import optimize, stats

import spanwise
from spanwise.intervals import Differences, Jackknife, differences, jackknife, run_parts
from spanwise.scores import Measure
from spanwise.student import t_quantile

Variances = Sequence[tuple[float, float]]  # each with its degrees of freedom


# ---- a plain computation ------------------------------------------------------------------------


def plain_parts(scores: Sequence[Sequence[float]], a: int, b: int, *, shared: bool = False) -> Variances:
    """The variances over runs of a difference of means, written out."""
    first, second = scores[a], scores[b]
    if shared and len(first) == len(second):
        apart = [x - y for x, y in zip(first, second, strict=True)]
        return [(variance(apart) / len(apart), len(apart) - 1)]
    of_first, of_second = variance(first) / len(first), variance(second) / len(second)
    if 2 in (len(first), len(second)) and len(first) != len(second):
        return [(of_first, len(first) - 1), (of_second, len(second) - 1)]
    several = len(scores) >= 3 and min(map(len, scores)) >= 3 and min(map(variance, scores)) > 0
    if several and stats.bartlett(*scores).pvalue >= 0.25:
        freedom = sum(len(runs) - 1 for runs in scores)
        pooled = sum((len(runs) - 1) * variance(runs) for runs in scores) / freedom
        return [(pooled * (1 / len(first) + 1 / len(second)), freedom)]
    both = of_first + of_second
    if both == 0:
        return []
    below = of_first**2 / (len(first) - 1) + of_second**2 / (len(second) - 1)
    return [(both, min(both**2 / below, 2 * (min(len(first), len(second)) - 1)))]


def plain_width(alpha: float, parts: Variances) -> float:
    return sqrt(sum(v * stats.t.isf(alpha / 2, f) ** 2 for v, f in parts if v > 0))


def plain_p(difference: float, parts: Variances) -> float:
    return float(
        np.exp(
            optimize.brentq(
                lambda log_alpha: plain_width(np.exp(log_alpha), parts) - abs(difference), -200, -1e-12,
                xtol=1e-13,
            )
        )
    )  # fmt: skip


def plain_detectable(level: float, data: tuple[float, float], runs: Variances) -> float:
    v, nu = data
    total = v * (stats.t.isf(level / 2, nu) + stats.norm.ppf(0.8)) ** 2
    for x, f in runs:
        total += x * ((1 + 1 / (3 * f)) * (stats.t.isf(level / 2, f) + stats.t.ppf(0.8, f))) ** 2
    return sqrt(total)


def systems_of(numbers: Sequence[int], seed: int = 0, units: int = 30) -> list[list[Measure]]:
    return [
        [random_measure("exact", units, 1000 * seed + 100 * system + run) for run in range(number)]
        for system, number in enumerate(numbers)
    ]


DESIGNS = [(2, 2), (3, 3), (2, 5), (10, 2), (3, 5), (3, 3, 3), (5, 5, 5, 5, 5), (3, 4, 2), (4, 3, 6)]


@pytest.mark.parametrize("numbers", DESIGNS)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_intervals_p_and_detectable_differences_over_runs_equal_a_plain_computation(
    numbers: tuple[int, ...], shared: bool, seed: int
) -> None:
    systems = systems_of(numbers, seed)
    pairs = list(combinations(range(len(numbers)), 2))
    data = differences(systems, pairs)["f1"]
    over = differences(systems, pairs, over_runs=True, shared_seeds=shared)["f1"]
    for at, (a, b) in enumerate(pairs):
        for cell in range(3):
            scores = [[float(run.values()["f1"][cell]) for run in runs] for runs in systems]
            runs = plain_parts(scores, a, b, shared=shared)
            of_units = float(data.error[at, cell]) ** 2, float(data.units[at, cell]) - 1
            difference = fmean(scores[a]) - fmean(scores[b])
            assert over.value[at, cell] == pytest.approx(difference)
            assert over.p()[at, cell] == pytest.approx(plain_p(difference, [of_units, *runs]), rel=1e-8)
            for confidence in (0.95, 0.99):
                low, high = over.interval(confidence)[at, cell]
                half = plain_width(1 - confidence, [of_units, *runs])
                assert (low, high) == pytest.approx((difference - half, difference + half), rel=1e-7)
            for level in (0.05, 0.005):
                expected = plain_detectable(level, of_units, runs)
                assert over.detectable(level)[at, cell] == pytest.approx(expected, rel=1e-7)


def test_both_ways_to_combine_several_systems_occur_above() -> None:
    pooled = {
        len(plain_parts(scores, 0, 1)) == 1 and plain_parts(scores, 0, 1)[0][1] == sum(numbers) - len(numbers)
        for numbers in DESIGNS[5:7]
        for seed in (0, 1)
        for cell in range(3)
        for scores in [
            [[float(run.values()["f1"][cell]) for run in runs] for runs in systems_of(numbers, seed)]
        ]
    }
    assert pooled == {True, False}


def test_a_system_in_no_pair_takes_part_in_pooling() -> None:
    systems = systems_of((5, 5, 5, 5, 5), 1)
    alone = differences(systems[:2], [(0, 1)], over_runs=True)["f1"]
    among = differences(systems, [(0, 1)], over_runs=True)["f1"]
    everywhere = differences(systems, list(combinations(range(5), 2)), over_runs=True)["f1"]
    assert among.p()[0].tolist() == everywhere.p()[0].tolist() != alone.p()[0].tolist()


def still(error: float, training: Sequence[tuple[float, float]], value: float = 0.1) -> Differences:
    parts = [*training, *[(0.0, 1.0)] * (2 - len(training))]
    variances, freedom = (np.array([[[part[at]]] for part in parts]) for at in (0, 1))
    each = np.array([[value]]), np.array([[20]]), np.array([[error]]), np.array([[19.0]])
    return Differences(*each, (variances, freedom))


def test_where_runs_do_not_vary_only_units_do() -> None:
    only_units, both = still(0.04, []), still(0.04, [(0.0001, 4.0)])
    assert only_units.p()[0, 0] == pytest.approx(2 * stats.t.sf(2.5, 19))
    assert only_units.interval()[0, 0] == pytest.approx(
        0.1 + np.array([-1, 1]) * stats.t.ppf(0.975, 19) * 0.04
    )
    assert both.p()[0, 0] > only_units.p()[0, 0]
    only_runs = still(0.0, [(0.0016, 4.0)])
    assert only_runs.p()[0, 0] == pytest.approx(2 * stats.t.sf(2.5, 4))
    nothing = still(0.0, [])
    assert np.isnan([nothing.p()[0, 0], nothing.detectable(0.05)[0, 0], *nothing.interval()[0, 0]]).all()
    assert still(0.0, [], 0.0).interval()[0, 0].tolist() == [0, 0]


def test_equal_runs_of_one_system_are_not_pooled_with_those_that_vary() -> None:
    systems = systems_of((3, 3, 3), 0)
    systems[2] = [systems[2][0]] * 3
    over = differences(systems, [(0, 1)], over_runs=True)["f1"]
    alone = differences(systems[:2], [(0, 1)], over_runs=True)["f1"]
    assert over.p().tolist() == alone.p().tolist()


def test_several_runs_by_hand() -> None:
    # The example of the definitions: 2.0 F1, standard error .6 over 107 units, s = .7 and .9 over five runs.
    a, b = 0.49 / 5, 0.81 / 5
    freedom = min((a + b) ** 2 / (a * a / 4 + b * b / 4), 8)
    assert freedom == pytest.approx(7.543, abs=1e-3)
    half = sqrt(1.9826**2 * 0.36 + stats.t.ppf(0.975, freedom) ** 2 * 0.26)
    assert half == pytest.approx(1.681, abs=1e-3)
    variances = np.array([[[a + b]], [[0.0]]]), np.array([[[freedom]], [[1.0]]])
    each = np.array([[2.0]]), np.array([[107]]), np.array([[0.6]]), np.array([[106.0]])
    difference = Differences(*each, variances)
    assert difference.interval()[0, 0] == pytest.approx([2 - half, 2 + half], abs=1e-3)
    assert difference.p()[0, 0] == pytest.approx(0.0233, abs=1e-4)
    # (1.983 + .842)²·.36 + [1.0442·(2.331 + .892)]²·.26 = 2.873 + 2.945
    assert difference.detectable(0.05)[0, 0] == pytest.approx(sqrt(2.873 + 2.945), abs=2e-3)


def test_two_runs_against_five_by_hand() -> None:
    # s² = .02 over two runs and .025 over five: .01 with one degree of freedom, .005 with four.
    values = [np.array([[0.0], [0.2]]), np.array([[0.0], [0.1], [0.2], [0.3], [0.4]])]
    parts = run_parts(values, (0, 1), shared_seeds=False)
    assert [float(v[0]) for v, _ in parts] == pytest.approx([0.01, 0.005])
    assert [f for _, f in parts] == [1, 4]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(DESIGNS))
def test_the_interval_with_confidence_1_minus_p_ends_at_0(seed: int, numbers: tuple[int, ...]) -> None:
    over = differences(systems_of(numbers, seed, 12), [(0, 1)], over_runs=True)["f1"]
    for cell, p in enumerate(over.p()[0].tolist()):
        if not 1e-6 < p < 0.999:
            continue
        low, high = over.interval(1 - p)[0, cell]
        assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-6 * (high - low))


# ---- degrees of freedom and marks of one score ----------------------------------------------------


def plain_freedom(measured: Measure, score: str, cell: int) -> tuple[float, float, float]:
    """Degrees of freedom, n_eff and (Σr²)²/Σr⁴ of one cell, from the counts of each unit."""
    counts = measured.counts
    rows = counts.matrix().reshape(counts.units, len(counts.cells), len(counts.columns)).astype(float)
    values, held = left_out(measured, score)
    if measured.scorer in ("averages", "gains"):
        r = [value - np.mean(values[held[:, cell], cell]) for value in values[held[:, cell], cell]]
        w = [row[:, :2].sum() for row in rows[held[:, cell]]]
    else:
        total = float(measured.sizes(rows.sum(axis=0)[None])[score][0, cell])
        whole = float(measured.values()[score][cell])
        w = [float(measured.sizes(row[None])[score][0, cell]) for row in rows[held[:, cell]]]
        above = [float(measured.score(row[None])[score][0, cell]) for row in rows[held[:, cell]]]
        r = [(part - whole) * size for part, size in zip(above, w, strict=True)]  # a − F·b
        assert sum(w) == pytest.approx(total) and sum(r) == pytest.approx(0, abs=1e-9)
    u, square, fourth = len(w), sum(x**2 for x in r), sum(x**4 for x in r)
    carrying = sum(w) ** 2 / sum(x**2 for x in w)
    terms = [u - 1, carrying - 1]
    if square > 1e-20 and u * fourth / square**2 > 1:
        terms.append(2 * u / (u * fourth / square**2 - 1))
    return max(1.0, min(terms)), carrying, square**2 / fourth if square > 1e-20 else nan


@pytest.mark.parametrize("scorer", SCORERS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("units", [3, 25])
def test_degrees_of_freedom_equal_those_of_a_plain_computation(scorer: str, seed: int, units: int) -> None:
    measured = random_measure(scorer, units, seed)
    for score, estimate in jackknife(measured).items():
        for cell in range(len(estimate.value)):
            if estimate.units[cell] > 1:
                found = estimate.freedom[cell], estimate.carrying[cell], estimate.carrying_errors[cell]
                assert found == pytest.approx(plain_freedom(measured, score, cell), rel=1e-6, nan_ok=True)


def test_degrees_of_freedom_do_not_depend_on_blocks_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = random_measure("averages", 40, 1)
    whole = jackknife(measured)["f1"]
    monkeypatch.setattr("spanwise.intervals.BLOCK", 20)
    assert jackknife(measured)["f1"].freedom == pytest.approx(whole.freedom, rel=1e-9)


def test_degrees_of_freedom_by_hand() -> None:
    # Gold + predicted are 2, 2 and 4: n_eff = 64/24; r = ½, −3/2, 1: κ = 3 · 6.125 / 12.25 = 1.5.
    three = jackknife(measure("exact", np.array([[1, 1, 1], [1, 1, 0], [2, 2, 2]]), 1))["f1"]
    assert three.freedom[0] == pytest.approx(64 / 24 - 1)
    # All errors in one of ten equal units: r = −9, 1, …, 1; Σr² = 90, Σr⁴ = 6570, κ = 10 · 6570 / 90² = 8.11.
    rows = np.array([[10, 10, 0], *[[10, 10, 10]] * 9])
    one = jackknife(measure("exact", rows, 1))["f1"]
    assert one.freedom[0] == pytest.approx(20 / (10 * 6570 / 8100 - 1))
    assert one.carrying_errors[0] == pytest.approx(8100 / 6570) and one.few_carry_errors[0]


def test_few_units_that_carry_a_score_are_marked() -> None:
    equal = measure("exact", np.array([[4, 4, 4 - at % 2] for at in range(40)]), 1)
    assert not jackknife(equal)["f1"].few_carry[0] and not jackknife(equal)["f1"].few_carry_errors[0]
    one_large = np.array([[4, 4, 4 - at % 2] for at in range(40)])
    one_large[0] = 40, 40, 38
    # Σw = 39 · 8 + 80 = 392, Σw² = 39 · 64 + 6400 = 8896: 17.3 of 40 units.
    large = jackknife(measure("exact", one_large, 1))["f1"]
    assert large.carrying[0] == pytest.approx(392**2 / 8896) and large.few_carry[0]
    cell = Jackknife(
        value=np.array([0.5]), size=np.array([9.0]), units=np.array([100]), error=np.array([0.1]),
        freedom=np.array([9.0]), carrying=np.array([45.0]),
    )  # fmt: skip
    assert cell.few_carry[0]  # fewer than half of the units


def test_runs_of_equal_counts_have_the_degrees_of_freedom_of_one() -> None:
    run = random_measure("exact", 30, 5)
    one, three = jackknife(run)["f1"], jackknife(run, run, run)["f1"]
    assert three.freedom == pytest.approx(one.freedom) and (three.training == 0).all()
    assert three.interval() == pytest.approx(one.interval())


def test_the_interval_of_a_mean_over_runs_combines_units_and_runs_in_quadrature() -> None:
    runs = [random_measure("exact", 30, seed) for seed in range(3)]
    estimate = jackknife(*runs)["f1"]
    for cell in range(3):
        f = fmean(scores := [float(run.values()["f1"][cell]) for run in runs])
        half = plain_width(
            0.05, [(float(estimate.error[cell]) ** 2, estimate.freedom[cell]), (variance(scores) / 3, 2)]
        )
        low, high = estimate.interval()[cell]
        assert np.log(high / (1 - high)) - np.log(f / (1 - f)) == pytest.approx(half / (f * (1 - f)))
        assert np.log(f / (1 - f)) - np.log(low / (1 - low)) == pytest.approx(half / (f * (1 - f)))


def test_the_marks_are_in_the_document() -> None:
    gold = [["B-A", "O"]] * 30 + [["B-A", "O"] * 30]
    wrong = [["O", "O"] if at == 3 else list(tags) for at, tags in enumerate(gold)]
    overall = spanwise.evaluate(gold, {"mine": wrong}).to_dict()["systems"]["mine"]["exact"]["overall"]
    # Predicted are one mention in 29 sentences, none in one, 30 in the last: 59² / (29 + 900) = 3.75 units,
    # fewer than for recall, 60² / (30 + 900), and F1.
    assert overall["carried_by"] == 3.7 and overall["errors_carried_by"] < 6
    assert "few_units" not in overall
    even = spanwise.evaluate([["B-A"]] * 60, {"mine": [["B-A"], ["O"]] * 30}).to_dict()
    assert not {"carried_by", "errors_carried_by"} & set(even["systems"]["mine"]["exact"]["overall"])


# ---- lines that decide an interval ------------------------------------------------------------------


def test_wilsons_size_is_the_number_of_mentions_not_of_units() -> None:
    perfect = measure("exact", np.full((12, 3), 3), 1)
    t = stats.t.ppf(0.975, 11)
    assert jackknife(perfect)["f1"].interval()[0].tolist() == pytest.approx([36 / (36 + t * t), 1.0])
    gold = [["B-A", "B-A", "B-A"]] * 12
    shown = spanwise.evaluate(gold, {"mine": gold})["mine"].exact.overall.interval["recall"]
    assert shown == pytest.approx((36 / (36 + t * t), 1.0))


def test_wilsons_size_of_a_mean_over_runs_is_the_mean_of_their_sizes() -> None:
    # Two gold mentions in each of 12 units, none found: 1 and 5 predictions a unit, so 18 and 42 mentions.
    none_found = [measure("exact", np.full((12, 3), [2, predicted, 0]), 1) for predicted in (1, 5)]
    t2 = stats.t.ppf(0.975, 11) ** 2
    assert jackknife(*none_found)["f1"].interval()[0].tolist() == pytest.approx([0.0, t2 / (30 + t2)])


def test_a_gain_of_0_has_wilsons_interval_over_half_of_gold_and_predicted() -> None:
    # 12 sentences of two mentions, one of them always missed: 24 gold, 12 predicted, no wrong label.
    gold = [["B-A", "O", "B-A"]] * 12
    missing = [["B-A", "O", "O"]] * 12
    gains = spanwise.evaluate(gold, {"mine": missing})["mine"].gains
    t2 = stats.t.ppf(0.975, 11) ** 2
    assert gains.LE.gain == 0
    assert gains.LE.interval["gain"] == pytest.approx((0.0, (t2 / 18) / (1 + t2 / 18)))


def test_scores_that_differ_only_by_rounding_do_not_vary() -> None:
    for seed in range(8):  # in some of them, rounding leaves a standard error of 3e-10
        generator = np.random.default_rng(seed)
        rows = generator.integers(1, 9, (40, 7, 3))
        rows[..., 2] = rows[..., :2].min(axis=-1) - generator.integers(0, 2, (40, 7))
        first = measure("averages", rows.reshape(40, -1), 7)
        second = measure("averages", rows[:, ::-1].reshape(40, -1), 7)  # labels are added up in another order
        both = differences([[first], [second]], [(0, 1)])["f1"]
        assert (both.error == 0).all() and np.isnan(both.p()).all()


@pytest.mark.parametrize("confidence", [0.6, 0.95, 0.995])
def test_quantiles_at_fractions_of_degrees_of_freedom_equal_those_of_scipy(confidence: float) -> None:
    freedom = np.concatenate([np.linspace(1, 4, 61), np.linspace(4, 70, 133)])
    expected = stats.t.ppf((1 + confidence) / 2, freedom)
    assert t_quantile(freedom, confidence) == pytest.approx(expected, rel=1e-7)
