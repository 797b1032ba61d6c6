"""The building blocks of charts: marks, axes, rows of dots, and drawings that hold them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from spanwise.reports._charts import SERIES, Palette, Style, axis_range, fitted, width_of
from spanwise.views.wording import visible

if TYPE_CHECKING:
    import altair as alt

Row: TypeAlias = dict[str, Any]  # the fields of a mark, which Altair writes as JSON
Options: TypeAlias = dict[str, Any]  # of a mark or a channel, by their names in Altair
Layer: TypeAlias = "MarkLayer | alt.Chart"
Channel: TypeAlias = "Quantity | Fixed"
# One round of colours after the other: the first twelve differ without colour, too, by shape or by filling.
SHAPES = (
    "circle", "circle", "diamond", "triangle-up", "square", "triangle-down",
    "cross", "diamond", "triangle-up", "square", "triangle-down", "cross",
)  # fmt: skip
HOLLOW = frozenset({1, *range(7, len(SHAPES))})
LATER_SHAPES = ("triangle-right", "triangle-left")  # for later rounds
MARGIN = 8.0  # around a chart on its own
FONT = "Roboto, Inter, Helvetica, Arial, sans-serif"


class Quantity(Struct, frozen=True):
    """A channel from `low` to `high` over the pixels `span`; `axis` has the options of its axis."""

    field: str
    low: float
    high: float
    span: tuple[float, float]
    axis: Options | None = None
    clamp: bool = True
    log: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log(value), math.log(low), math.log(high)
        share = (value - low) / (high - low)
        share = min(max(share, 0.0), 1.0) if self.clamp else share
        return self.span[0] + share * (self.span[1] - self.span[0])

    def altair(self, channel: type[alt.X] | type[alt.Y]) -> Any:
        """The channel as an Altair object, `alt.X` or `alt.Y`."""
        import altair as alt

        kind: Options = {"clamp": True} if self.clamp else {}
        kind |= {"type": "log"} if self.log else {"zero": False}
        scale = alt.Scale(domain=[self.low, self.high], range=list(self.span), nice=False, **kind)
        return channel(f"{self.field}:Q", scale=scale, axis=alt.Axis(**self.axis) if self.axis else None)


class Fixed(Struct, frozen=True):
    """An x channel that is the same pixel for all rows."""

    pixel: float


class MarkLayer(Struct, frozen=True):
    """One mark per row, or one line through them; pages write it as SVG, figures as an Altair chart."""

    mark: Literal["text", "rule", "bar", "point", "line", "area"]
    rows: tuple[Row, ...]
    height: float
    colour: str
    options: Options
    x: Channel
    until: Literal["", "x2", "y2"] = ""  # the channel of its end; "x2" uses the field `hi`
    up: Quantity | None = None  # the y channel; by default, the field `y` is a pixel

    def altair(self) -> alt.Chart:
        """The layer as an Altair chart."""
        import altair as alt

        # Altair deep-copies charts at every step, except for what is in a tuple.
        channels: Options = {"text": alt.Text("t:N")} if self.mark == "text" else {}
        if isinstance(self.x, Fixed):
            channels["x"] = alt.XValue(self.x.pixel)  # type: ignore[no-untyped-call]
        else:
            channels["x"] = self.x.altair(alt.X)
        if self.until == "x2":
            channels["x2"] = alt.X2("hi:Q")
        elif self.until == "y2":
            channels["y2"] = alt.Y2("y2:Q")
        channels["y"] = (self.up or pixels("y", self.height)).altair(alt.Y)
        if self.mark == "line":
            channels["order"] = alt.Order("k:Q")
        options = self.options
        if any(row.get("d") for row in self.rows):
            channels["description"] = alt.Description("d:N")
        else:
            options = {**options, "aria": False}
        if any(row.get("href") for row in self.rows):
            channels["href"] = alt.Href("href:N")
        chart = alt.Chart(alt.InlineData(values=self.rows))
        drawn: alt.Chart = getattr(chart, f"mark_{self.mark}")(color=self.colour, **options)
        return drawn.encode(**channels)


def chart_of(layer: Layer) -> alt.Chart:
    """A layer as an Altair chart."""
    return layer.altair() if isinstance(layer, MarkLayer) else layer


class Plot(Struct, frozen=True):
    """Layers that share their scales, in one or more groups that each have their own x scale."""

    groups: tuple[tuple[Layer, ...], ...]

    def altair(self, **settings: Any) -> alt.LayerChart:
        """The layers as one Altair chart with these settings.

        Pass all settings at once: Altair copies every layer again for each one that is set later.
        """
        import altair as alt

        groups = [[chart_of(layer) for layer in group] for group in self.groups]
        if len(groups) == 1:
            return alt.LayerChart(layer=groups[0], **settings)
        parts = [alt.LayerChart(layer=group) for group in groups]
        resolve = alt.Resolve(scale=alt.ScaleResolveMap(x="independent"))
        return alt.LayerChart(layer=parts, resolve=resolve, **settings)


def shape(index: int) -> str:
    """The shape of the system or dataset at `index`; with its colour and filling, it is unique among 24.

    Examples:
        >>> shape(0), shape(2), shape(6), shape(12)
        ('circle', 'diamond', 'cross', 'triangle-right')
        >>> len({(shape(index), filled(index)) for index in range(12)})
        12
    """
    if index < len(SHAPES):
        return SHAPES[index]
    return LATER_SHAPES[(index - len(SHAPES)) // SERIES % len(LATER_SHAPES)]


def filled(index: int) -> bool:
    """Whether the symbol of the system or dataset at `index` is filled."""
    return index not in HOLLOW


class Drawing(Struct, frozen=True):
    """A chart with the size of its plot and the room for the texts around it."""

    name: str
    title: str
    plot: Plot
    width: float
    height: float
    left: float = 10
    right: float = 10
    top: float = 8
    bottom: float = 24
    legend: tuple[tuple[int, str], ...] = ()
    axis: str = ""  # what the axis or the cells show, with the unit; for charts outside a page
    swatches: tuple[tuple[str, str], ...] = ()  # the colour roles of a heat map and their meanings

    @property
    def size(self) -> tuple[float, float]:
        return self.left + self.width + self.right, self.top + self.height + self.bottom

    def altair(self, palette: Palette, *, background: str = "white") -> alt.LayerChart:
        """The chart on its own as an Altair chart: sized, padded, configured and with its legend."""
        import altair as alt

        key, height = _below(self, palette)
        room = {"left": self.left, "right": self.right, "top": self.top, "bottom": self.bottom + height}
        padding = {side: size + MARGIN for side, size in room.items()}
        first, *others = self.plot.groups
        return Plot(((*first, *key), *others)).altair(
            width=self.width,
            height=self.height,
            padding=padding,
            autosize=alt.AutoSizeParams(type="none", contains="content"),
            config=alt.Config(**{**config(palette), "background": background}),
        )


def _below(drawing: Drawing, palette: Palette) -> tuple[list[Layer], float]:
    """The axis title and the legend below a chart outside a page, and their height."""
    import altair as alt

    layers: list[Layer] = []
    room = 0.0
    if drawing.axis:
        y = drawing.height + drawing.bottom + 8
        size = min(11.0, 11.0 * drawing.size[0] / max(width_of(drawing.axis, 11), 1))
        middle = (drawing.width + drawing.right - drawing.left) / 2
        half = width_of(drawing.axis, size) / 2
        centre = drawing.width / 2 if half <= drawing.width / 2 + min(drawing.left, drawing.right) else middle
        title = alt.Chart(alt.InlineData(values=({},)))
        layers.append(
            title.mark_text(
                text=visible(drawing.axis),
                color=palette["muted"],
                aria=False,
                **_lettering(size, "center", {}),
            ).encode(**_place(centre, y))
        )
        room = 18.0
    for index, (role, text) in enumerate(drawing.swatches):
        y = drawing.height + drawing.bottom + room + 8
        x = 6.0 - drawing.left + sum(width_of(label, 11) + 36 for _, label in drawing.swatches[:index])
        square = alt.Chart(alt.InlineData(values=({},)))
        layers += [
            square.mark_point(
                shape="square", color=palette[role], filled=True, opacity=0.6, size=90, aria=False
            ).encode(**_place(x, y)),
            square.mark_text(
                text=visible(text), color=palette["ink"], aria=False, **_lettering(11, "left", {})
            ).encode(**_place(x + 9, y)),
        ]
    room += 18.0 if drawing.swatches else 0.0
    key, height = _legend(drawing, palette, room)
    return layers + key, max(height, room)


def _place(x: float, y: float) -> Options:
    """The channels of a mark at a fixed position in the plot.

    These are objects because for the result of `alt.value`, Altair searches its whole schema every time.
    """
    import altair as alt

    return {"x": alt.XValue(x), "y": alt.YValue(y)}  # type: ignore[no-untyped-call]


def _legend(drawing: Drawing, palette: Palette, room: float) -> tuple[list[Layer], float]:
    """The marks and names of the systems or datasets below the axis title, and the height of both."""
    import altair as alt

    if len(drawing.legend) < 2:
        return [], 0.0
    layers: list[Layer] = []
    x, y, line = 6.0 - drawing.left, drawing.height + drawing.bottom + room + 8, 16.0
    for index, name in drawing.legend:
        text = fitted(visible(name), 11, 160)
        if x > 6.0 - drawing.left and x + width_of(text, 11) + 14 > drawing.width + drawing.right:
            x, y = 6.0 - drawing.left, y + line
        fill: Options = {"fill": palette["panel"]} if not filled(index) else {}
        base = alt.Chart(alt.InlineData(values=({},)))
        layers += [
            base.mark_point(
                shape=shape(index), color=palette.series(index), filled=filled(index),
                opacity=1, size=60, aria=False, **fill,
            ).encode(**_place(x, y)),
            base.mark_text(
                text=text, color=palette["ink"], aria=False, **_lettering(11, "left", {})
            ).encode(**_place(x + 9, y)),
        ]  # fmt: skip
        x += width_of(text, 11) + 30
    return layers, y + line - drawing.height - drawing.bottom


def unmeasured(settings: Options) -> Options:
    """The configuration, in which axis labels are not measured."""
    axis = {**settings["axis"], "labelFontSize": -settings["axis"]["labelFontSize"]}
    return {**settings, "axis": axis}


# Puts the labels of a y axis level with their ticks: without font measures, "middle" would be too high.
LEVEL: Options = {"labelBaseline": "alphabetic", "labelOffset": 4}


def config(palette: Palette) -> Options:
    """The configuration shared by all charts: fonts, no frame, thin grid, quiet axes."""
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": palette["muted"], "titleColor": palette["muted"], "gridColor": palette["grid"],
            "domain": False, "ticks": False, "labelFontSize": 11, "titleFontSize": 11,
            "titleFontWeight": "normal", "labelPadding": 16, "labelBaseline": "alphabetic",
        },
    }  # fmt: skip


def plot(*layers: Layer) -> Plot:
    """A plot of layers that share their scales."""
    return Plot((layers,))


def apart(*plots: Plot) -> Plot:
    """Plots combined into one, each with its own x scale."""
    return Plot(tuple(group for part in plots for group in part.groups))


def quantity(
    field: str, low: float, high: float, *, span: Sequence[float], axis: bool = True, **options: object
) -> Quantity:
    """An x channel from `low` to `high` over the pixels `span`, with its axis below."""
    shown = {"orient": "bottom", "title": None, "tickCount": 4, "format": ".2~f", **options}
    return Quantity(field, low, high, (span[0], span[1]), shown if axis else None)


def pixels(field: str, extent: float) -> Quantity:
    """An x channel whose values are already pixels."""
    return Quantity(field, 0, extent, (0, extent), clamp=False)


def texts(
    rows: Iterable[Row], height: float, *, at: float, colour: str, limit: float | None = None, **style: object
) -> Layer:
    """One text per row at the pixel `at`, with its link if it has one, cut to `limit` pixels."""
    options = _lettering(12, "left", style)
    if limit is not None:
        rows = [{**row, "t": fitted(row["t"], options["fontSize"], limit)} for row in rows]
    return MarkLayer("text", tuple(rows), height, colour, options, Fixed(at))


def written(rows: Iterable[Row], height: float, x: Channel, *, colour: str, **style: object) -> Layer:
    """One text per row, each at its own x."""
    options = _lettering(11, "center", style)
    return MarkLayer("text", tuple(rows), height, colour, options, x)


def _lettering(size: float, align: str, style: Options) -> Options:
    """Options that centre a text on its row with an explicit shift, so that it need not be measured."""
    size = style.get("fontSize", size)
    return {"fontSize": size, "align": align, "baseline": "alphabetic", "dy": round(0.35 * size, 1), **style}


def bands(
    rows: Iterable[Row], height: float, x: Channel, *, colour: str, thick: float = 4, **style: object
) -> Layer:
    """One bar per row from the field of `x` to `hi`: an interval, or a length from zero."""
    if thick <= 4:
        # A line takes a third of the bytes of a rounded bar.
        options = {"strokeWidth": thick, "opacity": 0.35, **style}
        return MarkLayer("rule", tuple(rows), height, colour, options, x, "x2")
    options = {"height": thick, "cornerRadius": 2, "opacity": 0.35, **style}
    return MarkLayer("bar", tuple(rows), height, colour, options, x, "x2")


def dots(
    rows: Iterable[Row], height: float, x: Channel, *, colour: str, index: int = 0, **style: object
) -> Layer:
    """One point per row: filled for the first system, hollow or of another shape for the others."""
    options = {
        "shape": shape(index), "size": 70, "opacity": 1, "strokeWidth": 2,
        "filled": filled(index), **style,
    }  # fmt: skip
    return MarkLayer("point", tuple(rows), height, colour, options, x)


def lines(rows: Iterable[Row], height: float, x: Channel, *, colour: str, **style: Any) -> Layer:
    """One vertical line per row from `y` to `y2`."""
    return MarkLayer("rule", tuple(rows), height, colour, {"strokeWidth": 1, **style}, x, "y2")


def path(
    points: Iterable[tuple[float, float]], width: float, height: float, *, colour: str, **style: Any
) -> Layer:
    """A line through points in the pixels of the plot, in their order."""
    return MarkLayer("line", _numbered(points), height, colour, style, pixels("x", width))


def _numbered(points: Iterable[tuple[float, float]]) -> tuple[Row, ...]:
    return tuple({"x": x, "y": y, "k": number} for number, (x, y) in enumerate(points))


class Axes(Struct, frozen=True):
    """The two channels of a plot of one quantity against another."""

    x: Quantity
    y: Quantity

    def line(self, points: Iterable[tuple[float, float]], colour: str, **style: Any) -> Layer:
        """A line through points, in their order."""
        return self._layer("line", _numbered(points), colour, style)

    def points(self, rows: Iterable[Row], colour: str, **style: Any) -> Layer:
        """One point per row, with its description."""
        return self._layer("point", tuple(rows), colour, {"filled": True, "opacity": 1, **style})

    def area(self, rows: Iterable[Row], colour: str, **style: Any) -> Layer:
        """A band between the fields `y` and `y2`."""
        return self._layer("area", tuple(rows), colour, style, "y2")

    def _layer(
        self,
        mark: Literal["point", "line", "area"],
        rows: tuple[Row, ...],
        colour: str,
        style: Options,
        until: Literal["", "y2"] = "",
    ) -> Layer:
        return MarkLayer(mark, rows, 0, colour, style, self.x, until, self.y)


def upwards(low: float, high: float, height: float, title: str, ticks: int) -> Quantity:
    """A y channel with its title beside the middle of its axis."""
    axis: Options = {
        "title": title, "tickCount": ticks, "labelPadding": 6, **LEVEL, "titleX": -34, "titleY": height / 2,
        "titleAlign": "center", "titleBaseline": "alphabetic",
    }  # fmt: skip
    return Quantity("y", low, high, (height, 0), axis)


def cells(
    rows: Sequence[Row], across: Quantity, height: float, *, colour: str = "", radius: float = 4
) -> list[Layer]:
    """The cells of a heat map, and the numbers in those that have any; for figures alone.

    A row has the corners of its cell, its opacity `o`, its description `d`, and its colour `c` unless there
    is one for all; its number `t` is at `cx` and `cy` in the colour `ink`.
    """
    import altair as alt

    base = alt.Chart(alt.InlineData(values=tuple(rows)))
    down = pixels("y", height)
    same: Options = {"color": colour} if colour else {}
    coloured: Options = {} if colour else {"color": alt.Color("c:N", scale=None)}
    boxes: alt.Chart = base.mark_rect(cornerRadius=radius, **same).encode(
        x=across.altair(alt.X), x2=alt.X2("x2:Q"), y=down.altair(alt.Y), y2=alt.Y2("y2:Q"), **coloured,
        opacity=alt.Opacity("o:Q", scale=None), description=alt.Description("d:N"),
    )  # fmt: skip
    if not any("cx" in row for row in rows):
        return [boxes]
    text = base.mark_text(fontSize=11.5, fontWeight="bold", baseline="alphabetic", dy=4, aria=False)
    numbers: alt.Chart = text.encode(
        x=replace(across, field="cx").altair(alt.X), y=replace(down, field="cy").altair(alt.Y), text="t:N",
        color=alt.Color("ink:N", scale=None),
    )  # fmt: skip
    return [boxes, numbers]


def unchecked() -> AbstractContextManager[None]:
    """A context in which Altair builds charts without validating every part against its schema.

    Validation would take most of the time. Charts that are written are validated as a whole, and the tests
    write every kind.
    """
    from altair.utils import schemapi

    return schemapi.debug_mode(False)


# ---- rows with one dot per system ------------------------------------------------------------------


MANY_SYSTEMS = 6  # with more systems than this, rows grow taller


class Dot(Struct, frozen=True):
    """One system's score in a row: its value, its interval, its text alternative and its link."""

    value: float | None
    interval: tuple[float, float] | None = None
    says: str = ""
    href: str | None = None
    runs: Sequence[float] = ()


