"""Numbers that went wrong once, or that no other test held in place, each against a figure found by hand."""

from __future__ import annotations

import pytest

import spanwise
from spanwise.diagnosis import self_diagnosis
from spanwise.study.analyses import Scores, attribute_wise


@pytest.fixture
def widths(tmp_path):
    """A gold file with a column of numbers: mentions whose first tokens have 3, 5 and 7."""
    path = tmp_path / "gold.txt"
    path.write_text("a 3 B-A\nb 3 O\nc 5 B-A\n\nd 7 B-B\n", encoding="utf-8")
    return path


def gold_of(document, attribute, system="s"):
    buckets = document["systems"][system]["attributes"][attribute]["buckets"]
    return [(bucket["label"], bucket["gold"]) for bucket in buckets]


def widened(path, **options):
    """An evaluation of the file against itself, with its second column as the attribute `w`."""
    asked = {"attributes": ["w=column:width"], "columns": {"width": 1}, "resamples": 0}
    return spanwise.evaluate(path, {"s": path}, **asked, **options)


def test_an_attribute_of_the_data_is_cut_as_its_name_says(widths):
    assert gold_of(widened(widths, buckets={"w": "4"}).to_dict(), "w") == [("≤ 4", 1), ("> 4", 2)]


def test_the_saved_edges_of_an_attribute_of_the_data_are_used_again(widths):
    first = widened(widths, buckets={"w": "6"})
    again = widened(widths, edges=first.edges())
    assert gold_of(again.to_dict(), "w") == gold_of(first.to_dict(), "w") == [("≤ 6", 2), ("> 6", 1)]


def test_an_attribute_of_the_data_can_be_crossed(widths):
    result = widened(widths, buckets={"w": "6"}, cross=[("w", "label")]).to_dict()
    cells = result["systems"]["s"]["cross"]["w,label"]["cells"]
    assert {tuple(cell["buckets"]): cell["gold"] for cell in cells if cell["gold"]} == {
        ("B1", "A"): 2,
        ("B2", "B"): 1,
    }


def test_no_two_buckets_share_a_name_whatever_the_categories_are_called():
    gold = [[(0, 1, "other"), (1, 2, "other values"), (2, 3, "unplaced"), (3, 4, "unplaced mentions")]]
    predicted = [[(0, 1, "other"), (1, 2, "new")]]
    result = spanwise.evaluate(gold, {"s": predicted}, attributes="label", resamples=0).to_dict()
    buckets = result["systems"]["s"]["attributes"]["label"]["buckets"]
    assert len({bucket["name"] for bucket in buckets}) == len(buckets) == 5
    assert [bucket["predicted"] for bucket in buckets] == [1, 0, 0, 0, 1]


def test_two_predictions_that_fall_on_one_gold_span_are_one_right_and_one_unplaced(tmp_path):
    gold, predicted = tmp_path / "gold.txt", tmp_path / "predicted.jsonl"
    gold.write_text("a B-X\nb O\n", encoding="utf-8")
    spans = '[{"start": 0, "end": 1, "label": "X"}, {"start": 0, "end": 2, "label": "X"}]'
    predicted.write_text(f'{{"tokens": ["a", "z", "b"], "spans": {spans}}}\n', encoding="utf-8")
    result = spanwise.evaluate(gold, {"s": predicted}, align="diff", resamples=0).to_dict()
    overall = result["systems"]["s"]["exact"]["overall"]
    assert (overall["gold"], overall["predicted"], overall["correct"]) == (1, 2, 1)
    assert result["systems"]["s"]["fair"]["overall"]["FP"] == 1
    assert result["inputs"][1]["alignment"]["unplaced"] == 1


def test_a_category_called_unplaced_is_on_the_scale_and_the_bucket_of_the_lost_is_not():
    buckets = [
        {"name": "PER", "value": "PER", "f1": 0.5},
        {"name": "unplaced", "value": "unplaced", "f1": 1.0},
        {"name": "unplaced mentions", "rest": True, "f1": 0.0},
    ]
    found = self_diagnosis(buckets)
    assert (found["best"], found["worst"], found["gap"]) == ("unplaced", "PER", 0.5)


def test_a_dataset_without_a_mean_value_leaves_those_of_the_others_comparable():
    buckets = [{"name": name, "f1": f1, "gold": 9} for name, f1 in (("B1", 0.5), ("B2", 0.7), ("B3", 0.9))]
    run = {"exact": {"overall": {"f1": 0.7}}, "attributes": {"token_frequency": {"buckets": buckets}}}
    bare = {"exact": {"overall": {"f1": 0.7}}, "attributes": {}}
    datasets = {
        "first": {"dataset": {"zeta": {"token_frequency": 0.2}}, "runs": {"m": {"1": run}}},
        "second": {"dataset": {"zeta": {"token_frequency": 0.4}}, "runs": {"m": {"1": run}}},
        "without training data": {"dataset": {"zeta": {}}, "runs": {"m": {"1": bare}}},
    }
    found = attribute_wise(Scores(datasets, ["m"]))
    assert found["first"]["token_frequency"]["zeta_relative"] == 0.5
    assert found["second"]["token_frequency"]["zeta_relative"] == 1.0
    assert found["without training data"] == {}


def test_a_weighted_mean_leaves_out_the_support_of_labels_without_the_score():
    # B is never predicted: its precision is undefined, and its one mention weighs nothing in that mean.
    gold, predicted = [[(0, 1, "A"), (1, 2, "A"), (2, 3, "B")]], [[(0, 1, "A"), (1, 3, "A")]]
    exact = spanwise.evaluate(gold, {"s": predicted}, resamples=0).to_dict()["systems"]["s"]["exact"]
    assert exact["weighted"]["precision"] == pytest.approx(1 / 2)
    assert exact["weighted"]["recall"] == pytest.approx((2 * 1 / 2 + 1 * 0) / 3)
    assert exact["macro"]["precision"] == pytest.approx(1 / 2)
    assert exact["macro"]["recall"] == pytest.approx(1 / 4)
