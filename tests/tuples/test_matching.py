"""Tuples matched under every criterion, against fillers compared one by one and exhaustive search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import permutations
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from spanwise.document.tuples import CRITERIA, Criterion
from spanwise.relations import matching as module
from spanwise.relations.corpus import LINK, MENTION, TupleSide, side_of
from spanwise.relations.matching import match

UNDIRECTED = ("near",)
Record = dict[str, Any]

# ---- random documents ------------------------------------------------------------------------------


@st.composite
def records(draw: st.DrawFn, sets: bool) -> list[Record]:
    """Up to three units of seven tokens with mentions, relations, events, attributes and links."""
    units = []
    for number in range(draw(st.integers(1, 2))):
        mentions = []
        for at in range(draw(st.integers(1, 4))):
            start = draw(st.integers(0, 5))
            end = draw(st.integers(start + 1, min(start + 3, 7)))
            mention = {"id": f"m{at}", "start": start, "end": end, "label": draw(st.sampled_from("XY"))}
            if end - start == 3 and draw(st.booleans()):
                mention["parts"] = [[start, start + 1], [end - 1, end]]
            mentions.append(mention)
        ids = st.sampled_from([mention["id"] for mention in mentions])
        any_of = st.lists(ids, min_size=1, max_size=3).map(lambda names: {"any": names})
        filler: st.SearchStrategy[Any] = st.one_of(ids, any_of) if sets else ids
        links = st.lists(st.sampled_from(["Q1", "Q2", "NIL"]), min_size=1, max_size=2 if sets else 1)
        tuples = []
        for _ in range(draw(st.integers(0, 5))):
            kind = draw(st.sampled_from(["works", "near", "lives", "Attack", "negation", "link"]))
            if kind == "Attack":
                roles: Record = {
                    "by": draw(st.lists(filler, max_size=2)),
                    "on": draw(st.lists(filler, max_size=1)),
                }
                tuples.append(
                    {"type": draw(st.sampled_from(["Attack", "Hire"])), "trigger": draw(ids), "roles": roles}
                )
            elif kind == "negation":
                value = {"value": draw(st.sampled_from(["yes", "no"]))}
                tuples.append({"type": "negation", "roles": {"mention": draw(ids), "value": value}})
            elif kind == "link":
                tuples.append(
                    {"type": "link", "roles": {"mention": draw(ids), "link": {"link": draw(links)}}}
                )
            else:
                tuples.append({"type": kind, "roles": {"head": draw(filler), "tail": draw(filler)}})
        units.append({"id": str(number), "tokens": list("abcdefg"), "mentions": mentions, "tuples": tuples})
    return units


@st.composite
def pairs(draw: st.DrawFn, sets: bool = True) -> tuple[list[Record], list[Record]]:
    """Gold, and predictions for the same units."""
    gold, predicted = draw(records(sets)), draw(records(sets))
    predicted = (predicted * 2)[: len(gold)]
    return gold, [{**one, "id": own["id"]} for one, own in zip(predicted, gold, strict=True)]


# ---- the definition, one filler at a time --------------------------------------------------------------


class Plain:
    """The tuples of one side as lists: unit, type and (role, alternatives) of the fillers."""

    def __init__(self, side: TupleSide) -> None:
        types, roles = [*side.names.types], [*side.names.roles]
        labels, values = [*side.names.labels], [*side.names.values]
        self.mentions: dict[int, list[Any]] = {}

        def mention(row: int) -> tuple[frozenset[int], int, str]:
            pieces = side.pieces.get(row, ((int(side.start[row]), int(side.end[row])),))
            positions = frozenset(at for start, end in pieces for at in range(start, end))
            return positions, int(side.head[row]), labels[side.label[row]]

        for row, unit in enumerate(side.mention_unit.tolist()):
            self.mentions.setdefault(unit, []).append(mention(row))
        self.unit = side.unit.tolist()
        self.type = [types[code] for code in side.type.tolist()]
        self.fillers = []
        for row in range(len(side)):
            fillers = []
            for at in range(side.at[row], side.at[row + 1]):
                own = side.alternative[side.alternatives[at] : side.alternatives[at + 1]].tolist()
                kind = int(side.kind[at])
                named = [mention(one) if kind == MENTION else values[one] for one in own]
                role = roles[side.role[at]]
                fillers.append((role, kind, named))
            self.fillers.append(fillers)

    def role(self, row: int, role: str, erased: bool = False) -> str:
        loose = erased or self.type[row] in UNDIRECTED
        return "any" if loose and role != "\0trigger" else role


def same(criterion: Criterion, one: Any, other: Any) -> bool:
    """Whether two fillers are equal."""
    if one[1] != other[1]:
        return False
    if one[1] != MENTION:
        return not {*one[2]}.isdisjoint(other[2])
    return any(same_mention(criterion, left, right) for left in one[2] for right in other[2])


def same_mention(criterion: Criterion, left: Any, right: Any) -> bool:
    equal: dict[str, bool] = {
        "strict": left[0] == right[0] and left[2] == right[2],
        "boundaries": left[0] == right[0],
        "head": left[1] == right[1],
        "overlap": bool(left[0] & right[0]),
        "type": True,
    }
    return equal[criterion]


def shared(criterion: Criterion, gold: Plain, predicted: Plain, g: int, p: int, erased: bool = False) -> int:
    """The most fillers of two tuples that are equal, in the same roles, one-to-one."""
    table = np.array(
        [
            [
                gold.role(g, one[0], erased) == predicted.role(p, other[0], erased)
                and same(criterion, one, other)
                for other in predicted.fillers[p]
            ]
            for one in gold.fillers[g]
        ],
        dtype=float,
    ).reshape(len(gold.fillers[g]), len(predicted.fillers[p]))
    return int(table[linear_sum_assignment(table, maximize=True)].sum())


def all_equal(
    criterion: Criterion, gold: Plain, predicted: Plain, g: int, p: int, erased: bool = False
) -> bool:
    own, other = gold.fillers[g], predicted.fillers[p]
    if criterion == "type":  # spans are free, and so is their number
        keep = [[one for one in each if one[1] != MENTION] for each in (own, other)]
        if len(keep[0]) != len(keep[1]):
            return False
        return any(
            all(
                gold.role(g, one[0], erased) == predicted.role(p, two[0], erased)
                and same(criterion, one, two)
                for one, two in zip(keep[0], order, strict=True)
            )
            for order in permutations(keep[1])
        )
    return len(own) == len(other) == shared(criterion, gold, predicted, g, p, erased)


def kept(side: Plain) -> list[int]:
    """The tuples that repeat no other one of their unit."""
    rows: list[int] = []
    seen = set()
    for row, fillers in enumerate(side.fillers):
        named = Counter((side.role(row, role), kind, frozenset(each)) for role, kind, each in fillers)
        key = (side.unit[row], side.type[row], frozenset(named.items()))
        if key not in seen:
            seen.add(key)
            rows.append(row)
    return rows


def first_largest(golds: list[int], equal: dict[int, list[int]]) -> dict[int, int]:
    """Of the largest matchings, the one without the last gold tuples, then with the first predicted ones."""
    ways: list[dict[int, int]] = [{}]
    for g in golds:
        ways += [{**way, g: p} for way in ways for p in equal[g] if p not in way.values()]
    most = max(map(len, ways))
    return min(
        (way for way in ways if len(way) == most),
        key=lambda way: ([g not in way for g in golds], [way.get(g, -1) for g in golds]),
    )


def right_pairs(criterion: Criterion, gold: Plain, predicted: Plain) -> dict[int, int]:
    """The matching of every unit and type under a criterion."""
    found: dict[int, int] = {}
    groups = {(gold.unit[g], gold.type[g]) for g in kept(gold)}
    for group in groups:
        golds = [g for g in kept(gold) if (gold.unit[g], gold.type[g]) == group]
        others = [p for p in kept(predicted) if (predicted.unit[p], predicted.type[p]) == group]
        equal = {g: [p for p in others if all_equal(criterion, gold, predicted, g, p)] for g in golds}
        found |= first_largest(golds, equal)
    return found


def check(gold: list[Record], predicted: list[Record], criterion: Criterion) -> None:
    """Compare everything with the definition."""
    own = side_of(gold)
    other = side_of(predicted, "mine", gold=own)
    found = match(own, other, criterion=criterion, undirected=UNDIRECTED)
    one, two = Plain(own), Plain(other)
    assert np.flatnonzero(found.gold_kept).tolist() == kept(one)
    assert np.flatnonzero(found.predicted_kept).tolist() == kept(two)
    for name in CRITERIA:
        pairs = right_pairs(name, one, two)
        assert np.flatnonzero(found.gold_right[name]).tolist() == sorted(pairs), name
        assert np.flatnonzero(found.predicted_right[name]).tolist() == sorted(pairs.values()), name
    expected = outcomes(one, two, criterion)
    assert found.gold_outcome.tolist() == expected[0]
    assert found.predicted_outcome.tolist() == expected[1]
    assert found.gold_partner.tolist() == expected[2]
    roles = [*own.names.roles]
    wrong = [
        (row, roles[role])
        for row, role in zip(found.wrong_row.tolist(), found.wrong_role.tolist(), strict=True)
    ]
    assert sorted(wrong) == sorted(wrong_roles(one, two, criterion, expected))


Outcomes = tuple[list[int], list[int], list[int]]


def outcomes(gold: Plain, predicted: Plain, criterion: Criterion) -> Outcomes:
    """The outcomes of both sides, and the partners of gold, one kind after the other."""
    result = [-1] * len(gold.unit), [-1] * len(predicted.unit)
    partner = [-1] * len(gold.unit)
    golds, others = kept(gold), kept(predicted)

    def take(pairs: Iterable[tuple[int, int]], outcome: int) -> None:
        for g, p in pairs:
            if g in golds and p in others:
                result[0][g] = result[1][p] = outcome
                partner[g] = p
                golds.remove(g)
                others.remove(p)

    def together(same_type: bool) -> list[tuple[int, int]]:
        return [
            (g, p)
            for g in golds
            for p in others
            if gold.unit[g] == predicted.unit[p] and (gold.type[g] == predicted.type[p]) == same_type
        ]

    take(right_pairs(criterion, gold, predicted).items(), 0)

    def fillers_equal(g: int, p: int) -> bool:
        loose = gold.type[g] in UNDIRECTED or predicted.type[p] in UNDIRECTED
        return all_equal(criterion, gold, predicted, g, p, erased=loose)

    take([pair for pair in together(False) if fillers_equal(*pair)], 1)
    number = {(g, p): shared(criterion, gold, predicted, g, p) for g, p in together(True)}
    take(sorted((pair for pair in number if number[pair]), key=lambda pair: (-number[pair], *pair)), 2)
    for g in golds:
        mentions = predicted.mentions.get(gold.unit[g], [])
        result[0][g] = 4 if all(
            kind != MENTION or any(same_mention(criterion, one, other) for one in each for other in mentions)
            for _, kind, each in gold.fillers[g]
        ) else 3  # fmt: skip
    for p in others:
        result[1][p] = 3
    return result[0], result[1], partner


def wrong_roles(
    gold: Plain, predicted: Plain, criterion: Criterion, found: Outcomes
) -> Iterator[tuple[int, str]]:
    """The roles of gold fillers that equal none of the partner's, or, if there are none, the reverse."""
    for g, outcome in enumerate(found[0]):
        if outcome == 2:
            p = found[2][g]
            pairs = [
                (at, to)
                for at, one in enumerate(gold.fillers[g])
                for to, other in enumerate(predicted.fillers[p])
                if gold.role(g, one[0]) == predicted.role(p, other[0]) and same(criterion, one, other)
            ]
            own = [one[0] for at, one in enumerate(gold.fillers[g]) if at not in {at for at, _ in pairs}]
            more = [
                one[0] for to, one in enumerate(predicted.fillers[p]) if to not in {to for _, to in pairs}
            ]
            yield from ((g, role) for role in own or more)


