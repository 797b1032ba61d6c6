"""The scores of the runs of a study: spread over runs, ranks in slices, factors, and tests over datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

import numpy as np
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise.averages import spread
from spanwise.columns import plain
from spanwise.diagnosis import LEAST_GOLD, mean_of, on_scale, or_nan, rank_flips
from spanwise.document import Scalar
from spanwise.document.evaluation import DatasetRuns
from spanwise.document.scores import SCORE_PATHS, BucketEdges, BucketScores, SystemScores
from spanwise.document.study import (
    BucketSpread,
    DatasetTest,
    FactorGroup,
    FactorLine,
    FactorPoint,
    FactorStep,
    RankFlip,
    Ranking,
    SliceRanks,
    Spread,
    ZetaTrend,
)
from spanwise.rates import ByScore
from spanwise.statistics import LEVEL, correct, friedman, ranks, spearman, wilcoxon
from spanwise.studies._manifest import Manifest, Pair, StudySystem


def over_runs(values: Mapping[str, float]) -> Spread:
    """The mean, sample standard deviation and number of the defined values over runs.

    Examples:
        >>> over_runs({"1": 0.5, "2": 0.7, "3": float("nan")}).runs
        2
    """
    return spread(values.values())


class StudyScores(Struct, frozen=True):
    """Access to the scores of all runs of a study; systems and datasets are in sorted order."""

    datasets: Mapping[str, DatasetRuns]
    systems: Sequence[str]
    score: str = "f1"

    @property
    def is_fair(self) -> bool:
        """Whether the score of the study is a fair one; these are not tested by bucket."""
        return SCORES[self.score].is_fair

    def overall(self, run: SystemScores) -> float:
        """The score of one run; NaN if undefined."""
        return or_nan(SCORES[self.score].of_run(run))

    def of_bucket(self, bucket: BucketScores) -> float:
        """The score of one bucket; NaN if undefined."""
        return or_nan(SCORES[self.score].of_bucket(bucket))

    def on(self, datasets: Sequence[str] | None) -> StudyScores:
        """A copy with only some of the datasets, or all of them if `datasets` is None."""
        if datasets is None:
            return self
        return replace(self, datasets={name: self.datasets[name] for name in datasets})

    def runs(self, system: str, dataset: str) -> Mapping[str, SystemScores]:
        """The scored runs of a system on a dataset, by name."""
        return self.datasets[dataset].runs.get(system, {})

    def over(self, system: str, dataset: str, pick: Callable[[SystemScores], float]) -> dict[str, float]:
        """The value of `pick` for every run of a system on a dataset."""
        return {name: pick(run) for name, run in self.runs(system, dataset).items()}

    def attributes(self, dataset: str | None = None) -> list[str]:
        """The attributes of all runs, in order of first occurrence."""
        names = [dataset] if dataset is not None else list(self.datasets)
        attributes: dict[str, None] = {}
        for name in names:
            for system in self.systems:
                for run in self.runs(system, name).values():
                    attributes.update(dict.fromkeys(run.attributes))
        return list(attributes)

    def buckets(self, system: str, dataset: str, attribute: str) -> tuple[BucketSpread, ...]:
        """The buckets of one attribute, with the score over runs: one row of T[model, attribute, bucket]."""
        first: dict[str, BucketScores] = {}
        values: dict[str, dict[str, float]] = {}
        for name, run in self.runs(system, dataset).items():
            for bucket in scale_of(run, attribute):
                first.setdefault(bucket.name, bucket)
                values.setdefault(bucket.name, {})[name] = self.of_bucket(bucket)
        return tuple(_spread(bucket, values[name]) for name, bucket in first.items())

    def row(self, run: SystemScores, attribute: str) -> dict[str, float]:
        """The scores of one run by bucket, for tests; categories without gold units are left out."""
        buckets = scale_of(run, attribute)
        categories = is_categorical(buckets)
        return {bucket.name: self.of_bucket(bucket) for bucket in buckets if bucket.gold or not categories}


def scale_of(run: SystemScores, attribute: str) -> list[BucketScores]:
    """The buckets of an attribute that hold its values."""
    table = run.attributes.get(attribute)
    return [] if table is None else on_scale(table.buckets)


def is_categorical(buckets: Iterable[BucketEdges]) -> bool:
    """Whether buckets are categories, whose order has no meaning for a correlation."""
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
    """A score that a study can be about: its name in text, and its path in the scores of a run."""

    words: str
    path: tuple[str, str, str]

    @property
    def is_fair(self) -> bool:
        """Whether this is a fair score, which counts each error once."""
        return self.path[0] == "fair"

    @property
    def name(self) -> str:
        """The last key of the path: precision, recall or f1."""
        return self.path[-1]

    def of_run(self, run: SystemScores) -> float | None:
        """The score of a whole run."""
        counting, part, name = self.path
        value: float | None = run[counting][part][name]
        return value

    def of_bucket(self, bucket: BucketScores) -> float | None:
        """The score of a bucket; None for means over labels, and for fair scores of tokens."""
        if self.path[1] != "overall" or (self.is_fair and bucket.fair is UNSET):
            return None
        value: float | None = getattr(bucket.fair if self.is_fair else bucket, self.name)
        return value


_WORDS = {"f1": "F1", "fair_precision": "fair precision", "fair_recall": "fair recall"}
_WORDS |= {"fair_f1": "fair F1", "macro_f1": "macro F1"}
SCORES: Mapping[str, ScoreKind] = ByScore(
    {name: ScoreKind(_WORDS.get(name, name), path) for name, path in SCORE_PATHS.items()},
    lambda score: ScoreKind(score.words, ("exact", "overall", score.name)),
)
CHOOSABLE = ("f1", "precision", "recall", "fair_f1")  # the scores that a study can analyse


class SliceFields(TypedDict):
    """The fields that describe a slice and do not depend on a system."""

    dataset: str
    kind: Literal["bucket", "label", "tough"]
    attribute: str | None
    name: str
    gold: int
    score: str
    label: str | None


class ScoredSlice(Struct, frozen=True):
    """A slice of one run and its score."""

    kind: Literal["bucket", "label", "tough"]
    attribute: str | None
    name: str
    gold: int
    label: str | None
    value: float
    score: str

    def about(self, dataset: str) -> SliceFields:
        """The fields that describe the slice and do not depend on a system."""
        return SliceFields(
            dataset=dataset,
            kind=self.kind,
            attribute=self.attribute,
            name=self.name,
            gold=self.gold,
            score=self.score,
            label=self.label,
        )


def ranked(scores: StudyScores) -> tuple[tuple[SliceRanks, ...], tuple[RankFlip, ...]]:
    """The ranks of systems in every slice with at least 50 gold units, and where their order reverses."""
    ranks: list[SliceRanks] = []
    flips: list[RankFlip] = []
    for dataset in scores.datasets:
        means = {s: over_runs(scores.over(s, dataset, scores.overall)).mean for s in scores.systems}
        whole = {name: value for name, value in means.items() if value is not None}
        slices = _slices(scores, dataset)
        ranks += [
            SliceRanks(**part.about(dataset), scores=values, ranks=_ranks(values)) for part, values in slices
        ]
        flips += [
            RankFlip(
                **slices[flip.slice][0].about(dataset),
                overall=flip.overall,
                here=flip.here,
                lead=flip.lead,
                reversal=flip.reversal,
            )
            for flip in rank_flips(whole, [values for _, values in slices])
        ]
    return tuple(ranks), tuple(sorted(flips, key=lambda flip: -flip.reversal))


def _ranks(values: Mapping[str, float]) -> dict[str, int]:
    return {name: 1 + sum(other > value for other in values.values()) for name, value in values.items()}


def _slices(scores: StudyScores, dataset: str) -> list[tuple[ScoredSlice, dict[str, float]]]:
    """The slices of a dataset, each with its mean score over runs by system."""
    first: dict[tuple[str, str, str], ScoredSlice] = {}
    values: dict[tuple[str, str, str], dict[str, dict[str, float]]] = {}
    for system in scores.systems:
        for run, scored in scores.runs(system, dataset).items():
            for part in _scored_slices(scored, scores):
                key = (part.kind, part.attribute or "", part.name)
                first.setdefault(key, part)
                values.setdefault(key, {}).setdefault(system, {})[run] = part.value
    slices = []
    for slice_key, part in first.items():
        means = {system: over_runs(runs).mean for system, runs in values[slice_key].items()}
        defined = {system: mean for system, mean in means.items() if mean is not None}
        if part.gold >= LEAST_GOLD and len(defined) > 1:
            slices.append((part, defined))
    return slices


def _scored_slices(run: SystemScores, scores: StudyScores) -> Iterator[ScoredSlice]:
    for label, exact in run.exact.labels.items():
        fair = run.fair.labels.get(label)
        part = fair if scores.is_fair else exact
        value = None if part is None else part[SCORES[scores.score].name]
        yield ScoredSlice("label", None, label, exact.gold, None, or_nan(value), scores.score)
    for attribute, table in run.attributes.items():
        for bucket in on_scale(table.buckets) if attribute != "label" else ():
            shown = None if bucket.label is UNSET else bucket.label
            value = scores.of_bucket(bucket)
            yield ScoredSlice("bucket", attribute, bucket.name, bucket.gold, shown, value, scores.score)
    for subset, subset_scores in run.tough.items():
        recall = subset_scores.overall
        yield ScoredSlice("tough", None, subset, recall.mentions, None, or_nan(recall.recall), "recall")


def factors(scores: StudyScores, manifest: Manifest) -> dict[str, FactorLine]:
    """For each factor, the pairs that differ only in it and, if it is numeric, the scores by its value."""
    names = sorted({key for system in manifest.systems for key in system.factors})
    return {factor: _factor(scores, manifest, factor) for factor in names}


def _factor(scores: StudyScores, manifest: Manifest, factor: str) -> FactorLine:
    having = [system for system in manifest.systems if factor in system.factors]
    numeric = all(isinstance(system.factors[factor], int | float) for system in having)
    points = [_point(scores, system.name, system.factors[factor]) for system in having]
    return FactorLine(
        numeric=numeric,
        values={system.name: system.factors[factor] for system in having},
        pairs=tuple((pair.first, pair.second) for pair in manifest.pairs if pair.factor == factor),
        line=tuple(sorted(points, key=lambda point: (point.value, point.system))) if numeric else None,
        groups=_groups(scores, having, factor) if numeric else (),
    )


def _point(scores: StudyScores, system: str, value: Scalar) -> FactorPoint:
    spreads = {
        dataset: over_runs(scores.over(system, dataset, scores.overall)) for dataset in scores.datasets
    }
    mean = mean_of(or_nan(spread.mean) for spread in spreads.values())
    return FactorPoint(value=value, system=system, datasets=spreads, mean=mean.mean, used=mean.used)


def _groups(scores: StudyScores, having: list[StudySystem], factor: str) -> tuple[FactorGroup, ...]:
    """Groups of systems that differ only in this factor, with their gains over the one with the lowest value.

    References:
        Fu, Liu and Neubig (2020), Figure 5.
    """
    groups: dict[tuple[tuple[str, Scalar], ...], list[StudySystem]] = {}
    for system in having:
        others = tuple((key, value) for key, value in system.factors.items() if key != factor)
        groups.setdefault(others, []).append(system)
    factor_groups = []
    for others, systems in groups.items():
        ordered = sorted(systems, key=lambda system: (system.factors[factor], system.name))
        if len({system.factors[factor] for system in ordered}) < 2:
            continue
        factor_groups.append(
            FactorGroup(
                factors=dict(others),
                steps=tuple(_step(scores, system, ordered[0], factor) for system in ordered),
            )
        )
    return tuple(factor_groups)


def _step(scores: StudyScores, system: StudySystem, lowest: StudySystem, factor: str) -> FactorStep:
    gains = gains_of(scores, system.name, lowest.name)
    return FactorStep(
        value=system.factors[factor],
        system=system.name,
        gains=gains,
        gain=mean_of(map(or_nan, gains.values())).mean,
    )


def gains_of(scores: StudyScores, first: str, second: str) -> dict[str, float | None]:
    """The mean score over runs of the first system minus that of the second, by dataset."""
    return {
        dataset: plain(
            or_nan(over_runs(scores.over(first, dataset, scores.overall)).mean)
            - or_nan(over_runs(scores.over(second, dataset, scores.overall)).mean)
        )
        for dataset in scores.datasets
    }


def where_it_pays(scores: StudyScores, pair: Pair) -> dict[str, ZetaTrend]:
    """For each attribute, Spearman's test for a correlation of the gain on a dataset with its ζ.

    References:
        Fu, Liu and Neubig (2020), on which datasets benefit from a choice.
    """
    gains = gains_of(scores, pair.first, pair.second)
    trends = {}
    for attribute in scores.attributes():
        zeta = {dataset: zeta_of(part, attribute) for dataset, part in scores.datasets.items()}
        both = [
            (zeta[dataset], gain)
            for dataset, gain in gains.items()
            if gain is not None and zeta[dataset] is not None
        ]
        test = spearman([or_nan(value) for value, _ in both], [gain for _, gain in both])
        trends[attribute] = ZetaTrend(**{**test.to_dict("datasets"), "datasets": len(both)})
    return trends


def zeta_of(part: DatasetRuns, attribute: str) -> float | None:
    """ζ of an attribute on a dataset; None if it is not available."""
    return None if part.dataset is None else part.dataset.zeta.get(attribute)


# The mean scores of two systems by dataset, and on how many datasets each is significantly better by itself.
Blocks: TypeAlias = tuple[Sequence[float | None], Sequence[float | None], Mapping[str, int]]


def dataset_tests(pairs: Sequence[Blocks], correction: str) -> list[DatasetTest | UnsetType]:
    """Wilcoxon's test over datasets for every pair of systems, corrected over pairs.

    It is unset for fewer than two datasets. With fewer than six, or more if there are many pairs, p cannot
    fall below .05, as the note says; the numbers of datasets on which each system is significantly better by
    itself are then more informative.

    References:
        Demšar (2006), Statistical comparisons of classifiers over multiple data sets.
    """
    tests = [_test(*pair) for pair in pairs]
    corrected = correct([or_nan(test.p) for test in tests], correction).tolist()
    # If all tests reach their smallest p-value, Holm multiplies it by their number; BH does not change it.
    steps = sum(test.p is not None for test in tests) if correction == "holm" else 1
    return [
        UNSET
        if test.datasets < 2
        else replace(
            test,
            p_corrected=plain(p),
            significant=bool(p < LEVEL),
            note=test.note or _out_of_reach(test, steps),
        )
        for test, p in zip(tests, corrected, strict=True)
    ]


def _out_of_reach(test: DatasetTest, steps: int) -> str:
    """A note if no p over so many datasets could be significant after correction."""
    least = steps * (test.least or 0.0)
    if test.p is None or least < LEVEL:
        return ""
    return f"cannot reach p < {LEVEL:g}: over {steps} pairs of systems p is at least {min(least, 1):.2g}"


def friedman_over_datasets(means: Mapping[str, Sequence[float | None]]) -> DatasetTest | UnsetType:
    """Friedman's test of whether all systems score the same over datasets; unset for fewer than two datasets.

    Args:
        means: for each system, the mean score over runs by dataset; datasets on which some system has no
            score are ignored.

    References:
        Demšar (2006), Statistical comparisons of classifiers over multiple data sets.
    """
    rows = [[value for value in row if value is not None] for row in zip(*means.values(), strict=True)]
    whole = [row for row in rows if len(row) == len(means)]
    if len(whole) < 2:
        return UNSET
    test = friedman(whole, of="system")
    return DatasetTest(**test.to_dict("datasets"), significant=bool(test.p < LEVEL))


def ranking_over_datasets(means: Mapping[str, Sequence[float | None]]) -> Ranking | UnsetType:
    """Mean ranks over the datasets on which all systems have a score; 1 is best, and ties share their mean.

    Two systems can be told apart if their mean ranks differ by at least the critical difference of Nemenyi's
    test, q √(k (k + 1) / 6N), with k systems, N datasets and q the quantile of the studentized range
    divided by √2.

    References:
        Demšar (2006), Statistical comparisons of classifiers over multiple data sets.
    """
    from scipy.stats import studentized_range

    rows = [row for row in zip(*means.values(), strict=True) if None not in row]
    if not rows:
        return UNSET
    ranked = np.mean([ranks([-(value or 0.0) for value in row]) for row in rows], axis=0)
    mean_ranks = {name: float(rank) for name, rank in zip(means, ranked, strict=True)}
    count = len(mean_ranks)
    q = float(studentized_range.ppf(1 - LEVEL, count, np.inf)) / np.sqrt(2)
    critical = float(q * np.sqrt(count * (count + 1) / (6 * len(rows))))
    order = sorted(mean_ranks, key=lambda name: (mean_ranks[name], name))
    groups: list[tuple[str, ...]] = []
    for first in range(count):
        last = max(
            at for at in range(first, count) if mean_ranks[order[at]] - mean_ranks[order[first]] < critical
        )
        if last > first and (not groups or order[last] != groups[-1][-1]):
            groups.append(tuple(order[first : last + 1]))
    return Ranking(datasets=len(rows), ranks=mean_ranks, critical=critical, groups=tuple(groups))


def _test(
    first: Sequence[float | None], second: Sequence[float | None], better: Mapping[str, int]
) -> DatasetTest:
    both = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    test = wilcoxon([a for a, _ in both], [b for _, b in both]).to_dict("datasets")
    return DatasetTest(
        **{**test, "datasets": len(both)}, difference=mean_of(a - b for a, b in both).mean, better=better
    )
