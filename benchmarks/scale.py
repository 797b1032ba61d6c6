"""The time that agreement and suspects take at full size: `python -m benchmarks.scale`.

20 annotators over 10,000 sentences, and one million tokens of gold data with five systems, both in memory.
"""

from __future__ import annotations

import random
import time

import numpy as np

import spanwise
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.formats import from_spans

LABELS = ("LOC", "MISC", "ORG", "PER")


def annotators(people: int = 20, sentences: int = 10_000, length: int = 20) -> dict[str, Annotation]:
    """Annotators who each drop, relabel or shorten some mentions of a common truth."""
    draw = random.Random(0)
    tokens = [[f"w{draw.randrange(3000)}" for _ in range(length)] for _ in range(sentences)]
    truth = [
        [
            (at, min(at + draw.randint(1, 3), length), draw.choice(LABELS))
            for at in range(draw.randrange(5), length, 7)
        ][: draw.randrange(4)]
        for _ in range(sentences)
    ]

    def changed(row: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
        kept = []
        for start, end, label in row:
            chance = draw.random()
            if chance < 0.05:
                continue
            shorter = end - 1 if chance > 0.95 and end - start > 1 else end
            kept.append((start, shorter, draw.choice(LABELS) if chance < 0.1 else label))
        return kept

    return {
        f"a{number}": from_spans([changed(row) for row in truth], tokens=tokens) for number in range(people)
    }


def voters(tokens: int = 1_000_000, systems: int = 5) -> tuple[Annotation, dict[str, Annotation]]:
    """Gold data of so many tokens in sentences of 20, and systems that differ in every third mention."""
    draw = np.random.default_rng(0)
    frequency = 1 / np.arange(1, 30_001)
    words = draw.choice(30_000, tokens, p=frequency / frequency.sum()).astype(np.int32)
    corpus = Corpus(words, tuple(f"w{number}" for number in range(30_000)), np.arange(0, tokens + 1, 20))
    token = np.sort(draw.choice(tokens // 4, tokens // 16, replace=False)) * 4
    size, label = draw.integers(1, 4, len(token)), draw.integers(0, len(LABELS), len(token)).astype(np.int32)

    def annotation(rows: np.ndarray, sizes: np.ndarray, labels: np.ndarray) -> Annotation:
        start = token[rows] % 20
        end = np.minimum(start + sizes[rows], 20)
        return Annotation(corpus, Mentions(token[rows] // 20, start, end, labels[rows], LABELS))

    predictions = {}
    for number in range(systems):
        kept = np.flatnonzero(draw.random(len(token)) > 0.15)
        other = np.where(draw.random(len(token)) < 0.1, draw.integers(1, 4, len(token)), size)
        renamed = np.where(draw.random(len(token)) < 0.1, draw.integers(0, 4, len(token)), label)
        predictions[f"s{number}"] = annotation(kept, other, renamed.astype(np.int32))
    return annotation(np.arange(len(token)), size, label), predictions


def main() -> None:
    """Print both times, in CPU seconds."""
    people = annotators()
    begin = time.process_time()
    spanwise.agree(people)
    print(f"agree, 20 annotators × 10,000 sentences: {time.process_time() - begin:.1f} s")
    gold, systems = voters()
    begin = time.process_time()
    spanwise.suspects(gold, systems)
    print(f"suspects, 1,000,000 tokens with 5 systems: {time.process_time() - begin:.1f} s")


if __name__ == "__main__":
    main()
