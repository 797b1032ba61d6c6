"""Diagnosis from the scores of buckets, slices and systems: where a system is weak, and where it leads.

Only buckets on the attribute's scale are considered: `unplaced`, for mentions without a value, is ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
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

F1 = PRIMARY["f1"]  # the path of the score that systems are ranked by
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
LEAST_GOLD = 50  # slices with fewer gold units are left out of rankings

E = TypeVar("E", bound=BucketEdges)


class ScoredBucket(Protocol):
    """Any bucket with an F1."""

    @property
    def name(self) -> str: ...
    @property
    def on_scale(self) -> bool: ...
    @property
    def is_category(self) -> bool: ...
    @property
    def f1(self) -> float | None: ...


def on_scale(buckets: Iterable[E]) -> list[E]:
    """The buckets that hold values of the attribute: all but `unplaced`, unless that is itself a value."""
    return [bucket for bucket in buckets if bucket.on_scale]


def or_nan(value: float | None) -> float:
    """A score as a number, NaN where it is undefined."""
    return nan if value is None else float(value)


class Mean(Struct, frozen=True):
    """The mean of the defined values, and how many values are defined."""

    mean: float | None
    used: int


def mean_of(values: Iterable[float]) -> Mean:
    """The mean of the defined values, and how many values are defined.

    Examples:
        >>> mean_of([0.5, float("nan"), 1.0])
        Mean(mean=0.75, used=2)
    """
    defined = [value for value in values if not np.isnan(value)]
    # fsum, so that the result does not depend on the order of the values.
    return Mean(plain(ratio(fsum(defined), len(defined))), len(defined))


# ---- one system -----------------------------------------------------------------------------


class Diagnosis(Struct, frozen=True):
    """How one system's F1 varies over the buckets of one attribute; undefined values are None."""

    spearman: float | None = None
    std: float | None = None
    best: str | None = None
    worst: str | None = None
    gap: float | None = None
    best_f1: float | None = None
    worst_f1: float | None = None


def self_diagnosis(buckets: Iterable[ScoredBucket]) -> Diagnosis:
    """How one system's F1 varies over the buckets of one attribute.

    `spearman` (S^ρ) is Spearman's correlation of score and bucket number, or None for categories,
    constant scores and fewer than three defined scores; `std` (S^σ) is the population standard
    deviation; `gap` is the best score minus the worst. Buckets without a defined score are ignored;
    of equal buckets the first is named.

    Examples:
        >>> from spanwise.document.study import BucketSpread
        >>> scores = {"S": 0.9, "L": 0.7}
        >>> rows = [BucketSpread(name=name, gold=10, f1=f1, std=None, runs=1) for name, f1 in scores.items()]
        >>> found = self_diagnosis(rows)
        >>> found.worst, round(found.gap, 2)
        ('L', 0.2)

    References:
        Fu, Liu and Neubig (2020), sections 4.1 and 4.3.
    """
    scale = [bucket for bucket in buckets if bucket.on_scale]
    scores = np.array([or_nan(bucket.f1) for bucket in scale], np.float64)
    defined = np.flatnonzero(~np.isnan(scores))
    if not len(defined):
        return Diagnosis()
    best, worst = defined[scores[defined].argmax()], defined[scores[defined].argmin()]
    categories = any(bucket.is_category for bucket in scale)
    return Diagnosis(
        spearman=None if categories else plain(rank_correlation(range(len(scale)), scores)),
        std=float(scores.std() if len(defined) == len(scores) else np.nanstd(scores)),
        best=scale[best].name,
        worst=scale[worst].name,
        gap=float(scores[best] - scores[worst]),
        best_f1=float(scores[best]),
        worst_f1=float(scores[worst]),
    )


