"""Which files are evaluated in parts, and by how many processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spanwise.errors import ChoiceError
from spanwise.evaluation.choices import AMPLE, DEFAULT_PART, MOST_WORKERS, parts_of

MB = 1 << 20


@pytest.fixture
def sized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that writes gold and predictions of a size, and simulates a machine's memory and cores."""

    def make(size: int, *, have: int | None = 64 << 30, cores: int = 2, **options: Any) -> Any:
        for name in ("gold.conll", "mine.conll"):
            with (tmp_path / name).open("wb") as stream:
                stream.write(b"Rome B-LOC\n" * 20_000)  # enough to detect the format
                stream.truncate(size // 2)  # a sparse file takes no disk space
        monkeypatch.setattr("spanwise.evaluation.choices._physical", lambda: have)
        monkeypatch.setattr("spanwise.evaluation.choices.cores", lambda: cores)
        given = {"memory": None, "workers": 1, "streamable": True, "reading": {}, **options}
        return parts_of(gold=tmp_path / "gold.conll", systems=[tmp_path / "mine.conll"], **given)

    return make


def test_small_files_are_read_whole(sized: Any) -> None:
    assert sized(10 * MB) == (None, 1)
    assert sized(10 * MB, workers=None) == (None, 1)


def test_large_files_are_evaluated_in_parts_by_default(sized: Any) -> None:
    assert sized(200 * MB, workers=None) == (AMPLE, 2)
    assert sized(200 * MB, workers=None, cores=1) == (AMPLE, 1)
    assert sized(200 * MB, workers=None, cores=64) == (AMPLE, MOST_WORKERS)
    assert sized(200 * MB, workers=None, have=1 << 30) == (512 * MB, 2)
    assert sized(200 * MB, workers=None, have=None) == (AMPLE, 2)


def test_python_reads_files_whole_as_long_as_they_fit(sized: Any) -> None:
    assert sized(200 * MB) == (None, 1)
    assert sized(200 * MB, have=1 << 30) == (512 * MB, 1)
    assert sized(200 * MB, have=None) == (None, 1)


def test_explicit_settings_are_respected(sized: Any) -> None:
    assert sized(200 * MB, memory="64MB", workers=None) == (64 * MB, 1)
    assert sized(200 * MB, memory="64MB", workers=3) == (64 * MB, 3)
    assert sized(10 * MB, workers=3) == (DEFAULT_PART, 3)


def test_json_lines_are_read_in_parts_only_if_they_do_not_fit(sized: Any) -> None:
    assert sized(200 * MB, workers=None, reading={"format": "jsonl"}) == (None, 1)
    assert sized(200 * MB, have=1 << 30, reading={"format": "jsonl"}) == (1 << 29, 1)


def test_formats_that_cannot_be_read_in_parts_are_read_whole(sized: Any) -> None:
    for reading in ({"format": "xmi"}, {"encoding": "latin-1"}):
        assert sized(200 * MB, workers=None, reading=reading) == (None, 1)
        assert sized(200 * MB, have=1 << 30, reading=reading) == (None, 1)
    assert sized(200 * MB, workers=None, streamable=False) == (None, 1)
    assert parts_of(None, None, [["B-PER"]], {"mine": [["O"]]}, streamable=True, reading={}) == (None, 1)
    with pytest.raises(ChoiceError, match="a preset needs all files at once"):
        sized(10 * MB, memory="64MB", streamable=False)
