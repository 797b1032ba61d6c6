"""Survey a whole table on disk in one pass: where to cut it, and how to read one of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from spanwise.columns import Ints, ints
from spanwise.corpus import Annotation, Reading
from spanwise.errors import InputError
from spanwise.formats import tables
from spanwise.formats._format import Cutting, Options
from spanwise.formats._opening import File, sha256_of
from spanwise.formats._sentences import TaggedSentence
from spanwise.formats._surveying import RecordLayer, RecordSurvey, cuts_of, must_be_whole
from spanwise.schemes import Recognised, Tags, recognise_situations, situations

ROWS = 1 << 13  # the largest number of rows to process at a time

Columns = dict[str, list[object]]


def survey_table(file: File, options: Options, cutting: Cutting) -> RecordSurvey | None:
    """Survey a table; None if it must be read whole, because of its options or because it has errors."""
    if cutting.merged or must_be_whole(options):
        return None
    surveyor = _TableSurveyor(file.path, options)
    try:
        if not surveyor.read_parts():
            return None
        return surveyor.survey(sha256_of(file.path), cutting)
    except InputError:
        return None  # reading the table whole reports the error


class _TableSurveyor:
    """A single pass over a table that collects counts and positions."""

    def __init__(self, path: str, options: Options) -> None:
        self._path, self._options = path, options
        self._names: Sequence[str] | None = None
        self._situations: Ints | None = None
        self._labels: set[str] = set()
        self._rows: list[Ints] = []
        self._sizes: list[Ints] = []
        self._starts: list[int] = []
        self._last: str | None = None  # the document of the last sentence
        self._has_ids = self._has_documents = False
        self._number = self._row = 0

    def read_parts(self) -> bool:
        """Read the table, some rows at a time; False if it cannot be read in parts.

        If rows are tokens, an incomplete sentence is carried over to the next batch.
        """
        carried: Columns = {}
        for data in tables.stored_batches(self._path, self._options.limits, ROWS):
            self._names, columns = tables.batch_of(data, self._path)
            joined = {name: carried.get(name, []) + column for name, column in columns.items()}
            whole = tables.whole_rows(joined, self._options, self._path)
            if whole is None:
                return False
            self._take({name: column[:whole] for name, column in joined.items()}, whole)
            carried = {name: column[whole:] for name, column in joined.items()}
        remaining = len(next(iter(carried.values()), []))
        self._take(carried, remaining)
        return True

    def _take(self, columns: Columns, rows: int) -> None:
        if not rows:
            return
        units = tables.table_units(columns, self._path, self._options, self._names)
        part = tables.units_annotation(units, Reading(self._path, format="arrow"), self._options)
        self._options.limits.check(part)
        tagged = [unit for unit in units if isinstance(unit, TaggedSentence)]
        if tagged:
            counts = situations(Tags.of([unit.tags for unit in tagged]))
            self._situations = counts if self._situations is None else ints(self._situations + counts)
        corpus, number = part.corpus, len(units)
        self._labels |= {*part.mentions.labels}
        self._sizes.append(corpus.lengths)
        by_token = number and rows != number
        begins = corpus.sentences[:-1] if by_token else np.arange(number)
        self._rows.append(ints(begins + self._row))
        self._has_ids |= corpus.ids is not None
        if corpus.documents is not None:
            self._has_documents = True
            starts = (corpus.documents[:-1] + self._number).tolist()
            first = units[0].document
            goes_on = self._number > 0 and first is not None and first == self._last
            self._starts += starts[1:] if goes_on else starts
        self._last = units[-1].document
        self._number += number
        self._row += rows

    def survey(self, sha256: str, cutting: Cutting) -> RecordSurvey | None:
        """The survey of the table; None if a part would be empty or contain an error."""
        if not self._number or len(self._labels) > self._options.limits.labels:
            return None
        recognised = self._recognised()
        scheme = None if recognised is None else self._options.scheme or recognised.scheme
        if scheme and recognised and self._options.repair == "none" and recognised.impossible.get(scheme, 1):
            return None
        starts = ints(self._starts) if self._has_documents else None
        no_lines = [ints(np.zeros(len(rows))) for rows in self._rows]
        cuts = cuts_of(cutting, starts, self._sizes, no_lines, self._rows, (0, self._row))
        if not np.diff([cut.token for cut in cuts]).all():
            return None
        return RecordSurvey(
            path=self._path,
            sha256=sha256,
            format="arrow",
            options=self._options,
            layers={"only": RecordLayer(tables.EVIDENCE, recognised)},
            has_ids=self._has_ids,
            cuts=cuts,
            documents=None if starts is None else ints([*starts, self._number]),
            part=_table_part,
            labels={"only": tuple(self._labels)},
            pieces=_table_pieces,
        )

    def _recognised(self) -> Recognised | None:
        if self._situations is None:
            return None
        return recognise_situations(self._situations, prefer=self._options.prefer)


def _table_pieces(survey: RecordSurvey) -> Iterator[bytes]:
    """The rows of each part, decoded in order by a single subprocess."""
    sizes = [after.byte - before.byte for before, after in pairwise(survey.cuts)]
    return tables.stored_batches(survey.path, survey.options.limits, ROWS, sizes)


def _table_part(survey: RecordSurvey, data: bytes, number: int) -> dict[str, Annotation]:
    """The annotation of the rows of one part."""
    chosen, layer = survey.options, survey.layers["only"]
    if layer.recognised is not None:
        chosen = replace(chosen, scheme=chosen.scheme or layer.recognised.scheme)
    names, joined = tables.batch_of(data, survey.path)
    reading = Reading(survey.path, format="arrow", evidence=layer.kind)
    part = chosen.finished(tables.table_annotation(joined, reading, chosen, names=names))
    corpus = part.corpus
    if survey.has_ids and corpus.ids is None:  # but those of other parts have ids
        ids = ("",) * len(corpus)
        named = corpus.documents is None or corpus.document_ids is not None
        corpus = replace(corpus, ids=ids, document_ids=corpus.document_ids if named else ids)
    return {"only": replace(part, corpus=corpus)}
