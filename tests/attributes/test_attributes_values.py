"""Attributes one by one: values by hand, sides, character texts, user functions, absent attributes."""

from __future__ import annotations

import pickle
from typing import TypeAlias

import numpy as np
import pytest
from line_counts import lines_run
from msgspec.structs import replace
from typed import present

import spanwise
import spanwise.attributes as attributes
from spanwise.attributes import (
    ATTRIBUTES,
    PRESETS,
    Attribute,
    Context,
    Lexicon,
    LexiconQueries,
    LexiconSums,
    Mention,
    SummedLexicon,
    Values,
    choose,
    collect_lexicon_queries,
    given,
    is_built_in,
    is_given,
    own,
    register,
    values,
    why_absent,
)
from spanwise.attributes.papers import shape_of
from spanwise.buckets import default_strategy, fit
from spanwise.columns import Column, codes, ints
from spanwise.corpus import Annotation, Corpus, Mentions, Parts
from spanwise.errors import ChoiceError, InputError
from spanwise.registry import Registry

Row: TypeAlias = tuple[int, int, int, str]


def annotation(sentences: list[str], rows: list[Row]) -> Annotation:
    return Annotation(Corpus.of([sentence.split() for sentence in sentences]), Mentions.of(rows))


TRAIN = annotation(
    ["New York beats New York City", "York is in York", "A B A B A"],
    [(0, 0, 2, "ORG"), (0, 3, 6, "LOC"), (1, 0, 1, "LOC"), (1, 3, 4, "PER"), (2, 0, 3, "ORG")],
)
TEST = annotation(["New York is new", "A B A"], [(0, 0, 2, "ORG"), (0, 1, 2, "LOC"), (1, 0, 3, "ORG")])


def context_of(
    test: Annotation = TEST,
    train: Annotation | None = TRAIN,
    *,
    lowercase: bool = False,
    known: frozenset[str] | None = None,
) -> Context:
    lexicon = None if train is None else Lexicon.of([train])
    return Context(test.corpus, test.mentions, lexicon, lowercase=lowercase, known=known)


def of(attribute: str, *, lowercase: bool = False) -> list[object]:
    return listed(values(attribute, context_of(lowercase=lowercase), TEST.mentions))


def listed(found_values: Values) -> list[object]:
    return list(
        found_values.value.tolist()
        if found_values.names is None
        else [found_values.names[code] for code in found_values.value]
    )


# --- by hand ------------------------------------------------------------------------------------


def test_entity_frequency_also_counts_occurrences_outside_mentions() -> None:
    # Of 15 tokens: "New York" twice, once in a longer mention; "York" four times; "A B A" twice, overlapping.
    assert of("entity_frequency") == [2 / 15, 4 / 15, 2 / 15]


def test_entity_label_consistency_counts_only_exact_mentions_of_the_label() -> None:
    # "New York" is ORG in one of two occurrences; "York" LOC in one of four; "A B A" ORG in one of two.
    assert of("entity_label_consistency") == [1 / 2, 1 / 4, 1 / 2]


def test_token_label_consistency_ignores_the_position_of_the_token_in_the_mention() -> None:
    # Units: New/ORG, York/ORG, York/LOC, A/ORG, B/ORG, A/ORG.
    assert of("token_label_consistency") == [1 / 2, 1 / 4, 2 / 4, 2 / 3, 1 / 2, 2 / 3]


def test_entity_density_counts_mentions_and_entity_token_density_tokens_once() -> None:
    assert of("entity_density") == [2 / 4, 2 / 4, 1 / 3]
    assert of("entity_token_density") == [2 / 4, 2 / 4, 3 / 3]


def test_oov_density_counts_words_missing_from_the_training_data() -> None:
    assert of("oov_density") == [1 / 4, 1 / 4, 0]  # only "new", which differs from "New"
    assert of("oov_density", lowercase=True) == [0, 0, 0]


def test_familiarities_count_training_mentions() -> None:
    assert of("entity_familiarity") == [1 / 5, 2 / 5, 1 / 5]
    assert of("label_familiarity") == [2 / 5, 2 / 5, 2 / 5]
    assert of("entity_label_familiarity") == [1, 1 / 2, 1]


