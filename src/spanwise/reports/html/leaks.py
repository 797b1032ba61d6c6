"""Template values of the page of leaks."""

from __future__ import annotations

from markupsafe import Markup

from spanwise.document.leaks import Leaks
from spanwise.reports import _leaks as leaks
from spanwise.reports._charts import PAGE, SERIES, Style, analyses, marks
from spanwise.reports._charts.svg import svg

CHARTS = {
    "labels": ("What leaks, by label", "mentions that are not wholly masked"),
    "price": ("The price: text masked without need", "of what is masked, and of what is harmless"),
}


def leaks_parts(document: Leaks) -> dict[str, object]:
    """The values that the template of leaks needs."""
    with marks.unchecked():
        drawn = svg(analyses.leak_drawings(document, Style(PAGE)))
    return {
        "template": "leaks.html.jinja",
        "title": "leaks",
        "data": None,
        "charts": {name: Markup(text) for name, text in drawn.items()},
        "kinds": CHARTS,
        "series": SERIES,
        "leaks": leaks,
        "statements": [text for pair in document.comparisons if (text := leaks.compared(document, pair))],
    }
