"""Completed worksheets change exactly the decided mentions and no other byte."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.cli.main import main
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


FULL = "sentence,gold_start,gold_end,gold_label,gold_text,start,end,label,text,context,decision\n"
WORDS = "Anna B-PER\nwent O\nto O\nRome O\n"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1,,,,,3,4,LOC,Rome,Anna went to {Rome}LOC,accept", "for the sentence"),
        ("1,,,,,3,4,LOC,Rome,,accept", "'Rome' for the LOC mention"),
        ("1,0,1,PER,Anna,,,,,[Anna]PER went to Rome,accept", "for the sentence"),
        ("1,0,1,PER,Anna,,,,,,accept", "'Anna' for the PER mention"),
        ("1,,,,,3,4,LOC,Rome,Anna went to {Rome}LOC,reject", "for the sentence"),
        ("1,,,,,3,4,LOC,Rome,Anna went to {Rome}LOC,", "for the sentence"),
    ],
)
@pytest.mark.parametrize("changed", ["quite B-PER\nother O\nwords O\nhere O\n", "A O\n\n" + WORDS])
def test_a_row_with_other_words_than_the_file_is_refused(
    row: str, said: str, changed: str, tmp_path: Path
) -> None:
    gold, decisions, output = (tmp_path / name for name in ("gold.conll", "w.csv", "new.conll"))
    gold.write_text(WORDS, encoding="utf-8")
    fine = "1,0,1,PER,,0,1,ORG,,,accept\n"
    decisions.write_text(FULL + fine + row + "\n", encoding="utf-8")
    apply_decisions(decisions, gold, output)
    output.unlink()
    gold.write_text(changed, encoding="utf-8")
    decisions.write_text(FULL + row + "\n", encoding="utf-8")
    with pytest.raises(spanwise.InputError, match=rf"w\.csv:2: the worksheet says .*{said}"):
        apply_decisions(decisions, gold, output)
    assert not output.exists()


def test_a_proposal_that_was_moved_by_hand_is_applied_if_the_sentence_fits(tmp_path: Path) -> None:
    gold, decisions, output = (tmp_path / name for name in ("gold.conll", "w.csv", "new.conll"))
    gold.write_text(WORDS, encoding="utf-8")
    row = "1,0,1,PER,Anna,2,4,LOC,Rome,[Anna]PER went to {Rome}GPE,accept\n"
    decisions.write_text(FULL + row, encoding="utf-8")
    apply_decisions(decisions, gold, output)
    assert read(output).mentions.rows() == [(0, 2, 4, "LOC")]
    row = "1,0,1,PER,Anna,0,3,LOC,Anna went,{[Anna]PER went}GPE to Rome,accept\n"
    decisions.write_text(FULL + row, encoding="utf-8")
    apply_decisions(decisions, gold, output)
    assert read(output).mentions.rows() == [(0, 0, 3, "LOC")]


def test_the_worksheet_of_a_text_fits_its_text_and_no_other(tmp_path: Path) -> None:
    gold, decisions, output = (tmp_path / name for name in ("gold.jsonl", "w.csv", "new.jsonl"))
    text = "In [Rome] {now}\\nand then"
    gold.write_text(f'{{"text": "{text}", "spans": [[4, 8, "PER"]]}}\n', encoding="utf-8")
    said = read([{"text": text.replace("\\n", "\n"), "spans": [[4, 8, "LOC"]]}])
    lines = worksheet(spanwise.suspects(gold, {"a": said, "b": said}))
    decisions.write_text(lines.rstrip() + "accept\n", encoding="utf-8")
    assert apply_decisions(decisions, gold, output).accepted == 1
    gold.write_text(gold.read_text(encoding="utf-8").replace("now", "new"), encoding="utf-8")
    with pytest.raises(spanwise.InputError, match="for the sentence"):
        apply_decisions(decisions, gold, output)


def test_the_worksheet_of_a_long_text_shows_the_line_of_a_mention_and_compares_it(tmp_path: Path) -> None:
    gold, decisions, output = (tmp_path / name for name in ("gold.jsonl", "w.csv", "new.jsonl"))
    line = f"{'far ' * 40}from Rome {'a long way ' * 20}"
    text = f"{'Anna went home. ' * 200}\n{line}\n{'Nobody saw her. ' * 200}"
    start = text.index("Rome")

    def written(text: str, start: int) -> None:
        record = {"text": text, "spans": [[start, start + 4, "PER"]]}
        gold.write_text(f"{json.dumps(record)}\n", encoding="utf-8")

    written(text, start)
    said = read([{"text": text, "spans": [[start, start + 4, "LOC"]]}])
    (row,) = csv.DictReader(io.StringIO(worksheet(spanwise.suspects(gold, {"a": said, "b": said}))))
    assert row["context"] == f"…{text[start - 60 : start]}{{[Rome]PER}}LOC{text[start + 4 : start + 64]}…"
    assert text[int(row["context_start"]) : int(row["context_end"])] == text[start - 60 : start + 64]

    def applied(**edits: object) -> list[tuple[int, int, int, str]]:
        with decisions.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, row)
            writer.writeheader()
            writer.writerow({**row, "decision": "accept", **edits})
        apply_decisions(decisions, gold, output)
        return read(output).mentions.rows()

    assert applied() == [(0, start, start + 4, "LOC")]
    assert applied(start=start - 5) == [(0, start - 5, start + 4, "LOC")]  # moved by hand
    written(text.replace("Anna", "Hana"), start)  # far from the mention
    assert applied() == [(0, start, start + 4, "LOC")]
    other = text[: start - 20] + "near near near near " + text[start:]
    for changed, at in ((f"On Monday, {text}", start + 11), (other, start), (text[:300], 0)):
        written(changed, at)
        with pytest.raises(spanwise.InputError, match="for the"):
            applied()


def test_decisions_on_annotators_are_refused_if_the_words_are_others(tmp_path: Path) -> None:
    tokens = [["Anna", "went", "to", "Rome"]]
    first, second = (read([spans], tokens=tokens) for spans in ([(0, 1, "PER")], [(3, 4, "LOC")]))
    decisions, majority = tmp_path / "w.csv", tmp_path / "gold.conll"
    spanwise.agree({"a": first, "b": second}, worksheet=decisions)
    text = decisions.read_bytes().decode().replace(",tie,,", ",tie,yes,")
    decisions.write_text(text, encoding="utf-8")
    spanwise.agree({"a": first, "b": second}, majority=majority, decisions=decisions)
    assert len(read(majority).mentions) == 2
    majority.unlink()
    changed = [["Bert", "went", "to", "Rome"]]
    others = (read([spans], tokens=changed) for spans in ([(0, 1, "PER")], [(3, 4, "LOC")]))
    with pytest.raises(spanwise.InputError, match="says 'Anna went to Rome' for the sentence"):
        spanwise.agree(dict(zip("ab", others, strict=True)), majority=majority, decisions=decisions)
    assert not majority.exists()


def test_a_worksheet_of_a_brat_folder_is_applied_to_its_conversion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("gold", "a", "b"):
        Path(name).mkdir()
        Path(name, "one.txt").write_text("Ann left.\nShe is in  Rome.\n", encoding="utf-8")
        label = "PER" if name == "gold" else "LOC"
        Path(name, "one.ann").write_text(f"T1\t{label} 21 25\tRome\n", encoding="utf-8")
    assert main(["suspects", "gold/", "a/", "b/", "-o", "todo.csv", "--quiet"]) == 0
    rows = list(csv.DictReader(io.StringIO(Path("todo.csv").read_text(encoding="utf-8"))))
    with Path("done.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(row | {"decision": "accept"} for row in rows)
    assert main(["suspects", "--apply", "done.csv", "gold/", "-o", "new.jsonl"]) == 3
    assert main(["convert", "gold/", "gold.jsonl"]) == 0
    assert main(["suspects", "--apply", "done.csv", "gold.jsonl", "-o", "new.jsonl"]) == 0
    assert main(["convert", "new.jsonl", "new/", "--to", "brat"]) == 0
    assert Path("new", "one.ann").read_text(encoding="utf-8") == "T1\tLOC 21 25\tRome\n"
    assert Path("new", "one.txt").read_bytes() == Path("gold", "one.txt").read_bytes()
