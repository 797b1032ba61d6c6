"""The state of a running workbench, and long-lived connections: uploads and events."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
import sys
import threading
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import convert
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse

from spanwise.conditions import parse
from spanwise.document.scores import PRIMARY
from spanwise.errors import ChoiceError, InputError, SpanwiseError, unknown
from spanwise.evaluation.columns import MentionColumns
from spanwise.formats import sha256_of, write_atomically
from spanwise.gates import Outcome, gate
from spanwise.slices.index import (
    SCORES,
    Check,
    GateFile,
    NamedSlice,
    SliceIndex,
    read_gate,
    slice_checks,
    written_slices,
)
from spanwise.workbench.guard import COOKIE, IDLE, MOST_UPLOAD, Refused
from spanwise.workbench.index import Indexed, Shelf
from spanwise.workbench.jobs import OPTIONS, Child, Jobs, inside
from spanwise.workbench.lanes import Lanes
from spanwise.workbench.store import EvaluationJob, Gold, JobOptions, Note, Result, Slice, Store
from spanwise.workbench.watch import PRIVATE, BenchEvents, Watcher

SLICES, GATE = "slices.toml", "gate.toml"
UPLOAD_TAGS = ("commit", "run", "seed", "epoch")


class NotHere(Exception):
    """There is nothing at an address."""


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
        self.store = Store.opened(private / "workbench.sqlite", read_only=read_only)
        self.read_only = self.store.read_only
        self.events = BenchEvents()
        self.watcher = Watcher(self.folder, self.store, self.events, also=self.take_slices)
        self.jobs = Jobs(self.folder, self.store, self.events, memory=memory)
        self.child = Child(self.jobs.memory)
        self.shelf = Shelf(self.folder, self.store, child=None if bundled else self.child)
        self.lanes = Lanes()
        self.door_token = ""
        self._looked: dict[tuple[str, str], set[str]] = {}
        self._uploading: set[str] = set()
        self._slices_read: dict[str, tuple[int, int]] = {}  # size and time of each file of slices
        self.faults: dict[str, str] = {}  # files of slices that cannot be read, and why
        self._lock = threading.RLock()

    def start(self) -> None:
        """Watch the folder and wait for jobs."""
        if not self.read_only:
            self.jobs.start()
            self.watcher.start()

    def stop(self) -> None:
        """Release everything."""
        self.lanes.stop()
        self.child.stop()
        if not self.read_only:
            self.watcher.stop()
            self.jobs.stop()
        self.store.close()

    # ---- what addresses name

    def gold(self, slug: str) -> Gold:
        """The gold of an address."""
        gold = self.store.gold(slug)
        if gold is None:
            raise NotHere(str(unknown("gold", slug, [gold.slug for gold in self.store.golds()])))
        return gold

    def result(self, text: str, gold: Gold | None = None) -> Result:
        """The result of a number, or the latest of a system as `latest:NAME`."""
        if text.startswith("latest:") and gold is not None:
            name = text.removeprefix("latest:")
            for one in reversed(self.store.results(gold.slug)):
                if one.system == name and not one.gone:
                    return one
            names = {result.system for result in self.store.results(gold.slug)}
            raise NotHere(str(unknown("system", name, names)))
        result = self.store.result(int(text)) if text.isdecimal() and len(text) < 12 else None
        if result is None or (gold is not None and result.gold != gold.slug):
            raise NotHere(f"there is no result {text!r} here.\nThe leaderboard lists them.")
        return result

    def indexed(self, gold: Gold) -> Indexed:
        """The columns over a gold."""
        index = self.shelf.indexed(gold)
        if index is None:
            raise NotHere(
                "the folder has no mention columns for this gold file.\n"
                "Run spanwise evaluate … --columns FILE.npz and put the file into the folder."
            )
        return index

    def latest(self, gold: Gold) -> list[Result]:
        """The latest result of every system, the best first."""
        results = {result.system: result for result in self.store.results(gold.slug) if not result.gone}
        score = self.score(gold)
        return sorted(results.values(), key=lambda one: (-(one.board.scores.get(score) or 0), one.system))

    def score(self, gold: Gold, asked: str = "") -> str:
        """The score that ranks and tests systems: the one asked for, or the primary score of the results.

        Where the results over a gold have different primary scores, it is F1.
        """
        if asked:
            if asked not in PRIMARY:
                raise unknown("primary score", asked, PRIMARY)
            return asked
        primaries = {result.board.primary for result in self.store.results(gold.slug) if not result.gone}
        return primaries.pop() if len(primaries) == 1 else "f1"

    def gold_changed(self, gold: Gold) -> bool:
        """Whether the gold file is in the folder and is no longer the one that results were made with."""
        if not gold.path or not gold.sha256:
            return False
        path = (self.folder / gold.path).resolve()
        if not path.is_relative_to(self.folder) or not path.is_file():
            return False
        about = path.stat()
        key = (str(path), about.st_size, about.st_mtime_ns)
        return self.shelf.kept.get("digest", key, lambda: sha256_of(path), sys.getsizeof) != gold.sha256

    def other_golds(self, gold: Gold) -> list[Gold]:
        """Golds of the same name with another content; no test mixes results over both."""
        return [one for one in self.store.golds() if one.name == gold.name and one.slug != gold.slug]

    def notes(self, gold: Gold) -> list[Note]:
        """The notes on a gold, and those on other versions of it, at the sentences with the same text.

        Notes whose sentence is no longer there keep their number; their text does not fit it.
        """
        own = self.store.notes(gold.slug)
        others = [note for one in self.other_golds(gold) for note in self.store.notes(one.slug)]
        indexed = self.shelf.indexed(gold)
        if not others or indexed is None:
            return own
        columns = indexed.index.columns
        wanted = tuple(sorted({note.sentence_sha for note in others}))
        at = self.shelf.kept.get(
            "moved",
            (indexed.files, wanted),
            lambda: _sentences_by_sha(columns, wanted),
            lambda found: 200 * len(found),
        )
        moved = [replace(note, sentence=at.get(note.sentence_sha, note.sentence)) for note in others]
        return sorted([*own, *moved], key=lambda note: note.id)

    # ---- who asks

    def look(self, gold: Gold, where: str, asker: str) -> int:
        """Count a slice as looked at by a person; how many they have looked at on this gold."""
        with self._lock:
            seen = self._looked.setdefault((gold.slug, asker), set())
            seen.add(where)
            return len(seen)

    @contextmanager
    def uploading(self, asker: str) -> Iterator[None]:
        """Let every client send one file at a time."""
        with self._lock:
            if asker in self._uploading:
                raise Refused(409, "another upload from you is still in progress.\nWait for it to end.")
            self._uploading.add(asker)
        try:
            yield
        finally:
            with self._lock:
                self._uploading.discard(asker)

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
        self.take_slices()  # what was edited in the file comes first
        one = Slice(gold.slug, _slug(name), name.strip(), canonical, score, least, version)
        saved = self.store.put_slice(one)
        self._mirror(gold)
        self.events.tell("slice", gold.slug, f"slice {name} saved")
        return saved

    def slice(self, gold: Gold, slug: str) -> Slice:
        """One saved slice."""
        listed = {one.slug: one for one in self.store.slices(gold.slug)}
        if slug not in listed:
            raise NotHere(str(unknown("slice", slug, listed)))
        return listed[slug]

    def remove_slice(self, gold: Gold, slug: str, version: int) -> None:
        """Delete a slice that was not changed since."""
        self.store.remove_slice(gold.slug, slug, version)
        self._mirror(gold)

    def take_slices(self) -> None:
        """Look at the files of saved slices: what was edited since it was written wins."""
        for gold in self.store.golds():
            path = self._slices_file(gold)
            with self._lock:
                if not path.is_file():
                    continue
                about = path.stat()
                now = (about.st_size, about.st_mtime_ns)
                if self._slices_read.get(path.name) == now:
                    continue
                self._slices_read[path.name] = now
                self.faults.pop(path.name, None)
                try:
                    self._take(gold, path)
                except SpanwiseError as error:
                    self.faults[path.name] = str(error).partition("\n")[0].removeprefix(f"{path}: ")

    def _take(self, gold: Gold, path: Path) -> None:
        """Take the slices of a file into the store, unless they are there already."""
        named = read_gate(path).named
        known = self.store.slices(gold.slug)
        if {one.name: named_slice(one) for one in known} == dict(named):
            return
        taken = {one.slug: one for name, row in named.items() for one in [_slice(gold, name, row)]}
        self.store.replace_slices(gold.slug, list(taken.values()))

    def _slices_file(self, gold: Gold) -> Path:
        several = len(self.store.golds()) > 1
        return self.folder / (f"{gold.slug}.{SLICES}" if several else SLICES)

    def _mirror(self, gold: Gold) -> None:
        path = self._slices_file(gold)
        with self._lock:
            named = {one.name: named_slice(one) for one in self.store.slices(gold.slug)}
            write_atomically(path, written_slices(named))
            about = path.stat()
            self._slices_read[path.name] = (about.st_size, about.st_mtime_ns)

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


def sentence_sha(columns: MentionColumns, sentence: int) -> str:
    """The hash that ties a note to the text of a sentence."""
    text = "\x1f".join(columns.words(sentence))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _sentences_by_sha(columns: MentionColumns, wanted: Collection[str]) -> dict[str, int]:
    """The first sentence with each of some hashes."""
    first: dict[str, int] = {}
    for sentence in range(columns.head.sentences):
        sha = sentence_sha(columns, sentence)
        if sha in wanted and sha not in first:
            first[sha] = sentence
            if len(first) == len(wanted):
                break
    return first


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60] or "slice"


def _slice(gold: Gold, name: str, row: NamedSlice) -> Slice:
    """A slice of a file as the store keeps it: with the first of its floors."""
    floors = [(score, value) for score in SCORES if (value := getattr(row, score)) is not None]
    score, least = floors[0] if floors else (None, None)
    return Slice(gold.slug, _slug(name), name, str(parse(row.where)), score, least, 0)


def named_slice(one: Slice) -> NamedSlice:
    """A saved slice as the file of a gate holds it."""
    if one.least is None:
        return NamedSlice(where=one.conditions)
    return convert({"where": one.conditions, one.score or "f1": one.least}, NamedSlice)


def asker_of(request: Request) -> str:
    """Who asks: the browser that has the cookie of this server, or a script."""
    return "browser" if any(name.startswith(COOKIE) for name in request.cookies) else "script"


def sync_folder(folder: Path) -> None:
    """Make a new name in a folder survive a power failure, where the system supports it."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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


