"""Tokens of a text that comes without them: runs of word characters, and single other characters."""

from __future__ import annotations

import re
import unicodedata

_RUNS = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[tuple[int, int]]:
    """Where the tokens of a text lie: runs of word characters, marks included, and other characters alone.

    A combining mark (a vowel sign of Devanagari, an accent of its own) is no letter to
    Python, yet it belongs to the word it stands in.

    Examples:
        >>> words("U.S. sanctions")
        [(0, 1), (1, 2), (2, 3), (3, 4), (5, 14)]
        >>> words("हिन्दी")
        [(0, 6)]
    """
    found = [match.span() for match in _RUNS.finditer(text)]
    if text.isascii():
        return found
    joined: list[tuple[int, int]] = []
    in_word = False
    for start, end in found:
        mark = unicodedata.category(text[start]).startswith("M")
        wordlike = mark or _is_word(text[start])
        if joined and in_word and wordlike and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
        in_word = wordlike
    return joined


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
