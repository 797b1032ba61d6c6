"""The workbench's own files, in `.spanwise` inside the folder of results, which may be somebody else's.

Nothing here follows a link: a link, or anything else that the workbench did not make, is refused, so that
no file outside the folder is ever changed.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from spanwise.errors import InputError

PRIVATE = ".spanwise"  # the workbench's own folder inside the folder of results
COLUMNS = f"{PRIVATE}/columns"  # where the workbench stores the columns of uploads
UPLOADS = f"{PRIVATE}/uploads"
DATABASE = f"{PRIVATE}/workbench.sqlite"
SERVER, TOKEN = f"{PRIVATE}/server", f"{PRIVATE}/token"

# What is lost if one of them is moved away.
_LOST = {
    PRIVATE: "the notes and the list of uploads, but no results and no saved slices",
    UPLOADS: "the uploaded predictions, but not their results",
    COLUMNS: "the columns of uploads, from which slices are counted",
    DATABASE: "the notes and the list of uploads, but no results and no saved slices",
    f"{DATABASE}-wal": "the latest notes",
    f"{DATABASE}-shm": "nothing",
    f"{DATABASE}-journal": "nothing",
    SERVER: "nothing",
    TOKEN: "nothing",
}
_FOLDERS = (PRIVATE, UPLOADS, COLUMNS)

# The names of uploads, and of files that are still being written: random digits and up to two extensions.
PART = ".part"
_UPLOAD = re.compile(r"[0-9a-f]{24}(?:\.[a-z0-9]{1,8}){1,2}")
_PARTIAL = re.compile(rf"{_UPLOAD.pattern}\.part|\.{_UPLOAD.pattern}\.part\.[a-z0-9_]{{8}}")
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def check_private(folder: Path) -> None:
    """Refuse a folder in which one of the workbench's own files is a link or of another kind.

    Raises:
        InputError: one of them is; the message says what is lost if it is moved away.
    """
    for name in _LOST:
        path = folder / name
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue
        wanted = stat.S_ISDIR if name in _FOLDERS else stat.S_ISREG
        hard_link = name.startswith(DATABASE) and stat.S_ISREG(found.st_mode) and found.st_nlink > 1
        if stat.S_ISLNK(found.st_mode) or hard_link:
            why = "this is a link, through which a file outside the folder would be changed"
        elif not wanted(found.st_mode):
            why = f"the workbench keeps a {'folder' if name in _FOLDERS else 'file'} here, which this is not"
        else:
            continue
        raise InputError(f"{path}: {why}.\n{_advice(name)}")


def damaged_database(path: Path, why: str) -> InputError:
    """The error for a database that cannot be used."""
    reason = " ".join(why.split())[:200]
    return InputError(f"{path}: this file is damaged or of another program ({reason}).\n{_advice(DATABASE)}")


def _advice(name: str) -> str:
    return f"Move it away and start again; that loses {_LOST[name]}."


def make_folders(folder: Path) -> None:
    """Create the workbench's own folders, unless they exist."""
    for name in _FOLDERS:
        (folder / name).mkdir(exist_ok=True)


def read_start(path: Path, size: int) -> bytes:
    """The first bytes of a regular file; none if it is missing, a link or anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | _NO_FOLLOW)
    except OSError:
        return b""
    with os.fdopen(handle, "rb") as stream:
        return stream.read(size) if stat.S_ISREG(os.fstat(handle).st_mode) else b""


def write_new(path: Path, text: str) -> None:
    """Replace a file by a new one, which only this user can read; what the name was linked to stays."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(text)


def upload_name(ending: str) -> str:
    """A new random name for an upload."""
    return f"{secrets.token_hex(12)}{ending}"


def upload_of(folder: Path, name: str) -> Path | None:
    """The path of an upload; None if the name is not one of the workbench's, or there is no such file."""
    path = folder / UPLOADS / name
    return path if _UPLOAD.fullmatch(name) and is_regular(path) else None


def is_regular(path: Path) -> bool:
    """Whether this is a regular file itself, not a link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def sweep(folder: Path, referenced: set[str], before: float) -> None:
    """Remove partial uploads, and uploads from before a time that no job refers to; nothing else."""
    for path in (folder / UPLOADS).iterdir():
        if not is_regular(path):
            continue
        unused = _UPLOAD.fullmatch(path.name) and path.name not in referenced
        if _PARTIAL.fullmatch(path.name) or (unused and path.lstat().st_mtime < before):
            path.unlink(missing_ok=True)


def publish(parts: Mapping[Path, Path], stem: str, *, most: int = 10_000) -> str:
    """Move finished files to names that are still free, and return the stem of these names.

    Args:
        parts: for each finished file, the folder and the ending of its new name, as `FOLDER/.ENDING`.
        stem: the stem of the names; if one of them exists, a number is added.
        most: how many stems to try.
    """
    for number in range(1, most + 1):
        chosen = stem if number == 1 else f"{stem}-{number}"
        names = [to.with_name(f"{chosen}{to.name}") for to in parts.values()]
        made: list[Path] = []
        try:
            for part, name in zip(parts, names, strict=True):
                _create(part, name)
                made.append(name)
        except FileExistsError:
            for name in made:
                name.unlink()
            continue
        for part in parts:
            part.unlink()
        return chosen
    raise InputError(f"{stem}: no name for the result is free.\nMove some of the results away.")


def _create(part: Path, name: Path) -> None:
    """Give a finished file another name, which must not exist; without hard links, copy it."""
    try:
        os.link(part, name, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):
        with name.open("xb") as stream:
            stream.write(part.read_bytes())
