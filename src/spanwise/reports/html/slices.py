"""What the page of weak slices shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanwise.reports import _wording as words


def parts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the template asks for."""
    return {
        "template": "slices.html.jinja",
        "title": "slices",
        "data": None,
        "score": "recall" if document["over"] == "recall" else "F1",
        "conditions": conditions,
    }


def conditions(row: Mapping[str, Any]) -> str:
    """The conditions of a slice in words."""
    return " & ".join(
        f"{words.attribute(one['attribute'])} {words.visible(one.get('label', one['value']))}"
        for one in row["conditions"]
    )
