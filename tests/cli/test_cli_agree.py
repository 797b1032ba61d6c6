"""`spanwise agree` and `spanwise suspects` on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from spanwise.cli.main import main


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three annotations of one sentence."""
    monkeypatch.chdir(tmp_path)
    for name, label in (("ada", "LOC"), ("bo", "LOC"), ("cy", "ORG")):
        Path(f"{name}.conll").write_text(f"in O\nRome B-{label}\nnow O\n", encoding="utf-8")
    return tmp_path


def test_agree_writes_its_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agree", "ada.conll", "bo.conll", "cy.conll", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "agreement"
    assert document["annotators"] == ["ada", "bo", "cy"]
    assert [pair["overall"]["f1"] for pair in document["pairs"]] == [1.0, 0.0, 0.0]
    assert document["mean"]["overall"]["f1"] == pytest.approx(1 / 3)
    assert document["ceiling"]["annotators"] == {"ada": 0.0, "bo": 0.0, "cy": 0.0}


def test_agree_shows_systems_next_to_the_human_level(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agree", "ada.conll", "bo.conll", "--systems", "crf=cy.conll", "--width", "90"]) == 0
    shown = capsys.readouterr().out
    assert "human level" in shown and "Agreement with the majority of the others" in shown
    assert "crf" in shown


def test_agree_distinguishes_wrong_calls_from_unusable_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agree", "ada.conll"]) == 2
    assert main(["agree", "ada.conll", "bo.conll", "--votes", "9"]) == 2
    assert "--votes is 9" in capsys.readouterr().err
    assert main(["agree", "ada.conll", "none.conll"]) == 3


def test_suspects_are_listed_decided_and_applied(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["suspects", "cy.conll", "a=ada.conll", "b=bo.conll", "-o", "w.csv", "--json", "-"]
    assert main(call) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "suspects"
    assert document["voters"] == ["a", "b"]
    (suspect,) = document["suspects"]
    assert (suspect["kind"], suspect["score"], suspect["votes"]) == ("label", 1.0, {"for": 2, "against": 0})
    assert suspect["source"] == "cy.conll:2"
    rows = list(csv.DictReader(Path("w.csv").read_text(encoding="utf-8").splitlines()))
    rows[0]["decision"] = "accept"
    with Path("done.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert main(["suspects", "--apply", "done.csv", "cy.conll", "-o", "gold2.conll"]) == 0
    assert "1 accepted" in capsys.readouterr().err
    assert Path("gold2.conll").read_bytes() == Path("ada.conll").read_bytes()


def test_suspects_show_the_sentence_and_the_reason_for_a_second_look(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["suspects", "cy.conll", "a=ada.conll", "b=bo.conll", "--width", "90"]) == 0
    shown = capsys.readouterr().out
    assert "{[Rome]ORG}LOC" in shown
    assert "2 of 2 systems say LOC here, 0 say ORG as gold does" in shown
    assert "it is not an error" in shown


def test_every_file_that_was_written_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    call = [
        "agree",
        "ada.conll",
        "bo.conll",
        "cy.conll",
        "--majority",
        "gold.conll",
        "--worksheet",
        "todo.csv",
    ]
    assert main([*call, "--json", "agreement.json"]) == 0
    assert " saved gold.conll · todo.csv · agreement.json\n" in capsys.readouterr().out
    assert main(["suspects", "ada.conll", "bo.conll", "-o", "worksheet.csv"]) == 0
    shown = capsys.readouterr().out
    assert " saved worksheet.csv\n" in shown
    assert "Kinds" not in shown  # there are no suspects


def tasks() -> None:
    """Write a Label Studio export with the annotations of two people and a model for one text."""
    text = "Ann left Rome"

    def marked(start: int, end: int, label: str) -> list[dict[str, object]]:
        return [{"type": "labels", "value": {"start": start, "end": end, "labels": [label]}}]

    task = {
        "id": 1,
        "data": {"text": text},
        "annotations": [
            {"completed_by": 1, "result": marked(0, 3, "PER")},
            {"completed_by": 2, "result": marked(9, 13, "LOC")},
        ],
        "predictions": [{"model_version": "v1", "result": marked(0, 3, "LOC")}],
    }
    Path("tasks.json").write_text(json.dumps([task]), encoding="utf-8")


def test_a_file_of_tasks_is_not_mistaken_for_a_result_and_the_next_step_names_the_annotator(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tasks()
    assert main(["evaluate", "tasks.json", "--annotator", "1", "--resamples", "0"]) == 0
    shown = capsys.readouterr().out
    assert "  spanwise errors tasks.json --annotator 1 " in shown
    assert main(["errors", "tasks.json", "--annotator", "1"]) == 0
    assert "gold PER, predicted LOC (1 error)" in capsys.readouterr().out


def test_validate_names_the_option_that_chooses_an_annotator(capsys: pytest.CaptureFixture[str]) -> None:
    tasks()
    assert main(["validate", "tasks.json"]) == 3
    assert "Choose one with --annotator 1, or measure agreement" in capsys.readouterr().out
