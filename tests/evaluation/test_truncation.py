"""Recall that drops after some token of documents or sentences, against counts mention by mention."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from parts import small_parts
from typed import present

import spanwise
from spanwise.document.evaluation import Evaluation
from spanwise.statistics import excess_losses
from spanwise.views import wording

CUTS = (64, 128, 256, 384, 512, 768, 1024, 2048, 4096)


def corpus(limit: int | None, *, documents: int = 24, sentences: int = 20, size: int = 30) -> Any:
    """Documents of many sentences, one name in each; a system that sees only the first tokens of each."""
    draw = random.Random(3)
    gold, found, marks = [], [], []
    for document in range(documents):
        for number in range(sentences):
            at = draw.randrange(size)
            row = [(at, at + 1, "PER")]
            gold.append(row)
            before = size * number + at
            seen = limit is None or before < limit
            found.append(row if seen and draw.random() < 0.9 else [])
            marks.append(f"d{document}")
    tokens = [["w"] * size] * len(gold)
    records = [
        {"tokens": words, "spans": [list(span) for span in spans], "document": mark}
        for words, spans, mark in zip(tokens, gold, marks, strict=True)
    ]
    return records, found


def evaluated(tmp_path: Any, limit: int | None, **options: Any) -> Evaluation:
    import json

    records, found = corpus(limit)
    file, other = tmp_path / "gold.jsonl", tmp_path / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, records)))
    predicted = [
        {**record, "spans": [list(span) for span in spans]}
        for record, spans in zip(records, found, strict=True)
    ]
    other.write_text("\n".join(map(json.dumps, predicted)))
    result = spanwise.evaluate(file, {"mine": other}, documents="document", attributes="none", **options)
    assert isinstance(result, Evaluation)
    return result


def by_hand(limit: int | None) -> dict[int, tuple[float, float, float]]:
    """For each cut with 50 mentions on both sides: recall before it, after it, and T over documents."""
    records, found = corpus(limit)
    positions: dict[str, int] = {}
    rows = []
    for record, spans in zip(records, found, strict=True):
        document = record["document"]
        before = positions.get(document, 0)
        positions[document] = before + len(record["tokens"])
        ((start, *_),) = record["spans"]
        rows.append((document, before + start, bool(spans)))
    names = list(positions)
    results = {}
    for cut in CUTS:
        after = [right for _, at, right in rows if at >= cut]
        before_ = [right for _, at, right in rows if at < cut]
        if min(len(after), len(before_)) < 50:
            continue
        table = np.zeros((len(names), 4))
        for document, at, right in rows:
            unit = names.index(document)
            table[unit] += [at >= cut and not right, at >= cut, not right, 1]
        excess = excess_losses(table[:, :1], table[:, 1:2], table[:, 2], table[:, 3])[:, 0]
        t = excess.sum() / np.sqrt((excess**2).sum())
        results[cut] = (sum(before_) / len(before_), sum(after) / len(after), t)
    return results


def test_a_system_that_sees_384_tokens_is_found_out(tmp_path: Any) -> None:
    result = evaluated(tmp_path, 384)
    cut = present(result["mine"].truncation)
    hand = by_hand(384)
    assert (cut.of, cut.after) == ("document", 384)
    assert cut.after == max(hand, key=lambda one: hand[one][2])
    assert (cut.recall_before, cut.recall, cut.t) == pytest.approx(hand[384])
    assert cut.among == len(hand)
    assert present(cut.p) < 0.05
    finding = next(row for row in result.findings if row.kind == "truncation")
    words = wording.finding(finding)
    assert f"recall drops after token 384 ({100 * hand[384][0]:.1f} → 0.0): truncated input?" in words
    assert "is cut at token 384" in result.to_text(width=160)
    assert "token 384" in result.to_html()


def test_recall_that_is_the_same_everywhere_gives_no_finding(tmp_path: Any) -> None:
    result = evaluated(tmp_path, None)
    assert not result["mine"].truncation
    assert all(row.kind != "truncation" for row in result.findings)


def test_without_tests_nothing_is_found(tmp_path: Any) -> None:
    assert not evaluated(tmp_path, 384, resamples=0)["mine"].truncation


def test_parts_find_the_same(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = evaluated(tmp_path, 384)
    small_parts(monkeypatch, tokens=1200)
    parts = evaluated(tmp_path, 384, memory="1GB", workers=2)
    assert parts["mine"].truncation == whole["mine"].truncation


def test_long_sentences_are_cut_as_well() -> None:
    """Without documents the tokens of sentences count, in text of 200 tokens each."""
    draw = random.Random(1)
    starts = [draw.randrange(200) for _ in range(400)]
    gold = [[(at, at + 1, "PER")] for at in starts]
    found = [[(at, at + 1, "PER")] if at < 128 else [] for at in starts]
    result = spanwise.evaluate(gold, {"mine": found}, tokens=[["w"] * 200] * 400, attributes="none")
    assert isinstance(result, Evaluation)
    cut = present(result["mine"].truncation)
    assert (cut.of, cut.after, cut.recall_before, cut.recall) == ("sentence", 128, 1.0, 0.0)
