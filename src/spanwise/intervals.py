"""Standard errors and intervals of scores and differences, from the jackknife over units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import atan, cos, erfc, exp, lgamma, log1p, nan, pi, sin, sqrt, tan

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Bools, Floats, Ints, ratio
from spanwise.counts import joint_numbers
from spanwise.scores import Measure, Scores
from spanwise.settings import CONFIDENCE

FEW_UNITS = 20  # cells in fewer units than this are marked
NO_SPREAD = 1e-12  # standard errors below this count as 0
BLOCK = 2_000_000  # jackknife values in memory at once
# Degrees of freedom up to which Student's distribution is summed term by term: quantiles, p-values.
SERIES, LONG_SERIES = 60, 5000
NEWTON = 6  # Newton steps from Cornish and Fisher's expansion to Student's quantile


class Jackknife(Struct, frozen=True, eq=False):
    """One score of several cells, the number of units that hold each cell, and delete-one standard errors."""

    value: Floats
    size: Floats  # mentions: the denominator
    units: Ints
    error: Floats  # NaN where fewer than two units hold the cell
    freedom: Floats  # degrees of freedom: units minus one, if there is one run

    def interval(self, confidence: float = CONFIDENCE, *, critical: float | None = None) -> Floats:
        """The interval of each cell (cells × 2): logit-t, or Wilson's interval with t at the edges.

        `logit F ± t·SE / (F(1−F))`, where t has one degree of freedom fewer than units hold the cell.
        Where F is 0 or 1, or does not vary, Wilson's interval with t, so that no interval is a point.
        NaN where fewer than two units hold the cell, or the score is undefined.

        Args:
            critical: used in place of t, for intervals that hold for many cells simultaneously.

        Examples:
            >>> ten = Jackknife(np.array([0.8]), np.array([50.0]), np.array([10]), np.array([0.04]),
            ...     np.array([9.0]))
            >>> ten.interval().round(3).tolist()
            [[0.694, 0.876]]
        """
        t = t_quantile(self.freedom, confidence) if critical is None else np.float64(critical)
        value = self.value
        inside = (value > 0) & (value < 1) & (self.error >= NO_SPREAD)
        f = np.where(inside, value, 0.5)
        reach = t * ratio(self.error, f * (1 - f))
        odds = np.log(f / (1 - f))
        logit = np.stack([_expit(odds - reach), _expit(odds + reach)], axis=-1)
        if inside.all():
            bounds = logit
        else:
            bounds = np.where(inside[..., None], logit, wilson(np.clip(value, 0.0, 1.0), self.size, t))
        defined = (self.units > 1) & ~np.isnan(value)
        return np.where(defined[..., None], bounds, np.nan)


def _expit(odds: Floats) -> Floats:
    limited = np.minimum(np.maximum(odds, -700.0), 700.0)
    return np.asarray(1 / (1 + np.exp(-limited)))


def wilson(share: npt.ArrayLike, size: npt.ArrayLike, t: npt.ArrayLike) -> Floats:
    """Wilson's interval for a proportion of `size`, with t in place of the normal quantile (… × 2).

    Examples:
        >>> wilson(1.0, 20, 1.96).round(3).tolist()
        [0.839, 1.0]
    """
    f, n, t = (np.asarray(value, np.float64) for value in (share, size, t))
    inverse = ratio(1.0, n)
    below = 1 + t * t * inverse
    centre = (f + t * t * inverse / 2) / below
    half = t * np.sqrt(f * (1 - f) * inverse + (t * inverse / 2) ** 2) / below
    # At 0 and 1 one end is the proportion itself, which rounding must not move.
    low = np.where(f <= 0, 0.0, np.maximum(centre - half, 0.0))
    return np.stack([low, np.where(f >= 1, 1.0, np.minimum(centre + half, 1.0))], axis=-1)


def jackknife(*runs: Measure) -> dict[str, Jackknife]:
    """Each score of a measure with its standard errors (one entry per cell), by score name.

    `SE² = (n−1)/n · Σ(F₋ᵢ − mean)²` over the n units that hold the cell, F₋ᵢ the score without unit i.
    Units with equal counts have equal values, so each distinct row is left out only once. With several
    runs the score is the mean over runs, and s²/R is added to the variance (s² over the R runs, ddof 1).

    Examples:
        >>> from spanwise.counts import Counts
        >>> from spanwise.scores import MeasureKey
        >>> counts = Counts.of_matrix(["A"], ["gold", "predicted", "correct"],
        ...     np.array([[1, 1, 1], [1, 1, 0], [2, 2, 2]]))
        >>> f1 = jackknife(Measure(MeasureKey("exact"), counts, "exact", (("exact", "overall"),)))["f1"]
        >>> f1.value.tolist(), f1.units.tolist(), f1.error.round(4).tolist()
        ([0.75], [3], [0.294])
    """
    values = [run.values() for run in runs]
    sums = {name: _PairSums() for name in values[0]}
    for blocks, times in _joint_blocks(runs):
        for name, (deviation, held) in _mean_deviations(runs, values, blocks).items():
            sums[name].add(deviation[None], held[None], times)
    sizes = [run.sizes(run.counts.total.astype(np.float64)) for run in runs]
    results = {}
    for name, pair_sums in sums.items():
        units = pair_sums.units([0], [0])[0]
        error, freedom = (
            pair_sums.error([0], [0], against=False)[0],
            np.maximum(units - 1, 0).astype(np.float64),
        )
        value, size = values[0][name], np.broadcast_to(sizes[0][name], units.shape)
        if len(runs) > 1:
            of_runs = np.stack([run[name] for run in values])
            variance, freedom = satterthwaite([(error**2, freedom), _variance_of_mean(of_runs)])
            error = np.sqrt(variance)
            size = np.mean([np.broadcast_to(run_sizes[name], units.shape) for run_sizes in sizes], axis=0)
            value = of_runs.mean(axis=0)
        results[name] = Jackknife(value, size, units, error, freedom)
    return results


def _mean_deviations(
    runs: Sequence[Measure], values: Sequence[Scores], blocks: Sequence[Floats]
) -> dict[str, tuple[Floats, Bools]]:
    """The deviations of each score's mean over runs, and whether a unit holds the cell in any run."""
    deviations = list(map(_deviations, runs, values, blocks))
    if len(deviations) == 1:
        return deviations[0]
    return {
        name: (
            np.mean([deviation[name][0] for deviation in deviations], axis=0),
            np.any([deviation[name][1] for deviation in deviations], axis=0),
        )
        for name in deviations[0]
    }


