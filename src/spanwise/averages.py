"""The scores of a system over its runs: mean and deviation of every number, in the form of one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, isnan, sqrt
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from spanwise.diagnosis import self_diagnosis
from spanwise.document import Part
from spanwise.document.scores import (
    AttributeScores,
    BucketEdges,
    Confusion,
    CrossBucket,
    SystemScores,
    WeakSlice,
)
from spanwise.document.study import Spread

Fold: TypeAlias = Callable[[Sequence[float]], float | None]
P = TypeVar("P", bound=Part)

# Numbers of mentions: where a run has no such cell, it has none of them.
COUNTED = frozenset(
    {
        *("gold", "predicted", "correct", "mentions", "incorrect", "partial", "missed", "spurious"),
        *("possible", "actual", "left", "right", "both"),
        *("TP", "FP", "FN", "LE", "BE", "BEs", "BEl", "BEo", "LBE"),
    }
)
# What belongs to one run: intervals, what is said of them, and tests.
OF_ONE_RUN = frozenset({"interval", "why", "few_units", "lead", "t", "p", "among"})


def spread(values: Iterable[float | None]) -> Spread:
    """Mean, sample standard deviation and number of the values that are defined.

    Examples:
        >>> spread([0.5, None, 0.7])
        Spread(mean=0.6, std=0.14142135623730948, runs=2)
    """
    defined = [value for value in values if value is not None and not isnan(value)]
    if not defined:
        return Spread(mean=None, std=None, runs=0)
    # fsum, since the order of the values must not move the last bit.
    mean = fsum(defined) / len(defined)
    square = fsum((value - mean) ** 2 for value in defined)
    deviation = sqrt(square / (len(defined) - 1)) if len(defined) > 1 else None
    return Spread(mean=mean, std=deviation, runs=len(defined))


def averaged(runs: Sequence[SystemScores]) -> SystemScores:
    """The mean of every number of several runs, over the runs in which it is defined.

    Counts are means, too, over all runs, and so may be fractions. How the score moves over buckets (`best`,
    `worst`, `gap`, `spearman`, `std`) is told of the means. Slices are ordered by their mean cost. Intervals
    and tests belong to one run and are left out.
    """
    if len(runs) == 1:
        return runs[0]
    system = _part(runs, lambda values: spread(values).mean, len(runs))
    attributes = {name: _diagnosed(table) for name, table in system.attributes.items()}
    ordered = sorted(system.slices, key=lambda row: (-row.cost, row.title))
    return replace(system, attributes=attributes, slices=tuple(ordered))


def deviations(runs: Sequence[SystemScores]) -> SystemScores:
    """The sample standard deviation of every number of several runs, beside that of `averaged`.

    None where a number is defined in fewer than two of them, and of how the score moves over buckets.
    Names, the order of slices and the best and worst bucket are those of `averaged`.
    """
    means = averaged(runs)
    system = _part(runs, lambda values: spread(values).std, len(runs))
    attributes = {
        name: replace(
            table, spearman=None, std=None, gap=None, best=means.attributes[name].best,
            worst=means.attributes[name].worst, best_f1=None, worst_f1=None,
        )
        for name, table in system.attributes.items()
    }  # fmt: skip
    order = {_slice_key(row): index for index, row in enumerate(means.slices)}
    ordered = sorted(system.slices, key=lambda row: order[_slice_key(row)])
    return replace(system, attributes=attributes, slices=tuple(ordered))


def _diagnosed(table: AttributeScores) -> AttributeScores:
    found = self_diagnosis(table.buckets)
    return replace(
        table, spearman=found.spearman, std=found.std, best=found.best, worst=found.worst, gap=found.gap,
        best_f1=UNSET if table.best_f1 is UNSET else found.best_f1,
        worst_f1=UNSET if table.worst_f1 is UNSET else found.worst_f1,
    )  # fmt: skip


# ---- the same number of every run ------------------------------------------------------------------


def _folded(name: str, values: Sequence[object], fold: Fold, runs: int) -> object:
    """What the runs have in one place, of which some may lack it; `runs` is the number of all of them."""
    given = [value for value in values if value is not UNSET]
    if not given:
        return UNSET
    first = given[0]
    if isinstance(first, Part):
        return _part([value for value in given if isinstance(value, Part)], fold, runs)
    if isinstance(first, Mapping):
        return _mapping([value for value in given if isinstance(value, Mapping)], fold, runs)
    if isinstance(first, tuple | list):
        return _listed([value for value in given if isinstance(value, tuple | list)], fold, runs)
    if any(isinstance(value, str | bool) for value in given):
        return first
    numbers = [float(value) for value in given if isinstance(value, int | float)]
    if name in COUNTED:
        return _whole(fold([*numbers, *[0.0] * (runs - len(given))]))
    return fold(numbers)


def _whole(number: float | None) -> float | None:
    return int(number) if number is not None and number == int(number) else number


def _part(parts: Sequence[P], fold: Fold, runs: int) -> P:
    first = parts[0]
    made: Part
    match first:
        case Confusion():
            made = _confusion([part for part in parts if isinstance(part, Confusion)], fold, runs)
        case WeakSlice():
            # A run without a score in it has the slice nevertheless, with as many gold mentions.
            made = type(first)(**_fields(parts, fold, len(parts)), interval=None)
        case _:
            made = type(first)(**_fields(parts, fold, runs))
    assert isinstance(made, type(first))
    return made


def _fields(parts: Sequence[Part], fold: Fold, runs: int) -> dict[str, Any]:
    """The fields of all runs; where a bucket begins and ends, and what gold is like, is the same in all."""
    first = parts[0]
    same = BucketEdges.__struct_fields__ if isinstance(first, BucketEdges) else ()
    same += ("zeta",) if isinstance(first, AttributeScores) else ()
    return {
        name: getattr(first, name)
        if name in same
        else _folded(name, [getattr(part, name) for part in parts], fold, runs)
        for name in first.__struct_fields__
        if name not in OF_ONE_RUN
    }


def _mapping(maps: Sequence[Mapping[str, object]], fold: Fold, runs: int) -> dict[str, object]:
    names = dict.fromkeys(name for one in maps for name in one)
    return {name: _folded(name, [one[name] for one in maps if name in one], fold, runs) for name in names}


def _listed(lists: Sequence[Sequence[object]], fold: Fold, runs: int) -> tuple[object, ...]:
    """Buckets, slices and crossed cells, each with itself; names as the first run has them."""
    rows: dict[tuple[object, ...], list[object]] = {}
    for one in lists:
        for row in one:
            if not isinstance(row, Part):
                return tuple(lists[0])
            rows.setdefault(_key(row), []).append(row)
    return tuple(_folded("", same, fold, runs) for same in rows.values())


def _key(row: Part) -> tuple[object, ...]:
    match row:
        case WeakSlice():
            return _slice_key(row)
        case BucketEdges():
            return (row.name,)
    assert isinstance(row, CrossBucket)
    return row.buckets


def _slice_key(row: WeakSlice) -> tuple[object, ...]:
    return row.kind, row.attribute, row.name


def _confusion(tables: Sequence[Confusion], fold: Fold, runs: int) -> Confusion:
    """The tables of all runs over the labels of any of them; a label that a run lacks is nowhere in it."""
    labels = tuple(dict.fromkeys(label for table in tables for label in table.labels))
    places = [{label: index for index, label in enumerate(table.labels)} for table in tables]

    def mean(numbers: Iterable[float]) -> Any:
        return _whole(fold(list(numbers)))

    def edge(side: Literal["missed", "spurious"]) -> tuple[Any, ...]:
        rows = [getattr(table, side) for table in tables]
        return tuple(
            mean(row[at[label]] if label in at else 0 for row, at in zip(rows, places, strict=True))
            for label in labels
        )

    def cell(gold: str, predicted: str) -> Any:
        both = zip(tables, places, strict=True)
        return mean(
            table.counts[at[gold]][at[predicted]] if gold in at and predicted in at else 0
            for table, at in both
        )

    pairs: dict[str, tuple[tuple[str, str, Any], ...]] = {}
    for kind in dict.fromkeys(kind for table in tables for kind in table.pairs):
        counted = [
            {(gold, predicted): number for gold, predicted, number in table.pairs.get(kind, ())}
            for table in tables
        ]
        names = dict.fromkeys(pair for one in counted for pair in one)
        pairs[kind] = tuple((*pair, mean(one.get(pair, 0) for one in counted)) for pair in names)
    return Confusion(
        labels=labels,
        counts=tuple(tuple(cell(gold, predicted) for predicted in labels) for gold in labels),
        missed=edge("missed"),
        spurious=edge("spurious"),
        pairs=pairs,
    )
