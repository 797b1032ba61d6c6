"""An evaluation is a study of one dataset with one run per system; several runs keep all its information."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from study_files import make
from typed import present

import spanwise
from spanwise.cli.main import main
from spanwise.document.study import Study
from spanwise.studies.run import _of_one_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("one")
    make(path, count=150)
    return path


def study(folder: Path, pattern: str, names: tuple[str, ...] = ("large", "small"), **options: str) -> Study:
    """A study of one dataset, with a pattern for the runs of each system."""
    systems = {name: {"predictions": f"north/predictions/{name}.{pattern}.txt"} for name in names}
    dataset = {"test": "north/test.txt", "train": "north/train.txt"}
    manifest = {"datasets": {"north": dataset}, "systems": systems, "resamples": 200, **options}
    return spanwise.study(manifest, root=folder, workers=1, cache=False)


def test_with_one_run_each_the_findings_equal_those_of_an_evaluation(folder: Path) -> None:
    files = {name: folder / "north" / "predictions" / f"{name}.1.txt" for name in ("large", "small")}
    result = spanwise.evaluate(
        folder / "north" / "test.txt", files, train=folder / "north" / "train.txt", resamples=200
    )
    part = study(folder, "1")["north"]
    assert result.findings
    assert [(row.kind, row.path, row.value) for row in part.findings] == [
        (row.kind, row.path, row.value) for row in result.findings
    ]
    # A study evaluates one system at a time, so its patterns lack the counts of the others.
    assert {name: runs["1"] for name, runs in part.runs.items()} == {
        name: _of_one_run(scores) for name, scores in result.systems.items()
    }


def test_several_runs_agree_on_findings(folder: Path) -> None:
    part = study(folder, "{run}", ("rules",))["north"].findings
    own = [row for row in part if row.kind in ("gain", "tough", "slice")]
    assert own
    for row in own:
        agreeing, runs = present(row.runs)
        assert runs == 3
        assert agreeing > 1
        assert row.run in ("1", "2", "3")


def test_sentences_are_listed_under_their_system_with_its_runs(folder: Path, tmp_path: Path) -> None:
    assert "sentences" not in study(folder, "{run}").to_dict()["datasets"]["north"]
    document = study(folder, "{run}", examples="errors")
    part = document["north"]
    files = {run: folder / "north" / "predictions" / f"large.{run}.txt" for run in ("1", "2", "3")}
    result = spanwise.evaluate(
        folder / "north" / "test.txt", files, train=folder / "north" / "train.txt", resamples=0
    )
    sentences = present(part.sentences)["large"]
    assert [row.gold for row in sentences] == [row.gold for row in result.sentences]
    assert present(sentences[0].source).startswith("north/test.txt:")
    assert present(part.examples)["large"] == result.examples
    path = tmp_path / "study.json"
    document.to_json(path)
    assert spanwise.load(path).to_json() == document.to_json()


def test_nothing_is_tested_over_a_single_dataset(folder: Path) -> None:
    part = study(folder, "{run}")
    (pair,) = part.to_dict()["analyses"]["bucket_wise"]["comparative"]
    assert "overall" in pair and "over_datasets" not in pair
    assert "over_datasets" not in part.to_dict()["analyses"]


def test_letters_state_what_they_leave_out(folder: Path) -> None:
    assert study(folder, "1").analyses.letters_about == {
        "north": "of these models; training seeds not considered"
    }
    assert "letters_about" not in study(folder, "{run}").to_dict()["analyses"]


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_the_commands_accept_runs_and_keep_everything(folder: Path, tmp_path: Path, command: str) -> None:
    files = [f"{name}={folder}/north/predictions/{name}.{{run}}.txt" for name in ("large", "small")]
    written = tmp_path / "runs.json"
    gold = str(folder / "north" / "test.txt")
    assert main([command, gold, *files, "--resamples", "50", "--quiet", "--json", str(written)]) == 0
    (part,) = json.loads(written.read_text(encoding="utf-8"))["datasets"].values()
    assert set(part["runs"]["large"]["1"]) >= {"exact", "fair", "gains", "confusion", "attributes", "slices"}
    assert part["findings"]
    assert set(part["sentences"]) == {"large", "small"}
