"""Print the papers behind the numbers, to be cited where the numbers are."""

from __future__ import annotations

import argparse
import sys

EPILOG = """examples:
  spanwise cite
  spanwise cite --bibtex > spanwise.bib
  spanwise cite tu2021tmr --bibtex"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise cite`."""
    parser.add_argument("names", metavar="PAPER", nargs="*", help="only these papers")
    parser.add_argument("--bibtex", action="store_true", help="as BibTeX entries")


def run(args: argparse.Namespace) -> int:
    """Print the papers with what they are the source of, or as BibTeX."""
    from spanwise.citations import find

    chosen = find(args.names)
    if args.bibtex:
        sys.stdout.write("\n\n".join(citation.bibtex for citation in chosen) + "\n")
        return 0
    import textwrap

    from spanwise.reports.terminal import screen_width

    width = min(96, screen_width())
    for citation in chosen:
        sys.stdout.write(f"{citation.name}: {citation.summary}\n")
        lines = textwrap.wrap(citation.text, width, initial_indent="    ", subsequent_indent="    ")
        sys.stdout.write("\n".join(lines) + "\n")
    return 0
