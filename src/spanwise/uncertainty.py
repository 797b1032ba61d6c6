"""Randomisation tests and resampling over units; the only module that draws random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Bools, Column, Floats, Ints, compact, ints, on_grid, ratio
from spanwise.counts import Counts, Matrix, distinct_rows, grouped, joint_numbers
from spanwise.hashing import column_digest
from spanwise.settings import CONFIDENCE, CORRECTION
from spanwise.statistics import LEVEL, correct, levels

__all__ = [
    "BLOCK_COUNTS",
    "FEWEST_GROUPS",
    "MOST_FLIPPED",
    "Family",
    "Flips",
    "Hypotheses",
    "Pairs",
    "Randomised",
    "Resampling",
    "Swapping",
    "bernoulli_sums",
    "draw_numbers",
    "draw_weights",
    "halves",
    "interval",
    "joined_units",
    "randomised",
    "stepped_down",
]


# ---- swaps: in randomly chosen units, two systems change sides -----------------------------------
EXACT_UNITS = 16  # if two systems differ in at most this many units, all swaps are enumerated
MOST_SHUFFLES = 100_000  # the most for a test that is still undecided
UNDECIDED = 3.0  # Monte-Carlo standard errors between p and its level
# The most random bits (one per unit and shuffle) and scores (one per hypothesis and shuffle) in memory.
BLOCK_BITS = 4_000_000
BLOCK_SCORES = 40_000_000
# The most counts per unit of all systems in memory; if there are more, units are swapped in groups.
BLOCK_COUNTS = 12_000_000
FEWEST_GROUPS = 1024
# Above this many units, the primary test draws how many of the units with the same difference are swapped.
MATRIX_UNITS = 20_000
TOGETHER = 128  # shuffles multiplied at once: few enough for the processor's cache
# Sums of the same numbers in a different order differ in the last bits, but count as ties.
TIE = 1e-12

Pairs: TypeAlias = Sequence[tuple[int, int]]  # indices of two systems
Scorer: TypeAlias = Callable[[Floats], Floats]  # totals (… × columns) to scores (… × cells)


class Resampling(Struct, frozen=True):
    """How many shuffles to make, over how many units, from which seed; 0: no tests and no intervals.

    `memory`, in bytes, limits how many shuffles are processed at once; it does not change any number.
    """

    units: int
    resamples: int = 1000
    seed: int = 0
    memory: int | None = None

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


def randomised(
    tables: Sequence[Counts],
    pairs: Pairs,
    score: Scorer,
    resampling: Resampling,
    *,
    correction: str = CORRECTION,
) -> Randomised:
    """Paired approximate randomisation test of one score: in every unit two systems may change sides.

    p is the share of swaps whose difference is at least as large as the observed one, two-sided: among
    all 2ᵏ swaps if the systems' counts differ in k ≤ 16 units, else `(1 + count) / (1 + shuffles)`.
    Shuffles are doubled, up to 100,000, while some p is within three Monte-Carlo standard errors of the
    level it is compared with. A shuffle in which the score is undefined counts as at least as large.

    Args:
        tables: the counts behind the score, one table per system, with the same cells and columns.
        score: totals (… × columns of all cells) to the score (…).
    """
    changes = [_changes(tables[first], tables[second]) for first, second in pairs]
    totals = [table.total.reshape(-1).astype(np.float64) for table in tables]
    observed = np.array([float(score(totals[a]) - score(totals[b])) for a, b in pairs])
    small = [int(times.sum()) <= EXACT_UNITS for _, times in changes]
    p = np.full(len(pairs), np.nan)
    for at, pair in enumerate(pairs):
        if small[at] and not np.isnan(observed[at]):
            p[at] = _enumerated(changes[at], [totals[side] for side in pair], score, observed[at])
    shuffles = np.zeros(len(pairs), dtype=np.int64)
    drawn = [at for at in range(len(pairs)) if not small[at] and not np.isnan(observed[at])]
    undecided = np.zeros(len(pairs), dtype=bool)
    if not drawn:
        return Randomised(p, shuffles, undecided)
    counting = _Counting(tables, totals, [pairs[at] for at in drawn], score, resampling)
    reached = np.zeros(len(drawn), dtype=np.int64)
    done, more = 0, resampling.resamples
    while True:
        reached += counting.further(more, np.abs(observed[drawn]) - TIE)
        done += more
        p[drawn] = (1 + reached) / (1 + done)
        level = levels(p, LEVEL, correction)[drawn]
        error = np.sqrt(p[drawn] * (1 - p[drawn]) / done)
        close = np.abs(p[drawn] - level) <= UNDECIDED * error
        more = min(done, MOST_SHUFFLES - done)
        if not close.any() or more <= 0:
            break
    shuffles[drawn], undecided[drawn] = done, close
    return Randomised(p, shuffles, undecided)


def _changes(first: Counts, second: Counts) -> tuple[Ints, Ints]:
    """How swapping each distinct unit changes the first system's counts, and the number of such units."""
    first_rows, second_rows, times = joint_rows([first, second])
    change = second_rows.astype(np.int64) - first_rows
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
    difference = score(totals[0] + moved) - score(totals[1] - moved)
    return float(np.mean(~(np.abs(difference) < abs(seen) - TIE)))


