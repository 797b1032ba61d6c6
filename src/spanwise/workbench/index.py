"""The data behind pages and API responses: documents, columns, slices and tests, computed on demand."""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from math import ceil
from pathlib import Path

import msgspec
import numpy as np
from msgspec import UNSET, Struct

from spanwise.bitmaps import ones
from spanwise.conditions import Condition
from spanwise.document import to_encodable
from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import load_summary
from spanwise.document.scores import PRIMARY, Comparison
from spanwise.errors import InputError
from spanwise.evaluation.columns import ColumnsHead, MentionColumns
from spanwise.evaluation.comparisons import compare_runs
from spanwise.evaluation.scoring import unpack_measures
from spanwise.formats import sha256_of
from spanwise.gates import check_same_gold, compare_two
from spanwise.gates.merging import differing
from spanwise.intervals import jackknife
from spanwise.scores import Measure
from spanwise.settings import CONFIDENCE, CORRECTION
from spanwise.slices.index import FoundSlices, SliceIndex, weak_slices
from spanwise.uncertainty import MOST_SHUFFLES, Resampling
from spanwise.workbench.child import ReportTask, SearchTask, report_of
from spanwise.workbench.jobs import Child, inside
from spanwise.workbench.lanes import AnswerCache
from spanwise.workbench.looks import AskedQuestion
from spanwise.workbench.store import (
    Bounds,
    Gold,
    PooledRuns,
    Result,
    Store,
    StoredDocument,
    WatchedFile,
    other_tags,
    run_of,
)

SHUFFLES, FLIPS = 1000, 2000
CLOSE = 0.02  # below this, a p-value is computed with as many shuffles as the smallest level needs
NO_BOUNDS = np.full(2, np.nan)
BUDGET = 1 << 28  # bytes of documents, columns, bitmaps and answers to cache
TESTED = 20  # systems to test against each other


class SystemAnswer(Struct, frozen=True, kw_only=True):
    """The counts and scores of one system in a slice."""

    gold: int
    predicted: int | None
    correct: int
    precision: float | None
    recall: float | None
    f1: float | None
    interval: tuple[float, float] | None
    overall: float | None  # the score on all mentions
    outcomes: Mapping[str, int]


class SliceAnswer(Struct, frozen=True, kw_only=True):
    """A slice: its size, and the scores of every system in it."""

    where: str
    mentions: int
    sentences: int
    score: str  # the score that `interval` belongs to
    systems: Mapping[str, SystemAnswer]
    facets: Mapping[str, Mapping[str, int]]
    why: str | None = None


class SliceTest(Struct, frozen=True, kw_only=True):
    """The paired test of two systems in a slice; the difference is `a` minus `b`, of means over runs.

    The test is question number `looks` to the gold set; it is significant if p is at most `level`, which is
    null once no further question can be significant. `said` puts this into words.
    """

    a: str
    b: str
    score: str
    difference: float | None
    interval: tuple[float | None, float | None] | None
    p: float | None
    level: float | None = None  # what p is held against; None where no further look can be significant
    looks: int = 0  # the number of this question among those asked of the gold set
    significant: bool = False
    test: str | None = None  # the name of the test
    runs: tuple[int, int] = (1, 1)
    said: str = ""  # which question it is, and what p is held against


class Searched(FoundSlices, frozen=True, kw_only=True):
    """A search for weak slices, as question number `looks` to a gold set.

    Slices are listed where p, corrected for all slices tested, is at most `level`, which is null once no
    further question can be significant. `said` puts this into words.
    """

    level: float | None  # slices are listed where p is at most this; None where none can be significant
    looks: int  # the number of this question among those asked of the gold set
    said: str  # which question it is, and what p is held against


FileKey = tuple[str, int, int]  # path, size and modification time


class Indexed(Struct, frozen=True, eq=False):
    """The columns of one gold, combined from several files, and the attributes that were left out."""

    index: SliceIndex
    left: tuple[str, ...]  # attributes whose buckets differ between files
    results: Mapping[str, str]  # the file behind each system
    files: tuple[FileKey, ...]  # identifies these columns in caches
    parts: Mapping[FileKey, MentionColumns]  # all of the first file; only the systems of the others

    @property
    def bytes(self) -> int:
        """The approximate memory used by the columns and the bitmaps made from them."""
        return sum(
            array.nbytes + array.nbytes // 2 for part in self.parts.values() for array in part.arrays.values()
        )


