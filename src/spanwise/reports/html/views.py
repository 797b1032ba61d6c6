"""Template values of the page of any view: its words, tables and charts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from markupsafe import Markup, escape
from msgspec import Struct
from msgspec.structs import replace

from spanwise.document import Document
from spanwise.document.agreement import Agreement
from spanwise.document.confidence import Confidence
from spanwise.document.leaks import Leaks
from spanwise.document.planning import LearningCurve, PlanDocument
from spanwise.reports._charts import PAGE, SERIES, Style, axis_range
from spanwise.reports._charts.marks import Drawing
from spanwise.views import Section, view
from spanwise.views.cells import (
    ArcQuote,
    Cell,
    Chart,
    Clause,
    Flow,
    Grid,
    MarkedText,
    NamedNumbers,
    Number,
    Paragraphs,
    Phrase,
    Phrases,
    PromptQuote,
    Quote,
    QuotePiece,
    ShareBar,
    Strip,
    StripAxis,
    text_of,
)
from spanwise.views.confidence import CHARTS as KINDS
from spanwise.views.inputs import files
from spanwise.views.wording import base_name, visible

WIDE = 6  # a table with more columns takes the whole width of the page
LONG = 24  # characters; sections with longer titles are not in the navigation
WRAPPED = 20  # characters; longer texts in tables are broken into lines
WIDTHS = {"a4": 4, "a6": 6, "a7": 8, "wide12": 12}  # in twelfths of the page
FULL = "wide12"
QUOTED = 3  # sentences that an open card shows before the others are asked for
BROAD = 440  # the widest chart that a third of the page shows
OPENED = 5  # cards that a page opens with; the others are folded


class Card(Struct, frozen=True):
    """A section as a card: its width, its parts as markup, and what follows without a title of its own."""

    section: Section
    title: Markup
    width: str
    parts: list[Markup]
    more: list[Markup]  # sentences beyond the first, which are folded in an open card


class CardGroup(Struct, frozen=True):
    """Cards under one title, or without one."""

    title: str
    cards: list[Card]

    @property
    def said(self) -> str:
        """What is in it, for the line that opens it."""
        titles = [str(card.section.title) for card in self.cards]
        return ", ".join(visible(title) for title in titles[:3]) + (", …" if len(titles) > 3 else "")


def view_parts(document: Document) -> dict[str, object]:
    """The values that the template of views needs."""
    shown = view(document)
    cards = cards_of(shown.on("page"), _charts(document), shown.systems)
    last = cards_of([files(shown.inputs)] if shown.inputs else [], {}, ())
    opened, rest = _opened(_grouped(cards))
    places: dict[str, str] = {}  # of several sections with one title, the first
    for card in [*cards, *last]:
        title = card.section.group or str(card.section.title)
        if len(title) <= LONG:
            places.setdefault(title, card.section.name)
    return {
        "template": "view.html.jinja",
        "title": shown.title,
        "data": None,
        "view": shown,
        "about": isolated(shown.about),
        "verdict": isolated(shown.verdict),
        "statements": [isolated(text) for text in shown.statements],
        "opened": opened,
        "rest": [*rest, *_grouped(last)],
        "places": places,
    }


def cards_of(sections: Iterable[Section], charts: Mapping[str, Markup], systems: Sequence[str]) -> list[Card]:
    """The sections as cards; one without a title continues the card before it."""
    cards: list[Card] = []
    for section in sections:
        if section.title or not cards:
            cards.append(Card(section, isolated(section.title), _width(section, charts), [], []))
        quoted = 0
        for block in section.blocks:
            drawn = _block(block, section, charts, systems)
            if drawn:
                quoted += isinstance(block, Quote | ArcQuote | PromptQuote)
                (cards[-1].more if quoted > QUOTED else cards[-1].parts).append(drawn)
        if not cards[-1].parts:
            cards.pop()
    return _filled(cards)


def _grouped(cards: Iterable[Card]) -> list[CardGroup]:
    """The cards in their order, each group of sections together."""
    return [
        CardGroup(title, list(members)) for title, members in groupby(cards, lambda card: card.section.group)
    ]


def _opened(groups: Iterable[CardGroup]) -> tuple[list[CardGroup], list[CardGroup]]:
    """What a page opens with, its first cards or a whole group, and what is folded."""
    opened: list[CardGroup] = []
    rest: list[CardGroup] = []
    room = OPENED
    for title, cards in ((group.title, group.cards) for group in groups):
        kept = cards[:room]
        if title and len(kept) < len(cards):
            kept = cards if room == OPENED else []
        if kept:
            opened.append(CardGroup(title, _filled(kept)))
        if left := cards[len(kept) :]:
            rest.append(CardGroup(title, left))
        room = 0 if left else max(room - len(kept), 0)
    return opened, rest


def drawn(section: Section) -> Markup:
    """What a section shows, without a card around it."""
    return Markup("\n").join(
        part for card in cards_of([section], {}, ()) for part in (*card.parts, *card.more)
    )


def _filled(cards: Sequence[Card]) -> list[Card]:
    """The cards, with the last one of each row widened until the row is full."""
    filled: list[Card] = []
    group, left = "", 0
    for card in cards:
        size = WIDTHS[card.width]
        if filled and left and (size > left or card.section.group != group):
            filled[-1] = _widened(filled[-1], left)
            left = 0
        group, left = card.section.group, (left or WIDTHS[FULL]) - size
        filled.append(card)
    return [*filled[:-1], _widened(filled[-1], left)] if left else filled


def _widened(card: Card, by: int) -> Card:
    size = min(WIDTHS[card.width] + by, WIDTHS[FULL])
    return replace(card, width=next(name for name, own in WIDTHS.items() if own == size))


def isolated(words: Clause) -> Markup:
    """The words as markup, in which names cannot change the direction of the text around them."""
    names = [Markup("<bdi>{}</bdi>").format(visible(name)) for name in words.names]
    return Markup(escape(visible(words.text))).format(*names)


def _width(section: Section, charts: Mapping[str, Markup]) -> str:
    tables = [block for block in section.blocks if isinstance(block, Grid)]
    columns = max((len(table.columns) for table in tables), default=0)
    quotes = any(isinstance(block, Quote | ArcQuote | PromptQuote) for block in section.blocks)
    quotes |= any(table.sifted for table in tables)
    quotes |= any(isinstance(cell, MarkedText) for table in tables for row in table.rows for cell in row)
    drawn = [charts.get(block.name, "") for block in section.blocks if isinstance(block, Chart)]
    if len(drawn) == len(section.blocks):
        return "a6" if any(map(_is_broad, drawn)) else "a4"
    return FULL if columns > WIDE or quotes else "a6"


def _is_broad(chart: str) -> bool:
    """Whether a chart would be drawn so small in a third of the page that its words could not be read."""
    size = re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+)', chart)
    return size is not None and float(size[1]) > BROAD


def _block(
    block: object, section: Section, charts: Mapping[str, Markup], systems: Sequence[str]
) -> Markup | None:
    match block:
        case Grid():
            return _grid(block, section) if block.rows and "page" in block.on else None
        case Paragraphs(style="command"):
            lines = [Markup("<p><code>{}</code></p>").format(isolated(text)) for text in block.texts]
            return Markup("\n").join(lines)
        case Paragraphs(style="strong"):
            lines = [Markup("<p><b>{}</b></p>").format(isolated(text)) for text in block.texts]
            return Markup("\n").join(lines)
        case Paragraphs():
            opening = Markup('<p class="note">' if block.style == "faint" else "<p>")
            return Markup("\n").join(opening + isolated(text) + Markup("</p>") for text in block.texts)
        case Flow():
            parts = (Markup("").join(map(_cell, part)) for part in block.parts)
            return Markup("<p>{}</p>").format(escape(block.join).join(parts))
        case Chart():
            drawn = charts.get(block.name)
            if drawn is None:
                return None
            label = visible(str(section.title) or block.name)
            broad = Markup(' broad scroll" tabindex="0" role="region" aria-label="{}').format(label)
            return Markup('<div class="chart{}">{}</div>{}').format(
                broad if _is_broad(drawn) else "", drawn, _key(systems) if block.key else ""
            )
        case Quote():
            return _quote(block)
        case PromptQuote():
            return _exchange(block)
        case ArcQuote():
            from spanwise.reports.html.arcs import arc_quote

            return arc_quote(block)
        case _:
            return None


def _key(systems: Sequence[str]) -> Markup:
    spans = [
        Markup('<span class="k{}"><bdi>{}</bdi></span> ').format(at, visible(name))
        for at, name in enumerate(systems[:SERIES])
    ]
    return Markup('<p class="key">') + Markup("").join(spans) + Markup("</p>")


# ---- tables ----------------------------------------------------------------------------------------


def _grid(table: Grid, section: Section) -> Markup:
    """A table; if it is sifted, under buttons for the kinds of its rows and a field for words."""
    drawn = _table(table.shown_on("page"), section)
    if not table.sifted:
        return drawn
    kinds = Counter(text_of(row[0]) for row in table.rows)
    button = Markup('<button type="button" data-only="{0}" aria-pressed="false">{0} {1}</button>')
    buttons = Markup("").join(button.format(kind, f"{number:,}") for kind, number in kinds.items())
    return Markup(
        '<div class="sifted"><div class="pills kinds" role="group" aria-label="Kinds of rows">'
        '<button type="button" data-only="" aria-pressed="true">all</button>{}'
        '<label><span class="hide">Row contains</span><input type="search" data-search placeholder="words">'
        "</label></div>{}</div>"
    ).format(buttons, drawn)


def _table(table: Grid, section: Section) -> Markup:
    right = [column.right for column in table.columns]
    drawn = [any(isinstance(row[at], ShareBar | Strip) for row in table.rows) for at in range(len(right))]
    head = Markup("").join(
        _tag("th", _title(column.title, bar), "track" if bar else "r" if number else "")
        for column, number, bar in zip(table.columns, right, drawn, strict=True)
    )
    lead = next((at for at, number in enumerate(right) if not number), 0)  # the column that names a row
    rows = Markup("\n").join(
        (Markup('<tr data-kind="{}">').format(text_of(row[0])) if table.sifted else Markup("<tr>"))
        + Markup("").join(
            _tag(
                "th" if at == lead else "td",
                _cell(cell, table.columns[at].axis),
                _kind(cell, right[at]),
                at == lead,
            )
            for at, cell in enumerate(row)
        )
        + Markup("</tr>")
        for row in table.rows
    )
    titled = any(column.title for column in table.columns)
    label = visible(str(section.title) or section.name)
    return Markup(
        '<div class="scroll" tabindex="0" role="region" aria-label="{}"><table>{}<tbody>\n{}\n'
        "</tbody></table></div>"
    ).format(label, Markup("<thead><tr>{}</tr></thead>").format(head) if titled else "", rows)


def _title(title: str, bar: bool) -> Markup:
    """The title of a column; one that needs none on the page has one for those who hear it."""
    unseen = Markup('<span class="hide">{}</span>').format("drawn" if bar else "what")
    return escape(visible(title)) if title else unseen


def _tag(name: str, content: Markup, kind: str, scope: bool = False) -> Markup:
    attributes = Markup(' scope="row"') if scope else Markup("")
    if kind:
        attributes += Markup(' class="{}"').format(kind)
    return Markup("<{0}{1}>{2}</{0}>").format(name, attributes, content)


def _kind(cell: Cell, right: bool) -> str:
    if isinstance(cell, ShareBar | Strip):
        return "track"
    if isinstance(cell, MarkedText):
        return "wrapped quoted"
    return "r" if right else "wrapped" if len(text_of(cell)) > WRAPPED else ""


def _strip(strip: Strip, axis: StripAxis) -> Markup:
    """A score and its interval on the axis of the column."""
    low, high = axis_range([100 * value for value in axis.reach])
    place = [
        None if value is None else round(100 * (min(max(100 * value, low), high) - low) / (high - low), 2)
        for value in (*(strip.ends or (None, None)), strip.value)
    ]
    left, right, dot = place
    drawn = Markup("")
    if axis.mark is not None:
        at = round(100 * (100 * axis.mark - low) / (high - low), 2)
        drawn += Markup('<rect class="mark" x="{}" y="0" width="0.6" height="10"/>').format(at)
    if left is not None and right is not None:
        band = '<rect class="band" x="{}" y="2" width="{}" height="6"/>'
        drawn += Markup(band).format(left, round(right - left, 2))
    if dot is not None:
        drawn += Markup('<rect class="full" x="{}" y="0" width="1.4" height="10"/>').format(dot - 0.7)
    return Markup('<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{}</svg>').format(
        drawn
    )


def _cell(cell: Cell, axis: StripAxis | None = None) -> Markup:
    if isinstance(cell, Strip):
        return _strip(cell, axis or StripAxis((0.0, 1.0)))
    if isinstance(cell, ShareBar):
        return Markup(
            '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
            '<rect class="rail" x="0" y="1" width="100" height="8"/>'
            '<rect class="full" x="0" y="1" width="{}" height="8"/></svg>'
        ).format(round(100 * cell.share, 2))
    if isinstance(cell, NamedNumbers):
        pairs = [
            Markup('<span class="chip">{} {}</span>').format(visible(name), text) for name, text in cell.pairs
        ]
        return Markup(" ").join(pairs)
    if isinstance(cell, MarkedText):
        source = Markup('<br><small class="source">{}</small>').format(visible(base_name(cell.source)))
        return Markup("<bdi>{}</bdi>{}").format(_pieces(cell.pieces), source if cell.source else "")
    if isinstance(cell, Phrases):
        return escape(cell.caution) + Markup("").join(map(_cell, cell.parts))
    text = escape(visible(text_of(cell)))
    if isinstance(cell, Number):
        letters = Markup("<sup>{}</sup>").format(cell.letters) if cell.letters else ""
        bold = cell.best or cell.style in ("strong", "score")
        return (Markup("<b>{}</b>{}") if bold else Markup("{}{}")).format(text, letters)
    style = "" if isinstance(cell, str) else cell.style
    isolate = Markup("<bdi>{}</bdi>").format(text) if text else text
    if isinstance(cell, Phrase) and cell.link:
        isolate = Markup('<a class="n" href="{}">{}</a>').format(cell.link, isolate)
    if style in ("strong", "score"):
        return Markup("<b>{}</b>").format(isolate)
    return Markup('<span class="muted">{}</span>').format(isolate) if style == "faint" and text else isolate


# ---- quoted sentences ------------------------------------------------------------------------------


def _quote(quote: Quote) -> Markup:
    chips = Markup(" ").join(
        Markup('<span class="chip">{}</span>').format(visible(chip)) for chip in quote.chips
    )
    rows = Markup("").join(_reading(side, pieces) for side, pieces in quote.readings)
    said = Markup("<p>{}</p>").format(visible(quote.evidence)) if quote.evidence else ""
    about = Markup('<p class="about"><bdi>{}</bdi> {}</p>').format(visible(base_name(quote.source)), chips)
    return Markup('<div class="leaking">{}{}{}</div>').format(about if quote.source else "", rows, said)


def _reading(side: str, pieces: Sequence[QuotePiece]) -> Markup:
    lead = Markup("<small>{}</small> ").format(visible(side)) if side else ""
    return Markup('<p dir="auto">{}{}</p>').format(lead, _pieces(pieces))


def _pieces(pieces: Sequence[QuotePiece]) -> Markup:
    drawn = Markup("")
    for piece in pieces:
        words = escape(visible(piece.text.rstrip(" ")))
        blank = " " if piece.text.endswith(" ") else ""
        label = Markup(" <small>{}</small>").format(visible(piece.label)) if piece.label else ""
        if piece.state == "mention":
            drawn += Markup("<mark>{}</mark>{}{}").format(words, label, blank)
        elif piece.state:
            drawn += Markup('<span class="leak {}">{}{}</span>{}').format(piece.state, words, label, blank)
        else:
            drawn += words + blank
    return drawn


def _exchange(case: PromptQuote) -> Markup:
    outcomes = Markup("").join(
        Markup('<li><bdi>{}</bdi> <small>{}</small> <span class="chip">{}</span></li>').format(
            visible(text), visible(label), outcome
        )
        for text, label, outcome in case.outcomes
    )
    return Markup(
        '<details class="case"{}><summary><bdi>{}</bdi> <span class="chip">{}</span> '
        '<span class="muted" dir="auto">{}</span></summary>'
        '<div class="exchange"><div><h3>Prompt</h3><pre dir="auto">{}</pre></div>'
        '<div><h3>Answer</h3><pre dir="auto">{}</pre></div>'
        '<div><h3>Placement</h3><p dir="auto">{}</p>{}</div></div></details>'
    ).format(
        Markup(" open") if case.unfolded else "", visible(case.source), visible(case.status),
        visible(case.about), _visible_lines(case.asked), _visible_lines(case.answered),
        _pieces(case.pieces), Markup("<ul>{}</ul>").format(outcomes) if outcomes else "",
    )  # fmt: skip


def _visible_lines(text: str) -> str:
    return "\n".join(map(visible, text.splitlines()))


# ---- charts ----------------------------------------------------------------------------------------


def _leaks(document: Document) -> list[Drawing]:
    from spanwise.reports._charts import analyses

    assert isinstance(document, Leaks)
    return analyses.leak_drawings(document, Style(PAGE))


def _confidence(document: Document) -> list[Drawing]:
    from spanwise.reports._charts import analyses

    assert isinstance(document, Confidence)
    # Names on the page must not depend on the names of systems.
    place = {f"{kind}-{name}": f"{kind}-{at}" for at, name in enumerate(document.systems) for kind in KINDS}
    drawings = analyses.confidence_drawings(document, Style(PAGE))
    return [replace(drawing, name=place[drawing.name]) for drawing in drawings]


def _plan(document: Document) -> list[Drawing]:
    from spanwise.reports._charts import planning

    assert isinstance(document, PlanDocument)
    return planning.plan_drawings(document, Style(PAGE))


def _curve(document: Document) -> list[Drawing]:
    from spanwise.reports._charts import planning

    assert isinstance(document, LearningCurve)
    return planning.curve_drawings(document, Style(PAGE))


def _agreement(document: Document) -> list[Drawing]:
    from spanwise.reports._charts import analyses

    assert isinstance(document, Agreement)
    return analyses.agreement_page(document, Style(PAGE))


CHARTS: dict[str, Callable[[Document], list[Drawing]]] = {
    "agreement": _agreement,
    "confidence": _confidence,
    "curve": _curve,
    "leaks": _leaks,
    "plan": _plan,
}


def _charts(document: Document) -> dict[str, Markup]:
    if document.kind not in CHARTS:
        return {}
    from spanwise.reports._charts.svg import svg

    drawn = svg(CHARTS[document.kind](document))
    return {name: Markup(text) for name, text in drawn.items()}
