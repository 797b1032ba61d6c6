"""Survey a whole table on disk in one pass: where to cut it, and how to read one of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from spanwise.columns import ints
from spanwise.errors import InputError
from spanwise.formats import tables
from spanwise.formats._format import Cutting, Options
from spanwise.formats._opening import File, sha256_of
from spanwise.formats._records import batch_of
from spanwise.formats._sentences import Origin, Record
from spanwise.formats._surveying import Batch, RecordSurvey, Surveyor, must_be_whole

ROWS = 1 << 13  # the largest number of rows to process at a time

Columns = dict[str, list[object]]


def survey_table(file: File, options: Options, cutting: Cutting) -> RecordSurvey | None:
    """Survey a table; None if it must be read whole, because of its options or because it has errors."""
    if cutting.merged or must_be_whole(options):
        return None
    surveyor, row = Surveyor(file.path, options), 0
    try:
        for names, columns, size in _whole_sentences(file.path, options):
            units = tables.table_units(columns, file.path, options, names)
            batch = _batch(units, file.path, options)
            by_token = size != len(units)
            begins = batch.corpus.sentences[:-1] if by_token else np.arange(size)
            if not surveyor.take(batch, ints(np.zeros(len(units))), ints(begins + row)):
                return None
            row += size
    except InputError:
        return None  # reading the table whole reports the error
    kinds, end = {"only": tables.EVIDENCE}, (0, row)
    digest = sha256_of(file.path)
    survey = surveyor.survey(
        "arrow", cutting, kinds, _table_part, end=end, sha256=digest, pieces=_table_pieces
    )
    no_empty_part = survey is not None and np.diff([cut.token for cut in survey.cuts]).all()
    return survey if no_empty_part else None


def _whole_sentences(path: str, options: Options) -> Iterator[tuple[Sequence[str] | None, Columns, int]]:
    """The class names, columns and number of some rows at a time.

    If rows are tokens, an incomplete sentence is carried over to the next batch.
    """
    carried: Columns = {}
    names: Sequence[str] | None = None
    for data in tables.stored_batches(path, options.limits, ROWS):
        names, columns = tables.batch_of(data, path)
        joined = {name: carried.get(name, []) + column for name, column in columns.items()}
        whole = tables.whole_rows(joined, options, path)
        if whole:
            yield names, {name: column[:whole] for name, column in joined.items()}, whole
        carried = {name: column[whole:] for name, column in joined.items()}
    if remaining := len(next(iter(carried.values()), [])):
        yield names, carried, remaining


def _table_pieces(survey: RecordSurvey) -> Iterator[bytes]:
    """The rows of each part, decoded in order by a single subprocess."""
    sizes = [after.byte - before.byte for before, after in pairwise(survey.cuts)]
    return tables.stored_batches(survey.path, survey.options.limits, ROWS, sizes)


def _table_part(survey: RecordSurvey, data: bytes, number: int) -> Batch:
    """The content of the rows of one part."""
    names, columns = tables.batch_of(data, survey.path)
    units = tables.table_units(columns, survey.path, survey.options, names)
    return _batch(units, survey.path, survey.options)


def _batch(units: Sequence[Record], path: str, options: Options) -> Batch:
    batch = batch_of(units, Origin(path, "arrow"), options)
    if batch.tags:
        return replace(batch, tags={"only": batch.tags["gold"]})
    mentions = batch.mentions["gold"].sole(duplicates=options.duplicates, place=lambda _: path)
    return replace(batch, mentions={"only": mentions})