class Shelf:
    """Cached access to the documents, columns and answers of one folder."""

    def __init__(self, folder: Path, store: Store, *, child: Child | None = None) -> None:
        self.folder, self.store = folder, store
        self.child = child  # runs reports and searches; without it they run in this process
        self.kept = AnswerCache(BUDGET)
        self._building = threading.Lock()

    def document(self, result: Result) -> Evaluation:
        """The document that contains a result, without its sentences."""

        def read() -> Evaluation:
            data = load_summary(self.file_of(result))
            assert isinstance(data, Evaluation)  # as when it was read
            return data

        size = self._size(result.path)
        return self.kept.get("document", (result.path, result.sha256), read, lambda _: size)

    def file_of(self, stored: Result | StoredDocument) -> Path:
        """The file of a document, if it is as it was read."""
        path = inside(self.folder, stored.path)
        if sha256_of(path) != stored.sha256:
            raise InputError(f"{stored.path}: this file has changed.\nOpen it from the start page again.")
        return path

    def _size(self, path: str) -> int:
        try:
            return (self.folder / path).stat().st_size
        except OSError:
            return 0

    def buckets(self, result: Result) -> dict[tuple[str, str], str]:
        """The descriptions of a result's buckets, by attribute and bucket name."""
        attributes = self.document(result).systems[result.system].attributes
        return {
            (name, bucket.name): str(bucket.label)
            for name, table in attributes.items()
            for bucket in table.buckets
            if bucket.label is not UNSET and bucket.label
        }

    def report(self, stored: Result | StoredDocument) -> str:
        """The HTML report of a document, as written by `--html`."""

        def made() -> str:
            path = self.file_of(stored)
            return self.child.ask(ReportTask(path=str(path))).decode() if self.child else report_of(path)

        return self.kept.get("report", (stored.path, stored.sha256), made, sys.getsizeof)

    # ---- columns

    def indexed(self, gold: Gold) -> Indexed | None:
        """The combined columns of a gold; None if the folder has no columns for it.

        While one thread rebuilds them, the others get the previous version.
        """
        files = self.columns_of(gold)
        if not files:
            return None
        key = tuple((file.path, file.size, file.mtime_ns) for file in files)
        before: Indexed | None = self.kept.peek("index", gold.slug)
        if before is not None and before.files == key:
            return before
        if not self._building.acquire(blocking=before is None):
            return before
        try:
            before = self.kept.peek("index", gold.slug)
            if before is not None and before.files == key:
                return before
            built = combine_columns(self.folder, key, {} if before is None else before.parts)
            self.kept.put("index", gold.slug, built, built.bytes)
            return built
        finally:
            self._building.release()

    def columns_of(self, gold: Gold) -> list[WatchedFile]:
        """The column files for a gold, newest first."""
        columns = [
            file for file in self.store.files().values() if file.kind == "columns" and file.gold == gold.slug
        ]
        return sorted(columns, key=lambda column_file: -column_file.mtime_ns)

    def alone(self, file: WatchedFile) -> Indexed:
        """The columns of a single file."""
        key = (file.path, file.size, file.mtime_ns)
        return self.kept.get(
            "file", key, lambda: combine_columns(self.folder, (key,), {}), lambda indexed: indexed.bytes
        )

    def runs(self, gold: Gold, indexed: Indexed, system: str) -> tuple[SliceIndex, ...]:
        """The columns of each run of a system, of those that differ only in the tags run or seed."""
        heads = {file.path: self._head(file) for file in self.columns_of(gold)}
        own = heads.get(indexed.results[system])
        if own is None or not run_of(own.tags):
            return (indexed.index,)
        runs: dict[tuple[str, ...], SliceIndex] = {}
        for file in self.columns_of(gold):
            head = heads[file.path]
            if head is None or system not in head.systems or other_tags(head.tags) != other_tags(own.tags):
                continue
            if run_of(head.tags) and run_of(head.tags) not in runs and head.units == own.units:
                alone = file.path == indexed.results[system]
                runs[run_of(head.tags)] = indexed.index if alone else self.alone(file).index
        return tuple(runs.values())

    def _head(self, file: WatchedFile) -> ColumnsHead | None:
        key = (file.path, file.size, file.mtime_ns)
        return self.kept.get("head", key, lambda: MentionColumns.read_head(self.folder / file.path), _weight)

    def predictions(self, gold: Gold, indexed: Indexed, system: str) -> str:
        """A hash of all runs of a system: with other predictions, a question is another question."""

        files = tuple((file.path, file.size, file.mtime_ns) for file in self.columns_of(gold))
        return self.kept.get(
            "predictions",
            (files, system),
            lambda: _digest(self.runs(gold, indexed, system), system),
            sys.getsizeof,
        )

    def predictions_in(self, indexed: Indexed, system: str) -> str:
        """A hash of the predictions of a system in one file."""
        key = (indexed.files, system)
        return self.kept.get("predictions", key, lambda: _digest([indexed.index], system), sys.getsizeof)

    def weak(self, indexed: Indexed, system: str, other: str | None, look: AskedQuestion) -> Searched:
        """The weak slices found by a search over all conjunctions, at the level of this look."""
        level = look.level or 0.0
        flips = FLIPS if not level else max(FLIPS, ceil(2 / level))

        def found() -> FoundSlices:
            if self.child is None:
                return weak_slices(indexed.index, system, other, level=level, flips=flips)
            task = SearchTask(
                folder=str(self.folder), files=indexed.files, system=system, other=other, level=level,
                flips=flips,
            )  # fmt: skip
            return msgspec.json.decode(self.child.ask(task), type=FoundSlices)

        result = self.kept.get("weak", (indexed.files, system, other, level), found, _weight)
        fields = msgspec.structs.asdict(result)
        return Searched(**fields, level=look.level, looks=look.number, said=look.words)

    def slice(self, indexed: Indexed, condition: Condition | None, *, intervals: bool = True) -> SliceAnswer:
        """The counts and scores of every system in a slice, optionally with intervals."""
        return self.kept.get(
            "slice",
            (indexed.files, str(condition or ""), intervals),
            lambda: _answer(indexed.index, condition, intervals=intervals),
            _weight,
        )

    def slice_test(
        self, gold: Gold, indexed: Indexed, condition: Condition | None, a: str, b: str, look: AskedQuestion
    ) -> SliceTest:
        """The paired test of two systems in a slice over all their runs, held against the level of a look."""
        runs = {name: self.runs(gold, indexed, name) for name in (a, b)}
        keys = tuple(self.predictions(gold, indexed, name) for name in (a, b))
        test = self.kept.get(
            "test",
            (indexed.files, str(condition or ""), a, b, keys),
            lambda: _tested(runs, condition, a, b),
            _weight,
        )
        significant = test.p is not None and look.level is not None and test.p <= look.level
        return msgspec.structs.replace(
            test, level=look.level, looks=look.number, significant=significant, said=look.words
        )

    # ---- tests over documents

    def ties(self, gold: Gold, pools: Sequence[PooledRuns], score: str) -> dict[tuple[int, int], Comparison]:
        """The paired tests of a score for all pairs of systems, keyed by their numbers: one family."""
        chosen = [pool for pool in pools if _countable(pool, score)][:TESTED]
        return self.tests(gold, chosen, list(combinations([pool.id for pool in chosen], 2)), score)

    def tests(
        self, gold: Gold, pools: Sequence[PooledRuns], pairs: Sequence[tuple[int, int]], score: str
    ) -> dict[tuple[int, int], Comparison]:
        """The paired tests of a score for pairs of systems, over all their runs and corrected together."""
        if not pairs:
            return {}
        runs = tuple(tuple(run.id for run in pool.runs) for pool in pools)
        key = (runs, tuple(pairs), score)
        return self.kept.get("ties", key, lambda: self._test(gold, pools, pairs, score), _weight)

    def pair(self, gold: Gold, a: PooledRuns, b: PooledRuns, score: str) -> Comparison | None:
        """The paired test of one pair, with enough shuffles for the level of any look; None if impossible."""
        key = (tuple(run.id for run in a.runs), tuple(run.id for run in b.runs), score)

        def made() -> tuple[Comparison, ...]:
            first = self.tests(gold, [a, b], [(a.id, b.id)], score)
            if first and _close(first[a.id, b.id]):
                first = self._test(gold, [a, b], [(a.id, b.id)], score, MOST_SHUFFLES)
            return tuple(first.values())

        return next(iter(self.kept.get("careful", key, made, _weight)), None)

    def interval(self, pool: PooledRuns, score: str) -> Bounds | None:
        """The confidence interval of a score, or of its mean over runs."""
        if len(pool.runs) == 1 or not _countable(pool, score):
            return pool.result.board.intervals.get(score)

        def made() -> Bounds | None:
            measures = [self._counts(run, score) for run in pool.runs]
            if len({measure.counts.units for measure in measures}) > 1:
                return None
            if score == "macro":
                measures = [msgspec.structs.replace(measure, scorer="averages") for measure in measures]
            low, high = jackknife(*measures)[PRIMARY[score][-1]].interval()[0].tolist()
            return None if np.isnan(low) else (low, high)

        return self.kept.get("bounds", (tuple(run.id for run in pool.runs), score), made, _weight)

    def _counts(self, result: Result, score: str) -> Measure:
        """The counts that a score is computed from: over all labels, or per label for a macro average."""
        packed = self.store.counts(result.id, PRIMARY[score][0])
        measure = unpack_measures(packed, location=result.path)[0]
        return measure if score == "macro" else measure.cell_by_cell.select_paths([0])

    def _test(
        self, gold: Gold, pools: Sequence[PooledRuns], pairs: Sequence[tuple[int, int]], score: str,
        shuffles: int = SHUFFLES,
    ) -> dict[tuple[int, int], Comparison]:  # fmt: skip
        measures = {
            str(pool.id): [[self._counts(run, score)] for run in pool.runs]
            for pool in pools
            if _countable(pool, score)
        }
        sizes = {name: {run[0].counts.units for run in runs} for name, runs in measures.items()}
        units = {name: max(comparisons) for name, comparisons in sizes.items() if len(comparisons) == 1}
        alike = [pair for pair in pairs if units.get(str(pair[0])) == units.get(str(pair[1])) == gold.units]
        if not alike:
            return {}
        comparisons = compare_runs(
            {name: runs for name, runs in measures.items() if name in units},
            [(str(a), str(b)) for a, b in alike], Resampling(gold.units, shuffles, 0),
            confidence=CONFIDENCE, correction=CORRECTION, primary=PRIMARY[score], only_primary=True,
            unit=gold.unit,
        )  # fmt: skip
        return dict(zip(alike, comparisons, strict=True))

    def comparison(self, a: PooledRuns, b: PooledRuns, score: str) -> tuple[Comparison, tuple[str, ...]]:
        """Compare the runs of two systems by their counts per unit, with `score` as primary; also notes."""

        def compare() -> tuple[Comparison, tuple[str, ...]]:
            if len(a.runs) == len(b.runs) == 1:
                documents = self.document(a.result), self.document(b.result)
                names = (a.result.system, b.result.system)
                return compare_two(documents, names, resamples=SHUFFLES, primary=score)
            every = [self.document(run) for pool in (a, b) for run in pool.runs]
            check_same_gold(every, [run.path for pool in (a, b) for run in pool.runs])
            left_out, notes = differing(every)
            runs = {name: [self._measures(run, left_out) for run in pool.runs] for name, pool in pools}
            units = next(iter(runs.values()))[0][0].counts.units
            compared = compare_runs(
                runs, [("a", "b")], Resampling(units, SHUFFLES, 0), confidence=CONFIDENCE,
                correction=CORRECTION, primary=PRIMARY[score], unit=every[0].settings.unit,
            )  # fmt: skip
            return compared[0], tuple(notes)

        pools = (("a", a), ("b", b))
        key = (tuple(run.id for run in a.runs), tuple(run.id for run in b.runs), score)
        return self.kept.get("pair", key, compare, _weight)

    def _measures(self, run: Result, left_out: Collection[str]) -> list[Measure]:
        """The counts per unit of a run, without those that cannot be compared."""
        units = self.document(run).units
        assert units is not UNSET  # as checked for every document
        measures = unpack_measures(units.systems[run.system], location=run.path)
        return [measure for measure in measures if measure.name not in left_out]


