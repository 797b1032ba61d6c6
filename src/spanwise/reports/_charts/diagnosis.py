"""The chart of Fu20's diagnosis: worst and best bucket, and where two systems differ most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import BucketScores
from spanwise.reports import _wording as words
from spanwise.reports._charts import marks
from spanwise.reports._charts.evaluation import places, shown
from spanwise.reports._charts.marks import Channel, Drawing, Layer, Plot, Row
from spanwise.reports._charts.style import Style, reach, share, titled

Ends: TypeAlias = tuple[str, BucketScores, BucketScores]  # an attribute with its worst and its best bucket


def diagnosis(document: Evaluation, focus: str, style: Style) -> Drawing | None:
    """Worst and best bucket of each attribute; to the right the biggest win and loss against the next."""
    names = shown(document, focus, most=style.most)
    system = document.systems[focus]
    tables = sorted(system.attributes.items(), key=lambda row: -(row[1].gap or 0))
    found: list[Ends] = []
    for name, table in tables:
        worst, best = table.bucket(table.worst), table.bucket(table.best)
        if worst is not None and best is not None:
            found.append((name, worst, best))
    if not found:
        return None
    rivals = names[1:2]
    palette, step, top = style.palette, 36.0, 22.0
    plot, height = (246.0 if rivals else 230.0), top + step * len(found)
    left_end = 132.0 if rivals else 230.0
    scores = [share(cell.f1) for _, worst, best in found for cell in (worst, best)]
    overall = share(system.exact.overall.f1)
    values = [value for value in (*scores, overall) if value is not None]
    low, high = reach(values, pad=0.1)
    x = marks.quantity("v", low, high, span=(0, left_end), tickCount=3)
    colour = palette.series(places(document, [focus])[0])
    middle = [top + step * (at + 0.5) for at in range(len(found))]
    layers = _dumbbells(document, focus, found, middle, height, x, colour, style)
    if overall is not None:
        line = [{"v": overall, "y": top - 4, "y2": height}]
        layers.insert(0, marks.lines(line, height, x, colour=palette["axis"], strokeDash=[2, 2]))
    heads = [{"y": 8.0, "t": "worst and best bucket"}]
    layers.append(marks.texts(heads, height, at=0, colour=palette["muted"], fontSize=10.5))
    titles = [{"y": y, "t": titled(name)} for y, (name, _, _) in zip(middle, found, strict=True)]
    layers.append(marks.texts(titles, height, at=-152, colour=palette["ink"], limit=148))
    chart = marks.plot(*layers)
    if rivals:
        other = _against(
            document, focus, rivals[0], [name for name, _, _ in found], middle, height, plot, style
        )
        chart = marks.apart(chart, other)
    return Drawing("diagnosis", "Diagnosis by attribute", chart, plot, height, 152, 14, 4, 24)


def _dumbbells(
    document: Evaluation, focus: str, found: Sequence[Ends], middle: Sequence[float],
    height: float, x: Channel, colour: str, style: Style,
) -> list[Layer]:  # fmt: skip
    bars, worst_dots, best_dots, worst_names, best_names = [], [], [], [], []
    scores = [share(bucket.f1) or 0.0 for _, *both in found for bucket in both]
    near = 0.2 * (max(scores) - min(scores)) if scores else 0.0
    for y, (name, worst, best) in zip(middle, found, strict=True):
        low, high = share(worst.f1) or 0.0, share(best.f1) or 0.0
        apart = 6.5 if high - low < near else 0.0  # one under the other where they would overlap
        bars.append({"v": low, "hi": high, "y": y})
        worst_dots.append({"v": low, "y": y + apart, **_mark(document, focus, name, worst, "worst", style)})
        best_dots.append({"v": high, "y": y - apart, **_mark(document, focus, name, best, "best", style)})
        worst_names.append({"v": low, "y": y + apart + 0.5, "t": _initials(worst.name)})
        best_names.append({"v": high, "y": y - apart + 0.5, "t": _initials(best.name)})
    palette = style.palette
    small = {"fontSize": 7.5, "fontWeight": "bold"}
    return [
        marks.bands(bars, height, x, colour=colour, thick=3),
        marks.dots(
            worst_dots,
            height,
            x,
            colour=colour,
            size=250,
            filled=False,
            fill=palette["panel"],
            strokeWidth=1.5,
        ),
        marks.dots(best_dots, height, x, colour=colour, size=280),
        marks.written(worst_names, height, x, colour=colour, **small),
        marks.written(best_names, height, x, colour=palette["on"], **small),
    ]


def _initials(name: str) -> str:
    shown_name = words.visible(name)
    return shown_name if len(shown_name) <= 3 else shown_name[:2] + "."


def _mark(
    document: Evaluation, focus: str, attribute: str, cell: BucketScores, which: str, style: Style
) -> Row:
    """What a dot says, and where it leads."""
    unit = document.systems[focus].attributes[attribute].unit
    text = (
        f"{words.attribute(attribute)}: {which} in {words.visible(cell.name)} ({words.bucket(cell)}), "
        f"F1 {words.points(cell.f1)}, {words.plural(cell.gold, unit)}"
    )
    href = None
    if unit == "mention" and cell.gold:
        href = style.link(cell.gold, unit="gold", attribute=attribute, bucket=cell.name)
    return {"d": text, "href": href}


def _against(
    document: Evaluation, focus: str, rival: str, names: Sequence[str], middle: Sequence[float],
    height: float, plot: float, style: Style,
) -> Plot:  # fmt: skip
    """Two bars per attribute: where the system in focus leads the other one most, and where least."""
    palette = style.palette
    rows = []
    for y, name in zip(middle, names, strict=True):
        pairs = _differences(document, focus, rival, name)
        if not pairs:
            continue
        best, worst = max(pairs, key=lambda row: row[0]), min(pairs, key=lambda row: row[0])
        rows.append((best, y - 6, name))
        if worst[1].name != best[1].name:
            rows.append((worst, y + 6, name))
    low, high = reach([0.0, *(pair[0] for pair, _, _ in rows)], pad=0.22)
    x = marks.quantity("v", low, high, span=(plot - 92, plot), tickCount=2, format="+.2~f", grid=False)
    layers = [
        marks.lines([{"v": 0, "y": 18.0, "y2": height}], height, x, colour=palette["axis"]),
        marks.texts(
            [{"y": 8.0, "t": f"minus {words.visible(rival)}"}], height, at=plot + 10, align="right",
            colour=palette["muted"], fontSize=10.5, limit=112,
        ),
    ]  # fmt: skip
    for ahead in (True, False):
        chosen = [row for row in rows if (row[0][0] >= 0) is ahead]
        place = places(document, [focus if ahead else rival])[0]
        bars, texts = [], []
        for (value, cell), y, name in chosen:
            start, end = (0, value) if ahead else (value, 0)
            says = (
                f"{words.attribute(name)} {words.visible(cell.name)}: {words.visible(focus)} "
                f"{words.signed(value / 100)} F1 to {words.visible(rival)}"
            )
            unit = document.systems[focus].attributes[name].unit
            says += f", {words.plural(cell.gold, unit)}"
            href = None
            if unit == "mention" and cell.gold:
                href = style.link(cell.gold, unit="gold", attribute=name, bucket=cell.name)
            bars.append({"v": start, "hi": end, "y": y, "d": says, "href": href})
            texts.append({"v": value, "y": y, "t": _initials(cell.name)})
        if bars:
            layers.append(
                marks.bands(
                    bars, height, x, colour=palette.series(place), thick=7, opacity=0.8, cornerRadius=1
                )
            )
            side = {"align": "left", "dx": 3} if ahead else {"align": "right", "dx": -3}
            layers.append(marks.written(texts, height, x, colour=palette["muted"], fontSize=8, **side))
    return marks.plot(*layers)


def _differences(
    document: Evaluation, one: str, other: str, attribute: str
) -> list[tuple[float, BucketScores]]:
    """By how many points one system leads another in each bucket of an attribute."""
    mine, theirs = (document.systems[name].attributes.get(attribute) for name in (one, other))
    if mine is None or theirs is None:
        return []
    leads = []
    for bucket in mine.buckets:
        rival = theirs.bucket(bucket.name)
        scores = share(bucket.f1), share(None if rival is None else rival.f1)
        if scores[0] is not None and scores[1] is not None and bucket.name != "unplaced":
            leads.append((scores[0] - scores[1], bucket))
    return leads
