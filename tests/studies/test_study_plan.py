"""The plan of a study: which files it reads and which runs are missing or copies; and its cache."""

from __future__ import annotations

import re
import shutil
import zlib
from pathlib import Path

import pytest
from study_files import make

import spanwise
from spanwise.document.study import SharedRuns
from spanwise.errors import InputError
from spanwise.studies import make_plan, manifest_of, read_manifest


def touch(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def runs(folder: Path, pattern: str, system: str, *datasets: str) -> list[dict[str, str]]:
    """For each dataset, the runs of a system and the file that the plan found for each."""
    touch(folder, "gold")
    tree = {"datasets": {name: {"test": "gold"} for name in datasets}, "systems": {system: {}}}
    plan = make_plan(manifest_of({"predictions": pattern, **tree}, root=folder))
    return [{run: file.shown for run, file in cell.runs.items()} for cell in plan.cells]


def test_runs_are_found_by_their_pattern(tmp_path: Path) -> None:
    touch(tmp_path, "kin/bert.1.txt", "kin/bert.2.txt", "kin/crf.1.txt", "ewe/bert.7.txt", "kin/bert.1.bak")
    (files,) = runs(tmp_path, "{dataset}/{system}.{run}.txt", "bert", "kin")
    assert files == {"1": "kin/bert.1.txt", "2": "kin/bert.2.txt"}


def test_a_run_may_be_a_folder_and_must_be_the_same_throughout(tmp_path: Path) -> None:
    touch(tmp_path, "seed-1/kin-1.txt", "seed-2/kin-1.txt", "seed-2/kin-2.txt", "seed-3/other.txt")
    (files,) = runs(tmp_path, "seed-{run}/{dataset}-{run}.txt", "x", "kin")
    assert files == {"1": "seed-1/kin-1.txt", "2": "seed-2/kin-2.txt"}


def test_a_pattern_without_runs_is_one_run(tmp_path: Path) -> None:
    touch(tmp_path, "kin/rules.txt")
    files = runs(tmp_path, "{dataset}/{system}.txt", "rules", "ewe", "kin")
    assert files == [{}, {"1": "kin/rules.txt"}]


def test_special_characters_in_a_pattern_are_literal(tmp_path: Path) -> None:
    touch(tmp_path, "kin/a+b[1].x.txt", "kin/aab1.x.txt")
    (files,) = runs(tmp_path, "{dataset}/{system}.{run}.txt", "a+b[1]", "kin")
    assert files == {"x": "kin/a+b[1].x.txt"}


def test_an_absolute_pattern_is_used_as_it_is(tmp_path: Path) -> None:
    touch(tmp_path, "kin/bert.1.txt")
    (files,) = runs(tmp_path / "elsewhere", f"{tmp_path}/kin/bert.{{run}}.txt", "bert", "kin")
    assert list(files) == ["1"]


def test_runs_are_in_natural_order(tmp_path: Path) -> None:
    touch(tmp_path, *(f"bert.{run}.txt" for run in ("10", "2", "seed10", "seed9")))
    (files,) = runs(tmp_path, "{system}.{run}.txt", "bert", "kin")
    assert list(files) == ["2", "10", "seed9", "seed10"]


def test_a_missing_run_is_allowed_and_shown(tmp_path: Path) -> None:
    manifest = make(tmp_path)
    (tmp_path / "north" / "predictions" / "small.2.txt").unlink()
    plan = make_plan(read_manifest(manifest))
    assert plan.missing == [{"dataset": "north", "system": "small", "run": "2"}]


def test_a_whole_cell_may_be_missing(tmp_path: Path) -> None:
    manifest = make(tmp_path)
    for run in "123":
        (tmp_path / "south" / "predictions" / f"rules.{run}.txt").unlink()
    plan = make_plan(read_manifest(manifest))
    assert [row["run"] for row in plan.missing] == ["1", "2", "3"]


def test_runs_may_be_listed_so_that_a_run_missing_everywhere_is_shown(tmp_path: Path) -> None:
    manifest = make(tmp_path, runs=("1", "2"))
    text = manifest.read_text().replace("[systems.rules]", '[systems.rules]\nruns = ["1", "2", "9"]')
    manifest.write_text(text)
    missing = make_plan(read_manifest(manifest)).missing
    assert [(row["system"], row["run"]) for row in missing] == [("rules", "9"), ("rules", "9")]


def test_identical_files_are_one_run(tmp_path: Path) -> None:
    manifest = make(tmp_path)
    folder = tmp_path / "north" / "predictions"
    for run in ("2", "3"):
        shutil.copy(folder / "rules.1.txt", folder / f"rules.{run}.txt")
    plan = make_plan(read_manifest(manifest))
    assert plan.identical == [
        {"dataset": "north", "system": "rules", "run": "2", "same_as": "1"},
        {"dataset": "north", "system": "rules", "run": "3", "same_as": "1"},
    ]
    cell = next(cell for cell in plan.cells if (cell.dataset, cell.system) == ("north", "rules"))
    assert list(cell.runs) == ["1"] and cell.missing == ()


def test_a_file_that_two_systems_share_is_noticed(tmp_path: Path) -> None:
    manifest = make(tmp_path)
    folder = tmp_path / "north" / "predictions"
    shutil.copy(folder / "rules.1.txt", folder / "small.1.txt")
    assert make_plan(read_manifest(manifest)).shared == [
        SharedRuns(dataset="north", runs=(("rules", "1"), ("small", "1")))
    ]


def test_a_system_whose_name_begins_like_another_keeps_its_own_files(tmp_path: Path) -> None:
    manifest = make(tmp_path, runs=("1",))
    text = manifest.read_text() + '[systems."large.new"]\n'
    manifest.write_text(text)
    for dataset in ("north", "south"):
        folder = tmp_path / dataset / "predictions"
        shutil.copy(folder / "small.1.txt", folder / "large.new.1.txt")
    cells = {
        (cell.dataset, cell.system): list(cell.runs) for cell in make_plan(read_manifest(manifest)).cells
    }
    assert cells["north", "large"] == ["1"] and cells["north", "large.new"] == ["1"]


def test_a_missing_gold_file_is_reported_with_the_line_of_the_manifest(tmp_path: Path) -> None:
    manifest = make(tmp_path)
    (tmp_path / "south" / "test.txt").unlink()
    with pytest.raises(InputError) as error:
        make_plan(read_manifest(manifest))
    assert "study.toml:11: the file" in str(error.value)
    assert "of the dataset 'south' does not exist." in str(error.value)
    assert "pass root= for another folder" in str(error.value)


def test_a_folder_in_place_of_a_file_is_reported(tmp_path: Path) -> None:
    manifest = make(tmp_path)
    (tmp_path / "south" / "train.txt").unlink()
    (tmp_path / "south" / "train.txt").mkdir()
    with pytest.raises(InputError, match="of the dataset 'south' is a folder"):
        make_plan(read_manifest(manifest))


def test_a_system_without_any_file_is_reported_with_its_pattern(tmp_path: Path) -> None:
    manifest = make(tmp_path)
    manifest.write_text(manifest.read_text() + "[systems.absent]\n")
    with pytest.raises(InputError, match=r"no file matches the pattern .* for the system 'absent'"):
        make_plan(read_manifest(manifest))


# ---- the cache ----------------------------------------------------------------------------------


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """A manifest of two systems on one dataset: two cells and one pair."""
    make(tmp_path, runs=("1",), count=20)
    path = tmp_path / "two.toml"
    path.write_text(
        'predictions = "north/predictions/{system}.1.txt"\nattributes = "entity_length"\nresamples = 0\n'
        '[datasets.north]\ntest = "north/test.txt"\n[systems.large]\n[systems.small]\n',
        encoding="utf-8",
    )
    return path


def run(manifest: Path, cache: Path | bool) -> tuple[str, int]:
    """The document of a study, and how many of its cells came from the cache."""
    messages: list[str] = []
    document = spanwise.study(manifest, workers=1, cache=cache, progress=messages.append).to_json()
    (kept,) = re.findall(r"^(\d) of 2 cells are taken from the cache", "\n".join(messages), re.MULTILINE) or [
        "0"
    ]
    return document, int(kept)


def test_cached_cells_are_reused(manifest: Path, tmp_path: Path) -> None:
    kept = tmp_path / "deep" / "folder"
    plain, _ = run(manifest, False)
    assert run(manifest, kept) == (plain, 0)
    assert run(manifest, kept) == (plain, 2)
    names = sorted(path.name for path in kept.iterdir())
    assert names[0] == ".key" and all(name.endswith(".json.z") for name in names[1:])


def test_a_damaged_cache_file_is_ignored(manifest: Path, tmp_path: Path) -> None:
    plain, _ = run(manifest, tmp_path / "kept")
    for path in (tmp_path / "kept").glob("*.json.z"):
        path.write_bytes(b"no zlib")
    assert run(manifest, tmp_path / "kept") == (plain, 0)


def test_a_forged_cache_entry_is_ignored(manifest: Path, tmp_path: Path) -> None:
    plain, _ = run(manifest, tmp_path / "kept")
    files = {path: path.read_bytes() for path in (tmp_path / "kept").glob("*.json.z")}
    for path, other in zip(files, [*files][1:] + [*files][:1], strict=True):
        path.write_bytes(files[other])
    assert run(manifest, tmp_path / "kept") == (plain, 0)
    for path, data in files.items():
        content = zlib.decompress(data[32:])
        path.write_bytes(bytes(32) + zlib.compress(content.replace(b'"correct":', b'"correct":1')))
    assert run(manifest, tmp_path / "kept") == (plain, 0)


def test_an_unwritable_cache_folder_does_not_stop_a_study(manifest: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    plain, _ = run(manifest, False)
    for _ in range(2):
        assert run(manifest, tmp_path / "file" / "folder") == (plain, 0)


def test_cached_cells_depend_on_settings_but_not_on_their_order(manifest: Path, tmp_path: Path) -> None:
    run(manifest, tmp_path / "kept")
    first, second, third, *rest = manifest.read_text(encoding="utf-8").splitlines()
    manifest.write_text("\n".join([third, second, first, *rest]), encoding="utf-8")
    assert run(manifest, tmp_path / "kept")[1] == 2
    manifest.write_text("\n".join(["resamples = 1", second, first, *rest]), encoding="utf-8")
    assert run(manifest, tmp_path / "kept")[1] == 0


def test_the_default_folder_is_the_users_cache(
    manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    plain, _ = run(manifest, True)
    assert (tmp_path / "spanwise" / "studies" / ".key").exists()
    assert run(manifest, tmp_path / "spanwise" / "studies") == (plain, 2)
