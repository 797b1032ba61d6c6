"""The views of plans and learning curves: how many more units an answer needs, what more data would give."""

from __future__ import annotations

from collections.abc import Iterator

from spanwise.document.planning import LearningCurve, PairPlan, PlanDocument, PlanSettings, SystemCurve
from spanwise.views import PAGE, PAPER, SCREEN, SHOWN, Section, View, cells, wording
from spanwise.views.cells import Cell, Chart, Clause, Column, Grid, Paragraphs, Phrase

ABOUT = (
    "Standard errors are those of the result and shrink with the root of the number of units. "
    "Detectable: the difference found four times in five."
)
DASHED = "dashed: with the judge"


def plan_view(document: PlanDocument) -> View:
    """The power of each pair and the width of each system's interval against the number of units."""
    settings = document.settings
    told = [_needed(document, pair) for pair in document.pairs] or [
        _narrower(document, name) for name in document.systems
    ]
    answer = Section("answer", cells.words(""), (Paragraphs(tuple(told)),), on=SCREEN)
    sections = [answer]
    for at, pair in enumerate(document.pairs):
        sections += _power(document, pair, at)
    sections += _widths(document)
    return View(
        title="plan",
        about=cells.words(
            f"how many more {settings.unit}s, from {wording.plural(settings.units, settings.unit)}"
        ),
        verdict=cells.joined(told),
        sections=(*sections, *_papers(document)),
        inputs=document.inputs,
        systems=tuple(document.systems),
    )


def _needed(document: PlanDocument, pair: PairPlan) -> Clause:
    """How many more units make the difference detectable, in one sentence."""
    settings = document.settings
    wanted = f"{100 * settings.difference:g} F1"
    size = f"a difference of {wanted} between {{}} and {{}}"
    if pair.why:
        return cells.words(f"Nothing can be planned for {{}} and {{}}: {pair.why}.", *pair.systems)
    now = wording.plural(settings.units, settings.unit)
    if pair.needed == settings.units:
        return cells.words(f"{wording.capital(size)} is already detectable with these {now}.", *pair.systems)
    more = _more(pair.needed, settings)
    if pair.needed is None:
        most = wording.plural(pair.rows[-1].units, settings.unit)
        sentence = f"even {most} do not make {size} detectable"
    else:
        sentence = f"{more} {'makes' if pair.needed == settings.units + 1 else 'make'} {size} detectable"
    return cells.words(f"{wording.capital(sentence)}{_helped(pair, settings)}.", *pair.systems)


def _more(needed: int | None, settings: PlanSettings) -> str:
    """`120 more documents`."""
    return "" if needed is None else wording.plural(needed - settings.units, f"more {settings.unit}")


def _helped(pair: PairPlan, settings: PlanSettings) -> str:
    """What the judge changes, as the end of the sentence."""
    if settings.all is None:
        return ""
    if pair.needed_judge is None:
        most = wording.plural(min(settings.all, pair.rows[-1].units), settings.unit)
        return f", and with the judge {most} do not either" if pair.needed is None else ""
    if pair.needed_judge == settings.units:
        return f"; with the judge, the {wording.plural(settings.units, settings.unit)} suffice"
    return f"; with the judge, {_more(pair.needed_judge, settings)} suffice"


def _narrower(document: PlanDocument, name: str) -> Clause:
    """What four times as many units do for the interval of the only system."""
    settings, own = document.settings, document.systems[name]
    now = own.rows[0]
    later = next((row for row in own.rows if row.units == 4 * settings.units), now)
    if now.width is None:
        return cells.words("{}: the interval is unknown.", name)
    more = wording.plural(later.units - now.units, f"more {settings.unit}")
    widths = f"from {wording.points(now.width)} to {wording.points(later.width)} points"
    return cells.words(f"{more} narrow the interval of {{}} {widths}.", name)


def _units(document: PlanDocument, units: int) -> list[Cell]:
    more = units - document.settings.units
    return [cells.count(units), Phrase(f"+{wording.count(more)}" if more else "now", "faint")]


def _power(document: PlanDocument, pair: PairPlan, at: int) -> Iterator[Section]:
    if not pair.rows:
        return
    settings = document.settings
    judged = settings.all is not None
    rows: list[list[Cell]] = []
    for row in pair.rows:
        helped = [cells.points(row.detectable_judge), cells.percent(row.power_judge)] if judged else []
        own = [cells.points(row.detectable, "strong"), cells.percent(row.power, "strong")]
        rows.append([*_units(document, row.units), *own, *helped])
    power = f"power for {100 * settings.difference:g} F1"
    columns = [
        Column(f"{settings.unit}s", right=True), Column("more"), Column("detectable F1", right=True),
        Column(power, right=True),
        *([Column("with the judge", right=True), Column("power", right=True)] if judged else []),
    ]  # fmt: skip
    after = f", corrected over {settings.pairs} pairs" if settings.pairs > 1 else ""
    note = f"test at {100 * settings.level:g} %{after}"
    title = cells.words("{} against {}", *pair.systems)
    drawn = f"{power}; {DASHED}" if judged else power
    yield Section(f"power-chart-{at}", cells.words("Power"), (Chart(f"power-{at}"),), drawn, on=PAGE)
    about = cells.note(ABOUT, "faint")
    yield Section(f"power-{at}", title, (Grid(columns, rows), about), note, on=SHOWN)


