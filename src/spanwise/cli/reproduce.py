"""The command `reproduce`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from spanwise.cli.arguments import JSON, Arguments, Command, positional
from spanwise.settings import Setting

if TYPE_CHECKING:
    from spanwise.reproduction import Cell, Effect, Reproduction


EXAMPLES = """examples:
  spanwise reproduce data
  spanwise reproduce data --different
  spanwise reproduce data --departures"""


_ARGUMENTS = Arguments(
    positional("data", "DATA", "the folder with ortmann-ner, conll2002-es, wnut16 and printed"),
    Setting("different", "show only the cells that differ", False),
    JSON._replace(help="write the cells as JSON (- for standard output)"),
    Setting(
        "departures", "show how each departure of the preset interpreteval affects the figures", False
    ),
)  # fmt: skip


def run_reproduce(args: argparse.Namespace) -> int:
    """Recompute published figures from the data they were made from, cell by cell.

    Every line shows the published figure, the computed one, whether they are equal, and if not, why. The last
    two lines count figures computed from mentions and figures that are only checked against each other; the
    exit status is 1 if one computed from mentions is unexplained.
    """
    from spanwise.reproduction import departure_effects, reproduce

    if args.departures:
        effects = departure_effects(args.data)
        _give(args.json, [asdict(effect) for effect in effects], _effect_lines(effects))
        return 0
    result = reproduce(args.data)
    document = {
        "cells": [{**asdict(cell), "status": cell.status} for cell in result.cells],
        "not_computed": [asdict(missing) for missing in result.missing],
        "counts": result.counts(),
    }
    _give(args.json, document, _lines(result, different=args.different))
    return 1 if result.counts()["mentions"]["unexplained"] else 0


def _give(path: str | None, document: object, lines: Iterable[str]) -> None:
    """Print the lines, unless the JSON goes to standard output, and write the JSON if requested."""
    if path != "-":
        sys.stdout.write("\n".join(lines) + "\n")
    if path is not None:
        from spanwise.formats import write_atomically

        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        if path == "-":
            sys.stdout.write(text)
        else:
            write_atomically(path, text)


def _lines(result: Reproduction, *, different: bool) -> Iterator[str]:
    from spanwise.reproduction import BASES

    shown = [cell for cell in result.cells if not (different and cell.equal)]
    width = max((len(cell.name) for cell in shown), default=0)
    title = ""
    for cell in shown:
        heading = f"{cell.source}, {cell.table}"
        if cell.origin == "released":
            heading += " (released with the program, not printed)"
        if heading != title:
            title = heading
            yield f"\n{title}\n  {'':{width}}  {cell.origin:>12}  {'computed':>12}"
        yield _cell_line(cell, width)
    yield "\nnot computed"
    yield from (f"  {missing.source}: {missing.claim}\n    {missing.why}" for missing in result.missing)
    yield ""
    for basis, counts in result.counts().items():
        numbers = " · ".join(f"{number:,} {status}" for status, number in counts.items())
        yield f"{BASES[basis]}: {numbers}"


def _cell_line(cell: Cell, width: int) -> str:
    line = (
        f"  {cell.name:{width}}  {_number(cell.published):>12}  {_number(cell.computed):>12}  {cell.status}"
    )
    return f"{line}: {cell.why}" if cell.why and not cell.equal else line


def _number(value: float | int | str | None) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, float):
        return f"{value:.6f}" if abs(value) >= 0.001 or not value else f"{value:.1e}"
    return f"{value:,}" if isinstance(value, int) else value


def _effect_lines(effects: Iterable[Effect]) -> Iterator[str]:
    yield f"{'departure switched off':24} {'cells changed':>14} {'largest change in F1':>21}   where"
    for effect in effects:
        where = ", ".join(effect.attributes) or "nowhere in these data"
        changed = f"{effect.changed} of {effect.cells}"
        yield f"{effect.departure:24} {changed:>14} {100 * effect.largest:>21.2f}   {where}"


REPRODUCE = Command(_ARGUMENTS, run_reproduce, EXAMPLES)
