"""Lines of styled pieces, columns that fit the width there is, bars and intervals drawn with characters.

Widths are counted in terminal cells. A piece is text and the name of a style; styles become
escape codes in `paint` alone, so a screen without colour is the same text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from rich.cells import cell_len, set_cell_size

from spanwise.reports._wording import visible

Piece: TypeAlias = tuple[str, str]
Line: TypeAlias = list[Piece]
Drawing: TypeAlias = Callable[[int], Line]
Cell: TypeAlias = str | Line | Drawing

# The sixteen colours of the terminal's own theme and no background: readable on dark and on light.
STYLES = {
    "": "",
    "title": "bold",
    "strong": "bold",
    "faint": "dim",
    "good": "green",
    "bad": "red",
    "warn": "bold magenta",
    "mark": "cyan",
    "score": "bold cyan",
}


class Column(Struct, frozen=True):
    """One column: its title and what to do when there is too little or too much room.

    Attributes:
        least: it may shrink to so many cells, the text ending in `…`; a drawing needs so many.
        most: a drawing grows up to so many cells.
        rank: columns of the highest rank are left out first; those of rank 0 always stay.
    """

    title: str | Drawing = ""
    right: bool = False
    style: str = ""
    least: int | None = None
    most: int = 0
    rank: int = 0


def text(value: object, style: str = "") -> Line:
    """One piece, with whatever is hidden in it made visible."""
    return [(visible(value), style)]


def size(line: Line) -> int:
    """How many cells a line takes."""
    return sum(cell_len(piece) for piece, _ in line)


def fit(line: Line, width: int) -> Line:
    """The line within `width` cells, ending in `…` where something was cut."""
    if size(line) <= width:
        return line
    result: Line = []
    room = max(width - 1, 0)
    for piece, style in line:
        length = cell_len(piece)
        if length > room:
            kept = set_cell_size(piece, room).rstrip() if room else ""
            return [*result, (kept + "…", style)] if width > 0 else result
        result.append((piece, style))
        room -= length
    return result


def tail(value: object, width: int) -> str:
    """A path within `width` cells: its end is what tells files apart."""
    shown = visible(value)
    if cell_len(shown) <= width:
        return shown
    for at, character in enumerate(shown):
        if character in "/\\" and width // 2 < cell_len(shown[at:]) < width:
            return "…" + shown[at:]
    while shown and cell_len(shown) > width - 1:
        shown = shown[1:]
    return "…" + shown


def heading(title: str, note: str, width: int) -> list[Line]:
    """A blank line, then the title of a section with a faint note at the right end."""
    room = width - cell_len(title) - 4
    if not note or room < 12:
        return [[], [(" " + title, "title")]]
    short = fit([(note, "faint")], room)
    gap = width - 1 - cell_len(title) - size(short)
    return [[], [(" " + title, "title"), (" " * gap, ""), *short]]


def flow(parts: Sequence[Line], width: int, *, indent: int = 1, join: str = " · ") -> list[Line]:
    """The parts one after another, wrapped between parts, each line indented."""
    lines: list[Line] = []
    current: Line = []
    for part in parts:
        part = fit(part, width - indent)
        if current and size(current) + cell_len(join) + size(part) > width - indent:
            lines.append([(" " * indent, ""), *current])
            current = []
        current = [*current, (join, "faint"), *part] if current else list(part)
    return [*lines, [(" " * indent, ""), *current]] if current else lines


def and_more(left: int, width: int, what: str = "") -> list[Line]:
    """A line that says how many rows a list leaves out, where it does."""
    if left <= 0:
        return []
    return flow([[(f"… and {left} more{what and f' {what}'}, all in the JSON", "faint")]], width, indent=2)


def sentence(value: str, width: int, *, indent: int = 2, style: str = "") -> list[Line]:
    """A sentence wrapped between words."""
    return flow([[(word, style)] for word in visible(value).split(" ")], width, indent=indent, join=" ")


def packed(parts: Sequence[Line], *, join: str = " · ") -> Drawing:
    """As many of the parts as fit, none of them cut."""

    def draw(width: int) -> Line:
        line: Line = []
        for part in parts:
            longer = [*line, (join, "faint"), *part] if line else list(part)
            if size(longer) > width:
                return (
                    [*line, (" …", "faint")] if line and size(line) + 2 <= width else line or fit(part, width)
                )
            line = longer
        return line

    return draw


def pieces(value: str, width: int, *, after: str = "|+") -> list[str]:
    """A long text without blanks in pieces that end behind the characters of `after`, or where they must."""
    found: list[str] = [""]
    for character in visible(value):
        found[-1] += character
        if character in after or cell_len(found[-1]) >= width:
            found.append("")
    return [piece for piece in found if piece]


def grid(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int, *, indent: int = 2, gap: int = 2
) -> list[Line]:
    """Rows in columns within `width` cells, under their titles where any column has one."""
    if not rows:
        return []
    kept = [at for at, column in enumerate(columns) if any(_filled(row[at]) for row in rows) or column.most]
    widths = [_natural(column, [row[at] for row in rows]) for at, column in enumerate(columns)]
    least = [_least(column, wide) for column, wide in zip(columns, widths, strict=True)]
    while indent + sum(least[at] for at in kept) + gap * (len(kept) - 1) > width:
        worst = max((columns[at].rank, at) for at in kept)
        if worst[0] == 0:
            break
        kept.remove(worst[1])
    room = width - indent - gap * (len(kept) - 1)
    _shrink(widths, least, kept, room)
    _grow(columns, widths, kept, room)
    lines = []
    if any(columns[at].title for at in kept):
        lines.append(_row([columns[at] for at in kept], [widths[at] for at in kept], None, indent, gap))
    for row in rows:
        cells = [row[at] for at in kept]
        lines.append(_row([columns[at] for at in kept], [widths[at] for at in kept], cells, indent, gap))
    return [fit(line, width) for line in lines]


def _filled(cell: Cell) -> bool:
    return callable(cell) or size(_line(cell, "", 0)) > 0


def _natural(column: Column, cells: Sequence[Cell]) -> int:
    drawn = any(callable(cell) for cell in cells) or callable(column.title)
    if drawn:
        return column.least or 8
    title = cell_len(column.title) if isinstance(column.title, str) else 0
    return max([title, *(size(_line(cell, "", 0)) for cell in cells)])


def _least(column: Column, natural: int) -> int:
    return natural if column.least is None else min(natural, column.least)


def _shrink(widths: list[int], least: list[int], kept: list[int], room: int) -> None:
    while sum(widths[at] for at in kept) > room:
        able = [at for at in kept if widths[at] > least[at]]
        if not able:
            # Nothing may shrink any more, yet the line must end: the widest gives way.
            able = [at for at in kept if widths[at] > 4]
        if not able:
            return
        widths[max(able, key=lambda at: widths[at])] -= 1


def _grow(columns: Sequence[Column], widths: list[int], kept: list[int], room: int) -> None:
    # From the right: words beside a drawing need the room more than the drawing does.
    for at in reversed(kept):
        free = room - sum(widths[other] for other in kept)
        if columns[at].most > widths[at] and free > 0:
            widths[at] = min(columns[at].most, widths[at] + free)


def _line(cell: Cell, style: str, width: int) -> Line:
    if callable(cell):
        return cell(width)
    return [(visible(cell), style)] if isinstance(cell, str) else cell


def _row(
    columns: Sequence[Column], widths: Sequence[int], cells: Sequence[Cell] | None, indent: int, gap: int
) -> Line:
    line: Line = [(" " * indent, "")]
    for at, (column, width) in enumerate(zip(columns, widths, strict=True)):
        cell = column.title if cells is None else cells[at]
        style = "faint" if cells is None else column.style
        content = fit(_line(cell, style, width), width)
        blank = (" " * (width - size(content)), "")
        line += [blank, *content] if column.right else [*content, blank]
        if at + 1 < len(columns):
            line.append((" " * gap, ""))
    return line


def bar(share: float, *, style: str = "mark") -> Drawing:
    """A bar that fills `share` of the width it is given, to half a cell."""

    def draw(width: int) -> Line:
        halves = round(max(0.0, min(1.0, share)) * width * 2)
        if share > 0 and halves == 0:
            halves = 1
        return [("━" * (halves // 2) + "╸" * (halves % 2), style)]

    return draw


class Scale(Struct, frozen=True):
    """The range of points that a column of intervals shows."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Sequence[float]) -> Scale:
        """From the ten points below the lowest to the ten above the highest of some fractions."""
        inside = [value for value in values if value == value]
        if not inside:
            return cls(0.0, 1.0)
        low = min(max(math.floor(min(inside) * 10 + 1e-9), 0), 9)
        high = min(math.ceil(max(inside) * 10 - 1e-9), 10)
        return cls(low / 10, max(high, low + 1) / 10)

    def at(self, value: float, width: int) -> int:
        """The cell of a value among `width` cells."""
        share = (value - self.low) / (self.high - self.low)
        return round(max(0.0, min(1.0, share)) * (width - 1))

    def axis(self, width: int) -> Line:
        """The tens that have room above the strips."""
        marks = [" "] * width
        first, last = round(self.low * 100), round(self.high * 100)
        span = last - first
        step = next((step for step in (10, 20, 50) if width * step / max(span, 1) >= 6), 100)
        free = 0
        for value in range(first, last + 1, 10):
            if (value - first) % step and value != last:
                continue
            label = str(value)
            start = min(max(self.at(value / 100, width) - len(label) // 2, 0), width - len(label))
            if start >= free and start + len(label) <= width:
                marks[start : start + len(label)] = label
                free = start + len(label) + 1
        return [("".join(marks), "faint")]

    def strip(
        self, value: float | None, ends: Sequence[float | None] | None, *, mark: float | None = None
    ) -> Drawing:
        """A dot at the value over its interval, and a dotted line at `mark`."""

        def draw(width: int) -> Line:
            cells: list[Piece] = [(" ", "")] * width
            if mark is not None:
                cells[self.at(mark, width)] = ("┊", "faint")
            if value is None:
                return cells
            if not self.low - 1e-9 <= value <= self.high + 1e-9:
                cells[0 if value < self.low else -1] = ("‹" if value < self.low else "›", "mark")
                return _joined(cells)
            if ends is not None and ends[0] is not None and ends[1] is not None:
                for at in range(self.at(ends[0], width), self.at(ends[1], width) + 1):
                    cells[at] = ("─", "mark")
            cells[self.at(value, width)] = ("●", "mark")
            return _joined(cells)

        return draw


def _joined(cells: Sequence[Piece]) -> Line:
    line: Line = []
    for piece, style in cells:
        if line and line[-1][1] == style:
            line[-1] = (line[-1][0] + piece, style)
        else:
            line.append((piece, style))
    return line


def paint(lines: Sequence[Line], *, color: bool) -> str:
    """The lines as one text, without blanks at their ends."""
    if not color:
        return "".join("".join(piece for piece, _ in line).rstrip() + "\n" for line in lines)
    from rich.color import ColorSystem
    from rich.style import Style

    styles = {name: Style.parse(definition) for name, definition in STYLES.items()}

    def painted(line: Line) -> str:
        bare = "".join(piece for piece, _ in line)
        room = len(bare.rstrip())
        result = ""
        for piece, style in line:
            shown, room = piece[:room], max(room - len(piece), 0)
            plain = not style or not shown.strip()
            result += shown if plain else styles[style].render(shown, color_system=ColorSystem.STANDARD)
        return result

    return "".join(painted(line) + "\n" for line in lines)
