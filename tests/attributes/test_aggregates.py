"""Attributes counted from training mentions: any φ, and any two, against plain counts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.attributes import Context, Lexicon, choose, own, values
from spanwise.attributes.aggregate import PHI, training_mentions
from spanwise.corpus import Annotation, Corpus, Mentions

NAMES = ("Ann", "bo", "Cy", "de")


@st.composite
def annotations(draw: st.DrawFn) -> Annotation:
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
@given(annotations(), annotations())
def test_any_phi_is_counted_over_training_mentions(test: Annotation, train: Annotation) -> None:
    def last(mention: object) -> str:
        return str(mention.tokens[-1])  # type: ignore[attr-defined]

    known = mentions(train)
    expected: dict[str, list[float]] = {"familiarity": [], "consistency": []}
    for tokens, label in mentions(test):
        same = [one for one in known if one[0][-1] == tokens[-1]]
        expected["familiarity"].append(float(Fraction(len(same), len(known))))
        alike = [one for one in same if one[1] == label]
        expected["consistency"].append(float(Fraction(len(alike), len(same))) if same else 0.0)
    for aggregate, numbers in expected.items():
        attribute = own(last, name="last", aggregate=aggregate)  # type: ignore[arg-type]
        assert values(attribute, in_context(test, train), test.mentions).value.tolist() == numbers


@settings(max_examples=40, deadline=None)
@given(annotations(), annotations(), st.sampled_from(sorted(PHI)), st.sampled_from(sorted(PHI)))
def test_two_are_combined_as_a_share_of_the_first(
    test: Annotation, train: Annotation, one: str, other: str
) -> None:
    context = in_context(test, train)
    first, second = PHI[one][1], PHI[other][1]
    seen = [mention for mention, times in training_mentions(Lexicon.of([train])) for _ in range(times)]
    found = values(choose(f"MF:{one}+{other}")[0], context, test.mentions).value
    for value, mention in zip(found, training_mentions_of(test), strict=True):
        like = [known for known in seen if first(known) == first(mention)]
        both = [known for known in like if second(known) == second(mention)]
        assert value == (len(both) / len(like) if like else 0.0)


def training_mentions_of(annotation: Annotation) -> list[spanwise.attributes.Mention]:  # type: ignore[name-defined]
    from spanwise.attributes import Mention

    return [
        Mention(tokens, label, tokens, 0, len(tokens), " ".join(tokens), {})
        for tokens, label in mentions(annotation)
    ]


@pytest.mark.parametrize(
    ("general", "named"), [("F:entity", "F-ent"), ("F:label", "F-tag"), ("MF:entity+label", "MF-et")]
)
def test_the_attributes_of_fu19_are_cases_of_the_general_ones(general: str, named: str, data: Path) -> None:
    test, train = (spanwise.read(data / "wnut16" / f"{name}.txt") for name in ("test", "train"))
    for lowercase in (False, True):
        context = Context(test.corpus, test.mentions, Lexicon.of([train]), lowercase=lowercase)
        both = [values(choose(name)[0], context, test.mentions).value for name in (general, named)]
        assert np.array_equal(*both)


def test_they_are_named_like_any_other_attribute(data: Path) -> None:
    folder = data / "wnut16"
    names = "F:last_token,MF:entity_length+label"
    result = spanwise.describe(folder / "test.txt", train=folder / "train.txt", attributes=names)
    assert list(result.dataset.attributes) == names.split(",")
    assert result.dataset.attributes["MF:entity_length+label"].strategy == "familiarity(5)"
