"""The workbench: a local web application for a folder of results."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import ChoiceError, InputError, MissingExtra

if TYPE_CHECKING:
    from types import FrameType

    from spanwise.workbench.guard import Door, Guard

__all__ = ["application", "bundle", "serve"]

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def bundle(folder: str | Path, to: str | Path, *, systems: Sequence[str] = ()) -> int:
    """Save the pages of a folder of results as static files, and return the number of pages."""
    try:
        from spanwise.workbench.saving import bundle as save
    except ImportError as error:
        raise MissingExtra.of("starlette", "workbench", "the workbench") from error
    return save(folder, to, systems=systems)


def application(
    folder: str | Path, door: Door, *, read_only: bool = False, memory: int | None = None
) -> Guard:
    """The ASGI application for a folder, wrapped in the guard that checks every request."""
    try:
        from starlette.applications import Starlette
    except ImportError as error:
        raise MissingExtra.of("starlette", "workbench", "the workbench") from error
    from contextlib import asynccontextmanager

    from spanwise.workbench import api, pages
    from spanwise.workbench.bench import Bench
    from spanwise.workbench.guard import Guard

    bench = Bench(Path(folder), read_only=read_only, memory=memory)

    @asynccontextmanager
    async def lifespan(app: Starlette):  # type: ignore[no-untyped-def]
        bench.start()
        yield
        bench.stop()

    handlers = {404: pages.missing(bench), 405: pages.missing(bench)}
    app = Starlette(
        routes=[*api.routes(bench), *pages.routes(bench)], lifespan=lifespan, exception_handlers=handlers
    )
    app.state.bench = bench
    return Guard(app, door)


def serve(
    folder: str | Path = ".",
    *,
    port: int = 7350,
    host: str = "127.0.0.1",
    behind_proxy: str | None = None,
    memory: int | str | None = None,
) -> None:
    """Serve a folder until Ctrl-C; `memory` limits the memory that evaluating an upload may use.

    Raises:
        ChoiceError: the address would be reachable from other machines.
        InputError: the folder does not exist, or another workbench already serves it.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra.of("uvicorn", "workbench", "the workbench") from error
    from spanwise.evaluation import parse_memory
    from spanwise.streams import say
    from spanwise.workbench.guard import Door
    from spanwise.workbench.watch import PRIVATE

    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{folder}: there is no such folder.\nName the folder that holds result documents.")
    if host not in LOOPBACK and behind_proxy is None:
        raise ChoiceError(
            f"--host {host} would open the workbench to other machines.\n"
            "Run it behind a proxy that authenticates users, and give its address: --behind-proxy https://NAME."
        )
    private = root / PRIVATE
    read_only = not os.access(root, os.W_OK)
    token = secrets.token_urlsafe(32)
    if not read_only:
        private.mkdir(exist_ok=True)
        _check_alone(private / "server")
    _check_free(host, port)
    if not read_only:
        own = f"{os.getpid()} http://{host}:{port} {_started(os.getpid())}".strip()
        (private / "server").write_text(f"{own}\n", encoding="utf-8")
        _write_secret(private / "token", token)
    door = Door.at(port, token, host=host, proxy=behind_proxy)
    most = None if memory is None else parse_memory(memory)
    guard = application(root, door, read_only=read_only, memory=most)
    say(f"spanwise: the workbench for {root} is at\n\n  {guard.link()}\n\nPress Ctrl-C to stop it.")
    config = uvicorn.Config(
        guard, host=host, port=port, log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=2,
    )  # fmt: skip
    events = guard.app.state.bench.events  # type: ignore[attr-defined]

    class Server(uvicorn.Server):
        """A server that closes event streams when it shuts down."""

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            events.closed = True
            super().handle_exit(sig, frame)

    try:
        Server(config).run()
    finally:
        if not read_only:
            (private / "server").unlink(missing_ok=True)


def _check_free(host: str, port: int) -> None:
    """Refuse a port that is already in use, before printing a link to it."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise InputError(
                f"the workbench cannot listen at {host}:{port} ({(error.strerror or str(error)).lower()}).\n"
                f"Give another port, such as --port {port + 1}."
            ) from None


def _check_alone(path: Path) -> None:
    """Refuse to start a second server on the same folder.

    A killed server leaves its file behind. The file holds the process id, the address and, where the system
    provides it, the start time of the process, since the id may have been reused.
    """
    if path.is_file():
        pid, address, started, *_ = [*path.read_text(encoding="utf-8").split(), "", "", ""]
        if pid.isdecimal() and int(pid) != os.getpid() and _alive(int(pid), started):
            raise InputError(
                f"another workbench already serves this folder at {address}.\nOpen that one, or stop it."
            )


def _started(pid: int) -> str:
    """When a process started, in clock ticks since boot; empty if the system does not provide it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]  # the process name in parentheses may contain spaces


def _alive(pid: int, started: str) -> bool:
    if started and _started(pid) not in ("", started):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _write_secret(path: Path, token: str) -> None:
    """Write the token to a file that only this user can read, for their scripts."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(token + "\n")
