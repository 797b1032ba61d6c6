"""Files that are not corpora (settings, worksheets, lists of words), read or refused in one sentence."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from spanwise.errors import InputError, at
from spanwise.formats._opening import File


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file, unpacked and without a byte order mark."""
    return File(path).data


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file, with line feeds as its line ends.

    Raises:
        InputError: the file is missing, or is not UTF-8.
    """
    data = File(path).data
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        text = f"the byte {data[error.start]:#04x} is not UTF-8.\nSave the file as UTF-8."
        raise InputError(at(os.fspath(path), line, text)) from None


def read_words(path: str | os.PathLike[str]) -> list[str]:
    """The words of a list, one per line, such as those that a model knows."""
    return read_text(path).split("\n")


def read_toml(path: str | os.PathLike[str], example: str) -> dict[str, Any]:
    """The tables of a TOML file; an error ends with `example`.

    Raises:
        InputError: the file is missing, is not UTF-8 or is not TOML.
    """
    import tomllib

    text = read_text(path)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise InputError(at(os.fspath(path), None, f"the tables are nested too deeply.\n{example}")) from None
    except ValueError as error:  # of TOML, or of a number with too many digits
        told = re.fullmatch(r"(.*) \(at line (\d+), column \d+\)", str(error))
        said, line = (told[1], int(told[2])) if told else (str(error), None)
        said = said[:1].lower() + said[1:].removesuffix(" (at end of document)")
        if not isinstance(error, tomllib.TOMLDecodeError):
            said = "a number is too long"
        raise InputError(at(os.fspath(path), line, f"this is not TOML: {said}.\n{example}")) from None


def read_sheet(
    path: str | os.PathLike[str], needed: Sequence[str], advice: str
) -> Iterator[tuple[str, dict[str, str]]]:
    """The rows of a worksheet (CSV) with a head, each with its place; cells that are missing are empty.

    Raises:
        InputError: the file is missing, is not UTF-8 or not CSV, or lacks one of the columns `needed`.
    """
    import csv

    where = os.fspath(path)
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
    try:
        names = reader.fieldnames or ()
        missing = next((name for name in needed if name not in names), None)
        if missing is not None:
            raise InputError(f"{where}: the worksheet has no column {missing!r}.\n{advice}")
        for line in reader:
            yield f"{where}:{reader.line_num}", {name: line.get(name) or "" for name in names}
    except csv.Error as error:
        raise InputError(at(where, reader.line_num + 1, f"this is not CSV: {error}.\n{advice}")) from None
