"""Span files read in parts give the same bytes as files read whole."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

import spanwise
from spanwise.demo import Demo
from spanwise.errors import InputError
from spanwise.formats.parts import Cutting, pieces, read_piece, surveyed
from spanwise.formats.writing import write


@pytest.fixture
def small_parts(cut_records: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that makes records be read in parts of a few sentences from then on."""

    def begin() -> None:
        cut_records(20)
        monkeypatch.setattr("spanwise.formats._surveying.LINES", 300)

    return begin


@pytest.mark.parametrize("suffix", ["spans", "spans.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_span_files_give_the_same_bytes_in_parts_as_whole(
    demo: Demo, tmp_path: Path, small_parts: Callable[[], None], end: str, suffix: str
) -> None:
    files = {}
    for name, path in {"gold": demo.gold, **demo.systems}.items():
        write(spanwise.read(path), tmp_path / f"{name}.spans", lossy=True)
        text = (tmp_path / f"{name}.spans").read_text("utf-8")
        text = text.replace("\n\n", "\n\n\n", 3).replace("\n", end)
        files[name] = tmp_path / f"of.{name}.{suffix}"
        files[name].write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    small_parts()
    survey = surveyed(files["gold"], {}, Cutting(tokens=20))
    assert survey is not None and survey.parts > 1
    whole = spanwise.read(files["gold"])
    parts = [read_piece(survey, piece)["only"] for piece in pieces(survey)]
    lines = [[] if part.corpus.source.lines is None else part.corpus.source.lines.tolist() for part in parts]
    assert whole.corpus.source.lines is not None
    assert [line for some in lines for line in some] == whole.corpus.source.lines.tolist()
    assert sum(len(part.mentions) for part in parts) == len(whole.mentions)
    systems = {name: files[name] for name in demo.systems}
    in_parts = spanwise.evaluate(files["gold"], systems, memory="1GB", resamples=10).to_json()
    assert in_parts == spanwise.evaluate(files["gold"], systems, resamples=10).to_json()


@pytest.mark.parametrize(
    "line", ["PER\t3", "PER\t3\tx\t3", "PER\t2\t1", "\t1\t2", "PER\t1\t1\t1\nPER\t1\t1\t1"]
)
def test_a_wrong_row_of_spans_is_reported_in_parts_as_whole(
    tmp_path: Path, small_parts: Callable[[], None], line: str
) -> None:
    path = tmp_path / "gold.spans"
    good = "PER\t1\t2\t1, 2\n\n"
    path.write_text(good * 90 + line + "\n\n" + good * 90 + line + "\n", encoding="utf-8")
    with pytest.raises(InputError) as whole:
        spanwise.evaluate(path, {"mine": path})
    small_parts()
    with pytest.raises(InputError) as parts:
        spanwise.evaluate(path, {"mine": path}, memory="1GB")
    assert str(parts.value) == str(whole.value)
