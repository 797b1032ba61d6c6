"""What pages and answers are made of: documents, columns, slices and tests, computed when asked for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import numpy as np
from msgspec import UNSET, Struct

from spanwise.conditions import Condition
from spanwise.document.evaluation import Evaluation, PackedMeasure
from spanwise.document.loading import load
from spanwise.document.scores import PRIMARY, Comparison, ScoreTest
from spanwise.errors import ChoiceError, InputError
from spanwise.evaluation import MentionColumns, compared, unpacked
from spanwise.intervals import jackknife
from spanwise.merging import compare_two
from spanwise.scores import Measure
from spanwise.slices.index import FoundSlices, SliceIndex, weak_slices
from spanwise.uncertainty import Resampling
from spanwise.workbench.store import Bounds, Gold, PooledRuns, Result, Store, WatchedFile

SHUFFLES = 1000
NO_BOUNDS = np.full(2, np.nan)
BUDGET = 1 << 30  # bytes of columns and bitmaps that are kept
HISTORY = 30  # files of columns in the history of a slice
TESTED = 20  # systems that are tested against each other

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The latest answers, so that the same question costs nothing.

    With `size` and `budget` the oldest are dropped until the rest is within the budget; the latest stays.
    """

    def __init__(self, most: int, *, size: Callable[[V], int] | None = None, budget: int = 0) -> None:
        self._most, self._kept, self._lock = most, OrderedDict[K, V](), threading.Lock()
        self._size, self._budget = size, budget

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The answer, made where it is not there."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > self._most or self._too_large():
                self._kept.popitem(last=False)
        return made

    def _too_large(self) -> bool:
        if self._size is None or len(self._kept) < 2:
            return False
        return sum(map(self._size, self._kept.values())) > self._budget


class SystemAnswer(Struct, frozen=True, kw_only=True):
    """One system in a slice."""

    gold: int
    predicted: int | None
    correct: int
    precision: float | None
    recall: float | None
    f1: float | None
    interval: tuple[float, float] | None
    overall: float | None  # the same score on all mentions
    outcomes: Mapping[str, int]


class SliceAnswer(Struct, frozen=True, kw_only=True):
    """A slice: how many mentions, and what every system makes of them."""

    where: str
    mentions: int
    sentences: int
    score: str  # what `interval` is about
    systems: Mapping[str, SystemAnswer]
    facets: Mapping[str, Mapping[str, int]]
    why: str | None = None


class SliceTest(Struct, frozen=True, kw_only=True):
    """Two systems in a slice, first less second."""

    a: str
    b: str
    score: str
    difference: float | None
    interval: tuple[float | None, float | None] | None
    p: float | None
    p_corrected: float | None  # for the slices looked at
    looked_at: int


class Indexed(Struct, frozen=True, eq=False):
    """The columns over one gold, and what could not be put together."""

    index: SliceIndex
    left: tuple[str, ...]  # attributes that files cut differently
    results: Mapping[str, str]  # the file behind each system
    key: str  # what tells these columns from others

    @property
    def bytes(self) -> int:
        """About what the columns and the bitmaps made of them take."""
        files = {id(one.columns): one.columns for one in self.index.systems.values()}
        return 2 * sum(array.nbytes for one in files.values() for array in one.arrays.values())


class SlicePoint(Struct, frozen=True, kw_only=True):
    """A saved slice in one file of columns."""

    path: str
    made_at: float
    system: str
    score: str
    value: float | None
    interval: tuple[float, float] | None
    overall: float | None
    weak: bool  # the whole interval lies below the score on all mentions
    later: bool  # made after the slice was saved
    confirmed: bool  # weak, and made after the slice was saved


