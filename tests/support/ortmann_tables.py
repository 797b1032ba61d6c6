"""The figures of Ortmann's released program for GermEval 2014, as they stand beside her files."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

OURS = {"BES": "BEs", "BEL": "BEl", "BEO": "BEo"}  # her names of kinds that we write otherwise


class Cell(Struct):
    """Scores by one way of counting, and the counts where she gives them."""

    scores: dict[str, float]
    counts: dict[str, int] = {}


class Table(Struct):
    """Cells by way of counting ("fair", "traditional", …), each event under its label of one side."""

    target_spans: int
    system_spans: int
    overall: dict[str, Cell]
    per_label: dict[str, dict[str, Cell]]
    confusion: dict[str, dict[str, int]]


def ortmann_tables(data: Path) -> dict[str, Table]:
    """Her tables, with the focus on gold labels ("focus_target") and on predicted ones ("focus_system")."""
    return msgspec.json.decode((data / "ortmann-ner" / "expected.json").read_bytes(), type=dict[str, Table])
