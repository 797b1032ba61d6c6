"""Survey a whole JSON file in one pass: a list, which is cut between its items, or lines of objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Ints, ints
from spanwise.corpus import Annotation
from spanwise.errors import InputError
from spanwise.formats._columns import line_positions
from spanwise.formats._format import Cutting, JsonRecord, Options
from spanwise.formats._opening import BOM, File
from spanwise.formats._sentences import Origin, Standoff, annotation, is_spans, parse_json
from spanwise.formats._surveying import (
    RecordLayer,
    RecordSurvey,
    cut_pieces,
    cuts_of,
    has_mark,
    must_be_whole,
    whole_pieces,
)
from spanwise.formats.annotators import names_annotators
from spanwise.formats.jsonl import (
    DOCUMENTS,
    JsonRecords,
    annotation_of,
    as_record,
    gather_records,
    id_of,
    records,
    twofold_notes,
)
from spanwise.schemes import Tags, labels_of, malformed, recognise_situations, situations

CHUNK = 1 << 19  # bytes of JSON to parse at a time; as Python objects they take thirty times the memory
_KINDS = ("tokens with tags", "tokens with spans", "text with spans of characters")
_SPACE = b" \t\r\n"  # the white space of JSON

# ---- a list, cut between its items ----

_QUOTE, _OPENING, _CLOSING, _COMMA = 1, 2, 3, 4
_MARKS = np.zeros(256, dtype=np.uint8)
for _characters, _mark in ((b'"', _QUOTE), (b"[{", _OPENING), (b"]}", _CLOSING), (b",", _COMMA)):
    _MARKS[list(_characters)] = _mark


def commas_between(data: bytes) -> Ints:
    """The positions of commas that are not inside a string, list or object.

    Examples:
        >>> commas_between(b'{"a": [1, 2]}, "x, y", 3').tolist()
        [13, 21]
    """
    marks = _MARKS[np.frombuffer(data, dtype=np.uint8)]
    positions = np.flatnonzero(marks)
    marks = marks[positions]
    if b"\\" in data:
        inside = _escaped(data, positions) & (marks == _QUOTE)
        positions, marks = positions[~inside], marks[~inside]
    quotes = np.cumsum(marks == _QUOTE)
    outside = (quotes % 2 == 0) & (marks != _QUOTE)
    positions, marks = positions[outside], marks[outside]
    depth = np.cumsum((marks == _OPENING).astype(np.int64) - (marks == _CLOSING))
    return ints(positions[(marks == _COMMA) & (depth == 0)])


def _escaped(data: bytes, positions: Ints) -> Bools:
    """Whether each position is preceded by an odd number of backslashes."""
    slashes = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\\"))
    first = np.flatnonzero(np.diff(slashes, prepend=-2) > 1)  # of each run of backslashes
    begins = slashes[first]
    ends = slashes[np.append(first[1:], len(slashes)) - 1] + 1
    run_of = np.minimum(np.searchsorted(ends, positions), len(ends) - 1)
    escaped: Bools = (ends[run_of] == positions) & ((ends - begins)[run_of] % 2 == 1)
    return escaped


class NotOneList(Exception):
    """Raised if a file is not one JSON list; reading it whole reports why."""


class ItemPiece(Struct, frozen=True, eq=False):
    """Some consecutive items of a list, and the byte at which each begins."""

    items: list[object]
    begins: Ints
    end: int  # the byte after the last item


def item_pieces(file: File) -> Iterator[ItemPiece]:
    """The items of a file that is one JSON list, some at a time.

    Raises:
        NotOneList: the file is something else, or damaged.
    """
    stream = file.chunks(CHUNK)
    head = b""
    for chunk in stream:
        head += chunk
        if head.lstrip(_SPACE):
            break
    begin = len(head) - len(head.lstrip(_SPACE)) + 1
    if head[begin - 1 : begin] != b"[":
        raise NotOneList
    byte = begin + (len(BOM) if has_mark(file) else 0)
    any_before, pending = False, b""
    for piece in cut_pieces(chain([head[begin:]], stream), _after_last_comma):
        if pending:
            yield ItemPiece(items_of(pending), _begins(pending, byte), byte + len(pending))
            byte += len(pending)
            any_before = True
        pending = piece
    if not pending.rstrip(_SPACE).endswith(b"]"):
        raise NotOneList
    items = items_of(pending)
    if items:
        yield ItemPiece(items, _begins(pending, byte), byte + len(pending))
    elif any_before:  # a trailing comma
        raise NotOneList


def items_of(data: bytes) -> list[object]:
    """Parse items from bytes that begin with an item and end with the comma or bracket after the last."""
    try:
        items: list[object] = parse_json(f"[{data.rstrip(_SPACE)[:-1].decode('utf-8')}]")
    except (ValueError, RecursionError):
        raise NotOneList from None
    return items


def _begins(data: bytes, byte: int) -> Ints:
    """The byte at which each item begins; `byte` is the position of the data in the file."""
    inner = commas_between(data.rstrip(_SPACE)[:-1])
    return ints(np.concatenate([[0], inner + 1]) + byte)


def _after_last_comma(data: bytes) -> int:
    commas = commas_between(data)
    return int(commas[-1]) + 1 if len(commas) else 0


class ItemReader(Protocol):
    """Reads one layer from the items of a list, each of which is a sentence or a text."""

    @property
    def evidence(self) -> str: ...
    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on what was left out of the items read so far."""
        ...

    def units(self, items: Sequence[object], first: int) -> list[Standoff]:
        """The sentences or texts of items, which are numbered from `first` in the whole list."""
        ...

    def check(self) -> None:
        """Raise InputError if the items read so far are inconsistent with each other."""
        ...


