"""Every code block of the README and the documentation runs, and every name that can be chosen is documented.

The pages run in a folder made by `spanwise demo .`, which the blocks of a page share along with one
namespace. `pycon` blocks run as doctests and `python` blocks as scripts. In `console` blocks, each line after
`$` is run and its output compared, with `[…]` standing for anything. `toml` and `json` are parsed; `text` is
not code. With SPANWISE_REFRESH=1, the expected output on the pages is updated.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import json
import os
import pkgutil
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.cli.main import COMMANDS, main
from spanwise.demo import generate
from spanwise.errors import MissingExtra

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if not {"generated", "_build"} & set(path.parts)),
]
REFRESH = bool(os.environ.get("SPANWISE_REFRESH"))
BLOCK = re.compile(r"^(?P<fence>```+)(?P<kind>[\w-]+)\n(?P<body>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
KINDS = {"python", "pycon", "console", "toml", "json", "text", "sh", "yaml", "bibtex", "latex"}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, with its language, its text and its first line."""

    page: Path
    line: int
    kind: str
    body: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield Block(page, line, match["kind"], match["body"])


def registries() -> dict[str, Any]:
    """Every registry by title, with all its entries loaded."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        by_title: dict[str, Any] = importlib.import_module("_generate").registries()
    finally:
        sys.path.pop(0)
    for registry in by_title.values():
        registry.names()
    return by_title


def registered() -> list[tuple[str, str]]:
    return [(title, entry.name) for title, registry in registries().items() for entry in registry]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    generate(folder)
    return folder


@pytest.fixture
def work(tmp_path: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh folder with the demo corpus, in which the blocks of a page run."""
    folder = tmp_path / "work"
    shutil.copytree(corpus, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    for registry in registries().values():  # undo what a page registers
        monkeypatch.setattr(registry, "_values", dict(registry._values))
    return folder


@pytest.mark.usefixtures("all_shuffles")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_code_block_runs(page: Path, work: Path) -> None:
    namespace: dict[str, Any] = {"__name__": "__page__"}
    for block in blocks(page):
        assert block.kind in KINDS, f"{block.place}: a block of kind {block.kind!r} cannot be tested"
        if block.kind == "python":
            try:
                exec(compile(block.body, block.place, "exec"), namespace)
            except MissingExtra as missing:
                pytest.skip(f"{block.place}: {missing}")
        elif block.kind == "pycon":
            run_doctest(block, namespace)
        elif block.kind == "console":
            run_console(block)
        elif block.kind == "toml":
            tomllib.loads(block.body)
        elif block.kind == "json":
            json.loads(block.body)


def run_doctest(block: Block, namespace: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(
        block.body, namespace, block.place, str(block.page), block.line
    )
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=report.write, clear_globs=False)
    namespace.update(test.globs)
    assert runner.failures == 0, report.getvalue()


def run_console(block: Block) -> None:
    parts = re.split(r"^\$ ", block.body, flags=re.MULTILINE)
    assert not parts[0].strip(), f"{block.place}: a console block begins with a command behind '$ '"
    printed = []
    for part in parts[1:]:
        # A backslash continues a command on the next line.
        written = re.match(r"(?:.*\\\n)*.*\n?", part)
        assert written is not None
        command, expected = written.group(), part[written.end() :]
        status, output = execute(shlex.split(command.replace("\\\n", " "), comments=True))
        if expected.strip() and not REFRESH:
            assert matches(expected, output), f"{block.place}: {command} prints\n{output}"
        expected_failure = any(flag in command for flag in ("--fail", "--floor", "validate", "pytest"))
        assert status == 0 or expected_failure, f"{block.place}: {command} ends with {status}\n{output}"
        printed.append(f"$ {command}" + (trimmed(output) + "\n" if expected.strip() else ""))
    if REFRESH and "[…]" not in block.body:
        text = block.page.read_text(encoding="utf-8")
        block.page.write_text(text.replace(block.body, "".join(printed)), encoding="utf-8")


def execute(words: list[str]) -> tuple[int, str]:
    """Run a command of a page in this process; return its status and what it prints on both streams."""
    if words[0] == "cat":
        return 0, Path(words[1]).read_text(encoding="utf-8")
    if words[0] == "python":
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            runpy.run_path(words[1], run_name="__main__")
        return 0, output.getvalue()
    if words[0] == "pytest":
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words[1:]]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.returncode, done.stdout
    assert words[0] == "spanwise", f"{words[0]!r} is not a command that the tests can run"
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            status = main(words[1:])
        except SystemExit as end:
            status = int(end.code or 0)
    return status, output.getvalue()


