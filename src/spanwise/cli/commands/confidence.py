"""Tell what the confidence scores of predictions are worth: ranking, thresholds and calibration."""

from __future__ import annotations

import argparse

EPILOG = """examples:
  spanwise confidence gold.jsonl pred.jsonl
  spanwise confidence test.jsonl test-pred.jsonl --dev dev.jsonl dev-pred.jsonl
  spanwise confidence gold.jsonl a=first.jsonl b=second.jsonl --precision 0.95 --json confidence.json
  spanwise apply --threshold 0.62 pred.jsonl -o kept.jsonl"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise confidence`."""
    from spanwise.cli.arguments import add_align, add_reading, add_scores, add_screen, add_train

    parser.add_argument("gold", metavar="GOLD", help="gold annotation")
    parser.add_argument("systems", metavar="PRED", nargs="*", help="predictions: a file, or name=file")
    group = parser.add_argument_group("what to compute")
    group.add_argument(
        "--dev", metavar="FILE", nargs="+",
        help="gold and predictions of a dev set, on which the threshold is chosen",
    )  # fmt: skip
    group.add_argument(
        "--precision", type=float, default=0.95,
        help="the precision to reach with the highest recall (default: 0.95; 95 means the same)",
    )  # fmt: skip
    group.add_argument(
        "--recall", type=float,
        help="the recall at which systems are compared (default: the highest that both reach)",
    )  # fmt: skip
    add_train(group)
    group.add_argument(
        "--attributes", metavar="NAMES", default="none",
        help="attributes by whose buckets scores are looked at too, such as fu20 (default: none)",
    )  # fmt: skip
    group.add_argument(
        "--buckets", metavar="ATTRIBUTE=HOW", action="append", default=[],
        help="how to cut an attribute: entity_length=1,2,3; may be repeated",
    )  # fmt: skip
    add_scores(group)
    group.add_argument(
        "--resamples", type=int, default=1000, help="bootstrap resamples (default: 1000; 0: none)"
    )
    group.add_argument("--seed", type=int, default=0, help="of the resampling (default: 0)")
    group.add_argument("--unit", choices=["sentence", "document"], help="what is resampled")
    add_align(group)
    group = parser.add_argument_group("what to show and write")
    group.add_argument("--json", metavar="FILE", help="write the document (- for standard output)")
    group.add_argument("--html", metavar="FILE", help="write the page")
    group.add_argument("--quiet", action="store_true", help="do not show the screen")
    add_screen(group)
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Evaluate the scores, write what is asked for, show the screen."""
    import shlex

    from spanwise.calibration import confidence
    from spanwise.cli.arguments import reading_of
    from spanwise.cli.evaluating import named_systems, parted, sources_of
    from spanwise.cli.showing import finish_document
    from spanwise.errors import ChoiceError

    reading = reading_of(args)
    gold, systems = sources_of(args, reading)
    dev = None
    if args.dev is not None:
        if len(args.dev) < 2:
            raise ChoiceError("--dev needs gold and predictions.\nWrite --dev GOLD PRED.")
        dev = (args.dev[0], named_systems(args.dev[1:]))
    document = confidence(
        gold,
        systems,
        dev=dev,
        train=args.train,
        attributes=args.attributes,
        buckets=dict(parted(text, "--buckets entity_length=1,2,3") for text in args.buckets),
        precision=args.precision / 100 if args.precision > 1 else args.precision,
        recall=args.recall / 100 if args.recall is not None and args.recall > 1 else args.recall,
        missing=args.missing,
        score_column=args.score_column,
        token_scores=args.token_scores,
        resamples=args.resamples,
        seed=args.seed,
        unit=args.unit,
        align=args.align,
        command=shlex.join(["spanwise", *args.command_line]),
        **reading,
    )
    finish_document(args, document)
    return 0
