"""The screen of suspects: what is worth a second look, and what it would change."""

from __future__ import annotations

from spanwise.document.dataset import Suspect, SuspectMention, Suspects
from spanwise.reports import _wording as say
from spanwise.reports.terminal._frame import banner
from spanwise.reports.terminal._layout import (
    Cell,
    Column,
    Line,
    and_more,
    flow,
    grid,
    heading,
    sentence,
    text,
)

KINDS = {
    "label": "another label",
    "boundary": "another span",
    "missing": "a mention that gold has not",
    "spurious": "no mention at all",
}
_MOST = 15


def lines(document: Suspects, width: int) -> list[Line]:
    """All sections, the summary first."""
    return [
        *banner(document, None),
        *_summary(document, width),
        *_listed(document, width),
        *_effects(document, width),
    ]


def _summary(document: Suspects, width: int) -> list[Line]:
    voters = f"{say.plural(len(document.voters), 'voter')}: {', '.join(document.voters)}"
    parts = [
        text(say.plural(document.found, "suspect"), "strong"),
        text(voters if document.voters else "no voters"),
    ]
    result = flow(parts, width)
    for note in document.notes:
        first, *rest = sentence(note, width, indent=3)
        result += [[(" ! ", "warn"), *first[1:]], *rest]
    words = (
        "A suspect is worth a second look; it is not an error. Systems can be wrong together, and the same "
        "words can be read in two ways."
    )
    result += [[], *sentence(words, width, style="faint")]
    rows: list[list[Cell]] = [
        [text(f"evidence for {KINDS[kind]}"), say.count(number)]
        for kind, number in document.kinds.items()
        if number
    ]
    return [*result, *heading("Kinds", "", width), *grid([Column(), Column(right=True)], rows, width)]


def _listed(document: Suspects, width: int) -> list[Line]:
    if not document.suspects:
        return []
    result = heading("Suspects", "score 0 to 1; suspects of one rank are tied", width)
    for one in document.suspects[:_MOST]:
        shared = f" (shared by {one.tied:,})" if one.tied > 1 else ""
        head = [
            text(f"rank {one.rank:,}{shared}", "strong"),
            text(f"{one.score:.2f}", "score"),
            text(one.kind, "mark"),
            text(one.source, "faint"),
        ]
        result += [*flow(head, width, indent=2), _drawn(one)]
        result += sentence("; ".join(one.evidence.words), width, indent=4, style="faint")
        result.append([])
    return [*result[:-1], *and_more(len(document.suspects) - _MOST, width, "suspects")]


def _drawn(one: Suspect) -> Line:
    """The words around the mention, gold in square brackets, the proposal in braces."""
    if not one.tokens:
        return [("    ", ""), *_named("gold", one.gold), (" → ", "faint"), *_named("proposal", one.proposal)]
    spans = [mention for mention in (one.gold, one.proposal) if mention is not None]
    # Where positions are characters, a suspect holds its text as one string.
    by_characters = len(one.tokens) == 1 and any(mention.end > 1 for mention in spans)
    units, around, join = (one.tokens[0], 30, "") if by_characters else (one.tokens, 5, " ")
    first = max(min(mention.start for mention in spans) - around, 0)
    last = min(max(mention.end for mention in spans) + around, len(units))
    line: Line = [("    " + ("… " if first else ""), "")]
    for at in range(first, last):
        for mention, mark in ((one.proposal, "{"), (one.gold, "[")):
            if mention is not None and mention.start == at:
                line.append((mark, "mark" if mark == "[" else "score"))
        inside = any(mention.start <= at < mention.end for mention in spans)
        line += text(units[at], "strong" if inside else "")
        for mention, mark in ((one.gold, "]"), (one.proposal, "}")):
            if mention is not None and mention.end == at + 1:
                line += text(f"{mark}{mention.label}", "mark" if mark == "]" else "score")
        line.append((join, ""))
    return [*line, ("…", "")] if last < len(units) else line


def _named(what: str, mention: SuspectMention | None) -> Line:
    if mention is None:
        return text(f"{what}: none")
    return text(f"{what}: {mention.label} [{mention.start}, {mention.end})")


def _effects(document: Suspects, width: int) -> list[Line]:
    if not document.effects:
        return []
    steps = [one.k for one in max(document.effects.values(), key=len)]
    rows: list[list[Cell]] = []
    for name, effect in document.effects.items():
        by_step = {one.k: one.f1 for one in effect}
        rows.append([text(name), *(say.points(by_step[step]) if step in by_step else "" for step in steps)])
    columns = [Column(), *(Column(f"first {step:,}" if step else "now", right=True) for step in steps)]
    note = "each system without its own vote"
    return [*heading("F1 if the first proposals were accepted", note, width), *grid(columns, rows, width)]
