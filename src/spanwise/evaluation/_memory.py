"""How much memory an evaluation may take, and whether its files must be streamed for that."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spanwise.engines.threads import cores
from spanwise.errors import ChoiceError
from spanwise.evaluation._inputs import named_sources
from spanwise.formats import PACKED

# What a byte of a file may cost when all files are held at once, and a file's growth when it is unpacked.
BYTES_PER_BYTE = 12
UNPACKED = 4
DEFAULT_PART = 256 << 20  # the memory for parts where only workers were asked for
# Of gold and predictions together, from which on two processes are faster with parts than one with all.
LARGE = 128 << 20
AMPLE = 1 << 30  # memory for parts that nobody bounded
MOST_WORKERS = 4

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parts_of(
    memory: int | str | None,
    workers: int | None,
    gold: Any,
    systems: Any,
    *,
    streamable: bool,
    reading: Mapping[str, Any],
    elsewhere: bool = False,
) -> tuple[int | None, int]:
    """The memory that parts may take in bytes, or None to hold all files at once; and the processes for them.

    Where neither is said, files so large that parts pay are evaluated in parts, by several processes,
    if they can be read in parts; all files are, where blocks run `elsewhere`.
    """
    if workers is not None and workers < 1:
        raise ChoiceError(f"workers is {workers!r}, but must be 1 or more.")
    if memory is not None:
        if not streamable:
            raise ChoiceError("a preset needs all files at once.\nLeave memory out.")
        return parse_memory(memory), workers or 1
    paths = _paths(gold, systems)
    if paths is None or not streamable:
        return None, 1
    if elsewhere or (workers is not None and workers > 1):
        return DEFAULT_PART, workers or 1
    size, have = sum(map(_size, paths)), _physical()
    large = workers is None and size >= LARGE
    beyond = have is not None and BYTES_PER_BYTE * size > have
    if not (large or beyond) or not _can_be_streamed(paths, reading):
        return None, 1
    if large:
        return AMPLE if have is None else min(AMPLE, have // 2), min(cores(), MOST_WORKERS)
    return (have or AMPLE) // 2, 1


def _can_be_streamed(paths: Sequence[Path], reading: Mapping[str, Any]) -> bool:
    from spanwise.formats.parts import can_be_streamed  # an import that small files need not pay

    return all(can_be_streamed(path, reading) for path in paths)


def parse_memory(memory: int | str) -> int:
    """A number of bytes, such as 536870912, "512MB" or "1.5 GB".

    Examples:
        >>> parse_memory("1.5 GB") == 3 << 29
        True
    """
    if isinstance(memory, int):
        found = memory
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", memory, re.IGNORECASE)
        if match is None:
            raise ChoiceError(f"memory is {memory!r}, but must be a size such as '512MB' or '1GB'.")
        found = int(min(float(match[1]) * _UNITS[match[2].upper()], 1 << 62))
    if found < 1 << 20:
        raise ChoiceError(f"memory is {memory!r}, but must be at least 1MB.")
    return found


def _paths(gold: Any, systems: Any) -> list[Path] | None:
    """The files, or None where a source is none."""
    sources = [gold, *(named_sources(systems).values() if systems is not None else ())]
    if not all(isinstance(source, str | os.PathLike) and str(source) != "-" for source in sources):
        return None
    return [Path(source) for source in sources]


def _size(path: Path) -> int:
    if not path.is_file():
        return 0  # reading says what is wrong with it
    return path.stat().st_size * (UNPACKED if path.suffix in PACKED else 1)


def _physical() -> int | None:
    """The memory of this machine in bytes, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
