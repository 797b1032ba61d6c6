"""Predictions are aligned with the gold text in four ways, and no mention is lost."""

from __future__ import annotations

import pickle
import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise import formats
from spanwise.alignment import TokensDiffer, align, common_subsequence
from spanwise.corpus import Annotation
from spanwise.document import Alignment
from spanwise.errors import ChoiceError, InputError

Span = tuple[int, int, str]


def spans(tokens: list[list[str]], marked: list[list[Span]], name: str = "pred") -> Annotation:
    return formats.from_spans(marked, tokens=tokens, name=name)


def plain(tokens: list[list[str]], name: str = "gold") -> Annotation:
    return formats.from_spans([[] for _ in tokens], tokens=tokens, name=name)


def text(tmp_path: Path, content: str, marked: list[list[object]], name: str) -> Annotation:
    import json

    path = tmp_path / f"{name}.jsonl"
    path.write_text(json.dumps({"text": content, "spans": marked}) + "\n")
    return formats.read(path)


def test_equal_tokens_need_no_alignment() -> None:
    predicted = spans([["a", "b"], ["c"]], [[(0, 1, "X")], []])
    for how in ("strict", "position", "characters", "diff"):
        aligned = align(plain([["a", "b"], ["c"]]), predicted, how=how)
        assert aligned.mentions.rows() == predicted.mentions.rows()
        assert aligned.report == Alignment(
            how=how, sentences=2, changed_sentences=0, changed_tokens=0, unplaced=0
        )


