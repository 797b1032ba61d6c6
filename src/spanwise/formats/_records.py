"""Formats given as records: whole files, parts, layers and lists of problems derive from one function."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Ints, floats, ints
from spanwise.corpus import Annotation, Mentions, Reading
from spanwise.errors import InputError, at, many
from spanwise.formats._columns import check_utf8, line_positions
from spanwise.formats._format import (
    Before,
    CutSource,
    Cutting,
    Format,
    Options,
    Problem,
    annotated,
    impossible_tags,
    label_notes,
    no_token,
    problem_at,
)
from spanwise.formats._interning import Interner
from spanwise.formats._json_items import CannotBeCut, item_pieces, items_of
from spanwise.formats._opening import BOM, File
from spanwise.formats._sentences import (
    Origin,
    Part,
    Record,
    content,
    json_of,
    named_unit,
    no_text,
    tagged_corpus,
)
from spanwise.formats._surveying import (
    Batch,
    RecordSurvey,
    Surveyor,
    after_blank_line,
    has_mark,
    joined,
    notes_on,
    whole_pieces,
)
from spanwise.schemes import Tags, malformed, spelled

TOGETHER = 100  # documents of a folder to process at a time


def batch_of(records: Sequence[Record], origin: Origin, options: Options, first: int = 0) -> Batch:
    """The content of some records, which are numbered from `first` in messages."""
    begins = ints([record.line or 0 for record in records])
    predicted = [record.predicted for record in records if record.predicted is not None]
    left_out = _total(records)
    after = Before(records[-1].document)
    if any(record.tags is not None for record in records):
        corpus, tags = tagged_corpus(records, origin.path, options)
        layers = {"gold": records, **({"predicted": predicted} if predicted else {})}
        return Batch(
            corpus,
            begins,
            tags={
                name: Tags.of([record.tags or () for record in own]) if name != "gold" else tags
                for name, own in layers.items()
            },
            after=after,
            left_out=left_out,
            scores={
                name: floats([score for record in own for score in record.scores])
                for name, own in layers.items()
                if all(len(record.scores) == len(record.body) for record in own)
            },
        )
    corpus, mentions = content(records, origin, options, first)
    batch = Batch(corpus, begins, mentions={"gold": mentions}, after=after, left_out=left_out)
    batch = replace(batch, goes_on=records[0].document is not None)
    if not predicted:
        return batch
    other, mentions = content(predicted, origin, options, first)
    apart = {} if other.texts == corpus.texts else {"predicted": other}
    return replace(batch, mentions={**batch.mentions, "predicted": mentions}, apart=apart)


def _total(records: Sequence[Record]) -> dict[str, int]:
    """How many things of each kind the records leave out."""
    counts: dict[str, int] = {}
    for record in records:
        for kind, number in record.left_out.items():
            counts[kind] = counts.get(kind, 0) + number
    return counts


class RecordReader(Struct):
    """Reads a file of records: all of it, or some lines, items or documents at a time."""

    form: Format
    path: str
    options: Options
    head: Any  # what the format needs to know about the file as a whole
    merged: bool = False
    evidence: str = ""
    number: int = 0  # of sentences or texts so far

    @classmethod
    def of(cls, form: Format, file: File, options: Options, *, merged: bool = False) -> RecordReader:
        """The reader of a file."""
        head = None if form.opened is None else form.opened(file, options)
        evidence = form.evidence or form.recognise(file) or form.summary
        return cls(form, file.path, options, head, merged, evidence)

    @property
    def kinds(self) -> dict[str, str]:
        """A description of each layer: "only", or "gold" and "predicted" if both are wanted."""
        if self.form.layers:
            kinds = {self._called(name): kind for name, kind in self.form.layers.items()}
            return kinds if self.merged or hasattr(self.head, "layer") else {"only": kinds["only"]}
        return {"only": getattr(self.head, "evidence", "") or self.evidence}

    def _called(self, layer: str) -> str:
        """The name of a layer for those who want both layers, or only one of them."""
        only = getattr(self.head, "layer", "gold")
        return "only" if layer == only and not self.merged else layer

    @property
    def units(self) -> Sequence[Any] | None:
        """The documents of a file that consists of several, which are opened one at a time."""
        units: Sequence[Any] | None = getattr(self.head, "units", None)
        return units

    def check(self) -> None:
        """Raise InputError if the records read so far are inconsistent with each other."""
        if hasattr(self.head, "check"):
            self.head.check()

    def border(self, data: bytes) -> int:
        """The number of leading bytes that are complete records."""
        return after_blank_line(data) if self.form.border is None else self.form.border(data)

    def found(self, part: Part) -> Iterator[Record | Problem | Batch]:
        """The records of a part, each checked by itself."""
        assert self.form.records is not None
        for record in self.form.records(replace(part, head=self.head, merged=self.merged), self.options):
            if (
                isinstance(record, Record)
                and record.tags is not None
                and len(record.tags) != len(record.body)
            ):
                tags, tokens = many(len(record.tags), "tag"), many(len(record.body), "token")
                yield Problem(record.line, f"there are {tags}, but {tokens}.\nGive one tag for each token.")
            else:
                yield record

    def batches(self, found: Iterator[Record | Problem | Batch]) -> Iterator[Batch]:
        """The content of some records; raises InputError for the first problem."""
        waiting: list[Record] = []
        for record in found:
            if isinstance(record, Problem):
                raise InputError(at(self.path, record.line, record.text))
            if isinstance(record, Record):
                waiting.append(record)
                continue
            if waiting:
                yield self._named(batch_of(waiting, self._origin, self.options, self.number))
                waiting = []
            yield self._named(record)
        if waiting:
            yield self._named(batch_of(waiting, self._origin, self.options, self.number))

    def batch(self, part: Part) -> Batch | None:
        """The content of a part; None if it has no records."""
        batches = list(self.batches(self.found(part)))
        return joined(batches) if batches else None

    @property
    def _origin(self) -> Origin:
        return Origin(self.path, self.form.name)

    def _named(self, batch: Batch) -> Batch:
        """The batch with its layers as they are wanted, and each mention once."""
        tags = {self._called(name): layer for name, layer in batch.tags.items()}
        mentions = {
            self._called(name): layer.sole(
                duplicates=self.options.duplicates, place=partial(self._place, batch, layer, self.number)
            )
            for name, layer in batch.mentions.items()
        }
        scores = {self._called(name): column for name, column in batch.scores.items()}
        self.number += len(batch.corpus)
        return replace(batch, tags=tags, mentions=mentions, scores=scores)

    def checked(self, record: Record) -> list[Problem]:
        """What is wrong with the mentions of a record."""
        try:
            self._named(batch_of([record], self._origin, self.options, self.number))
        except InputError as error:
            self.number += 1
            return [problem_at(self.path, record.line, str(error))]
        return []

    def _place(self, batch: Batch, mentions: Mentions, before: int, row: int) -> str:
        sentence = int(mentions.sentence[row])
        if len(batch.begins) and batch.begins[sentence]:
            return f"{self.path}:{batch.begins[sentence]}"
        ids, whole = batch.corpus.ids, batch.corpus.texts is not None
        return f"{self.path}: {named_unit(whole, ids[sentence] if ids else '', before + sentence)}"

    # ---- whole files ----

    def parts(self, file: File, words: Interner | None = None) -> Iterator[Part]:
        """The whole file: some lines at a time, the list that it holds, or its documents."""
        if self.units is not None:
            yield Part(file.path, items=self.units, words=words)
        elif self.form.no_list:
            items = json_of(file)
            if not isinstance(items, list):
                raise InputError(at(file.path, 1, self.form.no_list))
            yield Part(file.path, items=items)
        else:
            line = 1
            for chunk in whole_pieces(file, self.border):
                check_utf8(file, chunk, line)
                yield Part(file.path, line, chunk, words=words)
                line += chunk.count(b"\n")

    def read(self, file: File, words: Interner | None = None) -> list[Batch]:
        """The content of a whole file, in batches."""
        batches: list[Batch] = []
        try:
            for part in self.parts(file, words or Interner()):
                before = batches[-1].after if batches else Before()
                batches += self.batches(self.found(replace(part, before=before)))
        except InputError:
            if self.units is None:
                file.again().text  # noqa: B018 - the wrong encoding explains all other errors
            raise
        self.check()
        if any(batch.tags for batch in batches) and not any(len(batch.corpus.tokens) for batch in batches):
            raise no_token(file.path)
        return batches

    def whole(self, file: File, words: Interner | None = None) -> dict[str, Annotation]:
        """The annotations of a whole file by layer."""
        batches = self.read(file, words)
        if not any(len(batch.corpus) for batch in batches):
            if self.form.empty:
                raise InputError(at(file.path, None, self.form.empty))
            raise no_text(file.path)
        batch = joined(batches)
        options, result = self.options, dict[str, Annotation]()
        digest = getattr(self.head, "sha256", file.sha256)
        left_out = (*getattr(self.head, "left_out", ()), *notes_on(batch.left_out))
        notes = (*left_out, *getattr(self.head, "notes", ()))
        for name, kind in self.kinds.items():
            reading = Reading(
                self.path, digest, self.form.name, evidence=kind, notes=notes, left_out=left_out
            )
            corpus = batch.apart.get(name, batch.corpus)
            if name in batch.scores and not np.isnan(batch.scores[name]).any():
                corpus = replace(corpus, columns={"score": batch.scores[name]})
            if name in batch.tags:
                result[name] = annotated(corpus, batch.tags[name], options, reading)
                options = replace(options, prefer=options.prefer or result[name].reading.scheme)
            else:
                mentions = batch.mentions[name]
                reading = replace(reading, notes=(*notes, *label_notes(mentions)))
                result[name] = Annotation(corpus, mentions, reading)
        return result

    # ---- surveys: the same records, with the places at which files can be cut between them ----

    def looked(self, file: File) -> Iterator[Looked]:
        """All records, some at a time."""
        if self.units is not None:
            return self._looked_units(self.units)
        return self._looked_items(file) if self.form.no_list else self._looked_lines(file)

    def _looked_items(self, file: File) -> Iterator[Looked]:
        for piece in item_pieces(file):
            batch = self.batch(Part(file.path, self.number + 1, items=piece.items))
            assert batch is not None
            yield Looked(batch, ints(np.zeros(len(piece.items))), piece.begins, (0, piece.end))

    def _looked_lines(self, file: File) -> Iterator[Looked]:
        behind: tuple[int, int] | None = None  # line and byte after the last record
        byte, line, before = len(BOM) if has_mark(file) else 0, 1, Before()
        for chunk in whole_pieces(file, self.border):
            check_utf8(file, chunk, line)
            batch = self.batch(Part(file.path, line, chunk, before=before, words=Interner()))
            end = line + chunk.count(b"\n"), byte + len(chunk)
            if batch is not None:
                if not batch.begins.all():
                    raise CannotBeCut  # records without lines are read whole
                before = batch.after
                begins, _ = line_positions(chunk + b"\n")
                lines, positions = batch.begins.copy(), byte + begins[batch.begins - line]
                if behind is not None and len(lines):
                    lines[0], positions[0] = behind
                if batch.end is not None:
                    behind = batch.end, byte + int(begins[batch.end - line])
                yield Looked(batch, ints(lines), ints(positions), end)
            line, byte = end

    def _looked_units(self, units: Sequence[Any]) -> Iterator[Looked]:
        """The documents; the line of a record is its index in its document, and its byte that one's."""
        waiting: list[Record] = []
        for number, found in enumerate(self.found(Part(self.path, items=units)), start=1):
            if isinstance(found, Problem):
                raise CannotBeCut  # reading the file whole reports the problem
            if isinstance(found, Batch):
                size = len(found.corpus)
                places = ints(np.arange(size)), ints(np.full(size, number - 1)), (0, number)
                yield Looked(self._named(found), *places)
                continue
            waiting.append(found)
            if len(waiting) == TOGETHER or number == len(units):
                batch = self._named(batch_of(waiting, self._origin, self.options, self.number))
                numbers = ints(np.arange(number - len(waiting), number))
                yield Looked(batch, ints(np.zeros(len(waiting))), numbers, (0, number))
                waiting = []


