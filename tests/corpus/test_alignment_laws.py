"""Laws of alignment over changed text and sentence boundaries: anchors are unambiguous, places are inside."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spanwise.alignment import Groups, align, groups_of, in_groups, in_sentences, ink
from spanwise.columns import codes, ints
from spanwise.corpus import Annotation, Corpus, Mentions, Parts
from spanwise.formats import from_spans

SENTENCES = st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=2), min_size=1, max_size=7)


def _borders(groups: Groups) -> list[tuple[int, int]]:
    return list(zip(groups.gold.tolist(), groups.predicted.tolist(), strict=True))


def test_a_sentence_that_is_repeated_on_one_side_is_no_anchor() -> None:
    gold = Corpus.of([["x"], ["a"], ["x"], ["b"]])
    predicted = Corpus.of([["other"], ["x"], ["b"]])
    groups = groups_of(gold, predicted, same_text=False)
    assert groups is not None
    assert _borders(groups) == [(0, 0), (3, 2), (4, 3)]  # only "b" occurs once on both sides


@given(SENTENCES, SENTENCES)
def test_every_border_between_groups_is_next_to_a_sentence_that_occurs_once_on_both_sides(
    gold: list[list[str]], predicted: list[list[str]]
) -> None:
    groups = groups_of(Corpus.of(gold), Corpus.of(predicted), same_text=False)
    if groups is None or ink(Corpus.of(gold)) == ink(Corpus.of(predicted)):
        return  # one to one, or the same characters: groups are then found by counting characters

    def anchors(one: int, two: int) -> bool:
        if not (0 <= one < len(gold) and 0 <= two < len(predicted)) or gold[one] != predicted[two]:
            return False
        return gold.count(gold[one]) == predicted.count(predicted[two]) == 1

    for one, two in _borders(groups)[1:-1]:
        assert anchors(one, two) or anchors(one - 1, two - 1)


@given(st.data())
def test_a_mention_without_a_place_stays_in_the_first_sentence_of_its_group(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    borders = ints(np.concatenate([[0], np.cumsum(sizes)]))
    gold = Corpus.of([["a"]] * int(borders[-1]))
    groups = data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=5).map(sorted))
    nowhere = Mentions(ints(groups), ints([-1] * len(groups)), ints([-1] * len(groups)),
                       np.zeros(len(groups), np.int32), ("X",))  # fmt: skip
    moved, crossing = in_sentences(nowhere, gold, borders)
    assert moved.sentence.tolist() == [int(borders[group]) for group in groups]
    assert not moved.placed.any()
    assert crossing == 0


def test_joining_sentences_moves_no_mention_that_has_no_place() -> None:
    corpus = Corpus.of([["a", "b"], ["c", "d"], ["e"]])
    parts = Parts.of([[(0, 1)], [(-1, -1), (-1, -1)], [(0, 1)]])
    mentions = Mentions(ints([0, 1, 1]), ints([0, -1, 0]), ints([1, -1, 1]), codes([0, 0, 0]), ("X",), parts)
    moved = in_groups(Annotation(corpus, mentions), ints([0, 3])).mentions
    assert moved.rows() == [(0, 0, 1, "X"), (0, -1, -1, "X"), (0, 2, 3, "X")]
    assert moved.parts is not None
    assert (moved.parts.start.tolist(), moved.parts.end.tolist()) == ([0, -1, -1, 2], [1, -1, -1, 3])


def test_of_two_mentions_with_the_same_place_in_gold_the_second_has_none() -> None:
    gold = from_spans([[(0, 1, "X")]], tokens=[["x", "y"]])
    predicted = from_spans([[(0, 1, "X"), (0, 2, "X"), (0, 2, "Y")]], tokens=[["x", "?", "y"]])
    aligned = align(gold, predicted, how="diff")
    assert sorted(aligned.mentions.rows()) == [(0, -1, -1, "X"), (0, 0, 1, "X"), (0, 0, 1, "Y")]


def test_a_mention_that_has_no_place_gets_none_in_changed_text() -> None:
    gold = Annotation(Corpus.of([["x"]]), Mentions.of([(0, 0, 1, "X")]))
    predicted = Annotation(Corpus.of([["Z"]]), Mentions.of([(0, -1, -1, "X"), (0, 0, 1, "X")]))
    aligned = align(gold, predicted, how="diff")
    assert sorted(aligned.mentions.rows()) == [(0, -1, -1, "X"), (0, 0, 1, "X")]


def test_an_unplaced_mention_counts_in_the_unit_where_its_group_begins() -> None:
    gold = from_spans([[], [], [], []], tokens=[["a"], ["b"], ["c", "d"], ["e"]])
    predicted = from_spans(
        [[(0, 1, "X")], [(1, 2, "X")], [(0, 1, "X")]], tokens=[["a"], ["b", "?"], ["cd", "e"]]
    )
    aligned = align(gold, predicted, how="diff")
    unplaced = ~aligned.mentions.placed
    assert aligned.mentions.sentence[unplaced].min() >= 1  # none falls into the sentence before its group


def test_a_mention_that_covers_the_line_feed_between_two_texts_crosses_a_sentence_end() -> None:
    gold = Corpus(
        np.zeros(2, np.int32), ("ab",), ints([0, 1, 2]), unit="character", texts=("ab", "cd"),
        token_start=ints([0, 0]), token_end=ints([2, 2]),
    )  # fmt: skip
    over = Mentions.of([(0, 1, 3, "X")])  # "b" and the line feed that joins the texts
    moved, crossing = in_sentences(over, gold, ints([0, 2]))
    assert (moved.rows(), crossing) == ([(0, -1, -1, "X")], 1)
    upto, crossing = in_sentences(Mentions.of([(0, 1, 2, "X"), (0, 3, 5, "Y")]), gold, ints([0, 2]))
    assert (upto.rows(), crossing) == ([(0, 1, 2, "X"), (1, 0, 2, "Y")], 0)


@given(SENTENCES, st.data())
def test_joining_sentences_and_parting_them_again_changes_no_mention(
    sentences: list[list[str]], data: st.DataObject
) -> None:
    corpus = Corpus.of(sentences)
    rows = []
    for number, words in enumerate(sentences):
        start = data.draw(st.integers(0, len(words) - 1))
        rows.append((number, start, data.draw(st.integers(start + 1, len(words))), "X"))
    inner = data.draw(st.sets(st.integers(1, max(1, len(sentences) - 1))))
    borders = ints(sorted({0, len(sentences), *(border for border in inner if border < len(sentences))}))
    annotation = Annotation(corpus, Mentions.of(rows))
    back, crossing = in_sentences(in_groups(annotation, borders).mentions, corpus, borders)
    assert (back.rows(), crossing) == (rows, 0)
