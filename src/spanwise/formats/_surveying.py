"""Survey a whole file of columns or lines in one pass: its sizes, its schemes, and where to cut it."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Codes, Floats, Ints, codes, floats, ints, offsets
from spanwise.corpus import (
    Annotation,
    Corpus,
    Mentions,
    Reading,
    joined_corpora,
    joined_mentions,
)
from spanwise.errors import ChoiceError, InputError
from spanwise.formats._columns import (
    KeptRows,
    Layout,
    Rows,
    check_utf8,
    chunks,
    interners_of,
    layout_of,
    parse,
    without_header,
)
from spanwise.formats._format import Before, Cut, CutSource, Cutting, Options, no_token, swapped_columns
from spanwise.formats._interning import Interner
from spanwise.formats._opening import BOM, UTF8, File
from spanwise.schemes import (
    Recognised,
    Tags,
    decode,
    labels_of,
    malformed,
    recognise_situations,
    situations,
    spelled,
    wrong_tags,
)
from spanwise.streams import is_pipe


class Survey(CutSource, Struct, frozen=True, eq=False):
    """The result of surveying a CoNLL file: its sizes, its schemes, and where to cut it."""

    path: str
    sha256: str | None
    evidence: str
    comments: int
    labeled_marks: int
    options: Options  # with column numbers and the separator filled in
    layers: Mapping[str, Recognised]
    situations: Mapping[str, Ints]  # counts of tag situations in each layer
    columns: Mapping[str, int]
    cuts: tuple[Cut, ...]  # the beginning, every cut and the end
    documents: Ints | None  # offsets into the sentences; None if documents are not marked
    layout: Layout
    strings: tuple[tuple[str, ...], ...]  # of each wanted column, tokens first; empty if no rows are kept
    kept: KeptRows | None  # the parsed rows; None if there was no room for them
    labels: Mapping[str, tuple[str, ...]]  # of each layer, as read
    address: str = ""  # the full path, for processes with another working directory


def survey(
    path: str | os.PathLike[str],
    options: Options,
    columns: Mapping[str, int | str],
    *,
    tokens: int = 0,
    sentences: Sequence[int] = (),
    keep: KeptRows | None = None,
) -> Survey:
    """Scan a whole CoNLL file piece by piece; any error in the file is raised here.

    The file is cut where a sentence (or a document, if documents are marked) begins after at least
    `tokens` tokens of a part, or else before the given `sentences`. Its rows are added to
    `keep` while there is room.
    """
    if is_pipe(path):
        raise ChoiceError(
            f"{os.fspath(path)}: a pipe can be read only once, so it cannot be evaluated in parts.\n"
            "Give a file, or leave memory out."
        )
    if options.encoding not in UTF8:
        raise ChoiceError("only UTF-8 files can be streamed.\nConvert the file, or leave memory out.")
    file = path if isinstance(path, File) else File(path, unpacked=options.limits.unpacked)
    return _ColumnSurveyor(file, options, columns, tokens, sentences, keep).survey()


class _ColumnSurveyor:
    """A single pass over a CoNLL file that collects counts and cuts, and rows while there is room."""

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
        self._held: list[list[Codes]] = [[] for _ in columns]  # tags of the last sentence, which may continue
        self._first = Cut(0, 0, 1, 0)
        # Only at the end is it known whether documents are marked, so both kinds of cuts are collected.
        self._by_sentence: list[Cut] = []
        self._by_document: list[Cut] = []
        self._documents: list[int] = []
        self._sentence = self._token = self._comments = self._labeled_marks = 0
        self._wrong = [_Wrong() for _ in columns]

    def survey(self) -> Survey:
        """Read the file and return its survey."""
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
        for index, name in enumerate(self._columns):
            self._count_one(name, index, self._held[index])
        for wrong in self._wrong:
            if wrong.number:
                error = wrong_tags(wrong.where, wrong.trouble, wrong.number)
                raise InputError(f"{error}{swapped_columns(self._interners[0].strings)}")
        if self._layout is None or not self._token:
            raise no_token(self._file.path)
        return self._survey(self._layout, Cut(self._sentence, self._token, line, byte))

    def _begin(self, chunk: bytes, line: int, end: int) -> tuple[bytes, int]:
        """Find the layout in the first lines; return the chunk after the header, and its first line."""
        names = tuple(self._columns.values())
        layout, skipped = layout_of(self._file.path, chunk, self._options, names, line)
        if layout is None:
            return b"", line + chunk.count(b"\n")
        self._layout, self._interners = layout, interners_of(layout)
        chunk, line = without_header(chunk, line, skipped)
        self._first = Cut(0, 0, line, end - len(chunk))
        return chunk, line

    def _take(self, rows: Rows, chunk: bytes, line: int, byte: int) -> None:
        """Add a piece: its sentences, document marks and tags, and the cuts within it."""
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
        if self._kept is not None and not self._kept.add(
            rows, [len(interner.strings) for interner in self._interners]
        ):
            self._kept = None
        self._check_tags(rows, line)
        self._count_tags(rows)
        self._comments += rows.comments
        self._labeled_marks += rows.labeled_marks
        self._sentence += len(rows.begins)
        self._token += len(rows.columns[0])

    def _cuts(
        self, chosen: Ints, number: Ints, token: Ints, rows: Rows, chunk: bytes, line: int, byte: int
    ) -> list[Cut]:
        """Cuts before the chosen sentences of a piece."""
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
        """Record the tokens whose tags belong to no scheme; the piece begins at `line`."""
        for index, wrong in enumerate(self._wrong):
            strings = self._interners[1 + index].strings
            written = (spelled(tag, self._options.spelling) for tag in strings)
            troubles = {code: text for code, tag in enumerate(written) if (text := malformed(tag))}
            if not troubles:
                continue
            bad = np.flatnonzero(np.isin(rows.columns[1 + index], list(troubles)))
            if len(bad) and not wrong.number:
                wrong.where = f"{self._file.path}:{_line(rows, int(bad[0]), line)}"
                wrong.trouble = troubles[int(rows.columns[1 + index][bad[0]])]
            wrong.number += len(bad)

    def _count_tags(self, rows: Rows) -> None:
        """Count the tags of complete sentences; the last one is held back, as it may continue."""
        begins = rows.begins
        for index, name in enumerate(self._columns):
            tags = rows.columns[1 + index]
            if len(begins):
                self._count_one(name, index, [*self._held[index], tags[: begins[0]]])
                self._count(name, index, tags[begins[0] : begins[-1]], ints(begins - begins[0]))
                self._held[index] = [tags[begins[-1] :]]
            else:
                self._held[index].append(tags)

    def _count_one(self, name: str, index: int, tags: Sequence[Codes]) -> None:
        """Count the tag situations of one sentence, which may span several pieces."""
        whole = np.concatenate(tags) if tags else np.zeros(0, dtype=np.int32)
        self._count(name, index, whole, ints([0, len(whole)]))

    def _count(self, name: str, index: int, tags: Codes, sentences: Ints) -> None:
        """Count the tag situations of complete sentences."""
        if not len(tags):
            return
        strings = tuple(self._interners[1 + index].strings)
        counts = situations(self._options.spelled(Tags(codes(tags), strings, sentences)))
        total = self._situations.get(name)
        self._situations[name] = counts if total is None else ints(total + counts)

    def _survey(self, layout: Layout, end: Cut) -> Survey:
        names = list(self._columns)
        marked = self._documents and self._options.documents != "none"
        cuts = self._by_document if marked and self._least else self._by_sentence
        layers: dict[str, Recognised] = {}
        for name in names:
            prefer = self._options.prefer or next((layer.scheme for layer in layers.values()), None)
            layers[name] = recognise_situations(self._situations[name], prefer=prefer)
        extra = layout.wanted[1 + len(names) :]
        return Survey(
            path=self._file.path,
            sha256=self._file.sha256,
            evidence=f"{layout.width} columns separated by {layout.between}",
            comments=self._comments,
            labeled_marks=self._labeled_marks,
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
            strings=()
            if self._kept is None
            else tuple(tuple(interner.strings) for interner in self._interners),
            kept=self._kept,
            labels={
                name: labels_of([spelled(tag, self._options.spelling) for tag in interner.strings])
                for name, interner in zip(names, self._interners[1:], strict=False)
            },
        )


class _Wrong(Struct):
    """The number of tokens whose tags belong to no scheme, and the location of the first."""

    number: int = 0
    where: str = ""
    trouble: str = ""


def _line(rows: Rows, row: int, first: int) -> int:
    """The line number of a row in a piece whose first line is `first`."""
    if rows.token_lines is not None:
        return int(rows.token_lines[row])
    sentence = int(np.searchsorted(rows.begins, row, side="right")) - 1
    if sentence < 0:  # the sentence began in the previous piece
        return first + row
    return int(rows.lines[sentence]) + row - int(rows.begins[sentence])


def spaced(token: Ints, allowed: Ints, after: int, least: int) -> Ints:
    """The allowed sentences before which to cut, so that each part has at least `least` tokens."""
    chosen: list[int] = []
    while True:
        index = int(np.searchsorted(token[allowed], after + least, side="left"))
        if index == len(allowed):
            return ints(chosen)
        chosen.append(int(allowed[index]))
        after = int(token[allowed[index]])


def has_mark(file: File) -> bool:
    """Whether the unpacked file begins with a byte order mark."""
    with file.again()._stream() as stream:
        return stream.read(len(BOM)) == BOM


LINES = 1 << 19  # bytes of lines to process at a time


class RecordLayer(Struct, frozen=True):
    """What the survey found about one layer of annotations."""

    kind: str  # as the `Reading` describes it
    recognised: Recognised | None = None  # None if the layer has no tags

    def scheme(self, options: Options) -> str | None:
        """The scheme of the layer's tags; None if it has no tags."""
        return None if self.recognised is None else options.declared or self.recognised.scheme


