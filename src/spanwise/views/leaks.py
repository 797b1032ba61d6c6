"""The view of leaks: documents first, then identities, mentions and positions; the price; comparisons."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise.document import Interval
from spanwise.document.leaks import LeakCell, LeakingSentence, LeakPiece, Leaks, SystemLeaks
from spanwise.document.scores import Comparison
from spanwise.rates import LEAK_RATES
from spanwise.views import PAGE, PAPER, SCREEN, SHOWN, Remark, Section, View, cells, differences
from spanwise.views import wording as words
from spanwise.views.cells import Block, Cell, Chart, Column, Grid, Paragraphs, Phrase, Quote, QuotePiece
from spanwise.views.commands import closer_command, quoted, what_to_do
from spanwise.views.inputs import pairing
from spanwise.views.sentences import compared_sentence, named_test, tested_as

SMALL = 0.01  # smaller differences are shown with two decimals


# The rates in the order of tables: what they are called, and what their counts say.
LEVELS = {
    "document_leak_rate": ("{documents}s", "still show a mention"),
    "identity_leak_rate": ("identities", "with a readable mention"),
    "leak_rate": ("mentions", "not wholly masked"),
    "exposure_rate": ("exposed", "not masked at all"),
    "leaked_share": ("{positions}s", "of mentions left readable"),
}
PRICE = {
    "over_masking": ("over-masking", "masked, yet harmless"),
    "lost_text": ("lost text", "harmless, yet masked"),
}


class LeakRow(Struct, frozen=True):
    """A rate of a cell, with a title and what its counts say."""

    cell: LeakCell
    name: str  # of the rate, as declared
    title: str
    under: str

    @property
    def rate(self) -> float | None:
        """The rate itself; None if it is undefined."""
        value: float | None = getattr(self.cell, self.name)
        return value

    @property
    def ends(self) -> Interval | None:
        """Its interval."""
        return self.cell.ends(self.name)

    @property
    def counts(self) -> str:
        """The counts behind the rate, as in `3 of 412`; empty if they are unknown."""
        declared = LEAK_RATES[self.name]
        below = getattr(self.cell, declared.below)
        above = sum(getattr(self.cell, column) or 0 for column in declared.above)
        return "" if below is None else f"{words.count(above)} of {words.count(below)}"

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


def leak_rows(document: Leaks, cell: LeakCell, rates: Mapping[str, tuple[str, str]]) -> list[LeakRow]:
    """The rates of a cell whose counts are known, such as `LEVELS` or `PRICE`."""
    units = {"documents": document.settings.documents, "positions": document.positions}
    rows = [LeakRow(cell, name, title.format(**units), under) for name, (title, under) in rates.items()]
    return [row for row in rows if row.counts]


def mention_row(cell: LeakCell, title: str, under: str = "") -> LeakRow:
    """The leak rate of a label, bucket or subset."""
    return LeakRow(cell, "leak_rate", title, under)


def how(cell: LeakCell) -> str:
    """How mentions leak: `2 exposed, 3 partly`."""
    parts = [f"{words.count(cell.exposed)} exposed"] if cell.exposed else []
    parts += [f"{words.count(cell.partly)} partly"] if cell.partly else []
    return ", ".join(parts) or "none found"


def parts_of(system: SystemLeaks) -> Iterator[tuple[str, str, LeakCell]]:
    """The labels, buckets and tough subsets of a system: what they divide by, their names and cells."""
    for label, cell in sorted(system.labels.items(), key=lambda item: (-item[1].mentions, item[0])):
        yield "label", label, cell
    for attribute, buckets in system.buckets.items():
        yield from ((words.attribute(attribute), bucket, cell) for bucket, cell in buckets.items())
    yield from (("tough", words.tough(subset), cell) for subset, cell in system.tough.items())


def compared(document: Leaks, comparison: Comparison) -> str:
    """Which of two systems is better since it leaks less, and how that was tested; empty if it was not."""
    test = comparison.primary
    if test is None or test.difference is None:
        return ""
    less = replace(comparison, systems=comparison.systems[::-1], runs=comparison.runs[::-1])
    places = 1 if abs(test.difference) >= SMALL else 2
    return compared_sentence(less, tested_as(document), "points (leak rate)", places=places)


# ---- sections --------------------------------------------------------------------------------------


MOST_LABELS = 20
MOST_WORST, LEAST_WORST = 5, 2  # parts of each system that leak most: of one or two systems, and of many
MOST_NEEDLESS = 5  # texts that are masked without need
CUT = 24  # characters of the first cells of a row that screens always have room for
LONG = 40  # characters; longer ones are left out
KEY = Quote("", (), (("", (
    QuotePiece("masked ", "masked", "label"), QuotePiece("still readable ", "readable"),
    QuotePiece("masked without need", "needless"),
)),))  # fmt: skip


def leaks_view(document: Leaks) -> View:
    """What masking leaves readable, what it costs, and how systems compare, side by side."""
    # Of several runs of a system, the first one is shown in detail.
    systems = [own.systems[0] for own in document.runs.values()] if document.runs else list(document.systems)
    statements = tuple(
        cells.literal(text) for pair in document.comparisons if (text := compared(document, pair))
    )
    verdict = cells.joined(
        [_mean_verdict(document, name) for name in document.runs]
        if document.runs
        else [_verdict(document, name) for name in systems]
    )
    shown = {name: document.systems[name] for name in systems}
    about = "about the system that leaks least" if len(shown) > 1 else ""
    which, tasks = [*_which(document, shown)], [*what_to_do(_tasks(document, shown), about)]
    # Parts are those of the first run, so that means over runs, the price and tasks come first.
    closer = [_price(document, shown), *tasks, *which]
    if not document.runs:
        closer = [*which, _price(document, shown), *tasks]
    sections = [
        Section("verdict", cells.words(""), (Paragraphs((verdict, *statements)),), on=SCREEN),
        *_charts(document),
        *_over_runs(document),
        *(replace(section, on=PAGE) for section in closer),
        *_rates(document, shown),
        *(replace(section, on=SCREEN) for section in closer),
        *_quotes(shown, " " if document.positions == "token" else ""),
    ]
    how = named_test(document.comparisons, tested_as(document))
    tests = differences(
        document.comparisons, "Leaks", how, part="mentions of", score="rate",
        named=lambda rate: LEAK_RATES[rate].words,
    )  # fmt: skip
    return View(
        title="leaks",
        about=cells.words("leaks · what masking leaves readable"),
        verdict=verdict,
        statements=statements,
        sections=(*sections, _paper(document), tests),
        notes=(*document.notes, *pairing(document.inputs, unplaced="masking nothing")),
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


def _none_found(shown: Mapping[str, SystemLeaks]) -> Iterator[Section]:
    """What finding no leak of a label still allows; of several labels, the one about which least is known."""
    none = [
        (ends[1], cell.mentions, label)
        for system in shown.values()
        for label, cell in system.labels.items()
        if not cell.leaks and (ends := cell.ends("leak_rate")) is not None and ends[1] is not None
    ]
    if none:
        most, mentions, label = max(none)
        still = f"0 of {words.plural(mentions, 'mention')} of {{}} still allows up to {percent(most)}."
        text = cells.words(f"None found is not none: {still}", label)
        yield Section("none", cells.words(""), (Paragraphs((text,), "faint"),), on=SHOWN)


def _charts(document: Leaks) -> Iterator[Section]:
    several = len(document.systems) > 1
    for name, title, about in (
        ("levels", "What leaks", "at each level that is counted"),
        ("labels", "What leaks, by label", "mentions that are not wholly masked"),
    ):
        yield Section(f"chart-{name}", cells.words(title), (Chart(name, key=several),), about, on=PAGE)


def _rates(document: Leaks, shown: Mapping[str, SystemLeaks]) -> Iterator[Section]:
    """Every rate of the systems side by side, then the leaks of labels and of other parts."""
    first, *others = shown.values()
    title = cells.words("What stays readable") if others else cells.words("What {} leaves readable", *shown)
    note = f"{words.plural(first.overall.mentions, 'mention')} to hide"
    note += "; the first run of each system" if document.runs else ""
    yield Section("levels", title, (_overall(document, shown, LEVELS),), note, on=SHOWN)
    parts = [
        (row[0][:2], [mention_row(cell, part, how(cell)) for _, part, cell in row])
        for row in zip(*map(parts_of, shown.values()), strict=True)
    ]
    if parts:
        labels = all(division == "label" for (division, _), _ in parts)
        grid = _grid(document, shown, [(lead[1:] if labels else lead, rows) for lead, rows in parts])
        if labels:
            grid = replace(grid, most=MOST_LABELS * len(shown), noun="rows" if others else "labels")
        title = cells.words("By label" if labels else "By label and other parts")
        yield Section("labels", title, (grid,), "mentions that leak", on=SHOWN)
        yield from _none_found(shown)


def _which(document: Leaks, shown: Mapping[str, SystemLeaks]) -> Iterator[Section]:
    """The parts of each system that leak more than all of its mentions, those that surely do first."""
    blocks: list[Block] = []
    most = min(MOST_WORST, max(LEAST_WORST, 2 * MOST_WORST // len(shown)))
    for name, system in shown.items():
        rows = [
            ((division, part), [mention_row(cell, part)]) for division, part, cell in _worst(system)[:most]
        ]
        if rows:
            blocks += [Paragraphs((cells.words("{}", name),), "strong")] * (len(shown) > 1)
            everything = ("all mentions", ""), [mention_row(system.overall, "all")]
            blocks.append(_grid(document, {name: system}, [*rows, everything]))
    if blocks:
        about = "more than all mentions do, most surely first; not tested"
        yield Section("which", cells.words("Which mentions leak"), tuple(blocks), about, on=SHOWN)


def _worst(system: SystemLeaks) -> list[tuple[str, str, LeakCell]]:
    """The parts that leak more than all mentions, by the lower end of the interval, or else by the rate."""
    parts = {(division, part): cell for division, part, cell in parts_of(system)}
    listed = [
        (division, part, cell)
        for (division, part), cell in parts.items()
        if _rate(cell) > _rate(system.overall)
    ]
    return sorted(listed, key=lambda one: (-_surely(one[2]), -one[2].mentions))


def _surely(cell: LeakCell) -> float:
    low = (cell.ends("leak_rate") or (None,))[0]
    return _rate(cell) if low is None else low


def _rate(cell: LeakCell) -> float:
    return cell.leak_rate or 0.0


def _price(document: Leaks, shown: Mapping[str, SystemLeaks]) -> Section:
    """What is masked though it is no mention, and what that is in the sentences that are shown."""
    blocks: list[Block] = [
        Chart("price", key=len(document.systems) > 1), _overall(document, shown, PRICE),
    ]  # fmt: skip
    for name, system in shown.items():
        found = Counter(
            (piece.text.strip(), piece.label or "")
            for sentence in system.sentences
            for piece in sentence.pieces
            if piece.state == "needless" and len(piece.text) <= LONG
        )
        if found:
            number = words.plural(len(system.sentences), "sentence")
            common = found.most_common(MOST_NEEDLESS)
            listed = ", ".join("{}" + (f" {times} times" if times > 1 else "") for _, times in common)
            texts = (f"{text} ({label})" if label else text for (text, label), _ in common)
            said = f"In the first {number} that {{}} leaks in, it masks without need: {listed}"
            said += ", …" if len(found) > len(common) else "."
            blocks.append(Paragraphs((cells.words(said, name, *texts),), "faint"))
    about = "of what is masked, of what is harmless"
    return Section(
        "price", cells.words("The price: text masked without need"), tuple(blocks), about, on=SHOWN
    )


def _tasks(document: Leaks, shown: Mapping[str, SystemLeaks]) -> Iterator[Remark]:
    """What to do about the system that leaks least, each with the command that shows or does it."""
    # Of several runs, the means are compared.
    rates = [own.mean["leak_rate"] for own in (document.runs or {}).values()]
    rates = rates or [system.overall.leak_rate for system in shown.values()]
    name = min(zip(rates, shown, strict=True), key=lambda own: own[0] or 0.0)[1]
    system, cell = shown[name], shown[name].overall

    def task(what: str, why: str, verb: str, *options: str) -> Remark:
        what = f"{name}: {what}" if len(shown) > 1 else words.capital(what)
        return Remark(f"{what}.", f"{why}.", command=closer_command(document, verb, options, name))

    same = document.settings.same_label  # slices take any label as hiding
    ways = (
        (cell.exposed, "find more mentions", "Not masked at all", "FN,LE,LBE" if same else "FN"),
        (cell.partly, "mask whole mentions", "Masked only in part", "BEs,BEo" if same else "BEs,BEo,LBE"),
    )
    for number, what, left, kind in sorted(ways, key=lambda way: -way[0]):
        if number:
            why = f"{left}: {words.count(number)} of the {words.plural(cell.leaks, 'mention')} that leak"
            yield task(what, why, "errors", f"--kind {kind}")
    for division, part, worst in [] if same else _worst(system)[:1]:
        row = mention_row(worst, part)
        why = f"{row.counts} leak, {percent(row.rate)}; of all mentions {percent(cell.leak_rate)}"
        why = f"{division} {part}: {why}"
        yield task("find out which mentions leak", why, "slices", "--over hidden")
    if cell.outside:
        (row, *_) = leak_rows(document, cell, PRICE)
        why = f"{row.counts} masked {document.positions}s are harmless, {percent(row.rate)}"
        yield task("mask less without need", why, "errors", "--kind FP")
    high = (cell.ends("leak_rate") or (None, None))[1]
    if high is not None:
        limit = f"{math.ceil(1000 * high) / 10:g}"
        why = f"The upper end of its leak rate is {percent(high)}; a version that may leak more fails"
        yield task("set a limit", why, "leaks", f"--max-leak {limit} --floor-bound", *_as_chosen(document))


def _as_chosen(document: Leaks) -> Iterator[str]:
    """The options by which mentions are hidden and counted, where they are not the usual ones."""
    if document.settings.same_label:
        yield "--same-label"
    if document.settings.unit != document.settings.documents:
        yield f"--unit {quoted(document.settings.unit)}"


def _overall(document: Leaks, shown: Mapping[str, SystemLeaks], rates: Mapping[str, tuple[str, str]]) -> Grid:
    """Some rates of all mentions, of the systems side by side."""
    own = [leak_rows(document, one.overall, rates) for one in shown.values()]
    return _grid(document, shown, [((rows[0].title,), rows) for rows in zip(*own, strict=True)])


def _grid(
    document: Leaks,
    shown: Mapping[str, SystemLeaks],
    entries: Sequence[tuple[tuple[str, ...], Sequence[LeakRow]]],
) -> Grid:
    """One row for each rate, of which each entry has the first cells, and the rows of all systems."""
    several = len(shown) > 1
    leads = [lead for lead, _ in entries]
    longest = max(len(row.under) for _, rows in entries for row in rows)
    columns = [
        *(Column(least=min(CUT, max(map(len, texts)))) for texts in zip(*leads, strict=True)),
        *[Column("system", least=8, names=True)] * several,
        Column(right=True), Column(right=True),
        Column("95% CI" if document.settings.resamples else "", rank=1),
        *[Column(rank=2, least=longest)] * bool(longest),
    ]  # fmt: skip
    listed: list[list[Cell]] = []
    last: tuple[str, ...] = ()
    for lead, rows in entries:
        for name, row in zip(shown, rows, strict=True):
            new = ["" if last[: at + 1] == lead[: at + 1] else text for at, text in enumerate(lead)]
            rate = cells.Number(row.rate, percent(row.rate), style="strong")
            faint = [Phrase(text, "faint") for text in (row.within, row.under)][: 1 + bool(longest)]
            listed.append([*new, *[name] * several, row.counts, rate, *faint])
            last = lead
    return Grid(columns, listed)


def _quotes(shown: Mapping[str, SystemLeaks], after: str) -> Iterator[Section]:
    """The sentences that leak; `after` stands between two pieces of one."""
    for at, (name, system) in enumerate(shown.items()):
        if system.sentences:
            title = cells.words("Sentences in which {} leaks", name)
            note = f"the first {words.plural(len(system.sentences), 'sentence')} with a leak; "
            quotes = (KEY, *(_quote(sentence, after) for sentence in system.sentences))
            yield Section(f"sentences-{at}", title, quotes, f"{note}--redact leaves these texts out", on=PAGE)


def _quote(sentence: LeakingSentence, after: str) -> Quote:
    pieces = tuple(_piece(piece, after) for piece in sentence.pieces)
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
        rows += [
            (name, part if division == "label" else f"{division}: {part}", *_counted(cell))
            for division, part, cell in parts_of(system)
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
