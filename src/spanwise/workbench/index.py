"""The data behind pages and API responses: documents, columns, slices and tests, computed on demand."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np
from msgspec import UNSET, Struct

from spanwise.conditions import Condition
from spanwise.document import to_encodable
from spanwise.document.evaluation import Evaluation, PackedMeasure
from spanwise.document.loading import load_summary
from spanwise.document.scores import PRIMARY, Comparison, ScoreTest
from spanwise.errors import ChoiceError, InputError
from spanwise.evaluation.columns import MentionColumns
from spanwise.evaluation.comparisons import compare_systems
from spanwise.evaluation.scoring import unpack_measures
from spanwise.gates import compare_two
from spanwise.intervals import jackknife
from spanwise.scores import Measure
from spanwise.settings import CONFIDENCE, CORRECTION
from spanwise.slices.index import FoundSlices, SliceIndex, ones, weak_slices
from spanwise.uncertainty import Resampling
from spanwise.workbench.child import ReportTask, SearchTask, report_of
from spanwise.workbench.jobs import Child, inside
from spanwise.workbench.lanes import AnswerCache
from spanwise.workbench.store import Bounds, Gold, PooledRuns, Result, Store, WatchedFile

SHUFFLES = 1000
NO_BOUNDS = np.full(2, np.nan)
BUDGET = 1 << 28  # bytes of documents, columns, bitmaps and answers to cache
HISTORY = 30  # column files in the history of a slice
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
    """The paired test of two systems in a slice; the difference is `a` minus `b`."""

    a: str
    b: str
    score: str
    difference: float | None
    interval: tuple[float | None, float | None] | None
    p: float | None
    p_corrected: float | None  # for the number of slices looked at
    looked_at: int


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


class SlicePoint(Struct, frozen=True, kw_only=True):
    """The score of one system in a saved slice, according to one column file."""

    path: str
    made_at: float
    system: str
    score: str
    value: float | None
    interval: tuple[float, float] | None
    overall: float | None
    weak: bool  # the whole interval is below the score on all mentions
    later: bool  # made after the slice was saved
    confirmed: bool  # weak, and made after the slice was saved


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
            data = load_summary(self.folder / result.path)
            if not isinstance(data, Evaluation):
                raise InputError(
                    f"{result.path}: this file no longer contains an evaluation.\nEvaluate again."
                )
            return data

        size = self._size(result.path)
        return self.kept.get("document", (result.path, result.sha256), read, lambda _: size)

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

    def report(self, result: Result) -> str:
        """The HTML report of a document, as written by `--html`."""

        def made() -> str:
            path = inside(self.folder, result.path)
            return self.child.ask(ReportTask(path=str(path))).decode() if self.child else report_of(path)

        return self.kept.get("report", (result.path, result.sha256), made, sys.getsizeof)

    # ---- columns

    def indexed(self, gold: Gold) -> Indexed | None:
        """The combined columns of a gold; None if the folder has no columns for it.

        While one thread rebuilds them, the others get the previous version.
        """
        files = self._columns(gold)
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

    def _columns(self, gold: Gold) -> list[WatchedFile]:
        """The column files for a gold, newest first."""
        columns = [
            file for file in self.store.files().values() if file.kind == "columns" and file.gold == gold.slug
        ]
        return sorted(columns, key=lambda column_file: -column_file.mtime_ns)

    def _alone(self, file: WatchedFile) -> Indexed:
        """The columns of a single file."""
        key = (file.path, file.size, file.mtime_ns)
        return self.kept.get(
            "file", key, lambda: combine_columns(self.folder, (key,), {}), lambda indexed: indexed.bytes
        )

    def slice_history(self, gold: Gold, condition: Condition, saved_at: float) -> list[SlicePoint]:
        """The scores in a slice for each column file, oldest first.

        Files in which the condition is not defined are left out.
        """
        points = []
        for file in reversed(self._columns(gold)[:HISTORY]):
            indexed = self._alone(file)
            try:
                answer = self.slice(indexed, condition)
            except ChoiceError:
                continue
            made_at = file.mtime_ns / 1e9
            for name, system in answer.systems.items():
                value = system.f1 if answer.score == "f1" else system.recall
                weak = (
                    system.interval is not None
                    and system.overall is not None
                    and system.interval[1] < system.overall
                )
                later = made_at > saved_at
                points.append(
                    SlicePoint(
                        path=file.path,
                        made_at=made_at,
                        system=name,
                        score=answer.score,
                        value=value,
                        interval=system.interval,
                        overall=system.overall,
                        weak=weak,
                        later=later,
                        confirmed=weak and later,
                    )
                )
        return points

    def weak(self, indexed: Indexed, system: str, other: str | None) -> FoundSlices:
        """The weak slices found by a search over all conjunctions."""

        def found() -> FoundSlices:
            if self.child is None:
                return weak_slices(indexed.index, system, other)
            task = SearchTask(folder=str(self.folder), files=indexed.files, system=system, other=other)
            return msgspec.json.decode(self.child.ask(task), type=FoundSlices)

        return self.kept.get("weak", (indexed.files, system, other), found, _weight)

    def slice(self, indexed: Indexed, condition: Condition | None, *, intervals: bool = True) -> SliceAnswer:
        """The counts and scores of every system in a slice, optionally with intervals."""
        return self.kept.get(
            "slice",
            (indexed.files, str(condition or ""), intervals),
            lambda: _answer(indexed.index, condition, intervals=intervals),
            _weight,
        )

    def slice_test(
        self, indexed: Indexed, condition: Condition | None, a: str, b: str, looked_at: int
    ) -> SliceTest:
        """The paired test of two systems in a slice, corrected for the number of slices looked at."""
        test = self.kept.get(
            "test",
            (indexed.files, str(condition or ""), a, b),
            lambda: _tested(indexed.index, condition, a, b),
            _weight,
        )
        corrected = None if test.p is None else min(1.0, test.p * max(looked_at, 1))
        return msgspec.structs.replace(test, p_corrected=corrected, looked_at=looked_at)

    # ---- tests over documents

    def ties(self, gold: Gold, pools: Sequence[PooledRuns], score: str) -> dict[tuple[int, int], ScoreTest]:
        """The paired test of a score for each pair of systems, keyed by their numbers."""
        chosen = [pool for pool in pools if _countable(pool, score)][:TESTED]
        return self.tests(gold, chosen, list(combinations([pool.id for pool in chosen], 2)), score)

    def tests(
        self, gold: Gold, pools: Sequence[PooledRuns], pairs: Sequence[tuple[int, int]], score: str
    ) -> dict[tuple[int, int], ScoreTest]:
        """The paired tests of a score for pairs of systems, over all their runs and corrected together."""
        if not pairs:
            return {}
        runs = tuple(tuple(run.id for run in pool.runs) for pool in pools)
        key = (runs, tuple(pairs), score)
        return self.kept.get("ties", key, lambda: self._test(gold, pools, pairs, score), _weight)

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
        text = self.store.counts(result.id, PRIMARY[score][0])
        measure = unpack_measures(msgspec.json.decode(text, type=list[PackedMeasure]), location=result.path)[
            0
        ]
        return measure if score == "macro" else measure.cell_by_cell.select_paths([0])

    def _test(
        self, gold: Gold, pools: Sequence[PooledRuns], pairs: Sequence[tuple[int, int]], score: str
    ) -> dict[tuple[int, int], ScoreTest]:
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
        path = PRIMARY[score]
        comparisons: Sequence[Comparison] = compare_systems(
            measures, [(str(a), str(b)) for a, b in alike], Resampling(gold.units, SHUFFLES, 0),
            confidence=CONFIDENCE, correction=CORRECTION, primary=path,
            wanted=lambda question: question.path == path,
        )  # fmt: skip
        rows = {pair: comparison.score(path) for pair, comparison in zip(alike, comparisons, strict=True)}
        return {pair: row for pair, row in rows.items() if row is not None}

    def comparison(self, a: Result, b: Result, score: str) -> tuple[Comparison, tuple[str, ...]]:
        """Compare two results by their counts per unit, with `score` as primary; also returns notes on it."""

        def compare() -> tuple[Comparison, tuple[str, ...]]:
            documents = self.document(a), self.document(b)
            return compare_two(documents, (a.system, b.system), resamples=SHUFFLES, primary=score)

        return self.kept.get("pair", (a.id, b.id, score), compare, _weight)


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
    return MentionColumns.load(folder / file[0])


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


def _tested(index: SliceIndex, condition: Condition | None, a: str, b: str) -> SliceTest:
    score = "f1" if index.defined(condition) else "recall"
    measures = {name: [[index.measure(name, condition)]] for name in (a, b)}
    comparison = compare_systems(
        measures, [(a, b)], Resampling(index.columns.head.units, SHUFFLES, 0), confidence=CONFIDENCE,
        correction=CORRECTION, wanted=lambda question: question.path == ("exact", "overall", score),
    )[0]  # fmt: skip
    row = comparison.score(("exact", "overall", score))
    return SliceTest(
        a=a,
        b=b,
        score=score,
        difference=None if row is None else row.difference,
        interval=None if row is None else row.interval,
        p=None if row is None else row.p,
        p_corrected=None,
        looked_at=0,
    )
