"""Check whole files of tuples, and convert them to another format."""

from __future__ import annotations

import os
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct

from spanwise.document.dataset import TupleTypeFacts
from spanwise.errors import ChoiceError, many
from spanwise.formats import File
from spanwise.labels import LabelRules
from spanwise.relations.corpus import MENTION, TRIGGER, VALUE, side_of
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


def check_tuples(
    path: str | os.PathLike[str], *, format: str | None = None, encoding: str | None = None, **options: Any
) -> CheckedTuples:
    """The records of a file, after all checks that do not need gold.

    Args:
        path: a file, or a folder if the format has folders.
        format: the name of its format; by default it is recognised.
        encoding: the encoding of its text; by default UTF-8.
        options: what the format needs in addition, such as `column`.

    Raises:
        InputError: the file cannot be read, or its tuples contradict its mentions.
    """
    file = File(path, encoding=encoding)
    form = TUPLE_FORMATS.find(format) if format is not None else tuple_format_of(file)
    evidence = "as named" if format is not None else form.recognise(file) or ""
    records = list(read_records(file, format=form, **options))
    side_of([one for one in records if one.mentions is not None], file.path)
    return CheckedTuples(file.path, form.name, evidence, records)


def tuple_facts(file: File, rules: LabelRules) -> dict[str, TupleTypeFacts]:
    """How many tuples of each type a file has, and what fills their roles; records are taken some at a time.

    Raises:
        InputError: the file cannot be read, or its tuples contradict its mentions.
    """
    types: Counter[str] = Counter()
    filled: dict[str, dict[str, Counter[str]]] = {}
    records = read_records(file)
    while batch := [*islice(records, 2000)]:
        side = side_of(batch, file.path, rules=rules)
        names, roles, labels = list(side.names.types), list(side.names.roles), list(side.names.labels)
        types.update(names[number] for number in side.type.tolist())
        owner = np.repeat(side.type, np.diff(side.at)).tolist()
        first = side.alternative[side.alternatives[:-1]].tolist()
        for own, role, kind, one in zip(owner, side.role.tolist(), side.kind.tolist(), first, strict=True):
            what = labels[side.label[one]] if kind == MENTION else "value" if kind == VALUE else "link"
            by_role = filled.setdefault(names[own], {})
            by_role.setdefault(TRIGGER if role == 0 else roles[role], Counter())[what] += 1
    return {
        name: TupleTypeFacts(
            tuples=number,
            roles={role: dict(times.most_common()) for role, times in filled[name].items()},
        )
        for name, number in types.most_common()
    }


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