Readers = Callable[[str, Options, bool], Mapping[str, ItemReader] | None]


def survey_items(
    name: str, readers: Readers, file: File, options: Options, cutting: Cutting
) -> RecordSurvey | None:
    """Survey a file that is one JSON list; None if it must be read whole, as when it has errors.

    `readers(path, options, merged)` returns a reader for each layer: "only", or "gold" and "predicted" for
    a `merged` file; None if the format has no such layers.
    """
    layers = readers(file.path, options, cutting.merged)
    if layers is None:
        return None
    sizes: list[Ints] = []
    begins: list[Ints] = []
    labels: dict[str, set[str]] = {layer: set() for layer in layers}
    number, end, has_ids, has_documents = 0, 0, False, False
    try:
        for piece in item_pieces(file):
            parts = _layers_of(name, layers, file.path, options, piece.items, number + 1)
            lengths = [part.corpus.lengths for part in parts.values()]
            if not all(np.array_equal(lengths[0], other) for other in lengths):
                return None  # the texts of gold and predictions differ
            for layer, part in parts.items():
                labels[layer] |= {*part.labels_as_read}
                has_ids |= part.corpus.ids is not None
                has_documents |= part.corpus.documents is not None
            sizes.append(lengths[0])
            begins.append(piece.begins)
            number, end = number + len(piece.items), piece.end
        for reader in layers.values():
            reader.check()
    except (InputError, NotOneList):
        return None
    if not number or max(map(len, labels.values())) > options.limits.labels:
        return None
    return RecordSurvey(
        path=file.path,
        sha256=file.sha256,
        format=name,
        options=options,
        layers={layer: RecordLayer(reader.evidence) for layer, reader in layers.items()},
        has_ids=has_ids,
        cuts=cuts_of(cutting, None, sizes, [ints(np.zeros(number))], begins, (0, end)),
        documents=ints(np.arange(number + 1)) if has_documents else None,
        part=partial(_item_part, readers),
        labels={layer: tuple(names) for layer, names in labels.items()},
        notes=tuple(dict.fromkeys(note for reader in layers.values() for note in reader.notes)),
    )


def _layers_of(
    name: str,
    readers: Mapping[str, ItemReader],
    path: str,
    options: Options,
    items: Sequence[object],
    first: int,
) -> dict[str, Annotation]:
    """The annotations of items by layer; the items are numbered from `first`."""
    return {
        layer: options.finished(annotation(reader.units(items, first), Origin(path, name), options), layer)
        for layer, reader in readers.items()
    }


def _item_part(readers: Readers, survey: RecordSurvey, data: bytes, number: int) -> dict[str, Annotation]:
    """The annotations of the items in one part, by layer."""
    layers = readers(survey.path, survey.options, "only" not in survey.layers)
    assert layers is not None
    first = survey.cuts[number].sentence + 1
    parts = _layers_of(survey.format, layers, survey.path, survey.options, items_of(data), first)
    if not survey.has_ids:
        return parts
    return {layer: _with_names(part) for layer, part in parts.items()}


def _with_names(part: Annotation) -> Annotation:
    """The part with empty ids if it has none, to match the other parts."""
    corpus = part.corpus
    if corpus.ids is not None:
        return part
    ids = ("",) * len(corpus)
    return replace(
        part, corpus=replace(corpus, ids=ids, document_ids=None if corpus.documents is None else ids)
    )


# ---- lines of objects, or a list of them ----


def survey_json(file: File, options: Options, cutting: Cutting) -> RecordSurvey | None:
    """Survey a file of JSON records; None if it must be read whole, as when it has errors."""
    if cutting.merged or must_be_whole(options):
        return None
    surveyor = _RecordSurveyor(file, options)
    try:
        if not surveyor.read_parts():
            return None
    except (InputError, NotOneList):
        return None  # reading the file whole reports the errors
    return surveyor.survey(cutting)


