"""Make the HTML page of a saved result or study: one file, no network, no server."""

from __future__ import annotations

import argparse
import sys

from spanwise.streams import say

EPILOG = """examples:
  spanwise report run.json -o run.html
  spanwise report study.json -o study.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise report`."""
    parser.add_argument(
        "result", metavar="RESULT.json", help="a result or study document, as --json wrote it"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where to write the page (default: standard output)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the page."""
    from spanwise.cli.showing import give
    from spanwise.document.loading import load
    from spanwise.errors import ChoiceError
    from spanwise.reports.html import render

    if not args.output and sys.stdout.isatty():
        raise ChoiceError("a page cannot be read on a terminal.\nName a file: -o report.html.")
    give(render(load(args.result)), args.output)
    if args.output:
        say(f"saved: {args.output}")
    return 0
