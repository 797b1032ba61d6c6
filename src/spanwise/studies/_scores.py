"""The runs of a study, asked for by name: one number of each, and their spread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, nan, sqrt

from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import plain, ratio
from spanwise.diagnosis import F1, on_scale, or_nan
from spanwise.document.scores import BucketEdges, BucketScores, FairRates, SystemScores
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
    score: str = "f1"

    @property
    def is_fair(self) -> bool:
        """Whether the score is a fair one, of which buckets have no tests."""
        return self.score.startswith("fair_")

    def overall(self, run: SystemScores) -> float:
        """The score of one run that the study is about."""
        return or_nan(SCORES[self.score].of_run(run))

    def of_bucket(self, bucket: BucketScores) -> float:
        """The same score of one bucket."""
        return or_nan(SCORES[self.score].of_bucket(bucket))

    def on(self, datasets: Sequence[str] | None) -> StudyScores:
        """The same runs on some of the datasets; on all where none are named."""
        if datasets is None:
            return self
        return replace(self, datasets={name: self.datasets[name] for name in datasets})

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
        """The buckets of one attribute with the score over runs: one row of T[model, attribute, bucket]."""
        first: dict[str, BucketScores] = {}
        values: dict[str, dict[str, float]] = {}
        for name, run in self.runs(system, dataset).items():
            for bucket in scale_of(run, attribute):
                first.setdefault(bucket.name, bucket)
                values.setdefault(bucket.name, {})[name] = self.of_bucket(bucket)
        return tuple(_spread(bucket, values[name]) for name, bucket in first.items())

    def row(self, run: SystemScores, attribute: str) -> dict[str, float]:
        """The score of each bucket of one run; a category without gold units is no bucket of a test."""
        buckets = scale_of(run, attribute)
        categories = is_categorical(buckets)
        return {one.name: self.of_bucket(one) for one in buckets if one.gold or not categories}


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


class ScoreKind(Struct, frozen=True):
    """A score that a study can be about: of a whole run, of a bucket, and where its tests stand."""

    words: str
    of_run: Callable[[SystemScores], float | None]
    of_bucket: Callable[[BucketScores], float | None]
    path: tuple[str, ...] | None = None  # of the tested difference; None where it is not tested


def _fair(bucket: BucketScores) -> FairRates:
    """The fair scores of a bucket; attributes of tokens have none."""
    return bucket.fair or FairRates(precision=None, recall=None, f1=None)


SCORES: Mapping[str, ScoreKind] = {
    "precision": ScoreKind(
        "precision",
        lambda run: run.exact.overall.precision,
        lambda bucket: bucket.precision,
        ("exact", "overall", "precision"),
    ),
    "recall": ScoreKind(
        "recall",
        lambda run: run.exact.overall.recall,
        lambda bucket: bucket.recall,
        ("exact", "overall", "recall"),
    ),
    "f1": ScoreKind("F1", lambda run: run.exact.overall.f1, lambda bucket: bucket.f1, F1),
    "fair_precision": ScoreKind(
        "fair precision", lambda run: run.fair.overall.precision, lambda bucket: _fair(bucket).precision
    ),
    "fair_recall": ScoreKind(
        "fair recall", lambda run: run.fair.overall.recall, lambda bucket: _fair(bucket).recall
    ),
    "fair_f1": ScoreKind(
        "fair F1",
        lambda run: run.fair.overall.f1,
        lambda bucket: _fair(bucket).f1,
        ("fair", "overall", "f1"),
    ),
    "macro_f1": ScoreKind("macro F1", lambda run: run.exact.macro.f1, lambda bucket: None),
}
CHOOSABLE = ("f1", "precision", "recall", "fair_f1")  # what the analyses of a study can be about
# The scores by the names that the primary question chooses them by.
PRIMARY_SCORES = {
    "f1": "f1",
    "precision": "precision",
    "recall": "recall",
    "macro": "macro_f1",
    "fair": "fair_f1",
}
