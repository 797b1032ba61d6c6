"""Where blocks run: every engine maps one function over the blocks of a corpus, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from spanwise.engines.local import InProcess, Processes

__all__ = ["Engine", "InProcess", "Processes", "local_engine"]

Block = TypeVar("Block")
Shared = TypeVar("Shared")
Outcome = TypeVar("Outcome")


class Engine(Protocol):
    """Something that can call one function with each of many blocks, here or elsewhere.

    `function(block, shared)` is pure: it depends on its two arguments alone, and all three can be pickled.
    Results come in the order of the blocks, so that no sum over them depends on the engine. Blocks are
    asked for one by one; an engine holds only a few of them at a time.
    """

    def map(
        self, function: Callable[[Block, Shared], Outcome], blocks: Iterable[Block], shared: Shared
    ) -> Iterator[Outcome]:
        """`function(block, shared)` for each block, in the order of the blocks."""
        ...


def local_engine(workers: int) -> Engine:
    """An engine on this machine: this process alone, or several."""
    return InProcess() if workers <= 1 else Processes(workers)
