"""Measure how far annotators agree, score systems beside them, and write what most of them marked.

Give a file for each annotator (NAME=FILE, or FILE, called by its stem), a pattern such as
'folder/{annotator}/*.conll', or one file that holds several annotators.
"""

from __future__ import annotations

import argparse

EPILOG = """examples:
  spanwise agree ada=ada.conll bo=bo.conll cy=cy.conll
  spanwise agree 'campaign/{annotator}/*.conll' --majority gold.conll --worksheet todo.csv
  spanwise agree ada.conll bo.conll cy.conll --systems crf=crf.conll --json agreement.json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise agree`."""
    from spanwise.cli.arguments import add_reading, add_screen
    from spanwise.cli.engine import add_engine

    parser.add_argument(
        "annotators", metavar="ANNOTATOR", nargs="+",
        help="a file or name=file for each annotator, a pattern with {annotator}, or one file with several",
    )  # fmt: skip
    group = parser.add_argument_group("what to compute")
    group.add_argument(
        "--systems", metavar="NAME=FILE", nargs="+", action="extend", default=[],
        help="predictions to score beside the human ceiling",
    )  # fmt: skip
    group.add_argument(
        "--votes", type=int, metavar="K",
        help="how many annotators accept a mention into the majority (default: more than half)",
    )  # fmt: skip
    group.add_argument(
        "--tokens", choices=["label", "iob2"], default="label",
        help="what token measures compare (default: label)",
    )  # fmt: skip
    group.add_argument("--gamma", action="store_true", help="also compute gamma (extra 'agreement'; slow)")
    group = parser.add_argument_group("what to show and write")
    group.add_argument("--majority", metavar="FILE", help="write the mentions that most annotators marked")
    group.add_argument("--worksheet", metavar="FILE.csv", help="write the open mentions for adjudication")
    group.add_argument(
        "--decisions", metavar="FILE.csv", help="a worksheet filled in; its decisions overrule the votes"
    )
    group.add_argument("--json", metavar="FILE", help="write the document (- for standard output)")
    group.add_argument("--html", metavar="FILE", help="write the page")
    group.add_argument("--examples", type=int, default=20, help="the most sentences shown (default: 20)")
    group.add_argument("--redact", action="store_true", help="leave out all text")
    group.add_argument("--quiet", action="store_true", help="do not show the screen")
    add_screen(group)
    add_engine(parser)
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Compare the annotators, write what is asked for, show the screen."""
    from spanwise.agreement import agree
    from spanwise.cli.arguments import reading_of
    from spanwise.cli.engine import gathering
    from spanwise.cli.showing import finish_document

    reading = reading_of(args)
    with gathering(args, reading) as gathered:
        document = agree(
            gathered(_named(args, args.annotators)),
            systems=gathered(_named(args, args.systems)),
            votes=args.votes,
            tokens=args.tokens,
            gamma=args.gamma,
            examples=args.examples,
            redact=args.redact,
            majority=args.majority,
            worksheet=args.worksheet,
            decisions=args.decisions,
            **reading,
        )
    finish_document(args, document)
    return 0


def _named(args: argparse.Namespace, given: list[str]) -> list[str] | dict[str, str]:
    """Files by their names where Spark may have to read them; else as they are given."""
    from spanwise.cli.evaluating import named_systems

    apart = args.engine == "local" or not given or any("{annotator}" in text for text in given)
    return given if apart else named_systems(given)
