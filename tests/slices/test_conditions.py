"""The language of conditions: parsed, written in canonical form, and evaluated over mentions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conditions_oracle import DescribedSides, described_sides
from hypothesis import given
from hypothesis import strategies as st

import spanwise
from spanwise.buckets import Bucket
from spanwise.cli.main import main
from spanwise.conditions import (
    Condition,
    Criterion,
    Operator,
    WordSearch,
    bucket_meets,
    parse,
    prints,
)
from spanwise.errors import ChoiceError
from spanwise.evaluation import read_inputs
from spanwise.views.wording import slice_title

VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=6)
NAMES = st.sampled_from(["label", "domain", "toughness", "entity_length"])


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    operators: tuple[Operator, ...] = ("=", "!=", ">=", "<")
    clauses = []
    for _ in range(draw(st.integers(1, 3))):
        clause = []
        for _ in range(draw(st.integers(1, 2))):
            operator = draw(st.sampled_from(operators))
            if operator in ("=", "!="):
                values = tuple(sorted(draw(st.sets(VALUES, min_size=1, max_size=3))))
            else:
                values = (str(draw(st.integers(-5, 5))),)
            clause.append(Criterion(draw(NAMES), operator, values))
        clauses.append(clause)
    return Condition.of(clauses)


@given(conditions())
def test_a_condition_is_parsed_back_from_its_text(condition: Condition) -> None:
    assert parse(str(condition)) == condition
    assert str(parse(str(condition))) == str(condition)


WORDS = st.lists(st.sampled_from(["Ann", "an", "ann", "Anna", "of", "OF", "x"]), min_size=1, max_size=6)


@given(st.lists(WORDS, min_size=1, max_size=3), WORDS, st.booleans(), st.data())
def test_words_are_found_as_by_a_search_in_the_joined_text(
    sentences: list[list[str]], queried: list[str], more: bool, data: st.DataObject
) -> None:
    rows = []
    for number, words in enumerate(sentences):
        start = data.draw(st.integers(0, len(words)))
        rows.append((number, start, data.draw(st.integers(start, len(words)))))
    vocabulary = sorted({word for words in sentences for word in words})
    tokens = np.array([vocabulary.index(word) for words in sentences for word in words])
    search = WordSearch.of_tokens(tokens, vocabulary, np.cumsum([0, *map(len, sentences)]))
    query = " ".join(queried[:2]).casefold()
    pattern = f" {query}" if more else f" {query} "
    inside = [f" {' '.join(sentences[s][a:b])} ".casefold() for s, a, b in rows]
    around = [f" {' '.join(words)} ".casefold() for words in sentences]
    mention, sentence = np.array(rows).T, np.arange(len(sentences))
    text = " ".join(queried[:2]) + "*" * more
    mask = search.containing(text, *search.mentions(*mention))
    assert mask.tolist() == [pattern in joined for joined in inside]
    assert search.containing(text, *search.around(sentence)).tolist() == [
        pattern in joined for joined in around
    ]


def test_words_of_texts_without_tokens_are_found_between_punctuation() -> None:
    search = WordSearch.of_texts(["In (Rome), U.S. troops", "Romeo"])
    window = search.mentions(np.array([0, 0, 1]), np.array([4, 11, 0]), np.array([8, 15, 5]))
    assert search.containing("rome", *window).tolist() == [True, False, False]
    assert search.containing("u.s.", *window).tolist() == [False, True, False]
    assert search.containing("rome*", *window).tolist() == [True, False, True]
    assert search.containing("troops", *search.around(np.array([0, 1]))).tolist() == [True, False]


def test_errors_are_listed_by_words_of_the_mention_and_of_its_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, predicted = tmp_path / "gold.conll", tmp_path / "pred.conll"
    gold.write_text("in O\nRome B-LOC\n\nnear O\nRome B-LOC\n\nin O\nOslo B-LOC\n", encoding="utf-8")
    predicted.write_text("in O\nRome O\n\nnear O\nRome O\n\nin O\nOslo O\n", encoding="utf-8")
    listed = {"text=rome": 2, "sentence=in": 2, "text=rome & sentence=in": 1, "text!=ro*": 1}
    for where, number in listed.items():
        assert main(["errors", str(gold), str(predicted), "--where", where, "--as", "jsonl"]) == 0
        assert len(capsys.readouterr().out.splitlines()) == number


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("label=MISC & toughness=UNSEEN-TOKENS & entity_length>=3",
         "entity_length>=3 & label=MISC & toughness=UNSEEN-TOKENS"),
        ("eLen>=3&label = PER , ORG", "entity_length>=3 & label=ORG,PER"),
        ("!label=PER", "label!=PER"),
        ("! label != PER", "label=PER"),
        ("!eLen<3", "entity_length>=3"),
        ("label=PER, tough=TCM-ALL", "label=PER, toughness=TCM-ALL"),
        ('domain="a & b","c,d"', 'domain="a & b","c,d"'),
        ("label=PER & label=PER", "label=PER"),
    ],
)  # fmt: skip
def test_the_canonical_form(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical


@pytest.mark.parametrize(
    "text", ["", "label", "=PER", "label=", "label=PER &", "eLen>=many", 'a="b', "a=b=c"]
)
def test_invalid_conditions_are_refused(text: str) -> None:
    with pytest.raises(spanwise.ChoiceError):
        parse(text)


def sides() -> DescribedSides:
    gold = spanwise.read(
        [["B-PER", "I-PER", "I-PER", "O"], ["B-LOC", "O", "B-PER", "O"]],
        tokens=[["Anna", "van", "Dyk", "left"], ["Oslo", "calls", "Anna", "."]],
    )
    mine = spanwise.read(
        [["B-PER", "I-PER", "O", "O"], ["B-LOC", "O", "B-LOC", "O"]],
        tokens=[["Anna", "van", "Dyk", "left"], ["Oslo", "calls", "Anna", "."]],
    )
    inputs = read_inputs(gold, {"m": mine}, [gold], align="strict", reading={}, name=None)
    return described_sides(inputs, ("all",))


@pytest.mark.parametrize(
    ("text", "gold", "predicted"),
    [
        ("label=PER", [1, 0, 1], [1, 0, 0]),
        ("label!=PER", [0, 1, 0], [0, 1, 1]),
        ("entity_length>=2", [1, 0, 0], [1, 0, 0]),
        ("entity_length=3", [1, 0, 0], [0, 0, 0]),
        ("entity_length<2 & label=LOC", [0, 1, 0], [0, 1, 1]),
        ("label=LOC, entity_length>2", [1, 1, 0], [0, 1, 1]),
        ("!label=PER,LOC", [0, 0, 0], [0, 0, 0]),
        ("toughness=SEEN", [1, 1, 1], None),
    ],
)
def test_masks_over_gold_and_predicted_mentions(
    text: str, gold: list[int], predicted: list[int] | None
) -> None:
    described = sides()
    assert described.gold.mask(text).tolist() == [bool(expected) for expected in gold]
    other = described.predicted["m"]
    if predicted is None:
        with pytest.raises(spanwise.ChoiceError, match="gold mentions"):
            other.mask(text)
    else:
        assert other.mask(text).tolist() == [bool(expected) for expected in predicted]


@pytest.mark.parametrize("text", ["colour=red", "label=ANIMAL", "label>3", "toughness>=1", "toughness=HARD"])
def test_unknown_names_and_values_are_refused(text: str) -> None:
    with pytest.raises(spanwise.ChoiceError):
        sides().gold.mask(text)


@given(st.integers(-3, 3), st.sampled_from(["=", "!=", ">=", "<=", ">", "<"]), st.integers(0, 5))
def test_a_bucket_decides_a_comparison_if_all_its_values_agree(
    bound: int, operator: Operator, which: int
) -> None:
    buckets = [
        Bucket("B1", high=-2), Bucket("B2", low=-2, high=0), Bucket("B3", low=1, high=1, special=True),
        Bucket("B4", low=0, high=2), Bucket("B5", low=2), Bucket("B6", low=-1, high=1),
    ]  # fmt: skip
    bucket = buckets[which]
    grid = np.arange(-40, 41) / 8
    if bucket.special:
        inside = grid[grid == bucket.low]
    else:
        low = -9 if bucket.low is None else bucket.low
        inside = grid[(grid > low) & (grid <= (9 if bucket.high is None else bucket.high))]
    criterion = Criterion("x", operator, (str(bound),))
    compare = {
        "=": inside == bound, "!=": inside != bound, ">=": inside >= bound, "<=": inside <= bound,
        ">": inside > bound, "<": inside < bound,
    }[operator]  # fmt: skip
    expected = True if compare.all() else False if not compare.any() else None
    assert bucket_meets(bucket, criterion) == expected


@given(st.integers(-1, 12), st.sampled_from([">=", "<=", ">", "<"]), st.integers(0, 3))
def test_a_bucket_of_whole_numbers_contains_no_values_between_them(
    bound: int, operator: Operator, which: int
) -> None:
    bucket = [
        Bucket("B1", high=3, label="≤ 3"), Bucket("B2", low=3, high=6, label="4–6"),
        Bucket("B3", low=6, high=7, label="7"), Bucket("B4", low=7, label="≥ 8"),
    ][which]  # fmt: skip
    inside = [list(range(-9, 4)), [4, 5, 6], [7], list(range(8, 30))][which]
    compare = {
        ">=": [value >= bound for value in inside], "<=": [value <= bound for value in inside],
        ">": [value > bound for value in inside], "<": [value < bound for value in inside],
    }[operator]  # fmt: skip
    expected = True if all(compare) else None if any(compare) else False
    criterion = Criterion("entity_length", operator, (str(bound),))
    assert bucket_meets(bucket, criterion) == expected


def test_errors_where_lists_the_mentions_that_the_slice_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, mine = tmp_path / "gold.conll", tmp_path / "mine.conll"
    gold.write_text(
        "Anna B-PER\nvan I-PER\nDyk I-PER\n\nOslo B-LOC\nRome B-LOC\n\n"
        "a B-ORG\nb I-ORG\nc I-ORG\nd I-ORG\n\n",
        encoding="utf-8",
    )
    mine.write_text(
        "Anna B-PER\nvan O\nDyk O\n\nOslo B-LOC\nRome O\n\na O\nb O\nc O\nd O\n\n", encoding="utf-8"
    )
    call = ["errors", str(gold), str(mine), "--as", "jsonl", "--over", "gold", "--where"]
    assert main([*call, "entity_length>=2 & label=PER"]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert row["gold"]["text"] == "Anna van Dyk"
    assert main([*call, "label=LOC & eLen=1"]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert row["gold"]["text"] == "Rome"
    assert main([*call, "entity_length>=5"]) == 2
    assert "cuts through a bucket of entity_length" in capsys.readouterr().err


@pytest.mark.parametrize("text", ['"a!b"=x', '!"a & b"=x', 'label="!x"', '!"!a">=2'])
def test_names_with_signs_of_conditions_are_quoted_and_read_back(text: str) -> None:
    condition = parse(text)
    assert parse(str(condition)) == condition


def test_a_name_that_begins_with_a_second_exclamation_mark_is_refused() -> None:
    with pytest.raises(ChoiceError, match="is not a condition"):
        parse("!!label=PER")


@pytest.mark.parametrize(
    ("printed", "signs"),
    [
        ("entity length ≥ 4", "entity_length>=4"),
        ("entity length >= 4", "entity_length>=4"),
        ("sentence length ≤ 11", "sentence_length<=11"),
        ("label is WORK", "label=WORK"),
        ("entity label consistency = 0", "entity_label_consistency=0"),
        ("entity frequency in (0, 0.0002313]", 'entity_frequency="(0, 0.0002313]"'),
        ("never seen & entity length ≥ 4", "toughness=UNSEEN-TOKENS & entity_length>=4"),
        ("seen in training & label is PER", "toughness=SEEN & label=PER"),
        ("text has is", "text=is"),
    ],
)
def test_slices_are_accepted_as_screens_print_them(printed: str, signs: str) -> None:
    assert parse(printed) == parse(signs)


def test_a_printed_edge_means_the_bucket_although_it_is_rounded() -> None:
    low = Bucket("XS", low=None, high=0.1500312, label="≤ 0.15")
    high = Bucket("XL", low=0.1500312, high=None, label="> 0.15")
    assert prints(low, Criterion("entity_density", "<=", ("0.15",)))
    assert not prints(high, Criterion("entity_density", "<=", ("0.15",)))


def test_every_weak_slice_can_be_asked_for_in_the_words_of_the_screen() -> None:
    gold = [["B-PER", "I-PER", "I-PER", "I-PER", "O"], ["B-LOC", "O"]] * 60
    short = [["B-PER", "I-PER", "O", "O", "O"], ["B-LOC", "O"]] * 60
    result = spanwise.evaluate(gold, {"crf": short}, attributes=["entity_length"], resamples=100)
    titles = [slice_title(row.kind, row.name, row.title) for row in result["crf"].slices]
    errors = {title: len(result.errors("crf", where=title)) for title in titles}
    assert errors == {"entity length ≥ 4": 60, "label is PER": 60, "entity length = 1": 0, "label is LOC": 0}