def slices(
    system: SystemScores, mentions: int, tests: Mapping[tuple[str, ...], Mapping[str, object]] | None = None
) -> tuple[WeakSlice, ...]:
    """The slices of one system's data, the costliest first; `mentions` is the number of gold mentions.

    The cost of a slice (a bucket, a label, a tough subset) is its share of the gold units times
    how far its score is below the overall score: F1, or recall for tough subsets. Token
    units are compared with the score over all token units. Slices with fewer than 50 gold
    units, or without a score, are left out. `tests`, by path, tell whether a slice is weaker than the rest,
    and give it an interval that holds for all tested slices simultaneously.
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
            continue  # labels were added above, whether or not they are a requested attribute
        whole, units = overall.f1, mentions
        if table.unit == "token":
            whole, units = _whole(table.buckets)
        rows.extend(
            _slice("bucket", attribute, b.name, _title(attribute, b), b.f1, b.gold, b.interval, whole, units)
            for b in on_scale(table.buckets)
        )
    tested = [_with_test(row, tests or {}) for row in rows if row is not None]
    return tuple(sorted(tested, key=lambda row: (-row.cost, row.title)))


def slice_path(row: WeakSlice) -> tuple[str, ...]:
    """The path of a slice's scores in the document."""
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
    """The slice, or None if it is too small or has no score."""
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


# Slices (subsets, or buckets of a single value) that are by definition parts of these subsets.
_PARTS: dict[tuple[str, float] | str, tuple[str, ...]] = {
    "UNSEEN-TYPE": ("UNSEEN-ANY",),
    "UNSEEN-TOKENS": ("UNSEEN-ANY",),
    "TCM-SEEN": ("TCM-ALL",),
    "TCM-UNSEEN": ("TCM-ALL",),
    ("entity_frequency", 0): ("UNSEEN-TOKENS", "UNSEEN-ANY"),
    ("entity_label_consistency", 0): ("UNSEEN-ANY",),
}
_NEARLY = 0.8  # a part with at least this share of a slice is nearly the same slice


def distinct(rows: Iterable[WeakSlice], system: SystemScores) -> list[list[WeakSlice]]:
    """Group the slices of one system that hold the same or nearly the same mentions, in their order.

    Two slices hold the same mentions if they have the same number of gold mentions with every outcome,
    and nearly the same if one is by definition a part of the other and has at least four fifths of its
    gold mentions. Slices that resemble a third one are in the same group.
    """
    listed = list(rows)
    contents = [_content(row, system) for row in listed]
    groups: list[list[int]] = []
    for index, content in enumerate(contents):
        alike = [group for group in groups if any(_alike(content, contents[member]) for member in group)]
        joined = sorted([index, *(member for group in alike for member in group)])
        groups = sorted([*(group for group in groups if group not in alike), joined])
    return [[listed[index] for index in group] for group in groups]


_Content: TypeAlias = tuple[tuple[str, float] | str | None, Mapping[str, int]]


def _alike(first: _Content | None, second: _Content | None) -> bool:
    if first is None or second is None:
        return False
    return first[1] == second[1] or _is_most_of(first, second) or _is_most_of(second, first)


def _is_most_of(part: _Content, whole: _Content) -> bool:
    (name, inside), (subset, outcomes) = part, whole
    if name is None or subset not in _PARTS.get(name, ()):
        return False
    if any(inside[key] > outcomes.get(key, 0) for key in inside):
        return False
    return sum(inside.values()) >= _NEARLY * sum(outcomes.values())


def _content(row: WeakSlice, system: SystemScores) -> _Content | None:
    """The subset, or the attribute and its single value, and the outcomes of its gold mentions, if known."""
    if row.kind == "tough":
        outcomes = next(
            (scores.outcomes for subset, scores in system.tough.items() if subset == row.name), {}
        )
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
    `beta` is the largest difference if M1 wins every bucket, otherwise the smallest; `relative`
    is (M1 − M2) / M2 per bucket, None where M2 is 0 or undefined.

    Examples:
        >>> leads = comparative_diagnosis([0.9, 0.6], [0.8, 0.4], ["XS", "XL"])
        >>> leads.best.bucket, leads.worst.bucket, round(leads.beta, 2)
        ('XL', 'XS', 0.2)

    References:
        Fu, Liu and Neubig (2020), Table 4 and Figure 6; β is from the 2019 submission.
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
PREDICTED = "predicted"  # all predicted mentions, if only gold mentions are divided into parts


class _PartCounts(Struct, frozen=True):
    """How many mentions a system predicted in a part, and how many of them are correct."""

    predicted: int
    correct: int


