"""Files of tuples are read, checked with one sentence per error, and written again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spanwise.errors import InputError
from spanwise.relations.corpus import LINK, MENTION, VALUE, side_of
from spanwise.relations.records import read_records, records_of, write_records

UNIT: dict[str, Any] = {
    "id": "s1",
    "tokens": ["Ida", "runs", "Marrow", "&", "Sons"],
    "mentions": [
        {"id": "m1", "start": 0, "end": 1, "label": "PER"},
        {"id": "m2", "start": 2, "end": 5, "label": "ORG", "head": 2},
    ],
    "tuples": [
        {"type": "leads", "roles": {"head": "m1", "tail": "m2"}},
        {"type": "negation", "roles": {"mention": "m1", "value": {"value": True}}},
        {"type": "link", "roles": {"mention": "m1", "link": {"link": ["Q1", "NIL"]}}},
        {"type": "Hire", "trigger": "m2", "roles": {"who": ["m1", {"any": ["m2", "m1"]}]}},
    ],
}


def test_a_file_is_read_into_columns_and_written_again(tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text("\n" + json.dumps(UNIT) + "\n", encoding="utf-8")
    records = list(read_records(path))
    assert [record.line for record in records] == [2]
    side = side_of(records, str(path))
    assert list(side.names.types) == ["leads", "negation", "link", "Hire"]
    assert side.head.tolist() == [0, 2]
    assert side.at.tolist() == [0, 2, 4, 6, 9]
    assert side.kind.tolist() == [MENTION, MENTION, MENTION, VALUE, MENTION, LINK, MENTION, MENTION, MENTION]
    assert side.role.tolist()[-3:] == [0, side.names.roles["who"], side.names.roles["who"]]
    assert list(side.names.values) == ["true", "Q1", "NIL"]
    assert side.alternative.tolist()[-2:] == [0, 1]
    assert side.string(1) == "Marrow & Sons"
    again = tmp_path / "again.jsonl"
    write_records(records, again)
    assert json.loads(again.read_text(encoding="utf-8")) == UNIT
    assert [record.tuples for record in read_records(again)] == [record.tuples for record in records]


def test_predictions_without_mentions_refer_to_those_of_gold() -> None:
    gold = side_of([UNIT])
    side = side_of([{"id": "s1", "tuples": [UNIT["tuples"][0]]}], "mine", gold=gold)
    assert side.start.tolist() == [0, 2]
    assert side.alternative.tolist() == [0, 1]


def test_predictions_are_aligned_by_id_and_absent_units_are_counted() -> None:
    gold = side_of([UNIT, {**UNIT, "id": "s2"}, {**UNIT, "id": "s3"}])
    side = side_of([{**UNIT, "id": "s3"}, {**UNIT, "id": "s1"}], "mine", gold=gold)
    assert sorted({*side.unit.tolist()}) == [0, 2]
    assert side.missing == 1


def _changed(**changes: Any) -> str:
    return json.dumps({**UNIT, **changes})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (_changed(tuples=[{"type": "leads", "roles": {"head": "m7"}}]), "names the mention 'm7'"),
        (_changed(tuples=[{"roles": {"head": "m1"}}]), "'tuples[0]' has no 'type'"),
        (_changed(tuples=[{"type": "", "roles": {"head": "m1"}}]), "a tuple has an empty type"),
        (_changed(tuples=[{"type": "leads", "roles": {}}]), "the tuple 'leads' has no fillers"),
        (_changed(tuples=[{"type": "a", "roles": {"x": {"value": "1", "link": "Q"}}}]), "exactly one of"),
        (_changed(tuples=[{"type": "a", "roles": {"x": {"any": []}}}]), "is an empty list"),
        (_changed(tuples=[{"type": "a", "trigger": {"value": "x"}}]), "the trigger of 'a' is not a mention"),
        (_changed(text="Ida runs"), "the unit has both tokens and text"),
        (_changed(mentions=[*UNIT["mentions"], UNIT["mentions"][0]]), "two mentions have the id 'm1'"),
        (_changed(mentions=[{"id": "m1", "start": 3, "end": 9}]), "which has 5 tokens"),
        (_changed(mentions=[{"id": "m1", "start": "3", "end": 9}]), "'mentions[0].start' is a string"),
        (_changed(mentions=[{"id": "m1", "start": 0, "end": 2, "head": 3}]), "the head 3 of"),
        (
            _changed(mentions=[{"id": "m1", "start": 0, "end": 4, "parts": [[0, 2], [1, 4]]}]),
            "the parts of the mention 'm1' overlap",
        ),
        ('{"tokens": ["a"], "mentions": [', "the line is not JSON"),
        ("[1, 2]", "the record is a list, but must be an object"),
    ],
)  # fmt: skip
def test_errors_name_the_file_and_the_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text(json.dumps({**UNIT, "id": "s0"}) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        side_of(read_records(path, format="jsonl"), "gold.jsonl")
    assert "gold.jsonl:2: " in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        ([{**UNIT, "id": "s9"}], "gold (gold) has no unit with the id 's9'"),
        ([UNIT, UNIT], "the id 's1' occurs twice"),
        ([{**UNIT, "tokens": ["Ida", "ran", "Marrow", "&", "Sons"]}], "the token 'ran' is 'runs' in gold"),
        ([{**UNIT, "tokens": ["Ida"] * 6}], "the unit has 6 tokens, but 5 in gold"),
        ([{"tuples": []}, {"tuples": []}], "there are 2 units, but 1 in gold"),
        (
            [{"id": "s1", "text": "Ida runs Marrow & Sons", "mentions": []}],
            "positions are in characters here",
        ),
    ],
)
def test_predictions_must_fit_gold(predicted: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(InputError, match=r"mine: ") as caught:
        side_of(predicted, "mine", gold=side_of([UNIT]))
    assert message in str(caught.value)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gold.conll"
    path.write_text("Ida B-PER\n", encoding="utf-8")
    with pytest.raises(InputError, match="no format of files with tuples fits"):
        list(read_records(path))
    with pytest.raises(InputError, match=r"mine: record 1: 'mentions\[0\]' has no 'id'"):
        records_of([{"mentions": [{"start": 0}]}], "mine")
