"""Ortmann (2022): Tables 1 and 2 and Figures 1 and 2 from the spans, and checks of the released results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import isnan
from pathlib import Path

import numpy as np
from msgspec import Struct

from spanwise.columns import Floats
from spanwise.credits import CREDITS
from spanwise.document.scores import Confusion, ErrorShares, FairScores, Rates, SystemScores
from spanwise.evaluation import evaluate
from spanwise.formats import JsonRecord
from spanwise.matching import OUTCOMES
from spanwise.reproduction._cells import Cell, closely, exactly, released
from spanwise.scores import credited, exact

FOLDER = "ortmann-ner"
SOURCE = "Ort22"
_FOCI = {"focus_target": "gold", "focus_system": "predicted"}
_FINE = {"BES": "BEs", "BEL": "BEl", "BEO": "BEo"}  # names in the released files, and ours
_CREDITS = {"weighted_eq6": "ortmann-eq6", "weighted_eq7": "ortmann-eq7"}
_SCORES = ("precision", "recall", "f1")


def cells(folder: Path) -> list[Cell]:
    """All cells computed from the spans in the folder, next to the figures in it."""
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    listed: list[Cell] = []
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
        system = result.systems["stanza"]
        paper = expected[published]
        # The paper prints the focus on gold mentions and equation 7; the program also gives the rest.
        scores = list(_scores(paper, system, focus))
        if focus == "gold":
            assert system.fair.shares is not None
            listed += [cell for cell in scores if not cell.table.endswith("equation 6")]
            listed += released(cell for cell in scores if cell.table.endswith("equation 6"))
            listed += _shares(paper["overall"], system.fair.shares)
            listed.append(_labeling_errors(system.fair.overall))
            listed += _confusion(paper["confusion"], system.confusion)
        else:
            listed += released(scores)
    return listed


def _scores(paper: JsonRecord, system: SystemScores, focus: str) -> Iterator[Cell]:
    """Table 1 (overall) and Table 2 (by label): counts and scores, fair, traditional and weighted."""
    parts = {"overall": paper["overall"], **paper["per_label"]}
    for label, figures in parts.items():
        table = f"Table {1 if label == 'overall' else 2}"
        if focus == "predicted":
            table = f"as {table}, focus predicted"
        whole = label == "overall"
        fair = system.fair.overall if whole else system.fair.labels[label]
        exact = system.exact.overall if whole else system.exact.labels[label]
        for kind, count in figures["fair"]["counts"].items():
            yield exactly(
                SOURCE, table, f"{label} fair {kind}", count, round(fair.count(_FINE.get(kind, kind)), 6)
            )
        missed = {"TP": exact.correct, "FP": exact.predicted - exact.correct}
        missed["FN"] = exact.gold - exact.correct
        for kind, count in figures["traditional"]["counts"].items():
            yield exactly(SOURCE, table, f"{label} traditional {kind}", count, missed[kind])
        credited: dict[str, Rates] = {"fair": fair, "traditional": exact}
        for name, credit in _CREDITS.items():
            weighted = (system.credits or {})[credit]
            credited[name] = weighted.overall if whole else weighted.labels[label]
        for name, ours in credited.items():
            place = f"as {table}, equation 6" if name == "weighted_eq6" and focus == "gold" else table
            for score in _SCORES:
                theirs = figures[name]["scores"][score]
                yield closely(SOURCE, place, f"{label} {name} {score}", theirs, getattr(ours, score))


def _shares(paper: JsonRecord, shares: ErrorShares) -> Iterator[Cell]:
    """Figure 1: the share of each kind among all errors."""
    for credit, ours, kinds in (
        ("traditional", shares.traditional, ("FP", "FN")),
        ("fair", shares.fair, ("LE", "BE", "LBE", "FN", "FP")),
    ):
        counts = paper[credit]["counts"]
        whole = sum(counts[kind] for kind in kinds)
        for kind in kinds:
            yield closely(SOURCE, "Figure 1", f"{credit} {kind}", counts[kind] / whole, ours[kind])


def _labeling_errors(fair: FairScores) -> Cell:
    """The text's claim about labeling errors, which holds for the errors in predictions, without FN."""
    errors = sum(fair.count(kind) for kind in ("LE", "BE", "LBE", "FP"))
    name = "labeling errors, share of all errors but FN"
    return closely(SOURCE, "text", name, 0.30, fair.count("LE") / errors, within=0.005)


