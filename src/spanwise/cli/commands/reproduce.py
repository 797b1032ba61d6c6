"""Recompute published figures from the data they were made from, cell by cell.

Every line has the paper's figure, the computed one, whether they are equal, and if not why. The last
line counts what is equal, explained and unexplained; the exit status is 1 when a cell is unexplained.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import asdict

if TYPE_CHECKING:
    from spanwise.reproduction import Cell, Effect, Reproduction

EPILOG = """examples:
  spanwise reproduce data
  spanwise reproduce data --different
  spanwise reproduce data --departures"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise reproduce`."""
    parser.add_argument(
        "data", metavar="DATA", help="the folder with ortmann-ner, conll2002-es, wnut16 and printed"
    )
    parser.add_argument("--different", action="store_true", help="leave out the cells that are equal")
    parser.add_argument("--json", metavar="FILE", help="write the cells as JSON; - is standard output")
    parser.add_argument(
        "--departures",
        action="store_true",
        help="show what each departure of the preset interpreteval does to the figures",
    )


def run(args: argparse.Namespace) -> int:
    """Recompute, show, and fail where a cell is unexplained."""
    from spanwise.reproduction import departure_effects, reproduce

    if args.departures:
        effects = departure_effects(args.data)
        _give(args.json, [asdict(effect) for effect in effects], _effect_lines(effects))
        return 0
    found = reproduce(args.data)
    document = {
        "cells": [{**asdict(cell), "status": cell.status} for cell in found.cells],
        "not_computed": [asdict(missing) for missing in found.missing],
        "counts": found.counts(),
    }
    _give(args.json, document, _lines(found, different=args.different))
    return 1 if found.counts()["unexplained"] else 0


def _give(path: str | None, document: object, lines: Iterable[str]) -> None:
    """Lines on standard output, unless the JSON goes there."""
    if path != "-":
        sys.stdout.write("\n".join(lines) + "\n")
    if path is not None:
        from spanwise.formats import write_atomically

        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        if path == "-":
            sys.stdout.write(text)
        else:
            write_atomically(path, text)


def _lines(found: Reproduction, *, different: bool) -> Iterator[str]:
    shown = [cell for cell in found.cells if not (different and cell.equal)]
    width = max((len(cell.name) for cell in shown), default=0)
    title = ""
    for cell in shown:
        here = f"{cell.source}, {cell.table}"
        if here != title:
            title = here
            yield f"\n{title}\n  {'':{width}}  {'paper':>12}  {'computed':>12}"
        yield _cell_line(cell, width)
    yield "\nnot computed"
    yield from (f"  {missing.source}: {missing.claim}\n    {missing.why}" for missing in found.missing)
    counts = found.counts()
    yield "\n" + " · ".join(f"{number:,} {status}" for status, number in counts.items())


def _cell_line(cell: Cell, width: int) -> str:
    line = f"  {cell.name:{width}}  {_number(cell.paper):>12}  {_number(cell.computed):>12}  {cell.status}"
    return f"{line}: {cell.why}" if cell.status == "explained" else line


def _number(value: float | int | str | None) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, float):
        return f"{value:.6f}" if abs(value) >= 0.001 or not value else f"{value:.1e}"
    return f"{value:,}" if isinstance(value, int) else value


def _effect_lines(effects: Iterable[Effect]) -> Iterator[str]:
    yield f"{'departure switched off':24} {'cells changed':>14} {'largest change of F1':>21}   where"
    for effect in effects:
        where = ", ".join(effect.attributes) or "nowhere in these data"
        changed = f"{effect.changed} of {effect.cells}"
        yield f"{effect.departure:24} {changed:>14} {100 * effect.largest:>21.2f}   {where}"
