"""Diagnoses of buckets, slices, pairs and many systems, on hand-made tables."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from documents import result
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from typed import Plain, present, typed_buckets, typed_system

from spanwise import diagnosis
from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import document_of
from spanwise.document.scores import Comparison, Finding, ScoreTest, WeakSlice
from spanwise.findings import findings as findings_of

lawful = settings(deadline=None, derandomize=True, max_examples=80)
score = st.one_of(st.none(), st.integers(0, 10).map(lambda n: n / 10))


def findings(content: Plain) -> tuple[Finding, ...]:
    """The findings of a document that a test has modified."""
    document = document_of(content)
    assert isinstance(document, Evaluation)
    return findings_of(document)


def diagnosed(rows: list[Plain]) -> diagnosis.Diagnosis:
    return diagnosis.self_diagnosis(typed_buckets(rows))


def sliced(content: Plain, mentions: int) -> tuple[WeakSlice, ...]:
    return diagnosis.slices(typed_system(content), mentions)


def buckets(*values: float | None, names: list[str] | None = None) -> list[Plain]:
    names = names or [f"B{at + 1}" for at in range(len(values))]
    return [{"name": name, "f1": value} for name, value in zip(names, values, strict=True)]


# ---- one system ---------------------------------------------------------------------------------


def test_self_diagnosis_names_best_and_worst_and_their_gap() -> None:
    actual = diagnosed(buckets(0.9, 0.7, 0.8, 0.4, names=["XS", "S", "L", "XL"]))
    assert (actual.best, actual.worst) == ("XS", "XL")
    assert actual.gap == pytest.approx(0.5)
    assert actual.spearman == pytest.approx(-0.8)
    assert actual.std == pytest.approx(np.std([0.9, 0.7, 0.8, 0.4]))


@lawful
@given(st.lists(score, max_size=6))
def test_undefined_buckets_are_ignored(values: list[float | None]) -> None:
    actual = diagnosed(buckets(*values))
    defined = [(at, value) for at, value in enumerate(values) if value is not None]
    if not defined:
        assert actual == diagnosis.Diagnosis()
        return
    scores = [value for _, value in defined]
    assert actual.gap == pytest.approx(max(scores) - min(scores))
    assert actual.std == pytest.approx(np.std(scores), abs=1e-12)
    if len(defined) < 3 or len(set(scores)) == 1:
        assert actual.spearman is None
    else:
        assert actual.spearman == pytest.approx(stats.spearmanr([at for at, _ in defined], scores).statistic)


def test_categories_have_no_rank_correlation() -> None:
    actual = diagnosed([{**row, "value": row["name"]} for row in buckets(0.9, 0.7, 0.5)])
    assert actual.spearman is None and actual.worst == "B3"


def test_unplaced_mentions_are_not_diagnosed_as_a_bucket() -> None:
    actual = diagnosed(buckets(0.9, 0.7, 0.0, names=["B1", "B2", "unplaced"]))
    assert actual.worst == "B2" and actual.spearman is None


def system(labels: dict[str, Plain], *, tough: Plain | None = None, attributes: Plain | None = None) -> Plain:
    gold, correct = (sum(cell[key] for cell in labels.values()) for key in ("gold", "correct"))
    predicted = sum(cell["predicted"] for cell in labels.values())
    overall = {"gold": gold, "predicted": predicted, "correct": correct, "recall": correct / gold}
    overall["f1"] = 2 * correct / (gold + predicted)
    return {
        "exact": {"overall": overall, "labels": labels},
        "tough": tough or {},
        "attributes": attributes or {},
    }


def cell(gold: int, predicted: int, correct: int, **more: object) -> Plain:
    value = 2 * correct / (gold + predicted) if gold + predicted else None
    return {"gold": gold, "predicted": predicted, "correct": correct, "f1": value, **more}


def test_cost_is_the_share_of_gold_times_the_distance_to_the_overall_score() -> None:
    content = system({"PER": cell(100, 100, 90), "LOC": cell(300, 300, 150)})
    rows = sliced(content, 400)
    assert [row.name for row in rows] == ["LOC", "PER"]
    assert rows[0].cost == pytest.approx(0.75 * (0.6 - 0.5))
    assert rows[1].cost == pytest.approx(0.25 * (0.6 - 0.9))


def test_costs_of_slices_that_partition_balanced_data_cancel_out() -> None:
    content = system({"PER": cell(100, 100, 90), "LOC": cell(300, 300, 150)})
    assert sum(row.cost for row in sliced(content, 400)) == pytest.approx(0)


def test_slices_with_fewer_than_fifty_gold_units_or_without_a_score_are_left_out() -> None:
    table = {"unit": "mention", "buckets": [cell(49, 60, 1, name="XS", label="1"), cell(0, 0, 0, name="S")]}
    content = system({"PER": cell(500, 500, 90)}, attributes={"entity_length": table})
    assert [row.kind for row in sliced(content, 500)] == ["label"]


def test_tough_subsets_cost_recall() -> None:
    tough = {"SEEN": {"overall": {"mentions": 60, "correct": 30, "recall": 0.5}}}
    content = system({"PER": cell(100, 100, 80)}, tough=tough)
    row = sliced(content, 100)[0]
    assert (row.kind, row.score) == ("tough", "recall")
    assert row.cost == pytest.approx(0.6 * 0.3)


def test_token_slices_are_compared_with_the_score_of_all_token_units() -> None:
    table = {"unit": "token", "buckets": [
        cell(100, 100, 40, name="XS", label="0"), cell(100, 100, 80, name="S", label="(0, 1]"),
    ]}  # fmt: skip
    content = system({"PER": cell(60, 60, 6)}, attributes={"token_frequency": table})
    rows = [row for row in sliced(content, 60) if row.kind == "bucket"]
    assert [row.title for row in rows] == ["token_frequency = 0", "token_frequency in (0, 1]"]
    assert rows[0].overall == pytest.approx(0.6) and rows[0].cost == pytest.approx(0.5 * 0.2)


def subset(right: int, missed: int) -> Plain:
    overall = {"mentions": right + missed, "correct": right, "recall": right / (right + missed)}
    return {"overall": overall, "outcomes": {"TP": right, "FN": missed}}


def bucket(name: str, right: int, missed: int, *, value: float | None = None) -> Plain:
    outcomes = {"gold": {"TP": right, "FN": missed}}
    counts = cell(right + missed, right + 1, right, name=name, label=name, outcomes=outcomes)
    return {**counts, "low": value, "high": value}


def grouped(content: Plain) -> list[list[str]]:
    typed = typed_system(content)
    groups = diagnosis.distinct(diagnosis.slices(typed, 1000), typed)
    return [[row.title for row in group] for group in groups]


def test_slices_with_the_same_outcomes_are_the_same_mentions_under_two_names() -> None:
    table = {"unit": "mention", "buckets": [bucket("a", 100, 90), bucket("b", 100, 91)]}
    content = system(
        {"PER": cell(1000, 900, 700)}, tough={"TCM-ALL": subset(100, 90)}, attributes={"x": table}
    )
    assert sorted(map(sorted, grouped(content))) == [["TCM-ALL", "x = a"], ["label = PER"], ["x = b"]]


def test_a_subset_that_is_four_fifths_of_another_is_nearly_the_same() -> None:
    tough = {"UNSEEN-ANY": subset(50, 50), "UNSEEN-TOKENS": subset(40, 40), "UNSEEN-TYPE": subset(50, 29)}
    content = system({"PER": cell(1000, 900, 700)}, tough=tough)
    assert grouped(content) == [["UNSEEN-ANY", "UNSEEN-TOKENS"], ["UNSEEN-TYPE"], ["label = PER"]]


def test_a_slice_with_more_of_some_outcome_than_the_whole_is_not_a_part_of_it() -> None:
    tough = {"UNSEEN-ANY": subset(60, 40), "UNSEEN-TOKENS": subset(40, 41)}  # possible if one ignores case
    content = system({"PER": cell(1000, 900, 700)}, tough=tough)
    assert [group for group in grouped(content) if len(group) > 1] == []


def test_slices_that_are_similar_to_a_third_are_grouped_in_any_order() -> None:
    table = {"unit": "mention", "buckets": [bucket("0", 50, 50, value=0)]}
    tough = {"UNSEEN-ANY": subset(50, 50), "UNSEEN-TOKENS": subset(42, 50)}
    content = system(
        {"PER": cell(1000, 900, 700)}, tough=tough, attributes={"entity_label_consistency": table}
    )
    first = grouped(content)[0]
    assert set(first) == {"UNSEEN-ANY", "UNSEEN-TOKENS", "entity_label_consistency = 0"}
    costs = {row.title: row.cost for row in sliced(content, 1000)}
    assert first == sorted(first, key=lambda title: -costs[title])


def test_the_attribute_label_does_not_list_labels_twice() -> None:
    table = {"unit": "mention", "buckets": [cell(100, 100, 80, name="PER", value="PER")]}
    content = system({"PER": cell(100, 100, 80)}, attributes={"label": table})
    assert len(sliced(content, 100)) == 1


# ---- two systems --------------------------------------------------------------------------------


def test_comparative_diagnosis_is_not_clamped() -> None:
    actual = diagnosis.comparative_diagnosis([0.5, 0.4], [0.6, 0.7], ["XS", "XL"])
    best, worst = present(actual.best), present(actual.worst)
    assert (best.bucket, worst.bucket) == ("XS", "XL")
    assert (best.difference, worst.difference) == pytest.approx((-0.1, -0.3))


def test_beta_is_the_largest_difference_only_if_every_bucket_is_won() -> None:
    won = diagnosis.comparative_diagnosis([0.5, 0.9, np.nan], [0.4, 0.5, 0.1], ["a", "b", "c"])
    assert won.beta == pytest.approx(0.4)
    tied = diagnosis.comparative_diagnosis([0.5, 0.9], [0.5, 0.5], ["a", "b"])
    assert tied.beta == pytest.approx(0.0)


def test_relative_increase_is_undefined_if_the_old_score_is_zero() -> None:
    actual = diagnosis.comparative_diagnosis([0.6, 0.3, 0.3], [0.5, 0.0, np.nan], ["a", "b", "c"])
    assert actual.relative == pytest.approx((0.2, None, None))
    assert actual.differences == pytest.approx((0.1, 0.3, None))


def test_a_pair_without_a_common_bucket_has_no_diagnosis() -> None:
    assert diagnosis.comparative_diagnosis([], [], []).best is None


# ---- many systems -------------------------------------------------------------------------------


def comparison(first: str, second: str, difference: float, significant: bool) -> Comparison:
    row = ScoreTest(
        path=("exact", "overall", "f1"),
        difference=difference,
        interval=None,
        p=None,
        p_corrected=None,
        significant=significant,
    )
    return Comparison(systems=(first, second), scores=(row,))


def test_letters_are_assigned_to_systems_in_order_of_score() -> None:
    scores = {"crf": 0.5, "bert": 0.9, "lstm": 0.7, "none": None}
    assert diagnosis.lettering(scores) == {"bert": "a", "lstm": "b", "crf": "c", "none": "d"}
    actual = diagnosis.letters(
        scores,
        [
            comparison("crf", "bert", -0.4, True),
            comparison("bert", "lstm", 0.2, False),
            comparison("lstm", "crf", 0.2, True),
        ],
    )
    assert actual == {"bert": "c", "lstm": "c", "crf": "", "none": ""}


def test_beyond_fifty_two_systems_letters_become_numbers() -> None:
    many = diagnosis.lettering({f"s{at:02}": 1 - at / 100 for at in range(54)})
    assert (many["s25"], many["s26"], many["s52"]) == ("z", "A", "(53)")


def test_rank_flips_are_slices_in_which_the_order_reverses() -> None:
    slices = [{"a": 0.4, "b": 0.5, "c": 0.6}, {"a": 0.9, "b": 0.8}]
    (flip,) = diagnosis.rank_flips({"a": 0.9, "b": 0.8}, slices)
    assert (flip.slice, flip.overall, flip.here) == (0, "a", "b")
    assert flip.reversal == pytest.approx(0.1) and flip.lead == pytest.approx(0.1)


def test_equal_and_undefined_scores_reverse_nothing() -> None:
    slices = [{"a": 0.5, "b": 0.5}, {"a": 0.5}]
    assert diagnosis.rank_flips({"a": 0.9, "b": 0.8}, slices) == []


def test_means_skip_undefined_values_and_count_those_used() -> None:
    assert diagnosis.mean_of([0.25, float("nan"), 0.75]) == diagnosis.Mean(0.5, 2)
    assert diagnosis.mean_of([]) == diagnosis.Mean(None, 0)


@lawful
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_values_does_not_change_a_mean(values: list[float], draw: Random) -> None:
    other = list(values)
    draw.shuffle(other)
    assert diagnosis.mean_of(values) == diagnosis.mean_of(other)


# ---- findings -----------------------------------------------------------------------------------


def kinds(document: Plain) -> list[str]:
    return [row.kind for row in findings(document)]


def test_findings_are_at_most_four_and_about_the_best_system() -> None:
    document = result("crf", "bert")
    actual = findings(document)
    assert 1 <= len(actual) <= 4
    best = max(document["systems"], key=lambda name: document["systems"][name]["exact"]["overall"]["f1"])
    assert {row.system for row in actual} <= {best, None}


def test_the_first_finding_is_the_kind_of_error_that_costs_most() -> None:
    document = result("crf")
    gains = document["systems"]["crf"]["gains"]
    most = max(gains, key=lambda kind: gains[kind]["gain"])
    document["systems"]["crf"]["fair"]["overall"][most] = 50
    row = findings(document)[0]
    assert row.kind == "gain" and row.value == max(kind["gain"] for kind in gains.values())
    assert row.count == document["systems"]["crf"]["fair"]["overall"][row.path[1]]
    assert row.filter == {"system": "crf", "outcome": row.path[1]}


def test_a_perfect_system_on_clean_data_has_no_findings() -> None:
    document = result("crf")
    content = document["systems"]["crf"]
    for row in content["gains"].values():
        row["gain"] = 0.0
    content["slices"], content["tough"] = [], {}
    document["settings"]["few_units"] = False
    document["dataset"]["duplicates_with_train"] = 0
    assert findings(document) == ()


def test_unseen_mentions_are_a_finding_if_their_recall_is_lower() -> None:
    document = result("crf")
    tough = document["systems"]["crf"]["tough"]
    tough["SEEN"]["overall"] |= {"mentions": 100, "correct": 90, "recall": 0.9}
    tough["UNSEEN-ANY"]["overall"] |= {"mentions": 100, "correct": 40, "recall": 0.4}
    slices = document["systems"]["crf"]["slices"]
    unseen = {
        **slices[0],
        "kind": "tough",
        "name": "UNSEEN-ANY",
        "attribute": None,
        "score": "recall",
        "p": 0.001,
    }
    document["systems"]["crf"]["slices"] = [unseen, *slices]
    row = next(row for row in findings(document) if row.kind == "tough")
    assert (row.value, row.against, row.count) == (0.4, 0.9, 60)
    unseen["p"] = 0.2
    assert "tough" not in kinds(document)


def test_the_slice_finding_does_not_repeat_the_unseen_mentions() -> None:
    document = result("crf")
    content = document["systems"]["crf"]
    content["tough"]["SEEN"]["overall"] |= {"mentions": 100, "correct": 90, "recall": 0.9}
    content["tough"]["UNSEEN-ANY"]["overall"] |= {"mentions": 100, "correct": 40, "recall": 0.4}
    content["slices"] = [{**row, "interval": None, "cost": 0.1, "value": 0.1} for row in content["slices"]]
    unseen = {**content["slices"][0], "kind": "tough", "name": "UNSEEN-ANY", "cost": 0.3, "attribute": None}
    same = {**unseen, "kind": "bucket", "attribute": "entity_length", "name": "XS", "cost": 0.2}
    content["slices"] = [unseen, same, *content["slices"]]
    slices = [row for row in findings(document) if row.kind == "slice"]
    assert slices[0].path == ("attributes", "entity_length", "XS", "f1")
    outcomes = content["tough"]["UNSEEN-ANY"]["outcomes"]
    content["attributes"]["entity_length"]["buckets"][0]["outcomes"] = {"gold": outcomes}
    slices = [row for row in findings(document) if row.kind == "slice"]
    assert slices[0].path != ("attributes", "entity_length", "XS", "f1")


def test_a_lead_that_may_be_chance_is_not_a_finding() -> None:
    document = result("crf", "bert")
    overall = next(
        row for row in document["comparisons"][0]["scores"] if row["path"] == ["exact", "overall", "f1"]
    )
    overall |= {"difference": 0.2, "mentions": 50, "significant": False}
    assert "lead" not in kinds(document)
    overall["significant"] = True
    assert "lead" in kinds(document)
    overall["difference"] = 0.009
    assert "lead" not in kinds(document), "less than a point"


def test_findings_need_fifty_mentions_and_a_significant_test() -> None:
    document = result("crf")
    content = document["systems"]["crf"]
    kind = max(content["gains"], key=lambda key: content["gains"][key]["gain"])
    content["fair"]["overall"][kind] = 49
    assert "gain" not in kinds(document)
    content["fair"]["overall"][kind] = 50
    assert "gain" in kinds(document)
    content["gains"][kind]["interval"] = {"gain": [0.0, 0.2]}
    assert "gain" not in kinds(document)
    for row in content["slices"]:
        row["p"] = 0.05
    assert "slice" not in kinds(document)


def test_a_significant_lead_names_the_slice_that_contributes_most() -> None:
    document = result("crf", "bert")
    for score in document["comparisons"][0]["scores"]:
        score["significant"] = score["path"] in (["exact", "overall", "f1"], ["exact", "labels", "PER", "f1"])
        score["difference"] = 0.1
    row = next(row for row in findings(document) if row.kind == "lead")
    assert row.path == ("exact", "labels", "PER", "f1") and row.filter["gold"] == "PER"
    for other in document["comparisons"][0]["scores"]:
        if other["path"][0] == "tough":
            other |= {"significant": True, "difference": -0.2, "mentions": 60}
    row = next(row for row in findings(document) if row.kind == "lead")
    assert row.loses[0] == "tough"


def test_unusual_data_is_a_finding_that_names_the_problem() -> None:
    document = result("crf", "bert")
    row = findings(document)[-1]
    assert row.kind == "data"
    assert row.of == {"repairs": 7, "duplicates_with_train": 3} and row.few_units == 12
