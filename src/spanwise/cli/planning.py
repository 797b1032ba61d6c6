"""The commands that look ahead from saved results: `plan` and `curve`."""

from __future__ import annotations

import argparse

from spanwise.cli.arguments import Arguments, Command, finish_document, positional, shown
from spanwise.settings import Setting

PLAN_EXAMPLES = """examples:
  spanwise plan run.json
  spanwise plan run.json --difference 1 --html plan.html"""


PLAN = Arguments(
    positional("result", "RESULT.json", "a result, written by evaluate … --json"),
    Setting(
        "difference", "the difference in F1 to be found, in points (default: 2)", 2.0, metavar="POINTS"
    ),
    shown(),
)  # fmt: skip


def run_plan(args: argparse.Namespace) -> int:
    """Say how narrow intervals become, and which differences are found, with more units."""
    from spanwise.planning import plan

    finish_document(args, plan(args.result, difference=args.difference / 100))
    return 0


CURVE_EXAMPLES = """examples:
  spanwise curve runs
  spanwise curve runs --size 'crf-{size}-*.json' --at 5000 --html curve.html"""


CURVE = Arguments(
    positional("results", "RESULT", "a folder of results, or results written by --json", nargs="+"),
    Setting(
        "size",
        "the tag with the size of the training data (--tag size=2000 of evaluate), or a pattern of file "
        "names such as 'crf-{size}-*.json' (default: size)", "size", metavar="TAG",
    ),
    Setting(
        "at", "predict this size too, up to twice the largest; may be repeated", (), type=int,
        metavar="SIZE",
    ),
    shown(),
)  # fmt: skip


def run_curve(args: argparse.Namespace) -> int:
    """Fit how F1 grows with the training data, and say what up to twice as much would give."""
    from spanwise.curves import curve

    results = args.results[0] if len(args.results) == 1 else args.results
    finish_document(args, curve(results, size=args.size, at=args.at))
    return 0


COMMANDS = {
    "plan": Command(PLAN, run_plan, PLAN_EXAMPLES),
    "curve": Command(CURVE, run_curve, CURVE_EXAMPLES),
}