async def upload(bench: Bench, request: Request) -> EvaluationJob:
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
    with bench.uploading(asker_of(request)):
        await _receive(bench, request, name, kept)
    tags = {key: asked[key] for key in UPLOAD_TAGS if asked.get(key)}
    body = JobOptions(upload=kept, name=name, options=options, tags=tags)
    return await run_in_threadpool(bench.jobs.add, gold, system, body)


async def _receive(bench: Bench, request: Request, name: str, kept: str) -> None:
    """Write a body to the file of an upload: beside it, onto the disk, then under its name."""
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
        sync_folder(bench.jobs.uploads)
    except (ClientDisconnect, TimeoutError):
        half.unlink(missing_ok=True)
        raise Refused(408, "the upload was interrupted.\nSend the file again.") from None
    except BaseException:
        half.unlink(missing_ok=True)
        raise


async def events(bench: Bench, request: Request) -> Response:
    """What happens from now on, or since the event that the browser saw last."""
    text = request.headers.get("last-event-id") or request.query_params.get("after", "")
    last = int(text) if re.fullmatch(r"\d{1,18}", text) else bench.events.last
    if last > bench.events.last:  # of an earlier server, whose clock was ahead
        last = 0

    async def lines() -> AsyncIterator[bytes]:
        nonlocal last
        yield b"retry: 2000\n\n"
        quiet = 0
        while not bench.events.closed and not await request.is_disconnected():
            events = bench.events.after(last)
            for event in events:
                last = event.id
                body = msgspec.json.encode(event).decode()
                yield f"id: {event.id}\nevent: {event.kind}\ndata: {body}\n\n".encode()
            quiet = 0 if events else quiet + 1
            if quiet % 30 == 29:
                yield b": still here\n\n"
            await asyncio.sleep(0.5)

    return StreamingResponse(lines(), media_type="text/event-stream")
