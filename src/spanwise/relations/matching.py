"""Which predicted tuple belongs to which gold tuple under each criterion, and what became of the others.

Fillers that are equal form classes wherever equality is an equivalence; tuples are then equal if their types
and the classes of their fillers are, and are paired in input order. Only where a filler is equal to several
that are not equal to each other (spans that overlap, entities with several mentions, several right links)
are pairs searched for with augmenting paths. Ties are resolved as the page on tuples says: by input order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import combinations, product
from math import prod
from typing import TypeAlias

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Column, Ints, distinct, frozen, ints, offsets, run_positions
from spanwise.document.tuples import CRITERIA, Criterion
from spanwise.hashing import numbered
from spanwise.relations.corpus import LINK, MENTION, TupleSide

_RIGHT, _TYPE, _FILLER, _MENTION_MISSED, _MISSED = range(5)
_SPURIOUS = 3
_MOST_WAYS = 1024  # of replacing the fillers of a tuple by equal ones; beyond, tuples are compared in pairs
_MOST_PAIRS = 2_000_000  # pairs of equal fillers that are listed at once
_DENSE = 50_000  # pairs of equal fillers in one unit; beyond, none are listed

Pairs: TypeAlias = tuple[Ints, Ints]  # gold rows and predicted rows


class MatchedTuples(Struct, frozen=True, eq=False):
    """What became of the tuples of gold and of one system; rows are those of their sides.

    A tuple that repeats another one of its unit is not `kept`: its outcome is -1, and nothing counts it.
    """

    gold_kept: Bools
    predicted_kept: Bools
    gold_right: dict[Criterion, Bools]
    predicted_right: dict[Criterion, Bools]
    gold_outcome: Ints  # under the chosen criterion
    predicted_outcome: Ints
    gold_partner: Ints  # -1: none
    predicted_partner: Ints
    wrong_row: Ints  # the gold tuples with the outcome "filler", once for each filler that is not equal …
    wrong_role: Ints  # … and the role of that filler
    gold_mention: Ints  # the number of each mention, equal where span and label are
    predicted_mention: Ints


def match(
    gold: TupleSide,
    predicted: TupleSide,
    *,
    criterion: Criterion = "strict",
    undirected: Collection[str] = (),
) -> MatchedTuples:
    """Pair the tuples of two sides one-to-one under every criterion, and find their outcomes under one."""
    both = _Both(gold, predicted, undirected)
    right: dict[Criterion, Pairs] = {}
    fillers = None
    for name in CRITERIA:
        classes = _Classes.of(both, name)
        right[name] = _equal_tuples(both, classes)
        if name == criterion:
            fillers = classes
    assert fillers is not None  # the criterion is one of them
    outcomes = _Outcomes(both, fillers, right[criterion])
    return MatchedTuples(
        gold_kept=both.kept[0],
        predicted_kept=both.kept[1],
        gold_right={name: _mask(len(gold), pairs[0]) for name, pairs in right.items()},
        predicted_right={name: _mask(len(predicted), pairs[1]) for name, pairs in right.items()},
        gold_outcome=ints(outcomes.outcome[0]),
        predicted_outcome=ints(outcomes.outcome[1]),
        gold_partner=ints(outcomes.partner[0]),
        predicted_partner=ints(outcomes.partner[1]),
        wrong_row=outcomes.wrong[0],
        wrong_role=outcomes.wrong[1],
        gold_mention=both.mentions["strict"][0],
        predicted_mention=both.mentions["strict"][1],
    )


def _mask(size: int, rows: Ints) -> Bools:
    mask = np.zeros(size, dtype=bool)
    mask[rows] = True
    return frozen(mask)


# ---- both sides with common numbers ----------------------------------------------------------------


class _Both:
    """Two sides whose mentions, fillers and tuples have common numbers; index 0 is gold, 1 is predicted."""

    def __init__(self, gold: TupleSide, predicted: TupleSide, undirected: Collection[str]) -> None:
        self.sides = (gold, predicted)
        types = gold.names.types
        self.types = max(len(types), 1)
        self.roles = len(gold.names.roles)
        erased = np.zeros(self.types, dtype=bool)
        erased[[types[name] for name in undirected if name in types]] = True
        self.undirected = tuple(erased[side.type] for side in self.sides)
        self.owner = tuple(np.repeat(np.arange(len(side)), np.diff(side.at)) for side in self.sides)
        # The role of each filler; all roles but that of a trigger are one role where order is ignored.
        self.role = tuple(
            np.where(loose[owner] & (side.role > 0), self.roles, side.role).astype(np.int64)
            for side, loose, owner in zip(self.sides, self.undirected, self.owner, strict=True)
        )
        self.mentions = {name: self._mention_codes(name) for name in CRITERIA[:3]}
        strict = _Classes.of(self, "strict", linked=False)
        keys = _tuple_keys(self, strict.code, self.role, self._everything(), with_type=True)
        self.kept = tuple(_mask(len(key), np.unique(key, return_index=True)[1]) for key in keys)

    def _everything(self) -> tuple[Bools, Bools]:
        return (np.ones(len(self.sides[0]), dtype=bool), np.ones(len(self.sides[1]), dtype=bool))

    def _mention_codes(self, criterion: Criterion) -> tuple[Ints, Ints]:
        """The number of each mention, equal where mentions are equal by this criterion."""
        shapes: dict[tuple[tuple[int, int], ...], int] = {}
        columns: list[list[Column]] = []
        for side in self.sides:
            shape = np.zeros(len(side.start), dtype=np.int64)
            for row, pieces in side.pieces.items():
                shape[row] = shapes.setdefault(pieces, len(shapes) + 1)
            if criterion == "head":
                columns.append([side.mention_unit, side.head])
            else:
                label = side.label if criterion == "strict" else np.zeros_like(side.label)
                columns.append([side.mention_unit, side.start, side.end, label, shape])
        return _numbered_together(columns)


def _numbered_together(columns: Sequence[Sequence[Column]]) -> tuple[Ints, Ints]:
    """Numbers of the rows of two tables, equal where rows are."""
    stacked = [np.concatenate(pair).astype(np.uint64) for pair in zip(*columns, strict=True)]
    size = len(columns[0][0])
    if not len(stacked[0]):
        return ints(np.zeros(0)), ints(np.zeros(0))
    number = numbered(np.stack(stacked, axis=1))[1]
    return ints(number[:size]), ints(number[size:])


# ---- which fillers are equal -------------------------------------------------------------------------


class _Classes(Struct, frozen=True, eq=False):
    """The class of every filler under a criterion, on both sides.

    Fillers are equal exactly if their classes are, except *loose* ones: a loose gold filler `f` is equal
    to the predicted fillers with a code in `partners(f)`.
    """

    criterion: Criterion
    code: tuple[Ints, Ints]
    loose: tuple[Bools, Bools]
    linked: dict[int, list[int]]  # the codes of predicted fillers that each loose code of gold is equal to
    counted: tuple[Bools, Bools]  # fillers that tell tuples apart: under "type" only values and links

    @classmethod
    def of(cls, both: _Both, criterion: Criterion, *, linked: bool = True) -> _Classes:
        """The classes of all fillers; without `linked`, those are equal that have the same alternatives."""
        spans = "boundaries" if criterion in ("overlap", "type") else criterion
        mentions = both.mentions[spans]
        base = 1 + max((int(codes.max()) for codes in mentions if len(codes)), default=0)
        sets: dict[tuple[int, ...], int] = {}
        first_set = base + 2 * (len(both.sides[0].names.values) + 1)
        numbers, tables, counted, mention = [], [], [], []
        for side, codes in zip(both.sides, mentions, strict=True):
            sizes = np.diff(side.alternatives)
            kind = np.repeat(side.kind, sizes)
            code: Column = side.alternative.astype(np.int64)
            is_mention = kind == MENTION
            code[is_mention] = codes[code[is_mention]]
            if criterion == "type":
                code[is_mention] = 0
            code[~is_mention] = base + 2 * code[~is_mention] + (kind[~is_mention] == LINK)
            number = code[side.alternatives[:-1]].copy() if len(sizes) else np.zeros(0, dtype=np.int64)
            for row in np.flatnonzero(sizes > 1).tolist():
                begin, end = side.alternatives[row : row + 2].tolist()
                alternatives = tuple(sorted({*code[begin:end].tolist()}))
                if len(alternatives) > 1:
                    number[row] = sets.setdefault(alternatives, first_set + len(sets))
            tables.append((np.repeat(number, sizes), code))
            numbers.append(ints(number))
            mention.append(is_mention)
            counted.append(frozen((side.kind != MENTION) | (criterion != "type")))
        nothing = tuple(frozen(np.zeros(len(number), dtype=bool)) for number in numbers)
        plain = cls(
            criterion, (numbers[0], numbers[1]), (nothing[0], nothing[1]), {}, (counted[0], counted[1])
        )
        if not linked or (not sets and criterion != "overlap"):
            return plain
        spans_meet = _overlapping(both) if criterion == "overlap" else None
        return plain._with_components(_equal_pairs(tables, spans_meet))

    def alone(self, both: _Both) -> tuple[Bools, Bools]:
        """The tuples with a loose filler that is counted; they are equal to none of the others."""
        gold, predicted = (
            np.bincount(owner[loose & counted], minlength=len(side)) > 0
            for owner, loose, counted, side in zip(
                both.owner, self.loose, self.counted, both.sides, strict=True
            )
        )
        return gold, predicted

    def _with_components(self, pairs: Pairs) -> _Classes:
        """The same with the connected components of equal fillers as classes, where all in one are equal."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        own, first = [], []
        for column in self.code:
            values, inverse = np.unique(column, return_inverse=True)
            own.append(values)
            first.append(inverse.reshape(-1))
        size = len(own[0])
        nodes = size + len(own[1])
        left = np.searchsorted(own[0], pairs[0])
        right = size + np.searchsorted(own[1], pairs[1])
        graph = coo_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(nodes, nodes))
        number, component = connected_components(graph, directed=False)
        component = component.astype(np.int64)
        golds = np.bincount(component[:size], minlength=number)
        others = np.bincount(component[size:], minlength=number)
        edges = np.bincount(component[left], minlength=number)
        whole = edges == golds * others
        # A component in which not all are equal: each of its fillers is a class of its own, after all others.
        code = np.where(whole[component], component, number + np.arange(nodes))
        linked: dict[int, list[int]] = {}
        chosen = ~whole[component[left]]
        for one, other in zip(code[left[chosen]].tolist(), code[right[chosen]].tolist(), strict=True):
            linked.setdefault(one, []).append(other)
        codes = (ints(code[:size][first[0]]), ints(code[size:][first[1]]))
        loose = (frozen(codes[0] >= number), frozen(codes[1] >= number))
        return _Classes(self.criterion, codes, loose, linked, self.counted)


