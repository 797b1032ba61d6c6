"""The tables of leaks."""

from __future__ import annotations

from collections.abc import Callable

from spanwise.document.leaks import LeakCell, Leaks
from spanwise.rates import LEAK_RATES
from spanwise.reports import _leaks as words
from spanwise.reports.tables._result import count, interval, p_value, points, signed
from spanwise.reports.tables._table import Cell, Table


def leaks(document: Leaks) -> Table | None:
    """The counts and rates of every system, overall, by label, by bucket and by tough subset."""
    rows: list[tuple[Cell, ...]] = []
    for name, system in document.systems.items():
        rows.append((name, "all", *_cell(system.overall)))
        rows += [(name, label, *_cell(cell)) for label, cell in system.labels.items()]
        rows += [
            (name, f"{division}: {part}", *_cell(cell))
            for division, part, cell in words.parts_of(document, name)
        ]
    header = (
        "system", "mentions of", "mentions", "hidden", "partly", "exposed", f"{document.positions}s",
        "leaked", f"{document.settings.documents}s", "leaking", "identities", "leaking identities",
        *(cell for rate in LEAK_RATES.values() for cell in (rate.words, "interval")),
    )  # fmt: skip
    caption = (
        "What masking leaves readable, and what it costs, in points. A mention leaks unless all of it is "
        f"masked. Intervals: 95 % logit-t (Wilson's at 0 and 1), jackknife over {document.settings.unit}s."
    )
    return Table("leaks", caption, header, tuple(rows))


def _cell(cell: LeakCell) -> tuple[Cell, ...]:
    numbers = (
        cell.mentions, cell.hidden, cell.partly, cell.exposed, cell.positions, cell.leaked, cell.documents,
        cell.documents_leaking, cell.identities, cell.identities_leaking,
    )  # fmt: skip
    rates = [(points(getattr(cell, rate)), interval(cell.ends(rate))) for rate in LEAK_RATES]
    return (*map(count, numbers), *(part for pair in rates for part in pair))


def differences(document: Leaks) -> Table | None:
    """The paired tests of leak rates."""
    rows: list[tuple[Cell, ...]] = [
        (
            *pair.systems, " ".join(test.path[:-1]), LEAK_RATES[test.path[-1]].words,
            signed(test.difference), interval(test.interval, differs=True), p_value(test.p_corrected),
        )
        for pair in document.comparisons
        for test in pair.scores
    ]  # fmt: skip
    header = ("first", "second", "mentions of", "rate", "difference", "interval", "p")
    caption = f"Leaks compared, first minus second; paired randomisation over {document.settings.unit}s."
    return Table("differences", caption, header, tuple(rows))


LEAKS: tuple[Callable[[Leaks], Table | None], ...] = (leaks, differences)
