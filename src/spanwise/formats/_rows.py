"""Lines of columns as coded rows: by a plain parser, or by one that never loops over lines."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from spanwise.columns import Codes, Ints, ints
from spanwise.errors import InputError, at
from spanwise.formats._interning import Interner
from spanwise.hashing import PADDING, windows

DOCSTART = b"-DOCSTART-"
_BLANKS = b" \t\r"
BETWEEN = {"tab": "tabs", "blank": "blanks"}
_DOCSTART_HEAD = np.frombuffer(DOCSTART[:8], dtype="<u8")[0]
_DOCSTART_TAIL = np.frombuffer(DOCSTART[-8:], dtype="<u8")[0]


class Layout(Struct, frozen=True):
    """How the lines of a file are cut: the separator, the number of columns, and which are wanted."""

    path: str
    separator: str  # "tab" or "blank"
    width: int
    first_line: int  # where the width was seen
    wanted: tuple[int, ...]
    tags: tuple[int, ...] = ()  # those of `wanted` that hold tags: blanks around them are no part of them
    comments: bytes | None = None

    @property
    def between(self) -> str:
        """What separates the columns, in words."""
        return BETWEEN[self.separator]


class Rows(Struct, frozen=True, eq=False):
    """The token lines of a piece of a file.

    `begins` are the rows before which a sentence ends (a blank line, a document mark or
    the beginning of the file), `lines` the lines of those rows, `marks` the rows
    before which a -DOCSTART- stands. `open` says whether the last sentence may go on in
    the next piece, whose first line is `line`. `token_lines` is there when comments are left out.
    """

    columns: tuple[Codes, ...]
    begins: Ints
    lines: Ints
    marks: Ints
    open: bool
    line: int
    comments: int = 0
    token_lines: Ints | None = None


def split(line: bytes, layout: Layout) -> list[bytes]:
    """The fields of a line without its line end; nothing but blanks gives no field.

    Blanks are spaces and tabs; every other byte, a no-break space or a vertical tab
    among them, is part of a word. With tabs a field may hold spaces and may be empty.
    """
    line = line.rstrip(_BLANKS)
    if layout.separator == "tab":
        return line.split(b"\t") if line else []
    return [field for field in line.replace(b"\t", b" ").split(b" ") if field]


def parse_plain(
    data: bytes, layout: Layout, interners: tuple[Interner, ...], *, open: bool, line: int
) -> Rows:
    """The rows of whole lines, one line after the other. `line` is the number of the first."""
    columns: list[list[bytes]] = [[] for _ in layout.wanted]
    begins: list[int] = []
    lines: list[int] = []
    marks: list[int] = []
    token_lines: list[int] = []
    comments = 0
    texts = data.split(b"\n")
    if texts[-1] == b"":
        texts.pop()
    for number, text in enumerate(texts, start=line):
        if layout.comments is not None and text.startswith(layout.comments):
            comments += 1
            continue
        fields = split(text, layout)
        if not fields:
            open = False
            continue
        if fields[0] == DOCSTART:
            marks.append(len(token_lines))
            open = False
            continue
        if len(fields) != layout.width:
            raise InputError(wrong_width(layout, number, len(fields)))
        if not open:
            begins.append(len(token_lines))
            lines.append(number)
            open = True
        token_lines.append(number)
        for column, which in zip(columns, layout.wanted, strict=True):
            column.append(fields[which].strip(b" ") if which in layout.tags else fields[which])
    coded = tuple(_coded(column, interner) for column, interner in zip(columns, interners, strict=True))
    skipping = ints(token_lines) if layout.comments is not None else None
    return Rows(coded, ints(begins), ints(lines), ints(marks), open, line + len(texts), comments, skipping)


def _coded(words: list[bytes], interner: Interner) -> Codes:
    distinct: dict[bytes, int] = {}
    local = np.array([distinct.setdefault(word, len(distinct)) for word in words], dtype=np.int64)
    return interner.codes_of(list(distinct))[local]


def wrong_width(layout: Layout, line: int, found: int) -> str:
    """The error text for a line with another number of columns."""
    seen = f"{found} column" + ("s" if found != 1 else "")
    return at(
        layout.path,
        line,
        f"the line has {seen}, but there are {layout.width} from line {layout.first_line} on "
        f"(columns are separated by {layout.between}).\n"
        "Fix the line; if it is a comment, name the comment mark; if blanks and tabs are mixed, "
        "name the separator.",
    )


def parse_fast(
    data: bytes, layout: Layout, interners: tuple[Interner, ...], *, open: bool, line: int
) -> Rows | None:
    """The same rows as `parse_plain`, without a loop over lines; None where the lines are not regular.

    Lines are regular when every one that is not empty has the same number of columns,
    with no blank around them and, where tabs separate them, no empty one.
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        if b"\r" in data:
            return None
    if not data.endswith(b"\n"):
        data += b"\n"
    if b"\n\t\n" in data:  # some corpora write a tab where nothing else stands in a line
        data = data.replace(b"\n\t\n", b"\n\n")
    if _has_comments(data, layout) or (layout.separator == "tab" and _has_loose_blanks(data)):
        return None
    found = _found(data, layout)
    return None if found is None else _rows(found, layout, interners, open=open, line=line)