class ChartRow(Struct, frozen=True):
    """A row of the chart: its name, the text under it, a point per system, and texts to the right."""

    title: str
    under: str
    points: Sequence[Dot]
    href: str | None = None
    right: Sequence[str] = ()
    faint: bool = False
    flag: str | None = None


class ChartLayout(Struct, frozen=True):
    """Widths in pixels, the reference line and the headings of the columns on the right."""

    left: float = 150
    plot: float = 170
    heads: Sequence[str] = ()
    columns: Sequence[float] = (44,)
    step: float = 38
    reference: float | None = None
    reference_says: str = ""
    intervals: bool = True
    domain: tuple[float, float] | None = None
    series: Sequence[int] = range(1000)
    lane: float = 9.0  # the maximum distance between two systems of a row


def draw(name: str, title: str, rows: Sequence[ChartRow], layout: ChartLayout, style: Style) -> Drawing:
    """The chart of the rows; the axis may zoom, since dots and intervals are read by position."""
    if _systems(rows) > MANY_SYSTEMS:
        layout = replace(layout, step=max(layout.step, 14.0 + 5 * _systems(rows)))
    low, high = layout.domain or axis_range(_extents(rows, layout))
    scale = layout.plot / max(high - low, 1e-9)
    if any(point.runs for row in rows for point in row.points):
        layout = _with_room_for_runs(rows, layout, scale)
    palette, step = style.palette, layout.step
    top = 20.0 if layout.heads or layout.reference is not None else 4.0
    height = top + step * len(rows)
    middle = [top + step * (at + 0.5) for at in range(len(rows))]
    x = quantity("v", low, high, span=(0, layout.plot), tickCount=4)
    layers: list[Layer] = []
    if layout.reference is not None:
        layers += _reference(layout, height, top, x, style)
    if layout.intervals:
        for index in range(_systems(rows)):
            layers += _intervals(rows, middle, index, height, x, layout, style)
    # The first system is drawn last, so that it is on top.
    dodged = _dodged(rows, layout, scale)
    for index in reversed(range(_systems(rows))):
        layers += _points(rows, middle, index, height, x, layout, style, dodged)
        layers += _runs(rows, middle, index, height, x, layout, style, scale)
    titles = [{"y": y - (6 if row.under else 0), "t": row.title} for y, row in zip(middle, rows, strict=True)]
    layers.append(texts(titles, height, at=-layout.left, colour=palette["ink"], limit=layout.left - 10))
    layers += _under(rows, middle, height, layout, style)
    layers += _right(rows, middle, height, layout, style)
    right = sum(layout.columns) + 6
    return Drawing(name, title, plot(*layers), layout.plot, height, layout.left, right, 4, 24)


