"""One row per thing, one dot per system: the chart of subsets, slices, labels and buckets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from spanwise.reports._charts import marks
from spanwise.reports._charts.marks import Channel, Drawing, Layer, Row
from spanwise.reports._charts.style import Style, reach

CROWDED = 6  # systems in a row, from which on rows grow with them


class Point(Struct, frozen=True):
    """One system's score in a row: where it lies, its interval, what it says and where it leads."""

    value: float | None
    interval: tuple[float, float] | None = None
    says: str = ""
    href: str | None = None
    runs: Sequence[float] = ()


class Line(Struct, frozen=True):
    """A row of the chart: its name, what stands under it, a point per system, and texts to the right."""

    title: str
    under: str
    points: Sequence[Point]
    href: str | None = None
    right: Sequence[str] = ()
    faint: bool = False
    flag: str | None = None


class ChartLayout(Struct, frozen=True):
    """Widths in pixels, the reference line and the heads of the columns to the right."""

    left: float = 150
    plot: float = 170
    heads: Sequence[str] = ()
    columns: Sequence[float] = (44,)
    step: float = 38
    reference: float | None = None
    reference_says: str = ""
    intervals: bool = True
    domain: tuple[float, float] | None = None
    places: Sequence[int] = range(1000)


def draw(name: str, title: str, rows: Sequence[Line], layout: ChartLayout, style: Style) -> Drawing:
    """The chart of the rows; the axis may zoom, since dots and intervals are read by position."""
    if _systems(rows) > CROWDED:
        layout = replace(layout, step=max(layout.step, 14.0 + 5 * _systems(rows)))
    palette, step = style.palette, layout.step
    top = 20.0 if layout.heads or layout.reference is not None else 4.0
    height = top + step * len(rows)
    middle = [top + step * (at + 0.5) for at in range(len(rows))]
    low, high = layout.domain or reach(_extents(rows, layout))
    x = marks.quantity("v", low, high, span=(0, layout.plot), tickCount=4)
    layers: list[Layer] = []
    if layout.reference is not None:
        layers += _reference(layout, height, top, x, style)
    if layout.intervals:
        for place in range(_systems(rows)):
            layers += _intervals(rows, middle, place, height, x, layout, style)
    # The first system is drawn last, so that it lies on top.
    dodged = _dodged(rows, layout, low, high)
    for place in reversed(range(_systems(rows))):
        layers += _points(rows, middle, place, height, x, layout, style, dodged)
    titles = [{"y": y - (6 if row.under else 0), "t": row.title} for y, row in zip(middle, rows, strict=True)]
    layers.append(marks.texts(titles, height, at=-layout.left, colour=palette["ink"], limit=layout.left - 10))
    layers += _under(rows, middle, height, layout, style)
    layers += _right(rows, middle, height, layout, style)
    right = sum(layout.columns) + 6
    return Drawing(name, title, marks.plot(*layers), layout.plot, height, layout.left, right, 4, 24)


def _systems(rows: Sequence[Line]) -> int:
    return max((len(row.points) for row in rows), default=0)


def _extents(rows: Sequence[Line], layout: ChartLayout) -> list[float]:
    found = [] if layout.reference is None else [layout.reference]
    for row in rows:
        for point in row.points:
            found += [] if point.value is None else [point.value, *point.runs]
            found += [] if point.interval is None or not layout.intervals else list(point.interval)
    return found


def _reference(layout: ChartLayout, height: float, top: float, x: Channel, style: Style) -> list[Layer]:
    row = {"v": layout.reference, "y": top - 6, "y2": height}
    head = {"v": layout.reference, "y": top - 14, "t": layout.reference_says}
    muted = style.palette["muted"]
    return [
        marks.lines([row], height, x, colour=style.palette["axis"], strokeDash=[2, 2]),
        marks.written([head], height, x, colour=muted, fontSize=10.5),
    ]


def _intervals(
    rows: Sequence[Line],
    middle: list[float],
    place: int,
    height: float,
    x: Channel,
    layout: ChartLayout,
    style: Style,
) -> list[Layer]:
    systems = _systems(rows)
    found: list[Row] = [
        {"v": point.interval[0], "hi": point.interval[1], "y": y + _shift(place, systems, layout.step)}
        for y, point in _placed(rows, middle, place)
        if point.interval and point.value is not None
    ]
    colour = style.palette.series(layout.places[place])
    return [marks.bands(found, height, x, colour=colour)] if found else []


