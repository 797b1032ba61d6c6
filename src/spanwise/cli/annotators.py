"""Commands over gold data and the people behind them: `agree` and `suspects`."""

from __future__ import annotations

import argparse

from spanwise.cli.arguments import Command

AGREE_EXAMPLES = """examples:
  spanwise agree ada=ada.conll bo=bo.conll cy=cy.conll
  spanwise agree 'campaign/{annotator}/*.conll' --majority gold.conll --worksheet todo.csv
  spanwise agree ada.conll bo.conll cy.conll --systems crf=crf.conll --json agreement.json"""


def add_agree(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise agree`."""
    from spanwise.cli.arguments import add_document, add_engine, add_reading

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
    add_document(group, examples="sentences", redact=True)
    add_engine(parser)
    add_reading(parser)


def run_agree(args: argparse.Namespace) -> int:
    """Measure how far annotators agree, score systems beside them, and write what most of them marked.

    Give a file for each annotator (NAME=FILE, or FILE, called by its stem), a pattern such as
    'folder/{annotator}/*.conll', or one file that holds several annotators.
    """
    from spanwise.agreement import agree
    from spanwise.cli.arguments import engine_of, reading_of
    from spanwise.cli.showing import finish_document

    reading = reading_of(args)
    with engine_of(args) as engine:
        document = agree(
            args.annotators,
            systems=args.systems,
            votes=args.votes,
            tokens=args.tokens,
            gamma=args.gamma,
            examples=args.examples,
            redact=args.redact,
            majority=args.majority,
            worksheet=args.worksheet,
            decisions=args.decisions,
            engine=engine,
            **reading,
        )
    finish_document(args, document, written=[*filter(None, (args.majority, args.worksheet))])
    return 0


SUSPECTS_EXAMPLES = """examples:
  spanwise suspects gold.conll crf=crf.conll bert='bert.{run}.conll' flair=flair.conll --train train.conll
  spanwise suspects gold.conll a=a.conll b=b.conll -o worksheet.csv
  spanwise suspects --apply worksheet.csv gold.conll -o gold2.conll"""


def add_suspects(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise suspects`."""
    from spanwise.cli.arguments import add_align, add_document, add_reading, add_train

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
    add_document(group, redact=True)
    add_reading(parser)


def run_suspects(args: argparse.Namespace) -> int:
    """List places of the gold data that are worth a second look, and apply what people decided about them.

    A suspect is not an error: systems can be wrong together, and the same words can be read in two ways.
    """
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
    finish_document(args, document, written=[args.output] if args.output else [])
    return 0


COMMANDS = {
    "agree": Command(add_agree, run_agree, AGREE_EXAMPLES),
    "suspects": Command(add_suspects, run_suspects, SUSPECTS_EXAMPLES),
}
