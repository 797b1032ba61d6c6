"""A CoNLL file in parts that are cut between sentences: surveyed once, then read part by part."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np

from spanwise.columns import Codes, Ints, codes, ints
from spanwise.corpus import Annotation, Corpus, Mentions, Reading, Source
from spanwise.errors import ChoiceError, InputError
from spanwise.formats import _columns, format_of
from spanwise.formats._format import Options, annotated, label_notes
from spanwise.formats._interning import Interner
from spanwise.formats._opening import BOM, MAGIC, UTF8, File
from spanwise.formats._rows import Layout, Rows, parse
from spanwise.records import record
from spanwise.schemes import Recognised, Tags, checked, recognise_situations, situations


@record
class Cut:
    """A place between two sentences: the number of the next one, its first line, and its first byte."""

    sentence: int
    token: int
    line: int
    byte: int


@record(eq=False)
class Survey:
    """What is known of a whole file after one look at it: its sizes, its schemes, and where to cut it."""

    path: str
    sha256: str | None
    evidence: str
    comments: int
    options: Options  # with columns by number and the separator named
    layers: Mapping[str, Recognised]
    columns: Mapping[str, int]
    cuts: tuple[Cut, ...]  # the beginning, every cut, and the end
    documents: Ints | None  # offsets into the sentences, where documents are marked

    @property
    def sentences(self) -> int:
        """The number of sentences of the file."""
        return self.cuts[-1].sentence

    @property
    def tokens(self) -> int:
        """The number of tokens of the file."""
        return self.cuts[-1].token

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.cuts) - 1


@record(eq=False)
class Piece:
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
    return survey(path, chosen, columns, tokens=tokens, sentences=sentences)


def survey(
    path: str | os.PathLike[str],
    options: Options,
    columns: Mapping[str, int | str],
    *,
    tokens: int = 0,
    sentences: Sequence[int] = (),
) -> Survey:
    """Look at a whole file, a piece at a time: any error in it is found here.

    It is cut where a sentence (or a document, where they are marked) begins after at least
    `tokens` tokens of a part, or else before the `sentences` named.
    """
    if os.fspath(path) == "-":
        raise ChoiceError("standard input cannot be streamed, as it is read more than once.\nGive a file.")
    if options.encoding not in UTF8:
        raise ChoiceError("only UTF-8 files can be streamed.\nConvert the file, or leave memory out.")
    return _Looker(File(path), options, columns, tokens, sentences).look()


class _Looker:
    """One pass over a file that keeps sums and places, not rows."""

    def __init__(
        self,
        file: File,
        options: Options,
        columns: Mapping[str, int | str],
        tokens: int,
        sentences: Sequence[int],
    ) -> None:
        self._file = file
        self._options = options
        self._columns = columns
        self._least = tokens
        self._wanted = np.asarray(sentences, dtype=np.int64)
        self._layout: Layout | None = None
        self._interners: tuple[Interner, ...] = ()
        self._situations: dict[str, Ints] = {}
        self._held: list[list[Codes]] = [[] for _ in columns]  # tags of the sentence that may go on
        self._first = Cut(0, 0, 1, 0)
        # Whether documents are marked is known at the end only, so both kinds of cuts are kept.
        self._by_sentence: list[Cut] = []
        self._by_document: list[Cut] = []
        self._documents: list[int] = []
        self._sentence = self._token = self._comments = 0

    def look(self) -> Survey:
        """Read the file once."""
        byte, line, open_ = len(BOM) if _has_mark(self._file.path) else 0, 1, False
        for chunk in _columns.chunks(self._file):
            _columns.check_utf8(self._file, chunk, line)
            byte += len(chunk)
            if self._layout is None:
                chunk, line = self._begin(chunk, line, byte)
            if chunk and self._layout is not None:
                rows = parse(chunk, self._layout, self._interners, open=open_, line=line)
                self._take(rows, chunk, line, byte - len(chunk))
                open_, line = rows.open, rows.line
        for place, name in enumerate(self._columns):
            self._count(name, place, self._held[place], [])
        if self._layout is None or not self._token:
            raise InputError(_columns.no_token(self._file.path))
        return self._survey(self._layout, Cut(self._sentence, self._token, line, byte))

    def _begin(self, chunk: bytes, line: int, end: int) -> tuple[bytes, int]:
        """Find the layout in the first lines; the chunk behind the header, and its line."""
        names = tuple(self._columns.values())
        layout, skipped = _columns.layout_of(self._file.path, chunk, self._options, names, line)
        if layout is None:
            return b"", line + chunk.count(b"\n")
        self._layout, self._interners = layout, _columns.interners_of(layout)
        chunk, line = _columns.without_header(chunk, line, skipped)
        self._first = Cut(0, 0, line, end - len(chunk))
        return chunk, line

    def _take(self, rows: Rows, chunk: bytes, line: int, byte: int) -> None:
        """Add a piece: its sentences, its marks of documents, its tags, and the cuts that fall into it."""
        number = self._sentence + np.arange(len(rows.begins))
        self._documents += (self._sentence + np.searchsorted(rows.begins, rows.marks)).tolist()
        token = self._token + rows.begins
        if len(self._wanted):
            chosen = np.flatnonzero(np.isin(number, self._wanted))
            self._by_sentence += self._cuts(chosen, number, token, rows, chunk, line, byte)
        elif self._least:
            after = self._by_sentence[-1].token if self._by_sentence else 0
            chosen = _spaced(token, np.arange(len(token)), after, self._least)
            self._by_sentence += self._cuts(chosen, number, token, rows, chunk, line, byte)
            after = self._by_document[-1].token if self._by_document else 0
            firsts = np.flatnonzero(np.isin(number, self._documents))
            chosen = _spaced(token, firsts, after, self._least)
            self._by_document += self._cuts(chosen, number, token, rows, chunk, line, byte)
        self._count_tags(rows)
        self._comments += rows.comments
        self._sentence += len(rows.begins)
        self._token += len(rows.columns[0])

    def _cuts(
        self, chosen: Ints, number: Ints, token: Ints, rows: Rows, chunk: bytes, line: int, byte: int
    ) -> list[Cut]:
        """The cuts before the chosen sentences of a piece."""
        chosen = chosen[number[chosen] > 0]
        if not len(chosen):
            return []
        ends = np.flatnonzero(np.frombuffer(chunk, dtype=np.uint8) == ord("\n"))
        begins = np.concatenate([[0], ends + 1])  # of every line of the chunk
        return [
            Cut(int(number[i]), int(token[i]), int(rows.lines[i]), byte + int(begins[rows.lines[i] - line]))
            for i in chosen.tolist()
        ]

    def _count_tags(self, rows: Rows) -> None:
        """Count the tags of whole sentences; those of the last one wait, as it may go on."""
        begins = rows.begins.tolist()
        for place, name in enumerate(self._columns):
            tags = rows.columns[1 + place]
            if begins:
                self._count(name, place, [*self._held[place], tags[: begins[0]]], [])
                self._count(name, place, [tags[begins[0] : begins[-1]]], begins)
                self._held[place] = [tags[begins[-1] :]]
            else:
                self._held[place].append(tags)

    def _count(self, name: str, place: int, tags: Sequence[Codes], begins: Sequence[int]) -> None:
        """Add the situations of tags: one sentence, or several that begin at `begins`."""
        whole = np.concatenate(tags) if tags else np.zeros(0, dtype=np.int32)
        if not len(whole):
            return
        starts = np.array(begins) - begins[0] if begins else np.array([0, len(whole)])
        strings = tuple(self._interners[1 + place].strings)
        found = situations(checked(Tags(codes(whole), strings, ints(starts))))
        known = self._situations.get(name)
        self._situations[name] = found if known is None else ints(known + found)

    def _survey(self, layout: Layout, end: Cut) -> Survey:
        names = list(self._columns)
        marked = self._documents and self._options.documents != "none"
        cuts = self._by_document if marked and self._least else self._by_sentence
        layers: dict[str, Recognised] = {}
        for name in names:
            prefer = self._options.prefer or next((one.scheme for one in layers.values()), None)
            layers[name] = recognise_situations(self._situations[name], prefer=prefer)
        extra = layout.wanted[1 + len(names) :]
        return Survey(
            path=self._file.path,
            sha256=self._file.sha256,
            evidence=f"{layout.width} columns separated by {layout.between}",
            comments=self._comments,
            options=replace(
                self._options,
                token_column=layout.wanted[0],
                tag_column=None,
                separator="tab" if layout.separator == "tab" else "blank",
                columns=dict(zip(self._options.columns, extra, strict=True)),
            ),
            layers=layers,
            columns=dict(zip(names, layout.wanted[1:], strict=False)),
            cuts=(self._first, *cuts, end),
            documents=ints(sorted({0, *self._documents, self._sentence})) if marked else None,
        )


def _spaced(token: Ints, allowed: Ints, after: int, least: int) -> Ints:
    """Those of the allowed sentences before which to cut, so that a part has at least so many tokens."""
    chosen: list[int] = []
    while True:
        place = int(np.searchsorted(token[allowed], after + least, side="left"))
        if place == len(allowed):
            return ints(chosen)
        chosen.append(int(allowed[place]))
        after = int(token[allowed[place]])


def _has_mark(path: str) -> bool:
    """Whether the unpacked file begins with a byte order mark."""
    with File(path)._stream() as stream:
        return stream.read(len(BOM)) == BOM


def pieces(one: Survey) -> Iterator[Piece]:
    """The parts of a surveyed file: by their place, or by their bytes where the file is packed."""
    if not is_packed(one.path):
        yield from map(Piece, range(one.parts))
        return
    held, at_byte = bytearray(), len(BOM) if _has_mark(one.path) else 0  # chunks come without the mark
    stream = File(one.path).chunks(1 << 20)
    for number, (begin, end) in enumerate(pairwise(one.cuts)):
        while at_byte + len(held) < end.byte and (more := next(stream, None)):
            held += more
        yield Piece(number, bytes(held[begin.byte - at_byte : end.byte - at_byte]))
        del held[: end.byte - at_byte]
        at_byte = end.byte


def read_piece(one: Survey, piece: Piece) -> dict[str, Annotation]:
    """The annotations of one part, with the lines and documents that it has in the whole file."""
    begin, end = one.cuts[piece.number], one.cuts[piece.number + 1]
    file = _Bytes(one.path, piece.data if piece.data is not None else _bytes(one.path, begin, end))
    columns = _columns.whole(file, one.options, tuple(one.columns.values()))
    corpus = _placed(
        _columns.corpus_of(columns, replace(one.options, documents="none"), file), one, begin, end
    )
    found = {}
    for place, (name, recognised) in enumerate(one.layers.items(), start=1):
        tags = Tags(codes(columns.rows.columns[place]), columns.strings[place], columns.offsets())
        scheme = one.options.scheme or recognised.scheme
        reading = Reading(path=one.path, format="conll")
        found[name] = annotated(corpus, tags, replace(one.options, scheme=scheme), reading)
    return found


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


def _bytes(path: str, begin: Cut, end: Cut) -> bytes:
    with Path(path).open("rb") as stream:
        stream.seek(begin.byte)
        return stream.read(end.byte - begin.byte)


def _placed(corpus: Corpus, one: Survey, begin: Cut, end: Cut) -> Corpus:
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
