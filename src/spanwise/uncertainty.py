"""Randomisation tests and resampling over units."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil
from typing import TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Bools, Column, Floats, Ints, compact, distinct, ints, on_grid, ratio
from spanwise.counts import Counts, Matrix, distinct_rows, grouped, joint_numbers
from spanwise.hashing import column_digest
from spanwise.settings import CONFIDENCE, CORRECTION
from spanwise.statistics import LEVEL, levels

__all__ = [
    "BLOCK_COUNTS",
    "FEWEST_GROUPS",
    "MOST_FLIPPED",
    "MOST_SHUFFLES",
    "Flips",
    "Pairs",
    "Randomised",
    "Resampling",
    "SignFlips",
    "Swapping",
    "bernoulli_sums",
    "draw_numbers",
    "draw_weights",
    "halves",
    "interval",
    "is_close",
    "joined_units",
    "randomised",
    "sign_flips",
]


# ---- swaps: in randomly chosen units, two systems change sides -----------------------------------
EXACT_UNITS = 16  # if two systems differ in at most this many units, all swaps are enumerated
MOST_SHUFFLES = 100_000  # the most for a test that is still undecided
UNDECIDED = 3.0  # Monte-Carlo standard errors between p and its level
ENOUGH = 5.0  # the smallest p that shuffles can reach is at most the level divided by this
# The most random bits (one per unit and shuffle) and scores (one per hypothesis and shuffle) in memory.
BLOCK_BITS = 4_000_000
BLOCK_SCORES = 10_000_000
# The most counts per unit of all systems in memory; if there are more, units are swapped in groups.
BLOCK_COUNTS = 12_000_000
FEWEST_GROUPS = 1024
# Above this many units, the primary test draws how many of the units with the same difference are swapped.
MATRIX_UNITS = 20_000
TOGETHER = 128  # shuffles multiplied at once: few enough for the processor's cache
# Sums of the same numbers in a different order differ in the last bits, but count as ties.
TIE = 1e-12

Pairs: TypeAlias = Sequence[tuple[int, int]]  # indices of two systems
Runs: TypeAlias = Sequence[Sequence[int]]  # for each system, the indices of its runs
Scorer: TypeAlias = Callable[[Floats], Floats]  # totals (… × columns) to scores (… × cells)


class Resampling(Struct, frozen=True):
    """How many shuffles to make, over how many units, from which seed; 0: no tests and no intervals.

    `memory`, in bytes, limits how many shuffles are processed at once; it does not change any number.
    `others` are the p-values of tests elsewhere that are corrected together with these, such as those of the
    other datasets of a study; 1 where a p-value is not known yet.
    """

    units: int
    resamples: int = 1000
    seed: int = 0
    memory: int | None = None
    others: tuple[float, ...] = ()

    @property
    def scores(self) -> int:
        """How many scores, one per hypothesis and shuffle, may be in memory at once."""
        return BLOCK_SCORES if self.memory is None else min(BLOCK_SCORES, max(self.memory // 20, 1))

    def generator(self, purpose: str) -> np.random.Generator:
        """A generator for one purpose, so that no table's random numbers depend on another table."""
        return np.random.default_rng([self.seed, crc32(purpose.encode())])