class Looked(Struct, frozen=True, eq=False):
    """Some records, the line and the byte at which each begins, and the line and the byte after them."""

    batch: Batch
    lines: Ints
    bytes: Ints
    end: tuple[int, int]


def read(form: Format, file: File, options: Options, words: Interner | None = None) -> Annotation:
    """The annotation of a whole file, or the layer that is read if only one is wanted."""
    return RecordReader.of(form, file, options).whole(file, words)["only"]


def read_layers(
    form: Format, file: File, options: Options, words: Interner | None = None
) -> dict[str, Annotation]:
    """The gold and the predicted annotation of a whole file."""
    return RecordReader.of(form, file, options, merged=True).whole(file, words)


def read_documents(form: Format, head: Any, file: File) -> Annotation:
    """The annotation of some documents of a folder or an archive."""
    return RecordReader(form, file.path, head.options, head).whole(file)["only"]


def survey(form: Format, file: File, options: Options, cutting: Cutting) -> CutSource | None:
    """Scan a file and decide where to cut it; None if it must be read whole, as when it has errors."""
    if cutting.merged and not form.layers:
        return None
    surveyor, end = Surveyor(file.path, options), (1, 0)
    try:
        reader = RecordReader.of(form, file.again(), options, merged=cutting.merged)
        for looked in reader.looked(file):
            if looked.batch.apart or not surveyor.take(looked.batch, looked.lines, looked.bytes):
                return None
            end = looked.end
        reader.check()
    except (InputError, CannotBeCut):
        return None
    return surveyor.survey(
        form.name, cutting, reader.kinds, partial(_part, reader), end=end,
        sha256=getattr(reader.head, "sha256", file.sha256),
        notes=(*getattr(reader.head, "left_out", ()), *getattr(reader.head, "notes", ())),
        pieces=None if reader.units is None else partial(_unit_pieces, reader.units),
    )  # fmt: skip


