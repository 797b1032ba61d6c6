"""The view of suspects: the kinds of evidence, each place with both readings, and effects on scores."""

from __future__ import annotations

from collections.abc import Iterator

from spanwise.document.dataset import Suspect, SuspectMention, Suspects
from spanwise.views import PAGE, PAPER, SCREEN, SHOWN, Section, View, cells, wording
from spanwise.views.cells import Cell, Column, Flow, Grid, MarkedText, Paragraphs, Phrase, Quote, QuotePiece
from spanwise.views.quotes import marked

KINDS = {
    "label": "another label",
    "boundary": "another span",
    "missing": "a mention missing in gold",
    "spurious": "not a mention at all",
}
ABOUT = (
    "A suspect is worth a second look; it is not an error. Systems can be wrong together, and the same "
    "words can be read in two ways."
)
MOST = 15  # on a screen


def suspects_view(document: Suspects) -> View:
    """How many suspects there are and of which kinds, the suspects themselves, and what they may change."""
    voters = wording.plural(len(document.voters), "voter")
    named = f"{voters}: {', '.join(document.voters)}" if document.voters else "no voters"
    return View(
        title="suspects",
        about=cells.literal(named),
        verdict=cells.literal(
            f"{wording.plural(document.found, 'place')} of the gold data worth a second look."
        ),
        statements=(cells.literal(ABOUT),),
        sections=(
            Section("about", cells.words(""), (cells.note(ABOUT, "faint"),), on=SCREEN),
            *_kinds(document),
            *_listed(document),
            *_effects(document),
            *_quoted(document),
            _of_all(document),
        ),
        notes=document.notes,
        facts=(Phrase(wording.plural(document.found, "suspect"), "strong"), Phrase(named)),
    )


def _kinds(document: Suspects) -> Iterator[Section]:
    rows: list[list[Cell]] = [
        [f"evidence for {KINDS.get(kind) or wording.visible(kind)}", cells.count(number)]
        for kind, number in document.kinds.items()
        if number
    ]
    if rows:
        table = Grid([Column(), Column(right=True)], rows)
        yield Section("kinds", cells.words("Kinds"), (table,), on=SHOWN)


def _listed(document: Suspects) -> Iterator[Section]:
    """The first suspects in one line each."""
    note = "score 0 to 1; suspects of one rank are tied"
    for at, suspect in enumerate(document.suspects[:MOST]):
        blocks = (
            Flow([[part] for part in _head(suspect)]),
            Flow([_drawn(suspect)], indent=4),
            cells.note("; ".join(suspect.evidence.words), "faint", indent=4),
        )
        left = len(document.suspects) - MOST if at == MOST - 1 else 0
        title = "" if at else "Suspects"
        yield Section(
            f"suspect-{at}", cells.words(title), (*blocks, *cells.more(left, "suspects")), note, on=SCREEN
        )


def _head(suspect: Suspect) -> tuple[Phrase, ...]:
    shared = f" (shared by {suspect.tied:,})" if suspect.tied > 1 else ""
    return (
        Phrase(f"rank {suspect.rank:,}{shared}", "strong"), Phrase(f"{suspect.score:.2f}", "score"),
        Phrase(suspect.kind, "mark"), Phrase(suspect.source, "faint"),
    )  # fmt: skip


def _drawn(suspect: Suspect) -> list[Phrase]:
    """The words around the mention, with gold in square brackets and the proposal in braces."""
    if not suspect.tokens:
        gold, proposal = (_position(side) or "none" for side in (suspect.gold, suspect.proposal))
        return [Phrase(f"gold: {gold}"), Phrase(" → ", "faint"), Phrase(f"proposal: {proposal}")]
    spans = [mention for mention in (suspect.gold, suspect.proposal) if mention is not None]
    # If positions are characters, the suspect's text is a single string.
    by_characters = len(suspect.tokens) == 1 and any(mention.end > 1 for mention in spans)
    units, around, join = (suspect.tokens[0], 30, "") if by_characters else (suspect.tokens, 5, " ")
    first = max(min(mention.start for mention in spans) - around, 0)
    last = min(max(mention.end for mention in spans) + around, len(units))
    line = [Phrase("… ")] if first else []
    for index in range(first, last):
        for mention, mark in ((suspect.proposal, "{"), (suspect.gold, "[")):
            if mention is not None and mention.start == index:
                line.append(Phrase(mark, "mark" if mark == "[" else "score"))
        inside = any(mention.start <= index < mention.end for mention in spans)
        line.append(Phrase(units[index], "strong" if inside else ""))
        for mention, mark in ((suspect.gold, "]"), (suspect.proposal, "}")):
            if mention is not None and mention.end == index + 1:
                line.append(Phrase(f"{mark}{mention.label}", "mark" if mark == "]" else "score"))
        line.append(Phrase(join))
    return [*line, Phrase("…")] if last < len(units) else line


