"""Standard errors and intervals of scores and differences, from the jackknife over units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from math import log
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Bools, Floats, Ints, ratio
from spanwise.counts import joint_numbers
from spanwise.scores import Measure, Scores
from spanwise.settings import CONFIDENCE
from spanwise.student import satterthwaite, t_p, t_quantile

FEW_UNITS = 20  # cells in fewer units than this, or carried by as few, are marked
FEW_WITH_ERRORS = 6  # cells whose errors are carried by fewer units than this are marked
NO_SPREAD = 1e-12  # standard errors below this count as 0
BLOCK = 2_000_000  # jackknife values in memory at once
NOT_RATIOS = ("averages", "gains")  # scorers whose scores are not ratios of sums over units
LEAST_P = 1e-99  # no p-value over runs is smaller
HALVINGS = 52  # of the range in which log p lies
POWER = 0.8  # the probability of finding a difference of the smallest detectable size
LEAST_POOLED = 3  # systems, and runs of each, before their variances over runs are pooled
EQUAL_VARIANCES = 0.25  # the least p of Bartlett's test with which they are pooled


class Jackknife(Struct, frozen=True, eq=False):
    """One score of several cells, the number of units that hold each cell, and delete-one standard errors."""

    value: Floats
    size: Floats  # mentions (the n of Wilson's interval): the denominator, except for leaks
    units: Ints
    error: Floats  # over units; NaN where fewer than two units hold the cell
    freedom: Floats  # degrees of freedom of the error
    training: Floats = np.zeros(())  # the variance that training adds to a mean over runs: s²/R
    runs: int = 1
    # How many equal units would carry the score as evenly, (Σw)²/Σw², and how many its errors, (Σr²)²/Σr⁴.
    carrying: Floats = np.array(np.nan)
    carrying_errors: Floats = np.array(np.nan)

    def interval(self, confidence: float = CONFIDENCE) -> Floats:
        """The interval of each cell (cells × 2): logit-t, or Wilson's interval with t at the edges.

        `logit F ± t·SE / (F(1−F))`. For a mean over R runs, `√(t²·SE² + t²·s²/R)` takes the place of `t·SE`,
        where the second t has R − 1 degrees of freedom. Where F is 0 or 1, or does not vary, it is Wilson's
        interval with t, so that no interval is a point. NaN where fewer than two units hold the cell, or the
        score is undefined.

        Examples:
            >>> ten = Jackknife(np.array([0.8]), np.array([50.0]), np.array([10]), np.array([0.04]),
            ...     np.array([9.0]))
            >>> ten.interval().round(3).tolist()
            [[0.694, 0.876]]
        """
        t = t_quantile(self.freedom, confidence)
        value, reach = self.value, t * self.error
        if self.runs > 1:
            reach = np.sqrt(reach**2 + t_quantile(self.runs - 1, confidence) ** 2 * self.training)
        inside = (value > 0) & (value < 1) & (np.sqrt(self.error**2 + self.training) >= NO_SPREAD)
        f = np.where(inside, value, 0.5)
        reach = ratio(reach, f * (1 - f))
        odds = np.log(f / (1 - f))
        logit = np.stack([_expit(odds - reach), _expit(odds + reach)], axis=-1)
        if inside.all():
            bounds = logit
        else:
            bounds = np.where(inside[..., None], logit, wilson(np.clip(value, 0.0, 1.0), self.size, t))
        defined = (self.units > 1) & ~np.isnan(value)
        return np.where(defined[..., None], bounds, np.nan)

    @property
    def few_carry(self) -> Bools:
        """Whether the score is carried by the equivalent of fewer than 20 units, or of half of its units."""
        return np.asarray((self.carrying < FEW_UNITS) | (self.carrying < self.units / 2))

    @property
    def few_carry_errors(self) -> Bools:
        """Whether the errors are carried by the equivalent of fewer than six units."""
        return np.asarray(self.carrying_errors < FEW_WITH_ERRORS)


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
    Units with equal counts have equal values, so each distinct row is left out only once. Degrees of freedom
    are `max(1, min{n − 1, (Σw)²/Σw² − 1, 2n/(κ − 1)})`, fewer where few units carry the score or its errors:
    w is a unit's denominator, κ = nΣr⁴/(Σr²)², and r what a unit adds to the score. With several runs the
    score, w and r are means over runs, and the variance over runs is kept beside that over units.

    Examples:
        >>> from spanwise.counts import Counts
        >>> from spanwise.scores import MeasureKey
        >>> counts = Counts.of_matrix(["A"], ["gold", "predicted", "correct"],
        ...     np.array([[1, 1, 1], [1, 1, 0], [2, 2, 2]]))
        >>> f1 = jackknife(Measure(MeasureKey("exact"), counts, "exact", (("exact", "overall"),)))["f1"]
        >>> f1.value.tolist(), f1.units.tolist(), f1.error.round(4).tolist(), f1.freedom.round(3).tolist()
        ([0.75], [3], [0.294], [1.667])
    """
    values = [run.values() for run in runs]
    sizes = [run.sizes(run.counts.total.astype(np.float64)) for run in runs]
    edges = [run.edge_sizes(run.counts.total.astype(np.float64)) for run in runs]
    sums = {name: (_PairSums(), _Carried()) for name in values[0]}
    for blocks, times in _joint_blocks(runs):
        left_out = list(map(_left_out, runs, values, blocks))
        mentions = np.mean([rows[..., :2].sum(axis=(1, 2)) for rows in blocks], axis=0)[:, None]
        for name, (of_pairs, carried) in sums.items():
            of_runs = [part[name] for part in left_out]
            deviation, held = _mean_left_out(of_runs)
            of_pairs.add(deviation[None], held[None], times)
            if runs[0].scorer in NOT_RATIOS:
                carried.add(mentions, deviation, held, times)
            else:
                carried.add(*_shares(of_runs, [total[name] for total in sizes]), held, times)
    results = {}
    for name, (of_pairs, carried) in sums.items():
        units = of_pairs.units([0], [0])[0]
        error = of_pairs.error([0], [0], against=False)[0]
        freedom, carrying, errors = carried.freedom(units, ~(error >= NO_SPREAD))
        value, size = values[0][name], np.broadcast_to(edges[0][name], units.shape)
        training: Floats = np.zeros(())
        if len(runs) > 1:
            scores = np.stack([run[name] for run in values])
            value, training = scores.mean(axis=0), _variance_of_mean(scores)[0]
            size = np.mean([np.broadcast_to(run_sizes[name], units.shape) for run_sizes in edges], axis=0)
        results[name] = Jackknife(value, size, units, error, freedom, training, len(runs), carrying, errors)
    return results


