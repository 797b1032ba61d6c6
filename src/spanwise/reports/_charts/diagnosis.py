"""The chart of Fu20's diagnosis: worst and best bucket, and where two systems differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spanwise.reports import _wording as words
from spanwise.reports._charts import marks
from spanwise.reports._charts.evaluation import places, shown
from spanwise.reports._charts.marks import Drawing
from spanwise.reports._charts.style import Style, reach, share, titled
from spanwise.reports._document import Document


def diagnosis(document: Document, focus: str, style: Style) -> Drawing | None:
    """Worst and best bucket of each attribute; to the right the biggest win and loss against the next."""
    names = shown(document, focus)
    system = document["systems"][focus]
    rows = [
        (name, table)
        for name, table in (system.get("attributes") or {}).items()
        if table.get("best") is not None and table.get("worst") is not None
    ]
    if not rows:
        return None
    rows.sort(key=lambda row: -(row[1].get("gap") or 0))
    rivals = names[1:2]
    palette, step, top = style.palette, 36.0, 22.0
    plot, height = (246.0 if rivals else 230.0), top + step * len(rows)
    left_end = 132.0 if rivals else 230.0
    found = [(name, _bucket(table, "worst"), _bucket(table, "best")) for name, table in rows]
    scores = [share(cell["f1"]) for _, worst, best in found for cell in (worst, best)]
    overall = share(system["exact"]["overall"]["f1"])
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


def _bucket(table: Mapping[str, Any], which: str) -> Mapping[str, Any]:
    return next(bucket for bucket in table["buckets"] if bucket["name"] == table[which])


def _dumbbells(
    document: Document, focus: str, found: Sequence[tuple[str, Any, Any]], middle: Sequence[float],
    height: float, x: Any, colour: str, style: Style,
) -> list[Any]:  # fmt: skip
    bars, worst_dots, best_dots, worst_names, best_names = [], [], [], [], []
    for y, (name, worst, best) in zip(middle, found, strict=True):
        low, high = share(worst["f1"]) or 0.0, share(best["f1"]) or 0.0
        bars.append({"v": low, "hi": high, "y": y})
        worst_dots.append({"v": low, "y": y, **_told(document, focus, name, worst, "worst", style)})
        best_dots.append({"v": high, "y": y, **_told(document, focus, name, best, "best", style)})
        worst_names.append({"v": low, "y": y + 0.5, "t": _initials(worst["name"])})
        best_names.append({"v": high, "y": y + 0.5, "t": _initials(best["name"])})
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


def _told(
    document: Document, focus: str, attribute: str, cell: Mapping[str, Any], which: str, style: Style
) -> dict[str, Any]:
    unit = document["systems"][focus]["attributes"][attribute]["unit"]
    text = (
        f"{words.attribute(attribute)}: {which} in {words.visible(cell['name'])} ({words.bucket(cell)}), "
        f"F1 {words.points(cell['f1'])}, {words.plural(cell['gold'], unit)}"
    )
    href = None
    if unit == "mention" and cell["gold"]:
        href = style.link(cell["gold"], unit="gold", attribute=attribute, bucket=cell["name"])
    return {"d": text, "href": href}


def _against(
    document: Document, focus: str, rival: str, names: Sequence[str], middle: Sequence[float],
    height: float, plot: float, style: Style,
) -> Any:  # fmt: skip
    """Two bars an attribute: where the system in focus leads the other one most, and where least."""
    palette = style.palette
    rows = []
    for y, name in zip(middle, names, strict=True):
        pairs = _differences(document, focus, rival, name)
        if not pairs:
            continue
        best, worst = max(pairs, key=lambda row: row[0]), min(pairs, key=lambda row: row[0])
        rows.append((best, y - 6, name))
        if worst[1]["name"] != best[1]["name"]:
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
                f"{words.attribute(name)} {words.visible(cell['name'])}: {words.visible(focus)} "
                f"{words.signed(value / 100)} F1 to {words.visible(rival)}"
            )
            unit = document["systems"][focus]["attributes"][name]["unit"]
            says += f", {words.plural(cell['gold'], unit)}"
            href = None
            if unit == "mention" and cell["gold"]:
                href = style.link(cell["gold"], unit="gold", attribute=name, bucket=cell["name"])
            bars.append({"v": start, "hi": end, "y": y, "d": says, "href": href})
            texts.append({"v": value, "y": y, "t": _initials(cell["name"])})
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
    document: Document, one: str, other: str, attribute: str
) -> list[tuple[float, Mapping[str, Any]]]:
    tables = [(document["systems"][name].get("attributes") or {}).get(attribute) for name in (one, other)]
    if tables[0] is None or tables[1] is None:
        return []
    theirs = {bucket["name"]: bucket for bucket in tables[1]["buckets"]}
    found = []
    for bucket in tables[0]["buckets"]:
        mine, yours = share(bucket["f1"]), share((theirs.get(bucket["name"]) or {}).get("f1"))
        if mine is not None and yours is not None and bucket["name"] != "unplaced":
            found.append((mine - yours, bucket))
    return found
