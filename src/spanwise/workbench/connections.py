"""The server's connections: those that never send a request are closed, so that they exhaust nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from spanwise.workbench.guard import Guard

if TYPE_CHECKING:
    from types import FrameType

PATIENCE = 10.0  # seconds within which the head of a request must have arrived
MOST_WAITING = 256  # connections without a request; beyond these, the oldest is closed


class Connection(H11Protocol):
    """A connection that is closed unless the head of a request arrives in time.

    Requests without the token are answered with `connection: close`, so only clients that have the token keep
    a connection for longer than this.
    """

    _waiting: dict[Connection, asyncio.TimerHandle] = {}  # noqa: RUF012 - of all connections, oldest first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._end_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._end_waiting()
        self._waiting[self] = self.loop.call_later(PATIENCE, self.transport.close)
        while len(self._waiting) > MOST_WAITING:
            oldest = next(iter(self._waiting))
            oldest._end_waiting()
            oldest.transport.close()

    def _end_waiting(self) -> None:
        timer = self._waiting.pop(self, None)
        if timer is not None:
            timer.cancel()


class Server(uvicorn.Server):
    """A server that says when it listens, and that closes event streams when it shuts down."""

    def __init__(self, guard: Guard, close_events: Callable[[], None], listening: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                guard, http=Connection, ws="none", log_level="warning", access_log=False, server_header=False,
                timeout_graceful_shutdown=2,
            )
        )  # fmt: skip
        self._close_events, self._listening = close_events, listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, then say so."""
        await super().startup(sockets)
        if self.started:
            self._listening()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Close event streams, which would otherwise keep the server running."""
        self._close_events()
        super().handle_exit(sig, frame)
