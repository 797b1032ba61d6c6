"""Charts as files: drawn as SVG by vl-convert, then converted to PDF and PNG, always the same bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import altair as alt
import vl_convert

from spanwise.engines import check_room_for_drawing
from spanwise.reports._charts.marks import Options, unmeasured

_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
_RESOURCES = re.compile(rb"(?:\n */[A-Za-z]+\d+ \d+ 0 R(?=\n)){2,}")


def in_order(pdf: bytes) -> bytes:
    """The file with its objects in the order in which they are reachable from its trailer.

    The converter writes fonts, and lists the resources of a page, in an order that depends on a hash
    and changes with every run; the objects themselves are always the same. A file without a plain
    cross-reference table, as other versions of the converter may write, is returned unchanged.
    """
    if b"\nxref\n" not in pdf or b"\ntrailer\n" not in pdf:
        return pdf
    table = int(pdf[pdf.rindex(b"startxref") :].split()[1])
    trailer = pdf[pdf.index(b"trailer", table) : pdf.rindex(b"startxref")]
    starts = sorted(int(offset) for offset in re.findall(rb"(\d{10}) \d{5} n", pdf[table:]))
    objects = {}
    for start, end in zip(starts, [*starts[1:], table], strict=True):
        number, _, body = pdf[start:end].partition(b" 0 obj")
        head, stream, data = body.partition(b"\nstream\n")
        objects[int(number)] = (_RESOURCES.sub(_sorted, head), stream + data)
    numbers = {old: new for new, old in enumerate(_met(trailer, objects), start=1)}
    written = pdf[: starts[0]]
    offsets = []
    for old, new in numbers.items():
        head, data = objects[old]
        offsets.append(len(written))
        written += b"%d 0 obj" % new + _renumbered(head, numbers) + data
    lines = [b"0000000000 65535 f\r\n", *(b"%010d 00000 n\r\n" % offset for offset in offsets)]
    ending = re.sub(rb"/Size \d+", b"/Size %d" % len(lines), _renumbered(trailer, numbers))
    listed = b"xref\n0 %d\n" % len(lines) + b"".join(lines)
    return written + listed + ending + b"startxref\n%d\n%%%%EOF" % len(written)


def _sorted(match: re.Match[bytes]) -> bytes:
    return b"\n" + b"\n".join(sorted(match[0][1:].split(b"\n")))


def _met(trailer: bytes, objects: dict[int, tuple[bytes, bytes]]) -> dict[int, None]:
    """The numbers of the objects, in the order in which references lead to them."""
    met: dict[int, None] = {}
    waiting = _references(trailer)
    while waiting:
        number = waiting.pop()
        if number not in met:
            met[number] = None
            waiting += _references(objects[number][0])
    return met


def _references(text: bytes) -> list[int]:
    return [int(number) for number in reversed(_REFERENCE.findall(text))]


def _renumbered(text: bytes, numbers: dict[int, int]) -> bytes:
    return _REFERENCE.sub(lambda match: b"%d 0 R" % numbers[int(match[1])], text)


PIXELS = 3  # per point in a PNG, enough for print at the width of a column
_NEGATIVE = re.compile(r'(<text[^>]*? font-size=")-')


def convert(
    chart: alt.LayerChart, formats: Sequence[str], *, width: float | None = None
) -> dict[str, bytes | str]:
    """The chart in each format: the text of an SVG, the bytes of a PDF or PNG.

    Args:
        width: in points, for a figure of this width in print; by default, that of the page.
    """
    check_room_for_drawing()
    specification = chart.to_dict()
    specification["config"] = unmeasured(specification["config"])
    _unmeasure(specification)
    svg: str = _NEGATIVE.sub(r"\1", vl_convert.vegalite_to_svg(specification)) + "\n"
    scale = float(PIXELS)
    printed = svg
    if width is not None:
        printed, _ = _scaled(svg, width)  # the converter turns each pixel into one point of the PDF
        svg, shrunk = _scaled(svg, width * 4 / 3)  # a point is 4/3 of a pixel
        scale = PIXELS / min(shrunk, 1.0)  # as sharp as before
    converted: dict[str, bytes | str] = {}
    for form in formats:
        if form == "svg":
            converted[form] = svg
        elif form == "pdf":
            converted[form] = in_order(bytes(vl_convert.svg_to_pdf(printed)))
        else:
            converted[form] = bytes(vl_convert.svg_to_png(svg, scale=scale))
    return converted


_SIZE = re.compile(r'(<svg[^>]*?) width="([0-9.]+)" height="([0-9.]+)"')


def _scaled(svg: str, pixels: float) -> tuple[str, float]:
    """The drawing scaled to another width, and the scale."""
    match = _SIZE.search(svg)
    assert match is not None
    scale = pixels / float(match[2])
    size = f' width="{pixels:.2f}" height="{float(match[3]) * scale:.2f}"'
    return svg[: match.end(1)] + size + svg[match.end() :], scale


def _unmeasure(node: Options) -> None:
    """Negate font sizes, so that texts are not measured, which is slow and has no effect here."""
    for layer in node.get("layer", ()):
        _unmeasure(layer)
    mark = node.get("mark")
    if isinstance(mark, dict) and mark["type"] == "text":
        mark["fontSize"] *= -1
