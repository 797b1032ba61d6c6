"""Print tables of a saved result or study as LaTeX, Markdown or CSV; without a name, list what there is."""

from __future__ import annotations

import argparse

EPILOG = """examples:
  spanwise table run.json
  spanwise table run.json holistic --latex
  spanwise table study.json model_wise --csv -o model_wise.csv"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise table`."""
    parser.add_argument(
        "result", metavar="RESULT.json", help="a result or study document, as --json wrote it"
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="the tables to print, or all")
    form = parser.add_mutually_exclusive_group()
    for name, what in (
        ("latex", "a table for booktabs: bold best, raised letters, a caption that names the test"),
        ("markdown", "a pipe table (default)"),
        ("csv", "numbers in full, as fractions"),
    ):
        form.add_argument(f"--{name}", dest="form", action="store_const", const=name, help=what)
    parser.add_argument("--short", action="store_true", help="attributes by their short names: eLen, eCon")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of standard output")


def run(args: argparse.Namespace) -> int:
    """Print the tables, or the names of those there are."""
    from spanwise.cli.showing import give
    from spanwise.document.loading import load
    from spanwise.reports.tables import table, tables

    document = load(args.result)
    if not args.names:
        made = tables(document)
        width = max(map(len, made), default=0) + 2
        text = "".join(f"{name:<{width}}{_summary(found.caption)}\n" for name, found in made.items())
    else:
        names = list(tables(document)) if args.names == ["all"] else args.names
        form = f"to_{args.form or 'markdown'}"
        text = "\n".join(getattr(table(document, name, short=args.short), form)() for name in names)
    give(text, args.output)
    return 0


def _summary(caption: str) -> str:
    first = caption.split(". ")[0].rstrip(".")
    return first if len(first) <= 76 else first[:75].rsplit(" ", 1)[0] + " …"