class _Counting:
    """Counts the shuffles that reach the observed differences; each call continues after the last one."""

    def __init__(
        self,
        tables: Sequence[Counts],
        totals: Sequence[Floats],
        pairs: Pairs,
        score: Scorer,
        resampling: Resampling,
    ) -> None:
        self.totals, self.pairs, self.score = totals, pairs, score
        self.many = resampling.units > MATRIX_UNITS
        if self.many:
            self.changes = [_ahead(*_changes(tables[first], tables[second])) for first, second in pairs]
            self.generators = [resampling.generator(f"primary {first} {second}") for first, second in pairs]
        else:
            self.swapping = Swapping.of(tables)
            self.generator = resampling.generator("primary")

    def further(self, shuffles: int, bound: Floats) -> Ints:
        """How many of the next `shuffles` shuffles reach the bound of each pair."""
        if not self.many:
            reached = np.zeros(len(self.pairs), dtype=np.int64)
            for moved in self.swapping.moved(self.generator, shuffles, len(self.pairs)):
                for at, pair in enumerate(self.pairs):
                    reached[at] += self._reached(pair, self.swapping.change(moved, *pair), bound[at])
            return reached
        return np.array([self._drawn(at, shuffles, bound[at]) for at in range(len(self.pairs))], np.int64)

    def _drawn(self, at: int, shuffles: int, bound: float) -> int:
        """Count for one pair: of n units with the same change, Binomial(n, ½) are swapped."""
        distinct, number, backward = self.changes[at]
        reached = 0
        for size in _blocks(shuffles, len(distinct), BLOCK_BITS // 8):
            drawn = self.generators[at].binomial(number, 0.5, size=(size, len(distinct)))
            reached += self._reached(self.pairs[at], drawn @ distinct + backward, bound)
        return reached

    def _reached(self, pair: tuple[int, int], moved: Column, bound: float) -> int:
        first, second = (self.totals[side] for side in pair)
        difference = self.score(first + moved) - self.score(second - moved)
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


class Hypotheses(Struct, frozen=True, eq=False):
    """Scores as ratios of sums over units, so that a swap changes only two sums per score.

    The columns of a system's matrix are the numerators of all ratios, then their denominators.
    `plain` lists the ratios that are scores themselves, `less` the pairs of ratios whose difference is a
    score (a gain), `mean` the groups whose mean over defined ratios is a score (a macro average).
    """

    ratios: int
    plain: Ints
    less: Ints = np.zeros((0, 2), dtype=np.int64)
    mean: tuple[Ints, ...] = ()

    def __len__(self) -> int:
        return len(self.plain) + len(self.less) + len(self.mean)

    def scores(self, totals: Floats) -> Floats:
        """The scores (rows × hypotheses) for totals (rows × numerators and denominators)."""
        below = totals[:, self.ratios :]
        if (below == 0).any():
            below = np.where(below == 0, np.nan, below)
        value = totals[:, : self.ratios] / below
        parts = [value[:, self.plain], value[:, self.less[:, 0]] - value[:, self.less[:, 1]]]
        for group in self.mean:
            defined = ~np.isnan(value[:, group])
            filled = np.where(defined, value[:, group], 0.0)
            parts.append(ratio(filled.sum(axis=1), defined.sum(axis=1))[:, None])
        return np.concatenate(parts, axis=1)


class Family(Struct, frozen=True, eq=False):
    """The tests of many scores over pairs (pairs × scores), corrected together; NaN: not in the family."""

    difference: Floats
    p: Floats
    p_corrected: Floats
    shuffles: int


def stepped_down(
    swapping: Swapping,
    totals: Sequence[Floats],
    pairs: Pairs,
    hypotheses: Hypotheses,
    resampling: Resampling,
    *,
    absent: Bools | None = None,
    correction: str = "maxt",
) -> Family:
    """Westfall and Young's step-down maxT over all scores of all pairs, which share the same swaps.

    T is a difference divided by the root mean square of its values under swaps (whose mean is 0, since
    opposite swaps give opposite differences). A score that never changes, or is undefined in a swap, is
    left out of the family. Shuffles are processed in blocks to limit memory; if there is more than one
    block, all are drawn twice.

    Args:
        swapping: the numerators and denominators of every system per unit, or per group of units.
        totals: their sums over all units, by system.
        absent: pairs × scores that are not tested.
        correction: "maxt"; or "bh" over the uncorrected p-values.
    """
    scored = [hypotheses.scores(total[None].astype(np.float64))[0] for total in totals]
    observed = np.stack([scored[first] - scored[second] for first, second in pairs])
    bound, number = np.abs(observed) - TIE, resampling.resamples
    square, reached = np.zeros(observed.shape), np.zeros(observed.shape, dtype=np.int64)
    block = np.zeros((observed.size, 0), dtype=np.float32)
    blocks = 0

    def shuffled(count: bool) -> Iterator[npt.NDArray[np.float32]]:
        """|difference| of every hypothesis in every shuffle (hypotheses × shuffles), block by block."""
        generator = resampling.generator("secondary")
        for moved in swapping.moved(generator, number, observed.size, resampling.scores):
            differences = np.empty((*observed.shape, len(moved)), dtype=np.float32)
            for at, (first, second) in enumerate(pairs):
                change = swapping.change(moved, first, second)
                first_scores, second_scores = (
                    hypotheses.scores(totals[first] + change),
                    hypotheses.scores(totals[second] - change),
                )
                difference = np.abs(first_scores - second_scores)
                if count:
                    square[at] += np.einsum("sh,sh->h", difference, difference)
                    reached[at] += (~(difference < bound[at])).sum(axis=0)
                differences[at] = difference.T
            yield differences.reshape(observed.size, -1)

    for block in shuffled(count=True):  # noqa: B007 (a single block is used again below)
        blocks += 1
    spread = np.sqrt(square / max(number, 1))
    member = ~(np.isnan(observed) | np.isnan(spread) | (spread <= TIE))
    if absent is not None:
        member &= ~absent
    p = np.where(member, (1 + reached) / (1 + number), np.nan)
    if correction != "maxt":
        return Family(observed, p, correct(p, correction), number)
    chosen = np.flatnonzero(member)
    t = np.abs(observed).reshape(-1)[chosen] / spread.reshape(-1)[chosen]
    # Ascending, so that the highest T so far is the maximum over all hypotheses that are no more extreme.
    order = chosen[np.argsort(t, kind="stable")]
    scale, least = 1 / spread.reshape(-1)[order], np.sort(t, kind="stable") * (1 - 1e-6)
    above = np.zeros(len(order), dtype=np.int64)
    for values in [block] if blocks == 1 else shuffled(count=False):
        above += _reaching(values, order, scale, least)
    corrected = np.full(observed.size, np.nan)
    corrected[order] = np.maximum.accumulate(((1 + above) / (1 + number))[::-1])[::-1]
    return Family(observed, p, corrected.reshape(observed.shape), number)


def _reaching(values: npt.NDArray[np.float32], order: Ints, scale: Floats, least: Floats) -> Ints:
    """For each hypothesis, in how many shuffles the highest T up to it reaches its own."""
    reached = np.zeros(len(order), dtype=np.int64)
    highest = np.zeros(values.shape[1])
    for at in range(0, len(order), 256):
        part = slice(at, at + 256)
        t = values[order[part]] * scale[part, None]
        np.maximum(t[0], highest, out=t[0])
        np.maximum.accumulate(t, axis=0, out=t)
        highest = t[-1].copy()
        reached[part] = (t >= least[part, None]).sum(axis=1)
    return reached


# ---- sign flips; resamples, outcomes and halves drawn for other modules --------------------------
BLOCK_OUTCOMES = 4_000_000  # outcomes drawn at once
FLIPS_TOGETHER = 500  # sign flips multiplied at once if there are few units
SIGNS_TOGETHER = 1 << 21  # signs multiplied at once if there are many units
UNITS_TOGETHER = 1024  # units summed at a time in single precision
MOST_SIGNS = 1 << 24  # signs stored as numbers; more are stored as bits
BLOCK_SIGNS = 1 << 19  # values of candidates for the highest T that are summed exactly at once
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