LeftOut: TypeAlias = tuple[Floats, Bools, Floats]  # deviation, whether held, size: rows × cells


def _left_out(measure: Measure, full: Scores, rows: Floats) -> dict[str, LeftOut]:
    """F₋ᵢ − F of every score without a unit with these counts, whether the unit holds the cell, and its size.

    All are rows × cells. The deviation is 0 if the unit does not hold the cell, or if the score is
    undefined without it.

    Args:
        full: the scores F over all units.
        rows: the counts of each unit.
    """
    without = measure.score(measure.counts.total.astype(np.float64) - rows, full)
    sizes = measure.sizes(rows, full)
    left_out = {}
    for name, value in full.items():
        holds = np.asarray(sizes[name] > 0)
        difference = without[name] - value
        difference[~holds | np.isnan(difference)] = 0.0
        left_out[name] = difference, holds, sizes[name]
    return left_out


def _mean_left_out(runs: Sequence[LeftOut]) -> tuple[Floats, Bools]:
    """The deviations of a score's mean over runs, and whether a unit holds the cell in any run."""
    if len(runs) == 1:
        return runs[0][:2]
    return np.mean([run[0] for run in runs], axis=0), np.any([run[1] for run in runs], axis=0)


def _shares(runs: Sequence[LeftOut], totals: Sequence[Floats]) -> tuple[Floats, Floats]:
    """What a unit carries of a ratio F = a/b, and what it adds to it: bᵢ and aᵢ − F·bᵢ as shares of b.

    The latter is (F − F₋ᵢ)(b − bᵢ). With several runs, the means over runs.

    Args:
        totals: b of each run.
    """
    weights = [np.nan_to_num(ratio(size, total)) for (_, _, size), total in zip(runs, totals, strict=True)]
    residuals = [deviation * (weight - 1) for (deviation, _, _), weight in zip(runs, weights, strict=True)]
    if len(runs) == 1:
        return weights[0], residuals[0]
    return np.mean(weights, axis=0), np.mean(residuals, axis=0)