def test_strict_shows_the_first_difference_side_by_side(tmp_path: Path) -> None:
    (tmp_path / "gold.bio").write_text("a O\n\nThe O\nU.S. B-LOC\n")
    (tmp_path / "pred.bio").write_text("a O\n\nThe O\nU.S B-LOC\n. O\n")
    gold, predicted = formats.read(tmp_path / "gold.bio"), formats.read(tmp_path / "pred.bio")
    with pytest.raises(InputError) as caught:
        align(gold, predicted)
    assert str(caught.value) == (
        f"{tmp_path}/pred.bio:4: the sentence has 3 tokens, but 2 in the gold file ({tmp_path}/gold.bio:4).\n"
        "The first difference is token 2: 'U.S' here, 'U.S.' there.\n"
        'If the tokenizers differ, use align="characters"; if the text differs too, use align="diff".'
    )


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([["a", "b"]], [["a", "c"]], "the tokens of the sentence differ from the gold file"),
        ([["a", "b"]], [["a", "c"]], 'align="position" takes the tokens as they are'),
        ([["a", "b"]], [["a"]], "The first agrees; token 2 exists only there: 'b'"),
        ([["a"]], [["a", "b"]], "the sentence has 2 tokens, but 1 in the gold file"),
        ([["a"]], [["a", "b"]], "token 2 exists only here: 'b'"),
        ([["a"], ["b"]], [["a"]], "there is 1 sentence, but 2 in the gold file"),
        ([["a"], ["b"]], [["a"]], "The first agrees; sentence 2 exists only there"),
        ([["a"], ["b"]], [["a"], ["x"], ["b"]], "The first difference is sentence 2"),
        ([["a"] * 9, ["b"]], [["x"] * 9], "'x x x x x x …' here"),
    ],
)
def test_every_difference_is_reported(
    gold: list[list[str]], predicted: list[list[str]], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        align(plain(gold), plain(predicted, "pred"))
    assert message in str(caught.value)


def test_position_accepts_equal_numbers_of_tokens_whatever_the_words() -> None:
    predicted = spans([["a", "x"], ["y"]], [[(0, 2, "X")], []])
    aligned = align(plain([["a", "b"], ["c"]]), predicted, how="position")
    assert aligned.mentions.rows() == [(0, 0, 2, "X")]
    assert (aligned.report["changed_sentences"], aligned.report["changed_tokens"]) == (2, 2)
    with pytest.raises(InputError, match="Equal positions need equal numbers of tokens"):
        align(plain([["a", "b"]]), plain([["a"]]), how="position")


def test_characters_place_mentions_that_end_at_gold_token_boundaries() -> None:
    gold = plain([["in", "New", "York", "City"], ["same"]])
    predicted = spans(
        [["in", "NewYork", "Ci", "ty"], ["same"]],
        [[(1, 2, "A"), (1, 4, "B"), (2, 3, "C"), (3, 4, "D")], [(0, 1, "E")]],
    )
    aligned = align(gold, predicted, how="characters")
    assert aligned.mentions.rows() == [
        (0, 1, 3, "A"),
        (0, 1, 4, "B"),
        (0, -1, -1, "C"),
        (0, -1, -1, "D"),
        (1, 0, 1, "E"),
    ]
    assert aligned.report["unplaced"] == 2
    assert aligned.report["changed_tokens"] == 3
    with pytest.raises(InputError, match=r"(?s)the characters of the sentence differ.*'x' here, 'b' there"):
        align(plain([["a", "b"]]), plain([["a", "x"]]), how="characters")


def test_diff_maps_only_the_edges_of_unequal_blocks() -> None:
    gold = plain([["da", "‘yan", "kallo", "dubu"]])
    predicted = spans(
        [["da", '""""', "yan", "kallo", "dubu"]],
        [[(1, 3, "WHOLE"), (2, 3, "INSIDE"), (2, 4, "FROM"), (1, 4, "ON"), (3, 5, "BEHIND"), (0, 2, "INTO")]],
    )
    aligned = align(gold, predicted, how="diff")
    assert aligned.mentions.rows() == [
        (0, 1, 2, "WHOLE"),
        (0, -1, -1, "INSIDE"),
        (0, -1, -1, "FROM"),
        (0, 1, 3, "ON"),
        (0, 2, 4, "BEHIND"),
        (0, -1, -1, "INTO"),
    ]
    assert aligned.report["unplaced"] == 3
    assert aligned.report["changed_tokens"] == 2


def test_diff_keeps_boundaries_next_to_tokens_missing_on_one_side() -> None:
    gold = plain([["a", "new", "b"]])
    predicted = spans([["a", "b"]], [[(0, 1, "X"), (1, 2, "Y"), (0, 2, "Z")]])
    aligned = align(gold, predicted, how="diff")
    assert aligned.mentions.rows() == [(0, 0, 1, "X"), (0, 2, 3, "Y"), (0, 0, 3, "Z")]
    only_here = spans([["a", "x", "b"]], [[(1, 2, "X")]])
    assert align(plain([["a", "b"]]), only_here, how="diff").mentions.rows() == [(0, -1, -1, "X")]


def test_two_mentions_that_fall_on_one_span_are_not_both_kept() -> None:
    gold = plain([["ab"]])
    predicted = spans([["x", "y"]], [[(0, 2, "X")]])
    assert align(gold, predicted, how="diff").mentions.rows() == [(0, 0, 1, "X")]


def test_text_and_tokens_are_aligned_by_characters(tmp_path: Path) -> None:
    tokens = plain([["New", "York", "!"]])
    predicted = text(tmp_path, "New  York !", [[0, 9, "LOC"], [5, 7, "X"]], "pred")
    with pytest.raises(InputError, match="the mentions count characters, but tokens in the gold file"):
        align(tokens, predicted)
    assert align(tokens, predicted, how="characters").mentions.rows() == [(0, 0, 2, "LOC"), (0, -1, -1, "X")]
    gold = text(tmp_path, "New York!", [], "gold")
    back = align(gold, spans([["New", "York", "!"]], [[(0, 2, "LOC"), (1, 3, "X")]]), how="characters")
    assert back.mentions.rows() == [(0, 0, 8, "LOC"), (0, 4, 9, "X")]
    with pytest.raises(InputError, match=r"(?s)the text differs from the gold file.*' York !' here"):
        align(gold, predicted)
    assert align(gold, predicted, how="characters").mentions.rows() == [(0, 0, 8, "LOC"), (0, 4, 6, "X")]
    other = text(tmp_path, "Old York!", [[0, 8, "LOC"], [4, 8, "X"]], "other")
    assert align(gold, other, how="diff").mentions.rows() == [(0, 0, 8, "LOC"), (0, 4, 8, "X")]


def test_without_text_only_lengths_can_be_compared(tmp_path: Path) -> None:
    tags, other = formats.from_tags([["O", "B-X"]]), formats.from_tags([["B-X", "O"]])
    assert align(tags, other).mentions.rows() == [(0, 0, 1, "X")]
    with pytest.raises(InputError, match=r"sentence . has 1 token, but 2 in the gold file"):
        align(tags, formats.from_tags([["O"]]))
    assert align(tags, formats.from_spans([[(0, 1, "X")]])).mentions.rows() == [(0, 0, 1, "X")]
    with pytest.raises(InputError, match="the mentions count characters"):
        align(tags, text(tmp_path, "a", [[0, 1, "X"]], "pred"))


def test_pieces_move_with_their_mention(tmp_path: Path) -> None:
    path = tmp_path / "pred.jsonl"
    path.write_text(
        '{"tokens": ["x", "a", "b", "y", "c"], '
        '"spans": [{"start": 1, "end": 5, "label": "X", "parts": [[1, 2], [4, 5]]}]}\n'
    )
    aligned = align(plain([["a", "b", "c"]]), formats.read(path), how="diff")
    assert aligned.mentions.rows() == [(0, 0, 3, "X")]
    assert aligned.mentions.parts is not None
    assert aligned.mentions.parts.start.tolist() == [0, 2]
    assert aligned.mentions.parts.end.tolist() == [1, 3]


def test_an_unknown_way_is_refused_with_a_hint() -> None:
    with pytest.raises(ChoiceError, match=r"no way to align is called 'dif'. Did you mean 'diff'?"):
        align(plain([["a"]]), plain([["a"]]), how="dif")  # type: ignore[arg-type]


def leftmost(first: str, second: str) -> list[tuple[int, int]]:
    """The leftmost longest common subsequence, by brute force."""

    @cache
    def best(i: int, j: int) -> tuple[tuple[int, int], ...]:
        if i == len(first) or j == len(second):
            return ()
        options = [best(i + 1, j), best(i, j + 1)]
        if first[i] == second[j]:
            options.append(((i, j), *best(i + 1, j + 1)))
        most = max(map(len, options))
        firsts = [option for option in options if len(option) == most]
        return min(firsts, key=lambda pairs: ([p[0] for p in pairs], [p[1] for p in pairs]))

    return list(best(0, 0))


@settings(deadline=None, derandomize=True, max_examples=400)
@given(st.text("abc", max_size=9), st.text("abc", max_size=9))
def test_anchors_are_the_leftmost_longest_common_subsequence(first: str, second: str) -> None:
    assert common_subsequence(first, second) == leftmost(first, second)


def test_a_long_document_is_aligned_quickly() -> None:
    generator = random.Random(0)
    words = [str(generator.randrange(3000)) for _ in range(6000)]
    changed = [word if generator.random() < 0.9 else "new" for word in words]
    pairs = common_subsequence(words, changed)
    assert len(pairs) > 5000


def test_no_mention_is_lost_and_placed_ones_cover_the_same_anchors() -> None:
    generator = random.Random(5)
    for _ in range(200):
        gold = [generator.choice("abcd") for _ in range(generator.randrange(1, 8))]
        words = [generator.choice("abcd") for _ in range(generator.randrange(1, 8))]
        marked = {(start, generator.randrange(start + 1, len(words) + 1), "X") for start in range(len(words))}
        predicted = spans([words], [sorted(marked)])
        aligned = align(plain([gold]), predicted, how="diff")
        assert len(aligned.mentions) == len(predicted.mentions)
        assert aligned.report["unplaced"] == int((~aligned.mentions.placed).sum())
        anchors = {b: a for a, b in common_subsequence(gold, words)}
        for (_, start, end, _), (_, new_start, new_end, _) in zip(
            predicted.mentions.rows(), aligned.mentions.rows(), strict=True
        ):
            if new_start >= 0:
                inside = [anchors[token] for token in range(start, end) if token in anchors]
                assert all(new_start <= token < new_end for token in inside)


def test_rewritten_tokens_of_a_real_submission_are_counted(data: Path) -> None:
    gold = formats.read(data / "wnut17" / "test.conll")
    predicted = formats.read(data / "wnut17" / "predictions" / "mic-cis.conll")
    with pytest.raises(InputError, match=r"mic-cis.conll:2: .*\n.*'get' here, 'gt' there"):
        align(gold, predicted)
    report = align(gold, predicted, how="position").report
    assert (report["changed_tokens"], report["changed_sentences"], report["unplaced"]) == (1283, 827, 0)


def test_nearly_all_hausa_predictions_are_placed(data: Path) -> None:
    gold = formats.read(data / "masakhaner" / "hau" / "test.txt")
    predicted = formats.read(data / "masakhaner" / "hau" / "predictions" / "mbert.1.txt")
    aligned = align(gold, predicted, how="diff")
    assert len(aligned.mentions) == len(predicted.mentions)
    assert aligned.report["changed_sentences"] == 364
    assert aligned.report["unplaced"] == 14


def test_an_error_about_tokens_shows_the_context_of_the_first_difference() -> None:
    gold = plain([["a"], ["one", "two", "three", "four", "U.S.", "six"], ["b"]])
    predicted_side = plain([["a"], ["one", "two", "three", "four", "U.S", ".", "six"], ["c"]])
    with pytest.raises(TokensDiffer) as caught:
        align(gold, predicted_side, how="strict")
    difference = pickle.loads(pickle.dumps(caught.value)).difference  # it may come from another process
    assert (difference.first, difference.differing, difference.sentences) == (1, 2, 3)
    assert difference.gold == ("two", "three", "four", "U.S.", "six")
    assert difference.predicted == ("two", "three", "four", "U.S", ".", "six")
