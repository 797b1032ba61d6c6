"""Drawings as SVG for the page: plain marks are written here, others by vl-convert and then shrunk."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from html import escape

from spanwise.reports._charts import PAGE, Palette
from spanwise.reports._charts.marks import (
    Drawing,
    Fixed,
    MarkLayer,
    Options,
    Quantity,
    Row,
    config,
    unmeasured,
)


def svg(drawings: Sequence[Drawing], *, palette: Palette = PAGE) -> dict[str, str]:
    """The SVG of every drawing by name; the same drawings give the same bytes.

    The field `href` becomes a link into the page, and the description becomes an `aria-label`.
    """
    pictures = {drawing.name: _plain(drawing, palette) for drawing in drawings}
    others = [drawing for drawing in drawings if pictures[drawing.name] is None]
    drawn = converted(others, palette)
    return {name: drawn[name] if text is None else text for name, text in pictures.items()}


def _framed(drawing: Drawing, inner: str) -> str:
    width, height = drawing.size
    box = f"{_short(-drawing.left)} {_short(-drawing.top)} {_short(width)} {_short(height)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="group" aria-label="{escape(drawing.title)}" '
        f'viewBox="{box}" width="{_short(width)}" height="{_short(height)}" fill="none">{inner}</svg>'
    )


# ---- plain marks: starting vl-convert and Altair takes longer than the rest of the page ------------

_OPTIONS = {
    "text": {"fontSize", "align", "baseline", "dy", "dx", "fontWeight"},
    "rule": {"strokeWidth", "opacity", "strokeDash"},
    "bar": {"height", "cornerRadius", "opacity"},
    "point": {"shape", "size", "opacity", "strokeWidth", "filled", "fill"},
}
_AXIS = {"orient", "title", "tickCount", "format", "grid", "offset"}
_FORMATS = {".2~f": "", "+.2~f": "+"}
_ANCHORS = {"center": "middle", "right": "end"}


def _plain(drawing: Drawing, palette: Palette) -> str | None:
    """The drawing as SVG; None if it has a mark, an option or an axis that is not supported here."""
    axes, marks = [], []
    for group in drawing.plot.groups:
        channels = []
        for layer in group:
            if not isinstance(layer, MarkLayer) or not layer.options.keys() <= _OPTIONS[layer.mark]:
                return None
            if not isinstance(layer.x, Quantity | Fixed):
                return None
            if isinstance(layer.x, Quantity) and layer.x.axis is not None:
                channels.append(layer.x)
            marks.append(_marks(layer, layer.x))
        for channel in channels[:1]:
            options = channel.axis or {}
            if not options.keys() <= _AXIS or options["title"] or options["format"] not in _FORMATS:
                return None
            axes.append(_axis(channel, options, drawing.height, palette))
    return _framed(drawing, "".join([*axes, *marks]))


def _axis(channel: Quantity, options: Options, height: float, palette: Palette) -> str:
    """The grid and the numbers of an axis below a plot, placed as Vega does."""
    ticks = _ticks(channel.low, channel.high, options["tickCount"])
    base = height + options.get("offset", 0) + 0.5
    lines = ""
    if options.get("grid", True):
        paths = "".join(
            f"M{round(channel.at(tick)) + 0.5},{_short(base)}v{_short(-height)}" for tick in ticks
        )
        lines = f'<path d="{paths}" stroke="{palette["grid"]}"/>'
    texts = []
    for tick in ticks:
        at, sign = channel.at(tick), _FORMATS[options["format"]]
        near, far = abs(at - channel.span[0]), abs(at - channel.span[1])
        anchor = "" if near < far and near <= 1 else "end" if far <= 1 else "middle"
        number = f"{abs(tick):.2f}".rstrip("0").rstrip(".")
        signed = ("\N{MINUS SIGN}" if tick < 0 and number != "0" else sign) + number
        anchored = f' text-anchor="{anchor}"' if anchor else ""
        texts.append(f'<text x="{_short(at + 0.5)}" y="{_short(base + 16)}"{anchored}>{signed}</text>')
    return f'{lines}<g fill="{palette["muted"]}" font-size="11">{"".join(texts)}</g>'


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


def _marks(layer: MarkLayer, x: Quantity | Fixed) -> str:
    """The marks of one layer, in a group with their common attributes."""
    shared = _shared_by(layer)
    marks = [_named(row, mark) for row, mark in _bare(layer, x)]
    return f"<g{shared}>{''.join(marks)}</g>" if marks else ""


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
        case "rule":
            dash = ",".join(map(str, options.get("strokeDash", ())))
            pairs = {"stroke": colour, "stroke-width": options["strokeWidth"], "stroke-dasharray": dash}
            pairs["stroke-opacity"] = None if opacity == 1 else opacity
        case "bar":
            pairs = {"fill": colour, "fill-opacity": None if opacity == 1 else opacity}
        case "point":
            pairs = {"fill": options.get("fill", colour if options["filled"] else None)}
            pairs["fill-opacity"] = None if opacity == 1 else opacity
            if not options["filled"]:
                pairs |= {"stroke": colour, "stroke-width": options["strokeWidth"]}
    return "".join(f' {name}="{escape(str(value))}"' for name, value in pairs.items() if value)


def _bare(layer: MarkLayer, x: Quantity | Fixed) -> Iterator[tuple[Row, str]]:
    """Every row with its mark, as an element with a space after its tag name."""
    options = layer.options
    for row in layer.rows:
        at = x.pixel if isinstance(x, Fixed) else x.at(row[x.field])
        y = row["y"]
        end = x.at(row["hi"]) if layer.until == "x2" and isinstance(x, Quantity) else at
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
                yield row, _symbol(options["shape"], at, y, math.sqrt(options["size"]) / 2)


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


# ---- other marks: many drawings in one call of vl-convert, each then cut out and shrunk ------------

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
# vl-convert makes links absolute; ours point into the page.
_BASE = re.compile(r"^https?://[^#]*(?=#)")
_TAGS = {"g", "path", "line", "text", "tspan", "rect", "a"}
_KEPT = (
    "transform", "d", "x", "y", "x1", "y1", "x2", "y2", "width", "height", "dx", "dy", "fill", "stroke",
    "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "stroke-opacity", "text-anchor",
    "font-size", "font-weight", "font-style",
)  # fmt: skip
_INHERITED = ("fill", "stroke", "stroke-width", "text-anchor", "font-size", "font-weight", "stroke-dasharray")
# Attributes that need not be written, since these are their default values.
_USUAL = {
    ("opacity", "1"), ("transform", "translate(0,0)"), ("text-anchor", "start"), ("x2", "0"), ("y2", "0"),
}  # fmt: skip
_NUMBER = re.compile(r"-?\d+\.\d+")


def converted(drawings: Sequence[Drawing], palette: Palette) -> dict[str, str]:
    """The drawings by name, drawn by vl-convert."""
    if not drawings:
        return {}
    import vl_convert

    from spanwise.engines import check_room_for_drawing

    check_room_for_drawing()
    context: Options = {"top_level": False, "datasets": {}}
    column = {
        "vconcat": [drawing.specification(context) for drawing in drawings],
        "datasets": context["datasets"],
        "bounds": "flush",
        "spacing": 0,
        "config": unmeasured(config(palette)),
    }
    root = ET.fromstring(vl_convert.vegalite_to_svg(column))
    groups = _groups(root)
    return {drawing.name: _picture(drawing, groups[index]) for index, drawing in enumerate(drawings)}


def _groups(root: ET.Element) -> dict[int, ET.Element]:
    """The group of each chart in the column, by its number."""
    groups = {}
    for element in root.iter(f"{_SVG}g"):
        match = re.search(r"\bconcat_(\d+)_group\b", element.get("class", ""))
        if match:
            groups[int(match[1])] = element
    return groups


def _picture(drawing: Drawing, group: ET.Element) -> str:
    # The group of a chart holds a single group, shifted to its position in the column.
    return _framed(drawing, "".join(_written(child) for child in group[0]))


def _written(element: ET.Element, *, linked: bool = False) -> str:
    tag = element.tag.removeprefix(_SVG)
    if tag not in _TAGS or element.get("display") == "none" or "background" in element.get("class", ""):
        return ""
    if tag == "a":
        return _link(element)
    if tag == "g":
        shared = _shared(element)
        inner = "".join(_written(child, linked=linked) for child in element)
        kept = _attributes(element) + shared
        return f"<g{kept}>{inner}</g>" if inner and kept else inner
    inner = "".join(_written(child, linked=linked) for child in element)
    named = "" if linked else _label(element)
    if tag in {"text", "tspan"}:
        return f"<{tag}{_attributes(element)}{named}>{escape(element.text or '')}{inner}</{tag}>"
    return f"<{tag}{_attributes(element)}{named}/>"


def _shared(group: ET.Element) -> str:
    """Move inherited attributes that all marks of a group share to the group, and return them as text."""
    marked = [child[0] if child.tag == f"{_SVG}a" and len(child) else child for child in group]
    if len(marked) < 2 or any(mark.tag == f"{_SVG}g" for mark in marked):
        return ""
    moved = []
    for name in _INHERITED:
        values = {mark.get(name) for mark in marked}
        value = values.pop()
        if values or value is None or group.get(name) is not None:
            continue
        for mark in marked:
            del mark.attrib[name]
        moved.append(_attribute(name, value))
    return "".join(moved)


def _link(element: ET.Element) -> str:
    target = _BASE.sub("", element.get(_LINK, ""))
    inner = "".join(_written(child, linked=True) for child in element)
    if not target.startswith("#"):
        return inner
    label = next((child.get("aria-label") for child in element if child.get("aria-label")), None)
    named = f' aria-label="{escape(label)}"' if label else ""
    return f'<a href="{escape(target)}"{named}>{inner}</a>'


def _label(element: ET.Element) -> str:
    label = element.get("aria-label")
    return f' role="img" aria-label="{escape(label)}"' if label else ""


def _attributes(element: ET.Element) -> str:
    written = []
    for name in _KEPT:
        value = element.get(name)
        if value is not None and (name, value) not in _USUAL:
            written.append(_attribute(name, value))
    return "".join(written)


def _attribute(name: str, value: str) -> str:
    if name == "font-size":
        value = value.removeprefix("-").removesuffix("px")
    elif name in {"d", "transform", "x", "y", "x2", "y2", "width", "height"}:
        value = _NUMBER.sub(lambda match: _short(float(match[0])), value)
    return f' {name}="{escape(value)}"'


def _short(number: float) -> str:
    text = f"{number:.1f}"
    return text.removesuffix(".0").replace("-0", "0") if text in {"-0.0", "-0"} else text.removesuffix(".0")