def _equal_pairs(tables: Sequence[tuple[Ints, Ints]], spans_meet: Pairs | None) -> Pairs:
    """The pairs of gold and predicted fillers with an equal alternative.

    Args:
        tables: for each side, a filler and one of its alternatives in each row.
        spans_meet: the pairs of alternatives that are equal although their numbers differ.
    """
    (gold, code), (predicted, other) = ((_distinct(*table)) for table in tables)
    one, two = _joined(code, other)
    found = [(gold[one], predicted[two])]
    if spans_meet is not None:
        left, right = spans_meet
        row, edge = _joined(code, left)
        back, last = _joined(right[edge], other)
        found.append((gold[row[back]], predicted[last]))
    return _distinct(np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found]))


def _distinct(one: Ints, other: Ints) -> Pairs:
    if not len(one):
        return ints(one), ints(other)
    stride = int(other.max()) + 1
    packed = distinct(one * stride + other)
    return ints(packed // stride), ints(packed % stride)


def _joined(one: Ints, other: Ints) -> Pairs:
    """The positions of equal values in two columns, all pairs of them."""
    order = np.argsort(other, kind="stable")
    ordered = other[order]
    low = np.searchsorted(ordered, one, side="left")
    sizes = np.searchsorted(ordered, one, side="right") - low
    return ints(np.repeat(np.arange(len(one)), sizes)), ints(order[run_positions(low, sizes)])


def _overlapping(both: _Both) -> Pairs:
    """The numbers of the pairs of gold and predicted spans of one unit that share a position."""
    spans, numbers, shaped = [], [], []
    stride = 1 + max((int(side.end.max()) for side in both.sides if len(side.end)), default=0)
    for side, codes in zip(both.sides, both.mentions["boundaries"], strict=True):
        number, row = np.unique(codes, return_index=True)
        unit = side.mention_unit[row].astype(np.int64) * stride
        spans.append((unit + side.start[row], unit + side.end[row]))
        numbers.append(number)
        shaped.append({int(codes[one]): pieces for one, pieces in side.pieces.items()})
    (start, end), (begin, stop) = spans
    found = []
    for swapped, (first, last), (inner, _) in (
        (False, (start, end), (begin, stop)),
        (True, (begin, stop), (start, end)),
    ):
        # Pairs whose second span begins inside the first one; those that begin together are found once.
        order = np.argsort(inner, kind="stable")
        low = np.searchsorted(inner[order], first, side="right" if swapped else "left")
        sizes = np.maximum(np.searchsorted(inner[order], last, side="left") - low, 0)
        one, two = np.repeat(np.arange(len(first)), sizes), order[run_positions(low, sizes)]
        found.append((two, one) if swapped else (one, two))
    gold = numbers[0][np.concatenate([pair[0] for pair in found])]
    predicted = numbers[1][np.concatenate([pair[1] for pair in found])]
    if shaped[0] or shaped[1]:
        ends = {
            int(n): (int(a), int(b)) for k in (0, 1) for n, a, b in zip(numbers[k], *spans[k], strict=True)
        }

        def positions(number: int, side: int) -> set[int]:
            first, last = ends[number]
            pieces = shaped[side].get(number)
            base = first // stride * stride
            return (
                {*range(first, last)}
                if pieces is None
                else {base + at for a, b in pieces for at in range(a, b)}
            )

        share = [
            (one not in shaped[0] and two not in shaped[1])
            or not positions(one, 0).isdisjoint(positions(two, 1))
            for one, two in zip(gold.tolist(), predicted.tolist(), strict=True)
        ]
        gold, predicted = gold[share], predicted[share]
    return ints(gold), ints(predicted)


# ---- which tuples are equal --------------------------------------------------------------------------


def _tuple_keys(
    both: _Both,
    code: tuple[Ints, Ints],
    role: Sequence[Ints],
    chosen: tuple[Bools, Bools],
    *,
    with_type: bool,
    counted: tuple[Bools, Bools] | None = None,
) -> tuple[Ints, Ints]:
    """Numbers of the chosen tuples, equal where unit, type and all fillers are; -1 for the other tuples."""
    keys = [np.full(len(side), -1, dtype=np.int64) for side in both.sides]
    head, combined, at = [], [], []
    for number, side in enumerate(both.sides):
        used = np.ones(len(side.role), dtype=bool) if counted is None else counted[number]
        sizes = np.bincount(both.owner[number][used], minlength=len(side))
        at.append(offsets(sizes))
        most = max((int(codes.max()) + 1 for codes in code if len(codes)), default=1)
        combined.append((role[number] * most + code[number])[used])
        head.append(side.unit.astype(np.int64) * (both.types + 1) + (side.type if with_type else both.types))
    last = 0
    arities = [np.diff(starts) for starts in at]
    for arity in distinct(np.concatenate(arities)).tolist():
        rows = [np.flatnonzero((sizes == arity) & mask) for sizes, mask in zip(arities, chosen, strict=True)]
        tables = []
        for number in (0, 1):
            fillers = combined[number][at[number][rows[number]][:, None] + np.arange(arity)]
            fillers.sort(axis=1)
            tables.append([head[number][rows[number]], *fillers.T])
        first, second = _numbered_together(tables)
        keys[0][rows[0]], keys[1][rows[1]] = first + last, second + last
        last += 1 + max((int(numbers.max()) for numbers in (first, second) if len(numbers)), default=-1)
    return ints(keys[0]), ints(keys[1])


def _in_order(keys: tuple[Ints, Ints]) -> Pairs:
    """Pair the rows with equal keys in their order, one-to-one; rows with the key -1 stay alone."""
    ranked = []
    for key in keys:
        rows = np.flatnonzero(key >= 0)
        order = rows[np.argsort(key[rows], kind="stable")]
        ordered = key[order]
        first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))[: len(ordered)]
        rank = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
        ranked.append((order, ordered, rank))
    width = 1 + max((int(rank.max()) for _, _, rank in ranked if len(rank)), default=0)
    one, other = (key * width + rank for _, key, rank in ranked)
    _, left, right = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    return ints(ranked[0][0][left]), ints(ranked[1][0][right])


