"""The screen of agreement: pairs, annotators, what they differ in, and what chance explains."""

from __future__ import annotations

from spanwise.document.dataset import Agreement, DisagreementExample, PairMean
from spanwise.reports import _wording as say
from spanwise.reports.terminal._frame import banner
from spanwise.reports.terminal._layout import (
    Cell,
    Column,
    Line,
    and_more,
    bar,
    flow,
    grid,
    heading,
    sentence,
    text,
)

# Symmetric words: in a pair nobody is gold and nobody is wrong.
KINDS = {
    "LE": "same span, other label",
    "BE": "same label, other boundary",
    "LBE": "overlapping, other label",
    "alone": "marked by one alone",
}
_MOST_PAIRS = 15
_MOST_LABELS = 12
_MOST_EXAMPLES = 3


def lines(document: Agreement, width: int) -> list[Line]:
    """All sections, the answer first."""
    return [
        *banner(document, None),
        *_files(document, width),
        *_overview(document, width),
        *_annotators(document, width),
        *_pairs(document, width),
        *_labels(document, width),
        *_kinds(document, width),
        *_chance(document, width),
        *_majority(document, width),
        *_examples(document, width),
    ]


def _files(document: Agreement, width: int) -> list[Line]:
    parts = [
        text(say.plural(len(document.annotators), "annotator")),
        text(f"{say.plural(document.documents, 'document')} shared by two or more"),
        text(f"positions in {document.unit}s"),
    ]
    result = flow(parts, width)
    for note in document.notes:
        first, *rest = sentence(note, width, indent=3)
        result += [[(" ! ", "warn"), *first[1:]], *rest]
    return result


def _mean(mean: PairMean) -> str:
    spread = "" if mean.std is None else f" ± {say.points(mean.std)}"
    return f"{say.points(mean.f1)}{spread}"


def _overview(document: Agreement, width: int) -> list[Line]:
    mean = document.mean
    rows: list[list[Cell]] = [
        [text("the same span and label", "strong"), text(_mean(mean.overall), "score")],
        ["the same span, any label", _mean(mean.spans)],
        ["near misses credited by half (fair)", _mean(mean.fair)],
    ]
    shares = [pair.on_equal_spans for pair in document.pairs if pair.on_equal_spans.share is not None]
    if shares:
        equal, spans = sum(one.equal for one in shares), sum(one.spans for one in shares)
        rows.append([f"the same label on {say.plural(spans, 'equal span')} of all pairs",
                     say.points(equal / spans) if spans else say.UNDEFINED])  # fmt: skip
    note = f"mean ± standard deviation over {say.plural(mean.overall.pairs, 'pair')}"
    return [
        *heading("How often two annotators agree (F1)", note, width),
        *grid([Column(), Column()], rows, width),
    ]


def _annotators(document: Agreement, width: int) -> list[Line]:
    rows: list[list[Cell]] = [
        [
            text(row.annotator, "strong"),
            say.count(row.mentions),
            say.points(row.mean_f1),
            text(say.points(row.others_f1), "score"),
            bar(row.others_f1 or 0.0),
            text(f"{len(row.missing):,} documents missing" if row.missing else "", "faint"),
        ]
        for row in document.ranking
    ]
    columns = [
        Column(""), Column("mentions", right=True), Column("with each other", right=True),
        Column("with majority of the others", right=True), Column(most=20, least=6, rank=2), Column(rank=1),
    ]  # fmt: skip
    result = [*heading("Annotators", "F1, in points", width), *grid(columns, rows, width)]
    result += _ceiling(document, width)
    return result


def _ceiling(document: Agreement, width: int) -> list[Line]:
    top = document.ceiling
    rows: list[list[Cell]] = [
        [
            text("human ceiling", "strong"),
            text(say.points(top.mean), "score"),
            _interval(top.interval.get("mean")),
        ]
    ]
    rows += [
        [text(name), say.points(one.f1), _interval(one.interval.get("f1"))]
        for name, one in document.systems.items()
    ]
    note = "against the majority of the others; systems against the same majorities"
    columns = [Column(), Column("F1", right=True), Column("95 %")]
    return [*heading("Human ceiling", note, width), *grid(columns, rows, width)]


def _interval(found: tuple[float | None, float | None] | None) -> str:
    return "" if found is None else f"{say.points(found[0])} – {say.points(found[1])}"


