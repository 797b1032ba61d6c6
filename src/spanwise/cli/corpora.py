"""Commands for annotated files and annotators: describe, split, validate, convert, agree, suspects."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from spanwise.cli.arguments import (
    Command,
    add_align,
    add_document,
    add_engine,
    add_parts,
    add_reading,
    add_setting,
    add_train,
    add_words,
    asked,
    finish_document,
    reading_of,
    say_lost,
    write_output,
)
from spanwise.cli.evaluating import named_systems, read_vocabulary
from spanwise.errors import ChoiceError, InputError, many
from spanwise.settings import in_options
from spanwise.streams import message, put, say

if TYPE_CHECKING:
    from spanwise.corpus import Annotation
    from spanwise.formats import Validation

DESCRIBE_EXAMPLES = """examples:
  spanwise describe test.conll
  spanwise describe test.conll --train train.conll
  spanwise describe test.conll --train train.conll --html data.html
  spanwise describe test.conll --train train.conll --json - --quiet
  spanwise describe test.conll --train train.conll --memory 512MB --workers 2"""


def add_describe(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise describe`."""
    parser.add_argument("test", metavar="TEST", help="the gold file")
    group = parser.add_argument_group("what to compute")
    add_train(group)
    group.add_argument("--name", help="the name of the dataset (default: the file's stem)")
    add_setting(
        group, "attributes", default="all", help="names separated by commas, or all (default), fu20, fu19"
    )
    add_words(group)
    add_parts(group, "describe")
    group = parser.add_argument_group("what to show and write")
    add_document(group, examples="conflicts", redact=True)
    add_engine(parser)
    add_reading(parser)


def run_describe(args: argparse.Namespace) -> int:
    """Describe a test set before any system is run: sizes, labels, attributes, tough mentions, conflicts."""
    from spanwise.description import describe

    finish_document(args, asked(args, describe, args.test, vocabulary=read_vocabulary(args.vocabulary)))
    return 0


SPLIT_EXAMPLES = """examples:
  spanwise split corpus.conll --unseen 60 -o parts
  spanwise split train.conll test.conll --unseen 60 --test 20 --dev 10 --seed 1 -o parts
  spanwise split corpus.conll --share UNSEEN-TOKENS=50 --share TCM-ALL=10 --json - --quiet"""


