"""Texts become tokens: where each begins and ends, and its code, without a loop over them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Codes, Ints, codes, ints, offsets
from spanwise.formats._interning import Interner
from spanwise.hashing import PADDING

_RUNS = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[tuple[int, int]]:
    """Where the tokens of a text are: runs of word characters, marks included, and other characters alone.

    A combining mark (a vowel sign of Devanagari, an accent of its own) is not a letter to Python,
    yet it belongs to the word it occurs in.

    Examples:
        >>> words("U.S. sanctions")
        [(0, 1), (1, 2), (2, 3), (3, 4), (5, 14)]
        >>> words("हिन्दी")
        [(0, 6)]
    """
    spans = [match.span() for match in _RUNS.finditer(text)]
    if text.isascii():
        return spans
    joined: list[tuple[int, int]] = []
    in_word = False
    for start, end in spans:
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


class TextTokens(Struct, frozen=True, eq=False):
    """The tokens of texts: codes of words, the first token of each text, and characters in their texts."""

    codes: Codes
    vocabulary: tuple[str, ...]
    sentences: Ints
    start: Ints
    end: Ints


BATCH = 1 << 20  # characters of texts that are looked at together
_SPACE, _WORD, _OTHER = 0, 1, 2


def text_tokens(texts: Sequence[str]) -> TextTokens:
    """The tokens of texts, those that `words` finds.

    Examples:
        >>> tokens = text_tokens(["U.S. sanctions", "हिन्दी"])
        >>> tokens.vocabulary, tokens.sentences.tolist(), tokens.end.tolist()
        (('U', '.', 'S', 'sanctions', 'हिन्दी'), [0, 5, 6], [1, 2, 3, 4, 14, 6])
    """
    met = Interner()
    parts: list[tuple[Codes, Ints, Ints, Ints]] = []
    try:
        for some in _batches(texts):
            joined = "\n".join(some)
            if "\0" in joined:  # which no word of an interner may hold
                return _by_words(texts)
            parts.append(_tokens(joined, offsets([len(text) + 1 for text in some])[:-1], met))
    except UnicodeEncodeError:  # half of a surrogate pair
        return _by_words(texts)
    coded, sizes, starts, ends = (np.concatenate(column) for column in zip(*parts, strict=True))
    return TextTokens(codes(coded), tuple(met.strings), offsets(sizes), ints(starts), ints(ends))


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Some texts at a time, at least one."""
    first, size = 0, 0
    for number, text in enumerate(texts):
        if size > BATCH:
            yield texts[first:number]
            first, size = number, 0
        size += len(text)
    yield texts[first:]


def _tokens(joined: str, begins: Ints, met: Interner) -> tuple[Codes, Ints, Ints, Ints]:
    """The codes of the tokens of texts that begin here, how many each text has, and their characters."""
    data = joined.encode("utf-8")
    kinds = _kinds(joined, data)
    word, other = kinds == _WORD, kinds == _OTHER
    first, last = word.copy(), word.copy()
    first[1:] &= ~word[:-1]
    last[:-1] &= ~word[1:]
    start, end = np.flatnonzero(first | other), np.flatnonzero(last | other) + 1
    text = np.searchsorted(begins, start, side="right") - 1
    sizes = np.bincount(text, minlength=len(begins))
    own = begins[text]
    if joined.isascii():
        coded = met.codes(data + PADDING, start, end)
    else:
        bytes_ = np.frombuffer(data, dtype=np.uint8)
        byte = np.append(np.flatnonzero((bytes_ & 0xC0) != 0x80), len(data))  # of each character
        coded = met.codes(data + PADDING, byte[start], byte[end])
    return coded, ints(sizes), ints(start - own), ints(end - own)


def _kinds(joined: str, data: bytes) -> npt.NDArray[np.uint8]:
    """Whether each character is a space, part of a word, or a token of its own."""
    kinds: npt.NDArray[np.uint8]
    if joined.isascii():
        kinds = _ASCII[np.frombuffer(data, dtype=np.uint8)]
        return kinds
    points = np.frombuffer(joined.encode("utf-32-le"), dtype="<u4")
    kinds = _ASCII[np.minimum(points, 127)]
    foreign = np.flatnonzero(points > 127)
    distinct, which = np.unique(points[foreign], return_inverse=True)
    kinds[foreign] = np.array([_kind(chr(point)) for point in distinct.tolist()], dtype=np.uint8)[which]
    return kinds


def _kind(character: str) -> int:
    if _is_word(character) or unicodedata.category(character).startswith("M"):
        return _WORD
    return _SPACE if character.isspace() else _OTHER


_ASCII = np.array([_kind(chr(point)) for point in range(128)], dtype=np.uint8)


def _by_words(texts: Sequence[str]) -> TextTokens:
    """The same tokens, text by text."""
    known: dict[str, int] = {}
    places = [words(text) for text in texts]
    coded = [
        known.setdefault(text[start:end], len(known))
        for text, where in zip(texts, places, strict=True)
        for start, end in where
    ]
    return TextTokens(
        codes(coded),
        tuple(known),
        offsets([len(where) for where in places]),
        ints([start for where in places for start, _ in where]),
        ints([end for where in places for _, end in where]),
    )
