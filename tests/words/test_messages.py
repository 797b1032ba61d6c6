"""Every error message that spanwise raises is checked here word by word, as the user sees it.

The pages in tests/words/messages show each message after the call that causes it: `>>>` is Python,
`$ spanwise …` the command line. Each example runs in an empty folder of its own; a paragraph without a
message sets up all examples below it, up to the next heading. `[…]` stands for anything.
A `raise` that no example reaches fails `test_every_message_is_read`.
With SPANWISE_REFRESH=1, the messages on the pages are updated; write `?` for a new message.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from awaited import finished
from benches import bench_of

import spanwise
from spanwise.cli import main
from spanwise.errors import ChoiceError, InputError, MissingExtra, UnknownKey

if TYPE_CHECKING:
    from spanwise.workbench.bench import Bench

# The folders of our packages, by the name under which their modules are listed.
ROOT = Path(__file__).parents[2]
PACKAGES = {
    "": Path(spanwise.__file__).parent,
    "taggers/": ROOT / "packages/spanwise-taggers/src/spanwise_taggers",
}
# Some packages need an extra of their own. If it is not installed, for example after a quick start with the
# extra `dev`, the package's page of examples and the errors its modules raise are left out.
WINGS = {
    "taggers": ("torch", "pycrfsuite", "tokenizers"),
    "workbench": ("starlette", "uvicorn", "jinja2"),
}
WITHOUT = {wing for wing, needed in WINGS.items() if not all(map(find_spec, needed))}
PAGES = [
    page for page in sorted((Path(__file__).parent / "messages").glob("*.txt")) if page.stem not in WITHOUT
]
REFRESH = bool(os.environ.get("SPANWISE_REFRESH"))


@dataclass(frozen=True)
class Example:
    """A call and the message that it should cause."""

    page: Path
    line: int
    source: str
    message: str
    paragraph: str

    @property
    def place(self) -> str:
        return f"{self.page.stem}:{self.line}"

    def says(self, message: str) -> bool:
        return bool(re.fullmatch(".*".join(map(re.escape, self.message.split("[…]"))), message, re.DOTALL))


@dataclass(frozen=True)
class Outcome:
    """The message of a call, and the lines that raised it: the last error first, then its causes."""

    message: str
    sites: tuple[tuple[str, int], ...]


def examples(page: Path) -> Iterator[Example]:
    before, line = "", 1
    for paragraph in page.read_text(encoding="utf-8").split("\n\n"):
        rows = paragraph.strip("\n").split("\n")
        if rows[0].startswith("== "):
            before = ""
        elif rows[0]:
            calls = [row for row in rows if row.startswith((">>> ", "... ", "$ "))]
            source, message = before + "".join(map(_as_python, calls)), "\n".join(rows[len(calls) :])
            if message:
                yield Example(page, line, source, message, "\n".join(rows))
            else:
                before = source
        line += paragraph.count("\n") + 2


def _as_python(row: str) -> str:
    return f"command({row[2:]!r})\n" if row.startswith("$ ") else f"{row[4:]}\n"


EXAMPLES = [example for page in PAGES for example in examples(page)]


def file(name: str, content: str | bytes = "") -> str:
    """Write a file and return its name."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


def command(line: str) -> None:
    """Run a command line and raise its error, which `main` would print."""
    main._run(shlex.split(line)[1:])


def without(patch: pytest.MonkeyPatch, *packages: str) -> None:
    """Pretend that packages are not installed."""
    for package in packages:
        patch.setitem(sys.modules, package, None)


def workbench(
    patch: pytest.MonkeyPatch, closing: contextlib.ExitStack, *, read_only: bool = False
) -> tuple[Bench, Callable[..., None]]:
    """The workbench of the folder, and a function that sends requests to it; errors are raised."""
    from spanwise.workbench import api, application, pages
    from spanwise.workbench.guard import Door

    guard = application(".", Door.at(7350, "secret"), read_only=read_only)
    bench = bench_of(guard)
    closing.callback(bench.store.close)
    if not read_only:
        bench.jobs.uploads.mkdir(exist_ok=True)
        bench.watcher.scan()
    patch.setattr(api, "status_of", _raise)
    patch.setattr(pages, "status_of", _raise)

    def ask(line: str, body: str | None = "", **headers: str) -> None:
        method, _, address = line.partition(" ")
        path, _, query = address.partition("?")
        defaults = {
            "host": "127.0.0.1:7350",
            "authorization": "Bearer secret",
            "content-type": "application/json",
        }
        pairs = {**defaults, **{name.replace("_", "-"): value for name, value in headers.items()}}
        scope = {
            "type": "http", "method": method, "path": path, "query_string": query.encode(), "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in pairs.items()],
        }  # fmt: skip

        async def receive() -> dict[str, object]:
            if body is None:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": body.encode(), "more_body": False}

        async def send(message: object) -> None:
            pass

        guard._checked(scope)
        finished(guard.app(scope, receive, send))  # type: ignore[arg-type]

    return bench, ask