def _deviations(measure: Measure, full: Scores, rows: Floats) -> dict[str, tuple[Floats, Bools]]:
    """F₋ᵢ − F of every score if a unit with these counts is left out, and whether the unit holds the cell.

    Both are rows × cells. The deviation is 0 if the unit does not hold the cell, or if the score is
    undefined without it.

    Args:
        full: the scores F over all units.
        rows: the counts of each unit.
    """
    without = measure.score(measure.counts.total.astype(np.float64) - rows, full)
    sizes = measure.sizes(rows, full)
    deviations = {}
    for name, value in full.items():
        holds = np.asarray(sizes[name] > 0)
        difference = without[name] - value
        difference[~holds | np.isnan(difference)] = 0.0
        deviations[name] = difference, holds
    return deviations


# ---- differences ----------------------------------------------------------------------------


class Differences(Struct, frozen=True, eq=False):
    """First minus second of one score for pairs of systems (pairs × cells), with standard errors."""

    value: Floats
    units: Ints  # that hold the cell for at least one of the two systems
    error: Floats
    freedom: Floats

    def interval(self, confidence: float = CONFIDENCE) -> Floats:
        """`difference ± t·SE` (pairs × cells × 2); NaN where SE is 0 but the difference is not."""
        still = (self.error < NO_SPREAD) & (np.abs(self.value) > NO_SPREAD)
        reach = (
            np.where(still, np.nan, t_quantile(np.where(still, np.nan, self.freedom), confidence))
            * self.error
        )
        reach = np.where((self.error < NO_SPREAD) & ~still, 0.0, reach)
        return np.stack([self.value - reach, self.value + reach], axis=-1)

    def at(self, cells: Sequence[int], number: int) -> Differences:
        """The same differences at positions `cells` of `number` cells; the others are NaN, with no units."""
        value, error, freedom = (np.full((len(self.value), number), np.nan) for _ in range(3))
        units = np.zeros((len(self.value), number), dtype=np.int64)
        for wide, own in (
            (value, self.value),
            (error, self.error),
            (freedom, self.freedom),
            (units, self.units),
        ):
            wide[:, cells] = own
        return Differences(value, units, error, freedom)

    def p(self) -> Floats:
        """The two-sided p-value of the t-test against no difference; NaN where SE is 0."""
        return t_p(ratio(self.value, np.where(self.error < NO_SPREAD, 0.0, self.error)), self.freedom)


