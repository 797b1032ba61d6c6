"""Place answers without offsets, as language models give them, on the gold text, and score them."""

from __future__ import annotations

import argparse

EPILOG = """examples:
  spanwise place gold.conll answers.jsonl
  spanwise place gold.conll answers.jsonl --response completion --aliases labels.toml
  spanwise place gold.conll answers.jsonl -o placed.jsonl --report unplaced.csv --html place.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise place`."""
    from spanwise.cli.arguments import add_answers, add_reading, add_screen

    parser.add_argument("gold", metavar="GOLD", help="the gold file, with tokens or text")
    parser.add_argument("answers", metavar="ANSWERS", help="one JSON record per sentence or document")
    group = parser.add_argument_group("how to place answers")
    group.add_argument(
        "--policy", metavar="NAME", default="ordered",
        help="first, all, next or ordered (default), or the rule of uie, spacy-llm or langextract",
    )  # fmt: skip
    add_answers(group)
    group = parser.add_argument_group("what to show and write")
    group.add_argument("-o", "--output", metavar="FILE", help="write the placed mentions, by suffix (.jsonl)")
    group.add_argument("--report", metavar="FILE", help="write the answers without a place as CSV")
    group.add_argument("--json", metavar="FILE", help="write the document (- for standard output)")
    group.add_argument("--html", metavar="FILE", help="write the page")
    group.add_argument("--quiet", action="store_true", help="do not show the screen")
    add_screen(group)
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Place the answers, write what is asked for, show the screen."""
    from spanwise.cli.arguments import answers_of, reading_of
    from spanwise.cli.showing import finish_document, give
    from spanwise.formats import read, write
    from spanwise.placement import checked, placement
    from spanwise.spreadsheet import to_csv

    choices = checked(policy=args.policy, **answers_of(args))
    found = placement(read(args.gold, **reading_of(args)), args.answers, choices)
    written = []
    if args.output:
        write(found.on_text, args.output)
        written.append(args.output)
    if args.report:
        give(to_csv(found.leftovers()), args.report)
        written.append(args.report)
    finish_document(args, found.document, written=written)
    return 0