def _equal_tuples(both: _Both, classes: _Classes) -> Pairs:
    """Pair equal tuples one-to-one, as many as possible; of several ways, the first (see `largest`)."""
    alone = classes.alone(both)
    keys = _tuple_keys(
        both, classes.code, both.role, (both.kept[0] & ~alone[0], both.kept[1] & ~alone[1]), with_type=True,
        counted=classes.counted,
    )  # fmt: skip
    plain = _in_order(keys)
    edges = _edges(
        both, classes, both.role, (both.kept[0] & alone[0], both.kept[1] & alone[1]), with_type=True
    )
    return _together(plain, largest(edges))


def _together(*pairs: Pairs) -> Pairs:
    return ints(np.concatenate([one for one, _ in pairs])), ints(
        np.concatenate([other for _, other in pairs])
    )


def _in_turn(
    golds: Iterable[tuple[int, Iterable[Hashable]]], others: Iterable[tuple[int, Iterable[Hashable]]]
) -> list[tuple[int, int]]:
    """Give each gold row in turn the first free predicted row that has one of its keys.

    Examples:
        >>> _in_turn([(0, "ab"), (1, "a"), (2, "a")], [(5, "b"), (6, "a")])
        [(0, 5), (1, 6)]
    """
    waiting: dict[Hashable, deque[int]] = {}
    for other, keys in others:
        for key in keys:
            waiting.setdefault(key, deque()).append(other)
    used: set[int] = set()
    pairs = []
    for one, keys in golds:
        first = None
        for key in keys:
            queue = waiting.get(key)
            while queue and queue[0] in used:
                queue.popleft()
            if queue and (first is None or queue[0] < first):
                first = queue[0]
        if first is not None:
            used.add(first)
            pairs.append((one, first))
    return pairs


