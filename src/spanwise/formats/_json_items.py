"""Cut a file that is one JSON list between its items, some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Ints, ints
from spanwise.formats._opening import BOM, File
from spanwise.formats._sentences import parse_json
from spanwise.formats._surveying import cut_pieces, has_mark

CHUNK = 1 << 19  # bytes of JSON to parse at a time; as Python objects they take thirty times the memory
_SPACE = b" \t\r\n"  # the white space of JSON

_QUOTE, _OPENING, _CLOSING, _COMMA = 1, 2, 3, 4
_MARKS = np.zeros(256, dtype=np.uint8)
for _characters, _mark in ((b'"', _QUOTE), (b"[{", _OPENING), (b"]}", _CLOSING), (b",", _COMMA)):
    _MARKS[list(_characters)] = _mark


def commas_between(data: bytes) -> Ints:
    """The positions of commas that are not inside a string, list or object.

    Examples:
        >>> commas_between(b'{"a": [1, 2]}, "x, y", 3').tolist()
        [13, 21]
    """
    marks = _MARKS[np.frombuffer(data, dtype=np.uint8)]
    positions = np.flatnonzero(marks)
    marks = marks[positions]
    if b"\\" in data:
        inside = _escaped(data, positions) & (marks == _QUOTE)
        positions, marks = positions[~inside], marks[~inside]
    quotes = np.cumsum(marks == _QUOTE)
    outside = (quotes % 2 == 0) & (marks != _QUOTE)
    positions, marks = positions[outside], marks[outside]
    depth = np.cumsum((marks == _OPENING).astype(np.int64) - (marks == _CLOSING))
    return ints(positions[(marks == _COMMA) & (depth == 0)])


def _escaped(data: bytes, positions: Ints) -> Bools:
    """Whether each position is preceded by an odd number of backslashes."""
    slashes = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\\"))
    first = np.flatnonzero(np.diff(slashes, prepend=-2) > 1)  # of each run of backslashes
    begins = slashes[first]
    ends = slashes[np.append(first[1:], len(slashes)) - 1] + 1
    run_of = np.minimum(np.searchsorted(ends, positions), len(ends) - 1)
    escaped: Bools = (ends[run_of] == positions) & ((ends - begins)[run_of] % 2 == 1)
    return escaped


class CannotBeCut(Exception):
    """Raised if a file cannot be cut into parts, or is damaged; reading it whole reports why."""


class ItemPiece(Struct, frozen=True, eq=False):
    """Some consecutive items of a list, and the byte at which each begins."""

    items: list[object]
    begins: Ints
    end: int  # the byte after the last item


def item_pieces(file: File) -> Iterator[ItemPiece]:
    """The items of a file that is one JSON list, some at a time.

    Raises:
        CannotBeCut: the file is something else, or damaged.
    """
    stream = file.chunks(CHUNK)
    head = b""
    for chunk in stream:
        head += chunk
        if head.lstrip(_SPACE):
            break
    begin = len(head) - len(head.lstrip(_SPACE)) + 1
    if head[begin - 1 : begin] != b"[":
        raise CannotBeCut
    byte = begin + (len(BOM) if has_mark(file) else 0)
    any_before, pending = False, b""
    for piece in cut_pieces(chain([head[begin:]], stream), _after_last_comma):
        if pending:
            yield ItemPiece(items_of(pending), _begins(pending, byte), byte + len(pending))
            byte += len(pending)
            any_before = True
        pending = piece
    if not pending.rstrip(_SPACE).endswith(b"]"):
        raise CannotBeCut
    items = items_of(pending)
    if items:
        yield ItemPiece(items, _begins(pending, byte), byte + len(pending))
    elif any_before:  # a trailing comma
        raise CannotBeCut


def items_of(data: bytes) -> list[object]:
    """Parse items from bytes that begin with an item and end with the comma or bracket after the last."""
    try:
        items: list[object] = parse_json(f"[{data.rstrip(_SPACE)[:-1].decode('utf-8')}]")
    except (ValueError, RecursionError):
        raise CannotBeCut from None
    return items


def _begins(data: bytes, byte: int) -> Ints:
    """The byte at which each item begins; `byte` is the position of the data in the file."""
    inner = commas_between(data.rstrip(_SPACE)[:-1])
    return ints(np.concatenate([[0], inner + 1]) + byte)


def _after_last_comma(data: bytes) -> int:
    commas = commas_between(data)
    return int(commas[-1]) + 1 if len(commas) else 0
