"""Work that goes on at the same time in one process: NumPy lets others run while it works on columns."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")

# More threads would wait for the interpreter more than they would work, and each needs memory of its own.
MOST = 2


def at_once(one: Callable[[], A], other: Callable[[], B], *, threads: int = MOST) -> tuple[A, B]:
    """What two calls give that need nothing of each other.

    Examples:
        >>> at_once(lambda: 1, lambda: "a")
        (1, 'a')
    """
    calls: list[Callable[[], Any]] = [one, other]
    first, second = together(calls, threads=threads)
    return first, second


def together(calls: Sequence[Callable[[], T]], *, threads: int = MOST) -> list[T]:
    """What each call gives, in their order; where some fail, the error of the first of these.

    Examples:
        >>> together([lambda: 1, lambda: 2, lambda: 3])
        [1, 2, 3]
    """
    threads = min(threads, len(calls), cores())
    if threads < 2:
        return [call() for call in calls]
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}
    waiting = iter(enumerate(calls))
    lock = threading.Lock()

    def work() -> None:
        while not errors:
            with lock:
                place, call = next(waiting, (-1, None))
            if call is None:
                return
            try:
                results[place] = call()
            except BaseException as error:  # it is raised again where the results are asked for
                errors[place] = error

    others = [threading.Thread(target=work, daemon=True) for _ in range(threads - 1)]
    for thread in others:
        thread.start()
    work()
    for thread in others:
        thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[place] for place in range(len(calls))]


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