class _Carried:
    """Sums over units of powers of what each carries of a score (w) and adds to it (r), block by block."""

    def __init__(self) -> None:
        self.of_weights: Floats = np.zeros(())  # (Σw, Σw²) × cells
        self.of_residuals: Floats = np.zeros(())  # (Σr, …, Σr⁴) × cells

    def add(self, weight: Floats, residual: Floats, held: Bools, times: Ints) -> None:
        """Add what units carry and add (rows × cells), if they hold the cell; each row is `times` units."""
        often = np.where(held, times[:, None], 0).astype(np.float64)
        self.of_weights = self.of_weights + _powers(weight, often, 2)
        self.of_residuals = self.of_residuals + _powers(residual, often, 4)

    def freedom(self, units: Ints, still: Bools) -> tuple[Floats, Floats, Floats]:
        """Degrees of freedom, and how many equal units would carry the score, and its errors, as evenly.

        Args:
            still: the cells whose score does not vary, so that errors say nothing about degrees of freedom.
        """
        number = units.astype(np.float64)
        weight, weight_square = self.of_weights
        s1, s2, s3, s4 = self.of_residuals
        mean = ratio(s1, number)  # 0 for ratios
        square = s2 - mean * s1
        fourth = s4 - 4 * mean * s3 + 6 * mean**2 * s2 - 3 * mean**3 * s1
        errors = np.where(still, np.nan, ratio(square**2, fourth))
        freedom = effective_freedom(number, weight, weight_square, np.where(still, 0.0, square), fourth)
        return np.where(units > 1, freedom, 0.0), ratio(weight**2, weight_square), errors


def _powers(values: Floats, times: Floats, highest: int) -> Floats:
    """Σ over rows of the first powers of values, each as often as given (powers × cells)."""
    sums, power = [], times
    for _ in range(highest):
        power = power * values
        sums.append(power.sum(axis=0))
    return np.stack(sums)


# ---- differences ----------------------------------------------------------------------------