def _position(mention: SuspectMention | None) -> str:
    return "" if mention is None else f"{mention.label} [{mention.start}, {mention.end})"


def _effects(document: Suspects) -> Iterator[Section]:
    if not document.effects:
        return
    steps = [point.k for point in max(document.effects.values(), key=len)]
    rows: list[list[Cell]] = []
    for name, effect in document.effects.items():
        by_step = {point.k: point.f1 for point in effect}
        rows.append([name, *(cells.points(by_step[step]) if step in by_step else "" for step in steps)])
    columns = [Column(), *(Column(f"first {step:,}" if step else "now", right=True) for step in steps)]
    title, note = "F1 if the first proposals were accepted", "each system without its own vote"
    yield Section("effects", cells.words(title), (Grid(columns, rows),), note, on=SHOWN)


def _quoted(document: Suspects) -> Iterator[Section]:
    """Every suspect in its sentence, as gold has it and as it is proposed."""
    quotes = tuple(
        Quote(
            suspect.source,
            tuple(part.text for part in _head(suspect)[:-1]),
            tuple(
                (side, reading(suspect, mention))
                for side, mention in (("gold", suspect.gold), ("proposal", suspect.proposal))
            ),
            "; ".join(suspect.evidence.words)
            + (f" (as in {suspect.evidence.example})" if suspect.evidence.example else ""),
        )
        for suspect in document.suspects
    )
    if quotes:
        yield Section("suspects", cells.words("Suspects"), quotes, on=PAGE)


def reading(suspect: Suspect, mention: SuspectMention | None) -> tuple[QuotePiece, ...]:
    """The sentence with a mention marked, or where the mention is if the text was left out."""
    if not suspect.tokens:
        return (QuotePiece(_position(mention) or "none"),)
    return marked(suspect.tokens, [mention] if mention else [])


MISREAD = {
    "label": "other label",
    "boundary": "other boundary",
    "missing": "missing in gold",
    "spurious": "not a mention",
}


def doubted(document: Suspects) -> Section:
    """The suspects on the page of an evaluation, where they are questions about gold."""
    rows: list[list[Cell]] = [
        [
            MISREAD[suspect.kind],
            "; ".join(suspect.evidence.words),
            MarkedText(reading(suspect, suspect.gold or suspect.proposal), suspect.source),
        ]
        for suspect in document.suspects
    ]
    shown = len(document.suspects)
    first = f"; the first {shown}" if shown < document.found else ""
    note = (
        f"{wording.plural(document.found, 'place')} that several systems, or the same words elsewhere, read "
        f"differently{first}. These are questions, not errors: systems can be wrong together."
    )
    columns = [Column("kind"), Column("evidence"), Column("sentence")]
    how = Paragraphs(
        (cells.words("{} writes a worksheet to decide on them.", "spanwise suspects … -o worksheet.csv"),),
        "faint",
    )
    return Section(
        "suspects", cells.words("Where gold may be wrong"), (Grid(columns, rows), how), note, on=PAGE
    )


def _of_all(document: Suspects) -> Section:
    rows: list[tuple[Cell, ...]] = [
        (
            cells.count(suspect.rank), cells.decimal(suspect.score), suspect.kind, suspect.source,
            _position(suspect.gold), _position(suspect.proposal), "; ".join(suspect.evidence.words),
        )
        for suspect in document.suspects
    ]  # fmt: skip
    titles = ("rank", "score", "kind", "where", "gold", "proposal", "evidence")
    caption = "Gold annotations worth a second look; a suspect is not necessarily an error."
    return Section(
        "suspects", cells.words("Suspects"), (cells.table(titles, rows),), caption=caption, on=PAPER
    )
