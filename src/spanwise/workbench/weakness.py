"""Whether a saved slice is weak in later results, and whether documents that are new to it confirm this."""

from __future__ import annotations

from math import ceil

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Floats, floats, ints, plain
from spanwise.conditions import Condition, parse
from spanwise.counts import Counts
from spanwise.diagnosis import LEAST_GOLD
from spanwise.errors import ChoiceError
from spanwise.evaluation.columns import MentionColumns
from spanwise.intervals import jackknife
from spanwise.scores import Measure
from spanwise.settings import CORRECTION
from spanwise.slices.index import SliceIndex, slice_p
from spanwise.statistics import correct, excess_losses
from spanwise.uncertainty import MOST_FLIPPED, Flips, joined_units
from spanwise.workbench.bench import Bench, sentence_sha
from spanwise.workbench.index import CLOSE, FLIPS, Indexed
from spanwise.workbench.looks import MOST_LOOKS, level_of
from spanwise.workbench.store import Gold, Slice

HISTORY = 30  # column files in the history of a slice
MOST_SEARCHED = 100_000  # gold mentions up to which a slice is tested among all others while a page waits
MANY = "more than 100,000 mentions; use Find weak slices"
FEW = "fewer than 50 gold mentions inside or outside the slice"
CONFIRMED, AGAIN, WEAK = "confirmed", "seen again on the same data", "weak"


class SlicePoint(Struct, frozen=True, kw_only=True):
    """The score of one system in a saved slice, according to one column file."""

    path: str
    made_at: float
    system: str
    gold: str  # the gold set that it was evaluated on
    score: str
    value: float | None
    interval: tuple[float, float] | None
    overall: float | None
    # That the slice is weaker than the rest, one-sided, corrected for the results of the system (Holm);
    # on the data on which the slice was found, also for all slices.
    p: float | None
    level: float | None  # what p is held against
    looks: int | None  # the number of this question among those asked of the gold set
    weak: bool
    later: bool  # made after the slice was saved
    documents: int | None  # new to the slice, and all that is used here; None on the data it was found on
    confirmed: bool  # weak on documents that are not in the gold set on which the slice was found
    state: str  # "confirmed", "seen again on the same data", "weak" or ""
    why: str | None = None  # it was not tested


def slice_points(bench: Bench, gold: Gold, saved: Slice) -> list[SlicePoint]:
    """The scores in a saved slice: in all results on its own gold set, then on documents that are new to it.

    Column files in which the condition is not defined are left out.
    """
    points = _points_on(bench, gold, gold, saved)
    for other in bench.store.golds():
        if other.slug != gold.slug:
            points += _points_on(bench, other, gold, saved)
    return points


def _points_on(bench: Bench, gold: Gold, found_on: Gold, saved: Slice) -> list[SlicePoint]:
    """The points of the results on one gold set, oldest first."""
    condition, rows = parse(saved.conditions), []
    for file in reversed(bench.shelf.columns_of(gold)[:HISTORY]):
        indexed = bench.shelf.alone(file)
        new = None if gold.slug == found_on.slug else new_units(bench, indexed, found_on)
        if new is not None and not new.any():
            continue
        for name in indexed.index.systems:
            try:
                rows.append((file, indexed, new, name, _cached(bench, indexed, name, condition, new)))
            except ChoiceError:
                continue
    looks = {
        name: bench.look(gold, "weak", str(condition), name)
        for name in dict.fromkeys(name for *_, name, tested in rows if tested.p is not None)
    }
    points: list[SlicePoint] = []
    for name in dict.fromkeys(row[3] for row in rows):
        own = [row for row in rows if row[3] == name]
        level = looks[name].level if name in looks else None
        tested = [
            _among_all(bench, indexed, name, condition, weakness, level) if new is None else weakness
            for _, indexed, new, _, weakness in own
        ]
        p_values = correct([np.nan if one.p is None else one.p for one in tested], CORRECTION).tolist()
        for (file, _, new, _, _), one, p in zip(own, tested, p_values, strict=True):
            weak = one.p is not None and level is not None and p <= level
            later = file.mtime_ns / 1e9 > saved.at
            points.append(
                SlicePoint(
                    path=file.path,
                    made_at=file.mtime_ns / 1e9,
                    system=name,
                    gold=gold.slug,
                    score=one.score,
                    value=one.value,
                    interval=one.interval,
                    overall=one.overall,
                    p=plain(p),
                    level=level,
                    looks=looks[name].number if name in looks else None,
                    weak=weak,
                    later=later,
                    documents=None if new is None else int(new.sum()),
                    confirmed=weak and new is not None,
                    state="" if not weak else CONFIRMED if new is not None else AGAIN if later else WEAK,
                    why=one.why,
                )
            )
    return sorted(points, key=lambda point: point.made_at)


