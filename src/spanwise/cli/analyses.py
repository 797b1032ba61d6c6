"""Commands that look behind a score: `errors`, `slices`, `explain`, `place`, `confidence` and `apply`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spanwise.cli.arguments import (
    ANSWERS,
    ENGINE,
    JSON,
    MERGED_GOLD,
    PLACING,
    PREDICTIONS,
    READING,
    SHOWN,
    Arguments,
    Command,
    OptionGroup,
    answer_keywords,
    answers_of,
    engine_of,
    finish_document,
    named,
    options_of,
    output,
    positional,
    reading_of,
    say_lost,
    screen,
    shown,
    spark_reads,
    to,
    training_files,
    width,
    write_output,
)
from spanwise.cli.evaluating import (
    MODELS,
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
from spanwise.settings import Setting
from spanwise.streams import write_message

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.document.analyses import Slices
    from spanwise.document.evaluation import Evaluation
    from spanwise.reports.errors import ListedError


ERRORS_EXAMPLES = """examples:
  spanwise errors gold.conll pred.conll --kind 'wrong label' --gold ORG --most 5
  spanwise errors run.json --system crf --outcome BE --as csv -o boundaries.csv
  spanwise errors gold.conll pred.conll --train train.conll --tough UNSEEN-TOKENS
  spanwise errors gold.conll pred.conll --bucket entity_length=XL --as jsonl
  spanwise errors gold.conll pred.conll --where 'label=MISC & entity_length>=3'"""

_NO_LIMIT = 10**9


ERRORS = Arguments(
    positional("gold", "GOLD", "gold annotation, a file with both tags, or RESULT.json"),
    PREDICTIONS,
    OptionGroup("which errors", [
        Setting(
            "outcome",
            "wrong label, wrong boundary (too short, too long, crossing), wrong label and boundary, missed "
            "or spurious, or their codes LE, BE (BEs, BEl, BEo), LBE, FN and FP; separate several by commas",
            type=list, metavar="KIND", flags=("--kind", "--outcome"), often=True,
        ),
        Setting(
            "gold_label", "the label of the gold mention", metavar="LABEL", flags=("--gold",), often=True
        ),
        Setting(
            "predicted_label", "the label of the predicted mention", metavar="LABEL", flags=("--predicted",),
            often=True,
        ),
        Setting(
            "chosen_system", "the system, if there are several", metavar="NAME", flags=("--system",),
            often=True,
        ),
        Setting(
            "pattern", "errors that share a cause, as a task of evaluate names it: 'stops before of'",
            metavar="NAME",
        ),
        Setting("dataset", "the dataset, if a study has several", metavar="NAME"),
        Setting(
            "runs", "errors that all runs of a system make, or that only some of them make",
            choices=("all", "some"),
        ),
        Setting("bucket", "mentions in a bucket, as the tables name it", metavar="ATTRIBUTE=NAME"),
        Setting(
            "tough", "gold mentions of a tough subset, such as 'never seen' or UNSEEN-ANY", metavar="SUBSET"
        ),
        Setting(
            "where",
            "mentions that meet a condition, such as 'label=MISC & entity_length>=3', 'never seen', "
            "'text has of' or 'before the'", metavar="CONDITION", often=True,
        ),
        Setting(
            "over", "one entry per error, or per gold or predicted mention that is wrong (default: error)",
            "error", choices=("error", "gold", "predicted"),
        ),
    ]),
    OptionGroup(SHOWN, [
        Setting(
            "form",
            "text with the spans drawn under the tokens (default), JSON lines, CSV, or with --engine spark "
            "a folder of Parquet files", "text", choices=("text", "jsonl", "csv", "parquet"),
            flags=("--as",), often=True,
        ),
        output(
            "write to a file instead of standard output; with --as parquet any folder that Spark can "
            "write to", often=True,
        ),
        Setting("most", "list at most N errors (not with --as parquet)", type=int, metavar="N"),
        *screen("text"),
    ]),
    OptionGroup("what to compute (not with RESULT.json)", [
        *named("train"), *named("attributes", help="the attributes that --bucket may name"),
        *named("buckets", "edges", "align"),
        *(model._replace(often=False) for model in named(*MODELS)),
    ]),
    OptionGroup("answers without offsets", [ANSWERS, *PLACING]),
    ENGINE, READING,
)  # fmt: skip


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
        write_message(f"spanwise: {missing}")
    gold = {row.path for row in document.inputs if row.role == "gold"}
    if args.systems and any(row.path in gold for row in document.inputs if row.role == "predicted"):
        write_message(
            "spanwise: gold and predictions are the same file, which cannot have errors. Name two files."
        )
    _say_number(len(errors), args.most)
    return 0


def _say_number(errors: int, most: int | None = None) -> None:
    cut = (
        "" if most is None or most >= errors else f", of which {most:,} {'is' if most == 1 else 'are'} listed"
    )
    write_message(f"{errors:,} {'error' if errors == 1 else 'errors'}{cut}")


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
    return evaluate_files(args, resamples=0, examples_cap=_NO_LIMIT)


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
  spanwise slices result.json
  spanwise slices gold.conll old=first.conll new=second.conll --over f1
  spanwise slices gold.conll pred.conll --train train.conll --depth 3 --confirm --json slices.json
  spanwise errors gold.conll pred.conll --where 'label=MISC & entity_length>=3'"""