def _digest(runs: Sequence[SliceIndex], system: str) -> str:
    digest = hashlib.sha256()
    for index in runs:
        digest.update(index.systems[system].right.tobytes())
        digest.update(np.ascontiguousarray(index.systems[system].predicted_outcome).tobytes())
    return digest.hexdigest()


def _close(comparison: Comparison) -> bool:
    """Whether more shuffles are needed, since the level of a look may be as small as p."""
    row = comparison.primary
    drawn = comparison.shuffles or 0
    return row is not None and row.p is not None and row.p <= CLOSE and 0 < drawn < MOST_SHUFFLES


def _countable(pool: PooledRuns, score: str) -> bool:
    """Whether all runs have the counts per unit that a score needs."""
    return all(PRIMARY[score][0] in run.board.counted for run in pool.runs)


def _weight(answer: object) -> int:
    """The approximate size of an answer in bytes; objects take more memory than their JSON text."""
    if isinstance(answer, dict):  # JSON has no tuple keys
        answer = [*answer, *answer.values()]
    return 1000 + 5 * len(msgspec.json.encode(answer, enc_hook=to_encodable))


def combine_columns(
    folder: Path, files: tuple[FileKey, ...], loaded: Mapping[FileKey, MentionColumns]
) -> Indexed:
    """Combine the column files of one gold; the first file defines the gold mentions."""
    whole = loaded.get(files[0])
    first = whole if whole is not None and "gold.sentence" in whole.arrays else _loaded(folder, files[0])
    others = [columns for columns in loaded.values() if "gold.sentence" in columns.arrays]
    loaded = loaded if others and _same_gold(others[0], first) else {}
    parts, names = {files[0]: first}, dict.fromkeys(first.head.systems, files[0][0])
    left: set[str] = set()
    for file in files[1:]:
        columns = loaded.get(file)
        head = MentionColumns.read_head(folder / file[0]) if columns is None else columns.head
        if head is None or not set(head.systems) - names.keys() or head.labels != first.head.labels:
            continue
        if columns is None:
            columns = _loaded(folder, file)
            if not _same_gold(columns, first):
                continue
        cuts = first.head.buckets
        left |= {name for name in cuts if head.buckets.get(name) != cuts[name]}
        arrays = {name: array for name, array in columns.arrays.items() if name.startswith("system")}
        parts[file] = MentionColumns(head, arrays)
        names |= {name: file[0] for name in head.systems if name not in names}
    index = SliceIndex.of(*parts.values(), left=sorted(left))
    return Indexed(index, tuple(sorted(left)), names, files, parts)