class RecordSurvey(CutSource, Struct, frozen=True, eq=False):
    """The result of surveying a file of lines, table rows or documents.

    For a table, the `byte` of a cut is the index of a row; for a folder, the index of a file.
    """

    path: str
    sha256: str | None
    format: str
    options: Options  # with the field that names documents filled in
    layers: Mapping[str, RecordLayer]  # "only", or "gold" and "predicted"
    has_ids: bool
    cuts: tuple[Cut, ...]  # the beginning, every cut and the end
    documents: Ints | None
    part: Callable[[RecordSurvey, bytes, int], Batch]  # takes a part's bytes and number
    pieces: Callable[[RecordSurvey], Iterator[bytes]] | None = None  # if parts are not byte ranges of a file
    notes: tuple[str, ...] = ()
    before: tuple[Before, ...] = ()  # one for each part
    address: str = ""  # the full path, for processes with another working directory
    labels: Mapping[str, tuple[str, ...]] = {}  # of each layer, as read


def must_be_whole(options: Options) -> bool:
    """Whether these options require reading a file of records whole."""
    of_whole = options.annotator is not None or options.fields or options.documents not in (None, "none")
    return bool(of_whole or options.spelling is not None or options.declared != options.scheme)


def cuts_of(
    cutting: Cutting,
    starts: Ints | None,
    sizes: Sequence[Ints],
    lines: Sequence[Ints],
    columns: Sequence[Ints],
    end: tuple[int, int],
) -> tuple[Cut, ...]:
    """The beginning, every cut and the end, given the size, first line and first byte of each sentence.

    Documents begin at the sentences `starts`, if they are marked, and are not split when cutting by tokens.
    """
    size, line, byte = (ints(np.concatenate(column)) for column in (sizes, lines, columns))
    token, sentences = offsets(size), cutting.sentences
    if sentences is None:
        numbers = ints(np.arange(len(size)))
        # Span files contain no sentence lengths, so each sentence counts as one token.
        measured, allowed = token[:-1] if token[-1] else numbers, numbers if starts is None else starts
        sentences = spaced(measured, allowed, 0, cutting.tokens).tolist() if cutting.tokens else []
    inner = [number for number in sentences if 0 < number < len(size)]
    cuts = [Cut(number, int(token[number]), int(line[number]), int(byte[number])) for number in (0, *inner)]
    return (*cuts, Cut(len(size), int(token[-1]), *end))


