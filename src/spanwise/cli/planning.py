"""The command that plans from saved results: `plan`."""

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


COMMANDS = {"plan": Command(add_plan, run_plan, PLAN_EXAMPLES)}
