"""Tokenising many texts at once gives the same tokens as tokenising each text alone."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spanwise.formats.text_tokens import text_tokens, words

LETTERS = st.sampled_from("aZ_9 .,\n\t\r\x0b\x1c\x85\xa0\u2028\u0300\u093f\u0488é中𝄞²٣ªهß'-\0\ud800")


@given(
    st.lists(st.text(LETTERS | st.characters(), max_size=20), min_size=1, max_size=8),
    st.sampled_from([1, 9, 1 << 20]),
)
@example(["a" * 200, "b", "a" * 200], 1)
@example(["", "\u0300a", "a\u0300"], 1)
@example(["a\0b"], 9)
@example(["a\ud800"], 9)
def test_many_texts_are_tokenised_like_each_text_alone(texts: list[str], batch: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spanwise.formats.text_tokens.BATCH", batch)
        tokens = text_tokens(texts)
    strings = [tokens.vocabulary[code] for code in tokens.codes.tolist()]
    spans = list(zip(tokens.start.tolist(), tokens.end.tolist(), strict=True))
    borders = tokens.sentences.tolist()
    assert len(borders) == len(texts) + 1
    assert len(set(tokens.vocabulary)) == len(tokens.vocabulary)
    for text, first, last in zip(texts, borders[:-1], borders[1:], strict=True):
        assert spans[first:last] == words(text)
        assert strings[first:last] == [text[start:end] for start, end in words(text)]
