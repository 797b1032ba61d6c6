"""What the page of an evaluation shows: its charts, its words and its packed sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup
from msgspec import convert
from msgspec.structs import replace

from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import as_document
from spanwise.document.scores import Confusion
from spanwise.reports import _wording as words
from spanwise.reports._charts import diagnosis, errors, evaluation, marks, where
from spanwise.reports._charts.palette import PAGE
from spanwise.reports._charts.style import Style
from spanwise.reports._charts.svg import svg
from spanwise.reports._document import compared, ranked
from spanwise.reports._links import pair_link
from spanwise.reports.html import board
from spanwise.reports.html.matrices import confusion_view
from spanwise.reports.html.packing import contents
from spanwise.reports.html.placement import panel
from spanwise.reports.html.slices import conditions
from spanwise.reports.html.suspects import readings
from spanwise.reports.html.verdict import findings, verdict

FEWEST_ON_BOARD = 3  # systems from which on a page has a leaderboard, and a pair is chosen


def parts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the template of an evaluation or a description asks for."""
    order = ranked(document)
    labels = evaluation.label_order(document)
    shared = {
        "title": _title(document),
        "order": order,
        "labels": labels,
        "attributes": _attributes(document),
        "weak": document.get("weak"),
        "conditions": conditions,
        "suspects": document.get("suspects"),
        "readings": [
            readings(one)["gold" if one["gold"] else "proposal"]
            for one in (document.get("suspects") or {}).get("suspects", ())
        ],
        "answers": [(name, one, panel(one)) for name, one in (document.get("answers") or {}).items()],
        "confusions": {
            name: confusion_view(convert(document["systems"][name]["confusion"], Confusion)) for name in order
        },
    }
    if len(order) >= FEWEST_ON_BOARD:
        return {**shared, **_board_parts(document, order)}
    views = evaluation.shown(document)
    return {
        **shared,
        "template": "evaluation.html.jinja",
        "views": views,
        "verdict": verdict(document),
        "findings": findings(document),
        "most_labels": where.MOST_LABELS,
        "charts": {name: Markup(drawn) for name, drawn in svg(_drawings(document)).items()},
        "compared": compared,
        "comparisons": _tests(document),
        "data": contents(document),
    }


def _board_parts(document: Mapping[str, Any], order: Sequence[str]) -> dict[str, Any]:
    """The page of three systems or more: a leaderboard, and any pair that is chosen."""
    typed = as_document(document)
    assert isinstance(typed, Evaluation)
    standings = board.standings(typed)
    packed = board.packed_board(typed, document)
    return {
        "template": "many.html.jinja",
        "views": order,
        "standings": standings,
        "tied": board.brackets(standings),
        "matrix": board.matrix(typed),
        "pair_link": pair_link,
        "board": packed,
        "charts": {name: Markup(drawn) for name, drawn in svg(_own_drawings(document, order)).items()},
        "data": {**contents(document), "board": packed},
    }


def _own_drawings(document: Mapping[str, Any], order: Sequence[str]) -> list[marks.Drawing]:
    """The charts of each system alone: what it is compared by is drawn for the pair that is chosen."""
    style = Style(PAGE, linked=True)
    drawings = []
    with marks.unchecked():
        for place, name in enumerate(order):
            alone = {**document, "systems": {name: document["systems"][name]}, "comparisons": []}
            for make in (errors.gains, errors.shares, where.slices, diagnosis.diagnosis):
                drawing = make(alone, name, style)
                if drawing is not None:
                    drawings.append(replace(drawing, name=f"{drawing.name}-{place}"))
    return drawings


def _title(document: Mapping[str, Any]) -> str:
    names = ", ".join(words.visible(name) for name in document.get("systems") or {})
    data = words.visible((document.get("dataset") or {}).get("name") or "data")
    return f"{names} on {data}" if names else data


def _attributes(document: Mapping[str, Any]) -> list[str]:
    """The attributes that any system has, the widest gap of the best system first."""
    found: dict[str, float] = {}
    for name in ranked(document):
        for attribute, table in (document["systems"][name].get("attributes") or {}).items():
            found.setdefault(attribute, float(table.get("gap") or 0.0))
    return sorted(found, key=lambda name: (-found[name], name))


def _drawings(document: Mapping[str, Any]) -> list[marks.Drawing]:
    style = Style(PAGE, linked=True)
    with marks.unchecked():
        found: list[marks.Drawing | None] = [evaluation.score(document, style)]
        for place, focus in enumerate(evaluation.shown(document)):
            per_system = (
                errors.gains(document, focus, style),
                errors.shares(document, focus, style),
                where.tough(document, focus, style),
                where.slices(document, focus, style),
                diagnosis.diagnosis(document, focus, style),
            )
            found += [replace(drawing, name=f"{drawing.name}-{place}") for drawing in per_system if drawing]
        found += [where.attribute(document, name, style) for name in _attributes(document)]
        if evaluation.label_order(document):
            found.append(where.labels(document, style))
    return [drawing for drawing in found if drawing is not None]


def _tests(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The comparisons with their scores by family, for the tables of tests."""
    found = []
    for comparison in document.get("comparisons") or ():
        families: dict[str, list[Mapping[str, Any]]] = {}
        for row in comparison["scores"]:
            if words.defined(row.get("difference")):
                families.setdefault(row.get("family") or "scores", []).append(row)
        found.append({**comparison, "families": families})
    return found
