"""The steps on the design page are taken in the same order for one block, for parts and for runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from study_files import make
from watching import entered

from spanwise.cli.main import main

DESIGN = Path(__file__).parents[2] / "docs" / "design.md"

# For each file on the page, the functions one of which is called at that step.
STEPS = {
    "cli/evaluating.py": ("evaluate_files",),
    "evaluation/__init__.py": ("_or_runs.<locals>.with_runs",),
    "evaluation/choices.py": ("Choices.of",),
    "formats/__init__.py": ("read_by",),
    "evaluation/blocks.py": ("TrainingFacts.of", "learn_facts"),
    "evaluation/dataset.py": ("fix_facts",),
    "evaluation/counting.py": ("match_systems",),
    "evaluation/result.py": ("result_of",),
    "evaluation/scoring.py": ("score_and_test",),
    "reports/html/__init__.py": ("render",),
}
IN_PARTS = {"formats/__init__.py": ("formats/parts.py", ("surveyed", "survey_layers"))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("walk")
    make(path, count=40)
    return path / "north"


def test_the_design_page_shows_these_steps() -> None:
    rows = re.findall(r"^\| (\d+) \| `([^`]+)` \|", DESIGN.read_text(encoding="utf-8"), re.MULTILINE)
    assert [file for _, file in rows] == list(STEPS)
    assert [int(number) for number, _ in rows] == list(range(1, len(STEPS) + 1))
    assert len(STEPS) <= 10


@pytest.mark.parametrize("how", ["whole", "parts", "runs", "runs in parts"])
def test_an_evaluation_takes_these_steps_in_order(folder: Path, tmp_path: Path, how: str) -> None:
    run = "{run}" if how.startswith("runs") else "1"
    options = ["--memory", "1MB"] if how.endswith("parts") else ["--workers", "1"]
    page = str(tmp_path / "a.html")
    with entered() as calls:
        arguments = [str(folder / "test.txt"), f"small={folder}/predictions/small.{run}.txt", *options]
        train = ["--train", str(folder / "train.txt")]
        assert main(["evaluate", *arguments, *train, "--resamples", "20", "--quiet", "--html", page]) == 0
    order = {call: number for number, call in enumerate(calls)}
    steps = []
    for file, names in STEPS.items():
        module, functions = IN_PARTS.get(file, (file, names)) if how.endswith("parts") else (file, names)
        steps.append(min(order[module, name] for name in functions if (module, name) in order))
    assert steps == sorted(steps)
