"""Drift between training and test data, against plain counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.attributes import Lexicon, left_out
from spanwise.corpus import Annotation, Corpus, Mentions

WORDS = ("Ann", "bo", "Cy")


@st.composite
def documents(draw: st.DrawFn) -> tuple[Annotation, list[int] | None]:
    """Sentences with one mention each, and the number of sentences of each document, where marked."""
    sentences = draw(
        st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), min_size=1, max_size=7)
    )
    rows = []
    for number, words in enumerate(sentences):
        start = draw(st.integers(0, len(words) - 1))
        rows.append((number, start, draw(st.integers(start + 1, len(words))), draw(st.sampled_from("XY"))))
    first = draw(st.integers(1, len(sentences)))
    sizes = None if draw(st.booleans()) or first == len(sentences) else [first, len(sentences) - first]
    return Annotation(Corpus.of(sentences, documents=sizes), Mentions.of(rows)), sizes


@settings(max_examples=80, deadline=None)
@given(documents(), documents())
def test_each_unit_is_compared_with_all_the_others(
    one: tuple[Annotation, list[int] | None], other: tuple[Annotation, list[int] | None]
) -> None:
    marked = one[1] is not None and other[1] is not None
    tokens: list[tuple[int, str]] = []
    mentions: list[tuple[int, tuple[str, ...], str]] = []
    base = 0
    for annotation, sizes in (one, other):
        corpus = annotation.corpus
        owner = (
            [n for n, size in enumerate(sizes) for _ in range(size)]
            if marked and sizes
            else range(len(corpus))
        )
        for number in range(len(corpus)):
            tokens += [(base + owner[number], word) for word in corpus.words(number)]
        for sentence, start, end, label in annotation.mentions.rows():
            mentions.append((base + owner[sentence], tuple(corpus.words(sentence)[start:end]), label))
        base += max(owner) + 1
    found = left_out(Lexicon.of([one[0], other[0]]))
    unknown = sum(not any(u != unit and w == word for u, w in tokens) for unit, word in tokens)
    seen = sum(
        any(u != unit and (f, k) == (form, label) for u, f, k in mentions) for unit, form, label in mentions
    )
    known = sum(any(u != unit and f == form for u, f, _ in mentions) for unit, form, _ in mentions)
    assert found.unit == ("document" if marked else "sentence")
    assert (found.tokens, found.unknown, found.mentions) == (len(tokens), unknown, len(mentions))
    assert dict(found.subsets) == {
        "SEEN": seen,
        "UNSEEN-TYPE": known - seen,
        "UNSEEN-TOKENS": len(mentions) - known,
        "UNSEEN-ANY": len(mentions) - seen,
    }


def test_the_training_data_themselves_have_not_drifted_in_labels_and_lengths(data: Path) -> None:
    train = data / "wnut16" / "train.txt"
    drift = spanwise.describe(train, train=train).dataset.drift
    assert drift is not None
    assert drift.label_distance == 0
    assert all(one.distance == 0 and one.train == one.test for one in drift.lengths.values())
    assert drift.unknown_tokens is not None and drift.unknown_tokens.test == 0
    assert drift.tough["SEEN"].test == 1


def test_wnut16_has_more_unseen_mentions_than_its_training_text_has_within_itself(data: Path) -> None:
    folder = data / "wnut16"
    drift = spanwise.describe(folder / "test.txt", train=folder / "train.txt").dataset.drift
    assert drift is not None
    unseen = drift.tough["UNSEEN-ANY"]
    assert (unseen.train, unseen.test) == pytest.approx((1086 / 1496, 3131 / 3473))


def test_span_files_have_labels_only(tmp_path: Path) -> None:
    path = tmp_path / "gold.spans"
    path.write_text("PER\t1\t1\n\nLOC\t1\t2\n", encoding="utf-8")
    drift = spanwise.describe(path, train=path).dataset.drift
    assert drift is not None
    assert (drift.label_distance, dict(drift.lengths), drift.unknown_tokens) == (0, {}, None)
