"""`spanwise convert` converts between formats and schemes without loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise import formats
from spanwise.cli.main import main

TEXT = "-DOCSTART- O\n\nNew I-LOC\nYork I-LOC\nOslo B-LOC\n\n-DOCSTART- O\n\nis O\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.conll"
    path.write_text(TEXT)
    return path


def test_schemes_are_converted(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.conll"
    assert main(["convert", str(source), str(target), "--to-scheme", "BILOU"]) == 0
    assert (
        target.read_text()
        == TEXT.replace("New I", "New B").replace("York I", "York L").replace("Oslo B", "Oslo U") + "\n"
    )
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"{target}: 2 sentences, 2 mentions, read as conll (2 columns separated by blanks; IOB1, because "
        "1 mention starts with I-)\n"
    )


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz", "out.conll.xz", "out.spans"])
def test_a_round_trip_loses_nothing(source: Path, tmp_path: Path, name: str) -> None:
    first = formats.read(source)
    lossy = ["--lossy"] if name == "out.spans" else []  # which holds no words
    assert main(["convert", str(source), str(tmp_path / name), *lossy]) == 0
    back = formats.read(tmp_path / name)
    assert back.mentions.rows() == first.mentions.rows()
    if name != "out.spans":
        assert back.corpus.documents is not None
        assert back.corpus.documents.tolist() == [0, 1, 2]
        again = tmp_path / "again.conll"
        assert main(["convert", str(tmp_path / name), str(again), "--to-scheme", "IOB1"]) == 0
        assert formats.read(again).mentions.rows() == first.mentions.rows()


def test_repairs_and_notes_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in.conll"
    path.write_text("a I-X\nb B-X\xa0\n")
    assert main(["convert", str(path), str(tmp_path / "out.conll"), "--scheme", "IOB2"]) == 0
    captured = capsys.readouterr().err
    assert "1 tag repaired (conlleval)" in captured
    assert "note: the label 'X\\xa0' holds a no-break space; without it there is 'X'" in captured


def test_what_the_target_cannot_express_is_an_error_and_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nested = tmp_path / "nested.jsonl"
    nested.write_text('{"tokens": ["a", "b"], "spans": [[0, 2, "X"], [0, 1, "Y"]]}\n')
    assert main(["convert", str(nested), str(tmp_path / "out.conll")]) == 3
    assert "conll cannot hold all of this: 1 nested or overlapping mention" in capsys.readouterr().err
    assert not (tmp_path / "out.conll").exists()
    assert main(["convert", str(nested), str(tmp_path / "out.what")]) == 2
    assert "does not name a format to write" in capsys.readouterr().err


def test_reading_options_reach_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("# c\nNN a B-X x\n")
    flags = [
        "--token-column",
        "1",
        "--tag-column",
        "-2",
        "--comments",
        "#",
        "--scheme",
        "BIO",
        "--repair",
        "none",
    ]
    assert main(["convert", str(path), str(tmp_path / "out.conll"), *flags]) == 0
    assert (tmp_path / "out.conll").read_text() == "a B-X\n\n"
    numbers = tmp_path / "n.jsonl"
    numbers.write_text('{"tokens": ["a"], "ner_tags": [1]}\n')
    assert main(["convert", str(numbers), str(tmp_path / "n.conll"), "--labels", "O,B-X"]) == 0


def test_errors_name_options_instead_of_keywords(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "in.conll"
    path.write_bytes(b"\xff O\n")
    assert main(["convert", str(path), str(tmp_path / "out.jsonl")]) == 3
    assert "or name its encoding, such as --encoding latin-1." in capsys.readouterr().err
    path.write_text('{"tokens": ["a"], "tags": [1]}\n')
    assert main(["convert", str(path), str(tmp_path / "out.jsonl"), "--format", "jsonl"]) == 3
    assert "Say what the numbers mean with --labels, the list" in capsys.readouterr().err


def test_standard_output_needs_the_name_of_a_format(
    source: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["convert", str(source), "-"]) == 2
    assert b"Add --to FORMAT." in capfdbinary.readouterr().err
    assert main(["convert", str(source), "-", "--to", "brat"]) == 2
    assert b"cannot be written to standard output" in capfdbinary.readouterr().err
    assert main(["convert", str(source), "-", "--to", "jsonl"]) == 0
    shown = capfdbinary.readouterr().out
    assert main(["convert", str(source), "out.jsonl"]) == 0
    assert (tmp_path / "out.jsonl").read_bytes() == shown
    assert not (tmp_path / "-").exists()
