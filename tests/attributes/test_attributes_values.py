"""Attributes one by one: values by hand, sides, texts of characters, one's own, what is absent and why."""

from __future__ import annotations

import pickle
import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

import spanwise.attributes as attributes
from spanwise.attributes import (
    ATTRIBUTES,
    PRESETS,
    Context,
    Lexicon,
    LexiconSums,
    SummedLexicon,
    Wanted,
    choose,
    given,
    is_built_in,
    is_given,
    own,
    register,
    values,
    wanted,
    why_absent,
)
from spanwise.attributes._forms import Forms, Runs
from spanwise.attributes._lexicon import PairCounts
from spanwise.attributes.papers import shape_of
from spanwise.buckets import default_strategy, fit
from spanwise.columns import codes, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions, Parts
from spanwise.errors import ChoiceError, InputError
from spanwise.registry import Registry


def annotation(sentences: list[str], rows) -> Annotation:
    return Annotation(Corpus.of([sentence.split() for sentence in sentences]), Mentions.of(rows))


TRAIN = annotation(
    ["New York beats New York City", "York is in York", "A B A B A"],
    [(0, 0, 2, "ORG"), (0, 3, 6, "LOC"), (1, 0, 1, "LOC"), (1, 3, 4, "PER"), (2, 0, 3, "ORG")],
)
TEST = annotation(["New York is new", "A B A"], [(0, 0, 2, "ORG"), (0, 1, 2, "LOC"), (1, 0, 3, "ORG")])


def context(test: Annotation = TEST, train: Annotation | None = TRAIN, **options) -> Context:
    lexicon = None if train is None else Lexicon.of([train])
    return Context(test.corpus, test.mentions, lexicon, **options)


def of(attribute: str, test: Annotation = TEST, **options) -> list:
    found = context(test, **options)
    got = values(attribute, found, test.mentions)
    return got.value.tolist() if got.names is None else [got.names[code] for code in got.value]


# --- by hand ------------------------------------------------------------------------------------


def test_entity_frequency_counts_occurrences_that_are_no_mention_too():
    # Of 15 tokens: "New York" twice, once in a longer mention; "York" four times; "A B A" twice, overlapping.
    assert of("entity_frequency") == [2 / 15, 4 / 15, 2 / 15]


def test_entity_label_consistency_takes_exact_mentions_of_the_label_only():
    # "New York" is ORG in one of two places; "York" LOC in one of four; "A B A" ORG in one of two.
    assert of("entity_label_consistency") == [1 / 2, 1 / 4, 1 / 2]


def test_token_label_consistency_disregards_where_in_the_mention_the_token_stands():
    # Units: New/ORG, York/ORG, York/LOC, A/ORG, B/ORG, A/ORG.
    assert of("token_label_consistency") == [1 / 2, 1 / 4, 2 / 4, 2 / 3, 1 / 2, 2 / 3]


def test_entity_density_counts_mentions_and_entity_token_density_tokens_once():
    assert of("entity_density") == [2 / 4, 2 / 4, 1 / 3]
    assert of("entity_token_density") == [2 / 4, 2 / 4, 3 / 3]


def test_oov_density_counts_words_that_training_does_not_have():
    assert of("oov_density") == [1 / 4, 1 / 4, 0]  # only "new", which is not "New"
    assert of("oov_density", lowercase=True) == [0, 0, 0]


def test_familiarities_count_training_mentions():
    assert of("entity_familiarity") == [1 / 5, 2 / 5, 1 / 5]
    assert of("label_familiarity") == [2 / 5, 2 / 5, 2 / 5]
    assert of("entity_label_familiarity") == [1, 1 / 2, 1]


def test_token_familiarities_count_tokens_of_training_mentions():
    # 10 tokens in mentions: New York | New York City | York | York | A B A.
    assert of("token_familiarity") == [2 / 10, 4 / 10, 4 / 10, 2 / 10, 1 / 10, 2 / 10]
    assert of("token_label_familiarity") == [1 / 2, 1 / 4, 2 / 4, 1, 1, 1]


def test_predicted_mentions_are_judged_by_their_own_label_and_the_gold_mentions_of_the_sentence():
    predicted = Mentions.of([(0, 0, 2, "LOC"), (0, 2, 3, "ORG"), (1, 0, 1, "NEW")])
    found = context()
    assert values("entity_label_consistency", found, predicted).value.tolist() == [0, 0, 0]
    assert values("entity_density", found, predicted).value.tolist() == [2 / 4, 2 / 4, 1 / 3]
    assert values("label_familiarity", found, predicted).value.tolist() == [2 / 5, 2 / 5, 0]


