"""Random swaps and sign flips over units, from a seed; the only module that draws random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Bools, Floats, Ints, compact, ints, on_grid, ratio
from spanwise.counts import Counts, Matrix, distinct_rows, grouped, joint_numbers
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
    "bernoulli_sums",
    "drawn_numbers",
    "drawn_weights",
    "halves",
    "interval",
    "joined_units",
    "randomised",
    "stepped_down",
]


# ---- swaps: in units chosen at random two systems change sides -----------------------------------
EXACT_UNITS = 16  # two systems that differ in at most this many units are swapped in all 2**16 ways
MOST_SHUFFLES = 100_000  # of a test that is still undecided
UNDECIDED = 3.0  # Monte-Carlo standard errors
# Random bits, one per unit and shuffle, and scores, one per hypothesis and shuffle, that are held at once.
BLOCK_BITS = 4_000_000
BLOCK_SCORES = 40_000_000
# Counts per unit of all systems that are held at once; where there are more, units are swapped in groups.
BLOCK_COUNTS = 12_000_000
FEWEST_GROUPS = 1024
# Above this many units the primary test draws how many of the units with the same difference are swapped.
MATRIX_UNITS = 20_000
TOGETHER = 128  # shuffles that are multiplied at once: few enough for a processor's cache
# Sums of the same numbers in another order differ in the last bits; they are ties.
TIE = 1e-12

Pairs: TypeAlias = Sequence[tuple[int, int]]  # numbers of systems
Scorer: TypeAlias = Callable[[Floats], Floats]  # totals (… × columns) to scores (… × cells)
Numbers: TypeAlias = npt.NDArray[Any]


class Resampling(Struct, frozen=True):
    """How often to shuffle, over how many units, from which seed; 0 shuffles: no tests and no intervals.

    `memory`, in bytes, bounds how many shuffles are looked at together; it changes no number.
    """

    units: int
    resamples: int = 1000
    seed: int = 0
    memory: int | None = None

    @property
    def scores(self) -> int:
        """How many scores, one per hypothesis and shuffle, may be held at once."""
        return BLOCK_SCORES if self.memory is None else min(BLOCK_SCORES, max(self.memory // 20, 1))

    def generator(self, purpose: str) -> np.random.Generator:
        """Random numbers of their own for each purpose: no table's numbers depend on another table."""
        return np.random.default_rng([self.seed, crc32(purpose.encode())])


