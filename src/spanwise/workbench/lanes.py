"""Scheduling of requests: quick ones in parallel, costly ones one at a time; both are cached."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar, cast

from msgspec import Struct

from spanwise.workbench.guard import Refused

QUICK = 2  # quick requests handled in parallel
CLOCK = 2.0  # seconds a request waits for its answer; the work then continues in the background
LINE = 10.0  # seconds a costly request waits for the ones queued before it
UNCLAIMED = 16  # finished costly answers kept for clients that were asked to try again
STILL = "this is still being computed.\nTry again in a moment: the work continues in the background."
NEWER = "a newer request replaced this one.\nTry again if it still matters."

V = TypeVar("V")


class CacheEntry(Struct, Generic[V], frozen=True):
    """A cached value and its size in bytes."""

    value: V
    size: int


class AnswerCache:
    """A cache of answers and the data behind them, limited to a number of bytes.

    The least recently used entries are dropped, except that the latest entry of each kind always stays.
    Concurrent requests for the same key compute its value only once.
    """

    def __init__(self, budget: int) -> None:
        self.budget, self.size = budget, 0
        self._entries: OrderedDict[tuple[str, Hashable], CacheEntry[object]] = OrderedDict()
        self._kinds: Counter[str] = Counter()
        self._making: dict[tuple[str, Hashable], threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, kind: str, key: Hashable, make: Callable[[], V], size: Callable[[V], int]) -> V:
        """Return the cached value for a kind and key, computing it with `make` if it is missing."""
        entry = (kind, key)
        with self._lock:
            if entry in self._entries:
                return cast("V", self._recall(entry))
            making = self._making.setdefault(entry, threading.Lock())
        with making:
            with self._lock:
                if entry in self._entries:
                    return cast("V", self._recall(entry))
            try:
                value = make()
                self.put(kind, key, value, size(value))
            finally:
                with self._lock:
                    self._making.pop(entry, None)
        return value

    def peek(self, kind: str, key: Hashable) -> Any:  # the type depends on the kind
        """Return the cached value for a kind and key, or None."""
        with self._lock:
            return self._recall((kind, key)) if (kind, key) in self._entries else None

    def put(self, kind: str, key: Hashable, value: object, size: int) -> None:
        """Cache a value, and drop entries that exceed the budget."""
        with self._lock:
            self._drop((kind, key))
            self._entries[kind, key] = CacheEntry(value, size)
            self._kinds[kind] += 1
            self.size += size
            for entry in list(self._entries):
                if self.size <= self.budget:
                    break
                if self._kinds[entry[0]] > 1 and entry != (kind, key):
                    self._drop(entry)

    def _recall(self, entry: tuple[str, Hashable]) -> object:
        self._entries.move_to_end(entry)
        return self._entries[entry].value

    def _drop(self, entry_key: tuple[str, Hashable]) -> None:
        entry = self._entries.pop(entry_key, None)
        if entry is not None:
            self.size -= entry.size
            self._kinds[entry_key[0]] -= 1


class CostlyRequest(Struct, frozen=True, eq=False):
    """A costly request that is waiting or running."""

    answer: Future[Any]
    begun: Future[None]  # completed when the work starts


class Lanes:
    """Two executors, so that quick requests never wait for costly ones."""

    def __init__(self, clock: float = CLOCK) -> None:
        self.clock = clock
        self._quick = ThreadPoolExecutor(QUICK, "quick")
        self._costly = ThreadPoolExecutor(1, "costly")
        self._requests: OrderedDict[Hashable, CostlyRequest] = OrderedDict()
        self._newest: dict[Hashable, CostlyRequest] = {}
        self._lock = threading.Lock()

    async def quick(self, work: Callable[[], V]) -> V:
        """Run quick work in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._quick, work)

    async def costly(self, key: Hashable, work: Callable[[], V], *, topic: Hashable = None) -> V:
        """Run costly work after the costly requests queued before it; requests with the same key share it.

        Among the waiting requests of a `topic`, only the newest is answered.

        Raises:
            Refused: the answer takes longer than the time limit, or a newer request replaced this one.
        """
        question = self._ask(key, work, topic)
        try:
            await asyncio.wait_for(_shielded(question.begun), LINE)
            value: V = await asyncio.wait_for(_shielded(question.answer), self.clock)
        except TimeoutError:
            raise Refused(503, STILL) from None
        except asyncio.CancelledError:
            if not question.answer.cancelled():
                raise  # the client has disconnected
            raise Refused(503, NEWER) from None
        finally:
            if question.answer.done():
                self._forget(key, question)
        return value

    def _ask(self, key: Hashable, work: Callable[[], object], topic: Hashable) -> CostlyRequest:
        with self._lock:
            current = self._requests.get(key)
            if current is None or current.answer.cancelled():
                begun: Future[None] = Future()

                def begin() -> object:
                    begun.set_result(None)
                    return work()

                current = CostlyRequest(self._costly.submit(begin), begun)
                self._requests[key] = current
                done = [name for name, question in self._requests.items() if question.answer.done()]
                for name in done[: max(len(self._requests) - UNCLAIMED, 0)]:
                    del self._requests[name]
            if topic is not None:
                before = self._newest.get(topic)
                if before is not None and before is not current and before.answer.cancel():
                    before.begun.cancel()
                self._newest[topic] = current
            return current

    def _forget(self, key: Hashable, question: CostlyRequest) -> None:
        with self._lock:
            if self._requests.get(key) is question:
                del self._requests[key]
            self._newest = {topic: newest for topic, newest in self._newest.items() if newest is not question}

    def stop(self) -> None:
        """Accept no more requests."""
        self._quick.shutdown(wait=False, cancel_futures=True)
        self._costly.shutdown(wait=False, cancel_futures=True)


def _shielded(future: Future[V]) -> asyncio.Future[V]:
    """Wrap a future of another thread so that it is not cancelled when one caller stops waiting."""
    return asyncio.shield(asyncio.wrap_future(future))