def parts_of_lead(first: SystemScores, second: SystemScores) -> dict[str, tuple[LeadPart, ...]]:
    """How much each part of the mentions contributes to the first system's F1 minus the second's.

    The parts are the labels, the tough subsets and the buckets of each attribute. A correct mention is
    worth 2 / (gold + predicted), and a predicted one costs the other system's F1 / (gold + predicted);
    this is averaged with its mirror image, in which the two systems are exchanged. The contributions of
    the parts of a division add up exactly to the difference; a division that leaves mentions out is
    omitted.
    """
    first_overall, second_overall = first.exact.overall, second.exact.overall
    sizes = (first_overall.gold + first_overall.predicted, second_overall.gold + second_overall.predicted)
    if first_overall.f1 is None or second_overall.f1 is None or not all(sizes):
        return {}
    price = (second_overall.f1, first_overall.f1)

    def contribution(a: _PartCounts, b: _PartCounts) -> float:
        right, predicted = a.correct - b.correct, a.predicted - b.predicted
        return fsum((2 * right - f1 * predicted) / (2 * size) for f1, size in zip(price, sizes, strict=True))

    none = _PartCounts(0, 0)
    whole = [_PartCounts(overall.predicted, overall.correct) for overall in (first_overall, second_overall)]
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
    """All divisions of mentions into parts that both systems have."""
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
    """The parts of one system's lead over another, averaged over all pairs of their runs.

    They add up to the difference of the mean F1. A division that some pair of runs lacks is omitted.
    """
    pairs = [parts_of_lead(first_run, second_run) for first_run in first for second_run in second]
    leads = {}
    for division in pairs[0]:
        if not all(division in pair for pair in pairs):
            continue
        values: dict[str, list[float]] = {}
        for pair in pairs:
            for part in pair[division]:
                values.setdefault(part.name, []).append(part.contribution)
        leads[division] = tuple(
            LeadPart(name=name, contribution=fsum(contributions) / len(pairs))
            for name, contributions in values.items()
        )
    return leads


def with_leads(
    comparisons: Iterable[Comparison], systems: Mapping[str, Sequence[SystemScores]]
) -> tuple[Comparison, ...]:
    """The comparisons with the parts of each lead; `systems` has the scores of every run of each system."""
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


def letter(rank: int) -> str:
    """The letter of the system at a rank, from 0: a … z, A … Z, then its number in brackets."""
    return LETTERS[rank] if rank < len(LETTERS) else f"({rank + 1})"


def _or_lowest(value: float | None) -> float:
    return -np.inf if value is None else value


def significant_pairs(
    comparisons: Iterable[Comparison], *, path: tuple[str, ...] | None = None
) -> frozenset[tuple[str, str]]:
    """The pairs of systems that differ significantly after correction, the better system first.

    Every letter, star, bold number, bracket and sentence about two systems comes from this set.

    Args:
        comparisons: the comparisons of one dataset.
        path: the score that is compared; by default the primary one.
    """
    pairs = set()
    for comparison in comparisons:
        row = comparison.primary if path is None else comparison.score(path)
        if row is not None and row.significant and row.difference:
            first, second = comparison.systems
            pairs.add((first, second) if row.difference > 0 else (second, first))
    return frozenset(pairs)


def letters(
    scores: Mapping[str, float | None], comparisons: Iterable[Comparison], *, path: tuple[str, ...] = F1
) -> dict[str, str]:
    """For every system, the letters of the systems it is significantly better than, in order of score.

    Args:
        scores: the score of each system.
        comparisons: the comparisons of a document; `path` selects the score that is compared.
    """
    return beaten_letters(lettering(scores), significant_pairs(comparisons, path=path))


def beaten_letters(own: Mapping[str, str], better: Collection[tuple[str, str]]) -> dict[str, str]:
    """For every system, the letters of the systems it is significantly better than.

    Args:
        own: the letter of each system.
        better: the significant pairs, the better system first.

    Examples:
        >>> beaten_letters({"bert": "a", "crf": "b"}, {("bert", "crf")})
        {'bert': 'b', 'crf': ''}
    """
    return {name: "".join(own[other] for other in own if (name, other) in better) for name in own}


class Reversal(Struct, frozen=True):
    """Two systems whose order in a slice is the reverse of their overall order."""

    slice: int  # its index among the slices
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
                in_slice = values.get(name, nan) - values.get(other, nan)
                if not overall * in_slice < 0:  # undefined or equal scores are no reversal
                    continue
                lead, trail = (name, other) if overall > 0 else (other, name)
                flips.append(Reversal(index, lead, trail, abs(overall), abs(in_slice)))
    return sorted(flips, key=lambda row: -row.reversal)
