"""Fu, Liu and Neubig (2020): the bucket figures, diagnoses and differences that their program released."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spanwise.evaluation import evaluate
from spanwise.formats import read
from spanwise.interpreteval import SHORT, Departures, Figures, Tagged, Training, compare
from spanwise.interpreteval import evaluate as follow
from spanwise.reproduction._cells import Cell, closely, exactly

FOLDER = "wnut16"
SOURCE = "Fu20"
_FILES = {"Flair": "flair.txt", "ELMo": "elmo.txt"}


def sides(folder: Path, model: str) -> tuple[Tagged, Tagged]:
    """Gold and predicted tags of one system, as they stand in its file."""
    annotation = read(folder / _FILES[model], columns={"gold": 1, "predicted": 2})
    return Tagged.of(annotation, column="gold"), Tagged.of(annotation, column="predicted")


def training(folder: Path) -> Tagged:
    """The training file as it stands."""
    return Tagged.of(read(folder / "train.txt", columns={"tag": 1}), column="tag")


def known_words(folder: Path) -> list[str]:
    """The word list behind the released densities of unknown words."""
    return (folder / "known_words.txt").read_text(encoding="utf-8").split("\n")


def cells(folder: Path) -> list[Cell]:
    """All released figures of the dataset, from its files."""
    released = json.loads((folder / "released-figures.json").read_text(encoding="utf-8"))
    trained, known = Training(training(folder), Departures()), known_words(folder)
    figures = {model: follow(*sides(folder, model), trained, vocabulary=known) for model in _FILES}
    found: list[Cell] = []
    for model, ours in figures.items():
        theirs = released["models"][model]
        found += [_holistic(folder, model, theirs["holistic_f1"]), *_buckets(model, ours, theirs)]
    return [*found, *_comparison(figures, released)]


def _holistic(folder: Path, model: str, paper: float) -> Cell:
    result = evaluate(folder / _FILES[model], attributes="none", resamples=0, examples="none").to_dict()
    (system,) = result["systems"].values()
    f1 = 100 * system["exact"]["overall"]["f1"]
    return closely(SOURCE, "overall", f"{model} F1", paper, f1, within=0.005 + 1e-9)


def _buckets(model: str, ours: Figures, theirs: Mapping[str, Any]) -> Iterator[Cell]:
    for name, short in SHORT.items():
        attribute = ours.attributes[name]
        for row, cell in zip(attribute["buckets"], theirs["buckets"][short], strict=True):
            place = f"{model} {short} {row['name']}"
            yield closely(SOURCE, "buckets", f"{place} F1", cell["f1"], row["f1"])
            yield exactly(SOURCE, "buckets", f"{place} gold", cell["gold"], row["gold"])
        diagnosis, derived = theirs["self_diagnosis"][short], theirs["derived_from_buckets"][short]
        place = f"{model} {short}"
        for which in ("best", "worst"):
            bucket = attribute["buckets"][diagnosis[which]]["name"]
            yield exactly(SOURCE, "self-diagnosis", f"{place} {which}", bucket, attribute[which])
        yield closely(SOURCE, "self-diagnosis", f"{place} gap", diagnosis["gap"], attribute["gap"])
        yield closely(SOURCE, "model-wise", f"{place} S^rho", derived["rho"], attribute["spearman"])
        yield closely(SOURCE, "model-wise", f"{place} S^sigma", derived["sigma"], attribute["std"])


def _comparison(figures: Mapping[str, Figures], released: Mapping[str, Any]) -> Iterator[Cell]:
    first, second = figures.values()
    found = compare(first, second)
    for name, short in SHORT.items():
        rows = first.attributes[name]["buckets"]
        theirs, relative = released["comparative"][short], released["heatmap_relative"][short]
        for which in ("best", "worst"):
            bucket = rows[theirs[which]]["name"]
            ours = found[name][which]
            yield exactly(SOURCE, "comparative diagnosis", f"{short} {which}", bucket, ours["bucket"])
            gap = theirs[f"{which}_gap"]
            yield closely(SOURCE, "comparative diagnosis", f"{short} {which} lead", gap, ours["difference"])
        for row, paper, ours in zip(rows, relative, found[name]["relative"], strict=True):
            yield closely(SOURCE, "relative differences", f"{short} {row['name']}", paper, ours)
