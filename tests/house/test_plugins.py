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

MODULE = '''
from spanwise.attributes import own
from spanwise.matching import Matcher, match
from spanwise.reports import Report


def f1_only(document):
    return "".join(f"{name} {one.exact.overall.f1}\\n" for name, one in document.systems.items())


def letters(mention):
    """How many letters a mention has."""
    return sum(map(len, mention.tokens))


def known(side):
    """How many tokens the training data hold."""
    return [side.context.lexicon.tokens] * len(side.mentions)


def no_errors_named(gold, predicted):
    return match(gold, predicted, matcher="exact")


mine = Report("mine", "F1 of every system", f1_only, ".txt")
size = own(letters, name="letters")
trained = own(known, name="known", needs=["train"], columns=True)
plain = Matcher("plain", "FN and FP alone", no_errors_named)
'''
PROJECT = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "theirs"
version = "1.0"
dependencies = ["spanwise"]

[tool.setuptools]
py-modules = ["theirs"]

[project.entry-points."spanwise.reports"]
mine = "theirs:mine"

[project.entry-points."spanwise.attributes"]
letters = "theirs:size"
known = "theirs:trained"

[project.entry-points."spanwise.matchers"]
plain = "theirs:plain"
"""
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
    """The folder in which a package with a report, two attributes and a matcher is installed."""
    folder = tmp_path_factory.mktemp("theirs")
    source, target = folder / "source", folder / "installed"
    source.mkdir()
    (source / "pyproject.toml").write_text(PROJECT)
    (source / "theirs.py").write_text(MODULE)
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
