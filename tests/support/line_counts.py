"""Measure work by lines run and bytes allocated, which are the same on every machine."""

from __future__ import annotations

import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import TraceFunction


def lines_run(work: Callable[[], object], *, within: str = "") -> Counter[str]:
    """How often each line of files under `within` runs, including iterations of comprehensions."""
    counted: Counter[str] = Counter()

    def trace(frame: FrameType, event: str, argument: object) -> TraceFunction | None:
        if not frame.f_code.co_filename.startswith(within):
            return None
        counted[f"{frame.f_code.co_filename}:{frame.f_lineno}"] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted


def most_bytes(work: Callable[[], object]) -> int:
    """The peak memory in bytes that `work` allocates, including NumPy columns."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
