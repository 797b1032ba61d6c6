"""`spanwise agree` and `spanwise suspects` on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from spanwise.cli.main import main


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three files over one sentence."""
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


def test_agree_shows_systems_beside_the_ceiling(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agree", "ada.conll", "bo.conll", "--systems", "crf=cy.conll", "--width", "90"]) == 0
    shown = capsys.readouterr().out
    assert "human ceiling" in shown
    assert "crf" in shown


def test_agree_tells_wrong_calls_from_unusable_inputs(capsys: pytest.CaptureFixture[str]) -> None:
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
    (found,) = document["suspects"]
    assert (found["kind"], found["score"], found["votes"]) == ("label", 1.0, {"for": 2, "against": 0})
    assert found["source"] == "cy.conll:2"
    rows = list(csv.DictReader(Path("w.csv").read_text(encoding="utf-8").splitlines()))
    rows[0]["decision"] = "accept"
    with Path("done.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert main(["suspects", "--apply", "done.csv", "cy.conll", "-o", "gold2.conll"]) == 0
    assert "1 accepted" in capsys.readouterr().err
    assert Path("gold2.conll").read_bytes() == Path("ada.conll").read_bytes()


def test_suspects_show_the_sentence_and_what_speaks_for_a_second_look(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["suspects", "cy.conll", "a=ada.conll", "b=bo.conll", "--width", "90"]) == 0
    shown = capsys.readouterr().out
    assert "{[Rome]ORG}LOC" in shown
    assert "2 of 2 systems say LOC here, 0 say ORG as gold does" in shown
    assert "it is not an error" in shown
