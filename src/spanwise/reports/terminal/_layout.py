"""Lines and columns that fit the available width, and the sections that open and close every screen."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct

from spanwise.document import Alignment, Document, Input
from spanwise.document.dataset import DatasetFacts
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import Bounded, Confusion, ScoreTest, SystemScores
from spanwise.document.study import Study
from spanwise.intervals import FEW_UNITS
from spanwise.reports._document import short_signature
from spanwise.reports.widths import cell_len, cut_to
from spanwise.views import wording
from spanwise.views.cells import Column as Column
from spanwise.views.commands import errors_command
from spanwise.views.commands import quoted as _quoted
from spanwise.views.statements import statements
from spanwise.views.systems import few_mark
from spanwise.views.wording import visible

Piece: TypeAlias = tuple[str, str]  # text and the name of its style
ScreenLine: TypeAlias = list[Piece]
Stretch: TypeAlias = Callable[[int], ScreenLine]  # draws a cell of the given width
ScreenCell: TypeAlias = str | ScreenLine | Stretch

# The escape codes of styles: only the theme's sixteen colours, without a background, to be readable on dark
# and on light terminals.
STYLES = {
    "": "",
    "title": "1",
    "strong": "1",
    "faint": "2",
    "good": "32",
    "bad": "31",
    "warn": "1;35",
    "mark": "36",
    "score": "1;36",
}


def text(value: object, style: str = "") -> ScreenLine:
    """A line with one piece of text, in which invisible characters are made visible."""
    return [(visible(value), style)]


def size(line: ScreenLine) -> int:
    """The number of cells that a line takes up."""
    return sum(cell_len(piece) for piece, _ in line)


def fit(line: ScreenLine, width: int) -> ScreenLine:
    """The line cut to `width` cells; it ends in `…` if anything was cut."""
    if size(line) <= width:
        return line
    result: ScreenLine = []
    room = max(width - 1, 0)
    for piece, style in line:
        length = cell_len(piece)
        if length > room:
            start = cut_to(piece, room).rstrip() if room else ""
            return [*result, (start + "…", style)] if width > 0 else result
        result.append((piece, style))
        room -= length
    return result


def squeezed(line: ScreenLine, width: int) -> ScreenLine:
    """The line cut to `width` cells by shortening its longest pieces in the middle.

    Examples:
        >>> squeezed([("bert-base-cased", ""), (" − ", ""), ("bert-base-uncased", "")], 21)
        [('bert…ased', ''), (' − ', ''), ('bert…ased', '')]
        >>> squeezed([("roberta-large-seed-1", "")], 12)
        [('robert…eed-1', '')]
    """
    room = [cell_len(piece) for piece, _ in line]
    while sum(room) > width and max(room) > 3:
        room[room.index(max(room))] -= 1
    return fit(
        [(_middle_cut(piece, cells), style) for (piece, style), cells in zip(line, room, strict=True)], width
    )


def _middle_cut(piece: str, width: int) -> str:
    if cell_len(piece) <= width:
        return piece
    end = (width - 1) // 2
    last = piece
    while cell_len(last) > end:
        last = last[1:]
    return f"{cut_to(piece, width - 1 - end).rstrip()}…{last}"


def tail(value: object, width: int) -> str:
    """A path cut to `width` cells, keeping its end, which tells files apart."""
    shown = visible(value)
    if cell_len(shown) <= width:
        return shown
    for index, character in enumerate(shown):
        if character in "/\\" and width // 2 < cell_len(shown[index:]) < width:
            return "…" + shown[index:]
    while shown and cell_len(shown) > width - 1:
        shown = shown[1:]
    return "…" + shown


def heading(title: str, note: str, width: int) -> list[ScreenLine]:
    """A blank line, then a section title with a faint note at the right margin."""
    room = width - cell_len(title) - 4
    if not note or room < 12:
        return [[], [(" " + title, "title")]]
    short = fit([(note, "faint")], room)
    gap = width - 1 - cell_len(title) - size(short)
    return [[], [(" " + title, "title"), (" " * gap, ""), *short]]


def flow(parts: Sequence[ScreenLine], width: int, *, indent: int = 1, join: str = " · ") -> list[ScreenLine]:
    """The parts one after another, wrapped between parts, with each line indented."""
    lines: list[ScreenLine] = []
    current: ScreenLine = []
    for part in parts:
        part = fit(part, width - indent)
        if current and size(current) + cell_len(join) + size(part) > width - indent:
            lines.append([(" " * indent, ""), *current])
            current = []
        current = [*current, (join, "faint"), *part] if current else list(part)
    return [*lines, [(" " * indent, ""), *current]] if current else lines


def and_more(left: int, width: int, what: str = "") -> list[ScreenLine]:
    """A line that says how many rows a list leaves out, if any."""
    if left <= 0:
        return []
    return flow([[(f"… and {left} more{what and f' {what}'}, all in the JSON", "faint")]], width, indent=2)


def sentence(value: str, width: int, *, indent: int = 2, style: str = "") -> list[ScreenLine]:
    """A sentence wrapped between words."""
    return flow([[(word, style)] for word in visible(value).split(" ")], width, indent=indent, join=" ")


def packed(parts: Sequence[ScreenLine], *, join: str = " · ") -> Stretch:
    """As many of the parts as fit without being cut."""

    def draw(width: int) -> ScreenLine:
        line: ScreenLine = []
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
    """Split a long text without blanks after the characters in `after`, or wherever `width` is reached."""
    parts: list[str] = [""]
    for character in visible(value):
        parts[-1] += character
        if character in after or cell_len(parts[-1]) >= width:
            parts.append("")
    return [piece for piece in parts if piece]


def grid(
    columns: Sequence[Column],
    rows: Sequence[Sequence[ScreenCell]],
    width: int,
    *,
    indent: int = 2,
    gap: int = 2,
) -> list[ScreenLine]:
    """Rows in columns within `width` cells, under a line of titles if any column has one."""
    if not rows:
        return []
    shown = [i for i, column in enumerate(columns) if any(_filled(row[i]) for row in rows) or column.most]
    widths = [_natural(column, [row[i] for row in rows]) for i, column in enumerate(columns)]
    least = [_least(column, wide) for column, wide in zip(columns, widths, strict=True)]
    while indent + sum(least[i] for i in shown) + gap * (len(shown) - 1) > width:
        last = max((columns[i].rank, i) for i in shown)
        if last[0] == 0:
            break
        shown.remove(last[1])
    room = width - indent - gap * (len(shown) - 1)
    _shrink(widths, least, shown, room)
    _grow(columns, widths, shown, room)
    lines = []
    if any(columns[i].title or _axis(columns[i]) for i in shown):
        lines.append(_row([columns[i] for i in shown], [widths[i] for i in shown], None, indent, gap))
    for row in rows:
        cells = [row[i] for i in shown]
        lines.append(_row([columns[i] for i in shown], [widths[i] for i in shown], cells, indent, gap))
    return [fit(line, width) for line in lines]


def _filled(cell: ScreenCell) -> bool:
    return callable(cell) or size(_line(cell, "", 0)) > 0


def _natural(column: Column, cells: Sequence[ScreenCell]) -> int:
    if _axis(column) or any(callable(cell) for cell in cells):
        return column.least or 8
    return max([cell_len(visible(column.title)), *(size(_line(cell, "", 0)) for cell in cells)])


def _axis(column: Column) -> Stretch | None:
    return None if column.axis is None else Scale.around(column.axis.reach).axis


def _least(column: Column, natural: int) -> int:
    return natural if column.least is None else min(natural, column.least)


def _shrink(widths: list[int], least: list[int], shown: list[int], room: int) -> None:
    while sum(widths[i] for i in shown) > room:
        shrinkable = [i for i in shown if widths[i] > least[i]]
        if not shrinkable:
            # No column may shrink further, but the line must fit: take from the widest.
            shrinkable = [i for i in shown if widths[i] > 4]
        if not shrinkable:
            return
        widths[max(shrinkable, key=lambda i: widths[i])] -= 1


def _grow(columns: Sequence[Column], widths: list[int], shown: list[int], room: int) -> None:
    # Start from the right: text beside a drawing needs the room more than the drawing does.
    for i in reversed(shown):
        free = room - sum(widths[other] for other in shown)
        if columns[i].most > widths[i] and free > 0:
            widths[i] = min(columns[i].most, widths[i] + free)


def _line(cell: ScreenCell, style: str, width: int) -> ScreenLine:
    if callable(cell):
        return cell(width)
    return [(visible(cell), style)] if isinstance(cell, str) else cell


def _row(
    columns: Sequence[Column],
    widths: Sequence[int],
    cells: Sequence[ScreenCell] | None,
    indent: int,
    gap: int,
) -> ScreenLine:
    line: ScreenLine = [(" " * indent, "")]
    for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
        cell: ScreenCell = (_axis(column) or column.title) if cells is None else cells[index]
        style = "faint" if cells is None else column.style
        content = (squeezed if column.names and cells else fit)(_line(cell, style, width), width)
        blank = (" " * (width - size(content)), "")
        line += [blank, *content] if column.right else [*content, blank]
        if index + 1 < len(columns):
            line.append((" " * gap, ""))
    return line


def bar(share: float, *, style: str = "mark") -> Stretch:
    """A bar that fills `share` of the available width, to half a cell."""

    def draw(width: int) -> ScreenLine:
        halves = round(max(0.0, min(1.0, share)) * width * 2)
        if share > 0 and halves == 0:
            halves = 1
        return [("━" * (halves // 2) + "╸" * (halves % 2), style)]

    return draw


class Scale(Struct, frozen=True):
    """The range of scores that a column of intervals shows, as fractions."""

    low: float
    high: float

    @classmethod
    def around(cls, values: Sequence[float]) -> Scale:
        """The scale that covers some fractions, widened to multiples of ten points at both ends."""
        defined = [value for value in values if value == value]
        if not defined:
            return cls(0.0, 1.0)
        low = min(max(math.floor(min(defined) * 10 + 1e-9), 0), 9)
        high = min(math.ceil(max(defined) * 10 - 1e-9), 10)
        return cls(low / 10, max(high, low + 1) / 10)

    def at(self, value: float, width: int) -> int:
        """The index of a value's cell among `width` cells."""
        share = (value - self.low) / (self.high - self.low)
        return round(max(0.0, min(1.0, share)) * (width - 1))

    def axis(self, width: int) -> ScreenLine:
        """The labels above the strips: as many multiples of ten points as fit."""
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
    ) -> Stretch:
        """A dot at the value on a line over its interval, and a dotted line at `mark`."""

        def draw(width: int) -> ScreenLine:
            cells: list[Piece] = [(" ", "")] * width
            if mark is not None:
                cells[self.at(mark, width)] = ("┊", "faint")
            if value is None:
                return cells
            if not self.low - 1e-9 <= value <= self.high + 1e-9:
                cells[0 if value < self.low else -1] = ("‹" if value < self.low else "›", "mark")
                return _joined(cells)
            if ends is not None and ends[0] is not None and ends[1] is not None:
                for index in range(self.at(ends[0], width), self.at(ends[1], width) + 1):
                    cells[index] = ("─", "mark")
            cells[self.at(value, width)] = ("●", "mark")
            return _joined(cells)

        return draw


