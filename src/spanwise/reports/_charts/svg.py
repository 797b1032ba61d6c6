"""Drawings as SVG for the page: many in one call of vl-convert, each then cut out and made small.

A call of vl-convert costs forty milliseconds and a chart in it three, so all charts of a
page are laid into one column and the groups of the result become pictures of their own.
Only elements and attributes that a chart needs are written again, so nothing that a label
contains can become markup.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from html import escape

import vl_convert

from spanwise.reports._charts.marks import Drawing, Options, config, unmeasured
from spanwise.reports._charts.palette import PAGE, Palette

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
# Values that are so without being written: of a group, a line's stroke, and text as vega anchors it.
_USUAL = {
    ("opacity", "1"), ("transform", "translate(0,0)"), ("text-anchor", "start"), ("x2", "0"), ("y2", "0"),
}  # fmt: skip
_NUMBER = re.compile(r"-?\d+\.\d+")


def svg(drawings: Sequence[Drawing], *, palette: Palette = PAGE) -> dict[str, str]:
    """The SVG of every drawing by its name; the same drawings give the same bytes.

    Fields `href` become links into the page and descriptions become `aria-label`s.
    """
    if not drawings:
        return {}
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
    return {drawing.name: _picture(drawing, groups[place]) for place, drawing in enumerate(drawings)}


def _groups(root: ET.Element) -> dict[int, ET.Element]:
    """The content of the n-th chart of the column; its own group, without the offset it has there."""
    found = {}
    for element in root.iter(f"{_SVG}g"):
        match = re.search(r"\bconcat_(\d+)_group\b", element.get("class", ""))
        if match:
            found[int(match[1])] = element
    return found


def _picture(drawing: Drawing, group: ET.Element) -> str:
    width, height = drawing.size
    # The group of a chart holds one group that is moved to its place in the column.
    inner = "".join(_written(child) for child in group[0])
    box = f"{_short(-drawing.left)} {_short(-drawing.top)} {_short(width)} {_short(height)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="group" aria-label="{escape(drawing.title)}" '
        f'viewBox="{box}" width="{_short(width)}" height="{_short(height)}" fill="none">{inner}</svg>'
    )


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
    """The inherited attributes that all marks of a group have alike, moved to the group."""
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
    found = []
    for name in _KEPT:
        value = element.get(name)
        if value is not None and (name, value) not in _USUAL:
            found.append(_attribute(name, value))
    return "".join(found)


def _attribute(name: str, value: str) -> str:
    if name == "font-size":
        value = value.removeprefix("-").removesuffix("px")
    elif name in {"d", "transform", "x", "y", "x2", "y2", "width", "height"}:
        value = _NUMBER.sub(lambda match: _short(float(match[0])), value)
    return f' {name}="{escape(value)}"'


def _short(number: float) -> str:
    text = f"{number:.1f}"
    return text.removesuffix(".0").replace("-0", "0") if text in {"-0.0", "-0"} else text.removesuffix(".0")
