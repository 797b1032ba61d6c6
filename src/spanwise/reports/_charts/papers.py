"""Figures over several datasets in the style of the papers: panels side by side, mean ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import UNSET, Struct

from spanwise.document.study import BucketSpread, PairDiagnosis, Study
from spanwise.reports._charts import (
    SERIES,
    Style,
    axis_range,
    fitted,
    marks,
    share,
    shortened,
    titled,
    width_of,
)
from spanwise.reports._charts.marks import Drawing, Layer, Row
from spanwise.reports._charts.study import alias
from spanwise.views import wording as words

STEP, TALL = 38.0, 110.0
HEAD, FOOT, BETWEEN = 40.0, 44.0, 30.0  # room above, below and beside a panel
NAMED = 8.5  # the size of the names of buckets
WIDEST = 900.0
GOOD, BAD = "s2", "wrong"  # best buckets are green, worst buckets red, as in the papers


class Bar(Struct, frozen=True):
    """One bar of a histogram, starting at zero, with its bucket."""

    value: float
    bucket: str
    good: bool
    tooltip: str
    foot: str = ""  # a second bucket, at the zero end of the bar
    number: str = ""  # below that bucket


class Panel(Struct, frozen=True):
    """The histogram of one dataset: one or two bars per attribute, and n/a for one without."""

    title: str
    note: str
    groups: Sequence[tuple[str, Sequence[Bar]]]

    @property
    def step(self) -> float:
        """The room for one attribute: at least that of the longest name of its buckets."""
        names = [name for _, bars in self.groups for bar in bars for name in (bar.bucket, bar.foot)]
        return max(STEP, *(width_of(name, NAMED) + 8 for name in names), 0.0)

    @property
    def width(self) -> float:
        return self.step * max(len(self.groups), 1)


def panels(name: str, title: str, histograms: Sequence[Panel], style: Style, *, digits: int = 0) -> Drawing:
    """Histograms side by side on one scale, wrapped into several rows if needed."""
    values = [bar.value for panel in histograms for _, bars in panel.groups for bar in bars]
    high, low = max(0.0, *values), min(0.0, *values)
    room = max(high - low, 10.0**-digits)
    rows = _in_rows(histograms)
    palette = style.palette
    bars: dict[str, list[dict[str, object]]] = {GOOD: [], BAD: []}
    named: dict[str, list[dict[str, object]]] = {GOOD: [], BAD: []}
    plain, faint, heads, axis = [], [], [], []
    width = max(sum(panel.width + BETWEEN for panel in row) for row in rows)
    for line, row in enumerate(rows):
        left, top = 0.0, line * (HEAD + TALL + FOOT) + HEAD
        zero = top + TALL * high / room
        for panel in row:
            middle = left + panel.width / 2
            heads.append({"x": middle, "y": top - 31, "t": panel.title})
            faint.append({"x": middle, "y": top - 19, "t": panel.note})
            for tick in dict.fromkeys(v for v in (high, 0.0, low) if not v or abs(v) > 0.12 * room):
                text = f"{tick:.{digits}f}".replace("-", words.MINUS)
                axis.append({"x": left - 5, "y": zero - TALL * tick / room, "t": text})
            for at, (attribute, group) in enumerate(panel.groups):
                x = left + panel.step * (at + 0.5)
                plain.append({"x": x, "y": top + TALL + 34, "t": shortened(attribute, 7)})
                if not group:
                    faint.append({"x": x, "y": zero - 6, "t": "n/a"})
                for index, bar in enumerate(group):
                    aside = 0.0 if len(group) == 1 else (-8.0, 8.0)[index]
                    y = zero - TALL * bar.value / room
                    kind = GOOD if bar.good else BAD
                    bars[kind].append({"x": x + aside, "y": y, "y2": zero, "d": bar.tooltip})
                    above = bar.value >= 0
                    named[kind].append({"x": x + aside, "y": y + (-6 if above else 7), "t": bar.bucket})
                    if bar.foot:
                        named[BAD].append({"x": x, "y": zero + 8, "t": bar.foot})
                        faint.append({"x": x, "y": zero + 19, "t": bar.number})
            left += panel.width + BETWEEN
    height = len(rows) * (HEAD + TALL + FOOT)
    across = marks.pixels("x", width)
    layers: list[Layer] = []
    for kind in (GOOD, BAD):
        thick = 11 if any(len(group) > 1 for panel in histograms for _, group in panel.groups) else 20
        layers.append(
            marks.lines(bars[kind], height, across, colour=palette[kind], strokeWidth=thick, opacity=0.55)
        )
        layers.append(
            marks.written(
                named[kind], height, across, colour=palette[kind], fontSize=NAMED, fontWeight="bold"
            )
        )
    layers += [
        marks.written(plain, height, across, colour=palette["ink"], fontSize=9.5),
        marks.written(heads, height, across, colour=palette["ink"], fontSize=11, fontWeight="bold"),
        marks.written(faint, height, across, colour=palette["muted"], fontSize=8.5),
        marks.written(axis, height, across, colour=palette["muted"], fontSize=8.5, align="right"),
        marks.texts([{"y": -8.0, "t": title}], height, at=0, colour=palette["ink"], fontSize=12),
    ]
    return Drawing(name, title, marks.plot(*layers), width, height, 34, 10, 22, 4)


def _in_rows(histograms: Sequence[Panel]) -> list[list[Panel]]:
    rows: list[list[Panel]] = [[]]
    for panel in histograms:
        if rows[-1] and sum(placed.width + BETWEEN for placed in rows[-1]) + panel.width > WIDEST:
            rows.append([])
        rows[-1].append(panel)
    return rows


# ---- kinds of errors ------------------------------------------------------------------------

KINDS = ("LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP")
_COLOURS = {"LE": "s0", "BEs": "s2", "BEl": "s2", "BEo": "s2", "LBE": "s3", "FN": "none", "FP": "s1"}
_BOUNDARY = ("BEs", "BEl", "BEo")
_SHADES = {"BEs": 0.95, "BEl": 0.7, "BEo": 0.45}


def side_by_side(
    texts: Sequence[tuple[float, str]], plot: float, gap: float = 4.0
) -> list[tuple[float, str]]:
    """Texts with their middles moved so that they neither overlap nor leave the plot."""
    halves = [width_of(text, 8) / 2 for _, text in texts]
    middles, edge = [], 0.0
    for (middle, _), half in zip(texts, halves, strict=True):
        middles.append(max(middle, edge + half))
        edge = middles[-1] + half + gap
    edge = plot
    for index in reversed(range(len(middles))):
        middles[index] = min(middles[index], edge - halves[index])
        edge = middles[index] - halves[index] - gap
    return [(middle, text) for middle, (_, text) in zip(middles, texts, strict=True)]


def shares(
    name: str, rows: Sequence[tuple[str, Mapping[str, float], Mapping[str, float]]], style: Style
) -> Drawing:
    """Errors counted traditionally and fairly, as a pair of bars per dataset or system, in percent.

    References:
        Ortmann (2022), Figure 1.
    """
    plot, step = 420.0, 72.0
    height = step * len(rows)
    palette = style.palette
    x = marks.quantity("v", 0, 100, span=(0, plot), tickCount=5, grid=False)
    layers: list[Layer] = []
    names, ways = [], []
    numbers: list[dict[str, object]] = []
    inside: list[dict[str, object]] = []
    for at, (title, traditional, fair) in enumerate(rows):
        names.append({"y": step * at + 24, "t": shortened(title, 18)})
        for index, (way, counts) in enumerate((("traditional", traditional), ("fair", fair))):
            y = step * at + 14 + 24 * index
            ways.append({"y": y, "t": way})
            whole = sum(counts.values()) or 1
            start = 0.0
            narrow: list[tuple[float, str]] = []
            for kind in KINDS:
                part = 100 * counts.get(kind, 0) / whole
                if not part:
                    continue
                says = f"{title}, {way}: {words.OUTCOMES[kind]} {part:.1f}% ({words.count(counts[kind])})"
                bar = {"v": start, "hi": start + part, "y": y, "d": says}
                layers.append(
                    marks.bands(
                        [bar], height, x, colour=palette[_COLOURS[kind]], thick=15,
                        opacity=_SHADES.get(kind, 0.9), cornerRadius=0,
                    )
                )  # fmt: skip
                text = f"{kind} {part:.1f}"
                if width_of(text, 9) < plot * part / 100 - 4:
                    inside.append({"v": start + part / 2, "y": y, "t": text})
                else:  # numbers of narrow parts go above the bar, without overlapping
                    narrow.append((plot * (start + part / 2) / 100, text))
                start += part
            numbers += [
                {"v": 100 * middle / plot, "y": y - 12, "t": text}
                for middle, text in side_by_side(narrow, plot)
            ]
            boundary = sum(counts.get(kind, 0) for kind in _BOUNDARY)
            if boundary:
                begin = 100 * counts.get("LE", 0) / whole
                part = 100 * boundary / whole
                says = f"{title}, {way}: boundary errors {part:.1f}% ({words.count(boundary)})"
                bar = {"v": begin, "hi": begin + part, "y": y + 10, "d": says}
                layers.append(marks.bands([bar], height, x, colour=palette["s2"], thick=1.5, cornerRadius=0))
                below = [(plot * (begin + part / 2) / 100, f"BE {part:.1f}")]
                numbers += [
                    {"v": 100 * middle / plot, "y": y + 17, "t": text}
                    for middle, text in side_by_side(below, plot)
                ]
    layers += [
        marks.written(inside, height, x, colour=palette["on"], fontSize=9),
        marks.written(numbers, height, x, colour=palette["ink"], fontSize=8),
        marks.texts(names, height, at=-172, colour=palette["ink"], fontWeight="bold", fontSize=11),
        marks.texts(ways, height, at=-64, colour=palette["muted"], fontSize=10.5),
    ]
    title = "Share of each kind of error, in percent"
    return Drawing(name, title, marks.plot(*layers), plot, height, 176, 20, 4, 24)


# ---- systems over buckets -------------------------------------------------------------------


Rows = Mapping[str, Sequence[tuple[str, float | None]]]  # by system: bucket and score in points


def models(name: str, title: str, tables: Mapping[str, Rows], style: Style) -> Drawing:
    """The score of every system over the buckets: one panel per attribute, one line per system."""
    wide, tall, line = 132.0, 96.0, 150.0
    order = list(dict.fromkeys(system for rows in tables.values() for system in rows))
    values = [v for rows in tables.values() for row in rows.values() for _, v in row if v is not None]
    low, high = (min(values), max(values)) if values else (0.0, 100.0)
    room = max(high - low, 1.0)
    palette = style.palette
    columns = 4
    width = columns * (wide + 34)
    height = line * -(-len(tables) // columns)
    lines: dict[int, list[list[Row]]] = {}
    dots: dict[int, list[Row]] = {}
    heads, feet, axis = [], [], []
    for number, (attribute, rows) in enumerate(tables.items()):
        left, top = (number % columns) * (wide + 34), (number // columns) * line + 24
        heads.append({"x": left + wide / 2, "y": top - 12, "t": attribute})
        axis += [{"x": left - 4, "y": top + tall * (high - v) / room, "t": f"{v:.0f}"} for v in (low, high)]
        names = next((row for row in rows.values()), ())
        # Names that are too long to stand side by side alternate between two lines.
        room_of_one = wide / max(len(names), 1)
        lines_of_names = 1 if all(width_of(bucket, NAMED) < room_of_one for bucket, _ in names) else 2
        for at, (bucket, _) in enumerate(names):
            foot = top + tall + 10 + 10 * (at % lines_of_names)
            text = fitted(words.visible(bucket), NAMED, room_of_one * lines_of_names - 3)
            feet.append({"x": left + room_of_one * (at + 0.5), "y": foot, "t": text})
        for system, row in rows.items():
            index = order.index(system)
            points: list[Row] = [
                {
                    "x": left + wide * (at + 0.5) / len(row), "y": top + tall * (high - value) / room,
                    "d": f"{words.visible(system)}, {attribute} {words.visible(bucket)}: {value:.1f}",
                }
                for at, (bucket, value) in enumerate(row)
                if value is not None
            ]  # fmt: skip
            lines.setdefault(index, []).append(points)
            dots.setdefault(index, []).extend(points)
    across = marks.pixels("x", width)
    layers: list[Layer] = []
    for index in range(len(order)):
        for points in lines.get(index, ()):
            corners = [(point["x"], point["y"]) for point in points]
            dash = _DASHES[index // SERIES % len(_DASHES)]
            layers.append(
                marks.path(
                    corners, width, height, colour=palette.series(index), strokeWidth=1.3, strokeDash=dash
                )
            )
        layers.append(
            marks.dots(
                dots.get(index, []), height, across, colour=palette.series(index), index=index, size=22
            )
        )
    layers += [
        marks.written(heads, height, across, colour=palette["ink"], fontSize=10.5, fontWeight="bold"),
        marks.written(feet, height, across, colour=palette["muted"], fontSize=NAMED),
        marks.written(axis, height, across, colour=palette["muted"], fontSize=8.5, align="right"),
    ]
    legend = tuple(enumerate(order))
    return Drawing(name, title, marks.plot(*layers), width, height, 30, 4, 4, 4, legend=legend)


def pays(
    pair: PairDiagnosis, zetas: Mapping[str, Mapping[str, float | None]], style: Style, *, score: str
) -> Drawing | None:
    """The gain of the first system over the second against ζ: one panel per attribute, one dot per dataset.

    All panels share one scale of gains, which includes 0.
    """
    gains = {name: value for name, gain in pair.gains.items() if (value := share(gain)) is not None}
    panels = {
        attribute: {name: zeta for name in gains if (zeta := row.get(name)) is not None}
        for attribute, row in zetas.items()
    }
    panels = {attribute: row for attribute, row in panels.items() if len(row) > 1}
    if not panels:
        return None
    wide, tall, line, columns = 132.0, 92.0, 158.0, min(4, len(panels))
    low, high = axis_range([0.0, *gains.values()], pad=0.12)
    palette, room = style.palette, high - low
    width, height = columns * (wide + 34) - 34, line * -(-len(panels) // columns)
    names = list(gains)
    dots: dict[str, list[dict[str, object]]] = {name: [] for name in names}
    heads, feet, axis, zeros = [], [], [], []
    for number, (attribute, row) in enumerate(panels.items()):
        left, top = (number % columns) * (wide + 34), (number // columns) * line + 24
        trend = pair.pays.get(attribute)
        rank = "" if trend is None or trend.statistic is None else f"  r {words.correlation(trend.statistic)}"
        heads.append({"x": left + wide / 2, "y": top - 12, "t": f"{alias(attribute)}{rank}"})
        axis += [
            {"x": left - 4, "y": top + tall * (high - v) / room, "t": words.signed(v / 100) if v else "0"}
            for v in sorted({0.0, *(v for v in (min(gains.values()), max(gains.values())))})
            if not v or abs(v) / room > 0.14
        ]
        zeros.append({"x": left, "hi": left + wide, "y": top + tall * high / room})
        least, most = min(row.values()), max(row.values())
        span = (most - least) or abs(most) or 1.0
        for name, zeta in row.items():
            x = left + wide * (0.12 + 0.76 * (zeta - least) / span)
            y = top + tall * (high - gains[name]) / room
            text = f"{words.visible(name)}: ζ of {words.attribute(attribute)} {words.plain(zeta)}, gain "
            dots[name].append({"x": x, "y": y, "d": f"{text}{words.signed(gains[name] / 100)} {score}"})
        for share_of, value in ((0.12, least), (0.88, most)):
            feet.append({"x": left + wide * share_of, "y": top + tall + 12, "t": words.plain(value)})
    across = marks.pixels("x", width)
    rules = marks.bands(zeros, height, across, colour=palette["axis"], thick=1, opacity=1, strokeDash=[2, 2])
    layers: list[Layer] = [rules]
    for index, name in enumerate(names):
        colour = palette.series(index)
        layers.append(marks.dots(dots[name], height, across, colour=colour, index=index, size=46))
    layers += [
        marks.written(heads, height, across, colour=palette["ink"], fontSize=10.5, fontWeight="bold"),
        marks.written(feet, height, across, colour=palette["muted"], fontSize=NAMED),
        marks.written(axis, height, across, colour=palette["muted"], fontSize=8.5, align="right"),
    ]
    first, second = (words.visible(name) for name in pair.systems)
    title = f"Gain of {first} over {second} against ζ"
    head = [{"y": -10.0, "t": f"{first} over {second}"}]
    layers.append(marks.texts(head, height, at=0, colour=palette["ink"]))
    legend = tuple(enumerate(names))
    return Drawing(f"pays-{first}-{second}", title, marks.plot(*layers), width, height, 36, 8, 22, 4, legend)


_DASHES = ([1, 0], [5, 2], [2, 2], [7, 2, 2, 2])


# ---- buckets in panels, and mean ranks on one line -------------------------------------------------


BucketTable: TypeAlias = Mapping[str, Mapping[str, Mapping[str, Sequence[BucketSpread]]]]
_PANEL, _GAP, _STEP = 130.0, 26.0, 34.0


def buckets(document: Study, attribute: str, style: Style) -> Drawing | None:
    """The mean score over runs of every system in every bucket: one panel per dataset, all on one scale."""
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
    low, high = axis_range(values)
    height, score = 18.0 + _STEP * len(names), words.study_score(document.analyses)
    plots = []
    for at, dataset in enumerate(datasets):
        begin = at * (_PANEL + _GAP)
        x = marks.quantity("v", low, high, span=(begin, begin + _PANEL), values=_ticks(low, high), grid=False)
        grid = [{"v": tick, "y": 16.0, "y2": height} for tick in _ticks(low, high)]
        layers: list[Layer] = [marks.lines(grid, height, x, colour=style.palette["grid"])]
        for index, system in enumerate(table):
            rows = []
            for row in _rows(table, system, dataset, attribute):
                value = share(row.f1)
                if value is None:
                    continue
                text = f"{words.visible(system)} on {words.visible(dataset)}, {words.visible(row.name)}: "
                rows.append({"v": value, "y": _height(names.index(row.name), index, len(table)),
                             "d": text + f"{score} {words.points(row.f1)}"})  # fmt: skip
            size = 46 if len(table) <= 6 else 26
            layers.append(
                marks.dots(rows, height, x, colour=style.palette.series(index), index=index, size=size)
            )
        head = [{"v": (low + high) / 2, "y": 6.0, "t": shortened(dataset, 18)}]
        layers.append(marks.written(head, height, x, colour=style.palette["ink"], fontWeight="bold"))
        plots.append(marks.plot(*layers))
    sides = [{"y": 18.0 + _STEP * (row + 0.5), "t": shortened(name, 10)} for row, name in enumerate(names)]
    width = len(datasets) * (_PANEL + _GAP) - _GAP
    plots.append(marks.plot(marks.texts(sides, height, at=-12, colour=style.palette["ink"], align="right")))
    title = f"{words.capital(score)} by {words.attribute(attribute)}"
    return Drawing(
        f"buckets-{attribute}", title, marks.apart(*plots), width, height, 74, 12, 8, 24,
        tuple(enumerate(table)), axis=f"{score} (points) by bucket of {titled(attribute).lower()}",
    )  # fmt: skip


def _ticks(low: float, high: float) -> list[int]:
    """About three round values on the axis."""
    step = next((width for width in (1, 2, 5, 10, 20, 50) if (high - low) / width <= 4), 100)
    return [tick for tick in range(0, 101, step) if low <= tick <= high]


def _rows(table: BucketTable, system: str, dataset: str, attribute: str) -> Sequence[BucketSpread]:
    return table.get(system, {}).get(dataset, {}).get(attribute, ())


def _height(row: int, index: int, systems: int) -> float:
    """The y position in the row of a bucket; each system is a little lower, so that no mark hides another."""
    spread = min(5.0, (_STEP - 10) / max(systems - 1, 1))
    return 18.0 + _STEP * (row + 0.5) + spread * (index - (systems - 1) / 2)


def critical_difference(document: Study, style: Style) -> Drawing | None:
    """Mean ranks over datasets on a line, with bars over systems that cannot be told apart (Demšar 2006)."""
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
    caption = f"critical difference {critical:.2f}"
    named: list[Row] = []
    paths: list[Layer] = []
    for at, name in enumerate(order):
        left = at < half
        level = top + 20 * ((at if left else count - 1 - at) + 0.5)
        edge = -6.0 if left else width + 6.0
        corners = [(across(ranks[name]), line), (across(ranks[name]), level), (edge, level)]
        corners = [(round(x, 2), round(y, 2)) for x, y in corners]
        paths.append(marks.path(corners, width, height, colour=palette["axis"], strokeWidth=1))
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
            [{"x": bars_head[0]["hi"] + 6, "y": 12.0, "t": caption}], height, x, colour=ink, align="left"
        ),
        marks.written(texts, height, x, colour=palette["muted"]),
        marks.written([row for row in named if row["side"]], height, x, colour=ink, align="right"),
        marks.written([row for row in named if not row["side"]], height, x, colour=ink, align="left"),
    )
    room = max(width_of(row["t"], 11) for row in named) + 18
    axis = f"mean rank over {words.plural(ranking.datasets, 'dataset')} (1 is best)"
    return Drawing("critical-difference", "Mean ranks over datasets", chart, width, height, room, room, 6, 6,
                   axis=axis)  # fmt: skip
