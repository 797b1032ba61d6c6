"""The view of the agreement of annotators: means, levels, pairs, labels, chance, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET

from spanwise.document.agreement import Agreement, DisagreementExample, PairMean
from spanwise.views import PAGE, PAPER, SCREEN, SHOWN, Remark, Section, View, cells, differing, wording
from spanwise.views.cells import (
    Block,
    Cell,
    Chart,
    Column,
    Grid,
    Paragraphs,
    Phrase,
    Quote,
    ShareBar,
    count,
    decimal,
    interval,
    p_value,
    points,
    signed,
    words,
)
from spanwise.views.differing import lines_of, words_of
from spanwise.views.judging import THESE_ANNOTATORS, bound, level_sentences
from spanwise.views.quotes import marked

# Symmetric wording: in a pair of annotators, neither is gold and neither is wrong.
DISAGREEMENTS = {
    "LE": "same span, other label",
    "BE": "same label, other boundary",
    "LBE": "overlapping, other label",
    "alone": "marked by only one",
}
MOST_PAIRS, MOST_LABELS, MOST_EXAMPLES, MOST_LINES = 15, 12, 3, 4  # on a screen
MOST_HABITS = 3  # of annotators, beside the verdict
MOST_QUOTED = 10  # lines of one long sentence on a page
MOST_ON_PAGE = 24  # lines of sentences on a page


def agreement_view(document: Agreement) -> View:
    """How often two annotators agree, the human level, and who differs from whom and how."""
    annotators = wording.plural(len(document.annotators), "annotator")
    shared = f"{wording.plural(document.documents, 'document')} shared by two or more"
    ends = wording.interval(bound(document.mean.overall.interval, "f1"))
    agreed = f"{_mean(document.mean.overall)}{f' ({ends})' if ends else ''}"
    verdict = cells.literal(f"Two annotators mark the same span with the same label with an F1 of {agreed}.")
    statements = tuple(map(cells.literal, level_sentences(document)))
    habits = differing.findings(document)[:MOST_HABITS]
    answer = Paragraphs((verdict, *statements, *habits))
    return View(
        title="agreement",
        about=cells.literal(f"{annotators}, {shared}"),
        verdict=verdict,
        statements=statements,
        findings=(
            *(Remark(str(words), "") for words in habits),
            *(Remark("Check the data:", note, check=True) for note in document.notes if habits),
        ),
        sections=(
            Section("answer", cells.words(""), (answer,), on=SCREEN),
            _overview(document),
            *_drawn_pairs(document),
            *_papers(document),
            *_drawn_ceiling(document),
            *_levels(document),
            _annotators(document),
            _ceiling(document),
            *_pairs(document),
            _labels(document),
            *_kinds(document),
            *differing.sections(document),
            _chance(document),
            _majority(document),
            *_examples(document),
            *_quoted(document),
        ),
        notes=document.notes,
        facts=(Phrase(annotators), Phrase(shared), Phrase(f"positions in {document.unit}s")),
    )


def _mean(mean: PairMean) -> str:
    spread = "" if mean.std is None else f" ± {wording.points(mean.std)}"
    return f"{wording.points(mean.f1)}{spread}"


def _overview(document: Agreement) -> Section:
    mean = document.mean
    ends = bound(mean.overall.interval, "f1")
    rows: list[list[Cell]] = [
        [
            Phrase("the same span and label", "strong"), Phrase(_mean(mean.overall), "score"),
            wording.interval(ends),
        ],
        ["the same span, any label", _mean(mean.spans), ""],
        ["near misses credited by half (fair)", _mean(mean.fair), ""],
    ]  # fmt: skip
    shares = [pair.on_equal_spans for pair in document.pairs if pair.on_equal_spans.share is not None]
    if shares:
        equal, spans = sum(share.equal for share in shares), sum(share.spans for share in shares)
        title = f"the same label on {wording.plural(spans, 'equal span')} of all pairs"
        rows.append([title, points(equal / spans if spans else None), ""])
    number = mean.overall.pairs
    note = "one pair" if number == 1 else f"mean ± standard deviation over {wording.plural(number, 'pair')}"
    table = Grid([Column(), Column(), Column("95% CI" if ends else "")], rows)
    return Section("overview", words("How often two annotators agree (F1)"), (table,), note, on=SHOWN)


def _levels(document: Agreement) -> Iterator[Section]:
    """The human level and systems beside it; without systems, it is the mean of pairs above."""
    if document.levels is UNSET or not document.levels.systems:
        return
    human = document.levels.human
    rows: list[list[Cell]] = [
        [
            Phrase("human level", "strong"), points(human.f1, "score"), interval(human.interval), "", "", "",
        ]
    ]  # fmt: skip
    rows += [
        [
            name, points(level.f1), interval(level.interval), signed(level.difference),
            interval(level.difference_interval, differs=True), p_value(level.p_corrected),
        ]
        for name, level in document.levels.systems.items()
    ]  # fmt: skip
    columns = [
        Column(), Column("F1", right=True), Column("95% CI", rank=1), Column("difference", right=True),
        Column("95% CI", rank=2), Column("p", right=True),
    ]  # fmt: skip
    sentences = Paragraphs(tuple(map(cells.literal, level_sentences(document))))
    note = "mean F1 of pairs of annotators; of a system with each of them"
    blocks = (Grid(columns, rows), sentences, cells.note(THESE_ANNOTATORS, "faint"))
    yield Section("levels", words("Human level"), blocks, note, on=SHOWN)


def _annotators(document: Agreement) -> Section:
    rows: list[list[Cell]] = [
        [
            Phrase(row.annotator, "strong"), count(row.mentions), points(row.mean_f1),
            points(row.others_f1, "score"), ShareBar(row.others_f1 or 0.0),
            Phrase(f"{len(row.missing):,} documents missing" if row.missing else "", "faint"),
        ]
        for row in document.ranking
    ]  # fmt: skip
    columns = [
        Column(""), Column("mentions", right=True), Column("with each other", right=True),
        Column("with majority of the others", right=True), Column(most=20, least=6, rank=2), Column(rank=1),
    ]  # fmt: skip
    return Section("annotators", words("Annotators"), (Grid(columns, rows),), "F1, in points", on=SHOWN)


def _ceiling(document: Agreement) -> Section:
    top = document.ceiling
    mean = points(top.mean, "score")
    rows: list[list[Cell]] = [
        [Phrase("mean of annotators", "strong"), mean, interval(top.interval.get("mean"))]
    ]
    for name, system in document.systems.items():
        rows.append([name, points(system.f1), interval(system.interval.get("f1"))])
    table = Grid([Column(), Column("F1", right=True), Column("95% CI")], rows)
    title = words("Agreement with the majority of the others")
    return Section("ceiling", title, (table,), "moves with their number", on=SHOWN)


def _drawn_pairs(document: Agreement) -> Iterator[Section]:
    if len(document.pairs) > 1:
        note = "F1 with its interval, least agreement first"
        yield Section("pairs-chart", words("Each pair"), (Chart("pairs"),), note, on=PAGE)


def _drawn_ceiling(document: Agreement) -> Iterator[Section]:
    if len(document.annotators) > 2:
        note = "F1 of each annotator, and their mean" + ("; systems in orange" if document.systems else "")
        title = words("Each against the majority of the others")
        yield Section("ceiling-chart", title, (Chart("ceiling"),), note, on=PAGE)


def _pairs(document: Agreement) -> Iterator[Section]:
    if len(document.pairs) < 2:
        return
    ranked = sorted(document.pairs, key=lambda pair: (pair.overall.f1 is None, pair.overall.f1 or 0))
    rows: list[list[Cell]] = [
        [
            " – ".join(pair.annotators), points(pair.overall.f1), interval(bound(pair.interval, "f1")),
            points(pair.spans.f1), points(pair.on_equal_spans.share), decimal(pair.on_equal_spans.kappa),
            count(pair.overall.both), count(pair.overall.first), count(pair.overall.second),
        ]
        for pair in ranked
    ]  # fmt: skip
    columns = [
        Column("pair", least=12, names=True), Column("F1", right=True), Column("95% CI", rank=1),
        Column("spans", right=True),
        Column("labels", right=True), Column("κ of labels", right=True, rank=1),
        Column("both", right=True, rank=2), Column("first", right=True, rank=2),
        Column("second", right=True, rank=2),
    ]  # fmt: skip
    table = Grid(columns, rows, MOST_PAIRS, "pairs")
    yield Section("pairs", words("Pairs"), (table,), "least agreement first", on=SHOWN)


def _labels(document: Agreement) -> Section:
    labels = sorted(document.mean.labels.items(), key=lambda pair: (pair[1].f1 is None, pair[1].f1 or 0))
    rows: list[list[Cell]] = [
        [name, _mean(mean), decimal(document.alpha_u.labels.get(name))] for name, mean in labels
    ]
    columns = [Column("label"), Column("F1", right=True), Column("α_u", right=True)]
    table = Grid(columns, rows, MOST_LABELS, "labels")
    return Section("labels", words("Labels"), (table,), "least agreement first", on=SHOWN)


def _kinds(document: Agreement) -> Iterator[Section]:
    counts = document.disagreement
    named = {kind: counts.get(kind, 0) for kind in ("LE", "BE", "LBE")}
    named["alone"] = counts.get("FN", 0) + counts.get("FP", 0)
    total = sum(named.values())
    if not total:
        return
    rows: list[list[Cell]] = [
        [DISAGREEMENTS[kind], count(number), cells.percent(number / total), ShareBar(number / total)]
        for kind, number in sorted(named.items(), key=lambda pair: -pair[1])
    ]
    columns = [Column(), Column(right=True), Column(right=True), Column(most=24, least=6, rank=1)]
    note = "over ordered pairs: each counts from both sides"
    yield Section("kinds", words("What they differ in"), (Grid(columns, rows),), note, on=SHOWN)


def _chance(document: Agreement) -> Section:
    tokens, units = document.tokens, document.alpha_u
    rows: list[list[Cell]] = []

    def add(title: str, value: float | None, ends: str = "", why: str = "", style: str = "") -> None:
        rows.append([title, decimal(value, style), ends, Phrase(why, "faint")])

    within = {
        name: _within(bound(tokens.interval, name)) for name in ("alpha_marked", "alpha", "fleiss")
    }  # fmt: skip
    dominated = f"{wording.percent(tokens.outside)} of token labels are O, which dominates it"
    add("α_u: where mentions begin and end", units.all, _within(bound(units.interval, "all")),
        units.why or "", "score")  # fmt: skip
    add("α over tokens that anyone marked", tokens.alpha_marked, within["alpha_marked"], tokens.why or "")
    add("α over all tokens", tokens.alpha, within["alpha"], "" if tokens.outside is None else dominated)
    add("Fleiss' κ over all tokens", tokens.fleiss, within["fleiss"])
    if kappas := [row.kappa for row in tokens.cohen if row.kappa is not None]:
        add("Cohen's κ over all tokens, mean of pairs", sum(kappas) / len(kappas))
    if document.gamma is not None:
        add("γ, mean of documents", _gamma(document))
    shown = any(row[2] for row in rows)
    columns = [Column(), Column(right=True), Column("95% CI" if shown else ""), Column(rank=1, least=10)]
    note = "1 is perfect, 0 is chance"
    return Section("chance", words("Beyond chance"), (Grid(columns, rows),), note, on=SHOWN)


def _gamma(document: Agreement) -> float | None:
    values = [value for value in (document.gamma or {}).values() if value is not None]
    return sum(values) / len(values) if values else None


def _within(ends: tuple[float | None, float | None] | None) -> str:
    return "" if ends is None else f"{decimal(ends[0]).text} to {decimal(ends[1]).text}"


def _majority(document: Agreement) -> Section:
    majority = document.majority
    text = (
        f"{wording.plural(majority.accepted, 'mention')} with {majority.rule} of the votes, "
        f"{majority.unanimous:,} of them marked by all; "
        f"{majority.tied:,} tied, {majority.rejected:,} with fewer."
    )
    return Section("majority", words("Majority"), (cells.note(text),), on=SHOWN)


# ---- sentences -------------------------------------------------------------------------------------


def _examples(document: Agreement) -> Iterator[Section]:
    """The first sentences, with the mentions that only some annotators marked."""
    shown: list[tuple[Block, ...]] = []
    for example in document.sentences[:MOST_EXAMPLES]:
        lines = lines_of(example)
        shown += [
            (cells.note(line.source, "faint"), cells.note(" ".join(line.text)), _disputed(line))
            for line in lines[:MOST_LINES]
        ]  # fmt: skip
        if len(lines) > MOST_LINES:
            left = wording.plural(len(lines) - MOST_LINES, "more line")
            shown.append((cells.note(f"{left} of {example.source}", "faint"),))
    note = "sentences with most disagreement first"
    for at, blocks in enumerate(shown):
        yield Section(f"sentence-{at}", words("" if at else "Sentences"), blocks, note, on=SCREEN)


def _disputed(example: DisagreementExample) -> Grid:
    rows: list[list[Cell]] = [
        [
            Phrase(mention.label, "mark"), words_of(example, mention),
            Phrase(", ".join(mention.annotators), "faint"),
        ]
        for mention in example.mentions
        if len(mention.annotators) < len(example.annotators)
    ]  # fmt: skip
    return Grid([Column(), Column(least=12), Column(least=12)], rows, indent=4)


def _quoted(document: Agreement) -> Iterator[Section]:
    """Every sentence as each annotator marked it."""
    quotes = tuple(
        Quote(
            line.source,
            (),
            tuple(
                (who, marked(line.text, [one for one in line.mentions if who in one.annotators]))
                for who in line.annotators
            ),
        )
        for example in document.sentences
        for line in lines_of(example)[:MOST_QUOTED]
    )
    if quotes:
        cut = f"{MOST_ON_PAGE} of {wording.count(len(quotes))}; --worksheet FILE.csv writes all that are open"
        note = cut if len(quotes) > MOST_ON_PAGE else ""
        title = words("Sentences on which they differ most")
        yield Section("sentences", title, quotes[:MOST_ON_PAGE], note, on=PAGE)


# ---- for papers ------------------------------------------------------------------------------------


def _papers(document: Agreement) -> Iterator[Section]:
    yield _matrix(document)
    yield _pairs_by_every_measure(document)
    if document.levels is not UNSET:
        yield _levels_in_numbers(document)
    yield _against_majority(document)
    rows: list[tuple[Cell, ...]] = [
        (
            name, points(mean.f1), points(mean.std), count(mean.pairs),
            decimal(document.alpha_u.labels.get(name)),
        )
        for name, mean in document.mean.labels.items()
    ]  # fmt: skip
    caption = "Agreement by label: mean and standard deviation of F1 over pairs, and Krippendorff's α_u."
    yield _paper("labels", caption, ("label", "F1", "std", "pairs", "α_u"), rows)
    yield _coefficients(document)


def _paper(name: str, caption: str, titles: tuple[str, ...], rows: list[tuple[Cell, ...]]) -> Section:
    return Section(
        name, words(wording.capital(name)), (cells.table(titles, rows),), caption=caption, on=PAPER
    )  # fmt: skip


def _matrix(document: Agreement) -> Section:
    """F1 of every pair of annotators, who are both rows and columns."""
    f1 = {frozenset(pair.annotators): pair.overall.f1 for pair in document.pairs}
    rows: list[tuple[Cell, ...]] = [
        (
            annotator,
            *(
                "" if annotator == other else points(f1.get(frozenset((annotator, other))))
                for other in document.annotators
            ),
        )
        for annotator in document.annotators
    ]
    caption = "Pairwise F1 of annotators (exact span and label) over the documents that both have."
    table = cells.table(("annotator", *document.annotators), rows)
    return Section("matrix", words("Everyone with everyone"), (table,), caption, on=(*PAGE, *PAPER))


def _pairs_by_every_measure(document: Agreement) -> Section:
    kappa = {pair.annotators: pair.kappa for pair in document.tokens.cohen}
    rows: list[tuple[Cell, ...]] = [
        (
            *pair.annotators, count(pair.shared), count(pair.overall.first), count(pair.overall.second),
            count(pair.overall.both), points(pair.overall.f1), interval(bound(pair.interval, "f1")),
            points(pair.spans.f1), points(pair.fair),
            points(pair.on_equal_spans.share), decimal(pair.on_equal_spans.kappa),
            decimal(kappa.get(pair.annotators)),
        )
        for pair in document.pairs
    ]  # fmt: skip
    titles = (
        "first", "second", "documents", "mentions of first", "of second", "of both", "F1", "interval",
        "span F1", "fair F1", "equal labels", "label κ", "token κ",
    )  # fmt: skip
    caption = "Pairs of annotators. Labels are compared on spans that both marked; κ is Cohen's."
    return _paper("pairs", caption, titles, rows)


def _levels_in_numbers(document: Agreement) -> Section:
    assert document.levels is not UNSET
    human = document.levels.human
    rows: list[tuple[Cell, ...]] = [("human level", points(human.f1), interval(human.interval), "", "", "")]
    for name, level in document.levels.systems.items():
        rows.append(
            (f"system {name}", points(level.f1), interval(level.interval), signed(level.difference),
             interval(level.difference_interval, differs=True), p_value(level.p_corrected))
        )  # fmt: skip
    caption = (
        "Mean F1 of pairs of annotators, and of each system with each annotator; p of sign flips over "
        f"{document.settings.unit}s, Holm over systems. {THESE_ANNOTATORS}"
    )
    titles = ("annotators or system", "F1", "interval", "difference", "its interval", "p")
    return _paper("levels", caption, titles, rows)


def _against_majority(document: Agreement) -> Section:
    """Annotators and systems compared with the majority of the others."""
    ends = document.ceiling.interval
    rows: list[tuple[Cell, ...]] = [
        (
            row.annotator, count(row.documents), count(row.mentions), points(row.mean_f1),
            points(row.others_f1), interval(ends.get(row.annotator)),
        )
        for row in document.ranking
    ]  # fmt: skip
    rows.append(
        ("mean of annotators", "", "", points(document.mean.overall.f1), points(document.ceiling.mean),
         interval(ends.get("mean")))
    )  # fmt: skip
    for name, system in document.systems.items():
        rows.append((f"system {name}", "", "", "", points(system.f1), interval(system.interval.get("f1"))))
    titles = (
        "annotator", "documents", "mentions", "mean F1 with others", "F1 with their majority", "interval",
    )  # fmt: skip
    caption = (
        "Agreement of annotators with the majority of the others, and of systems with the same majorities."
    )
    return _paper("annotators", caption, titles, rows)


def _coefficients(document: Agreement) -> Section:
    """The chance-corrected coefficients."""
    tokens, units = document.tokens, document.alpha_u
    rows: list[tuple[Cell, ...]] = [
        (title, decimal(value), *map(decimal, bound(ends, name) or (None, None)))
        for title, value, ends, name in (
            ("α_u, unitizing", units.all, units.interval, "all"),
            ("α, tokens that anyone marked", tokens.alpha_marked, tokens.interval, "alpha_marked"),
            ("α, all tokens", tokens.alpha, tokens.interval, "alpha"),
            ("Fleiss' κ, all tokens", tokens.fleiss, tokens.interval, "fleiss"),
        )
    ]
    if document.gamma is not None:
        rows.append(("γ, mean over documents", decimal(_gamma(document)), decimal(None), decimal(None)))
    caption = (
        "Agreement beyond chance, with 95 % intervals from the jackknife over documents. Measures over all "
        "tokens are dominated by tokens outside mentions."
    )
    return _paper("coefficients", caption, ("coefficient", "value", "low", "high"), rows)
