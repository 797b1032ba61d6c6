"""Turn a saved result into what other tools read: scalars, rows, CI summaries, model cards."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from spanwise.reports import REPORTS, Report

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.gates import Outcome

EPILOG = (
    "forms:\n"
    + "".join(f"  {report.name:<13}{report.summary}\n" for report in REPORTS)
    + """
examples:
  spanwise export run.json flat
  spanwise export run.json summary --fail-under 90 >> "$GITHUB_STEP_SUMMARY"
  spanwise export run.json summary --against last.json --fail-drop 0.5 --strict
  spanwise export run.json junit --fail-under 90 --floor PER=85 -o gate.xml
  spanwise export run.json model-index --name my-org/my-model --dataset conll2003
  spanwise export --schema

exit status 1 where a threshold was given and missed"""
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise export`."""
    parser.add_argument("result", metavar="RESULT.json", nargs="?", help="a result or study document")
    parser.add_argument("form", metavar="FORM", nargs="?", help="one of: " + ", ".join(REPORTS.names()))
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead of standard output")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of result documents")
    parser.add_argument(
        "--fail-under", type=float, metavar="POINTS", help="summary, junit: the least F1, in points"
    )
    parser.add_argument(
        "--floor", metavar="PATH=POINTS", action="append", default=[],
        help="summary, junit: the least score of a label or slice, such as PER=90; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--against", metavar="LAST.json", help="summary, junit: what changed since an earlier result, tested"
    )
    parser.add_argument(
        "--fail-drop", type=float, metavar="POINTS",
        help="with --against: fail where F1 drops by significantly more than this",
    )  # fmt: skip
    parser.add_argument(
        "--not-worse-than", type=float, metavar="POINTS",
        help="with --against: pass only where a drop of F1 by this or more is excluded",
    )  # fmt: skip
    parser.add_argument(
        "--strict", action="store_true",
        help="with --against: fail where a system is new to the earlier result, and so untested",
    )  # fmt: skip
    parser.add_argument("--name", help="model-index: the model's name; by default the system's")
    parser.add_argument("--dataset", help="model-index: the dataset's identifier; by default its name")


def run(args: argparse.Namespace) -> int:
    """Write one form of the document."""
    from spanwise.cli.showing import give
    from spanwise.errors import ChoiceError

    if args.schema:
        import json

        from spanwise.document.loading import schema

        give(json.dumps(schema(), indent=2) + "\n", args.output or args.result)
        return 0
    forms = ", ".join(REPORTS.names())
    if args.result is None or args.form is None:
        raise ChoiceError(f"export needs a result document and a form.\nThe forms are: {forms}.")
    report = REPORTS.find(args.form)
    from spanwise.document.loading import load

    document = load(args.result)
    outcome = _outcome(args, document, report)
    checks = outcome.checks
    choices = {"fail_under": args.fail_under, "floors": args.floor, "checks": checks}
    choices |= {"changes": outcome.changes, "notes": outcome.notes}
    choices |= {"name": args.name, "dataset": args.dataset}
    made = report.function(document, **{key: choices[key] for key in report.takes})
    give(made, args.output)
    return 0 if all(check.passed for check in checks) else 1


def _outcome(args: argparse.Namespace, document: Document, report: Report) -> Outcome:
    """The thresholds that were given, and what changed since an earlier result."""
    from spanwise.errors import ChoiceError
    from spanwise.gates import Outcome, gate

    for name in ("fail_drop", "not_worse_than", "strict"):
        if getattr(args, name) not in (None, False) and args.against is None:
            flag = f"--{name.replace('_', '-')}"
            raise ChoiceError(f"{flag} needs an earlier result to compare with.\nAdd --against LAST.json.")
    if args.fail_under is None and not args.floor and args.against is None:
        if report.name == "junit":
            raise ChoiceError(
                "junit needs a threshold.\nAdd --fail-under POINTS, --floor PATH=POINTS or --against FILE."
            )
        return Outcome(())
    return gate(
        document, fail_under=args.fail_under, floors=args.floor, against=args.against,
        fail_drop=args.fail_drop, not_worse_than=args.not_worse_than, strict=args.strict,
    )  # fmt: skip
