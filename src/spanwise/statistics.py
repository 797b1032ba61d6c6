"""Statistical tests on tables of scores, and corrections for multiple tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import comb, exp, factorial, fsum, isnan, log
from typing import Any

import numpy as np
from msgspec import Struct, UnsetType

from spanwise.columns import Codes, Floats, Ints, Small, plain, ratio
from spanwise.errors import ChoiceError, unknown
from spanwise.settings import CORRECTION

LEVEL = 0.05
SPEARMAN_EXACT = 9  # pairs up to which all 9! = 362,880 orders are enumerated
SPEARMAN_ORDERS, SPEARMAN_BLOCK = 100_000, 2_000_000  # orders drawn above that, ranks drawn at once
FRIEDMAN_EXACT = 200_000  # the most rank sums that are enumerated per block
WILCOXON_EXACT = 25  # pairs up to which all sums of signed ranks are counted


def p_value(p: float | UnsetType | None) -> str:
    """A p-value for display, with at most three decimals.

    Examples:
        >>> p_value(0.0004), p_value(0.0312), p_value(0.25), p_value(1.0), p_value(None)
        ('< 0.001', '0.031', '0.25', '1', 'n/a')
    """
    if p is None or isinstance(p, UnsetType) or isnan(p):
        return "n/a"
    if p < 0.001:
        return "< 0.001"
    if p < 0.1:
        return f"{p:.3f}"
    return "1" if p > 0.995 else f"{p:.2f}"


def format_p(p: float | None) -> str:
    """A p-value as part of a sentence.

    Examples:
        >>> format_p(0.0004), format_p(0.0312)
        ('p < 0.001', 'p = 0.031')
    """
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


class Test(Struct, frozen=True):
    """The result of a test, how its p-value was computed, and the smallest p-value it could have reached.

    `size` is the number of blocks, pairs or buckets that were used. `note` explains a test that is
    undefined, or that cannot reach its level because these are too few.
    """

    __test__ = False  # tells pytest that this class is not a test case

    statistic: float
    p: float
    size: int
    method: str
    least: float = 0.0
    note: str = ""

    def to_dict(self, size: str = "size") -> dict[str, Any]:
        """The test as plain values, with None for undefined ones; `size` is the key of the size."""
        return {
            "statistic": plain(self.statistic),
            "p": plain(self.p),
            size: self.size,
            "method": self.method,
            "least": plain(self.least),
            "note": self.note,
        }


def _undefined(size: int, why: str) -> Test:
    return Test(np.nan, np.nan, size, "n/a", np.nan, why)


def _floor_note(least: float, level: float, what: str) -> str:
    if least < level:
        return ""
    return f"cannot reach p < {level:g}: on {what} p is at least {least:.3g}"


def _pairs(first: Iterable[object], second: Iterable[object]) -> tuple[Floats, Floats]:
    x, y = np.array(list(first), np.float64), np.array(list(second), np.float64)
    if x.shape != y.shape:
        raise ChoiceError(
            f"a paired test needs the same number of values on both sides, not {x.size} and {y.size}.\n"
            "Give one value of each side for every pair."
        )
    defined = ~(np.isnan(x) | np.isnan(y))
    return x[defined], y[defined]


def ranks(values: object) -> Floats:
    """Ranks from 1, ties sharing their mean rank.

    Examples:
        >>> ranks([3.0, 1.0, 3.0]).tolist()
        [2.5, 1.0, 2.5]
    """
    column = np.asarray(values, np.float64)
    ascending = np.sort(column)
    return np.asarray(
        (ascending.searchsorted(column, "left") + ascending.searchsorted(column, "right") + 1) / 2
    )


# ---- Spearman -------------------------------------------------------------------------------


def rank_correlation(first: Iterable[object], second: Iterable[object]) -> float:
    """Spearman's ρ: the correlation of the ranks; pairs with an undefined value are left out.

    Returns:
        NaN with fewer than three pairs or where one side is constant.

    Examples:
        >>> rank_correlation([0, 1, 2, 3], [0.9, 0.8, 0.85, 0.1])
        -0.8
    """
    x, y = _pairs(first, second)
    if x.size < 3:
        return float("nan")
    a, b = _centred(x), _centred(y)
    spread = float((a * a).sum()) * float((b * b).sum())
    return float((a * b).sum() / np.sqrt(spread)) if spread else float("nan")


def _centred(values: Floats) -> Ints:
    """Twice the centred ranks: whole numbers, so that sums of products compare exactly."""
    return np.asarray(np.rint(2 * ranks(values)) - (values.size + 1), np.int64)


def spearman(first: Iterable[object], second: Iterable[object], *, level: float = LEVEL) -> Test:
    """Spearman's rank correlation and its two-sided p-value.

    With up to nine pairs, p is the share of all orders of one side (ties kept) whose |ρ| is at least the
    observed one; with more, it is (1 + count) / (1 + 100,000) among 100,000 random orders, always the same.

    Examples:
        >>> test = spearman([1, 2, 3, 4], [0.1, 0.2, 0.3, 0.4])
        >>> test.statistic, round(test.p, 3), test.note
        (1.0, 0.083, 'cannot reach p < 0.05: on 4 values p is at least 0.0833')
    """
    x, y = _pairs(first, second)
    rho = rank_correlation(x, y)
    if np.isnan(rho):
        return _undefined(x.size, "needs three values that are not all equal")
    a, b = _centred(x), _centred(y)
    if x.size > SPEARMAN_EXACT:
        reached = _reaching_orders(a, b)
        p, least = ((1 + count) / (1 + SPEARMAN_ORDERS) for count in (reached, 0))
        return Test(rho, p, x.size, f"{SPEARMAN_ORDERS:,} permutations", least)
    sums = np.abs(b.astype(np.int32)[_orders(x.size)] @ a.astype(np.int32))
    p, least = (float(np.mean(sums >= bound)) for bound in (abs(int(a @ b)), int(sums.max())))
    return Test(rho, p, x.size, "exact", least, _floor_note(least, level, f"{x.size} values"))


def _reaching_orders(first: Ints, second: Ints) -> int:
    """How many random orders of the second ranks have at least the observed |Σ products| with the first."""
    reached, bound = 0, abs(int(first @ second))
    weights, ranked = first.astype(np.float64), second.astype(np.float64)  # sums of whole numbers are exact
    step = max(1, SPEARMAN_BLOCK // second.size)
    for at in range(0, SPEARMAN_ORDERS, step):
        orders = _drawn_orders(second.size, at, min(step, SPEARMAN_ORDERS - at))
        reached += int((np.abs(ranked[orders] @ weights) >= bound).sum())
    return reached


@lru_cache(maxsize=4)
def _drawn_orders(size: int, first: int, number: int) -> Codes:
    """The random orders of so many values from the first on; kept, since buckets are often equally many."""
    orders = np.tile(np.arange(size, dtype=np.int32), (number, 1))
    return np.random.default_rng([size, first]).permuted(orders, axis=1, out=orders)


@lru_cache(maxsize=SPEARMAN_EXACT)
def _orders(size: int) -> Small:
    orders = np.zeros((1, 1), np.int8)
    for number in range(1, size):  # insert the next number at every position of every order so far
        orders = np.concatenate([np.insert(orders, at, number, axis=1) for at in range(number + 1)])
    orders.flags.writeable = False
    return orders


# ---- Friedman -------------------------------------------------------------------------------


def friedman(
    blocks: Sequence[Sequence[float]] | Floats,
    *,
    level: float = LEVEL,
    exact: bool = True,
    of: str = "bucket",
) -> Test:
    """Friedman's test of whether the columns (buckets, systems) score alike over rows (blocks).

    In small designs p is counted over all orders of the ranks within each block (ties kept); in
    larger ones, or if not `exact`, it comes from χ². All scores of a block must be defined;
    `complete_blocks` selects such blocks. The test is undefined with fewer than three columns,
    without blocks, or if every block is constant. `of` is what messages call a column.

    Examples:
        >>> test = friedman([[1, 2, 3], [1, 3, 2], [1, 2, 3], [1, 2, 3]])
        >>> test.statistic, round(test.p, 3), test.size
        (6.5, 0.042, 4)
    """
    table = np.asarray(blocks, np.float64)
    rows = table.shape[0]
    if table.ndim != 2 or not rows:
        return _undefined(rows, f"no block in which every {of} has a score")
    columns = table.shape[1]
    if columns < 3:
        return _undefined(rows, f"needs three {of}s, not {columns}")
    if np.isnan(table).any():
        raise ChoiceError(
            "Friedman's test takes blocks in which every score is defined.\nLeave the others out first."
        )
    from scipy import stats

    # The same sums of squares as in SciPy, but from the ranks of all rows at once.
    ranked = np.array([ranks(row) for row in table])
    ties = sum(int(n) ** 3 - int(n) for row in table for n in np.unique(row, return_counts=True)[1])
    correction = 1 - ties / (columns * (columns * columns - 1) * rows)
    if not correction:
        return _undefined(rows, "all scores of every block are equal")
    total = float((ranked.sum(axis=0) ** 2).sum())
    statistic = (12 / (columns * rows * (columns + 1)) * total - 3 * rows * (columns + 1)) / correction
    design = f"{rows} block{'s'[: rows > 1]} of {columns} {of}s"
    counted = _rank_sums(ranked) if exact else None
    if counted is not None:
        squares, ways = counted
        shares = [float(ways[squares >= bound - 1e-9].sum() / ways.sum()) for bound in (total, squares.max())]
        return Test(statistic, shares[0], rows, "exact", shares[1], _floor_note(shares[1], level, design))
    least = float(stats.chi2.sf(rows * (columns - 1), columns - 1))
    note = _floor_note(least, level, design)
    return Test(statistic, float(stats.chi2.sf(statistic, columns - 1)), rows, "chi-square", least, note)


def _rank_sums(ranked: Floats) -> tuple[Floats, Floats] | None:
    """Σ(rank sum of a column)² for all orders within blocks, and the ways to reach each; None: too many."""
    columns = ranked.shape[1]
    if columns > 6:
        return None
    orders = _orders(columns)
    sums, ways = np.rint(2 * ranked[:1]), np.ones(1)  # by symmetry the first block can keep its order
    for row in np.rint(2 * ranked[1:]):
        if len(sums) * len(orders) > FRIEDMAN_EXACT:
            return None
        extended = (sums[:, None] + row[orders][None]).reshape(-1, columns)
        # It does not matter which column has which sum, so sums are stored in ascending order.
        sums, number = np.unique(np.sort(extended, axis=1), axis=0, return_inverse=True)
        ways = np.asarray(np.bincount(number.reshape(-1), np.repeat(ways, len(orders))), np.float64)
    return (sums**2).sum(axis=1) / 4, ways


def complete_blocks(
    blocks: Iterable[tuple[str, Sequence[float]]],
) -> tuple[list[list[float]], list[str]]:
    """The blocks that Friedman's test can use, and the names of those left out.

    A block is used if every bucket is defined and it has the most common number of buckets (the larger
    number if two are equally common).

    Examples:
        >>> complete_blocks([("a", [1.0, 2.0]), ("b", [1.0]), ("c", [float("nan"), 1.0])])
        ([[1.0, 2.0]], ['b', 'c'])
    """
    named = [(name, [float(value) for value in values]) for name, values in blocks]
    sizes = [len(values) for _, values in named if not np.isnan(values).any()]
    size = max(set(sizes), key=lambda n: (sizes.count(n), n)) if sizes else -1
    usable = [len(values) == size and not np.isnan(values).any() for _, values in named]
    pairs = list(zip(named, usable, strict=True))
    return [values for (_, values), use in pairs if use], [name for (name, _), use in pairs if not use]


# ---- Wilcoxon -------------------------------------------------------------------------------


def wilcoxon(first: Iterable[object], second: Iterable[object], *, level: float = LEVEL) -> Test:
    """Wilcoxon's signed-rank test of paired scores, two-sided; zero differences are dropped.

    The statistic is the smaller of the two sums of signed ranks. With up to 25 pairs, p is counted
    over all ways to sign the ranks (ties kept); with more, it is SciPy's normal approximation.

    Examples:
        >>> test = wilcoxon([1, 2, 3, 4, 5.5], [0, 0, 0, 0, 0])
        >>> test.statistic, test.p, test.note
        (0.0, 0.0625, 'cannot reach p < 0.05: on 5 pairs p is at least 0.0625')
    """
    x, y = _pairs(first, second)
    difference = x - y
    # Rounding must not break ties: 0.3 - 0.1 is the same difference as 0.2 - 0.
    difference = np.round(difference, 12)
    difference = difference[difference != 0]
    size = difference.size
    if not size:
        return _undefined(0, "no pair differs" if x.size else "no pairs")
    doubled = np.asarray(np.rint(2 * ranks(np.abs(difference))), np.int64)
    positive = int(doubled[difference > 0].sum())
    smaller = min(positive, int(doubled.sum()) - positive)
    if size > WILCOXON_EXACT:
        from scipy import stats

        result = stats.wilcoxon(difference, zero_method="wilcox", correction=False, method="approx")
        return Test(smaller / 2, float(result.pvalue), size, "normal")
    ways = _ways(doubled.tolist())
    p = min(1.0, 2 * int(ways[: smaller + 1].sum()) / 2**size)
    least = min(1.0, 2 / 2**size)
    note = _floor_note(least, level, f"{size} pair{'s'[: size > 1]}")
    return Test(smaller / 2, p, size, "exact", least, note)


def _ways(doubled: Sequence[int]) -> Ints:
    """How many choices of signs give each sum of positive (doubled) ranks."""
    ways = np.zeros(sum(doubled) + 1, np.int64)
    ways[0] = 1
    for rank in doubled:
        ways[rank:] += ways[: ways.size - rank].copy()
    return ways


def sign_test(wins: int, losses: int, *, level: float = LEVEL) -> Test:
    """The exact two-sided sign test of `wins` against `losses`; ties are not counted.

    Examples:
        >>> sign_test(6, 0).p
        0.03125
    """
    size = wins + losses
    if not size:
        return _undefined(0, "no pair differs")
    tail = sum(comb(size, k) for k in range(min(wins, losses) + 1))
    least = min(1.0, 2 / 2**size)
    note = _floor_note(least, level, f"{size} pair{'s'[: size > 1]}")
    return Test(float(wins), min(1.0, 2 * tail / 2**size), size, "exact", least, note)


# ---- corrections ----------------------------------------------------------------------------


def holm(p_values: object) -> Floats:
    """Holm's step-down correction, which controls the family-wise error rate; NaN is kept and not counted.

    The k-th smallest of m p-values is multiplied by m − k + 1, then raised to at least those
    before it, and capped at 1.

    Examples:
        >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
        [0.03, 0.06, 0.06]
    """

    def steps(ordered: Floats) -> Floats:
        return np.maximum.accumulate(ordered * np.arange(ordered.size, 0, -1))

    return _corrected(p_values, steps)


def bh(p_values: object) -> Floats:
    """Benjamini and Hochberg's control of the false discovery rate; NaN is kept and not counted.

    The k-th smallest of m p-values is multiplied by m / k, then lowered to at most those after it,
    and capped at 1. The result is that of `scipy.stats.false_discovery_control`, which does not
    support NaN and takes longer to import than most evaluations.

    Examples:
        >>> bh([0.01, 0.04, 0.03]).round(2).tolist()
        [0.03, 0.04, 0.04]
    """

    def steps(ordered: Floats) -> Floats:
        scaled = ordered * (ordered.size / np.arange(1, ordered.size + 1))
        return np.asarray(np.minimum.accumulate(scaled[::-1])[::-1])

    return _corrected(p_values, steps)


def _corrected(p_values: object, steps: Callable[[Floats], Floats]) -> Floats:
    result = np.array(p_values, np.float64, order="C")  # columns selected by a mask are in Fortran order
    flat = result.reshape(-1)  # a view, since the array is in C order
    defined = np.flatnonzero(~np.isnan(flat))
    if defined.size:
        order = defined[np.argsort(flat[defined], kind="stable")]
        flat[order] = np.minimum(steps(flat[order]), 1.0)
    return result


def levels(p_values: object, level: float = LEVEL, correction: str = CORRECTION) -> Floats:
    """The level that each uncorrected p-value is compared with under a correction; NaN is kept.

    Examples:
        >>> levels([0.01, 0.04, 0.03]).round(4).tolist()
        [0.0167, 0.05, 0.025]
    """
    result = np.array(p_values, np.float64)
    defined = np.flatnonzero(~np.isnan(result))
    order = defined[np.argsort(result[defined], kind="stable")]
    rank = np.arange(order.size)
    result[order] = (
        level * (rank + 1) / max(order.size, 1) if correction == "bh" else level / (order.size - rank)
    )
    return result


def fisher(p_values: Iterable[float]) -> float:
    """Fisher's combination of independent p-values: −2 Σ ln p is χ² with two degrees of freedom each.

    Undefined p-values are ignored; the result is NaN if none is left.

    Examples:
        >>> round(fisher([0.05, 0.05]), 4)
        0.0175
    """
    defined = [p for p in p_values if p == p]
    if not defined:
        return float("nan")
    # The tail of χ² with an even number of degrees of freedom is a finite sum.
    half = -fsum(log(p) for p in defined)
    return min(1.0, exp(-half) * fsum(half**k / factorial(k) for k in range(len(defined))))


class ExpectedLosses(Struct, frozen=True, eq=False):
    """The losses to expect in each slice, given the overall share of losses.

    `r = (K_dS − p·N_dS) − (n_S / n)(K_d − p·N_d)`, where K are losses, N items, and p is the share of
    losses among all items. Over all units r adds up to the slice's losses beyond p · n_S. It is linear in
    the counts, so r can be computed from sums over units, whatever their signs.
    """

    share: Floats  # of losses among all items
    part: Floats  # of all items that are in each slice

    @classmethod
    def of(cls, items: object, all_losses: object, all_items: object) -> ExpectedLosses:
        """Compute them from totals over all units: the items of each slice, all losses and all items."""
        item_total = np.asarray(all_items, np.float64)
        return cls(ratio(all_losses, item_total), ratio(items, item_total))

    def excess(self, losses: Floats, items: Floats, all_losses: Floats, all_items: Floats) -> Floats:
        """By how much the losses in slices (… × slices) exceed the expected ones."""
        return np.asarray((losses - self.share * items) - (all_losses - self.share * all_items) * self.part)


def excess_losses(losses: object, items: object, all_losses: object, all_items: object) -> Floats:
    """By how much each unit's losses in each slice exceed those expected from the overall share.

    Args:
        losses, items: units × slices.
        all_losses, all_items: one value per unit, inside and outside of slices.

    Examples:
        >>> excess_losses([[2], [0]], [[2], [2]], [2, 1], [4, 4]).round(3).tolist()
        [[1.0], [-0.5]]
    """
    slice_losses, slice_items = np.asarray(losses, np.float64), np.asarray(items, np.float64)
    unit_losses, unit_items = np.asarray(all_losses, np.float64), np.asarray(all_items, np.float64)
    expected = ExpectedLosses.of(slice_items.sum(axis=0), unit_losses.sum(), unit_items.sum())
    return expected.excess(slice_losses, slice_items, unit_losses[:, None], unit_items[:, None])


CORRECTIONS = {"holm": holm, "bh": bh}


def correct(p_values: object, correction: str = CORRECTION) -> Floats:
    """The p-values of one family, corrected by the given method: "holm" or "bh".

    Examples:
        >>> correct([0.01, 0.04], "holm").tolist(), correct([0.01, 0.04], "bh").tolist()
        ([0.02, 0.04], [0.02, 0.04])
    """
    if correction not in CORRECTIONS:
        raise unknown("correction", correction, CORRECTIONS)
    return CORRECTIONS[correction](p_values)
