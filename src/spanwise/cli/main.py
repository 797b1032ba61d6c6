"""Find the command, run it, and turn every expected error into one clear message and an exit status."""

from __future__ import annotations

import sys

from spanwise import __version__

TYPE_CHECKING = False  # so that `--help` does not have to import typing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import NoReturn

    from spanwise.cli.arguments import Command, Parser

INTERNAL = 70  # the exit status for a bug in spanwise itself

# The packages whose commands are found like those of strangers: by what they register.
WING = "spanwise"
TAGGERS = "spanwise-taggers"

# The module and summary of each command, so that `--help` imports none of the modules.
GROUPS = {
    "every day": {
        "demo": (WING, "make a small corpus with three flawed systems, and evaluate them"),
        "evaluate": ("evaluating", "score one or more systems against gold and explain the scores"),
        "compare": ("evaluating", "test which of several systems is better, and where"),
        "changes": ("saved", "say what broke and what was fixed between two saved results"),
        "errors": ("analyses", "list the errors with their sentences"),
        "slices": ("analyses", "find combinations of conditions on which a system is weak"),
        "report": ("saved", "make the HTML page of a saved result"),
        "workbench": (WING, "serve a folder of results as a local web application"),
    },
    "data": {
        "describe": ("corpora", "describe a test set before any system is run"),
        "validate": ("corpora", "list every impossible tag and malformed line in files"),
        "convert": ("corpora", "convert between formats and tag schemes"),
        "split": ("corpora", "split a corpus with given shares of seen and unseen mentions"),
        "sample": ("corpora", "draw the units of a corpus to annotate, at random or in strata"),
        "agree": ("corpora", "measure how well annotators agree; write the majority annotation"),
        "suspects": ("corpora", "list gold mentions worth a second look; apply the decisions"),
    },
    "papers": {
        "study": ("studies", "analyse datasets x models x runs from one TOML file"),
        "paper": ("saved", "write a study's table, figure, tests and appendix as LaTeX"),
        "table": ("saved", "print one table of a saved result as LaTeX, Markdown or CSV"),
        "figures": ("saved", "draw the figures of a saved result as SVG, PDF or PNG"),
        "plan": ("planning", "say how many more units a comparison needs, from a saved result"),
        "curve": ("planning", "fit F1 against the size of the training data, from saved results"),
        "cite": ("about", "print the papers behind the numbers"),
    },
    "expert": {
        "place": ("analyses", "place answers of language models without offsets on the gold text"),
        "tuples": ("tuples", "score relations, events and links under every criterion"),
        "leaks": ("leaks", "say what masking leaves readable, and what it hides without need"),
        "confidence": ("analyses", "assess confidence scores: curves, thresholds, calibration"),
        "apply": ("analyses", "keep the predictions whose score reaches a threshold"),
        "explain": ("analyses", "show the same predictions under every convention in use"),
        "export": ("saved", "export a saved result for other tools"),
        "train": (TAGGERS, "train one of the papers' taggers by name"),
        "tag": (TAGGERS, "tag a file with a trained tagger"),
        "reproduce": (WING, "recompute the papers' published figures cell by cell"),
        "list": ("about", "list formats, schemes, attributes, bucketings and other names"),
        "completion": ("completion", "print the completion script of bash, zsh or fish"),
    },
}
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}

HELP = """usage: spanwise COMMAND [options]

Why one system scores better than another, on which mentions, and whether the
difference is real.

{commands}

examples:
  spanwise demo
  spanwise evaluate gold.conll pred.conll --train train.conll --html run.html
  spanwise compare gold.conll old=first.conll new=second.conll
  spanwise COMMAND --help      its most used options; --help-all: all of them
  spanwise --version

exit status: 0 success; 1 a threshold was missed; 2 wrong usage;
3 an input cannot be used
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    text = _help_or_version(argv)
    if text is not None and _write(text):
        return 0
    status = _guarded(argv, terminable=arguments is None)
    if arguments is None:  # the process is about to end: skip the final search for reference cycles
        import gc

        gc.freeze()
    return status


def _help_or_version(argv: list[str]) -> str | None:
    """The help or version text, if that is all the arguments ask for."""
    first = argv[0] if argv else "--help"
    if first == "--version":
        return f"spanwise {__version__}\n"
    if first in ("-h", "--help") or argv == ["help"]:  # `help` is what many type first
        return HELP.format(commands=_listing())
    return None


def _listing() -> str:
    width = max(map(len, COMMANDS)) + 2
    sections = (
        "\n".join([f"{title}:", *(f"  {name:<{width}}{summary}" for name, (_, summary) in group.items())])
        for title, group in GROUPS.items()
    )
    return "\n\n".join(sections)


def _write(text: str) -> bool:
    """Write to standard output; return False if it is closed or full, which `_guarded` then reports."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):
        return False
    return True


