"""The lines of a span file, cut and read many at once from their bytes, as far as they are spelt plainly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Bools, Column, Ints, Words, offsets
from spanwise.hashing import numbered

_TAB, _LINE_END, _ZERO = b"\t\n0"
_WORD = 8  # bytes that are compared at once
_LOW = np.array([256**size - 1 for size in range(_WORD + 1)], dtype=np.uint64)  # the first bytes of a word
_LABEL = 32  # bytes of the longest label that is read here
_DIGITS = 5  # of the largest position that is: a text of all positions up to it is held to compare with
_BLOCK = 1 << 18  # bytes that are read together: a large file needs hardly more memory than a small one
_PADDING = b"\n" * (_LABEL + _WORD)  # behind a block, so that words can be read from any place in it

_Bytes = npt.NDArray[np.uint8]


class SpanLines(Struct, frozen=True, eq=False):
    """Every line of a span file that is not empty, and what it says where that is plain.

    A line is plain where it is a label, two positions that are a span and, if there is one, the
    list of all tokens of that span, as in `PER 3 5 3, 4, 5`; or where it has as many columns and a
    label that stands for no mention. Nearly all lines are; the others must be read one by one.
    """

    number: Ints  # of the line, from 1
    plain: Bools
    start: Ints  # of the span, half-open from 0
    end: Ints
    label: Ints  # its place in `labels`
    labels: list[str]

    @classmethod
    def of(cls, data: bytes, *, empty: Sequence[str]) -> SpanLines:
        """The lines of valid UTF-8 without NUL; `empty`, the first labels, stand for no mention."""
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        known = {label: number for number, label in enumerate(empty)}
        blocks: list[tuple[Column, ...]] = []
        before = 0
        for block in _blocks(data):
            lines, number, *columns = _read(block, known, len(empty))
            blocks.append((number + before, *columns))
            before += lines
        number, plain, start, end, label = map(_joined, zip(*blocks, strict=True))
        return cls(number, plain, start, end, label, list(known))


def _joined(columns: Sequence[Column]) -> Column:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def _blocks(data: bytes) -> Iterator[bytes]:
    """The lines in blocks, with a line end before the first one, which makes it like the others."""
    view = memoryview(data)
    begin, stop = 0, -1
    while stop < len(data):
        stop = data.find(b"\n", begin + _BLOCK) + 1 or len(data)
        yield b"".join((b"\n", view[begin:stop], _PADDING))
        begin = stop


def _read(data: bytes, known: dict[str, int], empty: int) -> tuple[int, Ints, Bools, Ints, Ints, Ints]:
    """How many lines a block has, and the columns of those that are not empty."""
    content = np.frombuffer(data, np.uint8)
    border = np.flatnonzero((content == _TAB) | (content == _LINE_END))
    line_end = np.flatnonzero(content[border] == _LINE_END)
    place = border[line_end]
    filled = np.flatnonzero(place[1:] - place[:-1] > 1)
    before, after = line_end[filled], line_end[1:][filled]
    # Of a line without a list of tokens the third border is its end.
    first, second, third = border[1:][before], border[2:][before], border[3:][before]
    columns = after - before
    plain = (columns == 3) | (columns == 4)
    label = _labels(data, place[filled] + 1, first, plain, known)
    without = plain & (label < empty)
    plain &= ~without
    start, end = _spans(content, np.stack([first, second, third]), plain)
    _check_lists(data, third + 1, place[1:][filled], start, end, plain)
    return len(line_end) - 1 - len(_PADDING), filled + 1, plain | without, start, end, label


def _labels(data: bytes, begin: Ints, stop: Ints, plain: Bools, known: dict[str, int]) -> Ints:
    """The number of each label in `known`, which new ones join; a line with a long one is not plain."""
    size = stop - begin
    plain &= (size > 0) & (size <= _LABEL)
    size *= plain
    width = max(-(-int(size.max(initial=0)) // _WORD), 1)
    words: Words = np.empty((len(size), width), dtype=np.uint64)
    for place in range(width):
        words[:, place] = _words(data)[begin + place * _WORD] & _low(size - place * _WORD)
    one, number = numbered(words)
    borders = zip(begin[one].tolist(), (begin + size)[one].tolist(), strict=True)
    names = [data[first:last].decode("utf-8") for first, last in borders]
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.int64)[number]


def _spans(content: _Bytes, borders: Ints, plain: Bools) -> tuple[Ints, Ints]:
    """Starts and ends of plain lines, 0 of others; lines whose positions are no span are not plain."""
    stop = borders[1:]
    size = stop - borders[:-1] - 1
    size *= plain
    legible = (size > 0) & (size <= _DIGITS)
    position = np.zeros(size.shape, dtype=np.int64)
    for back in range(min(int(size.max(initial=0)), _DIGITS)):
        digit = content[stop - 1 - back] - np.uint8(_ZERO)  # what comes before 0 wraps and is large
        digit *= size > back
        legible &= digit <= 9
        position += digit * np.int64(10**back)
    start, end = position
    start -= 1
    plain &= legible[0] & legible[1] & (start >= 0) & (start < end)
    position *= plain
    return start, end


class _Listing(Struct, frozen=True, eq=False):
    """The text `1, 2, 3, …`, of which the list of all tokens of a span is a part."""

    words: Words
    place: Ints  # of each token, and of one more


@cache
def _listing(size: int) -> _Listing:
    tokens = [b"%d" % token for token in range(1, size + 1)]
    words = np.array(_words(b", ".join(tokens) + b" " * _WORD))  # copied, since aligned words are read faster
    return _Listing(words, offsets([len(token) + 2 for token in tokens]))


def _check_lists(data: bytes, begin: Ints, stop: Ints, start: Ints, end: Ints, plain: Bools) -> None:
    """Lines with another list of tokens than that of all tokens of their span are not plain."""
    listing = _listing(1 << max(int(end.max(initial=0)).bit_length(), 7))  # powers of two: there are few
    size = stop - begin
    first = listing.place[start]
    same = size == listing.place[end] - 2 - first
    # Most lists end within their first word.
    words = _words(data)
    differing = words[begin] ^ listing.words[first]
    same &= (differing & _low(size)) == 0
    long = np.flatnonzero(same & (size > _WORD))
    if len(long):
        rest = begin[long] + _WORD, first[long] + _WORD
        same[long] = _same(words, rest[0], listing.words, rest[1], size[long] - _WORD)
    plain &= same | (size <= 0)


def _same(words: Words, begin: Ints, others: Words, first: Ints, size: Ints) -> Bools:
    """Which ranges of bytes, of the same size in two texts, are the same."""
    number = -(-size // _WORD)
    at = offsets(number)
    inner = np.arange(at[-1]) * _WORD
    shift = at[:-1] * _WORD
    differing = words[np.repeat(begin - shift, number) + inner]
    differing ^= others[np.repeat(first - shift, number) + inner]
    differing[at[1:] - 1] &= _low(size - (number - 1) * _WORD)
    return np.asarray(np.bitwise_or.reduceat(differing, at[:-1]) == 0)


def _low(size: Ints) -> Words:
    """Masks of the first bytes of a word: so many, none where the number is negative, at most all."""
    return np.asarray(_LOW[np.minimum(np.maximum(size, 0), _WORD)])


def _words(data: bytes) -> Words:
    """The word that begins at each byte, its first byte lowest."""
    return np.ndarray(len(data) - _WORD + 1, "<u8", data, strides=(1,))
