"""Every number of a description agrees with the slow oracle, however the data are cut into blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from description_oracle import Annotated, description
from hypothesis import given, settings
from hypothesis import strategies as st
from parts import small_parts

from spanwise import describe
from spanwise.corpus import Annotation, Corpus, Mentions

WORDS = ("Ann", "bo", "Cy", "in")


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    """Data in parts are cut after a few tokens, and sums of two blocks are added at once."""
    with pytest.MonkeyPatch.context() as patch:
        small_parts(patch, tokens=4, training=3, together=2)
        yield


@st.composite
def texts(draw: st.DrawFn) -> Annotated:
    """Short sentences of few words with few labels, some of them annotated twice, some empty."""
    sentences, rows = [], []
    for words in draw(st.lists(st.lists(st.sampled_from(WORDS), max_size=4), min_size=1, max_size=9)):
        row, at = [], 0
        while at < len(words):
            start = draw(st.integers(at, len(words)))
            end = draw(st.integers(start, len(words)))
            if end > start:
                row.append((start, end, draw(st.sampled_from("XY"))))
            at = end + 1
        sentences.append(words)
        rows.append(row)
    first = draw(st.integers(0, len(sentences) - 1))
    return Annotated(sentences, rows, [first, len(sentences) - first] if first else None)


def annotation(text: Annotated) -> Annotation:
    mentions = [(number, *span) for number, row in enumerate(text.rows) for span in row]
    return Annotation(Corpus.of(text.sentences, documents=text.documents), Mentions.of(mentions))


def pair(one: dict[str, Any]) -> Any:
    return one["train"], one["test"]


def told(document: Any) -> dict[str, Any]:
    """What the oracle knows of a description."""
    facts = document.to_dict()["dataset"]
    conflicts = facts["conflicts"]
    found = {
        "sentences": facts["sentences"],
        "tokens": facts["tokens"],
        "mentions": facts["mentions"],
        "labels": facts["labels"],
        "tough": {name: one["overall"]["mentions"] for name, one in facts["tough"].items()},
        "duplicates": facts["duplicates_with_train"],
        "conflicts": {
            "labels": conflicts["labels"],
            "sentences": {
                "groups": conflicts["sentences"]["groups"],
                "examples": [
                    [one["mentions"] for one in group] for group in conflicts["sentences"]["examples"]
                ],
            },
            "variation": {
                "places": conflicts["variation"]["places"],
                "examples": [
                    {key: value for key, value in one.items() if key != "place"}
                    for one in conflicts["variation"]["examples"]
                ],
            },
        },
    }
    if "drift" in facts:
        drift = facts["drift"]
        found["drift"] = {
            "labels": {label: pair(one) for label, one in drift["labels"].items()},
            "label_distance": drift["label_distance"],
            "lengths": {name: (*pair(one), one["distance"]) for name, one in drift["lengths"].items()},
            "left_out": drift["left_out"],
            "unknown": pair(drift["unknown_tokens"]),
            "tough": {name: pair(one) for name, one in drift["tough"].items()},
        }
        found["zeta"] = facts["zeta"]
    return found


def close(one: Any) -> Any:
    """The same with numbers that need be equal only nearly."""
    if isinstance(one, dict):
        return {key: close(value) for key, value in one.items()}
    if isinstance(one, list | tuple):
        return type(one)(map(close, one))
    return pytest.approx(one) if isinstance(one, float) else one


@settings(max_examples=150, deadline=None)
@given(texts(), st.lists(texts(), max_size=2), st.sampled_from([0, 1, 100]))
def test_a_description_is_what_plain_counting_gives(
    test: Annotated, train: list[Annotated], most: int
) -> None:
    expected = description(test, train, most=most)
    tested, training = annotation(test), list(map(annotation, train))
    whole = describe(tested, train=training or None, examples=most)
    found = told(whole)
    if "zeta" not in expected:
        found.pop("zeta", None)
    assert found == close(expected)
    for how in ({"memory": "1MB"}, {"memory": "1MB", "lowercase": True}):
        parts = describe(tested, train=training or None, examples=most, **how)
        alike = describe(tested, train=training or None, examples=most, lowercase="lowercase" in how)
        assert parts.to_json() == alike.to_json()
