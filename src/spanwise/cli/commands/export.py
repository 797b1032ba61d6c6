"""Turn a saved result into what other tools read: scalars, rows, CI summaries, model cards."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from spanwise.reports import REPORTS, Report

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.gates import Check

EPILOG = (
    "forms:\n"
    + "".join(f"  {report.name:<13}{report.summary}\n" for report in REPORTS)
    + """
examples:
  spanwise export run.json flat
  spanwise export run.json summary --fail-under 90 >> "$GITHUB_STEP_SUMMARY"
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
    checks = _checks(args, document, report)
    choices = {"fail_under": args.fail_under, "floors": args.floor, "checks": checks}
    choices |= {"name": args.name, "dataset": args.dataset}
    made = report.function(document, **{key: choices[key] for key in report.takes})
    give(made, args.output)
    return 0 if all(check.passed for check in checks) else 1


def _checks(args: argparse.Namespace, document: Document, report: Report) -> tuple[Check, ...]:
    if args.fail_under is None and not args.floor:
        if "fail_under" in report.takes:
            from spanwise.errors import ChoiceError

            raise ChoiceError(
                f"{report.name} needs a threshold.\nAdd --fail-under POINTS or --floor PATH=POINTS."
            )
        return ()
    from spanwise.gates import gate

    return gate(document, fail_under=args.fail_under, floors=args.floor).checks