class Batch(Struct, frozen=True, eq=False):
    """The content of some complete sentences or texts: their corpus, with tags or mentions by layer."""

    corpus: Corpus
    begins: Ints = ints([])  # the first line of each, including any lines before its first token
    end: int | None = None  # the line after the last one, if the lines that follow belong to the next
    tags: Mapping[str, Tags] = {}
    mentions: Mapping[str, Mentions] = {}
    marks: Ints = ints([])  # the lines at which documents begin
    after: Before = Before()
    left_out: Mapping[str, int] = Counter()
    goes_on: bool = False  # whether a first text that names the document of the last one continues it
    scores: Mapping[str, Floats] = {}  # of each token, by layer
    apart: Mapping[str, Corpus] = {}  # of layers that have other texts

    @classmethod
    def of(cls, annotation: Annotation, begins: Ints = ints([])) -> Batch:
        """The content of an annotation."""
        return cls(annotation.corpus, begins, mentions={"only": annotation.mentions})


def joined(batches: Sequence[Batch]) -> Batch:
    """The content of consecutive batches as one."""
    if len(batches) == 1:
        return batches[0]
    filled = [batch for batch in batches if len(batch.corpus)] or batches[:1]
    firsts = offsets([len(batch.corpus) for batch in filled])[:-1]
    starts = DocumentStarts()
    for batch in filled:
        starts.add(batch.corpus, goes_on=batch.goes_on)
    corpus = joined_corpora(_with_ids([batch.corpus for batch in filled]))
    return Batch(
        replace(corpus, documents=starts.offsets, document_ids=starts.ids),
        ints(np.concatenate([batch.begins for batch in filled])),
        batches[-1].end,
        {name: _joined_tags([batch.tags[name] for batch in filled]) for name in filled[0].tags},
        {
            name: joined_mentions([batch.mentions[name] for batch in filled], firsts)
            for name in filled[0].mentions
        },
        ints(np.concatenate([batch.marks for batch in batches])),
        batches[-1].after,
        sum((Counter(batch.left_out) for batch in batches), Counter()),
        filled[0].goes_on,
        {name: floats(np.concatenate([batch.scores[name] for batch in filled])) for name in filled[0].scores},
        {
            name: joined_corpora(_with_ids([batch.apart.get(name, batch.corpus) for batch in filled]))
            for name in {name for batch in filled for name in batch.apart}
        },
    )


