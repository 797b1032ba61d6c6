"""The screen of leaks: documents first, then identities, mentions and positions; the price beside it."""

from __future__ import annotations

from spanwise.document.leaks import Leaks, SystemLeaks
from spanwise.reports import _leaks as leaks
from spanwise.reports import _wording as say
from spanwise.reports.terminal._layout import (
    Column,
    ScreenCell,
    ScreenLine,
    and_more,
    banner,
    files,
    grid,
    heading,
    sentence,
    text,
)

MOST_LABELS = 20


def leaks_lines(document: Leaks, width: int) -> list[ScreenLine]:
    """All sections, system by system, and how systems compare."""
    result = [*banner(document, None), *files(document.inputs, width, notes=document.notes)]
    for name, system in document.systems.items():
        result += _system(document, name, system, width)
    statements = [leaks.compared(document, pair) for pair in document.comparisons]
    if any(statements):
        result += heading("Side by side", "leak rate of mentions", width)
        for statement in filter(None, statements):
            result += sentence(statement, width)
    cells = [cell for one in document.systems.values() for cell in (one.overall, *one.labels.values())]
    if document.settings.resamples and any(cell.mentions and not cell.leaks for cell in cells):
        result += [[], *sentence(leaks.NONE_IS_NOT_NONE, width, style="faint")]
    return result


def _system(document: Leaks, name: str, system: SystemLeaks, width: int) -> list[ScreenLine]:
    ends = "95% CI" if document.settings.resamples else ""
    rows: list[list[ScreenCell]] = []
    for row in (*leaks.levels(document, system.overall), *leaks.price(document, system.overall)):
        if row.below is not None:
            rows.append(
                [text(row.title), text(row.counts), [(leaks.percent(row.rate), "strong")],
                 text(row.within, "faint"), text(row.under, "faint")]
            )  # fmt: skip
    columns = [
        Column(least=12), Column("", right=True), Column("", right=True), Column(ends, rank=1),
        Column(rank=2, least=10),
    ]  # fmt: skip
    note = f"{say.plural(system.overall.mentions, 'mention')} to hide"
    result = [
        *heading(f"What {say.visible(name)} leaves readable", note, width),
        *grid(columns, rows, width),
    ]
    labels = sorted(system.labels.items(), key=lambda item: (-item[1].mentions, item[0]))
    cells = [(label, leaks.mention_row(cell, label), cell) for label, cell in labels[:MOST_LABELS]]
    rows = [
        [text(label), text(row.counts), [(leaks.percent(row.rate), "strong")], text(row.within, "faint"),
         text(leaks.how(cell), "faint")]
        for label, row, cell in cells
    ]  # fmt: skip
    result += [*heading("By label", "mentions that leak", width), *grid(columns, rows, width)]
    result += and_more(len(labels) - MOST_LABELS, width, "labels")
    parts: list[list[ScreenCell]] = []
    last = ""
    for division, part, cell in leaks.parts_of(document, name):
        row = leaks.mention_row(cell, part)
        parts.append(
            [text("" if division == last else division), text(say.visible(part)), text(row.counts),
             [(leaks.percent(row.rate), "strong")], text(row.within, "faint")]
        )  # fmt: skip
        last = division
    if parts:
        columns = [Column(least=8), Column(least=8), *columns[1:4]]
        result += [*heading("By part", "mentions that leak", width), *grid(columns, parts, width)]
    return result
