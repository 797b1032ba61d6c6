"""Show the same predictions under every convention in use: which F1 it is, who reports it, why it differs."""

from __future__ import annotations

import argparse
import sys

EPILOG = """examples:
  spanwise explain gold.conll pred.conll
  spanwise explain merged.txt --json -"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise explain`."""
    from spanwise.cli.arguments import add_align, add_answers, add_policy, add_reading, add_width

    parser.add_argument(
        "gold", metavar="GOLD", help="gold annotation, or one file with gold and predicted tags"
    )
    parser.add_argument("predicted", metavar="PRED", nargs="?", help="predictions")
    add_align(parser)
    group = parser.add_argument_group("answers without offsets")
    add_policy(group)
    add_answers(group)
    parser.add_argument("--json", metavar="FILE", help="write the rows as JSON (- for standard output)")
    add_width(parser)
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Explain, and show the table."""
    from spanwise.cli.arguments import given_answers, reading_of
    from spanwise.cli.showing import give
    from spanwise.explanation import explain

    explanation = explain(
        args.gold, args.predicted, align=args.align, answers=given_answers(args), **reading_of(args)
    )
    if args.json:
        give(explanation.to_json(), args.json)
    if args.json != "-":
        from spanwise.reports.terminal import screen_width

        sys.stdout.write(explanation.to_text(width=screen_width(args.width)))
    return 0
