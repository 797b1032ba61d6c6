"""Boundary errors by the wrong side, and fair scores of buckets, compared with plain counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typed import present

import spanwise
from spanwise.corpus import Corpus, Mentions
from spanwise.document.evaluation import SystemResult
from spanwise.matching import match
from spanwise.reports.tables import Number

LENGTH = 9
Rows: TypeAlias = list[tuple[int, int, int, str]]


@st.composite
def mentions(draw: st.DrawFn) -> Rows:
    rows = set()
    for _ in range(draw(st.integers(0, 5))):
        start = draw(st.integers(0, LENGTH - 1))
        sentence, end = draw(st.integers(0, 1)), draw(st.integers(start + 1, LENGTH))
        rows.add((sentence, start, end, draw(st.sampled_from("AB"))))
    return sorted(rows)


def scored(gold: Rows, predicted: Rows, buckets: Mapping[str, str] | None = None) -> SystemResult:
    corpus = Corpus.of([[f"w{number}" for number in range(LENGTH)]] * 2)
    sides = [spanwise.Annotation(corpus, Mentions.of(rows, labels=("A", "B"))) for rows in (gold, predicted)]
    return spanwise.evaluate(
        sides[0], {"mine": sides[1]}, resamples=0, attributes="entity_length", buckets=buckets
    )["mine"]


@settings(max_examples=80, deadline=None)
@given(mentions(), mentions())
def test_sides_follow_from_the_matched_pairs(gold: Rows, predicted: Rows) -> None:
    first, second = (Mentions.of(rows, labels=("A", "B")) for rows in (gold, predicted))
    expected = {"left": 0, "right": 0, "both": 0}
    for g, p, outcome, _ in match(first, second).events().rows():
        if outcome.startswith("BE"):
            left = first.start[g] != second.start[p]
            right = first.end[g] != second.end[p]
            expected["both" if left and right else "left" if left else "right"] += 1
    fair = scored(gold, predicted).fair
    assert {side: present(fair.overall.sides)[side] for side in expected} == expected
    assert sum(expected.values()) == fair.overall.BE
    for side in expected:
        assert sum(present(part.sides)[side] for part in fair.labels.values()) == expected[side]


@settings(max_examples=80, deadline=None)
@given(mentions(), mentions())
def test_fair_scores_of_a_single_bucket_equal_those_of_all_mentions(gold: Rows, predicted: Rows) -> None:
    result = scored(gold, predicted, buckets={"entity_length": "99"})
    (first, *_) = result.attributes["entity_length"].buckets
    overall = result.fair.overall
    for name in ("precision", "recall", "f1"):
        assert present(first.fair)[name] == pytest.approx(overall[name])


def test_sides_add_up_over_parts_of_a_corpus() -> None:
    gold = [["B-A", "I-A", "I-A", "O"]] * 40
    predicted = (
        [["O", "B-A", "I-A", "O"]] * 30 + [["B-A", "I-A", "I-A", "I-A"]] * 7 + [["O", "B-A", "O", "O"]] * 3
    )
    whole = spanwise.evaluate(gold, {"a": predicted}, resamples=0)
    parts = spanwise.evaluate(gold, {"a": predicted}, resamples=0, workers=2)
    sides = present(whole["a"].fair.overall.sides)
    assert (sides.left, sides.right, sides.both) == (30, 7, 3)
    assert parts["a"].fair == whole["a"].fair


def test_the_screen_and_the_table_show_the_sides() -> None:
    gold, predicted = [["B-A", "I-A", "O"]], [["O", "B-A", "O"]]
    result = spanwise.evaluate(gold, {"a": predicted}, resamples=0)
    assert "boundaries wrong · left 1" in result.to_text()
    table = result.table("boundaries")
    assert [cell.value if isinstance(cell, Number) else cell for cell in table.rows[0]] == [
        "a", "all", 1, 1, 0, 0, 1, 0, 0,
    ]  # fmt: skip
