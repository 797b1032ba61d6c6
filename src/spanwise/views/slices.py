"""The view of slices: where each system is weak, where two differ, and the command to look closer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from msgspec import UNSET

from spanwise.document.analyses import (
    DifferentConfirmation,
    DifferentSlice,
    PairSlices,
    SearchedSlice,
    Slices,
    SystemSlices,
    WeakConfirmation,
)
from spanwise.views import PAPER, SHOWN, Section, View, cells, wording
from spanwise.views.cells import Block, Cell, Clause, Column, Grid, Number, Phrase, ShareBar
from spanwise.views.commands import next_section, quoted
from spanwise.views.inputs import pairing

Link: TypeAlias = Callable[[SearchedSlice | DifferentSlice], str]  # the address of the mentions of a slice


def slices_view(document: Slices) -> View:
    """One section for each system and one for each pair of systems."""
    sections: list[Section] = []
    noted = False
    for at, (name, system) in enumerate(document.systems.items()):
        sections += _system(document, name, at, noted)
        noted = noted or bool(system.slices)
    for at, pair in enumerate(document.comparison):
        sections += _pair(document, pair, at)
    verdicts = [_verdict(document, name, system) for name, system in document.systems.items()]
    return View(
        title="slices",
        about=cells.words(f"weak slices, over {_score(document)}"),
        verdict=cells.joined(verdicts),
        sections=(*sections, *_next(document), _weak_of_all(document), _different_of_all(document)),
        notes=(*document.notes, *pairing(document.inputs)),
        inputs=document.inputs,
        systems=tuple(document.systems),
    )


def _score(document: Slices) -> str:
    return "F1" if document.over == "f1" else document.over


def _left(loss: float | None) -> float | None:
    return None if loss is None else 1 - loss


def _verdict(document: Slices, name: str, system: SystemSlices) -> Clause:
    if not system.slices:
        return cells.words("{}: no weak slice found.", name)
    first = system.slices[0]
    beside = f"{_score(document)} {wording.points(_left(first.loss))} against "
    return cells.words(
        "{}: the strongest evidence of weakness is where {}, "
        + f"{beside}{wording.points(_left(system.overall.loss))} overall.",
        name, conditions(first),
    )  # fmt: skip


def _system(document: Slices, name: str, at: int, noted: bool) -> Iterator[Section]:
    system = document.systems[name]
    blocks = weak_slices(document, system)
    if system.slices and not noted:  # it is about the tables of all systems
        every = (
            f"Intervals are 95 % for all {wording.plural(system.tested, 'slice')} at once. {wording.SELECTED}"
        )
        blocks.append(cells.note(every, "faint"))
    score = f"{_score(document)} {wording.points(_left(system.overall.loss))}"
    over = f"{score} over {wording.plural(system.overall.units, 'mention')}"
    yield Section(f"weak-{at}", cells.words("Where {} is weak", name), tuple(blocks), over, on=SHOWN)
    if system.confirmed is not UNSET:
        rows = _weak(system.confirmed.slices, document)
        yield _confirmed(f"confirmed-{at}", system.confirmed, document, rows)


def weak_slices(document: Slices, system: SystemSlices, link: Link | None = None) -> list[Block]:
    """How many slices of a system were tested, and those that are weak, with links to their mentions."""
    searched = _searched(system.tested, system.significant, len(system.slices), document, "weak slice")
    return [cells.note(searched), *_weak(system.slices, document, link)]


def different_slices(document: Slices, pair: PairSlices, link: Link | None = None) -> list[Block]:
    """How many slices of a pair were tested, and those in which they differ, with links to their mentions."""
    finding = "slice in which they differ"
    searched = _searched(pair.tested, pair.significant, len(pair.slices), document, finding)
    return [cells.note(searched), *_different(pair.slices, link)]


def _searched(tested: int, significant: int, listed: int, document: Slices, finding: str) -> str:
    level = f"{100 * document.settings.level:g} %"
    searched = (
        f"{wording.plural(tested, 'slice')} of up to {wording.plural(document.settings.depth, 'condition')}"
    )
    if not tested:
        return f"No slice has {document.settings.least} mentions inside and outside."
    if not listed:
        return wording.none_found(tested, finding, document.settings.level)
    return f"Of {searched}, {significant:,} are significant at a family-wise error rate of {level}."


def _weak(rows: tuple[SearchedSlice, ...], document: Slices, link: Link | None = None) -> list[Block]:
    top = max((row.rest_loss or 0.0 for row in rows), default=0.0) or 1.0
    shown: list[list[Cell]] = [
        [
            f"{index}", _linked(row, link), cells.count(row.units), cells.points(_left(row.loss), "strong"),
            cells.interval(row.interval, style="faint"), _t(row), _p(row),
            ShareBar((row.rest_loss or 0.0) / top, "bad"),
        ]
        for index, row in enumerate(rows, start=1)
    ]  # fmt: skip
    columns = [
        Column(right=True), Column("mentions with", least=24), Column("mentions", right=True),
        Column(_score(document), right=True), Column("interval", rank=1), Column("T", right=True, rank=2),
        Column("p", right=True), Column("loss", least=8, most=20, rank=3),
    ]  # fmt: skip
    return [Grid(columns, shown), *_later(rows)]


def _linked(row: SearchedSlice | DifferentSlice, link: Link | None) -> Cell:
    return conditions(row) if link is None else Phrase(conditions(row), link=link(row))


def _t(row: SearchedSlice | DifferentSlice) -> Number:
    return Number(row.t, f"{row.t:.1f}")


def _p(row: SearchedSlice | DifferentSlice) -> Number:
    return Number(row.p, wording.listed_p(row.p), style="" if row.p is not None else "faint")


def _pair(document: Slices, pair: PairSlices, at: int) -> Iterator[Section]:
    blocks = tuple(different_slices(document, pair))
    yield Section(f"pair-{at}", pair_title(pair), blocks, f"by {_score(document)}", on=SHOWN)
    if pair.confirmed is not UNSET:
        rows = _different(pair.confirmed.slices)
        yield _confirmed(f"confirmed-pair-{at}", pair.confirmed, document, rows)


def pair_title(pair: PairSlices) -> Clause:
    """The title over the slices in which two systems differ."""
    return cells.words("Where {} and {} differ", *pair.systems)


def _different(rows: tuple[DifferentSlice, ...], link: Link | None = None) -> list[Block]:
    shown: list[list[Cell]] = [
        [
            f"{index}", _linked(row, link), cells.count(row.units), Phrase(row.better, "strong"),
            cells.points(None if row.difference is None else abs(row.difference)), _t(row), _p(row),
        ]
        for index, row in enumerate(rows, start=1)
    ]  # fmt: skip
    columns = [
        Column(right=True), Column("mentions with", least=24), Column("mentions", right=True),
        Column("better"), Column("by", right=True), Column("T", right=True, rank=1), Column("p", right=True),
    ]  # fmt: skip
    return [Grid(columns, shown), *_later(rows)]


def _later(rows: Sequence[SearchedSlice | DifferentSlice]) -> list[Block]:
    later = wording.later_note(row.p for row in rows)
    return [cells.note(later, "faint")] if later else []


def _confirmed(
    name: str, confirmed: WeakConfirmation | DifferentConfirmation, document: Slices, rows: Sequence[Block]
) -> Section:
    unit = document.settings.unit
    found, tested = confirmed.found_on, confirmed.tested_on
    best = cells.note(f"The best slices of {wording.plural(found, unit)}, tested on the other {tested:,}:")
    return Section(name, cells.words(""), (best, *rows), on=SHOWN)


def conditions(row: SearchedSlice | DifferentSlice) -> str:
    """The conditions of a slice in words."""
    return " & ".join(
        f"{wording.attribute(condition.attribute)} "
        + wording.visible(condition.value if condition.label is UNSET else condition.label)
        for condition in row.conditions
    )


def _next(document: Slices) -> Iterator[Section]:
    """The command that lists the errors of the first slice."""
    slices = [(name, system.slices[0]) for name, system in document.systems.items() if system.slices]
    if slices:
        name, row = slices[0]
        yield from next_section(document, "errors", [f"--where {quoted(row.where)}"], system=name)


# ---- one table over all systems, for papers --------------------------------------------------------


def _weak_of_all(document: Slices) -> Section:
    rows: list[tuple[Cell, ...]] = [
        (
            name, row.where, cells.count(row.units), cells.points(_left(row.loss)), _t(row),
            cells.p_value(row.p),
        )
        for name, system in document.systems.items()
        for row in system.slices
    ]  # fmt: skip
    caption = f"Weak slices at a family-wise error rate of {wording.percent(document.settings.level)}."
    titles = ("system", "mentions with", "mentions", document.over, "T", "p")
    return Section("weak", cells.words("Weak"), (cells.table(titles, rows),), caption=caption, on=PAPER)


def _different_of_all(document: Slices) -> Section:
    rows: list[tuple[Cell, ...]] = [
        (
            *pair.systems, row.where, cells.count(row.units), row.better, cells.signed(row.difference),
            cells.p_value(row.p),
        )
        for pair in document.comparison
        for row in pair.slices
    ]  # fmt: skip
    titles = ("first", "second", "mentions with", "mentions", "better", "difference", "p")
    caption = "Slices in which two systems differ."
    return Section(
        "different", cells.words("Different"), (cells.table(titles, rows),), caption=caption, on=PAPER
    )
