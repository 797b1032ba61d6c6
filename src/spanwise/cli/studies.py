"""Commands for studies: `study` for your own, `reproduce` for published ones."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from spanwise.cli.arguments import (
    DETAIL,
    ENGINE,
    JSON,
    REPORT,
    SHOWN,
    Arguments,
    Command,
    OptionGroup,
    engine_of,
    options_of,
    positional,
    save_document,
    screen,
    show_document,
)
from spanwise.errors import ChoiceError
from spanwise.settings import Setting, check_options
from spanwise.streams import write_message

if TYPE_CHECKING:
    from spanwise.document.study import Study
    from spanwise.reproduction import Cell, Effect, Reproduction
    from spanwise.studies import Manifest


STUDY_EXAMPLES = """examples:
  spanwise study study.toml
  spanwise study examples/masakhaner.toml --root DATA/masakhaner --json study.json --html study.html
  spanwise study study.toml --csv tables/ --workers 4
  spanwise study study.toml --memory 512MB

a manifest:
  predictions = "{dataset}/predictions/{system}.{run}.txt"
  attributes = "fu20"
  [datasets.ewe]
  train = "ewe/train.txt"
  test = "ewe/test.txt"
  [systems.mbert]
  factors = {size = "base"}
  [[compare]]
  systems = ["mdeberta", "mbert"]"""


STUDY = Arguments(
    positional("manifest", "STUDY.toml", "datasets, systems and comparisons"),
    Setting(
        "root", "the folder that paths are relative to (default: the manifest's)", metavar="FOLDER",
        often=True,
    ),
    options_of("study"),
    Setting("cache", "where results are cached (default: the user's cache folder)", metavar="FOLDER"),
    Setting("no_cache", "cache nothing and recompute everything", False, often=True),
    Setting("allow_commands", "run the training commands that the file names", False),
    ENGINE,
    OptionGroup(SHOWN, [
        JSON._replace(help="write the study document (- for standard output)"), REPORT,
        Setting(
            "csv", "write the tidy performance table and all other tables as CSV", metavar="FOLDER",
            often=True,
        ),
        Setting("parquet", "write the tidy performance table as Parquet", metavar="FILE"),
        Setting("quiet", "show neither progress nor the screen", False),
        *screen(), DETAIL,
    ]),
)  # fmt: skip


def run_study(args: argparse.Namespace) -> int:
    """Analyse datasets x models x runs from one TOML file, and test which differences are real.

    Paths in the file are relative to it, or to --root. All files are checked before
    anything is computed. Results are cached by the content of the files, so an interrupted
    study resumes where it stopped, and only what changed is recomputed.
    """
    from spanwise.studies import study

    check_options("study", vars(args))
    if args.cache and args.no_cache:
        raise ChoiceError("--cache and --no-cache exclude each other.\nGive one of them.")
    with engine_of(args) as engine:
        document = study(
            _manifest(args),
            memory=args.memory,
            workers=args.workers,
            cache=args.cache or not args.no_cache,
            progress=None if args.quiet else _say,
            allow_commands=args.allow_commands,
            engine=engine,
        )
    saved = [*save_document(args, document), *_save_tables(args, document)]
    show_document(args, document, saved)
    return 0


def _manifest(args: argparse.Namespace) -> Manifest:
    """The manifest; for --html, errors are shown with their sentences unless it says otherwise."""
    from msgspec.structs import replace

    from spanwise.studies import read_manifest

    manifest = read_manifest(args.manifest, root=args.root)
    if not args.html or "examples" in manifest.settings:
        return manifest
    return replace(manifest, settings={**manifest.settings, "examples": "errors"})


def _say(text: str) -> None:
    write_message(f"spanwise: {text}")


def _save_tables(args: argparse.Namespace, document: Study) -> list[str]:
    """Write the requested tables, and return the names of the files."""
    if not args.csv and not args.parquet:
        return []
    from spanwise.formats import write_atomically
    from spanwise.table import PerformanceTable

    table = PerformanceTable.of_document(document)
    saved = _write_csv(Path(args.csv), table.to_csv(), document) if args.csv else []
    if args.parquet:
        write_atomically(args.parquet, table.to_parquet())
        saved.append(args.parquet)
    return saved


def _write_csv(folder: Path, tidy: str, document: Study) -> list[str]:
    from spanwise.formats import make_folder, write_atomically
    from spanwise.reports.figures import file_name
    from spanwise.reports.tables import tables

    make_folder(folder)
    texts = {"performance": tidy, **{name: table.to_csv() for name, table in tables(document).items()}}
    paths = {folder / f"{file_name(name)}.csv": text for name, text in texts.items()}
    for path, text in paths.items():
        write_atomically(path, text)
    return [str(path) for path in paths]


REPRODUCE_EXAMPLES = """examples:
  spanwise reproduce data
  spanwise reproduce data --different
  spanwise reproduce data --departures"""


REPRODUCE = Arguments(
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


COMMANDS = {
    "study": Command(STUDY, run_study, STUDY_EXAMPLES),
    "reproduce": Command(REPRODUCE, run_reproduce, REPRODUCE_EXAMPLES),
}