def _points(
    rows: Sequence[Line],
    middle: list[float],
    place: int,
    height: float,
    x: Channel,
    layout: ChartLayout,
    style: Style,
    dodged: Sequence[bool],
) -> list[Layer]:
    shift = _shift(place, _systems(rows), layout.step)
    found: list[Row] = [
        {"v": point.value, "y": y + (shift if apart else 0.0), "d": point.says, "href": point.href}
        for (y, point), apart in zip(_placed(rows, middle, place), dodged, strict=False)
        if point.value is not None
    ]
    colour, kind = style.palette.series(layout.places[place]), layout.places[place]
    if not found:
        return []
    options = {"fill": style.palette["panel"]} if kind == 1 else {}
    layers = [marks.dots(found, height, x, colour=colour, place=kind, size=60, **options)]
    small = [{"v": run, "y": y + 9} for y, point in _placed(rows, middle, place) for run in point.runs]
    return [*layers, marks.dots(small, height, x, colour=colour, size=12, opacity=0.7)] if small else layers


def _placed(rows: Sequence[Line], middle: Sequence[float], place: int) -> Iterator[tuple[float, Point]]:
    """The height and the point of every row that has one of this system."""
    for y, row in zip(middle, rows, strict=True):
        if place < len(row.points):
            yield y, row.points[place]


def _shift(place: int, systems: int, step: float) -> float:
    """Intervals of several systems lie one under the other, so that none hides another, within their row."""
    apart = min(7.0, (step - 12) / max(systems - 1, 1))
    return apart * (place - (systems - 1) / 2)


_MARK = 8.0  # pixels that a dot takes


def _dodged(rows: Sequence[Line], layout: ChartLayout, low: float, high: float) -> list[bool]:
    """Whether the dots of a row lie one under the other: with intervals, or where two would overlap."""
    scale = layout.plot / max(high - low, 1e-9)
    found = []
    for row in rows:
        at = sorted(scale * point.value for point in row.points if point.value is not None)
        found.append(layout.intervals or any(b - a < _MARK for a, b in pairwise(at)))
    return found


def _under(
    rows: Sequence[Line], middle: list[float], height: float, layout: ChartLayout, style: Style
) -> list[Layer]:
    layers = []
    for linked in (True, False):
        found = [
            {
                "y": y + 8,
                "t": row.under,
                **({"href": row.href, "d": f"{row.title}: {row.under}"} if linked else {}),
            }
            for y, row in zip(middle, rows, strict=True)
            if row.under and bool(row.href) is linked
        ]
        if found:
            colour = style.palette["s0" if linked else "muted"]
            layers.append(
                marks.texts(
                    found, height, at=-layout.left, colour=colour, fontSize=10.5, limit=layout.left - 10
                )
            )
    return layers


def _right(
    rows: Sequence[Line], middle: list[float], height: float, layout: ChartLayout, style: Style
) -> list[Layer]:
    layers, at = [], layout.plot
    for column, width in enumerate(layout.columns):
        at += width
        cells = [
            {"y": y, "t": row.right[column]}
            for y, row in zip(middle, rows, strict=True)
            if column < len(row.right) and not (row.faint and column == 0)
        ]
        faint = [
            {"y": y, "t": row.right[0]}
            for y, row in zip(middle, rows, strict=True)
            if row.faint and column == 0 and row.right
        ]
        strong = {"fontWeight": "bold"} if column == 0 else {"fontSize": 11.5}
        layers.append(marks.texts(cells, height, at=at, colour=style.palette["ink"], align="right", **strong))
        if faint:
            layers.append(marks.texts(faint, height, at=at, colour=style.palette["muted"], align="right"))
        if column < len(layout.heads):
            head = [{"y": 6.0, "t": layout.heads[column]}]
            layers.append(
                marks.texts(head, height, at=at, colour=style.palette["muted"], align="right", fontSize=10.5)
            )
    flags = [{"y": y, "t": "▼", "d": row.flag} for y, row in zip(middle, rows, strict=True) if row.flag]
    if flags:
        layers.append(
            marks.texts(flags, height, at=layout.plot + 4, colour=style.palette["wrong"], fontSize=9)
        )
    return layers
