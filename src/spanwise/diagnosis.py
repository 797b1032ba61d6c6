"""Diagnosis from the scores of buckets, slices and systems: where a system is weak, and where it leads.

A bucket counts here when it is on the attribute's scale: `unplaced`, the mentions without a value, is
ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, nan
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import plain, ratio
from spanwise.document import Interval
from spanwise.document.scores import (
    PRIMARY,
    AttributeScores,
    BucketEdges,
    BucketLead,
    BucketLeads,
    BucketScores,
    Comparison,
    LeadPart,
    Subset,
    SystemScores,
    WeakSlice,
)
from spanwise.statistics import rank_correlation

F1 = PRIMARY["f1"]  # where a document has the score that systems are ranked by
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
LEAST_GOLD = 50  # slices with fewer gold units are left out of rankings

E = TypeVar("E", bound=BucketEdges)


class ScoredBucket(Protocol):
    """A bucket with its F1."""

    @property
    def name(self) -> str: ...
    @property
    def on_scale(self) -> bool: ...
    @property
    def is_category(self) -> bool: ...
    @property
    def f1(self) -> float | None: ...


def on_scale(buckets: Iterable[E]) -> list[E]:
    """The buckets that hold values of the attribute: all but `unplaced`, unless that is such a value."""
    return [bucket for bucket in buckets if bucket.on_scale]


def or_nan(value: float | None) -> float:
    """A score as a number, NaN where it is undefined."""
    return nan if value is None else float(value)


class Mean(Struct, frozen=True):
    """The mean of the values that are defined, and how many those are."""

    mean: float | None
    used: int


def mean_of(values: Iterable[float]) -> Mean:
    """The mean of the values that are defined, and how many those are.

    Examples:
        >>> mean_of([0.5, float("nan"), 1.0])
        Mean(mean=0.75, used=2)
    """
    defined = [value for value in values if not np.isnan(value)]
    # fsum, since the order of the values must not move the last bit.
    return Mean(plain(ratio(fsum(defined), len(defined))), len(defined))


# ---- one system -----------------------------------------------------------------------------


class Diagnosis(Struct, frozen=True):
    """How one system's score moves over the buckets of one attribute; None where that is undefined."""

    spearman: float | None = None
    std: float | None = None
    best: str | None = None
    worst: str | None = None
    gap: float | None = None
    best_f1: float | None = None
    worst_f1: float | None = None


def self_diagnosis(buckets: Iterable[ScoredBucket]) -> Diagnosis:
    """How one system's F1 moves over the buckets of one attribute.

    `spearman` (S^ρ) is Spearman's correlation of score and bucket number, and None with
    fewer than three defined scores, a constant row, or categories; `std` (S^σ) the
    population standard deviation; `gap` the best score less the worst. Buckets without a defined score are
    ignored; of equal ones the first is named.

    References:
        Fu, Liu and Neubig (2020), sections 4.1 and 4.3.
    """
    scale = [bucket for bucket in buckets if bucket.on_scale]
    scores = np.array([or_nan(bucket.f1) for bucket in scale], np.float64)
    if not scale or np.isnan(scores).all():
        return Diagnosis()
    best, worst = int(np.nanargmax(scores)), int(np.nanargmin(scores))
    categories = any(bucket.is_category for bucket in scale)
    return Diagnosis(
        spearman=None if categories else plain(rank_correlation(range(len(scale)), scores)),
        std=float(np.nanstd(scores)),
        best=scale[best].name,
        worst=scale[worst].name,
        gap=float(scores[best] - scores[worst]),
        best_f1=float(scores[best]),
        worst_f1=float(scores[worst]),
    )


