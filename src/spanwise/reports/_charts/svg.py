"""Drawings as SVG for the page, written directly: starting Altair and Vega takes longer than the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import islice

from spanwise.reports._charts import PAGE, Palette
from spanwise.reports._charts.marks import Drawing, Fixed, MarkLayer, Options, Quantity, Row


def svg(drawings: Sequence[Drawing], *, palette: Palette = PAGE) -> dict[str, str]:
    """The SVG of every drawing by name; the same drawings give the same bytes.

    The field `href` becomes a link into the page, and the description becomes an `aria-label`. Layers that
    Altair alone can draw are for figures, and are left out.
    """
    return {drawing.name: _framed(drawing, _inner(drawing, palette)) for drawing in drawings}


def _framed(drawing: Drawing, inner: str) -> str:
    width, height = drawing.size
    box = f"{_short(-drawing.left)} {_short(-drawing.top)} {_short(width)} {_short(height)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="group" aria-label="{escape(drawing.title)}" '
        f'viewBox="{box}" width="{_short(width)}" height="{_short(height)}" fill="none">{inner}</svg>'
    )


_ANCHORS = {"center": "middle", "right": "end"}


def _inner(drawing: Drawing, palette: Palette) -> str:
    """The axes of a drawing, one across for every group of layers and one up, and its marks."""
    axes: list[str] = []
    marks: list[str] = []
    for group in drawing.plot.groups:
        layers = [layer for layer in group if isinstance(layer, MarkLayer)]
        across = (layer.x for layer in layers if isinstance(layer.x, Quantity) and layer.x.axis is not None)
        axes += [_below(channel, drawing, palette) for channel in islice(across, 1)]
        up = (layer.up for layer in layers if layer.up is not None and layer.up.axis is not None)
        axes += [_beside(channel, drawing, palette) for channel in islice(up, 1)]
        marks += map(_marks, layers)
    return "".join([*axes, *marks])


def _below(channel: Quantity, drawing: Drawing, palette: Palette) -> str:
    """The grid, the numbers and the title of an axis below a plot, placed as Vega does."""
    options = channel.axis or {}
    ticks = options.get("values") or _ticks(channel.low, channel.high, options["tickCount"])
    base = drawing.height + options.get("offset", 0) + 0.5
    lines = "".join(
        f"M{round(channel.at(tick)) + 0.5},{_short(base)}v{_short(-drawing.height)}" for tick in ticks
    )
    texts = []
    for tick in ticks:
        at = channel.at(tick)
        near, far = abs(at - channel.span[0]), abs(at - channel.span[1])
        anchor = "" if near < far and near <= 1 else "end" if far <= 1 else "middle"
        texts.append(_label(at + 0.5, base + 16, _number(tick, options), anchor))
    if options["title"]:
        middle = (channel.span[0] + channel.span[1]) / 2
        texts.append(
            _label(middle, base + 27 + options.get("titlePadding", 4), str(options["title"]), "middle")
        )
    return _axis(lines if options.get("grid", True) else "", texts, palette)


def _beside(channel: Quantity, drawing: Drawing, palette: Palette) -> str:
    """The grid, the numbers and the title of an axis to the left of a plot."""
    options = channel.axis or {}
    ticks = _ticks(channel.low, channel.high, options["tickCount"])
    lines = "".join(f"M0,{round(channel.at(tick)) + 0.5}h{_short(drawing.width)}" for tick in ticks)
    texts = [
        _label(-options["labelPadding"], channel.at(tick) + 4.5, _number(tick, options), "end")
        for tick in ticks
    ]
    turned = f' transform="translate({_short(options["titleX"])},{_short(drawing.height / 2)})rotate(-90)"'
    texts.append(f'<text{turned} text-anchor="middle">{escape(str(options["title"]))}</text>')
    return _axis(lines, texts, palette)


def _axis(lines: str, texts: Sequence[str], palette: Palette) -> str:
    grid = f'<path d="{lines}" stroke="{palette["grid"]}"/>' if lines else ""
    return f'{grid}<g fill="{palette["muted"]}" font-size="11">{"".join(texts)}</g>'


def _label(x: float, y: float, text: str, anchor: str) -> str:
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{_short(x)}" y="{_short(y)}"{anchored}>{escape(text)}</text>'


def _number(tick: float, options: Options) -> str:
    """A tick in the format of its axis."""
    places = 0 if options.get("format", "").endswith(".0f") else 2 if "format" in options else 6
    text = f"{abs(tick):,.{places}f}"
    text = text.rstrip("0").rstrip(".") if places else text
    plus = "+" if options.get("format", "").startswith("+") else ""
    return ("\N{MINUS SIGN}" if tick < 0 and text != "0" else plus) + text


def _ticks(low: float, high: float, count: int) -> list[float]:
    """About `count` round numbers from `low` to `high`, as D3 chooses them.

    Examples:
        >>> _ticks(78.7, 83.2, 4)
        [79.0, 80.0, 81.0, 82.0, 83.0]
    """
    step = (high - low) / count
    power = math.floor(math.log10(step))
    error = step / 10.0**power
    factor = (
        10 if error >= math.sqrt(50) else 5 if error >= math.sqrt(10) else 2 if error >= math.sqrt(2) else 1
    )
    # For steps below one, divide by a whole number: 3 / 10 is 0.3, but 3 * 0.1 is not.
    times, over = (10.0**power * factor, 1.0) if power >= 0 else (1.0, 10.0**-power / factor)
    first, last = math.ceil(low * over / times - 1e-12), math.floor(high * over / times + 1e-12)
    return [index * times / over for index in range(first, last + 1)]


def _marks(layer: MarkLayer) -> str:
    """The marks of one layer, in a group with their common attributes."""
    shared = _shared_by(layer)
    if layer.mark in ("line", "area"):
        return f'<path{shared} d="{_outline(layer)}"/>' if layer.rows else ""
    marks = [_named(row, mark) for row, mark in _bare(layer)]
    return f"<g{shared}>{''.join(marks)}</g>" if marks else ""


def _outline(layer: MarkLayer) -> str:
    """A line through all rows; for an area, back through its lower ends."""
    points = [_at(layer, row) for row in layer.rows]
    if layer.mark == "area":
        points += [_at(layer, {**row, "y": row["y2"]}) for row in reversed(layer.rows)]
    corners = "L".join(f"{_short(x)},{_short(y)}" for x, y in points)
    return f"M{corners}Z" if layer.mark == "area" else f"M{corners}"


def _at(layer: MarkLayer, row: Row) -> tuple[float, float]:
    """The pixels of a row."""
    x = layer.x.pixel if isinstance(layer.x, Fixed) else layer.x.at(row[layer.x.field])
    return x, row["y"] if layer.up is None else layer.up.at(row["y"])


def _named(row: Row, mark: str) -> str:
    """A mark with its label and its link, if any."""
    label = f' aria-label="{escape(row["d"])}"' if row.get("d") else ""
    if row.get("href"):
        return f'<a href="{escape(row["href"])}"{label}>{mark}</a>'
    tag, rest = mark.split(" ", 1)
    return f'{tag} role="img"{label} {rest}' if label else mark


def _shared_by(layer: MarkLayer) -> str:
    options, colour = layer.options, layer.colour
    opacity = options.get("opacity", 1)
    match layer.mark:
        case "text":
            anchor = _ANCHORS.get(options["align"])
            weight = options.get("fontWeight")
            pairs = {"fill": colour, "font-size": options["fontSize"], "font-weight": weight}
            pairs["text-anchor"] = anchor
        case "rule" | "line":
            dash = ",".join(map(str, options.get("strokeDash", ())))
            width = options.get("strokeWidth", 2)
            pairs = {"stroke": colour, "stroke-width": width, "stroke-dasharray": dash}
            pairs["stroke-opacity"] = None if opacity == 1 else opacity
            pairs["stroke-linejoin"] = options.get("strokeJoin")
        case "bar" | "area":
            pairs = {"fill": colour, "fill-opacity": None if opacity == 1 else opacity}
        case "point":
            pairs = {"fill": options.get("fill", colour if options["filled"] else None)}
            pairs["fill-opacity"] = None if opacity == 1 else opacity
            if not options["filled"]:
                pairs |= {"stroke": colour, "stroke-width": options.get("strokeWidth", 2)}
    return "".join(f' {name}="{escape(str(value))}"' for name, value in pairs.items() if value)


def _bare(layer: MarkLayer) -> Iterator[tuple[Row, str]]:
    """Every row with its mark, as an element with a space after its tag name."""
    options = layer.options
    for row in layer.rows:
        at, y = _at(layer, row)
        end = layer.x.at(row["hi"]) if layer.until == "x2" and isinstance(layer.x, Quantity) else at
        match layer.mark:
            case "text":
                position = f'x="{_short(at + options.get("dx", 0))}" y="{_short(y + options["dy"])}"'
                yield row, f"<text {position}>{escape(str(row['t']))}</text>"
            case "rule":
                way = f"v{_short(row['y2'] - y)}" if layer.until == "y2" else f"h{_short(end - at)}"
                yield row, f'<path d="M{_short(at)},{_short(y)}{way}"/>'
            case "bar":
                thick, left, wide = options["height"], min(at, end), abs(end - at)
                position = f'x="{_short(left)}" y="{_short(y - thick / 2)}" width="{_short(wide)}"'
                round_ = f' rx="{_short(options["cornerRadius"])}"' if options["cornerRadius"] else ""
                yield row, f'<rect {position} height="{_short(thick)}"{round_}/>'
            case "point":
                yield row, _symbol(options.get("shape", "circle"), at, y, math.sqrt(options["size"]) / 2)


def _symbol(shape: str, x: float, y: float, r: float) -> str:
    """A symbol at a position, with the shapes of Vega."""
    if shape == "circle":
        return f'<circle cx="{_short(x)}" cy="{_short(y)}" r="{_short(r)}"/>'
    h, s = r * math.sqrt(3) / 2, r / 2.5
    corners = {
        "diamond": ((-r, 0), (0, -r), (r, 0), (0, r)),
        "square": ((-r, -r), (r, -r), (r, r), (-r, r)),
        "triangle-up": ((0, -h), (-r, h), (r, h)),
        "triangle-down": ((0, h), (-r, -h), (r, -h)),
        "triangle-right": ((h, 0), (-h, -r), (-h, r)),
        "triangle-left": ((-h, 0), (h, -r), (h, r)),
        "cross": (
            (-r, -s), (-r, s), (-s, s), (-s, r), (s, r), (s, s), (r, s), (r, -s), (s, -s), (s, -r),
            (-s, -r), (-s, -s),
        ),
    }[shape]  # fmt: skip
    outline = "L".join(f"{_short(x + a)},{_short(y + b)}" for a, b in corners)
    return f'<path d="M{outline}Z"/>'


def _short(number: float) -> str:
    text = f"{number:.1f}"
    return text.removesuffix(".0").replace("-0", "0") if text in {"-0.0", "-0"} else text.removesuffix(".0")
