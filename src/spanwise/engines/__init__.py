"""Engines, which map a function over blocks in order, and helpers for threads, processes and memory."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from msgspec import Struct

from spanwise.errors import ChoiceError, InputError, WorkerLost
from spanwise.registry import resolve

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from pyspark.sql import SparkSession


__all__ = ["Engine", "InProcess", "Joining", "Processes", "engine_of", "joined", "local_engine"]

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")

# More threads would mostly wait for the interpreter, and each needs memory of its own.
MOST_THREADS = 2


def at_once(one: Callable[[], A], other: Callable[[], B], *, threads: int = MOST_THREADS) -> tuple[A, B]:
    """Run two independent calls at the same time and return both results.

    Examples:
        >>> at_once(lambda: 1, lambda: "a")
        (1, 'a')
    """
    calls: list[Callable[[], Any]] = [one, other]
    first, second = together(calls, threads=threads)
    return first, second


def together(calls: Sequence[Callable[[], T]], *, threads: int = MOST_THREADS) -> list[T]:
    """Run the calls in threads and return their results in order; the first error, in order, is raised.

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
    """The number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# Parameters of mallopt, from malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_NEVER = (1 << 31) - 1

DRAWING = 66 << 30  # bytes of address space that the chart renderer reserves, though it uses little


def keep_freed_memory() -> None:
    """Keep freed memory in this process, so that later columns can reuse it.

    By default the C library returns large allocations to the system, which then has to provide each page
    again: a quarter of the time of a large evaluation. This affects the whole process, so only our own
    programs call it; without the GNU C library it does nothing.
    """
    try:
        choose = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    choose(_MMAP_THRESHOLD, _NEVER)
    choose(_TRIM_THRESHOLD, _NEVER)
    choose(_ARENA_MAX, 1)  # threads allocate rarely, and can share freed memory


def release_freed_memory() -> None:
    """Return freed memory to the system, if the C library supports it.

    Freed memory is fragmented into pieces that are too small for the large columns of the next step.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return
    trim(0)


def check_room_for_drawing() -> None:
    """Raise an error if the process may not reserve the address space that the chart renderer needs.

    Without this check, the renderer would end the whole process without a message.
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


Block = TypeVar("Block")
Shared = TypeVar("Shared")
Outcome = TypeVar("Outcome")


class Engine(Protocol):
    """Maps a function over blocks, in this process or elsewhere.

    `function(block, shared)` is pure: it depends only on its two arguments, and all three can be pickled.
    Results come in the order of the blocks, so that no sum over them depends on the engine. Blocks are
    consumed one by one; an engine holds only a few of them at a time.

    Examples:
        >>> engine = InProcess()
        >>> engine.elsewhere, list(engine.map(lambda block, shared: block + shared, [1, 2], 10))
        (False, [11, 12])
    """

    @property
    def elsewhere(self) -> bool:
        """Whether blocks leave this machine's memory, so that they should be references rather than data."""
        ...

    def map(
        self, function: Callable[[Block, Shared], Outcome], blocks: Iterable[Block], shared: Shared
    ) -> Iterator[Outcome]:
        """Yield `function(block, shared)` for each block, in the order of the blocks."""
        ...


def local_engine(workers: int) -> Engine:
    """Return an engine on this machine: this process alone, or several worker processes."""
    return InProcess() if workers <= 1 else Processes(workers)


def engine_of(value: Engine | SparkSession | None) -> Engine | None:
    """Return an engine as it is, and a Spark session as an engine that runs blocks on it."""
    if value is None or not type(value).__module__.startswith("pyspark."):
        engine: Engine | None = value
        return engine
    if type(value).__module__.startswith("pyspark.sql.connect"):
        raise ChoiceError(
            "a session of Spark Connect cannot run blocks.\n"
            "Give a session of the cluster itself: SparkSession.builder.master(…).getOrCreate()."
        )
    of_session: Engine = resolve("engines.spark:SparkEngine")(value)
    return of_session


def most_shared(engine: Engine | None) -> int | None:
    """The most bytes of training facts that an engine sends to every block; None if it has no such limit."""
    bound: int | None = getattr(engine, "lexicon", None)
    return bound


MOST_PROCESSES = 64  # or twice the cores, if that is more: any further processes would only wait


class InProcess(Struct, frozen=True):
    """Runs blocks one after the other in this process."""

    @property
    def elsewhere(self) -> bool:
        """False: blocks stay in this machine's memory."""
        return False

    def map(
        self, function: Callable[[Block, Shared], Outcome], blocks: Iterable[Block], shared: Shared
    ) -> Iterator[Outcome]:
        """Yield `function(block, shared)` for each block, in the order of the blocks."""
        for block in blocks:
            yield function(block, shared)


class Processes(Struct, frozen=True):
    """Runs blocks in several forked processes, which inherit `shared` without a copy.

    At most two blocks per process are in flight, so that memory stays bounded however many blocks there
    are. If forking is not safe, blocks run in this process.
    """

    workers: int

    @property
    def elsewhere(self) -> bool:
        """False: blocks stay in this machine's memory."""
        return False

    def map(
        self, function: Callable[[Block, Shared], Outcome], blocks: Iterable[Block], shared: Shared
    ) -> Iterator[Outcome]:
        """Yield `function(block, shared)` for each block, in the order of the blocks."""
        if not _can_fork():
            yield from InProcess().map(function, blocks, shared)
            return
        pool = _Pool(function, shared, min(self.workers, max(MOST_PROCESSES, 2 * cores())))
        try:
            yield from pool.map(blocks)
        finally:
            pool.close()


