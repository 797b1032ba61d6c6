"""The folder, scanned every second: files that were added, changed or removed."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct

from spanwise.document import Document
from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import load_summary
from spanwise.document.scores import PRIMARY, SystemScores
from spanwise.errors import SpanwiseError
from spanwise.evaluation.columns import MentionColumns
from spanwise.reports._wording import slice_title
from spanwise.workbench.store import Board, Gold, ReadResult, Store, WatchedFile

PRIVATE = ".spanwise"  # the folder of the workbench inside the folder of results
COLUMNS = f"{PRIVATE}/columns"  # where the workbench itself keeps the columns of uploads
PATIENCE = 5.0  # seconds for which a file that cannot be read may still be growing
FIRST_LOOK = 1.5  # seconds until pages are answered, however much there is to look at


class Event(Struct, frozen=True):
    """An event that pages should be told of."""

    id: int
    kind: str  # result, job, note, slice, gold
    gold: str | None
    text: str


class BenchEvents:
    """The latest events, by number.

    Numbers begin with the moment at which the server started, so that a page that saw an earlier server is
    told everything that happened since.
    """

    def __init__(self) -> None:
        self._kept: deque[Event] = deque(maxlen=1000)
        self._lock = threading.Lock()
        self.last = int(1000 * time.time())
        self.closed = False  # the server is shutting down: listeners stop waiting

    def tell(self, kind: str, gold: str | None, text: str) -> None:
        """Add an event."""
        with self._lock:
            self.last += 1
            self._kept.append(Event(self.last, kind, gold, text))

    def after(self, number: int) -> list[Event]:
        """Those that came later than the event of this number."""
        with self._lock:
            return [event for event in self._kept if event.id > number]


class Watcher:
    """Keeps the store in sync with the folder."""

    def __init__(
        self, folder: Path, store: Store, events: BenchEvents, *, also: Callable[[], None] = lambda: None
    ) -> None:
        self.folder, self.store, self.events = folder, store, events
        self._also = also  # what else is looked at every second
        self._doubtful: dict[str, tuple[int, float]] = {}  # size, and when it was first found so
        self.looked = threading.Event()  # whether every file was looked at once
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Look at the folder now and every second; pages of a large one are answered meanwhile."""
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()
        self.looked.wait(FIRST_LOOK)

    def stop(self) -> None:
        """Stop watching."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while True:
            # Where the disk is full or another program keeps the database locked, it is looked at again.
            with suppress(OSError, sqlite3.OperationalError):
                self.scan()
            self.looked.set()
            if self._stop.wait(1.0):
                return

    def scan(self) -> None:
        """Look at every file once; only those whose size or time changed are opened."""
        known = self.store.files()
        there = set()
        # The oldest first: numbers of results tell their order, whatever clocks say later.
        for path, size, mtime_ns in sorted(_files(self.folder), key=lambda one: (one[2], one[0])):
            if self._stop.is_set():
                return
            there.add(path)
            before = known.get(path)
            if before is not None and (before.size, before.mtime_ns) == (size, mtime_ns):
                continue
            try:
                self._look(path, size, mtime_ns)
            except OSError:  # it was removed while we looked
                continue
        for path in known.keys() - there:
            self.store.remove_file(path)
            self.events.tell("result", known[path].gold, f"{path} is gone")
        self._also()

    def _look(self, path: str, size: int, mtime_ns: int) -> None:
        full = self.folder / path
        if path.endswith(".npz"):
            head = MentionColumns.read_head(full)
            if head is None and self._may_grow(path, size):
                return
            kind = "other" if head is None else "columns"
            slug = None if head is None else slug_of(head.dataset, head.gold)
            self.store.put_file(WatchedFile(path, size, mtime_ns, kind, slug))
            return
        try:
            document: Document = load_summary(full)
        except SpanwiseError as error:
            if self._may_grow(path, size):
                return
            why = str(error).replace(str(full), path).partition("\n")[0].removeprefix(f"{path}: ")
            if size and full.read_bytes().rstrip()[-1:] != b"}":
                why = f"it ends in the middle, at byte {size:,}."
            self.store.put_file(WatchedFile(path, size, mtime_ns, "unreadable", None, why))
            self.events.tell("result", None, f"{path} cannot be read")
            return
        self._doubtful.pop(path, None)
        if not isinstance(document, Evaluation) or not document.systems:
            self.store.put_file(WatchedFile(path, size, mtime_ns, "other"))
            return
        gold = gold_of(document)
        known = self.store.gold(gold.slug)
        if known is None or (known.path is None and gold.path is not None):
            self.store.put_gold(gold)
        digest = hashlib.sha256(full.read_bytes()).hexdigest()
        rows = [
            ReadResult(
                name,
                gold.slug,
                digest,
                board_of(document, name, system, mtime_ns / 1e9),
                counts_of(document, name),
            )
            for name, system in document.systems.items()
        ]
        self.store.put_file(WatchedFile(path, size, mtime_ns, "result", gold.slug), rows)
        self.events.tell("result", gold.slug, f"{', '.join(document.systems)} in {path}")

    def _may_grow(self, path: str, size: int) -> bool:
        """Whether a file that cannot be read may still be being written."""
        before, since = self._doubtful.get(path, (-1, 0.0))
        if before != size:
            self._doubtful[path] = (size, time.monotonic())
            return True
        if time.monotonic() - since < PATIENCE:
            return True
        self._doubtful.pop(path, None)
        return False


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Documents and columns of the folder and those inside it; not those whose names begin with a dot.

    Of the folder of the workbench only the columns of uploads are looked at.
    """
    for here, folders, names in chain(os.walk(folder), os.walk(folder / COLUMNS)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.startswith(".") or not name.endswith((".json", ".npz")):
                continue
            full = Path(here, name)
            try:
                if full.is_symlink() and not full.resolve().is_relative_to(folder):
                    continue
                told = full.stat()
            except OSError:
                continue
            yield full.relative_to(folder).as_posix(), told.st_size, told.st_mtime_ns


def slug_of(name: str, digest: str | None) -> str:
    """The name of a gold in addresses: what it is called, and the beginning of its hash."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:40] or "gold"
    return f"{plain}-{(digest or hashlib.sha256(name.encode()).hexdigest())[:8]}"


def gold_of(document: Evaluation) -> Gold:
    """What a document says of its gold file."""
    told = next(row for row in document.inputs if row.role == "gold")
    return Gold(
        slug=slug_of(document.dataset.name, told.sha256),
        name=document.dataset.name,
        sha256=told.sha256 or "",
        path=told.path,
        train=tuple(row.path for row in document.inputs if row.role == "train" and row.path),
        sentences=document.dataset.sentences,
        mentions=document.dataset.mentions,
        labels=document.dataset.labels_in_order,
        unit=document.settings.unit,
        units=document.settings.units,
    )


def board_of(document: Evaluation, name: str, system: SystemScores, made_at: float) -> Board:
    """What the leaderboard shows of one system."""
    scores = {score: system.primary(score) for score in PRIMARY}
    scores |= {f"tough/{name}": one.overall.recall for name, one in system.tough.items()}
    ends = {score: system.primary_ends(score) for score in PRIMARY}
    return Board(
        scores=scores,
        intervals={score: pair for score, pair in ends.items() if pair is not None},
        primary=document.settings.primary or "f1",
        labels={label: one.f1 for label, one in system.exact.labels.items()},
        tags=document.settings.tags,
        costs=_costs(system),
        signature=document.signature,
        made_at=made_at,
        counted=tuple(counts_of(document, name)),
    )


def counts_of(document: Evaluation, name: str) -> dict[str, str]:
    """The counts per unit of one system that tests on the board are made of, packed."""
    entries = [] if document.units is UNSET else document.units.systems.get(name, ())
    return {
        entry.name: msgspec.json.encode([entry]).decode()
        for entry in entries
        if entry.name in ("exact", "fair")
    }


def _costs(system: SystemScores) -> str | None:
    """The slice that costs a system most, in words."""
    if not system.slices:
        return None
    first = system.slices[0]
    return slice_title(first.kind, first.name, first.title)
