"""The charts of errors: what fixing them would gain, which labels are confused, their shares."""

from __future__ import annotations

import altair as alt

from spanwise.document.evaluation import Evaluation
from spanwise.reports import _wording as words
from spanwise.reports._charts import marks
from spanwise.reports._charts.evaluation import places, shown
from spanwise.reports._charts.marks import Drawing, Layer, Options, Row
from spanwise.reports._charts.style import Style, reach, share, shortened, width_of


def gains(document: Evaluation, focus: str, style: Style) -> Drawing:
    """What fixing each kind of error would add to F1, and of which kinds or labels its errors are."""
    system = document.systems[focus]
    others = shown(document, focus, most=style.most)[1:]
    kinds = sorted(words.ERRORS, key=lambda kind: -(share(system.gains.of(kind).gain) or 0.0))
    palette, plot, step = style.palette, 210.0, 46.0
    height = step * len(kinds)
    values = {
        name: {kind: share(document.systems[name].gains.of(kind).gain) for kind in kinds}
        for name in (focus, *others)
    }
    _, high = reach([v for row in values.values() for v in row.values() if v is not None], zero=True)
    x = marks.quantity("v", 0, max(high, 0.1), span=(0, plot), axis=False)
    own = palette.series(places(document, [focus])[0])
    titles, counts, bars, numbers, details = [], [], [], [], []
    for at, kind in enumerate(kinds):
        y, number = step * at, system.fair.overall.count(kind)
        gain = system.gains.of(kind).gain
        href = style.link(number, unit="error", system=focus, outcome=kind)
        title = words.OUTCOMES[kind].capitalize()
        text = f"{title}: {words.signed(gain)} F1, {words.plural(number, 'error')}"
        titles.append({"y": y + 12, "t": title})
        counts.append({"y": y + 27, "t": words.plural(number, "error"), "href": href, "d": text})
        bars.append({"v": 0, "hi": values[focus][kind] or 0, "y": y + 13, "href": href, "d": text})
        numbers.append({"y": y + 13, "t": words.signed(gain)})
        details += _details(document, focus, kind, y + 29, style)
    link = palette["s0" if style.linked else "muted"]
    layers: list[Layer] = [
        marks.bands(bars, height, x, colour=own, thick=13, cornerRadius=3, opacity=0.85),
        marks.texts(titles, height, at=-126, colour=palette["ink"], fontWeight="bold", limit=120),
        marks.texts(counts, height, at=-126, colour=link, fontSize=10.5),
        marks.texts(numbers, height, at=plot + 52, colour=palette["ink"], align="right", fontWeight="bold"),
    ]
    for name, place in zip(others, places(document, others), strict=True):
        ticks = [
            {
                "v": values[name][kind], "y": step * at + 4, "y2": step * at + 22,
                "d": f"{words.visible(name)}: {words.OUTCOMES[kind]}, "
                + f"{words.signed(document.systems[name].gains.of(kind).gain)} F1",
            }
            for at, kind in enumerate(kinds)
            if values[name][kind] is not None
        ]  # fmt: skip
        layers.append(marks.lines(ticks, height, x, colour=palette.series(place), strokeWidth=2.5))
    chart = marks.plot(*layers)
    if details:
        x = marks.pixels("x", plot)
        written = marks.written(details, height, x, colour=palette["muted"], align="left", fontSize=10.5)
        chart = marks.apart(chart, marks.plot(written))
    return Drawing(
        "gains", "F1 gained if all errors of a kind were fixed", chart, plot, height, 126, 60, 2, 4
    )


def _details(document: Evaluation, focus: str, kind: str, y: float, style: Style) -> list[Row]:
    """The kinds of a boundary error, the pairs of labels or the labels with most errors, as linked texts."""
    fair = document.systems[focus].fair
    if kind == "BE":
        groups = [
            (words.OUTCOMES[part], fair.overall.count(part), {"outcome": part})
            for part in ("BEl", "BEs", "BEo")
        ]
    else:
        # Errors stand under the gold label, spurious ones under the predicted; with other ways of
        # counting, a label's number is not a number of mentions of that label.
        side = "predicted" if kind == "FP" else "gold"
        if document.settings.focus != "gold" and kind not in {"FN", "FP"}:
            return []
        pairs = document.systems[focus].confusion.pairs.get(kind, ())
        groups = [
            (
                f"{shortened(gold, 11)}→{shortened(other, 11)}",
                number,
                {"outcome": kind, "gold": gold, "predicted": other},
            )
            for gold, other, number in pairs
        ] or [
            (shortened(label, 14), row.count(kind), {"outcome": kind, side: label})
            for label, row in fair.labels.items()
        ]
    groups = sorted((group for group in groups if group[1]), key=lambda group: -group[1])[:4]
    pieces: list[Row] = []
    x = 0.0
    for at, (name, number, chosen) in enumerate(groups):
        text = f"{name} {words.count(number)}" + ("  ·" if at + 1 < len(groups) else "")
        if x + width_of(text, 10.5) > 262:
            pieces[-1]["t"] = pieces[-1]["t"].removesuffix("  ·") if pieces else ""
            break
        href = style.link(number, unit="error", system=focus, **chosen)
        says = f"{words.OUTCOMES[kind]}, {name}: {words.plural(number, 'error')}"
        pieces.append({"x": x, "y": y, "t": text, "href": href, "d": says})
        x += width_of(text, 10.5) + 5
    return pieces