def _bits(generator: np.random.Generator, rows: int, width: int) -> npt.NDArray[np.uint8]:
    """Random zeros and ones (rows × width)."""
    # Whole words for every row, so that blocks of any size draw the same bits.
    packed = np.frombuffer(generator.bytes(rows * 8 * ((width + 63) // 64)), dtype=np.uint8)
    return np.unpackbits(packed.reshape(rows, -1), axis=1, count=width)


def _blocks(number: int, width: int, most: int) -> Iterator[int]:
    """`number` rows of `width` in blocks of at most `most` entries: the rows of each block."""
    step = max(1, most // max(width, 1))
    for at in range(0, number, step):
        yield min(step, number - at)


# ---- one question about several pairs -------------------------------------------------------


class Randomised(Struct, frozen=True, eq=False):
    """The p-values of one score over pairs, how they were made, and which no number of shuffles decided."""

    p: Floats
    shuffles: Ints  # of each pair; 0: all ways to swap were looked at
    undecided: Bools


def randomised(
    tables: Sequence[Counts],
    pairs: Pairs,
    score: Scorer,
    resampling: Resampling,
    *,
    correction: str = CORRECTION,
) -> Randomised:
    """Paired approximate randomisation of one score: in every unit two systems may change sides.

    p is the share of swaps whose difference is at least as large as the one seen, two-sided: of all
    2ᵏ of them where the systems' counts differ in k ≤ 16 units, else `(1 + count) / (1 + shuffles)`.
    Shuffles double while some p is within three Monte-Carlo standard errors of the level that it is compared
    with, up to 100,000. A shuffle in which the score is undefined counts as at least as far.

    Args:
        tables: the counts behind the score, one table per system, with the same cells and columns.
        score: totals (… × columns of all cells) to the score (…).
    """
    changes = [_changes(tables[one], tables[other]) for one, other in pairs]
    totals = [table.total.reshape(-1).astype(np.float64) for table in tables]
    seen = np.array([float(score(totals[a]) - score(totals[b])) for a, b in pairs])
    small = [int(times.sum()) <= EXACT_UNITS for _, times in changes]
    p = np.full(len(pairs), np.nan)
    for at, pair in enumerate(pairs):
        if small[at] and not np.isnan(seen[at]):
            p[at] = _enumerated(changes[at], [totals[side] for side in pair], score, seen[at])
    shuffles = np.zeros(len(pairs), dtype=np.int64)
    drawn = [at for at in range(len(pairs)) if not small[at] and not np.isnan(seen[at])]
    undecided = np.zeros(len(pairs), dtype=bool)
    if not drawn:
        return Randomised(p, shuffles, undecided)
    counting = _Counting(tables, totals, [pairs[at] for at in drawn], score, resampling)
    reached = np.zeros(len(drawn), dtype=np.int64)
    done, more = 0, resampling.resamples
    while True:
        reached += counting.further(more, np.abs(seen[drawn]) - TIE)
        done += more
        p[drawn] = (1 + reached) / (1 + done)
        held = levels(p, LEVEL, correction)[drawn]
        error = np.sqrt(p[drawn] * (1 - p[drawn]) / done)
        open_ = np.abs(p[drawn] - held) <= UNDECIDED * error
        more = min(done, MOST_SHUFFLES - done)
        if not open_.any() or more <= 0:
            break
    shuffles[drawn], undecided[drawn] = done, open_
    return Randomised(p, shuffles, undecided)


def _changes(first: Counts, second: Counts) -> tuple[Ints, Ints]:
    """What distinct units would give the first system if swapped, and how many units there are of each."""
    ones, others, times = joint_rows([first, second])
    change = others.astype(np.int64) - ones
    differs = change.any(axis=1)
    return change[differs], times[differs]


def joint_rows(tables: Sequence[Counts]) -> tuple[Any, ...]:
    """The distinct combinations of rows of several tables over the same units.

    Returns:
        The rows of each table, one array per table, then how many units have each combination.
    """
    if len(tables) == 1:
        return tables[0].rows, tables[0].times
    distinct, times = joint_numbers(tables)
    return (*(table.rows[distinct[:, at]] for at, table in enumerate(tables)), times)


def _enumerated(change: tuple[Ints, Ints], totals: Sequence[Floats], score: Scorer, seen: float) -> float:
    rows = np.repeat(change[0], change[1], axis=0)
    ways = np.arange(2 ** len(rows), dtype=np.int64)
    swaps = (ways[:, None] >> np.arange(len(rows))) & 1
    moved = swaps.astype(np.float64) @ rows
    difference = score(totals[0] + moved) - score(totals[1] - moved)
    return float(np.mean(~(np.abs(difference) < abs(seen) - TIE)))


class _Counting:
    """Counts how many shuffles reach the differences seen; more shuffles go on where the last ended."""

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
            self.changes = [_ahead(*_changes(tables[one], tables[other])) for one, other in pairs]
            self.generators = [resampling.generator(f"primary {one} {other}") for one, other in pairs]
        else:
            self.swapping = Swapping.of(tables)
            self.generator = resampling.generator("primary")

    def further(self, shuffles: int, bound: Floats) -> Ints:
        """How many of this many further shuffles reach the bound of each pair."""
        if not self.many:
            reached = np.zeros(len(self.pairs), dtype=np.int64)
            for moved in self.swapping.moved(self.generator, shuffles, len(self.pairs)):
                for at, pair in enumerate(self.pairs):
                    reached[at] += self._reached(pair, self.swapping.change(moved, *pair), bound[at])
            return reached
        return np.array([self._drawn(at, shuffles, bound[at]) for at in range(len(self.pairs))], np.int64)

    def _drawn(self, at: int, shuffles: int, bound: float) -> int:
        """Binomial(n, ½) of n units with the same change are swapped."""
        distinct, number, backward = self.changes[at]
        reached = 0
        for size in _blocks(shuffles, len(distinct), BLOCK_BITS // 8):
            drawn = self.generators[at].binomial(number, 0.5, size=(size, len(distinct)))
            reached += self._reached(self.pairs[at], drawn @ distinct + backward, bound)
        return reached

    def _reached(self, pair: tuple[int, int], moved: Numbers, bound: float) -> int:
        one, other = (self.totals[side] for side in pair)
        difference = self.score(one + moved) - self.score(other - moved)
        return int((~(np.abs(difference) < bound)).sum())


def _ahead(change: Ints, times: Ints) -> tuple[Ints, Ints, Ints]:
    """Changes of one direction, the units with each, and what those of the other direction give together.

    A unit that is swapped by the opposite change is equivalent to one that is not, so that both
    kinds can be drawn together: B(m, ½) has the distribution of m − B(m, ½).
    """
    first = np.take_along_axis(change, (change != 0).argmax(axis=1)[:, None], axis=1)[:, 0]
    ahead = np.where(first < 0, -1, 1)
    distinct, number = distinct_rows((change * ahead[:, None]).astype(np.int32))
    summed = np.bincount(number, weights=times, minlength=len(distinct)).astype(np.int64)
    return distinct.astype(np.int64), summed, change.T @ (times * (ahead < 0))


# ---- shared swaps ---------------------------------------------------------------------------


class Swapping(Struct, frozen=True, eq=False):
    """What the columns of every system differ by from those of the first, unit by unit.

    With the same units swapped for all pairs, what a pair exchanges is the difference between
    two systems' sums over the swapped units: one product per system serves all pairs.
    """

    columns: Numbers  # units (or groups of them) × distinct columns
    place: Ints  # systems × columns: which of the distinct columns

    @classmethod
    def of(cls, tables: Sequence[Counts]) -> Swapping:
        """The differences of tables with the same cells and columns from the first one."""
        return cls.of_matrices(_matrices(tables))

    @classmethod
    def of_matrices(cls, matrices: Sequence[Numbers]) -> Swapping:
        """The differences of counts per unit (units × columns) from those of the first system."""
        first, *others = matrices
        dtype = np.result_type(*matrices)
        number = {blake2b(np.zeros(len(first), dtype).tobytes()).digest(): 0}
        distinct: list[tuple[Numbers, int]] = []  # the matrix and the column of each difference but 0
        place = np.zeros((len(matrices), first.shape[1]), dtype=np.int64)
        differs = np.zeros(len(first), dtype=bool)
        for at, matrix in enumerate(others, start=1):
            for column in range(first.shape[1]):
                difference = np.subtract(matrix[:, column], first[:, column], dtype=dtype)
                key = blake2b(difference.tobytes()).digest()
                if key not in number:
                    number[key] = len(number)
                    distinct.append((matrix, column))
                    differs |= difference != 0
                place[at, column] = number[key]
        whole = np.zeros((len(number), int(differs.sum())), dtype)
        for row, (matrix, column) in zip(whole[1:], distinct, strict=True):
            row[:] = (matrix[:, column] - first[:, column])[differs]
        return cls(compact(whole.T), place)

    def moved(
        self, generator: np.random.Generator, shuffles: int, scores: int, most: int = BLOCK_SCORES
    ) -> Iterator[Floats]:
        """Sums of the distinct columns over the swapped units, block by block of shuffles.

        A block has at most `most` scores, where one shuffle makes `scores` of them.
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
        """What the first system of a pair gains, and the second loses, by the swapped units."""
        return np.asarray(moved[:, self.place[second]] - moved[:, self.place[first]])


def _matrices(tables: Sequence[Counts]) -> list[Matrix]:
    """Counts per unit, or per group of consecutive units where there would be too many."""
    units, width = tables[0].units, tables[0].rows.shape[1] * len(tables)
    groups = max(BLOCK_COUNTS // max(width, 1), FEWEST_GROUPS)
    if units <= groups:
        return [table.matrix() for table in tables]
    return [grouped(table, groups) for table in tables]


class Hypotheses(Struct, frozen=True, eq=False):
    """Scores as ratios of sums over units: what one swap of units makes of all of them is two sums each.

    Columns of the systems' matrices are the numerators of all ratios, then their denominators.
    `plain` names the ratios that are scores themselves; `less` pairs of which the score is the difference
    (a gain); `mean` groups of which it is the mean over those that are defined (a macro average).
    """

    ratios: int
    plain: Ints
    less: Ints = np.zeros((0, 2), dtype=np.int64)
    mean: tuple[Ints, ...] = ()

    def __len__(self) -> int:
        return len(self.plain) + len(self.less) + len(self.mean)

    def scores(self, totals: Floats) -> Floats:
        """Totals (rows × numerators and denominators) to scores (rows × hypotheses)."""
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
    matrices: Sequence[Numbers],
    totals: Sequence[Floats],
    pairs: Pairs,
    hypotheses: Hypotheses,
    resampling: Resampling,
    *,
    absent: Bools | None = None,
    correction: str = "maxt",
) -> Family:
    """Westfall and Young's step-down maxT over all scores of all pairs, on swaps that all of them share.

    T is a difference by the root mean square of its own swapped values (whose mean is 0, since the
    opposite swaps give the opposite difference). A score that never changes, or is undefined in a
    swap, leaves the family. Shuffles are looked at in blocks, so that memory is bounded: where there is
    more than one, twice.

    Args:
        matrices: numerators and denominators of every system per unit, or per group of units.
        totals: their sums over all units.
        absent: pairs × scores that are not tested.
        correction: "maxt"; or "bh" over the uncorrected p-values.
    """
    swapping = Swapping.of_matrices(matrices)
    scored = [hypotheses.scores(total[None].astype(np.float64))[0] for total in totals]
    seen = np.stack([scored[one] - scored[other] for one, other in pairs])
    bound, number = np.abs(seen) - TIE, resampling.resamples
    square, reached = np.zeros(seen.shape), np.zeros(seen.shape, dtype=np.int64)
    block = np.zeros((seen.size, 0), dtype=np.float32)
    blocks = 0

    def shuffled(count: bool) -> Iterator[npt.NDArray[np.float32]]:
        """|difference| of every hypothesis in every shuffle (hypotheses × shuffles), block by block."""
        generator = resampling.generator("secondary")
        for moved in swapping.moved(generator, number, seen.size, resampling.scores):
            differences = np.empty((*seen.shape, len(moved)), dtype=np.float32)
            for at, (one, other) in enumerate(pairs):
                change = swapping.change(moved, one, other)
                first, second = (
                    hypotheses.scores(totals[one] + change),
                    hypotheses.scores(totals[other] - change),
                )
                difference = np.abs(first - second)
                if count:
                    square[at] += np.einsum("sh,sh->h", difference, difference)
                    reached[at] += (~(difference < bound[at])).sum(axis=0)
                differences[at] = difference.T
            yield differences.reshape(seen.size, -1)

    for block in shuffled(count=True):  # noqa: B007 (the last one is used again where there is no other)
        blocks += 1
    spread = np.sqrt(square / max(number, 1))
    member = ~(np.isnan(seen) | np.isnan(spread) | (spread <= TIE))
    if absent is not None:
        member &= ~absent
    p = np.where(member, (1 + reached) / (1 + number), np.nan)
    if correction != "maxt":
        return Family(seen, p, correct(p, correction), number)
    chosen = np.flatnonzero(member)
    t = np.abs(seen).reshape(-1)[chosen] / spread.reshape(-1)[chosen]
    # Ascending, so that the highest T so far is that of all hypotheses that are no more extreme.
    place = chosen[np.argsort(t, kind="stable")]
    scale, least = 1 / spread.reshape(-1)[place], np.sort(t, kind="stable") * (1 - 1e-6)
    above = np.zeros(len(place), dtype=np.int64)
    for values in [block] if blocks == 1 else shuffled(count=False):
        above += _reaching(values, place, scale, least)
    corrected = np.full(seen.size, np.nan)
    corrected[place] = np.maximum.accumulate(((1 + above) / (1 + number))[::-1])[::-1]
    return Family(seen, p, corrected.reshape(seen.shape), number)


def _reaching(values: npt.NDArray[np.float32], place: Ints, scale: Floats, least: Floats) -> Ints:
    """How many shuffles have, among the hypotheses up to each one, a T that reaches its own."""
    reached = np.zeros(len(place), dtype=np.int64)
    highest = np.zeros(values.shape[1])
    for at in range(0, len(place), 256):
        part = slice(at, at + 256)
        t = values[place[part]] * scale[part, None]
        np.maximum(t[0], highest, out=t[0])
        np.maximum.accumulate(t, axis=0, out=t)
        highest = t[-1].copy()
        reached[part] = (t >= least[part, None]).sum(axis=1)
    return reached


# ---- sign flips; resamples, outcomes and halves drawn for other rooms ----------------------------
BLOCK_OUTCOMES = 4_000_000  # outcomes drawn at once
FLIPS_TOGETHER = 500  # sign flips that are multiplied at once, where units are few
SIGNS_TOGETHER = 1 << 21  # signs that are multiplied at once, where units are many
UNITS_TOGETHER = 1024  # units that are summed in single precision
MOST_SIGNS = 1 << 24  # signs that are held as numbers
BLOCK_SIGNS = 1 << 19  # numbers of candidates for the highest T that are summed again at once
MOST_FLIPPED = 4096  # units whose signs are flipped one by one; where there are more, in groups
FLIP_TIE = 1e-8  # sums of the same numbers in another order differ in the last bits; they are ties


class Flips(Struct, frozen=True):
    """Signs that units change at random, all statistics together (Westfall and Young's maxT).

    A row of a statistic holds what each unit adds to it; under the null hypothesis the sign of every
    unit is as likely + as -. T is the sum of a row over the root of its sum of squares, 0 where that is 0.
    """

    units: int
    flips: int = 2000
    seed: int = 0
    two_sided: bool = False

    def statistics(self, rows: Floats) -> Floats:
        """T of each row (statistics x units), with its sign."""
        scale = np.sqrt((rows**2).sum(axis=1))
        return ratio_or_zero(rows.sum(axis=1), scale)

    def maxima(self, blocks: Iterable[Floats]) -> Floats:
        """The highest T, or |T|, over all rows of all blocks, in each flip."""
        signs, together = self._signs()
        highest = np.full(self.flips, 0.0 if self.two_sided else -np.inf)
        for rows in blocks:
            scaled = np.empty(rows.shape)
            step = max(1, BLOCK_SIGNS // max(self.units, 1))
            for at in range(0, len(rows), step):
                some = rows[at : at + step]
                scale = np.sqrt((some**2).sum(axis=1))[:, None]
                # Σ|x| of a row of length 1 is at most √units.
                scaled[at : at + step] = on_grid(ratio_or_zero(some, scale), 2 * np.sqrt(self.units))
            single = scaled.astype(np.float32)
            most = float(np.abs(single).sum(axis=1, dtype=np.float64).max(initial=0))
            parts = -(-self.units // UNITS_TOGETHER)
            slack = 2 * (min(self.units, UNITS_TOGETHER) + parts + 1) * 2.0**-24 * most
            for at in range(0, self.flips, together):
                some_signs = signs(at)
                rough = self._rough(some_signs, single)
                if self.two_sided:
                    np.abs(rough, out=rough)
                self._raise(highest[at : at + together], rough, slack, some_signs, scaled)
        return highest

    def sums(self, counts: Numbers) -> Iterator[Floats]:
        """The sums of counts (units × columns), which are whole numbers, in some flips at a time.

        Below 2²⁴ sums of whole numbers are exact in single precision, in any order.
        """
        whole = np.abs(counts).sum(axis=0, dtype=np.float64)
        added = counts.astype(np.float32 if whole.max(initial=0) < 2**24 else np.float64)
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
        """Raise the highest T, or |T|, of some flips to those of further rows.

        Sums in single precision, which cost half as much and are wrong by no more than `slack`, name the
        rows that can be the highest. Only these are summed exactly, so that the result does not depend on
        the order of any sum.
        """
        least = np.maximum(rough.max(axis=1, initial=-np.inf), highest) - slack
        flip, row = np.nonzero(
            rough >= np.nextafter(least.astype(np.float32), -np.inf, dtype=np.float32)[:, None]
        )
        if 8 * len(flip) > rough.size:  # rows that are much alike: one product is faster
            exact = signs.astype(np.float64) @ rows.T
            if self.two_sided:
                np.abs(exact, out=exact)
            np.maximum(highest, exact.max(axis=1, initial=-np.inf), out=highest)
            return
        step = max(1, BLOCK_SIGNS // max(self.units, 1))
        for begin in range(0, len(flip), step):
            some = slice(begin, begin + step)
            value = np.einsum("iu,iu->i", signs[flip[some]], rows[row[some]])
            np.maximum.at(highest, flip[some], np.abs(value) if self.two_sided else value)

    def _packed(self) -> npt.NDArray[np.uint8]:
        """A bit for every flip and unit, set where the unit keeps its sign."""
        generator = np.random.default_rng([self.seed, crc32(b"flips")])
        return generator.integers(0, 256, size=(self.flips, (self.units + 7) // 8), dtype=np.uint8)

    def _signs(self) -> tuple[Callable[[int], npt.NDArray[np.float32]], int]:
        """-1 or 1 (flips x units) of those flips that are multiplied at once, from one of them on; how many.

        Where all of them together are large, they are kept as bits.
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
        every = signs(0, self.flips)
        return lambda at: every[at : at + FLIPS_TOGETHER], FLIPS_TOGETHER

    def p_values(self, statistics: Floats, maxima: Floats) -> Floats:
        """(1 + flips whose highest T reaches this one) / (1 + flips)."""
        reached = np.abs(statistics) if self.two_sided else statistics
        ordered = np.sort(maxima)
        below = np.searchsorted(ordered, reached - FLIP_TIE, side="left")
        return np.asarray((1 + self.flips - below) / (1 + self.flips))

    def critical(self, maxima: Floats, level: float) -> float:
        """The 1 - level point of the highest T over the flips."""
        return float(np.quantile(maxima, 1 - level, method="higher")) if len(maxima) else float("inf")


def ratio_or_zero(numerator: Floats, denominator: Floats) -> Floats:
    """`numerator / denominator`, and 0 where the denominator is 0: a statistic of units that never vary."""
    return np.asarray(np.nan_to_num(ratio(numerator, denominator), nan=0.0))


def joined_units(units: int, groups: int, seed: int) -> Ints:
    """The group of each unit, where units are joined at random into groups of almost equal size."""
    order = np.random.default_rng([seed, crc32(b"groups")]).permutation(units)
    return ints(order % groups)


def drawn_weights(units: int, resamples: int, seed: int) -> npt.NDArray[np.float32]:
    """How often each unit is drawn in each resample with replacement (resamples x units)."""
    generator = np.random.default_rng([seed, crc32(b"weights")])
    weights = np.empty((resamples, units), dtype=np.float32)
    for at in range(resamples):
        weights[at] = np.bincount(generator.integers(0, units, size=units), minlength=units)
    return weights


def bernoulli_sums(
    chances: Floats, bins: Ints, number: int, draws: int, seed: int, *, most: int = 20_000_000
) -> Floats:
    """Sums per bin of outcomes that are 1 with the given chances (draws x bins).

    Beyond `most` outcomes in all, the sums are drawn from normal distributions with their means and
    variances, which thousands of outcomes per bin follow closely.
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
    """The percentile interval over the first axis, low and high in a last axis of two.

    Resamples in which a score is undefined are left out; where it is undefined in all, so is the interval.
    """
    tail = (1 - confidence) / 2
    ordered = np.sort(values, axis=0)  # NaN sorts last
    if len(ordered) and not np.isnan(ordered[-1]).any():
        return np.stack([_between(ordered, tail), _between(ordered, 1 - tail)], axis=-1)
    number = np.sum(~np.isnan(ordered), axis=0)
    return np.stack([_quantile(ordered, number, tail), _quantile(ordered, number, 1 - tail)], axis=-1)


def _between(ordered: Floats, share: float) -> Floats:
    """The quantile of ordered values that are all defined."""
    place = share * (len(ordered) - 1)
    below = int(place)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return np.asarray(low + (high - low) * (place - below))


def _quantile(ordered: Floats, number: npt.NDArray[Any], share: float) -> Floats:
    """The quantile of the first `number` ordered values, between two of them as NumPy's default."""
    place = share * np.maximum(number - 1, 0)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(number - 1, 0))
    low = np.take_along_axis(ordered, below[None], axis=0)[0]
    high = np.take_along_axis(ordered, above[None], axis=0)[0]
    return np.where(number > 0, low + (high - low) * (place - below), np.nan)


def drawn_numbers(seed: int, purpose: str, rows: int, columns: int) -> Floats:
    """Random numbers in [0, 1) that depend on the seed and on what they are for."""
    return np.random.default_rng([seed, crc32(purpose.encode())]).random((rows, columns))
