"""One look at a whole file of columns or JSON lines: its sizes, its schemes, where to cut it into parts."""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Codes, Ints, codes, ints
from spanwise.errors import ChoiceError, InputError
from spanwise.formats._columns import (
    KeptRows,
    Layout,
    Rows,
    check_utf8,
    chunks,
    interners_of,
    layout_of,
    no_token,
    parse,
    without_header,
)
from spanwise.formats._format import Options
from spanwise.formats._interning import Interner
from spanwise.formats._opening import BOM, UTF8, File
from spanwise.formats.annotators import names_annotators
from spanwise.formats.jsonl import DOCUMENTS, Gathered, gathered, records
from spanwise.schemes import (
    Recognised,
    Tags,
    malformed,
    recognise_situations,
    situations,
    spelled,
    wrong_tags,
)
from spanwise.streams import is_pipe


class Cut(Struct, frozen=True):
    """A place between two sentences: the number of the next one, its first line, and its first byte."""

    sentence: int
    token: int
    line: int
    byte: int


class CutSource:
    """What every source that is cut into parts knows about itself."""

    __slots__ = ()
    cuts: tuple[Cut, ...]  # the beginning, every cut, and the end

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return self.cuts[-1].sentence

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return self.cuts[-1].token

    @property
    def parts(self) -> int:
        """The number of parts."""
        return len(self.cuts) - 1


class Survey(CutSource, Struct, frozen=True, eq=False):
    """What is known of a whole file after one look at it: its sizes, its schemes, and where to cut it."""

    path: str
    sha256: str | None
    evidence: str
    comments: int
    options: Options  # with columns by number and the separator named
    layers: Mapping[str, Recognised]
    situations: Mapping[str, Ints]  # how the tags of each layer stand
    columns: Mapping[str, int]
    cuts: tuple[Cut, ...]  # the beginning, every cut, and the end
    documents: Ints | None  # offsets into the sentences, where documents are marked
    layout: Layout
    strings: tuple[tuple[str, ...], ...]  # of the wanted columns, tokens first, where rows are kept
    kept: KeptRows | None  # the rows, where there was room for them


def survey(
    path: str | os.PathLike[str],
    options: Options,
    columns: Mapping[str, int | str],
    *,
    tokens: int = 0,
    sentences: Sequence[int] = (),
    keep: KeptRows | None = None,
) -> Survey:
    """Look at a whole file, a piece at a time: any error in it is found here.

    It is cut where a sentence (or a document, where they are marked) begins after at least
    `tokens` tokens of a part, or else before the `sentences` named. Its rows are added to
    `keep`, while there is room.
    """
    if is_pipe(path):
        raise ChoiceError(
            f"{os.fspath(path)}: a pipe can be read only once, so it cannot be evaluated in parts.\n"
            "Give a file, or leave memory out."
        )
    if options.encoding not in UTF8:
        raise ChoiceError("only UTF-8 files can be streamed.\nConvert the file, or leave memory out.")
    file = path if isinstance(path, File) else File(path, unpacked=options.limits.unpacked)
    return _Looker(file, options, columns, tokens, sentences, keep).look()


