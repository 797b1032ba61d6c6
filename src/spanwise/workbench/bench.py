"""The state of a running workbench, and what takes its time over a connection: uploads and events."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import convert
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from spanwise.conditions import parse
from spanwise.document.scores import PRIMARY
from spanwise.errors import ChoiceError, InputError, unknown
from spanwise.formats import sha256_of, write_atomically
from spanwise.gates import Outcome, gate
from spanwise.slices.index import (
    Check,
    GateFile,
    NamedSlice,
    SliceIndex,
    read_gate,
    slice_checks,
    written_slices,
)
from spanwise.workbench.guard import IDLE, MOST_UPLOAD, Refused
from spanwise.workbench.index import Indexed, Recent, Shelf
from spanwise.workbench.jobs import OPTIONS, Jobs, inside
from spanwise.workbench.store import Gold, JobOptions, Result, Slice, Store
from spanwise.workbench.watch import PRIVATE, BenchEvents, Watcher

SLICES, GATE = "slices.toml", "gate.toml"


class NotHere(Exception):
    """Nothing stands at an address."""


class Bench:
    """One folder, opened."""

    def __init__(
        self, folder: Path, *, read_only: bool = False, memory: int | None = None, bundled: bool = False
    ) -> None:
        self.bundled = bundled  # pages are drawn for people without a server
        self.folder = folder.resolve()
        private = self.folder / PRIVATE
        if not read_only:
            private.mkdir(exist_ok=True)
        self.read_only = read_only
        self.store = Store(private / "workbench.sqlite", read_only=read_only)
        self.events = BenchEvents()
        self.watcher = Watcher(self.folder, self.store, self.events)
        self.jobs = Jobs(self.folder, self.store, self.events, memory=memory)
        self.shelf = Shelf(self.folder, self.store)
        self.door_token = ""
        self._looked: dict[str, set[str]] = {}
        self._digests: Recent[tuple[str, int, int], str] = Recent(16)
        self._lock = threading.Lock()

    def start(self) -> None:
        """Watch the folder and wait for jobs."""
        if not self.read_only:
            self.jobs.start()
            self.watcher.start()

    def stop(self) -> None:
        """Let go of everything."""
        if not self.read_only:
            self.watcher.stop()
            self.jobs.stop()
        self.store.close()

    # ---- what addresses name

    def gold(self, slug: str) -> Gold:
        """The gold of an address."""
        found = self.store.gold(slug)
        if found is None:
            raise NotHere(str(unknown("gold", slug, [one.slug for one in self.store.golds()])))
        return found

    def result(self, text: str, gold: Gold | None = None) -> Result:
        """The result of a number, or the latest of a system as `latest:NAME`."""
        if text.startswith("latest:") and gold is not None:
            name = text.removeprefix("latest:")
            for one in reversed(self.store.results(gold.slug)):
                if one.system == name and not one.gone:
                    return one
            names = {one.system for one in self.store.results(gold.slug)}
            raise NotHere(str(unknown("system", name, names)))
        found = self.store.result(int(text)) if text.isdecimal() and len(text) < 12 else None
        if found is None or (gold is not None and found.gold != gold.slug):
            raise NotHere(f"there is no result {text!r} here.\nThe leaderboard lists them.")
        return found

    def indexed(self, gold: Gold) -> Indexed:
        """The columns over a gold."""
        found = self.shelf.indexed(gold)
        if found is None:
            raise NotHere(
                "the folder has no mention columns for this gold file.\n"
                "Run spanwise evaluate … --columns FILE.npz and put the file into the folder."
            )
        return found

    def latest(self, gold: Gold) -> list[Result]:
        """The latest result of every system, the best first."""
        found = {one.system: one for one in self.store.results(gold.slug) if not one.gone}
        score = self.score(gold)
        return sorted(found.values(), key=lambda one: (-(one.board.scores.get(score) or 0), one.system))

    def score(self, gold: Gold, asked: str = "") -> str:
        """The score that ranks and tests systems: the one asked for, or the primary score of the results.

        Where the results over a gold have different primary scores, it is F1.
        """
        if asked:
            if asked not in PRIMARY:
                raise unknown("primary score", asked, PRIMARY)
            return asked
        found = {one.board.primary for one in self.store.results(gold.slug) if not one.gone}
        return found.pop() if len(found) == 1 else "f1"

    def gold_changed(self, gold: Gold) -> bool:
        """Whether the gold file lies in the folder and is no longer the one that results were made with."""
        if not gold.path or not gold.sha256:
            return False
        path = (self.folder / gold.path).resolve()
        if not path.is_relative_to(self.folder) or not path.is_file():
            return False
        about = path.stat()
        key = (str(path), about.st_size, about.st_mtime_ns)
        return self._digests.get(key, lambda: sha256_of(path)) != gold.sha256

    def other_golds(self, gold: Gold) -> list[Gold]:
        """Golds of the same name with another content; no test mixes results over both."""
        return [one for one in self.store.golds() if one.name == gold.name and one.slug != gold.slug]

    # ---- looking is testing

    def look(self, gold: Gold, where: str) -> int:
        """Count a slice as looked at; how many there are now on this gold."""
        with self._lock:
            seen = self._looked.setdefault(gold.slug, set())
            seen.add(where)
            return len(seen)

    # ---- saved slices and the gate

    def save_slice(
        self, gold: Gold, name: str, where: str, *, score: str | None, least: float | None, version: int
    ) -> Slice:
        """Keep a slice under a name, and in the file that the command line reads."""
        if not name.strip() or len(name) > 100:
            raise ChoiceError("a slice needs a name of up to 100 characters.\nGive one.")
        if score not in (None, "precision", "recall", "f1"):
            raise unknown("score", score, ["precision", "recall", "f1"])
        if least is not None and not 1 < least <= 100:
            raise ChoiceError(f"the floor is {least:g}, but must be above 1 and at most 100, in points.")
        canonical = str(parse(where))
        slug = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60] or "slice"
        saved = self.store.put_slice(Slice(gold.slug, slug, name.strip(), canonical, score, least, version))
        self._mirror(gold)
        self.events.tell("slice", gold.slug, f"slice {name} saved")
        return saved

    def remove_slice(self, gold: Gold, slug: str) -> None:
        """Forget a slice."""
        if not self.store.remove_slice(gold.slug, slug):
            raise NotHere(str(unknown("slice", slug, [one.slug for one in self.store.slices(gold.slug)])))
        self._mirror(gold)

    def _mirror(self, gold: Gold) -> None:
        named = {one.name: named_slice(one) for one in self.store.slices(gold.slug)}
        several = len(self.store.golds()) > 1
        name = f"{gold.slug}.{SLICES}" if several else SLICES
        write_atomically(self.folder / name, written_slices(named))

    def gate(self, gold: Gold, results: Sequence[Result] | None = None) -> Outcome:
        """What gate.toml asks of the latest results, and the floors of saved slices."""
        path = self.folder / GATE
        asked = read_gate(path) if path.is_file() else GateFile()
        checks: list[Check] = []
        for one in results if results is not None else self.latest(gold):
            document = self.shelf.document(one)
            only = replace(document, systems={one.system: document.systems[one.system]})
            checks += gate(only, fail_under=asked.fail_under, floors=asked.floors, score=asked.score).checks
        saved = GateFile(named={one.name: named_slice(one) for one in self.store.slices(gold.slug)})
        floors = [*asked.slices, *saved.slices]
        indexed = self.shelf.indexed(gold)
        if floors and indexed is not None:
            index: SliceIndex = indexed.index
            checks += slice_checks(index, floors)
        return Outcome(tuple(checks))


def named_slice(one: Slice) -> NamedSlice:
    """A saved slice as the file of a gate holds it."""
    if one.least is None:
        return NamedSlice(where=one.conditions)
    return convert({"where": one.conditions, one.score or "f1": one.least}, NamedSlice)


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
