"""The analyses of a study over its runs: model-wise, attribute-wise and bucket-wise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import nan
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from msgspec import UNSET
from msgspec.structs import asdict, replace

from spanwise.columns import plain, ratio
from spanwise.diagnosis import (
    comparative_diagnosis,
    mean_of,
    or_nan,
    self_diagnosis,
    significant_pairs,
)
from spanwise.document.evaluation import DatasetRuns
from spanwise.document.scores import (
    PRIMARY_SCORES,
    BucketLeads,
    Subset,
    SubsetRecall,
    SubsetScores,
    SystemScores,
)
from spanwise.document.study import (
    Analyses,
    AttributeWise,
    BlockTest,
    BucketsDiffer,
    BucketSpread,
    BucketWise,
    DatasetMean,
    MainResult,
    ModelWise,
    OverallTest,
    PairDiagnosis,
    PairedTest,
    SelfDiagnosis,
    SubsetSpread,
    TrendTest,
)
from spanwise.settings import CORRECTION
from spanwise.statistics import LEVEL, Test, complete_blocks, correct, fisher, friedman, spearman, wilcoxon
from spanwise.studies._manifest import Manifest, Pair
from spanwise.studies._scores import (
    SCORES,
    Blocks,
    StudyScores,
    dataset_tests,
    factors,
    friedman_over_datasets,
    gains_of,
    is_categorical,
    over_runs,
    ranked,
    ranking_over_datasets,
    where_it_pays,
    zeta_of,
)

# By dataset, system and attribute: the p-value for buckets to differ.
Differ: TypeAlias = Mapping[str, Mapping[str, Mapping[str, float | None]]]
NOTHING_TESTED: Differ = MappingProxyType({})
BLOCKS = "Wilcoxon signed-rank over datasets × runs"

T = TypeVar("T")


def analyses(
    datasets: Mapping[str, DatasetRuns],
    manifest: Manifest,
    *,
    correction: str = CORRECTION,
    primary: str = "f1",
    differ: Differ = NOTHING_TESTED,
) -> Analyses:
    """All analyses over the runs of a study, for the key `analyses` of its document.

    `differ` has p-values for buckets to differ, by dataset, system ("" for the mean of all) and attribute.
    """
    systems = [system.name for system in manifest.systems]
    scores = StudyScores(datasets, systems, manifest.settings.get("score", "f1"))
    ranks, flips = ranked(scores)
    means = {system: _means(scores, system, primary) for system in scores.systems}
    return Analyses(
        score=UNSET if scores.score == "f1" else scores.score,
        holistic=holistic(scores),
        average={system: _average(scores, system) for system in scores.systems},
        scores={
            system: {
                dataset: {
                    name: over_runs(scores.over(system, dataset, replace(scores, score=name).overall))
                    for name in dict.fromkeys([*SCORES, PRIMARY_SCORES[primary]])
                }
                for dataset in scores.datasets
                if scores.runs(system, dataset)
            }
            for system in scores.systems
        },
        performance_table=_by_cell(scores, scores.buckets),
        model_wise=model_wise(scores, differ),
        attribute_wise=attribute_wise(scores, differ),
        bucket_wise=BucketWise(
            self_=_by_cell(scores, lambda s, d, a: _self(scores, s, d, a)),
            comparative=comparative(scores, manifest.pairs, correction=correction, primary=primary),
            ranks=ranks,
            rank_flips=flips,
        ),
        tough=tough(scores),
        factors=factors(scores, manifest),
        ranking=ranking_over_datasets(means) if len(means) > 2 and len(scores.datasets) > 1 else UNSET,
        over_datasets=friedman_over_datasets(means) if len(means) > 2 and len(scores.datasets) > 1 else UNSET,
    )


def _by_cell(scores: StudyScores, make: Callable[[str, str, str], T]) -> dict[str, dict[str, dict[str, T]]]:
    return {
        system: {
            dataset: {name: make(system, dataset, name) for name in scores.attributes(dataset)}
            for dataset in scores.datasets
            if scores.runs(system, dataset)
        }
        for system in scores.systems
    }


def _self(scores: StudyScores, system: str, dataset: str, attribute: str) -> SelfDiagnosis:
    diagnosis = self_diagnosis(scores.buckets(system, dataset, attribute))
    return SelfDiagnosis(
        best=diagnosis.best,
        worst=diagnosis.worst,
        gap=diagnosis.gap,
        best_f1=diagnosis.best_f1,
        worst_f1=diagnosis.worst_f1,
        wilcoxon=_ends_test(_ends(scores, system, dataset, attribute)),
    )


def _ends(scores: StudyScores, system: str, dataset: str, attribute: str) -> list[tuple[float, float]]:
    """The scores of every run in the worst and the best bucket, which are chosen by the mean over runs."""
    diagnosis = self_diagnosis(scores.buckets(system, dataset, attribute))
    rows = [scores.row(run, attribute) for run in scores.runs(system, dataset).values()]
    return [(row.get(diagnosis.worst or "", nan), row.get(diagnosis.best or "", nan)) for row in rows]


def _ends_test(ends: Sequence[tuple[float, float]]) -> PairedTest:
    """Wilcoxon's test of the worst against the best bucket, as in Fu20.

    The buckets are chosen by the same scores, so a small p-value is weaker evidence than it seems.
    """
    test = wilcoxon([worst for worst, _ in ends], [best for _, best in ends])
    return PairedTest(**test.to_dict("pairs"), difference=mean_of(worst - best for worst, best in ends).mean)


def _average(scores: StudyScores, system: str) -> DatasetMean:
    means = (over_runs(scores.over(system, dataset, scores.overall)).mean for dataset in scores.datasets)
    mean = mean_of(map(or_nan, means))
    return DatasetMean(mean=mean.mean, used=mean.used)


def holistic(scores: StudyScores) -> dict[str, dict[str, MainResult]]:
    """The score of every system on every dataset: mean and standard deviation over runs, and each run."""
    return {
        system: {
            dataset: _main_result(scores.over(system, dataset, scores.overall)) for dataset in scores.datasets
        }
        for system in scores.systems
    }


def _main_result(values: Mapping[str, float]) -> MainResult:
    each = {run: plain(value) for run, value in values.items()}
    return MainResult(**asdict(over_runs(values)), values=each)


def tough(scores: StudyScores) -> dict[str, dict[str, dict[Subset, SubsetSpread]]]:
    """The recall of every tough subset, overall and by label: mean and standard deviation over runs."""
    return {
        system: {dataset: _subsets(scores.runs(system, dataset)) for dataset in scores.datasets}
        for system in scores.systems
    }


def _subsets(runs: Mapping[str, SystemScores]) -> dict[Subset, SubsetSpread]:
    names = dict.fromkeys(name for run in runs.values() for name in run.tough)
    return {name: _subset({run: scores.tough[name] for run, scores in runs.items()}) for name in names}


def _subset(runs: Mapping[str, SubsetScores]) -> SubsetSpread:
    labels = dict.fromkeys(label for scores in runs.values() for label in scores.labels)
    spread = _recalls({name: scores.overall for name, scores in runs.items()})
    return replace(
        spread,
        labels={
            label: _recalls({name: scores.labels.get(label) for name, scores in runs.items()})
            for label in labels
        },
    )


def _recalls(rows: Mapping[str, SubsetRecall | None]) -> SubsetSpread:
    """The recall over runs, and the largest number of mentions in any run."""
    mentions = max((0 if row is None else row.mentions for row in rows.values()), default=0)
    recalls = {name: nan if row is None else or_nan(row.recall) for name, row in rows.items()}
    return SubsetSpread(**asdict(over_runs(recalls)), mentions=mentions)


# ---- model-wise and attribute-wise ----------------------------------------------------------


def model_wise(scores: StudyScores, differ: Differ = NOTHING_TESTED) -> dict[str, dict[str, ModelWise]]:
    """S^ρ and S^σ of every system and attribute, by dataset and on average, and Friedman's test over buckets.

    The blocks of the test are datasets × runs; `grey` is set if it does not show that the buckets differ.
    """
    attributes = scores.attributes()
    return {
        system: {attribute: _model_wise(scores, system, attribute, differ) for attribute in attributes}
        for system in scores.systems
    }


def _model_wise(scores: StudyScores, system: str, attribute: str, differ: Differ) -> ModelWise:
    rows = {dataset: scores.buckets(system, dataset, attribute) for dataset in scores.datasets}
    diagnosed = {dataset: self_diagnosis(buckets) for dataset, buckets in rows.items()}
    blocks = [
        (f"{dataset} {run}", scores.row(scored, attribute))
        for dataset in scores.datasets
        for run, scored in scores.runs(system, dataset).items()
    ]
    rho = {dataset: row.spearman for dataset, row in diagnosed.items()}
    sigma = {dataset: row.std for dataset, row in diagnosed.items()}
    means = {name: mean_of(map(or_nan, values.values())) for name, values in (("rho", rho), ("sigma", sigma))}
    return ModelWise(
        spearman={**rho, "mean": means["rho"].mean},
        std={**sigma, "mean": means["sigma"].mean},
        used={"spearman": means["rho"].used, "std": means["sigma"].used},
        tests={dataset: _trend(buckets) for dataset, buckets in rows.items()},
        friedman=_friedman(blocks),
        wilcoxon=_ends_test(
            [pair for dataset in scores.datasets for pair in _ends(scores, system, dataset, attribute)]
        ),
        buckets_differ=_differing(
            {name: row.get(system, {}).get(attribute) for name, row in differ.items()}, scores
        ),
    )


def _differing(p_values: Mapping[str, float | None], scores: StudyScores) -> BucketsDiffer:
    """The p-values of all datasets, combined by Fisher's method; None for fair scores, as for no test."""
    if scores.is_fair:
        return BucketsDiffer(p=None, datasets=dict.fromkeys(p_values))
    return BucketsDiffer(p=plain(fisher(map(or_nan, p_values.values()))), datasets=p_values)


