"""Choose a candidate for each answer under each policy, and bound the score over all possible choices."""

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
_MANY = 2000  # number of candidates of a unit above which array operations are faster
_NEVER = np.iinfo(np.int64).max


class PolicyOptions(Struct, frozen=True, eq=False):
    """The candidates of each question: their spans, numbers of tokens, and place numbers.

    Question `i` has the candidates `at[i]` … `at[i + 1] - 1` in ascending order. Candidates at the same
    place have the same place number, even for different questions.
    """

    at: Ints
    start: Ints
    end: Ints
    tokens: Ints
    place: Ints

    @property
    def number(self) -> Ints:
        """The number of candidates of each question."""
        return ints(np.diff(self.at))


class AnswerTable(Struct, frozen=True, eq=False, dict=True):
    """Answers in output order, unit by unit: the label and the question of each.

    `occurrence` counts candidates from 1; 0 means that none was given.
    """

    unit: Ints
    label: Codes
    labels: int  # number of labels
    question: Ints
    occurrence: Ints
    options: PolicyOptions

    def __len__(self) -> int:
        return len(self.unit)

    @cached_property
    def number(self) -> Ints:
        """The number of candidates of each answer."""
        return ints(self.options.number[self.question])

    @cached_property
    def first(self) -> Ints:
        """The first candidate of each answer, if it has one."""
        return ints(self.options.at[self.question])

    @cached_property
    def fixed(self) -> Bools:
        """Which answers are placed by a valid occurrence number."""
        return np.asarray((self.occurrence >= 1) & (self.occurrence <= self.number))

    def claim(self, candidate: Ints, label: Codes) -> Ints:
        """Encode the place of a candidate and a label as one number."""
        return ints(self.options.place[candidate] * self.labels + label)

    @cached_property
    def pair(self) -> Ints:
        """The label and the question of each answer, encoded as one number."""
        return ints(self.question * self.labels + self.label)

    @cached_property
    def rank(self) -> Ints:
        """The number of earlier answers with the same label and question."""
        order = np.argsort(self.pair, kind="stable")
        new = np.ones(len(order), dtype=bool)
        new[1:] = self.pair[order][1:] != self.pair[order][:-1]
        begin = np.flatnonzero(new)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - np.repeat(begin, np.diff(np.append(begin, len(order))))
        return ints(rank)

    @cached_property
    def contested(self) -> Bools:
        """Which answers are in a unit whose places must be assigned one by one.

        These are units in which answers with the same label and different texts share candidates, or in
        which a valid occurrence number was given.
        """
        _, example = np.unique(self.pair, return_index=True)
        owner = np.repeat(example, self.number[example])
        candidate = run_positions(self.first[example], self.number[example])
        claims = self.claim(candidate, self.label[owner])
        order = np.argsort(claims, kind="stable")
        twice = claims[order][1:] == claims[order][:-1]
        hard = np.zeros(int(self.unit.max(initial=-1)) + 1, dtype=bool)
        hard[self.unit[owner[order[1:][twice]]]] = True
        hard[self.unit[self.fixed]] = True
        return np.asarray(hard[self.unit])

    @cached_property
    def _ordered(self) -> Ints:
        return chosen_ordered(self)

    def chosen(self, policy: Policy) -> tuple[Ints, Ints]:
        """The rows of the answers that a policy places, and their candidates."""
        if policy == "all":
            return chosen_all(self)
        if policy == "ordered":
            chosen = self._ordered
        else:
            chosen = chosen_first(self) if policy == "first" else chosen_next(self)
        rows = np.flatnonzero(chosen >= 0)
        return ints(rows), ints(chosen[rows])

    def units(self, which: Bools) -> list[list[int]]:
        """The rows of the answers selected by `which`, unit by unit."""
        rows = np.flatnonzero(which)
        borders = np.flatnonzero(np.diff(self.unit[rows])) + 1
        return [part.tolist() for part in np.split(rows, borders)] if len(rows) else []


def chosen_first(answers: AnswerTable) -> Ints:
    """The first candidate of each answer, or the one given by its occurrence number; -1 for none."""
    chosen = np.where(answers.number > 0, answers.first, -1)
    return ints(np.where(answers.fixed, answers.first + answers.occurrence - 1, chosen))


def chosen_all(answers: AnswerTable) -> tuple[Ints, Ints]:
    """Every candidate of each answer, as rows of answers and their candidates."""
    number = np.where(answers.fixed, 1, answers.number)
    begin = np.where(answers.fixed, answers.first + answers.occurrence - 1, answers.first)
    return ints(np.repeat(np.arange(len(answers)), number)), run_positions(begin, number)


def chosen_next(answers: AnswerTable) -> Ints:
    """The first candidate of each answer that is not yet taken for its label; -1 for none."""
    chosen = np.where(answers.rank < answers.number, answers.first + answers.rank, -1)
    for rows in answers.units(answers.contested):
        chosen[rows] = -1
        _Unit(answers, rows).fill(chosen)
    return ints(chosen)


