"""What the page of confidence scores shows."""

from __future__ import annotations

from markupsafe import Markup
from msgspec.structs import replace

from spanwise.document.analyses import Confidence
from spanwise.reports._charts import confidence, marks
from spanwise.reports._charts.palette import PAGE
from spanwise.reports._charts.style import Style
from spanwise.reports._charts.svg import svg

CHARTS = {
    "reliability": ("Reliability", "precision of ten groups of predictions against their mean score"),
    "precision-recall": ("Precision and recall", "over all thresholds; recall over all gold mentions"),
    "risk-coverage": ("Risk and coverage", "share of errors among the most confident predictions"),
}


def parts(document: Confidence) -> dict[str, object]:
    """Everything that the template asks for."""
    names = list(document.systems)
    with marks.unchecked():
        drawings = confidence.drawings(document, Style(PAGE))
    # A name on the page must not depend on what a system is called.
    place = {f"{kind}-{name}": f"{kind}-{at}" for at, name in enumerate(names) for kind in CHARTS}
    drawn = svg([replace(drawing, name=place[drawing.name]) for drawing in drawings])
    return {
        "template": "confidence.html.jinja",
        "title": "confidence",
        "data": None,
        "charts": {name: Markup(text) for name, text in drawn.items()},
        "kinds": CHARTS,
    }