def _trend(buckets: Sequence[BucketSpread]) -> TrendTest | None:
    """Spearman's test for a correlation of the score with the bucket number; None for categories."""
    if not buckets or is_categorical(buckets):
        return None
    test = spearman(range(len(buckets)), [or_nan(bucket.f1) for bucket in buckets])
    return TrendTest(**test.to_dict("buckets"))


def _friedman(blocks: Iterable[tuple[str, Mapping[str, float]]]) -> BlockTest:
    """Friedman's test over the most common set of bucket names; blocks with other buckets are left out."""
    named = [(name, row) for name, row in blocks if row]
    whole = [frozenset(row) for _, row in named if not any(value != value for value in row.values())]
    # Ranges are named by their number (XS … XL, B1 … Bk), so equally many match; categories must be the same.
    common = max(
        set(whole), key=lambda names: (whole.count(names), len(names), sorted(names)), default=frozenset()
    )
    order = next((tuple(row) for _, row in named if frozenset(row) == common), ())
    rows = [(name, [row[key] for key in order] if frozenset(row) == common else [nan]) for name, row in named]
    complete, left_out = complete_blocks(rows)
    test = friedman(complete, exact=False)  # as in the paper
    return BlockTest(**test.to_dict("blocks"), left_out=tuple(left_out), grey=_grey(test))