def test_token_familiarities_count_tokens_of_training_mentions() -> None:
    # 10 tokens in mentions: New York | New York City | York | York | A B A.
    assert of("token_familiarity") == [2 / 10, 4 / 10, 4 / 10, 2 / 10, 1 / 10, 2 / 10]
    assert of("token_label_familiarity") == [1 / 2, 1 / 4, 2 / 4, 1, 1, 1]


def test_predicted_mentions_are_judged_by_their_own_label_and_the_gold_mentions_of_the_sentence() -> None:
    predicted = Mentions.of([(0, 0, 2, "LOC"), (0, 2, 3, "ORG"), (1, 0, 1, "NEW")])
    context = context_of()
    assert values("entity_label_consistency", context, predicted).value.tolist() == [0, 0, 0]
    assert values("entity_density", context, predicted).value.tolist() == [2 / 4, 2 / 4, 1 / 3]
    assert values("label_familiarity", context, predicted).value.tolist() == [2 / 5, 2 / 5, 0]


def test_a_token_in_two_mentions_of_one_label_is_a_single_unit() -> None:
    test = annotation(["a b c"], [(0, 0, 2, "X"), (0, 1, 3, "X"), (0, 1, 2, "Y")])
    got = values("token_frequency", context_of(test), test.mentions)
    assert present(got.position).tolist() == [0, 1, 2, 1]
    assert present(got.unit_mention).tolist() == [0, 0, 1, 2]


def test_occurrences_never_cross_sentences() -> None:
    train = annotation(["a", "b a"], [(0, 0, 1, "X")])
    test = annotation(["a b"], [(0, 0, 2, "X")])
    assert values("entity_frequency", context_of(test, train), test.mentions).value.tolist() == [0]


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
def test_morphology_is_the_first_shape_that_fits(token: str, shape: str) -> None:
    assert shape_of(token) == shape


def test_morphology_looks_at_the_word_as_written_even_with_lowercase() -> None:
    assert of("morphology", lowercase=True)[:2] == ["capitalised", "capitalised"]


def test_the_vocabularies_of_training_and_test_may_be_one_object_or_two() -> None:
    words = [["a", "b"], ["b", "c"]]
    shared = Corpus.of(words)
    train = Corpus(shared.tokens[:2], shared.vocabulary, ints([0, 2]))
    test = Corpus(shared.tokens[2:], shared.vocabulary, ints([0, 2]))
    gold = Mentions.of([(0, 0, 2, "X")])
    shared_context = Context(test, gold, Lexicon.of([Annotation(train, gold)]))
    separate_context = Context(
        Corpus.of(words[1:]), gold, Lexicon.of([Annotation(Corpus.of(words[:1]), gold)])
    )
    for attribute in PRESETS["all"]:
        first, second = values(attribute, shared_context, gold), values(attribute, separate_context, gold)
        assert first.value.tolist() == second.value.tolist()
    assert values("oov_density", shared_context, gold).value.tolist() == [1 / 2]


def test_inputs_stay_as_they_were() -> None:
    columns: list[Column] = [TEST.corpus.tokens, TEST.mentions.start, TRAIN.corpus.tokens]
    before = [column.copy() for column in columns]
    for attribute in PRESETS["all"]:
        of(attribute)
    assert all(np.array_equal(a, b) for a, b in zip(before, columns, strict=True))


# --- character texts, gaps, unplaced mentions, positions without text ---------------------------


def characters(text: str, rows: list[Row]) -> Annotation:
    """A text with its words as tokens, and mentions in character positions."""
    starts, words, at = [], [], 0
    for word in text.split(" "):
        starts.append(at)
        words.append(word)
        at += len(word) + 1
    tokenised = Corpus.of([words])
    corpus = Corpus(
        tokenised.tokens,
        tokenised.vocabulary,
        tokenised.sentences,
        unit="character",
        texts=(text,),
        token_start=ints(starts),
        token_end=ints([start + len(word) for start, word in zip(starts, words, strict=True)]),
    )
    return Annotation(corpus, Mentions.of(rows))