def _raise(error: Exception) -> int:
    raise error


@cache
def outcome_of(example: Example) -> Outcome:
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        pytest.MonkeyPatch.context() as patch,
        contextlib.ExitStack() as closing,
    ):
        patch.chdir(folder)
        namespace = {
            "spanwise": spanwise,
            "file": file,
            "command": command,
            "patch": patch,
            "without": partial(without, patch),
            "workbench": partial(workbench, patch, closing),
        }
        try:
            exec(compile(example.source, example.place, "exec"), namespace)
        except Exception as error:
            return Outcome(_message(error, by_command="command('" in example.source), tuple(_sites(error)))
    return Outcome("", ())


def _message(error: Exception, *, by_command: bool) -> str:
    if by_command:
        return f"spanwise: {main._text(error)}\n(exit status {main._status(error)})"
    return f"{type(error).__name__}: {error}".rstrip()


def _sites(error: BaseException | None) -> Iterator[tuple[str, int]]:
    """The module and line that raised an error, then those that raised its causes."""
    while error is not None:
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        path = Path(frame.tb_frame.f_code.co_filename) if frame else Path()
        for prefix, package in PACKAGES.items():
            if frame is not None and path.is_relative_to(package):
                yield f"{prefix}{path.relative_to(package).as_posix()}", frame.tb_lineno
        error = error.__context__


def raised() -> dict[tuple[str, int], str]:
    """Every `raise` in the package that creates an error rather than passing one on, by module and line."""
    statements = {}
    for prefix, package in PACKAGES.items():
        for path in sorted(package.rglob("*.py")):
            module = f"{prefix}{path.relative_to(package).as_posix()}"
            if module.partition("/")[0] in WITHOUT:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                    statements[module, node.lineno] = ast.unparse(node)
    return statements


RAISED = raised()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.place)
def test_a_message_matches_its_page(example: Example) -> None:
    outcome = outcome_of(example)
    position = f"{example.page.name}:{example.line}"
    assert RAISED.keys() & outcome.sites[:1], (
        f"{position} raises no error of ours, but {outcome.message or 'nothing'}"
    )
    if REFRESH and not example.says(outcome.message):
        text = example.page.read_text(encoding="utf-8")
        assert text.count(f"\n\n{example.paragraph}") == 1, f"{position} is on the page twice"
        fresh = example.paragraph.removesuffix(example.message) + outcome.message
        example.page.write_text(text.replace(example.paragraph, fresh), encoding="utf-8")
    else:
        assert example.says(outcome.message), (
            f"{position} expected\n{example.message}\nbut got\n{outcome.message}"
        )


def test_every_message_is_read() -> None:
    read = {site for example in EXAMPLES for site in outcome_of(example).sites}
    unread = [
        f"src/spanwise/{module}:{line}: {statement}"
        for (module, line), statement in RAISED.items()
        if (module, line) not in read
    ]
    assert not unread, "no example in tests/words/messages covers what is raised at\n" + "\n".join(unread)


def test_every_message_of_ours_is_a_sentence_and_says_what_to_do() -> None:
    ours = tuple(f"{kind.__name__}: " for kind in (InputError, ChoiceError, MissingExtra, UnknownKey))
    for example in EXAMPLES:
        if example.message.startswith((*ours, "spanwise: ")):
            first, *rest = example.message.partition("\n(exit status")[0].split("\n")
            assert first.endswith((".", "?")) and len(rest) < 4, example.place
            # What to do is on a line of its own, unless it follows from what was expected.
            assert rest or re.search(r"must be|expected|such as|needs|;", first), example.place


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (PermissionError(13, "Permission denied", "run.json"), 3, "run.json: permission denied."),
        (OSError(28, "No space left on device"), 3, "the output cannot be written: no space left on device."),
        (KeyboardInterrupt(), 130, "interrupted; nothing was left half-written."),
    ],
)  # fmt: skip
def test_errors_of_the_operating_system_are_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    status: int,
    message: str,
) -> None:
    monkeypatch.setattr(main, "_run", lambda given: (_ for _ in ()).throw(error))
    assert main.main(["list"]) == status
    assert capsys.readouterr().err == f"spanwise: {message}\n"
