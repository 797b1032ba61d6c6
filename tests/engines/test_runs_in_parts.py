"""Runs and studies in parts give the same document as in memory, however their blocks are run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from parts import small_parts
from sparking import session
from study_files import make
from watching import entered

import spanwise
from spanwise.cli.main import main
from spanwise.engines.spark import SparkEngine
from spanwise.errors import InputError

Engine = Callable[[], dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parted")
    make(path, count=60)
    return path


def systems(folder: Path) -> dict[str, str]:
    """Two systems with three runs each, and one with a single file."""
    predictions = folder / "north" / "predictions"
    several = {name: f"{predictions}/{name}.{{run}}.txt" for name in ("large", "small")}
    return {**several, "rules": f"{predictions}/rules.1.txt"}


def test_runs_give_the_same_bytes_wherever_their_blocks_run(folder: Path, engine: Engine) -> None:
    gold, train = folder / "north" / "test.txt", folder / "north" / "train.txt"
    options: dict[str, Any] = {"train": train, "resamples": 50, "examples": "errors"}
    whole = spanwise.evaluate(gold, systems(folder), **options)
    assert spanwise.evaluate(gold, systems(folder), **options, **engine()).to_json() == whole.to_json()


def test_a_study_gives_the_same_bytes_wherever_its_blocks_run(folder: Path, engine: Engine) -> None:
    whole = spanwise.study(folder / "study.toml", workers=1, cache=False)
    result = spanwise.study(folder / "study.toml", cache=False, **{"workers": 1, **engine()})
    assert result.to_json() == whole.to_json()


def test_parts_of_runs_are_counted_on_spark(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_parts(monkeypatch, tokens=60)
    gold = folder / "north" / "test.txt"
    whole = spanwise.evaluate(gold, systems(folder), resamples=20)
    engine = SparkEngine(session(), partitions=3)
    parts = spanwise.evaluate(gold, systems(folder), resamples=20, memory="1GB", engine=engine)
    assert parts.to_json() == whole.to_json()


@pytest.mark.parametrize("align", ["strict", "characters"])
def test_documents_and_alignment_are_the_same_in_parts(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, align: str
) -> None:
    small_parts(monkeypatch, tokens=60)
    names = {"gold": "north/test.txt", "a.1": "north/predictions/large.1.txt"}
    names["a.2"] = "north/predictions/large.2.txt"
    for name, path in names.items():
        parts = (folder / path).read_text(encoding="utf-8").strip().split("\n\n")
        marked = [f"-DOCSTART- O\n\n{part}" if at % 7 == 0 else part for at, part in enumerate(parts)]
        (tmp_path / f"{name}.conll").write_text("\n\n".join(marked) + "\n", encoding="utf-8")
    pattern = str(tmp_path / "a.{run}.conll")
    options: dict[str, Any] = {"resamples": 20, "align": align, "unit": "document"}
    whole, cut = (
        spanwise.evaluate(tmp_path / "gold.conll", {"a": pattern}, **options, memory=memory)
        for memory in (None, "1GB")
    )
    assert whole.to_json() == cut.to_json()


def test_answers_are_placed_in_parts_as_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_parts(monkeypatch, tokens=3)
    text = "".join(f"Ann{n} B-PER\nwent O\nto O\nRome B-LOC\n\n" for n in range(9))
    (tmp_path / "gold.conll").write_text(text, encoding="utf-8")
    rows = [
        f'{{"id": "{n}", "sample": "{run}", "answers": [{{"text": "Ann{n}", "label": "PER"}}]}}'
        for n in range(9)
        for run in ("1", "2")
        if n + int(run) != 5
    ]
    (tmp_path / "llm.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    manifest = {
        "datasets": {"news": {"test": "gold.conll"}},
        "systems": {"llm": {"predictions": "llm.jsonl", "answers": "ordered"}},
    }
    whole, cut = (
        spanwise.study(manifest, root=tmp_path, workers=1, cache=False, memory=memory)
        for memory in (None, "1GB")
    )
    assert whole.to_json() == cut.to_json()


def test_files_of_other_cells_stay_closed_while_a_cell_is_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_parts(monkeypatch, tokens=60)
    with entered() as calls:
        spanwise.study(folder / "study.toml", workers=1, cache=False, memory="1GB")
    assert calls["evaluation/dataset.py", "fix_facts"] == 2
    assert ("evaluation/prepared.py", "ReadGold.of") not in calls


def test_evaluations_in_parts_use_the_cache_of_evaluations_in_memory(folder: Path, tmp_path: Path) -> None:
    whole = spanwise.study(folder / "study.toml", workers=1, cache=tmp_path)
    messages: list[str] = []
    result = spanwise.study(folder / "study.toml", memory="1GB", cache=tmp_path, progress=messages.append)
    assert result.to_json() == whole.to_json()
    assert any("taken from the cache" in line for line in messages)


def test_an_unusable_file_is_reported_before_anything_is_counted(folder: Path, tmp_path: Path) -> None:
    gold = folder / "north" / "test.txt"
    for run in ("1", "2"):
        (tmp_path / f"a.{run}.txt").write_text("one O\n" * int(run), encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.1\.txt: there is 1 sentence, but"):
        spanwise.evaluate(gold, {"a": str(tmp_path / "a.{run}.txt")}, memory="1GB")


def test_the_commands_accept_memory_with_runs(folder: Path, tmp_path: Path) -> None:
    sizes: Counter[str] = Counter()
    for memory in ([], ["--memory", "1MB"]):
        page = tmp_path / "study.json"
        arguments = [str(folder / "study.toml"), "--no-cache", "--quiet", "--workers", "1"]
        assert main(["study", *arguments, *memory, "--json", str(page)]) == 0
        sizes[page.read_text(encoding="utf-8")] += 1
    assert len(sizes) == 1
    gold = str(folder / "north" / "test.txt")
    runs = [f"{name}={path}" for name, path in systems(folder).items()]
    assert main(["evaluate", gold, *runs, "--memory", "1MB", "--quiet", "--resamples", "0"]) == 0