def slices(
    system: SystemScores, mentions: int, tests: Mapping[tuple[str, ...], Mapping[str, object]] | None = None
) -> tuple[WeakSlice, ...]:
    """The slices of one system's data, the costliest first; `mentions` is the number of gold ones.

    The cost of a slice (a bucket, a label, a tough subset) is its share of the gold units times
    how far its score is below the overall score: F1, or recall for tough subsets. Token
    units are compared with the score over all token units. Slices with fewer than 50 gold
    units, or without a score, are left out. `tests` by the path of a slice say whether it is weaker than
    the rest, and give it an interval that holds for all tested slices at once.
    """
    overall = system.exact.overall
    rows = [
        _slice(
            "label",
            None,
            label,
            f"label = {label}",
            scores.f1,
            scores.gold,
            scores.interval,
            overall.f1,
            mentions,
        )
        for label, scores in system.exact.labels.items()
    ]
    for subset, scores in system.tough.items():
        recall = scores.overall
        rows.append(
            _slice(
                "tough",
                None,
                subset,
                subset,
                recall.recall,
                recall.mentions,
                recall.interval,
                overall.recall,
                mentions,
            )
        )
    for attribute, table in system.attributes.items():
        if attribute == "label":
            continue  # the labels come first, whether or not they were asked for as an attribute
        whole, units = overall.f1, mentions
        if table.unit == "token":
            whole, units = _whole(table.buckets)
        rows.extend(
            _slice("bucket", attribute, b.name, _title(attribute, b), b.f1, b.gold, b.interval, whole, units)
            for b in on_scale(table.buckets)
        )
    kept = [_with_test(row, tests or {}) for row in rows if row is not None]
    return tuple(sorted(kept, key=lambda row: (-row.cost, row.title)))


def slice_path(row: WeakSlice) -> tuple[str, ...]:
    """Where the document has the scores of a slice."""
    if row.kind == "tough":
        return "tough", row.name, "overall"
    if row.attribute is None:
        return "exact", "labels", row.name
    return "attributes", row.attribute, row.name


def _with_test(row: WeakSlice, tests: Mapping[tuple[str, ...], Mapping[str, Any]]) -> WeakSlice:
    test = tests.get(slice_path(row))
    if test is None:
        return row
    bounds = test["interval"]
    interval = row.interval if bounds is None else (bounds[0], bounds[1])
    return replace(row, t=test["t"], p=test["p"], among=test["of"], interval=interval)


def _whole(buckets: Sequence[BucketScores]) -> tuple[float | None, int]:
    gold = sum(bucket.gold for bucket in buckets)
    predicted = sum(bucket.predicted for bucket in buckets)
    correct = sum(bucket.correct for bucket in buckets)
    return plain(ratio(2 * correct, gold + predicted)), gold


def _title(attribute: str, bucket: BucketEdges) -> str:
    text = bucket.text
    return f"{attribute} in {text}" if text[0] in "([" else f"{attribute} = {text}"


def _slice(
    kind: Literal["bucket", "label", "tough"],
    attribute: str | None,
    name: str,
    title: str,
    value: float | None,
    gold: int,
    intervals: Mapping[str, Interval | None],
    overall: float | None,
    units: int,
) -> WeakSlice | None:
    """A slice that is large enough and has a score, else None."""
    if gold < LEAST_GOLD or value is None or overall is None or not units:
        return None
    score: Literal["f1", "recall"] = "recall" if kind == "tough" else "f1"
    return WeakSlice(
        kind=kind,
        attribute=attribute,
        name=name,
        title=title,
        score=score,
        value=value,
        overall=overall,
        gold=gold,
        cost=float(ratio(gold, units)) * (overall - value),
        interval=intervals.get(score),
    )


# Slices (subsets, and buckets of one value) that are parts of subsets by definition.
_PARTS: dict[tuple[str, float] | str, tuple[str, ...]] = {
    "UNSEEN-TYPE": ("UNSEEN-ANY",),
    "UNSEEN-TOKENS": ("UNSEEN-ANY",),
    "TCM-SEEN": ("TCM-ALL",),
    "TCM-UNSEEN": ("TCM-ALL",),
    ("entity_frequency", 0): ("UNSEEN-TOKENS", "UNSEEN-ANY"),
    ("entity_label_consistency", 0): ("UNSEEN-ANY",),
}
_NEARLY = 0.8  # the share of a slice that a part of it has at least, to be nearly the same


