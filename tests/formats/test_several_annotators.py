"""Exports with several annotators: one is chosen by name, never the first silently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.errors import ChoiceError, InputError

TEXT = "Ann saw Rome"
PER = {"start": 0, "end": 3, "label": "PER"}
LOC = {"start": 8, "end": 12, "label": "LOC"}


def task(number: int, *annotations: tuple[Any, list[dict[str, Any]]], **more: Any) -> dict[str, Any]:
    """A Label Studio task with the annotations of several people."""
    return {
        "id": number,
        "data": {"text": TEXT},
        "annotations": [
            {
                "completed_by": who,
                "result": [
                    {"value": {"start": span["start"], "end": span["end"], "labels": [span["label"]]}}
                    for span in spans
                ],
            }
            for who, spans in annotations
        ],
        **more,
    }


def prodigy(who: str, spans: list[dict[str, Any]], number: int = 1) -> dict[str, Any]:
    """A Prodigy record."""
    return {"text": TEXT, "spans": spans, "_session_id": who, "_input_hash": number, "answer": "accept"}


def doccano(*spans: tuple[int, dict[str, Any]], key: str = "annotations") -> dict[str, Any]:
    """A doccano record with the users of its annotations."""
    listed = [
        {"start_offset": span["start"], "end_offset": span["end"], "label": span["label"], "user": user}
        for user, span in spans
    ]
    return {"id": 1, "text": TEXT, key: listed}


def lines(*records: Any) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


SEVERAL = [
    pytest.param(
        "export.json", json.dumps([task(7, ({"email": "ann"}, [PER]), ({"email": "bob"}, [PER, LOC]))]),
        ("ann", "bob"), id="Label Studio",
    ),
    pytest.param(
        "export.jsonl", lines(prodigy("db-ann", [PER]), prodigy("db-bob", [PER, LOC])),
        ("db-ann", "db-bob"), id="Prodigy",
    ),
    pytest.param("export.jsonl", lines(doccano((1, PER), (2, PER), (2, LOC))), ("1", "2"), id="doccano"),
    *(
        pytest.param(
            "export.jsonl", lines(doccano((1, PER), (2, PER), (2, LOC), key=key)), ("1", "2"),
            id=f"doccano, {key}",
        )
        for key in ("entities", "label", "labels", "spans")
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "who"), SEVERAL)
def test_no_annotator_is_chosen_silently_and_any_can_be_chosen(
    name: str, content: str, who: tuple[str, str], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(content)
    message = f"2 annotators marked the same texts: {who[0]}, {who[1]}.\nChoose one with annotator='{who[0]}'"
    with pytest.raises(InputError) as caught:
        spanwise.read(path)
    assert message in str(caught.value)
    assert f"spanwise agree {path}" in str(caught.value)
    read = [spanwise.read(path, annotator=annotator).mentions.rows() for annotator in who]
    assert read == [[(0, 0, 3, "PER")], [(0, 0, 3, "PER"), (0, 8, 12, "LOC")]]
    with pytest.raises(ChoiceError, match="no annotator is called 'eve'"):
        spanwise.read(path, annotator="eve")
    assert spanwise.agree(path).annotators == who


@pytest.mark.parametrize(("name", "content", "who"), SEVERAL)
def test_the_chosen_annotator_is_gold_for_predictions_that_name_nobody(
    name: str, content: str, who: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    predicted = [{"text": TEXT, "entities": [PER]}]
    overall = spanwise.evaluate(tmp_path / name, {"mine": predicted}, annotator=who[1], resamples=0)[
        "mine"
    ].exact
    assert (overall.overall.gold, overall.overall.correct) == (2, 1)


WRONG = [
    pytest.param(
        lines(prodigy("ann", [PER]) | {"entities": [LOC]}), "hold different mentions", id="two keys"
    ),
    pytest.param(lines(prodigy("ann", [PER | {"end": 2.5}])), "is not a span", id="half a character"),
    pytest.param(
        f'[{lines(prodigy("ann", [PER])).strip()[:-1]}, "spans": []}}]', "occurs twice", id="one key twice"
    ),
]


@pytest.mark.parametrize(("content", "message"), WRONG)
def test_annotations_that_cannot_be_read_cannot_be_compared(
    content: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "export.json"
    path.write_text(content)
    for read in (spanwise.read, spanwise.agree):
        with pytest.raises(InputError, match=message):
            read(path)


def test_whatever_names_positions_and_labels_is_read_of_every_annotator(tmp_path: Path) -> None:
    path = tmp_path / "export.jsonl"
    spans: list[dict[str, Any]] = [{"begin": 0, "stop": 3, "type": "PER"}]
    path.write_text(lines(prodigy("ann", spans), prodigy("bob", [PER])))
    assert spanwise.agree(path).mean.overall.f1 == 1


def test_annotators_who_share_no_text_are_read_together(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps([task(1, ("ann", [PER])), task(2, ("bob", [LOC]))]))
    assert len(spanwise.read(path).mentions) == 2
    path = tmp_path / "export.jsonl"
    path.write_text(lines(prodigy("ann", [PER], 1), prodigy("bob", [LOC], 2)))
    assert len(spanwise.read(path).mentions) == 2


def test_the_same_holds_for_records_in_memory(tmp_path: Path) -> None:
    records = [prodigy("ann", [PER]), prodigy("bob", [])]
    with pytest.raises(InputError, match="2 annotators marked the same texts: ann, bob"):
        spanwise.read(records)
    assert len(spanwise.read(records, annotator="ann").mentions) == 1


def test_a_file_without_predictions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps([task(1, ("ann", [PER]))]))
    with pytest.raises(InputError, match="no task has predictions"):
        spanwise.evaluate(path)
    result = [{"value": {"start": 0, "end": 3, "labels": ["PER"]}}]
    record = task(1, ("ann", [PER]), predictions=[{"model_version": "v1", "result": result}])
    path.write_text(json.dumps([record]))
    evaluation = spanwise.evaluate(path, resamples=0)
    assert next(iter(evaluation.systems.values())).exact.overall.f1 == 1
    record["predictions"].append({"model_version": "v2", "result": []})
    path.write_text(json.dumps([record]))
    with pytest.raises(InputError, match="predictions of 2 models: v1, v2"):
        spanwise.evaluate(path)


def test_positions_name_the_document(tmp_path: Path) -> None:
    (tmp_path / "doc01.txt").write_text("Nothing here\nAnn saw Rome\n")
    (tmp_path / "doc01.ann").write_text("T1\tPER 13 16\tAnn\n")
    corpus = spanwise.read(tmp_path, format="brat").corpus
    assert corpus.place(0).endswith(": doc01:1")
    assert corpus.place(0, 2).endswith(": doc01:2")
    predicted = [{"text": "Nothing here\nAnn saw Rome\n", "entities": []}]
    sentence = spanwise.evaluate(tmp_path, {"mine": predicted}, format=None, resamples=0).sentences[0]
    assert sentence.source == f"{tmp_path}: doc01:1"


@pytest.mark.parametrize("annotator", [None, "ann"])
@pytest.mark.parametrize("session", [True, False])
def test_rejected_and_ignored_records_are_left_out_and_counted(
    tmp_path: Path, annotator: str | None, session: bool
) -> None:
    answers = ("accept", "reject", "ignore", "reject")
    records = [{**prodigy("ann", [PER], number), "answer": answer} for number, answer in enumerate(answers)]
    if not session:
        records = [
            {key: value for key, value in record.items() if key != "_session_id"} for record in records
        ]
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    for source in (path, records):
        annotation = spanwise.read(source, annotator=annotator)
        assert len(annotation.corpus) == len(annotation.mentions) == 1
        assert annotation.reading.notes == ("3 of 4 records were left out: 2 rejected, 1 ignored",)


def test_records_that_were_all_rejected_cannot_be_gold() -> None:
    with pytest.raises(InputError, match="1 of 1 records were left out: 1 rejected, and none is left"):
        spanwise.read([{**prodigy("ann", [PER]), "answer": "reject"}])


def test_rejected_records_are_left_out_when_a_file_is_read_in_parts(tmp_path: Path) -> None:
    rows = [
        {**prodigy("ann", [PER], number), "answer": "accept" if number % 2 else "reject"}
        for number in range(40)
    ]
    for row in rows:
        del row["_session_id"]
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    whole = spanwise.evaluate(path, {"same": path}, resamples=0)
    parts = spanwise.evaluate(path, {"same": path}, resamples=0, memory="64MB")
    assert whole["same"].exact.overall.gold == parts["same"].exact.overall.gold == 20
