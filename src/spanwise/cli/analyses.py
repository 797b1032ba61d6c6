"""Commands that look behind a score: `errors`, `slices`, `explain`, `place`, `confidence` and `apply`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spanwise.cli.arguments import (
    Command,
    add_align,
    add_answers,
    add_attributes,
    add_document,
    add_engine,
    add_parts,
    add_policy,
    add_reading,
    add_scores,
    add_screen,
    add_setting,
    add_train,
    add_width,
    add_words,
    answer_keywords,
    answers_of,
    engine_of,
    finish_document,
    flag_default,
    reading_of,
    say_lost,
    spark_reads,
    training_files,
    write_output,
)
from spanwise.cli.evaluating import (
    buckets_of,
    compared,
    evaluate_files,
    is_result,
    named_systems,
    read_edges,
    read_vocabulary,
    refuse_runs,
    sources_of,
    split_runs,
)
from spanwise.errors import ChoiceError
from spanwise.settings import SETTINGS
from spanwise.streams import say

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.reports.errors import ListedError


ERRORS_EXAMPLES = """examples:
  spanwise errors gold.conll pred.conll --kind 'wrong label' --gold ORG --most 5
  spanwise errors run.json --system crf --outcome BE --as csv -o boundaries.csv
  spanwise errors gold.conll pred.conll --train train.conll --tough UNSEEN-TOKENS
  spanwise errors gold.conll pred.conll --bucket entity_length=XL --as jsonl
  spanwise errors gold.conll pred.conll --where 'label=MISC & entity_length>=3'"""

_NO_LIMIT = 10**9


def add_errors(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise errors`."""
    parser.add_argument("gold", metavar="GOLD", help="gold annotation, a file with both tags, or RESULT.json")
    parser.add_argument("systems", metavar="PRED", nargs="*", help="predictions: a file, or name=file")
    group = parser.add_argument_group("which errors")
    group.add_argument(
        "--kind", "--outcome", dest="outcome", often=True, metavar="KIND", action="append",
        help="wrong label, wrong boundary (too short, too long, crossing), wrong label and boundary, missed "
        "or spurious, or their codes LE, BE (BEs, BEl, BEo), LBE, FN and FP; separate several by commas",
    )  # fmt: skip
    group.add_argument(
        "--gold", often=True, dest="gold_label", metavar="LABEL", help="the label of the gold mention"
    )
    group.add_argument(
        "--predicted",
        often=True,
        dest="predicted_label",
        metavar="LABEL",
        help="the label of the predicted mention",
    )
    group.add_argument(
        "--system", often=True, dest="chosen_system", metavar="NAME", help="the system, if there are several"
    )
    group.add_argument(
        "--pattern", metavar="NAME",
        help="errors that share a cause, as a task of evaluate names it: 'stops before of'",
    )  # fmt: skip
    group.add_argument("--dataset", metavar="NAME", help="the dataset, if a study has several")
    group.add_argument(
        "--runs", choices=["all", "some"],
        help="errors that all runs of a system make, or that only some of them make",
    )  # fmt: skip
    group.add_argument(
        "--bucket", metavar="ATTRIBUTE=NAME", help="mentions in a bucket, as the tables name it"
    )
    group.add_argument(
        "--tough",
        metavar="SUBSET",
        help="gold mentions of a tough subset, such as 'never seen' or UNSEEN-ANY",
    )
    group.add_argument(
        "--where", often=True, metavar="CONDITION",
        help="mentions that meet a condition, such as 'label=MISC & entity_length>=3', 'never seen', "
        "'text has of' or 'before the'",
    )  # fmt: skip
    group.add_argument(
        "--over", choices=["error", "gold", "predicted"], default="error",
        help="one entry per error, or per gold or predicted mention that is wrong (default: error)",
    )  # fmt: skip
    group = parser.add_argument_group("what to show and write")
    group.add_argument(
        "--as", often=True, dest="form", choices=["text", "jsonl", "csv", "parquet"], default="text",
        help="text with the spans drawn under the tokens (default), JSON lines, CSV, or with --engine spark "
        "a folder of Parquet files",
    )  # fmt: skip
    group.add_argument(
        "-o", "--output", often=True, metavar="FILE",
        help="write to a file instead of standard output; with --as parquet any folder that Spark can "
        "write to",
    )  # fmt: skip
    group.add_argument("--most", metavar="N", type=int, help="list at most N errors (not with --as parquet)")
    add_screen(group, "text")
    group = parser.add_argument_group("what to compute (not with RESULT.json)")
    add_train(group)
    add_attributes(group, None, "the attributes that --bucket may name", given=False)
    add_setting(group, "edges")
    add_align(group)
    group = parser.add_argument_group("answers without offsets")
    add_policy(group)
    add_answers(group)
    add_engine(parser)
    add_reading(parser)
    # The remaining settings of `evaluate` do not affect errors.
    unused = (
        "name", "focus", "weights", "attribute", "cross", "vocabulary", "lowercase", "seed", "confidence",
        "unit", "correction", "primary", "beta", "hierarchy", "hierarchy_separator", "examples",
        "redact", "memory",
    )  # fmt: skip
    parser.set_defaults(**{name: flag_default(SETTINGS[name]) for name in unused})
    parser.set_defaults(resamples=0, examples_cap=_NO_LIMIT, workers=1)


