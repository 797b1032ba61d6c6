"""Watch a folder: once a second, find the files that were added, changed or removed."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import stat
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct

from spanwise.document import Document, gold_input
from spanwise.document.evaluation import Evaluation
from spanwise.document.leaks import Leaks
from spanwise.document.loading import load_summary
from spanwise.document.scores import PRIMARY, SystemScores
from spanwise.errors import SpanwiseError
from spanwise.evaluation.columns import MentionColumns
from spanwise.views.verdict import verdict
from spanwise.views.wording import DOCUMENTS, slice_title
from spanwise.workbench.private import COLUMNS
from spanwise.workbench.store import (
    Board,
    Gold,
    ReadLeaks,
    ReadResult,
    Store,
    StoredDocument,
    WatchedFile,
)

PATIENCE = 5.0  # seconds after which an unreadable file is no longer assumed to be still growing
FIRST_LOOK = 1.5  # seconds to wait for the first scan before serving pages


class Event(Struct, frozen=True):
    """An event to send to open pages."""

    id: int
    kind: str  # result, document, job, note, slice, gold
    gold: str | None
    text: str


class BenchEvents:
    """The latest events, numbered.

    Numbering starts at the server's start time in milliseconds, so that a page opened under an earlier
    server receives everything that has happened since.
    """

    def __init__(self) -> None:
        self._kept: deque[Event] = deque(maxlen=1000)
        self._lock = threading.Lock()
        self.last = int(1000 * time.time())
        self.closed = False  # the server is shutting down: listeners stop waiting

    def add(self, kind: str, gold: str | None, text: str) -> None:
        """Add an event."""
        with self._lock:
            self.last += 1
            self._kept.append(Event(self.last, kind, gold, text))

    def close(self) -> None:
        """Let all listeners stop waiting."""
        self.closed = True

    def after(self, number: int) -> list[Event]:
        """The events after the one with this number."""
        with self._lock:
            return [event for event in self._kept if event.id > number]


class Watcher:
    """Keeps the store in sync with the folder."""

    def __init__(
        self, folder: Path, store: Store, events: BenchEvents, *, also: Callable[[], None] = lambda: None
    ) -> None:
        self.folder, self.store, self.events = folder, store, events
        self._also = also  # called after every scan
        self._doubtful: dict[str, tuple[int, float]] = {}  # size, and since when
        self.looked = threading.Event()  # set after the first full scan
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start scanning every second; return after the first scan or, in a large folder, before it ends."""
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
            # If the disk is full or another program has locked the database, try again at the next scan.
            # Whatever a file in the folder causes, watching goes on.
            with suppress(Exception):
                self.scan()
            self.looked.set()
            if self._stop.wait(1.0):
                return

    def scan(self) -> None:
        """Scan the folder once; only files whose size or modification time changed are opened."""
        previous = self.store.files()
        present = set()
        # Oldest first, so that result numbers reflect their order even if clocks change later.
        for path, size, mtime_ns in sorted(_files(self.folder), key=lambda file: (file[2], file[0])):
            if self._stop.is_set():
                return
            present.add(path)
            before = previous.get(path)
            if before is not None and (before.size, before.mtime_ns) == (size, mtime_ns):
                continue
            try:
                self._look(path, size, mtime_ns)
            except OSError:  # removed during the scan
                continue
            except sqlite3.Error:
                raise
            except Exception as error:  # one file never hides the others
                why = f"it cannot be used ({type(error).__name__})."
                if isinstance(error, SpanwiseError):
                    why = str(error).partition("\n")[0]
                self.store.put_file(WatchedFile(path, size, mtime_ns, "unreadable", None, why))
        for path in previous.keys() - present:
            self.store.remove_file(path)
            kind = "document" if previous[path].kind in ("document", "leaks") else "result"
            self.events.add(kind, previous[path].gold, f"{path} is gone")
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
            self.events.add("result", None, f"{path} cannot be read")
            return
        self._doubtful.pop(path, None)
        digest = hashlib.sha256(full.read_bytes()).hexdigest()
        if not isinstance(document, Evaluation) or not document.systems:
            stored = StoredDocument(0, path, document.kind, digest, str(verdict(document).answer))
            leaks = leaks_of(document) if isinstance(document, Leaks) else None
            kind = "document" if leaks is None else "leaks"
            self.store.put_file(WatchedFile(path, size, mtime_ns, kind), leaks=leaks, document=stored)
            self.events.add("document", None, f"{DOCUMENTS[document.kind]} in {path}")
            for known in self.store.golds():
                if leaks is not None and known.slug.endswith(leaks.gold[:8]):
                    self.events.add("result", known.slug, f"leak rates in {path}")
            return
        gold = gold_of(document)
        before = self.store.gold(gold.slug)
        if before is None or (before.path is None and gold.path is not None):
            self.store.put_gold(gold)
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
        self.events.add("result", gold.slug, f"{', '.join(document.systems)} in {path}")

    def _may_grow(self, path: str, size: int) -> bool:
        """Whether an unreadable file may still be in the process of being written."""
        before, since = self._doubtful.get(path, (-1, 0.0))
        if before != size:
            self._doubtful[path] = (size, time.monotonic())
            return True
        if time.monotonic() - since < PATIENCE:
            return True
        self._doubtful.pop(path, None)
        return False


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Documents and columns in the folder and its subfolders, except those whose names begin with a dot.

    In the workbench's own folder, only the columns of uploads are included. Pipes, devices, links that lead
    out of the folder or in a circle, and names that are not text are left out.
    """
    for parent, folders, names in chain(os.walk(folder), os.walk(folder / COLUMNS)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if name.startswith(".") or not name.endswith((".json", ".npz")):
                continue
            full = Path(parent, name)
            try:
                if full.is_symlink() and not full.resolve(strict=True).is_relative_to(folder):
                    continue
                found = full.stat()
                relative = full.relative_to(folder).as_posix()
                relative.encode()
            except (OSError, RuntimeError, UnicodeEncodeError):
                continue
            if stat.S_ISREG(found.st_mode):
                yield relative, found.st_size, found.st_mtime_ns


def slug_of(name: str, digest: str | None) -> str:
    """The name of a gold in URLs: its own name and the first characters of its hash."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:40] or "gold"
    return f"{plain}-{(digest or hashlib.sha256(name.encode()).hexdigest())[:8]}"