def _edges(
    both: _Both,
    classes: _Classes,
    role: Sequence[Ints],
    chosen: tuple[Bools, Bools],
    *,
    with_type: bool,
) -> dict[int, list[int]]:
    """The predicted tuples that each gold tuple is equal to, where fillers are loose; both in input order."""

    def listed(number: int, row: int) -> list[tuple[int, int]]:
        begin, end = both.sides[number].at[row : row + 2].tolist()
        used = classes.counted[number][begin:end]
        return [
            (int(name), int(code))
            for name, code, counts in zip(
                role[number][begin:end], classes.code[number][begin:end], used, strict=True
            )
            if counts
        ]

    def head(number: int, row: int) -> tuple[int, int]:
        side = both.sides[number]
        return int(side.unit[row]), int(side.type[row]) if with_type else -1

    known: dict[object, list[int]] = {}
    alike: dict[object, list[tuple[int, list[tuple[int, int]]]]] = {}  # to be compared in pairs
    offered: set[tuple[tuple[int, int], int, int]] = set()
    for row in np.flatnonzero(chosen[1]).tolist():
        fillers = listed(1, row)
        known.setdefault((head(1, row), tuple(sorted(fillers))), []).append(row)
        roles = tuple(sorted(name for name, _ in fillers))
        alike.setdefault((head(1, row), roles), []).append((row, fillers))
        offered.update((head(1, row), *filler) for filler in fillers)
    edges: dict[int, list[int]] = {}
    equal: dict[tuple[tuple[int, int], int, int], list[tuple[int, int]]] = {}  # of the fillers of gold
    for row in np.flatnonzero(chosen[0]).tolist():
        fillers, where = listed(0, row), head(0, row)
        for name, code in fillers:
            if (where, name, code) not in equal:
                others = classes.linked.get(code, [code])
                equal[where, name, code] = [(name, one) for one in others if (where, name, one) in offered]
        options = [equal[where, *filler] for filler in fillers]
        if prod(map(len, options)) <= _MOST_WAYS:
            found = {
                other for way in product(*options) for other in known.get((where, tuple(sorted(way))), ())
            }
        else:
            roles = tuple(sorted(name for name, _ in fillers))
            found = {
                other
                for other, others in alike.get((where, roles), ())
                if _shared(options, others) == len(options)
            }
        if found:
            edges[row] = sorted(found)
    return edges


