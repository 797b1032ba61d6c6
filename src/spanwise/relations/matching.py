"""Which predicted tuple belongs to which gold tuple under each criterion, and what became of the others.

Fillers that are equal form classes wherever equality is an equivalence; tuples are then equal if their types
and the classes of their fillers are, and are paired in input order. Only where a filler is equal to several
that are not equal to each other (spans that overlap, entities with several mentions, several right links)
are pairs searched for with augmenting paths.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from itertools import product
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
        right[name] = _equal_tuples(both, classes, *both.kept, with_type=True)
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


def _equal_tuples(
    both: _Both, classes: _Classes, gold: Bools, predicted: Bools, *, with_type: bool, erased: bool = False
) -> Pairs:
    """Pair equal tuples one-to-one: as many as possible with `with_type`, else the first with the first."""
    role = tuple(np.where(role > 0, both.roles, role) for role in both.role) if erased else both.role
    alone = [
        np.bincount(owner[loose & counted], minlength=len(side)) > 0
        for owner, loose, counted, side in zip(
            both.owner, classes.loose, classes.counted, both.sides, strict=True
        )
    ]
    keys = _tuple_keys(
        both, classes.code, role, (gold & ~alone[0], predicted & ~alone[1]), with_type=with_type,
        counted=classes.counted,
    )  # fmt: skip
    one, other = _in_order(keys)
    if not (alone[0] & gold).any() or not (alone[1] & predicted).any():
        return one, other
    edges = _edges(both, classes, role, (gold & alone[0], predicted & alone[1]), with_type=with_type)
    pairs = largest(edges) if with_type else _first_free(sorted({*_listed(edges)}))
    return ints(np.concatenate([one, pairs[0]])), ints(np.concatenate([other, pairs[1]]))


def _listed(edges: dict[int, list[int]]) -> Iterator[tuple[int, int]]:
    return ((gold, predicted) for gold, others in edges.items() for predicted in others)


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
    for row in np.flatnonzero(chosen[1]).tolist():
        fillers = listed(1, row)
        known.setdefault((head(1, row), tuple(sorted(fillers))), []).append(row)
        roles = tuple(sorted(name for name, _ in fillers))
        alike.setdefault((head(1, row), roles), []).append((row, fillers))
    edges: dict[int, list[int]] = {}
    for row in np.flatnonzero(chosen[0]).tolist():
        fillers = listed(0, row)
        options = [[(name, other) for other in classes.linked.get(code, [code])] for name, code in fillers]
        ways = 1
        for option in options:
            ways *= len(option)
        if ways <= _MOST_WAYS:
            found = {
                other
                for way in product(*options)
                for other in known.get((head(0, row), tuple(sorted(way))), ())
            }
        else:
            roles = tuple(sorted(name for name, _ in fillers))
            found = {
                other
                for other, others in alike.get((head(0, row), roles), ())
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
    """A largest one-to-one choice of edges (Hopcroft and Karp 1973), begun in input order.

    Examples:
        >>> [rows.tolist() for rows in largest({0: [0, 1], 1: [0]})]
        [[0, 1], [1, 0]]
    """
    partner: dict[int, int] = {}  # of gold
    taken: dict[int, int] = {}  # by predicted
    for one in sorted(edges):
        free = next((other for other in edges[one] if other not in taken), None)
        if free is not None:
            partner[one], taken[free] = free, one
    while True:
        depth = {one: 0 for one in edges if one not in partner}
        waiting, reached = deque(sorted(depth)), len(edges)
        while waiting:
            one = waiting.popleft()
            if depth[one] > reached:
                break
            for other in edges[one]:
                owner = taken.get(other)
                if owner is None:
                    reached = depth[one]
                elif owner not in depth:
                    depth[owner] = depth[one] + 1
                    waiting.append(owner)
        if reached == len(edges):
            break
        at = dict.fromkeys(depth, 0)
        for root in sorted(one for one in depth if one not in partner):
            path = [root]
            while path:
                one = path[-1]
                if at[one] == len(edges[one]):
                    path.pop()
                    continue
                other = edges[one][at[one]]
                owner = taken.get(other)
                if owner is None:  # the path can be flipped
                    for step in reversed(path):
                        free = edges[step][at[step]]
                        partner[step], taken[free] = free, step
                        at[step] = len(edges[step])
                    break
                at[one] += 1 if depth.get(owner) != depth[one] + 1 or at[owner] == len(edges[owner]) else 0
                if depth.get(owner) == depth[one] + 1 and at[owner] < len(edges[owner]):
                    path.append(owner)
    order = sorted(partner)
    return ints(order), ints([partner[one] for one in order])


def _first_free(pairs: Sequence[tuple[int, int]]) -> Pairs:
    """Accept pairs one after the other if both are still free."""
    golds: dict[int, int] = {}
    used: set[int] = set()
    for one, other in pairs:
        if one not in golds and other not in used:
            golds[one] = other
            used.add(other)
    return ints(list(golds)), ints(list(golds.values()))


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
        """Equal fillers under another type; order is ignored where one of the two types ignores it."""
        self._take(_equal_tuples(self.both, self.classes, *self.open, with_type=False), _TYPE)
        loose = self.both.undirected
        if not (loose[0].any() or loose[1].any()):
            return
        for gold, predicted in ((loose[0], ~loose[1]), (~loose[0], loose[1])):
            free = self.open
            pairs = _equal_tuples(
                self.both, self.classes, free[0] & gold, free[1] & predicted, with_type=False, erased=True
            )
            self._take(pairs, _TYPE)

    def _other_fillers(self) -> None:
        """The same type and some equal fillers: pairs with most of them first."""
        both, classes, free = self.both, self.classes, self.open
        expanded: list[tuple[Ints, list[Column]]] = []
        for number in (0, 1):
            filler: Ints = np.flatnonzero(free[number][both.owner[number]])
            code = classes.code[number][filler]
            if number == 0 and classes.linked:
                others = [classes.linked.get(one, [one]) for one in code.tolist()]
                filler = np.repeat(filler, [len(one) for one in others])
                code = np.array([one for each in others for one in each], dtype=np.int64)
            side, owner = both.sides[number], both.owner[number][filler]
            expanded.append((filler, [side.unit[owner], side.type[owner], both.role[number][filler], code]))
        keys = _numbered_together([columns for _, columns in expanded])
        if not len(keys[0]) or not len(keys[1]):
            return
        fillers = (expanded[0][0], expanded[1][0])
        size = 1 + max(int(key.max()) for key in keys)
        counts = np.bincount(keys[0], minlength=size), np.bincount(keys[1], minlength=size)
        # How many pairs each unit has; units with very many are left to a slower way that lists none.
        unit = both.sides[1].unit[both.owner[1][fillers[1]]]
        pairs = np.bincount(unit, weights=counts[0][keys[1]], minlength=both.sides[0].units)
        dense = pairs > _DENSE
        part = np.cumsum(np.where(dense, 0, pairs)) // _MOST_PAIRS
        units = both.sides[0].unit[both.owner[0][fillers[0]]], unit
        for number in distinct(part[units[1]]).tolist():
            rows = [np.flatnonzero(~dense[one] & (part[one] == number)) for one in units]
            one, other = _joined(keys[0][rows[0]], keys[1][rows[1]])
            self._take_fillers(fillers[0][rows[0][one]], fillers[1][rows[1][other]])
        for number in np.flatnonzero(dense).tolist():
            rows = [np.flatnonzero(one == number) for one in units]
            self._take_dense([fillers[k][rows[k]] for k in (0, 1)], (keys[0][rows[0]], keys[1][rows[1]]))

    def _take_fillers(self, one: Ints, other: Ints) -> None:
        """Pair tuples, given all pairs of their fillers that are equal."""
        if not len(one):
            return
        both = self.both
        gold, predicted = both.owner[0][one], both.owner[1][other]
        stride = len(both.sides[1]) + 1
        pair, at = np.unique(gold * stride + predicted, return_inverse=True)
        at = at.reshape(-1)
        shared = self._number_shared(pair, at, one, other)
        golds, others = pair // stride, pair % stride
        single = (np.bincount(golds)[golds] == 1) & (np.bincount(others)[others] == 1)
        rest = np.flatnonzero(~single)
        rest = rest[np.lexsort((others[rest], golds[rest], -shared[rest]))]
        chosen = _first_free(list(zip(golds[rest].tolist(), others[rest].tolist(), strict=True)))
        pairs = ints(np.append(golds[single], chosen[0])), ints(np.append(others[single], chosen[1]))
        self._take(pairs, _FILLER)
        equal = self.partner[0][gold] == predicted
        self._note_wrong(pairs, one[equal], other[equal])

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

    def _take_dense(self, fillers: Sequence[Ints], keys: tuple[Ints, Ints]) -> None:
        """Pair the tuples of one unit whose equal fillers are too many to list."""
        both = self.both
        order = np.argsort(keys[1], kind="stable")
        ordered = keys[1][order]
        golds = both.owner[0][fillers[0]]
        columns, where = np.unique(both.owner[1][fillers[1]], return_inverse=True)
        where = where.reshape(-1)[order]
        free = np.ones(len(columns), dtype=bool)
        low, high = np.searchsorted(ordered, keys[0], "left"), np.searchsorted(ordered, keys[0], "right")
        begins = np.flatnonzero(np.append(True, golds[1:] != golds[:-1]))
        waiting = list(zip(begins.tolist(), [*begins[1:].tolist(), len(golds)], strict=True))
        pairs: list[tuple[int, int]] = []
        edges: list[tuple[Ints, Ints]] = []
        most = int(np.diff(both.sides[0].at)[golds].max())
        for wanted in range(most, 0, -1):
            left = []
            for begin, end in waiting:
                own = run_positions(low[begin:end], high[begin:end] - low[begin:end])
                number = np.bincount(where[own], minlength=len(columns)) * free
                for column in np.flatnonzero(number >= wanted).tolist():
                    rows = np.repeat(fillers[0][begin:end], high[begin:end] - low[begin:end])
                    hit = where[own] == column
                    equal = rows[hit], fillers[1][order[own[hit]]]
                    listed: dict[int, list[int]] = {}
                    for one, other in zip(equal[0].tolist(), equal[1].tolist(), strict=True):
                        listed.setdefault(one, []).append(other)
                    if len(largest(listed)[0]) >= wanted:
                        free[column] = False
                        pairs.append((int(golds[begin]), int(columns[column])))
                        edges.append(equal)
                        break
                else:
                    left.append((begin, end))
            waiting = left
        taken = ints([one for one, _ in pairs]), ints([other for _, other in pairs])
        self._take(taken, _FILLER)
        if edges:
            self._note_wrong(taken, *(np.concatenate([edge[k] for edge in edges]) for k in (0, 1)))

    def _note_wrong(self, pairs: Pairs, equal: Ints, other: Ints) -> None:
        """Keep the roles of the fillers that are not equal: those of gold, or, if it has none, predicted."""
        rows, roles = [], []
        has_wrong = np.zeros(len(self.both.sides[0]), dtype=bool)
        for number, own in ((0, equal), (1, other)):
            side = self.both.sides[number]
            filler = run_positions(side.at[pairs[number]], np.diff(side.at)[pairs[number]])
            gold = np.repeat(pairs[0], np.diff(side.at)[pairs[number]])
            wrong = ~np.isin(filler, own) & ~has_wrong[gold]
            rows.append(gold[wrong])
            roles.append(side.role[filler[wrong]])
            has_wrong[gold[wrong]] = True
        self.wrong = (
            ints(np.concatenate([self.wrong[0], *rows])),
            ints(np.concatenate([self.wrong[1], *roles])),
        )

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
