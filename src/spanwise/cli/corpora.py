"""Commands for annotated files and annotators: describe, split, validate, convert, agree, suspects."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from spanwise.cli.arguments import (
    ENGINE,
    READING,
    TUPLE_COLUMN,
    Arguments,
    Command,
    OptionGroup,
    asked,
    finish_document,
    named,
    options_of,
    output,
    positional,
    reading_group,
    reading_of,
    say_lost,
    shown,
    to,
    write_output,
)
from spanwise.cli.evaluating import named_systems, read_vocabulary
from spanwise.errors import ChoiceError, InputError, many
from spanwise.settings import RULES, Setting, in_options
from spanwise.streams import message, put, write_message

if TYPE_CHECKING:
    from spanwise.corpus import Annotation
    from spanwise.formats import Validation

DESCRIBE_EXAMPLES = """examples:
  spanwise describe test.conll
  spanwise describe test.conll --train train.conll
  spanwise describe test.conll --train train.conll --html data.html
  spanwise describe test.conll --train train.conll --json - --quiet
  spanwise describe test.conll --train train.conll --memory 512MB --workers 2"""


DESCRIBE = Arguments(
    positional("test", "TEST", "the gold file"),
    OptionGroup("what to compute", options_of("describe")),
    shown("describe"), ENGINE, READING,
)  # fmt: skip


def run_describe(args: argparse.Namespace) -> int:
    """Describe a test set before any system is run: sizes, labels, attributes, tough mentions, conflicts."""
    from spanwise.description import describe

    finish_document(args, asked(args, describe, args.test, vocabulary=read_vocabulary(args.vocabulary)))
    return 0


SPLIT_EXAMPLES = """examples:
  spanwise split corpus.conll --unseen 60 -o parts
  spanwise split train.conll test.conll --unseen 60 --test 20 --dev 10 --seed 1 -o parts
  spanwise split corpus.conll --share UNSEEN-TOKENS=50 --share TCM-ALL=10 --json - --quiet"""


SPLIT = Arguments(
    positional("files", "FILE", "annotated files; several are pooled", nargs="+"),
    OptionGroup("how to split", [
        Setting(
            "unseen", "share of test mentions not seen in training with their label (UNSEEN-ANY)",
            type=float, metavar="PERCENT", often=True,
        ),
        Setting("seen", "share of test mentions seen in training", type=float, metavar="PERCENT"),
        Setting(
            "share", "the share of any tough subset, such as UNSEEN-TOKENS=50; may be repeated", (),
            metavar="SUBSET=PERCENT",
        ),
        Setting("test", "share of sentences for testing (default: 20)", 20.0, metavar="PERCENT", often=True),
        Setting(
            "dev", "share of sentences for development, drawn at random (default: 0)", 0.0,
            metavar="PERCENT", often=True,
        ),
        *named("seed", often=True, help="random seed (default: 0)"),
    ]),
    shown(
        "split", output("the folder to write the parts to", metavar="FOLDER", often=True),
        to("the format to write (default: that of FILE)", often=True),
    ),
    READING,
)  # fmt: skip


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


SAMPLE = Arguments(
    positional("corpus", "CORPUS", "the data to draw from"),
    positional("systems", "SYSTEM", "predictions for it, for --strata system-disagreement", nargs="*"),
    OptionGroup("what to draw", [
        Setting(
            "n", "the number of units", type=int, metavar="N", flags=("-n",), required=True, often=True
        ),
        Setting(
            "by", "what a unit is (default: sentence)", "sentence", choices=("sentence", "document"),
            often=True,
        ),
        Setting(
            "strata",
            "draw in proportion from groups of units: label (the rarest of a unit), length, "
            "system-disagreement (of the systems named), or a field of the data", metavar="STRATA",
            often=True,
        ),
        *named("seed", often=True, help="random seed (default: 0)"),
    ]),
    OptionGroup("what to write", [
        output("the file to write the units to", required=True, often=True),
        to("the format to write (default: by the name of FILE)", often=True),
        Setting("lossy", "write what the format can hold", False, often=True),
    ]),
    READING,
)  # fmt: skip


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
    write_message(f"{args.output}: {many(args.n, args.by)} drawn {how} from {args.corpus} (seed {args.seed})")
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


VALIDATE = Arguments(
    positional("files", "FILE", "the files to check", nargs="+"),
    Setting("most", "list at most N problems per file", type=int, metavar="N", often=True),
    Setting("json", "print JSON, one line per problem", False, often=True),
    Setting("tuples", "check relations, events, attributes and links", False),
    TUPLE_COLUMN,
    reading_group(without=RULES),
)


def run_validate(args: argparse.Namespace) -> int:
    """List every malformed line and every impossible tag in files, with what to do about each."""
    from spanwise.formats import validate

    if _of_tuples(args):
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


def _of_tuples(args: argparse.Namespace) -> bool:
    """Whether files are read as tuples."""
    if args.column is not None and not args.tuples:
        raise ChoiceError("--column names what readers of tuples look at.\nAdd --tuples, or leave it out.")
    return bool(args.tuples)


def _tuple_options(args: argparse.Namespace) -> dict[str, Any]:
    """The options of reading that formats of tuples know."""
    from spanwise.relations import READING

    return {name: given for name in READING if (given := getattr(args, name)) is not None}


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


CONVERT = Arguments(
    positional("source", "IN", "the file to read"),
    positional("target", "OUT", "the file to write; its suffix names the format (-: standard output)"),
    to("the format to write (default: from the suffix)", often=True),
    Setting("to_scheme", "the tag scheme to write", metavar="SCHEME", often=True),
    Setting("lossy", "leave out what the format cannot hold, and say what was lost", False, often=True),
    Setting("scores", "keep the scores of mentions in a third column of a CoNLL file", False, often=True),
    Setting(
        "tuples",
        "convert relations, events, attributes and links as well: to a .jsonl file or a brat folder", False,
    ),
    TUPLE_COLUMN,
    Setting(
        "context", "join up to K sentences of one document into one, for other trainers", type=int,
        metavar="K",
    ),
    Setting("cross_documents", "let joined sentences cross document boundaries", False),
    READING,
)  # fmt: skip


def run_convert(args: argparse.Namespace) -> int:
    """Convert a file to another format or tag scheme; what the target cannot hold is an error, never lost
    silently.
    """
    from spanwise.formats import read
    from spanwise.formats.unread import unread
    from spanwise.formats.writing import write

    if "-" not in (args.target, args.source) and _same_file(args.source, args.target):
        raise ChoiceError(f"{args.target} is also the file to read.\nWrite to another file.")
    if _of_tuples(args):
        from spanwise.relations.files import convert_tuples

        checked = convert_tuples(args.source, args.target, to=args.to, **_tuple_options(args))
        write_message(f"{args.target}: read as {checked.summary()}")
        return 0
    annotation = read(args.source, **reading_of(args))
    left = unread(args.source, annotation, **reading_of(args))
    if left and not args.lossy:
        raise InputError(
            f"{args.source}: not everything in the file is read: {'; '.join(left)}.\n"
            "Leave out what is not read with lossy=True."
        )
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
    write_message(
        f"{args.target}: {many(len(annotation.corpus), 'sentence')}, "
        f"{many(len(annotation.mentions), 'mention')}, "
        f"read as {reading.format} ({reading.evidence}){repaired}"
    )
    for note in reading.notes:
        if note not in left:
            write_message(f"note: {note}")
    say_lost((*left, *lost))
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


AGREE = Arguments(
    positional(
        "annotators", "ANNOTATOR",
        "a file or name=file for each annotator, a folder with a folder for each, a pattern with "
        "{annotator}, or one file with several", nargs="+",
    ),
    OptionGroup("what to compute", options_of("agree")),
    shown(
        "agree",
        Setting(
            "majority", "write the mentions that most annotators marked; to a folder for brat",
            metavar="FILE|FOLDER/", often=True,
        ),
        to("the format of --majority (default: from the suffix)"),
        Setting("worksheet", "write the open mentions for adjudication", metavar="FILE.csv", often=True),
        Setting(
            "decisions", "a filled-in worksheet, whose decisions overrule the votes", metavar="FILE.csv",
            often=True,
        ),
    ),
    ENGINE, READING,
)  # fmt: skip


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


SUSPECTS = Arguments(
    positional("gold", "GOLD", "the gold file"),
    positional(
        "systems", "NAME=FILE",
        "predictions; {run} in a file name stands for the runs of one system, which count as one voter",
        nargs="*",
    ),
    OptionGroup("what to compute", options_of("suspects")),
    shown(
        "suspects", output("write the worksheet (CSV), or with --apply the new gold file", often=True),
        Setting("apply", "apply the decisions of a worksheet to GOLD", metavar="FILE.csv", often=True),
    ),
    ENGINE, READING,
)  # fmt: skip


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
    "describe": Command(DESCRIBE, run_describe, DESCRIBE_EXAMPLES),
    "split": Command(SPLIT, run_split, SPLIT_EXAMPLES),
    "sample": Command(SAMPLE, run_sample, SAMPLE_EXAMPLES),
    "validate": Command(VALIDATE, run_validate, VALIDATE_EXAMPLES),
    "convert": Command(CONVERT, run_convert, CONVERT_EXAMPLES),
    "agree": Command(AGREE, run_agree, AGREE_EXAMPLES),
    "suspects": Command(SUSPECTS, run_suspects, SUSPECTS_EXAMPLES),
}
