"""Score one or more systems against gold, show why they score so, and keep the result.

Give gold and predictions as two or more files, or one file whose last two
columns are gold and predicted tags. Name systems as name=path; otherwise the
file's stem is the name.
"""

from __future__ import annotations

import argparse

EPILOG = """examples:
  spanwise evaluate gold.conll pred.conll --train train.conll
  spanwise evaluate gold.conll bert=a.conll crf=b.conll --json run.json --html run.html
  spanwise evaluate merged.txt --fail-under 90
  spanwise evaluate gold.conll pred.conll --buckets entity_length=1,2,3 --cross entity_length,label"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise evaluate`."""
    from spanwise.cli.arguments import add_reading
    from spanwise.cli.evaluating import add_evaluating, add_gates, add_outputs

    parser.add_argument(
        "gold", metavar="GOLD", help="gold annotation, or one file with gold and predicted tags"
    )
    parser.add_argument("systems", metavar="PRED", nargs="*", help="predictions: a file, or name=file")
    add_evaluating(parser)
    add_outputs(parser)
    add_gates(parser)
    parser.add_argument(
        "--preset", choices=["interpreteval"],
        help="the figures of another program; interpreteval: the one released by Fu et al. (2020)",
    )  # fmt: skip
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Evaluate, show, write, and check the thresholds."""
    from spanwise.cli.evaluating import evaluate_files, finish

    if args.preset == "interpreteval":
        from spanwise.cli.presets import interpreteval

        return interpreteval(args)
    if args.format == "conlleval":
        from spanwise.cli.presets import conlleval

        return conlleval(args)
    return finish(args, evaluate_files(args))
