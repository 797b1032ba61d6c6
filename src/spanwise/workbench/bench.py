"""The state of a running workbench, and its long-lived connections: uploads and events."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shlex
import sys
import threading
from collections import Counter
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
from spanwise.errors import ChoiceError, InputError, SpanwiseError, many, unknown
from spanwise.evaluation.columns import MentionColumns
from spanwise.formats import sha256_of, write_atomically
from spanwise.labels import label_map, label_names
from spanwise.slices.index import SCORES, NamedSlice, read_gate, written_slices
from spanwise.workbench.guard import COOKIE, IDLE, MOST_UPLOAD, Refused
from spanwise.workbench.index import Indexed, Shelf
from spanwise.workbench.jobs import OPTIONS, Child, Jobs, inside
from spanwise.workbench.lanes import Lanes
from spanwise.workbench.looks import AskedQuestion
from spanwise.workbench.private import DATABASE, PRIVATE, check_private, is_regular, upload_name
from spanwise.workbench.store import (
    EvaluationJob,
    Gold,
    JobOptions,
    Note,
    PooledRuns,
    Result,
    Slice,
    Store,
    StoredDocument,
    pooled,
)
from spanwise.workbench.watch import BenchEvents, Watcher

SLICES = "slices.toml"
LINKED = "this is a link or not a file, so the workbench neither reads nor writes it."
UPLOAD_TAGS = ("commit", "run", "seed", "epoch")


class NotFound(Exception):
    """Nothing exists at the requested address."""


class NoColumns(NotFound):
    """The folder has no mention columns for a gold file; `commands` write them."""

    def __init__(self, commands: Sequence[str]) -> None:
        super().__init__(
            "the folder has no mention columns for this gold file.\n"
            "Run spanwise evaluate … --columns FILE.npz and put the file into the folder."
        )
        self.commands = commands


class Bench:
    """An open folder of results: its store, watcher, jobs and caches."""

    def __init__(
        self, folder: Path, *, read_only: bool = False, memory: int | None = None, bundled: bool = False
    ) -> None:
        self.bundled = bundled  # pages are saved as static files, without a server
        self.folder = folder.resolve()
        check_private(self.folder)
        if not read_only:
            (self.folder / PRIVATE).mkdir(exist_ok=True)
        self.store = Store.opened(self.folder / DATABASE, read_only=read_only)
        self.read_only = self.store.read_only
        self.events = BenchEvents()
        self.watcher = Watcher(self.folder, self.store, self.events, also=self.take_slices)
        self.jobs = Jobs(self.folder, self.store, self.events, memory=memory)
        self.child = Child(self.jobs.memory)
        self.shelf = Shelf(self.folder, self.store, child=None if bundled else self.child)
        self.lanes = Lanes()
        self.door_token = ""
        self._uploading: set[str] = set()
        self._slices_read: dict[str, tuple[int, int]] = {}  # size and modification time of each slices file
        self.faults: dict[str, str] = {}  # slices files that cannot be read, and why
        self._lock = threading.RLock()

    def start(self) -> None:
        """Start watching the folder and running jobs."""
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

    # ---- looking up what addresses refer to

    def gold(self, slug: str) -> Gold:
        """Return the gold with this slug."""
        gold = self.store.gold(slug)
        if gold is None:
            raise NotFound(str(unknown("gold", slug, [gold.slug for gold in self.store.golds()])))
        return gold

    def result(self, text: str, gold: Gold | None = None) -> Result:
        """Return the result with this number, or with `latest:NAME` the latest result of that system."""
        if text.startswith("latest:") and gold is not None:
            name = text.removeprefix("latest:")
            for candidate in reversed(self.store.results(gold.slug)):
                if candidate.system == name and not candidate.gone:
                    return candidate
            names = {result.system for result in self.store.results(gold.slug)}
            raise NotFound(str(unknown("system", name, names)))
        result = self.store.result(int(text)) if text.isdecimal() and len(text) < 12 else None
        if result is None or (gold is not None and result.gold != gold.slug):
            raise NotFound(f"there is no result {text!r} here.\nThe leaderboard lists them.")
        return result

    def document(self, text: str) -> StoredDocument:
        """Return the document of another verb that has this number, if its file is as it was read."""
        found = next((stored for stored in self.store.documents() if str(stored.id) == text), None)
        if found is None:
            raise NotFound(f"there is no document {text!r} here.\nThe start page lists them.")
        self.shelf.file_of(found)
        return found

    def indexed(self, gold: Gold) -> Indexed:
        """Return the indexed mention columns of a gold."""
        index = self.shelf.indexed(gold)
        if index is None:
            raise NoColumns([*self._column_commands(gold)])
        return index

    def _column_commands(self, gold: Gold) -> Iterator[str]:
        """The commands that made the latest results of a gold, each with a file for its mention columns."""
        for path, result in {row.path: row for row in self.latest(gold)}.items():
            command = self.shelf.document(result).settings.command
            if command:
                words = shlex.split(command)
                written = words[words.index("--json") + 1] if "--json" in words[:-1] else path
                yield f"{command} --columns {shlex.quote(str(Path(written).with_suffix('.npz')))}"

    def latest(self, gold: Gold) -> list[Result]:
        """Return the latest result of every system, best first."""
        results = {result.system: result for result in self.store.results(gold.slug) if not result.gone}
        score = self.score(gold)
        return sorted(
            results.values(), key=lambda result: (-(result.board.scores.get(score) or 0), result.system)
        )

    def pools(self, gold: Gold, a: Result, b: Result) -> tuple[PooledRuns, PooledRuns]:
        """Return two results with all their runs; two runs of one system are taken by themselves."""
        every = pooled([result for result in self.store.results(gold.slug) if not result.gone])
        pools = [
            next((pool for pool in every if any(run.id == result.id for run in pool.runs)), None)
            or PooledRuns((result,))
            for result in (a, b)
        ]
        return (pools[0], pools[1]) if pools[0] != pools[1] else (PooledRuns((a,)), PooledRuns((b,)))

    def score(self, gold: Gold, requested: str = "") -> str:
        """Return the score that ranks and tests systems: the requested one, or the results' primary score.

        F1 if the results for this gold have different primary scores.
        """
        if requested:
            if requested not in list(PRIMARY):  # results keep no other F-betas
                raise unknown("primary score", requested, PRIMARY)
            return requested
        primaries = {result.board.primary for result in self.store.results(gold.slug) if not result.gone}
        return primaries.pop() if len(primaries) == 1 else "f1"

    def gold_changed(self, gold: Gold) -> bool:
        """Whether the gold file in the folder has changed since the results were computed."""
        if not gold.path or not gold.sha256:
            return False
        path = (self.folder / gold.path).resolve()
        if not path.is_relative_to(self.folder) or not path.is_file():
            return False
        stat = path.stat()
        key = (str(path), stat.st_size, stat.st_mtime_ns)
        return self.shelf.kept.get("digest", key, lambda: sha256_of(path), sys.getsizeof) != gold.sha256

    def other_golds(self, gold: Gold) -> list[Gold]:
        """Other versions of a gold file: the same name and path but different content; no test mixes them."""
        return [
            other
            for other in self.store.golds()
            if (other.name, other.path) == (gold.name, gold.path) and other.slug != gold.slug
        ]

    def titles(self) -> dict[str, str]:
        """What every gold set is called: by its name, and with its folder where several share a name."""
        golds = self.store.golds()
        names = Counter(gold.name for gold in golds)
        folders = Counter((gold.name, _folder(gold)) for gold in golds)
        titles = {}
        for gold in golds:
            folder = _folder(gold)
            if names[gold.name] == 1:
                titles[gold.slug] = gold.name
            elif folder and folders[gold.name, folder] == 1:
                titles[gold.slug] = f"{folder}/{gold.name}"
            else:
                titles[gold.slug] = f"{gold.name} ({many(gold.mentions, 'mention')})"
        return titles

    def notes(self, gold: Gold) -> list[Note]:
        """The notes on a gold and on other versions of it, moved to the sentences with the same text.

        Notes whose sentence no longer exists keep its number, but its text does not match their hash.
        """
        own = self.store.notes(gold.slug)
        others = [note for other in self.other_golds(gold) for note in self.store.notes(other.slug)]
        indexed = self.shelf.indexed(gold)
        if not others or indexed is None:
            return own
        columns = indexed.index.columns
        hashes = tuple(sorted({note.sentence_sha for note in others}))
        at = self.shelf.kept.get(
            "moved",
            (indexed.files, hashes),
            lambda: _sentences_by_sha(columns, hashes),
            lambda positions: 200 * len(positions),
        )
        moved = [replace(note, sentence=at.get(note.sentence_sha, note.sentence)) for note in others]
        return sorted([*own, *moved], key=lambda note: note.id)

    # ---- clients

    def look(self, gold: Gold, kind: str, *parts: str) -> AskedQuestion:
        """Number a question to a gold set, for example a slice and the predictions of two systems.

        Questions are counted for everyone together, and the count survives a restart.
        """
        question = hashlib.sha256("\x1f".join((kind, *parts)).encode("utf-8", "surrogatepass"))
        return self.store.look(gold.sha256 or gold.slug, question.hexdigest()[:32])

    @contextmanager
    def uploading(self, asker: str) -> Iterator[None]:
        """Allow each client only one upload at a time."""
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
        """Save a slice under a name, both in the store and in the file that the command line reads."""
        if not name.strip() or len(name) > 100:
            raise ChoiceError("a slice needs a name of up to 100 characters.\nGive one.")
        if score not in (None, "precision", "recall", "f1"):
            raise unknown("score", score, ["precision", "recall", "f1"])
        if least is not None and not 1 < least <= 100:
            raise ChoiceError(f"the floor is {least:g}, but must be above 1 and at most 100, in points.")
        condition = parse(where)
        canonical = str(condition)
        indexed = self.shelf.indexed(gold)
        if indexed is not None:
            indexed.index.counted(condition)  # refuse names and values that these mentions do not have
        self._check_mirror(gold)
        self.take_slices()  # pick up edits to the file before it is overwritten
        new = Slice(gold.slug, _slug(name), name.strip(), canonical, score, least, version)
        saved = self.store.put_slice(new)
        self._mirror(gold)
        self.events.add("slice", gold.slug, f"slice {name} saved")
        return saved

    def slice(self, gold: Gold, slug: str) -> Slice:
        """Return a saved slice."""
        listed = {saved.slug: saved for saved in self.store.slices(gold.slug)}
        if slug not in listed:
            raise NotFound(str(unknown("slice", slug, listed)))
        return listed[slug]

    def remove_slice(self, gold: Gold, slug: str, version: int) -> None:
        """Delete a slice, unless it has changed since `version`."""
        self._check_mirror(gold)
        self.store.remove_slice(gold.slug, slug, version)
        self._mirror(gold)

    def take_slices(self) -> None:
        """Read the slices files that were edited since they were written; edits win over the store."""
        for gold in self.store.golds():
            path = self._slices_file(gold)
            with self._lock:
                if not is_regular(path):
                    if _occupied(path):
                        self.faults[path.name] = LINKED
                    continue
                stat = path.stat()
                now = (stat.st_size, stat.st_mtime_ns)
                if self._slices_read.get(path.name) == now:
                    continue
                self._slices_read[path.name] = now
                self.faults.pop(path.name, None)
                try:
                    self._take(gold, path)
                except SpanwiseError as error:
                    self.faults[path.name] = str(error).partition("\n")[0].removeprefix(f"{path}: ")

    def _take(self, gold: Gold, path: Path) -> None:
        """Replace the slices in the store with those of a file, unless they are already equal."""
        slices = read_gate(path).named
        current = self.store.slices(gold.slug)
        if {saved.name: named_slice(saved) for saved in current} == dict(slices):
            return
        edited = {new.slug: new for name, row in slices.items() for new in [_slice(gold, name, row)]}
        self.store.replace_slices(gold.slug, list(edited.values()))

    def _slices_file(self, gold: Gold) -> Path:
        several = len(self.store.golds()) > 1
        return self.folder / (f"{gold.slug}.{SLICES}" if several else SLICES)

    def _check_mirror(self, gold: Gold) -> None:
        """Refuse to save slices through a link, which would change a file elsewhere, or into a pipe."""
        path = self._slices_file(gold)
        if _occupied(path) and not is_regular(path):
            raise InputError(f"{path.name}: {LINKED}\nMove it away, then save the slice again.")

    def _mirror(self, gold: Gold) -> None:
        path = self._slices_file(gold)
        with self._lock:
            slices = {saved.name: named_slice(saved) for saved in self.store.slices(gold.slug)}
            write_atomically(path, written_slices(slices))
            stat = path.stat()
            self._slices_read[path.name] = (stat.st_size, stat.st_mtime_ns)


def _occupied(path: Path) -> bool:
    """Whether there is anything of this name, also a link that leads nowhere."""
    return os.path.lexists(path)


def sentence_sha(columns: MentionColumns, sentence: int) -> str:
    """The hash that ties a note to the text of a sentence."""
    text = "\x1f".join(columns.words(sentence))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _sentences_by_sha(columns: MentionColumns, hashes: Collection[str]) -> dict[str, int]:
    """For each of the hashes, the first sentence that has it."""
    first: dict[str, int] = {}
    for sentence in range(columns.head.sentences):
        sha = sentence_sha(columns, sentence)
        if sha in hashes and sha not in first:
            first[sha] = sentence
            if len(first) == len(hashes):
                break
    return first


def _folder(gold: Gold) -> str:
    """The name of the folder that a gold file was in; empty if it is not known."""
    return Path(gold.path).parent.name if gold.path else ""


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60] or "slice"


def _slice(gold: Gold, name: str, row: NamedSlice) -> Slice:
    """Convert a slice from a file to the store's form, which keeps only the first of its floors."""
    floors = [(score, value) for score in SCORES if (value := getattr(row, score)) is not None]
    score, least = floors[0] if floors else (None, None)
    return Slice(gold.slug, _slug(name), name, str(parse(row.where)), score, least, 0)


