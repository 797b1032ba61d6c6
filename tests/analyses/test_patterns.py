"""Patterns of errors: groups with a visible cause, and what fixing each of them would gain."""

from __future__ import annotations

import random
from typing import Any

import patterns_oracle
import pytest
from parts import small_parts

import spanwise
from spanwise.document.scores import Pattern, Patterns
from spanwise.patterns import Causes

WORDS = ["Port", "of", "Of", "Denby", "the", "UN", "1,250", "iphone", "Bishop", "Oslo", "in", "$"]
LABELS = ["PER", "LOC"]


def listed(result: Any, system: str) -> tuple[Pattern, ...]:
    patterns: Patterns = result[system].patterns
    return patterns.listed


def spans_of(chance: random.Random, size: int, near: list[list[Any]] | None = None) -> list[list[Any]]:
    """Random flat or nested spans; with `near`, spans that are often those with another edge or label."""
    spans = set()
    for start, end, label in near or [[chance.randrange(size), 0, "PER"] for _ in range(3)]:
        first = min(max(start + chance.choice([0, 0, 0, 1, -1]), 0), size - 1)
        last = end + chance.choice([0, 0, 0, 1, -1]) if near else first + chance.randint(1, 3)
        if chance.random() < 0.8:
            chosen = label if near and chance.random() < 0.7 else chance.choice(LABELS)
            spans.add((first, min(max(last, first + 1), size), chosen))
    return [list(span) for span in sorted(spans)]


def records(seed: int, sentences: int) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    chance = random.Random(seed)
    gold: list[dict[str, Any]] = []
    systems: dict[str, list[dict[str, Any]]] = {"one": [], "two": []}
    for _ in range(sentences):
        tokens = [chance.choice(WORDS) for _ in range(chance.randint(1, 8))]
        spans = spans_of(chance, len(tokens))
        gold.append({"tokens": tokens, "spans": spans})
        for rows in systems.values():
            rows.append({"tokens": tokens, "spans": spans_of(chance, len(tokens), spans)})
    return gold, systems


@pytest.mark.parametrize("seed", range(12))
def test_patterns_are_those_of_the_plain_definition(seed: int) -> None:
    gold, systems = records(seed, 150)
    result = spanwise.evaluate(gold, systems, resamples=0, duplicates="drop")
    events = {name: result[name].events() for name in systems}
    sentences = [row["tokens"] for row in gold]
    number = 0
    for name in systems:
        overall = result[name].exact.overall
        expected = patterns_oracle.patterns(
            sentences, events, name, (overall.gold, overall.predicted, overall.correct)
        )
        assert [
            (row.kind, (row.cause, row.text, *filter(None, (row.gold, row.predicted))), row.count, row.of,
             row.others)
            for row in listed(result, name)
        ] == [(kind, group, count, of, others) for kind, group, count, of, _, others in expected]  # fmt: skip
        for row, (*_, gain, _) in zip(listed(result, name), expected, strict=True):
            assert row.gain == pytest.approx(float(gain), abs=1e-12)
            assert row.share == row.count / row.of
        number += len(expected)
    assert number >= 4


def test_a_name_that_breaks_at_of_is_one_pattern_with_its_gain() -> None:
    tokens = ["Port", "of", "Denby", "reopened"]
    gold = [["B-LOC", "I-LOC", "I-LOC", "O"]] * 6 + [["B-LOC", "O", "O", "O"]] * 4
    broken = [["B-LOC", "O", "O", "O"]] * 10
    rows = [{"tokens": tokens, "tags": tags} for tags in gold]
    mine = [{"tokens": tokens, "tags": tags} for tags in broken]
    result = spanwise.evaluate(rows, {"mine": mine, "gold": rows}, resamples=0)
    (row,) = listed(result, "mine")
    assert (row.kind, row.cause, row.text) == ("BE", "stops before", "of")
    assert (row.count, row.of, row.share, row.others) == (6, 6, 1.0, {"gold": 0})
    assert row.gain == pytest.approx(1 - 0.4)  # 4 of 10 are right; with these 6, all are
    assert listed(result, "gold") == ()


def test_fewer_than_five_errors_or_a_tenth_are_no_pattern() -> None:
    tokens = ["Port", "of", "Denby"]
    rows = [{"tokens": tokens, "tags": ["B-LOC", "I-LOC", "I-LOC"]}] * 4
    mine = [{"tokens": tokens, "tags": ["B-LOC", "O", "O"]}] * 4
    assert listed(spanwise.evaluate(rows, {"mine": mine}, resamples=0), "mine") == ()


def test_a_text_of_characters_has_the_patterns_of_its_words() -> None:
    rows = [{"text": "Port of Denby reopened", "spans": [[0, 13, "LOC"]]}] * 5
    mine = [{"text": "Port of Denby reopened", "spans": [[0, 4, "LOC"]]}] * 5
    (row,) = listed(spanwise.evaluate(rows, {"mine": mine}, resamples=0), "mine")
    assert (row.cause, row.text, row.count) == ("stops before", "of", 5)


def test_without_text_there_are_no_patterns_and_the_document_says_why() -> None:
    gold, systems = [[(0, 2, "PER")]] * 6, {"mine": [[(0, 1, "PER")]] * 6}
    assert spanwise.evaluate(gold, systems, resamples=0)["mine"].patterns == Patterns(
        why="the mentions have no text"
    )
    rows, others = records(0, 60)
    redacted = spanwise.evaluate(rows, others, resamples=0, redact=True, duplicates="drop")
    assert redacted["one"].patterns == Patterns(why="the text was left out (redact)")


def test_errors_add_up_over_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    gold, systems = records(3, 90)
    paths = {}
    for name, rows in {"gold": gold, **systems}.items():
        paths[name] = tmp_path / f"{name}.jsonl"
        annotation = spanwise.read(rows, duplicates="drop")
        spanwise.write(annotation, paths[name], format="jsonl")
    small_parts(monkeypatch, tokens=7)
    files = {name: paths[name] for name in systems}
    whole = spanwise.evaluate(paths["gold"], files, resamples=0)
    parts = spanwise.evaluate(paths["gold"], files, resamples=0, memory="1GB")
    assert [parts[name].patterns for name in systems] == [whole[name].patterns for name in systems]
    assert listed(whole, "one")


def test_too_many_different_errors_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanwise.patterns.MOST_ROWS", 3)
    gold, systems = records(5, 60)
    result = spanwise.evaluate(gold, systems, resamples=0, duplicates="drop")
    assert result["one"].patterns == Patterns(why="the errors are too different to be kept all at once")
    assert Causes.joined([result_causes() for _ in range(2)]).too_many


def result_causes() -> Causes:
    import numpy as np

    rows = np.arange(5)
    return Causes(
        tuple(("text", str(row), "", "") for row in range(5)), rows * 0 + 2, rows * 0 + 1,
        np.column_stack([rows, rows * 0 - 1, rows * 0 - 1, rows * 0 - 1]), rows * 0 + 1,
    )  # fmt: skip