class _Looker:
    """One pass over a file that keeps sums and places, and rows where there is room for them."""

    def __init__(
        self,
        file: File,
        options: Options,
        columns: Mapping[str, int | str],
        tokens: int,
        sentences: Sequence[int],
        keep: KeptRows | None,
    ) -> None:
        self._file = file
        self._options = options
        self._columns = columns
        self._least = tokens
        self._wanted = ints(sentences)
        self._kept = keep
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
        self._wrong = [_Wrong() for _ in columns]

    def look(self) -> Survey:
        """Read the file once."""
        byte, line, open_ = len(BOM) if has_mark(self._file) else 0, 1, False
        for chunk in chunks(self._file):
            check_utf8(self._file, chunk, line)
            byte += len(chunk)
            if self._layout is None:
                chunk, line = self._begin(chunk, line, byte)
            if chunk and self._layout is not None:
                rows = parse(chunk, self._layout, self._interners, open=open_, line=line)
                self._take(rows, chunk, line, byte - len(chunk))
                open_, line = rows.open, rows.line
        for place, name in enumerate(self._columns):
            self._count_one(name, place, self._held[place])
        for wrong in self._wrong:
            if wrong.number:
                raise wrong_tags(wrong.where, wrong.trouble, wrong.number)
        if self._layout is None or not self._token:
            raise InputError(no_token(self._file.path))
        return self._survey(self._layout, Cut(self._sentence, self._token, line, byte))

    def _begin(self, chunk: bytes, line: int, end: int) -> tuple[bytes, int]:
        """Find the layout in the first lines; the chunk behind the header, and its line."""
        names = tuple(self._columns.values())
        layout, skipped = layout_of(self._file.path, chunk, self._options, names, line)
        if layout is None:
            return b"", line + chunk.count(b"\n")
        self._layout, self._interners = layout, interners_of(layout)
        chunk, line = without_header(chunk, line, skipped)
        self._first = Cut(0, 0, line, end - len(chunk))
        return chunk, line

    def _take(self, rows: Rows, chunk: bytes, line: int, byte: int) -> None:
        """Add a piece: its sentences, its marks of documents, its tags, and the cuts that fall into it."""
        number = self._sentence + np.arange(len(rows.begins))
        self._documents += (self._sentence + np.searchsorted(rows.begins, rows.marks)).tolist()
        token = self._token + rows.begins
        if len(self._wanted):
            first, last = np.searchsorted(self._wanted, [self._sentence, self._sentence + len(number)])
            chosen = ints(self._wanted[first:last] - self._sentence)
            self._by_sentence += self._cuts(chosen, number, token, rows, chunk, line, byte)
        elif self._least:
            after = self._by_sentence[-1].token if self._by_sentence else 0
            chosen = spaced(token, ints(np.arange(len(token))), after, self._least)
            self._by_sentence += self._cuts(chosen, number, token, rows, chunk, line, byte)
            after = self._by_document[-1].token if self._by_document else 0
            recent = self._documents[bisect_left(self._documents, self._sentence) :]
            firsts = ints(np.flatnonzero(np.isin(number, recent)))
            chosen = spaced(token, firsts, after, self._least)
            self._by_document += self._cuts(chosen, number, token, rows, chunk, line, byte)
        if self._kept is not None and not self._kept.add(rows, [len(one.strings) for one in self._interners]):
            self._kept = None
        self._check_tags(rows, line)
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

    def _check_tags(self, rows: Rows, line: int) -> None:
        """Note tokens whose tags belong to no scheme; the piece begins at `line`."""
        for place, wrong in enumerate(self._wrong):
            strings = self._interners[1 + place].strings
            written = (spelled(tag, self._options.spelling) for tag in strings)
            troubles = {code: text for code, tag in enumerate(written) if (text := malformed(tag))}
            if not troubles:
                continue
            bad = np.flatnonzero(np.isin(rows.columns[1 + place], list(troubles)))
            if len(bad) and not wrong.number:
                wrong.where = f"{self._file.path}:{_line(rows, int(bad[0]), line)}"
                wrong.trouble = troubles[int(rows.columns[1 + place][bad[0]])]
            wrong.number += len(bad)

    def _count_tags(self, rows: Rows) -> None:
        """Count the tags of whole sentences; those of the last one wait, as it may go on."""
        begins = rows.begins
        for place, name in enumerate(self._columns):
            tags = rows.columns[1 + place]
            if len(begins):
                self._count_one(name, place, [*self._held[place], tags[: begins[0]]])
                self._count(name, place, tags[begins[0] : begins[-1]], ints(begins - begins[0]))
                self._held[place] = [tags[begins[-1] :]]
            else:
                self._held[place].append(tags)

    def _count_one(self, name: str, place: int, tags: Sequence[Codes]) -> None:
        """Add the situations of the tags of one sentence, which may have come in several pieces."""
        whole = np.concatenate(tags) if tags else np.zeros(0, dtype=np.int32)
        self._count(name, place, whole, ints([0, len(whole)]))

    def _count(self, name: str, place: int, tags: Codes, sentences: Ints) -> None:
        """Add the situations of the tags of whole sentences."""
        if not len(tags):
            return
        strings = tuple(self._interners[1 + place].strings)
        found = situations(self._options.spelled(Tags(codes(tags), strings, sentences)))
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
            situations=dict(self._situations),
            columns=dict(zip(names, layout.wanted[1:], strict=False)),
            cuts=(self._first, *cuts, end),
            documents=ints(sorted({0, *self._documents, self._sentence})) if marked else None,
            layout=layout,
            strings=() if self._kept is None else tuple(tuple(one.strings) for one in self._interners),
            kept=self._kept,
        )