def differences(
    systems: Sequence[Sequence[Measure]],
    pairs: Sequence[tuple[int, int]],
    *,
    over_runs: bool = False,
    shared_seeds: bool = False,
    cells: Sequence[int] | None = None,
) -> dict[str, Differences]:
    """The difference between systems in every tested score, averaged over the runs of each system.

    The variance is that of the jackknife over units. With `over_runs` the variance due to training is
    included: s²/R of each system is added (s² over its R runs, ddof 1), with Satterthwaite's degrees of
    freedom; runs with `shared_seeds` are differenced first, in their order.

    Args:
        systems: the runs of each system, all of the same measure with the same cells.
        cells: the cells to compute, for a measure that scores each cell on its own; others are NaN.
    """
    first = systems[0][0]
    tables = [run for runs in systems for run in runs]
    if cells is not None:
        systems = [[run.select_paths(list(cells)) for run in runs] for runs in systems]
    ends = np.cumsum([0, *(len(runs) for runs in systems)])
    a, b = ([pair[side] for pair in pairs] for side in (0, 1))
    sums = {name: _PairSums() for name in first.tested}
    scores = [[run.values(first.tested) for run in runs] for runs in systems]
    for blocks, times in _joint_blocks(tables, cells):
        results = [
            _mean_deviations(runs, of_runs, blocks[begin:end])
            for runs, of_runs, begin, end in zip(systems, scores, ends[:-1], ends[1:], strict=True)
        ]
        for name, pair_sums in sums.items():
            pair_sums.add(
                np.stack([part[name][0] for part in results]),
                np.stack([part[name][1] for part in results]),
                times,
            )
    result = {}
    for name, pair_sums in sums.items():
        values = [np.stack([run[name] for run in of_runs]) for of_runs in scores]
        means = np.stack([of_runs.mean(axis=0) for of_runs in values])
        units, error = pair_sums.units(a, b), pair_sums.error(a, b)
        freedom = np.maximum(units - 1, 0).astype(np.float64)
        if over_runs:
            for at, pair in enumerate(pairs):
                parts = [(error[at] ** 2, freedom[at]), *run_parts(values, pair, shared_seeds)]
                variance, freedom[at] = satterthwaite(parts)
                error[at] = np.sqrt(variance)
        difference = Differences(means[a] - means[b], units, error, freedom)
        result[name] = difference if cells is None else difference.at(cells, len(first.paths))
    return result


def contrast(measure: Measure, score: str, first: int, second: int) -> Differences:
    """The difference between two cells of one measure, such as the gains of two kinds of error (1 × 1)."""
    sums = _PairSums()
    full = measure.values((score,))
    for (rows,), times in _joint_blocks([measure]):
        deviation, held = _deviations(measure, full, rows)[score]
        sides = [deviation[:, [cell]] for cell in (first, second)]
        sums.add(np.stack(sides), np.stack([held[:, [cell]] for cell in (first, second)]), times)
    value = full[score]
    units = sums.units([0], [1])
    freedom = np.maximum(units - 1, 0).astype(np.float64)
    return Differences(np.array([[value[first] - value[second]]]), units, sums.error([0], [1]), freedom)


def run_parts(
    values: Sequence[Floats], pair: tuple[int, int], shared_seeds: bool
) -> list[tuple[Floats, int]]:
    """The variance that training adds to a difference of means, with its degrees of freedom."""
    first, second = (values[side] for side in pair)
    if shared_seeds and len(first) == len(second):
        return [_variance_of_mean(first - second)]
    return [_variance_of_mean(first), _variance_of_mean(second)]