def distinct(rows: Iterable[WeakSlice], system: SystemScores) -> list[list[WeakSlice]]:
    """The slices of one system in groups that hold the same mentions or nearly so; order is kept.

    Two slices of mentions hold the same ones where they have the same number of gold mentions with
    every outcome; nearly the same where one is a part of the other by definition and has at least
    four fifths of its gold mentions. Slices that resemble a third are in one group with it.
    """
    listed = list(rows)
    held = [_held(row, system) for row in listed]
    groups: list[list[int]] = []
    for index, own in enumerate(held):
        alike = [group for group in groups if any(_alike(own, held[one]) for one in group)]
        joined = sorted([index, *(one for group in alike for one in group)])
        groups = sorted([*(group for group in groups if group not in alike), joined])
    return [[listed[place] for place in group] for group in groups]


_Held: TypeAlias = tuple[tuple[str, float] | str | None, Mapping[str, int]]


def _alike(first: _Held | None, second: _Held | None) -> bool:
    if first is None or second is None:
        return False
    return first[1] == second[1] or _is_most_of(first, second) or _is_most_of(second, first)


def _is_most_of(part: _Held, whole: _Held) -> bool:
    (name, some), (of, all_) = part, whole
    if name is None or of not in _PARTS.get(name, ()) or any(some[key] > all_.get(key, 0) for key in some):
        return False
    return sum(some.values()) >= _NEARLY * sum(all_.values())


def _held(row: WeakSlice, system: SystemScores) -> _Held | None:
    """The subset, or the attribute and its one value, and the outcomes of the gold mentions, where told."""
    if row.kind == "tough":
        outcomes = next((one.outcomes for subset, one in system.tough.items() if subset == row.name), {})
        return (row.name, {str(key): number for key, number in outcomes.items()}) if outcomes else None
    table = None if row.attribute is None else system.attributes.get(row.attribute)
    bucket = None if table is None else table.bucket(row.name)
    if bucket is None or row.attribute is None or not bucket.outcomes:
        return None
    point = bucket.point
    return None if point is None else (row.attribute, point), {
        str(key): number for key, number in bucket.outcomes["gold"].items()
    }


# ---- two systems ----------------------------------------------------------------------------


def comparative_diagnosis(
    first: Sequence[float], second: Sequence[float], names: Sequence[str]
) -> BucketLeads:
    """Where the first system leads most and least over the buckets of one attribute.

    `best` and `worst` are the buckets where M1 − M2 is largest and smallest, whatever its sign;
    `beta` is the largest difference if M1 wins every bucket, else the smallest; `relative`
    is (M1 − M2) / M2 bucket by bucket, None where M2 is 0 or undefined.

    Examples:
        >>> found = comparative_diagnosis([0.9, 0.6], [0.8, 0.4], ["XS", "XL"])
        >>> found.best.bucket, found.worst.bucket, round(found.beta, 2)
        ('XL', 'XS', 0.2)

    References:
        Fu, Liu and Neubig (2020), Table 4 and Figure 6; β is the 2019 submission's.
    """
    new, old = np.array(first, np.float64), np.array(second, np.float64)
    difference = new - old
    relative = tuple(plain(value) for value in ratio(difference, np.where(np.isnan(old), 0.0, old)).tolist())
    best = worst = beta = None
    if not np.isnan(difference).all():
        high, low = int(np.nanargmax(difference)), int(np.nanargmin(difference))
        wins = bool((difference[~np.isnan(difference)] > 0).all())
        best = BucketLead(bucket=names[high], difference=float(difference[high]))
        worst = BucketLead(bucket=names[low], difference=float(difference[low]))
        beta = float(difference[high] if wins else difference[low])
    return BucketLeads(
        best=best,
        worst=worst,
        beta=beta,
        buckets=tuple(names),
        differences=tuple(plain(value) for value in difference.tolist()),
        relative=relative,
    )


