"""Parts of files are read by processes with another working directory; failures there take one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwise import read
from spanwise.demo import generate
from spanwise.engines.spark import _failed
from spanwise.errors import InputError, MissingExtra, WorkerLost
from spanwise.formats._format import Cutting
from spanwise.formats.parts import pieces, read_piece, surveyed
from spanwise.formats.writing import write


@pytest.mark.parametrize("name", ["gold.conll", "gold.jsonl"])
def test_a_relative_path_is_read_from_any_working_directory(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo = generate(tmp_path, sentences=20)
    write(read(demo.gold), tmp_path / "gold.jsonl")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    survey = surveyed(name, {}, Cutting(tokens=60))
    assert survey is not None and survey.parts > 1 and survey.path == name
    listed = list(pieces(survey))
    monkeypatch.chdir("elsewhere")
    parts = [read_piece(survey, piece)["only"] for piece in listed]
    assert sum(len(part.mentions) for part in parts) == len(read(demo.gold).mentions)
    assert parts[0].corpus.source.path == name


def test_a_failed_job_says_in_one_sentence_what_the_executors_lack() -> None:
    unseen = _failed("FileNotFoundError: [Errno 2] No such file or directory: '/data/gold.conll'")
    assert isinstance(unseen, InputError)
    assert str(unseen).startswith("/data/gold.conll: the executors of Spark cannot open this file.\n")
    missing = _failed("ModuleNotFoundError: No module named 'spanwise.engines'")
    assert isinstance(missing, MissingExtra)
    assert str(missing).startswith("the executors of Spark cannot import 'spanwise'.\n")
    assert isinstance(_failed("Job aborted due to stage failure"), WorkerLost)
