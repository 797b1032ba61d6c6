"""Parse files of columns into rows of integer codes: find the layout, parse the lines, and keep the rows."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Codes, Column, Ints, codes, frozen, ints
from spanwise.corpus import Corpus, Source
from spanwise.errors import ChoiceError, InputError, at, unknown
from spanwise.formats._format import Options, no_token, numbered_column, wrong_width
from spanwise.formats._interning import Interner
from spanwise.formats._opening import File
from spanwise.hashing import PADDING, windows
from spanwise.schemes import malformed

DOCSTART = b"-DOCSTART-"
_BLANKS = b" \t\r"
BETWEEN = {"tab": "tabs", "blank": "blanks"}
_DOCSTART_HEAD = np.frombuffer(DOCSTART[:8], dtype="<u8")[0]
_DOCSTART_TAIL = np.frombuffer(DOCSTART[-8:], dtype="<u8")[0]


class Layout(Struct, frozen=True):
    """How to split the lines of a file: the separator, the number of columns, and which are wanted."""

    path: str
    separator: str  # "tab" or "blank"
    width: int
    first_line: int  # the line from which the width was taken
    wanted: tuple[int, ...]
    tags: tuple[int, ...] = ()  # the wanted columns that hold tags, which are stripped of blanks
    comments: bytes | None = None

    @property
    def between(self) -> str:
        """The separator as a plural noun, for messages."""
        return BETWEEN[self.separator]


class Rows(Struct, frozen=True, eq=False):
    """The token lines of a piece of a file.

    `begins` are the rows at which a sentence begins (after a blank line, after a document mark or at
    the beginning of the file), `lines` the line numbers of those rows, and `marks` the rows
    preceded by a -DOCSTART-. `open` says whether the last sentence may continue in
    the next piece, whose first line is `line`. `token_lines` is set if comments are left out.
    """

    columns: tuple[Codes, ...]
    begins: Ints
    lines: Ints
    marks: Ints
    open: bool
    line: int
    comments: int = 0
    token_lines: Ints | None = None
    labeled_marks: int = 0  # -DOCSTART- lines with the tag of a mention, which is left out


def split(line: bytes, layout: Layout) -> list[bytes]:
    """The fields of a line without its line ending; a line of blanks has no fields.

    Blanks are spaces and tabs; every other byte, including a no-break space or a vertical tab,
    is part of a word. If tabs separate the fields, a field may contain spaces and may be empty.
    """
    line = line.rstrip(_BLANKS)
    if layout.separator == "tab":
        return line.split(b"\t") if line else []
    return [field for field in line.replace(b"\t", b" ").split(b" ") if field]


def parse_plain(
    data: bytes, layout: Layout, interners: tuple[Interner, ...], *, open: bool, line: int
) -> Rows:
    """The rows of whole lines, parsed line by line; `line` is the number of the first."""
    columns: list[list[bytes]] = [[] for _ in layout.wanted]
    begins: list[int] = []
    lines: list[int] = []
    marks: list[int] = []
    token_lines: list[int] = []
    comments = labeled = 0
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
            labeled += any(
                fields[tag][1:2] == b"-" != fields[tag][:1] for tag in layout.tags if tag < len(fields)
            )
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
    counts = (line + len(texts), comments, skipping, labeled)
    return Rows(coded, ints(begins), ints(lines), ints(marks), open, *counts)


def _coded(words: list[bytes], interner: Interner) -> Codes:
    distinct: dict[bytes, int] = {}
    local = np.array([distinct.setdefault(word, len(distinct)) for word in words], dtype=np.int64)
    return interner.codes_of(list(distinct))[local]


def parse_fast(
    data: bytes,
    layout: Layout,
    interners: tuple[Interner, ...],
    *,
    open: bool,
    line: int,
    left_out: Ints | None = None,
) -> Rows | None:
    """The same rows as `parse_plain`, without a loop over lines; None if the lines are not regular.

    Lines are regular if all lines that are not empty have the same number of columns, with no
    blanks around them and, if tabs separate them, no empty column. Comments are left
    out, or else the lines whose indices, from 0, are `left_out`.
    """
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
        if b"\r" in data:
            return None
    if not data.endswith(b"\n"):
        data += b"\n"
    if b"\n\t\n" in data:  # some corpora write a tab on otherwise empty lines
        data = data.replace(b"\n\t\n", b"\n\n")
    if layout.comments is not None and _has_comments(data, layout.comments):
        left_out = lines_with(data, layout.comments)
    kept = np.zeros(0, dtype=np.int64)
    if left_out is not None and len(left_out):
        begins, ends = line_positions(data)
        kept = without(len(ends), left_out)
        data = without_lines(data, begins[left_out].tolist(), ends[left_out].tolist())
    if layout.separator == "tab" and _has_loose_blanks(data):
        return None
    fields = field_positions(data, layout.separator, layout.width)
    if fields is None:
        return None
    if left_out is None or not len(left_out):
        return _rows(fields, layout, interners, open=open, line=line)
    rows = _rows(fields, layout, interners, open=open, line=0)
    return replace(
        rows,
        lines=ints(line + kept[rows.lines]),
        token_lines=None if rows.token_lines is None else ints(line + kept[rows.token_lines]),
        line=line + len(kept) + len(left_out),
        comments=len(left_out),
    )


def line_positions(data: bytes) -> tuple[Ints, Ints]:
    """The positions at which each line begins and ends (without its line feed)."""
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
    if not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    return ints(np.append(0, ends[:-1] + 1)), ints(ends)


def lines_with(data: bytes, mark: bytes) -> Ints:
    """The indices, from 0, of the lines that begin with a mark."""
    begins, _ = line_positions(data)
    candidates = np.flatnonzero(np.frombuffer(data + b"\n", dtype=np.uint8)[begins] == mark[0])
    if len(mark) == 1:
        return ints(candidates)
    return ints([line for line in candidates.tolist() if data.startswith(mark, begins[line])])


def without_lines(data: bytes, begins: list[int], ends: list[int]) -> bytes:
    """The data without the lines at these positions."""
    pieces, position = [], 0
    for begin, end in zip(begins, ends, strict=True):
        if begin > position:
            pieces.append(data[position:begin])
        position = end + 1
    return b"".join([*pieces, data[position:]])


class FieldPositions(Struct, frozen=True, eq=False):
    """The positions at which the fields of regular lines begin and end, row by row."""

    buffer: bytes
    begin: Ints
    stop: Ints
    blanks: Ints  # the number of blank lines before each row, and after the last


def field_positions(data: bytes, separator: str, width: int) -> FieldPositions | None:
    """The positions of the fields, found as runs between separators; None if the lines are not regular."""
    # Prepend a line feed, since every chunk begins at the start of a line.
    bytes_ = np.frombuffer(b"\n" + data, dtype=np.uint8)
    at_newline = bytes_ == 10
    separating = at_newline | (bytes_ == 9)
    if separator == "blank":
        separating |= bytes_ == 32
    edge = np.flatnonzero(separating[1:] != separating[:-1])  # beginnings and ends of fields alternate
    begin, stop = edge[::2], edge[1::2]
    number, rest = divmod(len(stop), width)
    if rest:
        return None
    last = stop[width - 1 :: width]
    blanks = np.empty(number + 1, dtype=np.int64)
    blanks[:-1] = begin[::width]
    blanks[-1] = len(data)
    blanks[1:] -= last + 1  # the bytes between two rows, less the first row's line feed
    blank = np.count_nonzero(at_newline[1:] & at_newline[:-1])
    if np.count_nonzero(at_newline) - 1 != number + blank or not at_newline[1:][last].all():
        return None
    if blanks.sum() != blank:
        return None  # a line begins with a blank
    if separator == "tab" and np.count_nonzero(separating) - 1 != len(stop) + blank:
        return None  # a field is empty
    return FieldPositions(data + PADDING, begin, stop, blanks)


def without(size: int, left_out: Ints) -> Ints:
    """The indices below `size`, except those left out."""
    kept = np.ones(size, dtype=bool)
    kept[left_out] = False
    return np.flatnonzero(kept)


def _rows(
    fields: FieldPositions, layout: Layout, interners: tuple[Interner, ...], *, open: bool, line: int
) -> Rows:
    """The rows of regular lines, given the positions of their fields."""
    number, width = len(fields.blanks) - 1, layout.width
    marks = _document_marks(fields.buffer, fields.begin[::width], fields.stop[::width])
    breaks = fields.blanks > 0  # breaks[i]: a sentence ends before row i
    open = open and not breaks[0]
    breaks[0] = not open
    breaks[marks + 1] = True
    ending = not breaks[number] if number else open
    breaks[marks] = False
    begins = np.flatnonzero(breaks[:number])
    before = np.cumsum(fields.blanks)
    token_lines = None
    if layout.comments is not None:
        token_lines = ints(np.delete(line + np.arange(number) + before[:number], marks))
    columns = []
    kept = without(number, marks) if len(marks) else slice(None)
    for which, interner in zip(layout.wanted, interners, strict=True):
        begin, stop = fields.begin[which::width][kept], fields.stop[which::width][kept]
        coded = _tag_codes if which in layout.tags else Interner.codes
        columns.append(coded(interner, fields.buffer, begin, stop))
    return Rows(
        columns=tuple(columns),
        begins=ints(begins - np.searchsorted(marks, begins)),
        lines=ints(line + begins + before[begins]),
        marks=ints(marks - np.arange(len(marks))),
        open=bool(ending),
        line=line + number + int(before[-1]),
        token_lines=token_lines,
        labeled_marks=_labeled(fields, marks, layout) if len(marks) else 0,
    )


def _labeled(fields: FieldPositions, marks: Ints, layout: Layout) -> int:
    """How many of these rows have the tag of a mention, such as B-PER."""
    characters = np.frombuffer(fields.buffer, dtype=np.uint8)
    begins = [fields.begin[tag :: layout.width][marks] for tag in layout.tags]
    dashes = [(characters[begin + 1] == 45) & (characters[begin] != 45) for begin in begins]
    return int(np.count_nonzero(np.any(dashes, axis=0)))


def _tag_codes(interner: Interner, buffer: bytes, begin: Ints, stop: Ints) -> Codes:
    """The codes of tags; O, by far the most common, has code 0 and skips the lookup."""
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


def _has_comments(data: bytes, mark: bytes) -> bool:
    return data.startswith(mark) or b"\n" + mark in data


def _has_loose_blanks(data: bytes) -> bool:
    """Whether a space is next to a tab or a line feed, where it may not be part of a field."""
    return b" " in data and (b" \n" in data or b"\t " in data or b" \t" in data or b"\n " in data)


def parse(data: bytes, layout: Layout, interners: tuple[Interner, ...], *, open: bool, line: int) -> Rows:
    """The rows of whole lines, by the fast path if they are regular."""
    rows = parse_fast(data, layout, interners, open=open, line=line)
    return rows if rows is not None else parse_plain(data, layout, interners, open=open, line=line)


_Chunk = tuple[Column | None, ...]  # the columns of one chunk; None for tokens shared with `like`


class KeptRows:
    """Compact storage for chunks of rows, from which the rows of any range of sentences can be restored.

    Columns use the narrowest integer type, one byte for most tags. Tokens that equal those of the file
    given as `like`, as the tokens of predictions equal those of gold, are not stored again. Rows that skip
    comment lines are not stored at all.
    """

    def __init__(self, room: int, like: KeptRows | None = None) -> None:
        self._like = like
        self._left = room
        self._chunks: list[_Chunk] = []
        self._tokens = [0]  # the number before each chunk, and the total
        self._sentences = [0]
        self._firsts: list[Column] = []  # for each chunk, the first token of each sentence
        self._lines: list[Column] = []

    def add(self, rows: Rows, strings: Sequence[int]) -> bool:
        """Add a chunk, given the number of distinct strings in each column; False if there is no room."""
        if rows.token_lines is not None:
            return False
        begin, end = self._tokens[-1], self._tokens[-1] + len(rows.columns[0])
        columns: list[Column | None] = [
            column.astype(np.min_scalar_type(max(number - 1, 0)))
            for column, number in zip(rows.columns, strings, strict=True)
        ]
        if self._like is not None and np.array_equal(self._like.column(0, begin, end), rows.columns[0]):
            columns[0] = None
        firsts = (rows.begins + begin).astype(np.uint32)
        lines = rows.lines.astype(np.uint32)
        self._left -= sum(column.nbytes for column in (*columns, firsts, lines) if column is not None)
        if self._left < 0 or max(end, rows.line) > np.iinfo(np.uint32).max:
            return False
        self._chunks.append(tuple(columns))
        self._tokens.append(end)
        self._sentences.append(self._sentences[-1] + len(firsts))
        self._firsts.append(firsts)
        self._lines.append(lines)
        return True

    def forget(self, token: int) -> None:
        """Free the chunks before a token once their rows are no longer needed."""
        for number in range(bisect_right(self._tokens, token) - 1):
            self._chunks[number] = ()
            self._firsts[number] = self._lines[number] = np.zeros(0, dtype=np.uint32)

    @property
    def left(self) -> int:
        """The number of bytes for which there is still room."""
        return self._left

    def column(self, index: int, begin: int, end: int) -> Column:
        """The values of a column from token `begin` up to token `end`, or up to the last token."""
        parts = [
            self._of_chunk(index, number)[max(begin - first, 0) : end - first]
            for number, first in self._among(self._tokens, begin, end)
        ]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint8)

    def _of_chunk(self, index: int, number: int) -> Column:
        column = self._chunks[number][index]
        if column is not None:
            return column
        assert self._like is not None
        return self._like.column(index, self._tokens[number], self._tokens[number + 1])

    def rows(self, tokens: tuple[int, int], sentences: tuple[int, int], line: int) -> Rows:
        """The rows of a range of tokens and sentences, as if a file began with them at `line`."""
        begin, end = tokens
        wide = len(self._chunks[-1])
        return Rows(
            columns=tuple(codes(self.column(index, begin, end)) for index in range(wide)),
            begins=ints(self._by_sentence(self._firsts, *sentences) - begin),
            lines=ints(self._by_sentence(self._lines, *sentences) - (line - 1)),
            marks=ints([]),
            open=False,
            line=0,
        )

    def _by_sentence(self, column: Sequence[Column], begin: int, end: int) -> Ints:
        parts = [
            column[number][max(begin - first, 0) : end - first]
            for number, first in self._among(self._sentences, begin, end)
        ]
        return np.concatenate(parts).astype(np.int64)

    @staticmethod
    def _among(starts: Sequence[int], begin: int, end: int) -> list[tuple[int, int]]:
        """The chunks that overlap a range of tokens or sentences, each with its first token or sentence."""
        number = max(bisect_right(starts, begin) - 1, 0)
        chunks = []
        while number < len(starts) - 1 and starts[number] < end:
            chunks.append((number, starts[number]))
            number += 1
        return chunks


FIRST_CHUNK, MOST_CHUNK = 1 << 16, 1 << 19  # chunks grow to a size that still fits in the CPU cache
_HEADER = b"# global.columns ="


class CodedColumns(Struct, frozen=True, eq=False):
    """A file, or a part of it, as columns of codes, with the strings of each wanted column."""

    layout: Layout
    rows: Rows
    strings: tuple[tuple[str, ...], ...]

    def offsets(self) -> Ints:
        """The first token of each sentence, and the end of the last sentence."""
        return ints(np.append(self.rows.begins, len(self.rows.columns[0])))


def whole(
    file: File, options: Options, tag_columns: tuple[int | str, ...], words: Interner | None = None
) -> CodedColumns:
    """Parse all rows of a file, chunk by chunk; with `words`, its tokens are added to that interner."""
    layout: Layout | None = None
    interners: tuple[Interner, ...] = ()
    parts: list[Rows] = []
    line, open_ = 1, False
    for chunk in chunks(file):
        check_utf8(file, chunk, line)
        if layout is None:
            layout, skipped = layout_of(file.path, chunk, options, tag_columns, line)
            if layout is None:
                line += chunk.count(b"\n")
                continue
            interners = interners_of(layout, words)
            chunk, line = without_header(chunk, line, skipped)
        if chunk:
            rows = parse(chunk, layout, interners, open=open_, line=line)
            open_, line = rows.open, rows.line
            parts.append(rows)
    if layout is None or not any(len(part.columns[0]) for part in parts):
        raise no_token(file.path)
    return CodedColumns(layout, _joined(parts), tuple(tuple(interner.strings) for interner in interners))


def tag_columns(options: Options, *, merged: bool) -> dict[str, int | str]:
    """The tag columns by layer: `only`, or for a merged file `gold` and, in the next column, `predicted`."""
    column = options.tag_column
    if not merged:
        return {"only": -1 if column is None else column}
    if isinstance(column, str) and not is_number(column):
        raise ChoiceError(
            f"tag_column={column!r} names one column, but a merged file has two.\n"
            "Give the number of the gold one."
        )
    first = -2 if column is None else int(column)
    return {"gold": first, "predicted": first + 1}


def interners_of(layout: Layout, words: Interner | None = None) -> tuple[Interner, ...]:
    """An interner for each wanted column, tokens first; in tag columns O has code 0, as `parse` expects.

    `words` is an interner that already holds the tokens of other files.
    """
    first = Interner() if words is None else words
    result = (first, *(Interner() for _ in layout.wanted[1:]))
    for which, interner in zip(layout.wanted, result, strict=True):
        if which in layout.tags:
            interner.codes_of([b"O"])
    return result


def chunks(file: File) -> Iterator[bytes]:
    """The file in chunks of whole lines, which grow in size."""
    rest: list[bytes] = []
    size, wanted = 0, FIRST_CHUNK
    for piece in file.chunks(FIRST_CHUNK):
        size += len(piece)
        cut = piece.rfind(b"\n") + 1
        if size < wanted or not cut:
            rest.append(piece)
            continue
        yield b"".join([*rest, piece[:cut]])
        rest, size = [piece[cut:]], len(piece) - cut
        wanted = min(wanted * 2, MOST_CHUNK)
    if last := b"".join(rest):
        yield last


def check_utf8(file: File, chunk: bytes, line: int) -> None:
    """Raise InputError if a chunk, whose first line is `line`, is not UTF-8."""
    if chunk.isascii():
        return
    try:
        chunk.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(file.not_utf8(chunk, error, line)) from None


def without_header(chunk: bytes, line: int, skipped: int) -> tuple[bytes, int]:
    """The chunk without its first `skipped` lines, and the number of the line it begins with."""
    *header, rest = chunk.split(b"\n", skipped)
    return rest if len(header) == skipped else b"", line + skipped


def layout_of(
    path: str, chunk: bytes, options: Options, tag_columns: tuple[int | str, ...], line: int
) -> tuple[Layout | None, int]:
    """The layout of a file, from its first lines, and the number of header lines."""
    if not chunk.strip(b" \t\r\n"):
        return None, 0
    if b"\n" not in chunk and b"\r" in chunk.rstrip(b"\r"):
        raise InputError(
            at(
                path,
                line,
                "the lines end with lone carriage returns.\nConvert them, for example with: tr '\\r' '\\n'",
            )
        )
    mark = None if options.comments is None else options.comments.encode("utf-8")
    if mark == b"":
        raise ChoiceError("comments='' would leave out every line.\nName the mark of comments, such as '#'.")
    separator = options.separator or _separator(chunk, mark)
    if separator not in ("tab", "blank"):
        raise unknown("separator", separator, ("tab", "blank"))
    draft = Layout(path, separator, 0, 0, (), comments=mark)
    requested = (options.token_column or 0, *tag_columns, *options.columns.values())
    names, skipped = _header(chunk, draft) if any(not is_number(column) for column in requested) else ([], 0)
    for number, text in filled_lines(chunk, line):
        if number < line + skipped or (mark is not None and text.startswith(mark)):
            continue
        fields = split(text, draft)
        if not fields or fields[0] == DOCSTART:
            continue
        _check_width(path, number, fields, separator)
        if len(tag_columns) > 1 and len(fields) == 2:
            raise ChoiceError(
                at(path, number, "the line has 2 columns, but a file given alone must hold a token, a gold "
                   "tag and a predicted tag.\nGive the predictions as a second file.")
            )  # fmt: skip
        indices = [_column_index(column, len(fields), names, path, number) for column in requested]
        if options.tag_column is None and "score" in options.columns:
            score = indices[1 + len(tag_columns) + list(options.columns).index("score")]
            indices[1 : 1 + len(tag_columns)] = _without_scores(score, indices[1 : 1 + len(tag_columns)])
        tags = tuple(indices[1 : 1 + len(tag_columns)])
        if indices[0] in tags:
            raise ChoiceError(
                at(path, number, "the tokens and the tags would both be in column "
                   f"{indices[0]}.\nName another column.")
            )  # fmt: skip
        return Layout(path, separator, len(fields), number, tuple(indices), tags, mark), skipped
    return None, 0


def _without_scores(score: int, tags: list[int]) -> list[int]:
    """The default tag columns, moved one to the left if they would include the column of scores."""
    return [column - 1 if column <= score else column for column in tags] if score in tags else tags


def filled_lines(chunk: bytes, line: int) -> Iterator[tuple[int, bytes]]:
    """The lines that are not empty, numbered from `line`; long runs of empty lines are skipped cheaply."""
    before = 0
    for match in re.finditer(rb"[^\n]+", chunk):
        line += chunk.count(b"\n", before, match.start())
        before = match.start()
        yield line, match[0]


def _check_width(path: str, line: int, fields: list[bytes], separator: str) -> None:
    if len(fields) > 1:
        return
    word = fields[0].decode("utf-8", "replace")
    shown = repr(word if len(word) < 40 else word[:40] + "…")
    advice = "Is this a CoNLL file? Otherwise name its format."
    if path.endswith(".csv") or not all(malformed(word.rpartition(comma)[2]) for comma in ",;"):
        advice = "If this is a CSV file, separate its columns by tabs, or pass it as a frame."
    raise InputError(
        at(path, line, f"the line has only one column, {shown} (columns are separated by "
           f"{BETWEEN[separator]}), but a token and a tag are needed.\n"
           f"{advice}")
    )  # fmt: skip


def _separator(chunk: bytes, mark: bytes | None) -> str:
    """The separator: "tab" if every line that is not blank has a tab, else "blank" (spaces or tabs)."""
    seen = False
    whole = chunk[: chunk.rfind(b"\n") + 1] or chunk  # the last line may be incomplete
    for _, text in filled_lines(whole, 1):
        if mark is not None and text.startswith(mark):
            continue
        bare = text.rstrip(b" \t\r")
        if not bare or bare.startswith(DOCSTART):
            continue
        if b"\t" not in bare:
            return "blank"
        seen = True
    return "tab" if seen else "blank"


def is_number(column: int | str) -> bool:
    """Whether a column is given by its number, possibly as a string."""
    return isinstance(column, int) or column.lstrip("-").isdecimal()


def _header(chunk: bytes, layout: Layout) -> tuple[list[str], int]:
    """The column names, from a line `# global.columns = …` or the first line, and the number of that line."""
    for number, text in filled_lines(chunk, 1):
        if text.startswith(_HEADER):
            return text[len(_HEADER) :].decode("utf-8", "replace").split(), number
        if fields := split(text, layout):
            return [field.decode("utf-8", "replace") for field in fields], number
    return [], 0


def _column_index(column: int | str, width: int, names: list[str], path: str, line: int) -> int:
    """The index, from 0, of a column given by number or name."""
    if not is_number(column):
        if column not in names:
            raise ChoiceError(
                at(path, None, f"{unknown('column', column, names)}\n"
                   "They are in the first line; without such names, give a column by its number, from 0.")
            )  # fmt: skip
        index = names.index(str(column))
        if index >= width:
            raise InputError(
                at(path, line, f"the line has {width} columns, but the first line names {len(names)}, and "
                   f"{column!r} is number {index + 1} of them.\nComplete the line, or correct the names.")
            )  # fmt: skip
        return index
    return numbered_column(int(column), width, path, line)


def _joined(parts: list[Rows]) -> Rows:
    """The rows of all parts, concatenated."""
    sizes = np.array([len(part.columns[0]) for part in parts])
    before = np.cumsum(sizes) - sizes
    return Rows(
        columns=tuple(
            np.concatenate(column) for column in zip(*(part.columns for part in parts), strict=True)
        ),
        begins=ints(np.concatenate([part.begins + shift for part, shift in zip(parts, before, strict=True)])),
        lines=ints(np.concatenate([part.lines for part in parts])),
        marks=ints(np.concatenate([part.marks + shift for part, shift in zip(parts, before, strict=True)])),
        open=parts[-1].open,
        line=parts[-1].line,
        comments=sum(part.comments for part in parts),
        token_lines=_joined_lines(parts),
        labeled_marks=sum(part.labeled_marks for part in parts),
    )


def _joined_lines(parts: list[Rows]) -> Ints | None:
    listed = [part.token_lines for part in parts if part.token_lines is not None]
    return ints(np.concatenate(listed)) if listed else None


def corpus_of(columns: CodedColumns, options: Options, file: File) -> Corpus:
    """The corpus with the tokens of the first wanted column, and the extra columns of `options.columns`."""
    rows = columns.rows
    sentences = columns.offsets()
    first_extra = len(columns.strings) - len(options.columns)
    extra: dict[str, Column] = {}
    for index, name in enumerate(options.columns, start=first_extra):
        strings = np.array(columns.strings[index], dtype=object)
        extra[name] = frozen(strings[rows.columns[index]])
    return Corpus(
        tokens=rows.columns[0],
        vocabulary=columns.strings[0],
        sentences=sentences,
        documents=None if options.documents == "none" else _documents(rows.marks, sentences),
        columns=extra,
        source=Source(file.path, rows.lines, rows.token_lines if rows.comments else None),
    )


def _documents(marks: Ints, sentences: Ints) -> Ints | None:
    """Offsets of documents into the sentences; a document begins at each mark, and empty ones are dropped."""
    if not len(marks):
        return None
    number = len(sentences) - 1
    starts = np.searchsorted(sentences[:-1], marks)
    borders = np.concatenate([[0], starts, [number]])
    return ints(borders[np.concatenate([[True], np.diff(borders) > 0])])
