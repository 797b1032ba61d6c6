"""Analyse datasets x models x runs from one TOML file, and which differences between systems are real.

Paths in the file are relative to it, or to --root. All files are checked before
anything is computed. Results are kept by the content of the files, so that a study
goes on where it was interrupted and only what changed is computed again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwise.document.study import Study
    from spanwise.studies import Manifest

from spanwise.streams import say

EPILOG = """examples:
  spanwise study study.toml
  spanwise study examples/masakhaner.toml --root DATA/masakhaner --json study.json --html study.html
  spanwise study study.toml --csv tables/ --workers 4

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise study`."""
    from spanwise.cli.arguments import add_screen
    from spanwise.cli.engine import add_engine

    parser.add_argument("manifest", metavar="STUDY.toml", help="datasets, systems and what is asked")
    parser.add_argument(
        "--root", metavar="FOLDER", help="what paths are relative to; by default the manifest's folder"
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="processes (default: as many as there are cores)"
    )
    parser.add_argument(
        "--cache", metavar="FOLDER", help="where results are kept (default: the user's cache folder)"
    )
    parser.add_argument("--no-cache", action="store_true", help="keep nothing and compute everything again")
    parser.add_argument(
        "--allow-commands", action="store_true", help="run the commands of systems that name one"
    )
    add_engine(parser)
    group = parser.add_argument_group("what to show and write")
    group.add_argument("--json", metavar="FILE", help="write the study document (- for standard output)")
    group.add_argument("--html", metavar="FILE", help="write the report as one HTML page")
    group.add_argument(
        "--csv", metavar="FOLDER", help="write the tidy performance table and all other tables as CSV"
    )
    group.add_argument("--parquet", metavar="FILE", help="write the tidy performance table as Parquet")
    group.add_argument("--quiet", action="store_true", help="show neither progress nor the screen")
    add_screen(group)


def run(args: argparse.Namespace) -> int:
    """Run the study, write what was asked for, and show its tables."""
    from spanwise.cli.engine import engine_of
    from spanwise.cli.showing import save_document, show_document
    from spanwise.errors import ChoiceError
    from spanwise.studies import study

    if args.workers is not None and args.workers < 1:
        raise ChoiceError(f"--workers is {args.workers}, but must be 1 or more.")
    if args.cache and args.no_cache:
        raise ChoiceError("--cache and --no-cache exclude each other.\nGive one of them.")
    with engine_of(args) as engine:
        document = study(
            _manifest(args),
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
    """The manifest; a page shows sentences with errors where the manifest does not say otherwise."""
    from msgspec.structs import replace

    from spanwise.studies import read_manifest

    read = read_manifest(args.manifest, root=args.root)
    if not args.html or "examples" in read.settings:
        return read
    return replace(read, settings={**read.settings, "examples": "errors"})


def _say(text: str) -> None:
    say(f"spanwise: {text}")


def _save_tables(args: argparse.Namespace, document: Study) -> list[str]:
    """Write the tables that were asked for; the names of the files."""
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
    from spanwise.reports.tables import tables

    make_folder(folder)
    texts = {"performance": tidy, **{name: table.to_csv() for name, table in tables(document).items()}}
    for name, text in texts.items():
        write_atomically(folder / f"{name}.csv", text)
    return [str(folder / f"{name}.csv") for name in texts]