def _joined(cells: Sequence[Piece]) -> ScreenLine:
    line: ScreenLine = []
    for piece, style in cells:
        if line and line[-1][1] == style:
            line[-1] = (line[-1][0] + piece, style)
        else:
            line.append((piece, style))
    return line


def paint(lines: Sequence[ScreenLine], *, color: bool) -> str:
    """The lines as one text, without trailing blanks, and with escape codes if `color` is true."""
    if not color:
        return "".join("".join(piece for piece, _ in line).rstrip() + "\n" for line in lines)

    def painted(line: ScreenLine) -> str:
        bare = "".join(piece for piece, _ in line)
        room = len(bare.rstrip())
        result = ""
        for piece, style in line:
            shown, room = piece[:room], max(room - len(piece), 0)
            plain = not style or not shown.strip()
            result += shown if plain else f"\x1b[{STYLES[style]}m{shown}\x1b[0m"
        return result

    return "".join(painted(line) + "\n" for line in lines)


# ---- what the buckets named XS to XL contain -------------------------------------------------------


BucketContents: TypeAlias = Sequence[tuple[str, str]]  # bucket names, and what each bucket contains in words

MOST = 24


def legend(
    tables: Iterable[tuple[Sequence[str], BucketContents]], titles: Sequence[str], width: int
) -> list[ScreenLine]:
    """One row per table of buckets: the names of the table, then each bucket with its contents.

    Buckets that are named after their contents, such as categories, need no row.
    """
    rows: list[list[ScreenCell]] = []
    for names, buckets in tables:
        entries = [_legend_entry(name, words) for name, words in buckets if words != wording.visible(name)]
        if entries:
            rows.append([*(text(name) for name in names), packed(entries, join="  ")])
    if not rows:
        return []
    columns = [Column(title, least=8) for title in titles]
    columns.append(Column("what its buckets hold", least=30, most=110))
    return [[], *grid(columns, rows[:MOST], width), *and_more(len(rows) - MOST, width)]


