"""Reports of several runs: they say of one dataset what those of an evaluation say, as means over runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from study_files import make

import spanwise
from spanwise.document.study import Study
from spanwise.reports.html.verdicts import overall_verdict, verdicts

SYSTEMS = ("large", "small", "rules")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs")
    make(path, count=150)
    return path


def study(folder: Path, *datasets: str, systems: tuple[str, ...] = SYSTEMS, **options: Any) -> Study:
    """The study of some of the datasets, with three runs of each system."""
    manifest = {
        "predictions": "{dataset}/predictions/{system}.{run}.txt",
        "datasets": {name: {"test": f"{name}/test.txt", "train": f"{name}/train.txt"} for name in datasets},
        "systems": {name: {} for name in systems},
        "resamples": 200,
        "examples": "errors",
        **options,
    }
    return spanwise.study(manifest, root=folder, workers=1, cache=False)


@pytest.fixture(scope="module")
def one(folder: Path) -> Study:
    return study(folder, "north")


@pytest.fixture(scope="module")
def two(folder: Path) -> Study:
    return study(folder, "north", "south")


# ---- what is said of a lead --------------------------------------------------------------------------


def test_page_screen_and_statements_agree_on_the_lead_on_one_dataset(one: Study) -> None:
    (row,), overall = verdicts(one), overall_verdict(one)
    assert row.significant and row.said == "significant, p < 0.001"
    assert overall is not None and overall.leader == row.leader == "large"
    assert overall.said.endswith(", which is significant (p < 0.001).")
    assert "chance" not in one.to_html().partition("<h1>")[2].partition("</h1>")[0]
    screen = one.to_text(width=100)
    assert "cannot be told apart" not in screen
    told = [str(line[0]) for line in one.table("statements").rows]
    assert any(line.startswith("north: large and small differ by") for line in told)
    assert not any("Wilcoxon" in line or "Friedman" in line for line in told)


def test_a_lead_on_one_dataset_that_can_be_chance_is_called_so(one: Study) -> None:
    part = one.datasets["north"]
    weak = [
        replace(pair, scores=tuple(replace(row, p_corrected=0.4, significant=False) for row in pair.scores))
        for pair in part.comparisons
    ]
    changed = replace(one, datasets={"north": replace(part, comparisons=tuple(weak))})
    overall = overall_verdict(changed)
    assert overall is not None and overall.said.endswith(", which can be chance (p = 0.40).")
    untested = replace(one, datasets={"north": replace(part, comparisons=())})
    overall = overall_verdict(untested)
    assert overall is not None and overall.said.endswith(" above small.")


def test_too_few_datasets_are_never_said_to_show_chance(two: Study) -> None:
    pair = two.analyses.bucket_wise.comparative[0].over_datasets
    assert pair and pair.note and pair.p == 0.5
    overall = overall_verdict(two)
    assert overall is not None
    assert "above small, but 2 datasets are too few to test that. It leads on 2 of 2" in overall.said
    told = [str(line[0]) for line in two.table("statements").rows]
    assert "2 datasets are too few to tell the 3 systems apart by Friedman's test." in told
    assert not any("cannot be told apart" in line for line in told)