@settings(max_examples=150)
@given(pairs(), st.sampled_from(CRITERIA))
def test_every_criterion_and_outcome_follows_the_definition(
    documents: tuple[list[Record], list[Record]], criterion: Criterion
) -> None:
    check(*documents, criterion)


@settings(max_examples=60)
@given(pairs(), st.sampled_from(CRITERIA))
def test_dense_units_have_the_same_outcomes(
    documents: tuple[list[Record], list[Record]], criterion: Criterion
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_DENSE", 0)
        patch.setattr(module, "_MOST_WAYS", 1)
        check(*documents, criterion)


@settings(max_examples=80)
@given(pairs())
def test_laws_between_criteria(documents: tuple[list[Record], list[Record]]) -> None:
    gold = side_of(documents[0])
    found = match(gold, side_of(documents[1], "mine", gold=gold))
    number = {name: int(mask.sum()) for name, mask in found.gold_right.items()}
    assert number["strict"] <= number["boundaries"] <= number["overlap"] <= number["type"]
    assert number["strict"] <= number["head"] <= number["overlap"]
    same_side = match(gold, side_of(documents[0], "mine", gold=gold))
    for name in CRITERIA:
        assert same_side.gold_right[name].tolist() == same_side.gold_kept.tolist()


def _star(size: int, shift: int, end: int = 1) -> list[Record]:
    """One unit with many tuples that all share a mention, which ends there."""
    mentions = [{"id": "hub", "start": 0, "end": end}]
    mentions += [{"id": str(at), "start": at, "end": at + 1} for at in range(1, 2 * size + 2)]
    tuples = [
        {"type": "near", "roles": {"head": "hub", "tail": str(at + shift)}} for at in range(1, size + 1)
    ]
    return [{"tokens": ["a"] * (2 * size + 2), "mentions": mentions, "tuples": tuples}]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_many_tuples_in_a_unit_take_no_quadratic_step(criterion: Criterion) -> None:
    size = 20_000  # in gold; all pairs would be 100 million
    gold = side_of(_star(size, 0))
    predicted = side_of(_star(size, size // 2), "mine", gold=gold)
    begin = process_time()
    found = match(gold, predicted, criterion=criterion)
    assert process_time() - begin < 4
    counts = np.bincount(found.gold_outcome)
    assert counts[0] == (size if criterion == "type" else size // 2)
    if criterion != "type":
        assert counts[2] == size // 2


def test_a_mention_that_overlaps_all_others_takes_no_quadratic_step() -> None:
    size = 10_000
    gold = side_of(_star(size, 0, end=2 * size + 2))
    predicted = side_of(_star(size, size // 2), "mine", gold=gold)
    begin = process_time()
    found = match(gold, predicted, criterion="overlap")
    assert process_time() - begin < 4
    assert np.bincount(found.gold_outcome).tolist() == [size // 2, 0, size // 2]


def test_spans_that_overlap_in_a_chain_are_paired_as_far_as_possible() -> None:
    """Pairing the first with the first would leave the second gold tuple out."""
    mentions = [
        {"id": "a", "start": 0, "end": 4},
        {"id": "b", "start": 0, "end": 1},
        {"id": "z", "start": 9, "end": 10},
    ]
    other = [
        {"id": "a", "start": 0, "end": 1},
        {"id": "b", "start": 3, "end": 4},
        {"id": "z", "start": 9, "end": 10},
    ]
    tuples = [{"type": "t", "roles": {"head": name, "tail": "z"}} for name in "ab"]
    gold = side_of([{"mentions": mentions, "tuples": tuples}])
    found = match(gold, side_of([{"mentions": other, "tuples": tuples}], gold=gold), criterion="overlap")
    assert found.gold_right["overlap"].tolist() == [True, True]
    assert found.gold_partner.tolist() == [1, 0]
    assert found.gold_right["boundaries"].sum() == 1


def test_links_take_any_right_identifier_and_nil_is_one() -> None:
    def unit(*links: Any) -> list[Record]:
        mentions = [{"id": str(at), "start": at, "end": at + 1} for at in range(len(links))]
        tuples = [
            {"type": "link", "roles": {"mention": str(at), "link": {"link": link}}}
            for at, link in enumerate(links)
        ]
        return [{"mentions": mentions, "tuples": tuples}]

    gold = side_of(unit(["Q1", "Q2"], "NIL", "NIL"))
    assert gold.kind.tolist() == [MENTION, LINK] * 3
    found = match(gold, side_of(unit("Q2", "NIL", "Q3"), gold=gold))
    assert found.gold_right["strict"].tolist() == [True, True, False]
    assert found.gold_outcome.tolist() == [0, 0, 2]
    assert [list(gold.names.roles)[role] for role in found.wrong_role.tolist()] == ["link"]
