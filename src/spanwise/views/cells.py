"""What a section is made of: typed cells in columns, sentences, charts and quoted sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from spanwise.views import wording

Surface: TypeAlias = Literal["screen", "page", "paper"]
EVERYWHERE: tuple[Surface, ...] = ("screen", "page", "paper")
SHOWN: tuple[Surface, ...] = ("screen", "page")  # in the layout of screens and pages
PAPER: tuple[Surface, ...] = ("paper",)  # LaTeX, Markdown, CSV and notebooks: one table over all systems
PAGE: tuple[Surface, ...] = ("page",)
SCREEN: tuple[Surface, ...] = ("screen",)


# ---- words -----------------------------------------------------------------------------------------


class Clause(Struct, frozen=True):
    """A text with names in place of each `{}`; pages isolate the names, which may run from right to left."""

    text: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text.format(*map(wording.visible, self.names))

    def __bool__(self) -> bool:
        return bool(self.text)


def words(text: str, *names: str) -> Clause:
    """A text with names in place of each `{}`.

    Examples:
        >>> str(words("Where {} is weak", "crf"))
        'Where crf is weak'
    """
    return Clause(text, names)


def literal(text: str) -> Clause:
    """A text as it is, whatever braces it has."""
    return Clause(text.replace("{", "{{").replace("}", "}}"))


def joined(parts: Sequence[Clause]) -> Clause:
    """Several texts as one, with a blank between them."""
    return Clause(" ".join(part.text for part in parts), tuple(name for part in parts for name in part.names))


# ---- cells -----------------------------------------------------------------------------------------


class Phrase(Struct, frozen=True):
    """A text in a style ("strong", "faint", "mark" or "score"); it may link to a place on the page."""

    text: str
    style: str = ""
    link: str = ""


class Number(Struct, frozen=True):
    """A number as it is in the document, and as it is shown to readers.

    Attributes:
        value: the unrounded number, for CSV; None if it is undefined.
        text: the rounded number, for all other surfaces.
        best: whether it is the best in its column, shown in bold.
        letters: the letters of the systems that it is significantly better than, shown raised.
        weak: whether its test was not significant, shown in grey, or in Markdown in brackets.
        std: its standard deviation over runs, in a separate column in CSV.
        spread: the deviation as shown after the number; empty if `text` has it, or if there is none.
        style: how screens and pages show it, as for `Phrase`.
    """

    value: float | None
    text: str
    best: bool = False
    letters: str = ""
    weak: bool = False
    std: float | None = None
    style: str = ""
    spread: str = ""


class Interval(Struct, frozen=True):
    """Both ends of an interval as they are in the document, and as they are shown to readers.

    `mark` follows on screens and pages, where its meaning is explained.
    """

    ends: tuple[float | None, float | None]
    text: str
    style: str = ""
    mark: str = ""


class Phrases(Struct, frozen=True):
    """Several texts in one cell, each in its style; `caution` stands before them, except in papers."""

    parts: tuple[Phrase, ...]
    caution: str = ""


class Strip(Struct, frozen=True):
    """A score and its interval, drawn on the axis of the column; papers leave it out."""

    value: float | None
    ends: Sequence[float | None] | None


class ShareBar(Struct, frozen=True):
    """A bar that fills a share of its column; papers leave it out."""

    share: float
    style: str = "mark"


class NamedNumbers(Struct, frozen=True):
    """Names with numbers, one after another: as many as fit on a screen, all on a page.

    The names are faint, or with `strong` the numbers bold.
    """

    pairs: tuple[tuple[str, str], ...]
    strong: bool = False


class QuotePiece(Struct, frozen=True):
    """A piece of a quoted sentence; `state` is how it is drawn, and empty for plain text."""

    text: str
    state: str = ""
    label: str = ""


class MarkedText(Struct, frozen=True):
    """A sentence with marked mentions, and where it is from."""

    pieces: tuple[QuotePiece, ...]
    source: str = ""


PaperCell: TypeAlias = str | Number | Interval  # what can be typeset, and written as CSV
Cell: TypeAlias = PaperCell | Phrase | Phrases | ShareBar | Strip | NamedNumbers | MarkedText


def points(value: float | None, style: str = "") -> Number:
    """A score in points."""
    return Number(value, wording.points(value), style=style)


def signed(value: float | None, style: str = "") -> Number:
    """A difference in points."""
    return Number(value, wording.signed(value), style=style)


def interval(
    ends: Sequence[float | None] | None, *, differs: bool = False, style: str = "", mark: str = ""
) -> Interval:
    """An interval of a score, or of a difference."""
    low, high = ends or (None, None)
    return Interval(
        (low, high), wording.signed_interval(ends) if differs else wording.interval(ends), style, mark
    )


def count(value: float | None) -> Number:
    """A number of mentions."""
    return Number(value, wording.count(value))


def percent(value: float | None, style: str = "") -> Number:
    """A share in percent."""
    return Number(value, wording.percent(value), style=style)


def p_value(value: float | None) -> Number:
    """A p-value."""
    return Number(value, wording.p_value(value))


def decimal(value: float | None, style: str = "") -> Number:
    """A coefficient with three decimals."""
    shown = wording.UNDEFINED if value is None else f"{value:.3f}"
    return Number(value, shown.replace("-", wording.MINUS), style=style)


def rounded(cell: PaperCell, decimals: int) -> PaperCell:
    """The cell with points rounded to so many decimals; counts, coefficients and p-values stay as they are.

    Examples:
        >>> rounded(points(0.92163), 2).text, rounded(count(12), 2).text
        ('92.16', '12')
        >>> rounded(Number(0.01163, "+1.2 ±0.1", std=0.00062), 2).text
        '+1.16 ±0.06'
    """
    if isinstance(cell, Number):
        forms = (wording.points, wording.signed)
        texts = {_around(form, cell, 1): _around(form, cell, decimals) for form in reversed(forms)}
        return replace(cell, text=texts.get(cell.text, cell.text))
    if isinstance(cell, Interval):
        both = (wording.interval, wording.signed_interval)
        text = next(
            (form(cell.ends, decimals) for form in both if form(cell.ends, 1) == cell.text), cell.text
        )
        return replace(cell, text=text)
    return cell


def _around(form: Callable[[float | None, int], str], number: Number, places: int) -> str:
    """The number, followed by its deviation over runs if it has one."""
    around = f" ±{wording.points(number.std, places)}" if wording.defined(number.std) else ""
    return form(number.value, places) + around


def text_of(cell: Cell) -> str:
    """The text of a cell as it is shown to readers, without marks."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, ShareBar | Strip):
        return ""
    if isinstance(cell, Number) and cell.spread:
        return f"{cell.text} ±{cell.spread}"
    if isinstance(cell, Phrases):
        return "".join(part.text for part in cell.parts)
    if isinstance(cell, NamedNumbers):
        return "  ".join(f"{name} {text}" for name, text in cell.pairs)
    if isinstance(cell, MarkedText):
        return "".join(piece.text for piece in cell.pieces).rstrip()
    return cell.text