class _RecordSurveyor:
    """A single pass over a file of JSON records that collects counts and positions."""

    def __init__(self, file: File, options: Options) -> None:
        self._file, self._options = file, options
        self._kind = ""
        self._situations: Ints | None = None
        self._labels: set[str] = set()
        self._lines: list[Ints] = []
        self._bytes: list[Ints] = []
        self._sizes: list[Ints] = []
        self._ids = False
        self._twofold: set[tuple[str, str]] = set()
        # Only at the end is it known which field names the documents.
        self._starts: dict[str, list[int]] = {key: [] for key in DOCUMENTS}
        self._before: dict[str, str] = {}
        self._number = 0
        self._end = (1, 0)
        self._listed = False

    def read_parts(self) -> bool:
        """Read the file; False if it cannot be read in parts."""
        self._listed = self._file.head.lstrip(_SPACE)[:1] == b"["
        steps = self._read_items() if self._listed else self._read_lines()
        return all(steps) and bool(self._number)

    def _read_lines(self) -> Iterator[bool]:
        """Read some lines at a time; yields False if they cannot be read in parts."""
        byte, line = len(BOM) if has_mark(self._file) else 0, 1
        for chunk in whole_pieces(self._file, _after_line, CHUNK):
            part = File.of_bytes(self._file.path, chunk, first_line=line)
            batch = gather_records(part.path, records(part), self._options, self._kind)
            begins, _ = line_positions(chunk)
            yield self._take(batch, ints(byte + begins[np.array(batch.lines, dtype=np.int64) - line]))
            line += chunk.count(b"\n")
            byte += len(chunk)
            self._end = (line, byte)

    def _read_items(self) -> Iterator[bool]:
        """Read some items of a list at a time; yields False if they cannot be read in parts."""
        for piece in item_pieces(self._file):
            # Bare lists of spans are pipeline output for one text or for several: read these files whole.
            yield not any(isinstance(item, list) for item in piece.items) and not is_spans(piece.items)
            batch = gather_records(
                self._file.path, _as_records(self._file.path, piece.items), self._options, self._kind
            )
            yield self._take(batch, piece.begins)
            self._end = (1, piece.end)

    def _take(self, batch: JsonRecords, begins: Ints) -> bool:
        """Add records that begin at these bytes; False if the file must be read whole."""
        self._kind = batch.kind
        if batch.refused:
            return False
        if not batch.lines:
            return True
        if batch.kind not in _KINDS or names_annotators(batch.records):
            return False
        if batch.kind == "tokens with tags":
            if any(malformed(tag) for tag in {tag for tags in batch.tags for tag in tags}):
                return False
            counts = situations(Tags.of(batch.tags))
            self._situations = counts if self._situations is None else ints(self._situations + counts)
        self._labels |= {label for *_, label in batch.spans}
        self._labels |= {*labels_of([*{tag for tags in batch.tags for tag in tags}])}
        if len(self._labels) > self._options.limits.labels:
            return False
        self._lines.append(ints(batch.lines))
        self._bytes.append(begins)
        self._sizes.append(ints([len(tokens) for tokens in batch.tokens or batch.token_offsets]))
        self._twofold |= batch.twofold
        self._ids |= any(map(id_of, batch.records))
        for key in list(self._starts):
            self._note(key, batch.records)
        self._number += len(batch.lines)
        return True

    def _note(self, key: str, batch: Sequence[JsonRecord]) -> None:
        """Record where documents begin if this field names them; drop the field if a record lacks it."""
        if not all(key in record for record in batch):
            del self._starts[key]
            return
        for number, record in enumerate(batch, start=self._number):
            value = json.dumps(record[key], sort_keys=True, default=str)
            if self._before.get(key) != value:
                self._starts[key].append(number)
                self._before[key] = value

    def survey(self, cutting: Cutting) -> RecordSurvey:
        """The survey of the file."""
        key = None if self._options.documents == "none" else next(iter(self._starts), None)
        starts = None if key is None else ints(self._starts[key])
        cuts = cuts_of(cutting, starts, self._sizes, self._lines, self._bytes, self._end)
        recognised = None
        if self._situations is not None:
            recognised = recognise_situations(self._situations, prefer=self._options.prefer)
        return RecordSurvey(
            path=self._file.path,
            sha256=self._file.sha256,
            format="jsonl",
            options=replace(self._options, documents=key or "none"),
            layers={"only": RecordLayer(self._kind, recognised)},
            has_ids=self._ids,
            cuts=cuts,
            documents=None if starts is None else ints([*starts, self._number]),
            part=partial(_record_part, self._listed),
            labels={"only": tuple(self._labels)},
            notes=tuple(twofold_notes(self._twofold)),
        )


def _record_part(listed: bool, survey: RecordSurvey, data: bytes, number: int) -> dict[str, Annotation]:
    """The annotation of one part, whose records are items of a list or lines."""
    options, layer = survey.options, survey.layers["only"]
    declared = {} if layer.recognised is None else {"scheme": options.scheme or layer.recognised.scheme}
    if listed:
        pairs = _as_records(survey.path, items_of(data))
    else:
        pairs = records(File.of_bytes(survey.path, data, first_line=survey.cuts[number].line))
    batch = gather_records(survey.path, pairs, options, layer.kind)
    return {"only": options.finished(annotation_of(batch, replace(options, **declared)))}


def _as_records(path: str, items: Sequence[object]) -> Iterator[tuple[int, JsonRecord]]:
    """Each record with its line number, which is 1 for all items of a list."""
    return ((1, as_record(path, 1, item)) for item in items)


def _after_line(data: bytes) -> int:
    return data.rfind(b"\n") + 1