class Differences(Struct, frozen=True, eq=False):
    """First minus second of one score for pairs of systems (pairs × cells), with standard errors."""

    value: Floats
    units: Ints  # that hold the cell for at least one of the two systems
    error: Floats  # over units
    freedom: Floats
    # Over runs: the variances that training adds, and their degrees of freedom, each 2 × pairs × cells.
    training: tuple[Floats, Floats] | None = None

    def interval(self, confidence: float = CONFIDENCE) -> Floats:
        """The difference ± its half-width (pairs × cells × 2); NaN where it does not vary, but is not 0.

        The half-width is `t·SE`; over runs it is the root of `t²·SE² + Σt²·v` over the variances v that
        training adds, where each t has the degrees of freedom of its own variance.
        """
        variances, freedom = self._parts()
        t = t_quantile(np.where(variances > 0, freedom, np.nan), confidence)
        reach = np.sqrt(_sum(np.where(variances > 0, t**2 * variances, 0.0)))
        unknown = np.isnan(self.error) | (self._still() & (np.abs(self.value) > NO_SPREAD))
        reach = np.where(unknown, np.nan, reach)
        return np.stack([self.value - reach, self.value + reach], axis=-1)

    def p(self) -> Floats:
        """The two-sided p-value of no difference; NaN where the difference does not vary.

        It is the α for which the interval with confidence 1 − α ends at 0: the p-value of a t-test, if only
        units vary; over runs it is found by halving the range of log α.
        """
        variances, freedom = self._parts()
        varying, total = variances > 0, _sum(variances)
        only = np.take_along_axis(freedom, varying.argmax(axis=0)[None], axis=0)[0]
        p = t_p(ratio(self.value, np.sqrt(total)), only)
        several = (varying.sum(axis=0) > 1) & ~np.isnan(p)
        if several.any():
            p[several] = _p_of_several(
                np.abs(self.value[several]), variances[:, several], freedom[:, several]
            )
        return p

    def detectable(self, level: float) -> Floats:
        """The smallest difference found four times in five by a test at `level`; NaN where nothing varies.

        `(z + 0.84)·SE`, z at 1 − level/2. Over runs, the root of `(t + 0.84)²·SE² + Σ[c(t + t₀.₈)]²·v` over
        the variances v that training adds, with f degrees of freedom each and c = 1 + 1/(3f).
        """
        from statistics import NormalDist

        normal = NormalDist()
        usual = normal.inv_cdf(POWER)
        if self.training is None:
            found = (normal.inv_cdf(1 - level / 2) + usual) * self.error
        else:
            variances, freedom = self._parts()
            degrees = np.where(variances > 0, freedom, np.nan)
            t, f = t_quantile(degrees, 1 - level), degrees[1:]
            of_training = (1 + 1 / (3 * f)) * (t[1:] + t_quantile(f, 2 * POWER - 1))
            squares = np.concatenate([(t[:1] + usual) ** 2, of_training**2]) * variances
            found = np.sqrt(_sum(np.where(variances > 0, squares, 0.0)))
        return np.where(self._still() | np.isnan(self.error), np.nan, found)

    def _parts(self) -> tuple[Floats, Floats]:
        """All variances and their degrees of freedom, those of units first (parts × pairs × cells)."""
        variances = np.where(self.error < NO_SPREAD, 0.0, self.error**2)[None]
        if self.training is None:
            return variances, self.freedom[None]
        return (
            np.concatenate([variances, self.training[0]]),
            np.concatenate([self.freedom[None], self.training[1]]),
        )

    def _still(self) -> Bools:
        return np.asarray(_sum(self._parts()[0]) == 0)

    def at(self, cells: Sequence[int], number: int) -> Differences:
        """The same differences at positions `cells` of `number` cells; the others are NaN, with no units."""

        def wide(own: Floats) -> Floats:
            result = np.full((*own.shape[:-1], number), np.nan)
            result[..., cells] = own
            return result

        training = None if self.training is None else (wide(self.training[0]), wide(self.training[1]))
        units = np.zeros((len(self.value), number), dtype=np.int64)
        units[:, cells] = self.units
        return Differences(wide(self.value), units, wide(self.error), wide(self.freedom), training)


def _sum(parts: Floats) -> Floats:
    """The sum over the first axis, one part after the other."""
    return np.asarray(reduce(np.add, parts))


