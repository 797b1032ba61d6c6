"""The position of a mention counts the tokens of its document before it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.attributes import Context, values_of
from spanwise.corpus import Corpus, Mentions


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.data())
def test_positions_equal_a_count_over_the_tokens_of_the_document(data: st.DataObject) -> None:
    documents = data.draw(
        st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=4), min_size=1, max_size=4)
    )
    lengths = [length for document in documents for length in document]
    corpus = Corpus.of([["w"] * length for length in lengths], documents=[len(part) for part in documents])
    rows, expected = [], []
    number = 0
    for document in documents:
        before = 0
        for length in document:
            start = data.draw(st.integers(0, length - 1))
            rows.append((number, start, start + 1, "X"))
            expected.append((before + start, (before + start) / sum(document)))
            before += length
            number += 1
    mentions = Mentions.of(rows)
    side = Context(corpus, mentions).side(mentions)
    assert values_of("position", side).value.tolist() == [absolute for absolute, _ in expected]
    assert values_of("relative_position", side).value.tolist() == [share for _, share in expected]
