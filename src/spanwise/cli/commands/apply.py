"""Keep the predictions whose score reaches a threshold, and write them to a file."""

from __future__ import annotations

import argparse
import sys

EPILOG = """examples:
  spanwise apply --threshold 0.62 pred.jsonl -o kept.jsonl
  spanwise apply --threshold 0.5 pred.conll -o kept.conll --score-column 3 --tag-column 2"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise apply`."""
    from spanwise.cli.arguments import add_reading, add_scores

    parser.add_argument("predicted", metavar="PRED", help="predictions with scores")
    parser.add_argument(
        "--threshold", type=float, required=True, help="the least score of a prediction that is kept"
    )
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the file to write")
    parser.add_argument("--to", metavar="FORMAT", help="its format; by default its suffix says it")
    add_scores(parser.add_argument_group("where the scores are"))
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Read, choose, write."""
    from spanwise.calibration import apply_threshold, read_scored
    from spanwise.cli.arguments import reading_of
    from spanwise.formats import write

    annotation = read_scored(
        args.predicted, score_column=args.score_column, token_scores=args.token_scores, **reading_of(args)
    )
    kept = apply_threshold(annotation, args.threshold, missing=args.missing)
    write(kept, args.output, format=args.to)
    left, whole = len(kept.mentions), len(annotation.mentions)
    sys.stderr.write(f"kept {left:,} of {whole:,} mentions\n")
    return 0
