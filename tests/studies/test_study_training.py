"""Studies that train missing systems, by external commands and by our taggers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typed import present

from spanwise import ChoiceError, InputError, study
from spanwise.demo import generate
from spanwise.document.study import Study
from spanwise.studies import manifest_of

COPY = [sys.executable, "-c", "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])", "{test}", "{out}"]
FAIL = [sys.executable, "-c", "import sys; sys.exit('no luck')"]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """The files of a dataset by role, relative to the folder of the manifest."""
    demo = generate(tmp_path / "demo", sentences=40)
    paths = {"train": demo.train, "dev": demo.gold, "test": demo.gold}
    return {role: str(path.relative_to(tmp_path)) for role, path in paths.items()}


def tree(files: dict[str, str], **more: object) -> dict[str, object]:
    """A manifest with one dataset, and whatever else a test adds."""
    return {"datasets": {"demo": files}, "resamples": 20, "attributes": ["entity_length"], **more}


def ran(tree: dict[str, object], root: Path, *, allow_commands: bool = False) -> tuple[Study, list[str]]:
    """The study, and its progress messages."""
    lines: list[str] = []
    document = study(
        tree, root=root, workers=1, cache=False, progress=lines.append, allow_commands=allow_commands
    )
    return document, lines


def test_a_command_is_run_only_if_commands_are_allowed(files: dict[str, str], tmp_path: Path) -> None:
    manifest = tree(files, systems={"copy": {"command": COPY}})
    with pytest.raises(ChoiceError, match="--allow-commands"):
        ran(manifest, tmp_path)
    document, _ = ran(manifest, tmp_path, allow_commands=True)
    assert document.analyses.holistic["copy"]["demo"].mean == 1


def test_a_trained_system_is_not_trained_again(files: dict[str, str], tmp_path: Path) -> None:
    manifest = tree(files, systems={"copy": {"command": COPY}})
    ran(manifest, tmp_path, allow_commands=True)
    _, lines = ran(manifest, tmp_path, allow_commands=True)
    assert "1 of 1 runs are trained already" in lines
    (tmp_path / "trained" / "demo" / "copy.1.conll").unlink()
    _, lines = ran(manifest, tmp_path, allow_commands=True)
    assert "demo × copy, run 1: trained" in lines


def test_a_changed_trainer_is_run_again(files: dict[str, str], tmp_path: Path) -> None:
    trainer = tmp_path / "trainer.py"
    trainer.write_text("import shutil, sys\nshutil.copy(*sys.argv[1:])\n", encoding="utf-8")
    manifest = tree(files, systems={"copy": {"command": [sys.executable, "trainer.py", "{test}", "{out}"]}})
    ran(manifest, tmp_path, allow_commands=True)
    _, lines = ran(manifest, tmp_path, allow_commands=True)
    assert "1 of 1 runs are trained already" in lines
    with trainer.open("a", encoding="utf-8") as stream:
        stream.write("# better\n")
    _, lines = ran(manifest, tmp_path, allow_commands=True)
    assert "demo × copy, run 1: trained" in lines


def test_a_system_that_cannot_be_trained_does_not_stop_the_study(
    files: dict[str, str], tmp_path: Path
) -> None:
    manifest = tree(files, systems={"copy": {"command": COPY}, "fail": {"command": FAIL}})
    document, lines = ran(manifest, tmp_path, allow_commands=True)
    assert list(document.analyses.holistic) == ["copy"]
    assert "demo × fail, run 1: the command failed, exit status 1: no luck" in lines
    assert "no run of fail could be trained; it is left out" in lines


def test_a_study_in_which_nothing_could_be_trained_is_refused(files: dict[str, str], tmp_path: Path) -> None:
    manifest = tree(files, systems={"fail": {"command": FAIL}})
    with pytest.raises(InputError, match="no system could be trained"):
        ran(manifest, tmp_path, allow_commands=True)


def test_training_needs_a_dev_file(files: dict[str, str], tmp_path: Path) -> None:
    del files["dev"]
    manifest = tree(files, systems={"crf": {"train": {}}})
    with pytest.raises(InputError, match="has no dev file"):
        ran(manifest, tmp_path)


def test_the_grid_and_the_context_sizes_become_systems(files: dict[str, str]) -> None:
    manifest = tree(files, grid={"char": ["none", "cnn"], "train": {"epochs": 1}}, context=[1, 3])
    systems = {system.name: system for system in manifest_of(manifest).systems}
    assert sorted(systems) == [
        "CcnnWrandLstmCrf-K1", "CcnnWrandLstmCrf-K3", "CnoneWrandLstmCrf-K1", "CnoneWrandLstmCrf-K3",
    ]  # fmt: skip
    last = systems["CnoneWrandLstmCrf-K3"]
    assert last.train == {"model": "CnoneWrandLstmCrf", "epochs": 1, "context": 3}
    assert last.factors["context"] == 3


def test_taggers_are_trained_and_one_that_fails_is_left_out(files: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("pycrfsuite", reason="the extra 'zoo' is not installed")
    manifest = tree(
        files, systems={"crf": {"train": {}}, "bad": {"train": {"model": "Cwrong"}}}, context=[1, 3]
    )
    document, lines = ran(manifest, tmp_path)
    # The linear-chain model reads one sentence at a time, so context sizes do not multiply its systems.
    assert present(document.analyses.holistic["crf"]["demo"].mean) > 0.8
    failed = [line for line in lines if ": failed, no tagger is called 'Cwrong'" in line]
    assert [line.partition(",")[0] for line in failed] == ["demo × bad-K1", "demo × bad-K3"]
    assert "; 1 of 3, about " in "".join(lines)


def test_files_that_a_tagger_needs_are_found_next_to_the_manifest(
    files: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="the extra 'zoo' is not installed")
    pytest.importorskip("safetensors", reason="the extra 'zoo' is not installed")
    (tmp_path / "arrays").mkdir()
    manifest = tree(
        files, systems={"CfeaturesWnoneCnnMlp": {"train": {"features": "arrays"}}, "copy": {"command": COPY}}
    )
    _, lines = ran(manifest, tmp_path, allow_commands=True)
    folder = tmp_path / "arrays"
    assert any(f"run 1: failed, {folder}: there are no features for" in line for line in lines)