def test_a_token_unit_is_there_once_although_two_mentions_of_a_label_hold_it():
    test = annotation(["a b c"], [(0, 0, 2, "X"), (0, 1, 3, "X"), (0, 1, 2, "Y")])
    got = values("token_frequency", context(test), test.mentions)
    assert got.position.tolist() == [0, 1, 2, 1]
    assert got.unit_mention.tolist() == [0, 0, 1, 2]


def test_occurrences_never_cross_sentences():
    train = annotation(["a", "b a"], [(0, 0, 1, "X")])
    test = annotation(["a b"], [(0, 0, 2, "X")])
    assert values("entity_frequency", context(test, train), test.mentions).value.tolist() == [0]


@pytest.mark.parametrize(
    ("token", "shape"),
    [
        ("1999", "digit"),
        ("-3.5%", "digit"),
        ("$5", "digit"),
        ("--", "other"),
        ("USA", "upper"),
        ("U.S.", "upper"),
        ("B2B", "upper"),
        ("rome", "lower"),
        ("x-1", "lower"),
        ("Rome", "capitalised"),
        ("McDonald", "capitalised"),
        ("iPhone", "other"),
        ("日本", "other"),
        ("5pm", "lower"),
        ("Ö", "upper"),
    ],
)
def test_morphology_is_the_first_shape_that_fits(token, shape):
    assert shape_of(token) == shape


def test_morphology_looks_at_the_word_as_written_whatever_is_compared():
    assert of("morphology", lowercase=True)[:2] == ["capitalised", "capitalised"]


def test_the_vocabularies_of_training_and_test_may_be_one_object_or_two():
    words = [["a", "b"], ["b", "c"]]
    shared = Corpus.of(words)
    train = Corpus(shared.tokens[:2], shared.vocabulary, ints([0, 2]))
    test = Corpus(shared.tokens[2:], shared.vocabulary, ints([0, 2]))
    gold = Mentions.of([(0, 0, 2, "X")])
    one = Context(test, gold, Lexicon.of([Annotation(train, gold)]))
    two = Context(Corpus.of(words[1:]), gold, Lexicon.of([Annotation(Corpus.of(words[:1]), gold)]))
    for attribute in PRESETS["all"]:
        first, second = values(attribute, one, gold), values(attribute, two, gold)
        assert first.value.tolist() == second.value.tolist()
    assert values("oov_density", one, gold).value.tolist() == [1 / 2]


def test_inputs_stay_as_they_were():
    before = (TEST.corpus.tokens.copy(), TEST.mentions.start.copy(), TRAIN.corpus.tokens.copy())
    for attribute in PRESETS["all"]:
        of(attribute)
    after = (TEST.corpus.tokens, TEST.mentions.start, TRAIN.corpus.tokens)
    assert all((a == b).all() for a, b in zip(before, after, strict=True))


# --- texts of characters, gaps, unplaced, positions alone ---------------------------------------


def characters(text: str, rows) -> Annotation:
    """A text with its words as tokens, and mentions by characters."""
    starts, words, at = [], [], 0
    for word in text.split(" "):
        starts.append(at)
        words.append(word)
        at += len(word) + 1
    made = Corpus.of([words])
    corpus = Corpus(
        made.tokens,
        made.vocabulary,
        made.sentences,
        unit="character",
        texts=(text,),
        token_start=ints(starts),
        token_end=ints([start + len(word) for start, word in zip(starts, words, strict=True)]),
    )
    return Annotation(corpus, Mentions.of(rows))


def test_in_a_text_a_mention_has_the_tokens_it_touches():
    test = characters("New York rocks", [(0, 0, 8, "LOC"), (0, 5, 6, "LOC"), (0, 3, 4, "X"), (0, 7, 10, "X")])
    assert values("entity_length", context(test), test.mentions).value.tolist() == [2, 1, 0, 2]
    assert values("entity_frequency", context(test), test.mentions).value.tolist() == [2 / 15, 4 / 15, 0, 0]
    assert values("sentence_length", context(test), test.mentions).value.tolist() == [3, 3, 3, 3]


