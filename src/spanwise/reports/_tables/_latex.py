"""Texts and rows as LaTeX that typesets as it stands, on a page of any width."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from spanwise.reports._wording import visible

_NARROW = 48  # characters that fit one column of a page with two
_WIDE = 80  # characters above which long titles stand upright
_LONG = 40  # rows that fit one page
_SIZES = ((85, "\\footnotesize"), (100, "\\scriptsize"))  # the letters in which so many fit a page

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
    "[": "{[}",  # behind a line end an open bracket would be its optional argument,
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
    "ζ": "$\\zeta$",
    "ρ": "$\\rho$",
    "σ": "$\\sigma$",
    "β": "$\\beta$",
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
    """Text that LaTeX typesets as it stands, whatever is in it.

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
    those of numbers stand upright. A table that is longer than a page goes over several pages.
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


def _over_pages(
    columns: str, head: Sequence[str], body: Sequence[str], named: Sequence[str], wide: int
) -> list[str]:
    # What goes over pages cannot be shrunk once it is set, so it is set small.
    size = next((size for most, size in _SIZES if wide <= most), "\\tiny")
    return [
        f"\\begingroup{size}\\setlength{{\\tabcolsep}}{{3pt}}",
        f"\\begin{{longtable}}{{{columns}}}",
        "".join(named) + "\\\\",
        *head, "\\endfirsthead", *head, "\\endhead", "\\bottomrule", "\\endfoot",
        *body,
        "\\end{longtable}",
        "\\endgroup",
    ]  # fmt: skip


def _fonts(lines: Iterable[str]) -> list[str]:
    """A comment on the letters that LaTeX has no glyphs for unless it is told of them."""
    foreign = sorted({letter for line in lines for letter in line if not letter.isascii()} - _KNOWN)
    if not foreign:
        return []
    some = " ".join(foreign[:10]) + (" …" if len(foreign) > 10 else "")
    return [f"% {some} need a font that has them: \\usepackage[T1]{{fontenc}}, or LuaLaTeX with fontspec"]