def _among_all(
    bench: Bench, indexed: Indexed, name: str, condition: Condition, tested: Weakness, level: float | None
) -> Weakness:
    """The test on the data on which the slice was found, where it may be the worst of all slices."""
    if level is None or tested.p is None or tested.p > level:
        return tested
    if indexed.index.gold.number > MOST_SEARCHED:
        return replace(tested, p=None, why=MANY)
    flips = max(FLIPS, ceil(2 / level))
    key = (indexed.files, name, str(condition), flips)
    among = bench.shelf.kept.get(
        "among", key, lambda: slice_p(indexed.index, name, condition, flips=flips), lambda _: 100
    )
    return replace(tested, p=max(tested.p, among))


def new_units(bench: Bench, indexed: Indexed, found_on: Gold) -> Bools:
    """Which units of some columns are new to a gold set: fewer than half of their sentences are in it.

    Sentences are compared by a hash of their text, so that documents are recognised however they are marked,
    ordered or annotated. Without the text, or without the columns of that gold set, none counts as new.
    """
    first = bench.shelf.columns_of(found_on)[:1]
    columns = indexed.index.columns
    if not first:
        return np.zeros(columns.head.units, dtype=bool)
    before = bench.shelf.alone(first[0])

    def made() -> Bools:
        known = set(_hashes(before.index.columns))
        unit, texts = columns.unit_of_sentence, _hashes(columns)
        told = np.array([bool(text) for text in texts], dtype=bool)
        old = np.array([text in known for text in texts], dtype=bool)
        number = np.bincount(unit[told], minlength=columns.head.units)
        seen = np.bincount(unit[told & old], minlength=columns.head.units)
        return np.asarray((number > 0) & (2 * seen < number) & bool(known - {""}))

    return bench.shelf.kept.get("new", (indexed.files, before.files), made, lambda new: new.nbytes)


def _hashes(columns: MentionColumns) -> list[str]:
    """The hash of each sentence; empty where it has no text."""
    return [
        sentence_sha(columns, number) if columns.words(number) else ""
        for number in range(columns.head.sentences)
    ]


class Weakness(Struct, frozen=True, kw_only=True):
    """The score in a slice and overall, and the test that the slice is weaker than the rest."""

    score: str
    value: float | None
    interval: tuple[float, float] | None
    overall: float | None
    p: float | None
    why: str | None


def _cached(bench: Bench, indexed: Indexed, name: str, condition: Condition, new: Bools | None) -> Weakness:
    chosen = None if new is None else np.packbits(new).tobytes()
    key = (indexed.files, name, str(condition), chosen)
    return bench.shelf.kept.get(
        "saved", key, lambda: weakness(indexed.index, name, condition, new), lambda _: 1000
    )


def weakness(index: SliceIndex, name: str, condition: Condition, chosen: Bools | None = None) -> Weakness:
    """Test whether one given slice is weaker than the rest, on all units or on the chosen ones.

    The statistic is that of a search for slices, and the signs of units are flipped in the same way; since
    the slice was given, it is the only one.
    """
    score = "f1" if index.defined(condition) else "recall"
    inside, whole = (_limited(index.measure(name, part), chosen) for part in (condition, None))
    slice_counts, all_counts = (measure.counts.matrix().astype(np.float64) for measure in (inside, whole))
    if score == "recall":
        all_counts = all_counts[:, [0, 2]]
    (items, losses), (all_items, all_losses) = (_items(counts) for counts in (slice_counts, all_counts))
    gold, all_gold = slice_counts[:, 0].sum(), all_counts[:, 0].sum()
    bounds = jackknife(inside)[score].interval()[0]
    p: float | None = None
    why: str | None = FEW
    if gold >= LEAST_GOLD and all_gold - gold >= LEAST_GOLD:
        rows = excess_losses(losses[:, None], items[:, None], all_losses, all_items).T
        p, why = _p(rows), None
    return Weakness(
        score=score,
        value=plain(inside.values()[score][0]),
        interval=None if np.isnan(bounds).any() else (float(bounds[0]), float(bounds[1])),
        overall=plain(whole.values()[score][0]),
        p=p,
        why=why,
    )


def _limited(measure: Measure, chosen: Bools | None) -> Measure:
    if chosen is None:
        return measure
    counts = measure.counts
    return replace(measure, counts=Counts.of_matrix(counts.cells, counts.columns, counts.matrix()[chosen]))


def _items(counts: Floats) -> tuple[Floats, Floats]:
    """The items of each unit and their losses: gold mentions, or gold and predicted ones together."""
    if counts.shape[1] == 2:
        return counts[:, 0], counts[:, 0] - counts[:, 1]
    items = counts[:, 0] + counts[:, 1]
    return items, items - 2 * counts[:, 2]


def _p(rows: Floats) -> float:
    """The one-sided p-value of a row of units, with enough flips for the level of any look."""
    if rows.shape[1] > MOST_FLIPPED:
        group = joined_units(rows.shape[1], MOST_FLIPPED, 0)
        rows = floats(np.bincount(ints(group), weights=rows[0], minlength=MOST_FLIPPED))[None]
    p = 1.0
    for flips in (FLIPS, ceil(2 / (level_of(MOST_LOOKS) or 1))):
        tester = Flips(rows.shape[1], flips)
        p = float(tester.p_values(tester.statistics(rows), tester.maxima([rows]))[0])
        if p > CLOSE:
            break
    return p
