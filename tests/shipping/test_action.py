"""The GitHub action: its steps run in a shell here, with the environment that GitHub gives them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.demo import generate

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
# A stand-in for GitHub's program: it notes how it was called, and lists the comments in a file.
GH = (
    '#!/bin/sh\necho "$@" >>gh.txt\ncase "$*" in *--paginate*) cat comments.txt 2>/dev/null ;; esac\nexit 0\n'
)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a corpus, an earlier result, and a stand-in for `gh`."""
    demo = generate(tmp_path, sentences=120)
    result = spanwise.evaluate(demo.gold, {"mine": demo.systems["swapper"]})
    result.to_json(tmp_path / "last.json")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text(GH)
    (tmp_path / "bin" / "gh").chmod(0o755)
    return tmp_path


class Run:
    """What the steps of the action leave behind."""

    def __init__(self, folder: Path, inputs: Mapping[str, str]) -> None:
        self.folder, self.status, self.printed = folder, 0, ""
        given = {name: str(about.get("default", "")) for name, about in ACTION["inputs"].items()}
        self.values = {f"inputs.{name}": value for name, value in (given | dict(inputs)).items()}
        self.values |= {
            "github.event.pull_request.number": "7",
            "github.repository": "my/project",
            "github.event_name": "pull_request",
        }
        for step in STEPS:
            if "run" in step and self._applies(step) and self.status == 0:
                self._run(step)

    def _applies(self, step: Mapping[str, Any]) -> bool:
        """Whether the condition of a step holds; conditions compare values, joined by `&&`."""
        for part in filter(None, str(step.get("if", "")).split(" && ")):
            name, sign, value = re.fullmatch(r"(\S+) (==|!=) '(.*)'", part).groups()  # type: ignore[union-attr]
            if (self.values[name] == value) != (sign == "=="):
                return False
        return True

    def _run(self, step: Mapping[str, Any]) -> None:
        """Run a step as GitHub does: `bash -eo pipefail`, with files for its outputs and the summary."""
        output = self.folder / "output.txt"
        output.write_text("")
        environment = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "GITHUB_OUTPUT": str(output),
            "RUNNER_TEMP": str(self.folder),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(self.folder / "step-summary.md"),
            **{name: self._value(text) for name, text in step.get("env", {}).items()},
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        self.status = done.returncode
        self.printed += done.stdout + done.stderr
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step.get('id')}.outputs.{name}"] = value

    def _value(self, text: str) -> str:
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda match: self.values[match[1]], text)

    @property
    def written(self) -> set[str]:
        """The files of the folder that is uploaded."""
        return {path.name for path in (self.folder / self.values["inputs.folder"]).iterdir()}


# The package is here already; installing it is what .ci/run and the release check do.
INPUTS = {"gold": "gold.conll", "predictions": "mine=memoriser.conll\n", "package": ""}


def test_a_passing_gate_ends_well_and_leaves_summary_page_and_junit(work: Path) -> None:
    run = Run(
        work, {**INPUTS, "thresholds": "--fail-under 50\n--floor PER=40", "options": "--train train.conll"}
    )
    assert run.status == 0, run.printed
    assert run.values["steps.gate.outputs.passed"] == "true"
    assert run.written == {"result.json", "report.html", "summary.md", "gate.xml"}
    assert "✅ mine: f1 is" in (work / "step-summary.md").read_text()
    assert "::warning" not in run.printed
    assert not (work / "gh.txt").exists()  # without a token nobody comments


def test_a_failing_gate_annotates_comments_and_fails_last(work: Path) -> None:
    shutil.copy(work / "gold.conll", work / "none.conll")
    rows = [re.sub(r" \S+$", " O", line) for line in (work / "none.conll").read_text().splitlines()]
    (work / "none.conll").write_text("\n".join(rows) + "\n")
    inputs = {**INPUTS, "predictions": "mine=none.conll", "against": "last.json", "token": "t"}
    run = Run(work, {**inputs, "thresholds": "--fail-drop 1 --strict"})
    assert run.status == 1
    assert "::error title=spanwise::mine: F1 " in run.printed
    assert (
        len(re.findall(r"^::warning file=gold\.conll,line=\d+,title=missed", run.printed, re.MULTILINE)) == 10
    )
    assert "❌ mine: F1 " in (work / "step-summary.md").read_text()
    listed, written = (work / "gh.txt").read_text().splitlines()
    assert listed.startswith("api repos/my/project/issues/7/comments --paginate")
    assert written == f"pr comment 7 --repo my/project --body-file {work}/comment.md"
    comment = (work / "comment.md").read_text()
    assert comment == "<!-- spanwise spanwise-report -->\n" + (work / "step-summary.md").read_text()


def test_a_comment_of_an_earlier_run_is_edited_and_no_other(work: Path) -> None:
    (work / "comments.txt").write_text("41\n42\n")  # those with the mark of the action
    run = Run(work, {**INPUTS, "thresholds": "--fail-under 50", "token": "t"})
    assert run.status == 0, run.printed
    edited = (work / "gh.txt").read_text().splitlines()[1]
    assert (
        edited
        == f"api --silent --method PATCH repos/my/project/issues/comments/42 -F body=@{work}/comment.md"
    )


@pytest.mark.parametrize(
    "package, installed", [("action", f"{ROOT}[report]"), ("spanwise==1", "spanwise==1")]
)
def test_the_version_of_the_action_is_installed_unless_another_is_named(
    work: Path, package: str, installed: str
) -> None:
    (work / "bin" / "python").write_text('#!/bin/sh\necho "$@" >>python.txt\n')
    (work / "bin" / "python").chmod(0o755)
    assert ACTION["inputs"]["package"]["default"] == "action"
    run = Run(work, {**INPUTS, "package": package})
    assert run.status == 0, run.printed
    assert (work / "python.txt").read_text() == f"-m pip install --quiet {installed}\n"


def test_an_earlier_result_that_does_not_exist_yet_is_left_out(work: Path) -> None:
    run = Run(work, {**INPUTS, "against": "nowhere.json", "thresholds": "--fail-under 50"})
    assert run.status == 0, run.printed
    assert "nowhere.json does not exist" in run.printed


def test_inputs_are_never_run_as_commands(work: Path) -> None:
    evil = '"; touch evil; $(touch evil) `touch evil`'
    for name in ("gold", "predictions", "thresholds", "against", "options"):
        assert Run(work, {**INPUTS, "thresholds": "--fail-under 50", name: evil}).status in (0, 2, 3)
    assert not (work / "evil").exists()
    assert not any("${{" in step.get("run", "") for step in STEPS)


def test_a_file_that_cannot_be_read_fails_the_step_that_reads_it(work: Path) -> None:
    run = Run(work, {**INPUTS, "gold": "missing.conll"})
    assert run.status == 3 and "missing.conll" in run.printed


def test_the_hook_checks_files_as_pre_commit_calls_it(work: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["language"] == "python" and re.search(hook["files"], "data/gold.conll")
    (work / "bad.conll").write_text("Rome B-LOC\nAnn I-PER\n\nOslo B-LOC\n")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for files, status in ((["gold.conll", "swapper.conll"], 0), (["gold.conll", "bad.conll"], 1)):
        call = [*hook["entry"].split(), *files]
        assert subprocess.run(call, cwd=work, env=environment, capture_output=True).returncode == status
