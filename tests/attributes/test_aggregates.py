"""Attributes counted from training mentions, for any φ and any two, compared with plain counts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.attributes import Context, Lexicon, Mention, TrainingCounts, choose, mention_views, own, values
from spanwise.attributes.given import PHI, Aggregate
from spanwise.corpus import Annotation, Corpus, Mentions

NAMES = ("Ann", "bo", "Cy", "de")


@st.composite
def annotated(draw: st.DrawFn) -> Annotation:
    sentences = draw(
        st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4), min_size=1, max_size=6)
    )
    rows = []
    for number, words in enumerate(sentences):
        start = draw(st.integers(0, len(words) - 1))
        rows.append((number, start, draw(st.integers(start + 1, len(words))), draw(st.sampled_from("XY"))))
    return Annotation(Corpus.of(sentences), Mentions.of(rows, labels=("X", "Y")))


def mentions(annotation: Annotation) -> list[tuple[tuple[str, ...], str]]:
    rows = annotation.mentions.rows()
    return [(tuple(annotation.corpus.words(s)[a:b]), label) for s, a, b, label in rows]


def in_context(test: Annotation, train: Annotation) -> Context:
    return Context(test.corpus, test.mentions, Lexicon.of([train]))


@settings(max_examples=60, deadline=None)
@given(annotated(), annotated())
def test_any_phi_is_counted_over_training_mentions(test: Annotation, train: Annotation) -> None:
    def last(mention: Mention) -> str:
        return mention.tokens[-1]

    trained = mentions(train)
    expected: dict[Aggregate, list[float]] = {"familiarity": [], "consistency": []}
    for tokens, label in mentions(test):
        same = [pair for pair in trained if pair[0][-1] == tokens[-1]]
        expected["familiarity"].append(float(Fraction(len(same), len(trained))))
        alike = [pair for pair in same if pair[1] == label]
        expected["consistency"].append(float(Fraction(len(alike), len(same))) if same else 0.0)
    for aggregate, numbers in expected.items():
        attribute = own(last, name="last", aggregate=aggregate)
        assert values(attribute, in_context(test, train), test.mentions).value.tolist() == numbers


@settings(max_examples=40, deadline=None)
@given(annotated(), annotated(), st.sampled_from(sorted(PHI)), st.sampled_from(sorted(PHI)))
def test_two_are_combined_as_a_share_of_the_first(
    test: Annotation, train: Annotation, one: str, other: str
) -> None:
    context = in_context(test, train)
    first, second = PHI[one][1], PHI[other][1]
    seen = views(train)
    shares = values(choose(f"MF:{one}+{other}")[0], context, test.mentions).value
    for value, mention in zip(shares, views(test), strict=True):
        like = [trained for trained in seen if first(trained) == first(mention)]
        both = [trained for trained in like if second(trained) == second(mention)]
        assert value == (len(both) / len(like) if like else 0.0)


def views(annotation: Annotation) -> list[Mention]:
    side = Context(annotation.corpus, annotation.mentions).side(annotation.mentions)
    return [view for view in mention_views(side) if view is not None]


ATTRIBUTES = ("sentence_length", "entity_density", "label", "entity_frequency", "casing", "previous_token")


@settings(max_examples=40, deadline=None)
@given(annotated(), annotated(), st.sampled_from(ATTRIBUTES), st.sampled_from(ATTRIBUTES))
def test_any_two_attributes_are_combined(
    test: Annotation, train: Annotation, first_name: str, second_name: str
) -> None:
    context = in_context(test, train)

    def read(name: str, annotation: Annotation) -> list[object]:
        if name in PHI:
            return [PHI[name][1](view) for view in views(annotation)]
        inside = Context(annotation.corpus, annotation.mentions, Lexicon.of([train]))
        return list(values(name, inside, annotation.mentions).value.tolist())

    trained = list(zip(read(first_name, train), read(second_name, train), strict=True))
    shares = values(choose(f"MF:{first_name}+{second_name}")[0], context, test.mentions).value
    for value, first, second in zip(shares, read(first_name, test), read(second_name, test), strict=True):
        like = [pair for pair in trained if pair[0] == first]
        assert value == (sum(pair[1] == second for pair in like) / len(like) if like else 0.0)


@pytest.mark.parametrize("lowercase", [False, True])
def test_attributes_of_tokens_are_combined_over_tokens(data: Path, lowercase: bool) -> None:
    test, train = (spanwise.read(data / "wnut16" / f"{name}.txt") for name in ("test", "train"))
    context = Context(test.corpus, test.mentions, Lexicon.of([train]), lowercase=lowercase)
    (combined,) = choose("MF:morphology+label")
    assert combined.unit == "token"
    assert combined.summary == (
        "of the tokens of training mentions with the same morphology, the share with the same label"
    )
    combinations = values(combined, context, test.mentions)
    shapes = values("morphology", context, test.mentions)
    assert len(combinations.value) == len(shapes.value)
    pairs = {
        (shape, label): value
        for shape, label, value in zip(
            shapes.value.tolist(),
            test.mentions.label[combinations.unit_mention].tolist(),
            combinations.value.tolist(),
            strict=True,
        )
    }
    by_shape = [sum(value for (shape, _), value in pairs.items() if shape == index) for index in range(5)]
    assert all(total <= 1 + 1e-12 for total in by_shape)


def test_phi_sees_the_sentence_of_training_mentions() -> None:
    train = Annotation(
        Corpus.of([["Mr", "Ann"], ["Mr", "Bo"], ["near", "Bo"]]),
        Mentions.of([(0, 1, 2, "PER"), (1, 1, 2, "PER"), (2, 1, 2, "LOC")]),
    )
    test = Annotation(
        Corpus.of([["Mr", "Cy"], ["near", "Cy"]]), Mentions.of([(0, 1, 2, "PER"), (1, 1, 2, "PER")])
    )

    def before(mention: Mention) -> str:
        return mention.sentence[mention.start - 1]

    context = in_context(test, train)
    familiar = values(own(before, aggregate="familiarity"), context, test.mentions).value
    consistent = values(own(before, aggregate="consistency"), context, test.mentions).value
    assert familiar.tolist() == [2 / 3, 1 / 3]
    assert consistent.tolist() == [1.0, 0.0]


def test_user_functions_see_counts_of_the_training_data() -> None:
    train = Annotation(
        Corpus.of([["new", "York", "New", "York"], ["New"], ["York"]]), Mentions.of([(0, 2, 4, "LOC")])
    )
    test = Annotation(Corpus.of([["New", "York"]]), Mentions.of([(0, 0, 2, "LOC")]))

    def never_annotated(mention: Mention) -> float:
        assert mention.training is not None
        return mention.training.sequence(mention.tokens) - mention.training.mention(mention.tokens)

    attribute = own(never_annotated, needs=["train"])
    assert values(attribute, in_context(test, train), test.mentions).value.tolist() == [0.0]
    lower = Context(test.corpus, test.mentions, Lexicon.of([train]), lowercase=True)
    assert values(attribute, lower, test.mentions).value.tolist() == [1.0]
    with pytest.raises(spanwise.ChoiceError, match="no training data were given"):
        values(attribute, Context(test.corpus, test.mentions), test.mentions)


@settings(max_examples=40, deadline=None)
@given(annotated(), st.lists(st.sampled_from(NAMES), min_size=1, max_size=3))
def test_counts_of_the_training_data_are_plain_counts(train: Annotation, tokens: list[str]) -> None:
    counts = TrainingCounts(Lexicon.of([train, train]))
    sentences = [train.corpus.words(number) for number in range(len(train.corpus))]
    size = len(tokens)
    runs = [words[at : at + size] for words in sentences for at in range(len(words) - size + 1)]
    assert counts.sequence(tokens) == 2 * sum(list(run) == tokens for run in runs)
    assert counts.token(tokens[0]) == 2 * sum(list(words).count(tokens[0]) for words in sentences)
    assert counts.mention(tokens) == 2 * sum(form == tuple(tokens) for form, _ in mentions(train))
    assert counts.mention(tokens, "X") == 2 * mentions(train).count((tuple(tokens), "X"))
    assert counts.label("X") == 2 * sum(label == "X" for _, label in mentions(train))
    assert counts.mentions == 2 * len(train.mentions)


@pytest.mark.parametrize(
    ("general", "named"), [("F:entity", "F-ent"), ("F:label", "F-tag"), ("MF:entity+label", "MF-et")]
)
def test_the_attributes_of_fu19_are_special_cases_of_the_general_ones(
    general: str, named: str, data: Path
) -> None:
    test, train = (spanwise.read(data / "wnut16" / f"{name}.txt") for name in ("test", "train"))
    for lowercase in (False, True):
        context = Context(test.corpus, test.mentions, Lexicon.of([train]), lowercase=lowercase)
        by_general, by_name = (
            values(choose(name)[0], context, test.mentions).value for name in (general, named)
        )
        assert np.array_equal(by_general, by_name)


def test_combined_attributes_are_named_like_any_other(data: Path) -> None:
    folder = data / "wnut16"
    names = "F:last_token,MF:entity_length+label"
    result = spanwise.describe(folder / "test.txt", train=folder / "train.txt", attributes=names)
    assert list(result.dataset.attributes) == names.split(",")
    assert result.dataset.attributes["MF:entity_length+label"].strategy == "familiarity(5)"
