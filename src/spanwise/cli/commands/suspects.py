"""List places of the gold data that are worth a second look, and apply what people decided about them.

A suspect is not an error: systems can be wrong together, and the same words can be read in two ways.
"""

from __future__ import annotations

import argparse

EPILOG = """examples:
  spanwise suspects gold.conll crf=crf.conll bert='bert.{run}.conll' flair=flair.conll --train train.conll
  spanwise suspects gold.conll a=a.conll b=b.conll -o worksheet.csv
  spanwise suspects --apply worksheet.csv gold.conll -o gold2.conll"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise suspects`."""
    from spanwise.cli.arguments import add_align, add_reading, add_screen, add_train

    parser.add_argument("gold", metavar="GOLD", help="the gold file")
    parser.add_argument(
        "systems", metavar="NAME=FILE", nargs="*",
        help="predictions; {run} in a file name gathers the runs of one system, which are one voter",
    )  # fmt: skip
    group = parser.add_argument_group("what to compute")
    add_train(group)
    group.add_argument("--dev", metavar="FILE", action="append", help="more annotated text; may be repeated")
    group.add_argument("--top", type=int, default=200, help="the most suspects listed (default: 200; 0: all)")
    add_align(group)
    group = parser.add_argument_group("what to show and write")
    group.add_argument(
        "-o", "--output", metavar="FILE", help="write the worksheet (CSV), or with --apply the new gold file"
    )
    group.add_argument("--apply", metavar="FILE.csv", help="apply the decisions of a worksheet to GOLD")
    group.add_argument("--json", metavar="FILE", help="write the document (- for standard output)")
    group.add_argument("--html", metavar="FILE", help="write the page")
    group.add_argument("--redact", action="store_true", help="leave out all text")
    group.add_argument("--quiet", action="store_true", help="do not show the screen")
    add_screen(group)
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """List the suspects or apply decisions, write what is asked for, show the screen."""
    from spanwise.cli.arguments import reading_of
    from spanwise.cli.evaluating import named_systems
    from spanwise.cli.showing import finish_document, give
    from spanwise.suspicion import apply_decisions, suspects, worksheet

    if args.apply:
        import sys

        from spanwise.errors import ChoiceError

        if not args.output:
            raise ChoiceError("--apply needs a file to write.\nName it with -o.")
        done = apply_decisions(args.apply, args.gold, args.output, **reading_of(args))
        sys.stderr.write(f"{args.output}: {done}\n")
        return 0
    document = suspects(
        args.gold,
        named_systems(args.systems),
        train=args.train,
        dev=args.dev,
        top=args.top or None,
        align=args.align,
        redact=args.redact,
        **reading_of(args),
    )
    if args.output:
        give(worksheet(document), args.output)
    finish_document(args, document)
    return 0