def _variance_of_mean(values: Floats) -> tuple[Floats, int]:
    return values.var(axis=0, ddof=1) / len(values), len(values) - 1


def _products(first: Floats, second: Floats) -> Floats:
    """Σ over rows of the products of two systems' values (systems × rows × cells): cells × systems × systems.

    Uses einsum, since BLAS sums in an order that depends on its threads.
    """
    systems, _, cells = first.shape
    result = np.empty((cells, systems, systems))
    for a in range(systems):
        for b in range(a, systems):
            result[:, a, b] = result[:, b, a] = np.einsum("rc,rc->c", first[a], second[b])
    return result


class _PairSums:
    """Sums over units of the products of two systems' deviations, accumulated block by block."""

    def __init__(self) -> None:
        self.sum: Floats = np.zeros(())  # systems × cells
        self.product: Floats = np.zeros(())  # cells × systems × systems
        # Units that hold the cell for neither system: cells × systems × systems.
        self.neither: Floats = np.zeros(())
        self.number = 0

    def add(self, deviation: Floats, held: Bools, times: Ints) -> None:
        """Add deviations, and which cells are held (systems × rows × cells); each row is `times` units."""
        weighted = deviation * times[:, None]
        self.sum = self.sum + weighted.sum(axis=1)
        self.product = self.product + _products(weighted, deviation)
        lacks = (~held).astype(np.float64)
        self.neither = self.neither + _products(lacks * times[:, None], lacks)
        self.number += int(times.sum())

    def units(self, first: Sequence[int], second: Sequence[int]) -> Ints:
        """How many units hold a cell for at least one of two systems (pairs × cells)."""
        return np.asarray(self.number - np.rint(self.neither[:, first, second].T), np.int64)

    def error(self, first: Sequence[int], second: Sequence[int], *, against: bool = True) -> Floats:
        """The standard error of first minus second, or of the first if not `against` (pairs × cells)."""
        units = self.units(first, second)
        own = np.einsum("caa->ac", self.product)
        if not against:
            return _error(own[first], self.sum[first], units)
        square = own[first] + own[second] - 2 * self.product[:, first, second].T
        square = np.where(square < 1e-12 * (own[first] + own[second]), 0.0, square)
        return _error(square, self.sum[first] - self.sum[second], units)


def _error(square: Floats, total: Floats, units: Ints) -> Floats:
    """The jackknife standard error from Σd², Σd and the number of units; NaN with fewer than two units."""
    number = units.astype(np.float64)
    spread = np.maximum(square - ratio(total**2, number), 0.0)
    spread = np.where(spread < 1e-13 * square, 0.0, spread)  # the remainder is rounding error
    return np.where(number > 1, np.sqrt(spread * ratio(number - 1, number)), np.nan)


