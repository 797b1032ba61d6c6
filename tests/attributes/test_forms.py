"""The tree of token sequences: exact numbers, lookup in a text, recoding and union."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from spanwise.attributes import Lexicon
from spanwise.attributes.forms import Forms, PairCounts, Runs
from spanwise.columns import Codes, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions


def test_overlapping_occurrences_are_all_counted() -> None:
    tokens = np.zeros(10, dtype=np.int32)
    forms, number = Forms.of(tokens, Runs.spanning(np.array([0, 0]), np.array([3, 1])), width=1)
    text = Corpus(tokens, ("a",), ints([0, 5, 10]))
    assert Lexicon.of([Annotation(text, Mentions.of([]))]).occurrences(forms)[number].tolist() == [6, 10]


def test_a_sequence_that_is_not_in_the_tree_is_not_found() -> None:
    tokens = np.array([0, 1, 2], dtype=np.int32)
    tree, _ = Forms.of(tokens, Runs.spanning(np.array([0]), np.array([2])), width=3)
    rows = Runs.spanning(np.array([0, 1, 0, 0]), np.array([2, 2, 3, 0]))
    queried, number = Forms.of(tokens, rows, width=3)
    assert np.append(tree.numbers_of(queried), -1)[number].tolist() == [1, -1, -1, -1]


def drawn_text(blocks: int, words: int, seed: int) -> tuple[Lexicon, Codes, Runs]:
    """A text of random sentences, and some runs of tokens that may or may not occur in it."""
    rng = np.random.default_rng(seed)
    sizes = [rng.integers(0, 40, 500) for _ in range(blocks)]
    text = [(rng.integers(0, words, size.sum()).astype(np.int32), offsets(size)) for size in sizes]
    tokens = np.concatenate([text[0][0], rng.integers(0, words + 3, 3000).astype(np.int32)])
    size = rng.integers(1, 5, 6000)
    rows = Runs.spanning(rng.integers(0, len(tokens) - 5, 6000), size)
    strings = tuple(f"w{code}" for code in range(words + 3))
    parts = [Annotation(Corpus(own, strings, sentences), Mentions.of([])) for own, sentences in text]
    return Lexicon.of(parts), tokens, rows


def plainly_counted(lexicon: Lexicon, longest: int) -> Counter[tuple[int, ...]]:
    """How often every sequence of up to `longest` tokens occurs, counted sentence by sentence."""
    expected: Counter[tuple[int, ...]] = Counter()
    for part in lexicon.parts:
        for begin, end in pairwise(part.corpus.sentences.tolist()):
            words = part.corpus.tokens[begin:end].tolist()
            for size in range(1, longest + 1):
                expected.update(tuple(words[i : i + size]) for i in range(len(words) - size + 1))
    return expected


def test_thousands_of_sequences_are_distinguished_and_counted_across_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spanwise.attributes.forms.BLOCK", 1000)
    lexicon, tokens, rows = drawn_text(3, 60, 7)
    forms, number = Forms.of(tokens, rows, width=63)
    assert forms.slots[1].any()  # some hashes collide; otherwise this test would prove nothing
    sequences = [tuple(tokens[row].tolist()) for row in np.split(rows.position, rows.at[1:-1])]
    expected = plainly_counted(lexicon, 4)
    assert lexicon.occurrences(forms)[number].tolist() == [expected[form] for form in sequences]
    assert len(set(number.tolist())) == len(set(sequences))


def test_a_tree_lists_its_sequences() -> None:
    tokens = np.array([4, 7, 7, 1, 4, 7], dtype=np.int32)
    rows = Runs.spanning(np.array([0, 3, 2, 4]), np.array([3, 1, 2, 2]))
    forms, number = Forms.of(tokens, rows, width=8)
    flat, at = forms.sequences(number)
    assert [row.tolist() for row in np.split(flat, at[1:-1])] == [[4, 7, 7], [1], [7, 1], [4, 7]]


def test_a_recoded_tree_is_the_tree_of_the_recoded_text() -> None:
    for seed in range(5):
        _, tokens, rows = drawn_text(1, 9, seed)
        labels = np.random.default_rng(seed).integers(0, 2, len(rows.size)).astype(np.int32)
        table = np.array([0, 1, 2, 0, 1, 2, 3, 3, 3, 4, 4, 5], dtype=np.int32)  # like lowercasing
        forms, number = Forms.of(tokens, rows, width=12)
        pairs = PairCounts.of(number, labels, items=len(forms), labels=2)
        merged, (index,) = Forms.union([(forms, table)], 6)
        plain, plain_number = Forms.of(table[tokens], rows, width=6)
        assert merged.single.tolist() == plain.single.tolist()
        assert merged.keys.tolist() == plain.keys.tolist()
        assert index[number].tolist() == plain_number.tolist()
        moved = PairCounts.joined([(pairs, index, ints([0, 1]))], items=len(merged), labels=2)
        expected = PairCounts.of(plain_number, labels, items=len(plain), labels=2)
        assert moved.table.tolist() == expected.table.tolist()
        assert moved.row.tolist() == expected.row.tolist()


def test_a_union_of_trees_is_the_tree_of_all_rows_without_dropped_codes() -> None:
    for seed in range(5):
        _, tokens, rows = drawn_text(1, 9, seed)
        table = np.array([3, -1, 0, 1, 2, 4, -1, 5, 6, 7, 8, 9], dtype=np.int32)
        halves = [Runs(offsets(part), rows.position[at:]) for part, at in (
            (rows.size[:3000], 0), (rows.size[3000:], int(rows.at[3000])),
        )]  # fmt: skip
        trees, numbers = zip(*(Forms.of(tokens, half, width=12) for half in halves), strict=True)
        union, indexes = Forms.union([(tree, table) for tree in trees], 10)
        indices = np.concatenate([index[number] for index, number in zip(indexes, numbers, strict=True)])
        kept = [(table[tokens[row]] >= 0).all() for row in np.split(rows.position, rows.at[1:-1])]
        assert (indices >= 0).tolist() == kept
        flat, at = union.sequences(ints(indices[indices >= 0]))
        expected = [
            row
            for row, all_there in zip(np.split(rows.position, rows.at[1:-1]), kept, strict=True)
            if all_there
        ]
        assert [row.tolist() for row in np.split(flat, at[1:-1])] == [
            table[tokens[row]].tolist() for row in expected
        ]
