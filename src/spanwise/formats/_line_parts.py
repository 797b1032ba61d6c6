"""One look at a whole file of JSON lines, a piece at a time: its sizes, its scheme, and where to cut it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Ints, ints
from spanwise.errors import InputError
from spanwise.formats._format import Options
from spanwise.formats._opening import BOM, File
from spanwise.formats._surveying import Cut, CutSource, has_mark, spaced
from spanwise.formats.annotators import names_annotators
from spanwise.formats.jsonl import DOCUMENTS, Gathered, gathered, records
from spanwise.schemes import Recognised, Tags, malformed, recognise_situations, situations

_CHUNK = 1 << 22  # bytes
_KINDS = ("tokens with tags", "tokens with spans", "text with spans of characters")


class LineSurvey(CutSource, Struct, frozen=True, eq=False):
    """What is known of a file of JSON lines after one look at it."""

    path: str
    sha256: str | None
    options: Options  # with the field that names documents
    kind: str
    recognised: Recognised | None  # where there are tags
    has_ids: bool
    cuts: tuple[Cut, ...]  # the beginning, every cut, and the end
    documents: Ints | None


def survey_lines(
    file: File, options: Options, *, tokens: int = 0, sentences: Sequence[int] | None = None
) -> LineSurvey | None:
    """Look at a whole file; None where it must be read whole, for what it is or for what is wrong in it."""
    if options.annotator is not None or options.fields or options.documents not in (None, "none"):
        return None
    if options.spelling is not None or options.declared != options.scheme:
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
            if found.lines and not self._take(found, chunk, line, byte):
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

    def survey(self, tokens: int, sentences: Sequence[int] | None) -> LineSurvey:
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
        return LineSurvey(
            path=self._file.path,
            sha256=self._file.sha256,
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
