"""Find the command, run it, and turn every expected error into one clear message and an exit status."""

from __future__ import annotations

import argparse
import gc
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from spanwise import __version__
from spanwise.streams import leave_streams, pipes_read_once, prepare_streams, say

INTERNAL = 70  # the exit status of a mistake of our own, which no input should bring about

# Name and one line each, so that `--help` needs none of the commands' modules.
COMMANDS = {
    "demo": "make a small corpus with three flawed systems and show what is found",
    "evaluate": "score one or more systems against gold and say why they score so",
    "compare": "test which of several systems is better, and where",
    "study": "analyse datasets x models x runs from one TOML file",
    "describe": "describe a test set before any system is run",
    "split": "divide a corpus into training and test data with the seen and unseen shares asked for",
    "place": "place answers of language models, which have no offsets, on the gold text",
    "errors": "list the errors with their sentences",
    "slices": "find combinations of conditions on which a system is weak",
    "confidence": "tell what confidence scores are worth: curves, thresholds, calibration",
    "apply": "keep the predictions whose score reaches a threshold",
    "agree": "measure how far annotators agree, and write what most of them marked",
    "suspects": "list gold mentions that are worth a second look, and apply the decisions",
    "explain": "show the same predictions under every convention in use",
    "workbench": "serve a folder of results as a local web application",
    "report": "make the HTML page of a saved result",
    "figures": "draw the figures of a saved result as SVG, PDF or PNG",
    "table": "print one table of a saved result as LaTeX, Markdown or CSV",
    "export": "turn a saved result into what other tools read",
    "train": "train one of the papers' taggers from its name",
    "tag": "tag a file with a tagger that was trained",
    "validate": "list every impossible tag and malformed line of files",
    "convert": "convert between formats and tag schemes",
    "list": "list formats, schemes, attributes, bucketings and other names",
    "cite": "print the papers behind the numbers",
    "reproduce": "recompute the papers' published figures cell by cell",
}

EPILOG = """examples:
  spanwise demo
  spanwise evaluate gold.conll pred.conll --train train.conll --json run.json --html run.html
  spanwise compare gold.conll old=first.conll new=second.conll
  spanwise COMMAND --help

exit status: 0 fine; 1 a threshold was missed; 2 the call is wrong; 3 an input cannot be used"""


class Parser(argparse.ArgumentParser):
    """A parser whose complaint is one sentence and where to read on, not a screen of options."""

    def parsed(self, given: Sequence[str]) -> argparse.Namespace:
        """The arguments; an option that there is not is answered with the nearest one that there is."""
        found, rest = self.parse_known_args(given)
        if rest:
            self.error(self._surplus(next((text for text in rest if text.startswith("-")), rest[0])))
        return found

    def _surplus(self, text: str) -> str:
        import difflib

        wrong = text.partition("=")[0]
        if not wrong.startswith("-"):
            return f"{text!r} is one argument too many"
        known = [option for action in self._actions for option in action.option_strings]
        near = difflib.get_close_matches(wrong, known, n=1)
        return f"there is no option {wrong}" + (f"; did you mean {near[0]}?" if near else "")

    def error(self, message: str) -> NoReturn:
        """Raise what `main` answers with exit status 2."""
        from spanwise.errors import ChoiceError

        raise ChoiceError(f"{_plainly(message)}\nSee {self.prog} --help.")


