"""Annotations of sentences and texts whose mentions may be nested, crossing or discontinuous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from spanwise.corpus import Annotation, Pieces
from spanwise.formats import read


class Unit(NamedTuple):
    """A sentence (a list of tokens) or a text (a string) with its mentions and its document."""

    body: Sequence[str] | str
    mentions: Sequence[tuple[Pieces, str]] = ()
    document: str | None = None


def annotated(*units: Unit) -> Annotation:
    """The annotation of sentences or texts; a text whose document has no name is named by its number."""
    records: list[dict[str, object]] = []
    for number, (body, mentions, document) in enumerate(units, start=1):
        spans = [
            {"start": pieces[0][0], "end": pieces[-1][1], "label": label, "parts": pieces[len(pieces) == 1 :]}
            for pieces, label in mentions
        ]
        if isinstance(body, str):
            name = document or str(number)
            records.append({"text": body, "spans": spans, "id": name, "document": name})
        else:
            named = {} if document is None else {"document": document}
            records.append({"tokens": body, "spans": spans, **named})
    return read(records)