def run_errors(args: argparse.Namespace) -> int:
    """List every error with its sentence, from files or from a saved result.

    The list has as many entries as the tables count: choose a kind of error, a gold and
    a predicted label, a bucket or a tough subset to see what is behind a number.
    """
    from spanwise.reports.errors import incomplete, listing

    bucket = _bucket(args.bucket)
    if args.form == "parquet" and (args.engine != "spark" or not args.output):
        raise ChoiceError(
            "--as parquet writes a folder with Spark.\nAdd --engine spark and the folder, as in -o errors."
        )
    if args.form == "parquet" and args.pattern:
        raise ChoiceError(
            "patterns are found over all errors, so Spark cannot select them.\nLeave out --as parquet."
        )
    if args.most is not None and args.most < 1:
        raise ChoiceError(f"--most is {args.most}, but must be 1 or more.")
    if args.form == "parquet" and args.most is not None:
        raise ChoiceError("a folder that Spark writes has every error.\nLeave out --most.")
    if args.form == "parquet":
        return _write_frame(args, bucket)
    document = _document(args)
    errors = listing(
        document,
        gold=args.gold_label,
        dataset=args.dataset,
        runs=args.runs,
        pattern=args.pattern,
        **_filters(args, bucket),
    )
    write_output(_formatted(args, errors[: args.most]), args.output)
    missing = incomplete(document)
    if missing:
        say(f"spanwise: {missing}")
    gold = {row.path for row in document.inputs if row.role == "gold"}
    if args.systems and any(row.path in gold for row in document.inputs if row.role == "predicted"):
        say("spanwise: gold and predictions are the same file, which cannot have errors. Name two files.")
    _say_number(len(errors), args.most)
    return 0


def _say_number(errors: int, most: int | None = None) -> None:
    cut = (
        "" if most is None or most >= errors else f", of which {most:,} {'is' if most == 1 else 'are'} listed"
    )
    say(f"{errors:,} {'error' if errors == 1 else 'errors'}{cut}")


def _write_frame(args: argparse.Namespace, bucket: tuple[str, str] | None) -> int:
    """Build and write the table of errors on the Spark executors."""
    from spanwise.reports.error_frames import error_table

    refuse_runs(args)
    _choose_attributes(args)
    reading = reading_of(args)
    gold, systems = sources_of(args, reading)
    with engine_of(args) as engine:
        table = error_table(
            gold,
            systems,
            engine=engine,
            gold_label=args.gold_label,
            **_filters(args, bucket),
            train=args.train if spark_reads(args, systems) else training_files(args.train),
            attributes=args.attributes,
            buckets=buckets_of(args),
            edges=read_edges(args.edges),
            align=args.align,
            **reading,
        )
        _say_number(table.write(args.output))
    return 0


