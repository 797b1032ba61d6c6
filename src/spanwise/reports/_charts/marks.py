"""Marks of charts whose rows stand at fixed heights: texts, dots, bars and intervals with links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import altair as alt
from altair.utils import schemapi
from msgspec import Struct

from spanwise.reports._charts.palette import Palette
from spanwise.reports._charts.style import fitted, width_of
from spanwise.reports._wording import visible

Row: TypeAlias = dict[str, Any]  # the fields of a mark, which Altair writes as JSON
Options: TypeAlias = dict[str, Any]  # of a mark or a channel, under Altair's names
Layer: TypeAlias = alt.Chart
Channel: TypeAlias = alt.X | alt.XValue
SHAPES = ("circle", "circle", "diamond", "triangle-up", "square", "triangle-down")
LATER_SHAPES = ("cross", "triangle-right", "triangle-left")  # where the colours begin again
MARGIN = 8.0  # around a chart that stands alone
FONT = "Roboto, Inter, Helvetica, Arial, sans-serif"


class Plot(Struct, frozen=True):
    """Layers on one pair of scales, or groups of them that each have their own x scale."""

    groups: tuple[tuple[Layer, ...], ...]

    def altair(self) -> alt.LayerChart:
        """The layers as one Altair chart."""
        if len(self.groups) == 1:
            return alt.LayerChart(layer=list(self.groups[0]))
        parts = [alt.LayerChart(layer=list(group)) for group in self.groups]
        apart: alt.LayerChart = alt.LayerChart(layer=parts).resolve_scale(x="independent")
        return apart

    def specification(self, context: Options) -> Options:
        """What Altair would write for the chart, without the copies that it makes of every part."""
        groups: list[Options] = [
            {"layer": [_unmeasured(layer, context) for layer in group]} for group in self.groups
        ]
        if len(groups) == 1:
            return groups[0]
        return {"layer": groups, "resolve": {"scale": {"x": "independent"}}}


def shape(place: int) -> str:
    """The shape of the system or dataset at `place`: with its colour, unlike those of 23 others.

    Examples:
        >>> shape(0), shape(2), shape(6), shape(12)
        ('circle', 'diamond', 'cross', 'triangle-right')
    """
    turn, at = divmod(place, len(SHAPES))
    return LATER_SHAPES[(turn - 1) % len(LATER_SHAPES)] if turn else SHAPES[at]


class Drawing(Struct, frozen=True):
    """A chart with the size of its plot and the room that its texts take around it."""

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
    axis: str = ""  # what the axis or the cells show, with the unit; for charts that stand alone
    swatches: tuple[tuple[str, str], ...] = ()  # colours of a heat map by their roles, and what they mean

    @property
    def size(self) -> tuple[float, float]:
        return self.left + self.width + self.right, self.top + self.height + self.bottom

    def altair(self, palette: Palette, *, background: str = "white") -> alt.LayerChart:
        """The chart as it stands alone: sized, padded, configured and with its legend; an Altair chart."""
        key, height = _below(self, palette)
        room = {"left": self.left, "right": self.right, "top": self.top, "bottom": self.bottom + height}
        padding = {side: size + MARGIN for side, size in room.items()}
        first, *others = self.plot.groups
        chart: alt.LayerChart = (
            Plot(((*first, *key), *others))
            .altair()
            .properties(
                width=self.width,
                height=self.height,
                padding=padding,
                autosize=alt.AutoSizeParams(type="none", contains="content"),
            )
            .configure(**{**config(palette), "background": background})
        )
        return chart

    def specification(self, context: Options) -> Options:
        """The chart as one of many in a batch."""
        return {**self.plot.specification(context), "width": self.width, "height": self.height}


def _below(drawing: Drawing, palette: Palette) -> tuple[list[Layer], float]:
    """The title of the axis and the legend under a chart that has no page around it, and their height."""
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
            ).encode(x=alt.value(centre), y=alt.value(y))
        )
        room = 18.0
    for place, (role, text) in enumerate(drawing.swatches):
        y = drawing.height + drawing.bottom + room + 8
        x = 6.0 - drawing.left + sum(width_of(one, 11) + 36 for _, one in drawing.swatches[:place])
        square = alt.Chart(alt.InlineData(values=({},)))
        layers += [
            square.mark_point(
                shape="square", color=palette[role], filled=True, opacity=0.6, size=90, aria=False
            ).encode(x=alt.value(x), y=alt.value(y)),
            square.mark_text(
                text=visible(text), color=palette["ink"], aria=False, **_lettering(11, "left", {})
            ).encode(x=alt.value(x + 9), y=alt.value(y)),
        ]
    room += 18.0 if drawing.swatches else 0.0
    key, height = _legend(drawing, palette, room)
    return layers + key, max(height, room)


def _legend(drawing: Drawing, palette: Palette, room: float) -> tuple[list[Layer], float]:
    """The marks of the systems or datasets below the title of the axis, and the height of both."""
    if len(drawing.legend) < 2:
        return [], 0.0
    layers: list[Layer] = []
    x, y, line = 6.0 - drawing.left, drawing.height + drawing.bottom + room + 8, 16.0
    for place, name in drawing.legend:
        text = fitted(visible(name), 11, 160)
        if x > 6.0 - drawing.left and x + width_of(text, 11) + 14 > drawing.width + drawing.right:
            x, y = 6.0 - drawing.left, y + line
        fill: Options = {"fill": palette["panel"]} if place == 1 else {}
        at = alt.Chart(alt.InlineData(values=({},)))
        layers += [
            at.mark_point(
                shape=shape(place), color=palette.series(place), filled=place != 1,
                opacity=1, size=60, aria=False, **fill,
            ).encode(x=alt.value(x), y=alt.value(y)),
            at.mark_text(
                text=text, color=palette["ink"], aria=False, **_lettering(11, "left", {})
            ).encode(x=alt.value(x + 9), y=alt.value(y)),
        ]  # fmt: skip
        x += width_of(text, 11) + 30
    return layers, y + line - drawing.height - drawing.bottom


def _unmeasured(layer: Layer, context: Options) -> Options:
    # Measuring a text costs vl-convert two milliseconds, a page has hundreds, and at fixed places
    # nothing depends on their widths. Vega takes no measure of a text with a negative size; the
    # sign is dropped later.
    written: Options = layer.to_dict(validate=False, context=context)
    if written["mark"]["type"] == "text":
        written["mark"]["fontSize"] *= -1
    return written


def unmeasured(settings: Options) -> Options:
    """The configuration for a batch, in which the labels of axes are not measured either."""
    axis = {**settings["axis"], "labelFontSize": -settings["axis"]["labelFontSize"]}
    return {**settings, "axis": axis}


def config(palette: Palette) -> Options:
    """What all charts share: fonts, no frame, thin grid, quiet axes."""
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
    """Layers on one pair of scales."""
    return Plot((layers,))


def apart(*plots: Plot) -> Plot:
    """Plots that each have their own x scale, side by side in one."""
    return Plot(tuple(group for one in plots for group in one.groups))


def quantity(
    field: str, low: float, high: float, *, span: Sequence[float], axis: bool = True, **options: Any
) -> alt.X:
    """An x channel from `low` to `high` over the pixels `span`, with its axis below."""
    shown = {"orient": "bottom", "title": None, "tickCount": 4, "format": ".2~f", **options}
    return alt.X(
        f"{field}:Q",
        scale=alt.Scale(domain=[low, high], range=list(span), nice=False, zero=False, clamp=True),
        axis=alt.Axis(**shown) if axis else None,
    )


def pixels(field: str, extent: float) -> alt.X:
    """An x channel whose values are pixels already."""
    return alt.X(f"{field}:Q", scale=_identity(extent), axis=None)


def texts(
    rows: Iterable[Row], height: float, *, at: float, colour: str, limit: float | None = None, **style: Any
) -> Layer:
    """A text per row at the pixel `at`, each with its own link where it has one, cut to `limit` pixels."""
    options = _lettering(12, "left", style)
    if limit is not None:
        rows = [{**row, "t": fitted(row["t"], options["fontSize"], limit)} for row in rows]
    return _layer(rows, height, "text", colour, options, text=alt.Text("t:N"), x=alt.XValue(at))  # type: ignore[no-untyped-call]


def written(rows: Iterable[Row], height: float, x: Channel, *, colour: str, **style: Any) -> Layer:
    """A text per row at its own x."""
    options = _lettering(11, "center", style)
    return _layer(rows, height, "text", colour, options, text=alt.Text("t:N"), x=x)


def _lettering(size: float, align: str, style: Options) -> Options:
    """A text whose middle lies on its row; written with an explicit shift, which needs no measure."""
    size = style.get("fontSize", size)
    return {"fontSize": size, "align": align, "baseline": "alphabetic", "dy": round(0.35 * size, 1), **style}


def bands(
    rows: Iterable[Row], height: float, x: Channel, *, colour: str, thick: float = 4, **style: Any
) -> Layer:
    """A bar from the field of `x` to `hi`: an interval, or a length from zero."""
    if thick <= 4:
        # A line takes a third of the bytes of a rounded bar.
        options = {"strokeWidth": thick, "opacity": 0.35, **style}
        return _layer(rows, height, "rule", colour, options, x=x, x2=alt.X2("hi:Q"))
    options = {"height": thick, "cornerRadius": 2, "opacity": 0.35, **style}
    return _layer(rows, height, "bar", colour, options, x=x, x2=alt.X2("hi:Q"))


def dots(
    rows: Iterable[Row], height: float, x: Channel, *, colour: str, place: int = 0, **style: Any
) -> Layer:
    """A point per row: filled for the first system, hollow or of another shape for the others."""
    options = {
        "shape": shape(place), "size": 70, "opacity": 1, "strokeWidth": 2,
        "filled": place != 1, **style,
    }  # fmt: skip
    return _layer(rows, height, "point", colour, options, x=x)


def lines(rows: Iterable[Row], height: float, x: Channel, *, colour: str, **style: Any) -> Layer:
    """A vertical line per row from `y` to `y2`."""
    return _layer(rows, height, "rule", colour, {"strokeWidth": 1, **style}, x=x, y2=alt.Y2("y2:Q"))


def _layer(
    rows: Iterable[Row], height: float, mark: str, colour: str, options: Options, **channels: Any
) -> Layer:
    # A channel given as an object: for what `alt.value` gives, Altair searches its whole schema every time.
    # Altair copies charts deeply at every step, but not what lies in a tuple.
    rows = tuple(rows)
    channels["y"] = alt.Y("y:Q", scale=_identity(height), axis=None)
    if any(row.get("d") for row in rows):
        channels["description"] = alt.Description("d:N")
    else:
        options = {**options, "aria": False}
    if any(row.get("href") for row in rows):
        channels["href"] = alt.Href("href:N")
    chart = alt.Chart(alt.InlineData(values=rows))
    drawn: Layer = getattr(chart, f"mark_{mark}")(color=colour, **options)
    return drawn.encode(**channels)


def _identity(extent: float) -> alt.Scale:
    return alt.Scale(domain=[0, extent], range=[0, extent], nice=False, zero=False)


def unchecked() -> AbstractContextManager[None]:
    """A context in which Altair builds charts without checking every part against its schema.

    The checks take most of the time of a page; the tests build the same charts with them.
    """
    return schemapi.debug_mode(False)
