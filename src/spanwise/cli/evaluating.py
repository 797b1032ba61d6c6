"""The commands `evaluate` and `compare`, and the options, calls and outputs that similar commands share."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanwise.cli.arguments import (
    ANSWERS,
    DETAIL,
    ENGINE,
    JSON,
    MERGED_GOLD,
    PLACING,
    PREDICTIONS,
    READING,
    REPORT,
    SHOWN,
    THRESHOLDS,
    Arguments,
    Asked,
    Command,
    OptionGroup,
    answer_keywords,
    asked,
    engine_of,
    finish_document,
    positional,
    progress_of,
    reading_of,
    save_document,
    screen,
    show_document,
    spark_reads,
    training_files,
)
from spanwise.errors import ChoiceError, InputError
from spanwise.settings import GROUPS, SETTINGS, Setting, default_value
from spanwise.streams import is_pipe, write_message

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.document.evaluation import Result
    from spanwise.document.study import Study
    from spanwise.gates import Outcome


MODELS = ("spacy", "hf", "trust")  # passed on only if there is a model
NOT_WITH_RUNS = ("columns", "preset")  # options that apply only to a single run


# The options that affect numbers, named like the keywords of `spanwise.evaluate`, and those for output.
EVALUATING = (
    OptionGroup("what to compute", GROUPS["compute"]), ENGINE,
    OptionGroup("answers without offsets", [ANSWERS._replace(often=True), *PLACING]),
    OptionGroup(SHOWN, [
        JSON._replace(help="write the result document (- for standard output)"), REPORT,
        Setting(
            "columns",
            "write every mention as columns (.npz), from which the workbench counts any slice",
            metavar="FILE",
        ),
        Setting(
            "tag", "a tag to find the result by, such as commit=8c1f2e or epoch=7; may be repeated", (),
            metavar="NAME=VALUE",
        ),
        Setting("save_edges", "write the buckets for use with --edges", metavar="FILE"),
        *GROUPS["show"],
        Setting("quiet", "show neither the screen nor progress", False),
        Setting(
            "progress",
            "show progress on standard error after two seconds, even if it is not a terminal", False,
        ),
        *screen(), DETAIL,
    ]),
)  # fmt: skip


def evaluate_files(args: argparse.Namespace, *, compare: bool = False, **fixed: object) -> Result | Study:
    """Evaluate the files with the public function, passing on the options of the command line.

    Args:
        fixed: keywords that the command sets itself.
    """
    reading = reading_of(args)
    keywords = _keywords(args, reading)
    verb = _verb(args, compare=compare)
    gold, systems = sources_of(args, reading)
    train = args.train if spark_reads(args, systems) else training_files(args.train)
    if keywords.get("memory") is not None and not args.quiet:
        predicted = [file for path in (systems or {}).values() for file in _runs(path).values()]
        _warn_of_files_read_whole([gold, *predicted, *(train or ())], reading, keywords["memory"])
    function = partial(
        verb,
        gold,
        systems,
        **{**keywords, "train": train, **fixed},
        answers=answer_keywords(args),
        command=shlex.join(["spanwise", *args.command_line]),
        tags=dict(parted(text, "--tag commit=8c1f2e") for text in getattr(args, "tag", ())),
        **reading,
    )
    with progress_of(args) as progress, engine_of(args) as engine:
        return function(engine=engine, progress=progress)


def _warn_of_files_read_whole(sources: Sequence[object], reading: Mapping[str, object], memory: str) -> None:
    """Warn of files that must be read whole and may need more than --memory."""
    from spanwise.evaluation import read_whole

    for path, (name, size) in read_whole(sources, reading, memory).items():
        write_message(
            f"{path}: files of the format {name} are read whole, which may take {size / (1 << 20):,.0f} MB, "
            f"more than --memory {memory}; spanwise convert writes conll or jsonl, which are read in parts."
        )


def _verb(args: argparse.Namespace, *, compare: bool) -> Callable[..., Result | Study]:
    """The public function to call; samples in a file of answers count as runs, as files named by {run} do."""
    from spanwise import evaluation

    sampled = has_samples(args)
    if sampled or has_runs(args):
        for flag in NOT_WITH_RUNS:
            if getattr(args, flag, None):
                raise ChoiceError(
                    f"--{flag.replace('_', '-')} cannot be used with runs.\n"
                    "Leave it out, or compare one run of each."
                )
    if sampled:
        from spanwise.studies import of_runs

        return of_runs
    return evaluation.compare if compare else evaluation.evaluate


def has_runs(args: argparse.Namespace) -> bool:
    """Whether a path contains {run} and so stands for several runs of a system."""
    return any("{run}" in text for text in args.systems)


def _keywords(args: argparse.Namespace, reading: dict[str, object]) -> dict[str, Any]:
    """The keywords from the command's options; `reading` gains the columns and fields of attributes."""
    keywords = {
        name: getattr(args, name)
        for name, setting in SETTINGS.items()
        if setting.group != "read" and setting.keyword and name in args
    }
    if keywords.get("silver") is None and not keywords.get("random_sample"):
        keywords = {
            name: value for name, value in keywords.items() if name not in ("silver", "random_sample")
        }
    if not keywords.get("spacy") and not keywords.get("hf"):
        keywords = {name: value for name, value in keywords.items() if name not in MODELS}
    converted: dict[str, Callable[[Any], object]] = {
        "buckets": lambda _: buckets_of(args),
        "edges": read_edges,
        "cross": lambda texts: [_cross(text) for text in texts],
        "vocabulary": read_vocabulary,
        "examples": lambda _: _examples(args),
    }
    keywords |= {name: convert(keywords[name]) for name, convert in converted.items() if name in keywords}
    return keywords | {"attributes": _with_given(args, reading)}


