"""The command `study`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

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


COMMANDS = {
    "study": Command(STUDY, run_study, STUDY_EXAMPLES),
}
