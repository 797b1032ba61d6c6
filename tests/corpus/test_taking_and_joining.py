"""Sentences taken out of an annotation, and corpora joined again, hold what they held before."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from spanwise.columns import Ints, ints
from spanwise.corpus import Annotation, Corpus, Mentions, joined_corpora, joined_mentions

SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), max_size=3), min_size=1, max_size=6)


def _annotation(sentences: list[list[str]]) -> Annotation:
    """An annotation with ids, fields and scores, in which each token is a mention of its own."""
    size = len(sentences)
    corpus = replace(
        Corpus.of(sentences, documents=[size - size // 2, size // 2]),
        document_ids=("first", "second"),
        ids=tuple(f"s{number}" for number in range(size)),
        fields={"domain": np.array([f"d{number % 2}" for number in range(size)], dtype=object)},
    )
    rows = [(at, i, i + 1, word) for at, words in enumerate(sentences) for i, word in enumerate(words)]
    return Annotation(corpus, Mentions.of(rows, score=[at / 10 for at, *_ in rows]))


def _content(annotation: Annotation) -> list[object]:
    corpus, mentions = annotation.corpus, annotation.mentions
    words = [corpus.words(number) for number in range(len(corpus))]
    assert mentions.score is not None
    return [words, corpus.ids, corpus.fields["domain"].tolist(), mentions.rows(), mentions.score.tolist()]


@given(sentences=SENTENCES, data=st.data())
def test_a_range_and_its_numbers_take_the_same_sentences(
    sentences: list[list[str]], data: st.DataObject
) -> None:
    whole = _annotation(sentences)
    begin, end = sorted(data.draw(st.lists(st.integers(0, len(sentences)), min_size=2, max_size=2)))
    by_range, by_number = (whole.take(which) for which in (slice(begin, end), ints(np.arange(begin, end))))
    assert _content(by_range) == _content(by_number)


@given(sentences=SENTENCES, at=st.integers(0, 6))
def test_joining_the_parts_of_a_whole_restores_it(sentences: list[list[str]], at: int) -> None:
    whole = _annotation(sentences)
    parts = [whole.take(slice(0, at)), whole.take(slice(at, len(sentences)))]
    joined = Annotation(
        joined_corpora([part.corpus for part in parts]),
        joined_mentions([part.mentions for part in parts], [0, min(at, len(sentences))]),
    )
    assert _content(joined) == _content(whole)


def _documents(corpus: Corpus) -> tuple[list[int], tuple[str, ...]]:
    assert corpus.documents is not None
    return corpus.documents.tolist(), tuple(corpus.document_ids or ())


def test_sentences_of_a_document_that_stay_together_remain_a_document() -> None:
    corpus = _annotation([["a"], ["b"], ["c"], ["d"]]).corpus
    taken: Ints = ints([3, 2, 0])
    assert _documents(corpus.take(taken)) == ([0, 2, 3], ("second", "first"))
    assert _documents(corpus.take(slice(1, 3))) == ([0, 1, 2], ("first", "second"))
