"""Sign flips, where units change sign at random; resamples, outcomes and halves drawn for other rooms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Bools, Floats, Ints, ints, on_grid, ratio

BLOCK_OUTCOMES = 4_000_000  # outcomes drawn at once
FLIPS_TOGETHER = 500  # sign flips that are multiplied at once, where units are few
SIGNS_TOGETHER = 1 << 21  # signs that are multiplied at once, where units are many
UNITS_TOGETHER = 1024  # units that are summed in single precision
MOST_SIGNS = 1 << 24  # signs that are held as numbers
BLOCK_SIGNS = 1 << 19  # numbers of candidates for the highest T that are summed again at once
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
            for at in range(0, self.flips, together):
                self._raise(highest[at : at + together], signs(at), scaled, single)
        return highest

    def _raise(
        self, highest: Floats, signs: npt.NDArray[np.float32], rows: Floats, single: npt.NDArray[np.float32]
    ) -> None:
        """Raise the highest T of some flips to those of further rows.

        Sums in single precision, which cost half as much, name the rows that can be the highest. These
        alone are summed exactly, so that the result does not depend on the order of any sum.
        """
        rough = np.zeros((len(signs), len(rows)), dtype=np.float32)
        for begin in range(0, self.units, UNITS_TOGETHER):
            part = slice(begin, begin + UNITS_TOGETHER)
            rough += signs[:, part] @ single[:, part].T
        if self.two_sided:
            np.abs(rough, out=rough)
        parts = -(-self.units // UNITS_TOGETHER)
        most = float(np.abs(single).sum(axis=1, dtype=np.float64).max(initial=0))
        slack = 2 * (min(self.units, UNITS_TOGETHER) + parts + 1) * 2.0**-24 * most
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

    def _signs(self) -> tuple[Callable[[int], npt.NDArray[np.float32]], int]:
        """-1 or 1 (flips x units) of those flips that are multiplied at once, from one of them on; how many.

        Where all of them together are large, they are kept as bits.
        """
        generator = np.random.default_rng([self.seed, crc32(b"flips")])
        packed = generator.integers(0, 256, size=(self.flips, (self.units + 7) // 8), dtype=np.uint8)

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


def drawn_numbers(seed: int, purpose: str, rows: int, columns: int) -> Floats:
    """Random numbers in [0, 1) that depend on the seed and on what they are for."""
    return np.random.default_rng([seed, crc32(purpose.encode())]).random((rows, columns))
