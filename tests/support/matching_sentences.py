"""Random sentences of flat, nested and crossing mentions, and a way to match many of them in one call."""

from __future__ import annotations

import random
from collections.abc import Callable

from hypothesis import strategies as st

from spanwise.corpus import Mentions
from spanwise.matching import match

LABELS = ("A", "B", "C")
Span = tuple[int, int, str]
Sentence = tuple[list[Span], list[Span]]
Event = tuple[int, int, str, int]


def mentions_of(sentences: list[list[Span]]) -> Mentions:
    """The mentions of several sentences, in the order given."""
    rows = [(number, *span) for number, spans in enumerate(sentences) for span in spans]
    return Mentions.of(rows, labels=LABELS)


def events_by_sentence(sentences: list[Sentence], matcher: str = "fair") -> list[list[Event]]:
    """The events of each sentence, with row numbers within the sentence, from one call of `match`."""
    gold = mentions_of([first for first, _ in sentences])
    predicted = mentions_of([second for _, second in sentences])
    starts = []
    for side in (0, 1):
        total, at = 0, []
        for sentence in sentences:
            at.append(total)
            total += len(sentence[side])
        starts.append(at)
    result: list[list[Event]] = [[] for _ in sentences]
    for g, p, outcome, turn in match(gold, predicted, matcher=matcher).events().rows():
        number = int(gold.sentence[g] if g >= 0 else predicted.sentence[p])
        gold_row = g - starts[0][number] if g >= 0 else -1
        predicted_row = p - starts[1][number] if p >= 0 else -1
        result[number].append((gold_row, predicted_row, outcome, turn))
    return [sorted(events) for events in result]


def _free(chance: random.Random, size: int) -> list[Span]:
    spans = []
    for _ in range(chance.randint(0, 7)):
        start = chance.randrange(size)
        spans.append((start, min(size, start + chance.choice([1, 1, 2, 3, 5, 9])), chance.choice(LABELS)))
    return list(dict.fromkeys(spans))


def _flat(chance: random.Random, size: int) -> list[Span]:
    spans: list[Span] = []
    at = 0
    while True:
        at += chance.randint(0, 3)
        end = at + chance.randint(1, 4)
        if end > size:
            return spans
        spans.append((at, end, chance.choice(LABELS)))
        at = end


def _nested(chance: random.Random, size: int) -> list[Span]:
    spans: list[Span] = []

    def fill(start: int, end: int, depth: int) -> None:
        if start >= end or depth > 4:
            return
        left, right = sorted((chance.randint(start, end), chance.randint(start, end)))
        if left < right:
            spans.append((left, right, chance.choice(LABELS)))
            fill(left, right, depth + 1)
        fill(right, end, depth + 1)

    fill(0, size, 0)
    return list(dict.fromkeys(spans))


MAKERS: dict[str, Callable[[random.Random, int], list[Span]]] = {
    "flat": _flat,
    "nested": _nested,
    "crossing": _free,
}


def random_sentences(number: int, *, kind: str, seed: int) -> list[Sentence]:
    """Gold and predicted mentions that partly agree, each side in random order."""
    chance = random.Random(f"{kind} {seed}")
    make = MAKERS[kind]
    sentences = []
    for _ in range(number):
        size = chance.choice([6, 10, 20])
        gold = make(chance, size)
        predicted = [span for span in gold if chance.random() < 0.3] + make(chance, size)
        predicted = list(dict.fromkeys(predicted))
        chance.shuffle(gold)
        chance.shuffle(predicted)
        sentences.append((gold, predicted))
    return sentences


def spans(longest: int = 12) -> st.SearchStrategy[list[Span]]:
    """A strategy for the mentions of one sentence, without duplicates."""
    drawn = st.tuples(st.integers(0, longest - 1), st.integers(1, longest), st.sampled_from(LABELS))
    return st.lists(
        drawn.map(lambda span: (span[0], min(longest, span[0] + span[1]), span[2])), max_size=7, unique=True
    )
