"""The charts of errors and of Fu20's diagnosis: gains, confusion, shares, worst and best buckets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import BucketScores, Confusion
from spanwise.reports._charts import Style, axis_range, marks, share, shortened, titled, width_of
from spanwise.reports._charts.evaluation import places, shown
from spanwise.reports._charts.marks import Channel, Drawing, Layer, Plot, Quantity, Row
from spanwise.views import wording as words


def gains(document: Evaluation, focus: str, style: Style) -> Drawing:
    """What fixing each kind of error would add to F1, with the most frequent subkinds or labels."""
    system = document.systems[focus]
    others = shown(document, focus, most=style.most)[1:]
    kinds = sorted(words.ERRORS, key=lambda kind: -(share(system.gains.of(kind).gain) or 0.0))
    palette, plot, step = style.palette, 210.0, 46.0
    height = step * len(kinds)
    values = {
        name: {kind: share(document.systems[name].gains.of(kind).gain) for kind in kinds}
        for name in (focus, *others)
    }
    _, high = axis_range([v for row in values.values() for v in row.values() if v is not None], zero=True)
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
    for name, rank in zip(others, places(document, others), strict=True):
        ticks = [
            {
                "v": values[name][kind], "y": step * at + 4, "y2": step * at + 22,
                "d": f"{words.visible(name)}: {words.OUTCOMES[kind]}, "
                + f"{words.signed(document.systems[name].gains.of(kind).gain)} F1",
            }
            for at, kind in enumerate(kinds)
            if values[name][kind] is not None
        ]  # fmt: skip
        layers.append(marks.lines(ticks, height, x, colour=palette.series(rank), strokeWidth=2.5))
    chart = marks.plot(*layers)
    if details:
        x = marks.pixels("x", plot)
        written = marks.written(details, height, x, colour=palette["muted"], align="left", fontSize=10.5)
        chart = marks.apart(chart, marks.plot(written))
    return Drawing(
        "gains", "F1 gained if all errors of a kind were fixed", chart, plot, height, 126, 60, 2, 4
    )


def _details(document: Evaluation, focus: str, kind: str, y: float, style: Style) -> list[Row]:
    """The subkinds of boundary errors, or the label pairs or labels with most errors, as linked texts."""
    fair = document.systems[focus].fair
    if kind == "BE":
        groups = [
            (words.OUTCOMES[part], fair.overall.count(part), {"outcome": part})
            for part in ("BEl", "BEs", "BEo")
        ]
    else:
        # Errors are listed under the gold label, spurious ones under the predicted label; with another
        # focus, the number of a label is not a number of mentions with that label.
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


def confusion(
    table: Confusion,
    style: Style,
    *,
    title: str = "",
    begin: float = 0.0,
    height: float | None = None,
    combined: str = "",
) -> Drawing:
    """Errors by gold and predicted label; boundary errors on the diagonal, missed and spurious apart.

    The row and column called `combined` stand for several labels, so the cell where they meet also holds
    errors in the label and is not drawn as boundary errors.
    To draw several side by side, give each a `title`, its first pixel as `begin`, and a common `height`.
    """
    import altair as alt

    labels = [shortened(label, 16) for label in table.labels]
    size = len(labels)
    step = 46.0 if size <= 8 else 34.0
    palette, width = style.palette, step * (size + 1) + 12
    rows = _confusion_cells(table, labels, step, style, combined)
    high = width if height is None else height
    across = Quantity("x", 0, width, (begin, begin + width), clamp=False)
    boxes, *numbers = marks.cells(rows, across, high)
    diagonal = (
        alt.Chart(alt.InlineData(values=[row for row in rows if row["dash"]]))
        .mark_rect(cornerRadius=4, fill=None, stroke=palette["s0"], strokeDash=[3, 2], aria=False)
        .encode(x=across.altair(alt.X), x2="x2:Q", y=marks.pixels("y", high).altair(alt.Y), y2="y2:Q")
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
    columns = marks.written(heads, high, across, colour=palette["ink"], **turned)
    lines = marks.texts(sides, high, at=begin - 8, colour=palette["ink"], align="right")
    top = 80.0 if turned else 26.0
    right = 50.0 if turned else 10.0
    layers = [boxes, diagonal, *numbers, columns, lines]
    if title:
        head = [{"x": 0.0, "y": -top - 4, "t": title}]
        layers.append(
            marks.written(head, high, across, colour=palette["ink"], align="left", fontWeight="bold")
        )
        top += 18
    return Drawing(
        "confusion",
        "Errors by gold and predicted label",
        marks.plot(*layers),
        width,
        high,
        left,
        right,
        top,
        6,
    )


def _confusion_cells(
    table: Confusion, labels: Sequence[str], step: float, style: Style, combined: str
) -> list[Row]:
    """A cell for every pair of labels, and separate cells for missed and spurious mentions."""
    size, palette = len(labels), style.palette
    cells = []
    for row in range(size):
        for column in range(size):
            whole = row == column and table.labels[row] != combined
            cells.append((row, column, table.counts[row][column], whole))
        cells.append((row, size, table.missed[row], False))
    cells += [(size, column, table.spurious[column], False) for column in range(size)]
    most = max((cell[2] for cell in cells), default=1) or 1
    rows: list[Row] = []
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
    return rows


def confusions(tables: Mapping[str, Confusion], style: Style, *, combined: str = "") -> Drawing:
    """The confusion matrices of several datasets side by side, each under its name."""
    sizes = [confusion(table, style, title=name, combined=combined) for name, table in tables.items()]
    height = max(size.height for size in sizes)
    begin = 0.0
    plots = []
    for index, (name, table) in enumerate(tables.items()):
        if index:
            begin += sizes[index - 1].width + sizes[index - 1].right + sizes[index].left
        plots.append(confusion(table, style, title=name, begin=begin, height=height, combined=combined).plot)
    first, last = sizes[0], sizes[-1]
    return Drawing(
        "confusion", "Errors by gold and predicted label, by dataset", marks.apart(*plots),
        begin + last.width, height, first.left, last.right, max(size.top for size in sizes), 6,
    )  # fmt: skip


_SHORT = {"LE": "label", "BE": "boundary", "LBE": "both", "FN": "missed", "FP": "spurious"}


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
            said = f"{_SHORT[kind]} {part:.0f}%"
            fitting = [text for text in (said, _SHORT[kind]) if width_of(text, 12) + 4 <= plot * part / 100]
            if fitting:
                text = {"v": start + part / 2, "y": y, "t": fitting[0]}
                layers.append(marks.written([text], height, x, colour=palette["on"], fontSize=12))
            start += part
    names = [{"y": step * at + step / 2, "t": way} for at, way in enumerate(("traditional", "fair"))]
    layers.append(marks.texts(names, height, at=-80, colour=palette["ink"]))
    return Drawing(
        "shares", "Share of each kind of error, in percent", marks.plot(*layers), plot, height, 80, 20, 2, 24
    )


# ---- worst and best bucket, and where two systems differ most --------------------------------------


Ends: TypeAlias = tuple[str, BucketScores, BucketScores]  # an attribute with its worst and its best bucket


def diagnosis(document: Evaluation, focus: str, style: Style) -> Drawing | None:
    """Worst and best bucket per attribute; on the right, the biggest win and loss against the next system."""
    names = shown(document, focus, most=style.most)
    system = document.systems[focus]
    tables = sorted(system.attributes.items(), key=lambda row: -(row[1].gap or 0))
    ends: list[Ends] = []
    for name, table in tables:
        worst, best = table.bucket(table.worst), table.bucket(table.best)
        if worst is not None and best is not None:
            ends.append((name, worst, best))
    if not ends:
        return None
    rivals = names[1:2]
    palette, step, top = style.palette, 36.0, 22.0
    plot, height = (246.0 if rivals else 230.0), top + step * len(ends)
    left_end = 132.0 if rivals else 230.0
    scores = [share(cell.f1) for _, worst, best in ends for cell in (worst, best)]
    overall = share(system.exact.overall.f1)
    values = [value for value in (*scores, overall) if value is not None]
    low, high = axis_range(values, pad=0.1)
    x = marks.quantity("v", low, high, span=(0, left_end), tickCount=3)
    colour = palette.series(places(document, [focus])[0])
    middle = [top + step * (at + 0.5) for at in range(len(ends))]
    layers = _dumbbells(document, focus, ends, middle, height, x, colour, style)
    if overall is not None:
        line = [{"v": overall, "y": top - 4, "y2": height}]
        layers.insert(0, marks.lines(line, height, x, colour=palette["axis"], strokeDash=[2, 2]))
    heads = [{"y": 8.0, "t": "worst and best bucket"}]
    layers.append(marks.texts(heads, height, at=0, colour=palette["muted"], fontSize=10.5))
    titles = [{"y": y, "t": titled(name)} for y, (name, _, _) in zip(middle, ends, strict=True)]
    layers.append(marks.texts(titles, height, at=-152, colour=palette["ink"], limit=148))
    chart = marks.plot(*layers)
    if rivals:
        other = _against(
            document, focus, rivals[0], [name for name, _, _ in ends], middle, height, plot, style
        )
        chart = marks.apart(chart, other)
    return Drawing("diagnosis", "Diagnosis by attribute", chart, plot, height, 152, 14, 4, 24)


def _dumbbells(
    document: Evaluation, focus: str, ends: Sequence[Ends], middle: Sequence[float],
    height: float, x: Channel, colour: str, style: Style,
) -> list[Layer]:  # fmt: skip
    bars, worst_dots, best_dots, worst_names, best_names = [], [], [], [], []
    scores = [share(bucket.f1) or 0.0 for _, *both in ends for bucket in both]
    near = 0.2 * (max(scores) - min(scores)) if scores else 0.0
    for y, (name, worst, best) in zip(middle, ends, strict=True):
        low, high = share(worst.f1) or 0.0, share(best.f1) or 0.0
        apart = 6.5 if high - low < near else 0.0  # stack them where they would overlap
        bars.append({"v": low, "hi": high, "y": y})
        worst_dots.append({"v": low, "y": y + apart, **_mark(document, focus, name, worst, "worst", style)})
        best_dots.append({"v": high, "y": y - apart, **_mark(document, focus, name, best, "best", style)})
        worst_names.append({"v": low, "y": y + apart + 0.5, "t": _initials(worst.name)})
        best_names.append({"v": high, "y": y - apart + 0.5, "t": _initials(best.name)})
    palette = style.palette
    small = {"fontSize": 9.5, "fontWeight": "bold"}
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
    """The description and the link of a dot."""
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
    """Two bars per attribute: where the system in focus leads its rival most, and where least."""
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
    low, high = axis_range([0.0, *(pair[0] for pair, _, _ in rows)], pad=0.22)
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
        rank = places(document, [focus if ahead else rival])[0]
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
                    bars, height, x, colour=palette.series(rank), thick=7, opacity=0.8, cornerRadius=1
                )
            )
            side = {"align": "left", "dx": 3} if ahead else {"align": "right", "dx": -3}
            layers.append(marks.written(texts, height, x, colour=palette["muted"], fontSize=9.5, **side))
    return marks.plot(*layers)


def _differences(
    document: Evaluation, system: str, other: str, attribute: str
) -> list[tuple[float, BucketScores]]:
    """By how many points a system leads another in each bucket of an attribute."""
    mine, theirs = (document.systems[name].attributes.get(attribute) for name in (system, other))
    if mine is None or theirs is None:
        return []
    leads = []
    for bucket in mine.buckets:
        rival = theirs.bucket(bucket.name)
        scores = share(bucket.f1), share(None if rival is None else rival.f1)
        if scores[0] is not None and scores[1] is not None and bucket.on_scale:
            leads.append((scores[0] - scores[1], bucket))
    return leads