def _grey(test: Test) -> bool:
    return not test.p < LEVEL  # an undefined test shows nothing either


def attribute_wise(
    scores: StudyScores, differ: Differ = NOTHING_TESTED
) -> dict[str, dict[str, AttributeWise]]:
    """ζ, ρ¹, ρ² and σ of every dataset and attribute, and Friedman's test over buckets.

    The blocks of the test are models × runs.
    """
    return {
        dataset: {name: _attribute_wise(scores, dataset, name, differ) for name in scores.attributes(dataset)}
        for dataset in scores.datasets
    }


def _attribute_wise(scores: StudyScores, dataset: str, attribute: str, differ: Differ) -> AttributeWise:
    rows = [self_diagnosis(scores.buckets(system, dataset, attribute)) for system in scores.systems]
    rho = [or_nan(row.spearman) for row in rows]
    sigma = mean_of(or_nan(row.std) for row in rows)
    blocks = [
        (f"{system} {run}", scores.row(scored, attribute))
        for system in scores.systems
        for run, scored in scores.runs(system, dataset).items()
    ]
    zeta = zeta_of(scores.datasets[dataset], attribute)
    highest = max(
        (value for part in scores.datasets.values() if (value := zeta_of(part, attribute)) is not None),
        default=None,
    )
    return AttributeWise(
        zeta=zeta,
        zeta_relative=None if zeta is None or not highest else plain(ratio(zeta, highest)),
        rho1=mean_of(abs(value) for value in rho).mean,
        rho2=mean_of(rho).mean,
        sigma=sigma.mean,
        models={"rho": mean_of(rho).used, "sigma": sigma.used},
        friedman=_friedman(blocks),
        buckets_differ=BucketsDiffer(
            p=None if scores.is_fair else differ.get(dataset, {}).get("", {}).get(attribute)
        ),
    )


# ---- bucket-wise ----------------------------------------------------------------------------


def comparative(
    scores: StudyScores, pairs: Sequence[Pair], *, correction: str, primary: str = "f1"
) -> tuple[PairDiagnosis, ...]:
    """For each pair, where the first system leads most and least, and tests over datasets × runs.

    The tests of all buckets, attributes and pairs are corrected as one family, those of the overall scores
    as another.
    """
    parts = [scores.on(pair.datasets) for pair in pairs]
    paired = [_paired(part, pair) for part, pair in zip(parts, pairs, strict=True)]
    attributes = scores.attributes()
    buckets = {
        (index, attribute, name): test
        for index, sides in enumerate(paired)
        for attribute in attributes
        for name, test in _bucket_tests(scores, sides, attribute).items()
    }
    tests = dict(zip(buckets, _corrected(list(buckets.values()), correction), strict=True))
    whole = _corrected([_overall_test(scores, sides) for sides in paired], correction)
    means = [_by_dataset(part, pair, primary) for part, pair in zip(parts, pairs, strict=True)]
    blocks = dataset_tests(means, correction)
    return tuple(
        PairDiagnosis(
            systems=(pair.first, pair.second),
            factor=pair.factor,
            datasets={dataset: _leads(scores, pair, dataset) for dataset in parts[index].datasets},
            wilcoxon={
                attribute: {
                    name: test
                    for (pair_index, tested, name), test in tests.items()
                    if (pair_index, tested) == (index, attribute)
                }
                for attribute in attributes
            },
            overall=whole[index],
            over_datasets=blocks[index],
            gains=gains_of(parts[index], pair.first, pair.second),
            pays=where_it_pays(parts[index], pair),
        )
        for index, pair in enumerate(pairs)
    )


