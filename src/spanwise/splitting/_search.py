"""Which units become test data: a search from a seed for the shares of tough mentions asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from spanwise.attributes import SUBSETS
from spanwise.columns import Bools, Ints

STARTS = 3  # random splits from which the search sets out; the best end is taken
STEPS = (4_000, 16_000)  # exchanges that are tried from each start: at least, at most
PATIENCE = 1_500  # exchanges in a row that bring nothing, after which a search ends
NEAR = 0.0005  # a split this near to what was asked is not improved

Members: TypeAlias = list[tuple[int, int]]  # label code, number of mentions


class Pool(Struct, frozen=True, eq=False):
    """The units that can be divided: their sentences and, by form and label, their mentions."""

    sentences: Ints  # of each unit
    mentions: Sequence[Mapping[int, Members]]  # of each unit, by form
    holders: Mapping[int, Sequence[int]]  # the units that hold a form
    labels: int

    @classmethod
    def of(cls, sentences: Ints, unit: Ints, form: Ints, label: Ints, labels: int) -> Pool:
        """The pool of mentions given by unit, form and label."""
        rows, counts = np.unique(np.stack([unit, form, label], axis=1), axis=0, return_counts=True)
        mentions: list[dict[int, Members]] = [{} for _ in range(len(sentences))]
        holders: dict[int, list[int]] = {}
        for (where, what, how), number in zip(rows.tolist(), counts.tolist(), strict=True):
            inside = mentions[where].setdefault(what, [])
            if not inside:
                holders.setdefault(what, []).append(where)
            inside.append((how, number))
        return cls(sentences, mentions, holders, labels)


def members(test: Sequence[int], train: Sequence[int]) -> list[int]:
    """Of one form, how many of its test mentions are in each tough subset; both sides by label.

    Examples:
        >>> dict(zip(SUBSETS, members([1, 2], [0, 3])))["UNSEEN-TYPE"]
        1
    """
    whole = sum(test)
    known = any(train)
    seen = sum(number for number, before in zip(test, train, strict=True) if before)
    confused = whole if sum(map(bool, test)) > 1 else 0
    return [
        seen,
        whole - seen if known else 0,
        0 if known else whole,
        whole - seen,
        confused,
        confused if known else 0,
        0 if known else confused,
    ]


class Division:
    """A pool divided in two; moving a unit changes only the counts of its own forms."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.in_test = [False] * len(pool.sentences)
        self.sentences = 0  # of the test part
        self.mentions = 0
        self.subsets = [0] * len(SUBSETS)
        self._test: dict[int, list[int]] = {form: [0] * pool.labels for form in pool.holders}
        self._train: dict[int, list[int]] = {form: [0] * pool.labels for form in pool.holders}
        for unit in pool.mentions:
            for form, inside in unit.items():
                for label, number in inside:
                    self._train[form][label] += number

    def move(self, unit: int) -> None:
        """Move a unit to the other part."""
        sign = -1 if self.in_test[unit] else 1
        self.in_test[unit] = sign > 0
        self.sentences += sign * int(self._pool.sentences[unit])
        for form, inside in self._pool.mentions[unit].items():
            test, train = self._test[form], self._train[form]
            before = members(test, train)
            for label, number in inside:
                test[label] += sign * number
                train[label] -= sign * number
                self.mentions += sign * number
            after = members(test, train)
            self.subsets = [
                whole + new - old for whole, new, old in zip(self.subsets, after, before, strict=True)
            ]

    def share(self, subset: str) -> float:
        """The share of the test mentions in a subset; NaN where there are no test mentions."""
        number = self.subsets[SUBSETS.index(subset)]
        return number / self.mentions if self.mentions else float("nan")


class Target(Struct, frozen=True):
    """The share of sentences that the test part should have, and the shares of tough mentions in it."""

    size: float
    shares: Mapping[str, float]

    def distance(self, division: Division, sentences: int) -> float:
        """How far a division is from what was asked: the sum of all differences of shares."""
        if not division.mentions:
            return float("inf")
        away = abs(division.sentences / max(sentences, 1) - self.size)
        return away + sum(abs(division.share(subset) - asked) for subset, asked in self.shares.items())


