"""A sentence cut into plain and marked pieces, for pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

Piece: TypeAlias = tuple[str, str]  # text, and the label of the mention it is, "" outside


class LabeledSpan(Protocol):
    """A mention by its positions and its label."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def label(self) -> str: ...


def marked(text: Sequence[str], mentions: Sequence[LabeledSpan]) -> list[Piece]:
    """Pieces of tokens, or of one text by characters; of overlapping mentions the first and longest is shown.

    Examples:
        >>> from spanwise.document.dataset import SuspectMention
        >>> marked(["in", "New", "York"], [SuspectMention(start=1, end=3, label="LOC")])
        [('in', ''), ('New York', 'LOC')]
    """
    by_characters = len(text) == 1 and any(mention.end > 1 for mention in mentions)
    units: Sequence[str] = text[0] if by_characters else text
    join = "" if by_characters else " "
    pieces: list[Piece] = []
    at = 0
    for mention in sorted(mentions, key=lambda mention: (mention.start, -mention.end, mention.label)):
        if mention.start < at:
            continue
        if mention.start > at:
            pieces.append((join.join(units[at : mention.start]), ""))
        pieces.append((join.join(units[mention.start : mention.end]), mention.label))
        at = mention.end
    if at < len(units):
        pieces.append((join.join(units[at:]), ""))
    return pieces
