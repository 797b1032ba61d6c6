"""Predictions with other sentence boundaries: counts change only by mentions that cross a gold boundary."""

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
    """The annotation of one text whose sentences end at `ends`, which no span crosses."""
    begins = [0, *ends]
    sentences = [tokens[begin:end] for begin, end in pairwise([*begins, len(tokens)])]
    rows: list[list[Span]] = [[] for _ in sentences]
    for start, end, label in spans:
        which = max(number for number, begin in enumerate(begins) if begin <= start)
        rows[which].append((start - begins[which], end - begins[which], label))
    return from_spans(rows, tokens=sentences)


def free(ends: set[int], spans: list[Span]) -> list[int]:
    """The ends that are not inside a span."""
    return sorted(end for end in ends if not any(start < end < stop for start, stop, _ in spans))


@st.composite
def texts(draw: st.DrawFn) -> tuple[list[str], list[Span], list[Span], list[int], list[int]]:
    """A text, gold and predicted spans, and the sentence ends of both sides."""
    tokens = draw(st.lists(st.sampled_from(["a", "bb", "U.", "S.", "c"]), min_size=1, max_size=14))
    position = st.integers(0, len(tokens))

    def spans() -> list[Span]:
        drawn = draw(st.lists(st.tuples(position, position, st.sampled_from("XY")), max_size=5))
        return sorted({(a, b, label) for a, b, label in drawn if a < b})

    inner = st.sets(st.integers(1, max(1, len(tokens) - 1)).filter(lambda at: at < len(tokens)), max_size=6)
    gold, predicted = spans(), spans()
    return tokens, gold, predicted, free(draw(inner), gold), free(draw(inner), predicted)


@settings(max_examples=150, deadline=None)
@given(texts(), st.sampled_from(WAYS))
def test_other_sentence_ends_change_only_the_counts_of_mentions_that_cross_them(case: Any, how: How) -> None:
    tokens, gold_spans, predicted_spans, gold_ends, predicted_ends = case
    gold, predicted = cut(tokens, gold_spans, gold_ends), cut(tokens, predicted_spans, predicted_ends)
    aligned = align(gold, predicted, how=how)
    borders = [0, *gold_ends, len(tokens)]
    crossing = [span for span in predicted_spans if any(span[0] < end < span[1] for end in gold_ends)]
    kept = [span for span in predicted_spans if span not in crossing]
    placed = Counter(
        (borders[sentence] + start, borders[sentence] + end, label)
        for sentence, start, end, label in aligned.mentions.rows()
        if start >= 0
    )
    assert placed == Counter(kept)
    assert aligned.report["unplaced"] == len(crossing)
    assert (aligned.report.crossing or 0) == len(crossing)
    assert aligned.mentions.sentence.tolist() == sorted(aligned.mentions.sentence.tolist())
    overall = spanwise.evaluate(gold, {"a": predicted}, align=how, resamples=0)["a"].exact.overall
    assert overall.predicted == len(predicted_spans)
    assert overall.correct == len({*gold_spans} & {*kept})


@pytest.mark.parametrize("how", WAYS)
def test_texts_and_tokens_may_have_other_boundaries_too(how: How) -> None:
    gold = read(
        [
            {"text": "Ann saw Rome.", "entities": [(0, 3, "PER"), (8, 12, "LOC")]},
            {"text": "Bob left", "entities": [(0, 3, "PER")]},
        ]
    )
    predicted = read(
        [{"text": "Ann saw Rome. Bob left", "entities": [(0, 3, "PER"), (14, 17, "PER"), (8, 17, "X")]}]
    )
    aligned = align(gold, predicted, how=how)
    assert aligned.mentions.rows() == [(0, 0, 3, "PER"), (0, -1, -1, "X"), (1, 0, 3, "PER")]
    assert aligned.report["crossing"] == 1
    tokens = from_spans(
        [[(0, 1, "PER")], [(0, 1, "PER")]], tokens=[["Ann", "saw"], ["Rome", ".", "Bob", "left"]]
    )
    assert align(gold, tokens, how=how).mentions.rows() == [(0, 0, 3, "PER"), (0, 8, 12, "PER")]


def test_words_may_differ_between_sentences_that_are_equal() -> None:
    gold = from_spans([[(0, 1, "A")], [(1, 2, "B")], [], [(0, 1, "C")]],
                      tokens=[["one", "two"], ["the", "colour"], ["red"], ["end", "!"]])  # fmt: skip
    predicted = from_spans([[(0, 1, "A")], [(1, 2, "B"), (2, 3, "D")], [(0, 1, "C")]],
                      tokens=[["one", "two"], ["the", "color", "red"], ["end", "!"]])  # fmt: skip
    aligned = align(gold, predicted, how="diff")
    assert aligned.mentions.rows() == [(0, 0, 1, "A"), (1, 1, 2, "B"), (2, 0, 1, "D"), (3, 0, 1, "C")]
    assert aligned.report["changed_tokens"] == 1
    with pytest.raises(InputError, match="the characters of the sentence differ"):
        align(gold, predicted, how="characters")


def test_without_alignment_the_differing_boundaries_are_reported() -> None:
    gold, predicted = cut(["a", "b"], [], [1]), cut(["a", "b"], [], [])
    with pytest.raises(InputError, match='if only sentence boundaries differ, use align="characters"'):
        align(gold, predicted)


def resegmented(annotation: Annotation, size: int) -> Annotation:
    """The annotation in sentences of about `size` tokens, without cutting a mention."""
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
    result = spanwise.evaluate(true, {"a": resegmented(true, 17)}, align=how, resamples=0, attributes="none")
    overall = result["a"].exact.overall
    assert overall.f1 == 1
    report = next(source for source in result.inputs if source.role == "predicted").alignment
    assert report is not None
    assert report.crossing == 0


@pytest.mark.parametrize("changed", [0, 3999])
def test_parts_add_up_if_only_some_have_other_sentence_boundaries(tmp_path: Path, changed: int) -> None:
    pairs = [f"a{number} O\nb O\n\nc O\nd B-LOC\n" for number in range(4000)]
    (tmp_path / "gold.conll").write_text("\n".join(pairs))
    pairs[changed] = f"a{changed} O\nb O\nc O\n\nd B-LOC\n"
    (tmp_path / "predicted.conll").write_text("\n".join(pairs))
    sources = tmp_path / "gold.conll", {"a": tmp_path / "predicted.conll"}
    whole, parts = (
        spanwise.evaluate(*sources, align="diff", resamples=0, attributes="none", memory=memory).inputs[1]
        for memory in (None, "1MB")
    )
    assert whole.alignment is not None and whole.alignment.crossing == 0
    assert parts.alignment == whole.alignment