def _shared(options: Sequence[Sequence[tuple[int, int]]], others: Sequence[tuple[int, int]]) -> int:
    """The most fillers that can be paired with an equal filler of another tuple, one-to-one."""
    edges = {
        number: found
        for number, option in enumerate(options)
        if (found := [at for at, other in enumerate(others) if other in option])
    }
    return len(largest(edges)[0])


def largest(edges: dict[int, list[int]]) -> Pairs:
    """The first of the largest one-to-one choices of edges.

    It leaves out the last gold rows that can be left out, and gives each of the others in turn the first
    predicted row that leaves one for all of them.

    Examples:
        >>> [rows.tolist() for rows in largest({0: [0, 1], 1: [0], 2: [0, 1]})]
        [[0, 1], [1, 0]]
    """
    partner: dict[int, int] = {}  # of gold
    taken: dict[int, int] = {}  # by predicted
    closed: set[int] = set()  # predicted rows that are not given away

    def place(start: int) -> set[int] | None:
        """Give a gold row a predicted one, for which others may move; or return those that were tried."""
        came: dict[int, int] = {}
        waiting = deque([start])
        while waiting:
            one = waiting.popleft()
            for other in edges[one]:
                if other in came or other in closed:
                    continue
                came[other] = one
                if other in taken:
                    waiting.append(taken[other])
                    continue
                while True:  # the rows on the way move by one
                    one = came[other]
                    before = partner.get(one)
                    partner[one], taken[other] = other, one
                    if before is None or one == start:
                        return None
                    other = before
        return {*came}

    for one in sorted(edges):
        closed |= place(one) or set()
    closed.clear()
    for one in sorted(partner):
        own, tried = partner[one], set[int]()
        for other in edges[one]:
            if other == own:
                break
            if other in closed:
                continue
            owner = taken.get(other)
            partner[one], taken[other] = other, one
            del taken[own]
            closed.add(other)
            failed = None if owner is None else place(owner)
            if owner is None or failed is None:
                break
            partner[one], taken[own], taken[other] = own, one, owner
            closed |= failed
            tried |= {other, *failed}
        closed -= tried
        closed.add(partner[one])
    order = sorted(partner)
    return ints(order), ints([partner[one] for one in order])


