"""Calls that run at the same time in one process; NumPy lets others run while it works on columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

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