def _loaded(folder: Path, file: FileKey) -> MentionColumns:
    return MentionColumns.load(inside(folder, file[0]))


def _same_gold(a: MentionColumns, b: MentionColumns) -> bool:
    """Whether two files have the same gold mentions, so that their systems can be shown side by side."""
    return all(
        np.array_equal(a.column("gold", name), b.column("gold", name))
        for name in ("sentence", "start", "end", "label")
    )


def _answer(index: SliceIndex, condition: Condition | None, *, intervals: bool) -> SliceAnswer:
    inside = index.gold.mask(condition)
    cells, whole = index.counted(condition), index.whole
    score = "f1" if index.defined(condition) else "recall"
    systems = {}
    for name, cell in cells.items():
        bounds = jackknife(index.measure(name, condition))[score].interval()[0] if intervals else NO_BOUNDS
        systems[name] = SystemAnswer(
            gold=cell.gold,
            predicted=cell.predicted,
            correct=cell.correct,
            precision=cell.score("precision"),
            recall=cell.score("recall"),
            f1=cell.score("f1"),
            interval=None if np.isnan(bounds).any() else (float(bounds[0]), float(bounds[1])),
            overall=whole[name].score(score),
            outcomes=index.outcomes(name, inside),
        )
    why = None
    if score == "recall":
        why = "toughness exists for gold mentions only, so the slice has recall and neither precision nor F1"
    return SliceAnswer(
        where=str(condition or ""),
        mentions=ones(inside),
        sentences=index.sentences(inside),
        score=score,
        systems=systems,
        facets=index.facets(condition),
        why=why,
    )


def _tested(
    runs: Mapping[str, Sequence[SliceIndex]], condition: Condition | None, a: str, b: str
) -> SliceTest:
    """The paired test of two systems in a slice; each has the columns of one or more runs."""
    index = runs[a][0]
    score = "f1" if index.defined(condition) else "recall"
    measures = {name: [[run.measure(name, condition)] for run in own] for name, own in runs.items()}

    def compared(shuffles: int) -> Comparison:
        return compare_runs(
            measures, [(a, b)], Resampling(index.columns.head.units, shuffles, 0), confidence=CONFIDENCE,
            correction=CORRECTION, primary=("exact", "overall", score), only_primary=True,
        )[0]  # fmt: skip

    comparison = compared(SHUFFLES)
    if _close(comparison):
        comparison = compared(MOST_SHUFFLES)
    row = comparison.primary
    return SliceTest(
        a=a,
        b=b,
        score=score,
        difference=None if row is None else row.difference,
        interval=None if row is None else row.interval,
        p=None if row is None else row.p,
        test=comparison.test or None,
        runs=(len(runs[a]), len(runs[b])),
    )
