"""The database of results, notes, saved slices and jobs; the only module that contains SQL."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import stdev
from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from spanwise.alignment import TokenDifference
from spanwise.document.evaluation import PackedMeasure
from spanwise.errors import InputError
from spanwise.workbench.looks import MOST_LOOKS, AskedQuestion
from spanwise.workbench.private import damaged_database

LEAK_RATE = "leak_rate"  # the score of a board that documents of leaks have
RUN_TAGS = ("run", "seed")  # the tags that distinguish runs of the same system

# Step N migrates a database from version N to N + 1. Append new steps; never change existing ones.
MIGRATIONS = (
    """
    CREATE TABLE gold (slug TEXT PRIMARY KEY, body TEXT NOT NULL);
    CREATE TABLE file (path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, kind TEXT, gold TEXT, why TEXT);
    CREATE TABLE result (
        id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL, system TEXT NOT NULL, gold TEXT NOT NULL,
        sha256 TEXT NOT NULL, gone INTEGER NOT NULL DEFAULT 0, body TEXT NOT NULL,
        UNIQUE (path, system, sha256));
    CREATE INDEX result_gold ON result (gold);
    CREATE TABLE slice (
        gold TEXT, slug TEXT, name TEXT NOT NULL, conditions TEXT NOT NULL, score TEXT, least REAL,
        version INTEGER NOT NULL, PRIMARY KEY (gold, slug));
    CREATE TABLE note (
        id INTEGER PRIMARY KEY AUTOINCREMENT, gold TEXT NOT NULL, sentence INTEGER NOT NULL,
        sentence_sha TEXT NOT NULL, start INTEGER, "end" INTEGER, label TEXT, tag TEXT NOT NULL,
        text TEXT NOT NULL, "by" TEXT NOT NULL, version INTEGER NOT NULL, at REAL NOT NULL);
    CREATE INDEX note_gold ON note (gold);
    CREATE TABLE job (
        id INTEGER PRIMARY KEY AUTOINCREMENT, gold TEXT NOT NULL, system TEXT NOT NULL, body TEXT NOT NULL,
        state TEXT NOT NULL, step TEXT NOT NULL DEFAULT '', done INTEGER NOT NULL DEFAULT 0,
        total INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '', at REAL NOT NULL);
    """,
    "ALTER TABLE slice ADD COLUMN at REAL NOT NULL DEFAULT 0;",
    "DELETE FROM file;",  # forces every document to be read again, since boards now hold more scores
    "ALTER TABLE note ADD COLUMN system TEXT;",
    # Counts per unit are kept in their own table so that listing results stays fast.
    """
    CREATE TABLE IF NOT EXISTS units (
        result INTEGER, name TEXT, packed TEXT NOT NULL, PRIMARY KEY (result, name));
    INSERT OR REPLACE INTO units SELECT result.id, one.key, one.value
        FROM result, json_each(result.body, '$.counts') AS one;
    UPDATE result SET body = json_set(json_remove(body, '$.counts'), '$.counted',
        json((SELECT json_group_array(units.name) FROM units WHERE units.result = result.id)));
    """,
    "ALTER TABLE job ADD COLUMN difference TEXT NOT NULL DEFAULT '';",
    # The questions that were asked of a gold set, and the results that histories are compared with.
    """
    CREATE TABLE IF NOT EXISTS look (
        gold TEXT, question TEXT, number INTEGER NOT NULL, PRIMARY KEY (gold, question));
    CREATE TABLE IF NOT EXISTS reference (
        gold TEXT, system TEXT, result INTEGER NOT NULL, PRIMARY KEY (gold, system));
    """,
    # The leak rates of predictions, by hashes; every document is read again for the hash of its predictions.
    """
    CREATE TABLE IF NOT EXISTS leak (
        path TEXT, gold TEXT, predicted TEXT, rate REAL NOT NULL, PRIMARY KEY (path, predicted));
    DELETE FROM file;
    """,
    # The documents of other verbs; those that were passed over so far are read again.
    """
    CREATE TABLE IF NOT EXISTS document (
        id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
        sha256 TEXT NOT NULL, answer TEXT NOT NULL);
    DELETE FROM file WHERE kind IN ('leaks', 'other', 'unreadable');
    """,
)

# The name of a gold in addresses and in names of files.
Slug: TypeAlias = Annotated[str, Meta(pattern="^[a-z0-9-]{1,60}$")]
# Errors that say that a file is damaged, not that it is locked, full or not writable.
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_FORMAT)

Bounds: TypeAlias = tuple[float | None, float | None]


class Gold(Struct, frozen=True, kw_only=True):
    """A gold file; results for the same gold can be compared."""

    slug: Slug
    name: str
    sha256: str
    path: str | None = None
    train: tuple[str, ...] = ()
    sentences: int
    mentions: int
    labels: tuple[str, ...] = ()
    unit: str
    units: int


class WatchedFile(Struct, frozen=True):
    """A file in the folder, as it was when last scanned."""

    path: str
    size: int
    mtime_ns: int
    kind: str  # result, columns, leaks, document (of another verb), other, unreadable
    gold: str | None = None
    why: str | None = None


class Board(Struct, frozen=True, kw_only=True):
    """What the leaderboard shows for one system of a document; the rest is read from the document itself."""

    scores: Mapping[str, float | None]  # primary scores, recall as "tough/SUBSET", and "leak_rate" if known
    intervals: Mapping[str, Bounds] = field(default_factory=dict)
    primary: str = "f1"
    labels: Mapping[str, float | None] = field(default_factory=dict)  # F1
    tags: Mapping[str, str] = field(default_factory=dict)
    costs: str | None = None
    signature: str = ""
    made_at: float = 0.0
    counted: tuple[str, ...] = ()  # which of "exact" and "fair" have stored counts per unit
    predicted: str = ""  # the hash of its predictions; empty for data in memory


class ReadLeaks(Struct, frozen=True):
    """The leak rates in a document: the hash of its gold, and the rate of each predictions' hash."""

    gold: str
    rates: Mapping[str, float]


