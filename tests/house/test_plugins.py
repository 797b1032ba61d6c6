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
POINTS = """[spanwise.reports]
mine = theirs:mine
[spanwise.attributes]
letters = theirs:size
known = theirs:trained
[spanwise.matchers]
plain = theirs:plain
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


def test_an_attribute_of_a_package_sees_the_training_data(package: Path) -> None:
    asked = ["evaluate", "gold.conll", "pred.conll", "--resamples", "0", "--quiet", "--attributes", "known"]
    _spanwise(package, *asked, "--train", "gold.conll", "--json", "run.json")
    document = json.loads((package / "run.json").read_text(encoding="utf-8"))
    buckets = document["systems"]["pred"]["attributes"]["known"]["buckets"]
    assert [(one["low"], one["high"]) for one in buckets if one["gold"]] == [(None, 3)]


def test_a_matcher_of_a_package_names_the_errors(package: Path) -> None:
    (package / "pred.conll").write_text(GOLD.replace("B-LOC", "B-PER"))
    asked = ["evaluate", "gold.conll", "pred.conll", "--resamples", "0", "--quiet", "--json", "run.json"]
    found = {}
    for matcher in ("fair", "plain"):
        _spanwise(package, *asked, "--matcher", matcher)
        document = json.loads((package / "run.json").read_text(encoding="utf-8"))
        fair = document["systems"]["pred"]["fair"]["overall"]
        found[matcher] = fair["LE"], fair["FN"], fair["FP"], document["systems"]["pred"]["exact"]
        assert f"|match:exact+{matcher}|" in document["signature"]
    assert found["fair"][:3] == (1, 0, 0)
    assert found["plain"][:3] == (0, 1, 1)
    assert found["fair"][3] == found["plain"][3]
