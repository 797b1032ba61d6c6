"""Watch what a call does: the files it opens, and the functions of spanwise it calls."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

import spanwise

SOURCE = f"{Path(spanwise.__file__).parent}{os.sep}"

_watching: list[tuple[Path, Counter[str]]] = []


def _opened(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or not _watching or not isinstance(arguments[0], str | os.PathLike):
        return
    path = Path(arguments[0])
    for folder, seen in _watching:
        if path.is_relative_to(folder):
            seen[path.relative_to(folder).as_posix()] += 1


sys.addaudithook(_opened)  # audit hooks cannot be removed


@contextmanager
def opens(folder: Path) -> Iterator[Counter[str]]:
    """How often this process opens each file below a folder."""
    seen: Counter[str] = Counter()
    _watching.append((folder, seen))
    try:
        yield seen
    finally:
        _watching.remove((folder, seen))


@contextmanager
def entered() -> Iterator[Counter[tuple[str, str]]]:
    """How often each function of spanwise is called, by file and name, in the order of first calls.

    Threads started in the meantime are watched, too; processes are not.
    """
    seen: Counter[tuple[str, str]] = Counter()

    def called(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        # The bodies of modules and classes are not functions.
        if event == "call" and code.co_filename.startswith(SOURCE) and code.co_flags & CO_OPTIMIZED:
            seen[code.co_filename.removeprefix(SOURCE).replace(os.sep, "/"), code.co_qualname] += 1

    before = sys.getprofile()
    sys.setprofile(called)
    threading.setprofile(called)
    try:
        yield seen
    finally:
        sys.setprofile(before)
        threading.setprofile(before)
