"""Results in nervaluate's structure equal its own if mentions overlap at most one of the other side."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest
from msgspec import Struct, structs

from spanwise.compat.nervaluate import INDICES, EvaluationIndices, structure
from spanwise.corpus import Mentions, with_one_labelling
from spanwise.evaluation import evaluate

Spans = list[tuple[int, int, str]]


def theirs(pairs: list[tuple[Spans, Spans]]) -> dict[str, Any]:
    nervaluate = pytest.importorskip("nervaluate", reason="the peer nervaluate is not installed")
    sides = [
        [
            [{"label": label, "start": start, "end": end - 1} for start, end, label in pair[side]]
            for pair in pairs
        ]
        for side in (0, 1)
    ]
    result: dict[str, Any] = plain(
        nervaluate.Evaluator(*sides, tags=["A", "B", "C"], loader="dict").evaluate()
    )
    return result


def ours(pairs: list[tuple[Spans, Spans]]) -> dict[str, Any]:
    sides = (
        Mentions.of([(n, *span) for n, pair in enumerate(pairs) for span in pair[side]]) for side in (0, 1)
    )
    result: dict[str, Any] = plain(structure(*with_one_labelling(list(sides))))
    return result


def plain(value: Any) -> Any:
    """Results as dicts, with numbers rounded so that the order of operations does not matter."""
    if isinstance(value, EvaluationIndices):
        return {name: getattr(value, name) for name in INDICES}
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, float):
        return round(value, 12)
    if isinstance(value, Struct):
        return plain(structs.asdict(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(dataclasses.asdict(value))
    return value


def flat_spans(draw: random.Random, size: int) -> Spans:
    spans: Spans = []
    position = 0
    while position < size:
        length = draw.randint(1, 3)
        if draw.random() < 0.35 and position + length <= size:
            spans.append((position, position + length, draw.choice("ABC")))
            position += length
        else:
            position += 1
    return spans


def is_plain(gold: Spans, predicted: Spans) -> bool:
    """Whether every mention overlaps at most one of the other side."""

    def most(side: Spans, other: Spans) -> int:
        return max((sum(s < e2 and s2 < e for s2, e2, _ in other) for s, e, _ in side), default=0)

    return max(most(gold, predicted), most(predicted, gold)) <= 1


def test_numbers_and_indices_equal_those_of_nervaluate_if_its_matching_is_right() -> None:
    draw = random.Random(0)
    compared = 0
    for _ in range(400):
        pairs = [(flat_spans(draw, 8), flat_spans(draw, 8)) for _ in range(2)]
        if all(is_plain(*pair) for pair in pairs):
            compared += 1
            assert ours(pairs) == theirs(pairs)
    assert compared > 200


def test_exception_an_earlier_prediction_takes_the_gold_mention_of_an_equal_later_one() -> None:
    """Gold A[0,3); predicted A[0,1) and then A[0,3): nervaluate pairs the first, we the equal one."""
    pairs = [([(0, 3, "A")], [(0, 1, "A"), (0, 3, "A")])]
    strict = {"theirs": theirs(pairs)["overall"]["strict"], "ours": ours(pairs)["overall"]["strict"]}
    assert strict["theirs"]["correct"] == 0 and strict["theirs"]["incorrect"] == 1
    assert strict["ours"]["correct"] == 1 and strict["ours"]["spurious"] == 1


def test_exception_the_first_overlapping_gold_mention_is_taken_not_the_nearest() -> None:
    """Gold A[0,2) B[2,5); predicted B[1,5): nervaluate pairs with A and B is missed, we pair with B."""
    pairs = [([(0, 2, "A"), (2, 5, "B")], [(1, 5, "B")])]
    mine, peer = ours(pairs)["overall_indices"]["partial"], theirs(pairs)["overall_indices"]["partial"]
    assert peer["missed_indices"] == [(0, 1)]
    assert mine["missed_indices"] == [(0, 0)]


def test_a_result_gives_the_structure() -> None:
    result = evaluate(
        [["B-PER", "I-PER", "O", "B-LOC"]], {"mine": [["B-PER", "O", "O", "B-LOC"]]}, resamples=0
    )
    structure = result.to_nervaluate("mine")
    assert list(structure) == ["overall", "entities", "overall_indices", "entity_indices"]
    assert list(structure["overall"]) == ["strict", "partial", "ent_type", "exact"]
    assert structure["overall"]["partial"].f1 == 0.75
    assert structure["entities"]["LOC"]["strict"].correct == 1
    assert structure["overall_indices"]["strict"].incorrect_indices == [(0, 0)]
    assert repr(structure["overall_indices"]["strict"]) == (
        "EvaluationIndices(correct_indices=[(0, 1)], incorrect_indices=[(0, 0)], partial_indices=[], "
        "missed_indices=[], spurious_indices=[])"
    )


def test_undefined_scores_are_zero_as_in_nervaluate() -> None:
    assert ours([([], [(0, 1, "A")])])["overall"]["strict"]["recall"] == 0.0