def _means(scores: StudyScores, system: str, primary: str) -> list[float | None]:
    """The mean of the primary score over the runs of a system, for each dataset."""
    chosen = replace(scores, score=PRIMARY_SCORES[primary])
    return [over_runs(scores.over(system, dataset, chosen.overall)).mean for dataset in scores.datasets]


def _by_dataset(scores: StudyScores, pair: Pair, primary: str) -> Blocks:
    """The mean scores of both systems on each dataset, and on how many each is significantly better."""
    first, second = (_means(scores, system, primary) for system in (pair.first, pair.second))
    significant = [significant_pairs(part.comparisons) for part in scores.datasets.values()]
    wins = {
        name: sum((name, other) in better for better in significant)
        for name, other in ((pair.first, pair.second), (pair.second, pair.first))
    }
    return first, second, wins


P = TypeVar("P", bound=PairedTest)


def _corrected(tests: Sequence[P], correction: str) -> list[P]:
    """Correct the tests of one family, and add a note if significance is then out of reach."""
    defined = {index: test.p for index, test in enumerate(tests) if test.p is not None}
    corrected = dict(zip(defined, correct(list(defined.values()), correction).tolist(), strict=True))
    # If all tests reach their smallest p-value, Holm multiplies it by their number; BH does not change it.
    steps = len(defined) if correction == "holm" else 1
    return [_with_correction(test, corrected.get(index), steps) for index, test in enumerate(tests)]


def _with_correction(test: P, p: float | None, steps: int) -> P:
    if p is None:
        return replace(test, p_corrected=None, significant=False)
    least = steps * (test.least or 0.0)
    note = test.note
    if not note and least >= LEVEL:
        note = (
            f"cannot reach p < {LEVEL:g} once corrected: over {steps} tests of {test.pairs} pairs "
            f"p is at least {min(least, 1):.2g}"
        )
    return replace(test, p_corrected=p, significant=bool(p < LEVEL), note=note)


def _leads(scores: StudyScores, pair: Pair, dataset: str) -> dict[str, BucketLeads]:
    leads = {}
    for attribute in scores.attributes(dataset):
        first, second = (
            {bucket.name: or_nan(bucket.f1) for bucket in scores.buckets(system, dataset, attribute)}
            for system in (pair.first, pair.second)
        )
        names = [name for name in first if name in second]
        diagnosis = comparative_diagnosis(
            [first[name] for name in names], [second[name] for name in names], names
        )
        best, worst = (
            lead and replace(lead, first=plain(first[lead.bucket]), second=plain(second[lead.bucket]))
            for lead in (diagnosis.best, diagnosis.worst)
        )
        leads[attribute] = replace(diagnosis, best=best, worst=worst)
    return leads


Paired = Sequence[tuple[str, SystemScores, SystemScores]]


def _paired(scores: StudyScores, pair: Pair) -> Paired:
    """Pairs of runs of both systems with the same name on the same dataset."""
    paired = []
    for dataset in scores.datasets:
        first, second = (scores.runs(system, dataset) for system in (pair.first, pair.second))
        paired += [(f"{dataset} {run}", first[run], second[run]) for run in first if run in second]
    return paired


def _bucket_tests(scores: StudyScores, paired: Paired, attribute: str) -> dict[str, PairedTest]:
    rows = [(scores.row(first, attribute), scores.row(second, attribute)) for _, first, second in paired]
    names = dict.fromkeys(name for first, second in rows for name in first if name in second)
    tests = {}
    for name in names:
        sides = [(first[name], second[name]) for first, second in rows if name in first and name in second]
        test = wilcoxon([a for a, _ in sides], [b for _, b in sides])
        tests[name] = PairedTest(**test.to_dict("pairs"), difference=mean_of(a - b for a, b in sides).mean)
    return tests


def _overall_test(scores: StudyScores, paired: Paired) -> OverallTest:
    """The signed-rank test of the overall score, with each run on each dataset as a block."""
    first = [scores.overall(run) for _, run, _ in paired]
    second = [scores.overall(run) for _, _, run in paired]
    return OverallTest(
        test=BLOCKS,
        **wilcoxon(first, second).to_dict("pairs"),
        difference=mean_of(a - b for a, b in zip(first, second, strict=True)).mean,
        blocks=tuple(block for block, _, _ in paired),
    )
