"""Worksheets applied to JSON lines and span files change the decided mentions and no other byte."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

import spanwise
from spanwise.document.dataset import Suspects
from spanwise.errors import InputError
from spanwise.suspicion import apply_decisions, worksheet


def decided(document: Suspects, path: Path) -> None:
    """Write the worksheet with every row accepted."""
    rows = list(csv.DictReader(io.StringIO(worksheet(document), newline="")))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "decision": "accept"} for row in rows)


GOLD = (
    '{"id": "a",  "text": "Ann met Bo in Rome", "spans": [{"start": 0, "end": 3, "label": "PER", "who": 7}, '
    '{"start": 14, "end": 18, "label": "PER",  "note": "ü"}], "meta": {"x": [1,2]}}\r\n'
    '{"id":"b","text":"Ann left Oslo","spans":[],"meta":1}\n'
    '{"id":"c","text":"no name here","spans":[{"start":0,"end":2,"label":"PER"}]}\n'
)
SYSTEM = (
    '{"text": "Ann met Bo in Rome", "spans": [[0, 3, "PER"], [14, 18, "LOC"]]}\n'
    '{"text": "Ann left Oslo", "spans": [[9, 13, "LOC"]]}\n'
    '{"text": "no name here", "spans": []}\n'
)


def test_records_of_json_lines_change_in_place(tmp_path: Path) -> None:
    gold, system = tmp_path / "gold.jsonl", tmp_path / "a.jsonl"
    gold.write_bytes(GOLD.encode())
    system.write_text(SYSTEM, encoding="utf-8")
    document = spanwise.suspects(gold, {"a": system, "b": system})
    decided(document, tmp_path / "sheet.csv")
    done = apply_decisions(tmp_path / "sheet.csv", gold, tmp_path / "new.jsonl")
    assert done.accepted == 3
    expected = GOLD.replace('"end": 18, "label": "PER"', '"end": 18, "label": "LOC"')
    expected = expected.replace('Oslo","spans":[]', 'Oslo","spans":[{"start": 9, "end": 13, "label": "LOC"}]')
    expected = expected.replace('[{"start":0,"end":2,"label":"PER"}]', "[]")
    assert (tmp_path / "new.jsonl").read_bytes().decode() == expected


def test_rows_of_span_files_change_in_place(tmp_path: Path) -> None:
    gold, system = tmp_path / "gold.spans", tmp_path / "a.spans"
    gold.write_text(
        "PER\t1\t1\t1\nORG\t5\t6\t5, 6\n\nNONE\t999\t999\t999\n\nPER\t2\t2\t2\n", encoding="utf-8"
    )
    system.write_text(
        "PER\t1\t1\t1\nORG\t5\t7\t5, 6, 7\n\nLOC\t3\t3\t3\n\nNONE\t999\t999\t999\n", encoding="utf-8"
    )
    document = spanwise.suspects(gold, {"a": system, "b": system})
    decided(document, tmp_path / "sheet.csv")
    apply_decisions(tmp_path / "sheet.csv", gold, tmp_path / "new.spans")
    assert (tmp_path / "new.spans").read_text() == (
        "PER\t1\t1\t1\nORG\t5\t7\t5, 6, 7\n\nLOC\t3\t3\t3\n\nNONE\t999\t999\t999\n"
    )


@pytest.mark.parametrize(
    ("written", "changed", "labels"),
    [
        ('["B-PER",  "O","B-PER"]', '["B-PER",  "O","B-LOC"]', None),
        ("[1,  0,1]", "[1,  0,2]", ["O", "B-PER", "B-LOC"]),
    ],
    ids=["strings", "numbers"],
)
def test_tags_of_json_lines_change_in_place(
    tmp_path: Path, written: str, changed: str, labels: list[str] | None
) -> None:
    line = '{"id": 7, "tokens": ["Ann", "in", "Rome"], "ner_tags": %s,  "note": "ü"}\r\n'
    gold = tmp_path / "gold.jsonl"
    gold.write_bytes((line % written * 2).encode())
    annotation = spanwise.read(gold, labels=labels)
    rows = [(0, 0, 1, "PER"), (0, 2, 3, "LOC"), (1, 0, 1, "PER"), (1, 2, 3, "PER")]
    predicted = spanwise.Annotation(annotation.corpus, spanwise.Mentions.of(rows))
    decided(spanwise.suspects(gold, {"a": predicted, "b": predicted}, labels=labels), tmp_path / "sheet.csv")
    apply_decisions(tmp_path / "sheet.csv", gold, tmp_path / "new.jsonl", labels=labels)
    assert (tmp_path / "new.jsonl").read_bytes().decode() == line % changed + line % written


def test_a_single_json_list_is_refused(tmp_path: Path) -> None:
    gold = tmp_path / "gold.json"
    gold.write_text("[" + ",".join(GOLD.split("\n")[:2]) + "]", encoding="utf-8")
    system = [[(0, 3, "PER"), (14, 18, "LOC")], []]
    annotation = spanwise.read(gold)
    predicted = spanwise.Annotation(
        annotation.corpus, spanwise.Mentions.of([(0, s, e, name) for s, e, name in system[0]])
    )
    decided(spanwise.suspects(annotation, {"a": predicted, "b": predicted}), tmp_path / "sheet.csv")
    with pytest.raises(InputError, match="one JSON list cannot be changed in place"):
        apply_decisions(tmp_path / "sheet.csv", gold, tmp_path / "new.json")


def test_scores_of_systems_are_evidence(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"tokens": ["in", "Rome"], "spans": [[1, 2, "PER"]]}\n', encoding="utf-8")
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text('{"tokens": ["in", "Rome"], "spans": [[1, 2, "LOC", 0.9]]}\n', encoding="utf-8")
    second.write_text('{"tokens": ["in", "Rome"], "spans": [[1, 2, "LOC", 0.7]]}\n', encoding="utf-8")
    suspect = spanwise.suspects(gold, {"a": first, "b": second}).suspects[0]
    assert suspect.evidence.confidence == pytest.approx((0.1 + 0.3) / 2)
    assert any("leave 20 % for the gold reading" in words for words in suspect.evidence.words)