class StoredDocument(Struct, frozen=True):
    """A document of a verb other than evaluate, and its answer; when the file changes, so does its number."""

    id: int
    path: str
    kind: str
    sha256: str
    answer: str


class ReadResult(Struct, frozen=True):
    """One system's results as read from a document, not yet stored."""

    system: str
    gold: str
    sha256: str
    board: Board
    counts: Mapping[str, str]  # packed counts per unit, by name


class Result(Struct, frozen=True):
    """The stored results of one system in one document."""

    id: int
    path: str
    system: str
    gold: str
    sha256: str
    gone: bool
    board: Board


class PooledRuns(Struct, frozen=True):
    """Runs of one system that differ only in their run or seed tags, or a single result."""

    runs: tuple[Result, ...]  # the newest last

    @property
    def result(self) -> Result:
        """The newest run, which represents the pool."""
        return self.runs[-1]

    @property
    def id(self) -> int:
        """The id of the newest run."""
        return self.result.id

    def mean(self, values: Sequence[float | None]) -> float | None:
        """The mean over runs; None if the value of any run is undefined."""
        defined = [value for value in values if value is not None]
        return sum(defined) / len(defined) if len(defined) == len(values) else None

    def score(self, name: str) -> float | None:
        """The mean of a score."""
        return self.mean([run.board.scores.get(name) for run in self.runs])

    @property
    def scores(self) -> dict[str, float | None]:
        """The mean of every score."""
        return {name: self.score(name) for name in self.names}

    @property
    def names(self) -> Sequence[str]:
        """The names of the scores on the board."""
        return tuple(self.result.board.scores)

    def deviation(self, score: str) -> float | None:
        """The standard deviation of a score over runs; None with fewer than two defined values."""
        defined = [value for run in self.runs if (value := run.board.scores.get(score)) is not None]
        return stdev(defined) if len(defined) > 1 else None


def run_of(tags: Mapping[str, str]) -> tuple[str, ...]:
    """The values of the tags that tell runs apart; empty if there are none."""
    return tuple(tags[name] for name in RUN_TAGS if name in tags)


def other_tags(tags: Mapping[str, str]) -> list[tuple[str, str]]:
    """The tags that all runs of a system share, in order."""
    return sorted((key, value) for key, value in tags.items() if key not in RUN_TAGS)


