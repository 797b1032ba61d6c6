"""Analyses over runs: model-wise, attribute-wise and bucket-wise numbers against plain computations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from typed import present, typed_facts, typed_system

from spanwise.document.evaluation import DatasetRuns
from spanwise.document.scores import SystemScores
from spanwise.document.study import Analyses, MainResult, Ranking, SubsetSpread
from spanwise.studies import Manifest, Pair, StudyDataset, StudySystem
from spanwise.studies.analyses import analyses

NAMES = ["XS", "S", "L", "XL"]
Runs: TypeAlias = Mapping[str, Mapping[str, SystemScores]]  # the runs of a system, by dataset
Parts: TypeAlias = Mapping[str, DatasetRuns]


def run(
    overall: float | None,
    *f1: float | None,
    labels: Mapping[str, Mapping[str, float]] | None = None,
    value: bool = False,
    names: Sequence[str] = NAMES,
) -> SystemScores:
    cells = [
        {"name": name, "label": name, "gold": 60, "predicted": 60, "correct": 0, "f1": score}
        | ({"value": name} if value else {})
        for name, score in zip(
            names, (None if f1_score is None else float(f1_score) for f1_score in f1), strict=False
        )
    ]
    return typed_system(
        {
            "exact": {"overall": {"f1": overall}, "labels": labels or {}},
            "attributes": {"entity_length": {"unit": "mention", "buckets": cells}},
            "tough": {
                "SEEN": {
                    "overall": {"mentions": 70, "recall": overall},
                    "labels": {"PER": {"mentions": 9, "recall": None}},
                }
            },
        }
    )


def manifest(
    *systems: str, pairs: Sequence[Pair] = (), factors: Mapping[str, Mapping[str, object]] | None = None
) -> Manifest:
    return Manifest(
        path="study.toml",
        root=Path(),
        name=None,
        datasets=(StudyDataset("d1", "d1", "t"), StudyDataset("d2", "d2", "t")),
        systems=tuple(StudySystem(name, name, "p", (factors or {}).get(name, {})) for name in systems),
        pairs=tuple(pairs),
        settings={},
    )


def datasets(**systems: Runs) -> Parts:
    """Datasets d1 and d2 with the runs of systems."""
    return {
        name: DatasetRuns(
            dataset=typed_facts(zeta={"entity_length": zeta}),
            runs={system: runs[name] for system, runs in systems.items() if name in runs},
        )
        for name, zeta in (("d1", 2.0), ("d2", 1.0))
    }


@pytest.fixture
def analysed() -> tuple[Parts, Analyses]:
    draw = np.random.default_rng(3)

    def system(shift: float) -> Runs:
        return {
            dataset: {
                str(number): run(0.8 + shift + number / 100, *(draw.random(4) / 4 + [0.7, 0.5, 0.3, 0.1]))
                for number in (1, 2, 3)
            }
            for dataset in ("d1", "d2")
        }

    parts = datasets(a=system(0.0), b=system(-0.1))
    return parts, analyses(
        parts,
        manifest("a", "b", pairs=[Pair("a", "b", "size")], factors={"a": {"size": 2}, "b": {"size": 1}}),
    )


def f1(parts: Parts, dataset: str, system: str) -> NDArray[np.float64]:
    runs = parts[dataset].runs[system].values()
    return np.array(
        [[bucket.f1 for bucket in run_scores.attributes["entity_length"].buckets] for run_scores in runs]
    )


def test_runs_are_averaged_with_their_sample_standard_deviation() -> None:
    runs = {"1": run(0.5), "2": run(0.7), "3": run(None)}
    row = analyses(datasets(a={"d1": runs}, b={"d1": {"1": run(0.5)}}), manifest("a", "b")).holistic
    assert row["a"]["d1"].mean == pytest.approx(0.6)
    assert row["a"]["d1"].std == pytest.approx(np.std([0.5, 0.7], ddof=1))
    assert row["a"]["d1"].runs == 2
    assert row["b"]["d1"] == MainResult(mean=0.5, std=None, runs=1, values={"1": 0.5})
    assert row["b"]["d2"] == MainResult(mean=None, std=None, runs=0)


def test_holistic_scores_are_means_over_runs(analysed: tuple[Parts, Analyses]) -> None:
    cell = analysed[1].holistic["a"]["d1"]
    assert cell.mean == pytest.approx(0.82) and cell.std == pytest.approx(0.01)
    assert cell.values == pytest.approx({"1": 0.81, "2": 0.82, "3": 0.83})


def test_model_wise_correlation_and_deviation_come_from_the_mean_table(
    analysed: tuple[Parts, Analyses],
) -> None:
    parts, result = analysed
    cell = result.model_wise["a"]["entity_length"]
    rho, sigma = [], []
    for dataset in ("d1", "d2"):
        mean = f1(parts, dataset, "a").mean(axis=0)
        rho.append(stats.spearmanr(range(4), mean).statistic)
        sigma.append(mean.std())
        assert cell.spearman[dataset] == pytest.approx(rho[-1])
        assert cell.std[dataset] == pytest.approx(sigma[-1])
        assert present(present(cell.tests[dataset]).note).startswith("cannot reach p < 0.05: on 4 values")
    assert cell.spearman["mean"] == pytest.approx(np.mean(rho))
    assert cell.std["mean"] == pytest.approx(np.mean(sigma))
    assert cell.used == {"spearman": 2, "std": 2}


def test_model_wise_friedman_uses_datasets_and_runs_as_blocks(analysed: tuple[Parts, Analyses]) -> None:
    parts, result = analysed
    blocks = np.concatenate([f1(parts, dataset, "a") for dataset in ("d1", "d2")])
    expected = stats.friedmanchisquare(*blocks.T)
    test = result.model_wise["a"]["entity_length"].friedman
    assert (test.blocks, test.left_out) == (6, ())
    assert test.statistic == pytest.approx(expected.statistic)
    assert test.p == pytest.approx(expected.pvalue) and test.grey is False


def test_attribute_wise_values_are_means_over_models(analysed: tuple[Parts, Analyses]) -> None:
    parts, result = analysed
    rho = [stats.spearmanr(range(4), f1(parts, "d2", s).mean(axis=0)).statistic for s in "ab"]
    sigma = [f1(parts, "d2", s).mean(axis=0).std() for s in "ab"]
    row = result.attribute_wise["d2"]["entity_length"]
    assert row.rho1 == pytest.approx(np.mean(np.abs(rho)))
    assert row.rho2 == pytest.approx(np.mean(rho))
    assert row.sigma == pytest.approx(np.mean(sigma))
    assert (row.zeta, row.zeta_relative) == (1.0, 0.5)
    blocks = np.concatenate([f1(parts, "d2", s) for s in "ab"])
    assert row.friedman.statistic == pytest.approx(stats.friedmanchisquare(*blocks.T).statistic)


def test_wilcoxon_pairs_runs_of_equal_name_over_datasets(analysed: tuple[Parts, Analyses]) -> None:
    parts, result = analysed
    pair = result.bucket_wise.comparative[0]
    for at, name in enumerate(NAMES):
        first, second = (np.concatenate([f1(parts, d, s)[:, at] for d in ("d1", "d2")]) for s in "ab")
        expected = stats.wilcoxon(first, second, method="exact")
        test = pair.wilcoxon["entity_length"][name]
        assert test.statistic == pytest.approx(expected.statistic) and test.pairs == 6
        assert test.p == pytest.approx(expected.pvalue)
        assert present(test.p_corrected) >= present(test.p)
        assert test.note == "cannot reach p < 0.05 once corrected: over 4 tests of 6 pairs p is at least 0.12"


def test_the_test_over_datasets_and_runs_is_named(analysed: tuple[Parts, Analyses]) -> None:
    test = present(analysed[1].bucket_wise.comparative[0].overall)
    assert test.test == "Wilcoxon signed-rank over datasets × runs"
    assert test.pairs == 6 and test.p == pytest.approx(2 / 64) and test.significant is True
    assert test.difference == pytest.approx(0.1)


def test_comparative_diagnosis_comes_from_the_mean_table(analysed: tuple[Parts, Analyses]) -> None:
    parts, result = analysed
    row = result.bucket_wise.comparative[0].datasets["d1"]["entity_length"]
    new, old = (f1(parts, "d1", s).mean(axis=0) for s in "ab")
    assert present(row.best).bucket == NAMES[int(np.argmax(new - old))]
    assert row.relative == pytest.approx((new - old) / old)


def test_a_numeric_factor_gives_a_line_of_score_against_it(analysed: tuple[Parts, Analyses]) -> None:
    factor = analysed[1].factors["size"]
    assert factor.numeric and factor.pairs == (("a", "b"),)
    line = present(factor.line)
    assert [(point.value, point.system) for point in line] == [(1, "b"), (2, "a")]
    assert line[1].mean == pytest.approx(0.82)


def test_the_gain_over_the_lowest_value_compares_systems_equal_in_all_other_factors() -> None:
    scores = {"a": 0.5, "b": 0.6, "c": 0.9, "d": 0.7}
    systems = {
        name: {d: {"1": run(f1, 0.1, 0.2, 0.3, 0.4)} for d in ("d1", "d2")} for name, f1 in scores.items()
    }
    factors = {
        "a": {"size": 1, "kind": "crf"}, "b": {"size": 4, "kind": "crf"},
        "c": {"size": 2, "kind": "bert"}, "d": {"size": 8, "kind": "bert"},
    }  # fmt: skip
    groups = analyses(datasets(**systems), manifest(*scores, factors=factors)).factors["size"].groups
    assert [group.factors for group in groups] == [{"kind": "crf"}, {"kind": "bert"}]
    gains = [[(step.system, round(present(step.gain), 6)) for step in group.steps] for group in groups]
    assert gains == [[("a", 0.0), ("b", 0.1)], [("c", 0.0), ("d", -0.2)]]


def test_self_diagnosis_has_the_scores_of_both_ends_and_a_test_over_runs(
    analysed: tuple[Parts, Analyses],
) -> None:
    parts, result = analysed
    row = result.bucket_wise.self_["a"]["d1"]["entity_length"]
    mean = f1(parts, "d1", "a").mean(axis=0)
    assert row.best_f1 == pytest.approx(mean.max()) and row.worst_f1 == pytest.approx(mean.min())
    test = present(row.wilcoxon)
    assert test.pairs == 3 and test.p == pytest.approx(0.25)
    assert present(result.model_wise["a"]["entity_length"].wilcoxon).pairs == 6


def test_a_pair_can_be_compared_on_only_some_datasets(analysed: tuple[Parts, Analyses]) -> None:
    parts, _ = analysed
    pair = Pair("a", "b", datasets=("d2",))
    row = analyses(parts, manifest("a", "b", pairs=[pair])).bucket_wise.comparative[0]
    assert list(row.datasets) == list(row.gains) == ["d2"]
    assert present(row.overall).blocks == ("d2 1", "d2 2", "d2 3")


def test_gains_are_over_all_runs_and_related_to_the_mean_values_of_attributes(
    analysed: tuple[Parts, Analyses],
) -> None:
    row = analysed[1].bucket_wise.comparative[0]
    assert row.gains == pytest.approx({"d1": 0.1, "d2": 0.1})
    assert row.pays["entity_length"].datasets == 2
    average = analysed[1].average["a"]
    assert average.mean == pytest.approx(0.82) and average.used == 2


def test_a_factor_in_words_gives_no_line() -> None:
    runs = {"d1": {"1": run(0.5, 0.1, 0.2, 0.3, 0.4)}}
    result = analyses(datasets(a=runs, b=runs), manifest("a", "b", factors={"a": {"kind": "crf"}}))
    assert result.factors["kind"].line is None


def test_tough_recall_is_averaged_over_runs_and_an_empty_subset_is_undefined(
    analysed: tuple[Parts, Analyses],
) -> None:
    cell = analysed[1].tough["a"]["d1"]["SEEN"]
    assert cell.mean == pytest.approx(0.82) and cell.mentions == 70
    assert cell.labels["PER"] == SubsetSpread(mean=None, std=None, runs=0, mentions=9)


def test_a_system_missing_on_a_dataset_is_undefined_there_and_skipped_by_means() -> None:
    full = {d: {"1": run(0.5, 0.4, 0.3, 0.2, 0.1)} for d in ("d1", "d2")}
    part = {"d1": {"1": run(0.6, 0.1, 0.2, 0.3, 0.4)}}
    result = analyses(datasets(a=full, b=part), manifest("a", "b", pairs=[Pair("a", "b")]))
    assert result.holistic["b"]["d2"] == MainResult(mean=None, std=None, runs=0)
    cell = result.model_wise["b"]["entity_length"]
    assert cell.spearman == {"d1": 1.0, "d2": None, "mean": 1.0} and cell.used["spearman"] == 1
    assert result.attribute_wise["d2"]["entity_length"].models == {"rho": 1, "sigma": 1}
    pair = result.bucket_wise.comparative[0]
    assert pair.datasets["d2"]["entity_length"].best is None
    assert present(pair.overall).blocks == ("d1 1",)


def test_friedman_leaves_out_blocks_with_undefined_or_other_buckets_and_names_them() -> None:
    runs = {
        "1": run(0.5, 0.4, 0.3, 0.2, 0.1),
        "2": run(0.5, 0.4, None, 0.2, 0.1),
        "3": run(0.5, 0.4, 0.3, 0.1, 0.2),
    }
    other = {"1": run(0.5, 0.4, 0.3, names=["B1", "B2"])}
    result = analyses(datasets(a={"d1": runs, "d2": other}), manifest("a"))
    test = result.model_wise["a"]["entity_length"].friedman
    assert (test.blocks, test.left_out) == (2, ("d1 2", "d2 1"))
    assert test.grey is True and "cannot reach p < 0.05: on 2 blocks" in present(test.note)


def test_categories_have_no_correlation_and_are_tested_by_name() -> None:
    first = run(0.5, 0.4, 0.3, 0.2, value=True, names=["PER", "LOC", "ORG"])
    second = run(0.5, 0.1, 0.5, 0.3, value=True, names=["ORG", "PER", "LOC"])
    result = analyses(datasets(a={"d1": {"1": first}, "d2": {"1": second}}), manifest("a"))
    cell = result.model_wise["a"]["entity_length"]
    assert cell.spearman["mean"] is None and cell.tests["d1"] is None
    assert cell.friedman.statistic == pytest.approx(
        stats.friedmanchisquare([0.4, 0.5], [0.3, 0.3], [0.2, 0.1]).statistic
    )


def test_rank_flips_are_found_per_dataset_and_ranks_are_given() -> None:
    labels = {"PER": {"gold": 80, "f1": 0.9}, "LOC": {"gold": 10, "f1": 0.1}}
    turned = {"PER": {"gold": 80, "f1": 0.5}, "LOC": {"gold": 10, "f1": 0.9}}
    first = {"d1": {"1": run(0.5, 0.4, 0.3, 0.2, 0.1, labels=labels)}}
    second = {"d1": {"1": run(0.6, 0.5, 0.4, 0.3, 0.2, labels=turned)}}
    result = analyses(datasets(a=first, b=second), manifest("a", "b")).bucket_wise
    assert [(row.name, row.overall, row.here) for row in result.rank_flips] == [("PER", "b", "a")]
    per = next(row for row in result.ranks if row.name == "PER")
    assert per.ranks == {"a": 1, "b": 2} and per.dataset == "d1"
    assert "LOC" not in [row.name for row in result.ranks]


def ranked(**means: Sequence[float | None]) -> Ranking:
    """The ranking of systems by their score on each dataset."""
    number = len(next(iter(means.values())))
    parts = {
        f"d{at}": DatasetRuns(
            dataset=typed_facts(), runs={name: {"1": run(values[at])} for name, values in means.items()}
        )
        for at in range(number)
    }
    return present(analyses(parts, manifest(*means)).ranking)


def test_mean_ranks_and_the_critical_difference_equal_those_of_demsar() -> None:
    # Demšar (2006), 3.2.2: four algorithms, 14 datasets, q = 2.569, critical difference 1.25.
    ranking = ranked(a=[0.9] * 14, b=[0.8] * 14, c=[0.7] * 14, d=[0.6] * 14)
    assert ranking.ranks == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert ranking.critical == pytest.approx(1.25, abs=0.005)
    assert ranking.groups == (("a", "b"), ("b", "c"), ("c", "d"))
    assert ranked(a=[0.9, 0.8], b=[0.9, 0.9], c=[0.1, None]).ranks == {"a": 1.5, "b": 1.5, "c": 3}
