"""A table of texts and formatted numbers, and how it is written in LaTeX, Markdown and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from spanwise.reports._wording import UNDEFINED, defined, visible
from spanwise.spreadsheet import to_csv

# ---- LaTeX that typesets as it is, on a page of any width --------------------------------------


_NARROW = 40  # characters that fit one column of a page with two
_WIDE = 80  # characters above which long titles are set upright
_LONG = 40  # rows that fit one page
_TINY = 125  # characters of the smallest letters that fit a page
_SIZES = (
    (85, "\\footnotesize"),
    (100, "\\scriptsize"),
)  # the font sizes at which that many characters fit a page

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
    '"': "\\texttt{\\symbol{34}}",  # the usual fonts have only curved ones
    "[": "{[}",  # after a line end an open bracket would be its optional argument,
    "]": "{]}",
    "*": "{*}",  # and a star would be taken for a part of it
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
_JOINING = "-–',"  # two of them in a row would become one sign
# What pdfLaTeX sets without further packages: Latin-1 but for these, and some typographic signs.
_UNKNOWN = "«»ÐÞðþ"
_KNOWN = frozenset("—‘’“”„†‡•€™") | {chr(code) for code in range(0xA1, 0x100)} - {*_UNKNOWN, "\xad"}


def latex(text: str) -> str:
    """Text that LaTeX typesets literally, whatever is in it.

    Letters that need a font of their own, such as Chinese ones, stay what they are.

    Examples:
        >>> print(latex("50% of R&D -- \\\\input{x}"))
        50\\% of R\\&D -{}- \\textbackslash{}input\\{x\\}
    """
    written = []
    previous = " "
    for character in _plain(text):
        apart = "{}" if character in _JOINING and previous in _JOINING else ""
        written.append(apart + _SIGNS.get(character, character))
        previous = character
    return "".join(written)


def _plain(text: str) -> str:
    # Control pictures have no glyph in TeX's fonts; their code points are as clear.
    return re.sub("[\u2400-\u2426]", lambda found: f"⟨U+{ord(found[0]) - 0x2400:04X}⟩", visible(text))


def typeset(
    name: str,
    caption: str,
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numeric: Sequence[bool],
    widths: Sequence[int],
) -> str:
    """A table whose cells are LaTeX already, under titles and with a caption that are plain text.

    A table that may be too wide is shrunk to the line where it is wider; where titles make it wide,
    those of numbers are set upright. A table that is longer than a page goes over several pages.
    `widths` are the characters of the longest cell of each column.
    """
    long = len(rows) > _LONG
    gained = [len(title) - width for title, width in zip(titles, widths, strict=True)]
    wide = sum(widths) + sum(max(more, 0) + 2 for more in gained)
    upright = wide > _WIDE and any(more > 2 for more, number in zip(gained, numeric, strict=True) if number)
    turned = [number and upright for number in numeric]
    head = ["\\toprule", _row(map(_title, titles, turned)), "\\midrule"]
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
    """Columns of which the longest text is broken into lines, so that all of them fit a page."""
    most = _TINY * 0.8  # letters differ in width
    lengths = [0 if number else width for number, width in zip(numeric, widths, strict=True)]
    longest = lengths.index(max(lengths))
    rest = wide - max(len(titles[longest]), widths[longest]) - 2
    share = max(0.1, (most - rest) / _TINY)
    kinds = ["r" if number else "l" for number in numeric]
    kinds[longest] = f"p{{{share:.2f}\\linewidth}}"
    return "".join(kinds)


def _over_pages(
    columns: str, head: Sequence[str], body: Sequence[str], named: Sequence[str], wide: int
) -> list[str]:
    # What goes over pages cannot be shrunk once it is set, so it is set small.
    size = next((size for most, size in _SIZES if wide <= most), "\\tiny")
    # And it cannot be in one of two columns: it gets a page of its own, then columns begin again.
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
    """A comment on the letters that LaTeX has no glyphs for unless it is told of them."""
    foreign = sorted({letter for line in lines for letter in line if not letter.isascii()} - _KNOWN)
    if not foreign:
        return []
    some = " ".join(foreign[:10]) + (" …" if len(foreign) > 10 else "")
    return [f"% {some} need a font that has them: \\usepackage[T1]{{fontenc}}, or LuaLaTeX with fontspec"]


# ---- tables ----------------------------------------------------------------------------------------


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
    """Text that Markdown shows literally: no markup, no HTML, no links, no mentions of people."""
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
