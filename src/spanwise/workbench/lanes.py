"""Scheduling: quick requests in parallel, costly ones one after the other; both are cached."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar, cast

from msgspec import Struct

from spanwise.workbench.guard import Refused

QUICK = 2  # quick requests that are answered at the same time
CLOCK = 2.0  # seconds of work that a request waits for; then the work goes on without it
LINE = 10.0  # seconds that a request waits for the costly answers before its own
UNCLAIMED = 16  # costly answers that are kept for those who were told to ask again
STILL = "this is still being computed.\nTry again in a moment: the work goes on meanwhile."
NEWER = "a newer request replaced this one.\nTry again if it still matters."

V = TypeVar("V")


class KeptEntry(Struct, Generic[V], frozen=True):
    """Something kept, and its bytes."""

    value: V
    size: int


class Kept:
    """Answers and what they are made of, within one budget of bytes.

    The least recently used are dropped; the latest of every kind stays, whatever it takes. What
    several ask for at once is made once.
    """

    def __init__(self, budget: int) -> None:
        self.budget, self.size = budget, 0
        self._entries: OrderedDict[tuple[str, Hashable], KeptEntry[Any]] = OrderedDict()
        self._kinds: Counter[str] = Counter()
        self._making: dict[tuple[str, Hashable], threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, kind: str, key: Hashable, make: Callable[[], V], size: Callable[[V], int]) -> V:
        """The value at a key of a kind, made where there is none."""
        place = (kind, key)
        with self._lock:
            if place in self._entries:
                return cast("V", self._found(place))
            making = self._making.setdefault(place, threading.Lock())
        with making:
            with self._lock:
                if place in self._entries:
                    return cast("V", self._found(place))
            try:
                made = make()
                self.put(kind, key, made, size(made))
            finally:
                with self._lock:
                    self._making.pop(place, None)
        return made

    def look(self, kind: str, key: Hashable) -> Any:  # what was put there
        """The value at a key of a kind; None where there is none."""
        with self._lock:
            return self._found((kind, key)) if (kind, key) in self._entries else None

    def put(self, kind: str, key: Hashable, value: object, size: int) -> None:
        """Keep a value, and drop what is beyond the budget."""
        with self._lock:
            self._drop((kind, key))
            self._entries[kind, key] = KeptEntry(value, size)
            self._kinds[kind] += 1
            self.size += size
            for entry in list(self._entries):
                if self.size <= self.budget:
                    break
                if self._kinds[entry[0]] > 1 and entry != (kind, key):
                    self._drop(entry)

    def _found(self, place: tuple[str, Hashable]) -> Any:  # what `make` of its kind gave
        self._entries.move_to_end(place)
        return self._entries[place].value

    def _drop(self, place: tuple[str, Hashable]) -> None:
        entry = self._entries.pop(place, None)
        if entry is not None:
            self.size -= entry.size
            self._kinds[place[0]] -= 1


class CostlyQuestion(Struct, frozen=True, eq=False):
    """A costly request that waits or is being answered."""

    answer: Future[Any]
    begun: Future[None]  # done when the work begins


class Lanes:
    """Two lanes: no quick request waits for a costly one."""

    def __init__(self, clock: float = CLOCK) -> None:
        self.clock = clock
        self._quick = ThreadPoolExecutor(QUICK, "quick")
        self._costly = ThreadPoolExecutor(1, "costly")
        self._asked: OrderedDict[Hashable, CostlyQuestion] = OrderedDict()
        self._newest: dict[Hashable, CostlyQuestion] = {}
        self._lock = threading.Lock()

    async def quick(self, work: Callable[[], V]) -> V:
        """Answer now."""
        return await asyncio.get_running_loop().run_in_executor(self._quick, work)

    async def costly(self, key: Hashable, work: Callable[[], V], *, topic: Hashable = None) -> V:
        """Answer after the costly requests before it; equal ones are answered together.

        Of the requests of one `topic` that wait, only the newest is answered.

        Raises:
            Refused: the answer takes longer than the time limit, or a newer request took its place.
        """
        asked = self._ask(key, work, topic)
        try:
            await asyncio.wait_for(_shielded(asked.begun), LINE)
            value: V = await asyncio.wait_for(_shielded(asked.answer), self.clock)
        except TimeoutError:
            raise Refused(503, STILL) from None
        except asyncio.CancelledError:
            if not asked.answer.cancelled():
                raise  # the client has disconnected
            raise Refused(503, NEWER) from None
        finally:
            if asked.answer.done():
                self._forget(key, asked)
        return value

    def _ask(self, key: Hashable, work: Callable[[], Any], topic: Hashable) -> CostlyQuestion:
        with self._lock:
            asked = self._asked.get(key)
            if asked is None or asked.answer.cancelled():
                begun: Future[None] = Future()

                def begin() -> Any:  # what the work gives
                    begun.set_result(None)
                    return work()

                asked = CostlyQuestion(self._costly.submit(begin), begun)
                self._asked[key] = asked
                done = [one for one, other in self._asked.items() if other.answer.done()]
                for one in done[: max(len(self._asked) - UNCLAIMED, 0)]:
                    del self._asked[one]
            if topic is not None:
                before = self._newest.get(topic)
                if before is not None and before is not asked and before.answer.cancel():
                    before.begun.cancel()
                self._newest[topic] = asked
            return asked

    def _forget(self, key: Hashable, asked: CostlyQuestion) -> None:
        with self._lock:
            if self._asked.get(key) is asked:
                del self._asked[key]
            self._newest = {topic: one for topic, one in self._newest.items() if one is not asked}

    def stop(self) -> None:
        """Accept no more requests."""
        self._quick.shutdown(wait=False, cancel_futures=True)
        self._costly.shutdown(wait=False, cancel_futures=True)


def _shielded(future: Future[V]) -> asyncio.Future[V]:
    """A future of another thread, which is not cancelled when someone stops waiting for it."""
    return asyncio.shield(asyncio.wrap_future(future))
