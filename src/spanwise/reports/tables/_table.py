"""A table of texts and formatted numbers, which can be written as LaTeX, Markdown and CSV."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from math import ceil

from msgspec import Struct
from msgspec.structs import replace

from spanwise.reports.tables._latex import TexColumn, latex, typeset
from spanwise.spreadsheet import to_csv
from spanwise.views import Section
from spanwise.views.cells import Cell as ViewCell
from spanwise.views.cells import Interval, Number, ShareBar, Strip, rounded, text_of
from spanwise.views.cells import PaperCell as Cell
from spanwise.views.wording import UNDEFINED, defined, visible

# ---- tables ----------------------------------------------------------------------------------------


class Table(Struct, frozen=True):
    """Rows of cells under a header, with a caption that explains the numbers."""

    name: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def rounded(self, decimals: int) -> Table:
        """The table with scores and differences rounded to so many decimals.

        Examples:
            >>> table = Table("t", "F1.", ("system", "F1"), (("crf", Number(0.5, "50.0")),))
            >>> text_of(table.rounded(2).rows[0][1])
            '50.00'
        """
        rows = tuple(tuple(rounded(cell, decimals) for cell in row) for row in self.rows)
        return replace(self, rows=rows)

    def without_rare(self, least: float) -> Table:
        """The table without subsets that hold less than a share of their dataset's gold mentions.

        Tables that do not count gold mentions of subsets are returned as they are. ALL counts all mentions.

        Examples:
            >>> rows = (("ALL", Number(200, "")), ("SEEN", Number(199, "")), ("TCM-ALL", Number(1, "")))
            >>> table = Table("tough", "Recall.", ("subset", "gold"), rows)
            >>> [row[0] for row in table.without_rare(0.01).rows]
            ['ALL', 'SEEN']
        """
        counted = next((at for at, title in enumerate(self.header) if title in ("gold", "all")), None)
        if "subset" not in self.header or counted is None:
            return self
        named = self.header.index("subset")
        totals = {row[:named]: _value(row[counted]) for row in self.rows if row[named] == "ALL"}
        rows = tuple(row for row in self.rows if _value(row[counted]) >= least * totals.get(row[:named], 0))
        note = f" Subsets with less than {100 * least:g} % of the mentions are left out."
        return replace(self, rows=rows, caption=self.caption + (note if len(rows) < len(self.rows) else ""))

    def to_latex(self, *, wide: bool = False) -> str:
        """A `table`, `table*` or `longtable` environment, whose first line names the packages it needs.

        Rows without any number are left out, and repeated names in the first column become headings.

        Args:
            wide: whether to use both columns of the page even if one is enough.

        Examples:
            >>> table = Table("t", "F1.", ("system", "F1"), (("crf", Number(0.5, "50.0", best=True)),))
            >>> print(table.to_latex().splitlines()[7])
            crf & \\textbf{50.0} \\\\
        """
        shown = self._with_numbers()
        groups = shown._groups()
        columns = [shown._tex_column(at) for at in range(bool(groups), len(self.header))]
        return typeset(self.name, self.caption, columns, groups, wide=wide)

    def without_empty_columns(self) -> Table:
        """The table without columns whose numbers are all undefined.

        Examples:
            >>> rows = (("news", Number(None, "n/a"), Number(4, "4")),)
            >>> Table("data", "", ("dataset", "documents", "labels"), rows).without_empty_columns().header
            ('dataset', 'labels')
        """
        kept = [at for at in range(len(self.header)) if not _is_empty([row[at] for row in self.rows])]
        header = tuple(self.header[at] for at in kept)
        return replace(self, header=header, rows=tuple(tuple(row[at] for at in kept) for row in self.rows))

    def _with_numbers(self) -> Table:
        """The table without rows whose numbers are all undefined; as it is if no row would be left."""
        rows = tuple(row for row in self.rows if not _is_empty(row))
        return replace(self, rows=rows) if rows else self

    def _groups(self) -> list[str]:
        """The name in the first column of each row, if most rows repeat that of the row above."""
        if len(self.header) < 3 or not all(isinstance(row[0], str) for row in self.rows):
            return []
        names = [text_of(row[0]) for row in self.rows]
        distinct = [name for name, _ in groupby(names)]
        return names if len(set(names)) == len(distinct) <= len(names) / 2 else []

    def _tex_column(self, at: int) -> TexColumn:
        cells = [row[at] for row in self.rows]
        return TexColumn(
            title=self.header[at],
            cells=tuple(map(_latex_cell, cells)),
            width=max(map(_typeset_width, cells), default=0),
            numeric=self._numeric(at),
        )

    def to_markdown(self) -> str:
        """A pipe table, followed by its caption.

        Examples:
            >>> print(Table("t", "F1.", ("system", "F1"), (("a|b", Number(None, "n/a")),)).to_markdown())
            | system | F1 |
            | :-- | --: |
            | a\\|b | n/a |
            <BLANKLINE>
            F1.
            <BLANKLINE>
        """
        rule = ["--:" if self._numeric(index) else ":--" for index in range(len(self.header))]
        lines = [
            _markdown_row([markdown(title) for title in self.header]),
            _markdown_row(rule),
            *(_markdown_row([_markdown_cell(cell) for cell in row]) for row in self._with_numbers().rows),
            "",
            markdown(self.caption),
        ]
        return "\n".join(lines) + "\n"

    def to_csv(self) -> str:
        """Comma-separated values with unrounded numbers, as fractions, and letters in separate columns.

        Text that a spreadsheet would take for a formula is prefixed with an apostrophe.

        Examples:
            >>> print(Table("t", "", ("system",), (("=1+1",),)).to_csv().splitlines()[1])
            '=1+1
        """
        columns = [self._parts(index) for index in range(len(self.header))]
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

    def _numeric(self, index: int) -> bool:
        return any(isinstance(row[index], Number) for row in self.rows)

    def _parts(self, index: int) -> list[str]:
        """The suffixes of the CSV columns that one column is split into."""
        cells = [row[index] for row in self.rows]
        if any(isinstance(cell, Interval) for cell in cells):
            return ["low", "high"]
        numbers = [cell for cell in cells if isinstance(cell, Number)]
        std = ["std"] if any(number.std is not None for number in numbers) else []
        return ["", *std, *(["letters"] if any(number.letters for number in numbers) else [])]


def paper(section: Section) -> Table | None:
    """The table of a section; drawings and their columns are left out."""
    table = section.table
    if table is None:
        return None
    drawn = (ShareBar, Strip)
    kept = [
        at for at in range(len(table.columns)) if not any(isinstance(row[at], drawn) for row in table.rows)
    ]
    header = tuple(table.columns[at].paper or table.columns[at].title for at in kept)
    rows = tuple(tuple(_plain_cell(row[at]) for at in kept) for row in table.rows)
    return Table(section.name, section.caption or section.note or str(section.title), header, rows)


def _plain_cell(cell: ViewCell) -> Cell:
    if isinstance(cell, Number) and cell.spread:
        return replace(cell, text=text_of(cell), spread="")
    return cell if isinstance(cell, str | Number | Interval) else text_of(cell)


def _is_empty(row: Sequence[Cell]) -> bool:
    """Whether a row or a column has numbers, none of which is defined."""
    values = [
        value
        for cell in row
        for value in (
            [cell.value] if isinstance(cell, Number) else cell.ends if isinstance(cell, Interval) else []
        )
    ]
    return bool(values) and not any(value is not None and defined(value) for value in values)


_BOLD = 1.15  # the width of bold type in relation to that of other type


def _typeset_width(cell: Cell) -> int:
    """The width of a cell in characters, with its raised letters."""
    if not isinstance(cell, Number):
        return len(text_of(cell))
    return ceil(len(text_of(cell)) * (_BOLD if cell.best else 1)) + len(cell.letters)


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
    """Escape text so that Markdown shows it literally: no markup, HTML, links or user mentions."""
    # Escape only what could start an entity, a tag or a quotation: "< 0.001" stays readable in the source.
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


def _value(cell: Cell) -> float:
    """The number in a cell; 0 where there is none."""
    return cell.value or 0 if isinstance(cell, Number) else 0
