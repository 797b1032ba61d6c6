"""The charts of agreement, of leaks and of confidence scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from msgspec import UNSET

from spanwise.document import Interval
from spanwise.document.agreement import Agreement
from spanwise.document.confidence import Confidence, SystemConfidence
from spanwise.document.leaks import Leaks
from spanwise.reports._charts import Style, axis_range, marks, points_pair, shortened, width_of
from spanwise.reports._charts.marks import (
    Axes,
    ChartLayout,
    ChartRow,
    Dot,
    Drawing,
    Layer,
    Row,
    draw,
    plot,
    quantity,
)
from spanwise.views import leaks as leaks
from spanwise.views import wording as words

# ---- the matrix of pairs, and annotators compared with the majority of the others ---------------


STEP = 46.0


def agreement_drawings(document: Agreement, style: Style) -> list[Drawing]:
    """The charts that the document has the numbers for."""
    charts = [matrix(document, style), levels(document, style), ceiling(document, style)]
    return [chart for chart in charts if chart is not None]


def matrix(document: Agreement, style: Style) -> Drawing | None:
    """The F1 of every pair of annotators in points; darker is higher."""
    names = document.annotators
    position = {name: at for at, name in enumerate(names)}
    rows = []
    palette, size = style.palette, len(names)
    defined = [pair.overall.f1 for pair in document.pairs if pair.overall.f1 is not None]
    if not defined:
        return None
    low, high = min(defined), max(defined)
    for pair in document.pairs:
        value = pair.overall.f1
        if value is None:
            continue
        share = (value - low) / (high - low) if high > low else 0.5
        weight = 0.15 + 0.8 * share
        first, second = (position[name] for name in pair.annotators)
        for row, column in ((first, second), (second, first)):
            x, y = STEP * column, STEP * row
            rows.append(
                {
                    "x": x, "x2": x + STEP - 4, "y": y, "y2": y + STEP - 4, "cx": x + STEP / 2 - 2,
                    "cy": y + STEP / 2 - 2, "o": weight, "t": words.points(value),
                    "ink": palette["on"] if weight > 0.55 else palette["ink"],
                    "d": f"{words.visible(names[row])} and {words.visible(names[column])}: F1 "
                    f"{words.points(value)}",
                }
            )  # fmt: skip
    width = STEP * size
    across = marks.pixels("x", width)
    labels = [shortened(words.visible(name), 16) for name in names]
    heads = [{"x": STEP * at + STEP / 2 - 2, "y": -10.0, "t": label} for at, label in enumerate(labels)]
    sides = [{"y": STEP * at + STEP / 2 - 2, "t": label} for at, label in enumerate(labels)]
    turned = {"angle": 320, "align": "left"} if size > 6 or max(map(len, labels)) > 7 else {}
    columns = marks.written(heads, width, across, colour=palette["ink"], **turned)
    lines = marks.texts(sides, width, at=-8, colour=palette["ink"], align="right")
    left = max(70.0, max(width_of(label, 12) for label in labels) + 16)
    top, right = (80.0, 50.0) if turned else (26.0, 10.0)
    chart = marks.plot(*marks.cells(rows, across, width, colour=palette["s0"]), columns, lines)
    return Drawing("pairs", "Pairwise F1 of annotators", chart, width, width, left, right, top, 6)


MOST_PAIRS = 24  # in the chart of a page


def agreement_page(document: Agreement, style: Style) -> list[Drawing]:
    """The charts of the page: the F1 of each pair, and of each annotator against the others' majority."""
    rows = []
    for pair in document.pairs:
        score, names = pair.overall.f1, " – ".join(map(words.visible, pair.annotators))
        band = None if pair.interval is UNSET else pair.interval.get("f1")
        says = f"{names}: F1 {words.points(score)}" + (f" ({words.interval(band)})" if band else "")
        dot = Dot(None if score is None else 100 * score, points_pair(band), says)
        shared = f"{words.count(pair.overall.both)} mentions alike"
        rows.append((score, ChartRow(shortened(names, 22), shared, [dot], right=[words.points(score)])))
    ranked = [row for score, row in sorted(rows, key=lambda one: one[0] or 0.0) if score is not None]
    charts = [ceiling(document, style)]
    if len(ranked) > 1:
        charts.append(draw("pairs", "F1 of each pair", ranked[:MOST_PAIRS], ChartLayout(plot=200), style))
    return [chart for chart in charts if chart is not None]