def test_two_mentions_of_characters_over_the_same_tokens_are_one_occurrence():
    train = characters("York York", [(0, 0, 4, "LOC"), (0, 1, 4, "LOC")])
    test = annotation(["York"], [(0, 0, 1, "LOC")])
    assert values("entity_label_consistency", context(test, train), test.mentions).value.tolist() == [1 / 2]


def with_gap(pieces: list[tuple[int, int]], sentence: str) -> Annotation:
    parts = Parts(offsets([len(pieces)]), ints([a for a, _ in pieces]), ints([b for _, b in pieces]))
    mentions = Mentions(ints([0]), ints([pieces[0][0]]), ints([pieces[-1][1]]), codes([0]), ("X",), parts)
    return Annotation(Corpus.of([sentence.split()]), mentions)


def test_a_discontinuous_mention_has_the_tokens_of_its_pieces():
    test = with_gap([(0, 1), (2, 3)], "New big York")
    assert values("entity_length", context(test), test.mentions).value.tolist() == [2]
    assert values("entity_frequency", context(test), test.mentions).value.tolist() == [2 / 15]
    assert values("token_frequency", context(test), test.mentions).position.tolist() == [0, 2]


def test_a_discontinuous_training_mention_is_no_occurrence_of_its_tokens():
    train = with_gap([(0, 1), (2, 3)], "New big York New York")
    test = annotation(["New York"], [(0, 0, 2, "X")])
    found = context(test, train)
    assert values("entity_label_consistency", found, test.mentions).value.tolist() == [0]
    assert values("entity_familiarity", found, test.mentions).value.tolist() == [1]


def test_an_unplaced_mention_has_no_value_where_its_text_is_needed():
    predicted = Mentions.of([(0, 0, 2, "ORG"), (0, -1, -1, "LOC"), (0, -1, -1, "LOC")])
    found = context()
    for attribute in choose("all"):
        got = values(attribute, found, predicted)
        sentence_alone = attribute.name in {
            "sentence_length",
            "entity_density",
            "oov_density",
            "entity_token_density",
            "label",
            "label_familiarity",
        }
        assert got.defined.tolist()[-2:] == [sentence_alone] * 2, attribute.name
        bucketing = fit(default_strategy(attribute), values(attribute, found, TEST.mentions))
        names = [bucketing.buckets[i].name for i in bucketing.assign(got)]
        assert (names[-1] == "unplaced") is not sentence_alone


def test_an_unplaced_mention_is_one_token_unit():
    predicted = Mentions.of([(0, 0, 2, "ORG"), (0, -1, -1, "LOC"), (0, -1, -1, "LOC")])
    got = values("token_frequency", context(), predicted)
    assert got.position.tolist() == [0, 1, -1, -1]
    assert got.unit_mention.tolist() == [0, 0, 1, 2]


def test_a_file_of_positions_has_lengths_and_labels_alone():
    corpus = Corpus(codes([]), (), ints([0, 0]), without_text=True)
    found = Context(corpus, Mentions.of([(0, 2, 5, "X")]), Lexicon.of([TRAIN]))
    assert [a.name for a in choose("all") if why_absent(a, found) is None] == ["entity_length", "label"]
    assert values("entity_length", found, found.gold).value.tolist() == [3]
    assert why_absent("sentence_length", found) == "the file holds positions alone, not the text"


def test_no_mentions_at_all_are_no_trouble():
    test = annotation(["a b"], [])
    for attribute in PRESETS["all"]:
        got = values(attribute, context(test), test.mentions)
        assert len(got) == 0
        assert fit(default_strategy(attribute), got).assign(got).tolist() == []
    assert np.isnan(values("entity_length", context(test), test.mentions).zeta)


def test_long_mentions_are_numbered_and_found():
    words = " ".join(f"w{i % 7}" for i in range(3000))
    train = annotation([words, words], [(0, 0, 3000, "X")])
    test = annotation([words], [(0, 0, 3000, "X"), (0, 0, 2999, "X"), (0, 1, 3000, "X")])
    assert values("entity_label_consistency", context(test, train), test.mentions).value.tolist() == [
        0.5,
        0,
        0,
    ]


