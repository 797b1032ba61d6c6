"""`spanwise validate` lists the problems of files, line by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spanwise.cli.main import main

BAD = "a B-X\nb\nc I-Y\nd o\n\ne I-X extra\n\nf E-X\n"


def test_every_malformed_line_and_impossible_tag_is_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.conll"
    path.write_text(BAD)
    assert main(["validate", str(path)]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in lines] == [f"{path}:{n}" for n in (2, 3, 4, 6, 8)] + [str(path)]
    assert "the line has 1 column, but there are 2" in lines[0]
    assert lines[1].endswith("no mention of its label is open before it. Write 'B-Y'.")
    assert "outside mentions the tag is 'O'" in lines[2]
    assert lines[4].endswith("IOB2 has no such letter. Write 'B-X'.")
    assert lines[5].endswith(
        "3 malformed, so the file cannot be used as it is; 2 impossible tags, which reading repairs"
    )


def test_only_impossible_tags_give_status_one_and_no_problems_zero(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stray, fine = tmp_path / "stray.conll", tmp_path / "fine.conll"
    stray.write_text("a B-X\nb O\nc B-X\nd O\ne I-X\n")
    fine.write_text("a B-X\nb I-X\n")
    assert main(["validate", str(fine)]) == 0
    assert capsys.readouterr().out.endswith("1 sentence, 1 mention; nothing is wrong\n")
    assert main(["validate", str(stray), str(fine)]) == 1
    assert "1 impossible tag, which reading repairs" in capsys.readouterr().out
    assert main(["validate", "--scheme", "IOB1", str(fine)]) == 1
    assert "B- may only follow a mention of the same label. Write 'I-X'." in capsys.readouterr().out


def test_the_list_can_be_limited_and_be_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.conll"
    path.write_text(BAD)
    main(["validate", str(path), "--most", "2"])
    assert f"{path}: 3 more are not shown" in capsys.readouterr().out
    main(["validate", str(path), "--json"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["line"] for row in rows] == [2, 3, 4, 6, 8]
    assert [row["repairable"] for row in rows] == [False, True, False, False, True]


def test_files_of_other_formats_and_broken_ones_are_reported_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "f.jsonl"
    lines.write_text('{"tokens": ["a"], "tags": ["O"]}\n{"tokens": ["a"]}\n')
    assert main(["validate", str(lines)]) == 3
    assert "f.jsonl:2: the record needs tokens with tags" in capsys.readouterr().out
    bytes_ = tmp_path / "g.conll"
    bytes_.write_bytes(b"a O\n\xff O\nb o\n")
    assert main(["validate", str(bytes_)]) == 3
    shown = capsys.readouterr().out
    assert "g.conll:2: the byte 0xff is not UTF-8" in shown
    assert "g.conll:3: 'o' is not a tag" in shown
    empty = tmp_path / "empty.conll"
    empty.write_text("")
    assert main(["validate", str(empty)]) == 3
    assert "empty.conll: the file has no tokens" in capsys.readouterr().out
    assert main(["validate", str(tmp_path / "missing.conll")]) == 3


def test_the_fixed_file_is_clean(tmp_path: Path) -> None:
    path = tmp_path / "stray.conll"
    path.write_text("a B-X\nb I-Y\nc I-X\n")
    assert main(["validate", str(path)]) == 1
    assert main(["convert", str(path), str(tmp_path / "fixed.conll")]) == 0
    assert main(["validate", str(tmp_path / "fixed.conll")]) == 0


def test_every_wrong_record_and_row_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = tmp_path / "f.jsonl"
    good = '{"tokens": ["a", "b"], "tags": ["B-X", "I-X"]}'
    records.write_text(f'{good}\n{{"tokens": ["a"], "tags": []}}\nnull\n{good.replace("B-X", "o")}\n[\n')
    assert main(["validate", str(records)]) == 3
    shown = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0].rsplit(":")[-1] for line in shown[:-1]] == ["2", "3", "4", "4", "5"]
    assert "the record has 0 tags, but 1 token" in shown[0]
    assert "'o' is not a tag" in shown[2]
    assert "the tag 'I-X' is impossible in IOB2" in shown[3]
    twice = tmp_path / "g.jsonl"
    twice.write_text(
        '{"text": "ab", "spans": [[0, 1, "X"], [0, 1, "X"]]}\n{"text": "a", "spans": [[0, 9, "X"]]}\n'
    )
    assert main(["validate", str(twice)]) == 3
    assert len(capsys.readouterr().out.splitlines()) == 3
    rows = tmp_path / "f.spans"
    rows.write_text("X\t1\t1\t1\n\nX\t0\t1\nX\t3\t1\n\nNONE\t9\t9\n")
    assert main(["validate", str(rows)]) == 3
    assert [line.split(": ")[0] for line in capsys.readouterr().out.splitlines()][:2] == [
        f"{rows}:3",
        f"{rows}:4",
    ]
