"""Means and standard deviations of a system's scores over its runs, in the form of a single run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, isnan, sqrt
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from spanwise.diagnosis import lettering, self_diagnosis
from spanwise.document import DocumentPart
from spanwise.document.scores import (
    AttributeScores,
    BucketEdges,
    Confusion,
    CrossBucket,
    SystemScores,
    WeakSlice,
)
from spanwise.document.study import MainResult, Spread

Fold: TypeAlias = Callable[[Sequence[float]], float | None]
P = TypeVar("P", bound=DocumentPart)

# Numbers of mentions: 0 in a run that does not have the cell.
COUNTED = frozenset(
    {
        *("gold", "predicted", "correct", "mentions", "incorrect", "partial", "missed", "spurious"),
        *("possible", "actual", "left", "right", "both"),
        *("TP", "FP", "FN", "LE", "BE", "BEs", "BEl", "BEo", "LBE"),
    }
)
# What belongs to a single run: intervals, notes on them, and tests.
OF_ONE_RUN = frozenset(
    {"interval", "why", "few_units", "carried_by", "errors_carried_by", "lead", "t", "p", "among", "patterns"}
)


def spread(values: Iterable[float | None]) -> Spread:
    """The mean, sample standard deviation and number of the defined values.

    Examples:
        >>> spread([0.5, None, 0.7])
        Spread(mean=0.6, std=0.14142135623730948, runs=2)
    """
    defined = [value for value in values if value is not None and not isnan(value)]
    if not defined:
        return Spread(mean=None, std=None, runs=0)
    # fsum, so that the result does not depend on the order of the values.
    mean = fsum(defined) / len(defined)
    square = fsum((value - mean) ** 2 for value in defined)
    deviation = sqrt(square / (len(defined) - 1)) if len(defined) > 1 else None
    return Spread(mean=mean, std=deviation, runs=len(defined))


def letters_over(holistic: Mapping[str, Mapping[str, MainResult]]) -> dict[str, str]:
    """The letter of every system of a study, the same on all its datasets.

    The first system is the one with the highest mean over datasets.
    """
    return lettering(
        {name: spread(cell.mean for cell in row.values()).mean for name, row in holistic.items()}
    )


def averaged(runs: Sequence[SystemScores]) -> SystemScores:
    """The mean of every number over the runs in which it is defined.

    Counts are averaged over all runs, and so may be fractions. How the score varies over buckets (`best`,
    `worst`, `gap`, `spearman`, `std`) is computed from the means. Slices are ordered by their mean cost.
    Intervals and tests belong to a single run and are left out.
    """
    if len(runs) == 1:
        return runs[0]
    system = _part(runs, lambda values: spread(values).mean, len(runs))
    attributes = {name: _diagnosed(table) for name, table in system.attributes.items()}
    ordered = sorted(system.slices, key=lambda row: (-row.cost, row.title))
    return replace(system, attributes=attributes, slices=tuple(ordered))


def deviations(runs: Sequence[SystemScores]) -> SystemScores:
    """The sample standard deviation of every number over runs, to go with the means of `averaged`.

    None where a number is defined in fewer than two runs, and for how the score varies over buckets.
    Names, the order of slices and the best and worst buckets are those of `averaged`.
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
    diagnosis = self_diagnosis(table.buckets)
    return replace(
        table, spearman=diagnosis.spearman, std=diagnosis.std,
        best=diagnosis.best, worst=diagnosis.worst, gap=diagnosis.gap,
        best_f1=UNSET if table.best_f1 is UNSET else diagnosis.best_f1,
        worst_f1=UNSET if table.worst_f1 is UNSET else diagnosis.worst_f1,
    )  # fmt: skip


# ---- combining the same number of every run --------------------------------------------------------


