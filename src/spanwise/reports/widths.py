"""How many cells of a terminal a text takes up, and texts that are cut or padded to a number of cells."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from unicodedata import category, east_asian_width

JOINER, AS_EMOJI = "\u200d", "\ufe0f"  # joins emoji into one; makes a character an emoji, which is wide
_NO_CELLS = frozenset({"Mn", "Me", "Mc", "Cf", "Cc", "Zl", "Zp"})  # marks, formats and controls
_SIGNS = frozenset("#*0123456789‼⁉ℹ↔◻◼⤴⤵")  # not all symbols, but signs that can be emoji


@lru_cache(4096)
def cell_len(text: str) -> int:
    """The number of cells of a text.

    Examples:
        >>> cell_len("Zoë"), cell_len("東京"), cell_len("👩‍👧")
        (3, 4, 2)
    """
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(cells for _, cells in _clusters(text))


def cut_to(text: str, cells: int) -> str:
    """The text cut or padded with blanks to a number of cells; half of a wide character becomes a blank.

    Examples:
        >>> cut_to("abc", 2), cut_to("abc", 4), cut_to("東京", 3)
        ('ab', 'abc ', '東 ')
    """
    if cells <= 0:
        return ""
    kept, room = "", cells
    for cluster, size in _clusters(text):
        if size > room:
            break
        kept, room = kept + cluster, room - size
    return kept + " " * room


def _clusters(text: str) -> Iterator[tuple[str, int]]:
    """Each character together with those that join it or change how it looks, and the cells of both."""
    cluster, cells, joined = "", 0, False
    for character in text:
        if character == JOINER and not joined:
            cluster, joined = cluster + character, True
            continue
        own = 0 if joined else _cells(character)
        joined = False
        if own and cluster:
            yield cluster, cells
            cluster, cells = "", 0
        cluster += character
        is_emoji = character == AS_EMOJI and (cluster[0] in _SIGNS or category(cluster[0]) == "So")
        cells = 2 if is_emoji else cells + own
    if cluster:
        yield cluster, cells


def _cells(character: str) -> int:
    """The cells of a character by itself: two if it is wide, none if it belongs to the one before."""
    kind = category(character)
    if kind in _NO_CELLS or "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff":
        return 0  # the last two are inner letters of Hangul
    if "\U0001f3fb" <= character <= "\U0001f3ff":  # colours of skin
        return 0
    if kind == "Cn":  # newer than this Python: emoji and Chinese characters are wide
        return 2 if "\U0001f300" <= character <= "\U0001faff" or character >= "\U00020000" else 1
    return 2 if east_asian_width(character) in "WF" else 1