class _Wrong(Struct):
    """How many tokens carry tags that belong to no scheme, and the first one's place."""

    number: int = 0
    where: str = ""
    trouble: str = ""


def _line(rows: Rows, row: int, first: int) -> int:
    """The line of a row of a piece whose first line is `first`."""
    if rows.token_lines is not None:
        return int(rows.token_lines[row])
    sentence = int(np.searchsorted(rows.begins, row, side="right")) - 1
    if sentence < 0:  # of a sentence that goes on from the piece before
        return first + row
    return int(rows.lines[sentence]) + row - int(rows.begins[sentence])


def spaced(token: Ints, allowed: Ints, after: int, least: int) -> Ints:
    """Those of the allowed sentences before which to cut, so that a part has at least so many tokens."""
    chosen: list[int] = []
    while True:
        place = int(np.searchsorted(token[allowed], after + least, side="left"))
        if place == len(allowed):
            return ints(chosen)
        chosen.append(int(allowed[place]))
        after = int(token[allowed[place]])


def has_mark(file: File) -> bool:
    """Whether the unpacked file begins with a byte order mark."""
    with file.again()._stream() as stream:
        return stream.read(len(BOM)) == BOM


_CHUNK = 1 << 22  # bytes
_KINDS = ("tokens with tags", "tokens with spans", "text with spans of characters")


class RecordSurvey(CutSource, Struct, frozen=True, eq=False):
    """What is known of a file of JSON lines, span rows or table rows after one look at it.

    The cuts of a table have its rows in place of bytes.
    """

    path: str
    sha256: str | None
    format: str
    options: Options  # with the field that names documents
    kind: str  # in the words of the reading
    recognised: Recognised | None  # where there are tags
    has_ids: bool
    cuts: tuple[Cut, ...]  # the beginning, every cut, and the end
    documents: Ints | None


def must_be_whole(options: Options) -> bool:
    """Whether records that are read like this cannot come in parts."""
    of_whole = options.annotator is not None or options.fields or options.documents not in (None, "none")
    return bool(of_whole or options.spelling is not None or options.declared != options.scheme)


def survey_lines(
    file: File, options: Options, *, tokens: int = 0, sentences: Sequence[int] | None = None
) -> RecordSurvey | None:
    """Look at a whole file; None where it must be read whole, for what it is or for what is wrong in it."""
    if must_be_whole(options):
        return None
    look = _Look(file, options)
    try:
        if not look.through():
            return None
    except InputError:
        return None  # reading all of it says what is wrong, and how often
    return look.survey(tokens, sentences)