def pooled(results: Sequence[Result]) -> list[PooledRuns]:
    """Pool results of the same system whose tags differ only in run or seed; ordered by their newest run.

    A run that was repeated counts once, with its newest result.
    """
    pools: dict[tuple[object, ...], dict[tuple[str, ...], Result]] = {}
    for result in results:
        run = run_of(result.board.tags)
        key = (result.system, result.gone, *other_tags(result.board.tags)) if run else (result.id,)
        runs = pools.setdefault(key, {})
        runs.pop(run, None)
        runs[run] = result
    pools_of_runs = [PooledRuns(tuple(runs.values())) for runs in pools.values()]
    return sorted(pools_of_runs, key=lambda pool: pool.id)


class Slice(Struct, frozen=True):
    """A saved slice."""

    gold: str
    slug: str
    name: str
    conditions: str
    score: str | None
    least: float | None
    version: int
    at: float = 0.0  # when it was first saved


class Note(Struct, frozen=True):
    """A person's note on a mention, tied to the text of its sentence by a hash."""

    id: int
    gold: str
    sentence: int
    sentence_sha: str
    start: int | None
    end: int | None
    label: str | None
    tag: str
    text: str
    by: str
    version: int
    at: float
    system: str | None = None  # whose prediction it is about; None if it is about gold


class JobOptions(Struct, frozen=True, kw_only=True):
    """The upload that a job evaluates, and the options to use."""

    upload: str
    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


class EvaluationJob(Struct, frozen=True):
    """An evaluation that runs in a child process."""

    id: int
    gold: str
    system: str
    body: JobOptions
    state: str  # waiting, running, done, failed, cancelled, interrupted
    step: str
    done: int
    total: int
    error: str
    at: float
    difference: TokenDifference | None = None  # the first difference between the upload's tokens and gold


class Changed(Exception):
    """The row to be changed has been changed or removed by someone else."""


class Exists(Exception):
    """Something with this name already exists."""


T = TypeVar("T", bound=Struct)


