"""Hashes depend on the content alone, not on its neighbours, its order or its codes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import spanwise
from spanwise.columns import codes
from spanwise.composition import content_of
from spanwise.formats.memory import from_tags
from spanwise.hashing import find_hashes, ordered_hashes, word_hashes

lawful = settings(deadline=None, derandomize=True, max_examples=200)
# Surrogates are read from files with invalid characters; NUL can only occur in memory.
words = st.lists(st.text(st.characters(codec=None, exclude_categories=()), max_size=20), max_size=8)


@lawful
@given(words)
def test_the_hash_of_a_word_does_not_depend_on_other_words(words: list[str]) -> None:
    together = word_hashes(words)
    assert together.shape == (len(words), 2)
    for word, hashed in zip(words, together, strict=True):
        assert np.array_equal(word_hashes([word])[0], hashed)


@lawful
@given(words)
def test_different_words_have_different_hashes(words: list[str]) -> None:
    assert len({tuple(row) for row in word_hashes(words).tolist()}) == len(set(words))


def test_words_with_nul_are_not_split() -> None:
    assert not np.array_equal(word_hashes(["a\0b"])[0], word_hashes(["a", "b"])[0])
    assert np.array_equal(word_hashes(["a\0b", "c"])[1], word_hashes(["c"])[0])


@lawful
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12),
)
def test_hashes_are_found_even_if_only_half_of_them_differs(
    known: list[tuple[int, int]], sought: list[tuple[int, int]]
) -> None:
    ordered = ordered_hashes(np.array(known, dtype=np.uint64).reshape(-1, 2))
    assert list(map(tuple, ordered.tolist())) == sorted(set(known))
    found = find_hashes(ordered, np.array(sought, dtype=np.uint64).reshape(-1, 2))
    assert found.tolist() == [sorted(set(known)).index(row) if row in known else -1 for row in sought]


def gold_hash(tags: list[list[str]], tokens: list[list[str]] | None = None) -> str | None:
    result = spanwise.evaluate(tags, {"same": tags}, resamples=0, attributes="none", tokens=tokens)
    return result.inputs[0].sha256


def test_gold_in_memory_is_identified_by_its_content() -> None:
    plain = gold_hash([["B-PER", "O"], ["O"]])
    assert plain == gold_hash([["B-PER", "O"], ["O"]])
    others = [
        gold_hash([["B-LOC", "O"], ["O"]]),
        gold_hash([["O", "B-PER"], ["O"]]),
        gold_hash([["B-PER"], ["O", "O"]]),
        gold_hash([["B-PER", "O"], ["O"]], tokens=[["Ann", "sings"], ["."]]),
        gold_hash([["B-PER", "O"], ["O"]], tokens=[["Bob", "sings"], ["."]]),
    ]
    assert len({plain, *others}) == 6


def test_the_identity_of_gold_does_not_depend_on_the_codes_of_its_words() -> None:
    gold = from_tags([["B-PER", "O"], ["O"]], tokens=[["Ann", "sings"], ["."]])
    code = codes([2, 0, 1])  # the new code of each word
    other = replace(gold, corpus=gold.corpus.recoded(code, ["sings", ".", "Ann"]))
    assert other.corpus.words(0) == ["Ann", "sings"]
    assert content_of([gold]) == content_of([other])
