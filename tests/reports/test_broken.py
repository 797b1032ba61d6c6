"""Broken mentions: those that an earlier result did not have wrong."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

import spanwise
from spanwise.reports.broken import broken, github_annotations

Sentences = list[list[tuple[int, int, str]]]
SPANS = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from("AB")), unique_by=lambda span: span[0]),
    min_size=3,
    max_size=3,
)


def tagged(sentences: Sequence[Sequence[tuple[int, str]]]) -> list[list[str]]:
    """Mentions of one token as tags."""
    return [
        [f"B-{dict(row)[place]}" if place in dict(row) else "O" for place in range(4)] for row in sentences
    ]


@given(SPANS, SPANS, SPANS)
def test_broken_mentions_are_right_before_and_wrong_now(
    gold: list[list[tuple[int, str]]], old: list[list[tuple[int, str]]], new: list[list[tuple[int, str]]]
) -> None:
    before = spanwise.evaluate(tagged(gold), {"old": tagged(old)}, resamples=0)
    after = spanwise.evaluate(tagged(gold), {"new": tagged(new)}, resamples=0)
    expected = set()
    for number, (right, first, last) in enumerate(zip(gold, old, new, strict=True)):
        expected |= {(number, "gold", *span) for span in set(right) & set(first) - set(last)}
        places = {place for place, _ in right}
        spurious = {span for span in set(last) - set(first) if span[0] not in places}
        expected |= {(number, "predicted", *span) for span in spurious}
    found = set()
    for error in broken(after, before).errors:
        mention, side = (error.gold, "gold") if error.gold else (error.predicted, "predicted")
        assert mention is not None
        found.add((int(error.sentence.id), side, mention.start, mention.label))
    assert found == expected


def test_without_sentences_in_the_earlier_result_all_errors_are_listed() -> None:
    gold, said = [["B-PER", "B-LOC"]], [["B-PER", "O"]]
    before = spanwise.evaluate(gold, {"mine": said}, resamples=0, examples="none")
    after = spanwise.evaluate(gold, {"mine": said}, resamples=0)
    assert broken(after, before).title == "1 error, old or new: the earlier result lacks sentences"
    assert not broken(after, after).errors
    assert "holds no sentences" in broken(before, after).title


def test_annotations_cannot_be_ended_by_the_text_of_a_mention() -> None:
    record = {"tokens": ["a%0A::error::b", "c\nd"], "spans": [[0, 2, "P,E:R"]]}
    result = spanwise.evaluate([record], {"m::n": [{**record, "spans": []}]}, resamples=0)
    (line,) = github_annotations(result).splitlines()
    assert line.startswith("::warning ") and "title=missed  gold P%2CE%3AR::" in line
    assert "a%250A::error::b" in line
