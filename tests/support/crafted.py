"""Folders of results whose errors are given, one result or several runs at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import spanwise
from spanwise.evaluation.columns import mention_columns

EACH = 10  # mentions in a document
LABELS = "AB"  # of every other mention


def records(documents: Iterable[int]) -> list[dict[str, object]]:
    """Gold documents of one sentence with ten mentions; the number of a document decides its words."""
    return [
        {
            "document": f"d{number}",
            "tokens": [f"w{number}x{at}" for at in range(2 * EACH)],
            "spans": [{"start": 2 * at, "end": 2 * at + 1, "label": LABELS[at % 2]} for at in range(EACH)],
        }
        for number in documents
    ]


def without(gold: Sequence[Mapping[str, Any]], missed: Iterable[int]) -> list[dict[str, object]]:
    """Gold without the mentions of these numbers, counted over all documents."""
    gone = set(missed)
    return [
        {**row, "spans": [one for at, one in enumerate(row["spans"]) if EACH * number + at not in gone]}
        for number, row in enumerate(gold)
    ]


def drawn(number: int, documents: int, seed: int) -> list[int]:
    """Some mentions, at random."""
    chosen = np.random.default_rng(seed).choice(documents * EACH, number, replace=False)
    return [int(mention) for mention in chosen]


def write(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    """Write records as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def add_result(
    folder: Path,
    name: str,
    missed: Mapping[str, Iterable[int]],
    *,
    gold: str = "gold.jsonl",
    columns: bool = False,
    **tags: str,
) -> None:
    """Evaluate systems that miss these mentions, and put the document (and its columns) into a folder."""
    path = folder / gold
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    systems = {system: without(rows, gone) for system, gone in missed.items()}
    written = {
        system: write(folder / f".{name}-{system}.jsonl", predicted) for system, predicted in systems.items()
    }
    result = spanwise.evaluate(path, written, attributes="label", resamples=50, tags=tags)
    result.to_json(folder / f"{name}.json")
    if columns:
        mention_columns(result).save(folder / f"{name}.npz")
