"""A CoNLL file in parts that are cut between sentences: surveyed once, then read part by part."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import codes, ints
from spanwise.corpus import Annotation, Corpus, Mentions, Reading, Source
from spanwise.errors import ChoiceError
from spanwise.formats import _columns, format_of
from spanwise.formats._format import Options, label_notes
from spanwise.formats._kept import Kept
from spanwise.formats._opening import BOM, MAGIC, UTF8, File
from spanwise.formats._surveying import Cut, Survey, has_mark, survey
from spanwise.schemes import Tags, decode
from spanwise.streams import is_pipe

__all__ = [
    "Kept",
    "Piece",
    "Survey",
    "can_be_streamed",
    "pieces",
    "read_piece",
    "reading_of_survey",
    "survey",
    "survey_layers",
]


class Piece(Struct, frozen=True, eq=False):
    """The bytes of one part of a file, or where they stand in it."""

    number: int
    data: bytes | None = None


def survey_layers(
    path: str | os.PathLike[str],
    reading: Mapping[str, Any],
    *,
    merged: bool,
    tokens: int = 0,
    sentences: Sequence[int] = (),
    keep: Kept | None = None,
) -> Survey:
    """Look at a file that is to be read with the keywords of `read` (`read_layers` where it is merged)."""
    options = dict(reading)
    name = format_of(File(path), options.pop("format", None)).name
    if name != "conll":
        raise ChoiceError(
            f"{os.fspath(path)}: files of the format {name!r} cannot be streamed, only conll can.\n"
            "Convert the file with spanwise convert, or leave memory out."
        )
    options.pop("tokens", None)
    chosen = Options(**options)
    columns = _columns.tag_columns(chosen, merged=merged)
    return survey(path, chosen, columns, tokens=tokens, sentences=sentences, keep=keep)


def can_be_streamed(source: Any, reading: Mapping[str, Any]) -> bool:
    """Whether a source is a file that `survey_layers` takes."""
    if not isinstance(source, str | os.PathLike) or is_pipe(source):
        return False
    if reading.get("encoding") not in UTF8:
        return False
    return format_of(File(source), reading.get("format")).name == "conll"


def pieces(one: Survey) -> Iterator[Piece]:
    """The parts of a surveyed file: by their place, or by their bytes where the file is packed."""
    if one.kept is not None or not is_packed(one.path):
        yield from map(Piece, range(one.parts))
        return
    held, at_byte = bytearray(), len(BOM) if has_mark(one.path) else 0  # chunks come without the mark
    stream = File(one.path).chunks(1 << 20)
    for number, (begin, end) in enumerate(pairwise(one.cuts)):
        while at_byte + len(held) < end.byte and (more := next(stream, None)):
            held += more
        yield Piece(number, bytes(held[begin.byte - at_byte : end.byte - at_byte]))
        del held[: end.byte - at_byte]
        at_byte = end.byte


def read_piece(one: Survey, piece: Piece, vocabulary: Sequence[str]) -> dict[str, Annotation]:
    """The annotations of one part, with the lines and documents that it has in the whole file.

    `vocabulary` are all words of the files that were surveyed with the same list of words.
    """
    begin, end = one.cuts[piece.number], one.cuts[piece.number + 1]
    file = _Bytes(one.path, b"" if one.kept is not None else _bytes(one, piece))
    columns = _columns_of(one, file, begin, end)
    options = replace(one.options, documents="none")
    corpus = _placed(_columns.corpus_of(columns, options, file), vocabulary, one, begin, end)
    found = {}
    for place, (name, recognised) in enumerate(one.layers.items(), start=1):
        tags = Tags(codes(columns.rows.columns[place]), columns.strings[place], columns.offsets())
        scheme = one.options.scheme or recognised.scheme
        decoded = decode(tags, scheme, repair=one.options.repair, place=corpus.place)
        reading = Reading(path=one.path, format="conll", repairs=decoded.repairs)
        found[name] = Annotation(corpus, decoded.mentions, reading)
    return found


def _columns_of(one: Survey, file: File, begin: Cut, end: Cut) -> _columns.Columns:
    """The rows of one part, from those that were kept, or from its bytes."""
    if one.kept is None:
        return _columns.whole(file, one.options, tuple(one.columns.values()))
    rows = one.kept.rows((begin.token, end.token), (begin.sentence, end.sentence), begin.line)
    return _columns.Columns(one.layout, rows, ((), *one.strings))


def reading_of_survey(one: Survey, layer: str, *, repairs: int, labels: Sequence[str]) -> Reading:
    """How the whole file was read, as a reader of the whole file says it."""
    recognised, declared = one.layers[layer], one.options.scheme
    scheme = declared or recognised.scheme
    words = f"{declared}, as declared" if declared else recognised.evidence
    notes = [f"{one.comments:,} comment lines were left out"] if one.comments else []
    return Reading(
        path=one.path,
        sha256=one.sha256,
        format="conll",
        scheme=scheme,
        evidence=f"{one.evidence}; {words}",
        repair=one.options.repair,
        repairs=repairs,
        notes=(*notes, *label_notes(Mentions.of([], labels=labels))),
        tags_fit=recognised.fitting,
    )


def is_packed(path: str) -> bool:
    """Whether a file is compressed, by its first bytes."""
    with Path(path).open("rb") as stream:
        head = stream.read(8)
    return any(head.startswith(mark) for mark in MAGIC)


def _bytes(one: Survey, piece: Piece) -> bytes:
    if piece.data is not None:
        return piece.data
    begin, end = one.cuts[piece.number], one.cuts[piece.number + 1]
    with Path(one.path).open("rb") as stream:
        stream.seek(begin.byte)
        return stream.read(end.byte - begin.byte)


def _placed(corpus: Corpus, vocabulary: Sequence[str], one: Survey, begin: Cut, end: Cut) -> Corpus:
    source = corpus.source
    lines = None if source.lines is None else ints(source.lines + begin.line - 1)
    token_lines = None if source.token_lines is None else ints(source.token_lines + begin.line - 1)
    documents = None
    if one.documents is not None:
        inside = one.documents[(one.documents > begin.sentence) & (one.documents < end.sentence)]
        documents = ints(np.concatenate([[0], inside - begin.sentence, [end.sentence - begin.sentence]]))
    first_document = 0
    if one.documents is not None:
        first_document = int(np.searchsorted(one.documents, begin.sentence, side="right")) - 1
    return replace(
        corpus,
        vocabulary=vocabulary,
        source=Source(one.path, lines, token_lines),
        documents=documents,
        ids=_Numbers(begin.sentence, len(corpus)),
        document_ids=None if documents is None else _Numbers(first_document, len(documents) - 1),
    )


class _Numbers(Sequence[str]):
    """The numbers that the sentences or documents of a part have in the whole file, as names."""

    def __init__(self, first: int, size: int) -> None:
        self._first = first
        self._size = size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        numbers = range(self._first, self._first + self._size)[place]
        return str(numbers) if isinstance(numbers, int) else [str(number) for number in numbers]


class _Bytes(File):
    """Bytes of a part of a file under the file's name."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.encoding = None
        self._data = data

    @property
    def sha256(self) -> str | None:
        """A part has no hash of its own."""
        return None

    def chunks(self, size: int) -> Iterator[bytes]:
        """The bytes in pieces of about `size`."""
        for begin in range(0, len(self._data), size):
            yield self._data[begin : begin + size]