def test_in_a_text_a_mention_has_the_tokens_it_touches() -> None:
    test = characters("New York rocks", [(0, 0, 8, "LOC"), (0, 5, 6, "LOC"), (0, 3, 4, "X"), (0, 7, 10, "X")])
    assert values("entity_length", context_of(test), test.mentions).value.tolist() == [2, 1, 0, 2]
    assert values("entity_frequency", context_of(test), test.mentions).value.tolist() == [
        2 / 15,
        4 / 15,
        0,
        0,
    ]
    assert values("sentence_length", context_of(test), test.mentions).value.tolist() == [3, 3, 3, 3]


def test_two_mentions_of_characters_over_the_same_tokens_are_one_occurrence() -> None:
    train = characters("York York", [(0, 0, 4, "LOC"), (0, 1, 4, "LOC")])
    test = annotation(["York"], [(0, 0, 1, "LOC")])
    assert values("entity_label_consistency", context_of(test, train), test.mentions).value.tolist() == [
        1 / 2
    ]


def with_gap(pieces: list[tuple[int, int]], sentence: str) -> Annotation:
    outer = Mentions.of([(0, pieces[0][0], pieces[-1][1], "X")])
    return Annotation(Corpus.of([sentence.split()]), replace(outer, parts=Parts.of([pieces])))


def test_a_discontinuous_mention_has_the_tokens_of_its_pieces() -> None:
    test = with_gap([(0, 1), (2, 3)], "New big York")
    assert values("entity_length", context_of(test), test.mentions).value.tolist() == [2]
    assert values("entity_frequency", context_of(test), test.mentions).value.tolist() == [2 / 15]
    assert present(values("token_frequency", context_of(test), test.mentions).position).tolist() == [0, 2]


def test_a_discontinuous_training_mention_is_not_an_occurrence_of_its_tokens() -> None:
    train = with_gap([(0, 1), (2, 3)], "New big York New York")
    test = annotation(["New York"], [(0, 0, 2, "X")])
    context = context_of(test, train)
    assert values("entity_label_consistency", context, test.mentions).value.tolist() == [0]
    assert values("entity_familiarity", context, test.mentions).value.tolist() == [1]


def test_an_unplaced_mention_has_no_value_if_its_text_is_needed() -> None:
    predicted = Mentions.of([(0, 0, 2, "ORG"), (0, -1, -1, "LOC"), (0, -1, -1, "LOC")])
    context = context_of()
    for attribute in choose("all"):
        got = values(attribute, context, predicted)
        sentence_alone = attribute.name in {
            "sentence_length",
            "entity_density",
            "oov_density",
            "entity_token_density",
            "label",
            "label_familiarity",
        }
        assert got.defined.tolist()[-2:] == [sentence_alone] * 2, attribute.name
        bucketing = fit(default_strategy(attribute), values(attribute, context, TEST.mentions))
        names = [bucketing.buckets[i].name for i in bucketing.assign(got)]
        assert (names[-1] == "unplaced") is not sentence_alone


def test_an_unplaced_mention_is_one_token_unit() -> None:
    predicted = Mentions.of([(0, 0, 2, "ORG"), (0, -1, -1, "LOC"), (0, -1, -1, "LOC")])
    got = values("token_frequency", context_of(), predicted)
    assert present(got.position).tolist() == [0, 1, -1, -1]
    assert present(got.unit_mention).tolist() == [0, 0, 1, 2]


def test_a_file_of_positions_has_only_lengths_and_labels() -> None:
    corpus = Corpus(codes([]), (), ints([0, 0]), without_text=True)
    context = Context(corpus, Mentions.of([(0, 2, 5, "X")]), Lexicon.of([TRAIN]))
    assert [a.name for a in choose("all") if why_absent(a, context) is None] == ["entity_length", "label"]
    assert values("entity_length", context, context.gold).value.tolist() == [3]
    assert why_absent("sentence_length", context) == "the file holds only positions, not the text"


