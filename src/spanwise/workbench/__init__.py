"""The workbench: a local web application over a folder of results."""

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
    """Save the pages of a folder of results for people without a server; how many pages there are."""
    try:
        from spanwise.workbench.saving import bundle as save
    except ImportError as error:
        raise MissingExtra.of("starlette", "workbench", "the workbench") from error
    return save(folder, to, systems=systems)


def application(
    folder: str | Path, door: Door, *, read_only: bool = False, memory: int | None = None
) -> Guard:
    """The application behind its guard."""
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
    """Serve a folder until Ctrl-C; `memory` is what the evaluation of an upload may take.

    Raises:
        ChoiceError: the address would be open to others.
        InputError: the folder is not there, or another workbench serves it.
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
    say(f"spanwise: the workbench over {root} is at\n\n  {guard.link()}\n\nCtrl-C ends it.")
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
    """Refuse a port that another program listens on, before a link to it is printed."""
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
    """Refuse a second server on one folder; a server that was killed leaves its number behind.

    The file holds the number of the process, the address and, where the system tells it, when the process
    started: another process may have got the number since.
    """
    if path.is_file():
        number, there, started, *_ = [*path.read_text(encoding="utf-8").split(), "", "", ""]
        if number.isdecimal() and int(number) != os.getpid() and _alive(int(number), started):
            raise InputError(
                f"another workbench already serves this folder at {there}.\nOpen that one, or stop it."
            )


def _started(number: int) -> str:
    """When a process started, in ticks since the system did; empty where the system does not tell."""
    try:
        about = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return about.rpartition(")")[2].split()[19]  # the name before it may hold spaces and brackets


def _alive(number: int, started: str) -> bool:
    if started and _started(number) not in ("", started):
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _write_secret(path: Path, token: str) -> None:
    """The token for scripts of the same user."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(token + "\n")
