"""Charts as files, drawn by vl-convert."""

from __future__ import annotations

from typing import Any

import vl_convert

PIXELS = 3  # a PNG has this many a point, enough for print at the width of a column


def convert(chart: Any, form: str) -> bytes | str:
    """The chart as the text of an SVG, or the bytes of a PDF or PNG."""
    specification = chart.to_dict()
    if form == "svg":
        drawn: str = vl_convert.vegalite_to_svg(specification)
        return drawn + "\n"
    if form == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(specification))
    return bytes(vl_convert.vegalite_to_png(specification, scale=PIXELS))