SLICES = Arguments(
    positional("gold", "GOLD", "gold annotation, a file with both tags, or RESULT.json"), PREDICTIONS,
    OptionGroup("what to search", options_of("slices")),
    shown("slices"), ENGINE, READING,
)  # fmt: skip


def run_slices(args: argparse.Namespace) -> int:
    """Find where a system is weak, or where two systems differ, among all combinations of conditions.

    All conjunctions of conditions on the attributes of mentions are tested together, by flipping the
    signs of documents at random, so that the error rate holds for the whole list.
    """
    from spanwise.slices import find_slices

    if is_result(args.gold) and not args.systems:
        finish_document(args, _slices_in_result(args))
        return 0
    document = compared(args, find_slices, vocabulary=read_vocabulary(args.vocabulary))
    finish_document(args, document)
    return 0


def _slices_in_result(args: argparse.Namespace) -> Slices:
    """The slices of a saved result, from the mentions that it keeps."""
    from spanwise.conditions import DEFAULT
    from spanwise.document.evaluation import files_command
    from spanwise.slices import slices_in

    document = _evaluation(args.gold, "slices are found in")
    searched = ("over", "depth", "least", "level", "flips", "seed", "confirm", "unit", "lowercase")
    options: dict[str, Any] = {name: getattr(args, name) for name in searched}
    if args.attributes != ",".join(DEFAULT):
        options["attributes"] = args.attributes
    options |= {"buckets": buckets_of(args) or None, "vocabulary": read_vocabulary(args.vocabulary)}
    if args.train:
        raise ChoiceError(
            f"--train is for files; {args.gold} was evaluated with the training data that it names.\n"
            f"Leave out --train, or give the files: {files_command(document, 'slices')}"
        )
    return slices_in(document, command=shlex.join(["spanwise", *args.command_line]), **options)


def _evaluation(path: str, what: str) -> Evaluation:
    """A saved result of one dataset."""
    from spanwise.document.evaluation import Evaluation
    from spanwise.document.loading import load

    document = load(path)
    if not isinstance(document, Evaluation):
        instead = "Give a result that spanwise evaluate --json has written, or the files."
        if document.kind == "tuples" and what.startswith("slices"):
            instead = f"It has found weak types and parts of tuples already: spanwise report {path}"
        raise ChoiceError(
            f"{path}: {what} one evaluation, and this is a document of the kind {document.kind}.\n{instead}"
        )
    return document


EXPLAIN_EXAMPLES = """examples:
  spanwise explain gold.conll pred.conll
  spanwise explain merged.txt --json -"""


EXPLAIN = Arguments(
    MERGED_GOLD, positional("predicted", "PRED", "predictions", nargs="?"),
    named("align"),
    OptionGroup("answers without offsets", [ANSWERS._replace(often=True), *PLACING]),
    JSON._replace(help="write the rows as JSON (- for standard output)"), width(),
    READING,
)  # fmt: skip


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


PLACE = Arguments(
    positional("gold", "GOLD", "the gold file, with tokens or text"),
    positional("answers", "ANSWERS", "one JSON record per sentence or document"),
    OptionGroup("how to place answers", options_of("place")),
    shown(
        "place", output("write the placed mentions (such as .jsonl)", often=True),
        Setting(
            "report", "write the answers that could not be placed as CSV", metavar="FILE", often=True
        ),
    ),
    READING,
)  # fmt: skip


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


CONFIDENCE = Arguments(
    positional("gold", "GOLD", "gold annotation"), PREDICTIONS,
    OptionGroup("what to compute", options_of("confidence")),
    shown("confidence"), ENGINE, READING,
)  # fmt: skip


def run_confidence(args: argparse.Namespace) -> int:
    """Assess the confidence scores of predictions: ranking, thresholds and calibration."""
    from spanwise.calibration import confidence

    if is_result(args.gold) and not args.systems:
        from spanwise.document.evaluation import files_command

        result = _evaluation(args.gold, "confidence scores are assessed of")
        raise ChoiceError(
            f"{args.gold}: a result does not keep the confidence scores of predictions.\n"
            f"Give the files: {files_command(result, 'confidence')}"
        )
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


APPLY = Arguments(
    positional("predicted", "PRED", "predictions with scores"),
    Setting(
        "threshold", "the minimum score of a prediction to keep", type=float, required=True, often=True
    ),
    output("the file to write", required=True, often=True),
    to("its format (default: from the suffix)", often=True),
    OptionGroup("where the scores are", options_of("apply")),
    READING,
)  # fmt: skip


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
    "errors": Command(ERRORS, run_errors, ERRORS_EXAMPLES),
    "slices": Command(SLICES, run_slices, SLICES_EXAMPLES),
    "explain": Command(EXPLAIN, run_explain, EXPLAIN_EXAMPLES),
    "place": Command(PLACE, run_place, PLACE_EXAMPLES),
    "confidence": Command(CONFIDENCE, run_confidence, CONFIDENCE_EXAMPLES),
    "apply": Command(APPLY, run_apply, APPLY_EXAMPLES),
}