def _part(reader: RecordReader, survey: RecordSurvey, data: bytes, number: int) -> Batch:
    """The content of one part."""
    form, path, begin, end = reader.form, survey.path, survey.cuts[number], survey.cuts[number + 1]
    reader = replace(reader, number=begin.sentence)
    if reader.units is not None:
        if hasattr(reader.head, "reopened"):  # as another process may be reading it
            reader = replace(reader, head=reader.head.reopened())
        part = Part(path, items=json.loads(data))
    elif form.no_list:
        part = Part(path, begin.sentence + 1, items=items_of(data))
    else:
        part = Part(path, begin.line, data, before=survey.before[number], words=Interner())
    batch = reader.batch(part)
    assert batch is not None
    if reader.units is None:
        return batch
    own = slice(begin.line, begin.line + end.sentence - begin.sentence)
    mentions = {name: layer.within(own, len(batch.corpus)) for name, layer in batch.mentions.items()}
    return Batch(batch.corpus.take(own), mentions=mentions)


def _unit_pieces(units: Sequence[Any], survey: RecordSurvey) -> Iterator[bytes]:
    """The documents of each part; the last one may continue in the next part."""
    for begin, end in pairwise(survey.cuts):
        yield json.dumps(units[begin.byte : end.byte + (end.line > 0)]).encode("utf-8")