def _bits(generator: np.random.Generator, rows: int, width: int) -> npt.NDArray[np.uint8]:
    """Random zeros and ones (rows × width)."""
    # Each row takes whole words, so that blocks of any size draw the same bits.
    packed = np.frombuffer(generator.bytes(rows * 8 * ((width + 63) // 64)), dtype=np.uint8)
    return np.unpackbits(packed.reshape(rows, -1), axis=1, count=width)


def _blocks(number: int, width: int, most: int) -> Iterator[int]:
    """The number of rows in each block when rows of `width` entries are split at `most` entries."""
    step = max(1, most // max(width, 1))
    for at in range(0, number, step):
        yield min(step, number - at)


# ---- one question about several pairs -------------------------------------------------------


class Randomised(Struct, frozen=True, eq=False):
    """The p-values of one score over pairs, the shuffles behind them, and which are still undecided."""

    p: Floats
    shuffles: Ints  # of each pair; 0: all swaps were enumerated
    undecided: Bools
    differing: Ints  # the units in which the counts of the two systems differ


def randomised(
    tables: Sequence[Counts], pairs: Pairs, score: Scorer, resampling: Resampling, *,
    correction: str = CORRECTION, runs: Runs | None = None,
) -> Randomised:  # fmt: skip
    """Paired approximate randomisation test of one score: in every unit two systems may change sides.

    p is the share of swaps whose difference is at least as large as the observed one, two-sided: among
    all 2ᵏ swaps if the systems' counts differ in k ≤ 16 units, else `(1 + count) / (1 + shuffles)`.
    There are enough shuffles for the smallest p to be well below the corrected level, and they are doubled,
    up to 100,000, while some p is within three Monte-Carlo standard errors of the level it is compared with,
    among these pairs and the `others` of the resampling.
    A swap in which the score is undefined counts as at least as large.
    With several runs the difference is that of means over runs, and a swap exchanges a unit in all of them.

    Args:
        tables: the counts behind the score, one table per run, with the same cells and columns.
        score: totals (… × columns of all cells) to the score (…).
        runs: the tables of each system; None: one each.
    """
    matched = [matched_runs(pair, runs) for pair in pairs]
    changes = [_changes(tables, of_runs) for of_runs in matched]
    total = np.stack([table.total.reshape(-1).astype(np.float64) for table in tables])
    sides = [(total[of_runs[:, 0]], total[of_runs[:, 1]]) for of_runs in matched]
    observed = np.array([float((score(a) - score(b)).mean()) for a, b in sides])
    differing = np.array([int(times.sum()) for _, times in changes], dtype=np.int64)
    small = differing <= EXACT_UNITS
    p = np.full(len(pairs), np.nan)
    for at in range(len(pairs)):
        if small[at] and not np.isnan(observed[at]):
            p[at] = _enumerated(changes[at], sides[at], score, observed[at])
    shuffles = np.zeros(len(pairs), dtype=np.int64)
    drawn = [at for at in range(len(pairs)) if not small[at] and not np.isnan(observed[at])]
    undecided = np.zeros(len(pairs), dtype=bool)
    if not drawn:
        return Randomised(p, shuffles, undecided, differing)
    counting = _Counting(
        tables, [sides[at] for at in drawn], [matched[at] for at in drawn], score, resampling
    )
    reached = np.zeros(len(drawn), dtype=np.int64)
    strictest = LEVEL / (int((~np.isnan(observed)).sum()) + len(resampling.others))
    done, more = 0, max(resampling.resamples, enough_shuffles(strictest))
    while True:
        reached += counting.further(more, np.abs(observed[drawn]) - TIE)
        done += more
        p[drawn] = (1 + reached) / (1 + done)
        level = levels([*p, *resampling.others], LEVEL, correction)[drawn]
        close = is_close(p[drawn], level, done)
        more = min(done, MOST_SHUFFLES - done)
        if not close.any() or more <= 0:
            break
    shuffles[drawn], undecided[drawn] = done, close
    return Randomised(p, shuffles, undecided, differing)


def enough_shuffles(level: float) -> int:
    """So many shuffles that a p that none of them reaches is clearly below a level; at most 100,000.

    With n shuffles such a p is 1 / (1 + n), and its Monte-Carlo standard error is nearly as large.

    Examples:
        >>> enough_shuffles(0.05), enough_shuffles(0.05 / 66)
        (100, 6600)
    """
    return min(ceil(round(ENOUGH / level, 6)), MOST_SHUFFLES)


def is_close(p: Floats, level: Floats, shuffles: Ints | int) -> Bools:
    """Whether p is too close to its level to be told from it after so many shuffles.

    It is while p lies within three Monte-Carlo standard errors of its level, and hence as long as the
    shuffles are too few for any p to reach the level.
    """
    error = np.sqrt(p * (1 - p) / shuffles)
    return np.asarray(np.abs(p - level) <= UNDECIDED * error)


def matched_runs(pair: tuple[int, int], runs: Runs | None) -> Ints:
    """The tables of each run of the first system beside each run of the second (pairs of runs × 2)."""
    first, second = ([side] if runs is None else runs[side] for side in pair)
    return ints([(a, b) for a in first for b in second])


def _changes(tables: Sequence[Counts], matched: Ints) -> tuple[Ints, Ints]:
    """How swapping each distinct unit changes the counts of the first of two systems, in every pair of runs.

    Returns:
        The changes (distinct units × columns of all pairs of runs), and the number of such units.
    """
    used = distinct(matched).tolist()
    *rows, times = joint_rows([tables[table] for table in used])
    row_of = dict(zip(used, rows, strict=True))
    change = np.concatenate(
        [row_of[second].astype(np.int64) - row_of[first] for first, second in matched.tolist()], axis=1
    )
    differs = change.any(axis=1)
    return change[differs], times[differs]


def joint_rows(tables: Sequence[Counts]) -> tuple[Column, ...]:
    """The distinct combinations of rows of several tables over the same units.

    Returns:
        The rows of each table, one array per table, then how many units have each combination.
    """
    if len(tables) == 1:
        return tables[0].rows, tables[0].times
    distinct, times = joint_numbers(tables)
    return (*(table.rows.take(distinct[:, at], axis=0) for at, table in enumerate(tables)), times)


def _enumerated(change: tuple[Ints, Ints], totals: Sequence[Floats], score: Scorer, seen: float) -> float:
    rows = np.repeat(change[0], change[1], axis=0)
    ways = np.arange(2 ** len(rows), dtype=np.int64)
    swaps = (ways[:, None] >> np.arange(len(rows))) & 1
    moved = swaps.astype(np.float64) @ rows
    difference = _difference(totals, moved, score)
    return float(np.mean(~(np.abs(difference) < abs(seen) - TIE)))


def _difference(totals: Sequence[Floats], moved: Column, score: Scorer) -> Floats:
    """The difference after swaps, from what they move in all pairs of runs (swaps × columns of all pairs)."""
    first, second = totals
    moved = moved.reshape(len(moved), *first.shape)
    return np.asarray((score(first + moved) - score(second - moved)).mean(axis=1))


class _Counting:
    """Counts the shuffles that reach the observed differences; each call continues after the last one."""

    def __init__(
        self, tables: Sequence[Counts], totals: Sequence[tuple[Floats, Floats]], matched: Sequence[Ints],
        score: Scorer, resampling: Resampling,
    ) -> None:  # fmt: skip
        self.totals, self.matched, self.score = totals, matched, score
        self.many = resampling.units > MATRIX_UNITS
        if self.many:
            self.changes = [_ahead(*_changes(tables, of_runs)) for of_runs in matched]
            names = [" ".join(map(str, of_runs.reshape(-1).tolist())) for of_runs in matched]
            self.generators = [resampling.generator(f"primary {name}") for name in names]
        else:
            self.swapping = Swapping.of(tables)
            self.generator = resampling.generator("primary")

    def further(self, shuffles: int, bound: Floats) -> Ints:
        """How many of the next `shuffles` shuffles reach the bound of each pair."""
        if not self.many:
            reached = np.zeros(len(self.matched), dtype=np.int64)
            for moved in self.swapping.moved(self.generator, shuffles, sum(map(len, self.matched))):
                for at, of_runs in enumerate(self.matched):
                    changes = [self.swapping.change(moved, *pair) for pair in of_runs.tolist()]
                    reached[at] += self._reached(at, np.concatenate(changes, axis=1), bound[at])
            return reached
        return np.array([self._drawn(at, shuffles, bound[at]) for at in range(len(self.matched))], np.int64)

    def _drawn(self, at: int, shuffles: int, bound: float) -> int:
        """Count for one pair: of n units with the same change, Binomial(n, ½) are swapped."""
        distinct, number, backward = self.changes[at]
        reached = 0
        for size in _blocks(shuffles, len(distinct), BLOCK_BITS // 8):
            drawn = self.generators[at].binomial(number, 0.5, size=(size, len(distinct)))
            reached += self._reached(at, drawn @ distinct + backward, bound)
        return reached

    def _reached(self, at: int, moved: Column, bound: float) -> int:
        difference = _difference(self.totals[at], moved, self.score)
        return int((~(np.abs(difference) < bound)).sum())


def _ahead(change: Ints, times: Ints) -> tuple[Ints, Ints, Ints]:
    """Changes in one direction, the units with each, and the sum of the changes in the other direction.

    Swapping a unit with a change is equivalent to not swapping one with the opposite change, so that
    both can be drawn together: B(m, ½) has the same distribution as m − B(m, ½).
    """
    first = np.take_along_axis(change, (change != 0).argmax(axis=1)[:, None], axis=1)[:, 0]
    ahead = np.where(first < 0, -1, 1)
    distinct, number = distinct_rows((change * ahead[:, None]).astype(np.int32))
    summed = np.bincount(number, weights=times, minlength=len(distinct)).astype(np.int64)
    return distinct.astype(np.int64), summed, change.T @ (times * (ahead < 0))


# ---- shared swaps ---------------------------------------------------------------------------


class Swapping(Struct, frozen=True, eq=False):
    """How the counts of every system differ from those of the first, unit by unit.

    The same units are swapped for all pairs, so what a pair exchanges is the difference between two
    systems' sums over the swapped units: one matrix product per system serves all pairs.
    """

    columns: Column  # units (or groups of them) × distinct columns
    column_index: Ints  # systems × columns: the index of the distinct column

    @classmethod
    def of(cls, tables: Sequence[Counts]) -> Swapping:
        """The differences between each table and the first; all have the same cells and columns."""
        return cls.of_matrices(_matrices(tables))

    @classmethod
    def of_matrices(cls, matrices: Sequence[Column]) -> Swapping:
        """The differences between the counts per unit (units × columns) of each system and the first."""
        return cls.of_columns(enumerate(zip(*(matrix.T for matrix in matrices), strict=True)))

    @classmethod
    def of_columns(cls, columns: Iterable[tuple[int, Sequence[Column]]]) -> Swapping:
        """The differences between each system and the first, from columns that come one after the other.

        Only distinct differences are kept, so that there is never a matrix for every system.

        Args:
            columns: the position of each column, and its values per unit for every system.
        """
        number = {b"": 0}  # of each distinct difference, by its digest; 0 if nothing differs
        distinct: list[Column] = []
        numbers: dict[int, list[int]] = {}
        for position, (first, *others) in columns:
            numbers[position] = [0]
            for column in others:
                difference = column - first
                key = column_digest(difference) if difference.any() else b""
                if key not in number:
                    number[key] = len(number)
                    distinct.append(difference)
                numbers[position].append(number[key])
        index = np.array([numbers[position] for position in range(len(numbers))], dtype=np.int64).T
        if not distinct:
            return cls(np.zeros((0, 1), dtype=np.float32), index)
        differs = distinct[0] != 0
        for difference in distinct:
            differs |= difference != 0
        rows = np.zeros((len(number), int(differs.sum())), distinct[0].dtype)
        for row, difference in zip(rows[1:], distinct, strict=True):
            row[:] = difference[differs]
        return cls(compact(rows.T), index)

    def moved(
        self, generator: np.random.Generator, shuffles: int, scores: int, most: int = BLOCK_SCORES
    ) -> Iterator[Floats]:
        """Sums of the distinct columns over the swapped units, in blocks of shuffles.

        A block gives at most `most` scores, if one shuffle gives `scores` of them.
        """
        width = max(self.columns.shape[0], self.columns.shape[1], scores * BLOCK_BITS // most)
        for number in _blocks(shuffles, width, BLOCK_BITS):
            sums = np.empty((number, self.columns.shape[1]))
            for at in range(0, number, TOGETHER):
                rows = min(TOGETHER, number - at)
                swaps = _bits(generator, rows, len(self.columns)).astype(self.columns.dtype)
                sums[at : at + rows] = swaps @ self.columns
            yield sums

    def change(self, moved: Floats, first: int, second: int) -> Floats:
        """What the first system of a pair gains, and the second loses, when the units are swapped."""
        return np.asarray(moved[:, self.column_index[second]] - moved[:, self.column_index[first]])


def _matrices(tables: Sequence[Counts]) -> list[Matrix]:
    """Counts per unit, or per group of consecutive units if there are too many."""
    units, width = tables[0].units, tables[0].rows.shape[1] * len(tables)
    groups = max(BLOCK_COUNTS // max(width, 1), FEWEST_GROUPS)
    if units <= groups:
        return [table.matrix() for table in tables]
    return [grouped(table, groups) for table in tables]


# ---- sign flips; resamples, outcomes and halves drawn for other modules --------------------------
BLOCK_OUTCOMES = 4_000_000  # outcomes drawn at once
FLIPS_TOGETHER = 500  # sign flips multiplied at once if there are few units
SIGNS_TOGETHER = 1 << 21  # signs multiplied at once if there are many units
UNITS_TOGETHER = 1024  # units summed at a time in single precision
MOST_SIGNS = 1 << 24  # signs stored as numbers; more are stored as bits
BLOCK_SIGNS = 1 << 19  # values of candidates for the highest T that are summed exactly at once
FEWEST_FLIPS = 1000  # sign flips of one sum
MOST_FLIPPED = 16_384  # units whose signs are flipped one by one; more are flipped in groups
FLIP_TIE = 1e-8  # sums in a different order differ in the last bits, but count as ties


class Flips(Struct, frozen=True):
    """Random sign flips of units, shared by all statistics (Westfall and Young's maxT).

    The row of a statistic holds what each unit adds to it; under the null hypothesis both signs of a unit
    are equally likely. T is the sum of a row divided by the root of its sum of squares, or 0 if that is 0.
    """

    units: int
    flips: int = 2000
    seed: int = 0
    two_sided: bool = False

    def statistics(self, rows: Floats) -> Floats:
        """The signed T of each row (statistics × units)."""
        scale = np.sqrt((rows**2).sum(axis=1))
        return ratio_or_zero(rows.sum(axis=1), scale)

    def maxima(self, blocks: Iterable[Floats]) -> Floats:
        """The highest T, or |T| if two-sided, over all rows of all blocks, in each flip."""
        signs, together = self._signs()
        highest = np.full(self.flips, 0.0 if self.two_sided else -np.inf)
        for rows in blocks:
            scaled = np.empty(rows.shape)
            step = max(1, BLOCK_SIGNS // max(self.units, 1))
            for at in range(0, len(rows), step):
                chunk = rows[at : at + step]
                scale = np.sqrt((chunk**2).sum(axis=1))[:, None]
                # Σ|x| of a row of length 1 is at most √units.
                scaled[at : at + step] = on_grid(ratio_or_zero(chunk, scale), 2 * np.sqrt(self.units))
            single = scaled.astype(np.float32)
            most = float(np.abs(single).sum(axis=1, dtype=np.float64).max(initial=0))
            parts = -(-self.units // UNITS_TOGETHER)
            slack = 2 * (min(self.units, UNITS_TOGETHER) + parts + 1) * 2.0**-24 * most
            for at in range(0, self.flips, together):
                batch = signs(at)
                rough = self._rough(batch, single)
                if self.two_sided:
                    np.abs(rough, out=rough)
                self._raise(highest[at : at + together], rough, slack, batch, scaled)
        return highest

    def sums(self, counts: Column) -> Iterator[Floats]:
        """The sums of whole-number counts (units × columns) with flipped signs, some flips at a time.

        Sums of whole numbers below 2²⁴ are exact in single precision, in any order.
        """
        magnitude = np.abs(counts).sum(axis=0, dtype=np.float64)
        added = counts.astype(np.float32 if magnitude.max(initial=0) < 2**24 else np.float64)
        total = counts.sum(axis=0, dtype=np.float64)
        packed = self._packed()
        step = min(FLIPS_TOGETHER, max(1, SIGNS_TOGETHER // max(self.units, 1)))
        for at in range(0, self.flips, step):
            plus = np.unpackbits(packed[at : at + step], axis=1, count=self.units).astype(added.dtype)
            yield 2.0 * (plus @ added).astype(np.float64) - total

    def _rough(
        self, signs: npt.NDArray[np.float32], single: npt.NDArray[np.float32]
    ) -> npt.NDArray[np.float32]:
        """T of all rows in some flips, summed in single precision."""
        rough = np.zeros((len(signs), len(single)), dtype=np.float32)
        for begin in range(0, self.units, UNITS_TOGETHER):
            part = slice(begin, begin + UNITS_TOGETHER)
            rough += signs[:, part] @ single[:, part].T
        return rough

    def _raise(
        self, highest: Floats, rough: npt.NDArray[np.float32], slack: float,
        signs: npt.NDArray[np.float32], rows: Floats,
    ) -> None:  # fmt: skip
        """Update the highest T, or |T|, of some flips with further rows.

        Single-precision sums, which take half the time and are off by at most `slack`, show which rows
        can be the highest. Only these are summed exactly, so that the result does not depend on the order
        of any sum.
        """
        least = np.maximum(rough.max(axis=1, initial=-np.inf), highest) - slack
        flip, row = np.nonzero(
            rough >= np.nextafter(least.astype(np.float32), -np.inf, dtype=np.float32)[:, None]
        )
        if 8 * len(flip) > rough.size:  # many similar rows: a single product is faster
            exact = signs.astype(np.float64) @ rows.T
            if self.two_sided:
                np.abs(exact, out=exact)
            np.maximum(highest, exact.max(axis=1, initial=-np.inf), out=highest)
            return
        step = max(1, BLOCK_SIGNS // max(self.units, 1))
        for begin in range(0, len(flip), step):
            part = slice(begin, begin + step)
            value = np.einsum("iu,iu->i", signs[flip[part]], rows[row[part]])
            np.maximum.at(highest, flip[part], np.abs(value) if self.two_sided else value)

    def _packed(self) -> npt.NDArray[np.uint8]:
        """A bit for every flip and unit, set where the unit keeps its sign."""
        generator = np.random.default_rng([self.seed, crc32(b"flips")])
        return generator.integers(0, 256, size=(self.flips, (self.units + 7) // 8), dtype=np.uint8)

    def _signs(self) -> tuple[Callable[[int], npt.NDArray[np.float32]], int]:
        """A function from a first flip to the signs (flips × units) of a batch, and the size of a batch.

        Signs are ±1. If there are too many, they are stored as bits and unpacked batch by batch.
        """
        packed = self._packed()

        def signs(at: int, end: int) -> npt.NDArray[np.float32]:
            bits = np.unpackbits(packed[at:end], axis=1, count=self.units).astype(np.float32)
            bits *= 2
            bits -= 1
            return bits

        if self.flips * self.units > MOST_SIGNS:
            together = min(FLIPS_TOGETHER, max(1, SIGNS_TOGETHER // self.units))
            return lambda at: signs(at, at + together), together
        all_signs = signs(0, self.flips)
        return lambda at: all_signs[at : at + FLIPS_TOGETHER], FLIPS_TOGETHER

    def p_values(self, statistics: Floats, maxima: Floats) -> Floats:
        """The corrected p-values: (1 + flips whose highest T reaches this one) / (1 + flips)."""
        reached = np.abs(statistics) if self.two_sided else statistics
        ordered = np.sort(maxima)
        below = np.searchsorted(ordered, reached - FLIP_TIE, side="left")
        return np.asarray((1 + self.flips - below) / (1 + self.flips))

    def critical(self, maxima: Floats, level: float) -> float:
        """The critical value: the 1 - level quantile of the highest T over the flips."""
        return float(np.quantile(maxima, 1 - level, method="higher")) if len(maxima) else float("inf")


class SignFlips(Struct, frozen=True):
    """The one-sided p-values of a sum under random signs of its terms: for being as high, and as low."""

    high: float
    low: float
    flips: int  # 0: all signs were enumerated

    def is_open(self, p: float, level: float) -> bool:
        """Whether p is within three Monte-Carlo standard errors of a level, so that more flips may decide."""
        return self.flips > 0 and abs(p - level) <= UNDECIDED * (p * (1 - p) / self.flips) ** 0.5


def sign_flips(values: Floats, resampling: Resampling, *, levels: Sequence[float]) -> SignFlips:
    """Test whether a sum is higher or lower than expected if both signs of each term are equally likely.

    All 2ᵏ signs are enumerated for up to 16 terms; else there are 1,000 flips or more, doubled up to 100,000
    while a p is within three Monte-Carlo standard errors of one of the levels it is held against. Many units
    are joined into groups at random.

    Examples:
        >>> sign_flips(np.array([3.0, 2.0, 1.0]), Resampling(3), levels=[0.025])
        SignFlips(high=0.125, low=1.0, flips=0)
    """
    if len(values) > MOST_FLIPPED:
        group = joined_units(len(values), MOST_FLIPPED, resampling.seed)
        values = np.bincount(group, weights=values).astype(np.float64)
    most = float(np.abs(values).sum())
    terms, tie = on_grid(values, 2 * most), FLIP_TIE * most
    total = float(terms.sum())
    if len(terms) <= EXACT_UNITS:
        plus = (np.arange(2 ** len(terms), dtype=np.int64)[:, None] >> np.arange(len(terms))) & 1
        sums = 2.0 * (plus @ terms) - total
        return SignFlips(float(np.mean(sums >= total - tie)), float(np.mean(sums <= total + tie)), 0)
    generator = resampling.generator("signs")
    high = low = done = 0
    more = max(FEWEST_FLIPS, enough_shuffles(min(levels)))
    while True:
        for rows in _blocks(more, len(terms), BLOCK_BITS):
            sums = 2.0 * (_bits(generator, rows, len(terms)).astype(np.float64) @ terms) - total
            high += int((sums >= total - tie).sum())
            low += int((sums <= total + tie).sum())
        done += more
        test = SignFlips((1 + high) / (1 + done), (1 + low) / (1 + done), done)
        more = min(done, MOST_SHUFFLES - done)
        if more <= 0 or not any(test.is_open(p, level) for p in (test.high, test.low) for level in levels):
            return test


def ratio_or_zero(numerator: Floats, denominator: Floats) -> Floats:
    """`numerator / denominator`, or 0 where the denominator is 0: a statistic that never varies."""
    return np.asarray(np.nan_to_num(ratio(numerator, denominator), nan=0.0))


def joined_units(units: int, groups: int, seed: int) -> Ints:
    """The group of each unit when units are joined at random into groups of almost equal size."""
    order = np.random.default_rng([seed, crc32(b"groups")]).permutation(units)
    return ints(order % groups)


def draw_weights(units: int, resamples: int, seed: int) -> npt.NDArray[np.float32]:
    """How often each unit is drawn in each resample with replacement (resamples × units)."""
    generator = np.random.default_rng([seed, crc32(b"weights")])
    weights = np.empty((resamples, units), dtype=np.float32)
    for at in range(resamples):
        weights[at] = np.bincount(generator.integers(0, units, size=units), minlength=units)
    return weights


def bernoulli_sums(
    chances: Floats, bins: Ints, number: int, draws: int, seed: int, *, most: int = 20_000_000
) -> Floats:
    """Sums per bin of random outcomes that are 1 with the given probabilities (draws × bins).

    With more than `most` outcomes in all, the sums are drawn from normal distributions with the same
    means and variances, which is close enough with thousands of outcomes per bin.
    """
    generator = np.random.default_rng([seed, crc32(b"bernoulli")])
    if len(chances) * draws > most:
        mean = np.bincount(bins, weights=chances, minlength=number)
        spread = np.sqrt(np.bincount(bins, weights=chances * (1 - chances), minlength=number))
        return np.asarray(mean + spread * generator.standard_normal((draws, number)))
    order = np.argsort(bins, kind="stable")
    ordered = chances[order]
    starts = np.searchsorted(bins[order], np.arange(number + 1))
    sums = np.zeros((draws, number))
    step = max(1, BLOCK_OUTCOMES // max(len(chances), 1))
    for at in range(0, draws, step):
        size = min(step, draws - at)
        right = generator.random((size, len(ordered))) < ordered
        upto = np.zeros((size, len(ordered) + 1), dtype=np.int32)
        np.cumsum(right, axis=1, dtype=np.int32, out=upto[:, 1:])
        sums[at : at + size] = np.diff(upto[:, starts], axis=1)
    return sums


def halves(units: int, seed: int) -> Bools:
    """Which units are in the first of two random halves."""
    order = np.random.default_rng([seed, crc32(b"halves")]).permutation(units)
    return np.asarray(order < (units + 1) // 2)


def interval(values: Floats, confidence: float = CONFIDENCE) -> Floats:
    """The percentile interval over the first axis; low and high form a new last axis.

    Resamples in which a score is undefined are ignored; if it is undefined in all, so is the interval.
    """
    tail = (1 - confidence) / 2
    ordered = np.sort(values, axis=0)  # NaN sorts last
    if len(ordered) and not np.isnan(ordered[-1]).any():
        return np.stack([_between(ordered, tail), _between(ordered, 1 - tail)], axis=-1)
    number = np.sum(~np.isnan(ordered), axis=0)
    return np.stack([_quantile(ordered, number, tail), _quantile(ordered, number, 1 - tail)], axis=-1)


def _between(ordered: Floats, share: float) -> Floats:
    """The quantile of sorted values that are all defined."""
    position = share * (len(ordered) - 1)
    below = int(position)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return np.asarray(low + (high - low) * (position - below))


def _quantile(ordered: Floats, number: Ints, share: float) -> Floats:
    """The quantile of the first `number` sorted values, interpolated as by NumPy's default."""
    position = share * np.maximum(number - 1, 0)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(number - 1, 0))
    low = np.take_along_axis(ordered, below[None], axis=0)[0]
    high = np.take_along_axis(ordered, above[None], axis=0)[0]
    return np.where(number > 0, low + (high - low) * (position - below), np.nan)


def draw_numbers(seed: int, purpose: str, rows: int, columns: int) -> Floats:
    """Random numbers in [0, 1) that depend on the seed and the purpose."""
    return np.random.default_rng([seed, crc32(purpose.encode())]).random((rows, columns))