def test_attributes_can_be_computed_without_any_mentions() -> None:
    test = annotation(["a b"], [])
    for attribute in PRESETS["all"]:
        got = values(attribute, context_of(test), test.mentions)
        assert len(got) == 0
        assert fit(default_strategy(attribute), got).assign(got).tolist() == []
    assert np.isnan(values("entity_length", context_of(test), test.mentions).zeta)


def test_long_mentions_are_found_in_the_training_data() -> None:
    words = " ".join(f"w{i % 7}" for i in range(3000))
    train = annotation([words, words], [(0, 0, 3000, "X")])
    test = annotation([words], [(0, 0, 3000, "X"), (0, 0, 2999, "X"), (0, 1, 3000, "X")])
    assert values("entity_label_consistency", context_of(test, train), test.mentions).value.tolist() == [
        0.5,
        0,
        0,
    ]


def test_no_line_of_attributes_runs_once_per_token() -> None:
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
        context = Context(text, mentions, Lexicon.of([Annotation(text, mentions)]))

        def bucket() -> None:
            for attribute in PRESETS["all"]:
                fit(default_strategy(attribute), values(attribute, context, mentions))

        return lines_run(bucket).total()

    assert lines(40_000) < lines(4_000) + 200


# --- absent -------------------------------------------------------------------------------------


def test_without_training_data_attributes_are_absent_and_say_why() -> None:
    context = context_of(train=None)
    absent = {a.name: why_absent(a, context) for a in choose("fu20") if why_absent(a, context)}
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
        values("entity_frequency", context, TEST.mentions)


def test_a_word_list_is_enough_for_words_out_of_vocabulary() -> None:
    context = context_of(train=None, known=frozenset({"New", "York"}))
    assert values("oov_density", context, TEST.mentions).value.tolist() == [2 / 4, 2 / 4, 1]


def test_shares_of_empty_training_data_are_absent() -> None:
    no_mention, no_token = annotation(["a b"], []), annotation([], [])
    assert (
        why_absent("entity_frequency", context_of(train=no_mention))
        == "the training data contain no mentions"
    )
    assert why_absent("oov_density", context_of(train=no_mention)) is None
    assert why_absent("oov_density", context_of(train=no_token)) == "the training data contain no tokens"


# --- names --------------------------------------------------------------------------------------


def test_presets_and_aliases_name_the_attributes_of_the_papers() -> None:
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
    assert len(choose("all")) == 18
    assert [a.alias for a in choose("fu19")][:4] == ["R-eDen", "R-oov", "R-sLen", "R-eLen"]
    assert len(choose(["fu20", "eLen", "label"])) == 9
    assert len(choose("eLen,entity_length")) == 1


def test_an_unknown_attribute_is_answered_with_the_closest_one() -> None:
    with pytest.raises(ChoiceError, match="Did you mean 'entity_length'"):
        choose("entity_lenght")


def test_every_attribute_has_a_summary_and_a_source() -> None:
    for attribute in choose("all"):
        assert attribute.summary
        assert (attribute.source and attribute.alias) or attribute.name.endswith("position")  # no paper's
        assert attribute.needs <= {"text", "train", "vocabulary"}


# --- user-defined attributes --------------------------------------------------------------------


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry[Attribute]:
    """A registry used only by this test."""
    fresh: Registry[Attribute] = Registry("attribute")
    for attribute in ATTRIBUTES:
        fresh.add(attribute)
    monkeypatch.setattr(attributes, "ATTRIBUTES", fresh)
    return fresh


def test_a_plain_function_of_a_mention_becomes_an_attribute(registry: Registry[Attribute]) -> None:
    @register(alias="cap")
    def capitals(mention: Mention) -> int:
        """Tokens that begin with a capital"""
        return sum(token[0].isupper() for token in mention.tokens)

    assert registry.find("capitals").summary == "Tokens that begin with a capital"
    assert of("capitals") == of("cap") == [2, 1, 3]


