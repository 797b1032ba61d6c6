"""Formats given as records: whole files, parts, and lists of problems all derive from one function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import ints
from spanwise.corpus import Annotation
from spanwise.errors import InputError, at, many
from spanwise.formats._columns import check_utf8
from spanwise.formats._format import (
    CutSource,
    Cutting,
    Format,
    Options,
    Problem,
    impossible_tags,
    problem_at,
)
from spanwise.formats._opening import File
from spanwise.formats._sentences import Origin, Part, Record, annotation, check_inside, json_of, tagged_corpus
from spanwise.formats._surveying import (
    Batch,
    Before,
    after_blank_line,
    notes_on,
    survey_lines,
    whole_pieces,
)
from spanwise.schemes import Tags, malformed, spelled


def content(records: Sequence[Record], origin: Origin, options: Options) -> Batch:
    """The corpus of some records, with their tags or mentions and the lines at which they begin."""
    last = records[-1].document
    begins = ints([record.line or 0 for record in records])
    if any(record.tags is not None for record in records):
        corpus, tags = tagged_corpus(records, origin.path, options)
        return Batch(corpus, begins, tags={"only": tags}, after=Before(last))
    batch = Batch.of(annotation(records, origin, options), begins)
    return replace(batch, after=Before(last), goes_on=records[0].document is not None)


def total(records: Iterable[Record]) -> dict[str, int]:
    """How many things of each kind the records leave out."""
    counts: dict[str, int] = {}
    for record in records:
        for kind, number in record.left_out.items():
            counts[kind] = counts.get(kind, 0) + number
    return counts


class RecordReader(Struct):
    """Reads a file of records: all of it, or some lines or items at a time."""

    form: Format
    path: str
    evidence: str
    options: Options

    @classmethod
    def of(cls, form: Format, file: File, options: Options) -> RecordReader:
        """The reader of a file, with the evidence by which the file is recognised."""
        return cls(form, file.path, form.evidence or form.recognise(file) or form.summary, options)

    @property
    def kinds(self) -> dict[str, str]:
        """The evidence of the only layer."""
        return {"only": self.evidence}

    def check(self) -> None:
        """Do nothing: records are independent of each other."""

    def border(self, data: bytes) -> int:
        """The number of leading bytes that are complete records."""
        return after_blank_line(data) if self.form.border is None else self.form.border(data)

    def found(self, part: Part) -> Iterator[Record | Problem]:
        """The records of a part, each checked by itself."""
        assert self.form.records is not None
        for record in self.form.records(part, self.options):
            yield record if isinstance(record, Problem) else self._checked(record)

    def records(self, part: Part) -> list[Record]:
        """The records of a part; raises InputError for the first problem."""
        return list(map(self._sound, self.found(part)))

    def _sound(self, record: Record | Problem) -> Record:
        if isinstance(record, Problem):
            raise InputError(at(self.path, record.line, record.text))
        return record

    def _checked(self, record: Record) -> Record | Problem:
        if record.tags is not None and len(record.tags) != len(record.body):
            tags, tokens = many(len(record.tags), "tag"), many(len(record.body), "token")
            return Problem(record.line, f"there are {tags}, but {tokens}.\nGive one tag for each token.")
        return record

    def read(self, file: File, options: Options, before: Before) -> Batch | None:
        """The content of some lines, for surveys."""
        records = self.records(Part(file.path, file.first_line, file.text, document=before.document))
        if any(record.line is None for record in records):
            raise InputError("records without lines are read whole")
        if not records:
            return None
        batch = content(records, Origin(self.path, self.form.name), options)
        return replace(batch, left_out=total(records))

    def batch(self, items: Sequence[object], first: int) -> Batch:
        """The content of some items of a list."""
        records = self.records(Part(self.path, first, items=items))
        batch = content(records, Origin(self.path, self.form.name), self.options)
        return replace(batch, left_out=total(records))

    def parts(self, file: File) -> Iterator[Part]:
        """The whole file, some lines at a time, or the list that it holds."""
        if self.form.no_list:
            items = json_of(file)
            if not isinstance(items, list):
                raise InputError(at(file.path, 1, self.form.no_list))
            yield Part(file.path, items=items)
            return
        line = 1
        for chunk in whole_pieces(file, self.border):
            check_utf8(file, chunk, line)
            yield Part(file.path, line, chunk.decode("utf-8"))
            line += chunk.count(b"\n")


def read(form: Format, file: File, options: Options) -> Annotation:
    """The annotation of a whole file."""
    reader = RecordReader.of(form, file, options)
    records: list[Record] = []
    for part in reader.parts(file):
        records += reader.records(replace(part, document=records[-1].document if records else None))
    notes = notes_on(total(records))
    return annotation(records, Origin(file.path, form.name, reader.evidence, file.sha256, notes), options)


def survey(form: Format, file: File, options: Options, cutting: Cutting) -> CutSource | None:
    """Scan a file and decide where to cut it."""
    if cutting.merged:
        return None
    if form.no_list:
        from spanwise.formats._json_surveys import survey_items

        reader = RecordReader.of(form, file, options)
        return survey_items(form.name, lambda: reader, file, options, cutting)
    opened = RecordReader.of
    return survey_lines(form.name, partial(opened, form), file, options, cutting)


def problems(form: Format, file: File, options: Options) -> list[Problem]:
    """Every record that cannot be read, and every impossible tag."""
    reader = RecordReader.of(form, file, options)
    origin, listed = Origin(file.path, form.name), list[Problem]()
    tags: list[list[str]] = []
    lines: list[Sequence[int | None]] = []
    document, number = None, 0
    for part in reader.parts(file):
        for record in reader.found(replace(part, document=document)):
            if isinstance(record, Problem):
                listed.append(replace(record, text=record.text.replace("\n", " ")))
                continue
            document, number = record.document, number + 1
            if record.tags is None:
                try:
                    check_inside([record], origin, number - 1)
                    annotation([record], origin, options)
                except InputError as error:
                    listed.append(problem_at(file.path, record.line, str(error)))
                continue
            lines.append(record.lines or [record.line] * len(record.tags))
            troubles = [malformed(spelled(tag, options.spelling)) for tag in record.tags]
            listed += [Problem(line, text) for line, text in zip(lines[-1], troubles, strict=True) if text]
            tags.append(["O" if wrong else tag for tag, wrong in zip(record.tags, troubles, strict=True)])
    listed += impossible_tags(Tags.of(tags), options, lambda sentence, token: lines[sentence][token])
    return sorted(listed, key=lambda problem: problem.line or 0)
