"""A sentence cut into plain and marked pieces, for pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Piece = tuple[str, str]  # text, and the label of the mention it is, "" outside


def marked(text: Sequence[str], mentions: Sequence[Mapping[str, Any]]) -> list[Piece]:
    """Pieces of tokens, or of one text by characters; of overlapping mentions the first and longest is shown.

    Examples:
        >>> marked(["in", "New", "York"], [{"start": 1, "end": 3, "label": "LOC"}])
        [('in', ''), ('New York', 'LOC')]
    """
    by_characters = len(text) == 1 and any(one["end"] > 1 for one in mentions)
    units: Sequence[str] = text[0] if by_characters else text
    join = "" if by_characters else " "
    pieces: list[Piece] = []
    at = 0
    for one in sorted(mentions, key=lambda one: (one["start"], -one["end"], one["label"])):
        if one["start"] < at:
            continue
        if one["start"] > at:
            pieces.append((join.join(units[at : one["start"]]), ""))
        pieces.append((join.join(units[one["start"] : one["end"]]), one["label"]))
        at = one["end"]
    if at < len(units):
        pieces.append((join.join(units[at:]), ""))
    return pieces