# ---- blocks ----------------------------------------------------------------------------------------


class StripAxis(Struct, frozen=True):
    """What a column of strips is drawn on: the scores that it must reach, and the score that it marks."""

    reach: tuple[float, ...]
    mark: float | None = None


class Column(Struct, frozen=True):
    """One column: its title and how it adapts to the available width.

    Attributes:
        least: the minimum width on a screen, to which text is cut with `…`; drawings require it.
        most: the maximum width to which a drawing grows.
        rank: columns with the highest rank are dropped first; those with rank 0 are always kept.
        names: whether it holds names, which are cut in the middle because they differ at their ends.
        wide: the width from which a screen shows it at all.
        on: the surfaces that show it.
        paper: its title in papers, if that differs.
        axis: what its strips are drawn on.
        bare: whether screens leave out deviations over runs.
        place: the place of its system in the ranking, for a column about one of several systems.
        letter: the letter of that system, the title on screens if names do not fit.
        letters: how many letters of other systems a screen shows after a number.
    """

    title: str = ""
    right: bool = False
    style: str = ""
    least: int | None = None
    most: int = 0
    rank: int = 0
    names: bool = False
    wide: int = 0
    on: tuple[Surface, ...] = EVERYWHERE
    paper: str = ""
    axis: StripAxis | None = None
    bare: bool = False
    place: int | None = None
    letter: str = ""
    letters: int = 0


class Room(Struct, frozen=True):
    """How many columns about systems, or datasets, fit on a screen, which shows the first, or best, of them.

    The other columns take `first` cells, each system `each`; names of up to `title` cells are titles.
    """

    first: int
    each: int
    title: int
    kept: str = "best"
    noun: str = "systems"