def _pairs(document: Agreement, width: int) -> list[Line]:
    if len(document.pairs) < 2:
        return []
    ranked = sorted(document.pairs, key=lambda pair: (pair.overall.f1 is None, pair.overall.f1 or 0))
    cells: list[list[Cell]] = [
        [
            text(" – ".join(pair.annotators)),
            say.points(pair.overall.f1),
            say.points(pair.spans.f1),
            say.points(pair.on_equal_spans.share),
            _decimal(pair.on_equal_spans.kappa),
            say.count(pair.overall.both),
            say.count(pair.overall.first),
            say.count(pair.overall.second),
        ]
        for pair in ranked[:_MOST_PAIRS]
    ]
    columns = [
        Column("pair", least=12), Column("F1", right=True), Column("spans", right=True),
        Column("labels", right=True), Column("κ of labels", right=True, rank=1),
        Column("both", right=True, rank=2), Column("first", right=True, rank=2),
        Column("second", right=True, rank=2),
    ]  # fmt: skip
    return [
        *heading("Pairs", "the least agreement first", width),
        *grid(columns, cells, width),
        *and_more(len(ranked) - _MOST_PAIRS, width, "pairs"),
    ]


def _labels(document: Agreement, width: int) -> list[Line]:
    found = sorted(document.mean.labels.items(), key=lambda pair: (pair[1].f1 is None, pair[1].f1 or 0))
    cells: list[list[Cell]] = [
        [text(name), _mean(mean), _decimal(document.alpha_u.labels.get(name))]
        for name, mean in found[:_MOST_LABELS]
    ]
    columns = [Column("label"), Column("F1", right=True), Column("α_u", right=True)]
    return [
        *heading("Labels", "the least agreement first", width),
        *grid(columns, cells, width),
        *and_more(len(found) - _MOST_LABELS, width, "labels"),
    ]


def _kinds(document: Agreement, width: int) -> list[Line]:
    counts = document.disagreement
    named = {kind: counts.get(kind, 0) for kind in ("LE", "BE", "LBE")}
    named["alone"] = counts.get("FN", 0) + counts.get("FP", 0)
    whole = sum(named.values())
    if not whole:
        return []
    rows: list[list[Cell]] = [
        [text(KINDS[kind]), say.count(number), say.percent(number / whole), bar(number / whole)]
        for kind, number in sorted(named.items(), key=lambda pair: -pair[1])
    ]
    columns = [Column(), Column(right=True), Column(right=True), Column(most=24, least=6, rank=1)]
    note = "over ordered pairs, so that each is counted from both sides"
    return [*heading("What they differ in", note, width), *grid(columns, rows, width)]


def _chance(document: Agreement, width: int) -> list[Line]:
    tokens, units = document.tokens, document.alpha_u
    kappas = [row.kappa for row in tokens.cohen if row.kappa is not None]
    rows: list[list[Cell]] = [
        [
            "α_u: where mentions begin and end",
            text(_decimal(units.all), "score"),
            text(units.why or "", "faint"),
        ],
        [
            "α over tokens that anyone marked",
            text(_decimal(tokens.alpha_marked)),
            text(tokens.why or "", "faint"),
        ],
        ["α over all tokens", _decimal(tokens.alpha), _outside(tokens.outside)],
        ["Fleiss' κ over all tokens", _decimal(tokens.fleiss), ""],
    ]
    if kappas:
        rows.append(["Cohen's κ over all tokens, mean of pairs", _decimal(sum(kappas) / len(kappas)), ""])
    if document.gamma is not None:
        values = [value for value in document.gamma.values() if value is not None]
        rows.append(["γ, mean of documents", _decimal(sum(values) / len(values) if values else None), ""])
    return [*heading("Beyond chance", "1 is perfect, 0 is chance", width),
            *grid([Column(), Column(right=True), Column(rank=1, least=10)], rows, width)]  # fmt: skip


def _outside(share: float | None) -> Line:
    if share is None:
        return []
    return text(f"{say.percent(share)} of token labels are O, which dominates it", "faint")


def _decimal(value: float | None) -> str:
    return say.UNDEFINED if value is None else f"{value:.3f}".replace("-", say.MINUS)


def _majority(document: Agreement, width: int) -> list[Line]:
    found = document.majority
    words = (
        f"{say.plural(found.accepted, 'mention')} with {found.rule} of the votes, "
        f"{found.unanimous:,} of them marked by all; {found.tied:,} tied, {found.rejected:,} with fewer."
    )
    return [*heading("Majority", "", width), *sentence(words, width)]


def _examples(document: Agreement, width: int) -> list[Line]:
    if not document.sentences:
        return []
    result = heading("Sentences", "the most mentions that not all marked", width)
    for example in document.sentences[:_MOST_EXAMPLES]:
        result += [*sentence(" ".join(example.text), width), *_side_by_side(example, width), []]
    return result[:-1]


def _side_by_side(example: DisagreementExample, width: int) -> list[Line]:
    rows: list[list[Cell]] = []
    whole = len(example.annotators)
    for mention in example.mentions:
        if len(mention.annotators) == whole:
            continue
        words = (
            example.text[0][mention.start : mention.end]
            if len(example.text) == 1 and mention.end > 1
            else " ".join(example.text[mention.start : mention.end])
        )
        rows.append([text(mention.label, "mark"), text(words), text(", ".join(mention.annotators), "faint")])
    return grid([Column(), Column(least=12), Column(least=12)], rows, width, indent=4)