def confusion(document: Evaluation, focus: str, style: Style) -> Drawing:
    """Errors by gold and predicted label; boundary errors on the diagonal, missed and spurious apart."""
    table = document.systems[focus].confusion
    labels = [shortened(label, 16) for label in table.labels]
    size = len(labels)
    step = 46.0 if size <= 8 else 34.0
    palette, width = style.palette, step * (size + 1) + 12
    cells = []
    for row in range(size):
        for column in range(size):
            cells.append((row, column, table.counts[row][column], row == column))
        cells.append((row, size, table.missed[row], False))
    cells += [(size, column, table.spurious[column], False) for column in range(size)]
    most = max((cell[2] for cell in cells), default=1) or 1
    rows = []
    for row, column, number, diagonal in cells:
        alone = row == size or column == size
        x, y = step * column + (12 if column == size else 0), step * row + (12 if row == size else 0)
        weight = 0.06 + 0.94 * (number / most) ** 0.5 if number else 0.03
        gold = "spurious" if row == size else f"gold {labels[row]}"
        other = "missed" if column == size else f"predicted {labels[column]}"
        rows.append(
            {
                "x": x, "x2": x + step - 4, "y": y, "y2": y + step - 4, "cx": x + step / 2 - 2,
                "cy": y + step / 2 - 2, "o": weight, "t": words.count(number) if number else "",
                "c": palette["none"] if alone else palette["s0"], "dash": diagonal,
                "ink": palette["on"] if weight > 0.55 else palette["ink"],
                "d": f"{gold}, {other}: {words.plural(number, 'error')}",
            }
        )  # fmt: skip
    base = alt.Chart(alt.InlineData(values=rows))
    flat: Options = {
        "scale": alt.Scale(domain=[0, width], range=[0, width], nice=False, zero=False),
        "axis": None,
    }
    boxes = base.mark_rect(cornerRadius=4).encode(
        x=alt.X("x:Q", **flat), x2="x2:Q", y=alt.Y("y:Q", **flat), y2="y2:Q",
        color=alt.Color("c:N", scale=None), opacity=alt.Opacity("o:Q", scale=None), description="d:N",
    )  # fmt: skip
    diagonal = (
        alt.Chart(alt.InlineData(values=[row for row in rows if row["dash"]]))
        .mark_rect(cornerRadius=4, fill=None, stroke=palette["s0"], strokeDash=[3, 2], aria=False)
        .encode(x=alt.X("x:Q", **flat), x2="x2:Q", y=alt.Y("y:Q", **flat), y2="y2:Q")
    )
    numbers = base.mark_text(
        fontSize=11.5, fontWeight="bold", baseline="alphabetic", dy=4, aria=False
    ).encode(
        x=alt.X("cx:Q", **flat), y=alt.Y("cy:Q", **flat), text="t:N", color=alt.Color("ink:N", scale=None)
    )
    left = max(70.0, max((width_of(label, 12) for label in labels), default=0) + 16)
    heads: list[Row] = [
        {"x": step * at + step / 2 - 2, "y": -10.0, "t": label}
        for at, label in enumerate([*labels, "missed"])
    ]
    heads[-1]["x"] += 12
    sides: list[Row] = [
        {"y": step * at + step / 2 - 2, "t": label} for at, label in enumerate([*labels, "spurious"])
    ]
    sides[-1]["y"] += 12
    turned = {"angle": 320, "align": "left"} if size > 6 or max(map(len, labels), default=0) > 7 else {}
    columns = marks.written(heads, width, alt.X("x:Q", **flat), colour=palette["ink"], **turned)
    lines = marks.texts(sides, width, at=-8, colour=palette["ink"], align="right")
    top = 80.0 if turned else 26.0
    right = 50.0 if turned else 10.0
    chart = marks.plot(boxes, diagonal, numbers, columns, lines)
    return Drawing(
        "confusion", "Errors by gold and predicted label", chart, width, width, left, right, top, 6
    )


def shares(document: Evaluation, focus: str, style: Style) -> Drawing:
    """The share of each kind of error, counted the traditional and the fair way (Ort22, Figure 1)."""
    parts = document.systems[focus].fair.shares
    ways = {} if parts is None else {"traditional": parts.traditional, "fair": parts.fair}
    kinds = ("LE", "BE", "LBE", "FN", "FP")
    palette, plot, step = style.palette, 300.0, 34.0
    height = step * 2
    x = marks.quantity("v", 0, 100, span=(0, plot), tickCount=5, grid=False)
    layers: list[Layer] = []
    colours = {"LE": "s0", "BE": "s2", "LBE": "s3", "FN": "none", "FP": "s1"}
    for at, way in enumerate(("traditional", "fair")):
        start, y = 0.0, step * at + step / 2
        for kind in kinds:
            part = share(ways[way].get(kind)) if way in ways else None
            if not part:
                continue
            says = f"{way}: {words.OUTCOMES[kind]} {part:.1f}% of errors"
            bar = {"v": start, "hi": start + part, "y": y, "d": says}
            layers.append(
                marks.bands(
                    [bar], height, x, colour=palette[colours[kind]], thick=20, opacity=0.9, cornerRadius=0
                )
            )
            if part > 7:
                text = {"v": start + part / 2, "y": y, "t": f"{kind} {part:.0f}%" if part > 14 else kind}
                layers.append(marks.written([text], height, x, colour=palette["on"], fontSize=10.5))
            start += part
    names = [{"y": step * at + step / 2, "t": way} for at, way in enumerate(("traditional", "fair"))]
    layers.append(marks.texts(names, height, at=-80, colour=palette["ink"]))
    return Drawing(
        "shares", "Share of each kind of error, in percent", marks.plot(*layers), plot, height, 80, 20, 2, 24
    )