class _Found(Struct, frozen=True, eq=False):
    """Where the fields of regular lines begin and end, as many in each row as there are columns."""

    buffer: bytes
    begin: Ints
    stop: Ints
    blanks: Ints  # the blank lines before each row, and those behind the last


def _found(data: bytes, layout: Layout) -> _Found | None:
    """The fields, each between two changes from separators to others; None where lines are not regular."""
    # The byte before the first counts as a line end: chunks begin where a line does.
    bytes_ = np.frombuffer(b"\n" + data, dtype=np.uint8)
    at_newline = bytes_ == 10
    separating = at_newline | (bytes_ == 9)
    if layout.separator == "blank":
        separating |= bytes_ == 32
    edge = np.flatnonzero(separating[1:] != separating[:-1])  # beginnings and ends of fields, in turn
    begin, stop = edge[::2], edge[1::2]
    number, rest = divmod(len(stop), layout.width)
    if rest:
        return None
    last = stop[layout.width - 1 :: layout.width]
    blanks = np.empty(number + 1, dtype=np.int64)
    blanks[:-1] = begin[:: layout.width]
    blanks[-1] = len(data)
    blanks[1:] -= last + 1  # what lies between two rows beyond the end of the first
    blank = np.count_nonzero(at_newline[1:] & at_newline[:-1])
    if np.count_nonzero(at_newline) - 1 != number + blank or not at_newline[1:][last].all():
        return None
    if blanks.sum() != blank:
        return None  # a line that begins with a blank
    if layout.separator == "tab" and np.count_nonzero(separating) - 1 != len(stop) + blank:
        return None  # an empty field
    return _Found(data + PADDING, begin, stop, blanks)


def _without(size: int, left_out: Ints) -> Ints:
    """The numbers below `size`, except those left out."""
    kept = np.ones(size, dtype=bool)
    kept[left_out] = False
    return np.flatnonzero(kept)


def _rows(found: _Found, layout: Layout, interners: tuple[Interner, ...], *, open: bool, line: int) -> Rows:
    """The rows between separators that have been found to be regular."""
    number, width = len(found.blanks) - 1, layout.width
    marks = _document_marks(found.buffer, found.begin[::width], found.stop[::width])
    breaks = found.blanks > 0  # breaks[i]: a sentence ends before row i
    open = open and not breaks[0]
    breaks[0] = not open
    breaks[marks + 1] = True
    ending = not breaks[number] if number else open
    breaks[marks] = False
    begins = np.flatnonzero(breaks[:number])
    before = np.cumsum(found.blanks)
    token_lines = None
    if layout.comments is not None:
        token_lines = ints(np.delete(line + np.arange(number) + before[:number], marks))
    columns = []
    kept = _without(number, marks) if len(marks) else slice(None)
    for which, interner in zip(layout.wanted, interners, strict=True):
        begin, stop = found.begin[which::width][kept], found.stop[which::width][kept]
        coded = _tag_codes if which in layout.tags else Interner.codes
        columns.append(coded(interner, found.buffer, begin, stop))
    return Rows(
        columns=tuple(columns),
        begins=ints(begins - np.searchsorted(marks, begins)),
        lines=ints(line + begins + before[begins]),
        marks=ints(marks - np.arange(len(marks))),
        open=bool(ending),
        line=line + number + int(before[-1]),
        token_lines=token_lines,
    )


def _tag_codes(interner: Interner, buffer: bytes, begin: Ints, stop: Ints) -> Codes:
    """The codes of tags; most of them are O, whose code is 0."""
    marked = np.flatnonzero((stop - begin > 1) | (np.frombuffer(buffer, dtype=np.uint8)[begin] != ord("O")))
    result = np.zeros(len(begin), dtype=np.int32)
    result[marked] = interner.codes(buffer, begin[marked], stop[marked])
    return result


def _document_marks(buffer: bytes, begin: Ints, stop: Ints) -> Ints:
    """The rows whose first field is -DOCSTART-."""
    rows = np.flatnonzero(stop - begin == len(DOCSTART))
    eights = windows(buffer)
    rows = rows[eights[begin[rows]] == _DOCSTART_HEAD]
    return ints(rows[eights[begin[rows] + len(DOCSTART) - 8] == _DOCSTART_TAIL])


def _has_comments(data: bytes, layout: Layout) -> bool:
    mark = layout.comments
    return mark is not None and (data.startswith(mark) or b"\n" + mark in data)


def _has_loose_blanks(data: bytes) -> bool:
    """Whether a space stands beside a tab or a line end, where it may be no part of a field."""
    return b" " in data and (b" \n" in data or b"\t " in data or b" \t" in data or b"\n " in data)


def parse(data: bytes, layout: Layout, interners: tuple[Interner, ...], *, open: bool, line: int) -> Rows:
    """The rows of whole lines, by the fast way where they are regular."""
    rows = parse_fast(data, layout, interners, open=open, line=line)
    return rows if rows is not None else parse_plain(data, layout, interners, open=open, line=line)