class Grid(Struct, frozen=True):
    """Rows of cells in columns; a screen shows the first `most` rows and says how many `noun` are left.

    `under` has a line for each row, or None: what a screen shows below the row. A screen divides the columns
    of a table with `split` into blocks that fit. The rows of a `sifted` table can be chosen on a page by
    their first cell, and by words.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    most: int | None = None
    noun: str = ""
    indent: int = 2  # on a screen
    on: tuple[Surface, ...] = EVERYWHERE
    room: Room | None = None
    under: Sequence[Flow | None] = ()
    sifted: bool = False
    split: bool = False

    def shown_on(self, surface: Surface) -> Grid:
        """The table with the columns that a surface shows."""
        at = [number for number, column in enumerate(self.columns) if surface in column.on]
        if len(at) == len(self.columns):
            return self
        return replace(
            self,
            columns=[self.columns[number] for number in at],
            rows=[[row[number] for number in at] for row in self.rows],
        )


COMMAND = "command"  # the style of a command, which runs if it is pasted


class Paragraphs(Struct, frozen=True):
    """Sentences, one paragraph each."""

    texts: tuple[Clause, ...]
    style: str = ""
    indent: int = 2


class Flow(Struct, frozen=True):
    """Short texts one after another; a line ends only between two of them."""

    parts: Sequence[Sequence[Phrase]]
    join: str = " · "
    indent: int = 2
    tails: bool = False  # whether a text of more than half a line is cut at its start, as paths are


class Chart(Struct, frozen=True):
    """A chart of the page, by its name; `key` says whether it needs a key of the systems' colours."""

    name: str
    key: bool = False


class Quote(Struct, frozen=True):
    """A sentence with marked mentions: where it is from, remarks on it, and how each side reads it."""

    source: str
    chips: tuple[str, ...]
    readings: tuple[tuple[str, tuple[QuotePiece, ...]], ...]
    evidence: str = ""


class Arc(Struct, frozen=True):
    """A line between two spans of a drawn sentence, or a mark on one span if both are the same."""

    start: int  # the number of the span it leaves
    end: int
    label: str
    right: bool


class ArcSide(Struct, frozen=True):
    """The spans of one side, as first token, end, label and whether they are right, and the arcs between."""

    spans: tuple[tuple[int, int, str, bool], ...]
    arcs: tuple[Arc, ...]


class ArcQuote(Struct, frozen=True):
    """A sentence with two sets of spans and arcs, gold above and a system below, and what each arc is."""

    source: str
    tokens: tuple[str, ...]
    above: ArcSide
    below: ArcSide
    remarks: tuple[tuple[bool, str, str], ...]  # whether it is right, what it is, and what happened to it


class PromptQuote(Struct, frozen=True):
    """What a model was asked and answered, where its answers are in the text, and what became of each."""

    source: str
    status: str
    asked: str
    answered: str
    pieces: tuple[QuotePiece, ...]
    outcomes: tuple[tuple[str, str, str], ...]  # text, label, outcome
    about: str = ""  # the text of the unit
    unfolded: bool = False  # whether a page shows it at once


Block: TypeAlias = Grid | Paragraphs | Flow | Chart | Quote | ArcQuote | PromptQuote


def note(text: str, style: str = "", indent: int = 2) -> Paragraphs:
    """One sentence as it is."""
    return Paragraphs((literal(text),), style, indent)


def more(left: int, noun: str = "") -> tuple[Flow, ...]:
    """That a list leaves out some of its rows; nothing if it does not."""
    text = f"… and {left} more{noun and f' {noun}'}, all in the JSON"
    return (Flow([[Phrase(text, "faint")]]),) if left > 0 else ()


def matrix(title: str, names: Iterable[str], rows: Sequence[Sequence[Cell]]) -> Grid:
    """Named rows with a column for each system or dataset, in as many blocks as a screen needs."""
    columns = [Column(title, least=12), *(Column(name, right=True, least=8) for name in names)]
    return Grid(columns, rows, on=SHOWN if rows else (), split=True)


def table(
    titles: Sequence[str], rows: Sequence[Sequence[Cell]], on: tuple[Surface, ...] = EVERYWHERE
) -> Grid:
    """Rows under titles, with numbers to the right."""
    numeric = [any(isinstance(row[at], Number) for row in rows) for at in range(len(titles))]
    columns = [Column(title, right) for title, right in zip(titles, numeric, strict=True)]
    return Grid(columns, rows, on=on)
