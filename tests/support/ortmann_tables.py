"""The figures of Ortmann's released program for GermEval 2014, published with her files."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

OURS = {"BES": "BEs", "BEL": "BEl", "BEO": "BEo"}  # her names of outcomes that we spell differently


class Cell(Struct):
    """Scores by one way of counting, with the counts if she gives them."""

    scores: dict[str, float]
    counts: dict[str, int] = {}


class Table(Struct):
    """Cells by way of counting ("fair", "traditional", …), with events grouped by the label of one side."""

    target_spans: int
    system_spans: int
    overall: dict[str, Cell]
    per_label: dict[str, dict[str, Cell]]
    confusion: dict[str, dict[str, int]]


def ortmann_tables(data: Path) -> dict[str, Table]:
    """Her tables, focusing on gold labels ("focus_target") and on predicted labels ("focus_system")."""
    return msgspec.json.decode((data / "ortmann-ner" / "expected.json").read_bytes(), type=dict[str, Table])