def random_division(pool: Pool, order: Ints, size: float) -> Division:
    """The first units of an order as test part, as many as hold the share of sentences asked for."""
    division = Division(pool)
    wanted = size * float(pool.sentences.sum())
    for unit in order.tolist():
        if division.sentences and division.sentences + pool.sentences[unit] / 2 > wanted:
            break
        division.move(unit)
    return division


def steps_of(pool: Pool) -> int:
    """How many exchanges are tried from each start."""
    fewest, most = STEPS
    return int(np.clip(12 * len(pool.sentences), fewest, most))


class _Sides:
    """The units of both parts as lists, in which any unit is found at once."""

    def __init__(self, division: Division) -> None:
        self.test = [unit for unit, inside in enumerate(division.in_test) if inside]
        self.train = [unit for unit, inside in enumerate(division.in_test) if not inside]
        self._place = {unit: at for side in (self.test, self.train) for at, unit in enumerate(side)}

    def rebook(self, unit: int, *, to_test: bool) -> None:
        """Enter a unit that was moved."""
        here, there = (self.train, self.test) if to_test else (self.test, self.train)
        last = here.pop()
        if last != unit:
            here[self._place[unit]] = last
            self._place[last] = self._place[unit]
        self._place[unit] = len(there)
        there.append(unit)


def improved(pool: Pool, division: Division, target: Target, numbers: Sequence[Sequence[float]]) -> float:
    """Exchange units while that brings the division nearer to the target; how far it ends from it.

    Each row of `numbers` decides one exchange. Every second one takes a unit into the test part that shares a
    form with it, without which forms of several units would hardly ever get there together.
    """
    sentences = int(pool.sentences.sum())
    best = target.distance(division, sentences)
    sides = _Sides(division)
    idle = 0
    for kind, first, second, third in numbers:
        if best < NEAR or idle == PATIENCE or not sides.test or not sides.train:
            break
        out = sides.test[int(first * len(sides.test))]
        into = _related(pool, division, sides.test, second, third) if kind < 0.5 else None
        if into is None:
            into = sides.train[int(third * len(sides.train))]
        # Most moves exchange two units; some add or remove one, which adjusts the size.
        moved = [into, out] if kind < 0.8 else [into] if kind < 0.9 else [out]
        for unit in moved:
            division.move(unit)
        distance = target.distance(division, sentences)
        for unit in moved:
            if distance <= best:
                sides.rebook(unit, to_test=division.in_test[unit])
            else:
                division.move(unit)
        idle = 0 if distance < best else idle + 1
        best = min(best, distance)
    return best


def _related(pool: Pool, division: Division, test: Sequence[int], first: float, second: float) -> int | None:
    """A unit of the training part that shares a form with some unit of the test part."""
    place = first * len(test)
    forms = list(pool.mentions[test[int(place)]])
    if not forms:
        return None
    holders = pool.holders[forms[int((place % 1) * len(forms))]]
    begin = int(second * len(holders))
    # Frequent forms have many holders, most of which are alike for this.
    near = [*holders[begin : begin + 8], *holders[: max(0, begin + 8 - len(holders))]]
    return next((unit for unit in near if not division.in_test[unit]), None)


def divided(pool: Pool, target: Target, numbers: Sequence[Sequence[float]], orders: Sequence[Ints]) -> Bools:
    """Which units become test data: the best of several searches, each from a random split.

    `numbers` are shared out among the starts.
    """
    steps = steps_of(pool)
    best, chosen = float("inf"), np.zeros(len(pool.sentences), dtype=bool)
    for start, order in enumerate(orders):
        division = random_division(pool, order, target.size)
        distance = improved(pool, division, target, numbers[start * steps : (start + 1) * steps])
        if distance < best:
            best, chosen = distance, np.array(division.in_test)
        if best < NEAR:
            break
    return chosen
