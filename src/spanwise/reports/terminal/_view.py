"""The screen of any view: files or facts at the top, then its sections."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.document import Document
from spanwise.reports.terminal._layout import (
    ScreenCell,
    ScreenLine,
    and_more,
    banner,
    bar,
    files,
    flow,
    grid,
    heading,
    packed,
    sentence,
    tail,
    text,
    warnings,
)
from spanwise.views import Section, View, view
from spanwise.views.cells import (
    ArcQuote,
    Cell,
    Flow,
    Grid,
    MarkedText,
    NamedNumbers,
    Paragraphs,
    Phrase,
    ShareBar,
    text_of,
)


def lines(document: Document, width: int, seconds: float | None) -> list[ScreenLine]:
    """All sections that a screen shows."""
    shown = view(document)
    result = [*banner(document, seconds), *_top(shown, width)]
    for section in shown.on("screen"):
        result += section_lines(section, width)
    return result


def _top(shown: View, width: int) -> list[ScreenLine]:
    if not shown.facts:
        return files(shown.inputs, width, dataset=shown.dataset, notes=shown.notes)
    facts = [text(fact.text, fact.style) for fact in shown.facts]
    return [*flow(facts, width), *warnings(shown.notes, width)]


def section_lines(section: Section, width: int) -> list[ScreenLine]:
    """One section with its title."""
    result: list[ScreenLine] = heading(str(section.title), section.note, width) if section.title else [[]]
    for block in section.blocks:
        match block:
            case Grid():
                result += _table(block, width)
            case Paragraphs():
                for words in block.texts:
                    result += sentence(str(words), width, indent=block.indent, style=block.style)
            case Flow():
                room = max(12, width // 2 - 6) if block.tails else 0
                parts = [_phrases(part, room) for part in block.parts]
                result += flow(parts, width, indent=block.indent, join=block.join)
            case ArcQuote():
                result += sentence(" ".join(block.tokens), width)
                for right, what, how in block.remarks:
                    result += sentence(f"  {'✓' if right else '✗'} {what}: {how}", width, style="faint")
    return result


def _table(table: Grid, width: int) -> list[ScreenLine]:
    most = len(table.rows) if table.most is None else table.most
    shown = [at for at, column in enumerate(table.columns) if column.wide <= width]
    rows = [[_cell(row[at]) for at in shown] for row in table.rows[:most]]
    columns = [table.columns[at] for at in shown]
    return [
        *grid(columns, rows, width, indent=table.indent),
        *and_more(len(table.rows) - most, width, table.noun),
    ]


def _cell(cell: Cell) -> ScreenCell:
    match cell:
        case str():
            return cell
        case ShareBar():
            return bar(cell.share, style=cell.style)
        case NamedNumbers():
            return packed(
                [[*text(f"{name} ", "faint"), (number, "")] for name, number in cell.pairs], join="  "
            )
        case MarkedText():
            return text_of(cell)
        case _:
            return text(cell.text, cell.style) if cell.style else cell.text


def _phrases(part: Sequence[Phrase], room: int) -> ScreenLine:
    """The phrases in one line; with `room`, each is cut at its start to so many columns."""
    return [
        piece
        for phrase in part
        for piece in text(tail(phrase.text, room) if room else phrase.text, phrase.style)
    ]
