"""Figures for papers: titles of axes, panels over datasets, mean ranks, widths of columns, all series."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import study_documents

import spanwise
from spanwise.document.study import Ranking
from spanwise.errors import ChoiceError
from spanwise.reports.figures import figures, save
from spanwise.studies._scores import ranking_over_datasets

LABELS = ["B-PER", "B-LOC"]


def systems(number: int) -> spanwise.Result:
    """Systems of which each misses one mention more than the one before."""
    gold = [[label] for label in LABELS * 20]
    said = {
        f"s{at}": [["O"] if place < at else one for place, one in enumerate(gold)] for at in range(number)
    }
    return spanwise.evaluate(gold, said, resamples=0)


def texts(chart: Any) -> str:
    return json.dumps(chart.to_dict(), ensure_ascii=False)


def test_every_figure_says_what_its_axis_or_its_cells_show() -> None:
    for name, chart in figures(systems(2)).items():
        assert re.search(r"\(points\)|\(percent\)|numbers: mentions|points\)", texts(chart)), name
    for name, chart in figures(study_documents.study()).items():
        assert re.search(r"points|percent|ring is 1|\|ρ\||rank|ζ|F1", texts(chart)), name


def test_all_series_are_drawn() -> None:
    drawn = figures(systems(9))
    assert {f"confusion-s{at}" for at in range(9)} <= drawn.keys()
    assert all(f"s{at}: F1" in texts(drawn["labels"]) for at in range(9))


@pytest.mark.parametrize(("columns", "points"), [(1, 240), (2, 500)])
def test_figures_are_as_wide_as_columns(columns: int, points: int, tmp_path: Path) -> None:
    (path,) = save(systems(2), tmp_path, names=["labels"], columns=columns)
    found = re.search(r'<svg[^>]* width="([0-9.]+)"', path.read_text(encoding="utf-8"))
    assert found is not None
    assert float(found[1]) == pytest.approx(points * 4 / 3, abs=0.01)
    with pytest.raises(ChoiceError, match="columns is 3, but must be 1 or 2"):
        save(systems(2), tmp_path, columns=3)


def test_mean_ranks_and_the_critical_difference_are_those_of_demsar() -> None:
    # Demšar (2006), 3.2.2: four algorithms, 14 data sets, q = 2.569, critical difference 1.25.
    means = {name: [value] * 14 for name, value in zip("abcd", (0.9, 0.8, 0.7, 0.6), strict=True)}
    ranking = ranking_over_datasets(means)
    assert isinstance(ranking, Ranking)
    assert ranking.ranks == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert ranking.critical == pytest.approx(1.25, abs=0.005)
    assert ranking.groups == (("a", "b"), ("b", "c"), ("c", "d"))
    tied = ranking_over_datasets({"a": [0.9, 0.8], "b": [0.9, 0.9], "c": [0.1, None]})
    assert isinstance(tied, Ranking)
    assert tied.ranks == {"a": 1.5, "b": 1.5, "c": 3}
