"""Predictions whose sentences end elsewhere: only mentions that cross a gold end change a count."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.alignment import How, align
from spanwise.corpus import Annotation
from spanwise.errors import InputError
from spanwise.formats import from_spans, read

Span = tuple[int, int, str]
WAYS: tuple[How, ...] = ("characters", "diff")


def cut(tokens: list[str], spans: list[Span], ends: list[int]) -> Annotation:
    """The annotation of one text whose sentences end there; no span crosses an end."""
    begins = [0, *ends]
    sentences = [tokens[begin:end] for begin, end in pairwise([*begins, len(tokens)])]
    rows: list[list[Span]] = [[] for _ in sentences]
    for start, end, label in spans:
        which = max(number for number, begin in enumerate(begins) if begin <= start)
        rows[which].append((start - begins[which], end - begins[which], label))
    return from_spans(rows, tokens=sentences)


def free(ends: set[int], spans: list[Span]) -> list[int]:
    """Those ends that lie inside no span."""
    return sorted(end for end in ends if not any(start < end < stop for start, stop, _ in spans))


@st.composite
def texts(draw: st.DrawFn) -> tuple[list[str], list[Span], list[Span], list[int], list[int]]:
    """A text, gold and predicted spans, and the ends of sentences of both sides."""
    tokens = draw(st.lists(st.sampled_from(["a", "bb", "U.", "S.", "c"]), min_size=1, max_size=14))
    place = st.integers(0, len(tokens))

    def spans() -> list[Span]:
        found = draw(st.lists(st.tuples(place, place, st.sampled_from("XY")), max_size=5))
        return sorted({(a, b, label) for a, b, label in found if a < b})

    inner = st.sets(st.integers(1, max(1, len(tokens) - 1)).filter(lambda at: at < len(tokens)), max_size=6)
    gold, said = spans(), spans()
    return tokens, gold, said, free(draw(inner), gold), free(draw(inner), said)


@settings(max_examples=150, deadline=None)
@given(texts(), st.sampled_from(WAYS))
def test_other_sentence_ends_change_no_count_but_of_mentions_that_cross(case: Any, how: How) -> None:
    tokens, gold_spans, said_spans, gold_ends, said_ends = case
    gold, said = cut(tokens, gold_spans, gold_ends), cut(tokens, said_spans, said_ends)
    found = align(gold, said, how=how)
    borders = [0, *gold_ends, len(tokens)]
    crossing = [one for one in said_spans if any(one[0] < end < one[1] for end in gold_ends)]
    kept = [one for one in said_spans if one not in crossing]
    here = Counter(
        (borders[sentence] + start, borders[sentence] + end, label)
        for sentence, start, end, label in found.mentions.rows()
        if start >= 0
    )
    assert here == Counter(kept)
    assert found.report["unplaced"] == len(crossing)
    assert found.report.get("crossing", 0) == len(crossing)
    assert found.mentions.sentence.tolist() == sorted(found.mentions.sentence.tolist())
    overall = spanwise.evaluate(gold, {"a": said}, align=how, resamples=0)["a"].exact.overall
    assert overall.predicted == len(said_spans)
    assert overall.correct == len({*gold_spans} & {*kept})


@pytest.mark.parametrize("how", WAYS)
def test_texts_and_tokens_may_end_elsewhere_too(how: How) -> None:
    gold = read(
        [
            {"text": "Ann saw Rome.", "entities": [(0, 3, "PER"), (8, 12, "LOC")]},
            {"text": "Bob left", "entities": [(0, 3, "PER")]},
        ]
    )
    said = read(
        [{"text": "Ann saw Rome. Bob left", "entities": [(0, 3, "PER"), (14, 17, "PER"), (8, 17, "X")]}]
    )
    found = align(gold, said, how=how)
    assert found.mentions.rows() == [(0, 0, 3, "PER"), (0, -1, -1, "X"), (1, 0, 3, "PER")]
    assert found.report["crossing"] == 1
    tokens = from_spans(
        [[(0, 1, "PER")], [(0, 1, "PER")]], tokens=[["Ann", "saw"], ["Rome", ".", "Bob", "left"]]
    )
    assert align(gold, tokens, how=how).mentions.rows() == [(0, 0, 3, "PER"), (0, 8, 12, "PER")]


def test_words_may_differ_between_sentences_that_are_equal() -> None:
    gold = from_spans([[(0, 1, "A")], [(1, 2, "B")], [], [(0, 1, "C")]],
                      tokens=[["one", "two"], ["the", "colour"], ["red"], ["end", "!"]])  # fmt: skip
    said = from_spans([[(0, 1, "A")], [(1, 2, "B"), (2, 3, "D")], [(0, 1, "C")]],
                      tokens=[["one", "two"], ["the", "color", "red"], ["end", "!"]])  # fmt: skip
    found = align(gold, said, how="diff")
    assert found.mentions.rows() == [(0, 0, 1, "A"), (1, 1, 2, "B"), (2, 0, 1, "D"), (3, 0, 1, "C")]
    assert found.report["changed_tokens"] == 1
    with pytest.raises(InputError, match="the characters of the sentence differ"):
        align(gold, said, how="characters")


def test_without_a_way_to_align_the_ends_are_named() -> None:
    gold, said = cut(["a", "b"], [], [1]), cut(["a", "b"], [], [])
    with pytest.raises(InputError, match='if only sentence boundaries differ, use align="characters"'):
        align(gold, said)


def resegmented(annotation: Annotation, size: int) -> Annotation:
    """The same annotation in sentences of about `size` tokens, none of which cuts a mention."""
    corpus = annotation.corpus
    words = [corpus.vocabulary[code] for code in corpus.tokens.tolist()]
    spans = [
        (int(corpus.sentences[sentence]) + start, int(corpus.sentences[sentence]) + end, label)
        for sentence, start, end, label in annotation.mentions.rows()
    ]
    inside = {at for start, end, _ in spans for at in range(start + 1, end)}
    ends = [at for at in accumulate([size] * (len(words) // size)) if at not in inside and at < len(words)]
    begins = [0, *ends]
    rows: list[list[Span]] = [[] for _ in begins]
    which = 0
    for start, end, label in sorted(spans):
        while which + 1 < len(begins) and begins[which + 1] <= start:
            which += 1
        rows[which].append((start - begins[which], end - begins[which], label))
    return from_spans(rows, tokens=[words[a:b] for a, b in pairwise([*begins, len(words)])])


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        ("conll2003/test.txt", None),
        ("masakhaner/ewe/test.txt", None),
    ],
)
def test_real_corpora_keep_their_scores(data: Path, how: How, gold: str, predicted: str | None) -> None:
    path = data / gold
    if not path.exists():
        pytest.skip(f"{gold} is not there")
    true = read(path)
    found = spanwise.evaluate(true, {"a": resegmented(true, 17)}, align=how, resamples=0, attributes="none")
    overall = found["a"].exact.overall
    assert overall.f1 == 1
    report = next(one for one in found.inputs if one.role == "predicted").alignment
    assert report is not None
    assert report.crossing == 0
