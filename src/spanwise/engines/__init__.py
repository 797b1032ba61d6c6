"""Where blocks run: every engine maps one function over the blocks of a corpus, in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from spanwise.engines.local import InProcess, Processes
from spanwise.errors import ChoiceError

__all__ = ["Engine", "InProcess", "Processes", "engine_of", "local_engine"]

Block = TypeVar("Block")
Shared = TypeVar("Shared")
Outcome = TypeVar("Outcome")


class Engine(Protocol):
    """Something that can call one function with each of many blocks, here or elsewhere.

    `function(block, shared)` is pure: it depends on its two arguments alone, and all three can be pickled.
    Results come in the order of the blocks, so that no sum over them depends on the engine. Blocks are
    asked for one by one; an engine holds only a few of them at a time.
    """

    @property
    def elsewhere(self) -> bool:
        """Whether blocks leave this machine's memory, so that they should be references rather than data."""
        ...

    def map(
        self, function: Callable[[Block, Shared], Outcome], blocks: Iterable[Block], shared: Shared
    ) -> Iterator[Outcome]:
        """`function(block, shared)` for each block, in the order of the blocks."""
        ...


def local_engine(workers: int) -> Engine:
    """An engine on this machine: this process alone, or several."""
    return InProcess() if workers <= 1 else Processes(workers)


def engine_of(given: Any) -> Engine | None:
    """An engine as it was given, or the engine of a Spark session."""
    if given is None or not type(given).__module__.startswith("pyspark."):
        engine: Engine | None = given
        return engine
    if type(given).__module__.startswith("pyspark.sql.connect"):
        raise ChoiceError(
            "a session of Spark Connect cannot run blocks.\n"
            "Give a session of the cluster itself: SparkSession.builder.master(…).getOrCreate()."
        )
    from spanwise.engines.spark import SparkEngine

    return SparkEngine(given)
