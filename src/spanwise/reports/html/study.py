"""What the page of a study shows: its charts, the rows of its tables, and each of its datasets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup
from msgspec.structs import replace

from spanwise.document.head import plain_of
from spanwise.document.study import Study
from spanwise.reports import _wording as words
from spanwise.reports._charts import marks, study
from spanwise.reports._charts.palette import PAGE
from spanwise.reports._charts.style import Style
from spanwise.reports._charts.svg import svg
from spanwise.reports.html.evaluation import own_drawings, packed_set, view_of
from spanwise.reports.html.shown import study_shown
from spanwise.reports.html.verdicts import averages, overall_verdict, verdicts


def parts(typed: Study) -> dict[str, Any]:
    """Everything that the template of a study asks for."""
    document = plain_of(typed)
    analyses = document["analyses"]
    names = study.systems(document)
    datasets = list(document["datasets"])
    pairs = (analyses.get("bucket_wise") or {}).get("comparative") or []
    shown = study_shown(typed)
    plains = [plain_of(one.document) for one in shown]
    drawn = svg(
        [
            *_drawings(document),
            *(
                replace(drawing, name=f"{at}/{drawing.name}")
                for at, (one, plain) in enumerate(zip(shown, plains, strict=True))
                for drawing in own_drawings(plain, list(one.order))
            ),
        ]
    )
    charts = {name: chart for name, chart in drawn.items() if "/" not in name}
    sets = [
        view_of(one, plain, {n.partition("/")[2]: c for n, c in drawn.items() if n.startswith(f"{at}/")})
        for at, (one, plain) in enumerate(zip(shown, plains, strict=True))
    ]
    return {
        "document": document,
        "template": "study.html.jinja",
        "title": words.visible(document.get("name") or "study"),
        "sets": sets,
        "data": {"sets": [packed_set(*each) for each in zip(shown, plains, strict=True)]} if sets else None,
        "names": names,
        "overall": overall_verdict(typed),
        "verdicts": verdicts(typed),
        "averages": averages(typed),
        "datasets": datasets,
        "best": {dataset: _best(analyses["holistic"], dataset) for dataset in datasets},
        "runs": max(
            (cell.get("runs") or 0 for row in analyses["holistic"].values() for cell in row.values()),
            default=0,
        ),
        "attributes": list(
            dict.fromkeys(a for row in (analyses.get("model_wise") or {}).values() for a in row)
        ),
        "alias": study.alias,
        "pairs": [_pair(pair) for pair in pairs],
        "score": words.study_score(document["analyses"]),
        "factors": [name for name, row in (analyses.get("factors") or {}).items() if row.get("line")],
        "charts": {name: Markup(chart) for name, chart in charts.items()},
        "subsets": [
            s
            for s in words.TOUGH
            if any(s in (analyses.get("tough") or {}).get(n, {}).get(d, {}) for n in names for d in datasets)
        ],
    }


def _best(holistic: Mapping[str, Any], dataset: str) -> float | None:
    means = [
        row[dataset]["mean"]
        for row in holistic.values()
        if words.defined((row.get(dataset) or {}).get("mean"))
    ]
    return max(means, default=None)


def _pair(pair: Mapping[str, Any]) -> dict[str, Any]:
    """A comparison with its heat map as rows of shades: sign, one of ten, and what it says."""
    datasets = list(pair["datasets"])
    values = {dataset: {(a, b): v for a, b, v in study.heat_row(pair, dataset)} for dataset in datasets}
    most = max((abs(v) for row in values.values() for v in row.values() if v is not None), default=0.0)
    return {**pair, "columns": study.heat_columns(pair), "values": values, "most": most}


def _drawings(document: Mapping[str, Any]) -> list[marks.Drawing]:
    style = Style(PAGE)
    with marks.unchecked():
        found: list[marks.Drawing | None] = [
            study.holistic(document, style), study.radar(document, "zeta", style),
            study.radar(document, "rho1", style), study.drivers(document, style),
        ]  # fmt: skip
        for place, name in enumerate(document["analyses"].get("factors") or {}):
            drawing = study.factor(document, name, style)
            found.append(replace(drawing, name=f"factor-{place}") if drawing else None)
    return [drawing for drawing in found if drawing is not None]
