"""What the commands share: a parser with clear error messages, options, the engine, and document output."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

from spanwise.errors import ChoiceError, InputError
from spanwise.settings import GROUPS, OPTIONS, SETTINGS, Setting, check_options
from spanwise.streams import put, write_message

if TYPE_CHECKING:
    from spanwise.document import Document
    from spanwise.engines.spark import SparkEngine

Asked = TypeVar("Asked")
# Options that people try, and those that a command may have instead.
MEANT = {
    **dict.fromkeys(("--top", "--first", "--head", "--max", "-n"), ("--most",)),
    **dict.fromkeys(("-o", "--out", "--output"), ("--json", "--to")),
}


class Command(NamedTuple):
    """One command: functions that add its options and run it (whose docstring is its help), and examples."""

    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    examples: str | None = None

    def parser(self, name: str) -> Parser:
        """The command's parser, from which the reference documentation is generated too."""
        parser = Parser(
            prog=f"spanwise {name}",
            description=" ".join((self.run.__doc__ or "").partition("\n\n")[0].split()),
            formatter_class=partial(argparse.RawDescriptionHelpFormatter, width=78),
            epilog=self.examples,
            allow_abbrev=False,
            add_help=False,
        )
        parser.add_argument("-h", "--help", action=_Help, nargs=0, help="show the most used options")
        parser.add_argument("--help-all", action=_Help, nargs=0, help="show all options")
        self.add(parser)
        return parser


MOST = 10  # the maximum number of options that a command's `--help` shows


class _Group(argparse._ArgumentGroup):
    """A group of options, some of which are often used."""

    def __init__(self, parser: Parser, *args: Any, **kwargs: Any) -> None:
        super().__init__(parser, *args, **kwargs)
        self._parser = parser

    def add_argument(self, *flags: Any, often: bool = False, **how: Any) -> argparse.Action:
        return self._parser.noted(super().add_argument(*flags, **how), often=often)