def test_no_line_runs_once_a_token():
    rng = np.random.default_rng(0)

    def corpus(tokens: int) -> Corpus:
        drawn = rng.integers(0, 50, tokens).astype(np.int32)
        return Corpus(drawn, tuple(map(str, range(50))), ints(np.arange(0, tokens + 1, 20)))

    def lines(tokens: int) -> int:
        text = corpus(tokens)
        sentence = np.arange(len(text))
        mentions = Mentions(
            sentence, sentence * 0 + 3, sentence * 0 + 6, codes(sentence % 3), ("X", "Y", "Z")
        )
        lexicon = Lexicon.of([Annotation(text, mentions)])
        count = 0

        def trace(frame, event, argument):
            nonlocal count
            count += event == "line"
            return trace

        found = Context(text, mentions, lexicon)
        sys.settrace(trace)
        try:
            for attribute in PRESETS["all"]:
                fit(default_strategy(attribute), values(attribute, found, mentions))
        finally:
            sys.settrace(None)
        return count

    assert lines(40_000) < lines(4_000) + 200


# --- absent -------------------------------------------------------------------------------------


def test_without_training_data_attributes_are_absent_and_say_why():
    found = context(train=None)
    absent = {a.name: why_absent(a, found) for a in choose("fu20") if why_absent(a, found)}
    assert absent == {
        "oov_density": "no training data were given and no word list",
        **dict.fromkeys(
            (
                "entity_frequency",
                "token_frequency",
                "entity_label_consistency",
                "token_label_consistency",
            ),
            "no training data were given",
        ),
    }
    with pytest.raises(
        ChoiceError, match="'entity_frequency' cannot be computed: no training data were given"
    ):
        values("entity_frequency", found, TEST.mentions)


def test_a_word_list_is_enough_for_words_out_of_vocabulary():
    found = context(train=None, known=frozenset({"New", "York"}))
    assert values("oov_density", found, TEST.mentions).value.tolist() == [2 / 4, 2 / 4, 1]


def test_empty_training_data_leave_nothing_to_take_a_share_of():
    no_mention, no_token = annotation(["a b"], []), annotation([], [])
    assert why_absent("entity_frequency", context(train=no_mention)) == "the training data hold no mention"
    assert why_absent("oov_density", context(train=no_mention)) is None
    assert why_absent("oov_density", context(train=no_token)) == "the training data hold no token"


# --- names --------------------------------------------------------------------------------------


def test_presets_and_aliases_name_the_attributes_of_the_papers():
    assert [a.alias for a in choose("fu20")] == [
        "eLen",
        "sLen",
        "eDen",
        "oDen",
        "eFre",
        "tFre",
        "eCon",
        "tCon",
    ]
    assert len(choose("fu19")) == 10
    assert len(choose("all")) == 16
    assert [a.alias for a in choose("fu19")][:4] == ["R-eDen", "R-oov", "R-sLen", "R-eLen"]
    assert len(choose(["fu20", "eLen", "label"])) == 9
    assert len(choose("eLen,entity_length")) == 1


def test_an_unknown_attribute_is_answered_with_the_nearest():
    with pytest.raises(ChoiceError, match="Did you mean 'entity_length'"):
        choose("entity_lenght")


def test_every_attribute_says_what_it_is_and_where_it_comes_from():
    for attribute in choose("all"):
        assert attribute.summary and attribute.source and attribute.alias
        assert attribute.needs <= {"text", "train", "vocabulary"}


# --- one's own ----------------------------------------------------------------------------------


@pytest.fixture
def registry(monkeypatch):
    """A registry of this test alone."""
    fresh: Registry = Registry("attribute")
    for attribute in ATTRIBUTES:
        fresh.add(attribute)
    monkeypatch.setattr(attributes, "ATTRIBUTES", fresh)
    return fresh


def test_a_plain_function_of_a_mention_becomes_an_attribute(registry):
    @register(alias="cap")
    def capitals(mention):
        """Tokens that begin with a capital"""
        return sum(token[0].isupper() for token in mention.tokens)

    assert registry.find("capitals").summary == "Tokens that begin with a capital"
    assert of("capitals") == of("cap") == [2, 1, 3]


def test_a_mention_knows_its_words_label_sentence_and_place(registry):
    seen = []
    register(lambda mention: seen.append(mention) or len(mention), name="seen")
    of("seen")
    second = seen[1]
    assert (second.tokens, second.label, second.start, second.end) == (("York",), "LOC", 1, 2)
    assert (second.sentence, second.text, len(second)) == (("New", "York", "is", "new"), "York", 1)


