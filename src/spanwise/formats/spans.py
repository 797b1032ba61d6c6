"""Span files: label, first and last token (from 1, both included) and the tokens; a line a mention."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import count

import numpy as np

from spanwise.columns import Ints, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions, Parts, Reading, Source
from spanwise.errors import InputError, at
from spanwise.formats._format import Format, Options, Problem, in_tokens, label_notes, problem_at
from spanwise.formats._opening import File
from spanwise.records import record

_EMPTY = ("NONE", "EMPTY")  # the labels of a row that stands for a sentence without mentions

_BLANK, _WITHOUT, _MENTION = range(3)  # what a line is
_DIGITS = 5  # of positions whose lists of tokens are compared with one text of all of them


@record(eq=False)
class _Known:
    """What the distinct lines of a file say, a row each: equal lines say the same, so each is read once."""

    kind: Ints
    start: Ints
    end: Ints
    label: list[str]
    pieces: Mapping[int, list[tuple[int, int]]]  # of the rows that leave tokens out


def read(file: File, options: Options) -> Annotation:
    """The annotation of a span file; a blank line ends a sentence."""
    texts = file.text.split("\n")
    number: dict[str, int] = defaultdict(count().__next__)
    code = np.fromiter(map(number.__getitem__, texts), np.int64, len(texts))
    known = _read_lines(file.path, texts, list(number))
    kind = known.kind[code]
    begins = kind != _BLANK
    begins[1:] &= kind[:-1] == _BLANK
    if not begins.any():
        raise InputError(
            at(
                file.path,
                None,
                "the file holds no span.\nA sentence without spans is a row that begins with NONE.",
            )
        )
    row = np.flatnonzero(kind == _MENTION)
    lines = np.flatnonzero(begins) + 1
    corpus = Corpus(
        tokens=np.zeros(0, dtype=np.int32),
        vocabulary=(),
        sentences=ints(np.zeros(len(lines) + 1)),
        without_text=True,
        source=Source(file.path, ints(lines)),
    )
    mentions = _mentions(known, code[row], np.cumsum(begins)[row] - 1).sole(
        duplicates=options.duplicates,
        place=lambda which: f"{file.path}:{row[which] + 1}",
    )
    reading = Reading(
        path=file.path,
        sha256=file.sha256,
        format="spans",
        evidence="rows of label, begin and end",
        notes=tuple(label_notes(mentions)),
    )
    return Annotation(corpus, mentions, reading)


def _read_lines(path: str, texts: list[str], distinct: list[str]) -> _Known:
    """What each distinct line says; one that cannot be read is an error at its first place in `texts`."""
    rows = [text.rstrip(" \t\r").split("\t") for text in distinct]
    label = [row[0] for row in rows]
    kind = np.full(len(rows), _MENTION)
    kind[[row == [""] for row in rows]] = _BLANK
    kind[[name in _EMPTY for name in label]] = _WITHOUT
    start, end = np.zeros((2, len(rows)), dtype=np.int64)
    unread = kind == _MENTION
    which, *borders = _whole_spans(rows)
    start[which], end[which] = borders
    unread[which] = False
    pieces: dict[int, list[tuple[int, int]]] = {}
    for row in np.flatnonzero(unread).tolist():
        try:
            start[row], end[row], found = _span(path, 0, rows[row])
        except InputError:
            start[row], end[row], found = _span(path, texts.index(distinct[row]) + 1, rows[row])
        if len(found) > 1:
            pieces[row] = found
    return _Known(kind, start, end, label, pieces)


def _whole_spans(rows: list[list[str]]) -> tuple[Ints, Ints, Ints]:
    """Numbers, starts and ends of rows that plainly are spans with all their tokens, as nearly all are.

    They are read at once; what is left out here is looked at row by row.
    """
    which = [number for number, row in enumerate(rows) if 3 <= len(row) <= 4 and row[0] not in ("", *_EMPTY)]
    first, last = ([rows[number][column] for number in which] for column in (1, 2))
    none = np.zeros(0, dtype=np.int64)
    if not which or not all(_is_position("".join(column)) and all(column) for column in (first, last)):
        return none, none, none
    if max(map(len, first)) > _DIGITS or max(map(len, last)) > _DIGITS:
        return none, none, none
    start, end = ints(list(map(int, first))) - 1, ints(list(map(int, last)))
    tokens = list(map(str, range(1, int(end.max()) + 1)))
    listing = ", ".join(tokens)
    place = offsets([len(token) + 2 for token in tokens])
    fits = (start >= 0) & (start < end)
    begin, stop = place[np.where(fits, start, 0)].tolist(), (place[np.where(fits, end, 0)] - 2).tolist()
    for at_row, number in enumerate(which):
        listed = rows[number][3:]
        if listed and listed[0] != listing[begin[at_row] : stop[at_row]]:
            fits[at_row] = False
    return ints(which)[fits], start[fits], end[fits]


def _span(path: str, line: int, fields: list[str]) -> tuple[int, int, list[tuple[int, int]]]:
    """Start, end and pieces of a row, half-open from 0."""
    if len(fields) < 3:
        raise InputError(
            at(path, line, f"the row has {len(fields)} columns, but label, begin and end are needed, "
               "separated by tabs.\nMend the row.")
        )  # fmt: skip
    label, first, last = fields[:3]
    if not label:
        raise InputError(at(path, line, "the row has no label.\nWrite it in the first column."))
    if not (_is_position(first) and _is_position(last)):
        raise InputError(
            at(path, line, f"{first!r} and {last!r} should be the numbers of the first and the last token, "
               "from 1.\nMend the row.")
        )  # fmt: skip
    start, end = int(first) - 1, int(last)
    if not 0 <= start < end:
        raise InputError(
            at(path, line, f"the span {first} to {last} is empty or begins before 1.\n"
               "Positions count from 1, and both ends belong to the span.")
        )  # fmt: skip
    return start, end, _pieces(path, line, fields[3] if len(fields) > 3 else "", start, end)


def _is_position(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _pieces(path: str, line: int, listed: str, start: int, end: int) -> list[tuple[int, int]]:
    """The runs of neighbouring tokens among those listed; the whole span where none are."""
    if not listed.strip():
        return [(start, end)]
    words = [word.strip() for word in listed.split(",")]
    if not all(map(_is_position, words)):
        raise InputError(
            at(
                path,
                line,
                f"{listed!r} should be the numbers of the tokens, separated by commas.\nMend the row.",
            )
        )
    tokens = [int(word) - 1 for word in words]
    if tokens[0] != start or tokens[-1] != end - 1 or sorted(set(tokens)) != tokens:
        raise InputError(
            at(path, line, f"the tokens {listed!r} do not run from {start + 1} to {end}.\nMend the row.")
        )
    pieces: list[tuple[int, int]] = []
    for token in tokens:
        if pieces and pieces[-1][1] == token:
            pieces[-1] = (pieces[-1][0], token + 1)
        else:
            pieces.append((token, token + 1))
    return pieces


def _mentions(known: _Known, code: Ints, sentence: Ints) -> Mentions:
    """The mentions whose lines are the rows `code` of `known`."""
    labels = sorted({label for label, kind in zip(known.label, known.kind, strict=True) if kind == _MENTION})
    label_code = {label: number for number, label in enumerate(labels)}
    label = np.array([label_code.get(name, 0) for name in known.label], dtype=np.int32)[code]
    start, end = known.start[code], known.end[code]
    parts = None
    if known.pieces:
        rows = zip(code.tolist(), start.tolist(), end.tolist(), strict=True)
        parts = Parts.of([known.pieces.get(row, [(first, stop)]) for row, first, stop in rows])
    return Mentions(sentence, start, end, label, labels, parts)


def problems(file: File, options: Options) -> list[Problem]:
    """Every row that is wrong."""
    found: list[Problem] = []
    for line, text in enumerate(file.text.split("\n"), start=1):
        fields = text.rstrip(" \t\r").split("\t")
        if fields == [""] or fields[0] in _EMPTY:
            continue
        try:
            _span(file.path, line, fields)
        except InputError as error:
            found.append(problem_at(file.path, line, str(error)))
    return found


def recognise(file: File) -> str | None:
    """Whether every one of the first rows is a label and two numbers, whatever the suffix."""
    if file.is_folder:
        return None
    lines = file.head.split(b"\n")
    rows = [line.rstrip(b" \t\r").split(b"\t") for line in (lines[:-1] or lines)[:200] if line.strip()]
    if rows and all(len(row) >= 3 and row[1].isdigit() and row[2].isdigit() and row[0] for row in rows):
        return "rows of label, begin and end"
    return None


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """The bytes of a span file: mentions as tokens from 1, both ends included."""
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
                   "place in the text.\nSpan files need one; align it first.")
            )  # fmt: skip
        tokens = ", ".join(str(token) for first, stop in pieces for token in range(first + 1, stop + 1))
        listed[sentence].append(f"{label}\t{start + 1}\t{end}\t{tokens}")
    empty = "NONE\t999\t999\t999"
    return "".join("\n".join(rows or [empty]) + "\n\n" for rows in listed).encode("utf-8")


FORMAT = Format(
    name="spans",
    summary="label, first and last token from 1, separated by tabs; a blank line ends a sentence",
    read=read,
    write=write,
    recognise=recognise,
    problems=problems,
    suffixes=(".spans",),
    source="Ortmann (2022)",
)
