"""Completed worksheets change exactly the decided mentions and no other byte."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.formats import read
from spanwise.suspicion import apply_decisions, worksheet

GOLD = (
    "# a comment\r\n-DOCSTART-\t-X-\tO\r\n\r\nAda\tNN \t B-PER\r\nmet\tVB\tO\r\nBo\tNN\tI-PER\r\n"
    "in\tIN\tO\r\nNew\tNN\tB-PER\r\nYork\tNN\tI-PER\r\n\r\n\r\nRome\tNN\tO\r\n"
)


def sheet(path: Path, *rows: dict[str, object]) -> Path:
    names = ["sentence", "gold_start", "gold_end", "gold_label", "start", "end", "label", "decision"]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(buffer.getvalue(), encoding="utf-8")
    return path


def old(sentence: int, start: int, end: int, label: str) -> dict[str, object]:
    return {"sentence": sentence, "gold_start": start, "gold_end": end, "gold_label": label}


def new(start: int, end: int, label: str) -> dict[str, object]:
    return {"start": start, "end": end, "label": label, "decision": "accept"}


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    path = tmp_path / "gold.conll"
    path.write_bytes(GOLD.encode())
    return path


def test_exactly_the_decided_mentions_change(gold: Path, tmp_path: Path) -> None:
    decisions = sheet(
        tmp_path / "w.csv",
        {**old(1, 4, 6, "PER"), **new(4, 6, "LOC")},
        {"sentence": 2, **new(0, 1, "LOC")},
        {**old(1, 0, 1, "PER"), "decision": "reject"},
        {**old(1, 2, 3, "PER"), "decision": ""},
    )
    done = apply_decisions(decisions, gold, tmp_path / "new.conll", comments="#")
    assert (done.accepted, done.rejected, done.open) == (2, 1, 1)
    expected = GOLD.replace("New\tNN\tB-PER", "New\tNN\tB-LOC").replace("York\tNN\tI-PER", "York\tNN\tI-LOC")
    expected = expected.replace("Rome\tNN\tO", "Rome\tNN\tB-LOC")
    assert (tmp_path / "new.conll").read_bytes() == expected.encode()


def test_a_mention_can_be_deleted_without_changing_its_neighbour(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text("a B-PER\nb I-PER\nc B-PER\nd O\n", encoding="utf-8")
    decisions = sheet(tmp_path / "w.csv", {**old(1, 0, 2, "PER"), "decision": "accept"})
    apply_decisions(decisions, gold, tmp_path / "new.conll")
    assert (tmp_path / "new.conll").read_text(encoding="utf-8") == "a O\nb O\nc B-PER\nd O\n"


def test_iob1_boundaries_follow_a_change(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text("a O\nb I-PER\nc B-PER\nd O\ne I-LOC\n", encoding="utf-8")
    decisions = sheet(tmp_path / "w.csv", {**old(1, 1, 2, "PER"), "decision": "accept"})
    apply_decisions(decisions, gold, tmp_path / "new.conll", scheme="IOB1")
    assert read(tmp_path / "new.conll", scheme="IOB1").mentions.rows() == [(0, 2, 3, "PER"), (0, 4, 5, "LOC")]


def test_a_repaired_neighbour_keeps_its_meaning(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text("a O\nb I-PER\nc O\nd B-LOC\ne I-LOC\n", encoding="utf-8")
    decisions = sheet(tmp_path / "w.csv", {"sentence": 1, **new(0, 1, "PER")})
    apply_decisions(decisions, gold, tmp_path / "new.conll", scheme="IOB2")
    assert read(tmp_path / "new.conll", scheme="IOB2").mentions.rows() == [
        (0, 0, 1, "PER"), (0, 1, 2, "PER"), (0, 3, 5, "LOC"),
    ]  # fmt: skip


def test_without_decisions_every_byte_is_kept(gold: Path, tmp_path: Path) -> None:
    apply_decisions(sheet(tmp_path / "w.csv"), gold, tmp_path / "new.conll", comments="#")
    assert (tmp_path / "new.conll").read_bytes() == GOLD.encode()


@pytest.mark.parametrize("reading", [{"format": "conll"}, {"columns": None}, {"limits": {"labels": 5}}])
def test_the_keywords_of_read_say_how_the_gold_file_is_read(
    reading: dict[str, Any], gold: Path, tmp_path: Path
) -> None:
    decisions = sheet(tmp_path / "w.csv", {"sentence": 2, **new(0, 1, "LOC")})
    apply_decisions(decisions, gold, tmp_path / "new.conll", comments="#", **reading)
    expected = GOLD.replace("Rome\tNN\tO", "Rome\tNN\tB-LOC")
    assert (tmp_path / "new.conll").read_bytes() == expected.encode()


def test_a_worksheet_of_another_file_is_refused(gold: Path, tmp_path: Path) -> None:
    decisions = sheet(tmp_path / "w.csv", {**old(1, 0, 2, "PER"), **new(0, 2, "LOC")})
    with pytest.raises(spanwise.InputError, match=r"has no mention PER \[0, 2\) in sentence 1"):
        apply_decisions(decisions, gold, tmp_path / "new.conll", comments="#")
    assert not (tmp_path / "new.conll").exists()


def test_a_proposal_over_a_mention_that_stays_is_refused(gold: Path, tmp_path: Path) -> None:
    decisions = sheet(tmp_path / "w.csv", {**old(1, 2, 3, "PER"), **new(2, 5, "PER")})
    with pytest.raises(spanwise.InputError, match=r"overlaps PER \[4, 6\)"):
        apply_decisions(decisions, gold, tmp_path / "new.conll", comments="#")


def test_a_worksheet_round_trips(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conll"
    gold.write_text("in O\n=Rome B-PER\nnow O\n", encoding="utf-8")
    predicted = tmp_path / "said.conll"
    predicted.write_text("in O\n=Rome B--LOC\nnow O\n", encoding="utf-8")
    document = spanwise.suspects(gold, {"a": predicted, "b": read(predicted)})
    text = worksheet(document)
    assert "'=Rome" in text
    assert "'-LOC" in text
    rows = list(csv.DictReader(io.StringIO(text)))
    rows[0]["decision"] = "accept"
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    (tmp_path / "w.csv").write_text(buffer.getvalue(), encoding="utf-8")
    apply_decisions(tmp_path / "w.csv", gold, tmp_path / "new.conll")
    assert (tmp_path / "new.conll").read_text(encoding="utf-8") == "in O\n=Rome B--LOC\nnow O\n"


@pytest.mark.parametrize("label", ["'LOC", "'-LOC", "''=LOC", "=LOC"])
def test_a_label_that_begins_with_an_apostrophe_or_like_a_formula_round_trips(
    label: str, tmp_path: Path
) -> None:
    gold, predicted = tmp_path / "gold.conll", tmp_path / "predicted.conll"
    gold.write_text("in O\nRome B-PER\nnow O\n", encoding="utf-8")
    predicted.write_text(f"in O\nRome B-{label}\nnow O\n", encoding="utf-8")
    document = spanwise.suspects(gold, {"a": predicted, "b": read(predicted)})
    rows = list(csv.DictReader(io.StringIO(worksheet(document))))
    decisions = sheet(
        tmp_path / "w.csv", {**old(1, 1, 2, "PER"), **new(1, 2, label), "label": rows[0]["label"]}
    )
    apply_decisions(decisions, gold, tmp_path / "new.conll")
    assert read(tmp_path / "new.conll").mentions.rows() == [(0, 1, 2, label)]
