"""The view of leaks: documents first, then identities, mentions and positions; the price; comparisons."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UNSET, Struct

from spanwise.document import Interval
from spanwise.document.leaks import LeakCell, LeakingSentence, LeakPiece, Leaks
from spanwise.document.scores import Comparison
from spanwise.rates import LEAK_RATES
from spanwise.views import PAGE, PAPER, SCREEN, SHOWN, Section, View, cells
from spanwise.views import wording as words
from spanwise.views.cells import Cell, Chart, Column, Grid, Paragraphs, Phrase, Quote, QuotePiece
from spanwise.views.inputs import pairing
from spanwise.views.sentences import sentence_p

NONE_IS_NOT_NONE = "None found is not none: 0 of n still allows the upper end of its interval."


class LeakRow(Struct, frozen=True):
    """A rate with the counts behind it and its interval."""

    title: str
    under: str
    above: int | None
    below: int | None
    rate: float | None
    ends: Interval | None

    @property
    def counts(self) -> str:
        """The counts behind the rate, as in `3 of 412`."""
        return "" if self.below is None else f"{words.count(self.above)} of {words.count(self.below)}"

    @property
    def within(self) -> str:
        """The interval, or where nothing was found the most that there may be."""
        if self.ends is None or self.ends[0] is None or self.ends[1] is None:
            return ""
        if self.rate == 0:
            return f"at most {percent(self.ends[1])}"
        return f"{percent(self.ends[0])[:-2]}–{percent(self.ends[1])}"


def percent(value: float | None) -> str:
    """A share with about two digits: small shares are what matters here.

    Examples:
        >>> percent(0.00728), percent(0.0461), percent(0.123), percent(0.0), percent(1.0), percent(None)
        ('0.73 %', '4.6 %', '12.3 %', '0 %', '100 %', 'n/a')
    """
    if value is None or not words.defined(value):
        return words.UNDEFINED
    points = 100 * value
    if points in (0, 100):
        return f"{points:.0f} %"
    return f"{points:.2g} %" if points < 0.095 else f"{points:.{2 if points < 0.995 else 1}f} %"


def levels(document: Leaks, cell: LeakCell) -> list[LeakRow]:
    """What leaks, at each level that is counted: documents first, positions last."""
    document_, positions = f"{document.settings.documents}s", f"{document.positions}s"
    people = cell.identities_leaking, cell.identities
    rows = [
        (document_, "still show a mention", cell.documents_leaking, cell.documents, "document_leak_rate"),
        ("identities", "with a readable mention", *people, "identity_leak_rate"),
        ("mentions", "not wholly masked", cell.leaks, cell.mentions, "leak_rate"),
        ("exposed", "not masked at all", cell.exposed, cell.mentions, "exposure_rate"),
        (positions, "of mentions left readable", cell.leaked, cell.positions, "leaked_share"),
    ]  # fmt: skip
    return [_row(cell, *row) for row in rows if row[3] is not None]


def price(document: Leaks, cell: LeakCell) -> list[LeakRow]:
    """What masking costs."""
    return [
        _row(cell, "over-masking", "masked, yet harmless", cell.outside, cell.masked, "over_masking"),
        _row(cell, "lost text", "harmless, yet masked", cell.outside, cell.text, "lost_text"),
    ]


def mention_row(cell: LeakCell, title: str) -> LeakRow:
    """The leak rate of a label, bucket or subset."""
    return _row(cell, title, "", cell.leaks, cell.mentions, "leak_rate")


def _row(cell: LeakCell, title: str, under: str, above: int | None, below: int | None, rate: str) -> LeakRow:
    return LeakRow(title, under, above, below, getattr(cell, rate), cell.ends(rate))


def how(cell: LeakCell) -> str:
    """How mentions leak: `2 exposed, 3 partly`."""
    parts = [f"{words.count(cell.exposed)} exposed"] if cell.exposed else []
    parts += [f"{words.count(cell.partly)} partly"] if cell.partly else []
    return ", ".join(parts) or "none found"


def parts_of(document: Leaks, system: str) -> Iterator[tuple[str, str, LeakCell]]:
    """The buckets and tough subsets of a system: what they divide by, their names and their cells."""
    own = document.systems[system]
    for attribute, buckets in own.buckets.items():
        yield from ((words.attribute(attribute), bucket, cell) for bucket, cell in buckets.items())
    yield from (("tough", words.tough(subset), cell) for subset, cell in own.tough.items())


def compared(document: Leaks, comparison: Comparison) -> str:
    """Which of two systems leaks less, and whether that can be chance; empty if it was not tested."""
    test = comparison.score(("overall", "leak_rate"))
    if test is None or test.difference is None or test.p_corrected is None:
        return ""
    first, second = comparison.systems if test.difference <= 0 else comparison.systems[::-1]
    by = f"{100 * abs(test.difference):.2g}"
    how = "t-test over runs and" if min(comparison.runs or (1,)) > 1 else "paired randomisation over"
    over = f"{how} {document.settings.unit}s, p {sentence_p(test.p_corrected)}"
    if not test.difference:
        return f"{first} and {second} leak the same share of mentions."
    if not test.significant:
        return f"{first} leaks {by} points less than {second}, which can be chance ({over})."
    return f"{first} leaks {by} points less than {second} ({over})."


# ---- sections --------------------------------------------------------------------------------------


MOST_LABELS = 20
KEY = Quote("", (), (("", (
    QuotePiece("masked ", "masked", "label"), QuotePiece("still readable ", "readable"),
    QuotePiece("masked without need", "needless"),
)),))  # fmt: skip


def leaks_view(document: Leaks) -> View:
    """What masking leaves readable, system by system, what it costs, and how systems compare."""
    # Of several runs of a system, the first one is shown in detail.
    systems = [own.systems[0] for own in document.runs.values()] if document.runs else list(document.systems)
    statements = tuple(
        cells.literal(text) for pair in document.comparisons if (text := compared(document, pair))
    )
    if document.runs:
        verdict = cells.joined([_mean_verdict(document, name) for name in document.runs])
    else:
        verdict = cells.joined([_verdict(document, name) for name in systems])
    answer = Paragraphs((verdict, *statements))
    sections = [
        Section("verdict", cells.words(""), (answer,), on=SCREEN),
        *_charts(document),
        *_over_runs(document),
    ]
    for at, name in enumerate(systems):
        sections += _system(document, name, at)
    if statements:
        title = cells.words("Side by side")
        sections.append(
            Section("statements", title, (Paragraphs(statements),), "leak rate of mentions", on=PAGE)
        )
    if _none_found(document):
        sections.append(Section("none", cells.words(""), (cells.note(NONE_IS_NOT_NONE, "faint"),), on=SHOWN))
    for at, name in enumerate(systems):
        sections += _quotes(document, name, at)
    return View(
        title="leaks",
        about=cells.words("leaks · what masking leaves readable"),
        verdict=verdict,
        sections=(*sections, _paper(document), _differences(document)),
        notes=(*document.notes, *pairing(document.inputs, unplaced="mask nothing")),
        inputs=document.inputs,
        systems=tuple(systems),
    )


def _verdict(document: Leaks, name: str) -> cells.Clause:
    cell, unit = document.systems[name].overall, document.settings.documents
    leaking = f"{words.count(cell.documents_leaking)} of {words.plural(cell.documents, unit)} still "
    shows = "shows" if cell.documents_leaking == 1 else "show"
    harmless = (
        "" if cell.over_masking is None else f"; {percent(cell.over_masking)} of what it masks is harmless"
    )
    return cells.words("{}: " + f"{leaking}{shows} a mention{harmless}.", name)


def _mean_verdict(document: Leaks, name: str) -> cells.Clause:
    own = document.runs[name] if document.runs else None
    if own is None:
        return cells.words("")
    unit, over = document.settings.documents, words.plural(len(own.systems), "run")
    harmless = own.mean["over_masking"]
    price = "" if harmless is None else f"; {percent(harmless)} of what it masks is harmless"
    return cells.words(
        "{}: " + f"{percent(own.mean['document_leak_rate'])} of {unit}s with a mention still show one, on "
        f"average over {over}{price}.",
        name,
    )


def _over_runs(document: Leaks) -> Iterator[Section]:
    """Means over the runs of each system."""
    if not document.runs:
        return
    columns = [
        Column("system", least=8), Column("runs", right=True),
        *(Column(rate.words, right=True, rank=rank) for rank, rate in enumerate(LEAK_RATES.values())),
    ]  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        (
            name, f"{len(own.systems)}",
            *(cells.Number(own.mean[rate], _spread(own.mean[rate], own.std[rate])) for rate in LEAK_RATES),
        )
        for name, own in document.runs.items()
    ]  # fmt: skip
    known = [
        at for at in range(len(columns)) if any(cells.text_of(row[at]) != words.UNDEFINED for row in rows)
    ]
    table = Grid([columns[at] for at in known], [[row[at] for at in known] for row in rows])
    yield Section("runs", cells.words("Over runs"), (table,), "mean ± standard deviation, in percent")


def _spread(mean: float | None, std: float | None) -> str:
    if mean is None:
        return words.UNDEFINED
    return f"{100 * mean:.1f}" + ("" if std is None else f" ±{100 * std:.1f}")


def _none_found(document: Leaks) -> bool:
    groups = [cell for one in document.systems.values() for cell in (one.overall, *one.labels.values())]
    return bool(document.settings.resamples) and any(cell.mentions and not cell.leaks for cell in groups)


def _charts(document: Leaks) -> Iterator[Section]:
    several = len(document.systems) > 1
    for name, title, about in (
        ("levels", "What leaks", "at each level that is counted"),
        ("labels", "What leaks, by label", "mentions that are not wholly masked"),
        ("price", "The price: text masked without need", "of what is masked, and of what is harmless"),
    ):
        yield Section(f"chart-{name}", cells.words(title), (Chart(name, key=several),), about, on=PAGE)


def _rated(row: LeakRow) -> list[Cell]:
    return [
        row.counts, cells.Number(row.rate, percent(row.rate), style="strong"), Phrase(row.within, "faint"),
    ]  # fmt: skip


def _system(document: Leaks, name: str, at: int) -> Iterator[Section]:
    system = document.systems[name]
    numbers = [Column(right=True), Column(right=True),
               Column("95% CI" if document.settings.resamples else "", rank=1)]  # fmt: skip
    columns = [Column(least=12), *numbers, Column(rank=2, least=10)]
    rows = [
        [row.title, *_rated(row), Phrase(row.under, "faint")]
        for row in (*levels(document, system.overall), *price(document, system.overall))
        if row.below is not None
    ]
    yield Section(
        f"system-{at}", cells.words("What {} leaves readable", name), (Grid(columns, rows),),
        f"{words.plural(system.overall.mentions, 'mention')} to hide", on=SHOWN,
    )  # fmt: skip
    labels = sorted(system.labels.items(), key=lambda item: (-item[1].mentions, item[0]))
    rows = [[label, *_rated(mention_row(cell, label)), Phrase(how(cell), "faint")] for label, cell in labels]
    yield Section(
        f"labels-{at}", cells.words("By label"), (Grid(columns, rows, MOST_LABELS, "labels"),),
        "mentions that leak", on=SHOWN,
    )  # fmt: skip
    rows = []
    last = ""
    for division, part, cell in parts_of(document, name):
        rows.append(["" if division == last else division, part, *_rated(mention_row(cell, part))])
        last = division
    if rows:
        table = Grid([Column(least=8), Column(least=8), *numbers], rows)
        yield Section(f"parts-{at}", cells.words("By part"), (table,), "mentions that leak", on=SHOWN)


def _quotes(document: Leaks, name: str, at: int) -> Iterator[Section]:
    sentences = document.systems[name].sentences
    if sentences:
        first = words.plural(len(sentences), "sentence")
        quotes = (KEY, *(_quote(sentence, document.positions == "token") for sentence in sentences))
        yield Section(
            f"sentences-{at}", cells.words("Sentences in which {} leaks", name), quotes,
            f"the first {first} with a leak; --redact leaves these texts out", on=PAGE,
        )  # fmt: skip


def _quote(sentence: LeakingSentence, apart: bool) -> Quote:
    pieces = tuple(_piece(piece, " " if apart else "") for piece in sentence.pieces)
    return Quote(sentence.source, tuple(dict.fromkeys(sentence.leaks)), (("", pieces),))


def _piece(piece: LeakPiece, after: str) -> QuotePiece:
    state = "" if piece.state == "plain" else piece.state
    label = piece.label if piece.state == "masked" and piece.label is not UNSET else ""
    return QuotePiece(piece.text + after, state, label)


# ---- one table over all systems, for papers --------------------------------------------------------


def _paper(document: Leaks) -> Section:
    """The counts and rates of every system, overall, by label, by bucket and by tough subset."""
    rows: list[tuple[Cell, ...]] = []
    for name, system in document.systems.items():
        rows.append((name, "all", *_counted(system.overall)))
        rows += [(name, label, *_counted(cell)) for label, cell in system.labels.items()]
        rows += [
            (name, f"{division}: {part}", *_counted(cell))
            for division, part, cell in parts_of(document, name)
        ]
    titles = (
        "system", "mentions of", "mentions", "hidden", "partly", "exposed", f"{document.positions}s",
        "leaked", f"{document.settings.documents}s", "leaking", "identities", "leaking identities",
        *(cell for rate in LEAK_RATES.values() for cell in (rate.words, "interval")),
    )  # fmt: skip
    caption = (
        "What masking leaves readable, and what it costs, in points. A mention leaks unless all of it is "
        f"masked. Intervals: 95 % logit-t (Wilson's at 0 and 1), jackknife over {document.settings.unit}s."
    )
    return Section("leaks", cells.words("Leaks"), (cells.table(titles, rows),), caption=caption, on=PAPER)


def _counted(cell: LeakCell) -> tuple[Cell, ...]:
    numbers = (
        cell.mentions, cell.hidden, cell.partly, cell.exposed, cell.positions, cell.leaked, cell.documents,
        cell.documents_leaking, cell.identities, cell.identities_leaking,
    )  # fmt: skip
    rates = [(cells.points(getattr(cell, rate)), cells.interval(cell.ends(rate))) for rate in LEAK_RATES]
    return (*map(cells.count, numbers), *(part for pair in rates for part in pair))


def _differences(document: Leaks) -> Section:
    """The paired tests of leak rates."""
    rows: list[tuple[Cell, ...]] = [
        (
            *pair.systems, " ".join(test.path[:-1]), LEAK_RATES[test.path[-1]].words,
            cells.signed(test.difference), cells.interval(test.interval, differs=True),
            cells.p_value(test.p_corrected),
        )
        for pair in document.comparisons
        for test in pair.scores
    ]  # fmt: skip
    titles = ("first", "second", "mentions of", "rate", "difference", "interval", "p")
    caption = f"Leaks compared, first minus second; paired randomisation over {document.settings.unit}s."
    return Section(
        "differences", cells.words("Differences"), (cells.table(titles, rows),), caption=caption, on=PAPER
    )