class Shelf:
    """Documents, columns and answers over one folder."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder, self.store = folder, store
        self._documents: Recent[tuple[str, str], Evaluation] = Recent(16)
        self._pages: Recent[tuple[str, str], str] = Recent(6)
        self._indexes: Recent[tuple[tuple[str, int, int], ...], Indexed] = Recent(
            64, size=lambda one: one.bytes, budget=BUDGET
        )
        self._found: Recent[tuple[str, str, str | None], FoundSlices] = Recent(64)
        self._ties: Recent[
            tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, int], ...], str],
            dict[tuple[int, int], ScoreTest],
        ] = Recent(64)
        self._bounds: Recent[tuple[tuple[int, ...], str], Bounds | None] = Recent(256)
        self._pairs: Recent[tuple[int, int, str], tuple[Comparison, tuple[str, ...]]] = Recent(64)
        self._answers: Recent[tuple[str, str, bool], SliceAnswer] = Recent(512)
        self._tests: Recent[tuple[str, str, str, str], SliceTest] = Recent(512)

    def document(self, result: Result) -> Evaluation:
        """The document that a result stands in."""

        def read() -> Evaluation:
            data = load(self.folder / result.path)
            if not isinstance(data, Evaluation):
                raise InputError(f"{result.path}: this file no longer holds an evaluation.\nEvaluate again.")
            return data

        return self._documents.get((result.path, result.sha256), read)

    def buckets(self, result: Result) -> dict[tuple[str, str], str]:
        """By attribute and bucket of a result the words for what the bucket holds."""
        attributes = self.document(result).systems[result.system].attributes
        return {
            (name, one.name): str(one.label)
            for name, table in attributes.items()
            for one in table.buckets
            if one.label is not UNSET and one.label
        }

    def report(self, result: Result) -> str:
        """The page of a document, as `--html` writes it."""
        return self._pages.get((result.path, result.sha256), lambda: self.document(result).to_html())

    # ---- columns

    def indexed(self, gold: Gold) -> Indexed | None:
        """The bitmaps over a gold; None where no columns lie in the folder."""
        files = self._columns(gold)
        return self._indexed(files) if files else None

    def _columns(self, gold: Gold) -> list[WatchedFile]:
        """The files of columns over a gold, the newest first."""
        found = [
            one for one in self.store.files().values() if one.kind == "columns" and one.gold == gold.slug
        ]
        return sorted(found, key=lambda one: -one.mtime_ns)

    def _indexed(self, files: Sequence[WatchedFile]) -> Indexed:
        key = tuple((one.path, one.size, one.mtime_ns) for one in files)
        return self._indexes.get(key, lambda: self._read([one.path for one in files], repr(key)))

    def slice_history(self, gold: Gold, condition: Condition, saved_at: float) -> list[SlicePoint]:
        """A slice in every file of columns, the oldest first; those that cut it differently are left out."""
        points = []
        for file in reversed(self._columns(gold)[:HISTORY]):
            indexed = self._indexed([file])
            try:
                answer = self.slice(indexed, condition)
            except ChoiceError:
                continue
            made_at = file.mtime_ns / 1e9
            for name, one in answer.systems.items():
                value = one.f1 if answer.score == "f1" else one.recall
                weak = one.interval is not None and one.overall is not None and one.interval[1] < one.overall
                later = made_at > saved_at
                points.append(
                    SlicePoint(
                        path=file.path,
                        made_at=made_at,
                        system=name,
                        score=answer.score,
                        value=value,
                        interval=one.interval,
                        overall=one.overall,
                        weak=weak,
                        later=later,
                        confirmed=weak and later,
                    )
                )
        return points

    def weak(self, indexed: Indexed, system: str, other: str | None) -> FoundSlices:
        """The slices that a search over all conjunctions lists."""
        return self._found.get(
            (indexed.key, system, other), lambda: weak_slices(indexed.index, system, other)
        )

    def _read(self, paths: Sequence[str], key: str) -> Indexed:
        first = MentionColumns.load(self.folder / paths[0])
        kept, names = [first], dict.fromkeys(first.head.systems, paths[0])
        left: set[str] = set()
        for path in paths[1:]:
            head = MentionColumns.read_head(self.folder / path)
            if head is None or not set(head.systems) - names.keys() or head.labels != first.head.labels:
                continue
            one = MentionColumns.load(self.folder / path)
            if not np.array_equal(one.column("gold", "sentence"), first.column("gold", "sentence")):
                continue
            cuts = first.head.buckets
            left |= {name for name in cuts if one.head.buckets.get(name) != cuts[name]}
            kept.append(one)
            names |= {name: path for name in one.head.systems if name not in names}
        return Indexed(SliceIndex.of(*kept, left=sorted(left)), tuple(sorted(left)), names, key)

    def slice(self, indexed: Indexed, condition: Condition | None, *, intervals: bool = True) -> SliceAnswer:
        """Counts and scores of every system in a slice, with intervals or without."""
        return self._answers.get(
            (indexed.key, str(condition or ""), intervals),
            lambda: _answer(indexed.index, condition, intervals=intervals),
        )

    def slice_test(
        self, indexed: Indexed, condition: Condition | None, a: str, b: str, looked_at: int
    ) -> SliceTest:
        """The paired test of two systems in a slice, corrected for the slices looked at."""
        found = self._tests.get(
            (indexed.key, str(condition or ""), a, b), lambda: _tested(indexed.index, condition, a, b)
        )
        corrected = None if found.p is None else min(1.0, found.p * max(looked_at, 1))
        return msgspec.structs.replace(found, p_corrected=corrected, looked_at=looked_at)

    # ---- tests over documents

    def ties(self, gold: Gold, pools: Sequence[PooledRuns], score: str) -> dict[tuple[int, int], ScoreTest]:
        """The paired test of a score between every two of some systems, by their numbers."""
        chosen = [pool for pool in pools if _countable(pool, score)][:TESTED]
        return self.tests(gold, chosen, list(combinations([pool.id for pool in chosen], 2)), score)

    def tests(
        self, gold: Gold, pools: Sequence[PooledRuns], pairs: Sequence[tuple[int, int]], score: str
    ) -> dict[tuple[int, int], ScoreTest]:
        """The paired tests of a score between pairs of systems with all their runs, corrected together."""
        if not pairs:
            return {}
        runs = tuple(tuple(one.id for one in pool.runs) for pool in pools)
        return self._ties.get((runs, tuple(pairs), score), lambda: self._test(gold, pools, pairs, score))

    def interval(self, pool: PooledRuns, score: str) -> Bounds | None:
        """The interval of a score, or of its mean over runs."""
        if len(pool.runs) == 1 or not _countable(pool, score):
            return pool.result.board.intervals.get(score)

        def made() -> Bounds | None:
            measures = [counts_of(one, score) for one in pool.runs]
            if len({one.counts.units for one in measures}) > 1:
                return None
            if score == "macro":
                measures = [msgspec.structs.replace(one, scorer="averages") for one in measures]
            low, high = jackknife(*measures)[PRIMARY[score][-1]].interval()[0].tolist()
            return None if np.isnan(low) else (low, high)

        return self._bounds.get((tuple(one.id for one in pool.runs), score), made)

    def _test(
        self, gold: Gold, pools: Sequence[PooledRuns], pairs: Sequence[tuple[int, int]], score: str
    ) -> dict[tuple[int, int], ScoreTest]:
        measures = {
            str(pool.id): [[counts_of(one, score)] for one in pool.runs]
            for pool in pools
            if _countable(pool, score)
        }
        sizes = {name: {run[0].counts.units for run in runs} for name, runs in measures.items()}
        units = {name: max(found) for name, found in sizes.items() if len(found) == 1}
        alike = [pair for pair in pairs if units.get(str(pair[0])) == units.get(str(pair[1])) == gold.units]
        if not alike:
            return {}
        path = PRIMARY[score]
        found: Sequence[Comparison] = compared(
            measures, [(str(a), str(b)) for a, b in alike], Resampling(gold.units, SHUFFLES, 0),
            confidence=0.95, correction="holm", primary=path, wanted=lambda question: question.path == path,
        )  # fmt: skip
        rows = {pair: one.score(path) for pair, one in zip(alike, found, strict=True)}
        return {pair: row for pair, row in rows.items() if row is not None}

    def comparison(self, a: Result, b: Result, score: str) -> tuple[Comparison, tuple[str, ...]]:
        """Two results compared by their counts per unit, `score` being the primary one; and notes on it."""

        def compare() -> tuple[Comparison, tuple[str, ...]]:
            documents = self.document(a), self.document(b)
            return compare_two(documents, (a.system, b.system), resamples=SHUFFLES, primary=score)

        return self._pairs.get((a.id, b.id, score), compare)


def _countable(pool: PooledRuns, score: str) -> bool:
    """Whether all runs came with the counts per unit that a score divides."""
    return all(PRIMARY[score][0] in one.board.counts for one in pool.runs)


def counts_of(result: Result, score: str) -> Measure:
    """The counts of a result that a score divides: of all labels together, or of each for their mean."""
    text = result.board.counts[PRIMARY[score][0]]
    measure = unpacked(msgspec.json.decode(text, type=list[PackedMeasure]), place=result.path)[0]
    return measure if score == "macro" else measure.cell_by_cell.of_paths([0])


def _answer(index: SliceIndex, condition: Condition | None, *, intervals: bool) -> SliceAnswer:
    inside = index.gold.mask(condition)
    cells, whole = index.counted(condition), index.counted(None)
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
    rows = np.flatnonzero(np.unpackbits(inside.view(np.uint8), count=index.gold.number, bitorder="little"))
    sentence = index.columns.column("gold", "sentence")[rows]  # in ascending order
    why = None
    if score == "recall":
        why = "toughness exists for gold mentions only, so the slice has recall and neither precision nor F1"
    return SliceAnswer(
        where=str(condition or ""),
        mentions=len(rows),
        sentences=int(np.count_nonzero(np.diff(sentence))) + bool(len(sentence)),
        score=score,
        systems=systems,
        facets=index.facets(condition),
        why=why,
    )


def _tested(index: SliceIndex, condition: Condition | None, a: str, b: str) -> SliceTest:
    score = "f1" if index.defined(condition) else "recall"
    measures = {name: [[index.measure(name, condition)]] for name in (a, b)}
    found = compared(
        measures, [(a, b)], Resampling(index.columns.head.units, SHUFFLES, 0), confidence=0.95,
        correction="holm", wanted=lambda question: question.path == ("exact", "overall", score),
    )[0]  # fmt: skip
    row = found.score(("exact", "overall", score))
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