def _systems(rows: Sequence[ChartRow]) -> int:
    return max((len(row.points) for row in rows), default=0)


def _extents(rows: Sequence[ChartRow], layout: ChartLayout) -> list[float]:
    values = [] if layout.reference is None else [layout.reference]
    for row in rows:
        for point in row.points:
            values += [] if point.value is None else [point.value, *point.runs]
            values += [] if point.interval is None or not layout.intervals else list(point.interval)
    return values


def _reference(layout: ChartLayout, height: float, top: float, x: Channel, style: Style) -> list[Layer]:
    row = {"v": layout.reference, "y": top - 6, "y2": height}
    head = {"v": layout.reference, "y": top - 14, "t": layout.reference_says}
    muted = style.palette["muted"]
    return [
        lines([row], height, x, colour=style.palette["axis"], strokeDash=[2, 2]),
        written([head], height, x, colour=muted, fontSize=10.5),
    ]


def _intervals(
    rows: Sequence[ChartRow],
    middle: list[float],
    index: int,
    height: float,
    x: Channel,
    layout: ChartLayout,
    style: Style,
) -> list[Layer]:
    systems = _systems(rows)
    bars: list[Row] = [
        {"v": point.interval[0], "hi": point.interval[1], "y": y + _shift(index, systems, layout)}
        for y, point in _placed(rows, middle, index)
        if point.interval and point.value is not None
    ]
    colour = style.palette.series(layout.series[index])
    return [bands(bars, height, x, colour=colour)] if bars else []


