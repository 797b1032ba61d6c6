"""Tu and Lignos (2021): Table 3, the tough mentions of the Spanish test set."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from spanwise.description import describe
from spanwise.document.dataset import DatasetFacts, MentionShare
from spanwise.formats import JsonRecord
from spanwise.reproduction._cells import Cell, closely, exactly

FOLDER = "conll2002-es"
SOURCE = "Tu21"
TABLE = "Table 3"


def cells(folder: Path) -> list[Cell]:
    """All cells of the table, computed from the training and test files."""
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["cells"]
    dataset = describe(folder / "test.txt", train=folder / "train.txt").dataset
    return list(_cells(expected, dataset))


def _cells(expected: JsonRecord, dataset: DatasetFacts) -> Iterator[Cell]:
    tough = {str(name): shares for name, shares in (dataset.tough or {}).items()}
    for subset, row in expected.items():
        for label, cell in row.items():
            name = f"{subset} {label}"
            if subset == "TOTAL":
                ours = dataset.mentions if label == "ALL" else dataset.labels[label]
                yield exactly(SOURCE, TABLE, name, cell["paper"], ours)
                continue
            part = tough[subset].overall if label == "ALL" else tough[subset].labels[label]
            # The paper prints one decimal.
            yield closely(
                SOURCE,
                TABLE,
                name,
                cell["paper"],
                100 * (part.share or 0.0),
                within=0.05 + 1e-9,
                why=_why(expected, part, subset, label),
                reason="guess",
            )


def _why(expected: JsonRecord, part: MentionShare, subset: str, label: str) -> str:
    """Explain a difference in UNSEEN-ANY: the paper may have added the rounded cells of two rows."""
    if subset != "UNSEEN-ANY":
        return ""
    parts = [expected[name][label]["paper"] for name in ("UNSEEN-TOKENS", "UNSEEN-TYPE")]
    if abs(sum(parts) - expected[subset][label]["paper"]) > 1e-9:
        return ""
    return (
        f"the paper's cell is the sum of its rounded parts, {parts[0]} + {parts[1]}; "
        f"the mentions are {part.mentions}, which is {100 * (part.share or 0.0):.2f} %"
    )
