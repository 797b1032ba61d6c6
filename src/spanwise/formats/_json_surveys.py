"""Survey a whole file of JSON records in one pass: lines of objects, or a list of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from msgspec.structs import replace

from spanwise.columns import Ints, ints
from spanwise.errors import InputError
from spanwise.formats import _json_items
from spanwise.formats._columns import line_positions
from spanwise.formats._format import Cutting, JsonRecord, Options
from spanwise.formats._json_items import CannotBeCut, item_pieces, items_of
from spanwise.formats._opening import BOM, File
from spanwise.formats._sentences import is_spans
from spanwise.formats._surveying import (
    Batch,
    RecordSurvey,
    Surveyor,
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
    key_notes,
    measured,
    records,
)

_KINDS = ("tokens with tags", "tokens with spans", "text with spans of characters")
_SPACE = b" \t\r\n"

# ---- lines of objects, or a list of them ----


def survey_json(file: File, options: Options, cutting: Cutting) -> RecordSurvey | None:
    """Survey a file of JSON records; None if it must be read whole, as when it has errors."""
    if cutting.merged or must_be_whole(options):
        return None
    try:
        return _RecordSurveyor(file, options).survey(cutting)
    except (InputError, CannotBeCut):
        return None  # reading the file whole reports the errors


class _RecordSurveyor:
    """A single pass over a file of JSON records, of which it is known only at the end how they are read."""

    def __init__(self, file: File, options: Options) -> None:
        self._file, self._options = file, replace(options, documents="none")
        self._surveyor = Surveyor(file.path, self._options)
        self._kind = ""
        self._twofold: set[tuple[str, str]] = set()
        self._unlike: set[tuple[str, str]] = set()
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
            sha256=self._file.sha256, notes=key_notes(self._twofold, self._unlike),
            starts=None if key is None else self._starts[key],
        )  # fmt: skip
        chosen = replace(self._options, documents=key or "none")
        return None if survey is None else replace(survey, options=chosen)

    def _read_lines(self) -> Iterator[bool]:
        """Read some lines at a time; yields False if they cannot be read in parts."""
        byte, line = len(BOM) if has_mark(self._file) else 0, 1
        for chunk in whole_pieces(self._file, _after_line, _json_items.CHUNK):
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
        self._unlike |= batch.unlike
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