def _joint_blocks(
    tables: Sequence[Measure], selected: Sequence[int] | None = None
) -> Iterator[tuple[list[Floats], Ints]]:
    """Combinations of the tables' distinct rows (one array per table), and how many units have each.

    With `selected` the arrays have only those cells; rows stay the same, so sums have the same bits.
    """
    counts = [table.counts for table in tables]
    cells, columns = len(counts[0].cells), len(counts[0].columns)
    if len(counts) == 1:
        distinct, times = np.arange(len(counts[0].rows), dtype=np.int32)[:, None], counts[0].times
    else:
        distinct, times = joint_numbers(counts)
    step = max(1, BLOCK // max(cells * columns * len(tables), 1))
    cell_rows = [count.rows if selected is None else count.select_cells(selected).rows for count in counts]
    for at in range(0, max(len(distinct), 1), step):
        chosen = distinct[at : at + step]
        yield (
            [
                rows.take(chosen[:, index], axis=0).astype(np.float64).reshape(len(chosen), -1, columns)
                for index, rows in enumerate(cell_rows)
            ],
            times[at : at + step],
        )


# ---- Student's t ----------------------------------------------------------------------------


def t_quantile(freedom: npt.ArrayLike, confidence: float = CONFIDENCE) -> Floats:
    """The two-sided quantile of Student's t, which lies within ± this value with the given probability.

    NaN below one degree of freedom. Computed without SciPy, since every interval needs it and SciPy
    takes longer to load than most evaluations.

    Examples:
        >>> t_quantile([1, 10, 100]).round(3).tolist()
        [12.706, 2.228, 1.984]
    """
    requested = np.asarray(freedom, np.float64)
    values = [
        _t_quantile(value, confidence) if value >= 1 else nan for value in requested.reshape(-1).tolist()
    ]
    return np.array(values, np.float64).reshape(requested.shape)


@lru_cache(maxsize=4096)
def _t_quantile(freedom: float, confidence: float) -> float:
    if freedom == 1:
        return tan(pi * confidence / 2)
    if freedom == 2:
        return confidence * sqrt(2 / (1 - confidence * confidence))
    from statistics import NormalDist  # slow to import, and not needed for totals

    z = NormalDist().inv_cdf((1 + confidence) / 2)
    # Cornish and Fisher's expansion; Abramowitz and Stegun 26.7.5.
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    t = z + sum(term / freedom**k for k, term in enumerate(terms, start=1))
    if freedom > SERIES:
        return t
    if freedom != int(freedom):
        from scipy import special

        return float(special.stdtrit(freedom, (1 + confidence) / 2))
    scale = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(pi * freedom)
    for _ in range(NEWTON):  # the starting value is already close
        density = scale * (1 + t * t / freedom) ** (-(freedom + 1) / 2)
        t -= (_t_within(t, int(freedom)) - confidence) / (2 * density)
    return t


def _t_within(t: float, freedom: int) -> float:
    """P(|T| < t) of Student's T; Abramowitz and Stegun 26.7.3 and 26.7.4."""
    angle = atan(t / sqrt(freedom))
    cosine, total = cos(angle), 0.0
    term = cosine if freedom % 2 else 1.0
    for k in range(3 if freedom % 2 else 2, freedom + 1, 2):
        total += term
        term *= cosine * cosine * (k - 1) / k
    return (2 / pi) * (angle + sin(angle) * total) if freedom % 2 else sin(angle) * total


def _t_beyond(t: float, freedom: int) -> float:
    """P(|T| > t) of Student's T with thousands of degrees of freedom: Hill's normal deviate of the same tail.

    Hill (1970), Algorithm 395; beyond 5,000 degrees of freedom the omitted terms are below rounding error.
    """
    a = freedom - 0.5
    b = 48 * a * a
    square = a * log1p(t * t / freedom)
    z = sqrt(square)
    less = ((4 * square + 33) * square + 240) * square + 855
    z += z * (square + 3 - less / (10 * (b + 0.8 * square * square + 100))) / b
    return erfc(z / sqrt(2))


def t_p(t: npt.ArrayLike, freedom: npt.ArrayLike) -> Floats:
    """The two-sided p-value of Student's t.

    Examples:
        >>> t_p(2.228, 10).round(3).tolist()
        0.05
    """
    t, freedom = np.asarray(t, np.float64), np.asarray(freedom, np.float64)
    if t.size == 1 and freedom.size == 1 and not float(freedom.reshape(-1)[0]) % 1:  # SciPy is not needed
        statistic, degrees = abs(float(t.reshape(-1)[0])), int(freedom.reshape(-1)[0])
        if degrees > 0:
            p = (
                max(0.0, 1 - _t_within(statistic, degrees))
                if degrees <= LONG_SERIES
                else _t_beyond(statistic, degrees)
            )
            return np.full(t.shape, p if statistic == statistic else np.nan)
    from scipy import special

    return np.asarray(2 * special.stdtr(freedom, -np.abs(t)))


def satterthwaite(parts: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]) -> tuple[Floats, Floats]:
    """The sum of several variances, each with its degrees of freedom, and the degrees of freedom of the sum.

    `(Σv)² / Σ(v² / freedom)`; variances of 0 are ignored, and the result is NaN if all are 0.

    Examples:
        >>> variance, freedom = satterthwaite([(1.0, 9), (1.0, 4)])
        >>> float(variance), round(float(freedom), 2)
        (2.0, 11.08)
    """
    total = sum((np.asarray(v, np.float64) for v, _ in parts), np.zeros(()))
    below = sum((np.asarray(v, np.float64) ** 2 / np.asarray(f, np.float64) for v, f in parts), np.zeros(()))
    return np.asarray(total), ratio(total**2, below)
