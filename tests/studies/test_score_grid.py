"""An evaluation is a study of one dataset with one run per system: both have the same form and scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from study_files import make

import spanwise
from spanwise.document.evaluation import Evaluation, ScoreGrid
from spanwise.document.study import Study


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("grid")
    make(path, count=40)
    return path / "north"


def grid_of(folder: Path, run: str) -> ScoreGrid:
    systems = {name: f"{folder}/predictions/{name}.{run}.txt" for name in ("small", "large")}
    return spanwise.evaluate(str(folder / "test.txt"), systems, train=str(folder / "train.txt"), resamples=50)


def test_each_run_of_a_study_scores_as_an_evaluation_of_its_files(folder: Path) -> None:
    study = grid_of(folder, "{run}")
    assert isinstance(study, Study)
    runs = {run for _, _, run, _ in study.scored()}
    assert len(runs) > 1
    for run in runs:
        evaluation = grid_of(folder, run)
        assert isinstance(evaluation, Evaluation)
        alone = {(dataset, system): scores for dataset, system, _, scores in evaluation.scored()}
        together = {
            (dataset, system): scores for dataset, system, own, scores in study.scored() if own == run
        }
        assert alone == together


def test_both_hold_datasets_systems_and_comparisons_in_the_same_form(folder: Path) -> None:
    study, evaluation = grid_of(folder, "{run}"), grid_of(folder, "1")
    assert list(study.datasets) == list(evaluation.datasets) == ["test"]
    for grid in (study, evaluation):
        dataset = grid.datasets["test"]
        assert sorted(dataset.runs) == ["large", "small"]
        comparison = dataset.comparison("large", "small")
        assert comparison is not None and comparison == dataset.comparison("small", "large")
        assert dataset.edges()["entity_length"]
        assert dataset.findings is not None and dataset.dataset is not None


def test_both_become_frames_with_one_row_per_score(folder: Path) -> None:
    pytest.importorskip("pandas")
    study, evaluation = grid_of(folder, "{run}"), grid_of(folder, "1")
    rows = study.to_pandas()
    first = rows[rows["run"] == "1"].drop(columns="run").reset_index(drop=True)
    alone = evaluation.to_pandas().drop(columns="run").reset_index(drop=True)
    order = ["system", "kind", "name", "part", "score"]
    sorted_first, sorted_alone = (
        frame.sort_values(order, kind="stable", ignore_index=True) for frame in (first, alone)
    )
    assert sorted_first.equals(sorted_alone)