def _with_ids(corpora: Sequence[Corpus]) -> list[Corpus]:
    """The corpora, where sentences without an id have the id "" if any corpus has ids."""
    if all(corpus.ids is None for corpus in corpora):
        return [*corpora]
    return [replace(corpus, ids=corpus.ids or ("",) * len(corpus)) for corpus in corpora]


def _joined_tags(some: Sequence[Tags]) -> Tags:
    """The tags of consecutive parts, with one list of names."""
    names = tuple(dict.fromkeys(chain.from_iterable(tags.names for tags in some)))
    number = {name: code for code, name in enumerate(names)}
    coded = [ints([number[name] for name in tags.names])[tags.codes] for tags in some]
    sizes = np.concatenate([np.diff(tags.sentences) for tags in some])
    return Tags(codes(np.concatenate(coded)), names, offsets(sizes))


class DocumentStarts:
    """The sentences at which the documents of consecutive corpora begin, and the names of these."""

    def __init__(self) -> None:
        self.number = 0  # of sentences or texts
        self.starts: list[int] = []
        self.names: list[str] = []
        self.marked = self._named = False

    @property
    def offsets(self) -> Ints | None:
        """The offsets of documents into the sentences; None if no corpus marks documents."""
        return ints([*self.starts, self.number]) if self.marked else None

    @property
    def ids(self) -> tuple[str, ...] | None:
        """The names of the documents; None if no corpus names them."""
        return tuple(self.names) if self._named else None

    def add(self, corpus: Corpus, *, goes_on: bool) -> None:
        """Add a corpus; sentences before the first named document form an unnamed one."""
        names, starts = corpus.document_ids, corpus.documents
        if not len(corpus):
            return
        if starts is None:
            goes_on = bool(self.number) and (not self.marked or self.names[-1] == "")
            listed, new_names = [self.number], [""]
        else:
            self.marked = True
            listed = (starts[:-1] + self.number).tolist()
            new_names = [""] * len(listed) if names is None else list(names)
            goes_on = (goes_on or corpus.texts is None) and self.number > 0 and self.names[-1] == new_names[0]
        self._named |= names is not None
        self.starts += listed[goes_on:]
        self.names += new_names[goes_on:]
        self.number += len(corpus)


