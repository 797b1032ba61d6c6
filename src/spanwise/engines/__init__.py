"""Engines: an engine maps one function over blocks, in order; and the resources of this machine."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from msgspec import Struct

from spanwise.errors import ChoiceError, InputError, WorkerLost
from spanwise.registry import reach

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


__all__ = ["Engine", "InProcess", "Joining", "Processes", "engine_of", "joined", "local_engine"]

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")

# More threads would mostly wait for the interpreter, and each needs memory of its own.
MOST_THREADS = 2


def at_once(one: Callable[[], A], other: Callable[[], B], *, threads: int = MOST_THREADS) -> tuple[A, B]:
    """The results of two calls that are independent of each other.

    Examples:
        >>> at_once(lambda: 1, lambda: "a")
        (1, 'a')
    """
    calls: list[Callable[[], Any]] = [one, other]
    first, second = together(calls, threads=threads)
    return first, second


def together(calls: Sequence[Callable[[], T]], *, threads: int = MOST_THREADS) -> list[T]:
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
    pages again: a quarter of the time of a large evaluation. This changes the whole process, so only
    programs call it that are ours; without the GNU C library it does nothing.
    """
    try:
        choose = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    choose(_MMAP_THRESHOLD, _NEVER)
    choose(_TRIM_THRESHOLD, _NEVER)
    choose(_ARENA_MAX, 1)  # threads of columns ask rarely, and can share what was freed


def release_freed_memory() -> None:
    """Return freed memory to the system, where the C library can.

    Freed memory is fragmented, in pieces that the large columns of the next step do not
    fit into.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return
    trim(0)


def check_room_for_drawing() -> None:
    """Refuse to draw where the process may not reserve what the renderer of charts reserves.

    Otherwise it would end the whole process without a message.
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
    """Something that can call one function with each of many blocks, here or elsewhere.

    `function(block, shared)` is pure: it depends only on its two arguments, and all three can be pickled.
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
    """The engine given, or the engine of a Spark session."""
    if given is None or not type(given).__module__.startswith("pyspark."):
        engine: Engine | None = given
        return engine
    if type(given).__module__.startswith("pyspark.sql.connect"):
        raise ChoiceError(
            "a session of Spark Connect cannot run blocks.\n"
            "Give a session of the cluster itself: SparkSession.builder.master(…).getOrCreate()."
        )
    of_session: Engine = reach("engines.spark:SparkEngine")(given)
    return of_session


def most_shared(engine: Engine | None) -> int | None:
    """The bytes of what training data know that an engine sends to every block, where it has such a bound."""
    bound: int | None = getattr(engine, "lexicon", None)
    return bound


MOST_PROCESSES = 64  # processes, or twice the cores: more would only wait


class InProcess(Struct, frozen=True):
    """Blocks run one after the other in this process."""

    @property
    def elsewhere(self) -> bool:
        """Blocks stay in the memory of this machine."""
        return False

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

    @property
    def elsewhere(self) -> bool:
        """Blocks stay in the memory of this machine."""
        return False

    def map(
        self, function: Callable[[Block, Shared], Outcome], blocks: Iterable[Block], shared: Shared
    ) -> Iterator[Outcome]:
        """`function(block, shared)` for each block, in the order of the blocks."""
        if not _can_fork():
            yield from InProcess().map(function, blocks, shared)
            return
        pool = _Pool(function, shared, min(self.workers, max(MOST_PROCESSES, 2 * cores())))
        try:
            yield from pool.map(blocks)
        finally:
            pool.close()


class _Pool:
    """Forked processes, each at the end of a pipe of its own, so that none can hold up another.

    A process that dies is noticed by the end of its pipe, whatever it was doing; and when this
    process dies, so do the others.
    """

    def __init__(self, function: Callable[..., object], shared: Any, most: int) -> None:
        self._function, self._shared, self._most = function, shared, most
        self._pipes: dict[Connection, int] = {}  # our ends, and the processes at the others

    def map(self, blocks: Iterable[Any]) -> Iterator[Any]:
        """The outcomes in the order of the blocks; at most two blocks per process are under way."""
        from multiprocessing.connection import wait

        waiting = enumerate(blocks)
        idle: list[Connection] = []
        busy: dict[Connection, int] = {}
        done: dict[int, Any] = {}
        given, due, more = 0, 0, True
        while True:
            while more and given - due < 2 * self._most and (idle or len(self._pipes) < self._most):
                number, block = next(waiting, (-1, None))
                if number < 0:
                    more = False
                    break
                pipe = idle.pop() if idle else self._start()
                with suppress(OSError):  # a process that is gone is noticed where its answer is waited for
                    pipe.send(block)
                busy[pipe] = number
                given += 1
            while due in done:
                yield done.pop(due)
                due += 1
            if not busy:
                if not more:
                    return
                continue
            ready = wait(list(busy))
            for pipe in [one for one in busy if one in ready]:
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
                    other.close()  # else the end of ours would not be the end of theirs
                _work(theirs, self._function, self._shared)
            finally:
                os._exit(0)
        theirs.close()
        self._pipes[ours] = process
        return ours

    def _receive(self, pipe: Connection) -> Any:
        try:
            failed, outcome = pipe.recv()
        except (OSError, EOFError):
            raise self._lost(pipe) from None
        if failed:
            raise outcome
        return outcome

    def _lost(self, pipe: Connection) -> WorkerLost:
        _, status = os.waitpid(self._pipes.pop(pipe), 0)
        pipe.close()
        how = f"was killed by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "ended too early"
        return WorkerLost(
            f"a worker process {how}, so its part of the work is missing.\n"
            "The machine may have run out of memory: use fewer workers, or smaller parts with memory=."
        )

    def close(self) -> None:
        """End all processes; their work is no longer needed."""
        import signal

        for pipe, process in self._pipes.items():
            pipe.close()
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        self._pipes.clear()


def _work(pipe: Connection, function: Callable[..., object], shared: Any) -> None:
    """Answer one block after the other, until the other end is closed."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started us ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _die_with_parent()
    while True:
        try:
            block = pipe.recv()
        except (OSError, EOFError):
            return
        try:
            answer: tuple[bool, Any] = (False, function(block, shared))
        except Exception as error:  # raised again by the process that asked
            answer = (True, error)
        try:
            pipe.send(answer)
        except (BrokenPipeError, ConnectionError):
            return
        except Exception as error:  # an error that cannot be pickled
            pipe.send((True, RuntimeError(f"{type(error).__name__}: {error}; {answer[1]!r:.200}")))


