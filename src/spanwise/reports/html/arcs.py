"""Sentences drawn with spans and arcs as SVG, line by line: gold above the words, a system below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from unicodedata import east_asian_width

from markupsafe import Markup

from spanwise.reports._charts import width_of
from spanwise.streams import visible
from spanwise.views.cells import Arc, ArcQuote, ArcSide

_WORD = 14.5  # the sizes of words and of labels, which are bold, as `width_of` takes them
_LABEL = 14.0
_PAD = 6.4
_BLANK = 7.0
_BOX = 17.0  # the height of a span
_STEP = 22.0  # between levels of arcs
_MARGIN = 8.0
_LINE = 740.0  # the width at which a line ends
_STOPS = frozenset(".!?。！？")
_BEFORE, _AFTER = -1, -2  # ends of arcs on a line before, or after


def arc_quote(quote: ArcQuote) -> Markup:
    """A sentence with its arcs, and what each arc of the system is, in words."""
    remarks = Markup("").join(
        Markup('<li><span class="sign {}">{}</span> <b><bdi>{}</bdi></b> <bdi>{}</bdi></li>').format(
            "splus" if right else "sminus", "✓" if right else "✗", visible(what), visible(how)
        )
        for right, what, how in quote.remarks
    )
    return Markup(
        '<div class="leaking arcs"><p class="about"><bdi>{}</bdi></p>'
        '<div class="scroll" tabindex="0" role="region" aria-label="{}">{}</div>'
        "<ul>{}</ul></div>"
    ).format(
        visible(quote.source), visible(" ".join(quote.tokens)), Markup("").join(_drawn_lines(quote)), remarks
    )


def _drawn_lines(quote: ArcQuote) -> Iterator[Markup]:
    """The lines with an arc; a note stands for those without one."""
    left_out = 0
    lines = [_line(quote, first, last) for first, last in _lines(quote)]
    for line in [*lines, None]:
        if line is None or line.above.arcs or line.below.arcs:
            if left_out:
                yield Markup('<p class="note">… {} tokens without a tuple …</p>').format(f"{left_out:,}")
            left_out = 0
            if line is not None:
                yield _drawing(line)
        else:
            left_out += len(line.tokens)


def _lines(quote: ArcQuote) -> Iterator[tuple[int, int]]:
    """The first token of each line, and the one after its last: no span is cut; if possible, no sentence."""
    widths = _widths(quote)
    inside = [False] * (len(widths) + 1)
    for side in (quote.above, quote.below):
        for start, end, *_ in side.spans:
            inside[start + 1 : min(end, len(widths))] = [True] * (min(end, len(widths)) - start - 1)
    first = cut = whole = 0  # where the line begins, and where it may end: anywhere, or after a sentence
    width = at_cut = at_whole = 0.0
    for at, own in enumerate(widths):
        if at > first and not inside[at]:
            cut, at_cut = at, width
            if quote.tokens[at - 1] in _STOPS:
                whole, at_whole = at, width
        if width + own > _LINE and cut > first:
            end, before = (whole, at_whole) if at_whole > _LINE / 2 and whole > first else (cut, at_cut)
            yield first, end
            first, width, at_cut, at_whole = end, width - before, at_cut - before, 0.0
        width += own + _BLANK
    if first < len(widths):
        yield first, len(widths)


def _line(quote: ArcQuote, first: int, last: int) -> ArcQuote:
    """A line as a quote of its own; an arc may begin, or end, on another one."""

    def side_of(side: ArcSide) -> ArcSide:
        kept = [number for number, span in enumerate(side.spans) if first <= span[0] < last]
        here = {number: at for at, number in enumerate(kept)}

        def end_of(number: int) -> int:
            return here.get(number, _BEFORE if side.spans[number][0] < first else _AFTER)

        spans = [(start - first, end - first, label, found) for start, end, label, found in side.spans]
        return ArcSide(
            tuple(spans[number] for number in kept),
            tuple(
                Arc(end_of(arc.start), end_of(arc.end), arc.label, arc.right)
                for arc in side.arcs
                if arc.start in here or arc.end in here
            ),
        )

    return ArcQuote(quote.source, quote.tokens[first:last], side_of(quote.above), side_of(quote.below), ())


def _drawing(quote: ArcQuote) -> Markup:
    left, right = _columns(quote)
    above = _levels(quote.above, left, right)
    below = _levels(quote.below, left, right)
    rows = _rows(quote.above), _rows(quote.below)
    top = _MARGIN + _STEP * (max(above, default=-1) + 1) + (_BOX + 2) * (max(rows[0], default=0) + 1)
    base = top + 17
    height = base + 8 + (_BOX + 2) * (max(rows[1], default=0) + 1) + _MARGIN
    height += _STEP * (max(below, default=-1) + 1)
    width = (right[-1] if right else 0) + _MARGIN
    parts = [
        _side(quote.above, left, right, above, rows[0], top, -1),
        *(
            Markup('<text x="{}" y="{}" textLength="{}" lengthAdjust="spacing">{}</text>').format(
                _number(start), _number(base), _number(end - start), visible(token)
            )
            for token, start, end in zip(quote.tokens, left, right, strict=True)
        ),
        _side(quote.below, left, right, below, rows[1], base + 8, 1),
    ]
    return Markup('<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" aria-hidden="true">{2}</svg>').format(
        _number(width), _number(height), Markup("").join(parts)
    )


def _width(text: str, size: float = _WORD) -> float:
    """About how wide a text is."""
    full = sum(east_asian_width(one) in "WF" for one in text)
    narrow = sum(one in "fr" for one in text) + 2 * text.count("I")
    wide = 2 * full + sum(one in "mMW" for one in text)
    return max(width_of(text, size) + 0.2 * size * (wide - narrow), size / 3)


def _small(label: str, more: int) -> float:
    """About how wide a label is, with room for some more characters."""
    return _width(label, _LABEL) + more * _PAD


def _label_at(one: float, other: float, half: float, right: Sequence[float]) -> float:
    """The middle of the label of an arc, which stays within the drawing."""
    return min(max((one + other) / 2, half), max(half, right[-1] + _MARGIN - half))


def _widths(quote: ArcQuote) -> list[float]:
    """The room of each token; tokens under a short span make room for its label."""
    widths = [_width(visible(token)) for token in quote.tokens]
    for side in (quote.above, quote.below):
        for start, end, label, _ in side.spans:
            end = min(end, len(widths))
            needed = _small(label, 4)
            lacking = needed - sum(widths[start:end]) - _BLANK * (end - start - 1)
            if lacking > 0 and end > start:
                widths[end - 1] += lacking
    return widths


def _columns(quote: ArcQuote) -> tuple[list[float], list[float]]:
    """Where each token begins and ends."""
    left, right, at = [], [], _MARGIN
    for width, token in zip(_widths(quote), quote.tokens, strict=True):
        left.append(at)
        right.append(at + _width(visible(token)))
        at += width + _BLANK
    return left, right


def _rows(side: ArcSide) -> list[int]:
    """The row of each span, so that spans that overlap do not cover each other; shorter ones are nearer."""
    rows = [0] * len(side.spans)
    order = sorted(range(len(side.spans)), key=lambda at: side.spans[at][1] - side.spans[at][0])
    placed: list[tuple[int, int, int]] = []
    for at in order:
        start, end = side.spans[at][:2]
        taken = {row for first, last, row in placed if first < end and start < last}
        rows[at] = next(row for row in range(len(placed) + 1) if row not in taken)
        placed.append((start, end, rows[at]))
    return rows


def _middle(side: ArcSide, number: int, left: Sequence[float], right: Sequence[float]) -> float:
    if number < 0:
        return 0.0 if number == _BEFORE else right[-1] + _MARGIN
    start, end = side.spans[number][:2]
    return (left[start] + right[min(end, len(right)) - 1]) / 2


def _ends(side: ArcSide, arc: Arc, left: Sequence[float], right: Sequence[float]) -> tuple[float, float]:
    """Where an arc leaves and arrives; a little beside the middle, so that two arcs do not share a line."""
    one, other = (_middle(side, number, left, right) for number in (arc.start, arc.end))
    turn = 5 if other > one else -5 if other < one else 0
    return one + turn * (arc.start >= 0), other - turn * (arc.end >= 0)


def _worded(arc: Arc, whose: str) -> str:
    mark = "" if whose else "✓" if arc.right else "✗"
    return f"{mark} {arc.label}".strip()


def _levels(side: ArcSide, left: Sequence[float], right: Sequence[float]) -> list[int]:
    """The level of each arc, short ones nearest to the words, so that no two cross a label."""
    levels = [0] * len(side.arcs)
    reach = []
    for arc in side.arcs:
        one, other = sorted(_ends(side, arc, left, right))
        half = _small(arc.label, 4) / 2
        middle = _label_at(one, other, half, right)
        reach.append((min(one, middle - half), max(other, middle + half)))
    placed: list[tuple[float, float, int]] = []
    for at in sorted(range(len(reach)), key=lambda at: reach[at][1] - reach[at][0]):
        low, high = reach[at]
        taken = {level for first, last, level in placed if first < high and low < last}
        levels[at] = next(level for level in range(len(placed) + 1) if level not in taken)
        placed.append((low, high, levels[at]))
    return levels


def _side(
    side: ArcSide,
    left: Sequence[float],
    right: Sequence[float],
    levels: Sequence[int],
    rows: Sequence[int],
    edge: float,
    direction: int,
) -> Markup:
    """The spans and arcs of one side; `edge` is where spans begin, `direction` -1 above the words."""
    parts = []
    depth = (_BOX + 2) * (max(rows, default=0) + 1)
    whose = "gold" if direction < 0 else ""
    for arc, level in zip(side.arcs, levels, strict=True):
        one, other = _ends(side, arc, left, right)
        near = edge + direction * depth
        far = near + direction * (_STEP * (level + 1) - 8)
        kind = whose or ("right" if arc.right else "wrong")
        words = _worded(arc, whose)
        size = _small(words, 1)
        middle = _label_at(one, other, size / 2, right)
        path = f"M{_number(one)} {_number(near)}V{_number(far)}" if arc.start >= 0 else ""
        path = f"{path or f'M{_number(one)} {_number(far)}'}H{_number(other)}"
        path += f"V{_number(near)}" if arc.end >= 0 else ""
        tip = near - direction * 1
        wing = _number(tip + 6 * direction)
        head = f"M{_number(other - 4)} {wing}L{_number(other)} {_number(tip)}L{_number(other + 4)} {wing}z"
        head = head if arc.end >= 0 else ""
        drawn = Markup(
            '<g class="arc {}"><path class="line" d="{}"/><path class="tip" d="{}"/>'
            '<rect x="{}" y="{}" width="{}" height="13"/><text x="{}" y="{}">{}</text></g>'
        )
        parts.append(
            drawn.format(
                kind, path, head, _number(middle - size / 2), _number(far - 6.5), _number(size),
                _number(middle), _number(far + 4), visible(words),
            )
        )  # fmt: skip
    for (start, end, label, found), row in zip(side.spans, rows, strict=True):
        x, last = left[start], right[min(end, len(right)) - 1]
        middle = (x + last) / 2
        half = max(last - x, _small(label, 3)) / 2
        y = edge + direction * (_BOX + 2) * row - (_BOX if direction < 0 else 0)
        kind = whose or ("right" if found else "wrong")
        mark = "" if whose else "✓ " if found else "✗ "
        box = Markup(
            '<g class="span {}"><rect x="{}" y="{}" width="{}" height="{}" rx="3"/>'
            '<text x="{}" y="{}">{}</text></g>'
        )
        parts.append(
            box.format(
                kind, _number(middle - half - 2), _number(y), _number(2 * half + 4), _number(_BOX - 3),
                _number(middle), _number(y + 10.5), visible(f"{mark}{label}"),
            )
        )  # fmt: skip
    return Markup("").join(parts)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