class Surveyor:
    """Collects the sizes, positions, labels and schemes of a file from its batches, in one pass."""

    def __init__(self, path: str, options: Options) -> None:
        self.path, self.options = path, options
        self._documents = DocumentStarts()
        self._sizes: list[Ints] = []
        self._lines: list[Ints] = []
        self._bytes: list[Ints] = []
        self._marks: list[Ints] = []
        self._situations: dict[str, Ints] = {}
        self._labels: dict[str, set[str]] = {}  # tags or labels by layer
        self._left_out: Counter[str] = Counter()
        self._has_ids = False

    @property
    def number(self) -> int:
        """How many sentences or texts there are so far."""
        return self._documents.number

    def take(self, batch: Batch, lines: Ints, positions: Ints) -> bool:
        """Add a batch whose sentences begin at these lines and bytes; False if the file must be read whole.

        So it must if a tag belongs to no scheme, which reading the file whole reports.
        """
        corpus = batch.corpus
        self._marks.append(batch.marks)
        if not len(corpus):
            return True
        for name, written in batch.tags.items():
            tags = self.options.spelled(written)
            if any(map(malformed, tags.names)):
                return False
            self._labels.setdefault(name, set()).update(tags.names)
            counts = situations(tags)
            self._situations[name] = ints(self._situations.get(name, 0) + counts)
        for name, mentions in batch.mentions.items():
            self.options.limits.check(Annotation(corpus, mentions, Reading(self.path)))
            self._labels.setdefault(name, set()).update(mentions.labels)
        self._sizes.append(corpus.lengths)
        self._lines.append(lines)
        self._bytes.append(positions)
        self._left_out.update(batch.left_out)
        self._has_ids |= corpus.ids is not None
        self._documents.add(corpus, goes_on=batch.goes_on)
        return True

    def survey(
        self,
        format: str,
        cutting: Cutting,
        kinds: Mapping[str, str],
        part: Callable[[RecordSurvey, bytes, int], Batch],
        *,
        end: tuple[int, int],
        sha256: str | None = None,
        notes: Sequence[str] = (),
        pieces: Callable[[RecordSurvey], Iterator[bytes]] | None = None,
        starts: Sequence[int] | None = None,
    ) -> RecordSurvey | None:
        """The survey of the file, which has the layers `kinds`; None if it is empty or must be read whole.

        `end` is the line and the byte after the file, and `starts` are the first sentences of documents, if
        they are not marked in the batches.
        """
        if not self.number or max(map(len, self._labels.values())) > self.options.limits.labels:
            return None
        layers = self._layers(kinds)
        if self.options.repair == "none" and any(map(self._has_impossible_tags, layers.values())):
            return None
        documents = self._documents.offsets if starts is None else ints([*starts, self.number])
        first = None if documents is None else documents[:-1]
        cuts = cuts_of(cutting, first, self._sizes, self._lines, self._bytes, end)
        return RecordSurvey(
            path=self.path,
            sha256=sha256,
            format=format,
            options=self.options,
            layers=layers,
            has_ids=self._has_ids,
            cuts=cuts,
            documents=documents,
            part=part,
            notes=(*notes, *notes_on(self._left_out)),
            before=tuple(map(self._before, cuts[:-1])),
            labels={name: self._labels_of(name) for name in layers},
            pieces=pieces,
        )

    def _labels_of(self, layer: str) -> tuple[str, ...]:
        found = self._labels.get(layer, set())
        return labels_of(sorted(found)) if layer in self._situations else tuple(found)

    def _layers(self, kinds: Mapping[str, str]) -> dict[str, RecordLayer]:
        """The layers with their schemes; the scheme of the first layer is preferred for the next."""
        layers: dict[str, RecordLayer] = {}
        prefer = self.options.prefer
        for name, kind in kinds.items():
            counts = self._situations.get(name)
            recognised = None if counts is None else recognise_situations(counts, prefer=prefer)
            layers[name] = RecordLayer(kind, recognised)
            prefer = prefer or layers[name].scheme(self.options)
        return layers

    def _has_impossible_tags(self, layer: RecordLayer) -> bool:
        scheme = layer.scheme(self.options)
        return layer.recognised is not None and bool(layer.recognised.impossible.get(scheme or "", 1))

    def _before(self, cut: Cut) -> Before:
        if not cut.sentence:
            return Before()
        marks = np.concatenate(self._marks)
        name = self._documents.names[bisect_left(self._documents.starts, cut.sentence) - 1]
        return Before(name or None, int(np.searchsorted(marks, cut.line)))


