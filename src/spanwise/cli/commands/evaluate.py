"""Score one or more systems against gold, show why they score so, and keep the result.

Give gold and predictions as two or more files, or one file whose last two
columns are gold and predicted tags. Name systems as name=path; otherwise the
file's stem is the name. A path with {run} in it stands for the runs of a system.
"""

from __future__ import annotations

import argparse
import sys

EPILOG = """examples:
  spanwise evaluate gold.conll pred.conll --train train.conll
  spanwise evaluate gold.conll bert=a.conll crf=b.conll --json run.json --html run.html
  spanwise evaluate merged.txt --fail-under 90
  spanwise evaluate gold.conll pred.conll --buckets entity_length=1,2,3 --cross entity_length,label
  spanwise evaluate gold.conll pred.conll --format conlleval"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise evaluate`."""
    from spanwise.cli.arguments import add_reading, add_settings
    from spanwise.cli.evaluating import add_evaluating, add_gates, add_outputs

    parser.add_argument(
        "gold", metavar="GOLD", help="gold annotation, or one file with gold and predicted tags"
    )
    parser.add_argument("systems", metavar="PRED", nargs="*", help="predictions: a file, or name=file")
    add_evaluating(parser)
    add_outputs(parser)
    add_gates(parser)
    add_settings(parser.add_argument_group("figures of other programs"), "preset")
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Evaluate, show, write, and check the thresholds."""
    from spanwise.cli.evaluating import check_outputs, check_thresholds, evaluate_files, finish, has_samples

    check_thresholds(args)
    check_outputs(args)
    if args.format == "conlleval":
        return _conlleval(args)
    if any("{run}" in system for system in args.systems) or has_samples(args):
        from spanwise.cli.evaluating import compare_runs

        return compare_runs(args)
    return finish(args, evaluate_files(args))


def _conlleval(args: argparse.Namespace) -> int:
    """The classic screen; here --format names what is printed, as the files are CoNLL anyway."""
    from spanwise.cli.arguments import reading_of
    from spanwise.cli.evaluating import named_systems
    from spanwise.compat.conlleval import conlleval
    from spanwise.errors import ChoiceError

    if len(args.systems) > 1:
        raise ChoiceError("the conlleval format shows one system.\nGive one file of predictions.")
    reading = reading_of(args)
    del reading["format"]
    predicted = next(iter(named_systems(args.systems).values())) if args.systems else None
    sys.stdout.write(conlleval(args.gold, predicted, **reading))
    return 0
