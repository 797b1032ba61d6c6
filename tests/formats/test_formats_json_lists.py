"""A JSON list cut between its items contains the same as the whole, and nothing else passes for a list."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spanwise.formats import File
from spanwise.formats._json_items import CannotBeCut, commas_between, item_pieces, items_of

ODD = st.text(st.sampled_from('[]{},:"\\/é𝄞 \n\t\u2028a1'), max_size=8)
ITEMS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | ODD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD, inner, max_size=3),
    max_leaves=8,
)
LISTS = st.builds(
    lambda items, ascii, indent: json.dumps(items, ensure_ascii=ascii, indent=indent),
    st.lists(ITEMS, max_size=6),
    st.booleans(),
    st.sampled_from([None, 0, 1]),
)


def pieced(text: str, size: int, *, mark: bool = False) -> tuple[list[object], list[object]]:
    """The items of a text that is surveyed in pieces, and the items read again from their bytes."""
    data = b"\xef\xbb\xbf" * mark + text.encode("utf-8", "surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spanwise.formats._json_items.CHUNK", size)
        pieces = list(item_pieces(File.of_bytes("a.json", data)))
    items = [item for piece in pieces for item in piece.items]
    begins = [begin for piece in pieces for begin in piece.begins.tolist()]
    ends = [*begins[1:], pieces[-1].end] if pieces else []
    again = [items_of(data[begin:end]) for begin, end in zip(begins, ends, strict=True)]
    assert all(len(parsed) == 1 for parsed in again)
    return items, [parsed[0] for parsed in again]


@given(LISTS, st.integers(3, 40), st.sampled_from(["", " ", "\r\n\t "]), st.booleans())
@example('["\\\\", "\\"", "\\\\\\",", "[{\\"]"]', 3, "", False)
def test_a_list_in_pieces_equals_the_whole_list(text: str, size: int, space: str, mark: bool) -> None:
    listed = json.loads(text)
    items, again = pieced(space + text + space, size, mark=mark)
    assert items == listed
    assert again == listed


@given(LISTS, st.integers(3, 40), st.data())
@example("[1, 2,]", 1, None)
@example("[1, 2", 1, None)
@example("[1, 2,", 1, None)
@example("[1], 2]", 1, None)
@example("[1, [2, 3], 4]]", 2, None)
@example("[[1, 2], 3", 2, None)
@example('{"a": [1, 2]}', 3, None)
@example('[{"a": [1, 2}, 3], 4]', 3, None)
@example("[,]", 1, None)
@example("", 1, None)
@example('["\\ud800"]', 3, None)
def test_what_is_not_one_list_is_refused(text: str, size: int, data: st.DataObject | None) -> None:
    if data is not None:  # remove some characters and insert others
        begin = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(begin, min(begin + 4, len(text))))
        text = text[:begin] + data.draw(ODD) + text[end:]
    try:
        listed = json.loads(text)
    except ValueError:
        listed = None
    if isinstance(listed, list):
        assert pieced(text, size)[0] == listed
    else:
        with pytest.raises(CannotBeCut):
            pieced(text, size)


@pytest.mark.parametrize(
    "data", [b'["\xff"]', b'[1, "\xed\xa0\x80"]', b"[" * 100_000, b"[" + b"9" * 5000 + b"]"]
)
def test_bytes_that_json_refuses_are_refused(data: bytes) -> None:
    with pytest.raises(CannotBeCut):
        list(item_pieces(File.of_bytes("a.json", data)))


@given(st.lists(ITEMS, max_size=5))
def test_only_commas_between_items_are_found(items: list[object]) -> None:
    written = [json.dumps(item, ensure_ascii=False).encode() for item in items]
    positions, at = [], 0
    for item_bytes in written[:-1]:
        at += len(item_bytes)
        positions.append(at)
        at += 1
    assert commas_between(b",".join(written)).tolist() == positions