def _points(
    rows: Sequence[ChartRow],
    middle: list[float],
    index: int,
    height: float,
    x: Channel,
    layout: ChartLayout,
    style: Style,
    dodged: Sequence[bool],
) -> list[Layer]:
    shift = _shift(index, _systems(rows), layout)
    points: list[Row] = [
        {"v": point.value, "y": y + (shift if apart else 0.0), "d": point.says, "href": point.href}
        for (y, point), apart in zip(_placed(rows, middle, index), dodged, strict=False)
        if point.value is not None
    ]
    colour, kind = style.palette.series(layout.series[index]), layout.series[index]
    if not points:
        return []
    options = {"fill": style.palette["panel"]} if kind == 1 else {}
    return [dots(points, height, x, colour=colour, index=kind, size=60, **options)]


def _runs(
    rows: Sequence[ChartRow],
    middle: list[float],
    index: int,
    height: float,
    x: Channel,
    layout: ChartLayout,
    style: Style,
    scale: float,
) -> list[Layer]:
    """The runs of one system as small dots below its own dot, in as many lines as keep them apart."""
    shift = _shift(index, _systems(rows), layout) + _MARK
    small: list[Row] = [
        {"v": run, "y": y + shift + _RUN * level}
        for y, point in _placed(rows, middle, index)
        for run, level in zip(point.runs, _levels(point.runs, scale), strict=True)
    ]
    colour = style.palette.series(layout.series[index])
    return [dots(small, height, x, colour=colour, size=12, opacity=0.8)] if small else []