def _confusion(paper: Mapping[str, Mapping[str, int]], confusion: Confusion) -> Iterator[Cell]:
    """Figure 2: the confusion of gold and predicted labels, with missed and spurious mentions."""
    index = {label: number for number, label in enumerate(confusion.labels)}
    for gold, row in paper.items():
        for predicted, count in row.items():
            if gold == "_":
                ours = confusion.spurious[index[predicted]]
            elif predicted == "_":
                ours = confusion.missed[index[gold]]
            else:
                ours = confusion.counts[index[gold]][index[predicted]]
            yield exactly(SOURCE, "Figure 2", f"{gold} → {predicted}", count, ours)


# ---- the released results on chunks and topological fields, which are only checked against each other ----

_ROUNDED = 0.005 + 1e-9  # the uncertainty of two printed decimals

# The results of Ort22 on chunks and topological fields, focus gold, copied from its repository
# (FairEval, eval/eval_chunks.csv and eval_topofields.csv, the second version of both). Columns: label;
# gold mentions; traditional FP and FN; fair TP, LE, BEs, BEl, BEo, LBE, FN and FP; then precision, recall
# and F1 in points: traditional, fair, and weighted by equation 7.
RELEASED = {
    "chunks": """\
ADVX 11110 377 299 10811 6 35 5 0 263 0 3 96.63 97.31 96.97 98.56 98.59 98.58 98.72 98.62 98.67
AX 4420 364 750 3670 52 63 270 1 426 0 1 90.98 83.03 86.82 90.02 90.04 90.03 91.09 93.41 92.24
DM 117 12 18 99 9 9 0 0 1 4 0 89.19 84.62 86.84 91.24 88.00 89.59 95.39 88.46 91.80
DP 2 0 2 0 0 0 0 0 2 0 0 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00
FX 192 22 9 183 0 3 6 0 2 0 0 89.27 95.31 92.19 97.08 97.08 97.08 97.91 98.68 98.30
KOORD 526 45 21 505 0 0 0 0 0 21 35 91.82 96.01 93.87 93.52 96.01 94.75 93.52 96.01 94.75
NX 40606 1565 1984 38622 40 446 1333 3 523 6 0 96.11 95.11 95.61 97.05 97.04 97.05 97.66 98.72 98.19
PARORD 69 2 5 64 0 0 0 0 0 5 1 96.97 92.75 94.81 98.46 92.75 95.52 98.46 92.75 95.52
PX 18419 385 396 18023 68 104 218 1 117 0 0 97.91 97.85 97.88 98.61 98.61 98.61 98.90 99.21 99.06
VC 989 1 0 989 0 0 0 0 0 0 0 99.90 100.00 99.95 100.00 100.00 100.00 100.00 100.00 100.00
VX 24413 5 5 24408 2 3 1 0 1 0 0 99.98 99.98 99.98 99.99 99.99 99.99 99.99 99.99 99.99
sAX 12 0 12 0 6 0 0 0 7 1 0 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00
sDM 1 0 1 0 0 0 0 0 0 1 0 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00
sFX 2 0 2 0 0 0 0 0 2 0 0 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00
sNX 281 23 90 191 18 8 9 0 65 2 0 89.25 67.97 77.17 79.25 78.60 78.93 81.26 80.77 81.02
sPX 145 11 61 84 5 2 3 0 57 0 0 88.42 57.93 70.00 71.49 71.49 71.49 72.69 73.00 72.84
all 101304 2812 3655 97649 206 673 1845 5 1466 40 40 97.20 96.39 96.79 97.86 97.86 97.86 98.21 98.79 98.50
""",
    "fields": """\
C 4642 109 85 4557 6 68 3 0 11 4 16 97.66 98.17 97.92 98.70 98.96 98.83 99.44 99.00 99.22
FKONJ 1900 346 408 1492 9 48 47 0 46 259 197 81.18 78.53 79.83 84.58 81.71 83.12 86.13 83.22 84.65
FKOORD 998 223 326 672 56 47 46 4 49 125 75 75.08 67.33 71.00 79.25 74.83 76.98 82.63 78.10 80.30
KOORD 526 81 28 498 0 0 0 0 3 25 11 86.01 94.68 90.14 97.55 94.95 96.23 97.55 94.95 96.23
LK 11703 135 44 11659 15 45 0 0 16 4 52 98.86 99.62 99.24 99.23 99.64 99.44 99.43 99.64 99.53
LV 138 35 66 72 21 3 1 0 16 26 23 67.29 52.17 58.78 62.34 60.76 61.54 63.79 61.67 62.71
MF 17447 1542 1141 16306 31 259 619 7 164 215 675 91.36 93.46 92.40 93.07 95.57 94.30 93.92 97.42 95.64
MFE 2 0 2 0 2 0 0 0 0 0 0 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00
NF 4427 726 876 3551 35 180 128 4 233 338 270 83.03 80.21 81.59 86.38 84.97 85.67 88.77 86.81 87.78
PARORD 69 0 69 0 64 0 0 0 2 3 0 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00
VC 11085 125 112 10973 28 64 46 0 24 6 16 98.87 98.99 98.93 99.12 99.21 99.17 99.41 99.42 99.42
VCE 12 1 1 11 1 0 0 0 0 0 0 91.67 91.67 91.67 95.65 95.65 95.65 95.65 95.65 95.65
VF 10875 922 498 10377 33 66 169 0 116 137 563 91.84 95.42 93.60 93.22 96.93 95.04 93.56 97.72 95.60
all 63824 4245 3656 60168 301 780 1059 15 680 1142 1898 93.41 94.27 93.84 94.78 95.92 95.35 95.44 96.79 96.11
""",
}


