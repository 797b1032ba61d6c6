"""Third-party packages: what they register as entry points is found and used by name."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOY = Path(__file__).parents[2] / "examples" / "plugin"
GOLD = "Ann B-PER\nin O\nRome B-LOC\n\n"


def _installer() -> list[str]:
    """The command that installs a package here without network access, using the installed setuptools."""
    offline = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    if importlib.util.find_spec("setuptools") is None:
        pytest.skip("setuptools, which builds the package, is not installed")
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "install", *offline, "--disable-pip-version-check"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable, *offline]
    pytest.skip("there is neither pip nor uv")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the toy package, with one of each kind, is installed."""
    folder = tmp_path_factory.mktemp("toy")
    source, target = folder / "source", folder / "installed"
    shutil.copytree(TOY, source)
    call = [*_installer(), "--target", str(target), str(source)]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def package(tmp_path: Path, installed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with data; the installed package is on Python's path."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")]))
    (tmp_path / "gold.conll").write_text(GOLD)
    (tmp_path / "pred.conll").write_text(GOLD.replace("B-LOC", "O"))
    return tmp_path


def _spanwise(folder: Path, *arguments: str) -> str:
    call = [sys.executable, "-m", "spanwise", *arguments]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_report_and_an_attribute_of_a_package_work_by_name(package: Path) -> None:
    command = ["evaluate", "gold.conll", "pred.conll", "--resamples", "0", "--quiet"]
    _spanwise(package, *command, "--attributes", "letters", "--json", "run.json")
    document = json.loads((package / "run.json").read_text(encoding="utf-8"))
    assert "letters" in document["systems"]["pred"]["attributes"]
    assert _spanwise(package, "export", "run.json", "mine") == "pred 0.6666666666666666\n"
    assert "mine" in _spanwise(package, "list", "reports")


def test_a_report_of_a_package_refuses_the_kinds_of_documents_that_it_does_not_take(package: Path) -> None:
    _spanwise(package, "describe", "gold.conll", "--quiet", "--json", "described.json")
    call = [sys.executable, "-m", "spanwise", "export", "described.json", "mine"]
    done = subprocess.run(call, cwd=package, capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr == (
        "spanwise: the report 'mine' takes no document of kind 'description'.\n"
        "It takes: evaluation, comparison.\n"
    )


def test_an_attribute_of_a_package_sees_the_training_data(package: Path) -> None:
    command = ["evaluate", "gold.conll", "pred.conll", "--resamples", "0", "--quiet", "--attributes", "known"]
    _spanwise(package, *command, "--train", "gold.conll", "--json", "run.json")
    document = json.loads((package / "run.json").read_text(encoding="utf-8"))
    buckets = document["systems"]["pred"]["attributes"]["known"]["buckets"]
    assert [(bucket["low"], bucket["high"]) for bucket in buckets if bucket["gold"]] == [(None, 3)]


def test_a_matcher_of_a_package_names_the_errors(package: Path) -> None:
    (package / "pred.conll").write_text(GOLD.replace("B-LOC", "B-PER"))
    command = ["evaluate", "gold.conll", "pred.conll", "--resamples", "0", "--quiet", "--json", "run.json"]
    outcomes = {}
    for matcher in ("fair", "plain"):
        _spanwise(package, *command, "--matcher", matcher)
        document = json.loads((package / "run.json").read_text(encoding="utf-8"))
        fair = document["systems"]["pred"]["fair"]["overall"]
        outcomes[matcher] = fair["LE"], fair["FN"], fair["FP"], document["systems"]["pred"]["exact"]
        assert f"|match:exact+{matcher}|" in document["signature"]
    assert outcomes["fair"][:3] == (1, 0, 0)
    assert outcomes["plain"][:3] == (0, 1, 1)
    assert outcomes["fair"][3] == outcomes["plain"][3]


def test_a_format_of_a_package_is_recognised_and_read(package: Path) -> None:
    (package / "gold.sent").write_text("SENT Ann in Rome\n0 1 PER\n2 3 LOC\n")
    assert "sent" in _spanwise(package, "list", "formats")
    written = _spanwise(package, "convert", "gold.sent", "-", "--to", "conll")
    assert written.split() == ["Ann", "B-PER", "in", "O", "Rome", "B-LOC"]


def test_a_bucketing_of_a_package_cuts_attributes(package: Path) -> None:
    command = ["evaluate", "gold.conll", "pred.conll", "--resamples", "0", "--quiet", "--json", "run.json"]
    _spanwise(package, *command, "--attributes", "letters", "--buckets", "letters=halves")
    document = json.loads((package / "run.json").read_text(encoding="utf-8"))
    buckets = document["systems"]["pred"]["attributes"]["letters"]["buckets"]
    assert [(bucket["low"], bucket["high"], bucket["gold"]) for bucket in buckets] == [
        (None, 3, 1),
        (3, None, 1),
    ]


def test_a_command_of_a_package_is_found_by_name(package: Path) -> None:
    assert _spanwise(package, "lengths", "gold.conll") == "1\t2\n"
    assert "Count the mentions of a file by their number of tokens." in _spanwise(
        package, "lengths", "--help"
    )
    call = [sys.executable, "-m", "spanwise", "length"]
    done = subprocess.run(call, cwd=package, capture_output=True, text=True)
    assert done.returncode == 2
    assert "lengths" in done.stderr


def test_an_error_in_the_code_of_a_package_is_said_to_be_its_own(package: Path) -> None:
    command = ["evaluate", "gold.conll", "pred.conll", "--resamples", "0", "--quiet", "--json", "run.json"]
    _spanwise(package, *command)
    call = [sys.executable, "-m", "spanwise", "export", "run.json", "broken"]
    done = subprocess.run(call, cwd=package, capture_output=True, text=True)
    assert done.returncode == 70
    assert "this is a bug in the package spanwise_toy" in done.stderr


def test_a_score_of_a_package_is_on_every_surface(package: Path) -> None:
    (package / "other.conll").write_text(GOLD)
    command = ["evaluate", "gold.conll", "pred.conll", "other.conll", "--primary", "jaccard"]
    screen = _spanwise(package, *command, "--json", "run.json", "--html", "run.html")
    document = json.loads((package / "run.json").read_text(encoding="utf-8"))
    cell = document["systems"]["pred"]["exact"]["overall"]
    assert cell["jaccard"] == 0.5  # one mention right, one missed, none false
    assert "jaccard" in cell["interval"] or "why" in cell
    (test,) = (row for row in document["comparisons"][0]["scores"] if row.get("role") == "primary")
    assert test["path"] == ["exact", "overall", "jaccard"]
    assert "Jaccard" in screen and "Jaccard" in (package / "run.html").read_text(encoding="utf-8")
    assert "| Jaccard |" in _spanwise(package, "table", "run.json", "holistic")
    assert "Jaccard" in _spanwise(package, "table", "run.json", "holistic", "--latex")
    assert '"pred/jaccard": 0.5' in _spanwise(package, "export", "run.json", "flat")
    assert ",jaccard,0.5," in _spanwise(package, "export", "run.json", "rows")
    assert "Jaccard" in _python(package, "print(spanwise.load('run.json')._repr_html_())")
    assert "jaccard\n    Jaccard" in _spanwise(package, "list", "scores")
    _spanwise(package, "workbench", ".", "--bundle", "bundle")
    assert any("Jaccard" in page.read_text("utf-8") for page in package.glob("bundle/**/*.html"))


def test_a_section_of_a_package_is_on_every_surface(package: Path) -> None:
    command = ["evaluate", "gold.conll", "pred.conll", "--resamples", "0"]
    screen = _spanwise(package, *command, "--json", "run.json", "--html", "run.html")
    assert "Wrong and missed" in screen
    assert "Wrong and missed</h2>" in (package / "run.html").read_text(encoding="utf-8")
    assert "| pred | 0 | 1 |" in _spanwise(package, "table", "run.json", "wrong_and_missed")
    for form, row in (("latex", "pred & 0 & 1 "), ("csv", "pred,0,1")):
        assert row in _spanwise(package, "table", "run.json", "wrong_and_missed", f"--{form}")
    assert "Wrong and missed</summary>" in _python(package, "print(spanwise.load('run.json')._repr_html_())")
    assert "wrong_and_missed" in _spanwise(package, "list", "sections")
    _spanwise(package, "workbench", ".", "--bundle", "bundle")
    pages = [path.read_text(encoding="utf-8") for path in (package / "bundle").rglob("*.html")]
    assert any("Wrong and missed</h2>" in page for page in pages)


def test_a_section_that_fails_is_said_to_be_of_its_package_by_name(package: Path) -> None:
    screen = " ".join(_spanwise(package, "describe", "gold.conll", "--html", "described.html").split())
    says = (
        "This section of the package spanwise_toy failed: RuntimeError: this section is never right. "
        "Please report it to the authors of that package."
    )
    assert f"Section never {says}" in screen
    assert says in (package / "described.html").read_text(encoding="utf-8")


def test_what_cannot_be_imported_is_said_to_be_of_its_package_by_name(package: Path) -> None:
    metadata = package / "spoilt-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Name: spoilt\nVersion: 1.0\n")
    groups = ("sections", "attributes", "commands")
    text = "".join(f"[spanwise.{group}]\nspoilt_{group} = spoilt.missing:THING\n" for group in groups)
    (metadata / "entry_points.txt").write_text(text)
    why = (
        "of the package spoilt cannot be imported: ModuleNotFoundError: No module named 'spoilt'.\n"
        "Install a version that works, or remove the package.\n"
    )
    for *command, name in (
        ["spoilt_commands"],
        ["evaluate", "gold.conll", "pred.conll", "--attributes", "spoilt_attributes"],
    ):
        call = [sys.executable, "-m", "spanwise", *command, name]
        done = subprocess.run(call, cwd=package, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (3, f"spanwise: {name!r} {why}")
    screen = _spanwise(package, "evaluate", "gold.conll", "pred.conll", "--resamples", "0")
    assert "'spoilt_sections' of the package spoilt cannot be imported" in " ".join(screen.split())


def _python(folder: Path, code: str) -> str:
    call = [sys.executable, "-c", f"import spanwise; {code}"]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