def _levels(runs: Sequence[float], scale: float) -> list[int]:
    """The line of each dot: the first in which it does not overlap another.

    Examples:
        >>> _levels([0.5, 0.501, 0.9], 100.0)
        [0, 1, 0]
    """
    ends: list[float] = []  # of the last dot of each line
    levels = [0] * len(runs)
    for at in sorted(range(len(runs)), key=lambda at: runs[at]):
        place = scale * runs[at]
        level = next((level for level, end in enumerate(ends) if place - end >= _RUN), len(ends))
        ends[level : level + 1] = [place]
        levels[at] = level
    return levels


def _with_room_for_runs(rows: Sequence[ChartRow], layout: ChartLayout, scale: float) -> ChartLayout:
    """The layout with lanes that are high enough for the runs of every system."""
    lines = max(max(_levels(point.runs, scale), default=0) + 1 for row in rows for point in row.points)
    lane = _MARK + _RUN * lines + 3
    return replace(layout, lane=lane, step=max(layout.step, lane * _systems(rows) + 14), intervals=True)


def _placed(rows: Sequence[ChartRow], middle: Sequence[float], index: int) -> Iterator[tuple[float, Dot]]:
    """The y position and the point of every row that has one for the system at `index`."""
    for y, row in zip(middle, rows, strict=True):
        if index < len(row.points):
            yield y, row.points[index]


