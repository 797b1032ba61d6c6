"""Widths in cells of a terminal: those of rich, where it has one, and cut texts that fill their room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich import cells as peer

from spanwise.reports.widths import cell_len, cut_to

PARTS = [
    "a",
    " ",
    "…",
    "東",
    "京",
    "é",
    "e\u0301",
    "❤\ufe0f",
    "1\ufe0f\u20e3",
    "👩\u200d👩\u200d👧",
    "👍\U0001f3fd",
    "🇩🇪",
    "क्षि",
    "한",
    "กำ",
]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=6).map("".join)


@given(TEXTS)
def test_a_text_has_the_width_that_rich_measures(text: str) -> None:
    assert cell_len(text) == peer.cell_len(text)


@given(TEXTS, st.integers(-1, 10))
def test_a_cut_text_fills_its_room(text: str, room: int) -> None:
    assert cell_len(cut_to(text, room)) == max(room, 0)


@pytest.mark.parametrize(("text", "room"), [("\u200d\u0301a", 1), ("\u0301", 2), ("\ufe0f", 0)])
def test_characters_without_width_can_come_first(text: str, room: int) -> None:
    assert cell_len(cut_to(text, room)) == room