class Store:
    """The database of one folder."""

    def __init__(self, path: Path, *, read_only: bool = False, patience: float = 5.0) -> None:
        self.path, self.read_only = path, read_only
        self.stuck = ""  # why the last write could not start
        self._lock = threading.RLock()
        self._results: dict[str, list[Result]] = {}  # by gold, as last read
        self._results_version: tuple[int, int] | None = None  # counts writes by others and by us
        self._results_changed = 0
        self._looks: dict[tuple[str, str], int] = {}  # looks that a read-only database cannot keep
        mode = "ro" if read_only else "rwc"
        self._db = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, check_same_thread=False, timeout=patience,
            isolation_level=None,
        )  # fmt: skip
        try:
            self._open()
        except BaseException:
            self._db.close()
            raise

    def _open(self) -> None:
        """Check the file before anything is written to it, then migrate it to this version."""
        self._db.execute("PRAGMA trusted_schema=OFF")
        self._check()
        if not self.read_only:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
        if self.read_only and self._version() < len(MIGRATIONS):
            self._db = _in_memory(self._db)  # leave the older file unchanged
        self._migrate()
        self._check_rows()
        if self.read_only:
            self._db.execute("PRAGMA query_only=ON")

    @classmethod
    def opened(cls, path: Path, *, read_only: bool = False) -> Store:
        """Open the database, or open it read-only if another program keeps it locked."""
        try:
            return cls(path, read_only=read_only)
        except sqlite3.OperationalError as error:
            if read_only:
                raise InputError(
                    f"{path}: the file cannot be opened ({error}).\n"
                    "Make it readable or the folder writable, or serve a copy of the folder."
                ) from None
            return cls.opened(path, read_only=True)

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _check(self) -> None:
        """Refuse a file that is damaged, or whose tables are not those of its version.

        Raises:
            InputError: it is one, or a newer workbench wrote it.
        """
        with self._unharmed():
            version = self._version()
        if version > len(MIGRATIONS):
            raise InputError(
                f"{self.path}: a newer workbench wrote this file (version {version}; this one reads up to "
                f"{len(MIGRATIONS)}).\nInstall a newer spanwise; the notes and slices are still in the file."
            )
        with self._unharmed():
            ours = version >= 0 and _tables(self._db) == _tables(_at_version(version))
            fault = self._db.execute("PRAGMA quick_check(1)").fetchone()[0] if ours else "it has other tables"
        if fault != "ok":
            raise damaged_database(self.path, fault)

    @contextmanager
    def _unharmed(self) -> Iterator[None]:
        """Turn all that is wrong with a damaged file into one message; a locked file is another matter."""
        try:
            yield
        except (sqlite3.DatabaseError, ValueError, TypeError) as error:
            # An error without a code is one of the module itself, such as bytes that are not UTF-8.
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
            if isinstance(error, sqlite3.OperationalError) and code not in _DAMAGE:
                raise
            raise damaged_database(self.path, str(error)) from None

    def _check_rows(self) -> None:
        """Refuse a file with a row that cannot be read, or with the name of a gold that is not a name."""
        with self._unharmed():
            rows: list[Struct] = [*self.golds(), *self.files().values()]
            rows += self.documents()
            rows += [_result(row) for row in self._rows("SELECT * FROM result")]
            rows += [_job(row) for row in self._rows("SELECT * FROM job")]
            rows += [Note(*row) for row in self._rows("SELECT * FROM note")]
            rows += [Slice(*row) for row in self._rows("SELECT * FROM slice")]
            for row in rows:
                msgspec.convert(msgspec.to_builtins(row), type(row))

    def _migrate(self) -> None:
        version = self._version()
        for number in range(version, len(MIGRATIONS)):
            steps = f"BEGIN IMMEDIATE; {MIGRATIONS[number]} PRAGMA user_version={number + 1}; COMMIT;"
            self._db.executescript(steps)

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                self.stuck = str(error)
                raise
            self.stuck = ""
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _rows(self, sql: str, values: Sequence[str | int] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(sql, tuple(values)).fetchall()

    # ---- golds, files, results

    def golds(self) -> list[Gold]:
        """All golds, sorted by slug."""
        return [
            msgspec.json.decode(body, type=Gold)
            for (body,) in self._rows("SELECT body FROM gold ORDER BY slug")
        ]

    def gold(self, slug: str) -> Gold | None:
        """Return the gold with this slug, or None."""
        rows = self._rows("SELECT body FROM gold WHERE slug=?", [slug])
        return msgspec.json.decode(rows[0][0], type=Gold) if rows else None

    def put_gold(self, gold: Gold) -> None:
        """Add or replace a gold."""
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO gold VALUES (?, ?)", (gold.slug, _json(gold)))

    def files(self) -> dict[str, WatchedFile]:
        """All scanned files, by path."""
        return {row[0]: WatchedFile(*row) for row in self._rows("SELECT * FROM file")}

    def documents(self) -> list[StoredDocument]:
        """The documents of verbs other than evaluate, newest first."""
        return [StoredDocument(*row) for row in self._rows("SELECT * FROM document ORDER BY id DESC")]

    def put_file(
        self, file: WatchedFile, results: Sequence[ReadResult] = (), leaks: ReadLeaks | None = None,
        document: StoredDocument | None = None,
    ) -> None:  # fmt: skip
        """Add or replace a file and what it contains: results, or the document of another verb.

        The number of the document that is given is replaced by one of its own.
        """
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?)", _values(file))
            self._results_changed += 1
            db.execute("UPDATE result SET gone=1 WHERE path=?", (file.path,))
            db.execute("DELETE FROM leak WHERE path=?", (file.path,))
            same = "" if document is None else document.sha256
            db.execute("DELETE FROM document WHERE path=? AND sha256<>?", (file.path, same))
            if document is not None:
                db.execute(
                    "INSERT INTO document (path, kind, sha256, answer) VALUES (?, ?, ?, ?) "
                    "ON CONFLICT (path) DO UPDATE SET answer=excluded.answer",
                    _values(document)[1:],
                )
            if leaks is not None:
                rows = [(file.path, leaks.gold, predicted, rate) for predicted, rate in leaks.rates.items()]
                db.executemany("INSERT INTO leak VALUES (?, ?, ?, ?)", rows)
            for result in results:
                db.execute(
                    "INSERT INTO result (path, system, gold, sha256, body) VALUES (?, ?, ?, ?, ?) "
                    "ON CONFLICT (path, system, sha256) DO UPDATE SET gone=0, body=excluded.body",
                    (file.path, result.system, result.gold, result.sha256, _json(result.board)),
                )
                number = db.execute(
                    "SELECT id FROM result WHERE path=? AND system=? AND sha256=?",
                    (file.path, result.system, result.sha256),
                ).fetchone()[0]
                db.executemany(
                    "INSERT OR REPLACE INTO units VALUES (?, ?, ?)",
                    [(number, name, text) for name, text in result.counts.items()],
                )

    def remove_file(self, path: str) -> None:
        """Remove a deleted file; its results are kept but marked as gone."""
        with self._writing() as db:
            self._results_changed += 1
            db.execute("DELETE FROM file WHERE path=?", (path,))
            db.execute("UPDATE result SET gone=1 WHERE path=?", (path,))
            db.execute("DELETE FROM leak WHERE path=?", (path,))
            db.execute("DELETE FROM document WHERE path=?", (path,))

    def results(self, gold: str) -> list[Result]:
        """The results for one gold, oldest first."""
        with self._lock:
            version = int(self._rows("PRAGMA data_version")[0][0]), self._results_changed
            if version != self._results_version:
                self._results_version, self._results = version, {}
            if gold not in self._results:
                rows = self._rows("SELECT * FROM result WHERE gold=? ORDER BY id", [gold])
                self._results[gold] = self._with_leaks([_result(row) for row in rows])
            return list(self._results[gold])

    def result(self, number: int) -> Result | None:
        """Return the result with this number, or None."""
        rows = self._rows("SELECT * FROM result WHERE id=?", [number])
        return self._with_leaks([_result(rows[0])])[0] if rows else None

    def _with_leaks(self, results: Sequence[Result]) -> list[Result]:
        """The results, with the leak rates that a document of leaks has of the same predictions and gold."""
        rates = {
            (gold[:8], predicted): rate
            for gold, predicted, rate in self._rows("SELECT gold, predicted, rate FROM leak ORDER BY rowid")
        }
        changed = []
        for result in results:
            board = result.board
            rate = rates.get((result.gold[-8:], board.predicted)) if board.predicted else None
            if rate is not None:
                board = replace(board, scores={**board.scores, LEAK_RATE: rate})
            changed.append(replace(result, board=board))
        return changed

    def counts(self, result: int, name: str) -> list[PackedMeasure]:
        """The packed counts per unit of a result; `name` is "exact" or "fair".

        Raises:
            InputError: the file was damaged after it was opened, or where it was not looked at then.
        """
        with self._unharmed():
            rows = self._rows("SELECT packed FROM units WHERE result=? AND name=?", [result, name])
            if not rows:
                raise damaged_database(self.path, "the counts of a result are missing")
            return msgspec.json.decode(rows[0][0], type=list[PackedMeasure])

    # ---- slices

    def slices(self, gold: str) -> list[Slice]:
        """The saved slices of a gold."""
        return [Slice(*row) for row in self._rows("SELECT * FROM slice WHERE gold=? ORDER BY slug", [gold])]

    def slice(self, gold: str, slug: str) -> Slice | None:
        """Return a saved slice, or None."""
        rows = self._rows("SELECT * FROM slice WHERE gold=? AND slug=?", [gold, slug])
        return Slice(*rows[0]) if rows else None

    def put_slice(self, new: Slice) -> Slice:
        """Save a slice; its `version` must be that of the slice it replaces, or 0 for a new one."""
        with self._writing() as db:
            row = db.execute(
                "SELECT version, at FROM slice WHERE gold=? AND slug=?", (new.gold, new.slug)
            ).fetchone()
            if row and not new.version:
                raise Exists(
                    f"there is already a slice {new.name!r}.\nChoose another name, or change that one."
                )
            if (row[0] if row else 0) != new.version:
                raise Changed(f"the slice {new.name!r} has changed.\nReload it and try again.")
            at = row[1] if row else time.time()
            saved = replace(new, version=new.version + 1, at=at)
            db.execute("INSERT OR REPLACE INTO slice VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _values(saved))
        return saved

    def remove_slice(self, gold: str, slug: str, version: int) -> None:
        """Delete a slice, unless it has changed since `version`."""
        with self._writing() as db:
            done = db.execute(
                "DELETE FROM slice WHERE gold=? AND slug=? AND version=?", (gold, slug, version)
            ).rowcount
        if not done:
            raise Changed("the slice has changed.\nReload it and try again.")

    def replace_slices(self, gold: str, slices: Sequence[Slice]) -> None:
        """Replace the slices of a gold with those of an edited file; unchanged slices keep their version."""
        current = {new.slug: new for new in self.slices(gold)}
        with self._writing() as db:
            db.execute("DELETE FROM slice WHERE gold=?", (gold,))
            for new in slices:
                before = current.get(new.slug)
                at = before.at if before else time.time()
                version = before.version if before else 0
                same = before is not None and msgspec.structs.replace(new, version=version, at=at) == before
                row = msgspec.structs.replace(new, version=version + (not same), at=at)
                db.execute("INSERT INTO slice VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _values(row))

    # ---- looks and references

    def look(self, gold: str, question: str) -> AskedQuestion:
        """Number a question to a gold set; the same question always has the same number.

        Beyond the last number that can be significant, questions are not kept.
        """
        known = self._looked(gold, question)
        if known is not None:
            return known
        if self.read_only:
            with self._lock:
                number = min(self._last_look(gold) + 1, MOST_LOOKS + 1)
                return AskedQuestion(self._looks.setdefault((gold, question), number), lasting=False)
        with self._writing() as db:
            known = self._looked(gold, question)
            if known is not None:
                return known
            number = self._last_look(gold) + 1
            if number > MOST_LOOKS:
                return AskedQuestion(MOST_LOOKS + 1)
            db.execute("INSERT INTO look VALUES (?, ?, ?)", (gold, question, number))
        return AskedQuestion(number)

    def _looked(self, gold: str, question: str) -> AskedQuestion | None:
        rows = self._rows("SELECT number FROM look WHERE gold=? AND question=?", [gold, question])
        if rows:
            return AskedQuestion(rows[0][0])
        number = self._looks.get((gold, question))
        return None if number is None else AskedQuestion(number, lasting=False)

    def _last_look(self, gold: str) -> int:
        stored = self._rows("SELECT MAX(number) FROM look WHERE gold=?", [gold])[0][0] or 0
        return max([stored, *(number for (own, _), number in self._looks.items() if own == gold)])

    def references(self, gold: str) -> dict[str, int]:
        """The result that each system's history is compared with, where it was chosen."""
        rows = self._rows("SELECT system, result FROM reference WHERE gold=?", [gold])
        return dict(rows)

    def put_reference(self, gold: str, system: str, result: int) -> None:
        """Compare the history of a system with another result from now on."""
        with self._writing() as db:
            db.execute("INSERT OR REPLACE INTO reference VALUES (?, ?, ?)", (gold, system, result))

    # ---- notes

    def notes(self, gold: str) -> list[Note]:
        """The notes on a gold, oldest first."""
        return [Note(*row) for row in self._rows("SELECT * FROM note WHERE gold=? ORDER BY id", [gold])]

    def note(self, number: int) -> Note | None:
        """Return the note with this number, or None."""
        rows = self._rows("SELECT * FROM note WHERE id=?", [number])
        return Note(*rows[0]) if rows else None

    def add_note(self, note: Note) -> Note:
        """Add a note and return it with its new number."""
        with self._writing() as db:
            cursor = db.execute(
                'INSERT INTO note (gold, sentence, sentence_sha, start, "end", label, tag, text, "by", '
                "version, at, system) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (*_values(note)[1:9], note.by, 1, time.time(), note.system),
            )
            number = int(cursor.lastrowid or 0)
        added = self.note(number)
        assert added is not None
        return added

    def change_note(self, number: int, version: int, *, tag: str, text: str, by: str) -> Note:
        """Change a note, unless it has changed since `version`."""
        with self._writing() as db:
            done = db.execute(
                'UPDATE note SET tag=?, text=?, "by"=?, version=version+1, at=? WHERE id=? AND version=?',
                (tag, text, by, time.time(), number, version),
            ).rowcount
        note = self.note(number)
        if not done or note is None:
            raise _changed(note)
        return note

    def remove_note(self, number: int, version: int) -> None:
        """Remove a note, unless it has changed since `version`."""
        with self._writing() as db:
            done = db.execute("DELETE FROM note WHERE id=? AND version=?", (number, version)).rowcount
        if not done:
            raise _changed(self.note(number))

    # ---- jobs

    def jobs(self) -> list[EvaluationJob]:
        """The latest jobs, newest first."""
        return [_job(row) for row in self._rows("SELECT * FROM job ORDER BY id DESC LIMIT 50")]

    def job(self, number: int) -> EvaluationJob | None:
        """Return the job with this number, or None."""
        rows = self._rows("SELECT * FROM job WHERE id=?", [number])
        return _job(rows[0]) if rows else None

    def add_job(self, gold: str, system: str, body: JobOptions) -> EvaluationJob:
        """Add a job in the state "waiting"."""
        with self._writing() as db:
            cursor = db.execute(
                "INSERT INTO job (gold, system, body, state, at) VALUES (?, ?, ?, 'waiting', ?)",
                (gold, system, _json(body), time.time()),
            )
            number = int(cursor.lastrowid or 0)
        job = self.job(number)
        assert job is not None
        return job

    def set_job(
        self, number: int, state: str, *, step: str = "", done: int = 0, total: int = 0, error: str = "",
        difference: TokenDifference | None = None,
    ) -> None:  # fmt: skip
        """Update the state and progress of a job."""
        shown = "" if difference is None else _json(difference)
        with self._writing() as db:
            db.execute(
                "UPDATE job SET state=?, step=?, done=?, total=?, error=?, difference=? WHERE id=?",
                (state, step, done, total, error, shown, number),
            )

    def uploads(self) -> set[str]:
        """The names of the uploads that belong to jobs."""
        return {_job(row).body.upload for row in self._rows("SELECT * FROM job")}

    def interrupt_jobs(self) -> None:
        """Mark the jobs of an earlier server as interrupted; their uploads are kept."""
        with self._writing() as db:
            db.execute("UPDATE job SET state='interrupted' WHERE state IN ('running', 'waiting')")


def _tables(db: sqlite3.Connection) -> list[tuple[object, ...]]:
    """The tables and indexes of a database with their columns; views and triggers differ by their kind."""
    rows = db.execute("SELECT type, name, tbl_name FROM sqlite_master ORDER BY type, name").fetchall()
    return [(*row, *db.execute("SELECT name FROM pragma_table_info(?)", (row[1],))) for row in rows]


def _at_version(version: int) -> sqlite3.Connection:
    """An empty database as a workbench of an earlier version made it."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    for step in MIGRATIONS[:version]:
        db.executescript(step)
    return db


def _in_memory(file: sqlite3.Connection) -> sqlite3.Connection:
    """Return a modifiable in-memory copy of a database."""
    copy = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    file.backup(copy)
    file.close()
    return copy


def _json(value: Struct) -> str:
    return msgspec.json.encode(value).decode()


def _values(value: Struct) -> tuple[object, ...]:
    return tuple(getattr(value, name) for name in value.__struct_fields__)


def _result(row: Sequence[Any]) -> Result:
    number, path, system, gold, digest, gone, body = row
    return Result(number, path, system, gold, digest, bool(gone), msgspec.json.decode(body, type=Board))


def _job(row: Sequence[Any]) -> EvaluationJob:
    number, gold, system, body, state, step, done, total, error, at, shown = row
    options = msgspec.json.decode(body, type=JobOptions)
    difference = msgspec.json.decode(shown, type=TokenDifference) if shown else None
    return EvaluationJob(number, gold, system, options, state, step, done, total, error, at, difference)


def _changed(note: Note | None) -> Changed:
    """The error for a note that has changed or disappeared since it was read."""
    what = "was removed" if note is None else f"was changed by {note.by or 'someone else'}: {note.text!r}"
    return Changed(f"the note {what}.\nReload it and try again.")
