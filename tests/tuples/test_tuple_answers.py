"""Tuples that language models give as texts are placed on the text of gold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from spanwise.errors import ChoiceError, InputError
from spanwise.relations.answers import PlacedTuples, place_tuples
from spanwise.relations.records import FillerRecord, records_of

TOKENS = ["Ida", "Fenwick", "runs", "Marrow", ";", "Ida", "Fenwick", "left", "Denby", "."]
GOLD = records_of(
    [
        {
            "id": "s1",
            "tokens": TOKENS,
            "mentions": [
                {"id": "a", "start": 0, "end": 2, "label": "PER"},
                {"id": "b", "start": 3, "end": 4, "label": "ORG"},
            ],
        },
        {"id": "s2", "tokens": ["Nothing", "here"]},
    ],
    "gold",
)
LEADS = {"head": "Ida Fenwick", "type": "leads", "tail": "Marrow"}


def placed(answers: Any, **options: Any) -> PlacedTuples:
    return place_tuples(GOLD, answers, **options)


def first(answers: Any, **options: Any) -> dict[str, Any]:
    """The first record, with the spans of mentions."""
    record: dict[str, Any] = msgspec.to_builtins(placed([answers, []], **options).records[0])
    return {
        "mentions": {
            one["id"]: (one["start"], one["end"], one.get("label", "")) for one in record["mentions"]
        },
        "tuples": record.get("tuples", []),
    }


def test_texts_become_mentions_and_are_shared_by_tuples() -> None:
    found = first([LEADS, {"subject": "ida fenwick", "relation": "left", "object": "Denby"}])
    assert found["mentions"] == {"m1": (0, 2, ""), "m2": (3, 4, ""), "m3": (8, 9, "")}
    heads = [one["roles"]["head"] for one in found["tuples"]]
    assert heads[0] == heads[1]
    assert [one["type"] for one in found["tuples"]] == ["leads", "left"]


@pytest.mark.parametrize(
    "answers",
    [
        [LEADS],
        {"relations": [LEADS]},
        [["Ida Fenwick", "leads", "Marrow"]],
        json.dumps([LEADS]),
        f"Sure!\n```json\n{json.dumps({'tuples': [LEADS]})}\n```",
        f"<think>two</think>{json.dumps([LEADS])}",
        json.dumps([LEADS, LEADS])[:-20],
        LEADS,
        [{"type": "leads", "roles": {"head": {"text": "Ida Fenwick"}, "tail": "Marrow"}}],
    ],
)
def test_relations_are_read_in_every_shape(answers: Any) -> None:
    found = first(answers)
    (one,) = found["tuples"]
    assert found["mentions"][one["roles"]["head"]] == (0, 2, "")
    assert found["mentions"][one["roles"]["tail"]] == (3, 4, "")


def test_labels_of_fillers_are_those_of_gold() -> None:
    found = first([LEADS | {"head_type": "per", "tail_type": "Org"}])
    assert sorted(found["mentions"].values()) == [(0, 2, "PER"), (3, 4, "ORG")]


def test_events_have_triggers_and_several_fillers_of_a_role() -> None:
    event = {"type": "Leave", "trigger": "left", "arguments": {"who": ["Ida Fenwick", "Marrow"]}}
    found = first([event])
    (one,) = found["tuples"]
    assert found["mentions"][one["trigger"]] == (7, 8, "")
    assert [found["mentions"][name] for name in one["roles"]["who"]] == [(0, 2, ""), (3, 4, "")]
    assert first([event | {"trigger": "sang"}])["tuples"] == []


def test_a_text_without_a_place_is_a_filler_that_no_mention_equals() -> None:
    result = placed([[LEADS | {"tail": "Zoltan"}], []])
    assert result.records[0].tuples[0].roles["tail"] == FillerRecord(value="Zoltan")
    assert (result.texts, result.unplaced) == (2, 1)


def test_with_all_any_occurrence_is_right() -> None:
    found = first([LEADS], policy="all")
    head = found["tuples"][0]["roles"]["head"]
    assert sorted(found["mentions"][name] for name in head["any"]) == [(0, 2, ""), (5, 7, "")]


def test_units_are_joined_by_id_and_counted_by_status(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"id": "s2", "response": "I am sorry"}) + "\n", encoding="utf-8")
    result = placed(path)
    assert result.statuses == {"read": 0, "repaired": 0, "failed": 1, "empty": 0, "absent": 1}
    path.write_text(json.dumps({"id": "s1", "mine": {"a": 1}}) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"answers.jsonl:1: the record has no field 'relations'"):
        placed(path)
    with pytest.raises(InputError, match=r"answers.jsonl:1: the record has no field 'text'"):
        placed(path, response="text")
    with pytest.raises(InputError, match="1 record without ids of gold cannot be joined with 2 units"):
        placed([[LEADS]])
    with pytest.raises(ChoiceError, match="compares strings"):
        placed([[LEADS], []], policy="gollie")


@pytest.mark.parametrize(
    "answers", [{"a": 1}, [[1, 2, 3]], [{"head": "Ida"}], "no", [{"head": 1, "type": "x"}]]
)
def test_other_shapes_are_failed_units(answers: Any) -> None:
    assert placed([{"response": answers}, []]).statuses["failed"] == 1
