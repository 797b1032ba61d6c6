"""Which candidate an answer takes under each policy, and how much of gold the best and worst choice meet."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Codes, Column, Ints, ints, offsets, run_positions

Policy = Literal["first", "all", "next", "ordered"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
_MANY = 2000  # candidates of a unit from which on whole columns are faster than single numbers
_NEVER = np.iinfo(np.int64).max


class PolicyOptions(Struct, frozen=True, eq=False):
    """The candidates that each question has: where they are, their tokens, and the number of their place.

    Question `i` has the candidates `at[i]` … `at[i + 1] - 1` in ascending order. Equal places have
    equal numbers, whatever the question.
    """

    at: Ints
    start: Ints
    end: Ints
    tokens: Ints
    place: Ints

    @property
    def number(self) -> Ints:
        """How many candidates each question has."""
        return ints(np.diff(self.at))


class Asked(Struct, frozen=True, eq=False, dict=True):
    """Answers in output order, unit by unit: the label and the question of each.

    `occurrence` counts candidates from 1; 0 where none was given.
    """

    unit: Ints
    label: Codes
    labels: int  # how many labels there are
    question: Ints
    occurrence: Ints
    options: PolicyOptions

    def __len__(self) -> int:
        return len(self.unit)

    @cached_property
    def number(self) -> Ints:
        """How many candidates each answer has."""
        return ints(self.options.number[self.question])

    @cached_property
    def first(self) -> Ints:
        """The first candidate of each answer, if it has one."""
        return ints(self.options.at[self.question])

    @cached_property
    def fixed(self) -> Bools:
        """Which answers have a place by their occurrence number."""
        return np.asarray((self.occurrence >= 1) & (self.occurrence <= self.number))

    def claim(self, candidate: Ints, label: Codes) -> Ints:
        """One number for the place of a candidate and a label."""
        return ints(self.options.place[candidate] * self.labels + label)

    @cached_property
    def pair(self) -> Ints:
        """The label and the question of each answer as one number."""
        return ints(self.question * self.labels + self.label)

    @cached_property
    def rank(self) -> Ints:
        """How many earlier answers have the same label and question."""
        order = np.argsort(self.pair, kind="stable")
        new = np.ones(len(order), dtype=bool)
        new[1:] = self.pair[order][1:] != self.pair[order][:-1]
        begin = np.flatnonzero(new)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - np.repeat(begin, np.diff(np.append(begin, len(order))))
        return ints(rank)

    @cached_property
    def contested(self) -> Bools:
        """Which answers are in a unit where answers with one label and different texts share candidates,
        or where an occurrence number was given: there places must be assigned one by one.
        """
        _, one = np.unique(self.pair, return_index=True)
        owner = np.repeat(one, self.number[one])
        candidate = run_positions(self.first[one], self.number[one])
        claims = self.claim(candidate, self.label[owner])
        order = np.argsort(claims, kind="stable")
        twice = claims[order][1:] == claims[order][:-1]
        hard = np.zeros(int(self.unit.max(initial=-1)) + 1, dtype=bool)
        hard[self.unit[owner[order[1:][twice]]]] = True
        hard[self.unit[self.fixed]] = True
        return np.asarray(hard[self.unit])

    def units(self, which: Bools) -> list[list[int]]:
        """The rows of the answers of each unit that `which` chooses."""
        rows = np.flatnonzero(which)
        borders = np.flatnonzero(np.diff(self.unit[rows])) + 1
        return [part.tolist() for part in np.split(rows, borders)] if len(rows) else []


def chosen_first(asked: Asked) -> Ints:
    """The first candidate of each answer, or the one that its occurrence number names; -1 for none."""
    chosen = np.where(asked.number > 0, asked.first, -1)
    return ints(np.where(asked.fixed, asked.first + asked.occurrence - 1, chosen))


def chosen_all(asked: Asked) -> tuple[Ints, Ints]:
    """Every candidate of each answer: rows of answers, and their candidates."""
    number = np.where(asked.fixed, 1, asked.number)
    begin = np.where(asked.fixed, asked.first + asked.occurrence - 1, asked.first)
    return ints(np.repeat(np.arange(len(asked)), number)), run_positions(begin, number)


def chosen_next(asked: Asked) -> Ints:
    """The first candidate of each answer that its label has not taken before; -1 for none."""
    chosen = np.where(asked.rank < asked.number, asked.first + asked.rank, -1)
    for rows in asked.units(asked.contested):
        chosen[rows] = -1
        _Unit(asked, rows).fill(chosen)
    return ints(chosen)


def chosen_ordered(asked: Asked) -> Ints:
    """The candidates that place the most tokens disjointly and in output order, the rest as by "next"."""
    chosen = np.where(asked.rank < asked.number, asked.first + asked.rank, -1)
    for rows in asked.units(asked.contested | _out_of_order(asked, ints(chosen))):
        unit = _Unit(asked, rows)
        chosen[rows] = -1
        free = [row for row in rows if row not in unit.fixed]
        listed = [unit.free_candidates(row) for row in free]
        chain = _chain_of_many if sum(map(len, listed)) > _MANY else _chain
        for row, candidate in zip(free, chain(asked.options, listed), strict=True):
            if candidate >= 0:
                chosen[row] = candidate
                unit.take(row, candidate)
        unit.fill(chosen)
    return ints(chosen)


def _out_of_order(asked: Asked, chosen: Ints) -> Bools:
    """Which answers are in a unit where "next" does not place all in order, each as long as can be."""
    options = asked.options
    rows = np.flatnonzero(asked.number > 0)
    candidate = chosen[rows]
    wrong = candidate < 0
    longest = np.maximum.reduceat(np.append(options.tokens, 0), options.at[:-1]) if len(options.at) > 1 else 0
    wrong |= options.tokens[candidate] < np.asarray(longest)[asked.question[rows]] if len(rows) else False
    same = asked.unit[rows][1:] == asked.unit[rows][:-1]
    wrong[1:] |= same & (options.start[candidate[1:]] < options.end[candidate[:-1]])
    bad = np.zeros(int(asked.unit.max(initial=-1)) + 1, dtype=bool)
    bad[asked.unit[rows[wrong]]] = True
    return np.asarray(bad[asked.unit])


class _Unit:
    """The answers of one unit while places are assigned one by one."""

    def __init__(self, asked: Asked, rows: Sequence[int]) -> None:
        self.asked = asked
        self.rows = rows
        self.fixed = {
            row: int(asked.first[row] + asked.occurrence[row] - 1) for row in rows if asked.fixed[row]
        }
        self.taken: set[tuple[int, int]] = set()
        self._passed: dict[int, int] = {}  # by label and question: how many candidates are known to be taken
        for row, candidate in self.fixed.items():
            self.take(row, candidate)

    def take(self, row: int, candidate: int) -> None:
        self.taken.add((int(self.asked.label[row]), int(self.asked.options.place[candidate])))

    def free_candidates(self, row: int) -> range | list[int]:
        """The candidates of an answer that its label has not taken."""
        first = int(self.asked.first[row])
        every = range(first, first + int(self.asked.number[row]))
        if not self.taken:
            return every
        label, place = int(self.asked.label[row]), self.asked.options.place
        return [candidate for candidate in every if (label, int(place[candidate])) not in self.taken]

    def fill(self, chosen: Ints) -> None:
        """Place the others as by "next"; those with a valid occurrence number have their place."""
        for row in self.rows:
            if row in self.fixed:
                chosen[row] = self.fixed[row]
            elif chosen[row] < 0 and (candidate := self._next(row)) >= 0:
                chosen[row] = candidate
                self.take(row, candidate)

    def _next(self, row: int) -> int:
        asked, pair = self.asked, int(self.asked.pair[row])
        label, first, number = int(asked.label[row]), int(asked.first[row]), int(asked.number[row])
        passed = self._passed.get(pair, 0)
        while passed < number and (label, int(asked.options.place[first + passed])) in self.taken:
            passed += 1
        self._passed[pair] = passed
        return first + passed if passed < number else -1


def _chain(options: PolicyOptions, listed: Sequence[Sequence[int]]) -> list[int]:
    """For each answer the candidate that it has in the heaviest chain, or -1.

    A chain holds candidates of answers in output order, each begins where the one before ends or later.
    Of the heaviest chains (by tokens) the one that places the earlier answer is taken, at its earliest place.

    `reach[v]` is the (negated) last position from which the answers looked at so far can still place `v`
    tokens. Answers are looked at from the last to the first, and every change is kept, to be undone while
    the chain is read off from the first to the last.
    """
    reach: list[int] = [-_NEVER]
    changes: list[list[tuple[int, int]]] = []
    rows = [
        [
            (
                int(options.start[candidate]),
                int(options.end[candidate]),
                int(options.tokens[candidate]),
                candidate,
            )
            for candidate in candidates
        ]
        for candidates in listed
    ]
    for candidates in reversed(rows):
        weights = [tokens + bisect_right(reach, -end) - 1 for _, end, tokens, _ in candidates]
        changed: list[tuple[int, int]] = []
        for (start, *_), weight in zip(candidates, weights, strict=True):
            reach += [_NEVER] * (weight + 1 - len(reach))
            while reach[weight] > -start:
                changed.append((weight, reach[weight]))
                reach[weight] = -start
                weight -= 1
        changes.append(changed)
    chosen: list[int] = []
    position, left = 0, bisect_right(reach, 0) - 1
    for candidates in rows:
        for place, before in reversed(changes.pop()):
            reach[place] = before
        chosen.append(-1)
        for start, end, tokens, one in candidates:
            if start >= position and tokens + bisect_right(reach, -end) - 1 == left:
                chosen[-1] = one
                position, left = end, left - tokens
                break
    return chosen


class _Column(Struct, frozen=True, eq=False):
    """The candidates of one question, their borders negated as `reach` has them."""

    candidates: Ints
    start: Ints
    end: Ints
    tokens: Ints
    alike: bool  # whether all have the same number of tokens


def _chain_of_many(options: PolicyOptions, listed: Sequence[Sequence[int]]) -> list[int]:
    """The same as `_chain`, for all candidates of an answer at once."""
    made: dict[tuple[int, int, int], _Column] = {}
    columns = [_column(options, candidates, made) for candidates in listed]
    most = sum(int(column.tokens.max(initial=0)) for column in columns)
    reach = np.full(most + 2, _NEVER, dtype=np.int64)
    reach[0] = -_NEVER
    changes: list[list[tuple[Column, Column]]] = []
    for column in reversed(columns):
        gain = reach.searchsorted(column.end, "right") + column.tokens
        now = reach.searchsorted(column.start, "right")
        gain -= now
        changed: list[tuple[Column, Column]] = []
        rows = (gain > 0).nonzero()[0]
        # A candidate makes at most as many values better as it has tokens: the ones above its present value.
        while len(rows):
            value = now[rows]
            before = reach[value]
            changed.append((value, before))
            # Of candidates with one value the last begins last, and is the one that stays.
            reach[value] = np.minimum(before, column.start[rows])
            now[rows] += 1
            gain[rows] -= 1
            rows = rows[gain[rows] > 0]
        changes.append(changed)
    chosen: list[int] = []
    position, left = 0, int(reach.searchsorted(0, "right")) - 1
    for column in columns:
        for value, before in reversed(changes.pop()):
            reach[value] = before
        chosen.append(-1)
        late = int((-column.start).searchsorted(position))
        end = column.end[late : late + 1] if column.alike else column.end[late:]
        tokens = column.tokens[late : late + len(end)]
        # Of candidates of one length the earliest leaves the most room, so that no other can do better.
        fits = (tokens + (reach.searchsorted(end, "right") - 1) == left).nonzero()[0]
        if len(fits):
            place = late + int(fits[0])
            chosen[-1] = int(column.candidates[place])
            position, left = -int(column.end[place]), left - int(column.tokens[place])
    return chosen


def _column(
    options: PolicyOptions, candidates: Sequence[int], made: dict[tuple[int, int, int], _Column]
) -> _Column:
    key = (candidates[0], candidates[-1], len(candidates)) if len(candidates) else (-1, -1, 0)
    # A range is all candidates of its question; what was taken out of one is not known by its ends.
    if key in made and isinstance(candidates, range):
        return made[key]
    rows = ints(candidates)
    tokens = options.tokens[rows]
    alike = len(tokens) == 0 or int(tokens.min()) == int(tokens.max())
    column = _Column(rows, ints(-options.start[rows]), ints(-options.end[rows]), ints(tokens), alike)
    if isinstance(candidates, range):
        made[key] = column
    return column


class Bounds(Struct, frozen=True, eq=False):
    """Which answers can be placed at once, one place each within a label, and how many of them on gold."""

    placed: Bools
    best: int
    worst: int


def bounds(asked: Asked, gold: Ints) -> Bounds:
    """The most answers placed one-to-one within a label, then the most and the fewest of them on gold.

    Of the largest sets of answers the one with the earlier answers is taken; which it is changes neither
    bound. Gold places that can be covered stay covered when more answers are placed, so that
    the most is what can be covered of the gold places alone, and the fewest is what remains when the other
    places are covered first.

    Args:
        gold: the claims (see `Asked.claim`) that are gold mentions, in ascending order.
    """
    easy = ~asked.contested
    placed = easy & (asked.rank < asked.number)
    _, one, given = np.unique(asked.pair, return_index=True, return_counts=True)
    one, given = one[easy[one]], given[easy[one]]
    number = asked.number[one]
    candidate = run_positions(asked.first[one], number)
    claims = asked.claim(candidate, np.repeat(asked.label[one], number))
    before = np.concatenate([[0], np.cumsum(among(claims, gold))])
    right = before[offsets(number)[1:]] - before[offsets(number)[:-1]]
    full = np.minimum(given, number)
    best = int(np.minimum(full, right).sum())
    worst = int(np.maximum(full - (number - right), 0).sum())
    for rows in asked.units(asked.contested):
        for same in _by_label(asked, rows):
            matched, most, fewest = _bounds_of_label(asked, same, gold)
            placed[matched] = True
            best, worst = best + most, worst + fewest
    return Bounds(placed, best, worst)


def among(claims: Ints, gold: Ints) -> Bools:
    """Which claims are in `gold`, which is in ascending order."""
    if not len(gold):
        return np.zeros(len(claims), dtype=bool)
    place = np.minimum(np.searchsorted(gold, claims), len(gold) - 1)
    return np.asarray(gold[place] == claims)


def _by_label(asked: Asked, rows: Sequence[int]) -> list[list[int]]:
    parts: dict[int, list[int]] = {}
    for row in rows:
        parts.setdefault(int(asked.label[row]), []).append(row)
    return list(parts.values())


def _bounds_of_label(asked: Asked, rows: Sequence[int], gold: Ints) -> tuple[list[int], int, int]:
    """The answers of one unit and label that are placed, and the most and the fewest of them on gold."""
    label = asked.label[rows[0]]
    claimed: dict[int, list[int]] = {}  # by question
    for row in rows:
        question = int(asked.question[row])
        if question not in claimed:
            candidate = np.arange(asked.first[row], asked.first[row] + asked.number[row])
            claimed[question] = asked.claim(ints(candidate), label).tolist()
    fixed = [row for row in rows if asked.fixed[row]]
    taken = {claimed[int(asked.question[row])][int(asked.occurrence[row]) - 1] for row in fixed}
    free = [row for row in rows if not asked.fixed[row]]
    every = {key: [claim for claim in claims if claim not in taken] for key, claims in claimed.items()}
    listed = ints(sorted({claim for claims in claimed.values() for claim in claims}))
    right = set(listed[among(listed, gold)].tolist())
    on = {key: [claim for claim in claims if claim in right] for key, claims in every.items()}
    off = {key: [claim for claim in claims if claim not in right] for key, claims in every.items()}
    questions = [int(asked.question[row]) for row in free]
    matched = [row for row, is_placed in zip(free, _covered(questions, every), strict=True) if is_placed]
    most = sum(_covered(questions, on))
    fewest = len(matched) - sum(_covered(questions, off))
    return [*fixed, *matched], len(taken & right) + most, len(taken & right) + fewest


def _covered(questions: Sequence[int], claims: dict[int, list[int]]) -> list[bool]:
    """Which answers can have a place, one each, the earlier ones first (augmenting paths by question)."""
    owner: dict[int, int] = {}
    passed: dict[int, int] = dict.fromkeys(claims, 0)
    hopeless: set[int] = set()
    covered: list[bool] = []
    for question in questions:
        covered.append(question not in hopeless and _augment(question, claims, owner, passed, hopeless))
    return covered


def _augment(
    question: int,
    claims: dict[int, list[int]],
    owner: dict[int, int],
    passed: dict[int, int],
    hopeless: set[int],
) -> bool:
    came_from: dict[int, tuple[int, int] | None] = {question: None}
    queue = [question]
    for here in queue:
        listed = claims[here]
        while passed[here] < len(listed) and listed[passed[here]] in owner:
            passed[here] += 1
        if passed[here] < len(listed):
            owner[listed[passed[here]]] = here
            while (step := came_from[here]) is not None:
                here, claim = step
                owner[claim] = here
            return True
        for claim in listed:
            other = owner[claim]
            if other not in came_from and other not in hopeless:
                came_from[other] = (here, claim)
                queue.append(other)
    hopeless.update(came_from)
    return False