def gold_of(document: Evaluation) -> Gold:
    """Describe the gold file of a document."""
    source = gold_input(document.inputs)
    return Gold(
        slug=slug_of(document.dataset.name, document.settings.gold_digest(source.sha256)),
        name=document.dataset.name,
        sha256=source.sha256 or "",
        path=source.path,
        train=tuple(row.path for row in document.inputs if row.role == "train" and row.path),
        sentences=document.dataset.sentences,
        mentions=document.dataset.mentions,
        labels=document.dataset.labels_in_order,
        unit=document.settings.unit,
        units=document.settings.units,
    )


def leaks_of(document: Leaks) -> ReadLeaks | None:
    """The leak rates of a document, whatever label hides; None if it cannot be matched with an evaluation."""
    digest = gold_input(document.inputs).sha256
    if digest is None or document.settings.same_label or document.label_rules:
        return None
    rates = {
        row.sha256: rate
        for row in document.inputs
        if row.role == "predicted" and row.sha256 and row.system in document.systems
        if (rate := document.systems[row.system].overall.leak_rate) is not None
    }
    return ReadLeaks(digest, rates)


def board_of(document: Evaluation, name: str, system: SystemScores, made_at: float) -> Board:
    """What the leaderboard shows for one system."""
    scores = {score: system.primary(score) for score in PRIMARY}
    scores |= {f"tough/{name}": scored.overall.recall for name, scored in system.tough.items()}
    ends = {score: system.primary_ends(score) for score in PRIMARY}
    return Board(
        scores=scores,
        intervals={score: pair for score, pair in ends.items() if pair is not None},
        primary=document.settings.primary or "f1",
        labels={label: scored.f1 for label, scored in system.exact.labels.items()},
        tags=document.settings.tags,
        costs=_costs(system),
        signature=document.signature,
        made_at=made_at,
        counted=tuple(counts_of(document, name)),
        predicted=next((row.sha256 or "" for row in document.inputs if row.system == name), ""),
    )


def counts_of(document: Evaluation, name: str) -> dict[str, str]:
    """The packed counts per unit of one system, used for tests on the leaderboard."""
    entries = [] if document.units is UNSET else document.units.systems.get(name, ())
    return {
        entry.name: msgspec.json.encode([entry]).decode()
        for entry in entries
        if entry.name in ("exact", "fair")
    }


def _costs(system: SystemScores) -> str | None:
    """The title of the slice that costs a system the most."""
    if not system.slices:
        return None
    first = system.slices[0]
    return slice_title(first.kind, first.name, first.title)
