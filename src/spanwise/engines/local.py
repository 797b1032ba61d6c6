"""Engines on this machine: one process, or several that share what all blocks need."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from spanwise.engines.machine import cores
from spanwise.errors import WorkerLost

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

MOST = 64  # processes, or twice the cores: more would only wait

Block = TypeVar("Block")
Shared = TypeVar("Shared")
Outcome = TypeVar("Outcome")


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
        pool = _Pool(function, shared, min(self.workers, max(MOST, 2 * cores())))
        try:
            yield from pool.map(blocks)
        finally:
            pool.close()


class _Pool:
    """Forked processes, each at the end of a pipe of its own, so that none can hold up another.

    A process that dies is noticed by the end of its pipe, whatever it was doing; and when this
    process dies, so do the others.
    """

    def __init__(self, function: Callable[[Any, Any], Any], shared: Any, most: int) -> None:
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
        how = f"by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "too early"
        return WorkerLost(
            f"a worker process was ended {how}, so its part of the work is missing.\n"
            "The machine may have run out of memory: use fewer workers, or smaller parts with memory=."
        )

    def close(self) -> None:
        """End all processes; what they were doing is not needed any more."""
        for pipe, process in self._pipes.items():
            pipe.close()
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        self._pipes.clear()


def _work(pipe: Connection, function: Callable[[Any, Any], Any], shared: Any) -> None:
    """Answer one block after the other, until the other end is closed."""
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
        except Exception as error:
            answer = (True, error)
        try:
            pipe.send(answer)
        except (BrokenPipeError, ConnectionError):
            return
        except Exception as error:  # what cannot be pickled
            pipe.send((True, RuntimeError(f"{type(error).__name__}: {error}; {answer[1]!r:.200}")))


def _die_with_parent() -> None:
    """Ask Linux to end this process with the one that started it, even in the middle of a long call."""
    try:
        import ctypes

        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
    except (ImportError, OSError, AttributeError):
        return  # elsewhere it ends when it is done with its block


def _can_fork() -> bool:
    """Whether a process may be forked: the system can, and no other thread would be cut in two."""
    return hasattr(os, "fork") and threading.active_count() == 1