def _widths(document: PlanDocument) -> Iterator[Section]:
    settings = document.settings
    judged = settings.all is not None
    note = f"width of the {100 * settings.confidence:g} % interval of F1"
    drawn = f"{note}; {DASHED}" if judged else note
    yield Section("widths-chart", cells.words("Widths"), (Chart("widths", key=True),), drawn, on=PAGE)
    columns = [Column(f"{settings.unit}s", right=True), Column("more")]
    for at, name in enumerate(document.systems):
        columns.append(Column(wording.visible(name), right=True, rank=2 * at))
        columns += [Column("with the judge", right=True, rank=2 * at + 1)] if judged else []
    rows: list[list[Cell]] = []
    for of_systems in zip(*(own.rows for own in document.systems.values()), strict=True):
        line = _units(document, of_systems[0].units)
        for row in of_systems:
            line.append(cells.points(row.width, "strong"))
            line += [cells.points(row.width_judge)] if judged else []
        rows.append(line)
    yield Section("widths", cells.words("Intervals"), (Grid(columns, rows),), note, on=SHOWN)


def _papers(document: PlanDocument) -> Iterator[Section]:
    """One table over all pairs, and one over all systems."""
    settings = document.settings
    unit = f"{settings.unit}s"
    power: list[tuple[Cell, ...]] = [
        (
            *pair.systems, cells.count(row.units), cells.points(row.detectable), cells.percent(row.power),
            cells.points(row.detectable_judge), cells.percent(row.power_judge),
        )
        for pair in document.pairs
        for row in pair.rows
    ]  # fmt: skip
    titles = ("first", "second", unit, "detectable", "power", "detectable with judge", "power with judge")
    caption = (
        "The smallest difference in F1 found four times in five, and the power for "
        f"{100 * settings.difference:g} F1, against the number of {unit}. {ABOUT}"
    )
    yield Section("power", cells.words("Power"), (cells.table(titles, power),), caption=caption, on=PAPER)
    widths: list[tuple[Cell, ...]] = [
        (name, cells.count(row.units), cells.points(row.width), cells.points(row.width_judge))
        for name, own in document.systems.items()
        for row in own.rows
    ]
    caption = f"The width of the {100 * settings.confidence:g} % interval of F1 against the number of {unit}."
    table = cells.table(("system", unit, "width", "width with judge"), widths)
    yield Section("widths", cells.words("Widths"), (table,), caption=caption, on=PAPER)


# ---- learning curves -------------------------------------------------------------------------------

FITTED = (
    "Curve: F1 = a − b·n^(−c), by least squares on the mean F1 per size. "
    "Interval: the jackknife over sizes. Nothing is predicted beyond twice the largest size."
)


def curve_view(document: LearningCurve) -> View:
    """What twice the training data would give, and each system's curve."""
    told = [_twice(name, own) for name, own in document.systems.items()]
    answer = Section("answer", cells.words(""), (Paragraphs(tuple(told)),), on=SCREEN)
    drawn = Chart("curve", key=len(document.systems) > 1)
    return View(
        title="curve",
        about=cells.words("what more training data would give"),
        verdict=cells.joined(told),
        sections=(
            answer,
            Section("curve-chart", cells.words("Learning curve"), (drawn,), "F1 by training size", on=PAGE),
            *(_curve(document, name, at) for at, name in enumerate(document.systems)),
            _curves_of_paper(document),
        ),
        inputs=document.inputs,
        systems=tuple(document.systems),
    )


def _twice(name: str, own: SystemCurve) -> Clause:
    """What twice the largest training size would give, in one sentence."""
    twice = own.points[-1]
    now = next(point for point in own.points if point.size == own.largest)
    size = wording.count(twice.size)
    if own.c is None:
        return cells.words(
            f"F1 of {{}} does not grow with the training data, up to {wording.count(own.largest)}.", name
        )
    if now.fitted is None or twice.fitted is None:
        return cells.words("")
    reach = f"{wording.points(twice.fitted)} F1 [{wording.interval(twice.interval)}]"
    more = f"{wording.points(twice.fitted - now.fitted)} more than with {wording.count(own.largest)}"
    return cells.words(f"Twice the training data ({size}) would give {{}} {reach}, {more}.", name)


def _curve(document: LearningCurve, name: str, at: int) -> Section:
    own = document.systems[name]
    rows: list[list[Cell]] = [
        [
            cells.count(point.size),
            cells.count(point.results) if point.results else Phrase("predicted", "faint"),
            cells.points(point.f1) if point.results else Phrase(""),
            cells.points(point.fitted, "strong"),
            cells.interval(point.interval),
        ]
        for point in own.points
    ]
    columns = [
        Column("training size", right=True), Column("results", right=True), Column("F1", right=True),
        Column("curve", right=True), Column("interval", right=True),
    ]  # fmt: skip
    note = f"a = {own.a:.3f}" if own.c is None else f"a = {own.a:.3f}, b = {own.b:.3g}, c = {own.c:.2f}"
    return Section(
        f"curve-{at}",
        cells.words("{}", name),
        (Grid(columns, rows), cells.note(FITTED, "faint")),
        note,
        on=SHOWN,
    )


def _curves_of_paper(document: LearningCurve) -> Section:
    """One table over all systems."""
    rows: list[tuple[Cell, ...]] = [
        (
            name, cells.count(point.size), cells.count(point.results), cells.points(point.f1),
            cells.points(point.fitted), cells.interval(point.interval),
        )
        for name, own in document.systems.items()
        for point in own.points
    ]  # fmt: skip
    titles = ("system", "training size", "results", "F1", "curve", "interval")
    caption = f"F1 against the size of the training data. {FITTED}"
    return Section(
        "curve", cells.words("Learning curve"), (cells.table(titles, rows),), caption=caption, on=PAPER
    )
