"""Packages of others: what they add by entry points is found and used by its name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = '''
from spanwise.attributes import own
from spanwise.reports import Report


def f1_only(document):
    return "".join(f"{name} {one.exact.overall.f1}\\n" for name, one in document.systems.items())


def letters(mention):
    """How many letters a mention has."""
    return sum(map(len, mention.tokens))


mine = Report("mine", "F1 of every system", f1_only, ".txt")
size = own(letters, name="letters")
'''
POINTS = """[spanwise.reports]
mine = theirs:mine
[spanwise.attributes]
letters = theirs:size
"""
GOLD = "Ann B-PER\nin O\nRome B-LOC\n\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package as an installer leaves it: a module, and its entry points beside it."""
    (tmp_path / "theirs.py").write_text(MODULE)
    about = tmp_path / "theirs-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    (tmp_path / "gold.conll").write_text(GOLD)
    (tmp_path / "pred.conll").write_text(GOLD.replace("B-LOC", "O"))
    return tmp_path


def _spanwise(folder: Path, *arguments: str) -> str:
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    call = [sys.executable, "-m", "spanwise", *arguments]
    done = subprocess.run(
        call, cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_report_and_an_attribute_of_a_package_work_by_name(package: Path) -> None:
    asked = ["evaluate", "gold.conll", "pred.conll", "--resamples", "0", "--quiet"]
    _spanwise(package, *asked, "--attributes", "letters", "--json", "run.json")
    document = json.loads((package / "run.json").read_text(encoding="utf-8"))
    assert "letters" in document["systems"]["pred"]["attributes"]
    assert _spanwise(package, "export", "run.json", "mine") == "pred 0.6666666666666666\n"
    assert "mine" in _spanwise(package, "list", "reports")