def _p_of_several(value: Floats, variances: Floats, freedom: Floats) -> Floats:
    """The α at which the half-width from several variances (parts × values) equals the value."""
    from scipy import special

    degrees = np.where(variances > 0, freedom, 1.0)
    low, high = np.full(value.shape, log(LEAST_P)), np.zeros(value.shape)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        wide = _sum(special.stdtrit(degrees, np.exp(middle) / 2) ** 2 * variances) > value**2
        low, high = np.where(wide, middle, low), np.where(wide, high, middle)
    return np.exp(high)


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
    included, as in `run_parts`; that of three or more systems may be pooled.

    Args:
        systems: the runs of each system, all of the same measure with the same cells; systems that are in
            no pair only take part in pooling.
        shared_seeds: runs at the same position share their seed, and are differenced first.
        cells: the cells to compute, for a measure that scores each cell on its own; others are NaN.
    """
    first = systems[0][0]
    compared = sorted({side for pair in pairs for side in pair})
    tables = [run for side in compared for run in systems[side]]
    if cells is not None:
        systems = [[run.select_paths(list(cells)) for run in runs] for runs in systems]
    ends = np.cumsum([0, *(len(systems[side]) for side in compared)])
    a, b = ([compared.index(pair[side]) for pair in pairs] for side in (0, 1))
    sums = {name: _PairSums() for name in first.tested}
    scores = [[run.values(first.tested) for run in runs] for runs in systems]
    for blocks, times in _joint_blocks(tables, cells):
        left_out = [
            list(map(_left_out, systems[side], scores[side], blocks[begin:end]))
            for side, begin, end in zip(compared, ends[:-1], ends[1:], strict=True)
        ]
        for name, pair_sums in sums.items():
            parts = [_mean_left_out([run[name] for run in runs]) for runs in left_out]
            pair_sums.add(np.stack([part[0] for part in parts]), np.stack([part[1] for part in parts]), times)
    result = {}
    for name, pair_sums in sums.items():
        values = [np.stack([run[name] for run in of_runs]) for of_runs in scores]
        means = np.stack([values[side].mean(axis=0) for side in compared])
        units, error = pair_sums.units(a, b), pair_sums.error(a, b)
        freedom = np.maximum(units - 1, 0).astype(np.float64)
        training = _training(values, pairs, shared_seeds) if over_runs else None
        difference = Differences(means[a] - means[b], units, error, freedom, training)
        result[name] = difference if cells is None else difference.at(cells, len(first.paths))
    return result


def contrast(measure: Measure, score: str, first: int, second: int) -> Differences:
    """The difference between two cells of one measure, such as the gains of two kinds of error (1 × 1)."""
    sums = _PairSums()
    full = measure.values((score,))
    for (rows,), times in _joint_blocks([measure]):
        deviation, held, _ = _left_out(measure, full, rows)[score]
        sides = [deviation[:, [cell]] for cell in (first, second)]
        sums.add(np.stack(sides), np.stack([held[:, [cell]] for cell in (first, second)]), times)
    value = full[score]
    units = sums.units([0], [1])
    freedom = np.maximum(units - 1, 0).astype(np.float64)
    return Differences(np.array([[value[first] - value[second]]]), units, sums.error([0], [1]), freedom)


def _training(
    values: Sequence[Floats], pairs: Sequence[tuple[int, int]], shared_seeds: bool
) -> tuple[Floats, Floats]:
    """The variances that training adds to each pair, and their degrees of freedom (2 × pairs × cells)."""
    pooled = _pooled(values)
    shape = (2, len(pairs), *values[0].shape[1:])
    variances, freedom = np.zeros(shape), np.ones(shape)
    for at, pair in enumerate(pairs):
        for part, (variance, degrees) in enumerate(run_parts(values, pair, shared_seeds, pooled)):
            variances[part, at], freedom[part, at] = variance, degrees
    return variances, freedom


def run_parts(
    values: Sequence[Floats],
    pair: tuple[int, int],
    shared_seeds: bool,
    pooled: tuple[Floats, int] | None = None,
) -> list[tuple[Floats, npt.ArrayLike]]:
    """The variances that training adds to a difference of means over runs, with their degrees of freedom.

    With A = s²/R of one system and B of the other, it is A + B with min{(A+B)²/(A²/(R−1) + B²/(R−1)),
    2(min R − 1)}. Where exactly one of the two has two runs, A and B are kept apart, each with its R − 1.
    With shared seeds it is s²/R of the differences, with R − 1.

    Args:
        values: the scores of every system, runs × cells.
        pooled: the variance over runs of all systems together, NaN where it is not to be used, and its
            degrees of freedom.
    """
    first, second = (values[side] for side in pair)
    if shared_seeds and len(first) == len(second):
        return [_variance_of_mean(first - second)]
    (a, of_first), (b, of_second) = _variance_of_mean(first), _variance_of_mean(second)
    if (of_first == 1) != (of_second == 1):
        return [(a, of_first), (b, of_second)]
    variance, freedom = satterthwaite([(a, of_first), (b, of_second)])
    freedom = np.fmin(freedom, 2.0 * min(of_first, of_second))
    if pooled is not None:
        alike = ~np.isnan(pooled[0])
        variance = np.where(alike, pooled[0] * (1 / len(first) + 1 / len(second)), variance)
        freedom = np.where(alike, float(pooled[1]), freedom)
    return [(variance, freedom)]


def _pooled(values: Sequence[Floats]) -> tuple[Floats, int] | None:
    """The variance over runs of all systems together and its degrees of freedom; None if they are too few.

    NaN where a system does not vary, or where Bartlett's test of equal variances has p < .25.
    """
    if min(len(values), *(len(runs) for runs in values)) < LEAST_POOLED:
        return None
    from scipy import special

    variances = np.stack([_variance(runs) for runs in values])
    freedom = np.array([len(runs) - 1.0 for runs in values])[:, None]
    total = float(freedom.sum())
    pooled = _sum(freedom * variances) / total
    varies = (variances > 0).all(axis=0)
    logs = freedom * np.log(np.where(varies, variances, 1.0))
    statistic = total * np.log(np.where(varies, pooled, 1.0)) - _sum(logs)
    correction = 1 + (float((1 / freedom).sum()) - 1 / total) / (3 * (len(values) - 1))
    p = special.chdtrc(len(values) - 1, np.maximum(statistic / correction, 0.0))
    return np.where(varies & (p >= EQUAL_VARIANCES), pooled, np.nan), int(total)


def _variance_of_mean(values: Floats) -> tuple[Floats, int]:
    return _variance(values) / len(values), len(values) - 1


def _variance(values: Floats) -> Floats:
    """The variance over runs (ddof 1); 0 where it is only rounding error."""
    variance = values.var(axis=0, ddof=1)
    return np.where(variance < NO_SPREAD**2, 0.0, variance)


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


def effective_freedom(
    u: npt.ArrayLike, w: npt.ArrayLike, w2: npt.ArrayLike, r2: npt.ArrayLike, r4: npt.ArrayLike
) -> Floats:
    """Degrees of freedom of an interval over u units: fewer where few of them carry the score or its errors.

    `max(1, min(u − 1, n_eff − 1, 2u / (κ − 1)))`, where `n_eff = (Σw)² / Σw²` for the size w of each unit and
    `κ = u·Σr⁴ / (Σr²)²` for its influence r; the last term is left out where κ ≤ 1 or Σr² is 0.

    Args:
        w: Σw.
        w2: Σw².
        r2: Σr².
        r4: Σr⁴.

    Examples:
        >>> float(effective_freedom(10, 20.0, 40.0, 10.0, 10.0))
        9.0
        >>> float(effective_freedom(10, 20.0, 40.0, 10.0, 50.0))
        5.0
    """
    u, w, w2, r2, r4 = (np.asarray(value, np.float64) for value in (u, w, w2, r2, r4))
    effective = ratio(w * w, w2)
    excess = u * ratio(r4, r2 * r2) - 1
    least = np.fmin(np.fmin(u - 1, effective - 1), np.where(excess > 0, ratio(2 * u, excess), np.inf))
    return np.maximum(least, 1.0)
