"""The runs of a study, asked for by name: one number of each, and their spread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, nan, sqrt

from msgspec import Struct

from spanwise.columns import plain, ratio
from spanwise.diagnosis import on_scale, or_nan
from spanwise.document.scores import BucketEdges, BucketScores, SystemScores
from spanwise.document.study import BucketSpread, DatasetRuns, Spread


def over_runs(values: Mapping[str, float]) -> Spread:
    """Mean, sample standard deviation and number of the defined values of several runs.

    Examples:
        >>> over_runs({"1": 0.5, "2": 0.7, "3": float("nan")}).runs
        2
    """
    defined = [value for value in values.values() if value == value]
    mean = float(ratio(fsum(defined), len(defined)))
    square = fsum((value - mean) ** 2 for value in defined)
    deviation = sqrt(float(ratio(square, len(defined) - 1))) if len(defined) > 1 else nan
    return Spread(mean=plain(mean), std=plain(deviation), runs=len(defined))


class StudyScores(Struct, frozen=True):
    """The runs of a study, asked for by name; systems and datasets stand in sorted order."""

    datasets: Mapping[str, DatasetRuns]
    systems: Sequence[str]

    def on(self, datasets: Sequence[str] | None) -> StudyScores:
        """The same runs on some of the datasets; on all where none are named."""
        if datasets is None:
            return self
        return StudyScores({name: self.datasets[name] for name in datasets}, self.systems)

    def runs(self, system: str, dataset: str) -> Mapping[str, SystemScores]:
        """The scored runs of a system on a dataset, by name."""
        return self.datasets[dataset].runs.get(system, {})

    def over(self, system: str, dataset: str, pick: Callable[[SystemScores], float]) -> dict[str, float]:
        """One number of every run."""
        return {name: pick(run) for name, run in self.runs(system, dataset).items()}

    def attributes(self, dataset: str | None = None) -> list[str]:
        """The attributes that some run has been cut by, in the order of the runs."""
        names = [dataset] if dataset is not None else list(self.datasets)
        attributes: dict[str, None] = {}
        for name in names:
            for system in self.systems:
                for run in self.runs(system, name).values():
                    attributes.update(dict.fromkeys(run.attributes))
        return list(attributes)

    def buckets(self, system: str, dataset: str, attribute: str) -> tuple[BucketSpread, ...]:
        """The buckets of one attribute with F1 over the runs: one row of T[model, attribute, bucket]."""
        first: dict[str, BucketScores] = {}
        values: dict[str, dict[str, float]] = {}
        for name, run in self.runs(system, dataset).items():
            for bucket in scale_of(run, attribute):
                first.setdefault(bucket.name, bucket)
                values.setdefault(bucket.name, {})[name] = or_nan(bucket.f1)
        return tuple(_spread(bucket, values[name]) for name, bucket in first.items())

    def row(self, run: SystemScores, attribute: str) -> dict[str, float]:
        """F1 of the buckets of one run, by name; a category without gold units is no bucket of a test."""
        buckets = scale_of(run, attribute)
        categories = is_categorical(buckets)
        return {one.name: or_nan(one.f1) for one in buckets if one.gold or not categories}


def scale_of(run: SystemScores, attribute: str) -> list[BucketScores]:
    """The buckets of an attribute that hold values of it."""
    table = run.attributes.get(attribute)
    return [] if table is None else on_scale(table.buckets)


def is_categorical(buckets: Iterable[BucketEdges]) -> bool:
    """Whether buckets are named values, without an order that a correlation could follow."""
    return any(bucket.is_category for bucket in buckets)


def _spread(bucket: BucketScores, values: Mapping[str, float]) -> BucketSpread:
    spread = over_runs(values)
    return BucketSpread(
        name=bucket.name,
        label=bucket.label,
        low=bucket.low,
        high=bucket.high,
        value=bucket.value,
        special=bucket.special,
        gold=bucket.gold,
        f1=spread.mean,
        std=spread.std,
        runs=spread.runs,
    )


def overall(run: SystemScores) -> float:
    """F1 of one run."""
    return or_nan(run.exact.overall.f1)


SCORES: Mapping[str, Callable[[SystemScores], float]] = {
    "precision": lambda run: or_nan(run.exact.overall.precision),
    "recall": lambda run: or_nan(run.exact.overall.recall),
    "f1": overall,
    "fair_precision": lambda run: or_nan(run.fair.overall.precision),
    "fair_recall": lambda run: or_nan(run.fair.overall.recall),
    "fair_f1": lambda run: or_nan(run.fair.overall.f1),
    "macro_f1": lambda run: or_nan(run.exact.macro.f1),
}
# The same by the names that the primary question chooses them by.
PRIMARY_SCORES: Mapping[str, Callable[[SystemScores], float]] = {
    "f1": overall,
    "precision": SCORES["precision"],
    "recall": SCORES["recall"],
    "macro": SCORES["macro_f1"],
    "fair": SCORES["fair_f1"],
}
