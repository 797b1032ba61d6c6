"""Charts of confidence scores: reliability, precision against recall, risk against coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import altair as alt

from spanwise.document.analyses import Confidence, SystemConfidence
from spanwise.reports import _wording as words
from spanwise.reports._charts.marks import Channel, Drawing, Layer, Row, plot, quantity
from spanwise.reports._charts.style import Style

SIZE = 260.0  # of the plots, which are squares
LEFT, BOTTOM = 50.0, 48.0


def drawings(document: Confidence, style: Style) -> list[Drawing]:
    """The charts of every system that have something to show."""
    charts: list[Drawing | None] = []
    for place, (name, system) in enumerate(document.systems.items()):
        charts += [
            reliability(name, system, style, place),
            precision_recall(name, system, style, place),
            risk_coverage(name, system, style, place),
        ]
    return [chart for chart in charts if chart is not None]


def reliability(name: str, system: SystemConfidence, style: Style, place: int = 0) -> Drawing | None:
    """Precision of each bin against its mean score; calibrated scores lie on the diagonal."""
    rows: list[Row] = [
        {
            "x": 100 * part.score,
            "y": 100 * part.precision,
            "n": part.predicted,
            "d": f"score {words.points(part.score)}, precision {words.points(part.precision)}, "
            f"{words.plural(part.predicted, 'prediction')}",
        }
        for part in system.overall.bins
    ]
    if not rows:
        return None
    colour = style.palette.series(place)
    x, y = _scales("mean score", "precision")
    diagonal = _line([{"x": 0, "y": 0}, {"x": 100, "y": 100}], x, y, style.palette["axis"], strokeDash=[4, 3])
    points = (
        alt.Chart(alt.InlineData(values=tuple(rows)))
        .mark_point(color=colour, filled=True, opacity=1, size=70)
        .encode(x=x, y=y, description=alt.Description("d:N"))
    )
    line = _line(rows, x, y, colour, strokeWidth=1.5)
    return _drawing(f"reliability-{name}", f"Reliability of {words.visible(name)}", diagonal, line, points)


def precision_recall(name: str, system: SystemConfidence, style: Style, place: int = 0) -> Drawing | None:
    """Precision against recall over all thresholds."""
    gold, curve = system.overall.gold, system.curve
    if not gold or not curve:
        return None
    rows = [
        {"x": 100 * point.correct / gold, "y": 100 * point.correct / point.predicted, "k": at}
        for at, point in enumerate(_thinned(curve))
    ]
    x, y = _scales("recall", "precision")
    line = _line(rows, x, y, style.palette.series(place), strokeWidth=2)
    return _drawing(f"precision-recall-{name}", f"Precision and recall of {words.visible(name)}", line)


def risk_coverage(name: str, system: SystemConfidence, style: Style, place: int = 0) -> Drawing | None:
    """The share of errors among the most confident predictions against the share of predictions kept."""
    if not system.risk:
        return None
    rows = [
        {"x": 100 * point.coverage, "y": 100 * point.risk, "k": at}
        for at, point in enumerate(_thinned(system.risk))
    ]
    x, y = _scales("coverage", "risk")
    line = _line(rows, x, y, style.palette.series(place), strokeWidth=2)
    return _drawing(f"risk-coverage-{name}", f"Risk and coverage of {words.visible(name)}", line)


T = TypeVar("T")


def _thinned(rows: Sequence[T], most: int = 300) -> list[T]:
    """At most about so many rows, the first and the last among them."""
    step = max(1, -(-len(rows) // most))
    return [*rows[:-1:step], *rows[-1:]]


def _scales(across: str, up: str) -> tuple[alt.X, alt.Y]:
    x = quantity("x", 0, 100, span=(0, SIZE), title=across, format=".0f", titlePadding=8)
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=[0, 100], range=[SIZE, 0], nice=False, clamp=True),
        axis=alt.Axis(
            title=up,
            tickCount=4,
            labelPadding=6,
            labelBaseline="middle",
            titleX=-34,
            titleY=SIZE / 2,
            titleAlign="center",
            titleBaseline="alphabetic",
        ),
    )
    return x, y


def _line(rows: Sequence[Row], x: Channel, y: alt.Y, colour: str, **options: Any) -> Layer:
    numbered = tuple({"k": at, **row} for at, row in enumerate(rows))
    chart = alt.Chart(alt.InlineData(values=numbered))
    line: Layer = chart.mark_line(color=colour, aria=False, **options).encode(
        x=x, y=y, order=alt.Order("k:Q")
    )
    return line


def _drawing(name: str, title: str, *layers: Layer) -> Drawing:
    return Drawing(name, title, plot(*layers), SIZE, SIZE, left=LEFT, right=14, top=10, bottom=BOTTOM)
