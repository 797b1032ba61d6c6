"""What takes its time over a connection: uploads, and events as they happen."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
from collections.abc import AsyncIterator, Mapping

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from spanwise.errors import ChoiceError, InputError, unknown
from spanwise.workbench.bench import Bench
from spanwise.workbench.guard import Refused
from spanwise.workbench.jobs import OPTIONS, inside
from spanwise.workbench.limits import IDLE, MOST_UPLOAD
from spanwise.workbench.store import JobOptions

READ_ONLY = "the folder is read-only, so nothing can be saved.\nMake it writable, then restart the workbench."
JSON = "application/json"


def checked_options(given: Mapping[str, str]) -> dict[str, str]:
    """The options of a job, refused where they are unknown."""
    for name, value in given.items():
        if name not in OPTIONS:
            raise unknown("option", name, OPTIONS)
        if value not in OPTIONS[name]:
            raise unknown(f"value of {name}", value, OPTIONS[name])
    return dict(given)


async def upload(bench: Bench, request: Request) -> Response:
    """Keep the body as a file, whole or not at all, and put its evaluation into the queue."""
    if bench.read_only:
        raise Refused(503, READ_ONLY)
    gold = bench.gold(request.path_params["gold"])
    asked = request.query_params
    name = asked.get("name") or "predictions"
    system = (asked.get("system") or name.partition(".")[0]).strip()
    if not system or len(system) > 100:
        raise ChoiceError("a system needs a name of up to 100 characters.\nGive it as ?system=NAME.")
    options = checked_options({key: asked[key] for key in OPTIONS if asked.get(key)})
    inside(bench.folder, gold.path)  # refuses before the file is sent
    # The name of an upload never becomes a path; its endings tell the format.
    endings = re.search(r"((?:\.[A-Za-z0-9]{1,8}){1,2})$", name)
    kept = f"{secrets.token_hex(12)}{endings[1].lower() if endings else '.conll'}"
    half = bench.jobs.uploads / f"{kept}.part"
    size = 0
    try:
        with half.open("xb") as stream:
            pieces = request.stream()
            while True:
                piece = await asyncio.wait_for(anext(pieces, b""), IDLE)
                if not piece:
                    break
                size += len(piece)
                if size > MOST_UPLOAD:
                    raise Refused(
                        413, f"the upload is too large; at most {MOST_UPLOAD:,} bytes are accepted."
                    )
                stream.write(piece)
            stream.flush()
            os.fsync(stream.fileno())
        if not size:
            raise InputError(f"{name}: the upload is empty.\nSend a file of predictions.")
        half.rename(bench.jobs.uploads / kept)
    except (ClientDisconnect, TimeoutError):
        half.unlink(missing_ok=True)
        raise Refused(408, "the upload was interrupted.\nSend the file again.") from None
    except BaseException:
        half.unlink(missing_ok=True)
        raise
    tags = {key: asked[key] for key in ("commit", "run", "epoch") if asked.get(key)}
    body = JobOptions(upload=kept, name=name, options=options, tags=tags)
    added = await run_in_threadpool(bench.jobs.add, gold, system, body)
    return Response(msgspec.json.encode(added), 202, media_type=JSON)


async def events(bench: Bench, request: Request) -> Response:
    """What happens from now on, or since the event that the browser saw last."""
    text = request.headers.get("last-event-id", "")
    last = int(text) if text.isdecimal() and len(text) < 12 else bench.events.last

    async def lines() -> AsyncIterator[bytes]:
        nonlocal last
        yield b"retry: 2000\n\n"
        quiet = 0
        while not bench.events.closed and not await request.is_disconnected():
            found = bench.events.after(last)
            for event in found:
                last = event.id
                body = msgspec.json.encode(event).decode()
                yield f"id: {event.id}\nevent: {event.kind}\ndata: {body}\n\n".encode()
            quiet = 0 if found else quiet + 1
            if quiet % 30 == 29:
                yield b": still here\n\n"
            await asyncio.sleep(0.5)

    return StreamingResponse(lines(), media_type="text/event-stream")
