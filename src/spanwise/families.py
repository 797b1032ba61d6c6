"""Families of tests over pairs of systems: what few units allow, and many scores at once on shared swaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Bools, Column, Floats, Ints, ratio
from spanwise.engines import at_once
from spanwise.errors import many
from spanwise.statistics import LEVEL, correct
from spanwise.uncertainty import (
    MOST_SHUFFLES,
    TIE,
    UNDECIDED,
    Pairs,
    Resampling,
    Runs,
    Swapping,
    matched_runs,
)

MOST_SCORES = 100_000_000  # the most scores, one per hypothesis and shuffle, for a family that is undecided
UNITS_TOGETHER = 4096
TOGETHER = 256  # shuffles scored at once: few enough for the processor's cache
IN_THREADS = 1 << 20  # differences from which on pairs are scored in two threads
KEPT = 1 << 26  # bytes of swapped sums kept, so that they need not be drawn again

__all__ = ["Family", "Hypotheses", "corrected_pairs", "least_p", "stepped_down", "unreachable"]


# ---- one question about several pairs -------------------------------------------------------


def least_p(differing: npt.ArrayLike) -> Floats:
    """The smallest p that an exact test can give if two systems differ in so many units: 2 / 2ᵏ.

    Examples:
        >>> least_p([0, 1, 4, 6]).tolist()
        [1.0, 1.0, 0.125, 0.03125]
    """
    return np.minimum(1.0, 2.0 ** (1 - np.asarray(differing, np.float64)))


def unreachable(differing: int, tests: int, unit: str, *, of: str = "pair") -> str | None:
    """The sentence that says that the test of a pair cannot reach its level; None if it can.

    Args:
        differing: the units in which the two systems differ.
        tests: how many tests are corrected together.
        of: what each of these tests is about.

    Examples:
        >>> unreachable(4, 1, "document")
        'only 4 documents differ: the test cannot reach .05 on these data'
        >>> unreachable(6, 1, "document")
    """
    if not float(least_p(differing)) > LEVEL / max(tests, 1):
        return None
    few = f"only {many(differing, unit)} {'differs' if differing == 1 else 'differ'}"
    after = f" after correction over {tests} {of}s" if tests > 1 else ""
    return f"{few if differing else f'no {unit} differs'}: the test cannot reach .05{after} on these data"


def corrected_pairs(p: Floats, differing: Ints, correction: str) -> Floats:
    """The corrected p-values; those of pairs whose test cannot reach the level of all pairs stay above it."""
    corrected = correct(p, correction)
    family = int((~np.isnan(p)).sum())
    few = (least_p(differing) > LEVEL / max(family, 1)) & (corrected < LEVEL)
    return np.where(few, np.minimum(1.0, family * p), corrected)


# ---- many questions -------------------------------------------------------------------------


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
        """The scores (hypotheses × …) for totals (numerators and denominators × …)."""
        below = totals[self.ratios :]
        if not below.all():
            below = np.where(below == 0, np.nan, below)
        return self.combined(totals[: self.ratios] / below)

    def combined(self, value: Floats) -> Floats:
        """The scores (hypotheses × …) for the values of all ratios (ratios × …)."""
        plain, less = len(self.plain), len(self.less)
        scores = np.empty((len(self), *value.shape[1:]))
        np.take(value, self.plain, axis=0, out=scores[:plain], mode="clip")
        if less:
            np.subtract(value[self.less[:, 0]], value[self.less[:, 1]], out=scores[plain : plain + less])
        for at, group in enumerate(self.mean, start=plain + less):
            members = value[group]
            undefined = np.isnan(members)
            members[undefined] = 0.0
            scores[at] = ratio(members.sum(axis=0), len(members) - undefined.sum(axis=0))
        return scores


class Family(Struct, frozen=True, eq=False):
    """The tests of many scores over pairs (pairs × scores), corrected together; NaN: not in the family."""

    difference: Floats
    p: Floats
    p_corrected: Floats
    shuffles: int
    undecided: Bools  # whether more shuffles would be needed


def stepped_down(
    swapping: Swapping,
    totals: Sequence[Floats],
    pairs: Pairs,
    hypotheses: Hypotheses,
    resampling: Resampling,
    *,
    absent: Bools | None = None,
    correction: str = "maxt",
    runs: Runs | None = None,
) -> Family:
    """Westfall and Young's step-down maxT over all scores of all pairs, which share the same swaps.

    T is a difference divided by the root mean square of its values under swaps (whose mean is 0, since
    opposite swaps give opposite differences). A score that never changes, or is undefined in a swap, is left
    out of the family. Shuffles are doubled, up to 100,000, while some corrected p is within three Monte-Carlo
    standard errors of .05 (with very many hypotheses fewer times, so that they take seconds rather than
    minutes); what is then still as close is undecided. Shuffles are processed in blocks to limit memory; if
    there is more than one block, or shuffles were added, all are scored a second time: only then is every
    root mean square known.

    Args:
        swapping: the numerators and denominators of every run per unit, or per group of units.
        totals: their sums over all units, by run.
        absent: pairs × scores that are not tested.
        correction: "maxt"; or "bh" over the uncorrected p-values.
        runs: the runs of each system, whose scores are averaged; None: one each.
    """
    matched = [matched_runs(pair, runs).tolist() for pair in pairs]
    shuffled = _Shuffled(swapping, totals, matched, hypotheses, resampling)
    if absent is not None:
        shuffled.square[absent] = np.nan
    number, size = resampling.resamples, shuffled.observed.size
    most = max(number, MOST_SCORES // max(size, 1))
    block, blocks = np.zeros((size, 0), dtype=np.float32), 0
    for block in shuffled.blocks(number):  # noqa: B007 (a single block is used again below)
        blocks += 1
    ladder = shuffled.ladder(number)
    if correction == "maxt":
        for values in [block] if blocks == 1 else shuffled.again(number):
            ladder.add(values)
    del block
    settled = True  # whether the standard deviations are those of all shuffles
    while True:
        p = np.where(shuffled.member(number), (1 + shuffled.reached) / (1 + number), np.nan)
        if correction == "maxt":
            corrected = ladder.corrected(number).reshape(p.shape)
            error = np.sqrt(corrected * (1 - corrected) / max(number, 1))
        else:
            corrected = correct(p, correction)
            error = corrected * np.sqrt((1 - p) / p / max(number, 1))  # that of p, times corrected / p
        close = np.abs(corrected - LEVEL) <= UNDECIDED * error
        more = min(number, MOST_SHUFFLES - number)
        if close.any() and 0 < more <= most - number:
            for values in shuffled.blocks(more):
                if correction == "maxt":
                    ladder.add(values)
            number += more
            settled = correction != "maxt"
        elif settled:
            return Family(shuffled.observed, p, corrected, number, close)
        else:
            ladder, settled = shuffled.ladder(number), True
            for values in shuffled.again(number):
                ladder.add(values)


class _Shuffled:
    """The differences of all hypotheses in shuffle after shuffle, which are counted on the way."""

    def __init__(
        self,
        swapping: Swapping,
        totals: Sequence[Floats],
        matched: Sequence[Pairs],
        hypotheses: Hypotheses,
        resampling: Resampling,
    ) -> None:
        self.swapping, self.matched = swapping, matched  # for each pair of systems, its pairs of runs
        self.hypotheses, self.resampling = hypotheses, resampling
        self.totals = [total.astype(np.float64)[:, None] for total in totals]
        scored = [hypotheses.scores(total)[:, 0] for total in self.totals]
        self.observed: Floats = np.stack(
            [_mean([scored[first] - scored[second] for first, second in of_runs]) for of_runs in matched]
        )
        self.square: Floats = np.zeros(self.observed.shape)  # beyond that of the linear part
        self.slopes = [
            [_Slope.between(self.totals[a], self.totals[b], hypotheses.ratios) for a, b in of_runs]
            for of_runs in matched
        ]
        self.linear = np.stack(list(map(self._linear, matched, self.slopes)))
        self.reached: Ints = np.zeros(self.observed.shape, dtype=np.int64)
        self.generator = resampling.generator("secondary")
        self.kept: list[Column] | None = []  # the sums over swapped units of all shuffles, if there is room
        self.room = KEPT if resampling.memory is None else min(KEPT, resampling.memory // 4)

    def blocks(self, shuffles: int) -> Iterator[npt.NDArray[np.float32]]:
        """|difference| of every hypothesis (hypotheses × shuffles) in the next shuffles, block by block."""
        return self._blocks(self._keep(self._moved(shuffles)), count=True)

    def again(self, shuffles: int) -> Iterator[npt.NDArray[np.float32]]:
        """The first shuffles once more, without counting them again."""
        if self.kept is not None:
            return self._blocks(iter(self.kept), count=False)
        return self._blocks(self._moved(shuffles, again=True), count=False)

    def _moved(self, shuffles: int, *, again: bool = False) -> Iterator[Column]:
        generator = self.resampling.generator("secondary") if again else self.generator
        return self.swapping.moved(generator, shuffles, self.observed.size, self.resampling.scores)

    def _keep(self, blocks: Iterator[Column]) -> Iterator[Column]:
        """The blocks, which are kept for `again` as long as there is room."""
        for moved in blocks:
            if self.kept is not None:
                narrow = moved.astype(np.int16)
                exact = narrow if np.array_equal(narrow, moved) else moved
                held = exact.nbytes + sum(block.nbytes for block in self.kept)
                self.kept = [*self.kept, exact] if held <= self.room else None
            yield moved

    def _blocks(self, blocks: Iterator[Column], *, count: bool) -> Iterator[npt.NDArray[np.float32]]:
        half, number = len(self.matched) // 2, len(self.matched)
        for moved in blocks:
            differences = np.empty((*self.observed.shape, len(moved)), dtype=np.float32)
            columns = [
                np.ascontiguousarray(moved[begin : begin + TOGETHER].T, dtype=np.float64)
                for begin in range(0, len(moved), TOGETHER)
            ]
            fill = partial(self._fill, differences, columns, count)
            if half and differences.size > IN_THREADS:
                at_once(partial(fill, range(half)), partial(fill, range(half, number)))
            else:
                fill(range(number))
            yield differences.reshape(self.observed.size, -1)

    def _fill(
        self, differences: npt.NDArray[np.float32], columns: Sequence[Floats], count: bool, pairs: range
    ) -> None:
        """Score some of the pairs."""
        for number, own in enumerate(columns):
            part = slice(number * TOGETHER, (number + 1) * TOGETHER)
            for at in pairs:
                differences[at, :, part] = self._differences(at, own, count=count)

    def _differences(self, at: int, columns: Floats, *, count: bool) -> Floats:
        """|difference| of every hypothesis about a pair, from the sums of all columns over swapped units."""
        index = self.swapping.column_index
        parts, linear_parts = [], []
        for (first, second), slope in zip(self.matched[at], self.slopes[at], strict=True):
            change = columns[index[second]]
            change -= columns[index[first]]
            parts.append(
                self.hypotheses.scores(self.totals[first] + change)
                - self.hypotheses.scores(self.totals[second] - change)
            )
            if count:
                apart = self.totals[second] - self.totals[first]
                linear_parts.append(slope.of(self.hypotheses, 2 * change - apart))
        difference = np.abs(_mean(parts))
        if count:
            linear, bound = _mean(linear_parts), (np.abs(self.observed[at]) - TIE)[:, None]
            self.square[at] += np.einsum("hs,hs->h", difference, difference)
            self.square[at] -= np.einsum("hs,hs->h", linear, linear)
            self.reached[at] += np.count_nonzero(~(difference < bound), axis=1)
        return difference

    def _linear(self, of_runs: Pairs, slopes: Sequence[_Slope]) -> Floats:
        """The mean square of the linear part of each difference, over all swaps."""
        index, total = self.swapping.column_index, np.zeros(self.observed.shape[1])
        for begin in range(0, len(self.swapping.columns), UNITS_TOGETHER):
            columns = self.swapping.columns[begin : begin + UNITS_TOGETHER].T.astype(np.float64)
            values = _mean(
                [
                    slope.of(self.hypotheses, columns[index[second]] - columns[index[first]])
                    for (first, second), slope in zip(of_runs, slopes, strict=True)
                ]
            )
            total += np.einsum("hu,hu->h", values, values)
        return total

    def spread(self, shuffles: int) -> Floats:
        """The root mean square of each difference: exact for its linear part, from all shuffles for the rest.

        A difference is nearly linear in the counts that change sides, so that the rest is small, and so is
        the error that comes from the number of shuffles.
        """
        return np.sqrt(np.maximum(self.linear + self.square / max(shuffles, 1), 0.0))

    def member(self, shuffles: int) -> Bools:
        """The hypotheses of the family: those that vary, and are defined in every shuffle so far."""
        return ~np.isnan(self.observed) & (self.spread(shuffles) > TIE)

    def ladder(self, shuffles: int) -> _Ladder:
        """The hypotheses of the family in the order of their T, before any shuffle is counted."""
        chosen = np.flatnonzero(self.member(shuffles))
        spread = self.spread(shuffles).reshape(-1)[chosen]
        t = np.abs(self.observed).reshape(-1)[chosen] / spread
        # Ascending, so that the highest T so far is the maximum over all hypotheses that are no more extreme.
        rank = np.argsort(t, kind="stable")
        return _Ladder(chosen[rank], 1 / spread[rank], t[rank] * (1 - 1e-6), self.observed.size)


def _mean(parts: Sequence[Floats]) -> Floats:
    return parts[0] if len(parts) == 1 else np.mean(parts, axis=0)


class _Slope(Struct, frozen=True, eq=False):
    """How much ratios of two systems change with their sums, at the middle between the two."""

    value: Floats
    below: Floats

    @classmethod
    def between(cls, first: Floats, second: Floats, ratios: int) -> _Slope:
        """The ratios of the two systems' mean totals."""
        above, below = np.split((first + second) / 2, [ratios])
        return cls(ratio(above, below), below)

    def of(self, hypotheses: Hypotheses, change: Floats) -> Floats:
        """The change of each score (hypotheses × …) if sums change by so much (sums × …)."""
        above, below = np.split(change, [hypotheses.ratios])
        return hypotheses.combined(
            (above - self.value * below) / np.where(self.below == 0, np.nan, self.below)
        )


class _Ladder:
    """For each hypothesis, from the lowest T to the highest, how many shuffles reach its T up to there."""

    def __init__(self, order: Ints, scale: Floats, least: Floats, size: int) -> None:
        self.order, self.scale, self.least, self.size = order, scale, least, size
        self.above = np.zeros(len(order), dtype=np.int64)

    def add(self, values: npt.NDArray[np.float32]) -> None:
        """Count further shuffles (hypotheses × shuffles)."""
        highest = np.zeros(values.shape[1])
        for at in range(0, len(self.order), 256):
            part = slice(at, at + 256)
            t = values[self.order[part]] * self.scale[part, None]
            np.maximum(t[0], highest, out=t[0])
            np.maximum.accumulate(t, axis=0, out=t)
            highest = t[-1].copy()
            self.above[part] += (t >= self.least[part, None]).sum(axis=1)

    def corrected(self, shuffles: int) -> Floats:
        """The corrected p-values of all hypotheses; NaN for those that are not in the family."""
        corrected = np.full(self.size, np.nan)
        reached = (1 + self.above) / (1 + shuffles)
        corrected[self.order] = np.maximum.accumulate(reached[::-1])[::-1]
        return corrected
