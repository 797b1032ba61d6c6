"""The charts of plans and learning curves: intervals, power and F1 against a number of units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from spanwise.document.planning import LearningCurve, PlanDocument
from spanwise.reports._charts import Style, axis_range, marks
from spanwise.reports._charts.marks import Axes, Drawing, Layer, Quantity, Row
from spanwise.views import wording as words

WIDTH, HEIGHT = 300.0, 220.0
LEFT, BOTTOM = 50.0, 48.0
STEPS = 1.9  # the smallest ratio of two ticks
JUDGED = [5, 3]  # the dashes of lines with the judge
Points = Sequence[tuple[float, float | None]]


class SizeAxes(Struct, frozen=True):
    """A horizontal axis with a logarithmic scale, and a vertical one in points from 0."""

    axes: Axes

    @classmethod
    def of(cls, across: str, up: str, sizes: Sequence[float], low: float, high: float) -> SizeAxes:
        """Ticks are at the first size, at others about twice as large as the last, and at the last."""
        ticks = [sizes[0]]
        for size in sizes[1:-1]:
            if size >= STEPS * ticks[-1] and sizes[-1] >= STEPS * size:
                ticks.append(size)
        values = [*ticks, sizes[-1]]
        axis = {"title": across, "values": values, "format": ",.0f", "titlePadding": 8, "grid": False}
        x = Quantity("x", sizes[0], sizes[-1], (0, WIDTH), axis, log=True)
        return cls(Axes(x, marks.upwards(low, high, HEIGHT, up, 5)))

    def line(self, points: Points, colour: str, **options: Any) -> Layer:
        """A line through the points that are defined."""
        defined = [(size, 100 * value) for size, value in points if value is not None]
        return self.axes.line(defined, colour, **options)

    def dots(self, points: Points, colour: str, what: str) -> Layer:
        """One dot per point that is defined, with its numbers in words."""
        rows: list[Row] = [
            {"x": size, "y": 100 * value, "d": f"{words.count(size)} {what}: {words.points(value)}"}
            for size, value in points
            if value is not None
        ]
        return self.axes.points(rows, colour, size=45)

    def area(self, points: Sequence[tuple[float, float | None, float | None]], colour: str) -> Layer:
        """A band between two lines."""
        rows: list[Row] = [
            {"x": size, "y": 100 * low, "y2": 100 * high}
            for size, low, high in points
            if low is not None and high is not None
        ]
        return self.axes.area(rows, colour, opacity=0.15)

    def drawing(self, name: str, title: str, *layers: Layer) -> Drawing:
        """The layers as a drawing."""
        return Drawing(
            name, title, marks.plot(*layers), WIDTH, HEIGHT, left=LEFT, right=18, top=10, bottom=BOTTOM
        )


def plan_drawings(document: PlanDocument, style: Style) -> list[Drawing]:
    """The power of each pair, and the widths of all intervals; what is known with the judge is dashed."""
    unit = f"{document.settings.unit}s"
    charts = []
    for at, pair in enumerate(document.pairs):
        if not pair.rows:
            continue
        axes = SizeAxes.of(unit, "power (%)", [row.units for row in pair.rows], 0, 100)
        own: Points = [(row.units, row.power) for row in pair.rows]
        judged: Points = [(row.units, row.power_judge) for row in pair.rows]
        first, last = pair.rows[0].units, pair.rows[-1].units
        layers = [
            axes.line([(first, 0.8), (last, 0.8)], style.palette["axis"], strokeDash=[2, 3]),
            axes.line(own, style.palette.series(0), strokeWidth=2),
            axes.dots(own, style.palette.series(0), f"{unit}, power in percent"),
        ]
        if any(value is not None for _, value in judged):
            layers += [
                axes.line(judged, style.palette.series(0), strokeWidth=2, strokeDash=JUDGED),
                axes.dots(judged, style.palette.series(0), f"{unit} with the judge, power in percent"),
            ]
        names = " and ".join(map(words.visible, pair.systems))
        charts.append(axes.drawing(f"power-{at}", f"Power for a difference between {names}", *layers))
    return [*charts, *_widths(document, style)]


def _widths(document: PlanDocument, style: Style) -> list[Drawing]:
    systems = list(document.systems.items())[: style.most]
    values = [row.width for _, own in systems for row in own.rows if row.width is not None]
    if not values:
        return []
    unit = f"{document.settings.unit}s"
    sizes = [row.units for row in systems[0][1].rows]
    axes = SizeAxes.of(unit, "width (points)", sizes, 0, 100 * max(values))
    layers: list[Layer] = []
    for at, (name, own) in enumerate(systems):
        colour = style.palette.series(at)
        alone: Points = [(row.units, row.width) for row in own.rows]
        judged: Points = [(row.units, row.width_judge) for row in own.rows]
        layers += [
            axes.line(alone, colour, strokeWidth=2),
            axes.dots(alone, colour, f"{unit}, width of {words.visible(name)}"),
        ]
        if any(value is not None for _, value in judged):
            layers.append(axes.line(judged, colour, strokeWidth=2, strokeDash=JUDGED))
    return [axes.drawing("widths", "Width of the intervals of F1", *layers)]


def curve_drawings(document: LearningCurve, style: Style) -> list[Drawing]:
    """Each system's curve with its band: solid where there are results, dashed where it is predicted."""
    systems = list(document.systems.items())[: style.most]
    ends = [end for _, own in systems for row in own.line for end in row.interval]
    dots = [point.f1 for _, own in systems for point in own.points]
    reached = [value for value in (*ends, *dots) if value is not None]
    sizes = sorted({float(point.size) for _, own in systems for point in own.points})
    low, high = axis_range([100 * value for value in reached])
    axes = SizeAxes.of("training size", "F1", sizes, max(low, 0), min(high, 100))
    layers: list[Layer] = [
        axes.area([(row.size, *row.interval) for row in own.line], style.palette.series(at))
        for at, (_, own) in enumerate(systems)
    ]
    for at, (name, own) in enumerate(systems):
        colour = style.palette.series(at)
        known: Points = [(row.size, row.fitted) for row in own.line if row.size <= own.largest]
        ahead: Points = [*known[-1:], *((row.size, row.fitted) for row in own.line if row.size > own.largest)]
        layers += [
            axes.line(known, colour, strokeWidth=2),
            axes.line(ahead, colour, strokeWidth=2, strokeDash=JUDGED),
            axes.dots(
                [(point.size, point.f1) for point in own.points], colour, f"F1 of {words.visible(name)}"
            ),
        ]
    return [axes.drawing("curve", "F1 by training size", *layers)]
