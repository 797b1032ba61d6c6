"""The screen of a search for weak slices."""

from __future__ import annotations

import shlex

from msgspec import UNSET

from spanwise.document.analyses import (
    DifferentSlice,
    PairSlices,
    SearchedSlice,
    SliceCondition,
    Slices,
    SystemSlices,
)
from spanwise.reports import _wording as say
from spanwise.reports.terminal._frame import banner, files, reading_options
from spanwise.reports.terminal._layout import Cell, Column, Line, bar, grid, heading, sentence, text


def lines(document: Slices, width: int) -> list[Line]:
    """All sections: one for each system and one for each pair."""
    result = [*banner(document, None), *files(document.inputs, width, notes=document.notes)]
    for name, one in document.systems.items():
        result += _system(name, one, document, width)
    for pair in document.comparison:
        result += _pair(pair, document, width)
    return [*result, *_next(document, width)]


def _score(document: Slices) -> str:
    return "recall" if document.over == "recall" else "F1"


def _system(name: str, one: SystemSlices, document: Slices, width: int) -> list[Line]:
    score = None if one.overall.loss is None else 1 - one.overall.loss
    note = f"{_score(document)} {say.points(score)} over {say.plural(one.overall.units, 'mention')}"
    result = heading(f"Where {say.visible(name)} is weak", note, width)
    result += sentence(
        _verdict(one.tested, one.significant, len(one.slices), document, "weaker than the rest"),
        width,
        indent=2,
    )
    result += _weak(one.slices, one, document, width)
    if one.confirmed is not UNSET:
        result += _confirmed(one.confirmed.found_on, one.confirmed.tested_on, document, width)
        result += _weak(one.confirmed.slices, one, document, width, after=False)
    return result


def _verdict(tested: int, significant: int, listed: int, document: Slices, finding: str) -> str:
    level = f"{100 * document.settings.level:g} %"
    what = f"{say.plural(tested, 'slice')} of up to {say.plural(document.settings.depth, 'condition')}"
    if not tested:
        return f"No slice has {document.settings.least} mentions inside and outside."
    if not listed:
        return f"None of {what} is {finding} at a family-wise error rate of {level}."
    return f"Of {what}, {significant:,} are significant at a family-wise error rate of {level}."


def _weak(
    rows: tuple[SearchedSlice, ...], one: SystemSlices, document: Slices, width: int, *, after: bool = True
) -> list[Line]:
    top = max((row.rest_loss or 0.0 for row in rows), default=0.0) or 1.0
    cells: list[list[Cell]] = [
        [
            text(f"{place}"),
            text(_conditions(row.conditions)),
            say.count(row.units),
            [(say.points(None if row.loss is None else 1 - row.loss), "strong")],
            f"{row.t:.1f}",
            say.p_value(row.p) if row.p is not None else text("after the above" if after else "", "faint"),
            bar((row.rest_loss or 0.0) / top, style="bad"),
        ]
        for place, row in enumerate(rows, start=1)
    ]
    columns = [
        Column(right=True), Column("mentions with", least=24), Column("mentions", right=True),
        Column(_score(document), right=True), Column("T", right=True, rank=1), Column("p", right=True),
        Column("loss", least=8, most=20, rank=2),
    ]  # fmt: skip
    return grid(columns, cells, width)


def _pair(pair: PairSlices, document: Slices, width: int) -> list[Line]:
    first, second = (say.visible(name) for name in pair.systems)
    result = heading(f"Where {first} and {second} differ", f"by {_score(document)}", width)
    result += sentence(
        _verdict(pair.tested, pair.significant, len(pair.slices), document, "different"), width, indent=2
    )
    result += _different(pair.slices, document, width)
    if pair.confirmed is not UNSET:
        result += _confirmed(pair.confirmed.found_on, pair.confirmed.tested_on, document, width)
        result += _different(pair.confirmed.slices, document, width, after=False)
    return result


def _different(
    rows: tuple[DifferentSlice, ...], document: Slices, width: int, *, after: bool = True
) -> list[Line]:
    cells: list[list[Cell]] = [
        [
            text(f"{place}"),
            text(_conditions(row.conditions)),
            say.count(row.units),
            text(row.better, "strong"),
            say.points(None if row.difference is None else abs(row.difference)),
            f"{row.t:.1f}",
            say.p_value(row.p) if row.p is not None else text("after the above" if after else "", "faint"),
        ]
        for place, row in enumerate(rows, start=1)
    ]
    columns = [
        Column(right=True), Column("mentions with", least=24), Column("mentions", right=True),
        Column("better"), Column("by", right=True), Column("T", right=True, rank=1), Column("p", right=True),
    ]  # fmt: skip
    return grid(columns, cells, width)


def _confirmed(found_on: int, tested_on: int, document: Slices, width: int) -> list[Line]:
    unit = document.settings.unit
    words = f"The best slices of {say.plural(found_on, unit)}, tested on the other {tested_on:,}:"
    return [[], *sentence(words, width, indent=2)]


def _conditions(conditions: tuple[SliceCondition, ...]) -> str:
    return " & ".join(_condition(one) for one in conditions)


def _condition(one: SliceCondition) -> str:
    name = say.attribute(one.attribute)
    return f"{name} {one.value}" if one.label is UNSET else f"{name} {one.label}"


def _next(document: Slices, width: int) -> list[Line]:
    """The command that lists the errors of the first slice."""
    found = [(name, one.slices[0]) for name, one in document.systems.items() if one.slices]
    paths = {row.system: row.path for row in document.inputs if row.role == "predicted"}
    gold = next((row.path for row in document.inputs if row.role == "gold"), None)
    if not document.settings.command or not found or gold is None:
        return []
    name, row = found[0]
    sources = [gold] if paths.get(name) == gold else [gold, str(paths.get(name))]
    train = [part for one in document.inputs if one.role == "train" for part in ("--train", str(one.path))]
    command = shlex.join(["spanwise", "errors", *sources, *train, "--where", row.where])
    command = " ".join([command, *reading_options(document.settings.command)])
    return [*heading("Next", "", width), *sentence(command, width, indent=2)]