def _choices(options: Collection[Sequence[int]], number: int) -> set[tuple[int, ...]]:
    """All ways to choose one key from each of so many options, in any order."""
    return {tuple(sorted(way)) for chosen in combinations(options, number) for way in product(*chosen)}


def _columns(pairs: Sequence[tuple[int, int]]) -> Pairs:
    return ints([one for one, _ in pairs]), ints([other for _, other in pairs])


def _listed(edges: dict[int, list[int]]) -> set[tuple[int, int]]:
    return {(gold, predicted) for gold, others in edges.items() for predicted in others}


def _first_free(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Accept pairs one after the other if both are still free."""
    golds: dict[int, int] = {}
    used: set[int] = set()
    for one, other in pairs:
        if one not in golds and other not in used:
            golds[one] = other
            used.add(other)
    return list(golds.items())


# ---- what became of the others -----------------------------------------------------------------------


class _Outcomes:
    """The outcomes of all tuples under one criterion, found in the order of the definition."""

    def __init__(self, both: _Both, classes: _Classes, right: Pairs) -> None:
        self.both, self.classes = both, classes
        self.outcome = [np.where(kept, -2, -1) for kept in both.kept]
        self.partner = [np.full(len(side), -1, dtype=np.int64) for side in both.sides]
        self.wrong: Pairs = (ints([]), ints([]))
        self._take(right, _RIGHT)
        self._other_types()
        self._other_fillers()
        missed = self._mention_missed()
        open_gold, open_predicted = self.open
        self.outcome[0][open_gold] = np.where(missed[open_gold], _MENTION_MISSED, _MISSED)
        self.outcome[1][open_predicted] = _SPURIOUS

    @property
    def open(self) -> tuple[Bools, Bools]:
        """The tuples without an outcome so far."""
        return self.outcome[0] == -2, self.outcome[1] == -2

    def _take(self, pairs: Pairs, outcome: int) -> None:
        for number in (0, 1):
            self.outcome[number][pairs[number]] = outcome
            self.partner[number][pairs[number]] = pairs[1 - number]

    def _other_types(self) -> None:
        """Equal fillers under another type; their order is ignored where one of the two types ignores it."""
        both, classes, free = self.both, self.classes, self.open
        alone, loose = classes.alone(both), both.undirected
        chosen = free[0] & ~alone[0], free[1] & ~alone[1]
        erased = tuple(np.where(role > 0, both.roles, role) for role in both.role)
        exact, any_order = (
            _tuple_keys(both, classes.code, role, chosen, with_type=False, counted=classes.counted)
            for role in (both.role, erased)
        )
        shared = [distinct(keys[keys >= 0]) for keys in any_order]
        rows = [np.flatnonzero(np.isin(any_order[k], shared[1 - k]) & chosen[k]).tolist() for k in (0, 1)]

        def keys_of(side: int, row: int) -> list[tuple[str, int]]:
            directed, undirected = ("exact", int(exact[side][row])), int(any_order[side][row])
            if side == 0:
                if loose[0][row]:
                    return [("any order", undirected)]
                return [directed, ("undirected", undirected)]
            more = [("undirected", undirected)] if loose[1][row] else []
            return [directed, ("any order", undirected), *more]

        pairs = _in_turn(*([(row, keys_of(side, row)) for row in rows[side]] for side in (0, 1)))
        if alone[0].any() and alone[1].any():
            golds, others = free[0] & alone[0], free[1] & alone[1]
            edges = _listed(_edges(both, classes, both.role, (golds, others), with_type=False))
            for one, other in ((golds & loose[0], others), (golds, others & loose[1])):
                if one.any() and other.any():
                    edges |= _listed(_edges(both, classes, erased, (one, other), with_type=False))
            pairs += _first_free(sorted(edges))
        self._take(_columns(pairs), _TYPE)

    def _other_fillers(self) -> None:
        """The same type and some equal fillers: pairs with most of them first."""
        both = self.both
        fillers, keys = self._filler_keys()
        if not len(keys[0]) or not len(keys[1]):
            return
        size = 1 + max(int(key.max()) for key in keys)
        counts = np.bincount(keys[0], minlength=size)
        # How many pairs each unit has; units with very many are left to a slower way that lists none.
        units = [
            side.unit[owner[own]] for side, owner, own in zip(both.sides, both.owner, fillers, strict=True)
        ]
        pairs = np.bincount(units[1], weights=counts[keys[1]], minlength=both.sides[0].units)
        dense = pairs > _DENSE
        part = np.cumsum(np.where(dense, 0, pairs)) // _MOST_PAIRS
        for number in distinct(part[units[1]]).tolist():
            rows = [np.flatnonzero(~dense[one] & (part[one] == number)) for one in units]
            one, other = _joined(keys[0][rows[0]], keys[1][rows[1]])
            self._take_fillers(fillers[0][rows[0][one]], fillers[1][rows[1][other]])
        for number in np.flatnonzero(dense).tolist():
            rows = [np.flatnonzero(one == number) for one in units]
            self._take_dense([fillers[k][rows[k]] for k in (0, 1)], [keys[k][rows[k]] for k in (0, 1)])
        self._note_wrong(fillers, keys, size)

    def _filler_keys(self) -> tuple[Pairs, Pairs]:
        """The fillers of open tuples, and a key of each, or several of a loose one: equal where they are."""
        both, classes = self.both, self.classes
        fillers: list[Ints] = []
        tables: list[list[Column]] = []
        for at, side in enumerate(both.sides):
            filler = np.flatnonzero(self.open[at][both.owner[at]])
            row = both.owner[at][filler]
            fillers.append(ints(filler))
            role, code = both.role[at][filler], classes.code[at][filler]
            tables.append([side.unit[row], side.type[row], role, code])
        keys = _numbered_together(tables)
        if classes.linked:
            number, first = np.unique(keys[0], return_index=True)
            others = [classes.linked.get(one, [one]) for one in tables[0][3][first].tolist()]
            sizes = [len(each) for each in others]
            gold = [np.repeat(column[first], sizes) for column in tables[0][:3]]
            gold.append(np.array([one for each in others for one in each], dtype=np.int64))
            several, predicted = _numbered_together([gold, tables[1]])
            there = np.isin(several, predicted)
            edge, row = _joined(keys[0], ints(np.repeat(number, sizes)[there]))
            fillers[0], keys = ints(fillers[0][edge]), (ints(several[there][row]), predicted)
        return (fillers[0], fillers[1]), keys

    def _take_fillers(self, one: Ints, other: Ints) -> None:
        """Pair tuples, given all pairs of their fillers that are equal."""
        if not len(one):
            return
        gold, predicted = self.both.owner[0][one], self.both.owner[1][other]
        stride = len(self.both.sides[1]) + 1
        pair, at = np.unique(gold * stride + predicted, return_inverse=True)
        shared = self._number_shared(pair, at.reshape(-1), one, other)
        golds, others = pair // stride, pair % stride
        single = (np.bincount(golds)[golds] == 1) & (np.bincount(others)[others] == 1)
        rest = np.flatnonzero(~single)
        rest = rest[np.lexsort((others[rest], golds[rest], -shared[rest]))]
        chosen = _first_free(list(zip(golds[rest].tolist(), others[rest].tolist(), strict=True)))
        self._take(_together((golds[single], others[single]), _columns(chosen)), _FILLER)

    def _number_shared(self, pair: Ints, at: Ints, one: Ints, other: Ints) -> Ints:
        """How many fillers each pair of tuples shares, one-to-one."""
        edges = np.bincount(at, minlength=len(pair))
        stride = max(len(self.both.role[0]), len(self.both.role[1])) + 1
        fillers = [
            np.bincount(distinct(at * stride + column) // stride, minlength=len(pair))
            for column in (one, other)
        ]
        shared = edges.copy()
        unclear = (edges > fillers[0]) | (edges > fillers[1])
        if unclear.any():
            found: dict[int, dict[int, list[int]]] = {}
            for number, left, right in zip(at.tolist(), one.tolist(), other.tolist(), strict=True):
                if unclear[number]:
                    found.setdefault(number, {}).setdefault(left, []).append(right)
            for number, listed in found.items():
                shared[number] = len(largest(listed)[0])
        return ints(shared)

    def _take_dense(self, fillers: Sequence[Ints], keys: Sequence[Ints]) -> None:
        """Pair the tuples of one unit whose pairs of equal fillers are too many to list.

        Tuples share so many fillers as the largest choice of keys that both have, one of each filler.
        """
        open_: list[dict[int, dict[int, list[int]]]] = [{}, {}]  # the keys of each filler of each tuple
        for number, tuples in enumerate(open_):
            owner = self.both.owner[number][fillers[number]].tolist()
            for row, one, key in zip(owner, fillers[number].tolist(), keys[number].tolist(), strict=True):
                tuples.setdefault(row, {}).setdefault(one, []).append(key)
        if (
            max(prod(1 + len(one) for one in own.values()) for each in open_ for own in each.values())
            > _MOST_WAYS
        ):
            at, to = _joined(*keys)
            self._take_fillers(fillers[0][at], fillers[1][to])
            return
        for wanted in range(max(map(len, open_[0].values())), 0, -1):
            pairs = _in_turn(
                *(((row, _choices(own.values(), wanted)) for row, own in tuples.items()) for tuples in open_)
            )
            for one, other in pairs:
                del open_[0][one], open_[1][other]
            self._take(_columns(pairs), _FILLER)

    def _note_wrong(self, fillers: Pairs, keys: Pairs, size: int) -> None:
        """Keep the roles of the fillers that are not equal: those of gold, or, if it has none, predicted."""
        both = self.both
        golds = np.flatnonzero(self.outcome[0] == _FILLER)
        partners = self.partner[0][golds]
        owner = [both.owner[number][fillers[number]] for number in (0, 1)]
        found = [self.partner[0][owner[0]] * size + keys[0], owner[1] * size + keys[1]]
        found[0][self.outcome[0][owner[0]] != _FILLER] = -1
        rows, roles = [], []
        has_wrong = np.zeros(len(both.sides[0]), dtype=bool)
        for number, own in ((0, golds), (1, partners)):
            side = both.sides[number]
            sizes = np.diff(side.at)[own]
            filler, gold = run_positions(side.at[own], sizes), np.repeat(golds, sizes)
            equal = fillers[number][np.isin(found[number], found[1 - number])]
            wrong = ~np.isin(filler, equal) & ~has_wrong[gold]
            rows.append(gold[wrong])
            roles.append(side.role[filler[wrong]])
            has_wrong[gold[wrong]] = True
        self.wrong = ints(np.concatenate(rows)), ints(np.concatenate(roles))

    def _mention_missed(self) -> Bools:
        """The gold tuples with a mention that is equal to no predicted mention."""
        both, criterion = self.both, self.classes.criterion
        gold, predicted = both.sides
        if criterion == "overlap":
            found = np.isin(both.mentions["boundaries"][0], _overlapping(both)[0])
        elif criterion == "type":
            found = np.isin(gold.mention_unit, predicted.mention_unit)
        else:
            found = np.isin(both.mentions[criterion][0], both.mentions[criterion][1])
        sizes = np.diff(gold.alternatives)
        is_mention = np.repeat(gold.kind == MENTION, sizes)
        hit = ~is_mention
        hit[is_mention] = found[gold.alternative[is_mention]]
        filler = np.repeat(np.arange(len(sizes)), sizes)
        reached = np.bincount(filler[hit], minlength=len(sizes)) > 0
        return np.asarray(np.bincount(both.owner[0][~reached], minlength=len(gold)) > 0)