def named_slice(saved: Slice) -> NamedSlice:
    """Convert a saved slice to the form used in a gate file."""
    if saved.least is None:
        return NamedSlice(where=saved.conditions)
    return convert({"where": saved.conditions, saved.score or "f1": saved.least}, NamedSlice)


def asker_of(request: Request) -> str:
    """Identify the client: a browser that has this server's cookie, or a script."""
    return "browser" if any(name.startswith(COOKIE) for name in request.cookies) else "script"


def sync_folder(folder: Path) -> None:
    """Make a newly created name in a folder survive a power failure, where the system supports it."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


READ_ONLY = "the folder is read-only, so nothing can be saved.\nMake it writable, then restart the workbench."
JSON = "application/json"


def checked_options(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a job; unknown names and values are refused."""
    for name, value in options.items():
        if name not in OPTIONS:
            raise unknown("option", name, OPTIONS)
        if OPTIONS[name] and value not in OPTIONS[name]:
            raise unknown(f"value of {name}", value, OPTIONS[name])
        if name in ("map", "predicted_map", "hierarchy"):
            label_map(value, option=name)  # never a file: the workbench reads none that it is told to
        elif name in ("only", "without"):
            label_names(value, option=name)
        elif name == "hierarchy_level" and not value.isdecimal():
            raise ChoiceError(f"hierarchy_level is {value!r}, but must be a whole number, 0 or more.")
    return dict(options)


