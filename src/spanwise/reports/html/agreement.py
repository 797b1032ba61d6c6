"""What the page of agreement shows: the matrix of pairs, and sentences side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spanwise.reports.html._marking import marked

KINDS = (
    ("LE", "same span, other label"),
    ("BE", "same label, other boundary"),
    ("LBE", "overlapping, other label"),
    ("alone", "marked by one alone"),
)


def parts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the template asks for."""
    counts = document["disagreement"]
    alone = counts.get("FN", 0) + counts.get("FP", 0)
    return {
        "template": "agreement.html.jinja",
        "title": "agreement",
        "data": None,
        "matrix": _matrix(document),
        "kinds": [(title, alone if kind == "alone" else counts.get(kind, 0)) for kind, title in KINDS],
        "sides": [_sides(example) for example in document["sentences"]],
        "decimal": _decimal,
    }


def _decimal(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _matrix(document: Mapping[str, Any]) -> list[list[float | None]]:
    """F1 of every pair, annotators as rows and columns in their order; None on the diagonal."""
    names: Sequence[str] = document["annotators"]
    place = {name: number for number, name in enumerate(names)}
    table: list[list[float | None]] = [[None] * len(names) for _ in names]
    for pair in document["pairs"]:
        one, other = (place[name] for name in pair["annotators"])
        table[one][other] = table[other][one] = pair["overall"]["f1"]
    return table


def _sides(example: Mapping[str, Any]) -> dict[str, Any]:
    """A sentence as each annotator marked it."""
    rows = [
        (who, marked(example["text"], [one for one in example["mentions"] if who in one["annotators"]]))
        for who in example["annotators"]
    ]
    return {"document": example["document"], "source": example["source"], "rows": rows}
