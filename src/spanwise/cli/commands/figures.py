"""Draw the figures of a saved result or study as SVG, PDF or PNG; without a folder, list what there is.

Text in PDF files carries its fonts. --paper draws the figures of the papers in their own form.
"""

from __future__ import annotations

import argparse
import sys

from spanwise.streams import say

EPILOG = """examples:
  spanwise figures run.json
  spanwise figures run.json -o figures --format pdf,svg
  spanwise figures study.json -o figures --paper fu20-figure4 --format pdf --columns 1"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise figures`."""
    parser.add_argument(
        "result", metavar="RESULT.json", help="a result or study document, as --json wrote it"
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="the figures to draw (default: all)")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="where to write them")
    parser.add_argument(
        "--format",
        default="svg",
        metavar="FORMATS",
        help="svg, pdf, png, or several with commas (default: svg)",
    )
    parser.add_argument(
        "--paper", action="append", default=[], metavar="NAME",
        help="a figure of a paper in its own form, such as fu20-figure4; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--columns", type=int, metavar="N",
        help="as wide as one column of a paper (1: 240 pt) or two (2: 500 pt)",
    )  # fmt: skip
    parser.add_argument(
        "--labels", default="", metavar="LABELS",
        help="the labels that a paper's confusion matrix shows, with commas; all others are added up",
    )  # fmt: skip
    parser.add_argument(
        "--background", default="white", metavar="COLOUR", help="white (default) or transparent"
    )


def run(args: argparse.Namespace) -> int:
    """Write the figures, or list their names."""
    from spanwise.document.loading import load
    from spanwise.reports.figures import figures, papers, save

    document = load(args.result)
    if not args.output:
        lines = [*figures(document), *(f"--paper {name:<15} {text}" for name, text in papers().items())]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        return 0
    formats = [form.strip() for form in args.format.split(",") if form.strip()]
    written = save(
        document,
        args.output,
        formats=formats,
        names=args.names,
        papers=args.paper,
        labels=[label for label in args.labels.split(",") if label],
        background=args.background,
        columns=args.columns,
    )
    files = "1 file" if len(written) == 1 else f"{len(written)} files"
    say(f"saved: {files} in {args.output}")
    return 0