def chosen_ordered(answers: AnswerTable) -> Ints:
    """The candidates that place the most tokens, disjoint and in output order; the rest as in "next"."""
    chosen = np.where(answers.rank < answers.number, answers.first + answers.rank, -1)
    for rows in answers.units(answers.contested | _out_of_order(answers, ints(chosen))):
        unit = _Unit(answers, rows)
        chosen[rows] = -1
        free = [row for row in rows if row not in unit.fixed]
        listed = [unit.free_candidates(row) for row in free]
        chain = _chain_of_many if sum(map(len, listed)) > _MANY else _chain
        for row, candidate in zip(free, chain(answers.options, listed), strict=True):
            if candidate >= 0:
                chosen[row] = candidate
                unit.take(row, candidate)
        unit.fill(chosen)
    return ints(chosen)


def _out_of_order(answers: AnswerTable, chosen: Ints) -> Bools:
    """Which answers are in a unit where "next" does not place all in order at their longest candidates."""
    options = answers.options
    rows = np.flatnonzero(answers.number > 0)
    candidate = chosen[rows]
    wrong = candidate < 0
    longest = np.maximum.reduceat(np.append(options.tokens, 0), options.at[:-1]) if len(options.at) > 1 else 0
    wrong |= options.tokens[candidate] < np.asarray(longest)[answers.question[rows]] if len(rows) else False
    same = answers.unit[rows][1:] == answers.unit[rows][:-1]
    wrong[1:] |= same & (options.start[candidate[1:]] < options.end[candidate[:-1]])
    bad = np.zeros(int(answers.unit.max(initial=-1)) + 1, dtype=bool)
    bad[answers.unit[rows[wrong]]] = True
    return np.asarray(bad[answers.unit])


