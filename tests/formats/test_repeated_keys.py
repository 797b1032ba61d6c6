"""A JSON object with a key twice is refused however it is spelled; all else is parsed as Python parses it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.formats._sentences import RepeatedKey, parse_json

KEYS = st.sampled_from(["a", "b", 'c":', "d :", "é", '"', ":", "\\", ""])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | KEYS
SPACES = st.sampled_from(["", "", " ", "\t", "\n ", "\r\n"])


class Spelled:
    """A JSON text, and whether one of its objects has a key twice."""

    def __init__(self, text: str, twice: bool) -> None:
        self.text, self.twice = text, twice


@st.composite
def spelled(draw: st.DrawFn, depth: int = 2) -> Spelled:
    """A JSON text with any white space, and with characters of strings written as escapes or not."""
    kind = draw(st.sampled_from(["leaf", "list", "object", "object"])) if depth else "leaf"
    if kind == "leaf":
        leaf = draw(LEAVES)
        return Spelled(string(draw, leaf) if isinstance(leaf, str) else json.dumps(leaf), False)
    inner = draw(st.lists(spelled(depth - 1), max_size=3))
    space = [draw(SPACES) for _ in range(3)]
    if kind == "list":
        return Spelled(f"[{f'{space[0]},'.join(one.text for one in inner)}]", any(one.twice for one in inner))
    keys = [draw(KEYS) for _ in inner]
    pairs = [
        f"{space[0]}{string(draw, key)}{space[1]}:{space[2]}{one.text}"
        for key, one in zip(keys, inner, strict=True)
    ]
    return Spelled(f"{{{','.join(pairs)}}}", len({*keys}) < len(keys) or any(one.twice for one in inner))


def string(draw: st.DrawFn, value: str) -> str:
    """A string in JSON, plain or with every character as an escape."""
    escaped = "".join(f"\\u{ord(character):04x}" for character in value)
    return draw(st.sampled_from([json.dumps(value), json.dumps(value, ensure_ascii=False), f'"{escaped}"']))


@given(spelled())
def test_a_key_twice_is_refused_and_all_else_is_parsed_as_by_python(given: Spelled) -> None:
    if given.twice:
        with pytest.raises(RepeatedKey):
            parse_json(given.text)
    else:
        assert repr(parse_json(given.text)) == repr(json.loads(given.text))


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a" :2}', r'{"a": "\u0022:", "b": 1, "b": 2}', r'{"a": "\"\u003a", "b": 1, "b": 2}']
)
def test_an_unusual_spelling_hides_no_repeated_key(text: str) -> None:
    with pytest.raises(RepeatedKey):
        parse_json(text)


@pytest.mark.parametrize("text", ["NaN", '["\\ud800"]', "1e999", "123456789012345678901234567890"])
def test_what_only_python_accepts_is_still_accepted(text: str) -> None:
    parsed: Any = parse_json(text)
    assert repr(parsed) == repr(json.loads(text))