def ceiling(document: Agreement, style: Style) -> Drawing | None:
    """F1 of annotators and systems against the majority of the others, with the mean of annotators."""
    ends = document.ceiling.interval
    scores = [(row.annotator, row.others_f1, ends.get(row.annotator)) for row in document.ranking]
    scores.append(("mean of annotators", document.ceiling.mean, ends.get("mean")))
    scores += [
        (f"system {name}", system.f1, system.interval.get("f1")) for name, system in document.systems.items()
    ]
    return _beside("ceiling", "F1 against the majority of the others", scores, style)


def levels(document: Agreement, style: Style) -> Drawing | None:
    """The human level, and the mean F1 of each system with each annotator."""
    if document.levels is UNSET or not document.levels.systems:
        return None
    scores = [("human level", document.levels.human.f1, document.levels.human.interval)]
    scores += [(f"system {name}", own.f1, own.interval) for name, own in document.levels.systems.items()]
    return _beside("levels", "Mean F1 with each annotator", scores, style)


def _beside(
    name: str, title: str, scores: Sequence[tuple[str, float | None, Interval | None]], style: Style
) -> Drawing | None:
    """Scores below each other, each with its interval; people and systems in different colours."""
    rows = [(who, value, band) for who, value, band in scores if value is not None]
    if not rows:
        return None
    palette, plot, step = style.palette, 300.0, 26.0
    height = step * len(rows)
    values = [100 * end for _, value, band in rows for end in (value, *(band or ())) if end is not None]
    low, high = max(0.0, min(values) - 3), min(100.0, max(values) + 3)
    x = marks.quantity("v", low, high, span=(0, plot), tickCount=5)
    layers: list[Layer] = []
    for at, (who, value, band) in enumerate(rows):
        y = step * at + step / 2
        person = not who.startswith("system ")
        colour = palette["s0" if person else "s1"]
        says = f"{words.visible(who)}: F1 {words.points(value)}"
        both = points_pair(band)
        if both:
            says += f" ({words.interval(band)})"
            bar = {"v": both[0], "hi": both[1], "y": y, "d": says}
            layers.append(marks.bands([bar], height, x, colour=colour, thick=8, opacity=0.4, cornerRadius=3))
        dot = {
            "v": 100 * value - (high - low) / 300,
            "hi": 100 * value + (high - low) / 300,
            "y": y,
            "d": says,
        }
        layers.append(marks.bands([dot], height, x, colour=colour, thick=16, opacity=1, cornerRadius=1))
    labels = [shortened(words.visible(who), 24) for who, _, _ in rows]
    names = [{"y": step * at + step / 2, "t": label} for at, label in enumerate(labels)]
    left = max(70.0, max(width_of(label, 12) for label in labels) + 16)
    layers.append(marks.texts(names, height, at=-8, colour=palette["ink"], align="right"))
    return Drawing(name, title, marks.plot(*layers), plot, height, left, 20, 4, 24)


# ---- leaks -----------------------------------------------------------------------------------------


MOST_LEAKING = 24  # labels in the chart


def leak_drawings(document: Leaks, style: Style) -> list[Drawing]:
    """Leaks by level and by label, and their price, each with a dot per system."""
    names = list(document.systems)[: style.most]
    cells = [document.systems[name].overall for name in names]
    if not cells:
        return []
    charts = [
        _leak_rows(name, title, [leaks.leak_rows(document, cell, rates) for cell in cells], names, style)
        for name, title, rates in (
            ("levels", "What leaks", leaks.LEVELS), ("price", "The price", leaks.PRICE),
        )
    ]  # fmt: skip
    labels = document.systems[names[0]].labels
    order = sorted(labels, key=lambda label: (-labels[label].mentions, label))[:MOST_LEAKING]
    by_label = [
        [leaks.mention_row(document.systems[name].labels[label], label) for label in order] for name in names
    ]
    charts.append(_leak_rows("labels", "Leak rate by label", by_label, names, style))
    return [chart for chart in charts if chart is not None]