def test_in_a_text_the_mention_shows_its_characters(registry):
    register(lambda mention: mention.text, name="shown")
    test = characters("New York rocks", [(0, 1, 6, "LOC")])
    got = values("shown", context(test), test.mentions)
    assert got.names == ("ew Yo",)


def test_a_function_of_tokens_sees_each_unit(registry):
    register(lambda token: f"{token.text}/{token.label}/{token.position}", name="where", unit="token")
    assert of("where") == ["New/ORG/0", "York/ORG/1", "York/LOC/1", "A/ORG/0", "B/ORG/1", "A/ORG/2"]


def test_a_function_of_columns_is_called_once_a_side(registry):
    register(lambda side: side.mentions.length * 2, name="twice", columns=True)
    assert of("twice") == [4, 2, 6]


def test_a_function_that_gives_words_is_a_category_and_follows_gold_for_predictions(registry):
    register(lambda mention: mention.tokens[0].lower(), name="first")
    found = context()
    assert values("first", found, TEST.mentions).kind == "category"
    chosen = default_strategy(registry.find("first"))
    assert fit(chosen, values("first", found, TEST.mentions)).strategy == "category"


def test_numbers_of_gold_make_predictions_without_one_other(registry):
    register(lambda mention: 1 if mention.label != "BAD" else "none", name="odd")
    predicted = Mentions.of([(0, 0, 1, "BAD")])
    found = context()
    bucketing = fit("balanced:1", values("odd", found, TEST.mentions))
    assert bucketing.assign(values("odd", found, predicted)).tolist() == [1]
    assert bucketing.buckets[1].name == "other"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "much"])
def test_a_value_that_is_no_number_is_refused_with_its_place(registry, value):
    register(lambda mention: value, name="bad", kind="numeric")
    with pytest.raises(InputError) as error:
        of("bad")
    assert "the attribute 'bad' is" in str(error.value)
    assert "for the mention ORG [0, 2) of sentence 1" in str(error.value)


def test_a_function_that_gives_too_few_values_is_told_so(registry):
    register(lambda side: [1], name="short", columns=True)
    with pytest.raises(InputError, match="'short' gave 1 value for 3 mentions"):
        of("short")


def test_a_name_is_taken_once(registry):
    register(lambda mention: 1, name="mine")
    with pytest.raises(ChoiceError, match="the attribute 'mine' exists already"):
        register(lambda mention: 1, name="mine")
    register(lambda mention: 2, name="mine", replace=True)
    assert of("mine") == [2, 2, 2]


# --- given with the data ------------------------------------------------------------------------


def with_data() -> Annotation:
    corpus = Corpus.of([["a", "b"], ["c"]])
    corpus = Corpus(
        corpus.tokens,
        corpus.vocabulary,
        corpus.sentences,
        columns={"3": np.array(["NN", "VB", "NN"]), "4": np.array(["1", "2.5", "3"])},
        fields={"source": np.array(["web", "news"])},
    )
    mentions = Mentions.of([(0, 0, 2, "X"), (1, 0, 1, "Y")])
    sure = Mentions(
        mentions.sentence,
        mentions.start,
        mentions.end,
        mentions.label,
        mentions.labels,
        fields={"confidence": np.array([0.5, 0.75])},
    )
    return Annotation(corpus, sure)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("domain=column:3", "domain", ["NN", "NN"]),
        ("column:4", "4", [1, 3]),
        ("field:source", "source", ["web", "news"]),
        ("sure=field:confidence", "sure", [0.5, 0.75]),
    ],
)
def test_columns_and_fields_give_values_of_their_own_kind(text, name, expected):
    test = with_data()
    found = Context(test.corpus, test.mentions)
    attribute = choose(text)[0]
    got = values(attribute, found, test.mentions)
    assert attribute.name == name
    assert (got.value.tolist() if got.names is None else [got.names[i] for i in got.value]) == expected


def test_predictions_without_the_field_of_gold_mentions_are_other():
    test = with_data()
    found = Context(test.corpus, test.mentions)
    attribute = given("field:confidence")
    bucketing = fit("balanced:2", values(attribute, found, test.mentions))
    predicted = values(attribute, found, Mentions.of([(0, 0, 1, "X")]))
    assert bucketing.buckets[bucketing.assign(predicted)[0]].name == "other"


