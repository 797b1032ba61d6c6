"""Folders of brat files: all their documents, in their order, and no others."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from spanwise.cli.main import main
from spanwise.errors import InputError
from spanwise.formats import read, standoff, write_atomically
from spanwise.formats.writing import write

RECORDS = [
    {"text": f"text {i}", "spans": [{"start": 0, "end": 4, "label": "X", "score": i / 16}]} for i in range(12)
]


def test_twelve_documents_are_read_in_their_order(tmp_path: Path) -> None:
    source = read(RECORDS)
    write(source, tmp_path / "out", format="brat")
    assert sorted(path.name for path in (tmp_path / "out").glob("*.ann"))[:2] == ["01.ann", "02.ann"]
    again = read(tmp_path / "out")
    assert again.corpus.texts == source.corpus.texts
    assert again.mentions.score is not None and again.mentions.score.tolist() == [i / 16 for i in range(12)]


def test_names_without_zeros_are_read_in_natural_order(tmp_path: Path) -> None:
    for number in (1, 2, 10, 11):
        (tmp_path / f"d{number}.txt").write_text(f"text {number}")
        (tmp_path / f"d{number}.ann").write_text("")
    assert read(tmp_path).corpus.document_ids == ("d1", "d2", "d10", "d11")


def test_names_that_are_not_in_their_order_are_refused_or_named_as_lost(tmp_path: Path) -> None:
    source = read([{"text": text, "spans": [], "document": name, "id": name} for text, name in ("ab", "ba")])
    with pytest.raises(InputError, match="'b' is not in its place among the documents"):
        write(source, tmp_path / "out", format="brat")
    assert not (tmp_path / "out").exists()
    assert write(source, tmp_path / "out", format="brat", lossy=True) == ("2 document names",)
    assert read(tmp_path / "out").corpus.texts == source.corpus.texts


def test_a_folder_with_other_files_is_refused_and_an_empty_one_is_filled(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    write(read(RECORDS[:2]), folder, format="brat")
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(InputError, match=r"already holds other files\.\nChoose an empty or a new folder"):
        write(read(RECORDS), folder, format="brat")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == kept
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_full_disk_leaves_no_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []

    def fill(path: Path, data: str) -> None:
        written.append(path)
        if len(written) > 9:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_atomically(path, data)

    monkeypatch.setattr(standoff, "write_atomically", fill)
    with pytest.raises(InputError, match=r"out: the folder cannot be written \(No space left on device\)"):
        write(read(RECORDS), tmp_path / "out", format="brat")
    assert list(tmp_path.iterdir()) == []


def test_a_loss_is_refused_or_named_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(
        '{"id": "s1", "document": "d1", "tokens": ["Anna", "left"], "spans": [[0, 1, "PER", 0.9]], '
        '"year": 1}\n'
        '{"id": "s2", "document": "d1", "tokens": ["Bo", "too"], "spans": [], "year": 2}\n'
    )
    held = "2 sentence ids; 1 document name; 1 score; 1 further field (year)"
    assert main(["convert", str(source), str(tmp_path / "out.conll")]) == 3
    refused = capsys.readouterr().err
    assert (
        f"conll cannot hold all of this: {held}.\nWrite jsonl, or leave out what does not fit with --lossy."
        in refused
    )
    assert main(["convert", str(source), str(tmp_path / "out.conll"), "--lossy"]) == 0
    assert capsys.readouterr().err.splitlines()[1:] == [f"lost: {held}"]
    assert main(["convert", str(source), str(tmp_path / "out.jsonl")]) == 0
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert '"document": "d1"' in lines[0] and '"score": 0.9' in lines[0] and '"year": 2' in lines[1]