class _Unit:
    """The answers of one unit, while their places are assigned one by one."""

    def __init__(self, answers: AnswerTable, rows: Sequence[int]) -> None:
        self.asked = answers
        self.rows = rows
        self.fixed = {
            row: int(answers.first[row] + answers.occurrence[row] - 1) for row in rows if answers.fixed[row]
        }
        self.taken: set[tuple[int, int]] = set()
        self._passed: dict[int, int] = {}  # by label and question: number of leading candidates already taken
        for row, candidate in self.fixed.items():
            self.take(row, candidate)

    def take(self, row: int, candidate: int) -> None:
        self.taken.add((int(self.asked.label[row]), int(self.asked.options.place[candidate])))

    def free_candidates(self, row: int) -> range | list[int]:
        """The candidates of an answer that are not yet taken for its label."""
        first = int(self.asked.first[row])
        all_candidates = range(first, first + int(self.asked.number[row]))
        if not self.taken:
            return all_candidates
        label, place_number = int(self.asked.label[row]), self.asked.options.place
        return [
            candidate
            for candidate in all_candidates
            if (label, int(place_number[candidate])) not in self.taken
        ]

    def fill(self, chosen: Ints) -> None:
        """Place the remaining answers as in "next", and those with a valid occurrence number at it."""
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
    """The candidate of each answer in the heaviest chain, or -1.

    A chain consists of candidates of answers in output order, each beginning no earlier than the previous
    one ends. Of the heaviest chains (by tokens), choose the one that places the earlier answer, at its
    earliest place.

    `reach[v]` is the (negated) last position from which the answers processed so far can still place `v`
    tokens. Answers are processed from the last to the first; every change is recorded, and undone while the
    chain is read off from the first to the last.
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
        for value, before in reversed(changes.pop()):
            reach[value] = before
        chosen.append(-1)
        for start, end, tokens, candidate in candidates:
            if start >= position and tokens + bisect_right(reach, -end) - 1 == left:
                chosen[-1] = candidate
                position, left = end, left - tokens
                break
    return chosen


class _Column(Struct, frozen=True, eq=False):
    """The candidates of one question, with starts and ends negated as in `reach`."""

    candidates: Ints
    start: Ints
    end: Ints
    tokens: Ints
    alike: bool  # whether all have the same number of tokens


def _chain_of_many(options: PolicyOptions, listed: Sequence[Sequence[int]]) -> list[int]:
    """Like `_chain`, but processes all candidates of an answer at once."""
    cache: dict[tuple[int, int, int], _Column] = {}
    columns = [_column(options, candidates, cache) for candidates in listed]
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
        # A candidate improves at most as many values as it has tokens: those above its present value.
        while len(rows):
            value = now[rows]
            before = reach[value]
            changed.append((value, before))
            # Of candidates with the same value, the last begins last and is kept.
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
        # Of candidates of equal length, the earliest leaves the most room, so no other can do better.
        fits = (tokens + (reach.searchsorted(end, "right") - 1) == left).nonzero()[0]
        if len(fits):
            index = late + int(fits[0])
            chosen[-1] = int(column.candidates[index])
            position, left = -int(column.end[index]), left - int(column.tokens[index])
    return chosen


def _column(
    options: PolicyOptions, candidates: Sequence[int], cache: dict[tuple[int, int, int], _Column]
) -> _Column:
    key = (candidates[0], candidates[-1], len(candidates)) if len(candidates) else (-1, -1, 0)
    # A range holds all candidates of its question, so its ends identify it; a list may have gaps.
    if key in cache and isinstance(candidates, range):
        return cache[key]
    rows = ints(candidates)
    tokens = options.tokens[rows]
    alike = len(tokens) == 0 or int(tokens.min()) == int(tokens.max())
    column = _Column(rows, ints(-options.start[rows]), ints(-options.end[rows]), ints(tokens), alike)
    if isinstance(candidates, range):
        cache[key] = column
    return column


class Bounds(Struct, frozen=True, eq=False):
    """Which answers can be placed one-to-one within a label, and at most and least how many on gold."""

    placed: Bools
    best: int
    worst: int


def bounds(answers: AnswerTable, gold: Ints) -> Bounds:
    """Place as many answers as possible one-to-one within a label; bound how many of them are on gold.

    Of the largest sets of answers, the one with the earlier answers is chosen; the choice affects neither
    bound. Gold places that can be covered stay covered when more answers are placed. The maximum is therefore
    the number of gold places that can be covered alone, and the minimum is what remains when the other places
    are covered first.

    Args:
        gold: the claims (see `AnswerTable.claim`) of gold mentions, in ascending order.
    """
    easy = ~answers.contested
    placed = easy & (answers.rank < answers.number)
    _, example, times = np.unique(answers.pair, return_index=True, return_counts=True)
    example, times = example[easy[example]], times[easy[example]]
    number = answers.number[example]
    candidate = run_positions(answers.first[example], number)
    claims = answers.claim(candidate, np.repeat(answers.label[example], number))
    before = np.concatenate([[0], np.cumsum(among(claims, gold))])
    right = before[offsets(number)[1:]] - before[offsets(number)[:-1]]
    full = np.minimum(times, number)
    best = int(np.minimum(full, right).sum())
    worst = int(np.maximum(full - (number - right), 0).sum())
    for rows in answers.units(answers.contested):
        for same in _by_label(answers, rows):
            matched, most, fewest = _bounds_of_label(answers, same, gold)
            placed[matched] = True
            best, worst = best + most, worst + fewest
    return Bounds(placed, best, worst)


def among(claims: Ints, gold: Ints) -> Bools:
    """Which claims are in `gold`, which must be sorted."""
    if not len(gold):
        return np.zeros(len(claims), dtype=bool)
    index = np.minimum(np.searchsorted(gold, claims), len(gold) - 1)
    return np.asarray(gold[index] == claims)


def _by_label(answers: AnswerTable, rows: Sequence[int]) -> list[list[int]]:
    parts: dict[int, list[int]] = {}
    for row in rows:
        parts.setdefault(int(answers.label[row]), []).append(row)
    return list(parts.values())


def _bounds_of_label(answers: AnswerTable, rows: Sequence[int], gold: Ints) -> tuple[list[int], int, int]:
    """The placed answers of one unit and label, and the maximum and minimum number of them on gold."""
    label = answers.label[rows[0]]
    claimed: dict[int, list[int]] = {}  # by question
    for row in rows:
        question = int(answers.question[row])
        if question not in claimed:
            candidate = np.arange(answers.first[row], answers.first[row] + answers.number[row])
            claimed[question] = answers.claim(ints(candidate), label).tolist()
    fixed = [row for row in rows if answers.fixed[row]]
    taken = {claimed[int(answers.question[row])][int(answers.occurrence[row]) - 1] for row in fixed}
    free = [row for row in rows if not answers.fixed[row]]
    available = {key: [claim for claim in claims if claim not in taken] for key, claims in claimed.items()}
    listed = ints(sorted({claim for claims in claimed.values() for claim in claims}))
    right = set(listed[among(listed, gold)].tolist())
    on = {key: [claim for claim in claims if claim in right] for key, claims in available.items()}
    off = {key: [claim for claim in claims if claim not in right] for key, claims in available.items()}
    questions = [int(answers.question[row]) for row in free]
    matched = [row for row, is_placed in zip(free, _covered(questions, available), strict=True) if is_placed]
    most = sum(_covered(questions, on))
    fewest = len(matched) - sum(_covered(questions, off))
    return [*fixed, *matched], len(taken & right) + most, len(taken & right) + fewest


def _covered(questions: Sequence[int], claims: dict[int, list[int]]) -> list[bool]:
    """Which answers can be placed one-to-one, earlier ones first (by augmenting paths over questions)."""
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
    for current in queue:
        listed = claims[current]
        while passed[current] < len(listed) and listed[passed[current]] in owner:
            passed[current] += 1
        if passed[current] < len(listed):
            owner[listed[passed[current]]] = current
            while (step := came_from[current]) is not None:
                current, claim = step
                owner[claim] = current
            return True
        for claim in listed:
            other = owner[claim]
            if other not in came_from and other not in hopeless:
                came_from[other] = (current, claim)
                queue.append(other)
    hopeless.update(came_from)
    return False