def part_layers(survey: RecordSurvey, data: bytes, number: int) -> dict[str, Annotation]:
    """The annotations of one part by layer."""
    options, batch = survey.options, survey.part(survey, data, number)
    corpus = batch.corpus
    if survey.documents is not None and corpus.documents is None:  # but other parts have documents
        corpus = replace(corpus, documents=ints([0, len(corpus)]), document_ids=("",))
    if survey.has_ids and corpus.ids is None:  # but those of other parts have ids
        ids = ("",) * len(corpus)
        named = corpus.documents is None or corpus.document_ids is not None
        corpus = replace(corpus, ids=ids, document_ids=corpus.document_ids if named else ids)
    parts = {}
    for name, layer in survey.layers.items():
        scheme, repairs = layer.scheme(options), 0
        if scheme is not None:
            tags = options.spelled(batch.tags[name])
            decoded = decode(tags, scheme, repair=options.repair, locate=corpus.place)
            mentions, repairs = decoded.mentions, decoded.repairs
        else:
            mentions = batch.mentions[name]
        reading = Reading(survey.path, format=survey.format, repairs=repairs)
        parts[name] = options.finished(Annotation(corpus, mentions, reading), name)
    return parts


def notes_on(left_out: Mapping[str, int]) -> list[str]:
    """Notes on the number of lines of each kind that were left out."""
    return [
        f"{number:,} {kind} were left out" if number > 1 else f"1 {kind.removesuffix('s')} was left out"
        for kind, number in left_out.items()
        if number
    ]


def whole_pieces(file: File, border: Callable[[bytes], int], size: int | None = None) -> Iterator[bytes]:
    """The bytes of a file in pieces that end at a border, so that no sentence or text is split."""
    return cut_pieces(file.chunks(size or LINES), border)


def cut_pieces(chunks: Iterable[bytes], border: Callable[[bytes], int]) -> Iterator[bytes]:
    """Regroup chunks into pieces that end at a border.

    `border(data)` is the number of leading bytes that are complete, 0 if none are.
    """
    buffer, wanted = b"", 0
    for chunk in chunks:
        buffer += chunk
        if len(buffer) < wanted:
            continue
        end = border(buffer)
        if end:
            yield buffer[:end]
            buffer = buffer[end:]
        wanted = 0 if end else 2 * len(buffer)  # avoids rescanning a long piece with every chunk
    if buffer:
        yield buffer


def after_blank_line(data: bytes) -> int:
    """The position after the last blank line; 0 if there is none."""
    end = max(data.rfind(b"\n\n") + 2, data.rfind(b"\n\r\n") + 3)
    return end if end > 2 else 0