def _shift(index: int, systems: int, layout: ChartLayout) -> float:
    """The vertical offset of a system within a row, so that no interval hides another."""
    gap = min(layout.lane, (layout.step - 12) / max(systems - 1, 1))
    return gap * (index - (systems - 1) / 2)


_MARK = 8.0  # the width of a dot in pixels
_RUN = 4.0  # the width of the dot of a run


def _dodged(rows: Sequence[ChartRow], layout: ChartLayout, scale: float) -> list[bool]:
    """Whether the dots of each row are stacked: with intervals, or where two would overlap."""
    stacked = []
    for row in rows:
        positions = sorted(scale * point.value for point in row.points if point.value is not None)
        stacked.append(layout.intervals or any(b - a < _MARK for a, b in pairwise(positions)))
    return stacked


def _under(
    rows: Sequence[ChartRow], middle: list[float], height: float, layout: ChartLayout, style: Style
) -> list[Layer]:
    layers = []
    for linked in (True, False):
        below = [
            {
                "y": y + 8,
                "t": row.under,
                **({"href": row.href, "d": f"{row.title}: {row.under}"} if linked else {}),
            }
            for y, row in zip(middle, rows, strict=True)
            if row.under and bool(row.href) is linked
        ]
        if below:
            colour = style.palette["s0" if linked else "muted"]
            layers.append(
                texts(below, height, at=-layout.left, colour=colour, fontSize=10.5, limit=layout.left - 10)
            )
    return layers


def _right(
    rows: Sequence[ChartRow], middle: list[float], height: float, layout: ChartLayout, style: Style
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
        layers.append(texts(cells, height, at=at, colour=style.palette["ink"], align="right", **strong))
        if faint:
            layers.append(texts(faint, height, at=at, colour=style.palette["muted"], align="right"))
        if column < len(layout.heads):
            head = [{"y": 6.0, "t": layout.heads[column]}]
            layers.append(
                texts(head, height, at=at, colour=style.palette["muted"], align="right", fontSize=10.5)
            )
    flags = [{"y": y, "t": "▼", "d": row.flag} for y, row in zip(middle, rows, strict=True) if row.flag]
    if flags:
        layers.append(texts(flags, height, at=layout.plot + 4, colour=style.palette["wrong"], fontSize=9))
    return layers
