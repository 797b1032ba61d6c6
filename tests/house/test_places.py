"""Additions work everywhere once they are declared in the places that the design page lists."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import spanwise

HOUSE = Path(spanwise.__file__).parent
DESIGN = Path(__file__).parents[2] / "docs" / "design.md"
Edit = tuple[str, str, str]  # a file, a line in it, and the text to insert before that line

ATTRIBUTE = """
Attribute(
    name="initial", summary="whether it opens the sentence", needs=frozenset(),
    function=lambda side: (side.mentions.start == 0) * 1.0,
),
"""
READER = """
from spanwise.formats._format import Format
from spanwise.formats._sentences import Record

def _records(part, options):
    for number, line in part.lines():
        if line:
            tags = line.split()
            yield Record(["word"] * len(tags), tags=tags, line=number)

FORMAT = Format("bars", "tags with blanks between them, one sentence per line", lambda file: None, _records)
"""
# The declarations that are added, without the code that does the work.
EDITS: dict[str, list[Edit]] = {
    "a keyword": [
        ("settings.py", 'Setting("redact"', 'Setting("loud", "shout", False, toml=bool),'),
        ("evaluation/__init__.py", "redact: bool = False,", "loud: bool = False,"),
        ("evaluation/choices.py", "redact: bool\n", "loud: bool"),
    ],
    "an option of another function": [
        (
            "settings.py",
            '_like("seed", "random seed of the flips',
            'Setting("calm", "breathe between flips", 1, least=1),',
        ),
        ("slices/__init__.py", "confirm: bool = False,", "calm: int = 1,"),
        ("slices/__init__.py", "confirm: bool\n", "calm: int"),
    ],
    "an export": [
        (
            "reports/__init__.py",
            '("flat", "scalars',
            '("names", "the names of systems", "outlets:names", ".txt", None, ()),',
        ),
    ],
    "a score": [
        (
            "rates.py",
            'Rate("recall"',
            'Rate("jaccard", "Jaccard", above=(1.0, 0.0, 0.0), below=(1.0, 1.0, 1.0)),',
        ),
    ],
    "an attribute": [("attributes/papers.py", 'Attribute(\n        name="entity_length"', ATTRIBUTE)],
    "a format": [("formats/_format.py", '"tables:ARROW"', '"bars:FORMAT",')],
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with one addition of each kind."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(HOUSE, folder / "spanwise", ignore=shutil.ignore_patterns("__pycache__"))
    for name, line, added in (edit for edits in EDITS.values() for edit in edits):
        path = folder / "spanwise" / name
        text = path.read_text(encoding="utf-8")
        assert text.count(line) == 1, f"{name} has {line!r} {text.count(line)} times"
        path.write_text(text.replace(line, f"{added}\n{_indent(text, line)}{line}"), encoding="utf-8")
    (folder / "spanwise" / "formats" / "bars.py").write_text(READER, encoding="utf-8")
    with (folder / "spanwise" / "reports" / "outlets.py").open("a", encoding="utf-8") as outlets:
        outlets.write('\n\ndef names(document):\n    return " ".join(document.systems)\n')
    (folder / "gold.bars").write_text("B-PER O\nO B-LOC\n", encoding="utf-8")
    (folder / "mine.bars").write_text("B-PER O\nO O\n", encoding="utf-8")
    return folder


def _indent(text: str, line: str) -> str:
    before = text[: text.index(line)].rpartition("\n")[2]
    return before if before.isspace() else ""


def _python(folder: Path, *arguments: str) -> str:
    call = [sys.executable, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "80"}
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


EVALUATE = ["-m", "spanwise", "evaluate", "gold.bars", "mine.bars", "--format", "bars", "--quiet", "--loud"]


def test_additions_declared_once_work_from_the_command_line(copy: Path) -> None:
    _python(copy, *EVALUATE, "--attributes", "initial", "--json", "run.json")
    document = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    buckets = document["systems"]["mine"]["attributes"]["initial"]["buckets"]
    assert [(bucket["gold"], bucket["correct"]) for bucket in buckets if bucket["gold"]] == [(1, 0), (1, 1)]
    assert _python(copy, "-m", "spanwise", "export", "run.json", "names") == "mine"
    for kind, name in (("reports", "names"), ("attributes", "initial"), ("formats", "bars")):
        assert re.search(rf"^{name}\b", _python(copy, "-m", "spanwise", "list", kind), re.MULTILINE)


def test_a_score_declared_once_is_computed_tested_and_shown(copy: Path) -> None:
    files = [f"{name}.conll" for name in ("gold", "swapper", "memoriser")]
    _python(copy, "-m", "spanwise", "demo", ".", "--only-files")
    call = ["-m", "spanwise", "evaluate", *files, "--primary", "jaccard", "--json", "scored.json"]
    screen = _python(copy, *call, "--html", "scored.html")
    document = json.loads((copy / "scored.json").read_text(encoding="utf-8"))
    cell = document["systems"]["swapper"]["exact"]["overall"]
    right = cell["correct"] / (cell["gold"] + cell["predicted"] - cell["correct"])
    assert cell["jaccard"] == right
    low, high = cell["interval"]["jaccard"]
    assert low < right < high
    label = document["systems"]["swapper"]["exact"]["labels"]["PER"]
    assert label["jaccard"] == label["correct"] / (label["gold"] + label["predicted"] - label["correct"])
    (test,) = (row for row in document["comparisons"][0]["scores"] if row.get("role") == "primary")
    assert test["path"] == ["exact", "overall", "jaccard"]
    assert test["p_corrected"] <= 1
    assert "Jaccard  95% CI" in re.sub(" +", "  ", screen).replace("95%  CI", "95% CI")
    table = _python(copy, "-m", "spanwise", "table", "scored.json", "holistic")
    assert "| Jaccard |" in table
    assert '"swapper/jaccard"' in _python(copy, "-m", "spanwise", "export", "scored.json", "flat")
    assert "Jaccard" in (copy / "scored.html").read_text(encoding="utf-8")
    (copy / "runs.toml").write_text(
        'predictions = "{system}.conll"\nprimary = "jaccard"\nresamples = 50\n'
        '[datasets.demo]\ntest = "gold.conll"\n[systems.swapper]\n[systems.memoriser]\n'
    )
    _python(copy, "-m", "spanwise", "study", "runs.toml", "--quiet", "--no-cache", "--json", "runs.json")
    assert "| Jaccard |" in _python(copy, "-m", "spanwise", "table", "runs.json", "scores")


def test_a_keyword_declared_once_works_in_python_and_in_a_study(copy: Path) -> None:
    call = "spanwise.evaluate('gold.bars', 'mine.bars', format='bars', loud=True, resamples=0)"
    shown = _python(copy, "-c", f"import spanwise; print({call}['mine'].exact.overall.f1)")
    assert shown == "0.6666666666666666\n"
    (copy / "study.toml").write_text(
        'predictions = "{system}.bars"\nformat = "bars"\nloud = true\nresamples = 0\n'
        '[datasets.d]\ntest = "gold.bars"\n[systems.mine]\n'
    )
    _python(copy, "-m", "spanwise", "study", "study.toml", "--quiet", "--no-cache", "--json", "study.json")


def test_an_option_of_a_function_declared_once_is_shown_parsed_and_checked(copy: Path) -> None:
    assert "--calm CALM" in _python(copy, "-m", "spanwise", "slices", "--help-all")
    call = [sys.executable, "-m", "spanwise", "slices", "gold.bars", "mine.bars", "--format", "bars"]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run([*call, "--calm", "0"], cwd=copy, env=environment, capture_output=True, text=True)
    assert done.stderr == "spanwise: --calm is 0, but must be a whole number of 1 or more.\n"
    given = "'gold.bars', 'mine.bars', format='bars', calm=2"
    _python(copy, "-c", f"import spanwise; spanwise.find_slices({given})")


@pytest.mark.parametrize("what", EDITS)
def test_the_design_page_counts_the_places(what: str) -> None:
    page = DESIGN.read_text(encoding="utf-8")
    counted = re.search(rf"^\| {what} \| (\d+) \| ([^|]*) \|", page, re.MULTILINE)
    assert counted is not None
    assert int(counted[1]) == len(EDITS[what])
    assert set(re.findall(r"`([\w/]+\.py)`", counted[2])) == {name for name, _, _ in EDITS[what]}
