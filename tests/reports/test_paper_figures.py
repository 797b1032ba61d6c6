"""Figures for papers: axis titles, panels over datasets, mean ranks, column widths, all series."""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import altair as alt
import pytest
import study_documents

import spanwise
from spanwise.errors import ChoiceError, InputError
from spanwise.reports._charts import width_of
from spanwise.reports._charts.papers import side_by_side
from spanwise.reports.figures import figures, paper, papers, save

LABELS = ["B-PER", "B-LOC"]


def systems(number: int) -> spanwise.Result:
    """Systems each of which misses one mention more than the previous one."""
    gold = [[label] for label in LABELS * 20]
    predictions = {
        f"s{at}": [["O"] if index < at else tags for index, tags in enumerate(gold)] for at in range(number)
    }
    return spanwise.evaluate(gold, predictions, resamples=0)


def texts(chart: alt.LayerChart) -> str:
    return json.dumps(chart.to_dict(), ensure_ascii=False)


def test_every_figure_says_what_its_axis_or_its_cells_show() -> None:
    for name, chart in figures(systems(2)).items():
        assert re.search(r"\(points\)|\(percent\)|numbers: mentions|points\)", texts(chart)), name
    for name, chart in figures(study_documents.study()).items():
        shows = r"points|percent|ring is 1|\|ρ\||rank|ζ|F1|numbers: mentions · means over runs"
        assert re.search(shows, texts(chart)), name


def test_all_series_are_drawn() -> None:
    drawn = figures(systems(9))
    assert {f"confusion-s{at}" for at in range(9)} <= drawn.keys()
    assert all(f"s{at}: F1" in texts(drawn["labels"]) for at in range(9))


@pytest.mark.parametrize(("columns", "points"), [(1, 240), (2, 500)])
def test_figures_are_as_wide_as_columns(columns: int, points: int, tmp_path: Path) -> None:
    (path,) = save(systems(2), tmp_path, names=["labels"], columns=columns)
    match = re.search(r'<svg[^>]* width="([0-9.]+)"', path.read_text(encoding="utf-8"))
    assert match is not None
    assert float(match[1]) == pytest.approx(points * 4 / 3, abs=0.01)
    (printed,) = save(systems(2), tmp_path, names=["labels"], columns=columns, formats=["pdf"])
    page = re.search(rb"/MediaBox \[0 0 ([0-9.]+) ", printed.read_bytes())
    assert page is not None
    assert float(page[1]) == pytest.approx(points, abs=0.01)
    with pytest.raises(ChoiceError, match="columns is 3, but must be 1 or 2"):
        save(systems(2), tmp_path, columns=3)


def about(score: str) -> dict[str, Any]:
    """A study whose analyses use this score."""
    document = study_documents.study()
    return {**document, "analyses": {**document["analyses"], "score": score}}


@pytest.mark.parametrize(("score", "name"), [("recall", "recall"), ("fair_f1", "fair F1")])
def test_every_figure_of_a_study_names_its_score(score: str, name: str) -> None:
    document = about(score)
    # The figures of one dataset are those of an evaluation, which name their own scores.
    drawn = {title: chart for title, chart in figures(document).items() if "/" not in title}
    for figure in papers():
        with contextlib.suppress(InputError):
            drawn |= paper(document, figure)
    assert len(drawn) > 10
    for title, chart in drawn.items():
        written = texts(chart).replace("fair F1", "fair").replace("Fair F1", "fair")
        assert "F1" not in written, title
    assert name in texts(drawn["holistic"])


def test_confusions_of_a_study_are_side_by_side_with_the_chosen_labels() -> None:
    document = study_documents.study()
    drawn = paper(document, "ort22-figure2")
    assert len(drawn) == len(document["analyses"]["holistic"])
    written = texts(next(iter(drawn.values())))
    assert all(f'"t": "{name}"' in written for name in document["datasets"])
    assert "runs added up" in written
    chosen = paper(document, "ort22-figure2", labels=["PER"])
    assert '"t": "others"' in texts(next(iter(chosen.values())))
    with pytest.raises(ChoiceError, match="no label of this study is called 'X'"):
        paper(document, "ort22-figure2", labels=["X"])


def test_gains_against_zeta_have_a_panel_for_each_attribute_and_a_dot_for_each_dataset(data: Path) -> None:
    manifest = (Path(__file__).parents[2] / "examples" / "masakhaner.toml").read_text(encoding="utf-8")
    settings = {**tomllib.loads(manifest), "resamples": 0}
    document = spanwise.study(settings, root=data / "masakhaner", workers=1, cache=False)
    drawn = paper(document, "fu20-pays")
    pairs = document.analyses.bucket_wise.comparative
    assert len(drawn) == len(pairs)
    assert texts(next(iter(drawn.values()))).count("ζ of ") == len(pairs[0].pays) * len(pairs[0].gains) == 24


def test_the_numbers_of_narrow_parts_neither_overlap_nor_leave_the_plot() -> None:
    texts = [(1.0, "LE 0.2"), (3.0, "BEs 0.9"), (415.0, "FN 0.9"), (418.0, "FP 0.9")]
    placed = side_by_side(texts, 420)
    assert [text for _, text in placed] == [text for _, text in texts]
    edges = [(middle - width_of(text, 8) / 2, middle + width_of(text, 8) / 2) for middle, text in placed]
    assert edges[0][0] >= 0
    assert edges[-1][1] <= 420
    assert all(left[1] < right[0] for left, right in pairwise(edges))


def test_the_first_figure_of_ortmann_shows_all_boundary_errors_together() -> None:
    gold = [["B-PER", "I-PER", "O"], ["B-LOC", "O", "O"], ["B-LOC", "I-LOC", "O"]]
    predicted = [["B-PER", "O", "O"], ["B-LOC", "I-LOC", "O"], ["O", "O", "O"]]
    result = spanwise.evaluate(gold, {"a": predicted}, resamples=0)
    drawn = texts(paper(result, "ort22-figure1")["ort22-figure1"])
    assert "boundary errors 66.7% (2)" in drawn
    assert '"BE 66.7"' in drawn


def test_a_cell_of_several_labels_is_not_drawn_as_boundary_errors() -> None:
    names = ["PER", "LOC", "ORG", "MISC"]
    gold = [[f"B-{name}", f"I-{name}"] for name in names]
    predicted = [[f"B-{name}", "O"] for name in names]
    result = spanwise.evaluate(gold, {"a": predicted}, resamples=0)

    def dashed(labels: list[str]) -> int:
        drawn = paper(result, "ort22-figure2", labels=labels)["ort22-figure2-a"].to_dict()
        layers = [layer for layer in walk(drawn) if "strokeDash" in str(layer.get("mark", ""))]
        (layer,) = layers
        return len(drawn["datasets"][layer["data"]["name"]])

    assert dashed(["PER", "LOC"]) == 2  # "others" holds ORG and MISC
    assert dashed(["PER", "LOC", "ORG"]) == 4  # a single other label keeps its name
    assert dashed([]) == 4


def walk(chart: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield chart
    for layer in chart.get("layer", []):
        yield from walk(layer)
