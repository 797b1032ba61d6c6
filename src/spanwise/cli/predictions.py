"""Commands over predictions that need more than labels: `place`, `confidence` and `apply`."""

from __future__ import annotations

import argparse
import sys

from spanwise.cli.arguments import Command

PLACE_EXAMPLES = """examples:
  spanwise place gold.conll answers.jsonl
  spanwise place gold.conll answers.jsonl --response completion --aliases labels.toml
  spanwise place gold.conll answers.jsonl -o placed.jsonl --report unplaced.csv --html place.html"""


def add_place(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise place`."""
    from spanwise.cli.arguments import add_answers, add_document, add_reading

    parser.add_argument("gold", metavar="GOLD", help="the gold file, with tokens or text")
    parser.add_argument("answers", metavar="ANSWERS", help="one JSON record per sentence or document")
    group = parser.add_argument_group("how to place answers")
    group.add_argument(
        "--policy", metavar="NAME", default="ordered",
        help="first, all, next or ordered (default), or the rule of uie, spacy-llm or langextract; "
        "uniner and gollie compare strings",
    )  # fmt: skip
    add_answers(group)
    group = parser.add_argument_group("what to show and write")
    group.add_argument("-o", "--output", metavar="FILE", help="write the placed mentions, by suffix (.jsonl)")
    group.add_argument("--report", metavar="FILE", help="write the answers without a place as CSV")
    add_document(group)
    add_reading(parser)


def run_place(args: argparse.Namespace) -> int:
    """Place answers without offsets, as language models give them, on the gold text, and score them."""
    from spanwise.cli.arguments import answers_of, reading_of
    from spanwise.cli.showing import finish_document, give
    from spanwise.formats import read, write
    from spanwise.placement import checked, placement
    from spanwise.spreadsheet import to_csv

    choices = checked(policy=args.policy, **answers_of(args))
    found = placement(read(args.gold, **reading_of(args)), args.answers, choices)
    written = []
    if args.output:
        write(found.on_text, args.output)
        written.append(args.output)
    if args.report:
        give(to_csv(found.leftovers()), args.report)
        written.append(args.report)
    finish_document(args, found.document, written=written)
    return 0


CONFIDENCE_EXAMPLES = """examples:
  spanwise confidence gold.jsonl pred.jsonl
  spanwise confidence test.jsonl test-pred.jsonl --dev dev.jsonl dev-pred.jsonl
  spanwise confidence gold.jsonl a=first.jsonl b=second.jsonl --precision 0.95 --json confidence.json
  spanwise apply --threshold 0.62 pred.jsonl -o kept.jsonl"""


def add_confidence(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise confidence`."""
    from spanwise.cli.arguments import (
        add_align,
        add_attributes,
        add_document,
        add_reading,
        add_scores,
        add_setting,
        add_train,
    )

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
    add_attributes(
        group, "none", "attributes by whose buckets scores are looked at too, such as fu20 (default: none)",
        given=False,
    )  # fmt: skip
    add_scores(group)
    add_setting(group, "resamples")
    add_setting(group, "seed")
    group.add_argument("--unit", choices=["sentence", "document"], help="what is resampled")
    add_align(group)
    group = parser.add_argument_group("what to show and write")
    add_document(group)
    add_reading(parser)


def run_confidence(args: argparse.Namespace) -> int:
    """Tell what the confidence scores of predictions are worth: ranking, thresholds and calibration."""
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


APPLY_EXAMPLES = """examples:
  spanwise apply --threshold 0.62 pred.jsonl -o kept.jsonl
  spanwise apply --threshold 0.5 pred.conll -o kept.conll --score-column 3 --tag-column 2"""


def add_apply(parser: argparse.ArgumentParser) -> None:
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


def run_apply(args: argparse.Namespace) -> int:
    """Keep the predictions whose score reaches a threshold, and write them to a file."""
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


COMMANDS = {
    "place": Command(add_place, run_place, PLACE_EXAMPLES),
    "confidence": Command(add_confidence, run_confidence, CONFIDENCE_EXAMPLES),
    "apply": Command(add_apply, run_apply, APPLY_EXAMPLES),
}
