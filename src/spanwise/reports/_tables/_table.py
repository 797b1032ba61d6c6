"""A table of texts and formatted numbers, and how it is written in LaTeX, Markdown and CSV."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from spanwise.reports._tables._latex import latex, typeset
from spanwise.reports._wording import UNDEFINED, defined, visible
from spanwise.spreadsheet import to_csv


class Number(Struct, frozen=True):
    """A number as the document has it, and as a reader sees it.

    Attributes:
        value: what CSV gets, in full; None where it is undefined.
        text: what LaTeX and Markdown get, rounded.
        best: it is the best of its column, shown bold.
        letters: of the systems it is significantly better than, shown raised.
        weak: its test did not reach its level, shown grey, in Markdown in brackets.
        std: its standard deviation over runs, a column of its own in CSV.
    """

    value: float | None
    text: str
    best: bool = False
    letters: str = ""
    weak: bool = False
    std: float | None = None


class Interval(Struct, frozen=True):
    """Both ends of an interval as the document has them, and as a reader sees them."""

    ends: tuple[float | None, float | None]
    text: str


Cell: TypeAlias = str | Number | Interval


class Table(Struct, frozen=True):
    """Rows of cells under a header, with a caption that says what the numbers are."""

    name: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def to_latex(self) -> str:
        """A `table` environment, or a `longtable`; its first line names the packages it needs.

        Examples:
            >>> made = Table("holistic", "F1.", ("system", "F1"), (("crf", Number(0.5, "50.0", best=True)),))
            >>> print(made.to_latex().splitlines()[7])
            crf & \\textbf{50.0} \\\\
        """
        return typeset(
            self.name,
            self.caption,
            self.header,
            [[_latex_cell(cell) for cell in row] for row in self.rows],
            numeric=list(map(self._numeric, range(len(self.header)))),
            widths=list(map(self._width, range(len(self.header)))),
        )

    def to_markdown(self) -> str:
        """A pipe table under its caption.

        Examples:
            >>> print(Table("t", "F1.", ("system", "F1"), (("a|b", Number(None, "n/a")),)).to_markdown())
            | system | F1 |
            | :-- | --: |
            | a\\|b | n/a |
            <BLANKLINE>
            F1.
            <BLANKLINE>
        """
        rule = ["--:" if self._numeric(at) else ":--" for at in range(len(self.header))]
        lines = [
            _markdown_row([markdown(title) for title in self.header]),
            _markdown_row(rule),
            *(_markdown_row([_markdown_cell(cell) for cell in row]) for row in self.rows),
            "",
            markdown(self.caption),
        ]
        return "\n".join(lines) + "\n"

    def to_csv(self) -> str:
        """Comma-separated values with numbers in full, as fractions, and letters in columns of their own.

        A text that a spreadsheet would take for a formula is led by an apostrophe.

        Examples:
            >>> print(Table("t", "", ("system",), (("=1+1",),)).to_csv().splitlines()[1])
            '=1+1
        """
        columns = [self._parts(at) for at in range(len(self.header))]
        header = [
            visible(f"{title} {part}" if part else title)
            for title, parts in zip(self.header, columns, strict=True)
            for part in parts
        ]
        rows = (
            [_part(cell, part) for cell, parts in zip(row, columns, strict=True) for part in parts]
            for row in self.rows
        )
        return to_csv([header, *rows])

    def _numeric(self, at: int) -> bool:
        return any(isinstance(row[at], Number) for row in self.rows)

    def _width(self, at: int) -> int:
        return max((len(text_of(row[at])) for row in self.rows), default=0)

    def _parts(self, at: int) -> list[str]:
        """The columns that one column becomes in CSV."""
        cells = [row[at] for row in self.rows]
        if any(isinstance(cell, Interval) for cell in cells):
            return ["low", "high"]
        numbers = [cell for cell in cells if isinstance(cell, Number)]
        std = ["std"] if any(number.std is not None for number in numbers) else []
        return ["", *std, *(["letters"] if any(number.letters for number in numbers) else [])]


def text_of(cell: Cell) -> str:
    """What a reader sees of a cell, without its marks."""
    return cell if isinstance(cell, str) else cell.text


def _latex_cell(cell: Cell) -> str:
    if not isinstance(cell, Number):
        return latex(text_of(cell))
    text = latex(cell.text)
    if cell.best:
        text = f"\\textbf{{{text}}}"
    if cell.letters:
        text += f"$^{{\\mathrm{{{latex(cell.letters)}}}}}$"
    return f"\\textcolor{{gray}}{{{text}}}" if cell.weak else text


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def markdown(text: str) -> str:
    """Text that Markdown shows as it stands: no markup, no HTML, no links, no mentions of people."""
    # Only what could begin an entity, a tag or a quotation: "< 0.001" stays readable in the source.
    shown = re.sub(r"&(?=[#\w])", "&amp;", visible(text))
    shown = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", shown)
    shown = re.sub(r"^(\s*)>", r"\1&gt;", shown)
    shown = re.sub(r"([\\`*_{}\[\]#|~$])", r"\\\1", shown)
    return shown.replace("://", "&#58;//").replace("@", "&#64;").replace("www.", "www&#46;")


def _markdown_cell(cell: Cell) -> str:
    if not isinstance(cell, Number):
        return markdown(text_of(cell))
    text = markdown(cell.text)
    if cell.best:
        text = f"**{text}**"
    if cell.letters:
        text += f"<sup>{markdown(cell.letters)}</sup>"
    return f"({text})" if cell.weak else text


def _part(cell: Cell, part: str) -> float | str:
    if isinstance(cell, str):
        return "" if part else visible(cell)
    if isinstance(cell, Interval):
        return _full(cell.ends[part == "high"])
    if part == "letters":
        return cell.letters
    return _full(cell.std if part == "std" else cell.value)


def _full(value: float | None) -> float | str:
    return UNDEFINED if value is None or not defined(value) else value
