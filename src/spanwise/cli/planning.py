"""The commands that look ahead from saved results: `plan` and `curve`."""

from __future__ import annotations

import argparse

from spanwise.cli.arguments import Command

PLAN_EXAMPLES = """examples:
  spanwise plan run.json
  spanwise plan run.json --difference 1 --html plan.html"""


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise plan`."""
    from spanwise.cli.arguments import add_document

    parser.add_argument("result", metavar="RESULT.json", help="a result, written by evaluate … --json")
    parser.add_argument(
        "--difference", type=float, default=2.0, metavar="POINTS",
        help="the difference in F1 to be found, in points (default: 2)",
    )  # fmt: skip
    add_document(parser.add_argument_group("what to show and write"))


def run_plan(args: argparse.Namespace) -> int:
    """Say how narrow intervals become, and which differences are found, with more units."""
    from spanwise.cli.arguments import finish_document
    from spanwise.planning import plan

    finish_document(args, plan(args.result, difference=args.difference / 100))
    return 0


CURVE_EXAMPLES = """examples:
  spanwise curve runs
  spanwise curve runs --size 'crf-{size}-*.json' --at 5000 --html curve.html"""


def add_curve(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise curve`."""
    from spanwise.cli.arguments import add_document

    parser.add_argument(
        "results", metavar="RESULT", nargs="+", help="a folder of results, or results written by --json"
    )
    parser.add_argument(
        "--size", default="size", metavar="TAG",
        help="the tag with the size of the training data (--tag size=2000 of evaluate), or a pattern of file "
        "names such as 'crf-{size}-*.json' (default: size)",
    )  # fmt: skip
    parser.add_argument(
        "--at", type=int, action="append", default=[], metavar="SIZE",
        help="predict this size too, up to twice the largest; may be repeated",
    )  # fmt: skip
    add_document(parser.add_argument_group("what to show and write"))


def run_curve(args: argparse.Namespace) -> int:
    """Fit how F1 grows with the training data, and say what up to twice as much would give."""
    from spanwise.cli.arguments import finish_document
    from spanwise.curves import curve

    results = args.results[0] if len(args.results) == 1 else args.results
    finish_document(args, curve(results, size=args.size, at=args.at))
    return 0


COMMANDS = {
    "plan": Command(add_plan, run_plan, PLAN_EXAMPLES),
    "curve": Command(add_curve, run_curve, CURVE_EXAMPLES),
}
