"""Sentences cut into plain and marked pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from spanwise.views.cells import QuotePiece


class LabeledSpan(Protocol):
    """Anything with positions and a label."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def label(self) -> str: ...


def marked(text: Sequence[str], mentions: Sequence[LabeledSpan]) -> tuple[QuotePiece, ...]:
    """Cut tokens, or the characters of a single text, into pieces inside and outside mentions.

    Of overlapping mentions, the first and longest is shown.

    Examples:
        >>> from spanwise.document.dataset import SuspectMention
        >>> pieces = marked(["in", "New", "York"], [SuspectMention(start=1, end=3, label="LOC")])
        >>> [(piece.text, piece.label) for piece in pieces]
        [('in ', ''), ('New York ', 'LOC')]
    """
    by_characters = len(text) == 1 and any(mention.end > 1 for mention in mentions)
    units: Sequence[str] = text[0] if by_characters else text
    join = "" if by_characters else " "
    pieces: list[QuotePiece] = []
    position = 0

    def add(end: int, state: str = "", label: str = "") -> None:
        pieces.append(QuotePiece(join.join(units[position:end]) + join, state, label))

    for mention in sorted(mentions, key=lambda mention: (mention.start, -mention.end, mention.label)):
        if mention.start < position:
            continue
        if mention.start > position:
            add(mention.start)
            position = mention.start
        add(mention.end, "mention", mention.label)
        position = mention.end
    if position < len(units):
        add(len(units))
    return tuple(pieces)
