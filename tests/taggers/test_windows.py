"""Windows of sentences: every token is tagged by one window, documents are separate, nothing is cut off."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise import Annotation, ChoiceError, Corpus, InputError, Mentions
from spanwise.windows import Mode, joined, windows

corpora = st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=5), min_size=1, max_size=4)


def corpus_of(documents: list[list[int]]) -> Corpus:
    """A corpus whose documents have sentences of the given lengths."""
    sentences = [["w"] * length for document in documents for length in document]
    return Corpus.of(sentences, documents=[len(document) for document in documents])


@given(corpora, st.integers(1, 7), st.sampled_from(["concat", "context"]), st.sampled_from([None, 4, 9]))
def test_every_token_is_tagged_by_exactly_one_window(
    documents: list[list[int]], sentences: int, mode: Mode, limit: int | None
) -> None:
    corpus = corpus_of(documents)
    result = windows(corpus, sentences, mode=mode, limit=limit)
    answers = [np.arange(first, last) for first, last in zip(result.first, result.last, strict=True)]
    assert np.concatenate(answers).tolist() == list(range(len(corpus.tokens)))
    assert (result.start <= result.first).all()
    assert (result.last <= result.stop).all()
    if limit is not None:
        assert (result.stop - result.start).max() <= limit


@given(corpora, st.integers(1, 7), st.sampled_from(["concat", "context"]))
def test_a_window_contains_at_most_so_many_sentences_of_one_document(
    documents: list[list[int]], sentences: int, mode: Mode
) -> None:
    corpus = corpus_of(documents)
    result = windows(corpus, sentences, mode=mode)
    sentence = np.repeat(np.arange(len(corpus)), corpus.lengths)
    owner = np.asarray(corpus.document_of_sentence)
    for start, stop in zip(result.start, result.stop, strict=True):
        numbers = np.unique(sentence[start:stop])
        assert len(numbers) <= sentences
        assert len(np.unique(owner[numbers])) == 1


def test_windows_of_three_sentences() -> None:
    corpus = corpus_of([[2, 1, 3, 1], [2]])
    result = windows(corpus, 3)
    assert list(zip(result.start.tolist(), result.stop.tolist(), strict=True)) == [(0, 6), (6, 7), (7, 9)]


def test_context_is_taken_from_both_sides() -> None:
    corpus = corpus_of([[1, 1, 1, 1, 1]])
    result = windows(corpus, 3, mode="context")
    assert list(zip(result.start.tolist(), result.stop.tolist(), strict=True)) == [
        (0, 3), (0, 3), (1, 4), (2, 5), (2, 5),
    ]  # fmt: skip


def test_a_window_is_closed_early_at_the_limit_and_a_long_sentence_is_split() -> None:
    corpus = corpus_of([[3, 3, 9]])
    result = windows(corpus, 5, limit=4)
    assert (result.stop - result.start).tolist() == [3, 3, 4, 4, 1]
    assert result.cut == 1


def test_without_documents_windows_of_several_sentences_must_be_allowed() -> None:
    corpus = Corpus.of([["a"], ["b"]])
    with pytest.raises(InputError, match="documents are not marked"):
        windows(corpus, 2)
    assert len(windows(corpus, 2, cross=True)) == 1


def test_impossible_windows_are_refused() -> None:
    corpus = corpus_of([[1]])
    with pytest.raises(ChoiceError, match="0 sentences"):
        windows(corpus, 0)
    with pytest.raises(ChoiceError, match="'concat' or 'context'"):
        windows(corpus, 2, mode="sliding")  # type: ignore[arg-type]


def test_joined_sentences_contain_the_same_tokens_and_mentions() -> None:
    corpus = Corpus.of([["a", "b"], ["c"], ["d", "e"], ["f"]], documents=[3, 1])
    text = Annotation(corpus, Mentions.of([(0, 1, 2, "X"), (2, 0, 2, "Y"), (3, 0, 1, "X")]))
    result = joined(text, 2)
    assert [result.corpus.words(number) for number in range(len(result.corpus))] == [
        ["a", "b", "c"], ["d", "e"], ["f"],
    ]  # fmt: skip
    assert result.mentions.rows() == [(0, 1, 2, "X"), (1, 0, 2, "Y"), (2, 0, 1, "X")]
    assert result.corpus.documents is not None
    assert result.corpus.documents.tolist() == [0, 2, 3]
