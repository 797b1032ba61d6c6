"""What the page of suspects shows: each place with gold's reading, the proposal and the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanwise.reports.html._marking import marked


def parts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the template asks for."""
    steps = sorted({one["k"] for effect in document["effects"].values() for one in effect})
    effects = {name: {one["k"]: one["f1"] for one in effect} for name, effect in document["effects"].items()}
    return {
        "template": "suspects.html.jinja",
        "title": "suspects",
        "data": None,
        "steps": steps,
        "effects": effects,
        "readings": [readings(one) for one in document["suspects"]],
    }


def readings(one: Mapping[str, Any]) -> dict[str, Any]:
    """The sentence as gold has it and as it is proposed; nothing where the text is left out."""
    if not one["tokens"]:
        return {"gold": [], "proposal": []}
    return {
        "gold": marked(one["tokens"], [one["gold"]] if one["gold"] else []),
        "proposal": marked(one["tokens"], [one["proposal"]] if one["proposal"] else []),
    }