def _guarded(argv: list[str], *, terminable: bool) -> int:
    """Run one command with streams that accept any text, and report every error."""
    import gc
    import os

    from spanwise.streams import leave_streams, pipes_read_once, prepare_streams, write_message

    # Our matrices are small, so BLAS threads only cost time. This must be set before NumPy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Raise the GC thresholds: columns, modules, classes and parsers live until the end.
    gc.set_threshold(200_000, 20, 20)
    prepare_streams()
    try:
        with _Terminable(terminable), pipes_read_once():
            return _run(argv)
    except SystemExit as stop:  # raised by argparse after it has printed a command's help
        return int(stop.code or 0)
    except BrokenPipeError:
        return 0  # the reader closed the pipe, as `head` does
    except KeyboardInterrupt:
        write_message("spanwise: interrupted; nothing was left half-written.")
        return 130
    except _Terminated:
        import signal

        write_message("spanwise: terminated; nothing was left half-written.")
        leave_streams()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
        return 3
    except Exception as error:  # our own errors have an exit status; any other error is a bug
        status = _status(error)
        if status is None:
            import traceback

            write_message("".join(traceback.format_exception(error)))
            where = _foreign(error) or "spanwise itself"
            write_message(f"spanwise: this is a bug in {where}.\nPlease report it with the lines above.")
            return INTERNAL
        write_message(f"spanwise: {_text(error)}")
        return status
    finally:
        leave_streams()


class _Terminated(BaseException):
    """Raised when the process receives SIGTERM."""


class _Terminable:
    """Turn SIGTERM into an exception, so that the command unwinds and removes partial files."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled

    def __enter__(self) -> None:
        import signal
        import threading

        self._enabled = self._enabled and threading.current_thread() is threading.main_thread()
        if self._enabled:
            self._before = signal.signal(signal.SIGTERM, self._terminate)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._enabled:
            import signal

            signal.signal(signal.SIGTERM, self._before)

    @staticmethod
    def _terminate(number: int, frame: object) -> NoReturn:
        raise _Terminated


def _run(argv: list[str]) -> int:
    text = _help_or_version(argv)
    if text is not None:
        sys.stdout.write(text)
        return 0
    if argv[0] == "help":
        argv = [argv[1], "--help"]
    name = argv[0]
    if name.startswith("-"):
        _top_parser().parsed(argv)
        sys.stderr.write(HELP.format(commands=_listing()))
        return 0
    command = _command(name)
    arguments = command.parser(name).parsed(argv[1:])
    arguments.command_line = argv
    from spanwise.engines import keep_freed_memory

    keep_freed_memory()
    status = command.run(arguments)
    sys.stdout.flush()
    return status


def _top_parser() -> Parser:
    """The parser for options given before any command."""
    from spanwise.cli.arguments import Parser

    top = Parser(prog="spanwise")
    top.add_argument("--version", action="version", version=f"spanwise {__version__}")
    top.add_argument("command", nargs="?")
    return top


def parser_of(name: str) -> Parser:
    """The parser of one command."""
    return _command(name).parser(name)


def _command(name: str) -> Command:
    from importlib import import_module

    module, _ = COMMANDS.get(name, ("", ""))
    if module in ("", WING, TAGGERS):
        return _registered(name)
    commands: dict[str, Command] = import_module(f"spanwise.cli.{module}").COMMANDS
    return commands[name]


def _registered(name: str) -> Command:
    """The command that a package has registered under this name."""
    from spanwise.errors import MissingExtra, unknown
    from spanwise.registry import registered

    found = registered("spanwise.commands")
    if name in found:
        command: Command = found[name].load()
        return command
    if name in COMMANDS:
        raise MissingExtra.package(f"spanwise {name}", TAGGERS)
    raise unknown("command", name, [*COMMANDS, *sorted({*found} - {*COMMANDS})])


def _status(error: Exception) -> int | None:
    from spanwise.errors import ChoiceError, MissingExtra, SpanwiseError

    if isinstance(error, ChoiceError | MissingExtra):
        return 2
    if isinstance(error, SpanwiseError | OSError | UnicodeError | MemoryError):
        return 3
    return None


def _foreign(error: Exception) -> str | None:
    """The package of somebody else whose registered code raised the error."""
    from traceback import walk_tb

    from spanwise.registry import foreign_packages

    modules = {frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)}
    packages = {module.partition(".")[0] for module in modules} & foreign_packages()
    return f"the package {min(packages)}" if packages else None


def _text(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory.\nGive the process more, or evaluate in parts with --memory 512MB."
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'cannot be used').lower()}."
    if isinstance(error, OSError) and error.strerror:
        return f"the output cannot be written: {error.strerror.lower()}."
    from spanwise.settings import in_options

    return in_options(str(error))


if __name__ == "__main__":
    sys.exit(main())