TOUGH_PARTS: tuple[Subset, ...] = ("SEEN", "UNSEEN-TYPE", "UNSEEN-TOKENS")
PREDICTED = "predicted"  # all predicted mentions, where only gold ones fall into parts


class _PartCounts(Struct, frozen=True):
    """How many mentions a system predicted in a part, and how many of them are right."""

    predicted: int
    correct: int


def parts_of_lead(first: SystemScores, second: SystemScores) -> dict[str, tuple[LeadPart, ...]]:
    """What each part of the mentions contributes to F1 of the first system less F1 of the second.

    The parts are the labels, the tough subsets and the buckets of each attribute. A right gold mention is
    worth 2 / (gold + predicted), a predicted one costs the other system's F1 / (gold + predicted);
    the mean of this and of its mirror image, the two systems exchanged, is taken. The contributions
    of the parts of one division add up to the difference exactly; a division that leaves mentions
    out is not given.
    """
    one, other = first.exact.overall, second.exact.overall
    sizes = (one.gold + one.predicted, other.gold + other.predicted)
    if one.f1 is None or other.f1 is None or not all(sizes):
        return {}
    price = (other.f1, one.f1)

    def contribution(a: _PartCounts, b: _PartCounts) -> float:
        right, predicted = a.correct - b.correct, a.predicted - b.predicted
        return fsum((2 * right - f1 * predicted) / (2 * size) for f1, size in zip(price, sizes, strict=True))

    none = _PartCounts(0, 0)
    whole = [_PartCounts(overall.predicted, overall.correct) for overall in (one, other)]
    leads = {}
    for division, (a, b) in _divisions(first, second).items():
        if [_sum(a), _sum(b)] != whole:
            continue
        names = dict.fromkeys([*a, *b])
        leads[division] = tuple(
            LeadPart(name=name, contribution=contribution(a.get(name, none), b.get(name, none)))
            for name in names
        )
    return leads


_Division: TypeAlias = Mapping[str, _PartCounts]


def _sum(division: _Division) -> _PartCounts:
    return _PartCounts(
        sum(part.predicted for part in division.values()), sum(part.correct for part in division.values())
    )


def _divisions(first: SystemScores, second: SystemScores) -> dict[str, tuple[_Division, _Division]]:
    """Every way in which both systems' mentions fall into parts."""
    divisions: dict[str, tuple[_Division, _Division]] = {"labels": (_by_label(first), _by_label(second))}
    if all(subset in system.tough for subset in TOUGH_PARTS for system in (first, second)):
        divisions["tough"] = (_by_subset(first), _by_subset(second))
    for attribute, table in first.attributes.items():
        other = second.attributes.get(attribute)
        if attribute != "label" and other is not None and table.unit == other.unit == "mention":
            divisions[attribute] = (_by_bucket(table), _by_bucket(other))
    return divisions


def _by_label(system: SystemScores) -> _Division:
    return {label: _PartCounts(row.predicted, row.correct) for label, row in system.exact.labels.items()}


def _by_subset(system: SystemScores) -> _Division:
    gold = {str(subset): _PartCounts(0, system.tough[subset].overall.correct) for subset in TOUGH_PARTS}
    return gold | {PREDICTED: _PartCounts(system.exact.overall.predicted, 0)}


def _by_bucket(table: AttributeScores) -> _Division:
    return {bucket.name: _PartCounts(bucket.predicted, bucket.correct) for bucket in table.buckets}


