"""What the page of an evaluation shows: its charts, its words and its packed sentences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup
from msgspec.structs import replace

from spanwise.reports import _wording as words
from spanwise.reports._charts import diagnosis, errors, evaluation, marks, where
from spanwise.reports._charts.palette import PAGE
from spanwise.reports._charts.style import Style
from spanwise.reports._charts.svg import svg
from spanwise.reports._document import compared, ranked
from spanwise.reports.html.packing import contents
from spanwise.reports.html.verdict import findings, verdict


def parts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the template of an evaluation or a description asks for."""
    if not document.get("systems"):
        return {"template": "description.html.jinja", "data": None, "title": _title(document), "charts": {}}
    order = ranked(document)
    views = evaluation.shown(document)
    return {
        "template": "evaluation.html.jinja",
        "title": _title(document),
        "order": order,
        "views": views,
        "verdict": verdict(document),
        "findings": findings(document),
        "labels": evaluation.label_order(document),
        "most_labels": where.MOST_LABELS,
        "attributes": _attributes(document),
        "charts": {name: Markup(drawn) for name, drawn in svg(_drawings(document)).items()},
        "compared": compared,
        "comparisons": _tests(document),
        "data": contents(document),
    }


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