def _filters(args: argparse.Namespace, bucket: tuple[str, str] | None) -> dict[str, Any]:
    """The choice of errors, as the listing and the table of Spark take it."""
    names = ("outcome", "tough", "where", "over")
    chosen = {"predicted": args.predicted_label, "system": args.chosen_system, "bucket": bucket}
    return {**{name: getattr(args, name) for name in names}, **chosen}


def _bucket(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None

    attribute, equals, name = text.partition("=")
    if not equals or not attribute or not name:
        raise ChoiceError(
            f"{text!r} is not of the form ATTRIBUTE=NAME.\nWrite it like --bucket entity_length=XL."
        )
    return attribute.strip(), name.strip()


def _document(args: argparse.Namespace) -> Document:

    if is_result(args.gold) and not args.systems:
        from spanwise.document.loading import load

        return load(args.gold)
    _choose_attributes(args)
    args.systems = split_runs(args.systems)
    return evaluate_files(args)


def _choose_attributes(args: argparse.Namespace) -> None:
    """Compute only the attributes that a condition or a bucket names, because buckets take time."""
    if args.where is not None and args.attributes is None:
        args.attributes = ",".join(_attributes_of(args.where, args.bucket)) or "none"
    if args.bucket is None and args.attributes is None:
        args.attributes = "none"


def _attributes_of(where: str, bucket: str | None) -> list[str]:
    """The attributes that a condition and, if given, a bucket refer to."""
    from spanwise.conditions import SENTENCE, TEXT, TOUGHNESS, parse

    names = [name for name in parse(where).attributes if name not in (TOUGHNESS, TEXT, SENTENCE, "label")]
    return [*names, *([bucket.partition("=")[0].strip()] if bucket else [])]


def _formatted(args: argparse.Namespace, errors: Sequence[ListedError]) -> str:
    from spanwise.reports.errors import to_csv, to_jsonl, to_text

    if args.form == "csv":
        return to_csv(errors)
    if args.form == "jsonl":
        return to_jsonl(errors)
    from spanwise.reports.terminal import screen_width, wants_color

    if args.output:  # a file must not depend on the terminal
        return to_text(errors, width=screen_width(args.width, terminal=False), color=args.color == "always")
    return to_text(errors, width=screen_width(args.width), color=wants_color(args.color))


SLICES_EXAMPLES = """examples:
  spanwise slices gold.conll pred.conll --train train.conll
  spanwise slices gold.conll old=first.conll new=second.conll --over f1
  spanwise slices gold.conll pred.conll --train train.conll --depth 3 --confirm --json slices.json
  spanwise errors gold.conll pred.conll --where 'label=MISC & entity_length>=3'"""


def add_slices(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise slices`."""
    parser.add_argument("gold", metavar="GOLD", help="gold annotation, or a file with both tags")
    parser.add_argument("systems", metavar="PRED", nargs="*", help="predictions: a file, or name=file")
    group = parser.add_argument_group("what to search")
    add_train(group)
    group.add_argument(
        "--over", often=True, choices=["recall", "f1", "hidden"], default="recall",
        help="gold mentions that are missed (default: recall), missed and wrong mentions together (f1), or "
        "gold mentions that are not wholly masked by predictions of any label (hidden)",
    )  # fmt: skip
    group.add_argument(
        "--depth",
        often=True,
        type=int,
        default=2,
        help="the maximum number of conditions in a slice (default: 2)",
    )
    group.add_argument(
        "--least",
        type=int,
        default=50,
        help="the minimum number of mentions inside and outside a slice (default: 50)",
    )
    group.add_argument(
        "--level", type=float, default=0.05, help="family-wise error rate, as a fraction (default: 0.05)"
    )
    group.add_argument("--flips", type=int, default=2000, help="random sign flips (default: 2000)")
    add_setting(group, "seed", help="random seed of the flips (default: 0)")
    group.add_argument(
        "--confirm", often=True, action="store_true",
        help="also find slices on one half of the documents and test the best five on the other",
    )  # fmt: skip
    add_setting(group, "unit", often=False)
    add_attributes(
        group, "fu20,label",
        "names separated by commas, or all, fu20, fu19 (default: fu20,label); tough subsets are always "
        "included",
    )  # fmt: skip
    add_words(group)
    add_align(group)
    add_parts(group, "search")
    group = parser.add_argument_group("what to show and write")
    add_document(group, redact=True)
    add_engine(parser)
    add_reading(parser)


def run_slices(args: argparse.Namespace) -> int:
    """Find where a system is weak, or where two systems differ, among all combinations of conditions.

    All conjunctions of conditions on the attributes of mentions are tested together, by flipping the
    signs of documents at random, so that the error rate holds for the whole list.
    """
    from spanwise.slices import find_slices

    document = compared(args, find_slices, vocabulary=read_vocabulary(args.vocabulary))
    finish_document(args, document)
    return 0


EXPLAIN_EXAMPLES = """examples:
  spanwise explain gold.conll pred.conll
  spanwise explain merged.txt --json -"""


def add_explain(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise explain`."""
    parser.add_argument(
        "gold", metavar="GOLD", help="gold annotation, or one file with gold and predicted tags"
    )
    parser.add_argument("predicted", metavar="PRED", nargs="?", help="predictions")
    add_align(parser)
    group = parser.add_argument_group("answers without offsets")
    add_policy(group, often=True)
    add_answers(group)
    parser.add_argument(
        "--json", often=True, metavar="FILE", help="write the rows as JSON (- for standard output)"
    )
    add_width(parser)
    add_reading(parser)


def run_explain(args: argparse.Namespace) -> int:
    """Show the same predictions under every convention in use: which F1 it is, who reports it, why it
    differs.
    """
    from spanwise.explanation import explain

    explanation = explain(
        args.gold, args.predicted, align=args.align, answers=answer_keywords(args), **reading_of(args)
    )
    if args.json:
        write_output(explanation.to_json(), args.json)
    if args.json != "-":
        from spanwise.reports.terminal import screen_width

        sys.stdout.write(explanation.to_text(width=screen_width(args.width)))
    return 0


PLACE_EXAMPLES = """examples:
  spanwise place gold.conll answers.jsonl
  spanwise place gold.conll answers.jsonl --response completion --aliases labels.toml
  spanwise place gold.conll answers.jsonl -o placed.jsonl --report unplaced.csv --html place.html"""


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise place`."""
    parser.add_argument("gold", metavar="GOLD", help="the gold file, with tokens or text")
    parser.add_argument("answers", metavar="ANSWERS", help="one JSON record per sentence or document")
    group = parser.add_argument_group("how to place answers")
    group.add_argument(
        "--policy", often=True, metavar="NAME", default="ordered",
        help="first, all, next or ordered (default), or the rule of uie, spacy-llm or langextract; "
        "uniner and gollie compare strings",
    )  # fmt: skip
    add_answers(group)
    group = parser.add_argument_group("what to show and write")
    group.add_argument(
        "-o", "--output", often=True, metavar="FILE", help="write the placed mentions (such as .jsonl)"
    )
    group.add_argument(
        "--report", often=True, metavar="FILE", help="write the answers that could not be placed as CSV"
    )
    add_document(group)
    add_reading(parser)


def run_place(args: argparse.Namespace) -> int:
    """Place answers without offsets, such as those of language models, on the gold text, and score them."""
    from msgspec.structs import replace

    from spanwise.formats.writing import write_results
    from spanwise.placement import checked, placed_on
    from spanwise.spreadsheet import to_csv

    choices = checked(policy=args.policy, **answers_of(args))
    placed = placed_on(args.gold, args.answers, choices, reading_of(args))
    written = []
    if args.output:
        mentions = replace(placed.on_text.mentions, fields={})  # whose texts of answers are in --report
        say_lost(write_results(replace(placed.on_text, mentions=mentions), args.output))
        written.append(args.output)
    if args.report:
        write_output(to_csv(placed.leftovers()), args.report)
        written.append(args.report)
    finish_document(args, placed.document, written=written)
    return 0


CONFIDENCE_EXAMPLES = """examples:
  spanwise confidence gold.jsonl pred.jsonl
  spanwise confidence test.jsonl test-pred.jsonl --dev dev.jsonl dev-pred.jsonl
  spanwise confidence gold.jsonl a=first.jsonl b=second.jsonl --precision 0.95 --json confidence.json
  spanwise apply --threshold 0.62 pred.jsonl -o kept.jsonl"""


def add_confidence(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise confidence`."""
    parser.add_argument("gold", metavar="GOLD", help="gold annotation")
    parser.add_argument("systems", metavar="PRED", nargs="*", help="predictions: a file, or name=file")
    group = parser.add_argument_group("what to compute")
    group.add_argument(
        "--dev", often=True, metavar="FILE", nargs="+",
        help="gold and predictions of a dev set, on which the threshold is chosen",
    )  # fmt: skip
    group.add_argument(
        "--precision", often=True, type=float, default=0.95,
        help="the precision to reach with the highest recall (default: 0.95; 95 means the same)",
    )  # fmt: skip
    group.add_argument(
        "--recall", type=float,
        help="the recall at which systems are compared (default: the highest that both reach)",
    )  # fmt: skip
    add_train(group)
    add_attributes(
        group, "none", "attributes whose buckets are assessed too, such as fu20 (default: none)",
        given=False,
    )  # fmt: skip
    add_scores(group)
    add_setting(group, "resamples")
    add_setting(group, "seed")
    add_setting(group, "unit", often=False)
    add_align(group)
    add_parts(group, "read files")
    group = parser.add_argument_group("what to show and write")
    add_document(group)
    add_engine(parser)
    add_reading(parser)


def run_confidence(args: argparse.Namespace) -> int:
    """Assess the confidence scores of predictions: ranking, thresholds and calibration."""
    from spanwise.calibration import confidence

    dev = None
    if args.dev is not None:
        if len(args.dev) < 2:
            raise ChoiceError("--dev needs gold and predictions.\nWrite --dev GOLD PRED.")
        dev = (args.dev[0], named_systems(args.dev[1:]))
    document = compared(
        args,
        confidence,
        dev=dev,
        precision=args.precision / 100 if args.precision > 1 else args.precision,
        recall=args.recall / 100 if args.recall is not None and args.recall > 1 else args.recall,
    )
    finish_document(args, document)
    return 0


APPLY_EXAMPLES = """examples:
  spanwise apply --threshold 0.62 pred.jsonl -o kept.jsonl
  spanwise apply --threshold 0.5 pred.conll -o kept.conll --score-column 3 --tag-column 2"""


def add_apply(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise apply`."""
    parser.add_argument("predicted", metavar="PRED", help="predictions with scores")
    parser.add_argument(
        "--threshold", often=True, type=float, required=True, help="the minimum score of a prediction to keep"
    )
    parser.add_argument("-o", "--output", often=True, metavar="FILE", required=True, help="the file to write")
    parser.add_argument("--to", often=True, metavar="FORMAT", help="its format (default: from the suffix)")
    add_scores(parser.add_argument_group("where the scores are"))
    add_reading(parser)


def run_apply(args: argparse.Namespace) -> int:
    """Keep the predictions whose score reaches a threshold, and write them to a file."""
    from spanwise.calibration import apply_threshold, read_scored
    from spanwise.formats.writing import write_results

    annotation = read_scored(
        args.predicted, score_column=args.score_column, token_scores=args.token_scores, **reading_of(args)
    )
    kept = apply_threshold(annotation, args.threshold, missing=args.missing)
    lost = write_results(kept, args.output, format=args.to)
    remaining, total = len(kept.mentions), len(annotation.mentions)
    sys.stderr.write(f"kept {remaining:,} of {total:,} mentions\n")
    say_lost(lost)
    return 0


COMMANDS = {
    "errors": Command(add_errors, run_errors, ERRORS_EXAMPLES),
    "slices": Command(add_slices, run_slices, SLICES_EXAMPLES),
    "explain": Command(add_explain, run_explain, EXPLAIN_EXAMPLES),
    "place": Command(add_place, run_place, PLACE_EXAMPLES),
    "confidence": Command(add_confidence, run_confidence, CONFIDENCE_EXAMPLES),
    "apply": Command(add_apply, run_apply, APPLY_EXAMPLES),
}
