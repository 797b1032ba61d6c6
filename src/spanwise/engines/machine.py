"""What this machine gives: cores, threads, and memory for columns."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from spanwise.errors import InputError

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")

# More threads would wait for the interpreter more than they would work, and each needs memory of its own.
MOST = 2


def at_once(one: Callable[[], A], other: Callable[[], B], *, threads: int = MOST) -> tuple[A, B]:
    """The results of two calls that are independent of each other.

    Examples:
        >>> at_once(lambda: 1, lambda: "a")
        (1, 'a')
    """
    calls: list[Callable[[], Any]] = [one, other]
    first, second = together(calls, threads=threads)
    return first, second


def together(calls: Sequence[Callable[[], T]], *, threads: int = MOST) -> list[T]:
    """The result of each call, in order; where some fail, the error of the first of these.

    Examples:
        >>> together([lambda: 1, lambda: 2, lambda: 3])
        [1, 2, 3]
    """
    threads = min(threads, len(calls), cores())
    if threads < 2:
        return [call() for call in calls]
    from concurrent.futures import ThreadPoolExecutor
    from contextvars import copy_context

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(copy_context().run, call) for call in calls]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# Numbers of malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_NEVER = (1 << 31) - 1

DRAWING = 66 << 30  # bytes of address space that the renderer of charts reserves, though it uses few


def keep_freed_memory() -> None:
    """Let this process keep the memory of columns it no longer needs for the next ones.

    By default the C library gives large pieces back to the system, which then hands out each of their
    pages anew: a quarter of the time of a large evaluation. This changes the whole process, so only
    programs call it that are ours; without the GNU C library it does nothing.
    """
    try:
        choose = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    choose(_MMAP_THRESHOLD, _NEVER)
    choose(_TRIM_THRESHOLD, _NEVER)
    choose(_ARENA_MAX, 1)  # threads of columns ask rarely, and can share what was freed


def check_room_for_drawing() -> None:
    """Refuse to draw where the process may not reserve what the renderer of charts reserves.

    It ends the whole process otherwise, without a word.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed != resource.RLIM_INFINITY and allowed < DRAWING:
        raise InputError(
            f"charts cannot be drawn under a limit of {allowed >> 20:,} MB of address space (ulimit -v).\n"
            "Raise the limit, or leave the page and the figures out."
        )