def problems(form: Format, file: File, options: Options) -> list[Problem]:
    """Every record that cannot be read, and every impossible tag."""
    reader, listed = RecordReader.of(form, file, options), list[Problem]()
    tags: list[list[str]] = []
    lines: list[Sequence[int | None]] = []
    before = Before()
    for part in reader.parts(file, Interner()):
        for record in reader.found(replace(part, before=before)):
            if isinstance(record, Problem):
                listed.append(replace(record, text=record.text.replace("\n", " ")))
                continue
            before = record.after if isinstance(record, Batch) else Before(record.document)
            for sentence, own in _tagged(record):
                troubles = [malformed(spelled(tag, options.spelling)) for tag in sentence]
                listed += [Problem(line, text) for line, text in zip(own, troubles, strict=True) if text]
                tags.append(["O" if wrong else tag for tag, wrong in zip(sentence, troubles, strict=True)])
                lines.append(own)
            if not isinstance(record, Batch) and record.tags is None:
                listed += reader.checked(record)
    listed += impossible_tags(Tags.of(tags), options, lambda sentence, token: lines[sentence][token])
    return sorted(listed, key=lambda problem: problem.line or 0)


def _tagged(record: Record | Batch) -> Iterator[tuple[Sequence[str], Sequence[int | None]]]:
    """The tags of each sentence, and their lines."""
    if isinstance(record, Record):
        if record.tags is not None:
            yield record.tags, record.lines or [record.line] * len(record.tags)
        return
    for tags in record.tags.values():
        at = record.corpus.source.token_lines
        assert at is not None
        for sentence, (begin, end) in zip(tags.lists(), pairwise(tags.sentences.tolist()), strict=True):
            yield sentence, at[begin:end].tolist()