def _examples(args: argparse.Namespace) -> str:
    """Which example sentences to collect: none if no file is written that would contain them."""
    return args.examples if args.json or args.html else "none"


def finish(args: argparse.Namespace, result: Result | Study) -> int:
    """Write the requested files, show the screen, and return 1 if a threshold was missed, else 0."""
    from spanwise.document.evaluation import Evaluation

    evaluation = result if isinstance(result, Evaluation) else None  # None: a study of several runs
    if evaluation is not None and args.html:
        analysed = (
            evaluation.with_analyses(slices={"command": evaluation.settings.command, "unit": args.unit})
            if evaluation.keeps_mentions
            else evaluation.without_analyses()
        )
        result = evaluation = analysed
    saved = save_document(args, result)
    if evaluation is not None and args.columns:
        from spanwise.evaluation.columns import mention_columns

        mention_columns(evaluation).save(args.columns)
        saved.append(args.columns)
    if args.save_edges:
        _write_edges(_edges(result), args.save_edges)
        saved.append(args.save_edges)
    show_document(args, result, saved)
    return check(args, result)


def _edges(result: Result | Study) -> dict[str, dict[str, object]]:
    """The buckets of a result; all runs of a study share the same ones."""
    from spanwise.document.study import Study

    if not isinstance(result, Study):
        return result.edges()
    (dataset,) = result.datasets.values()
    return dataset.edges()


def check_outputs(args: argparse.Namespace) -> None:
    """Refuse output paths that cannot be written, before time is spent on computing."""
    inputs = [args.gold, *(_named(text)[1] for text in args.systems), *(args.train or [])]
    read = {Path(path).resolve() for path in inputs}
    written: dict[Path, str] = {}
    for name in ("json", "html", "columns", "save_edges", "junit"):
        path = getattr(args, name, None)
        if not path or path == "-":
            continue
        option = f"--{name.replace('_', '-')}"
        if Path(path).resolve() in read:
            raise ChoiceError(f"{option} {path} would overwrite an input.\nChoose another name.")
        other = written.setdefault(Path(path).resolve(), option)
        if other != option and not is_pipe(path):
            raise ChoiceError(f"{other} and {option} would write the same file {path}.\nName two files.")
        if Path(path).is_dir():
            raise InputError(f"{path}: this is a folder, but {option} writes a file.\nName a file in it.")
        if not Path(path).parent.is_dir():
            folder = Path(path).parent
            raise InputError(f"{path}: there is no folder {str(folder)!r} to write to.\nCreate it first.")


