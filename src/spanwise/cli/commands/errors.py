"""List every error with its sentence, from files or from a saved result.

The list has as many entries as the tables count: choose a kind of error, a gold and
a predicted label, a bucket or a tough subset to see what is behind a number.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.streams import say

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.reports.errors import Listed

EPILOG = """examples:
  spanwise errors gold.conll pred.conll --outcome LE --gold ORG --predicted LOC
  spanwise errors run.json --system crf --outcome BE --as csv -o boundaries.csv
  spanwise errors gold.conll pred.conll --train train.conll --tough UNSEEN-TOKENS
  spanwise errors gold.conll pred.conll --bucket entity_length=XL --as jsonl
  spanwise errors gold.conll pred.conll --where 'label=MISC & entity_length>=3'"""

_NO_LIMIT = 10**9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise errors`."""
    from spanwise.cli.arguments import (
        add_align,
        add_answers,
        add_policy,
        add_reading,
        add_screen,
        add_train,
    )
    from spanwise.cli.engine import add_engine

    parser.add_argument("gold", metavar="GOLD", help="gold annotation, a file with both tags, or RESULT.json")
    parser.add_argument("systems", metavar="PRED", nargs="*", help="predictions: a file, or name=file")
    group = parser.add_argument_group("which errors")
    group.add_argument(
        "--outcome", metavar="KIND", action="append",
        help="LE, BE (BEs, BEl, BEo), LBE, FN or FP; several with commas",
    )  # fmt: skip
    group.add_argument("--gold", dest="gold_label", metavar="LABEL", help="the label of the gold mention")
    group.add_argument(
        "--predicted", dest="predicted_label", metavar="LABEL", help="the label of the predicted mention"
    )
    group.add_argument(
        "--system", dest="chosen_system", metavar="NAME", help="the system, where there are several"
    )
    group.add_argument(
        "--bucket", metavar="ATTRIBUTE=NAME", help="mentions in a bucket, as the tables name it"
    )
    group.add_argument(
        "--tough", metavar="SUBSET", help="gold mentions of a tough subset, such as UNSEEN-ANY"
    )
    group.add_argument(
        "--where", metavar="CONDITION",
        help="mentions that meet a condition, such as 'label=MISC & entity_length>=3'",
    )  # fmt: skip
    group.add_argument(
        "--over", choices=["error", "gold", "predicted"], default="error",
        help="one entry an error, or a gold or a predicted mention that is not right (default: error)",
    )  # fmt: skip
    group = parser.add_argument_group("what to show and write")
    group.add_argument(
        "--as", dest="form", choices=["text", "jsonl", "csv", "parquet"], default="text",
        help="text with the spans drawn under the tokens (default), JSON lines, CSV, or with --engine spark "
        "a folder of Parquet files",
    )  # fmt: skip
    group.add_argument(
        "-o", "--output", metavar="FILE",
        help="write to a file instead of standard output; with --as parquet any folder that Spark writes to",
    )  # fmt: skip
    add_screen(group, "text")
    group = parser.add_argument_group("what to compute (not with RESULT.json)")
    add_train(group)
    group.add_argument("--attributes", metavar="NAMES", help="the attributes that --bucket may name")
    group.add_argument(
        "--buckets", metavar="ATTRIBUTE=HOW", action="append", default=[], help="how to cut an attribute"
    )
    group.add_argument("--edges", metavar="FILE", help="use the buckets that --save-edges wrote")
    add_align(group)
    group = parser.add_argument_group("answers without offsets")
    add_policy(group)
    add_answers(group)
    add_engine(parser)
    add_reading(parser)
    # What else `evaluate` can be told changes no error.
    parser.set_defaults(
        name=None, focus="gold", weights=[], attribute=[], cross=[], vocabulary=None, lowercase=False,
        resamples=0, seed=0, confidence=0.95, unit=None, correction="holm", primary="f1", examples="errors",
        examples_cap=_NO_LIMIT, redact=False, memory=None, workers=1,
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """List the errors that were asked for."""
    from spanwise.cli.engine import engine_of
    from spanwise.cli.showing import give
    from spanwise.errors import ChoiceError
    from spanwise.reports.error_frames import to_frame
    from spanwise.reports.errors import incomplete, listing

    bucket = _bucket(args.bucket)
    if args.form == "parquet" and (args.engine != "spark" or not args.output):
        raise ChoiceError(
            "--as parquet writes a folder with Spark.\nAdd --engine spark and the folder, as in -o errors."
        )
    document = _document(args)
    errors = listing(
        document,
        outcome=args.outcome,
        gold=args.gold_label,
        predicted=args.predicted_label,
        system=args.chosen_system,
        bucket=bucket,
        tough=args.tough,
        where=args.where,
        over=args.over,
    )
    if args.form == "parquet":
        with engine_of(args) as engine:
            to_frame(errors, engine.session).write.mode("overwrite").parquet(args.output)
    else:
        give(_written(args, errors), args.output)
    missing = incomplete(document)
    if missing:
        say(f"spanwise: {missing}")
    number = len(errors)
    say(f"{number:,} {'error' if number == 1 else 'errors'}")
    return 0


def _bucket(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    from spanwise.errors import ChoiceError

    attribute, equals, name = text.partition("=")
    if not equals or not attribute or not name:
        raise ChoiceError(
            f"{text!r} does not read as ATTRIBUTE=NAME.\nWrite it like --bucket entity_length=XL."
        )
    return attribute.strip(), name.strip()


def _document(args: argparse.Namespace) -> Document:
    from spanwise.cli.evaluating import evaluate_files, is_result

    if is_result(args.gold) and not args.systems:
        from spanwise.document.loading import load

        return load(args.gold)
    if args.where is not None and args.attributes is None:
        args.attributes = ",".join(_attributes_of(args.where, args.bucket)) or "none"
    if args.bucket is None and args.attributes is None:
        args.attributes = "none"  # buckets take time and no one asked for them
    return evaluate_files(args)


def _attributes_of(where: str, bucket: str | None) -> list[str]:
    """The attributes that a condition, and maybe a bucket, asks for."""
    from spanwise.conditions import TOUGHNESS, parse

    names = [name for name in parse(where).attributes if name not in (TOUGHNESS, "label")]
    return [*names, *([bucket.partition("=")[0].strip()] if bucket else [])]


def _written(args: argparse.Namespace, errors: Sequence[Listed]) -> str:
    from spanwise.reports.errors import to_csv, to_jsonl, to_text

    if args.form == "csv":
        return to_csv(errors)
    if args.form == "jsonl":
        return to_jsonl(errors)
    from spanwise.reports.terminal import screen_width, wants_color

    if args.output:  # a file looks the same wherever it was written
        return to_text(errors, width=screen_width(args.width, terminal=False), color=args.color == "always")
    return to_text(errors, width=screen_width(args.width), color=wants_color(args.color))