def test_a_mention_has_its_words_label_sentence_and_position(registry: Registry[Attribute]) -> None:
    seen: list[Mention] = []

    @register(name="seen")
    def _(mention: Mention) -> int:
        seen.append(mention)
        return len(mention)

    of("seen")
    second = seen[1]
    assert (second.tokens, second.label, second.start, second.end) == (("York",), "LOC", 1, 2)
    assert (second.sentence, second.text, len(second)) == (("New", "York", "is", "new"), "York", 1)


def test_in_a_text_the_mention_shows_its_characters(registry: Registry[Attribute]) -> None:
    register(lambda mention: mention.text, name="shown")
    test = characters("New York rocks", [(0, 1, 6, "LOC")])
    got = values("shown", context_of(test), test.mentions)
    assert got.names == ("ew Yo",)


def test_a_function_of_tokens_sees_each_unit(registry: Registry[Attribute]) -> None:
    register(lambda token: f"{token.text}/{token.label}/{token.position}", name="where", unit="token")
    assert of("where") == ["New/ORG/0", "York/ORG/1", "York/LOC/1", "A/ORG/0", "B/ORG/1", "A/ORG/2"]


def test_a_function_of_columns_is_called_once_per_side(registry: Registry[Attribute]) -> None:
    register(lambda side: side.mentions.length * 2, name="twice", columns=True)
    assert of("twice") == [4, 2, 6]


def test_a_function_that_returns_words_is_categorical_with_the_kind_taken_from_gold(
    registry: Registry[Attribute],
) -> None:
    register(lambda mention: mention.tokens[0].lower(), name="first")
    context = context_of()
    assert values("first", context, TEST.mentions).kind == "category"
    chosen = default_strategy(registry.find("first"))
    assert fit(chosen, values("first", context, TEST.mentions)).strategy == "category"


def test_predictions_without_a_number_are_other_if_gold_has_numbers(registry: Registry[Attribute]) -> None:
    register(lambda mention: 1 if mention.label != "BAD" else "none", name="odd")
    predicted = Mentions.of([(0, 0, 1, "BAD")])
    context = context_of()
    bucketing = fit("balanced:1", values("odd", context, TEST.mentions))
    assert bucketing.assign(values("odd", context, predicted)).tolist() == [1]
    assert bucketing.buckets[1].name == "other"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "much"])
def test_a_value_that_is_not_a_number_is_refused_with_its_position(
    registry: Registry[Attribute], value: float | str | None
) -> None:
    register(lambda mention: value, name="bad", kind="numeric")
    with pytest.raises(InputError) as error:
        of("bad")
    assert "the attribute 'bad' is" in str(error.value)
    assert "for the mention ORG [0, 2) of sentence 1" in str(error.value)


def test_a_function_that_returns_too_few_values_is_refused(registry: Registry[Attribute]) -> None:
    register(lambda side: [1], name="short", columns=True)
    with pytest.raises(InputError, match="'short' gave 1 value for 3 mentions"):
        of("short")


def test_a_name_can_be_registered_only_once(registry: Registry[Attribute]) -> None:
    register(lambda mention: 1, name="mine")
    with pytest.raises(ChoiceError, match="the attribute 'mine' already exists"):
        register(lambda mention: 1, name="mine")
    register(lambda mention: 2, name="mine", replace=True)
    assert of("mine") == [2, 2, 2]


# --- given with the data ------------------------------------------------------------------------


def with_data() -> Annotation:
    corpus = Corpus.of([["a", "b"], ["c"]])
    corpus = replace(
        corpus,
        columns={"3": np.array(["NN", "VB", "NN"]), "4": np.array(["1", "2.5", "3"])},
        fields={"source": np.array(["web", "news"])},
    )
    mentions = Mentions.of([(0, 0, 2, "X"), (1, 0, 1, "Y")])
    return Annotation(corpus, replace(mentions, fields={"confidence": np.array([0.5, 0.75])}))


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("domain=column:3", "domain", ["NN", "NN"]),
        ("column:4", "4", [1, 3]),
        ("field:source", "source", ["web", "news"]),
        ("sure=field:confidence", "sure", [0.5, 0.75]),
    ],
)
def test_columns_and_fields_give_values_of_their_own_kind(
    text: str, name: str, expected: list[object]
) -> None:
    test = with_data()
    context = Context(test.corpus, test.mentions)
    attribute = choose(text)[0]
    got = values(attribute, context, test.mentions)
    assert attribute.name == name
    assert listed(got) == expected


