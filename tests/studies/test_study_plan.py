"""The plan: which files a study reads, which runs are missing or copies; and the cache of its results."""

from __future__ import annotations

import shutil
import zlib

import pytest
from study_files import make

from spanwise.errors import InputError
from spanwise.studies import make_plan, read_manifest
from spanwise.studies._kept import Cache, default_folder, key_of
from spanwise.studies._manifest import find_runs, natural


def touch(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def test_runs_are_found_by_their_pattern(tmp_path):
    touch(tmp_path, "kin/bert.1.txt", "kin/bert.2.txt", "kin/crf.1.txt", "ewe/bert.7.txt", "kin/bert.1.bak")
    found = find_runs(tmp_path, "{dataset}/{system}.{run}.txt", "kin", "bert")
    assert found == {"1": "kin/bert.1.txt", "2": "kin/bert.2.txt"}


def test_a_run_may_be_a_folder_and_must_be_the_same_throughout(tmp_path):
    touch(tmp_path, "seed-1/kin-1.txt", "seed-2/kin-1.txt", "seed-2/kin-2.txt", "seed-3/other.txt")
    assert find_runs(tmp_path, "seed-{run}/{dataset}-{run}.txt", "kin", "x") == {
        "1": "seed-1/kin-1.txt",
        "2": "seed-2/kin-2.txt",
    }


def test_a_pattern_without_runs_is_one_run(tmp_path):
    touch(tmp_path, "kin/rules.txt")
    assert find_runs(tmp_path, "{dataset}/{system}.txt", "kin", "rules") == {"1": "kin/rules.txt"}
    assert find_runs(tmp_path, "{dataset}/{system}.txt", "ewe", "rules") == {}


def test_characters_of_a_pattern_mean_themselves(tmp_path):
    touch(tmp_path, "kin/a+b[1].x.txt", "kin/aab1.x.txt")
    assert list(find_runs(tmp_path, "{dataset}/{system}.{run}.txt", "kin", "a+b[1]")) == ["x"]


def test_an_absolute_pattern_is_taken_as_it_is(tmp_path):
    touch(tmp_path, "kin/bert.1.txt")
    assert list(find_runs(tmp_path / "elsewhere", f"{tmp_path}/kin/bert.{{run}}.txt", "kin", "bert")) == ["1"]


def test_runs_stand_in_natural_order():
    assert sorted(["10", "2", "seed10", "seed9"], key=natural) == ["2", "10", "seed9", "seed10"]


def test_a_missing_run_is_allowed_and_shown(tmp_path):
    manifest = make(tmp_path)
    (tmp_path / "north" / "predictions" / "small.2.txt").unlink()
    plan = make_plan(read_manifest(manifest))
    assert plan.missing == [{"dataset": "north", "system": "small", "run": "2"}]


def test_a_whole_cell_may_be_missing(tmp_path):
    manifest = make(tmp_path)
    for run in "123":
        (tmp_path / "south" / "predictions" / f"rules.{run}.txt").unlink()
    plan = make_plan(read_manifest(manifest))
    assert [row["run"] for row in plan.missing] == ["1", "2", "3"]


def test_runs_may_be_listed_so_that_one_missing_everywhere_is_shown(tmp_path):
    manifest = make(tmp_path, runs=("1", "2"))
    text = manifest.read_text().replace("[systems.rules]", '[systems.rules]\nruns = ["1", "2", "9"]')
    manifest.write_text(text)
    missing = make_plan(read_manifest(manifest)).missing
    assert [(row["system"], row["run"]) for row in missing] == [("rules", "9"), ("rules", "9")]


def test_identical_files_are_one_run(tmp_path):
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


def test_a_file_that_two_systems_share_is_noticed(tmp_path):
    manifest = make(tmp_path)
    folder = tmp_path / "north" / "predictions"
    shutil.copy(folder / "rules.1.txt", folder / "small.1.txt")
    assert make_plan(read_manifest(manifest)).shared == [
        {"dataset": "north", "runs": [["rules", "1"], ["small", "1"]]}
    ]


def test_a_system_whose_name_begins_like_another_keeps_its_own_files(tmp_path):
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


def test_a_missing_gold_file_is_told_with_the_line_of_the_manifest(tmp_path):
    manifest = make(tmp_path)
    (tmp_path / "south" / "test.txt").unlink()
    with pytest.raises(InputError) as error:
        make_plan(read_manifest(manifest))
    assert "study.toml:11: the file" in str(error.value)
    assert "of the dataset 'south' does not exist." in str(error.value)
    assert "pass root= for another folder" in str(error.value)


def test_a_folder_in_place_of_a_file_is_told(tmp_path):
    manifest = make(tmp_path)
    (tmp_path / "south" / "train.txt").unlink()
    (tmp_path / "south" / "train.txt").mkdir()
    with pytest.raises(InputError, match="of the dataset 'south' is a folder"):
        make_plan(read_manifest(manifest))


def test_a_system_without_any_file_is_told_with_its_pattern(tmp_path):
    manifest = make(tmp_path)
    manifest.write_text(manifest.read_text() + "[systems.absent]\n")
    with pytest.raises(InputError, match=r"no file fits the pattern .* for the system 'absent'"):
        make_plan(read_manifest(manifest))


# ---- the cache ----------------------------------------------------------------------------------


def test_what_was_kept_comes_back(tmp_path):
    cache = Cache(tmp_path / "deep" / "folder")
    assert cache.get("a", dict) is None
    cache.put("a", {"f1": 0.1, "none": None})
    assert cache.get("a", dict) == {"f1": 0.1, "none": None}
    assert sorted(path.name for path in cache.folder.iterdir()) == [".key", "a.json.z"]


def test_a_damaged_file_is_as_good_as_none(tmp_path):
    cache = Cache(tmp_path)
    cache.put("a", [1])
    (tmp_path / "a.json.z").write_bytes(b"no zlib")
    assert cache.get("a", dict) is None


def test_a_forged_entry_is_as_good_as_none(tmp_path):
    cache = Cache(tmp_path)
    cache.put("a", {"f1": 0.1})
    cache.put("b", {"f1": 0.9})
    (tmp_path / "a.json.z").write_bytes((tmp_path / "b.json.z").read_bytes())
    assert cache.get("a", dict) is None
    (tmp_path / "b.json.z").write_bytes(bytes(32) + zlib.compress(b'{"f1": 1.0}'))
    assert cache.get("b", dict) is None


def test_a_folder_that_cannot_be_written_to_ends_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "folder")
    assert not cache.put("a", [1])
    assert cache.get("a", dict) is None


def test_a_key_depends_on_content_and_not_on_the_order_of_keys():
    assert key_of({"a": 1, "b": 2}) == key_of({"b": 2, "a": 1}) != key_of({"a": 2, "b": 1})


def test_the_default_folder_is_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "spanwise" / "studies"
