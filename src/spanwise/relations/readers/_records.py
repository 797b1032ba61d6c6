"""Parts of records that readers share, and errors for JSON of the wrong structure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from spanwise.corpus import Pieces
from spanwise.errors import InputError, at
from spanwise.relations.records import FillerRecord, MentionRecord, TupleRecord

Given: TypeAlias = Mapping[str, Any]  # a parsed JSON object of another program; checked where it is used
Options: TypeAlias = Mapping[str, Any]  # the keywords that the user gave for reading


def mention(name: str, pieces: Pieces, label: str) -> MentionRecord:
    """A mention of one or several pieces."""
    parts = [*pieces] if len(pieces) > 1 else None
    return MentionRecord(id=name, start=pieces[0][0], end=pieces[-1][1], label=label, parts=parts)


def relation(type: str, head: str | FillerRecord, tail: str | FillerRecord) -> TupleRecord:
    """A relation between two fillers."""
    return TupleRecord(type=type, roles={"head": head, "tail": tail})


def attribute(type: str, of: str, value: str) -> TupleRecord:
    """An attribute of a mention with its value."""
    return TupleRecord(type=type, roles={"mention": of, "value": FillerRecord(value=value)})


def link(of: str, identifiers: Sequence[str]) -> TupleRecord:
    """A link from a mention to an identifier, or to any of several."""
    return TupleRecord(type="link", roles={"mention": of, "link": FillerRecord(link=[*identifiers])})


def entity(names: Sequence[str]) -> str | FillerRecord:
    """The filler for an entity: the name of its mention, or any of several."""
    return names[0] if len(names) == 1 else FillerRecord(any=[*names])


@contextmanager
def structure(path: str, where: str, expected: str, line: int | None = None) -> Iterator[None]:
    """In this context, report a wrong structure of parsed JSON as an error of its place."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(at(path, line, f"{where} cannot be read: {what}.\nExpected {expected}.")) from None


def within(names: Sequence[str], index: object, what: str) -> str:
    """The name with this index; raises ValueError if there is none, also for negative numbers."""
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(names):
        raise ValueError(f"there is no {what} {index!r}")
    return names[index]