def matches(expected: str, output: str) -> bool:
    """Whether the output is the expected one, where […] stands for anything."""
    pattern = ".*?".join(re.escape(part) for part in trimmed(expected).split("[…]"))
    return re.fullmatch(pattern, trimmed(output), flags=re.DOTALL) is not None


def trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))


def modules() -> list[str]:
    return [
        info.name
        for info in pkgutil.walk_packages(spanwise.__path__, "spanwise.")
        if not info.name.endswith("__main__")
    ]


@pytest.mark.parametrize("name", modules())
def test_every_example_in_a_docstring_runs(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if str(missing.name).partition(".")[0] == "spanwise":
            raise
        pytest.skip(f"{name} needs {missing.name}, which an extra installs")
    results = doctest.testmod(module, optionflags=FLAGS)
    assert results.failed == 0


def documented() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize(("kind", "name"), registered())
def test_every_registered_name_is_documented(kind: str, name: str) -> None:
    assert f"`{name}`" in documented(), f"{kind}: `{name}` is on no page"


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated pages; making them runs the examples of documents and of methods."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        pages = importlib.import_module("_generate")
        folder = tmp_path_factory.mktemp("reference")
        pages.write(folder)
    finally:
        sys.path.pop(0)
    return folder


def test_the_reference_is_generated_from_the_program(reference: Path) -> None:
    commands = (reference / "commands.md").read_text(encoding="utf-8")
    assert all(f"## `spanwise {command}`" in commands for command in COMMANDS)
    python = (reference / "api.md").read_text(encoding="utf-8")
    assert all(f"`spanwise.{name}`" in python for name in spanwise.__all__ if not name.startswith("_"))
    slices = next(line for line in python.split("\n") if "spanwise.Result.find_slices(" in line)
    assert "depth: int = 2" in slices and "**" not in slices
    assert (reference / "figures" / "score.svg").exists()
    assert "<html" in (reference / "sample" / "sample.html").read_text(encoding="utf-8")
    shown = (reference / "notebook.md").read_text(encoding="utf-8")
    assert "```{raw} html\n<div" in shown and "cannot be told apart" in shown


@dataclass(frozen=True)
class Described:
    """An object of the inventory: what it is, and its own lines on its page without those of its members."""

    kind: str
    lines: list[str]

    @property
    def example(self) -> str:
        return "\n".join(line for line in self.lines if line.startswith((">>> ", "... ")))


def inventory(reference: Path) -> dict[str, Described]:
    """Every object of the reference by its path."""
    objects: dict[str, Described] = {}
    for page in sorted(reference.glob("api*.md")):
        inside: list[tuple[str, Described]] = []
        for line in page.read_text(encoding="utf-8").split("\n"):
            begun = re.match(r"(:{3,})\{py:(\w+)\} ([\w.]+)", line)
            if begun:
                objects[begun[3]] = Described(begun[2], [])
                inside.append((begun[1], objects[begun[3]]))
            elif inside and line == inside[-1][0]:
                inside.pop()
            elif inside:
                inside[-1][1].lines.append(line)
    return objects


def test_everything_public_is_an_object_of_the_inventory(reference: Path) -> None:
    objects = inventory(reference)
    unlisted = [path for path in public_members() if path not in objects]
    assert not unlisted, "not an object of the inventory: " + ", ".join(unlisted)
    assert {"spanwise.formats.FORMATS", "spanwise.Result.to_arrow"} <= objects.keys()
    assert {"spanwise.compat.torchmetrics.SpanMetric", "spanwise.compat.pytest.Gate"} <= objects.keys()


def test_everything_public_has_an_example_that_shows_it(reference: Path) -> None:
    """Methods and attributes may be shown by the example of their class; those of documents always are.

    Examples in docstrings run below; those of documents ran when the pages were made.
    """
    objects = inventory(reference)
    bare = []
    for path, thing in objects.items():
        owner, _, name = path.rpartition(".")
        of_class = objects[owner].example if owner in objects else ""
        shown: object
        if thing.kind in ("method", "property"):
            shown = thing.example or re.search(rf"\.{name}\b", of_class)
        elif thing.kind == "attribute":
            in_document = owner.startswith("spanwise.document.")
            shown = re.search(rf"\.{name}\b", of_class) if in_document else of_class
        else:
            shown = thing.example or thing.kind == "data"  # a value has its size or itself
        bare += [] if shown else [path]
    hint = (
        "of a document: add one that has it to docs/reference/documents.py; of a method: to calls.toml there"
    )
    assert not bare, f"without an example ({hint}): {', '.join(bare)}"
    assert len(objects) > 2000


def public_members() -> Iterator[str]:
    """The functions and classes of the package, with what can be asked of each class."""
    sys.path.insert(0, str(ROOT / "docs"))
    hidden = importlib.import_module("_public").INNER
    sys.path.pop(0)
    for name in spanwise.__all__:
        thing = getattr(spanwise, name)
        if inspect.ismodule(thing) or name.startswith("_"):
            continue
        yield f"spanwise.{name}"
        for member, inside in vars(thing).items() if inspect.isclass(thing) else ():
            kinds = (property, cached_property, classmethod, staticmethod)
            if member.startswith("_") or member in f"{hidden.get(name)} {hidden['Document']}".split():
                continue
            if inspect.isfunction(inside) or isinstance(inside, kinds):
                yield f"spanwise.{name}.{member}"


HOW_TO = [page for page in PAGES if page.parent.name == "howto"]


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_every_guide_has_words_under_which_the_search_finds_it_first(page: Path) -> None:
    words = re.search(r"^```\{index\} (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert words, "the page has no index"
    # Sphinx lists what is marked as the main entry before other pages.
    assert all(word.startswith("! ") for word in words[1].split(", "))


SEARCHED = {
    "anonymization": "howto/redaction",
    "bootstrap": "howto/compare",
    "cohen kappa": "howto/annotators",
    "confidence interval": "definitions/uncertainty",
    "docker": "howto/docker",
    "f-beta": "definitions/exact",
    "gate": "howto/gate",
    "kappa": "howto/annotators",
    "label map": "howto/labels",
    "latex table": "howto/reports",
    "notebook": "howto/reports",
    "ocr": "howto/speech",
    "pii leak": "howto/redaction",
    "prompt comparison": "howto/harness",
    "relation extraction": "howto/tuples",
    "sample size": "howto/few",
    "statistical significance": "howto/compare",
    "wandb": "howto/trackers",
}


@pytest.mark.parametrize("word", SEARCHED)
def test_what_people_search_for_finds_its_page_first(word: str) -> None:
    """Sphinx gives main entries of the index that hold the query 100 × the share that it makes up."""
    scores = {}
    for page in PAGES:
        words = re.findall(r"^```\{index\} (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        entries = [entry.removeprefix("! ").lower() for line in words for entry in line.split(", ")]
        found = [len(word) / len(entry) for entry in entries if word in entry]
        if found:
            scores[f"{page.parent.name}/{page.stem}"] = max(found)
    assert scores[SEARCHED[word]] == 1, "not an entry as it is searched for"
    assert [page for page, score in scores.items() if score == 1] == [SEARCHED[word]]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_shown_in_use(command: str) -> None:
    assert re.search(rf"spanwise {command}\b", documented()), f"no page shows spanwise {command}"


def test_the_quick_start_has_two_lines_that_ci_runs() -> None:
    first = next(block for block in blocks(ROOT / "README.md") if block.kind == "sh")
    install, test = first.body.strip().split("\n")
    assert install.startswith("python3 -m venv") and install.endswith("spanwise demo")
    assert "pytest" in test
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "quick_start 1" in script and "quick_start 2" in script


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_script_runs(path: Path, work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_the_notebook_runs(work: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(work)}}).execute()


def test_the_readme_states_the_right_numbers_of_formats_and_schemes() -> None:
    words = [
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ]
    number = dict(enumerate(words, start=9))
    by_title = registries()
    formats, schemes = (number[len(by_title[title].names())] for title in ("Formats", "Tag schemes"))
    assert f"{formats.capitalize()} formats, {schemes} tag schemes" in documented()


def test_every_key_of_the_documents_is_explained() -> None:
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        generate_pages = importlib.import_module("_generate")
    finally:
        sys.path.pop(0)
    assert len(generate_pages.explained_keys()) > 900
    page = "\n".join(generate_pages.keys())
    assert "| `precision` | number or null | correct / predicted; null where nothing is predicted |" in page
    anchors = set(re.findall(r"^\((\w+)\)=$", page, flags=re.MULTILINE))
    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= anchors
