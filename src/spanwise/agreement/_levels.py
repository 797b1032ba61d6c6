"""The human level, the level of each system among the same annotators, and whether they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct

from spanwise.agreement._jackknife import UnitPlan, added, logit_t, merged, plain_t
from spanwise.agreement._shared import Presence, Shared
from spanwise.columns import Bools, Floats, Ints, floats, ints, on_grid, plain, ratio
from spanwise.document import Interval
from spanwise.document.agreement import AgreementLevels, HumanLevel, SystemLevel
from spanwise.statistics import LEVEL, holm, levels
from spanwise.uncertainty import EXACT_UNITS, MOST_SHUFFLES, UNDECIDED, draw_numbers

FIRST_FLIPS = 1000
TIE = 1e-12  # sums in a different order differ in the last bits, but count as ties
BLOCK = 4_000_000  # signs drawn at once


class Compared(Struct, frozen=True):
    """Two parties whose marks are compared, annotators first, and the system whose documents alone count."""

    first: int
    second: int
    within: int | None = None


def compared_parties(presence: Presence) -> list[Compared]:
    """All pairs of annotators, every system with every annotator, and pairs on the documents of a system.

    The last are needed for systems that lack documents, whose level is compared on those that they have.
    """
    n = len(presence.annotators)
    pairs = [Compared(i, j) for i, j in combinations(range(n), 2)]
    systems = [Compared(i, n + at, at) for at in range(len(presence.systems)) for i in range(n)]
    again = [Compared(pair.first, pair.second, at) for at in _lacking(presence) for pair in pairs]
    return [*pairs, *systems, *again]


def _lacking(presence: Presence) -> list[int]:
    """The systems that lack documents that two or more annotators have."""
    return [
        at for at in range(len(presence.systems)) if (presence.shared & ~presence.system_present[at]).any()
    ]


class LevelSums(Struct, frozen=True, eq=False):
    """Marks in common, and of both together, of compared parties in each unit of a block."""

    unit: Ints
    table: Ints  # units × compared parties × [both, marks]

    @classmethod
    def of(cls, block: Shared, parties: Sequence[Compared], plan: UnitPlan) -> LevelSums:
        """Count a block."""
        n, distinct = len(block.annotators), block.distinct
        document = block.document[distinct.sentence]
        numbers = plan.of_sentences(block)
        begin = int(numbers.min(initial=0)) if len(numbers) else 0
        size = int(numbers.max(initial=-1)) - begin + 1 if len(numbers) else 0
        unit = numbers[distinct.sentence] - begin
        shared = block.present.sum(axis=0) >= 2
        table = np.zeros((size, len(parties), 2), dtype=np.int64)
        for at, pair in enumerate(parties):
            counts = block.present[pair.first] & shared
            counts = counts & (block.present[pair.second] if pair.second < n else True)
            if pair.within is not None:
                counts = counts & block.system_present[pair.within]
            one, other = (distinct.by[party] & counts[document] for party in (pair.first, pair.second))
            table[:, at, 0] = np.bincount(unit[one & other], minlength=size)
            table[:, at, 1] = np.bincount(unit[one], minlength=size) + np.bincount(
                unit[other], minlength=size
            )
        return cls(ints(begin + np.arange(size)), ints(table))

    @classmethod
    def joined(cls, parts: Sequence[LevelSums]) -> LevelSums:
        """Add up the sums of consecutive blocks; a unit may continue in the next block."""
        unit, first = merged(ints(np.concatenate([part.unit for part in parts])))
        return cls(unit, added(ints(np.concatenate([part.table for part in parts])), first))


class Level(Struct, frozen=True, eq=False):
    """The mean F1 of several pairs, with and without each unit.

    Pairs whose F1 is undefined are left out of the mean.
    """

    table: Floats  # units × pairs × [both, marks]

    @property
    def value(self) -> float:
        """The mean of F1 over pairs."""
        return float(_mean(_f1(self.table.sum(axis=0)[None]))[0])

    @property
    def held(self) -> Bools:
        """Which units hold a mark."""
        return np.asarray(self.table[:, :, 1].any(axis=1))

    @property
    def left_out(self) -> Floats:
        """The mean without each unit."""
        return _mean(_f1(self.table.sum(axis=0) - self.table))

    @property
    def interval(self) -> Interval | None:
        """The logit-t interval over the units that hold a mark."""
        size = float(self.table[:, :, 1].sum(axis=0).mean()) / 2
        return None if np.isnan(self.value) else logit_t(self.value, self.left_out[self.held], size)

    def shares(self, centre: float) -> Floats:
        """What each unit adds to the mean's excess over `centre`: the mean of (2·both − centre·marks) / n."""
        size = self.table[:, :, 1].sum(axis=0)
        return _mean(ratio(2 * self.table[:, :, 0] - centre * self.table[:, :, 1], size))


def _f1(table: Floats) -> Floats:
    return ratio(2 * table[..., 0], table[..., 1])


def _mean(values: Floats) -> Floats:
    """The mean over the last axis of what is defined."""
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0.0).sum(axis=-1), defined.sum(axis=-1))


def pair_intervals(presence: Presence, sums: LevelSums) -> list[Interval | None]:
    """The interval of F1 of every pair of annotators, over the units in which they marked anything."""
    table = sums.table.astype(np.float64)
    number = len(presence.annotators) * (len(presence.annotators) - 1) // 2
    return [Level(table[:, [at]]).interval for at in range(number)]


