"""Test which of several systems of one dataset is better, and where.

Give gold and two or more files of predictions, or two or more result documents
(made with --json) over the same gold file. A file name with {run} in it stands for
the runs of a system: then the spread over runs stands beside the interval over the
data, and a test that draws both is shown.
"""

from __future__ import annotations

import argparse

EPILOG = """examples:
  spanwise compare gold.conll bert=a.conll crf=b.conll --train train.conll
  spanwise compare new.json old.json
  spanwise compare gold.conll bert='bert.{run}.conll' crf='crf.{run}.conll'
  spanwise compare gold.conll a.conll b.conll c.conll --correction bh --html report.html"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise compare`."""
    from spanwise.cli.arguments import add_reading
    from spanwise.cli.evaluating import add_evaluating, add_outputs

    parser.add_argument("gold", metavar="GOLD|RESULT.json", help="gold annotation, or a result document")
    parser.add_argument(
        "systems",
        metavar="PRED|RESULT.json",
        nargs="*",
        help="predictions (file, or name=file), or result documents",
    )
    add_evaluating(parser)
    add_outputs(parser)
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Compare, show and write."""
    from spanwise.cli.evaluating import check_outputs, evaluate_files, finish, is_result

    check_outputs(args)

    if is_result(args.gold):
        from spanwise.cli.evaluating import compare_results

        return compare_results(args)
    if any("{run}" in system for system in args.systems):
        from spanwise.cli.evaluating import compare_runs

        return compare_runs(args)
    return finish(args, evaluate_files(args, compare=True))
