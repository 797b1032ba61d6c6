"""What the page of weak slices shows."""

from __future__ import annotations

from msgspec import UNSET

from spanwise.document.analyses import DifferentSlice, SearchedSlice, Slices
from spanwise.reports import _wording as words


def parts(document: Slices) -> dict[str, object]:
    """Everything that the template asks for."""
    return {
        "template": "slices.html.jinja",
        "title": "slices",
        "data": None,
        "score": "recall" if document.over == "recall" else "F1",
        "conditions": conditions,
    }


def conditions(row: SearchedSlice | DifferentSlice) -> str:
    """The conditions of a slice in words."""
    return " & ".join(
        f"{words.attribute(condition.attribute)} "
        + words.visible(condition.value if condition.label is UNSET else condition.label)
        for condition in row.conditions
    )
