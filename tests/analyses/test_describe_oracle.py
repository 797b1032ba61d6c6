"""Every number of a description agrees with the slow oracle, however the data is cut into blocks."""

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
    """Cut data into parts of a few tokens, and merge the sums of two blocks at once."""
    with pytest.MonkeyPatch.context() as patch:
        small_parts(patch, tokens=4, training=3, together=2)
        yield


@st.composite
def texts(draw: st.DrawFn) -> Annotated:
    """Short sentences with few words and labels, some of them annotated twice, some empty."""
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


def pair(row: dict[str, Any]) -> Any:
    return row["train"], row["test"]


def facts_of(document: Any) -> dict[str, Any]:
    """The parts of a description that the oracle computes."""
    facts = document.to_dict()["dataset"]
    conflicts = facts["conflicts"]
    result = {
        "sentences": facts["sentences"],
        "tokens": facts["tokens"],
        "mentions": facts["mentions"],
        "labels": facts["labels"],
        "tough": {name: part["overall"]["mentions"] for name, part in facts["tough"].items()},
        "duplicates": facts["duplicates_with_train"],
        "conflicts": {
            "labels": conflicts["labels"],
            "sentences": {
                "groups": conflicts["sentences"]["groups"],
                "examples": [
                    [part["mentions"] for part in group] for group in conflicts["sentences"]["examples"]
                ],
            },
            "variation": {
                "places": conflicts["variation"]["places"],
                "examples": [
                    {key: value for key, value in part.items() if key != "place"}
                    for part in conflicts["variation"]["examples"]
                ],
            },
        },
    }
    if "drift" in facts:
        drift = facts["drift"]
        result["drift"] = {
            "labels": {label: pair(part) for label, part in drift["labels"].items()},
            "label_distance": drift["label_distance"],
            "lengths": {name: (*pair(part), part["distance"]) for name, part in drift["lengths"].items()},
            "left_out": drift["left_out"],
            "unknown": pair(drift["unknown_tokens"]),
            "tough": {name: pair(part) for name, part in drift["tough"].items()},
        }
        result["zeta"] = facts["zeta"]
    return result


def close(content: Any) -> Any:
    """A copy in which numbers need to be only approximately equal."""
    if isinstance(content, dict):
        return {key: close(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return type(content)(map(close, content))
    return pytest.approx(content) if isinstance(content, float) else content


@settings(max_examples=150, deadline=None)
@given(texts(), st.lists(texts(), max_size=2), st.sampled_from([0, 1, 100]))
def test_a_description_equals_plain_counting(test: Annotated, train: list[Annotated], most: int) -> None:
    expected = description(test, train, most=most)
    tested, training = annotation(test), list(map(annotation, train))
    whole = describe(tested, train=training or None, examples=most)
    described = facts_of(whole)
    if "zeta" not in expected:
        described.pop("zeta", None)
    assert described == close(expected)
    for how in ({"memory": "1MB"}, {"memory": "1MB", "lowercase": True}):
        parts = describe(tested, train=training or None, examples=most, **how)
        alike = describe(tested, train=training or None, examples=most, lowercase="lowercase" in how)
        assert parts.to_json() == alike.to_json()
