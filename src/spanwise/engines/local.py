"""Counting on this machine: in one process, or in several that share what all parts need."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Part = TypeVar("Part")
Found = TypeVar("Found")

# What all parts need. A forked process inherits it, so that training data are never copied.
_shared: Any = None


def map_parts(
    function: Callable[[Part, Any], Found], parts: Iterable[Part], shared: Any, *, workers: int = 1
) -> Iterator[Found]:
    """What `function(part, shared)` gives for each part, in the order of the parts.

    The order, and so every sum over it, does not depend on the number of workers. At most
    two parts a worker are under way, so that memory stays bounded however many parts there are.
    """
    if workers <= 1 or not _can_fork():
        for part in parts:
            yield function(part, shared)
        return
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing import get_context

    global _shared
    _shared = shared
    waiting: deque[Future[Found]] = deque()
    try:
        with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
            for part in parts:
                waiting.append(pool.submit(_call, function, part))
                if len(waiting) >= 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    finally:
        _shared = None


def _call(function: Callable[[Part, Any], Found], part: Part) -> Found:
    return function(part, _shared)


def _can_fork() -> bool:
    """Whether a process may be forked: the system can, and no other thread would be cut in two."""
    return hasattr(os, "fork") and threading.active_count() == 1