class _Pool(Generic[Block, Shared, Outcome]):
    """Forked worker processes, each with its own pipe, so that none can block another.

    A worker that dies is noticed because its pipe closes, whatever it was doing; when this process
    dies, so do its workers.
    """

    def __init__(self, function: Callable[[Block, Shared], Outcome], shared: Shared, most: int) -> None:
        self._function, self._shared, self._most = function, shared, most
        self._pipes: dict[Connection, int] = {}  # our end of each pipe, and the id of the worker at the other

    def map(self, blocks: Iterable[Block]) -> Iterator[Outcome]:
        """Yield the results in the order of the blocks; at most two blocks per process are in flight."""
        from multiprocessing.connection import wait

        waiting = enumerate(blocks)
        idle: list[Connection] = []
        busy: dict[Connection, int] = {}
        done: dict[int, Outcome] = {}
        sent, due, more = 0, 0, True
        while True:
            while more and sent - due < 2 * self._most and (idle or len(self._pipes) < self._most):
                number, block = next(waiting, (-1, None))
                if number < 0:
                    more = False
                    break
                pipe = idle.pop() if idle else self._start()
                with suppress(OSError):  # a dead worker is noticed when its answer is awaited
                    pipe.send(block)
                busy[pipe] = number
                sent += 1
            while due in done:
                yield done.pop(due)
                due += 1
            if not busy:
                if not more:
                    return
                continue
            ready = wait(list(busy))
            for pipe in [connection for connection in busy if connection in ready]:
                done[busy.pop(pipe)] = self._receive(pipe)
                idle.append(pipe)

    def _start(self) -> Connection:
        from multiprocessing import Pipe

        ours, theirs = Pipe()
        process = os.fork()
        if process == 0:
            try:
                ours.close()
                for other in self._pipes:
                    other.close()  # inherited copies would keep the pipes of other workers open
                _work(theirs, self._function, self._shared)
            finally:
                os._exit(0)
        theirs.close()
        self._pipes[ours] = process
        return ours

    def _receive(self, pipe: Connection) -> Outcome:
        try:
            failed, outcome = pipe.recv()
        except (OSError, EOFError):
            raise self._lost(pipe) from None
        if failed:
            raise outcome
        result: Outcome = outcome
        return result

    def _lost(self, pipe: Connection) -> WorkerLost:
        _, status = os.waitpid(self._pipes.pop(pipe), 0)
        pipe.close()
        how = f"was killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended too early"
        return WorkerLost(
            f"a worker process {how}, so its part of the work is missing.\n"
            "The machine may have run out of memory: use fewer workers, or smaller parts with memory=."
        )

    def close(self) -> None:
        """Kill all workers; their results are no longer needed."""
        import signal

        for pipe, process in self._pipes.items():
            pipe.close()
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        self._pipes.clear()


def _work(pipe: Connection, function: Callable[[Block, Shared], object], shared: Shared) -> None:
    """Run the function on each block received through the pipe, until the pipe is closed."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends its workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with_parent()
    while True:
        try:
            block = pipe.recv()
        except (OSError, EOFError):
            return
        try:
            answer: tuple[bool, object] = (False, function(block, shared))
        except Exception as error:  # raised again in the parent process
            answer = (True, error)
        try:
            pipe.send(answer)
        except (BrokenPipeError, ConnectionError):
            return
        except Exception as error:  # an error that cannot be pickled
            pipe.send((True, RuntimeError(f"{type(error).__name__}: {error}; {answer[1]!r:.200}")))


def _die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies, even in the middle of a long call."""
    try:
        import signal

        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    except (OSError, AttributeError):
        return  # on other systems it ends after its current block


def _can_fork() -> bool:
    """Whether it is safe to fork: the system supports it, and no other thread is running."""
    return hasattr(os, "fork") and threading.active_count() == 1


# ---- joining results -----------------------------------------------------------------------------
JOINED_TOGETHER = 8  # results that are joined in one step


class Joining(Generic[T]):
    """Joins the results of blocks in order, a few at a time, so that memory and merging time stay bounded."""

    def __init__(self, join: Callable[[Sequence[T]], T]) -> None:
        self._join = join
        self._levels: list[list[T]] = []  # later levels hold results of more, and earlier, blocks

    def add(self, part: T) -> None:
        """Add the result of the next block."""
        for level in self._levels:
            level.append(part)
            if len(level) < JOINED_TOGETHER:
                return
            part = self._join(level)
            level.clear()
        self._levels.append([part])

    def total(self) -> T:
        """The joined result of all blocks."""
        return self._join([result for level in reversed(self._levels) for result in level])


class Addend(Protocol):
    """The result of a block, which can be joined with the results of others."""

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Join the results of several blocks."""
        ...


Addable = TypeVar("Addable", bound=Addend)


def joined(parts: Iterable[Addable]) -> Addable:
    """Join the results of all blocks, of which there must be at least one."""
    rest = iter(parts)
    first = next(rest)
    total: Joining[Addable] = Joining(type(first).joined)
    total.add(first)
    for part in rest:
        total.add(part)
    return total.total()
