"""Two systems compared at equal recall and precision, and scores by bucket."""

from __future__ import annotations

import numpy as np
import pytest

import spanwise
from spanwise.errors import ChoiceError

Spans = list[list[dict[str, object]]]


def made(seed: int, sharp: float) -> tuple[list[list[tuple[int, int, str]]], Spans]:
    """Gold mentions of 40 sentences, and predictions whose scores separate right from wrong."""
    rng = np.random.default_rng(3)
    gold = [[(at, at + 1 + int(rng.integers(0, 2)), "PER") for at in range(0, 12, 3)] for _ in range(40)]
    draw = np.random.default_rng(seed)
    predicted: Spans = []
    for mentions in gold:
        row: list[dict[str, object]] = []
        for start, end, label in mentions:
            if draw.random() < 0.2:
                continue
            right = bool(draw.random() < 0.7)
            score = float(np.clip(draw.normal(0.5 + sharp * (0.5 if right else -0.5), 0.2), 0, 1))
            row.append({"start": start, "end": end if right else end + 1, "label": label, "score": score})
        predicted.append(row)
    return gold, predicted


def curve(gold: list[list[tuple[int, int, str]]], predicted: Spans) -> list[tuple[float, int, int]]:
    """Threshold, predicted and correct mentions, by plain counting."""
    rows = [
        (float(str(span["score"])), (span["start"], span["end"], span["label"]) in mentions)
        for mentions, own in zip(gold, predicted, strict=True)
        for span in own
    ]
    return [
        (score, sum(s >= score for s, _ in rows), sum(s >= score and right for s, right in rows))
        for score in sorted({score for score, _ in rows}, reverse=True)
    ]


def test_precision_at_equal_recall_and_vice_versa_follow_from_the_curves() -> None:
    gold, first = made(1, 1.0)
    _, second = made(2, 0.2)
    document = spanwise.confidence(gold, {"a": first, "b": second}, precision=0.8, resamples=200)
    (pair,) = document.pairs
    number = sum(map(len, gold))
    curves = [curve(gold, side) for side in (first, second)]
    recall = min(points[-1][2] / number for points in curves)
    assert pair.at_recall.at == pytest.approx(recall)
    expected = [next(c / p for _, p, c in points if c / number >= recall - 1e-12) for points in curves]
    assert [pair.at_recall.first, pair.at_recall.second] == pytest.approx(expected)
    best = [max((c / number for _, p, c in points if c / p >= 0.8), default=None) for points in curves]
    assert [pair.at_precision.first, pair.at_precision.second] == best
    for points in (pair.average_precision, pair.at_recall):
        assert points.difference is not None and points.interval is not None
        low, high = points.interval
        assert low is not None and high is not None and low <= points.difference <= high
    # The sharper scores win, and the interval shows it.
    assert pair.average_precision.interval is not None and (pair.average_precision.interval[0] or 0) > 0


def test_swapping_systems_only_changes_signs() -> None:
    gold, first = made(1, 1.0)
    _, second = made(2, 0.2)
    forwards = spanwise.confidence(gold, {"a": first, "b": second}, resamples=50, recall=0.3).pairs[0]
    backwards = spanwise.confidence(gold, {"b": second, "a": first}, resamples=50, recall=0.3).pairs[0]
    assert forwards.at_recall.at == backwards.at_recall.at == 0.3
    assert forwards.at_recall.difference == -(backwards.at_recall.difference or 0)
    assert forwards.at_recall.first == backwards.at_recall.second


def test_buckets_partition_predictions_and_gold() -> None:
    gold, predicted = made(1, 1.0)
    system = spanwise.confidence(gold, {"a": predicted}, attributes="entity_length", resamples=20).systems[
        "a"
    ]
    cells = system.buckets["entity_length"]
    assert sum(cell.predicted for cell in cells.values()) == system.overall.predicted
    assert sum(cell.gold for cell in cells.values()) == system.overall.gold
    assert sum(cell.correct for cell in cells.values()) == system.overall.correct
    assert (
        "By bucket" in spanwise.confidence(gold, {"a": predicted}, attributes="eLen", resamples=0).to_text()
    )


def test_a_system_of_a_result_has_its_confidence() -> None:
    gold, predicted = made(1, 1.0)
    result = spanwise.evaluate(gold, {"a": predicted}, resamples=0)
    whole = spanwise.confidence(gold, {"a": predicted})
    assert result["a"].confidence == whole.systems["a"]


def test_the_comparison_is_on_screen_and_page() -> None:
    gold, first = made(1, 1.0)
    _, second = made(2, 0.2)
    document = spanwise.confidence(gold, {"a": first, "b": second}, resamples=20)
    assert "Side by side" in document.to_text()
    pytest.importorskip("jinja2")
    assert "precision at recall" in document.to_html()


def test_a_recall_beyond_one_is_refused() -> None:
    with pytest.raises(ChoiceError, match="recall is 3, but must be above 0"):
        spanwise.confidence([[(0, 1, "A")]], {"a": [[]]}, recall=3)
