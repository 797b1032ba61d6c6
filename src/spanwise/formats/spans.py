"""Span files: one line per mention, with its label, first and last token (from 1, inclusive) and tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.columns import Bools, Column, Ints, Words, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions, Parts, Source
from spanwise.errors import InputError, at, many
from spanwise.formats._format import Format, Options, Problem, in_tokens, is_position
from spanwise.formats._opening import File
from spanwise.formats._sentences import Part
from spanwise.formats._surveying import Batch
from spanwise.hashing import numbered

_TAB, _LINE_END, _ZERO = b"\t\n0"
_WORD = 8  # bytes compared at once
_LOW = np.array([256**size - 1 for size in range(_WORD + 1)], dtype=np.uint64)  # masks of the first bytes
_LABEL = 32  # bytes of the longest label on a plain line
_DIGITS = 5  # of the largest position on a plain line; a text of all positions up to it is kept in memory
_BLOCK = 1 << 18  # bytes read at a time, so that a large file needs hardly more memory than a small one
_PADDING = b"\n" * (_LABEL + _WORD)  # after a block, so that a word can be read at any byte

_Bytes = npt.NDArray[np.uint8]


class SpanLines(Struct, frozen=True, eq=False):
    """The lines of a span file that are not empty, with the content of those that are plain.

    A line is plain if it consists of a label, two positions that form a span and, optionally, the
    list of all tokens of that span, as in `PER 3 5 3, 4, 5`; or if it has as many columns and a
    label that stands for no mention. Nearly all lines are plain; the others must be read one by one.
    """

    number: Ints  # of the line, from 1
    plain: Bools
    start: Ints  # of the span, half-open from 0
    end: Ints
    label: Ints  # index into `labels`
    labels: list[str]

    @classmethod
    def of(cls, data: bytes, *, empty: Sequence[str]) -> SpanLines:
        """Parse valid UTF-8 without NUL; `empty` are the labels that stand for no mention, listed first."""
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
        codes = {label: number for number, label in enumerate(empty)}
        blocks: list[tuple[Column, ...]] = []
        before = 0
        for block in _blocks(data):
            lines, number, *columns = _read(block, codes, len(empty))
            blocks.append((number + before, *columns))
            before += lines
        number, plain, start, end, label = map(_joined, zip(*blocks, strict=True))
        return cls(number, plain, start, end, label, list(codes))


def _joined(columns: Sequence[Column]) -> Column:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


def _blocks(data: bytes) -> Iterator[bytes]:
    """The lines in blocks, each with a line feed in front, so that its first line is like the others."""
    view = memoryview(data)
    begin, stop = 0, -1
    while stop < len(data):
        stop = data.find(b"\n", begin + _BLOCK) + 1 or len(data)
        yield b"".join((b"\n", view[begin:stop], _PADDING))
        begin = stop


def _read(data: bytes, codes: dict[str, int], empty: int) -> tuple[int, Ints, Bools, Ints, Ints, Ints]:
    """The number of lines in a block, and the columns of those that are not empty."""
    content = np.frombuffer(data, np.uint8)
    border = np.flatnonzero((content == _TAB) | (content == _LINE_END))
    line_end = np.flatnonzero(content[border] == _LINE_END)
    stops = border[line_end]
    filled = np.flatnonzero(stops[1:] - stops[:-1] > 1)
    before, after = line_end[filled], line_end[1:][filled]
    # In a line without a list of tokens, the third border is the end of the line.
    first, second, third = border[1:][before], border[2:][before], border[3:][before]
    columns = after - before
    plain = (columns == 3) | (columns == 4)
    label = _labels(data, stops[filled] + 1, first, plain, codes)
    without = plain & (label < empty)
    plain &= ~without
    start, end = _spans(content, np.stack([first, second, third]), plain)
    _check_lists(data, third + 1, stops[1:][filled], start, end, plain)
    return len(line_end) - 1 - len(_PADDING), filled + 1, plain | without, start, end, label


def _labels(data: bytes, begin: Ints, stop: Ints, plain: Bools, codes: dict[str, int]) -> Ints:
    """The code of each label; new labels are added to `codes`. A line with a long label is not plain."""
    size = stop - begin
    plain &= (size > 0) & (size <= _LABEL)
    size *= plain
    width = max(-(-int(size.max(initial=0)) // _WORD), 1)
    words: Words = np.empty((len(size), width), dtype=np.uint64)
    for position in range(width):
        words[:, position] = _words(data)[begin + position * _WORD] & _low(size - position * _WORD)
    sample, number = numbered(words)
    borders = zip(begin[sample].tolist(), (begin + size)[sample].tolist(), strict=True)
    names = [data[first:last].decode("utf-8") for first, last in borders]
    return np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.int64)[number]


def _spans(content: _Bytes, borders: Ints, plain: Bools) -> tuple[Ints, Ints]:
    """Starts and ends of plain lines, 0 for others; a line whose positions form no span is not plain."""
    stop = borders[1:]
    size = stop - borders[:-1] - 1
    size *= plain
    legible = (size > 0) & (size <= _DIGITS)
    position = np.zeros(size.shape, dtype=np.int64)
    for back in range(min(int(size.max(initial=0)), _DIGITS)):
        digit = content[stop - 1 - back] - np.uint8(_ZERO)  # characters before "0" wrap around
        digit *= size > back
        legible &= digit <= 9
        position += digit * np.int64(10**back)
    start, end = position
    start -= 1
    plain &= legible[0] & legible[1] & (start >= 0) & (start < end)
    position *= plain
    return start, end


@cache
def _listing(size: int) -> tuple[Words, Ints]:
    """The text `1, 2, 3, …`, in which the token list of every span is a substring, and where tokens begin."""
    tokens = [b"%d" % token for token in range(1, size + 1)]
    words = np.array(_words(b", ".join(tokens) + b" " * _WORD))  # copied: aligned words are faster
    return words, offsets([len(token) + 2 for token in tokens])


def _check_lists(data: bytes, begin: Ints, stop: Ints, start: Ints, end: Ints, plain: Bools) -> None:
    """Mark lines as not plain if their token list is not the list of all tokens of their span."""
    all_words, offset = _listing(
        1 << max(int(end.max(initial=0)).bit_length(), 7)
    )  # powers of two: few are cached
    size = stop - begin
    first = offset[start]
    same = size == offset[end] - 2 - first
    # Most lists end within their first word.
    words = _words(data)
    differing = words[begin] ^ all_words[first]
    same &= (differing & _low(size)) == 0
    long = np.flatnonzero(same & (size > _WORD))
    if len(long):
        rest = begin[long] + _WORD, first[long] + _WORD
        same[long] = _same(words, rest[0], all_words, rest[1], size[long] - _WORD)
    plain &= same | (size <= 0)


def _same(words: Words, begin: Ints, others: Words, first: Ints, size: Ints) -> Bools:
    """Whether each pair of byte ranges of the same size in two texts is equal."""
    number = -(-size // _WORD)
    at = offsets(number)
    inner = np.arange(at[-1]) * _WORD
    shift = at[:-1] * _WORD
    differing = words[np.repeat(begin - shift, number) + inner]
    differing ^= others[np.repeat(first - shift, number) + inner]
    differing[at[1:] - 1] &= _low(size - (number - 1) * _WORD)
    return np.asarray(np.bitwise_or.reduceat(differing, at[:-1]) == 0)


def _low(size: Ints) -> Words:
    """Masks of the first `size` bytes of a word, with sizes limited to the range 0 to 8."""
    return np.asarray(_LOW[np.minimum(np.maximum(size, 0), _WORD)])


def _words(data: bytes) -> Words:
    """The little-endian word that begins at each byte."""
    return np.ndarray(len(data) - _WORD + 1, "<u8", data, strides=(1,))


_FIRST_ROWS = 50  # from which a file is recognised
_LISTED = 10_000  # tokens of the longest span whose tokens are written out; an end may be any number
EVIDENCE = "rows of label, begin and end"
_EMPTY = ("NONE", "EMPTY")  # the labels of a row that stands for a sentence without mentions


class _SpanRows(Struct, frozen=True, eq=False):
    """The lines that are not blank: their numbers from 1, and their content."""

    line: Ints
    start: Ints
    end: Ints
    label: Ints  # the first labels are those of `_EMPTY`
    labels: list[str]
    pieces: Mapping[int, list[tuple[int, int]]]  # by line, for rows that skip tokens


def records(part: Part, options: Options) -> Iterator[Batch | Problem]:
    """The sentences of a span file, in which a blank line ends a sentence."""
    problems: list[Problem] = []
    rows = _rows(part, problems)
    yield from problems
    if problems or not len(rows.line):
        return
    begins = np.ones(len(rows.line), dtype=bool)
    begins[1:] = rows.line[1:] - rows.line[:-1] > 1
    lines = ints(rows.line[np.flatnonzero(begins)])
    corpus = Corpus(
        tokens=np.zeros(0, dtype=np.int32),
        vocabulary=(),
        sentences=np.zeros(len(lines) + 1, dtype=np.int64),
        without_text=True,
        source=Source(part.path, lines),
    )
    chosen = np.flatnonzero(rows.label >= len(_EMPTY))
    mentions = _mentions(rows, chosen, np.cumsum(begins)[chosen] - 1).sole(
        duplicates=options.duplicates,
        place=lambda which: f"{part.path}:{rows.line[chosen[which]]}",
    )
    yield Batch(corpus, lines, mentions={"gold": mentions})


def _rows(part: Part, problems: list[Problem]) -> _SpanRows:
    """The rows of a part: plain lines are parsed all at once, the others one by one, duplicates once."""
    lines = SpanLines.of(part.data, empty=_EMPTY)
    number = lines.number + (part.first - 1)
    unread = np.flatnonzero(~lines.plain).tolist()
    if not unread:
        return _SpanRows(number, lines.start, lines.end, lines.label, lines.labels, {})
    start, end, label = lines.start.copy(), lines.end.copy(), lines.label.copy()
    codes = {name: code for code, name in enumerate(lines.labels)}
    texts = part.text.split("\n")
    parsed: dict[str, _Span | str] = {}
    pieces = {}
    for row, line in zip(unread, number[unread].tolist(), strict=True):
        fields = _fields(texts[line - part.first])
        label[row] = -1 if fields == [""] else codes.setdefault(fields[0], len(codes))
        if label[row] >= len(_EMPTY):
            text = "\t".join(fields)
            if text not in parsed:
                parsed[text] = _span(fields)
            span = parsed[text]
            if isinstance(span, str):
                problems.append(Problem(line, span))
                continue
            start[row], end[row], runs = span
            if len(runs) > 1:
                pieces[line] = runs
    filled = label >= 0
    return _SpanRows(number[filled], start[filled], end[filled], label[filled], list(codes), pieces)


def _fields(text: str) -> list[str]:
    """The columns of a line; a blank line has a single empty column."""
    return text.rstrip(" \t\r").split("\t")


_Span = tuple[int, int, list[tuple[int, int]]]


def _span(fields: list[str]) -> _Span | str:
    """Start, end and pieces of a row, half-open and counted from 0, or what is wrong with it."""
    if len(fields) < 3:
        return (
            f"the row has {many(len(fields), 'column')}, but label, begin and end are needed, "
            "separated by tabs.\nFix the row."
        )
    label, first, last = fields[:3]
    if not label:
        return "the row has no label.\nWrite it in the first column."
    if not (is_position(first) and is_position(last)):
        return (
            f"{first!r} and {last!r} should be the numbers of the first and the last token, from 1.\n"
            "Fix the row."
        )
    start, end = int(first) - 1, int(last)
    if not 0 <= start < end:
        return (
            f"the span {first} to {last} is empty or begins before 1.\n"
            "Positions count from 1, and both ends belong to the span."
        )
    runs = _pieces(fields[3] if len(fields) > 3 else "", start, end)
    return runs if isinstance(runs, str) else (start, end, runs)


def _pieces(listed: str, start: int, end: int) -> list[tuple[int, int]] | str:
    """The runs of consecutive tokens among those listed, all of the span if none are, or what is wrong."""
    if not listed.strip():
        return [(start, end)]
    words = [word.strip() for word in listed.split(",")]
    if not all(map(is_position, words)):
        return f"{listed!r} should be the numbers of the tokens, separated by commas.\nFix the row."
    tokens = [int(word) - 1 for word in words]
    if tokens[0] != start or tokens[-1] != end - 1 or sorted(set(tokens)) != tokens:
        return f"the tokens {listed!r} do not run from {start + 1} to {end}.\nFix the row."
    pieces: list[tuple[int, int]] = []
    for token in tokens:
        if pieces and pieces[-1][1] == token:
            pieces[-1] = (pieces[-1][0], token + 1)
        else:
            pieces.append((token, token + 1))
    return pieces


def _mentions(rows: _SpanRows, chosen: Ints, sentence: Ints) -> Mentions:
    """The mentions of the chosen rows, given their sentences."""
    number = rows.label[chosen]
    used = np.flatnonzero(np.bincount(number, minlength=len(rows.labels))).tolist()
    labels = sorted(rows.labels[index] for index in used)
    code = {label: index for index, label in enumerate(labels)}
    table = np.array([code.get(label, 0) for label in rows.labels], dtype=np.int32)
    start, end = rows.start[chosen], rows.end[chosen]
    parts = None
    if rows.pieces:
        spans = zip(rows.line[chosen].tolist(), start.tolist(), end.tolist(), strict=True)
        parts = Parts.of([rows.pieces.get(line, [(first, stop)]) for line, first, stop in spans])
    return Mentions(sentence, start, end, table[number], labels, parts)


def recognise(file: File) -> str | None:
    """Recognise rows of a label and two numbers; with the suffix .spans, the first row decides."""
    lines = file.head.split(b"\n", _FIRST_ROWS)
    rows = [line.rstrip(b" \t\r").split(b"\t") for line in lines[:-1] or lines if line.strip()]
    rows = rows[:1] if file.suffix in FORMAT.suffixes else rows
    if rows and all(len(row) >= 3 and row[1].isdigit() and row[2].isdigit() and row[0] for row in rows):
        return EVIDENCE
    return None


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """The bytes of a span file, in which tokens count from 1 and both ends are inclusive."""
    annotation = in_tokens(annotation)
    mentions, corpus = annotation.mentions, annotation.corpus
    for label in mentions.labels:
        if label in _EMPTY or "\t" in label or "\n" in label or label != label.strip(" \r"):
            raise InputError(
                f"{annotation.reading.path}: the label {label!r} means something else in a span file.\n"
                "Write jsonl instead."
            )
    listed: list[list[str]] = [[] for _ in range(len(corpus))]
    for (sentence, start, end, label), pieces in zip(mentions.rows(), mentions.pieces(), strict=True):
        if start < 0:
            raise InputError(
                at(annotation.reading.path, None, f"a mention {label} of sentence {sentence + 1} has no "
                   "position in the text.\nSpan files need one; align it first.")
            )  # fmt: skip
        row = f"{label}\t{start + 1}\t{end}"
        if len(pieces) > 1 or end - start <= _LISTED:
            row += "\t" + ", ".join(str(token) for a, b in pieces for token in range(a + 1, b + 1))
        listed[sentence].append(row)
    empty = "NONE\t999\t999\t999"
    return "".join("\n".join(rows or [empty]) + "\n\n" for rows in listed).encode("utf-8")


FORMAT = Format(
    name="spans",
    summary="label, first and last token from 1, separated by tabs; a blank line ends a sentence",
    recognise=recognise,
    records=records,
    evidence=EVIDENCE,
    empty="the file has no spans.\nA sentence without spans is a row that begins with NONE.",
    write=write,
    suffixes=(".spans",),
    source="Ortmann (2022)",
    holds=frozenset(("sentences", "nested", "discontinuous")),
)