def human_level(presence: Presence, sums: LevelSums) -> Level:
    """The level of all annotators on all documents."""
    number = len(presence.annotators) * (len(presence.annotators) - 1) // 2
    return Level(sums.table[:, :number].astype(np.float64))


def level_scores(presence: Presence, sums: LevelSums, plan: UnitPlan) -> AgreementLevels:
    """The human level, and every system beside it."""
    n, table = len(presence.annotators), sums.table.astype(np.float64)
    pairs, lacking = n * (n - 1) // 2, _lacking(presence)
    human = human_level(presence, sums)
    sides: list[tuple[Level, Level]] = []
    for at in range(len(presence.systems)):
        own = Level(table[:, pairs + at * n : pairs + (at + 1) * n])
        beside = human
        if at in lacking:
            begin = pairs + len(presence.systems) * n + lacking.index(at) * pairs
            beside = Level(table[:, begin : begin + pairs])
        sides.append((own, beside))
    shares = [own.shares(_centre(own, beside)) - beside.shares(_centre(own, beside)) for own, beside in sides]
    tests = flipped(shares)
    corrected = holm([test.p for test in tests]).tolist() if tests else []
    unit = "document" if plan.by_document else "sentence"
    return AgreementLevels(
        human=HumanLevel(f1=plain(human.value), interval=human.interval),
        systems={
            name: _system(*pair, test, p, unit, len(tests))
            for name, pair, test, p in zip(presence.systems, sides, tests, corrected, strict=True)
        },
    )


def _centre(own: Level, beside: Level) -> float:
    return (own.value + beside.value) / 2


def _system(
    own: Level, human: Level, test: Flipped, corrected: float, unit: str, systems: int
) -> SystemLevel:
    held = own.held | human.held
    difference = own.value - human.value
    ends, why = plain_t(plain(difference), floats((own.left_out - human.left_out)[held]))
    reachable = 2.0 ** (1 - test.differing) <= LEVEL / systems
    if why is None and not reachable:
        number = f"only {test.differing} {unit}{'s' if test.differing != 1 else ''}"
        why = f"{number} differ{'s' if test.differing == 1 else ''}, so the test cannot reach .05"
    elif test.undecided:
        why = f"p is too close to .05 to decide with {test.flips:,} flips"
    return SystemLevel(
        f1=plain(own.value),
        interval=own.interval,
        human=plain(human.value),
        difference=plain(difference),
        difference_interval=ends,
        p=plain(test.p),
        p_corrected=plain(corrected),
        significant=bool(reachable and not test.undecided and corrected <= LEVEL),
        units=int(held.sum()),
        flips=test.flips,
        why=why,
    )


class Flipped(Struct, frozen=True):
    """A sign-flip test: its p-value, the units that differ, and random flips (0: all were enumerated)."""

    p: float
    differing: int
    flips: int
    undecided: bool


def flipped(shares: Sequence[Floats]) -> list[Flipped]:
    """Test for each system whether its unit shares z_d add up to more than with random signs, two-sided.

    All 2ᵏ signs of the k units with a share are enumerated for k ≤ 16; otherwise there are 1,000 random
    flips, doubled up to 100,000 while a p-value is within three standard errors of its level after Holm.
    """
    rows = []
    for values in shares:
        own = values[np.abs(values) > TIE] if not np.isnan(values).any() else values
        rows.append(on_grid(own, 2 * float(np.abs(own).sum())))
    p = np.array([_enumerated(row) for row in rows])
    drawn = [at for at, row in enumerate(rows) if len(row) > EXACT_UNITS and not np.isnan(row).any()]
    reached, done, more = dict.fromkeys(drawn, 0), 0, FIRST_FLIPS
    close: Mapping[int, bool] = {}
    while drawn:
        for at in drawn:
            reached[at] += _reached(rows[at], done, more)
        done += more
        for at in drawn:
            p[at] = (1 + reached[at]) / (1 + done)
        level = levels(p, LEVEL, "holm")
        close = {
            at: bool(abs(p[at] - level[at]) <= UNDECIDED * np.sqrt(p[at] * (1 - p[at]) / done))
            for at in drawn
        }
        more = min(done, MOST_SHUFFLES - done)
        if not any(close.values()) or more <= 0:
            break
    return [
        Flipped(float(p[at]), len(row), done if at in drawn else 0, close.get(at, False))
        for at, row in enumerate(rows)
    ]


def _enumerated(row: Floats) -> float:
    """p over all signs; NaN if there are too many units, or a share is undefined."""
    if len(row) > EXACT_UNITS or np.isnan(row).any():
        return float("nan")
    sums = floats([0.0])
    for value in row.tolist():
        sums = np.concatenate([sums - value, sums + value])
    return float((np.abs(sums) >= abs(row.sum()) - TIE).mean())


def _reached(row: Floats, done: int, flips: int) -> int:
    """How many of some random flips reach the observed sum; `done` flips came before."""
    count, step = 0, max(1, BLOCK // len(row))
    for at in range(0, flips, step):
        signs = draw_numbers(0, f"levels {done + at}", min(step, flips - at), len(row)) < 0.5
        sums = np.where(signs, -1.0, 1.0) @ row
        count += int((np.abs(sums) >= abs(row.sum()) - TIE).sum())
    return count
