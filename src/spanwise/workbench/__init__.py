"""The workbench: a local web application for a folder of results."""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.errors import ChoiceError, InputError, MissingExtra

if TYPE_CHECKING:
    from spanwise.workbench.bench import Bench
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
        InputError: the folder does not exist, another workbench serves it, or its `.spanwise` cannot be used.
    """
    try:
        from spanwise.workbench.connections import Server
    except ImportError as error:
        raise MissingExtra.of("uvicorn", "workbench", "the workbench") from error
    from spanwise.evaluation import parse_memory
    from spanwise.streams import write_message
    from spanwise.workbench.guard import Door
    from spanwise.workbench.private import PRIVATE, SERVER, TOKEN, check_private, write_new

    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{folder}: there is no such folder.\nName the folder that holds result documents.")
    if host not in LOOPBACK and behind_proxy is None:
        raise ChoiceError(
            f"--host {host} would open the workbench to other machines.\n"
            "Run it behind a proxy that authenticates users, and give its address: --behind-proxy https://NAME."
        )
    most = None if memory is None else parse_memory(memory)
    read_only = not os.access(root, os.W_OK)
    token = secrets.token_urlsafe(32)
    check_private(root)
    if not read_only:
        (root / PRIVATE).mkdir(exist_ok=True)
        _check_alone(root / SERVER)
    with _bound(host, port) as listener:
        door = Door.at(port, token, host=host, proxy=behind_proxy)
        guard = application(root, door, read_only=read_only, memory=most)
        bench: Bench = guard.app.state.bench  # type: ignore[attr-defined]

        def show_link() -> None:
            write_message(
                f"spanwise: the workbench for {root} is at\n\n  {guard.link()}\n\nPress Ctrl-C to stop it."
            )

        try:
            if not read_only:
                own = f"{os.getpid()} http://{host}:{port} {_started(os.getpid())}".strip()
                write_new(root / SERVER, f"{own}\n")
                write_new(root / TOKEN, f"{token}\n")
            Server(guard, bench.events.close, show_link).run([listener])
        finally:
            if not read_only:
                (root / SERVER).unlink(missing_ok=True)


def _bound(host: str, port: int) -> socket.socket:
    """A socket at the address, which it keeps from now on.

    Raises:
        InputError: the address is in use, or is not one of this machine.
    """
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except (OSError, OverflowError) as error:
        bound.close()
        why = (getattr(error, "strerror", None) or str(error)).lower()
        other = f"such as --port {port + 1}" if 0 < port < 65535 else "from 1024 to 65535"
        raise InputError(
            f"the workbench cannot listen at {host}:{port} ({why}).\nGive another port, {other}."
        ) from None
    return bound


def _check_alone(path: Path) -> None:
    """Refuse to start a second server on the same folder.

    A killed server leaves its file behind. The file holds the process id, the address and, where the system
    provides it, the start time of the process, since the id may have been reused.
    """
    from spanwise.workbench.private import read_start

    text = read_start(path, 200).decode("ascii", "replace").strip()
    found = re.fullmatch(r"([1-9][0-9]{0,8}) (http://[\w.:-]{1,100})(?: ([0-9]{1,30}))?", text)
    if found is not None and int(found[1]) != os.getpid() and _alive(int(found[1]), found[3] or ""):
        raise InputError(
            f"another workbench already serves this folder at {found[2]}.\nOpen that one, or stop it."
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
