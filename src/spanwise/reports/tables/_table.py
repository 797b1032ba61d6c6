"""A table of texts and formatted numbers, which can be written as LaTeX, Markdown and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from spanwise.spreadsheet import to_csv
from spanwise.views import Section
from spanwise.views.cells import Cell as ViewCell
from spanwise.views.cells import Interval, Number, ShareBar, text_of
from spanwise.views.cells import PaperCell as Cell
from spanwise.views.wording import UNDEFINED, defined, visible

# ---- LaTeX that compiles unchanged, on a page of any width -----------------------------------------


_NARROW = 40  # characters that fit one column of a two-column page
_WIDE = 80  # characters above which long titles are rotated
_LONG = 40  # rows that fit on one page
_TINY = 125  # characters in the smallest font that fit on a page
_SIZES = (
    (85, "\\footnotesize"),
    (100, "\\scriptsize"),
)  # the font sizes at which this many characters fit on a page

_SIGNS = {
    "\\": "\\textbackslash{}",
    "{": "\\{",
    "}": "\\}",
    "$": "\\$",
    "&": "\\&",
    "#": "\\#",
    "%": "\\%",
    "_": "\\_",
    "^": "\\textasciicircum{}",
    "~": "\\textasciitilde{}",
    "`": "\\textasciigrave{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    '"': "\\texttt{\\symbol{34}}",  # the usual fonts have only curly ones
    "[": "{[}",  # after a line break, a bracket would be read as its optional argument,
    "]": "{]}",
    "*": "{*}",  # and a star as part of the command
    "−": "$-$",
    "±": "$\\pm$",
    "×": "$\\times$",
    "→": "$\\rightarrow$",
    "←": "$\\leftarrow$",
    "↔": "$\\leftrightarrow$",
    "≤": "$\\leq$",
    "≥": "$\\geq$",
    "≠": "$\\neq$",
    "≈": "$\\approx$",
    "∞": "$\\infty$",
    "·": "$\\cdot$",
    "–": "--",
    "…": "\\ldots{}",
    "α": "$\\alpha$",
    "β": "$\\beta$",
    "γ": "$\\gamma$",
    "ζ": "$\\zeta$",
    "κ": "$\\kappa$",
    "ρ": "$\\rho$",
    "σ": "$\\sigma$",
    "Δ": "$\\Delta$",
    **{sign: f"$^{{{digit}}}$" for digit, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    "⁻": "$^{-}$",
    "⟨": "\\textless{}",
    "⟩": "\\textgreater{}",
}
_JOINING = "-–',"  # two in a row would become a ligature
# What pdfLaTeX typesets without further packages: Latin-1 except these, and some typographic signs.
_UNKNOWN = "«»ÐÞðþ"
_KNOWN = frozenset("—‘’“”„†‡•€™") | {chr(code) for code in range(0xA1, 0x100)} - {*_UNKNOWN, "\xad"}


def latex(text: str) -> str:
    """Escape text so that LaTeX typesets it literally, whatever it contains.

    Characters that need a special font, such as Chinese ones, are left as they are.

    Examples:
        >>> print(latex("50% of R&D -- \\\\input{x}"))
        50\\% of R\\&D -{}- \\textbackslash{}input\\{x\\}
    """
    written = []
    previous = " "
    for character in _plain(text):
        separator = "{}" if character in _JOINING and previous in _JOINING else ""
        written.append(separator + _SIGNS.get(character, character))
        previous = character
    return "".join(written)


def _plain(text: str) -> str:
    # TeX's fonts have no glyphs for control pictures, so show their code points.
    return re.sub("[\u2400-\u2426]", lambda match: f"⟨U+{ord(match[0]) - 0x2400:04X}⟩", visible(text))


def typeset(
    name: str,
    caption: str,
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numeric: Sequence[bool],
    widths: Sequence[int],
) -> str:
    """A LaTeX table from cells that are LaTeX already, with titles and a caption in plain text.

    A table that may be too wide is shrunk to the line width if necessary; if its titles make it wide,
    those of numeric columns are rotated. A table longer than a page is split over several pages.
    `widths` are the lengths of the longest cell in each column, in characters.
    """
    long = len(rows) > _LONG
    excess = [len(title) - width for title, width in zip(titles, widths, strict=True)]
    wide = sum(widths) + sum(max(more, 0) + 2 for more in excess)
    upright = wide > _WIDE and any(more > 2 for more, number in zip(excess, numeric, strict=True) if number)
    rotated = [number and upright for number in numeric]
    head = ["\\toprule", _row(map(_title, titles, rotated)), "\\midrule"]
    columns = "".join("r" if number else "l" for number in numeric)
    label = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    named = [f"\\caption{{{latex(caption)}}}", f"\\label{{tab:{label}}}"]
    body = [_row(row) for row in rows]
    if long and wide > _SIZES[-1][0]:
        columns = _wrapped(titles, numeric, widths, wide)
    lines = (_over_pages if long else _floating)(columns, head, body, named, wide)
    boxed = upright or (wide > _NARROW and not long)
    packages = ["booktabs", *(["graphicx"] if boxed else []), *(["longtable"] if long else []), "xcolor"]
    return "\n".join([f"% needs \\usepackage{{{','.join(packages)}}}", *_fonts(lines), *lines]) + "\n"


def _title(text: str, upright: bool) -> str:
    return f"\\rotatebox{{90}}{{{latex(text)}}}" if upright else latex(text)


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + " \\\\"


def _floating(
    columns: str, head: Sequence[str], body: Sequence[str], named: Sequence[str], wide: int
) -> list[str]:
    tabular = [f"\\begin{{tabular}}{{{columns}}}", *head, *body, "\\bottomrule", "\\end{tabular}"]
    if wide > _NARROW:
        fitting = "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%"
        tabular = [fitting, *tabular[:-1], tabular[-1] + "}"]
    return ["\\begin{table}[t]", "\\centering", *tabular, *named, "\\end{table}"]


def _wrapped(titles: Sequence[str], numeric: Sequence[bool], widths: Sequence[int], wide: int) -> str:
    """The column specification, with the longest text column wrapped so that the table fits on a page."""
    room = _TINY * 0.8  # leave some room, as letters differ in width
    lengths = [0 if number else width for number, width in zip(numeric, widths, strict=True)]
    longest = lengths.index(max(lengths))
    rest = wide - max(len(titles[longest]), widths[longest]) - 2
    share = max(0.1, (room - rest) / _TINY)
    kinds = ["r" if number else "l" for number in numeric]
    kinds[longest] = f"p{{{share:.2f}\\linewidth}}"
    return "".join(kinds)


def _over_pages(
    columns: str, head: Sequence[str], body: Sequence[str], named: Sequence[str], wide: int
) -> list[str]:
    # A table that spans pages cannot be scaled afterwards, so it is set in a small font.
    size = next((size for most, size in _SIZES if wide <= most), "\\tiny")
    # Nor can it be in a two-column layout: switch to one column, and back after the table.
    alone = (
        "\\makeatletter\\let\\columnsagain\\relax"
        "\\if@twocolumn\\onecolumn\\let\\columnsagain\\twocolumn\\fi\\makeatother"
    )
    return [
        f"\\begingroup{alone}",
        f"{size}\\setlength{{\\tabcolsep}}{{3pt}}",
        f"\\begin{{longtable}}{{{columns}}}",
        "".join(named) + "\\\\",
        *head, "\\endfirsthead", *head, "\\endhead", "\\bottomrule", "\\endfoot",
        *body,
        "\\end{longtable}",
        "\\columnsagain\\endgroup",
    ]  # fmt: skip


def _fonts(lines: Iterable[str]) -> list[str]:
    """A comment about the characters that need a special font, if there are any."""
    foreign = sorted({letter for line in lines for letter in line if not letter.isascii()} - _KNOWN)
    if not foreign:
        return []
    some = " ".join(foreign[:10]) + (" …" if len(foreign) > 10 else "")
    return [f"% {some} need a font that has them: \\usepackage[T1]{{fontenc}}, or LuaLaTeX with fontspec"]


# ---- tables ----------------------------------------------------------------------------------------


class Table(Struct, frozen=True):
    """Rows of cells under a header, with a caption that explains the numbers."""

    name: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def to_latex(self) -> str:
        """A `table` or `longtable` environment, whose first line names the packages it needs.

        Examples:
            >>> table = Table("t", "F1.", ("system", "F1"), (("crf", Number(0.5, "50.0", best=True)),))
            >>> print(table.to_latex().splitlines()[7])
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
            *(_markdown_row([_markdown_cell(cell) for cell in row]) for row in self.rows),
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

    def _width(self, index: int) -> int:
        return max((len(text_of(row[index])) for row in self.rows), default=0)

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
    kept = [
        at for at in range(len(table.columns)) if not any(isinstance(row[at], ShareBar) for row in table.rows)
    ]
    header = tuple(table.columns[at].title for at in kept)
    rows = tuple(tuple(_plain_cell(row[at]) for at in kept) for row in table.rows)
    return Table(section.name, section.caption or section.note or str(section.title), header, rows)


def _plain_cell(cell: ViewCell) -> Cell:
    return cell if isinstance(cell, (str, Number, Interval)) else text_of(cell)


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