class _Row(Struct, frozen=True, eq=False):
    """The released results of one label, or of all labels together."""

    label: str
    gold: int
    false: int
    missed: int
    outcomes: Floats  # in the order of OUTCOMES
    scores: dict[str, tuple[float, ...]]  # traditional, fair and weighted: precision, recall, F1 in points

    @classmethod
    def of(cls, line: str) -> _Row:
        label, *numbers = line.split()
        gold, false, missed, *outcomes = map(int, numbers[: 3 + len(OUTCOMES)])
        points = [float(number) for number in numbers[3 + len(OUTCOMES) :]]
        names = ("traditional", "fair", "weighted_eq7")
        scores = {name: tuple(points[3 * index : 3 * index + 3]) for index, name in enumerate(names)}
        return cls(label, gold, false, missed, np.array(outcomes, dtype=np.float64), scores)

    def computed(self) -> dict[str, dict[str, Floats]]:
        """The scores that follow from the counts."""
        right = self.outcomes[OUTCOMES.index("TP")]
        return {
            "traditional": exact(np.array([right + self.missed, right + self.false, right])),
            "fair": credited(self.outcomes, CREDITS.find("fair")),
            "weighted_eq7": credited(self.outcomes, CREDITS.find("ortmann-eq7")),
        }


def released_cells() -> list[Cell]:
    """All checks of the released results."""
    return released(cell for part in RELEASED for cell in _released(part))


def _released(part: str) -> Iterator[Cell]:
    """Check the scores of each label against its counts, and the overall counts against their sums."""
    table = f"released results, {part}"
    *labels, whole = map(_Row.of, RELEASED[part].splitlines())
    for row in (*labels, whole):
        right = int(row.outcomes[OUTCOMES.index("TP")])
        yield exactly("Ort22", table, f"{row.label} gold mentions", row.gold, right + row.missed)
        for way, scores in row.computed().items():
            for name, paper in zip(_SCORES, row.scores[way], strict=True):
                ours = 100 * float(scores[name])
                yield closely(
                    "Ort22",
                    table,
                    f"{row.label} {way} {name}",
                    paper,
                    None if isnan(ours) else ours,
                    within=_ROUNDED,
                    why="0/0, which the program prints as 0, is undefined" if isnan(ours) else "",
                )
    sums = np.array([(row.false, row.missed, *row.outcomes) for row in labels]).sum(axis=0)
    names = ("traditional FP", "traditional FN", *(f"fair {name}" for name in OUTCOMES))
    printed = (whole.false, whole.missed, *whole.outcomes)
    for name, paper, ours in zip(names, printed, sums, strict=True):
        yield exactly("Ort22", table, f"all {name}, added up", int(paper), int(ours))
