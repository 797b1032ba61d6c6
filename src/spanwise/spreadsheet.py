"""Rows as comma-separated values that a spreadsheet shows and never computes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

# Excel, LibreOffice and Sheets read a cell that begins so as a formula, the wide forms included.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def to_csv(rows: Iterable[Iterable[object]]) -> str:
    """One line a row; texts are made inert, numbers stay numbers, None is an empty cell.

    Examples:
        >>> print(to_csv([("label", "difference"), ("=cmd()", -0.5), ("PER", None)]), end="")
        label,difference
        '=cmd(),-0.5
        PER,
    """
    return "".join(_line([inert(cell) for cell in row]) for row in rows)


def inert(cell: object) -> object:
    """The cell as it is, or behind an apostrophe where a spreadsheet would compute or run it.

    Examples:
        >>> inert("=1+1"), inert("PER"), inert(-3)
        ("'=1+1", 'PER', -3)
    """
    if isinstance(cell, str):
        cell = cell.replace("\x00", "␀")
        return f"'{cell}" if is_formula(cell) else cell
    return cell


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would compute or run a cell with this text.

    Examples:
        >>> is_formula(" =1+1"), is_formula("PER")
        (True, False)
    """
    return text.lstrip(" ").startswith(("\t", "\r", "\n")) or text.lstrip().startswith(_FORMULA)


def _line(cells: Iterable[object]) -> str:
    # The writer quotes only the line ends it uses itself; a bare carriage return inside a
    # cell must be quoted too, or it would begin a row of its own.
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)
    return buffer.getvalue().removesuffix("\r\n") + "\n"
