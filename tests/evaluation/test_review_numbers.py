"""Numbers that were once wrong, or that no other test checks, each compared with a figure found by hand."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from msgspec import UnsetType
from msgspec.structs import replace
from typed import Plain, present, typed_buckets, typed_datasets

import spanwise
from spanwise import Result
from spanwise.columns import frozen
from spanwise.corpus import Annotation, Corpus, Mentions, Parts
from spanwise.diagnosis import self_diagnosis
from spanwise.document.scores import ScoreTest, WeakSlice
from spanwise.document.study import AttributeWise, BlockTest, BucketsDiffer
from spanwise.studies import manifest_of
from spanwise.studies.analyses import analyses


@pytest.fixture
def widths(tmp_path: Path) -> Path:
    """A gold file with a column of numbers: mentions whose first tokens have 3, 5 and 7."""
    path = tmp_path / "gold.txt"
    path.write_text("a 3 B-A\nb 3 O\nc 5 B-A\n\nd 7 B-B\n", encoding="utf-8")
    return path


def gold_of(result: Result) -> list[tuple[str | UnsetType, int]]:
    return [(bucket.label, bucket.gold) for bucket in result["s"].attributes["w"].buckets]


# An evaluation with the second column of files as the attribute `w`.
widened = partial(spanwise.evaluate, attributes=["w=column:width"], columns={"width": 1}, resamples=0)


def test_an_attribute_from_the_data_uses_the_buckets_chosen_for_its_name(widths: Path) -> None:
    result = widened(widths, {"s": widths}, buckets={"w": "4"})
    assert gold_of(result) == [("≤ 4", 1), ("> 4", 2)]


def test_the_saved_edges_of_an_attribute_from_the_data_are_reused(widths: Path) -> None:
    first = widened(widths, {"s": widths}, buckets={"w": "6"})
    again = widened(widths, {"s": widths}, edges=first.edges())
    assert gold_of(again) == gold_of(first) == [("≤ 6", 2), ("> 6", 1)]


def test_an_attribute_from_the_data_can_be_crossed(widths: Path) -> None:
    result = widened(widths, {"s": widths}, buckets={"w": "6"}, cross=[("w", "label")])
    cells = result["s"].cross["w,label"].cells
    assert {cell.buckets: cell.gold for cell in cells if cell.gold} == {("B1", "A"): 2, ("B2", "B"): 1}


def test_no_two_buckets_share_a_name_whatever_the_categories_are_called() -> None:
    gold = [[(0, 1, "other"), (1, 2, "other values"), (2, 3, "unplaced"), (3, 4, "unplaced mentions")]]
    predicted = [[(0, 1, "other"), (1, 2, "new")]]
    result = spanwise.evaluate(gold, {"s": predicted}, attributes="label", resamples=0)
    buckets = result["s"].attributes["label"].buckets
    assert len({bucket.name for bucket in buckets}) == len(buckets) == 5
    assert [bucket.predicted for bucket in buckets] == [1, 0, 0, 0, 1]


def test_of_two_predictions_on_one_gold_span_one_is_correct_and_one_unplaced(tmp_path: Path) -> None:
    gold, predicted = tmp_path / "gold.txt", tmp_path / "predicted.jsonl"
    gold.write_text("a B-X\nb O\n", encoding="utf-8")
    spans = '[{"start": 0, "end": 1, "label": "X"}, {"start": 0, "end": 2, "label": "X"}]'
    predicted.write_text(f'{{"tokens": ["a", "z", "b"], "spans": {spans}}}\n', encoding="utf-8")
    result = spanwise.evaluate(gold, {"s": predicted}, align="diff", resamples=0)
    overall = result["s"].exact.overall
    assert (overall.gold, overall.predicted, overall.correct) == (1, 2, 1)
    assert result["s"].fair.overall.FP == 1
    assert present(result.inputs[1].alignment).unplaced == 1


def test_a_category_called_unplaced_is_diagnosed_but_not_the_bucket_of_unplaced_mentions() -> None:
    buckets = [
        {"name": "PER", "value": "PER", "f1": 0.5},
        {"name": "unplaced", "value": "unplaced", "f1": 1.0},
        {"name": "unplaced mentions", "rest": True, "f1": 0.0},
    ]
    diagnosis = self_diagnosis(typed_buckets(buckets))
    assert (diagnosis.best, diagnosis.worst, diagnosis.gap) == ("unplaced", "PER", 0.5)


def attribute_wise(content: Plain) -> Mapping[str, Mapping[str, AttributeWise]]:
    """The attribute-wise analysis of a study of the model "m"."""
    given = {
        "datasets": {name: {"test": "t"} for name in content},
        "systems": {"m": {"predictions": "{dataset}"}},
    }
    return analyses(typed_datasets(content), manifest_of(given)).attribute_wise


def test_a_dataset_without_a_mean_value_leaves_those_of_the_others_comparable() -> None:
    buckets = [{"name": name, "f1": f1, "gold": 9} for name, f1 in (("B1", 0.5), ("B2", 0.7), ("B3", 0.9))]
    run = {"exact": {"overall": {"f1": 0.7}}, "attributes": {"token_frequency": {"buckets": buckets}}}
    bare = {"exact": {"overall": {"f1": 0.7}}, "attributes": {}}
    datasets = {
        "first": {"dataset": {"zeta": {"token_frequency": 0.2}}, "runs": {"m": {"1": run}}},
        "second": {"dataset": {"zeta": {"token_frequency": 0.4}}, "runs": {"m": {"1": run}}},
        "without training data": {"dataset": {"zeta": {}}, "runs": {"m": {"1": bare}}},
    }
    analysis = attribute_wise(datasets)
    assert analysis["first"]["token_frequency"].zeta_relative == 0.5
    assert analysis["second"]["token_frequency"].zeta_relative == 1.0
    assert analysis["without training data"] == {}


def test_a_weighted_mean_leaves_out_the_support_of_labels_without_the_score() -> None:
    # B is never predicted: its precision is undefined, so its mention has no weight in that mean.
    gold, predicted = [[(0, 1, "A"), (1, 2, "A"), (2, 3, "B")]], [[(0, 1, "A"), (1, 3, "A")]]
    exact = spanwise.evaluate(gold, {"s": predicted}, resamples=0)["s"].exact
    assert exact.weighted.precision == pytest.approx(1 / 2)
    assert exact.weighted.recall == pytest.approx((2 * 1 / 2 + 1 * 0) / 3)
    assert exact.macro.precision == pytest.approx(1 / 2)
    assert exact.macro.recall == pytest.approx(1 / 4)


def test_a_correct_mention_whose_sides_are_in_different_buckets_is_correct_in_neither() -> None:
    """A field of mentions, such as a certainty, may differ between gold and prediction."""
    certain = [(0, 0, 1, "A"), (1, 0, 1, "A")]

    def annotation(sureness: list[float]) -> Annotation:
        mentions = replace(Mentions.of(certain), fields={"sure": frozen(np.array(sureness))})
        return Annotation(Corpus.of([["a"], ["b"]]), mentions)

    result = spanwise.evaluate(
        annotation([0.9, 0.2]),
        {"s": annotation([0.1, 0.3])},
        attributes=["sure=field:sure"],
        buckets={"sure": "0.5"},
        resamples=0,
    )["s"]
    buckets = result.attributes["sure"].buckets
    assert [(bucket.gold, bucket.predicted, bucket.correct) for bucket in buckets] == [(1, 2, 1), (1, 0, 0)]
    assert result.exact.overall.correct == 2


def test_errors_count_under_the_label_that_the_focus_names() -> None:
    gold, predicted = [[(0, 2, "PER"), (4, 5, "ORG")]], [[(0, 2, "LOC"), (7, 8, "ORG")]]
    errors = {}
    for focus in ("gold", "predicted"):
        labels = spanwise.evaluate(gold, {"s": predicted}, focus=focus, resamples=0)["s"].fair.labels
        errors[focus] = {name: (cell.LE, cell.FN, cell.FP) for name, cell in labels.items()}
    assert errors["gold"] == {"LOC": (0, 0, 0), "ORG": (0, 1, 1), "PER": (1, 0, 0)}
    assert errors["predicted"] == {"LOC": (1, 0, 0), "ORG": (0, 1, 1), "PER": (0, 0, 0)}


def test_token_accuracy_is_undefined_for_mentions_with_gaps() -> None:
    mentions = replace(Mentions.of([(0, 0, 3, "A")]), parts=Parts.of([[(0, 1), (2, 3)]]))
    gold = Annotation(Corpus.of([["a", "b", "c"]]), mentions)
    overall = spanwise.evaluate(gold, {"s": gold}, resamples=0)["s"].exact.overall
    assert (overall.f1, overall.accuracy) == (1.0, None)


def test_the_smallest_detectable_difference_is_two_point_eight_standard_errors() -> None:
    # One mention per sentence; the other system is correct in every second one, so that the
    # difference is a mean of 400 zeros and ones: its standard error is sqrt(0.25 / 400).
    gold = [[(0, 1, "A")]] * 400
    half = [[(0, 1, "A")], [(0, 1, "B")]] * 200
    compared = spanwise.compare(gold, {"all": gold, "half": half}, attributes="none", resamples=3000)
    assert compared.comparisons[0].detectable == pytest.approx(2.80 * 0.025, rel=0.06)


def test_overall_f1_is_corrected_over_pairs_and_all_other_scores_are_one_family() -> None:
    gold = [[(0, 1, "A"), (1, 2, "B")]] * 12
    systems = {
        "x": [*gold[:11], []],
        "y": gold[:6] + [[(0, 1, "A")]] * 6,
        "z": gold[:3] + [[(1, 2, "C")]] * 9,
    }
    words = [["a", "b"]] * 12
    annotations = {name: spanwise.read(spans, tokens=words) for name, spans in systems.items()}
    test = spanwise.read(gold, tokens=words)
    result = spanwise.evaluate(test, annotations, train=test, attributes="entity_length", resamples=99)
    families: dict[str, list[ScoreTest]] = {}
    for pair in result.comparisons:
        for row in pair.scores:
            families.setdefault(present(row.family), []).append(row)
    assert {"overall", "labels", "buckets", "tough", "errors"} <= set(families)
    assert {row.path[2] for row in families["tough"]} == {"overall"}
    assert len(families["overall"]) == 3
    tested = sorted((row.p, at) for at, row in enumerate(families["overall"]) if row.p is not None)
    least = 0.0
    for rank, (p, at) in enumerate(tested):
        row = families["overall"][at]
        least = max(least, min(1.0, (len(tested) - rank) * p))
        assert row.role == "primary" and row.p_corrected == pytest.approx(least)
        assert row.significant == (least < 0.05)
    others = [row for name, rows in families.items() if name != "overall" for row in rows]
    assert {row.role for row in others} == {"secondary"}
    for row in others:
        assert row.p is None or row.p <= present(row.p_corrected) <= 1
        assert row.p is not None or row.why


def buckets_of(scores: Mapping[str, float], **gold: int) -> list[Plain]:
    """Buckets as in a run; names of more than one letter are categories."""
    return [
        {"name": name, "f1": f1, "gold": gold.get(name, 9), **({"value": name} if len(name) > 1 else {})}
        for name, f1 in scores.items()
    ]


def friedman_of(*runs: list[Plain]) -> BlockTest:
    by_run = {
        str(number): {"exact": {"overall": {"f1": 0.5}}, "attributes": {"label": {"buckets": buckets}}}
        for number, buckets in enumerate(runs, start=1)
    }
    analysis = attribute_wise({"d": {"dataset": {"zeta": {}}, "runs": {"m": by_run}}})
    return analysis["d"]["label"].friedman


def test_a_category_found_only_in_predictions_excludes_no_block_from_the_test() -> None:
    scores = {"PER": 0.9, "LOC": 0.8, "ORG": 0.5}
    test = friedman_of(buckets_of(scores), buckets_of({**scores, "NEW": 0.0}, NEW=0))
    assert (test.blocks, test.left_out) == (2, ())


def test_the_test_over_buckets_uses_the_most_common_number_of_buckets() -> None:
    three, four = {"a": 0.9, "b": 0.8, "c": 0.5}, {"p": 0.9, "q": 0.8, "r": 0.5, "s": 0.4}
    test = friedman_of(buckets_of(three), buckets_of(four), buckets_of(three))
    assert (test.blocks, test.left_out) == (2, ("m 2",))


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [([(0, 2, "A"), (2, 4, "A")], [(0, 4, "A")]), ([(0, 4, "A")], [(0, 2, "A"), (2, 4, "A")])],
    ids=["two gold mentions in one", "one gold mention in two"],
)
def test_fixing_errors_of_a_later_pass_adds_or_removes_a_prediction(
    gold: list[tuple[int, int, str]], predicted: list[tuple[int, int, str]]
) -> None:
    # With one correct mention in addition, F1 is 2/5; when all errors are fixed, it is 1.
    right = [(5, 6, "A")]
    gains = spanwise.evaluate([[*gold, *right]], {"s": [[*predicted, *right]]}, resamples=0)["s"].gains
    assert gains.BE.gain == pytest.approx(1 - 2 / 5)
    assert (gains.LE.gain, gains.LBE.gain, gains.FN.gain, gains.FP.gain) == (0, 0, 0, 0)


def test_a_token_that_two_pieces_of_a_mention_touch_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("abcdef gh\n", encoding="utf-8")
    (tmp_path / "one.ann").write_text("T1\tX 0 2;4 6;7 9\tab ef gh\n", encoding="utf-8")
    description = spanwise.describe(tmp_path, attributes="entity_length,entity_token_density")
    assert description.dataset.zeta == {"entity_length": 2.0, "entity_token_density": 1.0}


@pytest.mark.parametrize(("units", "few"), [(19, True), (20, False)])
def test_an_interval_from_fewer_than_twenty_units_is_marked(units: int, few: bool) -> None:
    gold = [[(0, 1, "A")]] * units
    settings = spanwise.evaluate(gold, {"s": gold}, attributes="none", resamples=10).settings
    assert (settings.units, settings.few_units) == (units, few)


@pytest.mark.parametrize("value", ["unplaced", "unplaced mentions", "unplaced-x"])
def test_a_value_called_unplaced_is_tested_as_a_slice_like_any_other(tmp_path: Path, value: str) -> None:
    def weak(value: str) -> tuple[WeakSlice, ...]:
        gold = "".join(f"Ann\t{value}\tB-A\nsaid\tx\tO\nBo\ty\tB-A\n\n" for _ in range(60)).split("\n\n")
        predicted = [text.replace("B-A", "O", 1) if at % 3 else text for at, text in enumerate(gold)]
        for name, sentences in (("gold", gold), ("s", predicted)):
            (tmp_path / f"{name}.txt").write_text("\n\n".join(sentences), encoding="utf-8")
        return spanwise.evaluate(
            tmp_path / "gold.txt", {"s": tmp_path / "s.txt"}, attributes=["w=column:width"],
            columns={"width": 1}, resamples=200,
        )["s"].slices  # fmt: skip

    (expected,) = [row for row in weak("plain") if row.name == "plain"]
    (actual,) = [row for row in weak(value) if row.name == value]
    assert present(expected.p) < 0.05
    assert (actual.value, actual.interval, actual.t, actual.p, actual.among) == (
        expected.value, expected.interval, expected.t, expected.p, expected.among,
    )  # fmt: skip


def test_a_value_called_unplaced_is_part_of_the_test_whether_buckets_differ(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()

    def differ(value: str) -> BucketsDiffer | UnsetType:
        gold = "".join(f"Ann\t{value}\tB-A\nsaid\tx\tO\nBo\ty\tB-A\n\n" for _ in range(60)).split("\n\n")
        for run in (1, 2):
            predicted = [
                sentence.replace("B-A", "O", 1)
                if at % (2 + run)
                else sentence.replace("Bo\ty\tB-A", "Bo\ty\tO")
                for at, sentence in enumerate(gold)
            ]
            (folder / f"s.{run}.txt").write_text("\n\n".join(predicted), encoding="utf-8")
        (tmp_path / "gold.txt").write_text("\n\n".join(gold), encoding="utf-8")
        (tmp_path / "study.toml").write_text(
            'predictions = "runs/{system}.{run}.txt"\nresamples = 200\nattributes = ["w=column:width"]\n'
            'columns = {width = 1}\n[datasets.d]\ntest = "gold.txt"\n[systems.s]\n'
        )
        study = spanwise.study(tmp_path / "study.toml", workers=1, cache=False)
        return study.analyses.model_wise["s"]["w"].buckets_differ

    assert present(present(differ("plain")).p) < 0.05
    assert differ("unplaced") == differ("plain")