async def upload(bench: Bench, request: Request) -> EvaluationJob:
    """Save the request body as a file, completely or not at all, and queue its evaluation."""
    if bench.read_only:
        raise Refused(503, READ_ONLY)
    gold = bench.gold(request.path_params["gold"])
    query = request.query_params
    name = query.get("name") or "predictions"
    system = (query.get("system") or name.partition(".")[0]).strip()
    if not system or len(system) > 100:
        raise ChoiceError("a system needs a name of up to 100 characters.\nGive it as ?system=NAME.")
    options = checked_options({key: query[key] for key in OPTIONS if query.get(key)})
    inside(bench.folder, gold.path)  # fail before the file is sent
    # The name of an upload is never used as a path; only its extensions are kept, to detect the format.
    endings = re.search(r"((?:\.[A-Za-z0-9]{1,8}){1,2})$", name)
    filename = upload_name(endings[1].lower() if endings else ".conll")
    with bench.uploading(asker_of(request)):
        await _receive(bench, request, name, filename)
    tags = {key: query[key] for key in UPLOAD_TAGS if query.get(key)}
    body = JobOptions(upload=filename, name=name, options=options, tags=tags)
    return await run_in_threadpool(bench.jobs.add, gold, system, body)


async def _receive(bench: Bench, request: Request, name: str, filename: str) -> None:
    """Write the request body to a temporary file, sync it to disk, then rename it."""
    partial = bench.jobs.uploads / f"{filename}.part"
    size = 0
    try:
        with partial.open("xb") as stream:
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
        partial.rename(bench.jobs.uploads / filename)
        sync_folder(bench.jobs.uploads)
    except (ClientDisconnect, TimeoutError):
        partial.unlink(missing_ok=True)
        raise Refused(408, "the upload was interrupted.\nSend the file again.") from None
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


async def events(bench: Bench, request: Request) -> Response:
    """Stream events from now on, or from the last event that the browser has seen."""
    text = request.headers.get("last-event-id") or request.query_params.get("after", "")
    last = int(text) if re.fullmatch(r"\d{1,18}", text) else bench.events.last
    if last > bench.events.last:  # from an earlier server whose clock was ahead
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
