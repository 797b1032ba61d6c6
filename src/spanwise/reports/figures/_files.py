"""Charts as files: drawn once by vl-convert as SVG, which then becomes PDF and PNG."""

from __future__ import annotations

import re
from collections.abc import Sequence

import altair as alt
import vl_convert

from spanwise.engines.machine import check_room_for_drawing
from spanwise.reports._charts.marks import Options, unmeasured
from spanwise.reports.figures._pdf import in_order

PIXELS = 3  # a PNG has this many a point, enough for print at the width of a column
_NEGATIVE = re.compile(r'(<text[^>]*? font-size=")-')


def convert(
    chart: alt.LayerChart, formats: Sequence[str], *, width: float | None = None
) -> dict[str, bytes | str]:
    """The chart in each format: the text of an SVG, the bytes of a PDF or PNG.

    Args:
        width: in points, for a figure of this width in print; by default that of the page.
    """
    check_room_for_drawing()
    specification = chart.to_dict()
    specification["config"] = unmeasured(specification["config"])
    _unmeasure(specification)
    svg: str = _NEGATIVE.sub(r"\1", vl_convert.vegalite_to_svg(specification)) + "\n"
    scale = float(PIXELS)
    if width is not None:
        svg, shrunk = _scaled(svg, width)
        scale = PIXELS / min(shrunk, 1.0)  # as sharp as before
    made: dict[str, bytes | str] = {}
    for form in formats:
        if form == "svg":
            made[form] = svg
        elif form == "pdf":
            made[form] = in_order(bytes(vl_convert.svg_to_pdf(svg)))
        else:
            made[form] = bytes(vl_convert.svg_to_png(svg, scale=scale))
    return made


_SIZE = re.compile(r'(<svg[^>]*?) width="([0-9.]+)" height="([0-9.]+)"')


def _scaled(svg: str, width: float) -> tuple[str, float]:
    """The drawing at another width, all of it scaled alike, and the scale. A point is 4/3 of a pixel."""
    found = _SIZE.search(svg)
    assert found is not None
    pixels = width * 4 / 3
    scale = pixels / float(found[2])
    size = f' width="{pixels:.2f}" height="{float(found[3]) * scale:.2f}"'
    return svg[: found.end(1)] + size + svg[found.end() :], scale


def _unmeasure(node: Options) -> None:
    """Make the sizes of texts negative, of which no slow measure is taken; nothing here depends on it."""
    for layer in node.get("layer", ()):
        _unmeasure(layer)
    mark = node.get("mark")
    if isinstance(mark, dict) and mark["type"] == "text":
        mark["fontSize"] *= -1