def check_thresholds(args: argparse.Namespace) -> None:
    """Refuse threshold options that lack another option they need, before anything is computed."""
    for name in ("fail_drop", "not_worse_than"):
        if getattr(args, name) is not None and not args.against:
            flag = f"--{name.replace('_', '-')}"
            raise ChoiceError(f"{flag} needs an earlier result to compare with.\nAdd --against RESULT.json.")
    if args.strict and not args.against:
        raise ChoiceError("--strict needs an earlier result to compare with.\nAdd --against RESULT.json.")
    if args.fail_under is not None:
        from spanwise.gates import check_points

        check_points("fail_under", args.fail_under)
    if args.junit and not _has_thresholds(args):
        raise ChoiceError(
            "--junit writes the outcome of thresholds.\nAdd --fail-under, --floor, --gate or --against."
        )


def _has_thresholds(args: argparse.Namespace) -> bool:
    return any(
        getattr(args, name, None) not in (None, []) for name in ("fail_under", "against", "floor", "gate")
    )


def outcome_of(args: argparse.Namespace, document: Document) -> Outcome:
    """The outcome of the thresholds that were given for a document."""
    from spanwise.gates import gate

    names = ("fail_under", "against", "fail_drop", "not_worse_than", "floor_bound", "strict")
    limits = {name: getattr(args, name) for name in names}
    return gate(document, floors=args.floor, file=args.gate, **limits)


def check(args: argparse.Namespace, result: Result | Study) -> int:
    """Report the thresholds on standard error, and return exit status 1 if one was missed, else 0."""
    if not _has_thresholds(args):
        return 0
    outcome = outcome_of(args, result)
    for line in outcome.lines:
        write_message(f"spanwise: {line}")
    if args.junit:
        from spanwise.formats import write_atomically
        from spanwise.reports.outlets import to_junit

        write_atomically(args.junit, to_junit(outcome.checks))
    return 0 if outcome.passed else 1


def is_result(path: str) -> bool:
    """Whether a path is a result document: a .json file that does not hold a list, as task exports do."""
    if not path.endswith(".json") or "=" in path:
        return False
    try:
        with Path(path).open("rb") as file:
            return not file.read(64).lstrip().startswith(b"[")
    except OSError:
        return True  # loading it reports the problem


def compare_results(args: argparse.Namespace) -> int:
    """Compare result documents over the same gold file by their counts per unit."""
    from spanwise.document.loading import load
    from spanwise.gates import compare_documents

    paths = [args.gold, *args.systems]
    if len(paths) < 2:
        raise ChoiceError("a comparison needs at least two result documents.\nGive another one.")
    document = compare_documents(
        [load(path) for path in paths], names=paths, resamples=args.resamples, seed=args.seed,
        confidence=args.confidence, correction=args.correction, primary=args.primary,
    )  # fmt: skip
    finish_document(args, document)
    return 0


def has_samples(args: argparse.Namespace) -> bool:
    """Whether a file of answers holds several samples per unit, which are runs of its system."""
    if getattr(args, "answers", None) is None or args.sample not in (None, "all"):
        return False
    from spanwise.placement import chosen_sample, has_answers, samples_of

    return any(
        len(samples_of(path, args.response, args.answers_format, chosen)) > 1
        for path in named_systems(args.systems).values()
        if has_answers(path, args.response, files=True, answers_format=args.answers_format)
        for chosen in [chosen_sample(path, args.sample, args.response, args.answers_format)]
    )


def sources_of(args: argparse.Namespace, reading: dict[str, Any]) -> tuple[object, dict[str, str] | None]:
    """The gold source and the systems; if every file holds gold and predicted tags, each is a system.

    A gold file that had to be inspected is returned open, so that it is not read twice.
    """
    from spanwise.formats import looks_merged, opened

    if not args.systems:
        return args.gold, None
    named = named_systems(args.systems)
    if spark_reads(args, named) or has_runs(args):
        return args.gold, named
    gold = opened(args.gold, encoding=reading.get("encoding"), limits=reading.get("limits"))
    if "tag_column" not in reading and all(looks_merged(path, **reading) for path in (gold, *named.values())):
        return named if args.gold in named.values() else named_systems([args.gold, *args.systems]), None
    return gold, named