def _die_with_parent() -> None:
    """Ask Linux to end this process with the one that started it, even in the middle of a long call."""
    try:
        import ctypes
        import signal

        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    except (ImportError, OSError, AttributeError):
        return  # elsewhere it ends when it is done with its block


def _can_fork() -> bool:
    """Whether a process may be forked: the system can, and no other thread would be cut in two."""
    return hasattr(os, "fork") and threading.active_count() == 1


# ---- what engines give back, joined --------------------------------------------------------------
JOINED_TOGETHER = 8  # results that are joined at once


class Joining(Generic[T]):
    """Results of blocks, joined some at a time in order: that keeps memory and merging time bounded."""

    def __init__(self, join: Callable[[Sequence[T]], T]) -> None:
        self._join = join
        self._levels: list[list[T]] = []  # later levels are made of more and older blocks

    def add(self, one: T) -> None:
        """Take the result of the next block."""
        for level in self._levels:
            level.append(one)
            if len(level) < JOINED_TOGETHER:
                return
            one = self._join(level)
            level.clear()
        self._levels.append([one])

    def total(self) -> T:
        """All blocks together."""
        return self._join([one for level in reversed(self._levels) for one in level])


class Addend(Protocol):
    """What a block gives, if it can be joined with what others give."""

    @classmethod
    def joined(cls, parts: Sequence[Any]) -> Any:
        """What several blocks give."""
        ...


Addable = TypeVar("Addable", bound=Addend)


def joined(parts: Iterable[Addable]) -> Addable:
    """What all blocks give, of which there is at least one, joined."""
    rest = iter(parts)
    first = next(rest)
    total: Joining[Addable] = Joining(type(first).joined)
    total.add(first)
    for part in rest:
        total.add(part)
    return total.total()
