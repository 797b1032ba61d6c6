"""Swaps of units: enumerated if there are few, reproducible by seed, one family for all pairs."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import spanwise.uncertainty as swaps
from spanwise import families
from spanwise.columns import Floats
from spanwise.counts import Counts, grouped
from spanwise.families import Hypotheses, stepped_down
from spanwise.uncertainty import Flips, Resampling, Swapping, randomised

PAIR = [(0, 1)]


def table(matrix: object) -> Counts:
    return Counts.of_matrix(["all"], ["gold", "predicted", "correct"], np.asarray(matrix, dtype=np.int32))


def f1(totals: Floats) -> Floats:
    return 2 * totals[..., 2] / (totals[..., 0] + totals[..., 1])


def random_tables(units: int, systems: int, seed: int) -> list[Counts]:
    generator = np.random.default_rng(seed)
    gold = 1 + generator.integers(0, 4, units)
    tables = []
    for _ in range(systems):
        correct = generator.binomial(gold, 0.8)
        tables.append(table(np.stack([gold, correct + generator.integers(0, 2, units), correct], axis=1)))
    return tables


def fractions(tables: list[Counts]) -> list[Floats]:
    """Numerators and denominators of precision, recall and F1 per unit."""
    return [
        np.stack([2 * c, c, c, g + p, p, g], axis=1).astype(float)
        for g, p, c in (table.matrix().T for table in tables)
    ]


def enumerated(counts: Counts, other_counts: Counts) -> float:
    """The share of all swaps whose difference in F1 is at least as large as the observed one."""
    seen = abs(f1(counts.total[0]) - f1(other_counts.total[0]))
    reached = []
    for swap in product([0, 1], repeat=counts.units):
        chosen = np.array(swap)[:, None]
        first = (counts.matrix() * (1 - chosen) + other_counts.matrix() * chosen).sum(axis=0)
        second = counts.total[0] + other_counts.total[0] - first
        reached.append(abs(f1(first) - f1(second)) >= seen - 1e-12)
    return float(np.mean(reached))


@pytest.mark.parametrize("seed", range(5))
def test_all_swaps_are_enumerated_if_few_units_differ(seed: int) -> None:
    first, second = random_tables(9, 2, seed)
    test = randomised([first, second], PAIR, f1, Resampling(9, 50))
    assert test.p[0] == pytest.approx(enumerated(first, second)) and test.shuffles[0] == 0


@pytest.mark.parametrize("many", [False, True], ids=["bits", "binomials"])
def test_shuffles_approximate_full_enumeration(many: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swaps, "EXACT_UNITS", 0)
    if many:
        monkeypatch.setattr(swaps, "MATRIX_UNITS", 0)
    first, second = random_tables(10, 2, 1)
    test = randomised([first, second], PAIR, f1, Resampling(10, 20_000))
    assert test.shuffles[0] >= 20_000
    assert test.p[0] == pytest.approx(enumerated(first, second), abs=0.012)


def test_equal_systems_have_p_one_and_undefined_ones_none() -> None:
    first, second = random_tables(30, 2, 3)
    nothing = table(np.zeros((30, 3)))
    with np.errstate(invalid="ignore"):
        test = randomised([first, first, nothing, second], [(0, 1), (0, 2), (0, 3)], f1, Resampling(30, 100))
    assert test.p[0] == 1.0 and np.isnan(test.p[1]) and 0 < test.p[2] < 1


@pytest.mark.parametrize("drawn", [False, True], ids=["all swaps", "shuffles"])
def test_a_swap_without_a_score_counts_as_at_least_as_large(
    drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each system predicts in one of two units: if one of them is swapped, a system predicts nothing.
    if drawn:
        monkeypatch.setattr(swaps, "EXACT_UNITS", 0)
    first, second = table([[1, 1, 1], [1, 0, 0]]), table([[1, 0, 0], [1, 1, 0]])
    with np.errstate(invalid="ignore"):
        test = randomised([first, second], PAIR, lambda t: t[..., 2] / t[..., 1], Resampling(2, 100))
    assert test.p[0] == 1.0


def test_shuffles_double_only_while_a_p_value_is_undecided() -> None:
    clear = random_tables(200, 2, 4)
    worse = table(clear[0].matrix() * np.array([1, 1, 0]))
    test = randomised([clear[0], worse], PAIR, f1, Resampling(200, 1000))
    assert test.shuffles[0] == 1000 and not test.undecided[0] and test.p[0] == pytest.approx(1 / 1001)
    p = {}
    for seed in range(60):  # some of these lie close to the level
        tables = random_tables(40, 2, 100 + seed)
        result = randomised(tables, PAIR, f1, Resampling(40, 100))
        p[seed] = (float(result.p[0]), int(result.shuffles[0]))
    assert any(shuffles > 100 for _, shuffles in p.values())
    for value, shuffles in p.values():
        error = np.sqrt(value * (1 - value) / max(shuffles, 1))
        assert shuffles in (0, 100_000) or abs(value - 0.05) > 3 * error


def test_the_same_seed_gives_the_same_p_values_and_another_seed_gives_others() -> None:
    tables = random_tables(60, 3, 5)
    pairs = list(combinations(range(3), 2))
    first, again, other = (
        randomised(tables, pairs, f1, Resampling(60, 200, seed)).p.tolist() for seed in (0, 0, 1)
    )
    assert first == again and first != other


def brute_step_down(tables: list[Counts], pairs: list[tuple[int, int]]) -> Floats:
    """Step-down maxT over all 2ᵘ shared swaps, from the definition."""
    parts = fractions(tables)
    units = len(parts[0])

    def scores(totals: Floats) -> Floats:
        return totals[:3] / totals[3:]

    def differences(swap: Floats) -> Floats:
        values = []
        for a, b in pairs:
            moved = swap @ (parts[b] - parts[a])
            values.append(scores(parts[a].sum(axis=0) + moved) - scores(parts[b].sum(axis=0) - moved))
        return np.concatenate(values)

    every = np.array([differences(np.array(swap)) for swap in product([0, 1], repeat=units)])
    seen = differences(np.zeros(units))
    spread = np.sqrt((every**2).mean(axis=0))
    t, shuffled = np.abs(seen) / spread, np.abs(every) / spread
    order = np.argsort(-t)
    corrected = np.empty(len(t))
    highest = 0.0
    for rank, at in enumerate(order):
        rest = order[rank:]
        highest = max(highest, float((shuffled[:, rest].max(axis=1) >= t[at] - 1e-9).mean()))
        corrected[at] = highest
    return corrected.reshape(len(pairs), 3)


@pytest.mark.parametrize("block", [40_000_000, 2_000], ids=["at once", "in blocks"])
def test_step_down_maxt_approximates_its_definition(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swaps, "BLOCK_SCORES", block)
    tables = random_tables(10, 3, 8)
    pairs = list(combinations(range(3), 2))
    matrices = fractions(tables)
    hypotheses = Hypotheses(3, np.arange(3))
    totals = [matrix.sum(axis=0) for matrix in matrices]
    test = stepped_down(Swapping.of_matrices(matrices), totals, pairs, hypotheses, Resampling(10, 20_000))
    assert test.p_corrected == pytest.approx(brute_step_down(tables, pairs), abs=0.02)
    assert (test.p <= test.p_corrected).all()


def test_blocks_of_shuffles_change_no_p_value(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = random_tables(50, 4, 9)
    pairs = list(combinations(range(4), 2))
    matrices = fractions(tables)
    call = (
        Swapping.of_matrices(matrices),
        [matrix.sum(axis=0) for matrix in matrices],
        pairs,
        Hypotheses(3, np.arange(3)),
    )
    whole = stepped_down(*call, Resampling(50, 304))
    # Random bits are drawn in whole bytes per row, so that blocks of rows get the same bits.
    monkeypatch.setattr(swaps, "BLOCK_SCORES", 1000)
    parts = stepped_down(*call, Resampling(50, 304))
    assert np.array_equal(whole.p_corrected, parts.p_corrected) and np.array_equal(whole.p, parts.p)
    monkeypatch.setattr(families, "KEPT", 0)  # so that shuffles are drawn again
    drawn = stepped_down(*call, Resampling(50, 304))
    assert np.array_equal(whole.p_corrected, drawn.p_corrected) and np.array_equal(whole.p, drawn.p)


def test_a_score_that_never_changes_or_is_undefined_in_a_swap_leaves_the_family() -> None:
    generator = np.random.default_rng(1)
    numbers = generator.integers(0, 3, (40, 2)).astype(float)
    # Ratios: one that varies, one that is equal for both, one whose denominator may become zero.
    first = np.stack(
        [numbers[:, 0], np.ones(40), np.eye(40)[0], np.full(40, 3.0), np.ones(40), np.eye(40)[0]], 1
    )
    second = np.stack(
        [numbers[:, 1], np.ones(40), 0 * np.eye(40)[0], np.full(40, 3.0), np.ones(40), 0 * numbers[:, 0]], 1
    )
    first[:, 5] += np.eye(40)[1]
    matrices = [first, second]
    second[2, 5] = 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        test = stepped_down(
            Swapping.of_matrices(matrices),
            [matrix.sum(axis=0) for matrix in matrices],
            PAIR,
            Hypotheses(3, np.arange(3)),
            Resampling(40, 200),
        )
    assert not np.isnan(test.p[0, 0]) and np.isnan(test.p[0, 1:]).all()


def test_gains_are_differences_of_fractions_and_macro_averages_their_mean() -> None:
    hypotheses = Hypotheses(3, np.array([0]), np.array([[1, 2]]), (np.array([0, 1, 2]),))
    totals = np.array([1.0, 2.0, 0.0, 4.0, 4.0, 0.0])
    assert hypotheses.scores(totals)[[0, 2]].tolist() == [0.25, 0.375]
    assert np.isnan(hypotheses.scores(totals)[1])


def test_groups_of_consecutive_units_add_up() -> None:
    (counts,) = random_tables(103, 1, 2)
    for groups in (1, 7, 103):
        parts = grouped(counts, groups)
        assert len(parts) == groups and parts.sum(axis=0).tolist() == counts.total[0].tolist()
    assert np.array_equal(grouped(counts, 103), counts.matrix())


# ---- sign flips -----------------------------------------------------------------------------


@pytest.mark.parametrize("two_sided", [False, True])
def test_sign_flips_approximate_the_share_of_all_signs(two_sided: bool) -> None:
    rows = np.array(
        [[1, 1, 1, 1, 1, 1, 1, 1], [2, 0, 0, 1, 0, 3, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0]], np.float64
    )
    signs = np.array(list(product((-1, 1), repeat=8)))
    length = np.sqrt((rows**2).sum(axis=1))
    every = np.divide(signs @ rows.T, length, out=np.zeros((256, 3)), where=length > 0)
    highest = np.abs(every).max(axis=1) if two_sided else every.max(axis=1)
    flips = Flips(8, 20_000, two_sided=two_sided)
    statistics = flips.statistics(rows)
    exact = [float((highest >= statistic - 1e-9).mean()) for statistic in statistics]
    assert flips.p_values(statistics, flips.maxima([rows])) == pytest.approx(exact, abs=0.01)
    assert exact[0] == (2 if two_sided else 1) / 256  # only ties reach it
    assert flips.p_values(statistics, flips.maxima([rows]))[0] == pytest.approx(exact[0], rel=0.4)


def test_the_highest_statistic_does_not_depend_on_the_division_into_blocks() -> None:
    rows = np.random.default_rng(3).standard_normal((40, 1500))
    rows[20:] = rows[:20]  # as likely to be the highest
    flips = Flips(1500, 700, seed=5, two_sided=True)
    whole = flips.maxima([rows])
    assert whole.tobytes() == flips.maxima([rows[:7], rows[7:8], rows[8:]]).tobytes()
    assert whole.tobytes() == flips.maxima([rows[:20]]).tobytes()
    assert whole.tobytes() == flips.maxima([np.repeat(rows[:20], 9, axis=0)]).tobytes()
    assert float(np.median(whole)) > 1 and flips.critical(whole, 0.05) == np.sort(whole)[665]


@pytest.mark.parametrize("largest", [3, 40_000])  # sums below and above the exact range of single precision
def test_sums_over_flips_are_exact_and_use_the_signs_of_the_highest_statistic(largest: int) -> None:
    counts = np.random.default_rng(4).integers(0, largest, (1500, 6)).astype(np.int32)
    flips = Flips(1500, 700, seed=5)
    sums = np.concatenate(list(flips.sums(counts)))
    each = np.concatenate(list(flips.sums(np.eye(1500, dtype=np.int32))))
    assert sums.shape == (700, 6) and set(np.unique(each)) == {-1.0, 1.0}
    assert (sums == each.astype(np.int64) @ counts.astype(np.int64)).all()
    statistics = sums / np.sqrt((counts.astype(np.float64) ** 2).sum(axis=0))
    assert flips.maxima([counts.T.astype(np.float64)]) == pytest.approx(statistics.max(axis=1), abs=1e-9)


def test_a_statistic_that_no_flip_reaches_has_the_smallest_possible_p() -> None:
    flips = Flips(60, 100)
    rows = np.ones((1, 60))
    assert flips.p_values(flips.statistics(rows), flips.maxima([rows])).tolist() == [1 / 101]


def test_only_distinct_differences_are_kept_and_every_column_finds_its_own() -> None:
    generator = np.random.default_rng(4)
    matrices = [generator.integers(0, 2, (30, 5)) for _ in range(3)]
    matrices[1][:, 3] = matrices[0][:, 3]  # no difference
    matrices[2][:, 4] = matrices[0][:, 4] + matrices[1][:, 2] - matrices[0][:, 2]  # the same difference twice
    for matrix in matrices:
        matrix[7] = 1  # a unit that is equal for all
    order = [3, 0, 4, 1, 2]  # columns may come in any order
    swapping = Swapping.of_columns((at, [matrix[:, at] for matrix in matrices]) for at in order)
    differs = np.any([(matrix != matrices[0]).any(axis=1) for matrix in matrices], axis=0)
    assert not differs[7] and len(swapping.columns) == differs.sum()
    assert swapping.column_index[1, 3] == 0 and swapping.column_index[2, 4] == swapping.column_index[1, 2]
    for system, matrix in enumerate(matrices):
        columns = swapping.columns[:, swapping.column_index[system]]
        assert np.array_equal(columns, (matrix - matrices[0])[differs])


def test_equal_systems_have_nothing_to_swap() -> None:
    counts = np.ones((4, 2))
    swapping = Swapping.of_matrices([counts, counts])
    assert swapping.columns.shape == (0, 1) and not swapping.column_index.any()
