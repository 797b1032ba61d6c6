"""Files read in parts: a survey finds where to cut them between sentences, then each part is read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias, overload

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Ints, codes, ints
from spanwise.corpus import Annotation, Corpus, Mentions, Reading, Source
from spanwise.formats import format_of, opened, options_of
from spanwise.formats._columns import CodedColumns, KeptRows, corpus_of, tag_columns, whole
from spanwise.formats._format import (
    Cut,
    CutSource,
    Cutting,
    Format,
    ReadKeywords,
    label_notes,
    left_out_notes,
)
from spanwise.formats._opening import BOM, MAGIC, UTF8, File
from spanwise.formats._surveying import (
    RecordSurvey,
    Survey,
    has_mark,
    part_layers,
    spaced,
    survey,
)
from spanwise.pairing import pair
from spanwise.schemes import Tags, decode
from spanwise.streams import is_pipe

__all__ = [
    "Cutting",
    "InMemorySource",
    "KeptRows",
    "PartBytes",
    "Parted",
    "Survey",
    "numbers",
    "paired_whole",
    "pieces",
    "read_piece",
    "reading_of",
    "streamed_format",
    "survey",
    "survey_layers",
    "surveyed",
]


class PartBytes(Struct, frozen=True, eq=False):
    """One part of a file: its number and, unless they can be read from the file, its bytes."""

    number: int
    data: bytes | None = None


def survey_layers(
    path: str | os.PathLike[str],
    reading: ReadKeywords,
    *,
    merged: bool,
    tokens: int = 0,
    sentences: Sequence[int] = (),
    keep: KeptRows | None = None,
) -> Survey:
    """Survey a CoNLL file; takes the keywords of `read`, or of `read_layers` if the file is merged."""
    chosen = options_of(**{key: value for key, value in reading.items() if key not in ("format", "tokens")})
    columns = tag_columns(chosen, merged=merged)
    return survey(path, chosen, columns, tokens=tokens, sentences=sentences, keep=keep)


def streamed_format(source: object, reading: ReadKeywords) -> Format | None:
    """The format of a source that may be read in parts; None if it must be read whole."""
    if not isinstance(source, str | os.PathLike) or is_pipe(source) or reading.get("encoding") not in UTF8:
        return None
    form = format_of(opened(source, limits=reading.get("limits")), reading.get("format"))
    return None if form.survey is None else form


def surveyed(
    source: str | os.PathLike[str], reading: ReadKeywords, cutting: Cutting
) -> Survey | RecordSurvey | None:
    """Survey a file with the `survey` function of its format; None if it must be read whole."""
    form = streamed_format(source, reading)
    if form is None or form.survey is None:
        return None
    chosen = options_of(**{key: value for key, value in reading.items() if key not in ("format", "tokens")})
    result = form.survey(opened(source, limits=reading.get("limits")), chosen, cutting)
    assert result is None or isinstance(result, Survey | RecordSurvey)
    return None if result is None else replace(result, address=str(Path(source).absolute()))


class InMemorySource(CutSource, Struct, frozen=True, eq=False):
    """A source that has been read whole and is cut by slicing its columns."""

    layers: Mapping[str, Annotation]
    cuts: tuple[Cut, ...]  # the beginning, every cut and the end

    @classmethod
    def of(
        cls, layers: Mapping[str, Annotation], *, tokens: int = 0, sentences: Sequence[int] | None = None
    ) -> InMemorySource:
        """Cut before the given `sentences`, or where a sentence begins after at least `tokens` tokens.

        With `tokens`, documents are never split if their boundaries are known.
        """
        corpus = next(iter(layers.values())).corpus
        if sentences is None:
            allowed = ints(np.arange(len(corpus))) if corpus.documents is None else corpus.documents[:-1]
            # Span files contain no sentence lengths, so each sentence counts as one token.
            sizes = corpus.sentences[:-1] if corpus.sentences[-1] else ints(np.arange(len(corpus)))
            sentences = [] if not tokens else spaced(sizes, allowed, 0, tokens).tolist()
        inner = [number for number in sentences if 0 < number < len(corpus)]
        token = [int(corpus.sentences[number]) for number in (0, *inner, len(corpus))]
        return cls(
            layers,
            tuple(Cut(number, at, 0, 0) for number, at in zip((0, *inner, len(corpus)), token, strict=True)),
        )

    @property
    def _first(self) -> Annotation:
        return next(iter(self.layers.values()))

    @property
    def path(self) -> str:
        """The name of the source in error messages."""
        return self._first.reading.path

    @property
    def labels(self) -> Mapping[str, Sequence[str]]:
        """The labels of each layer, as read."""
        return {name: layer.labels_as_read for name, layer in self.layers.items()}

    @property
    def documents(self) -> Ints | None:
        """Offsets of documents into the sentences; None if documents are not marked."""
        return self._first.corpus.documents


Parted: TypeAlias = Survey | RecordSurvey | InMemorySource


def paired_whole(gold: Parted, predicted: Parted, align: str) -> Parted:
    """The predictions with their sentences in the order of gold, if both are in memory; else as they are.

    Sources that are read part by part are paired within each part.
    """
    if not isinstance(gold, InMemorySource) or not isinstance(predicted, InMemorySource):
        return predicted
    annotation = predicted.layers["only"]
    paired = pair(gold.layers["only"].corpus, annotation, align=align).predicted
    if paired is annotation:
        return predicted
    return InMemorySource.of({"only": paired}, sentences=[cut.sentence for cut in predicted.cuts[1:-1]])


def pieces(source: Parted) -> Iterator[PartBytes]:
    """The parts of a source; those of a compressed file come with their bytes."""
    kept = isinstance(source, Survey) and source.kept is not None
    if isinstance(source, RecordSurvey) and source.pieces is not None:
        yield from map(PartBytes, range(source.parts), source.pieces(source))
        return
    if isinstance(source, InMemorySource) or kept or not is_packed(source.path):
        yield from map(PartBytes, range(source.parts))
        return
    buffer, at_byte = bytearray(), len(BOM) if has_mark(File(source.path)) else 0  # chunks omit the mark
    stream = File(source.path).chunks(1 << 20)
    for number, (begin, end) in enumerate(pairwise(source.cuts)):
        while at_byte + len(buffer) < end.byte and (more := next(stream, None)):
            buffer += more
        yield PartBytes(number, bytes(buffer[begin.byte - at_byte : end.byte - at_byte]))
        del buffer[: end.byte - at_byte]
        at_byte = end.byte


def read_piece(source: Parted, piece: PartBytes, *, own_words: bool = True) -> dict[str, Annotation]:
    """The annotations of one part by layer, with the line and document numbers of the whole file.

    Each part has its own vocabulary, so word codes are not comparable between parts. Without `own_words`,
    parts of a file whose rows were kept share the vocabulary of the whole file.
    """
    begin, end = source.cuts[piece.number], source.cuts[piece.number + 1]
    if isinstance(source, InMemorySource):
        if source.parts == 1:
            return dict(source.layers)
        return {name: _slice(layer, begin, end) for name, layer in source.layers.items()}
    if isinstance(source, RecordSurvey):
        return _record_layers(source, piece, begin, end)
    file = _Bytes(source.path, b"" if source.kept is not None else _bytes(source, piece))
    columns = _columns_of(source, file, begin, end)
    options = replace(source.options, documents="none")
    corpus = _placed(corpus_of(columns, options, file), source, begin, end)
    if own_words:
        corpus = _with_own_words(corpus)
    annotations = {}
    for index, (name, recognised) in enumerate(source.layers.items(), start=1):
        tags = Tags(codes(columns.rows.columns[index]), columns.strings[index], columns.offsets())
        scheme = source.options.declared or recognised.scheme
        decoded = decode(
            source.options.spelled(tags), scheme, repair=source.options.repair, locate=corpus.place
        )
        reading = Reading(path=source.path, format="conll", repairs=decoded.repairs)
        annotations[name] = source.options.relabeled(Annotation(corpus, decoded.mentions, reading), name)
    return annotations


def _record_layers(survey: RecordSurvey, piece: PartBytes, begin: Cut, end: Cut) -> dict[str, Annotation]:
    """The annotations of one part of a file of records by layer, with the numbers of the whole file."""
    parts = {}
    for name, part in part_layers(survey, _bytes(survey, piece), piece.number).items():
        corpus = part.corpus
        if not survey.has_ids:
            corpus = replace(corpus, ids=_WholeFileNumbers(begin.sentence, len(corpus)))
        if corpus.documents is not None and corpus.document_ids is None:
            _, first = _documents_between(survey.documents, begin, end)
            corpus = replace(corpus, document_ids=_WholeFileNumbers(first, len(corpus.documents) - 1))
        corpus = replace(corpus, source=replace(corpus.source, before=_before(survey.documents, begin)))
        parts[name] = replace(part, corpus=_with_own_words(corpus))
    return parts


def _columns_of(survey: Survey, file: File, begin: Cut, end: Cut) -> CodedColumns:
    """The rows of one part, from the kept rows or else parsed from its bytes."""
    if survey.kept is None:
        return whole(file, survey.options, tuple(survey.columns.values()))
    rows = survey.kept.rows((begin.token, end.token), (begin.sentence, end.sentence), begin.line)
    return CodedColumns(survey.layout, rows, survey.strings)


def reading_of(source: Parted, layer: str, *, repairs: int, labels: Sequence[str]) -> Reading:
    """The `Reading` of the whole source; `repairs` and `labels` are totals over its parts."""
    if isinstance(source, InMemorySource):
        return source.layers[layer].reading
    if isinstance(source, RecordSurvey):
        return _reading_of_records(source, layer, repairs=repairs, labels=labels)
    recognised, declared = source.layers[layer], source.options.declared
    scheme = declared or recognised.scheme
    words = f"{source.options.scheme}, as declared" if declared else recognised.evidence
    notes = left_out_notes(source.comments, source.labeled_marks)
    return Reading(
        path=source.path,
        sha256=source.sha256,
        format="conll",
        scheme=scheme,
        evidence=f"{source.evidence}; {words}",
        repair=source.options.repair,
        repairs=repairs,
        notes=(*notes, *label_notes(Mentions.of([], labels=labels))),
        tags_fit=recognised.fitting,
    )


def _reading_of_records(survey: RecordSurvey, layer: str, *, repairs: int, labels: Sequence[str]) -> Reading:
    notes = (*survey.notes, *label_notes(Mentions.of([], labels=labels)))
    kind, recognised, declared = (
        survey.layers[layer].kind,
        survey.layers[layer].recognised,
        survey.options.declared,
    )
    plain = Reading(path=survey.path, sha256=survey.sha256, format=survey.format, evidence=kind, notes=notes)
    if recognised is None:
        return plain
    words = f"{survey.options.scheme}, as declared" if declared else recognised.evidence
    return replace(
        plain,
        scheme=declared or recognised.scheme,
        evidence=f"{kind}; {words}",
        repair=survey.options.repair,
        repairs=repairs,
        tags_fit=recognised.fitting,
    )


def is_packed(path: str) -> bool:
    """Whether a file is compressed, judged by its first bytes."""
    with Path(path).open("rb") as stream:
        head = stream.read(8)
    return any(head.startswith(mark) for mark in MAGIC)


def _bytes(survey: Survey | RecordSurvey, piece: PartBytes) -> bytes:
    if piece.data is not None:
        return piece.data
    begin, end = survey.cuts[piece.number], survey.cuts[piece.number + 1]
    with Path(survey.address or survey.path).open("rb") as stream:
        stream.seek(begin.byte)
        return stream.read(end.byte - begin.byte)


def _with_own_words(corpus: Corpus) -> Corpus:
    """The corpus with its vocabulary reduced to the words that occur in it."""
    used = np.zeros(len(corpus.vocabulary), dtype=bool)
    used[corpus.tokens] = True
    chosen = np.flatnonzero(used)
    if len(chosen) == len(used):
        return corpus
    table = codes(np.cumsum(used) - 1)
    return corpus.recoded(table, tuple(map(corpus.vocabulary.__getitem__, chosen.tolist())))


def _slice(whole: Annotation, begin: Cut, end: Cut) -> Annotation:
    """The annotation of the sentences between two cuts, with the numbers that they have in the whole."""
    part = whole.take(slice(begin.sentence, end.sentence))
    corpus = part.corpus
    if corpus.ids is None:
        corpus = replace(corpus, ids=_WholeFileNumbers(begin.sentence, len(corpus)))
    if corpus.document_ids is None:
        _, first = _documents_between(whole.corpus.documents, begin, end)
        number = 0 if corpus.documents is None else len(corpus.documents) - 1
        corpus = replace(corpus, document_ids=_WholeFileNumbers(first, number))
    reading = whole.reading if begin.sentence == 0 else whole.reading.without_counts()
    return replace(part, corpus=_with_own_words(corpus), reading=reading)


def _documents_between(documents: Ints | None, begin: Cut, end: Cut) -> tuple[Ints | None, int]:
    """Offsets of the documents between two cuts into its sentences, and the index of the first document."""
    if documents is None:
        return None, 0
    inside = documents[(documents > begin.sentence) & (documents < end.sentence)]
    offsets = ints(np.concatenate([[0], inside - begin.sentence, [end.sentence - begin.sentence]]))
    return offsets, int(np.searchsorted(documents, begin.sentence, side="right")) - 1


def _before(documents: Ints | None, cut: Cut) -> int:
    """The number of sentences before a cut that belong to the document in which it falls."""
    if documents is None:
        return 0
    return cut.sentence - int(documents[np.searchsorted(documents, cut.sentence, side="right") - 1])


def _placed(corpus: Corpus, survey: Survey, begin: Cut, end: Cut) -> Corpus:
    source = corpus.source
    lines = None if source.lines is None else ints(source.lines + begin.line - 1)
    token_lines = None if source.token_lines is None else ints(source.token_lines + begin.line - 1)
    documents, first_document = _documents_between(survey.documents, begin, end)
    return replace(
        corpus,
        source=Source(survey.path, lines, token_lines),
        documents=documents,
        ids=_WholeFileNumbers(begin.sentence, len(corpus)),
        document_ids=None if documents is None else _WholeFileNumbers(first_document, len(documents) - 1),
    )


def numbers(first: int, size: int) -> Sequence[str]:
    """`size` consecutive numbers from `first`, as strings."""
    return _WholeFileNumbers(first, size)


class _WholeFileNumbers(Sequence[str]):
    """The numbers that a part's sentences or documents have in the whole file, as strings."""

    def __init__(self, first: int, size: int) -> None:
        self._first = first
        self._size = size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        numbers = range(self._first, self._first + self._size)[index]
        return str(numbers) if isinstance(numbers, int) else [str(number) for number in numbers]


class _Bytes(File):
    """A part of a file: some of its bytes, under the path of the whole file."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.encoding = None
        self._data = data

    @property
    def sha256(self) -> str | None:
        """None: a part has no hash of its own."""
        return None

    def chunks(self, size: int) -> Iterator[bytes]:
        """The bytes in pieces of about `size`."""
        for begin in range(0, len(self._data), size):
            yield self._data[begin : begin + size]
