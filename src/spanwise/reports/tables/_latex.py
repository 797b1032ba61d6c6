"""LaTeX that compiles unchanged, whatever a text contains, and tables that fit the columns of a paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap

from msgspec import Struct

from spanwise.views.wording import visible

COLUMN = 219.0  # points: a column of a two-column paper, 7.7 cm
PAGE = 455.0  # points: both columns and what is between them, 16 cm
_LONG = 40  # rows that fit on one page
# The sizes of type to try, from large to small, with half of the space between columns; in points, because
# what \scriptsize and the like mean depends on the document.
_SIZES = ((10.0, 6.0), (9.0, 4.0), (8.0, 3.5), (7.0, 3.0))
_DIGIT = 0.51  # the width of a digit in relation to the size of type
_LETTER = 1.1  # the width of letters in relation to that of digits
_TEXT = 70.0  # points: the minimum width of a column of text that is broken into lines

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


class TexColumn(Struct, frozen=True):
    """A column of LaTeX cells under a title; `width` is that of the longest cell, in characters."""

    title: str
    cells: tuple[str, ...]
    width: int
    numeric: bool

    @property
    def head(self) -> tuple[str, ...]:
        """The title in lines that are not much wider than the numbers below it."""
        if not self.numeric:
            return (self.title,)
        longest = max(map(len, self.title.split()), default=0)
        return tuple(wrap(self.title, max(self.width, longest), break_long_words=False)) or ("",)

    @property
    def characters(self) -> float:
        """The width of the column in digits; letters are a little wider."""
        texts = [*map(len, self.head), 0 if self.numeric else self.width]
        return max(self.width, _LETTER * max(texts))


class _Setting(Struct, frozen=True):
    """How a table is set: in which size, over one or both columns of the page, in which parts.

    `text` is the width in points of the column of text that is broken into lines, by its index.
    """

    size: tuple[float, float]
    wide: bool
    panels: tuple[tuple[TexColumn, ...], ...]
    text: tuple[int, float] | None = None


def typeset(
    name: str, caption: str, columns: Sequence[TexColumn], groups: Sequence[str] = (), *, wide: bool = False
) -> str:
    """A LaTeX table that fits a column of a two-column paper or, if it must, the page.

    The size of type is reduced down to 7 points, then both columns of the page are used, then the longest
    text is broken into lines, then the columns of numbers are divided into parts, one below another. Nothing
    is scaled. A table longer than a page is spread over several pages.

    Args:
        columns: cells that are LaTeX already, with titles in plain text.
        groups: the name of each row's group, in plain text, which is written above its rows.
        wide: whether to use both columns in any case.
    """
    rows = len(columns[0].cells)
    long = rows > _LONG
    setting = _setting(columns, wide=wide or long)
    label = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    named = [f"\\caption{{{latex(caption)}}}", f"\\label{{tab:{label}}}"]
    lines = list((_over_pages if long else _floating)(setting, groups, named))
    packages = ["booktabs", *(["longtable"] if long else []), "xcolor"]
    return "\n".join([f"% needs \\usepackage{{{','.join(packages)}}}", *_fonts(lines), *lines]) + "\n"


def _setting(columns: Sequence[TexColumn], *, wide: bool) -> _Setting:
    whole = (tuple(columns),)
    for both in (False, True)[wide:]:
        room = PAGE if both else COLUMN
        for size in _SIZES:
            if _points(columns, size) <= room:
                return _Setting(size, both, whole)
        for size in _SIZES[1:]:
            broken = _broken(columns, size, room)
            if broken is not None:
                return _Setting(size, both, whole, broken)
    return _Setting(_SIZES[-1], True, tuple(_panels(columns, _SIZES[-1])))


def _points(columns: Iterable[TexColumn], size: tuple[float, float]) -> float:
    """The width of a table, in points."""
    letter, gap = size
    return sum(_DIGIT * letter * column.characters + 2 * gap for column in columns)


def _broken(columns: Sequence[TexColumn], size: tuple[float, float], room: float) -> tuple[int, float] | None:
    """The longest column of text and the width left for it; None if that is too narrow."""
    texts = [at for at, column in enumerate(columns) if not column.numeric]
    if not texts:
        return None
    longest = max(texts, key=lambda at: columns[at].characters)
    left = room - _points([column for at, column in enumerate(columns) if at != longest], size) - 2 * size[1]
    # Short names are not broken to make room for numbers.
    needed = min(2 * _TEXT, _DIGIT * size[0] * columns[longest].characters / 2)
    return (longest, left) if left >= max(_TEXT, needed) else None


def _panels(columns: Sequence[TexColumn], size: tuple[float, float]) -> Iterator[tuple[TexColumn, ...]]:
    """The columns in parts that fit the page; each begins with the columns that name the rows."""
    first = next((at for at, column in enumerate(columns) if column.numeric), len(columns))
    names, part = list(columns[:first]), list[TexColumn]()
    for column in columns[first:]:
        if part and _points([*names, *part, column], size) > PAGE:
            yield (*names, *part)
            part = []
        part.append(column)
    yield (*names, *part)


def _kinds(columns: Sequence[TexColumn], text: tuple[int, float] | None) -> str:
    kinds = ["r" if column.numeric else "l" for column in columns]
    if text is not None:
        kinds[text[0]] = f"p{{{text[1]:.0f}pt}}"
    return "".join(kinds)


def _head(columns: Sequence[TexColumn]) -> list[str]:
    return ["\\toprule", _row(map(_title, columns)), "\\midrule"]


def _title(column: TexColumn) -> str:
    lines = [latex(line) for line in column.head]
    return lines[0] if len(lines) == 1 else "\\shortstack[r]{" + "\\\\".join(lines) + "}"


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + " \\\\"


def _body(columns: Sequence[TexColumn], groups: Sequence[str]) -> Iterator[str]:
    """The rows; each group has its name above it, and a line between it and the group before."""
    for at, cells in enumerate(zip(*(column.cells for column in columns), strict=True)):
        if groups and (at == 0 or groups[at] != groups[at - 1]):
            if at:
                yield "\\midrule"
            yield f"\\multicolumn{{{len(columns)}}}{{l}}{{\\emph{{{latex(groups[at])}}}}} \\\\"
        yield _row(cells)


def _spacing(setting: _Setting) -> str:
    letter, gap = setting.size
    return f"\\fontsize{{{letter:g}}}{{{1.2 * letter:g}}}\\selectfont\\setlength{{\\tabcolsep}}{{{gap:g}pt}}"


def _floating(setting: _Setting, groups: Sequence[str], named: Sequence[str]) -> Iterator[str]:
    environment = "table*" if setting.wide else "table"
    yield f"\\begin{{{environment}}}[t]"
    yield f"\\centering{_spacing(setting)}"
    for at, columns in enumerate(setting.panels):
        if at:
            yield "\\par\\medskip"
        # A page with one narrow column may be narrower than both columns of a paper.
        yield ("\\makebox[\\linewidth]{" if setting.wide else "") + (
            f"\\begin{{tabular}}{{{_kinds(columns, setting.text)}}}"
        )
        yield from _head(columns)
        yield from _body(columns, groups)
        yield "\\bottomrule"
        yield "\\end{tabular}" + ("}" if setting.wide else "")
    yield from named
    yield f"\\end{{{environment}}}"


def _over_pages(setting: _Setting, groups: Sequence[str], named: Sequence[str]) -> Iterator[str]:
    # A table that spans pages cannot be in a two-column layout: switch to one column, and back after it.
    yield (
        "\\begingroup\\makeatletter\\let\\columnsagain\\relax"
        "\\if@twocolumn\\onecolumn\\let\\columnsagain\\twocolumn\\fi\\makeatother"
    )
    yield _spacing(setting)
    for at, columns in enumerate(setting.panels):
        head = _head(columns)
        yield f"\\begin{{longtable}}{{{_kinds(columns, setting.text)}}}"
        if at == 0:
            yield "".join(named) + "\\\\"
        yield from [*head, "\\endfirsthead", *head, "\\endhead", "\\bottomrule", "\\endfoot"]
        yield from _body(columns, groups)
        yield "\\end{longtable}"
    yield "\\columnsagain\\endgroup"


def _fonts(lines: Iterable[str]) -> list[str]:
    """A comment about the characters that need a special font, if there are any."""
    foreign = sorted({letter for line in lines for letter in line if not letter.isascii()} - _KNOWN)
    if not foreign:
        return []
    some = " ".join(foreign[:10]) + (" …" if len(foreign) > 10 else "")
    return [f"% {some} need a font that has them: \\usepackage[T1]{{fontenc}}, or LuaLaTeX with fontspec"]