def compared(
    args: argparse.Namespace, verb: Callable[..., Asked], *, runs: bool = False, **changed: object
) -> Asked:
    """What a function that compares systems with gold returns; `changed` as for `asked`.

    Args:
        runs: whether the function takes several runs of a system.
    """
    if not runs:
        refuse_runs(args)
    reading = reading_of(args)
    if "attribute" in args:
        changed["attributes"] = _with_given(args, reading)
    gold, systems = sources_of(args, reading)
    command = shlex.join(["spanwise", *args.command_line])
    return asked(args, verb, gold, systems, buckets=buckets_of(args), command=command, **reading, **changed)


def split_runs(texts: Sequence[str]) -> list[str]:
    """The systems with each run as a separate system: `a=a.{run}.txt` becomes `a.1=a.1.txt` and so on."""
    if not any("{run}" in text for text in texts):
        return list(texts)
    return [
        f"{name}.{run}={file}" if run else f"{name}={file}"
        for name, path in named_systems(texts).items()
        for run, file in _runs(path).items()
    ]


def _runs(path: str) -> dict[str, str]:
    """The files that a path stands for, by run; a path without {run} is one run with an empty name."""
    if "{run}" not in path:
        return {"": path}
    from spanwise.studies import runs_of_pattern

    return runs_of_pattern(path)


def refuse_runs(args: argparse.Namespace) -> None:
    """Refuse paths with {run} for commands that need one file per system."""
    for name, path in named_systems(args.systems).items():
        if "{run}" in path:
            from spanwise.studies import runs_of_pattern

            first = next(iter(runs_of_pattern(path).values()))
            raise ChoiceError(
                f"{args.command_line[0]} takes one run of each system, but {path} stands for several.\n"
                f"Give one of them, as in {name}={first}."
            )


def named_systems(texts: Sequence[str]) -> dict[str, str]:
    """The prediction files by system name."""
    systems: dict[str, str] = {}
    for text in texts:
        name, path = _named(text)
        if name in systems:
            raise ChoiceError(
                f"two systems are called {name!r}.\nName them, as in first={systems[name]} second={path}."
            )
        systems[name] = path
    return systems


def _named(text: str) -> tuple[str, str]:
    """Split `name=path`; a plain path, or one that exists as written, is named by its stem."""
    name, equals, path = text.partition("=")
    if equals and name and not Path(text).exists():
        return name, path
    from spanwise.formats import stem_of

    return stem_of(text), text


def parted(text: str, example: str) -> tuple[str, str]:
    """Split `NAME=VALUE` into the name and the value."""
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise ChoiceError(f"{text!r} is not of the form NAME=VALUE.\nWrite it like {example}.")
    return name, value


def buckets_of(args: argparse.Namespace) -> dict[str, str]:
    """The bucketings by attribute."""
    return dict(parted(text, "--buckets entity_length=1,2,3") for text in args.buckets)