def lead_over_runs(
    first: Sequence[SystemScores], second: Sequence[SystemScores]
) -> dict[str, tuple[LeadPart, ...]]:
    """The parts of the lead of one system over another, means over all pairs of their runs.

    They add up to the difference of the mean F1. A division that some pair of runs lacks is not given.
    """
    pairs = [parts_of_lead(one, other) for one in first for other in second]
    leads = {}
    for division in pairs[0]:
        if not all(division in pair for pair in pairs):
            continue
        values: dict[str, list[float]] = {}
        for pair in pairs:
            for part in pair[division]:
                values.setdefault(part.name, []).append(part.contribution)
        leads[division] = tuple(
            LeadPart(name=name, contribution=fsum(some) / len(pairs)) for name, some in values.items()
        )
    return leads


def with_leads(
    comparisons: Iterable[Comparison], systems: Mapping[str, Sequence[SystemScores]]
) -> tuple[Comparison, ...]:
    """The comparisons, each with the parts of its lead; `systems` has the scores of every run."""
    return tuple(
        replace(row, lead=lead_over_runs(*(systems[name] for name in row.systems))) for row in comparisons
    )


# ---- many systems ---------------------------------------------------------------------------


def lettering(scores: Mapping[str, float | None]) -> dict[str, str]:
    """A letter for each system in descending order of score, undefined ones last, ties by name.

    Examples:
        >>> lettering({"crf": 0.7, "bert": 0.9})
        {'bert': 'a', 'crf': 'b'}
    """
    order = sorted(scores, key=lambda name: (-_or_lowest(scores[name]), name))
    return {name: letter(index) for index, name in enumerate(order)}


def letter(place: int) -> str:
    """The sign of the system at a place, from 0: a … z, A … Z, then its number in brackets."""
    return LETTERS[place] if place < len(LETTERS) else f"({place + 1})"


def _or_lowest(value: float | None) -> float:
    return -np.inf if value is None else value


def letters(
    scores: Mapping[str, float | None], comparisons: Iterable[Comparison], *, path: tuple[str, ...] = F1
) -> dict[str, str]:
    """For every system the letters of those it is significantly better than, in order of score.

    Args:
        scores: the score of each system.
        comparisons: the comparisons of a document; `path` names the score they are asked for.
    """
    sign = lettering(scores)
    beaten: dict[str, set[str]] = {name: set() for name in sign}
    for comparison in comparisons:
        row = comparison.score(path)
        if row is None or not row.significant or not row.difference:
            continue
        first, second = comparison.systems
        winner, loser = (first, second) if row.difference > 0 else (second, first)
        if winner in beaten and loser in sign:
            beaten[winner].add(loser)
    return {name: "".join(sign[other] for other in sign if other in beaten[name]) for name in sign}


class Reversal(Struct, frozen=True):
    """Two systems whose order in a slice is not their overall order."""

    slice: int  # its place among the slices
    overall: str  # the system that leads overall
    here: str  # the one that leads in the slice
    lead: float
    reversal: float


def rank_flips(scores: Mapping[str, float], slices: Iterable[Mapping[str, float]]) -> list[Reversal]:
    """The slices in which the overall order of two systems reverses, the largest reversal first.

    Args:
        scores: the overall score of every system.
        slices: the score of every system in each slice.

    Examples:
        >>> rank_flips({"a": 0.9, "b": 0.8}, [{"a": 0.4, "b": 0.5}])[0].here
        'b'
    """
    flips = []
    names = sorted(scores)
    for index, values in enumerate(slices):
        for at, name in enumerate(names):
            for other in names[at + 1 :]:
                overall = scores[name] - scores[other]
                here = values.get(name, nan) - values.get(other, nan)
                if not overall * here < 0:  # undefined and equal scores reverse nothing
                    continue
                lead, trail = (name, other) if overall > 0 else (other, name)
                flips.append(Reversal(index, lead, trail, abs(overall), abs(here)))
    return sorted(flips, key=lambda row: -row.reversal)