def _legend_entry(name: str, words: str) -> ScreenLine:
    return [(f"{wording.visible(name)} ", "faint"), (wording.upper_bound(words), "")]


# ---- the files at the top, the next steps and the signature at the end -----------------------------


_ROLES = {"gold": "gold", "predicted": "pred", "train": "train"}
_MOST_FILES = 8

MOST_STATEMENTS = 6


def made_with(document: Document, seconds: float | None) -> str:
    """The version of the program, and how long the computation took."""
    took = "" if seconds is None else f" · evaluated in {seconds:.1f} s"
    return f"spanwise {wording.visible(document.spanwise)}{took}"


def files(
    inputs: Sequence[Input],
    width: int,
    *,
    dataset: DatasetFacts | None = None,
    systems: Mapping[str, SystemScores] | None = None,
    notes: Sequence[str] = (),
) -> list[ScreenLine]:
    """One row per file: role, path, and the main facts about it."""
    shown = inputs if len(inputs) <= _MOST_FILES + 2 else inputs[:_MOST_FILES]
    paths = [tail(row.path, max(20, width // 4)) for row in shown]
    room = max((cell_len(path) for path in paths), default=0)
    lines: list[ScreenLine] = []
    for path, row in zip(paths, shown, strict=True):
        lead = text(f" {_ROLES.get(row.role, row.role):<6} ", "faint")
        lead += [(path + " " * (room - cell_len(path)), ""), ("  ", "")]
        indent = 10 + room
        facts = flow(_facts(row, dataset, systems or {}), width - 1, indent=indent) or [[("", "")]]
        lines.append([*lead, *facts[0][1:]])
        lines += facts[1:]
    if len(shown) < len(inputs):
        lines.append(text(f" … and {len(inputs) - len(shown)} more files", "faint"))
    return [*lines, *warnings(notes, width)]


def warnings(notes: Iterable[str], width: int) -> list[ScreenLine]:
    """Notes with an exclamation mark before each."""
    lines: list[ScreenLine] = []
    for note in notes:
        first, *rest = sentence(note, width, indent=3)
        lines += [[(" ! ", "warn"), *first[1:]], *rest]
    return lines


def _facts(row: Input, dataset: DatasetFacts | None, systems: Mapping[str, SystemScores]) -> list[ScreenLine]:
    facts: list[ScreenLine] = []
    if row.role == "predicted" and row.system and row.system not in str(row.path):
        facts.append(text(row.system, "strong"))
    if row.role != "predicted":
        sizes = ((row.sentences, "sentence"), (row.tokens, "token"))
        facts += [text(wording.plural(number, noun)) for number, noun in sizes if number]
    if row.role != "train" and row.mentions is not None:
        facts.append(text(wording.plural(row.mentions, "mention")))
    if row.role == "gold":
        if dataset is not None and dataset.labels:
            facts.append(text(wording.plural(len(dataset.labels), "label")))
        if row.scheme:
            facts.append(text(row.scheme))
    if row.role == "train" and dataset is not None:
        facts += _unseen(dataset)
    if row.repairs:
        rule = f" ({row.repair} rule)" if row.repair else ""
        facts.append(_warned(f"{wording.plural(row.repairs, 'impossible tag')} repaired{rule}"))
    if row.role == "predicted" and row.system and row.system in systems:
        facts += _foreign(systems[row.system])
    facts += aligned(row.alignment)
    if row.dropped:
        facts.append(text(f"{wording.plural(row.dropped, 'mention')} left out by label"))
    if row.merged:
        facts.append(text(f"{wording.plural(row.merged, 'mention')} merged with another"))
    facts += [_warned(note) for note in row.notes]
    return facts


def _foreign(system: SystemScores) -> list[ScreenLine]:
    """A warning about predicted labels that are not in gold: mostly other names for the same thing."""
    labels = system.exact.labels
    rows = {name: cell for name, cell in labels.items() if cell.predicted and not cell.gold}
    if not rows or not any(cell.gold for cell in labels.values()):
        return []
    number = sum(cell.predicted for cell in rows.values())
    names = ", ".join(wording.visible(name) for name in list(rows)[:4]) + (" …" if len(rows) > 4 else "")
    return [_warned(f"{wording.plural(number, 'mention')} of labels not in gold: {names}")]


def aligned(report: Alignment | None) -> list[ScreenLine]:
    """How predictions were aligned, and what that changed, if anything."""
    if report is None or report.how == "strict":
        return []
    facts = [text(f"aligned by {report.how}")]
    if report.changed_tokens:
        sentences = wording.plural(report.changed_sentences, "sentence")
        facts.append(_warned(f"{wording.plural(report.changed_tokens, 'token')} differ in {sentences}"))
    crossing = report.crossing or 0
    if report.crossing is not UNSET:
        facts.append(text("sentence boundaries differ"))
    if crossing:
        end = f"{wording.plural(crossing, 'mention')} crossed the end of a gold sentence, counted as spurious"
        facts.append(_warned(end))
    if report.unplaced > crossing:
        unplaced = wording.plural(report.unplaced - crossing, "mention")
        facts.append(_warned(f"{unplaced} could not be placed, counted as spurious"))
    return facts


def _unseen(dataset: DatasetFacts) -> list[ScreenLine]:
    facts: list[ScreenLine] = []
    unseen = (dataset.tough or {}).get("UNSEEN-TOKENS")
    if unseen is not None and wording.defined(unseen.overall.share):
        facts.append(text(f"{wording.percent(unseen.overall.share)} of gold mentions never seen in training"))
    if dataset.duplicates_with_train:
        facts.append(
            _warned(f"{wording.plural(dataset.duplicates_with_train, 'test sentence')} also in training")
        )
    return facts


def _warned(words: str) -> ScreenLine:
    return [("! ", "warn"), *text(words)]


def around(std: float | None) -> ScreenLine:
    """A standard deviation over runs, shown after the mean; empty if there is none."""
    return [(f" ±{wording.points(std)}", "faint")] if wording.defined(std) else []


def few_units(document: Evaluation, width: int) -> list[ScreenLine]:
    """The meaning of the dagger, if the screen has one."""
    settings = document.settings
    if not settings.resamples:
        return []
    if settings.few_units:
        words = [f"† few {settings.unit}s: intervals rest on {wording.plural(settings.units, settings.unit)}"]
    else:
        words = [wording.capital(carried) for carried in wording.carried(document.systems, settings.unit)]
        if any(few_mark(settings, cell) for cell in _shown_cells(document)):
            words.append(f"† fewer than {FEW_UNITS} {settings.unit}s contain it: the interval is unreliable")
    return [line for text in words for line in ([], *sentence(text, width, style="faint"))]


def _shown_cells(document: Evaluation) -> Iterator[Bounded | ScoreTest]:
    """The cells whose intervals screens show: comparisons, labels and tough subsets of all systems."""
    for comparison in document.comparisons:
        yield from comparison.scores
    for system in document.systems.values():
        yield from system.exact.labels.values()
        yield from (subset.overall for subset in system.tough.values())


def in_words(document: Document, width: int) -> list[ScreenLine]:
    """The first few sentences to paste into a paper, one per pair of systems."""
    texts = statements(document)
    if not texts:
        return []
    more = "" if len(texts) <= MOST_STATEMENTS else f" · all {len(texts)}: spanwise table RESULT statements"
    rows = [line for statement in texts[:MOST_STATEMENTS] for line in sentence(statement, width)]
    return [*heading("In words", f"ready to paste{more}", width), *rows]


def next_steps(
    document: Evaluation | Study, width: int, saved: Sequence[str], command: str, *, full: bool = True
) -> list[ScreenLine]:
    """Commands to run next that were not run yet, with the paths that were given.

    Args:
        command: the command that was run; empty if it was Python, where there is none to continue.
        full: whether all tables are shown already.
    """
    if not command:
        return []
    again = " ".join(word for word in command.split(" ") if word not in ("--brief", "--full"))
    steps = [*_errors_to_read(document, again)] if isinstance(document, Evaluation) else []
    trained = any(row.role == "train" for row in document.inputs)
    if not trained and again.startswith("spanwise evaluate "):
        steps.append((f"{wording.visible(again)} --train FILE", "what training never showed"))
    result = next((path for path in saved if str(path).endswith(".json")), None)
    paged = any(str(path).endswith(".html") for path in saved)
    study = isinstance(document, Study)
    if result is not None and not paged:
        page = "study.html" if study else "report.html"
        steps.append((f"spanwise report {_quoted(result)} -o {page}", "interactive, one file"))
    elif result is not None and not study:
        steps.append((f"spanwise table {_quoted(result)} labels", "for a paper: LaTeX, Markdown or CSV"))
    elif not paged:
        page = "--json study.json" if study else "--html report.html"
        steps.append(
            (f"{wording.visible(again)} {page}", "to report it" if study else "interactive, one file")
        )
    if result is not None and study:
        steps.append((f"spanwise paper {_quoted(result)} -o paper/", "table, figure and tests in LaTeX"))
    if not full and (isinstance(document, Study) or len(document.systems) > 1):
        steps.append((f"{wording.visible(again)} --full", "all tables"))
    lines = heading("Next", "", width)
    for call, note in steps:
        if cell_len(call) + cell_len(note) + 7 <= width:
            gap = width - 4 - cell_len(call) - cell_len(note)
            lines.append([(f"  {call}", ""), (" " * gap, ""), (note, "faint")])
        else:
            lines += command_lines(call, width, indent=2)
    return lines


def _errors_to_read(document: Evaluation, command: str) -> Iterator[tuple[str, str]]:
    """The command that shows the errors of the system that the findings are about."""
    first = _first_system(document)
    call = "" if first is None else errors_command(document, first, command=command)
    if first is not None and call:
        costly = next((row for row in document.findings if row.kind == "gain" and row.system == first), None)
        if costly is None:
            chosen, number = _largest_confusion(document.systems[first].confusion)
        else:
            chosen = f" --kind {_quoted(wording.OUTCOMES[costly.path[1]])}"
            number = int(costly.count or 0)
        yield f"{call}{chosen}", wording.plural(number, "error") if chosen else "every error in its sentence"


def command_lines(command: str, width: int, *, indent: int = 4, rest: int = 4) -> list[ScreenLine]:
    """A command, wrapped so that it still runs when it is pasted.

    Args:
        indent: the indentation of the first line.
        rest: that of all others.

    Examples:
        >>> for line in command_lines("spanwise errors r.json --pattern 'stops before of'", 30):
        ...     print("".join(piece for piece, _ in line))
            spanwise errors r.json \\
            --pattern \\
            'stops before of'
    """
    # Wrapped with the shell's line continuation, which is not one inside quotes. A word that is too long
    # for a line goes on at the start of the next one, since a blank would end it. Options stay with their
    # values if possible.
    lines: list[str] = []
    words = _WORD.findall(command)
    for word, value in zip(words, [*words[1:], "-"], strict=True):
        with_value = word.startswith("-") and not value.startswith("-")
        together = f"{word} {value}" if with_value else word
        if lines and cell_len(lines[-1]) + cell_len(together) + 3 <= width:
            lines[-1] += f" {word}"
        else:
            first, *others = _chunks(word, width - max(indent, rest) - 2)
            lines += [" " * (rest if lines else indent) + first, *others]
    return [
        [(line, ""), *([(_joint(line, lines[at]), "")] if at < len(lines) else [])]
        for at, line in enumerate(lines, start=1)
    ]


_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|\\.|\S)+""")  # a word of a command, with what it quotes


def _joint(line: str, following: str) -> str:
    """The end of a wrapped line: a blank ends the last word unless the next line continues it."""
    return " \\" if following.startswith(" ") else "\\"


def _chunks(word: str, width: int) -> list[str]:
    """A word of a command in parts of at most `width` cells, each quoted for the shell."""
    if cell_len(word) <= width:
        return [word]
    try:
        value = "".join(shlex.split(word))
    except ValueError:  # an open quote
        value = word
    chunks = [""]
    for character in value:
        if cell_len(shlex.quote(chunks[-1] + character)) > width:
            chunks.append("")
        chunks[-1] += character
    return [shlex.quote(chunk) for chunk in chunks]


def _first_system(document: Evaluation) -> str | None:
    """The system that the findings are about, else the first one."""
    for finding in document.findings:
        if finding.kind != "alias" and finding.system in document.systems:
            return finding.system
    return next(iter(document.systems), None)


def _largest_confusion(table: Confusion) -> tuple[str, int]:
    """The options that select the most frequent confusion of two labels, and its number of errors."""
    cells = [
        (number, gold, predicted)
        for gold, row in zip(table.labels, table.counts, strict=True)
        for predicted, number in zip(table.labels, row, strict=True)
        if gold != predicted and number
    ]
    if not cells:
        return "", 0
    number, gold, predicted = max(cells, key=lambda cell: cell[0])
    return f" --gold {_quoted(gold)} --predicted {_quoted(predicted)}", number


def footer(
    document: Document, width: int, saved: Sequence[str], signature: Literal["short", "long"] = "short"
) -> list[ScreenLine]:
    """The saved files and the signature: all settings, or only those that differ from their defaults."""
    lines: list[ScreenLine] = [[]]
    if saved:
        lines += flow([text(f"saved {path}" if i == 0 else path) for i, path in enumerate(saved)], width)
    if document.signature:
        # Wrapped after separators, so that a copied signature is intact once line breaks are removed.
        settings = short_signature(document.signature) if signature == "short" else document.signature
        parts = pieces(settings, width - 2)
        lines += flow([[(piece, "faint")] for piece in parts], width, join="")
    return lines if len(lines) > 1 else []