def test_predictions_without_the_field_of_gold_mentions_are_other() -> None:
    test = with_data()
    context = Context(test.corpus, test.mentions)
    attribute = given("field:confidence")
    bucketing = fit("balanced:2", values(attribute, context, test.mentions))
    predicted = values(attribute, context, Mentions.of([(0, 0, 1, "X")]))
    assert bucketing.buckets[bucketing.assign(predicted)[0]].name == "other"


def test_the_reason_for_an_absent_column_lists_the_columns_there_are() -> None:
    test = with_data()
    context = Context(test.corpus, test.mentions)
    expected = "no column of the tokens is called '9' (there are: 3, 4)"
    assert why_absent(given("column:9"), context) == expected
    expected = "no field of the gold sentences or mentions is called 'x' (there are: source, confidence)"
    assert why_absent(given("field:x"), context) == expected


@pytest.mark.parametrize("text", ["domain=row:3", "domain=3", "column:", "x=field:"])
def test_an_error_about_a_data_attribute_says_how_to_write_one(text: str) -> None:
    with pytest.raises(ChoiceError, match="Write NAME=column:NUMBER"):
        given(text)


def test_sums_over_training_blocks_give_the_same_counts_as_the_training_text() -> None:
    random = np.random.default_rng(0)

    def drawn(sentences: int, words: list[str]) -> tuple[list[list[str]], Mentions]:
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
        needs = LexiconQueries.joined(
            [collect_lexicon_queries(Corpus.of(part), [gold]) for part, gold in parts]
        )
        summed = LexiconSums.joined([LexiconSums.of(Lexicon.of([block]), needs) for block in train])
        for part, gold in parts:
            from_sums = Context(Corpus.of(part), gold, SummedLexicon(needs, summed)).side(gold)
            from_text = Context(Corpus.of(part), gold, Lexicon.of(train)).side(gold)
            assert from_sums.form.tolist() == from_text.form.tolist()
            assert from_sums.counts.occurrences.tolist() == from_text.counts.occurrences.tolist()
            for table in ("exact", "mentions"):
                mine, theirs = getattr(from_sums.counts, table), getattr(from_text.counts, table)
                assert mine.total(from_sums.form).tolist() == theirs.total(from_text.form).tolist()
                for label in (0, 1):
                    labels = np.full(len(gold), label)
                    assert (
                        mine.count(from_sums.form, labels).tolist()
                        == theirs.count(from_text.form, labels).tolist()
                    )


def test_attributes_from_the_data_built_in_ones_and_user_functions_are_distinguished() -> None:
    kinds = [*choose("entity_length,domain=column:3"), own(len, name="other")]
    assert [(is_built_in(attribute), is_given(attribute)) for attribute in kinds] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    same_name = own(len, name="entity_length")
    assert not is_built_in(same_name)
    assert is_given(pickle.loads(pickle.dumps(kinds[1])))


def test_a_token_without_a_number_is_reported_with_the_mention_that_it_is_in() -> None:
    # Token units: New, York of [0, 2); York of [1, 2); A, B, A of sentence 2.
    holey = Attribute("holey", "", lambda side: [1, 2, 3, 4, 5, None], unit="token")
    with pytest.raises(InputError, match=r"for the mention ORG \[0, 3\) of sentence 2"):
        values(holey, context_of(), TEST.mentions)


def test_the_length_of_a_whitespace_text_is_defined_under_both_names() -> None:
    blank = spanwise.read([{"text": "  ", "spans": [{"start": 0, "end": 1, "label": "X"}]}])
    for name in ("sentence_length", "sentence_length_fu19"):
        assert values(name, context_of(blank), blank.mentions).defined.tolist() == [True]
    assert values("oov_density", context_of(blank), blank.mentions).defined.tolist() == [False]