class _Help(argparse.Action):
    """Show the help text, with the most used options or with all, and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *given: object) -> NoReturn:
        assert isinstance(parser, Parser)
        sys.stdout.write(parser.format_help(everything=given[-1] == "--help-all"))
        parser.exit()


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one sentence and points to `--help`, without listing all options.

    Options are declared with `often=True` if they are among the ten most used of their command, which
    `--help` shows; `--help-all` shows all of them by subject.
    """

    def __init__(self, **how: Any) -> None:
        self._often: list[argparse.Action] = []
        super().__init__(**how)

    def add_argument(self, *flags: Any, often: bool = False, **how: Any) -> argparse.Action:
        """Add an argument of the command itself, outside any group."""
        return self.noted(super().add_argument(*flags, **how), often=often)

    def add_argument_group(self, *args: Any, **kwargs: Any) -> argparse._ArgumentGroup:
        """Add a group of options, which `--help-all` shows under its title."""
        group = _Group(self, *args, **kwargs)
        self._action_groups.append(group)
        return group

    def noted(self, action: argparse.Action, *, often: bool) -> argparse.Action:
        """Note whether an argument is often used."""
        if often:
            self._often.append(action)
        return action

    @property
    def options(self) -> list[argparse.Action]:
        """All options except those that show help, in the order in which they were added."""
        return [action for action in self._actions if action.option_strings and type(action) is not _Help]

    @property
    def positionals(self) -> list[argparse.Action]:
        """All arguments that are not options."""
        return [action for action in self._actions if not action.option_strings]

    @property
    def most_used(self) -> list[argparse.Action]:
        """The options that `--help` shows: all if they are few, else those required or often used."""
        options = self.options
        if len(options) <= MOST:
            return options
        return [action for action in options if action.required or action in self._often]

    def format_help(self, *, everything: bool = False) -> str:
        """The help text: the description is wrapped, the examples are left as they are."""
        from shutil import get_terminal_size
        from textwrap import fill

        width = get_terminal_size().columns - 2  # computed only here: argparse would do it for every argument
        self.formatter_class = partial(argparse.RawDescriptionHelpFormatter, width=width)
        formatter = self._get_formatter()
        formatter.add_text(fill(self.description or "", width))
        few = self.most_used
        hidden = len(self.options) - len(few)
        if everything or not hidden:
            for group in self._action_groups:
                formatter.start_section(group.title)
                formatter.add_arguments(
                    action for action in group._group_actions if hidden or type(action) is not _Help
                )
                formatter.end_section()
        else:
            for title, actions in (("positional arguments", self.positionals), ("most used options", few)):
                formatter.start_section(title)
                formatter.add_arguments(actions)
                formatter.end_section()
            formatter.add_text(f"{hidden} more options: {self.prog} --help-all")
        formatter.add_text(self.epilog)
        return f"{self._usage(width)}\n{formatter.format_help()}"

    def _usage(self, width: int) -> str:
        """One line that names what is required."""
        from textwrap import fill

        formatter = self._get_formatter()
        required = [action for action in self.options if action.required]
        formatter.add_usage(None, [*required, *self.positionals], [], prefix="")
        words = " ".join(formatter.format_help().split()).removeprefix(self.prog).strip()
        options = "[options] " if self.options else ""
        text = f"usage: {self.prog} {options}{words}".rstrip()
        return fill(text, width, subsequent_indent=" " * 7, break_on_hyphens=False) + "\n"

    def parsed(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The parsed arguments, files anywhere; the error about an unknown option suggests a known one."""
        args, rest = self.parse_known_args(arguments)
        if rest:  # argparse closes a list of files at the first option
            args, rest = self.parse_known_intermixed_args(arguments)
        if rest:
            self.error(self._unexpected(next((text for text in rest if text.startswith("-")), rest[0])))
        return args

    def _unexpected(self, text: str) -> str:
        import difflib

        wrong = text.partition("=")[0]
        if not wrong.startswith("-"):
            return f"{text!r} is an unexpected argument"
        options = [option for action in self._actions for option in action.option_strings]
        close = [option for option in MEANT.get(wrong, ()) if option in options]
        close = close or difflib.get_close_matches(wrong, options, n=1)
        return f"there is no option {wrong}" + (f"; did you mean {close[0]}?" if close else "")

    def error(self, message: str) -> NoReturn:
        """Raise an error that `main` turns into exit status 2."""
        raise ChoiceError(f"{_rephrased(message)}\nSee {self.prog} --help.")


def _rephrased(message: str) -> str:
    """An error message of argparse as a sentence that is the same in every version of Python."""
    name, _, problem = message.removeprefix("argument ").partition(": ")
    if match := re.fullmatch(r"invalid (int|float) value: (.*)", problem):
        return f"{name} must be a {'whole ' if match[1] == 'int' else ''}number, not {match[2]}."
    if match := re.fullmatch(r"invalid choice: (.*) \(choose from (.*)\)", problem):
        choices = match[2].replace("'", "")
        return f"{name} must be one of {choices}, not {match[1]}."
    if problem == "expected one argument":
        return f"{name} needs a value."
    return message if message.endswith("?") else f"{message.removeprefix('argument ')}."


def say_lost(lost: Sequence[str]) -> None:
    """Name in one line what a written file has no place for, if there is anything."""
    if lost:
        write_message(f"lost: {'; '.join(lost)}")


class OptionGroup(NamedTuple):
    """Options under a title."""

    title: str
    options: Sequence[Setting | Either]


class Either(NamedTuple):
    """Flags that exclude each other, with the help of each.

    The name holds the flag that was given; without a name, each flag is a switch of its own.
    """

    name: str
    flags: Mapping[str, str]


Declared = Setting | Either | OptionGroup


class Arguments:
    """The arguments and options of a command, in the order of its help."""

    def __init__(self, *declared: Declared | Sequence[Declared]) -> None:
        several = (list(each) if type(each) in (tuple, list) else [each] for each in declared)
        self._declared: list[Any] = [each for some in several for each in some]

    def __call__(self, parser: argparse.ArgumentParser) -> None:
        """Add them to a parser."""
        for each in self._declared:
            if isinstance(each, OptionGroup):
                group = parser.add_argument_group(each.title)
                for option in each.options:
                    add_option(group, option)
            else:
                add_option(parser, each)


def add_option(group: argparse._ActionsContainer, option: Setting | Either) -> None:
    """Add one argument or option to a parser or a group of it."""
    how: dict[str, Any]
    if isinstance(option, Either):
        choice = group.add_mutually_exclusive_group()
        for flag, help in option.flags.items():
            how = {"action": "store_const", "const": flag, "dest": option.name}
            choice.add_argument(f"--{flag}", help=help, **(how if option.name else {"action": "store_true"}))
        return
    how = {"help": option.help, "often": option.often}
    if option.kind is bool:
        group.add_argument(option.option, dest=option.name, action="store_true", **how)
        return
    if option.default is not None:
        how["default"] = [] if option.repeated else option.default
    if option.kind is dict:
        how["action"] = _Limits
    elif option.repeated:
        how |= {"action": "extend" if option.nargs else "append", "type": int if option.type is int else None}
    else:
        how |= {"type": option.kind, "choices": None if option.also else option.choices or None}
    how |= {"metavar": option.metavar, "nargs": option.nargs}
    if option.positional:
        group.add_argument(option.name, **how)
        return
    flags = option.flags or (option.option,)
    group.add_argument(*flags, dest=option.name, required=option.required, **how)


def positional(name: str, metavar: str | None, help: str, **how: Any) -> Setting:
    """An argument without a flag."""
    return Setting(name, help, metavar=metavar, positional=True, **how)


def named(*names: str, **differs: Any) -> tuple[Setting, ...]:
    """Settings of `evaluate`; `differs` overrides fields of them for a command."""
    return tuple(SETTINGS[name]._replace(**differs) for name in names)


def options_of(verb: str) -> tuple[Setting, ...]:
    """The options of a function that affect what it computes."""
    return tuple(option for option in OPTIONS[verb].values() if option.group != "show")


def reading_group(*, without: Sequence[str] = ()) -> OptionGroup:
    """The options for reading files, `without` some."""
    options = [option for option in GROUPS["read"] if option.help and option.name not in without]
    return OptionGroup("how to read the files", options)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading files to the command of another package."""
    Arguments(READING)(parser)


class _Limits(argparse.Action):
    """Collect NAME=NUMBER pairs in a dictionary."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        name, _, number = str(values).partition("=")
        if not number.isascii() or not number.isdecimal() or len(number) > 18:
            known = [option for action in parser._actions for option in action.option_strings]
            parser.error(
                "--limit raises a limit on input files and is of the form NAME=NUMBER, such as "
                f"unpacked=8000000000, not {values!r}"
                + (f".\nTo list fewer, write --most {values}" if "--most" in known else "")
            )
        namespace.limits = {**(namespace.limits or {}), name: int(number)}


def training_files(paths: Sequence[str] | None) -> list[str] | None:
    """The training files, given as paths, as patterns such as 'train/*.conll', or as folders of files.

    A folder that is itself an input, such as one of brat files, is kept as a single source.
    """
    if paths is None:
        return None
    files: list[str] = []
    for path in paths:
        if Path(path).is_dir() and not _is_input(path):
            children = sorted(child for child in Path(path).iterdir() if child.is_file())
            files += [str(child) for child in children if child.name[0] not in "._"]
        elif any(mark in path for mark in "*?[") and not Path(path).exists():
            from glob import glob

            files += sorted(glob(path, recursive=True)) or [path]  # noqa: PTH207 - a pattern may be absolute
        else:
            files.append(path)
    return files


def _is_input(folder: str) -> bool:
    """Whether some format reads the folder as a whole."""
    from spanwise.formats import format_of, opened

    try:
        format_of(opened(folder), None)
    except InputError:
        return False
    return True


READING = reading_group()
ENGINE = OptionGroup("where to compute (does not change any number)", options_of("engine"))
ANSWERS = Setting(
    "answers",
    "place the answers of systems that give texts without positions: first, all, next, ordered, or as uie, "
    "spacy-llm or langextract do", metavar="POLICY",
)  # fmt: skip
TUPLE_COLUMN = Setting(
    "column",
    "of tuples: the column or key with links (hipe: NEL-LIT; conllu), or the layer of relations (webanno)",
    metavar="NAME",
)
PLACING = options_of("place")[1:]  # without the policy
JSON = Setting("json", "write the document (- for standard output)", metavar="FILE", often=True)
HTML = Setting("html", "write the page", metavar="FILE", often=True)
REPORT = HTML._replace(help="write the report as one HTML page")
MERGED_GOLD = positional("gold", "GOLD", "gold annotation, or one file with gold and predicted tags")
PREDICTIONS = positional("systems", "PRED", "predictions: a file, or name=file", nargs="*")
SHOWN = "what to show and write"
DETAIL = Either(
    "detail",
    {
        "brief": "show the answer, what could change it, and the findings, but no tables",
        "full": "show every table",
    },
)
THRESHOLDS = (
    Setting(
        "fail_under", "the minimum primary score (by default F1), in points", type=float, metavar="POINTS"
    ),
    Setting("against", "an earlier result over the same gold file", metavar="RESULT.json"),
    Setting(
        "fail_drop", "with --against: fail if the primary score drops by significantly more than this",
        type=float, metavar="POINTS",
    ),
    Setting(
        "not_worse_than",
        "with --against: pass only if a drop in the primary score of this much or more is ruled out",
        type=float, metavar="POINTS",
    ),
    Setting(
        "floor",
        "the minimum score of a label or slice, such as PER=90 or tough/UNSEEN-ANY=70; may be repeated",
        (), metavar="PATH=POINTS",
    ),
    Setting(
        "strict",
        "with --against: fail if the earlier result lacks a system, or units are too few for a test", False,
    ),
    Setting("floor_bound", "compare --fail-under and --floor with the lower ends of intervals", False),
    Setting("gate", "a file of thresholds, also for named slices such as label=ORG", metavar="FILE.toml"),
)  # fmt: skip


def output(help: str, *, metavar: str = "FILE", **how: Any) -> Setting:
    """The option for a file or folder to write."""
    return Setting("output", help, metavar=metavar, flags=("-o", "--output"), **how)


def to(help: str, *, often: bool = False) -> Setting:
    """The option for the format to write."""
    return Setting("to", help, metavar="FORMAT", often=often)


def width(what: str = "screen") -> Setting:
    """The option for the width of what is shown."""
    text = f"width of the {what} (default: COLUMNS if it is set, else the terminal's, else 80)"
    return Setting("width", text, type=int, metavar="COLUMNS")


def screen(what: str = "screen") -> tuple[Setting, ...]:
    """The options for the width, the colours and the signature of what is shown."""
    color = Setting(
        "color",
        f"colours of the {what} (default: auto, if it is a terminal; NO_COLOR and FORCE_COLOR are respected)",
        "auto", choices=("auto", "always", "never"),
    )  # fmt: skip
    signature = Setting(
        "signature",
        "the settings at the end of the screen: those that are not defaults (short, the default), or all",
        "short", choices=("short", "long"),
    )  # fmt: skip
    return (width(what), color, signature)[: 3 if what == "screen" else 2]


def shown(verb: str = "", *first: Setting) -> OptionGroup:
    """The options for writing and showing the document of a function, after those for other files."""
    own = [option for option in OPTIONS.get(verb, {}).values() if option.group == "show"]
    quiet = Setting("quiet", "do not show the screen", False)
    return OptionGroup(SHOWN, [*first, JSON, HTML, *own, quiet, *screen()])


def answer_keywords(args: argparse.Namespace) -> dict[str, Any] | None:
    """The keywords for `spanwise.place`, or None if no answers are to be placed."""
    policy = getattr(args, "answers", None)  # not every command has the option
    return None if policy is None else {"policy": policy, **answers_of(args)}


def answers_of(args: argparse.Namespace) -> dict[str, Any]:
    """The keywords for `spanwise.place`, except the policy."""
    names = (
        "level",
        "threshold",
        "repeats",
        "unknown",
        "prompt_unit",
        "response",
        "sample",
        "answers_format",
    )
    return {**{name: getattr(args, name) for name in names}, "aliases": _aliases(args.aliases)}


def _aliases(path: str | None) -> dict[str, str]:
    """The labels by alias in a TOML file, at the top level or in a table `labels` or `aliases`."""
    if path is None:
        return {}
    from spanwise.formats import read_toml

    table = read_toml(path, 'Write lines such as: person = "PER"')
    for name in ("aliases", "labels"):
        if isinstance(table.get(name), dict):
            table = table[name]
    for alias, label in table.items():
        if not isinstance(label, str):
            raise InputError(
                f'{path}: the alias {alias!r} is not mapped to a label.\nWrite lines such as: person = "PER"'
            )
    return table


def reading_of(args: argparse.Namespace) -> dict[str, Any]:
    """The keywords for `spanwise.read` that were given; the others keep their defaults."""
    values = {setting.name: getattr(args, setting.name, None) for setting in READING.options}
    return {name: value for name, value in values.items() if value is not None}


_LEXICON = "spark.spanwise.lexicon"  # our own setting: Spark accepts unknown ones


@contextmanager
def engine_of(args: argparse.Namespace) -> Iterator[SparkEngine | None]:
    """The chosen engine, None for the local one; a Spark session is stopped on exit."""
    spark_options = [name for name in ("master", "partitions", "conf") if getattr(args, name)]
    if args.engine == "local":
        if spark_options:
            raise ChoiceError(
                f"--{spark_options[0]} is an option of Spark.\nAdd --engine spark, or leave it out."
            )
        yield None
        return
    check_options("engine", vars(args))
    from spanwise.cli.evaluating import parted
    from spanwise.engines.spark import LEXICON, SparkEngine, spark_session
    from spanwise.evaluation import parse_memory

    conf = dict(parted(text, "--conf spark.executor.memory=4g") for text in args.conf)
    bound = parse_memory(conf.get(_LEXICON, LEXICON), f"--conf {_LEXICON}")
    session = spark_session(args.master, conf)
    try:
        yield SparkEngine(session, args.partitions, bound)
    finally:
        session.stop()


def asked(args: argparse.Namespace, verb: Callable[..., Asked], *sources: object, **changed: object) -> Asked:
    """What a function of the library returns, called with every option of the command that it takes.

    Args:
        changed: keywords whose values are not just those of the options.
    """
    from inspect import signature

    sources_too = ("gold", "systems", "annotators")  # as keywords, these are columns of a frame
    keywords = [part.name for part in signature(verb).parameters.values() if part.kind is part.KEYWORD_ONLY]
    names = [name for name in keywords if name in args and name not in sources_too]
    with engine_of(args) as engine:
        options = {**{name: getattr(args, name) for name in names}, "engine": engine}
        return verb(*sources, **{**options, **reading_of(args), **changed})


def spark_reads(args: argparse.Namespace, systems: Mapping[str, str] | None) -> bool:
    """Whether Spark reads the files itself; folders, patterns and addresses are then passed on unchanged."""
    if getattr(args, "engine", "local") != "spark":
        return False
    from spanwise.evaluation.spark import any_in_lake

    return any_in_lake(args.gold, systems, args.train)


PATIENCE = 2.0  # seconds before progress is shown
STEPS = {
    "read": "files read",
    "look": "blocks of gold surveyed",
    "count": "blocks counted",
    "tag": "sentences tagged",
}


def write_output(text: str | bytes, path: str | None) -> None:
    """Write to a file atomically, or to standard output if `path` is None or "-"."""
    if path is None or path == "-":
        if isinstance(text, bytes):
            sys.stdout.buffer.write(text)
        else:
            put(text)
        return
    from spanwise.formats import write_atomically

    write_atomically(path, text)


@contextmanager
def progress_of(args: argparse.Namespace) -> Iterator[ProgressLine | None]:
    """A progress line on standard error if that is a terminal or --progress was given, else None."""
    requested = getattr(args, "progress", False)
    if getattr(args, "quiet", False) or not (requested or sys.stderr.isatty()):
        yield None
        return
    line = ProgressLine(one_line=sys.stderr.isatty())
    try:
        yield line
    finally:
        line.end()


class ProgressLine:
    """Progress of an evaluation on standard error, shown once it has taken two seconds.

    On a terminal it is a single line with the elapsed time, so that a long step does not look stuck.
    """

    def __init__(self, *, one_line: bool) -> None:
        self._one_line = one_line
        self._begin = monotonic()
        self._shown = self._begin
        self._text = "reading"
        self._ended = Event()
        if one_line:
            Thread(target=self._tick, daemon=True).start()

    def __call__(self, step: str, done: int, total: int) -> None:
        self._text = f"{STEPS.get(step, step)}: {done:,} of {total:,}"
        if step == "count" and done == total:
            self._text = "testing differences"
        now = monotonic()
        if now - self._begin < PATIENCE or (now - self._shown < 0.2 and done < total):
            return
        self._shown = now
        if self._one_line:
            self._write()
        else:
            sys.stderr.write(f"spanwise: {self._text}\n")
            sys.stderr.flush()

    def _tick(self) -> None:
        while not self._ended.wait(1.0):
            if monotonic() - self._begin >= PATIENCE:
                self._write()

    def _write(self) -> None:
        sys.stderr.write(f"\r\x1b[K{self._text} · {monotonic() - self._begin:.0f} s")
        sys.stderr.flush()

    def end(self) -> None:
        """Clear the line, because the result follows."""
        self._ended.set()
        if self._one_line and monotonic() - self._begin >= PATIENCE:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def save_document(args: argparse.Namespace, document: Document) -> list[str]:
    """Write the requested JSON file and HTML page, and return the names of the files."""
    saved = []
    if args.json and args.json != "-":  # first: everything else can be made from it
        write_output(document.encoded(), args.json)
        saved.append(args.json)
    if getattr(args, "html", None):
        from spanwise.document.loading import load

        earlier = getattr(args, "against", None)
        document.to_html(args.html, against=None if earlier is None else load(earlier))
        saved.append(args.html)
    return saved


def show_document(args: argparse.Namespace, document: Document, saved: Sequence[str]) -> None:
    """Write the document to standard output for `--json -`; otherwise its screen, unless `--quiet`."""
    if args.json == "-":
        put(document.to_json())
    elif not args.quiet:
        show(document, saved=saved, args=args)


def finish_document(args: argparse.Namespace, document: Document, *, written: Sequence[str] = ()) -> None:
    """Write the requested JSON file and HTML page of a document, and show its screen.

    Args:
        written: other files that the command has written.
    """
    show_document(args, document, [*written, *save_document(args, document)])


def show(document: Document, *, saved: Sequence[str] = (), args: argparse.Namespace) -> None:
    """Write the screen of a document to standard output."""
    from spanwise.reports.terminal import render, wants_color

    sys.stdout.write(
        render(
            document,
            width=args.width,
            color=wants_color(args.color),
            saved=saved,
            signature=args.signature,
            detail=getattr(args, "detail", None) or "usual",
            command=shlex.join(["spanwise", *args.command_line]) if "command_line" in args else None,
        )
    )
