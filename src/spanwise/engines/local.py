"""Engines on this machine: one process, or several that share what all blocks need."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from msgspec import Struct

Block = TypeVar("Block")
Shared = TypeVar("Shared")
Outcome = TypeVar("Outcome")


class InProcess(Struct, frozen=True):
    """Blocks run one after the other in this process."""

    def map(
        self, function: Callable[[Block, Shared], Outcome], blocks: Iterable[Block], shared: Shared
    ) -> Iterator[Outcome]:
        """`function(block, shared)` for each block, in the order of the blocks."""
        for block in blocks:
            yield function(block, shared)


class Processes(Struct, frozen=True):
    """Blocks run in several processes, which are forked and so have `shared` without a copy.

    At most two blocks per process are under way, so that memory stays bounded however many there are.
    Where forking is not safe, blocks run in this process.
    """

    workers: int

    def map(
        self, function: Callable[[Block, Shared], Outcome], blocks: Iterable[Block], shared: Shared
    ) -> Iterator[Outcome]:
        """`function(block, shared)` for each block, in the order of the blocks."""
        if not _can_fork():
            yield from InProcess().map(function, blocks, shared)
            return
        from concurrent.futures import Future, ProcessPoolExecutor
        from multiprocessing import get_context

        waiting: deque[Future[Outcome]] = deque()
        with ProcessPoolExecutor(
            self.workers, mp_context=get_context("fork"), initializer=_Worker.start, initargs=(shared,)
        ) as pool:
            try:
                for block in blocks:
                    waiting.append(pool.submit(_Worker.call, function, block))
                    if len(waiting) >= 2 * self.workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


class _Worker:
    """What a worker process was given when it was started; other processes have none."""

    shared: Any = None

    @classmethod
    def start(cls, shared: Any) -> None:
        cls.shared = shared

    @classmethod
    def call(cls, function: Callable[[Block, Any], Outcome], block: Block) -> Outcome:
        return function(block, cls.shared)


def _can_fork() -> bool:
    """Whether a process may be forked: the system can, and no other thread would be cut in two."""
    return hasattr(os, "fork") and threading.active_count() == 1