def add_split(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise split`."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="annotated files; several are pooled")
    group = parser.add_argument_group("how to split")
    group.add_argument(
        "--unseen", often=True, type=float, metavar="PERCENT",
        help="share of test mentions not seen in training with their label (UNSEEN-ANY)",
    )  # fmt: skip
    group.add_argument(
        "--seen", type=float, metavar="PERCENT", help="share of test mentions seen in training"
    )
    group.add_argument(
        "--share", action="append", default=[], metavar="SUBSET=PERCENT",
        help="the share of any tough subset, such as UNSEEN-TOKENS=50; may be repeated",
    )  # fmt: skip
    group.add_argument(
        "--test",
        often=True,
        type=float,
        default=20.0,
        metavar="PERCENT",
        help="share of sentences for testing (default: 20)",
    )
    group.add_argument(
        "--dev", often=True, type=float, default=0.0, metavar="PERCENT",
        help="share of sentences for development, drawn at random (default: 0)",
    )  # fmt: skip
    add_setting(group, "seed", often=True, help="random seed (default: 0)")
    group = parser.add_argument_group("what to show and write")
    group.add_argument(
        "-o", "--output", often=True, metavar="FOLDER", help="the folder to write the parts to"
    )
    group.add_argument(
        "--to", often=True, metavar="FORMAT", help="the format to write (default: that of FILE)"
    )
    add_document(group)
    add_reading(parser)


def run_split(args: argparse.Namespace) -> int:
    """Split a corpus into training and test data with given shares of seen and unseen mentions.

    Documents are kept whole if they are marked. Lines of CoNLL files are copied unchanged, with all columns.
    """
    from spanwise.splitting import split

    reading = reading_of(args)
    document = split(
        args.files,
        shares=_shares(args),
        test=args.test / 100,
        dev=args.dev / 100,
        seed=args.seed,
        output=args.output,
        to=args.to,
        **reading,
    )
    paths = [part.path for part in document.parts.values() if part.path]
    finish_document(args, document, written=paths)
    return 0


SAMPLE_EXAMPLES = """  spanwise sample corpus.conll -n 200 -o part.conll
  spanwise sample corpus.jsonl -n 200 --strata length --seed 1 -o part.jsonl
  spanwise sample all.jsonl a.jsonl b.jsonl -n 50 --strata system-disagreement -o part.jsonl"""


def add_sample(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise sample`."""
    parser.add_argument("corpus", metavar="CORPUS", help="the data to draw from")
    parser.add_argument(
        "systems", metavar="SYSTEM", nargs="*", help="predictions for it, for --strata system-disagreement"
    )
    group = parser.add_argument_group("what to draw")
    group.add_argument("-n", often=True, type=int, required=True, metavar="N", help="the number of units")
    group.add_argument(
        "--by", often=True, choices=("sentence", "document"), default="sentence",
        help="what a unit is (default: sentence)",
    )  # fmt: skip
    group.add_argument(
        "--strata", often=True, metavar="STRATA",
        help="draw in proportion from groups of units: label (the rarest of a unit), length, "
        "system-disagreement (of the systems named), or a field of the data",
    )  # fmt: skip
    add_setting(group, "seed", often=True, help="random seed (default: 0)")
    group = parser.add_argument_group("what to write")
    group.add_argument(
        "-o", "--output", often=True, metavar="FILE", required=True, help="the file to write the units to"
    )
    group.add_argument(
        "--to", often=True, metavar="FORMAT", help="the format to write (default: by the name of FILE)"
    )
    group.add_argument("--lossy", often=True, action="store_true", help="write what the format can hold")
    add_reading(parser)


def run_sample(args: argparse.Namespace) -> int:
    """Draw units of a corpus to annotate, and write them in any format.

    The same seed draws the same units. With --strata, every unit carries its weight.
    """
    from spanwise.formats.writing import write
    from spanwise.sampling import number_of_strata, sample

    drawn = sample(
        args.corpus, args.n, by=args.by, strata=args.strata, systems=args.systems, seed=args.seed,
        **reading_of(args),
    )  # fmt: skip
    lost = write(drawn, args.output, format=args.to, lossy=args.lossy)
    groups = many(number_of_strata(drawn), "group")
    how = "at random" if args.strata is None else f"at random within {groups} of {args.strata}"
    say(f"{args.output}: {many(args.n, args.by)} drawn {how} from {args.corpus} (seed {args.seed})")
    say_lost(lost)
    return 0


def _shares(args: argparse.Namespace) -> dict[str, float]:

    shares = {"UNSEEN-ANY": args.unseen, "SEEN": args.seen}
    requested = {subset: percent / 100 for subset, percent in shares.items() if percent is not None}
    for text in args.share:
        subset, _, percent = text.partition("=")
        try:
            requested[subset] = float(percent) / 100
        except ValueError:
            raise ChoiceError(
                f"--share {text!r} is not of the form SUBSET=PERCENT, such as UNSEEN-TOKENS=50."
            ) from None
    return requested


VALIDATE_EXAMPLES = """examples:
  spanwise validate gold.conll pred.conll
  spanwise validate old.conll --scheme IOB1 --most 20

exit status: 0 no problems; 1 impossible tags, which are repaired on reading; 3 a file cannot be read"""


def add_validate(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise validate`."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="the files to check")
    parser.add_argument("--most", often=True, metavar="N", type=int, help="list at most N problems per file")
    parser.add_argument("--json", often=True, action="store_true", help="print JSON, one line per problem")
    parser.add_argument("--tuples", action="store_true", help="check relations, events, attributes and links")
    add_reading(parser, without=("map", "predicted_map", "only", "without"))


def run_validate(args: argparse.Namespace) -> int:
    """List every malformed line and every impossible tag in files, with what to do about each."""
    from spanwise.formats import validate

    if args.tuples:
        return _validate_tuples(args)
    reading = reading_of(args)
    status = 0
    for path in args.files:
        validation = validate(path, **reading)
        _show(validation, most=args.most, as_json=args.json)
        if any(not problem.repairable for problem in validation.problems):
            status = 3
        elif validation.problems:
            status = max(status, 1)
    return status


def _validate_tuples(args: argparse.Namespace) -> int:
    """Check files of tuples, each as far as its first error."""
    from spanwise.relations.files import check_tuples

    status = 0
    for path in args.files:
        try:
            _print_line(f"{path}: {check_tuples(path, **_tuple_options(args)).summary()}")
        except InputError as error:
            _print_line(str(error).replace("\n", " "))
            status = 3
    return status


def _tuple_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of reading that formats of tuples know."""
    names = ("format", "tag_column", "annotator")
    return {name: getattr(args, name) for name in names if getattr(args, name, None) is not None}


def _show(validation: Validation, *, most: int | None, as_json: bool) -> None:
    listed = validation.problems if most is None else validation.problems[: max(most, 0)]
    if as_json:
        import json

        for problem in listed:
            row: dict[str, object] = {"path": validation.path, "line": problem.line, "text": problem.text}
            row["repairable"] = problem.repairable
            put(json.dumps(row, ensure_ascii=False) + "\n")
        return
    for problem in listed:
        location = validation.path if problem.line is None else f"{validation.path}:{problem.line}"
        is_located = problem.text.startswith(f"{validation.path}:")
        _print_line(in_options(problem.text if is_located else f"{location}: {problem.text}"))
    if len(listed) < len(validation.problems):
        _print_line(f"{validation.path}: {len(validation.problems) - len(listed):,} more are not shown")
    _print_line(f"{validation.path}: {_summary(validation)}")


def _print_line(text: str) -> None:
    sys.stdout.write(f"{message(text)}\n")


def _summary(validation: Validation) -> str:

    malformed = sum(not problem.repairable for problem in validation.problems)
    impossible = len(validation.problems) - malformed
    parts = []
    if validation.annotation is not None:
        annotation = validation.annotation
        parts.append(f"{annotation.reading.format}, {annotation.reading.evidence}")
        parts.append(
            f"{many(len(annotation.corpus), 'sentence')}, {many(len(annotation.mentions), 'mention')}"
        )
        parts += annotation.reading.notes
    if malformed:
        parts.append(f"{malformed:,} malformed, so the file cannot be used as it is")
    if impossible:
        parts.append(f"{many(impossible, 'impossible tag')}, which reading repairs")
    return "; ".join(parts) + ("" if validation.problems else "; nothing is wrong")


CONVERT_EXAMPLES = """examples:
  spanwise convert in.conll out.jsonl
  spanwise convert in.conll out.conll --to-scheme BIOES
  spanwise convert in.txt out.spans --scheme IOB1 --lossy
  spanwise convert in.conll - --to jsonl | head -3"""


def add_convert(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise convert`."""
    parser.add_argument("source", metavar="IN", help="the file to read")
    parser.add_argument(
        "target", metavar="OUT", help="the file to write; its suffix names the format (-: standard output)"
    )
    parser.add_argument(
        "--to", often=True, metavar="FORMAT", help="the format to write (default: from the suffix)"
    )
    parser.add_argument("--to-scheme", often=True, metavar="SCHEME", help="the tag scheme to write")
    parser.add_argument(
        "--lossy",
        often=True,
        action="store_true",
        help="leave out what the format cannot hold, and say what was lost",
    )
    parser.add_argument(
        "--scores",
        often=True,
        action="store_true",
        help="keep the scores of mentions in a third column of a CoNLL file",
    )
    parser.add_argument(
        "--tuples",
        action="store_true",
        help="convert relations, events, attributes and links as well: to a .jsonl file or a brat folder",
    )
    parser.add_argument(
        "--context",
        type=int,
        metavar="K",
        help="join up to K sentences of one document into one, for other trainers",
    )
    parser.add_argument(
        "--cross-documents", action="store_true", help="let joined sentences cross document boundaries"
    )
    add_reading(parser)


def run_convert(args: argparse.Namespace) -> int:
    """Convert a file to another format or tag scheme; what the target cannot hold is an error, never lost
    silently.
    """
    from spanwise.formats import read
    from spanwise.formats.writing import write

    if "-" not in (args.target, args.source) and _same_file(args.source, args.target):
        raise ChoiceError(f"{args.target} is also the file to read.\nWrite to another file.")
    if args.tuples:
        from spanwise.relations.files import convert_tuples

        checked = convert_tuples(args.source, args.target, to=args.to, **_tuple_options(args))
        say(f"{args.target}: read as {checked.summary()}")
        return 0
    annotation = read(args.source, **reading_of(args))
    if args.context is not None:
        from spanwise.windows import joined

        annotation = joined(annotation, args.context, cross=args.cross_documents)
    if args.target == "-":
        lost = _print(annotation, args)
    else:
        lost = write(
            annotation,
            args.target,
            format=args.to,
            scheme=args.to_scheme,
            lossy=args.lossy,
            scores=args.scores,
        )
    reading = annotation.reading
    tags = "tag" if reading.repairs == 1 else "tags"
    repaired = f", {reading.repairs:,} {tags} repaired ({reading.repair})" if reading.repairs else ""
    say(
        f"{args.target}: {many(len(annotation.corpus), 'sentence')}, "
        f"{many(len(annotation.mentions), 'mention')}, "
        f"read as {reading.format} ({reading.evidence}){repaired}"
    )
    for note in reading.notes:
        say(f"note: {note}")
    say_lost(lost)
    return 0


def _same_file(first: str, second: str) -> bool:
    return os.path.exists(first) and os.path.exists(second) and os.path.samefile(first, second)  # noqa: PTH110, PTH121


def _print(annotation: Annotation, args: argparse.Namespace) -> tuple[str, ...]:
    """Write the annotation to standard output, in the format of --to, and return what was lost."""
    from spanwise.formats import FORMATS
    from spanwise.formats.writing import to_bytes

    if args.to is None:
        raise ChoiceError("the format cannot be inferred from standard output.\nAdd --to FORMAT.")
    form = FORMATS.find(args.to)
    if form.write is None or form.write_folder is not None:
        raise ChoiceError(f"the format {form.name!r} cannot be written to standard output.\nName a file.")
    data, lost = to_bytes(annotation, form, scheme=args.to_scheme, lossy=args.lossy, scores=args.scores)
    put(data)
    return lost


AGREE_EXAMPLES = """examples:
  spanwise agree ada=ada.conll bo=bo.conll cy=cy.conll
  spanwise agree 'campaign/{annotator}/*.conll' --majority gold.conll --worksheet todo.csv
  spanwise agree ada.conll bo.conll cy.conll --systems crf=crf.conll --json agreement.json"""


def add_agree(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise agree`."""
    parser.add_argument(
        "annotators", metavar="ANNOTATOR", nargs="+",
        help="a file or name=file for each annotator, a folder with a folder for each, a pattern with "
        "{annotator}, or one file with several",
    )  # fmt: skip
    group = parser.add_argument_group("what to compute")
    group.add_argument(
        "--systems", often=True, metavar="NAME=FILE", nargs="+", action="extend", default=[],
        help="predictions to compare with the human level",
    )  # fmt: skip
    group.add_argument(
        "--votes", often=True, type=int, metavar="K",
        help="how many annotators must mark a mention for the majority (default: more than half)",
    )  # fmt: skip
    group.add_argument(
        "--tokens", choices=["label", "iob2"], default="label",
        help="what token measures compare (default: label)",
    )  # fmt: skip
    group.add_argument("--gamma", action="store_true", help="also compute gamma (extra 'agreement'; slow)")
    group = parser.add_argument_group("what to show and write")
    group.add_argument(
        "--majority", often=True, metavar="FILE|FOLDER/",
        help="write the mentions that most annotators marked; to a folder for brat",
    )  # fmt: skip
    group.add_argument("--to", metavar="FORMAT", help="the format of --majority (default: from the suffix)")
    group.add_argument(
        "--worksheet", often=True, metavar="FILE.csv", help="write the open mentions for adjudication"
    )
    group.add_argument(
        "--decisions",
        often=True,
        metavar="FILE.csv",
        help="a filled-in worksheet, whose decisions overrule the votes",
    )
    add_document(group, examples="sentences", redact=True)
    add_engine(parser)
    add_reading(parser)


def run_agree(args: argparse.Namespace) -> int:
    """Measure how well annotators agree, score systems beside them, and write the majority annotation.

    Give a file for each annotator (NAME=FILE, or FILE, called by its stem), a pattern such as
    'folder/{annotator}/*.conll', or one file that holds several annotators.
    """
    from spanwise.agreement import agree

    document = asked(args, agree, args.annotators, systems=args.systems)
    finish_document(args, document, written=[*filter(None, (args.majority, args.worksheet))])
    return 0


SUSPECTS_EXAMPLES = """examples:
  spanwise suspects gold.conll crf=crf.conll bert='bert.{run}.conll' flair=flair.conll --train train.conll
  spanwise suspects gold.conll a=a.conll b=b.conll -o worksheet.csv
  spanwise suspects --apply worksheet.csv gold.conll -o gold2.conll"""


def add_suspects(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise suspects`."""
    parser.add_argument("gold", metavar="GOLD", help="the gold file")
    parser.add_argument(
        "systems", metavar="NAME=FILE", nargs="*",
        help="predictions; {run} in a file name stands for the runs of one system, which count as one voter",
    )  # fmt: skip
    group = parser.add_argument_group("what to compute")
    add_train(group)
    group.add_argument(
        "--dev", often=True, metavar="FILE", action="append", help="more annotated text; may be repeated"
    )
    group.add_argument(
        "--top",
        often=True,
        type=int,
        default=200,
        help="the maximum number of suspects listed (default: 200; 0: all)",
    )
    add_align(group)
    add_parts(group, "read files")
    group = parser.add_argument_group("what to show and write")
    group.add_argument(
        "-o",
        "--output",
        often=True,
        metavar="FILE",
        help="write the worksheet (CSV), or with --apply the new gold file",
    )
    group.add_argument(
        "--apply", often=True, metavar="FILE.csv", help="apply the decisions of a worksheet to GOLD"
    )
    add_document(group, redact=True)
    add_engine(parser)
    add_reading(parser)


def run_suspects(args: argparse.Namespace) -> int:
    """List gold annotations that are worth a second look, and apply the decisions made about them.

    A suspect is not an error: systems can be wrong together, and the same words can be read in two ways.
    """
    from spanwise.suspicion import apply_decisions, suspects, worksheet

    if args.apply:
        if not args.output:
            raise ChoiceError("--apply needs a file to write.\nName it with -o.")
        summary = apply_decisions(args.apply, args.gold, args.output, **reading_of(args))
        sys.stderr.write(f"{args.output}: {summary}\n")
        return 0
    document = asked(args, suspects, args.gold, named_systems(args.systems), top=args.top or None)
    if args.output:
        write_output(worksheet(document), args.output)
    finish_document(args, document, written=[args.output] if args.output else [])
    return 0


COMMANDS = {
    "describe": Command(add_describe, run_describe, DESCRIBE_EXAMPLES),
    "split": Command(add_split, run_split, SPLIT_EXAMPLES),
    "sample": Command(add_sample, run_sample, SAMPLE_EXAMPLES),
    "validate": Command(add_validate, run_validate, VALIDATE_EXAMPLES),
    "convert": Command(add_convert, run_convert, CONVERT_EXAMPLES),
    "agree": Command(add_agree, run_agree, AGREE_EXAMPLES),
    "suspects": Command(add_suspects, run_suspects, SUSPECTS_EXAMPLES),
}
