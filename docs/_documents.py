"""The examples of the reference: parts of real documents, which `reference/documents.py` makes."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from _public import MODULES
from msgspec import UNSET, Struct

REFERENCE = Path(__file__).parent / "reference"
WIDTH = 88
DEEPEST = 14  # keys on the way to a part
FIRST = 60  # entries of a list or mapping that are looked at


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    """Where the files of the documents are, until the program ends."""
    return tempfile.TemporaryDirectory()


@cache
def documents() -> dict[str, Any]:
    """What the script defines: a document of every kind, by name."""
    with contextlib.chdir(folder().name):
        return runpy.run_path(str(REFERENCE / "documents.py"))


@cache
def calls() -> dict[str, dict[str, str]]:
    """The examples of methods, by class."""
    return tomllib.loads((REFERENCE / "calls.toml").read_text(encoding="utf-8"))


@cache
def parts() -> dict[type, dict[str, Struct]]:
    """Every part of every document by its type, with the expression that leads to it."""
    from spanwise.document import Document
    from spanwise.document.evaluation import SystemResult

    found: dict[type, dict[str, Struct]] = {}
    for name, value in documents().items():
        if isinstance(value, Document | SystemResult):
            for path, part in walked(name, value, DEEPEST):
                for kind in type(part).__mro__:
                    found.setdefault(kind, {}).setdefault(path, part)
    return found


def walked(path: str, value: object, depth: int) -> Iterator[tuple[str, Struct]]:
    """A value and everything inside, with the expressions that lead there."""
    if isinstance(value, Struct):
        yield path, value
        inside: Any = ((f"{path}.{name}", getattr(value, name)) for name in value.__struct_fields__)
    elif isinstance(value, Mapping):
        inside = ((f"{path}[{key!r}]", value[key]) for key in [*value][:FIRST])
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        inside = ((f"{path}[{number}]", item) for number, item in enumerate(value[:FIRST]))
    else:
        return
    for there, item in inside:
        if depth:
            yield from walked(there, item, depth - 1)


def attributes(kind: type, fields: Sequence[str]) -> Iterator[str]:
    """An example that shows every attribute of a type: those of one part, and of others what that lacks."""
    known = parts().get(kind)
    if not known:
        return
    path = max(known, key=lambda one: (sum(has(known[one], name) for name in fields), -len(one)))
    part = "part" if len(path) > 12 else path
    yield "```pycon"
    if part != path:
        yield f">>> part = {path}"
    for name in fields:
        other = next((one for one in (path, *known) if has(known[one], name)), None)
        if other is None:  # no document of the script has it
            yield f">>> bool({part}.{name})\nFalse"
        else:
            yield f">>> {part if other == path else other}.{name}"
            value = getattr(known[other], name)
            if value is not None:
                yield short(value)
    yield "```\n"


def has(part: Struct, name: str) -> bool:
    """Whether a key is set and holds something."""
    value = getattr(part, name)
    return value is not UNSET and value is not None and value != () and value != {}


def example(asked: str) -> Iterator[str]:
    """Lines of Python with what the last one shows, run on the documents with the public names of modules."""
    from spanwise.errors import MissingExtra

    *before, last = asked.strip().split("\n")
    scope, printed = {**names(), **documents()}, io.StringIO()
    with contextlib.chdir(folder().name), contextlib.redirect_stdout(printed):
        for line in before:
            exec(line, scope)
        try:
            value = eval(last, scope)
        except MissingExtra:  # what it shows is left out
            value = None
    shown = printed.getvalue().rstrip() or (None if value is None else repr(value).rstrip())
    yield "```pycon"
    yield from (f">>> {line}" for line in (*before, last))
    yield from () if shown is None else (re.sub(r"^$", "<BLANKLINE>", shown, flags=re.MULTILINE),)
    yield "```\n"


@cache
def names() -> dict[str, Any]:
    """The public names of modules that the examples of methods use."""
    import numpy

    from spanwise.columns import floats

    rooms = (
        "attributes",
        "buckets",
        "credits",
        "schemes",
        "table",
        "gates",
        "reports",
        "scorers",
        "citations",
    )
    scope: dict[str, Any] = {"np": numpy, "floats": floats}
    for room in rooms:
        module = import_module(f"spanwise.{room}")
        scope |= {name: getattr(module, name) for name in MODULES[room].split()}
    from spanwise.buckets import parse

    return {**scope, "parse": parse}


def short(value: object, most: int = WIDTH) -> str:
    """A value as Python shows it, with dots for what is inside parts and for what does not fit."""
    text = _short(value)
    return text if len(text) <= most else text[: most - 3] + "..."


def _short(value: object) -> str:
    if isinstance(value, Struct):
        return repr(value) if "__repr__" in vars(type(value)) else f"{type(value).__name__}(...)"
    if isinstance(value, Mapping):
        inside = [f"{key!r}: {_short(value[key])}" for key in [*value][:4]]
        return "{" + ", ".join([*inside, *["..."][: len(value) > 4]]) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        inside = [_short(item) for item in value[:4]]
        left, right = "()" if isinstance(value, tuple) else "[]"
        alone = "," if isinstance(value, tuple) and len(value) == 1 else ""
        return left + ", ".join([*inside, *["..."][: len(value) > 4]]) + alone + right
    return repr(value)