def test_a_column_that_is_not_there_is_named_with_those_that_are():
    test = with_data()
    found = Context(test.corpus, test.mentions)
    expected = "no column of the tokens is called '9' (there are: 3, 4)"
    assert why_absent(given("column:9"), found) == expected
    expected = "no field of the gold sentences or mentions is called 'x' (there are: source, confidence)"
    assert why_absent(given("field:x"), found) == expected


@pytest.mark.parametrize("text", ["domain=row:3", "domain=3", "column:", "x=field:"])
def test_a_place_that_is_none_says_how_to_write_one(text):
    with pytest.raises(ChoiceError, match="Write NAME=column:NUMBER"):
        given(text)


# --- the tree of sequences ----------------------------------------------------------------------


def test_overlapping_occurrences_are_all_counted():
    tokens = np.zeros(10, dtype=np.int32)
    forms, number = Forms.of(tokens, Runs.spanning(np.array([0, 0]), np.array([3, 1])), width=1)
    text = Corpus(tokens, ("a",), ints([0, 5, 10]))
    assert Lexicon.of([Annotation(text, Mentions.of([]))]).occurrences(forms)[number].tolist() == [6, 10]


def test_a_sequence_that_is_not_in_the_tree_is_not_found():
    tokens = np.array([0, 1, 2], dtype=np.int32)
    known, _ = Forms.of(tokens, Runs.spanning(np.array([0]), np.array([2])), width=3)
    rows = Runs.spanning(np.array([0, 1, 0, 0]), np.array([2, 2, 3, 0]))
    asked, number = Forms.of(tokens, rows, width=3)
    assert np.append(known.places(asked), -1)[number].tolist() == [1, -1, -1, -1]


def drawn_text(blocks, words, seed):
    """A text of random sentences, and the tree of some runs of tokens that occur in it or not."""
    rng = np.random.default_rng(seed)
    sizes = [rng.integers(0, 40, 500) for _ in range(blocks)]
    text = [(rng.integers(0, words, size.sum()).astype(np.int32), offsets(size)) for size in sizes]
    tokens = np.concatenate([text[0][0], rng.integers(0, words + 3, 3000).astype(np.int32)])
    size = rng.integers(1, 5, 6000)
    rows = Runs.spanning(rng.integers(0, len(tokens) - 5, 6000), size)
    strings = tuple(f"w{code}" for code in range(words + 3))
    parts = [Annotation(Corpus(codes, strings, sentences), Mentions.of([])) for codes, sentences in text]
    return Lexicon.of(parts), tokens, rows


def plainly_counted(lexicon, longest):
    """How often every sequence of up to so many tokens occurs, sentence by sentence."""
    expected: Counter = Counter()
    for part in lexicon.parts:
        for begin, end in pairwise(part.corpus.sentences.tolist()):
            words = part.corpus.tokens[begin:end].tolist()
            for size in range(1, longest + 1):
                expected.update(tuple(words[i : i + size]) for i in range(len(words) - size + 1))
    return expected


def test_thousands_of_sequences_are_told_apart_and_counted_across_blocks(monkeypatch):
    monkeypatch.setattr("spanwise.attributes._forms.BLOCK", 1000)
    lexicon, tokens, rows = drawn_text(3, 60, 7)
    forms, number = Forms.of(tokens, rows, width=63)
    assert forms._slots[1].any()  # some hashes are shared, or this would show nothing
    asked = [tuple(tokens[row].tolist()) for row in np.split(rows.position, rows.at[1:-1])]
    expected = plainly_counted(lexicon, 4)
    assert lexicon.occurrences(forms)[number].tolist() == [expected[form] for form in asked]
    assert len(set(number.tolist())) == len(set(asked))


def test_a_tree_tells_its_sequences():
    tokens = np.array([4, 7, 7, 1, 4, 7], dtype=np.int32)
    rows = Runs.spanning(np.array([0, 3, 2, 4]), np.array([3, 1, 2, 2]))
    forms, number = Forms.of(tokens, rows, width=8)
    flat, at = forms.sequences(number)
    assert [row.tolist() for row in np.split(flat, at[1:-1])] == [[4, 7, 7], [1], [7, 1], [4, 7]]


