"""Numbers that went wrong once, or that no other test held in place, each against a figure found by hand."""

from __future__ import annotations

import pytest

import spanwise


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
