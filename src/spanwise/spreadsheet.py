"""Rows as CSV or an Excel workbook, with cells that a spreadsheet shows but never computes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

# Excel, LibreOffice and Google Sheets treat a cell that begins with one of these as a formula,
# including the full-width forms.
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def to_csv(rows: Iterable[Iterable[object]]) -> str:
    """CSV with one line per row; text is made inert, numbers stay numbers, None is an empty cell.

    Examples:
        >>> print(to_csv([("label", "difference"), ("=cmd()", -0.5), ("PER", None)]), end="")
        label,difference
        '=cmd(),-0.5
        PER,
    """
    return "".join(_line([inert(cell) for cell in row]) for row in rows)


def inert(cell: object) -> object:
    """The cell unchanged, or with an apostrophe in front if a spreadsheet would compute or run it.

    A formula that already has apostrophes in front gets one more, so that `original` can undo this.

    Examples:
        >>> inert("=1+1"), inert("'=1+1"), inert("PER"), inert(-3)
        ("'=1+1", "''=1+1", 'PER', -3)
    """
    if isinstance(cell, str):
        cell = cell.replace("\x00", "␀")
        return f"'{cell}" if _is_formula(cell.lstrip("'")) else cell
    return cell


def original(text: str) -> str:
    """The text of a cell as it was before `inert` wrote it.

    Examples:
        >>> original("'=1+1"), original("''=1+1"), original("'s"), original("PER")
        ('=1+1', "'=1+1", "'s", 'PER')
    """
    return text.removeprefix("'") if _is_formula(text.lstrip("'")) else text


def same_cell(cell: str, text: str) -> bool:
    """Whether a cell holds a text, apart from white space, which spreadsheets change.

    Examples:
        >>> same_cell("New\\r\\nYork", "New\\nYork"), same_cell("Rome", "Rom")
        (True, False)
    """
    return cell.split() == text.replace("\x00", "␀").split()


def _is_formula(text: str) -> bool:
    """Whether a spreadsheet would compute or run a cell with this text."""
    return text.lstrip(" ").startswith(("\t", "\r", "\n")) or text.lstrip().startswith(_FORMULA)


def _line(cells: Iterable[object]) -> str:
    # The writer quotes only the characters of its own line terminator; a bare carriage return in a
    # cell must be quoted too, or it would start a new row.
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(cells)
    return buffer.getvalue().removesuffix("\r\n") + "\n"


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def to_xlsx(rows: Iterable[Iterable[object]]) -> bytes:
    """A workbook with one sheet, in which text is never a formula; the same rows give the same bytes."""
    import zipfile

    lines = "".join(f"<row>{''.join(_cell(cell) for cell in row)}</row>" for row in rows)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/book.xml" ContentType="{_SHEET}.sheet.main+xml"/>'
        f'<Override PartName="/sheet.xml" ContentType="{_SHEET}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="book.xml"/></Relationships>',
        "book.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
        '<sheets><sheet name="worksheet" sheetId="1" r:id="r1"/></sheets></workbook>',
        "_rels/book.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{_OFFICE}/worksheet" Target="sheet.xml"/></Relationships>',
        "sheet.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{lines}</sheetData></worksheet>',
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            book.writestr(entry, f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>{text}')
    return buffer.getvalue()


def _cell(cell: object) -> str:
    if cell is None or cell == "":
        return "<c/>"
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return f"<c><v>{cell!r}</v></c>"
    text = "".join(_in_xml(character) for character in str(cell))
    return f'<c t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def _in_xml(character: str) -> str:
    """A character escaped for XML; one that XML does not allow becomes the replacement character."""
    if character in "&<>":
        return {"&": "&amp;", "<": "&lt;", ">": "&gt;"}[character]
    code = ord(character)
    allowed = character in "\t\n\r" or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code > 0xFFFF
    return character if allowed else "\ufffd"