def _leak_rows(
    name: str, title: str, by_system: Sequence[Sequence[leaks.LeakRow]], names: Sequence[str], style: Style
) -> Drawing | None:
    """Rates below each other, from zero; those of the first two systems are written beside them."""
    rows = []
    values = [0.0]
    for of_systems in zip(*by_system, strict=True):
        dots = []
        for system, row in zip(names, of_systems, strict=True):
            ends = points_pair(row.ends)
            says = (
                f"{words.visible(system)}: {row.title} {leaks.percent(row.rate)} ({row.counts}) {row.within}"
            )
            dots.append(Dot(None if row.rate is None else 100 * row.rate, ends, says.strip()))
            values += [] if row.rate is None else [100 * row.rate]
            values += ends or ()
        first = of_systems[0]
        if any(row.rate is not None for row in of_systems):
            under = f"{first.counts} {first.under}".strip()
            shown = shortened(words.visible(first.title), 24)
            rows.append(
                ChartRow(shown, under, dots, right=[leaks.percent(row.rate) for row in of_systems[:2]])
            )
    if not rows:
        return None
    left = max(150.0, *(width_of(row.under, 11) + 16 for row in rows))
    layout = ChartLayout(
        left=left,
        plot=190,
        columns=(56,) * len(names[:2]),
        step=38,
        domain=(0.0, min(100.0, axis_range(values, zero=True)[1])),
    )
    return draw(name, title, rows, layout, style)


# ---- reliability, precision against recall, risk against coverage ----------------------------------


SIZE = 260.0  # of the plots, which are square
LEFT, BOTTOM = 50.0, 48.0


def confidence_drawings(document: Confidence, style: Style) -> list[Drawing]:
    """The charts of every system, without those that have nothing to show."""
    charts: list[Drawing | None] = []
    for index, (name, system) in enumerate(document.systems.items()):
        charts += [
            reliability(name, system, style, index),
            precision_recall(name, system, style, index),
            risk_coverage(name, system, style, index),
        ]
    return [chart for chart in charts if chart is not None]


def reliability(name: str, system: SystemConfidence, style: Style, index: int = 0) -> Drawing | None:
    """The precision of each bin against its mean score; calibrated scores lie on the diagonal."""
    rows: list[Row] = [
        {
            "x": 100 * part.score,
            "y": 100 * part.precision,
            "d": f"score {words.points(part.score)}, precision {words.points(part.precision)}, "
            f"{words.plural(part.predicted, 'prediction')}",
        }
        for part in system.overall.bins
    ]
    if not rows:
        return None
    colour = style.palette.series(index)
    axes = _axes("mean score", "precision")
    diagonal = axes.line([(0, 0), (100, 100)], style.palette["axis"], strokeDash=[4, 3])
    points = axes.points(rows, colour, size=70)
    line = axes.line([(row["x"], row["y"]) for row in rows], colour, strokeWidth=1.5)
    return _drawing(f"reliability-{name}", f"Reliability of {words.visible(name)}", diagonal, line, points)


def precision_recall(name: str, system: SystemConfidence, style: Style, index: int = 0) -> Drawing | None:
    """Precision against recall over all thresholds."""
    gold, curve = system.overall.gold, system.curve
    if not gold or not curve:
        return None
    points = [
        (100 * point.correct / gold, 100 * point.correct / point.predicted) for point in _thinned(curve)
    ]
    line = _axes("recall", "precision").line(points, style.palette.series(index), strokeWidth=2)
    return _drawing(f"precision-recall-{name}", f"Precision and recall of {words.visible(name)}", line)


def risk_coverage(name: str, system: SystemConfidence, style: Style, index: int = 0) -> Drawing | None:
    """The share of errors among the most confident predictions against the share of predictions kept."""
    if not system.risk:
        return None
    points = [(100 * point.coverage, 100 * point.risk) for point in _thinned(system.risk)]
    highest = max(risk for _, risk in points)
    axes = _axes("coverage", "risk", next((top for top in (10, 20, 40, 60) if highest <= top), 100))
    line = axes.line(points, style.palette.series(index), strokeWidth=2)
    return _drawing(f"risk-coverage-{name}", f"Risk and coverage of {words.visible(name)}", line)


T = TypeVar("T")


def _thinned(rows: Sequence[T], most: int = 300) -> list[T]:
    """About `most` rows or fewer, always including the first and the last."""
    step = max(1, -(-len(rows) // most))
    return [*rows[:-1:step], *rows[-1:]]


def _axes(across: str, up: str, most: float = 100) -> Axes:
    x = quantity("x", 0, 100, span=(0, SIZE), title=across, format=".0f", titlePadding=8)
    return Axes(x, marks.upwards(0, most, SIZE, up, 4))


def _drawing(name: str, title: str, *layers: Layer) -> Drawing:
    return Drawing(name, title, plot(*layers), SIZE, SIZE, left=LEFT, right=14, top=10, bottom=BOTTOM)