def _cross(text: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise ChoiceError(f"--cross takes two attributes, not {text!r}.\nWrite --cross entity_length,label.")
    return parts[0], parts[1]


def _with_given(args: argparse.Namespace, reading: dict[str, Any]) -> Any:
    """The requested attributes; `reading` gains the columns and fields that must be read for them."""
    if not getattr(args, "attribute", None):
        return args.attributes
    from spanwise.attributes import given

    columns: dict[str, int | str] = {}
    fields: dict[str, str] = {}
    for text in args.attribute:
        for need in given(text).needs:
            kind, _, key = need.partition(":")
            if kind == "column":
                columns[key] = int(key) if key.removeprefix("-").isdecimal() else key
            elif kind == "field":
                fields[key] = key
    named = [default_value("attributes")] if args.attributes is None else args.attributes.split(",")
    reading |= {key: value for key, value in (("columns", columns), ("fields", fields)) if value}
    return [*named, *args.attribute]


def _write_edges(edges: Mapping[str, object], path: str) -> None:
    import json

    from spanwise.formats import write_atomically

    write_atomically(path, json.dumps(edges, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_edges(path: str | None) -> dict[str, dict[str, object]] | None:
    """The buckets in a file written by --save-edges, or None if no file was given."""
    if path is None:
        return None
    import json

    from spanwise.formats import read_text

    try:
        edges = json.loads(read_text(path))
    except (ValueError, RecursionError):
        edges = None
    if not isinstance(edges, dict) or not all(isinstance(value, dict) for value in edges.values()):
        raise InputError(
            f"{path}: this file was not written by --save-edges.\nMake one with --save-edges FILE."
        )
    return edges


def read_vocabulary(path: str | None) -> list[str] | None:
    """The known words in a file, or None if no file was given."""
    if path is None:
        return None
    from spanwise.formats import read_words

    return read_words(path)


EVALUATE_EXAMPLES = """examples:
  spanwise evaluate gold.conll pred.conll --train train.conll
  spanwise evaluate gold.conll bert=a.conll crf=b.conll --json run.json --html run.html
  spanwise evaluate merged.txt --fail-under 90
  spanwise evaluate gold.conll pred.conll --buckets entity_length=1,2,3 --cross entity_length,label
  spanwise evaluate gold.conll pred.conll --format conlleval"""


EVALUATE = Arguments(
    MERGED_GOLD, PREDICTIONS, EVALUATING,
    OptionGroup("thresholds (exit status 1 if one is missed)", [
        *THRESHOLDS,
        Setting("junit", "write the outcome of the thresholds as JUnit XML", metavar="FILE"),
    ]),
    OptionGroup("figures as other programs compute them", GROUPS["preset"]),
    READING,
)  # fmt: skip


def run_evaluate(args: argparse.Namespace) -> int:
    """Score one or more systems against gold, explain the scores, and save the result.

    Give gold and predictions as two or more files, or one file whose last two
    columns are gold and predicted tags. Name systems as name=path; otherwise the
    file's stem is the name. A path with {run} in it stands for the runs of a system.
    """
    check_thresholds(args)
    check_outputs(args)
    if args.format == "conlleval":
        return _conlleval(args)
    return finish(args, evaluate_files(args))


def _conlleval(args: argparse.Namespace) -> int:
    """Print the classic conlleval screen; --format names the output here, as the input is CoNLL anyway."""
    from spanwise.compat.conlleval import conlleval

    if len(args.systems) > 1:
        raise ChoiceError("the conlleval format shows one system.\nGive one file of predictions.")
    reading = reading_of(args)
    del reading["format"]
    predicted = next(iter(named_systems(args.systems).values())) if args.systems else None
    sys.stdout.write(conlleval(args.gold, predicted, **reading))
    return 0


COMPARE_EXAMPLES = """examples:
  spanwise compare gold.conll bert=a.conll crf=b.conll --train train.conll
  spanwise compare new.json old.json
  spanwise compare gold.conll bert='bert.{run}.conll' crf='crf.{run}.conll'
  spanwise compare gold.conll a.conll b.conll c.conll --correction bh --html report.html"""


COMPARE = Arguments(
    positional("gold", "GOLD|RESULT.json", "gold annotation, or a result document"),
    positional(
        "systems", "PRED|RESULT.json", "predictions (file, or name=file), or result documents", nargs="*"
    ),
    EVALUATING, READING,
)  # fmt: skip


def run_compare(args: argparse.Namespace) -> int:
    """Test which of several systems is better on one dataset, and where.

    Give gold and two or more files of predictions, or two or more result documents
    (made with --json) over the same gold file. A file name with {run} in it stands for
    the runs of a system: the spread over runs is then shown beside the interval over
    the data, with a test that takes both into account.
    """
    check_outputs(args)

    if is_result(args.gold):
        return compare_results(args)
    return finish(args, evaluate_files(args, compare=True))


COMMANDS = {
    "evaluate": Command(EVALUATE, run_evaluate, EVALUATE_EXAMPLES),
    "compare": Command(COMPARE, run_compare, COMPARE_EXAMPLES),
}
