"""What the page of placed answers shows, and the same as a panel on the page of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanwise.document.analyses import PlacementDocument

POLICIES = {
    "first": "the first candidate",
    "all": "every candidate",
    "next": "the next candidate that is free",
    "ordered": "most tokens in output order, then next",
    "worst": "bound: fewest on gold",
    "best": "bound: most on gold",
}
KINDS = {
    "failed": "could not be read",
    "repaired": "repaired",
    "hallucinated": "hallucinated",
    "ambiguous": "ambiguous",
    "inexact": "not spelled alike",
    "repeat": "repeats",
}


def parts(document: PlacementDocument) -> dict[str, object]:
    """Everything that the template asks for."""
    placed = document.to_dict()
    return {
        "document": placed,
        "template": "placement.html.jinja",
        "title": "answers",
        "data": None,
        "panel": panel(placed),
    }


def panel(document: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of one file of answers: scores by policy, and the answers to look at, by kind."""
    counts = document["answers"]
    whole = {
        "failed": document["units"]["failed"],
        "repaired": document["units"]["repaired"],
        "hallucinated": counts["hallucinated"],
        "ambiguous": counts["ambiguous"],
        "inexact": sum(number for level, number in counts["levels"].items() if level != "exact"),
        "repeat": counts["repeats"],
    }
    rows = [
        *({**one, "kind": one["kind"]} for one in document["unplaced"]),
        *({**one, "kind": "ambiguous"} for one in document["ambiguous"]),
        *({**one, "kind": "inexact"} for one in document["inexact"]),
    ]
    order = list(KINDS)
    rows.sort(key=lambda one: (order.index(one["kind"]), one["unit"]))
    return {
        "policies": [
            (name, what, document["policies"][name], document["ceilings"].get(name, ""))
            for name, what in POLICIES.items()
        ],
        "strings": [
            (f"{name}, {how}s", both[how])
            for name, both in {"as written": document["strings"], **document["normalised"]}.items()
            for how in ("set", "multiset")
        ],
        "kinds": [(kind, title, whole[kind]) for kind, title in KINDS.items() if whole[kind]],
        "rows": [{**one, "why": _why(one)} for one in rows],
        "shown": len(rows),
        "whole": sum(whole.values()),
    }


def _why(row: Mapping[str, Any]) -> str:
    """What there is to say of one answer beside its text."""
    if row["kind"] == "ambiguous":
        told = {True: ", right", False: ", not gold", None: ""}[row["right"]]
        where = f"; placed at token {row['start']}{told}" if row["start"] is not None else ""
        return f"{row['candidates']} candidates at level {row['level']}{where}"
    if row["kind"] == "inexact":
        return f"{row['level']}: the text says “{row['surface']}”" if row["surface"] else row["level"]
    return str(row["why"])
