"""Intervals and paired tests from counts per unit and a seed; the only room that draws random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Bools, Floats, Ints, ints, multipliers, ratio
from spanwise.counts import Counts, Matrix, distinct_rows

# Up to here one matrix product over all units serves every cell of every system. Above, how often each
# distinct row of a cell is taken is drawn at once, which costs the same for any number of units, and
# pays while there are this many times fewer rows than units.
MATRIX_UNITS = 20_000
FEWER_ROWS = 8
# Resamples are drawn in blocks of so many weights, one a unit, and of swaps, one bit a unit.
BLOCK_WEIGHTS = 500_000
BLOCK_SWAPS = 4_000_000
FLIPS_TOGETHER = 500  # sign flips that are multiplied at once
FLIP_TIE = 1e-5  # statistics this close are equal: flips are summed in single precision

Weights = npt.NDArray[Any]
T = TypeVar("T")


class Resampling(Struct, frozen=True):
    """How often to resample, over how many units, from which seed."""

    units: int
    resamples: int = 1000
    seed: int = 0

    def generator(self, purpose: str) -> np.random.Generator:
        """Random numbers of their own for each purpose: no table's numbers depend on another table."""
        return np.random.default_rng([self.seed, crc32(purpose.encode())])

    def drawn_runs(self, runs: int, name: str) -> npt.NDArray[np.int64]:
        """Which runs of a system each resample draws with replacement (resamples × runs)."""
        return self.generator(f"runs {name}").integers(0, runs, size=(self.resamples, runs))

    def shares_draws(self, table: Counts) -> bool:
        """Whether a table is resampled unit by unit, with draws that all such tables share.

        Otherwise it has few distinct rows among many units, and every cell has draws of its own.
        """
        if self.units <= MATRIX_UNITS:
            return True
        distinct = sum(len(distinct_rows(rows)[0]) for rows in _by_cell(table.rows, table))
        return distinct * FEWER_ROWS > self.units

    def bootstrap(self, tables: Sequence[Counts], names: Sequence[str]) -> list[Floats]:
        """Totals (resamples × cells × columns) of each table over units drawn with replacement."""
        return list(
            self._over_both(
                [[table] for table in tables],
                lambda chosen: self._by_units([table for (table,) in chosen]),
                lambda chosen, name: self._by_cells(chosen[0], f"rows {name}"),
                names,
            )
        )

    def paired_bootstrap(
        self, first: Sequence[Counts], second: Sequence[Counts], names: Sequence[str]
    ) -> list[tuple[Floats, Floats]]:
        """Totals of two systems' tables, the same units drawn with replacement for both."""
        pairs = [[one, other] for one, other in zip(first, second, strict=True)]
        return list(self._over_both(pairs, self._pairs_by_units, self._pair_by_cells, names))

    def shuffled(
        self, first: Sequence[Counts], second: Sequence[Counts], names: Sequence[str]
    ) -> Iterator[tuple[Floats, Floats]]:
        """Totals of two systems' tables when in every unit the two may have changed sides.

        Approximate randomisation: under the null hypothesis the sides are exchangeable unit by unit.
        Shuffles are many, so that the totals of one pair of tables are given at a time.
        """
        pairs = [[one, other] for one, other in zip(first, second, strict=True)]
        moved = self._over_both(pairs, self._moved_units, self._moved_cells, names)
        for one, other, change in zip(first, second, moved, strict=True):
            yield one.total + change, other.total - change

    def _over_both(
        self,
        groups: Sequence[Sequence[Counts]],
        by_units: Callable[[Sequence[Sequence[Counts]]], Iterator[T]],
        by_cells: Callable[[Sequence[Counts], str], T],
        names: Sequence[str],
    ) -> Iterator[T]:
        """The result of each group: of those that share draws all at once, of the others one by one."""
        sharing = [all(self.shares_draws(table) for table in group) for group in groups]
        together = [group for group, shares in zip(groups, sharing, strict=True) if shares]
        shared = by_units(together) if together else iter(())
        for group, name, shares in zip(groups, names, sharing, strict=True):
            yield next(shared) if shares else by_cells(group, name)

    def _by_units(self, tables: Sequence[Counts]) -> Iterator[Floats]:
        columns, number = _distinct_columns(tables)
        totals = np.empty((self.resamples, columns.shape[1]))
        for at, weights in self._drawn_units():
            totals[at : at + len(weights)] = weights.astype(columns.dtype, copy=False) @ columns
        return _parted(totals, number, tables)

    def _pairs_by_units(self, pairs: Sequence[Sequence[Counts]]) -> Iterator[tuple[Floats, Floats]]:
        totals = self._by_units([table for pair in pairs for table in pair])
        return ((one, next(totals)) for one in totals)

    def _moved_units(self, pairs: Sequence[Sequence[Counts]]) -> Iterator[Floats]:
        """What the first tables gain by the units that change sides, per resample."""
        whole = np.concatenate([other.matrix() - one.matrix() for one, other in pairs], axis=1)
        differs = np.flatnonzero(whole.any(axis=1))
        distinct, number = distinct_rows(np.ascontiguousarray(whole[differs].T))
        size = np.abs(distinct)
        exact = _exact_type(int(size.max(initial=0)), int(size.sum(axis=1, dtype=np.int64).max(initial=0)))
        change = distinct.T.astype(exact)
        moved = np.empty((self.resamples, len(distinct)))
        for at, swaps in self._swaps():
            moved[at : at + len(swaps)] = np.take(swaps, differs, axis=1).astype(change.dtype) @ change
        return _parted(moved, number, [one for one, _ in pairs])

    def _by_cells(self, table: Counts, purpose: str) -> Floats:
        return _stacked(
            self._drawn(rows, table.times, f"{purpose} {place}")
            for place, rows in enumerate(_by_cell(table.rows, table))
        )

    def _pair_by_cells(self, pair: Sequence[Counts], name: str) -> tuple[Floats, Floats]:
        first, second = pair
        ones, others, times = _pairs(first, second)
        both = _stacked(
            self._drawn(np.concatenate(rows, axis=1), times, f"pair {name} {place}")
            for place, rows in enumerate(zip(_by_cell(ones, first), _by_cell(others, first), strict=True))
        )
        wide = len(first.columns)
        return both[:, :, :wide], both[:, :, wide:]

    def _moved_cells(self, pair: Sequence[Counts], name: str) -> Floats:
        ones, others, times = _pairs(*pair)
        return _stacked(
            self._moved(changes, times, f"swap {name} {place}")
            for place, changes in enumerate(_by_cell(others - ones, pair[0]))
        )

    def _drawn(self, rows: Matrix, times: Ints, purpose: str) -> Floats:
        """The sum of rows of which each stands for so many units, all units drawn with replacement."""
        distinct, number = _gathered(rows, times)
        chances = number / number.sum()
        generator = self.generator(purpose)
        totals = np.empty((self.resamples, rows.shape[1]))
        for at, size in self._blocks(len(distinct), BLOCK_WEIGHTS):
            totals[at : at + size] = generator.multinomial(self.units, chances, size=size) @ distinct
        return totals

    def _moved(self, changes: Matrix, times: Ints, purpose: str) -> Floats:
        """The sum of the changes of units that change sides: Binomial(n, ½) of n units with one change.

        A unit that changes sides by the opposite change is as good as one that stays, so that both
        kinds are drawn together: B(m, ½) has the distribution of m - B(m, ½).
        """
        ahead = _first_sign(changes)
        distinct, number = _gathered(changes * ahead[:, None], times)
        backward = changes.astype(np.int64).T @ (times * (ahead < 0))
        differs = distinct.any(axis=1)
        distinct, number = distinct[differs], number[differs]
        generator = self.generator(purpose)
        totals = np.empty((self.resamples, changes.shape[1]))
        for at, size in self._blocks(len(distinct), BLOCK_WEIGHTS):
            totals[at : at + size] = generator.binomial(number, 0.5, size=(size, len(distinct))) @ distinct
        return totals + backward

    def _drawn_units(self) -> Iterator[tuple[int, Weights]]:
        """Blocks of how often each unit is drawn, float32, with the number of their first resample."""
        generator = self.generator("units")
        for at, size in self._blocks(self.units, BLOCK_WEIGHTS):
            drawn = generator.integers(0, max(self.units, 1), size=(size, self.units), dtype=np.int32)
            drawn += np.arange(size, dtype=np.int32)[:, None] * np.int32(self.units)
            times = np.bincount(drawn.reshape(-1), minlength=size * self.units)
            yield at, times.reshape(size, self.units).astype(np.float32)

    def _swaps(self) -> Iterator[tuple[int, Weights]]:
        """Blocks of which units change sides, 0 or 1."""
        generator = self.generator("swaps")
        for at, size in self._blocks(self.units, BLOCK_SWAPS):
            packed = np.frombuffer(generator.bytes(size * ((self.units + 7) // 8)), dtype=np.uint8)
            bits = packed.reshape(size, -1)
            step = max(1, BLOCK_WEIGHTS // max(self.units, 1))
            for first in range(0, size, step):
                some = np.unpackbits(bits[first : first + step], axis=1, count=self.units)
                yield at + first, some

    def _blocks(self, width: int, most: int) -> Iterator[tuple[int, int]]:
        """Resamples of `width` weights each, drawn together up to `most` weights: the first, how many."""
        number = max(1, most // max(width, 1))
        for at in range(0, self.resamples, number):
            yield at, min(number, self.resamples - at)


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
        signs = self._signs()
        highest = np.full(self.flips, 0.0 if self.two_sided else -np.inf)
        for rows in blocks:
            scale = np.sqrt((rows**2).sum(axis=1))[:, None]
            # Sums over units in double precision cost twice as much and decide no flip.
            scaled = ratio_or_zero(rows, scale).astype(np.float32)
            for at in range(0, self.flips, FLIPS_TOGETHER):
                flipped = signs[at : at + FLIPS_TOGETHER] @ scaled.T
                if self.two_sided:
                    np.abs(flipped, out=flipped)
                here = highest[at : at + FLIPS_TOGETHER]
                np.maximum(here, flipped.max(axis=1, initial=-np.inf), out=here)
        return highest

    def _signs(self) -> npt.NDArray[np.float32]:
        """-1 or 1 (flips x units)."""
        generator = np.random.default_rng([self.seed, crc32(b"flips")])
        packed = generator.integers(0, 256, size=(self.flips, (self.units + 7) // 8), dtype=np.uint8)
        bits = np.unpackbits(packed, axis=1, count=self.units).astype(np.float32)
        bits *= 2
        bits -= 1
        return bits

    def p_values(self, statistics: Floats, maxima: Floats) -> Floats:
        """(1 + flips whose highest T reaches this one) / (1 + flips)."""
        reached = np.abs(statistics) if self.two_sided else statistics
        ordered = np.sort(maxima)
        # The same sum in single precision is a tie.
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
    step = max(1, BLOCK_SWAPS // max(len(chances), 1))
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


def interval(values: Floats, confidence: float = 0.95) -> Floats:
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


def p_value(observed: Floats, shuffled: Floats) -> Floats:
    """`(1 + number of shuffles at least as far from 0) / (1 + shuffles)`, two-sided; NaN where undefined.

    A shuffle in which the difference is undefined counts as at least as far, which is the careful side.
    """
    # Sums of the same integers divided in another order differ in the last bits; they are ties.
    reached = ~(np.abs(shuffled) < np.abs(observed) - 1e-12)
    p = (1 + reached.sum(axis=0)) / (1 + len(shuffled))
    return np.where(np.isnan(observed), np.nan, p)


def standard_error(values: Floats) -> Floats:
    """The standard deviation (ddof 1) of resampled scores over the first axis, undefined ones left out."""
    defined = ~np.isnan(values)
    number = defined.sum(axis=0)
    filled = np.where(defined, values, 0.0)
    mean = filled.sum(axis=0) / np.maximum(number, 1)
    square = np.where(defined, (values - mean) ** 2, 0.0).sum(axis=0)
    return np.where(number > 1, np.sqrt(square / np.maximum(number - 1, 1)), np.nan)


def _parted(results: Floats, number: Sequence[int] | Ints, tables: Sequence[Counts]) -> Iterator[Floats]:
    """Resampled totals of tables, one array (resamples × cells × columns) each.

    `number` says which of the results each column of the tables is, that stand side by side.
    """
    at = 0
    for table in tables:
        cells, columns = len(table.cells), len(table.columns)
        chosen = number[at : at + cells * columns]
        at += cells * columns
        yield results[:, chosen].reshape(len(results), cells, columns)


def _distinct_columns(tables: Sequence[Counts]) -> tuple[Weights, list[int]]:
    """The distinct columns of all tables side by side, a row each unit, and which of them each column is.

    Many are the same, such as the gold mentions of a bucket in the tables of two systems.
    """
    totals = [int((table.times @ table.rows).max(initial=0)) for table in tables]
    largest = [int(table.rows.max(initial=0)) for table in tables]
    whole = sum(table.rows.shape[1] for table in tables)
    columns = np.empty((tables[0].units, whole), _exact_type(max(largest), max(totals)), order="F")
    number: list[int] = []
    known: dict[int, int] = {}
    used = 0
    for table in tables:
        counts = np.asfortranarray(table.rows)
        for column, hashed in zip(counts.T, _column_hashes(table), strict=True):
            columns[:, used] = column[table.row]
            place = known.setdefault(hashed, used)
            if place < used and not np.array_equal(columns[:, place], columns[:, used]):
                place = used  # another column of the same hash: as good as never
            number.append(place)
            used += place == used
    return columns[:, :used], number


def _column_hashes(table: Counts) -> list[int]:
    """A number for each column of a table that is equal for columns with the same counts in every unit."""
    weight = np.zeros(len(table.rows), dtype=np.uint64)
    np.add.at(weight, table.row, multipliers(table.units))
    hashes: list[int] = (weight @ table.rows.astype(np.uint64)).tolist()
    return hashes


def _pairs(first: Counts, second: Counts) -> tuple[Matrix, Matrix, Ints]:
    """The distinct pairs of rows of two tables, first and second ones, and how many units have each."""
    wide = len(second.rows)
    key = first.row.astype(np.int64) * wide + second.row
    if len(first.rows) * wide <= 4 * len(key):
        every = np.bincount(key, minlength=len(first.rows) * wide)
        pairs = np.flatnonzero(every)
        times = every[pairs]
    else:
        ordered = np.sort(key)
        begin = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        pairs = ordered[begin]
        times = np.diff(np.append(begin, len(ordered)))
    return first.rows[pairs // wide], second.rows[pairs % wide], times


def _first_sign(rows: Matrix) -> Matrix:
    """1 or -1 for each row: the sign of its first count that is not 0; 1 where all are."""
    first = np.take_along_axis(rows, (rows != 0).argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(first < 0, -1, 1).astype(np.int32)


def _by_cell(rows: Matrix, table: Counts) -> list[Matrix]:
    return np.split(rows, len(table.cells), axis=1) if table.cells else []


def _gathered(rows: Matrix, times: Ints) -> tuple[Ints, Ints]:
    """The distinct ones among rows that stand for so many units each, and the units of those."""
    distinct, number = distinct_rows(rows)
    summed = np.bincount(number, weights=times, minlength=len(distinct))
    return distinct.astype(np.int64), summed.astype(np.int64)


def _stacked(cells: Iterator[Floats]) -> Floats:
    return np.stack(list(cells), axis=1)


def _exact_type(largest: int, total: int) -> type[np.float32] | type[np.float64]:
    """float32 where every sum of a resample is exact in it, so that the order of adding is no matter."""
    # A unit is practically never drawn more than 64 times; the bound is on the sum of all that.
    return np.float32 if total + 64 * largest < 2**22 else np.float64
