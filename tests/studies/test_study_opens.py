"""Every file of a study is opened once, and every dataset surveyed once, for all systems and runs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from study_files import make
from watching import entered, opens

import spanwise
from spanwise.cli.main import main
from spanwise.engines import InProcess
from spanwise.studies import read_manifest
from spanwise.studies.run import run_cells

RUNS = ("1", "2", "3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("opens")
    make(path)
    return path


def data(folder: Path) -> set[str]:
    """The paths of all annotation files in the folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.txt")}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_study_opens_each_of_its_files_once(folder: Path, workers: int) -> None:
    with opens(folder) as seen:
        spanwise.study(folder / "study.toml", workers=workers, cache=False)
    del seen["study.toml"]
    assert set(seen) == data(folder)
    assert set(seen.values()) == {1}


def test_cached_cells_open_their_files_once_and_read_none(folder: Path, tmp_path: Path) -> None:
    spanwise.study(folder / "study.toml", workers=1, cache=tmp_path)
    with opens(folder) as seen, entered() as calls:
        spanwise.study(folder / "study.toml", workers=1, cache=tmp_path)
    del seen["study.toml"]
    assert set(seen.values()) == {1}
    assert not [name for _, name in calls if name.startswith("Reader.")]


def test_a_dataset_is_surveyed_once_for_all_systems_and_runs(folder: Path) -> None:
    with entered() as calls:
        document = spanwise.study(folder / "study.toml", workers=1, cache=False)
    once = [
        ("evaluation/dataset.py", "look_at"),
        ("evaluation/dataset.py", "fix_facts"),
        ("evaluation/counting.py", "GoldBlock.of"),
        ("attributes/_lexicon.py", "Lexicon.of"),
    ]
    assert {name: calls[name] for name in once} == dict.fromkeys(once, len(document.datasets))
    files = len(data(folder))
    assert calls["formats/__init__.py", "read_by"] == calls["formats/_format.py", "_recognised"] == files


def test_groups_of_cells_change_no_result(folder: Path) -> None:
    manifest = read_manifest(folder / "study.toml")
    whole, parted = (
        run_cells(manifest, cache=None, engine=InProcess(), progress=lambda text: None, group_bytes=held)
        for held in (1 << 30, 1)
    )
    assert parted.cells == whole.cells
    assert parted.plan == whole.plan


@pytest.mark.parametrize("packed", [False, True])
def test_an_evaluation_opens_each_of_its_files_once(folder: Path, tmp_path: Path, packed: bool) -> None:
    names = {"gold": "north/test.txt", "train": "north/train.txt", "a": "north/predictions/small.1.txt"}
    files = {}
    for name, path in names.items():
        text = (folder / path).read_bytes() * (
            1 if packed else 40
        )  # longer than the head used to detect the format
        files[name] = tmp_path / f"{name}.txt{'.gz' if packed else ''}"
        files[name].write_bytes(gzip.compress(text) if packed else text)
    with opens(tmp_path) as seen, entered() as calls:
        options = ["--train", str(files["train"]), "--quiet", "--resamples", "0"]
        assert main(["evaluate", str(files["gold"]), str(files["a"]), *options]) == 0
    assert seen == {path.name: 1 for path in files.values()}
    assert calls["formats/_format.py", "_recognised"] == len(files)


def test_runs_on_the_command_line_are_opened_once(folder: Path) -> None:
    pattern = f"a={folder}/north/predictions/small.{{run}}.txt"
    with opens(folder) as seen:
        assert main(["evaluate", str(folder / "north/test.txt"), pattern, "--quiet", "--resamples", "0"]) == 0
    assert seen == {"north/test.txt": 1, **{f"north/predictions/small.{run}.txt": 1 for run in RUNS}}