class _Look:
    """One pass over a file of JSON lines that keeps sums and places."""

    def __init__(self, file: File, options: Options) -> None:
        self._file, self._options = file, options
        self._kind = ""
        self._situations: Ints | None = None
        self._labels: set[str] = set()
        self._lines: list[Ints] = []
        self._bytes: list[Ints] = []
        self._sizes: list[Ints] = []
        self._ids = True
        # Which field names documents is known at the end only.
        self._starts: dict[str, list[int]] = {key: [] for key in DOCUMENTS}
        self._before: dict[str, str] = {}
        self._number = 0
        self._end = (1, 0)

    def through(self) -> bool:
        """Read the file; False where it cannot be read in parts."""
        byte, line = len(BOM) if has_mark(self._file) else 0, 1
        for chunk in _whole_lines(self._file):
            if line == 1 and chunk.lstrip()[:1] == b"[":
                return False
            part = File.of_bytes(self._file.path, chunk, first_line=line)
            found = gathered(part.path, records(part), self._options, self._kind)
            self._kind = found.kind
            if found.refused or (found.lines and not self._take(found, chunk, line, byte)):
                return False
            line += chunk.count(b"\n")
            byte += len(chunk)
        self._end = (line, byte)
        return bool(self._number)

    def _take(self, found: Gathered, chunk: bytes, line: int, byte: int) -> bool:
        if found.kind not in _KINDS or names_annotators(found.records):
            return False
        if found.kind == "tokens with tags":
            if any(malformed(tag) for tag in {tag for tags in found.tags for tag in tags}):
                return False
            counts = situations(Tags.of(found.tags))
            self._situations = counts if self._situations is None else ints(self._situations + counts)
        self._labels |= {label for *_, label in found.spans}
        if len(self._labels) > self._options.limits.labels:
            return False
        ends = np.flatnonzero(np.frombuffer(chunk, dtype=np.uint8) == ord("\n"))
        begins = np.concatenate([[0], ends + 1])
        self._lines.append(ints(found.lines))
        self._bytes.append(ints(byte + begins[np.array(found.lines) - line]))
        self._sizes.append(ints([len(tokens) for tokens in found.tokens or found.places]))
        self._ids &= all(isinstance(record.get("id"), str | int) for record in found.records)
        for key in list(self._starts):
            self._note(key, found.records)
        self._number += len(found.lines)
        return True

    def _note(self, key: str, some: Sequence[Any]) -> None:
        """Where documents begin, if this field names them."""
        if not all(key in record for record in some):
            del self._starts[key]
            return
        for number, record in enumerate(some, start=self._number):
            value = json.dumps(record[key], sort_keys=True, default=str)
            if self._before.get(key) != value:
                self._starts[key].append(number)
                self._before[key] = value

    def survey(self, tokens: int, sentences: Sequence[int] | None) -> RecordSurvey:
        """What all of it says."""
        size = np.concatenate(self._sizes)
        token = np.concatenate([[0], np.cumsum(size)])
        key = None if self._options.documents == "none" else next(iter(self._starts), None)
        starts = None if key is None else ints(self._starts[key])
        if sentences is None:
            allowed = ints(np.arange(len(size))) if starts is None else starts
            sentences = spaced(ints(token[:-1]), allowed, 0, tokens).tolist() if tokens else []
        line, byte = np.concatenate(self._lines), np.concatenate(self._bytes)
        inner = [place for place in sentences if 0 < place < len(size)]
        cuts = [Cut(place, int(token[place]), int(line[place]), int(byte[place])) for place in (0, *inner)]
        end = Cut(len(size), int(token[-1]), *self._end)
        recognised = None
        if self._situations is not None:
            recognised = recognise_situations(self._situations, prefer=self._options.prefer)
        return RecordSurvey(
            path=self._file.path,
            sha256=self._file.sha256,
            format="jsonl",
            options=replace(self._options, documents=key or "none"),
            kind=self._kind,
            recognised=recognised,
            has_ids=self._ids,
            cuts=(*cuts, end),
            documents=None if starts is None else ints([*starts, len(size)]),
        )


def _whole_lines(file: File) -> Iterator[bytes]:
    """The bytes of a file in pieces that end with a line."""
    held = b""
    for chunk in file.chunks(_CHUNK):
        held += chunk
        end = held.rfind(b"\n") + 1
        if end:
            yield held[:end]
            held = held[end:]
    if held:
        yield held
