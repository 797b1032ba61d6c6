"""Tokenise texts: the start, end and code of each token, computed without a Python loop over tokens."""

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
    """The spans of a text's tokens: runs of word characters, and every other non-space character by itself.

    A combining mark (such as a Devanagari vowel sign or a separate accent) counts as a word character,
    although `\\w` does not match it.

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
    """The tokens of texts: their codes, the first token of each text, and their spans in characters."""

    codes: Codes
    vocabulary: tuple[str, ...]
    sentences: Ints
    start: Ints
    end: Ints


BATCH = 1 << 20  # characters of text to process at a time
_SPACE, _WORD, _OTHER = 0, 1, 2


def text_tokens(texts: Sequence[str]) -> TextTokens:
    """The tokens of texts, the same as those of `words`.

    Examples:
        >>> tokens = text_tokens(["U.S. sanctions", "हिन्दी"])
        >>> tokens.vocabulary, tokens.sentences.tolist(), tokens.end.tolist()
        (('U', '.', 'S', 'sanctions', 'हिन्दी'), [0, 5, 6], [1, 2, 3, 4, 14, 6])
    """
    interner = Interner()
    parts: list[tuple[Codes, Ints, Ints, Ints]] = []
    try:
        for batch in _batches(texts):
            joined = "\n".join(batch)
            if "\0" in joined:  # which an interner cannot store
                return _by_words(texts)
            parts.append(_tokens(joined, offsets([len(text) + 1 for text in batch])[:-1], interner))
    except UnicodeEncodeError:  # half of a surrogate pair
        return _by_words(texts)
    coded, sizes, starts, ends = (np.concatenate(column) for column in zip(*parts, strict=True))
    return TextTokens(codes(coded), tuple(interner.strings), offsets(sizes), ints(starts), ints(ends))


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """The texts in batches of limited size, each with at least one text."""
    first, size = 0, 0
    for number, text in enumerate(texts):
        if size > BATCH:
            yield texts[first:number]
            first, size = number, 0
        size += len(text)
    yield texts[first:]


def _tokens(joined: str, begins: Ints, interner: Interner) -> tuple[Codes, Ints, Ints, Ints]:
    """The codes of the tokens, the number of tokens in each text, and the start and end of each token."""
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
        coded = interner.codes(data + PADDING, start, end)
    else:
        bytes_ = np.frombuffer(data, dtype=np.uint8)
        byte = np.append(np.flatnonzero((bytes_ & 0xC0) != 0x80), len(data))  # of each character
        coded = interner.codes(data + PADDING, byte[start], byte[end])
    return coded, ints(sizes), ints(start - own), ints(end - own)


def _kinds(joined: str, data: bytes) -> npt.NDArray[np.uint8]:
    """Classify each character as white space, part of a word, or a token of its own."""
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
    """The same tokens as `text_tokens`, found text by text."""
    vocabulary: dict[str, int] = {}
    spans = [words(text) for text in texts]
    coded = [
        vocabulary.setdefault(text[start:end], len(vocabulary))
        for text, text_spans in zip(texts, spans, strict=True)
        for start, end in text_spans
    ]
    return TextTokens(
        codes(coded),
        tuple(vocabulary),
        offsets([len(text_spans) for text_spans in spans]),
        ints([start for text_spans in spans for start, _ in text_spans]),
        ints([end for text_spans in spans for _, end in text_spans]),
    )
