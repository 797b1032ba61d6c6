"""Figures over several datasets at once: buckets in panels side by side, and mean ranks on one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import altair as alt
from msgspec import UNSET

from spanwise.document.study import BucketSpread, Study
from spanwise.reports import _wording as words
from spanwise.reports._charts import marks
from spanwise.reports._charts.marks import Drawing
from spanwise.reports._charts.style import Style, reach, share, shortened, titled, width_of

Table: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Sequence[BucketSpread]]]]
_PANEL, _GAP, _STEP = 130.0, 26.0, 34.0


def buckets(document: Study, attribute: str, style: Style) -> Drawing | None:
    """Mean F1 over runs of every system in every bucket, a panel per dataset, all on one scale."""
    table = document.analyses.performance_table
    datasets = [name for name in document.datasets if any(_rows(table, s, name, attribute) for s in table)]
    names = list(
        dict.fromkeys(
            row.name for system in table for name in datasets for row in _rows(table, system, name, attribute)
        )
    )
    values = [
        value
        for system in table
        for name in datasets
        for row in _rows(table, system, name, attribute)
        if (value := share(row.f1)) is not None
    ]
    if not names or not values:
        return None
    low, high = reach(values)
    height = 18.0 + _STEP * len(names)
    plots = []
    for at, dataset in enumerate(datasets):
        begin = at * (_PANEL + _GAP)
        x = marks.quantity("v", low, high, span=(begin, begin + _PANEL), values=_ticks(low, high), grid=False)
        grid = [{"v": tick, "y": 16.0, "y2": height} for tick in _ticks(low, high)]
        layers: list[Any] = [marks.lines(grid, height, x, colour=style.palette["grid"])]
        for place, system in enumerate(table):
            rows = []
            for row in _rows(table, system, dataset, attribute):
                value = share(row.f1)
                if value is None:
                    continue
                told = f"{words.visible(system)} on {words.visible(dataset)}, {words.visible(row.name)}: "
                rows.append({"v": value, "y": _height(names.index(row.name), place, len(table)),
                             "d": told + f"F1 {words.points(row.f1)}"})  # fmt: skip
            size = 46 if len(table) <= 6 else 26
            layers.append(
                marks.dots(rows, height, x, colour=style.palette.series(place), place=place, size=size)
            )
        head = [{"v": (low + high) / 2, "y": 6.0, "t": shortened(dataset, 18)}]
        layers.append(marks.written(head, height, x, colour=style.palette["ink"], fontWeight="bold"))
        plots.append(marks.plot(*layers))
    sides = [{"y": 18.0 + _STEP * (row + 0.5), "t": shortened(name, 10)} for row, name in enumerate(names)]
    width = len(datasets) * (_PANEL + _GAP) - _GAP
    plots.append(marks.plot(marks.texts(sides, height, at=-12, colour=style.palette["ink"], align="right")))
    return Drawing(
        f"buckets-{attribute}", f"F1 by {words.attribute(attribute)}", marks.apart(*plots), width, height,
        74, 12, 8, 24, tuple(enumerate(table)), axis=f"F1 (points) by bucket of {titled(attribute).lower()}",
    )  # fmt: skip


def _ticks(low: float, high: float) -> list[int]:
    """Round points of the axis, about three of them."""
    step = next((one for one in (1, 2, 5, 10, 20, 50) if (high - low) / one <= 4), 100)
    return [at for at in range(0, 101, step) if low <= at <= high]


def _rows(table: Table, system: str, dataset: str, attribute: str) -> Sequence[BucketSpread]:
    return table.get(system, {}).get(dataset, {}).get(attribute, ())


def _height(row: int, place: int, systems: int) -> float:
    """The row of a bucket, with every system a little lower than the one before: no mark hides another."""
    spread = min(5.0, (_STEP - 10) / max(systems - 1, 1))
    return 18.0 + _STEP * (row + 0.5) + spread * (place - (systems - 1) / 2)


def critical_difference(document: Study, style: Style) -> Drawing | None:
    """Mean ranks over datasets on a line, bars over systems that cannot be told apart (Demšar 2006)."""
    ranking = document.analyses.ranking
    if ranking is UNSET:
        return None
    ranks = ranking.ranks
    order = sorted(ranks, key=lambda name: (ranks[name], name))
    count, width = len(order), 330.0
    groups = ranking.groups
    line = 46.0
    top = line + 12 + 9 * len(groups)
    half = (count + 1) // 2
    height = top + 20 * half

    def across(rank: float) -> float:
        return width * (rank - 1) / max(count - 1, 1)

    palette = style.palette
    rules: list[dict[str, float]] = [{"x": 0, "hi": width, "y": line}]
    rules += [{"x": across(at), "hi": across(at), "y": line - 5, "y2": line} for at in range(1, count + 1)]
    texts = [{"x": across(at), "y": line - 14, "t": str(at)} for at in range(1, count + 1)]
    bars = [
        {"x": across(ranks[group[0]]) - 4, "hi": across(ranks[group[-1]]) + 4, "y": line + 9 + 9 * at}
        for at, group in enumerate(groups)
    ]
    critical = ranking.critical
    bars_head = [{"x": 0.0, "hi": min(width, across(1 + critical)), "y": 12.0}]
    said = f"critical difference {critical:.2f}"
    named: list[dict[str, Any]] = []
    paths: list[Any] = []
    for at, name in enumerate(order):
        left = at < half
        level = top + 20 * ((at if left else count - 1 - at) + 0.5)
        edge = -6.0 if left else width + 6.0
        corners = [(across(ranks[name]), line), (across(ranks[name]), level), (edge, level)]
        paths.append(_path(corners, palette["axis"], width, height))
        text = f"{shortened(name, 22)}  {ranks[name]:.2f}"
        named.append({"x": edge + (-4 if left else 4), "y": level, "t": text, "side": left})
    x = marks.pixels("x", width)
    ink = palette["ink"]
    chart = marks.plot(
        *paths,
        marks.bands(rules[:1], height, x, colour=ink, thick=1, opacity=1),
        marks.lines(rules[1:], height, x, colour=ink),
        marks.bands(bars, height, x, colour=palette["s0"], thick=4, opacity=0.8),
        marks.bands(bars_head, height, x, colour=ink, thick=2, opacity=1),
        marks.written(
            [{"x": bars_head[0]["hi"] + 6, "y": 12.0, "t": said}], height, x, colour=ink, align="left"
        ),
        marks.written(texts, height, x, colour=palette["muted"]),
        marks.written([row for row in named if row["side"]], height, x, colour=ink, align="right"),
        marks.written([row for row in named if not row["side"]], height, x, colour=ink, align="left"),
    )
    room = max(width_of(row["t"], 11) for row in named) + 18
    axis = f"mean rank over {words.plural(ranking.datasets, 'dataset')} (1 is best)"
    return Drawing("critical-difference", "Mean ranks over datasets", chart, width, height, room, room, 6, 6,
                   axis=axis)  # fmt: skip


def _path(points: Sequence[tuple[float, float]], colour: str, width: float, height: float) -> Any:
    rows = tuple({"x": round(x, 2), "y": round(y, 2), "n": n} for n, (x, y) in enumerate(points))
    scales = [
        alt.Scale(domain=[0, extent], range=[0, extent], nice=False, zero=False) for extent in (width, height)
    ]
    return (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(color=colour, strokeWidth=1, aria=False)
        .encode(
            x=alt.X("x:Q", scale=scales[0], axis=None),
            y=alt.Y("y:Q", scale=scales[1], axis=None),
            order=alt.Order("n:Q"),
        )
    )
