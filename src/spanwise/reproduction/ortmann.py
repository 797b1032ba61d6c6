"""Ortmann (2022): Tables 1 and 2 and Figures 1 and 2, the part on named entities."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spanwise.evaluation import evaluate
from spanwise.reproduction._cells import Cell, closely, exactly

FOLDER = "ortmann-ner"
SOURCE = "Ort22"
_FOCI = {"focus_target": "gold", "focus_system": "predicted"}
_FINE = {"BES": "BEs", "BEL": "BEl", "BEO": "BEo"}  # the names of the released files and ours
_CREDITS = {"weighted_eq6": "ortmann-eq6", "weighted_eq7": "ortmann-eq7"}
_SCORES = ("precision", "recall", "f1")


def cells(folder: Path) -> list[Cell]:
    """All cells, from the spans and the figures in the folder."""
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    found: list[Cell] = []
    for published, focus in _FOCI.items():
        result = evaluate(
            folder / "gold.spans",
            {"stanza": folder / "predicted.spans"},
            focus=focus,
            weights=list(_CREDITS.values()),
            attributes="none",
            resamples=0,
            examples="none",
        )
        system = result.to_dict()["systems"]["stanza"]
        paper = expected[published]
        found += _scores(paper, system, focus)
        if focus == "gold":
            found += [*_shares(paper["overall"], system), *_confusion(paper["confusion"], system)]
    return found


def _scores(paper: Mapping[str, Any], system: Mapping[str, Any], focus: str) -> Iterator[Cell]:
    """Table 1 (overall) and Table 2 (by label): counts and scores, fair, traditional and weighted."""
    parts = {"overall": paper["overall"], **paper["per_label"]}
    for label, figures in parts.items():
        table = f"Table {1 if label == 'overall' else 2}, focus {focus}"
        fair, exact = _part(system["fair"], label), _part(system["exact"], label)
        for kind, count in figures["fair"]["counts"].items():
            yield exactly(SOURCE, table, f"{label} fair {kind}", count, round(fair[_FINE.get(kind, kind)], 6))
        missed = {"TP": exact["correct"], "FP": exact["predicted"] - exact["correct"]}
        missed["FN"] = exact["gold"] - exact["correct"]
        for kind, count in figures["traditional"]["counts"].items():
            yield exactly(SOURCE, table, f"{label} traditional {kind}", count, missed[kind])
        credited = {
            "fair": fair,
            "traditional": exact,
            **{name: _part(system["credits"][credit], label) for name, credit in _CREDITS.items()},
        }
        for name, ours in credited.items():
            for score in _SCORES:
                theirs = figures[name]["scores"][score]
                yield closely(SOURCE, table, f"{label} {name} {score}", theirs, ours[score])


def _part(scores: Mapping[str, Any], label: str) -> Mapping[str, Any]:
    part: Mapping[str, Any] = scores["overall"] if label == "overall" else scores["labels"][label]
    return part


def _shares(paper: Mapping[str, Any], system: Mapping[str, Any]) -> Iterator[Cell]:
    """Figure 1: the share of each kind among all errors, and the text's word on labeling errors."""
    shares = system["fair"]["shares"]
    for credit, kinds in (("traditional", ("FP", "FN")), ("fair", ("LE", "BE", "LBE", "FN", "FP"))):
        counts = paper[credit]["counts"]
        whole = sum(counts[kind] for kind in kinds)
        for kind in kinds:
            ours = shares[credit][kind]
            yield closely(SOURCE, "Figure 1", f"{credit} {kind}", counts[kind] / whole, ours)
    # The text's share is among the errors that a prediction makes: mentions that are missed are left out.
    counts = paper["fair"]["counts"]
    made = sum(counts[kind] for kind in ("LE", "BE", "LBE", "FP"))
    name = "labeling errors, share of all errors but FN"
    yield closely(SOURCE, "text", name, 0.30, counts["LE"] / made, within=0.005)


def _confusion(paper: Mapping[str, Mapping[str, int]], system: Mapping[str, Any]) -> Iterator[Cell]:
    """Figure 2: gold labels against predicted ones, missed and spurious."""
    confusion = system["confusion"]
    place = {label: number for number, label in enumerate(confusion["labels"])}
    for gold, row in paper.items():
        for predicted, count in row.items():
            if gold == "_":
                ours = confusion["spurious"][place[predicted]]
            elif predicted == "_":
                ours = confusion["missed"][place[gold]]
            else:
                ours = confusion["counts"][place[gold]][place[predicted]]
            yield exactly(SOURCE, "Figure 2", f"{gold} → {predicted}", count, ours)
