"""The path of an evaluation through the package, and what each verb costs beyond its algorithm.

`python -m benchmarks.house` prints both. The path is that of `evaluate … --train … --json … --html …` on
the demo corpus, traced in this process; the types on it are those that signatures of the traced functions
name, or that these functions make. The costs of a verb are the lines that carry its name in the rooms of
documents, views, reports and commands.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

import spanwise
from spanwise.cli.main import main

SOURCE = Path(spanwise.__file__).parent
CALL = "evaluate gold.conll swapper.conll --train train.conll --json one.json --html one.html --quiet"
# What may happen once per system, per attribute and side, or per run; the key of a call is what it is about.
REPEATABLE = {
    ("matching/__init__.py", "fair_and_overlap"): "matching",
    ("matching/__init__.py", "match_exact"): "matching",
    ("matching/__init__.py", "match"): "matching",
    ("attributes/_lexicon.py", "Lexicon.of"): "lexicon",
    ("attributes/_context.py", "compute"): "attributes",
    ("attributes/toughness.py", "toughness"): "toughness",
    ("buckets.py", "fit"): "buckets",
}
VERBS = {
    "agree": "agree",
    "changes": "chang",
    "confidence": "confiden",
    "curve": "curve",
    "describe": "descri",
    "explain": "expla",
    "leaks": "leak",
    "place": "plac",
    "plan": "^plan|_plan",
    "slices": "slice",
    "split": "^split|_split",
    "suspects": "suspect",
    "tuples": "tuple",
}
SURFACES = ("document", "views", "reports", "cli")


@dataclass
class Walk:
    """The calls of one run, in the order of first calls."""

    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    codes: dict[CodeType, None] = field(default_factory=dict)
    switches: int = 0  # from one file to another when a function is entered for the first time

    @property
    def files(self) -> set[str]:
        """The files of the functions that were entered."""
        return {file for file, _ in self.calls}

    def repeated(self) -> dict[str, int]:
        """How often each step was done that could be done again."""
        steps: Counter[str] = Counter()
        for key, number in self.calls.items():
            if key in REPEATABLE:
                steps[REPEATABLE[key]] += number
        return dict(steps)


@contextlib.contextmanager
def watched() -> Iterator[Walk]:
    """Record the functions of the package that are entered."""
    walk, last = Walk(), ""

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal last
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(f"{SOURCE}{os.sep}") or code.co_name[0] == "<":
            return
        file = Path(code.co_filename).relative_to(SOURCE).as_posix()
        if code not in walk.codes:
            walk.codes[code] = None
            walk.switches += file != last
            last = file
        walk.calls[file, code.co_qualname] += 1

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        yield walk
    finally:
        sys.setprofile(before)


def walked() -> Walk:
    """The evaluation of the demo corpus."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        try:
            main(["demo", ".", "--only-files"])
            with watched() as walk:
                main(CALL.split())
        finally:
            os.chdir(here)
    return walk


def types_on(walk: Walk, *, below: str = "") -> set[str]:
    """The types of the package that traced functions name in their signatures, or make."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
    types = {
        node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    }
    entered = {(code.co_filename, code.co_firstlineno) for code in walk.codes}
    named: set[str] = set()
    for path, tree in trees.items():
        if below and path.relative_to(SOURCE).parts[0] in below.split():
            continue
        for owner, function in _functions(tree):
            first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
            if (str(path), first) in entered:
                named |= {owner, *_names(function)} & types
    return named


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions of a module, each with the class that it belongs to, if any."""
    for node in ast.walk(tree):
        owner = node.name if isinstance(node, ast.ClassDef) else ""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                yield owner, child


def _names(function: ast.FunctionDef) -> Iterator[str]:
    """The names in the annotations of a function, and those that it calls, as in `Name()` or `Name.of()`."""
    annotations = [one.annotation for one in ast.walk(function.args) if isinstance(one, ast.arg)]
    for annotation in [*annotations, function.returns]:
        yield from (node.id for node in ast.walk(annotation or ast.Pass()) if isinstance(node, ast.Name))
    for node in ast.walk(function):
        called = node.func if isinstance(node, ast.Call) else None
        called = called.value if isinstance(called, ast.Attribute) else called
        if isinstance(called, ast.Name):
            yield called.id


def costs() -> dict[str, dict[str, int]]:
    """The lines that carry the name of each verb, by room."""
    lines: dict[str, dict[str, int]] = {verb: dict.fromkeys(SURFACES, 0) for verb in VERBS}
    for room in SURFACES:
        for path in (SOURCE / room).rglob("*"):
            if path.suffix not in (".py", ".jinja"):
                continue
            text = path.read_text(encoding="utf-8")
            for verb, pattern in VERBS.items():
                lines[verb][room] += _lines_about(path, text, re.compile(pattern, re.IGNORECASE))
    return lines


def _lines_about(path: Path, text: str, name: re.Pattern[str]) -> int:
    """The lines of a file that is named after a verb, or of its definitions that are."""
    if name.search(path.name.partition(".")[0].strip("_")):
        return len(text.splitlines())
    if path.suffix != ".py":
        return 0
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.parse(text).body
        if any(name.search(one) for one in _defined(node))
    )


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


def classes() -> int:
    """The number of classes of the package."""
    return sum(
        isinstance(node, ast.ClassDef)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    )


def report() -> Mapping[str, str]:
    """What `python -m benchmarks.house` prints about the path and the verbs."""
    walk = walked()
    repeated = ", ".join(f"{name} {number}" for name, number in sorted(walk.repeated().items()))
    shown = "reports views"
    rows = {
        "classes": str(classes()),
        "evaluate --json --html": f"{len(walk.codes)} functions in {len(walk.files)} files, "
        f"{walk.switches} switches, {sum(walk.calls.values()):,} calls",
        "types on this path": f"{len(types_on(walk, below=shown))}, {len(types_on(walk))} with {shown}",
        "done on this path": f"{repeated} times",
    }
    for verb, rooms in costs().items():
        about = " + ".join(f"{room} {number}" for room, number in rooms.items() if number)
        rows[f"{verb} beyond its algorithm"] = f"{sum(rooms.values())} ({about})"
    return rows
