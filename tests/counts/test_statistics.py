"""Statistics equal those of SciPy and statsmodels, and exact ones equal full enumeration."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from spanwise import statistics
from spanwise.columns import Floats
from spanwise.errors import ChoiceError

lawful = settings(deadline=None, derandomize=True, max_examples=60)
scores = st.integers(0, 12).map(lambda n: n / 12)


def table(rows: int, columns: int, seed: int, ties: bool) -> Floats:
    values = np.random.default_rng(seed).random((rows, columns))
    return np.round(values, 1) if ties else values


# ---- Spearman -----------------------------------------------------------------------------------


@lawful
@given(st.lists(st.tuples(scores, scores), min_size=3, max_size=30))
def test_spearman_statistic_equals_that_of_scipy(pairs: list[tuple[float, float]]) -> None:
    x, y = zip(*pairs, strict=True)
    test = statistics.spearman(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(test.statistic) and np.isnan(test.p)
        return
    expected = stats.spearmanr(x, y)
    assert test.statistic == pytest.approx(expected.statistic, abs=1e-12)


@lawful
@given(st.lists(st.tuples(scores, scores), min_size=3, max_size=7))
def test_spearman_p_up_to_nine_values_is_the_share_of_all_orders(pairs: list[tuple[float, float]]) -> None:
    x, y = zip(*pairs, strict=True)
    if len(set(x)) == 1 or len(set(y)) == 1:
        return
    seen = abs(stats.spearmanr(x, y).statistic)
    ranks, other_ranks = (stats.zscore(stats.rankdata(side)) for side in (x, y))
    every = np.abs(np.array(list(permutations(other_ranks))) @ ranks) / len(ranks)
    expected = np.mean(every >= seen - 1e-9)
    assert statistics.spearman(x, y).p == pytest.approx(expected, abs=1e-12)


def test_spearman_on_nine_values_is_still_exact() -> None:
    test = statistics.spearman(range(9), range(9))
    assert (test.method, test.p) == ("exact", 2 / 362880)
    assert statistics.spearman(range(10), range(10)).method == "100,000 permutations"


def test_spearman_above_nine_values_is_the_share_of_random_orders_and_never_0() -> None:
    perfect = statistics.spearman(range(12), range(12))
    assert (perfect.statistic, perfect.p, perfect.least) == (1.0, 1 / 100_001, 1 / 100_001)
    generator = np.random.default_rng(3)
    for size in (10, 17, 90):
        x = generator.integers(0, 8, size)  # with ties
        y = x * 0.2 + generator.normal(size=size)
        test = statistics.spearman(x, y)
        orders = stats.permutation_test(
            (x,), lambda a: abs(stats.pearsonr(stats.rankdata(a), stats.rankdata(y)).statistic),  # noqa: B023
            permutation_type="pairings", n_resamples=2000, alternative="greater", rng=size,
        )  # fmt: skip
        assert test.p == pytest.approx(orders.pvalue, abs=4 * np.sqrt(0.25 / 2000))
        assert statistics.spearman(x, y) == test


def test_spearman_on_four_buckets_says_that_it_cannot_reach_its_level() -> None:
    test = statistics.spearman(range(4), [0.9, 0.8, 0.7, 0.1])
    assert test.p == pytest.approx(2 / 24)
    assert test.note == "cannot reach p < 0.05: on 4 values p is at least 0.0833"
    assert statistics.spearman(range(5), [0.9, 0.8, 0.7, 0.1, 0.05]).note == ""


def test_spearman_leaves_out_undefined_values_and_needs_three() -> None:
    assert statistics.spearman([1, 2, 3, 4], [1, np.nan, 2, 3]).size == 3
    assert statistics.spearman([1, 2], [1, 2]).note == "needs three values that are not all equal"
    assert np.isnan(statistics.rank_correlation([1, 2, 3], [0.5, 0.5, 0.5]))


def test_paired_tests_need_equally_many_values() -> None:
    with pytest.raises(ChoiceError, match="needs the same number of values on both sides, not 2 and 1"):
        statistics.wilcoxon([1, 2], [1])


# ---- Friedman -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("rows, columns", [(2, 3), (3, 4), (9, 4), (12, 6), (40, 5)])
def test_friedman_equals_that_of_scipy(rows: int, columns: int, ties: bool) -> None:
    for seed in range(5):
        blocks = table(rows, columns, seed, ties)
        expected = stats.friedmanchisquare(*blocks.T)
        test = statistics.friedman(blocks, exact=False)
        assert test.statistic == pytest.approx(expected.statistic, abs=1e-9)
        assert test.p == pytest.approx(expected.pvalue, abs=1e-12)


@pytest.mark.parametrize("rows, columns, ties", [(2, 3, False), (4, 3, True), (3, 4, False)])
def test_friedman_of_a_small_design_counts_all_orders_within_blocks(
    rows: int, columns: int, ties: bool
) -> None:
    for seed in range(3):
        blocks = table(rows, columns, seed, ties)
        ranked = np.array([stats.rankdata(row) for row in blocks])
        if (ranked == ranked[:, :1]).all():
            continue
        seen = (ranked.sum(axis=0) ** 2).sum()
        every = [
            (np.sum(ways, axis=0) ** 2).sum()
            for ways in product(*(list(permutations(row)) for row in ranked))
        ]
        test = statistics.friedman(blocks)
        assert test.method == "exact" and test.p == pytest.approx(np.mean(np.array(every) >= seen - 1e-9))


def test_levels_and_fishers_combination_follow_their_definitions() -> None:
    p = [0.001, 0.04, np.nan, 0.02, 0.3]
    thresholds = statistics.levels(p)
    corrected = statistics.holm(p)
    assert thresholds[[0, 3, 1, 4]].tolist() == pytest.approx([0.05 / 4, 0.05 / 3, 0.05 / 2, 0.05])
    assert np.isnan(thresholds[2]) and (corrected[0] < 0.05) == (p[0] < thresholds[0])
    assert statistics.fisher([0.1, 0.2, np.nan, 0.03]) == pytest.approx(
        stats.combine_pvalues([0.1, 0.2, 0.03]).pvalue
    )
    assert np.isnan(statistics.fisher([np.nan]))


def test_friedman_on_two_blocks_says_that_it_cannot_reach_its_level() -> None:
    test = statistics.friedman([[1, 2, 3, 4], [1, 2, 3, 4]], exact=False)
    assert test.p == pytest.approx(test.least)
    assert test.note == "cannot reach p < 0.05: on 2 blocks of 4 buckets p is at least 0.112"
    assert statistics.friedman([[1, 2, 3, 4]] * 2).least == pytest.approx(1 / 24)
    assert statistics.friedman([[1, 2, 3, 4]] * 3).note == ""


def test_friedman_is_undefined_without_blocks_with_two_buckets_or_with_constant_blocks() -> None:
    assert statistics.friedman([]).note == "no block in which every bucket has a score"
    assert statistics.friedman([[1, 2], [2, 1]]).note == "needs three buckets, not 2"
    constant = statistics.friedman([[0.5, 0.5, 0.5]])
    assert constant.note == "all scores of every block are equal" and np.isnan(constant.p)
    with pytest.raises(ChoiceError, match="every score is defined"):
        statistics.friedman([[1, 2, np.nan]])


def test_friedman_uses_complete_blocks_of_one_size_and_names_the_others() -> None:
    blocks: list[tuple[str, list[float]]] = [
        ("a", [1, 2, 3]), ("b", [1, 2]), ("c", [1, np.nan, 3]), ("d", [3, 2, 1]),
    ]  # fmt: skip
    taken, left = statistics.complete_blocks(blocks)
    assert taken == [[1, 2, 3], [3, 2, 1]]
    assert left == ["b", "c"]


def test_of_two_equally_common_sizes_the_larger_is_used() -> None:
    assert statistics.complete_blocks([("a", [1, 2]), ("b", [1, 2, 3])])[1] == ["a"]


# ---- Wilcoxon -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 4, 6, 10, 25])
def test_wilcoxon_without_ties_equals_the_exact_test_of_scipy(size: int) -> None:
    for seed in range(5):
        x, y = np.random.default_rng(seed).random((2, size))
        expected = stats.wilcoxon(x, y, method="exact")
        test = statistics.wilcoxon(x, y)
        assert test.method == "exact"
        assert test.statistic == pytest.approx(expected.statistic)
        assert test.p == pytest.approx(expected.pvalue, abs=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_wilcoxon_beyond_25_pairs_equals_the_normal_approximation_of_scipy(ties: bool) -> None:
    for seed in range(5):
        x, y = table(2, 60, seed, ties)
        kept = np.round(x - y, 12)
        expected = stats.wilcoxon(kept[kept != 0], correction=False, method="approx")
        test = statistics.wilcoxon(x, y)
        assert test.method == "normal"
        assert test.statistic == pytest.approx(expected.statistic)
        assert test.p == pytest.approx(expected.pvalue, abs=1e-12)


@lawful
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
def test_wilcoxon_with_ties_counts_all_ways_to_sign_the_ranks(differences: list[int]) -> None:
    kept = [d for d in differences if d]
    test = statistics.wilcoxon(differences, [0] * len(differences))
    assert test.size == len(kept)
    if not kept:
        assert np.isnan(test.p) and test.note == "no pair differs"
        return
    ranked = stats.rankdata(np.abs(kept))
    sums = [
        sum(r for r, sign in zip(ranked, signs, strict=True) if sign)
        for signs in product([0, 1], repeat=len(kept))
    ]
    seen = sum(r for r, d in zip(ranked, kept, strict=True) if d > 0)
    tails = np.mean([s <= seen + 1e-9 for s in sums]), np.mean([s >= seen - 1e-9 for s in sums])
    assert test.p == pytest.approx(min(1.0, 2 * min(tails)), abs=1e-12)
    assert test.statistic == pytest.approx(min(seen, ranked.sum() - seen))


def test_wilcoxon_on_five_pairs_says_that_it_cannot_reach_its_level() -> None:
    assert statistics.wilcoxon([1, 2, 3, 4, 5], [0] * 5).note.endswith("on 5 pairs p is at least 0.0625")
    assert statistics.wilcoxon([1, 2, 3, 4, 5, 6], [0] * 6).note == ""
    assert statistics.wilcoxon([], []).note == "no pairs"


def test_sign_test_equals_the_binomial_test_of_scipy() -> None:
    for wins, losses in [(6, 0), (7, 2), (3, 3)]:
        assert statistics.sign_test(wins, losses).p == pytest.approx(
            stats.binomtest(wins, wins + losses).pvalue
        )


# ---- corrections --------------------------------------------------------------------------------


@pytest.mark.parametrize("ours, theirs", [("holm", "holm"), ("bh", "fdr_bh")])
def test_corrections_equal_those_of_statsmodels(ours: str, theirs: str) -> None:
    for size in (1, 2, 7, 50):
        for ties in (False, True):
            p_values = table(1, size, size, ties)[0]
            expected = multipletests(p_values, method=theirs)[1]
            assert statistics.correct(p_values, ours) == pytest.approx(expected, abs=1e-12)


def test_an_undefined_p_value_stays_undefined_and_does_not_enlarge_the_family() -> None:
    corrected = statistics.holm([0.01, np.nan, 0.04])
    assert corrected[0] == pytest.approx(0.02) and np.isnan(corrected[1])
    assert statistics.bh([]).size == 0


@pytest.mark.parametrize("ours", ["holm", "bh"])
def test_corrections_do_not_depend_on_the_memory_layout_of_the_values(ours: str) -> None:
    p = np.random.default_rng(3).uniform(size=(6, 9))
    chosen = p[:, np.arange(9) > 0]
    assert not chosen.flags.c_contiguous  # as NumPy returns columns selected by a mask
    expected = statistics.correct(chosen.ravel().tolist(), ours).reshape(chosen.shape)
    for values in (chosen, np.ascontiguousarray(chosen), np.asfortranarray(chosen), chosen.tolist()):
        assert statistics.correct(values, ours).tolist() == expected.tolist()


def test_an_unknown_correction_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ChoiceError, match=r"no correction is called 'bonferoni'.*\nThere are: bh, holm"):
        statistics.correct([0.1], "bonferoni")


def test_a_test_becomes_plain_values_with_none_for_undefined() -> None:
    row = statistics.friedman([]).to_dict("blocks")
    assert row["p"] is None and row["blocks"] == 0


chances = st.floats(0, 1, allow_subnormal=False) | st.sampled_from([0.01, 0.05, 1.0])


@lawful
@given(st.lists(chances, min_size=1, max_size=40))
def test_the_false_discovery_rate_equals_that_of_scipy_to_the_bit(p_values: list[float]) -> None:
    assert statistics.bh(p_values).tolist() == stats.false_discovery_control(p_values).tolist()


@lawful
@given(st.lists(scores, max_size=30))
def test_ranks_equal_those_of_scipy(values: list[float]) -> None:
    assert statistics.ranks(values).tolist() == stats.rankdata(values).tolist()
