"""The charts of a study: scores over datasets, radars of ζ and ρ, heat maps, scores against a factor."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from spanwise.document import given
from spanwise.document.study import AttributeWise, FactorStep, PairDiagnosis, Study
from spanwise.reports._charts import Style, axis_range, marks, points_pair, share, shortened, titled
from spanwise.reports._charts.marks import (
    Axes,
    ChartLayout,
    ChartRow,
    Dot,
    Drawing,
    Layer,
    Quantity,
    Row,
    draw,
)
from spanwise.views import wording as words

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 2], [1, 3])


def alias(name: str) -> str:
    """The short name of an attribute, as in the figures of the papers."""
    return words.short_name(name) or shortened(name, 12)


def systems(document: Study) -> list[str]:
    """The systems of a study, in the order of its manifest."""
    return list(document.analyses.holistic)


def holistic(document: Study, style: Style, *, narrow: bool = False) -> Drawing:
    """The mean score of every system on every dataset, with its interval, and runs as small dots.

    If it is `narrow`, its texts can be read in one column of a paper.
    """
    names = systems(document)
    table, score = document.analyses.holistic, words.study_score(document.analyses)
    rows = []
    for dataset, part in document.datasets.items():
        points = []
        for name in names:
            cell = table[name].get(dataset)
            mean, std = (None, None) if cell is None else (cell.mean, cell.std)
            runs = [share(value) for value in (() if cell is None else cell.values.values())]
            says = f"{words.visible(name)} on {words.visible(dataset)}: {score} {words.spread(mean, std)}"
            pair = points_pair(cell.ends("mean") if cell is not None else None)
            points.append(Dot(share(mean), pair, says, runs=[r for r in runs if r is not None]))
        mentions = 0 if part.dataset is None else part.dataset.mentions
        title = shortened(dataset, 13 if narrow else 20)
        rows.append(ChartRow(title, words.plural(mentions, "mention"), points))
    left, plot = (92, 206) if narrow else (130, 300)
    layout = ChartLayout(left=left, plot=plot, columns=(4,), step=46)
    return draw("holistic", f"Mean {score} over runs", rows, layout, style)


# ---- attribute-wise -------------------------------------------------------------------------


def spokes(document: Study) -> list[str]:
    """The attributes with a ζ or a ρ in some dataset, in the order of the document."""
    names: dict[str, None] = {}
    for row in document.analyses.attribute_wise.values():
        for name, cell in row.items():
            if words.defined(cell.zeta) or words.defined(cell.rho1):
                names[name] = None
    return list(names)


def _on_spoke(cell: AttributeWise | None, measure: str) -> float | None:
    """ρ, σ, or ζ divided by its highest value over datasets, as in Figure 4 of Fu20."""
    if cell is None:
        return None
    return {"zeta": given(cell.zeta_relative), "rho1": cell.rho1, "sigma": cell.sigma}[measure]


def radar(document: Study, measure: str, style: Style, *, size: float = 118) -> Drawing | None:
    """ζ (`zeta`, each attribute relative to its highest dataset) or ρ (`rho1`), one polygon per dataset."""
    names = spokes(document)
    if len(names) < 3:
        return None
    table = document.analyses.attribute_wise
    width, middle = 2 * size + 60, size + 30
    outlines: list[Layer] = []
    sigmas = [cell.sigma for row in table.values() for cell in row.values()]
    # The outer ring of the radar of σ.
    highest = max((value for value in sigmas if value is not None), default=0.0) or 1.0
    for index, dataset in enumerate(document.datasets):
        values = [_on_spoke(table[dataset].get(name), measure) for name in names]
        if measure == "sigma":
            values = [None if value is None else value / highest for value in values]
        outlines += _outline(dataset, names, values, measure, index, middle, size, style)
    rings = [_ring(len(names), level, middle, size) for level in (0.25, 0.5, 0.75, 1.0)]
    layers: list[Layer] = [_path(ring, style.palette["grid"], width, strokeWidth=1) for ring in rings]
    layers += [
        _path(
            [(middle, middle), _at(index, len(names), 1.0, middle, size)],
            style.palette["grid"],
            width,
            strokeWidth=1,
        )
        for index in range(len(names))
    ]
    layers += outlines
    for index, name in enumerate(names):
        x, y = _at(index, len(names), 1.13, middle, size)
        align = "center" if abs(x - middle) < 12 else "left" if x > middle else "right"
        text = [{"x": x, "y": y, "t": alias(name)}]
        layers.append(
            marks.written(text, width, marks.pixels("x", width), colour=style.palette["ink"], align=align)
        )
    if measure == "sigma":
        ring = [{"y": width - 4, "t": f"outer ring: σ = {100 * highest:.1f}"}]
        layers.append(marks.texts(ring, width, at=-18, colour=style.palette["muted"], fontSize=10))
    title = RADARS[measure]
    return Drawing(f"radar-{measure}", title, marks.plot(*layers), width, width, 24, 24, 2, 2)


RADARS = {
    "zeta": "ζ by attribute, relative to the highest",
    "rho1": "ρ by attribute",
    "sigma": "σ by attribute, relative to the highest",
}
_MEASURES = {"zeta": "ζ, relative", "rho1": "ρ", "sigma": "σ, relative"}


def _at(index: int, count: int, level: float, middle: float, size: float) -> tuple[float, float]:
    angle = 2 * math.pi * index / count
    return middle + level * size * math.sin(angle), middle - level * size * math.cos(angle)


def _ring(count: int, level: float, middle: float, size: float) -> list[tuple[float, float]]:
    return [_at(index % count, count, level, middle, size) for index in range(count + 1)]


def _path(points: Sequence[tuple[float, float]], colour: str, extent: float, **options: Any) -> Layer:
    rounded = [(round(x, 2), round(y, 2)) for x, y in points]
    return marks.path(rounded, extent, extent, colour=colour, strokeJoin="round", **options)


def _outline(
    dataset: str, names: Sequence[str], values: Sequence[float | None], measure: str, index: int,
    middle: float, size: float, style: Style,
) -> list[Layer]:  # fmt: skip
    """The polygon of a dataset; an attribute without a value is at the centre and has no dot."""
    colour, extent = style.palette.series(index), 2 * size + 60
    corners = [_at(spoke, len(names), value or 0.0, middle, size) for spoke, value in enumerate(values)]
    dots = [
        {
            "x": round(x, 2), "y": round(y, 2),
            "d": f"{words.visible(dataset)}, {words.attribute(name)}: "
            f"{_MEASURES[measure]} {words.plain(value)}",
        }
        for (x, y), name, value in zip(corners, names, values, strict=True)
        if value is not None
    ]  # fmt: skip
    line = _path(
        [*corners, corners[0]], colour, extent, strokeWidth=1.8, strokeDash=DASHES[index % len(DASHES)]
    )
    points = marks.dots(dots, extent, marks.pixels("x", extent), colour=colour, index=index, size=26)
    return [line, points]


def drivers(document: Study, style: Style) -> Drawing | None:
    """ρ of every attribute on every dataset, one line per attribute: the radar in a more legible form."""
    names = spokes(document)
    table = document.analyses.attribute_wise
    if not names:
        return None
    rows = []
    for name in names:
        points = []
        for dataset in document.datasets:
            cell = table.get(dataset, {}).get(name)
            rho, signed, zeta = (None,) * 3 if cell is None else (cell.rho1, cell.rho2, cell.zeta)
            says = (
                f"{words.visible(dataset)}, {words.attribute(name)}: ρ {words.plain(rho)}, "
                f"with sign {words.correlation(signed)}, ζ {words.plain(zeta)}"
            )
            points.append(Dot(rho, None, says))
        rows.append(ChartRow(titled(name), "", points))
    layout = ChartLayout(left=160, plot=210, columns=(4,), step=30, intervals=False, domain=(-0.03, 1.03))
    return draw("drivers", "ρ by attribute and dataset", rows, layout, style)


def factor(document: Study, name: str, style: Style) -> Drawing | None:
    """The gain over the lowest value of a numeric factor, one line per group of comparable systems.

    The systems of a group agree in all other factors. A single group has one line per dataset.

    References:
        Fu, Liu and Neubig (2020), Figure 5.
    """
    groups = document.analyses.factors[name].groups
    if not groups:
        return None
    plot, height, score = 280.0, 170.0, words.study_score(document.analyses)
    series: list[tuple[str, list[Row]]] = []
    if len(groups) == 1:
        for dataset in document.datasets:
            steps = [(step, step.gains.get(dataset)) for step in groups[0].steps]
            series.append((dataset, _steps(name, f" on {words.visible(dataset)}", steps, score)))
    else:
        for group in groups:
            others = ", ".join(f"{key} = {value}" for key, value in group.factors.items())
            steps = [(step, step.gain) for step in group.steps]
            series.append((others or "no other factor", _steps(name, ", mean over datasets", steps, score)))
    low, high = axis_range([row["y"] for _, rows in series for row in rows])
    left, right = axis_range([row["x"] for _, rows in series for row in rows])
    below = {"title": shortened(name, 30), "grid": False, "tickCount": 5, "titlePadding": 6}
    beside = {"title": f"gain in {score}, points", "titleX": -38, "tickCount": 5, "labelPadding": 6}
    axes = Axes(
        Quantity("x", left, right, (0, plot), below, clamp=False),
        Quantity("y", low, high, (height, 0), {**beside, **marks.LEVEL}, clamp=False),
    )
    layers: list[Layer] = []
    for index, (_, rows) in enumerate(series):
        colour, dash = style.palette.series(index), DASHES[index % len(DASHES)]
        corners = [(row["x"], row["y"]) for row in rows]
        layers.append(axes.line(corners, colour, strokeWidth=1.6, strokeDash=dash))
        layers.append(
            axes.points(rows, colour, filled=marks.filled(index), size=50, shape=marks.shape(index))
        )
    title = f"Gain in {score} over the lowest {shortened(name, 30)}"
    legend = tuple((at, label) for at, (label, _) in enumerate(series))
    return Drawing(f"factor-{name}", title, marks.plot(*layers), plot, height, 60, 16, 8, 44, legend=legend)


def _steps(name: str, where: str, steps: Sequence[tuple[FactorStep, float | None]], score: str) -> list[Row]:
    """The points of one line, with their descriptions."""
    rows = []
    for step, gain in steps:
        value = share(gain)
        if value is not None:
            says = (
                f"{words.visible(step.system)}{where}: "
                f"{words.visible(name)} {words.plain(step.value)}, gain {words.signed(gain)} {score}"
            )
            rows.append({"x": float(step.value), "y": value, "d": says})
    return rows


# ---- bucket-wise ----------------------------------------------------------------------------


def increase(pair: PairDiagnosis, style: Style, *, score: str, wide: float | None = None) -> Drawing | None:
    """The relative increase of a score by dataset, attribute and bucket (Fu20, Figure 6).

    Attributes continue on another line if they would take more than `wide` pixels.
    """
    names = heat_columns(pair)
    if not names:
        return None
    step, line = 26.0, 26.0
    datasets = list(pair.datasets)
    heads, groups = [], []
    x = extent_x = 0.0
    block, down = line * len(datasets) + 44, 0.0
    most = max((abs(v) for d in datasets for _, _, v in heat_row(pair, d) if v is not None), default=0) or 1
    corners: dict[tuple[str, str], tuple[float, float]] = {}
    for attribute, buckets in names:
        if wide and x and x + step * len(buckets) > wide:
            x, down = 0.0, down + block
        groups.append({"x": x + step * len(buckets) / 2, "y": down - 24.0, "t": alias(attribute)})
        for bucket in buckets:
            corners[attribute, bucket] = x, down
            heads.append({"x": x + step / 2, "y": down - 9.0, "t": shortened(bucket, 4)})
            x += step
        extent_x = max(extent_x, x)
        x += 8
    cells, numbers = _heat_cells(pair, corners, (step, line), most, style)
    height = down + line * len(datasets)
    first, second = (words.visible(name) for name in pair.systems)
    bar, ticks = _heat_scale(most, height + 16, style)
    cells += bar
    across = marks.pixels("x", extent_x)
    sides = [
        {"y": upper + line * (row + 0.5), "t": shortened(name, 14)}
        for upper in sorted({corner[1] for corner in corners.values()})
        for row, name in enumerate(datasets)
    ]
    chart = marks.plot(
        *marks.cells(cells, across, height, radius=2),
        marks.written(numbers, height, across, colour=style.palette["ink"], fontSize=8.5),
        marks.written(heads, height, across, colour=style.palette["muted"], fontSize=9),
        marks.written(groups, height, across, colour=style.palette["ink"], fontSize=10.5),
        marks.texts(sides, height, at=-8, colour=style.palette["ink"], align="right"),
        marks.written(ticks, height, across, colour=style.palette["muted"], fontSize=9),
        marks.texts([{"y": -44.0, "t": f"{first} over {second}"}], height, at=0, colour=style.palette["ink"]),
    )
    title = f"Relative increase of {score} in percent, {first} over {second}"
    drawing = Drawing(f"increase-{first}-{second}", title, chart, extent_x, height, 110, 10, 54, 40)
    leads = (("s0", f"{first} leads"), ("s1", f"{second} leads"))
    return (
        replace(drawing, axis=f"relative increase of {score} (percent)", swatches=leads) if wide else drawing
    )


def _heat_cells(
    pair: PairDiagnosis,
    corners: Mapping[tuple[str, str], tuple[float, float]],
    size: tuple[float, float],
    most: float,
    style: Style,
) -> tuple[list[Row], list[Row]]:
    """A box for every dataset and bucket, below the `corners` of its bucket, and the percentages in them."""
    (step, line), cells, numbers = size, [], []
    for row, dataset in enumerate(pair.datasets):
        for attribute, bucket, value in heat_row(pair, dataset):
            if value is None:
                continue
            left, upper = corners[attribute, bucket]
            colour = style.palette["s0" if value >= 0 else "s1"]
            says = (
                f"{words.visible(dataset)}, {words.attribute(attribute)} {words.visible(bucket)}: "
                f"{words.signed(value)}%"
            )
            middle = {"x": left + step / 2, "y": upper + line * (row + 0.5)}
            text = f"{100 * value:+.0f}".replace("-", words.MINUS)
            numbers.append({**middle, "t": "0" if text[1:] == "0" else text})
            cells.append(
                {
                    "x": left + 1, "x2": left + step - 1,
                    "y": upper + row * line + 1, "y2": upper + row * line + line - 1,
                    "c": colour, "o": 0.06 + 0.54 * (abs(value) / most) ** 0.5, "d": says,
                }
            )  # fmt: skip
    return cells, numbers


def _heat_scale(most: float, top: float, style: Style) -> tuple[list[Row], list[Row]]:
    """A strip of shades from the largest loss to the largest gain, and the percentages below it."""
    steps, wide = 21, 8.0
    boxes: list[Row] = []
    for at in range(steps):
        value = most * (2 * at / (steps - 1) - 1)
        boxes.append(
            {
                "x": at * wide, "x2": (at + 1) * wide, "y": top, "y2": top + 9,
                "c": style.palette["s0" if value >= 0 else "s1"],
                "o": 0.06 + 0.54 * (abs(value) / most) ** 0.5, "d": f"{100 * value:+.0f}%",
            }
        )  # fmt: skip
    marked = ((0.5, f"−{100 * most:.0f}%"), (steps / 2, "0"), (steps - 0.5, f"+{100 * most:.0f}%"))
    return boxes, [{"x": at * wide, "y": top + 17, "t": text} for at, text in marked]


def heat_columns(pair: PairDiagnosis) -> list[tuple[str, list[str]]]:
    """The attributes and buckets of all datasets of a comparison, each once."""
    columns: dict[str, dict[str, None]] = {}
    for dataset in pair.datasets:
        for attribute, bucket, _ in heat_row(pair, dataset):
            columns.setdefault(attribute, {})[bucket] = None
    return [(attribute, list(buckets)) for attribute, buckets in columns.items()]


def heat_row(pair: PairDiagnosis, dataset: str) -> list[tuple[str, str, float | None]]:
    """Attribute, bucket and relative increase of one dataset."""
    row = []
    for attribute, leads in pair.datasets[dataset].items():
        names = leads.buckets or _names(len(leads.relative))
        row += [(attribute, name, value) for name, value in zip(names, leads.relative, strict=True)]
    return row


def _names(count: int) -> list[str]:
    return ["XS", "S", "L", "XL"] if count == 4 else [f"B{at + 1}" for at in range(count)]
