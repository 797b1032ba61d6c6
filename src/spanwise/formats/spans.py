"""Span files: label, first and last token (from 1, both included) and the tokens; a line a mention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spanwise.columns import Ints, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions, Parts, Reading, Source
from spanwise.errors import InputError, at
from spanwise.formats._format import Format, Options, Problem, in_tokens, label_notes, problem_at, sole
from spanwise.formats._opening import File

_EMPTY = ("NONE", "EMPTY")  # the labels of a row that stands for a sentence without mentions

_BLANK, _WITHOUT, _MENTION = range(3)  # what a line is


@dataclass(frozen=True)
class _Line:
    """What one line says; equal lines say the same, so that each is looked at once."""

    kind: int
    start: int = 0
    end: int = 0
    label: str = ""
    pieces: tuple[tuple[int, int], ...] = ()


def read(file: File, options: Options) -> Annotation:
    """The annotation of a span file; a blank line ends a sentence."""
    texts = file.text.split("\n")
    number = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    code = np.fromiter(map(number.__getitem__, texts), np.int64, len(texts))
    known = [_line(file.path, texts, text) for text in number]
    kind = np.array([line.kind for line in known])[code]
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
    mentions = sole(
        _mentions(known, code[row], np.cumsum(begins)[row] - 1),
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


def _line(path: str, texts: list[str], text: str) -> _Line:
    """What a line says; one that cannot be read is an error at its first place."""
    bare = text.rstrip(" \t\r")
    if not bare:
        return _Line(_BLANK)
    fields = bare.split("\t")
    if fields[0] in _EMPTY:
        return _Line(_WITHOUT)
    try:
        start, end, pieces = _span(path, 0, fields)
    except InputError:
        start, end, pieces = _span(path, texts.index(text) + 1, fields)
    return _Line(_MENTION, start, end, fields[0], tuple(pieces))


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


def _mentions(known: list[_Line], code: Ints, sentence: Ints) -> Mentions:
    """The mentions whose lines are `known[code]`."""
    labels = sorted({line.label for line in known if line.kind == _MENTION})
    label_code = {label: number for number, label in enumerate(labels)}
    start, end, label, size = (
        np.array(column, dtype=np.int64)[code]
        for column in (
            [line.start for line in known],
            [line.end for line in known],
            [label_code.get(line.label, 0) for line in known],
            [len(line.pieces) for line in known],
        )
    )
    parts = None
    if (size > 1).any():
        flat = [piece for number in code.tolist() for piece in known[number].pieces]
        parts = Parts(offsets(size), ints([piece[0] for piece in flat]), ints([piece[1] for piece in flat]))
    return Mentions(sentence, start, end, label.astype(np.int32), labels, parts)


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
    for number, (sentence, start, end, label) in enumerate(mentions.rows()):
        if start < 0:
            raise InputError(
                at(annotation.reading.path, None, f"a mention {label} of sentence {sentence + 1} has no "
                   "place in the text.\nSpan files need one; align it first.")
            )  # fmt: skip
        tokens = ", ".join(str(token + 1) for token in _tokens(mentions, number, start, end))
        listed[sentence].append(f"{label}\t{start + 1}\t{end}\t{tokens}")
    empty = "NONE\t999\t999\t999"
    return "".join("\n".join(rows or [empty]) + "\n\n" for rows in listed).encode("utf-8")


def _tokens(mentions: Mentions, number: int, start: int, end: int) -> list[int]:
    if mentions.parts is None:
        return list(range(start, end))
    which = slice(int(mentions.parts.at[number]), int(mentions.parts.at[number + 1]))
    starts: Ints = mentions.parts.start[which]
    pieces = zip(starts.tolist(), mentions.parts.end[which].tolist(), strict=True)
    return [token for first, stop in pieces for token in range(first, stop)]


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
