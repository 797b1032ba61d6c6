"""The screen of any view: its answer first, then its sections, and its files or facts last."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from spanwise.document import Document
from spanwise.reports.terminal._layout import (
    Scale,
    ScreenCell,
    ScreenLine,
    and_more,
    bar,
    command_lines,
    files,
    flow,
    grid,
    heading,
    made_with,
    packed,
    sentence,
    size,
    tail,
    text,
    warnings,
)
from spanwise.reports.widths import cell_len
from spanwise.views import Section, View, view
from spanwise.views.cells import (
    COMMAND,
    ArcQuote,
    Cell,
    Clause,
    Column,
    Flow,
    Grid,
    Interval,
    MarkedText,
    NamedNumbers,
    Number,
    Paragraphs,
    Phrase,
    Phrases,
    Room,
    ShareBar,
    Strip,
    text_of,
)
from spanwise.views.wording import visible

ANSWERS = ("answer", "verdict")  # sections that say in a sentence or two what a document shows


def lines(document: Document, width: int, seconds: float | None) -> list[ScreenLine]:
    """The answer first, then all sections that a screen shows, and the files or facts last."""
    shown = view(document)
    sections = shown.on("screen")
    answers = [section for section in sections if section.name in ANSWERS]
    told = [str(words) for section in answers for words in _sentences(section)] or [str(shown.verdict)]
    answer = [
        line
        for at, words in enumerate(told)
        for line in sentence(words, width, indent=0, style="" if at else "strong")
    ]
    return [
        *answer,
        *warnings(shown.notes, width),
        *sections_lines(sections, width, ANSWERS),
        *heading("Data", made_with(document, seconds), width),
        *_about(shown, width),
    ]


def sections_lines(
    sections: Iterable[Section], width: int, without: Collection[str] = ()
) -> list[ScreenLine]:
    """The sections that screens show, except those with some names."""
    shown = [section for section in sections if section.is_on("screen") and section.name not in without]
    return [line for section in shown for line in section_lines(section, width)]


def _sentences(section: Section) -> Iterator[Clause]:
    """The sentences of a section."""
    for block in section.blocks:
        if isinstance(block, Paragraphs):
            yield from block.texts


def _about(shown: View, width: int) -> list[ScreenLine]:
    """The files, or facts in their place."""
    if not shown.facts:
        return files(shown.inputs, width, dataset=shown.dataset)
    return flow([text(fact.text, fact.style) for fact in shown.facts], width)


def section_lines(section: Section, width: int) -> list[ScreenLine]:
    """One section with its title."""
    result: list[ScreenLine] = heading(str(section.title), section.note, width) if section.title else [[]]
    for block in section.blocks:
        match block:
            case Grid() if "screen" in block.on:
                result += table_lines(block.shown_on("screen"), width)
            case Paragraphs(style=style) if style == COMMAND:
                for words in block.texts:
                    result += command_lines(str(words), width, indent=block.indent)
            case Paragraphs():
                for words in block.texts:
                    result += sentence(str(words), width, indent=block.indent, style=block.style)
            case Flow():
                result += _flow(block, width)
            case ArcQuote():
                result += sentence(" ".join(block.tokens), width)
                for right, what, how in block.remarks:
                    result += sentence(f"  {'✓' if right else '✗'} {what}: {how}", width, style="faint")
    return result


def table_lines(table: Grid, width: int) -> list[ScreenLine]:
    """The rows of a table with the columns that fit, or all columns in blocks that fit."""
    if not table.split:
        return _table(table, width)
    result: list[ScreenLine] = []
    for block in _blocks(table, width):
        columns, rows = [table.columns[at] for at in block], [[row[at] for at in block] for row in table.rows]
        result += [[], *_table(replace(table, columns=columns, rows=rows), width)]
    return result[1:]


def _blocks(table: Grid, width: int) -> list[list[int]]:
    """The columns of every block: the first of the table, and as many others as fit."""
    sizes = [[_size(_cell(row[at], column)) for row in table.rows] for at, column in enumerate(table.columns)]
    titles = [cell_len(visible(column.title)) for column in table.columns]
    room = width - 2 - min(26, max([titles[0], *sizes[0]]))
    blocks: list[list[int]] = []
    left = 0
    for at in range(1, len(table.columns)):
        need = 2 + max([min(titles[at], 12), *sizes[at]])
        if not blocks or need > left:
            blocks.append([0])
            left = room
        blocks[-1].append(at)
        left -= need
    return blocks


def _size(cell: ScreenCell) -> int:
    return size(cell) if isinstance(cell, list) else cell_len(visible(cell)) if isinstance(cell, str) else 0


def _table(table: Grid, width: int) -> list[ScreenLine]:
    shown = [at for at, column in enumerate(table.columns) if column.wide <= width]
    left_out: list[ScreenLine] = []
    if table.room is not None:
        shown, left_out = _best_systems(table, table.room, shown, width)
    columns = _titled([table.columns[at] for at in shown], table.room)
    most = len(table.rows) if table.most is None else table.most
    rows = [
        [_cell(row[at], column) for at, column in zip(shown, columns, strict=True)]
        for row in table.rows[:most]
    ]
    drawn = grid(columns, rows, width, indent=table.indent)
    if table.under:
        first = len(drawn) - len(rows)
        below = [*([None] * first), *table.under]
        drawn = [
            line
            for row, flowing in zip(drawn, below, strict=False)
            for line in (row, *(_flow(flowing, width) if flowing else ()))
        ]
    return [*drawn, *left_out, *and_more(len(table.rows) - most, width, table.noun)]


def _best_systems(
    table: Grid, room: Room, shown: list[int], width: int
) -> tuple[list[int], list[ScreenLine]]:
    """The columns with the systems ranked, as many as fit, and a line that says so if some do not."""
    places = {at: place for at in shown if (place := table.columns[at].place) is not None}
    ranked = sorted(places, key=places.__getitem__)
    kept = ranked[: max(1, (width - room.first) // room.each)]
    first = min(places)
    before = [at for at in shown if at < first]
    after = [at for at in shown if at > first and at not in places]
    words = f"the {room.kept} {len(kept)} of {len(ranked)} {room.noun}; all are in the JSON"
    note = flow([text(words, "faint")], width, indent=2) if len(kept) < len(ranked) else []
    return [*before, *kept, *after], note


def _titled(columns: Sequence[Column], room: Room | None) -> list[Column]:
    """The columns, those of systems with their letters as titles if a name does not fit."""
    names = [column.title for column in columns if column.place is not None]
    if room is None or all(size(text(name)) <= room.title for name in names):
        return list(columns)
    return [replace(column, title=column.letter or column.title) for column in columns]


def _cell(cell: Cell, column: Column) -> ScreenCell:
    match cell:
        case str():
            return cell
        case ShareBar():
            return bar(cell.share, style=cell.style)
        case Strip():
            axis = column.axis
            assert axis is not None
            return Scale.around(axis.reach).strip(cell.value, cell.ends, mark=axis.mark)
        case NamedNumbers(pairs=pairs, strong=True):
            return packed([[*text(f"{name} "), (number, "strong")] for name, number in pairs])
        case NamedNumbers():
            return packed(
                [[*text(f"{name} ", "faint"), (number, "")] for name, number in cell.pairs], join="  "
            )
        case MarkedText():
            return text_of(cell)
        case Phrases():
            caution = [(cell.caution, "warn")] if cell.caution else []
            return [*caution, *_phrases(cell.parts, 0)]
        case Number(spread=spread, style=style, best=best):
            style = style or ("strong" if best else "")
            after = [(f" ±{spread}", "faint")] if spread and not column.bare else []
            if column.letters:  # padded, so that the numbers stay aligned
                after.append((f" {cell.letters:<{column.letters}}", "good"))
            return [*text(cell.text, style), *after] if style or after else cell.text
        case Interval(mark=mark) if mark:
            return text(cell.text + mark, cell.style)
        case _:
            return text(cell.text, cell.style) if cell.style else cell.text


def _flow(block: Flow, width: int) -> list[ScreenLine]:
    room = max(12, width // 2 - 6) if block.tails else 0
    parts = [_phrases(part, room) for part in block.parts]
    return flow(parts, width, indent=block.indent, join=block.join)


def _phrases(part: Sequence[Phrase], room: int) -> ScreenLine:
    """The phrases in one line; with `room`, each is cut at its start to so many columns."""
    return [
        piece
        for phrase in part
        for piece in text(tail(phrase.text, room) if room else phrase.text, phrase.style)
    ]
