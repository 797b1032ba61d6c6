"""Check whole files of tuples, and convert them to another format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec import Struct

from spanwise.errors import ChoiceError, many
from spanwise.formats import File
from spanwise.relations.corpus import side_of
from spanwise.relations.records import TUPLE_FORMATS, UnitRecord, read_records, tuple_format_of, write_records


class CheckedTuples(Struct, frozen=True, eq=False):
    """The records of a file without errors, and how they were read."""

    path: str
    format: str
    evidence: str
    records: list[UnitRecord]

    def summary(self) -> str:
        """The format, and how much the file holds."""
        mentions = sum(len(one.mentions or ()) for one in self.records)
        tuples = sum(len(one.tuples) for one in self.records)
        sizes = (many(len(self.records), "unit"), many(mentions, "mention"), many(tuples, "tuple"))
        return f"{self.format} ({self.evidence}): {', '.join(sizes)}"


def check_tuples(path: str | os.PathLike[str], *, format: str | None = None, **options: Any) -> CheckedTuples:
    """The records of a file, after all checks that do not need gold.

    Args:
        path: a file, or a folder if the format has folders.
        format: the name of its format; by default it is recognised.
        options: what the format needs in addition, such as `column`.

    Raises:
        InputError: the file cannot be read, or its tuples contradict its mentions.
    """
    file = File(path)
    form = TUPLE_FORMATS.find(format) if format is not None else tuple_format_of(file)
    evidence = "as named" if format is not None else form.recognise(file) or ""
    records = list(read_records(file, format=form, **options))
    side_of([one for one in records if one.mentions is not None], file.path)
    return CheckedTuples(file.path, form.name, evidence, records)


def convert_tuples(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    format: str | None = None,
    to: str | None = None,
    **options: Any,
) -> CheckedTuples:
    """Write the tuples of a file to a `.jsonl` file, or to a brat folder, whose name has no suffix.

    Raises:
        ChoiceError: the suffix names no format, or source and target are the same.
        InputError: the source cannot be read, or the format has no place for a tuple.
    """
    suffix = Path(target).suffix
    chosen = to or {".jsonl": "jsonl", ".gz": "jsonl", "": "brat"}.get(suffix)
    if chosen is None:
        raise ChoiceError(
            f"the suffix of {os.fspath(target)!r} does not name a format for tuples.\n"
            "Write a .jsonl file, or a folder for brat."
        )
    checked = check_tuples(source, format=format, **options)
    write_records(checked.records, target, format=chosen)
    return checked
