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
from spanwise.errors import InputError
from spanwise.formats._columns import line_positions
from spanwise.formats._format import Cutting, JsonRecord, Options
from spanwise.formats._opening import BOM, File
from spanwise.formats._sentences import is_spans, parse_json
from spanwise.formats._surveying import (
    Batch,
    RecordSurvey,
    Surveyor,
    cut_pieces,
    has_mark,
    must_be_whole,
    whole_pieces,
)
from spanwise.formats.annotators import names_annotators
from spanwise.formats.jsonl import (
    DOCUMENTS,
    JsonRecords,
    as_record,
    batch_of,
    gather_records,
    measured,
    records,
    twofold_notes,
)

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
    """Reads the items of a list, each of which is a sentence or a text."""

    @property
    def kinds(self) -> Mapping[str, str]:
        """A description of each layer: "only", or "gold" and "predicted"."""
        ...

    def batch(self, items: Sequence[object], first: int) -> Batch | None:
        """The content of items, numbered from `first` in the whole list; None if it must be read whole."""
        ...

    def check(self) -> None:
        """Raise InputError if the items read so far are inconsistent with each other."""
        ...


def survey_items(
    name: str, opened: Callable[[], ItemReader], file: File, options: Options, cutting: Cutting
) -> RecordSurvey | None:
    """Survey a file that is one JSON list; None if it must be read whole, as when it has errors."""
    surveyor, end = Surveyor(file.path, options), 0
    try:
        reader = opened()
        for piece in item_pieces(file):
            batch = reader.batch(piece.items, surveyor.number + 1)
            if batch is None or not surveyor.take(batch, ints(np.zeros(len(piece.items))), piece.begins):
                return None
            end = piece.end
        reader.check()
    except (InputError, NotOneList):
        return None
    part = partial(_item_part, opened)
    return surveyor.survey(name, cutting, reader.kinds, part, end=(0, end), sha256=file.sha256)


def _item_part(opened: Callable[[], ItemReader], survey: RecordSurvey, data: bytes, number: int) -> Batch:
    """The content of the items in one part."""
    batch = opened().batch(items_of(data), survey.cuts[number].sentence + 1)
    assert batch is not None
    return batch


# ---- lines of objects, or a list of them ----


def survey_json(file: File, options: Options, cutting: Cutting) -> RecordSurvey | None:
    """Survey a file of JSON records; None if it must be read whole, as when it has errors."""
    if cutting.merged or must_be_whole(options):
        return None
    try:
        return _RecordSurveyor(file, options).survey(cutting)
    except (InputError, NotOneList):
        return None  # reading the file whole reports the errors


class _RecordSurveyor:
    """A single pass over a file of JSON records, of which it is known only at the end how they are read."""

    def __init__(self, file: File, options: Options) -> None:
        self._file, self._options = file, replace(options, documents="none")
        self._surveyor = Surveyor(file.path, self._options)
        self._kind = ""
        self._twofold: set[tuple[str, str]] = set()
        # Only at the end is it known which field names the documents.
        self._starts: dict[str, list[int]] = (
            {} if options.documents == "none" else {key: [] for key in DOCUMENTS}
        )
        self._before: dict[str, str] = {}
        self._end = (1, 0)
        self._listed = file.head.lstrip(_SPACE)[:1] == b"["

    def survey(self, cutting: Cutting) -> RecordSurvey | None:
        """The survey of the file; None if it must be read whole."""
        if not all(self._read_items() if self._listed else self._read_lines()):
            return None
        key = next(iter(self._starts), None)
        survey = self._surveyor.survey(
            "jsonl", cutting, {"only": self._kind}, partial(_record_part, self._listed), end=self._end,
            sha256=self._file.sha256, notes=twofold_notes(self._twofold),
            starts=None if key is None else self._starts[key],
        )  # fmt: skip
        chosen = replace(self._options, documents=key or "none")
        return None if survey is None else replace(survey, options=chosen)

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
        self._twofold |= batch.twofold
        for key in list(self._starts):
            self._note(key, batch.records)
        sizes = [len(tokens) for tokens in batch.tokens or batch.token_offsets]
        return self._surveyor.take(measured(batch, sizes), ints(batch.lines), begins)

    def _note(self, key: str, batch: Sequence[JsonRecord]) -> None:
        """Record where documents begin if this field names them; drop the field if a record lacks it."""
        if not all(key in record for record in batch):
            del self._starts[key]
            return
        for number, record in enumerate(batch, start=self._surveyor.number):
            value = json.dumps(record[key], sort_keys=True, default=str)
            if self._before.get(key) != value:
                self._starts[key].append(number)
                self._before[key] = value


def _record_part(listed: bool, survey: RecordSurvey, data: bytes, number: int) -> Batch:
    """The content of one part, whose records are items of a list or lines."""
    if listed:
        pairs = _as_records(survey.path, items_of(data))
    else:
        pairs = records(File.of_bytes(survey.path, data, first_line=survey.cuts[number].line))
    kind = survey.layers["only"].kind
    return batch_of(gather_records(survey.path, pairs, survey.options, kind), survey.options)


def _as_records(path: str, items: Sequence[object]) -> Iterator[tuple[int, JsonRecord]]:
    """Each record with its line number, which is 1 for all items of a list."""
    return ((1, as_record(path, 1, item)) for item in items)


def _after_line(data: bytes) -> int:
    return data.rfind(b"\n") + 1
