"""Tu and Lignos (2021): Table 3, the tough mentions of the Spanish test set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spanwise.description import describe
from spanwise.reproduction._cells import Cell, closely, exactly

FOLDER = "conll2002-es"
SOURCE = "Tu21"
TABLE = "Table 3"


def cells(folder: Path) -> list[Cell]:
    """All cells of the table, computed from the training and test files."""
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["cells"]
    dataset = describe(folder / "test.txt", train=folder / "train.txt").to_dict()["dataset"]
    return list(_cells(expected, dataset))


def _cells(expected: Mapping[str, Any], dataset: Mapping[str, Any]) -> Iterator[Cell]:
    tough = dataset["tough"]
    for subset, row in expected.items():
        for label, cell in row.items():
            name = f"{subset} {label}"
            if subset == "TOTAL":
                ours = dataset["mentions"] if label == "ALL" else dataset["labels"][label]
                yield exactly(SOURCE, TABLE, name, cell["paper"], ours)
                continue
            share = 100 * _part(tough, subset, label)["share"]
            # The paper prints one decimal.
            yield closely(
                SOURCE,
                TABLE,
                name,
                cell["paper"],
                share,
                within=0.05 + 1e-9,
                why=_why(expected, tough, subset, label),
            )


def _part(tough: Mapping[str, Any], subset: str, label: str) -> Mapping[str, Any]:
    part: Mapping[str, Any] = tough[subset]["overall"] if label == "ALL" else tough[subset]["labels"][label]
    return part


def _why(expected: Mapping[str, Any], tough: Mapping[str, Any], subset: str, label: str) -> str:
    """Explain a difference in UNSEEN-ANY: the paper may have added the rounded cells of two rows."""
    if subset != "UNSEEN-ANY":
        return ""
    parts = [expected[part][label]["paper"] for part in ("UNSEEN-TOKENS", "UNSEEN-TYPE")]
    if abs(sum(parts) - expected[subset][label]["paper"]) > 1e-9:
        return ""
    mentions = _part(tough, subset, label)["mentions"]
    return (
        f"the paper's cell is the sum of its rounded parts, {parts[0]} + {parts[1]}; "
        f"the mentions are {mentions}, which is {100 * _part(tough, subset, label)['share']:.2f} %"
    )