def _folded(name: str, values: Sequence[object], fold: Fold, runs: int) -> object:
    """Combine the values of one field over runs, some of which may lack it; `runs` is their number."""
    present = [value for value in values if value is not UNSET]
    if not present:
        return UNSET
    first = present[0]
    if isinstance(first, DocumentPart):
        return _part([value for value in present if isinstance(value, DocumentPart)], fold, runs)
    if isinstance(first, Mapping):
        return _mapping([value for value in present if isinstance(value, Mapping)], fold, runs)
    if isinstance(first, tuple | list):
        return _listed([value for value in present if isinstance(value, tuple | list)], fold, runs)
    if any(isinstance(value, str | bool) for value in present):
        return first
    numbers = [float(value) for value in present if isinstance(value, int | float)]
    if name in COUNTED:
        return _whole(fold([*numbers, *[0.0] * (runs - len(present))]))
    return fold(numbers)


def _whole(number: float | None) -> float | None:
    return int(number) if number is not None and number == int(number) else number


def _part(parts: Sequence[P], fold: Fold, runs: int) -> P:
    first = parts[0]
    combined: DocumentPart
    match first:
        case Confusion():
            combined = _confusion([part for part in parts if isinstance(part, Confusion)], fold, runs)
        case WeakSlice():
            # Runs without a score in the slice still have the slice, with as many gold mentions.
            combined = type(first)(**_fields(parts, fold, len(parts)), interval=None)
        case _:
            combined = type(first)(**_fields(parts, fold, runs))
    assert isinstance(combined, type(first))
    return combined


def _fields(parts: Sequence[DocumentPart], fold: Fold, runs: int) -> dict[str, Any]:
    """The combined fields of all runs; bucket edges and properties of gold are the same in all of them."""
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
    names = dict.fromkeys(name for mapping in maps for name in mapping)
    return {
        name: _folded(name, [mapping[name] for mapping in maps if name in mapping], fold, runs)
        for name in names
    }


def _listed(lists: Sequence[Sequence[object]], fold: Fold, runs: int) -> tuple[object, ...]:
    """Combine matching buckets, slices and crossed cells; lists of names are those of the first run."""
    rows: dict[tuple[object, ...], list[object]] = {}
    for listed in lists:
        for row in listed:
            if not isinstance(row, DocumentPart):
                return tuple(lists[0])
            rows.setdefault(_key(row), []).append(row)
    return tuple(_folded("", same, fold, runs) for same in rows.values())


def _key(row: DocumentPart) -> tuple[object, ...]:
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
    """The combined table over the labels of all runs; a label that a run lacks has counts of 0 there."""
    labels = tuple(dict.fromkeys(label for table in tables for label in table.labels))
    positions = [{label: index for index, label in enumerate(table.labels)} for table in tables]

    def mean(numbers: Iterable[float]) -> Any:
        return _whole(fold(list(numbers)))

    def edge(side: Literal["missed", "spurious"]) -> tuple[Any, ...]:
        rows = [getattr(table, side) for table in tables]
        return tuple(
            mean(row[at[label]] if label in at else 0 for row, at in zip(rows, positions, strict=True))
            for label in labels
        )

    def cell(gold: str, predicted: str) -> Any:
        indexed = zip(tables, positions, strict=True)
        return mean(
            table.counts[at[gold]][at[predicted]] if gold in at and predicted in at else 0
            for table, at in indexed
        )

    pairs: dict[str, tuple[tuple[str, str, Any], ...]] = {}
    for kind in dict.fromkeys(kind for table in tables for kind in table.pairs):
        counted = [
            {(gold, predicted): number for gold, predicted, number in table.pairs.get(kind, ())}
            for table in tables
        ]
        names = dict.fromkeys(pair for by_pair in counted for pair in by_pair)
        pairs[kind] = tuple((*pair, mean(by_pair.get(pair, 0) for by_pair in counted)) for pair in names)
    return Confusion(
        labels=labels,
        counts=tuple(tuple(cell(gold, predicted) for predicted in labels) for gold in labels),
        missed=edge("missed"),
        spurious=edge("spurious"),
        pairs=pairs,
    )