def _plainly(message: str) -> str:
    """A complaint of argparse as a sentence, the same under every version of Python."""
    name, _, what = message.removeprefix("argument ").partition(": ")
    if found := re.fullmatch(r"invalid (int|float) value: (.*)", what):
        return f"{name} must be a {'whole ' if found[1] == 'int' else ''}number, not {found[2]}."
    if found := re.fullmatch(r"invalid choice: (.*) \(choose from (.*)\)", what):
        choices = found[2].replace("'", "")
        return f"{name} must be one of {choices}, not {found[1]}."
    if what == "expected one argument":
        return f"{name} needs a value."
    return message if message.endswith("?") else f"{message.removeprefix('argument ')}."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give back its exit status."""
    # Our matrices are small: BLAS threads cost more than they bring, and must be chosen before NumPy loads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Our columns are no garbage to look for, and modules, classes and parsers are here to stay.
    gc.set_threshold(50_000, 20, 20)
    prepare_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with _terminable(arguments is None), pipes_read_once():
            return _run(given)
    except BrokenPipeError:
        return 0  # the reader of our output left, as `head` does
    except KeyboardInterrupt:
        say("spanwise: interrupted; nothing was left half-written.")
        return 130
    except _Terminated:
        say("spanwise: terminated; nothing was left half-written.")
        leave_streams()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
        return 3
    except Exception as error:
        status = _status(error)
        if status is None:
            say("".join(traceback.format_exception(error)))
            say("spanwise: this is a mistake in spanwise itself.\nPlease report it with the lines above.")
            return INTERNAL
        say(f"spanwise: {_text(error)}")
        return status
    finally:
        leave_streams()


class _Terminated(BaseException):
    """The process was asked to end."""


@contextmanager
def _terminable(wanted: bool) -> Iterator[None]:
    """Within this, a request to end (SIGTERM) unwinds the command, which removes what is half-written."""
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number: int, frame: object) -> NoReturn:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def parser_of(name: str) -> Parser:
    """The parser of one command, as the reference of the documentation shows it too."""
    import shutil
    import textwrap

    module = _module(name)
    told = (module.__doc__ or "").strip().split("\n\n")[0]
    parser = Parser(
        prog=f"spanwise {name}",
        description=textwrap.fill(told, shutil.get_terminal_size().columns - 2),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=getattr(module, "EPILOG", None),
        allow_abbrev=False,
    )
    module.add_arguments(parser)
    return parser


def _run(given: list[str]) -> int:
    top = Parser(
        prog="spanwise",
        description="Why one system scores better than another, on which mentions, and whether it is real.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_listing() + "\n\n" + EPILOG,
        usage="spanwise COMMAND [options]",
    )
    top.add_argument("--version", action="version", version=f"spanwise {__version__}")
    top.add_argument("command", metavar="COMMAND", nargs="?", help="one of the commands below")
    if given[:1] == ["help"]:  # what many type first
        given = [*given[1:2], "--help"]
    if not given or given[0].startswith("-"):
        top.parsed(given)
        top.print_help(sys.stdout if not given else sys.stderr)
        return 0
    name = given[0]
    if name not in COMMANDS:
        from spanwise.errors import unknown

        raise unknown("command", name, COMMANDS)
    arguments = parser_of(name).parsed(given[1:])
    arguments.command_line = given
    from spanwise.engines.machine import keep_freed_memory

    keep_freed_memory()
    status: int = _module(name).run(arguments)
    sys.stdout.flush()
    return status


def _module(name: str) -> ModuleType:
    return import_module(f"spanwise.cli.commands.{name}")


def _listing() -> str:
    width = max(map(len, COMMANDS)) + 2
    return "commands:\n" + "\n".join(f"  {name:<{width}}{text}" for name, text in COMMANDS.items())


def _status(error: Exception) -> int | None:
    from spanwise.errors import ChoiceError, MissingExtra, SpanwiseError

    if isinstance(error, ChoiceError | MissingExtra):
        return 2
    if isinstance(error, SpanwiseError | OSError | UnicodeError | MemoryError):
        return 3
    return None


def _text(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory.\nGive the process more, or evaluate in parts with --memory 512MB."
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'cannot be used').lower()}."
    if isinstance(error, OSError) and error.strerror:
        return f"the output cannot be written: {error.strerror.lower()}."
    from spanwise.cli.arguments import in_options

    return in_options(str(error))


if __name__ == "__main__":
    sys.exit(main())