def test_a_recoded_tree_is_the_tree_of_the_recoded_text():
    for seed in range(5):
        _, tokens, rows = drawn_text(1, 9, seed)
        labels = np.random.default_rng(seed).integers(0, 2, len(rows.size)).astype(np.int32)
        table = np.array([0, 1, 2, 0, 1, 2, 3, 3, 3, 4, 4, 5], dtype=np.int32)  # as lower case does it
        forms, number = Forms.of(tokens, rows, width=12)
        pairs = PairCounts.of(number, labels, items=len(forms), labels=2)
        merged, (place,) = Forms.union([(forms, table)], 6)
        plain, plain_number = Forms.of(table[tokens], rows, width=6)
        assert merged.single.tolist() == plain.single.tolist()
        assert merged.keys.tolist() == plain.keys.tolist()
        assert place[number].tolist() == plain_number.tolist()
        moved = PairCounts.joined([(pairs, place, ints([0, 1]))], items=len(merged), labels=2)
        expected = PairCounts.of(plain_number, labels, items=len(plain), labels=2)
        assert moved.table.tolist() == expected.table.tolist()
        assert moved.row.tolist() == expected.row.tolist()


def test_a_union_of_trees_is_the_tree_of_all_rows_without_those_that_have_a_code_left_out():
    for seed in range(5):
        _, tokens, rows = drawn_text(1, 9, seed)
        table = np.array([3, -1, 0, 1, 2, 4, -1, 5, 6, 7, 8, 9], dtype=np.int32)
        halves = [Runs(offsets(part), rows.position[at:]) for part, at in (
            (rows.size[:3000], 0), (rows.size[3000:], int(rows.at[3000])),
        )]  # fmt: skip
        trees, numbers = zip(*(Forms.of(tokens, half, width=12) for half in halves), strict=True)
        union, places = Forms.union([(tree, table) for tree in trees], 10)
        found = np.concatenate([place[number] for place, number in zip(places, numbers, strict=True)])
        kept = [(table[tokens[row]] >= 0).all() for row in np.split(rows.position, rows.at[1:-1])]
        assert (found >= 0).tolist() == kept
        flat, at = union.sequences(ints(found[found >= 0]))
        expected = [
            row
            for row, all_there in zip(np.split(rows.position, rows.at[1:-1]), kept, strict=True)
            if all_there
        ]
        assert [row.tolist() for row in np.split(flat, at[1:-1])] == [
            table[tokens[row]].tolist() for row in expected
        ]


def test_what_sums_over_training_blocks_say_is_what_the_training_text_says():
    random = np.random.default_rng(0)

    def drawn(sentences, words):
        texts = [list(random.choice(words, random.integers(1, 9))) for _ in range(sentences)]
        spans = set()
        for number, text in enumerate(texts):
            for _ in range(random.integers(0, 4)):
                start = int(random.integers(0, len(text)))
                end = int(random.integers(start + 1, len(text) + 1))
                spans.add((number, start, end, str(random.choice(["X", "Y"]))))
        return texts, Mentions.of(sorted(spans), labels=("X", "Y"))

    for _ in range(40):
        blocks = [drawn(15, list("abcdefgh")[: random.integers(2, 7)]) for _ in range(3)]
        train = [Annotation(Corpus.of(texts), mentions) for texts, mentions in blocks]
        parts = [drawn(8, list("abcdefgh")[: random.integers(2, 9)]) for _ in range(3)]
        asked = Wanted.joined([wanted(Corpus.of(part), [gold]) for part, gold in parts])
        summed = LexiconSums.joined([LexiconSums.of(Lexicon.of([block]), asked) for block in train])
        for part, gold in parts:
            one = Context(Corpus.of(part), gold, SummedLexicon(asked, summed)).side(gold)
            other = Context(Corpus.of(part), gold, Lexicon.of(train)).side(gold)
            assert one.form.tolist() == other.form.tolist()
            assert one.counts.occurrences.tolist() == other.counts.occurrences.tolist()
            for table in ("exact", "mentions"):
                mine, theirs = getattr(one.counts, table), getattr(other.counts, table)
                assert mine.total(one.form).tolist() == theirs.total(other.form).tolist()
                for label in (0, 1):
                    labels = np.full(len(gold), label)
                    assert mine.count(one.form, labels).tolist() == theirs.count(other.form, labels).tolist()


def test_what_comes_with_the_data_is_told_from_what_is_ours_and_from_functions_of_others() -> None:
    kinds = [*choose("entity_length,domain=column:3"), own(len, name="other")]
    assert [(is_built_in(one), is_given(one)) for one in kinds] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    same_name = own(len, name="entity_length")
    assert not is_built_in(same_name)
    assert is_given(pickle.loads(pickle.dumps(kinds[1])))
