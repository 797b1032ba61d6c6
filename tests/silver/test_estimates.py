"""Scores from few gold units and a judge: their formula by hand, their laws, and their coverage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_judge import DOCUMENTS, JUDGES, population, sample_of, true_sums

from spanwise.columns import Floats, floats, ints
from spanwise.rates import RATES
from spanwise.silver import difference
from spanwise.silver._estimate import Combined, Design, Influences, Ratios, combined
from spanwise.student import t_quantile

F1 = RATES["f1"]
TRIALS = 1000


def by_hand(gold: Ratios, silver: Ratios, drawn: list[int]) -> tuple[float, float, float]:
    """The estimate, its standard error and λ, written out as in the definition."""

    def score(ratios: Ratios, rows: list[int]) -> float:
        return float(sum(ratios.above[row] for row in rows) / sum(ratios.below[row] for row in rows))

    n, everything = len(drawn), len(silver.above)
    f, g = score(gold, drawn), score(silver, drawn)
    h_rows = [(n - 1) * (f - score(gold, drawn[:i] + drawn[i + 1 :])) for i in range(n)]
    g_rows = [(n - 1) * (g - score(silver, drawn[:i] + drawn[i + 1 :])) for i in range(n)]
    h_mean, g_mean = sum(h_rows) / n, sum(g_rows) / n
    c = sum((a - h_mean) * (b - g_mean) for a, b in zip(h_rows, g_rows, strict=True)) / (n - 1)
    v = sum((b - g_mean) ** 2 for b in g_rows) / (n - 1)
    weight = min(max(c / v, 0.0), 1.0) if v else 0.0
    rest = [a - weight * b for a, b in zip(h_rows, g_rows, strict=True)]
    mean = sum(rest) / n
    within = sum((value - mean) ** 2 for value in rest) / ((n - 2) * n)
    variance = within + max(2 * weight * c - weight**2 * v, 0) / everything
    return f + weight * (score(silver, list(range(everything))) - g), variance**0.5, weight


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), agreement=st.sampled_from(sorted(JUDGES.values())))
def test_the_estimate_equals_the_definition_written_out(seed: int, agreement: float) -> None:
    draw = np.random.default_rng(seed)
    counts = population(draw, 80, agreement)[0]
    drawn = sorted(draw.choice(80, 25, replace=False).tolist())
    sample = sample_of(counts, drawn)
    found = sample.estimated(0, F1)
    above, below = np.asarray(F1.above), np.asarray(F1.below)
    gold, silver = (Ratios(table @ above, table @ below) for table in counts)
    value, se, weight = by_hand(gold, silver, drawn)
    assert found is not None
    assert [found.value, found.se, found.weight] == pytest.approx([value, se, weight], rel=1e-9, abs=1e-12)


def test_the_example_of_the_documentation() -> None:
    def found(right: list[bool]) -> Floats:
        return floats([(one, 0, not one) for one in right])

    gold = [True] * 80 + [False] * 20
    silver = [True] * 78 + [False] * 2 + [True] * 7 + [False] * 13 + [True] * 795 + [False] * 105
    counts = found(gold + [False] * 900), found(silver)
    recall = sample_of(counts, range(100)).estimated(0, RATES["recall"])
    assert recall is not None and not recall.few_carry
    rounded = [round(number, 3) for number in (recall.weight, recall.value)]
    assert rounded == [0.784, 0.824]
    assert [round(number, 4) for number in (recall.se, recall.gold_se)] == [0.0302, 0.0402]
    assert round(recall.effective) == 177


def test_gold_for_every_unit_gives_the_score_itself() -> None:
    counts = population(np.random.default_rng(1), 60, 0.6)[0]
    sample = sample_of(counts, range(60))
    found = sample.estimated(0, F1)
    right, false, missed = counts[0].sum(axis=0)
    assert found is not None and found.value == pytest.approx(2 * right / (2 * right + false + missed))


def test_a_judge_who_equals_gold_gives_its_score_over_all_units() -> None:
    counts = population(np.random.default_rng(2), 200, 1.0)[0]
    found = sample_of(counts, range(0, 200, 5)).estimated(0, F1)
    assert found is not None and found.weight == pytest.approx(1)
    assert found.value == pytest.approx(found.judged) and found.bias == pytest.approx(0)
    assert found.effective == pytest.approx(200)  # and never more than there are units
    assert found.few_carry


def test_a_judge_who_never_varies_changes_nothing() -> None:
    gold, _ = population(np.random.default_rng(3), 100, 0.0)[0]
    constant = np.tile([3.0, 1.0, 1.0], (100, 1))
    found = sample_of((gold, constant), range(0, 100, 2)).estimated(0, F1)
    assert found is not None and found.weight == 0 and found.value == found.gold
    assert found.se == pytest.approx(found.gold_se * (49 / 48) ** 0.5)  # the price of having estimated λ
    assert not found.few_carry


def test_strata_are_weighted_and_their_means_removed() -> None:
    # Two strata that differ by a constant: the variance within them is what counts.
    above = floats([1, 1, 1, 1] * 5 + [3, 3, 3, 3] * 5)
    ratios = Ratios(above, floats(np.full(40, 4)))
    design = Design(80, floats(np.full(40, 2.0)), ints([0] * 20 + [1] * 20))
    influences = Influences.of(ratios, design)
    found = combined(influences, influences, 0.5, design)
    assert found is not None and influences.value == pytest.approx(0.5)
    assert found.gold_se == pytest.approx(0, abs=1e-12)
    unequal = Design(60, floats([1.0] * 20 + [2.0] * 20), ints([0] * 20 + [1] * 20))
    assert Influences.of(ratios, unequal).value == pytest.approx((20 * 1 + 40 * 3) / (60 * 4))


def test_small_strata_are_joined() -> None:
    design = Design(30, floats(np.ones(7)), ints([0, 0, 1, 1, 1, 2, 3]))
    assert [rows.tolist() for rows in design.groups()] == [[0, 1, 2, 3, 4, 5, 6]]


def covered(estimate: Combined | None, truth: float, *, of_difference: bool) -> bool:
    assert estimate is not None
    if of_difference:
        low, high = estimate.difference_interval(0.95)
    else:
        ends = estimate.interval(0.95)
        assert ends is not None
        low, high = ends
    return low <= truth <= high


@pytest.mark.parametrize("judge", JUDGES)
def test_intervals_hold_the_truth_whatever_the_judge_is_worth(judge: str) -> None:
    """Coverage over draws of corpora: 93 to 97 %, within two standard errors of the simulation."""
    hits, differences, widths = 0, 0, []
    truth = [_f1(sums) for sums in true_sums(DOCUMENTS)]
    for seed in range(TRIALS):
        draw = np.random.default_rng([seed, 7])
        counts = population(draw, 400, JUDGES[judge], systems=2)
        drawn = np.sort(draw.choice(400, 60, replace=False))
        first, second = (sample_of(table, drawn) for table in counts)
        estimate = first.estimated(0, F1)
        hits += covered(estimate, truth[0], of_difference=False)
        differences += covered(difference(first, second), truth[0] - truth[1], of_difference=True)
        assert estimate is not None
        widths.append(estimate.se / estimate.gold_se)
    error = 2 * (0.05 * 0.95 / TRIALS) ** 0.5
    assert 0.93 - error <= hits / TRIALS <= 0.97 + error
    assert 0.93 - error <= differences / TRIALS <= 0.97 + error
    assert max(widths) <= 1.05


def _f1(sums: Sequence[float]) -> float:
    right, false, missed = sums
    return 2 * right / (2 * right + false + missed)


@pytest.mark.parametrize("judge", ["good", "useless"])
def test_estimates_from_unequal_strata_are_unbiased(judge: str) -> None:
    """Half of the gold units come from a tenth of the corpus, which is much harder than the rest."""
    draw = np.random.default_rng(11)
    easy = population(draw, 540, JUDGES[judge])[0]
    hard = population(draw, 60, JUDGES[judge])[0]
    for table in hard:  # everything that was right is missed
        table[:, 2] += table[:, 0]
        table[:, 0] = 0
    counts = (floats(np.vstack([easy[0], hard[0]])), floats(np.vstack([easy[1], hard[1]])))
    weight, stratum = np.repeat([540 / 40, 60 / 40], 40), np.repeat([0, 1], 40)
    design = Design(600, floats(weight), ints(stratum))
    estimates, unweighted = [], []
    for _ in range(400):
        drawn = [*draw.choice(540, 40, replace=False), *(540 + draw.choice(60, 40, replace=False))]
        found = sample_of(counts, drawn, design).estimated(0, F1)
        simple = sample_of(counts, drawn).estimated(0, F1)
        assert found is not None and simple is not None
        estimates.append(found.value)
        unweighted.append(simple.gold)
    truth, error = _f1(counts[0].sum(axis=0).tolist()), np.std(estimates) / 20
    assert abs(np.mean(estimates) - truth) < 3 * error + 0.002  # a ratio has a bias of the order 1/n
    assert abs(np.mean(unweighted) - truth) > 0.1


def test_few_units_that_show_the_judges_errors_are_marked() -> None:
    draw = np.random.default_rng(4)
    gold = population(draw, 200, 1.0)[0][0]
    silver = gold.copy()
    silver[:2, 0] += 1
    found = sample_of((gold, floats(silver)), range(60)).estimated(0, F1)
    assert found is not None and found.few_carry
    fair = sample_of(population(draw, 200, JUDGES["fair"])[0], range(60)).estimated(0, F1)
    assert fair is not None and not fair.few_carry


def test_the_interval_is_on_the_logit_scale() -> None:
    found = Combined(0.8, 0.82, 0.84, 0.81, 0.5, 0.02, 0.03, 50, 0.02, 0.01, few_carry=False)
    odds, half = np.log(0.81 / 0.19), float(t_quantile(49)) * 0.02 / (0.81 * 0.19)
    expected = [1 / (1 + np.exp(-(odds + sign * half))) for sign in (-1, 1)]
    assert found.interval(0.95) == pytest.approx(expected)
    assert found.effective == pytest.approx(50 * 2.25)
