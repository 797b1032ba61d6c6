"""Generate the reference pages from the program itself, so that they cannot become outdated."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import json
import os
import pkgutil
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from _documents import attributes, calls, example
from _public import INNER, MODULES

import spanwise
from spanwise.data import _ELSEWHERE, _OF_OPENING

ROOT = Path(__file__).resolve().parents[1]
SECTION = re.compile(r"^(Args|Returns|Raises|Examples|References|Yields):\s*(.*)$")


# The figures in the gallery, with a caption for each.
FIGURES = {
    "score": "F1 of the three systems with intervals: the systems cannot be told apart.",
    "labels": "F1 by label.",
    "gains-shortsighted": "F1 gained by fixing each kind of error: `shortsighted` gets boundaries wrong.",
    "shares-memoriser": "The errors of `memoriser`, with traditional and fair counting.",
    "tough-memoriser": "Recall on seen and unseen mentions: `memoriser` misses unseen mentions.",
    "confusion-swapper": "Confusion of gold and predicted labels: `swapper` confuses LOC and ORG.",
    "attribute-entity_length": "F1 by mention length: the F1 of `shortsighted` drops at four tokens.",
    "slices-shortsighted": "The slices that cost most.",
    "diagnosis-memoriser": "The best and the worst bucket of every attribute.",
}


def write(folder: Path) -> None:
    """Write all generated pages to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    explained_keys.cache_clear()
    pages = {"commands": commands(), "names": names(), **{f"api-{room}": api(room) for room in MODULES}}
    pages["api"] = api_index()
    pages["api-documents"] = api_documents()
    pages["keys"] = keys()
    pages["gallery"] = gallery(folder / "figures")
    pages["notebook"] = notebook(ROOT / "examples" / "notebook.ipynb")
    for path in folder.glob("*.md"):
        if path.stem not in pages:  # of a module that is no longer public
            path.unlink()
    for name, lines in pages.items():
        text = "\n".join(lines) + "\n"
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # Sphinx rebuilds changed files
            path.write_text(text, encoding="utf-8")


def commands() -> Iterator[str]:
    """The whole help of every command, as `--help-all` shows it."""
    from spanwise.cli.main import GROUPS, parser_of

    os.environ["COLUMNS"] = "100"  # the width at which argparse wraps lines
    yield "# Commands\n"
    yield "Results are written to standard output, everything else to standard error. The exit status is 0"
    yield "for success, 1 if a threshold was missed, 2 for wrong usage, and 3 if an input cannot be used.\n"
    for title, group in GROUPS.items():
        yield f"## {title[0].upper()}{title[1:]}\n"
        for name, (_, summary) in group.items():
            yield f"### `spanwise {name}`\n\n{summary[0].upper()}{summary[1:]}.\n"
            yield f"```text\n{parser_of(name).format_help(everything=True).strip()}\n```\n"


def registries() -> dict[str, Any]:
    """Every registry, by the title of its table."""
    from spanwise.attributes import ATTRIBUTES
    from spanwise.buckets import BUCKETINGS
    from spanwise.credits import CREDITS
    from spanwise.formats import FORMATS
    from spanwise.matching import MATCHERS
    from spanwise.reports import REPORTS
    from spanwise.schemes import SCHEMES

    return {
        "Formats": FORMATS,
        "Tag schemes": SCHEMES,
        "Matchers": MATCHERS,
        "Attributes": ATTRIBUTES,
        "Bucketings": BUCKETINGS,
        "Credits": CREDITS,
        "Reports": REPORTS,
    }


def names() -> Iterator[str]:
    """Everything that can be selected by name, as shown by `spanwise list`."""
    yield "# Names\n"
    yield "These names can be used in commands and in Python. `spanwise list KIND` prints the same.\n"
    for title, registry in registries().items():
        yield f"## {title}\n\n| name | other names | what it is |\n|---|---|---|"
        for entry in registry:
            others = ", ".join(f"`{alias}`" for alias in registry.aliases(entry.name))
            yield f"| `{entry.name}` | {others} | {escaped(entry.summary)} |"
        yield ""


def holdings() -> Iterator[str]:
    """The table of what each format that is written can hold, which the page on formats shows."""
    from spanwise.formats import FORMATS
    from spanwise.formats.holding import ASPECTS

    written = [form for form in FORMATS if form.holds is not None]
    yield f"| what | {' | '.join(f'`{form.name}`' for form in written)} |"
    yield "|---" * (len(written) + 1) + "|"
    for aspect, words in ASPECTS.items():
        cells = ["✓" if form.holds is not None and aspect in form.holds else "" for form in written]
        yield f"| {words} | {' | '.join(cells)} |"


@cache
def explained_keys() -> dict[tuple[str, str], str]:
    """The description of every key of every document type, from `reference/keys.toml`.

    A type has its own table for keys with a different meaning; `same` names another type with the same keys.
    """
    from spanwise.document.loading import schema

    written = tomllib.loads((Path(__file__).parent / "reference" / "keys.toml").read_text(encoding="utf-8"))
    explanations: dict[tuple[str, str], str] = {}
    for name, definition in schema()["$defs"].items():
        own = written.get(name, {})
        own = {**written.get(own.get("same", ""), {}), **own}
        for key in definition.get("properties", {}):
            text = own.get(key, written["keys"].get(key))
            if text is None:
                raise KeyError(f"reference/keys.toml does not explain {key!r} of {name}")
            explanations[name, key] = text
    used = {key for _, key in explanations}
    stale = sorted(set(written["keys"]) - used) + [
        f"{name}.{key}"
        for name, own in written.items()
        for key in own
        if name != "keys" and key != "same" and (name, key) not in explanations
    ]
    if stale:
        raise KeyError(f"reference/keys.toml explains keys that no document has: {', '.join(stale)}")
    return explanations


def keys() -> Iterator[str]:
    """Every document type with its keys, starting with the documents themselves."""
    from spanwise.document.loading import schema

    whole = schema()
    explained = explained_keys()
    documents = [option["$ref"].rpartition("/")[2] for option in whole["anyOf"]]
    yield "# The document, key by key\n"
    yield "This page is generated from the types that write and read the documents. Optional keys may be"
    yield "missing from a file. `spanwise export --schema` prints the same information as JSON Schema.\n"
    for name in [*documents, *sorted(set(whole["$defs"]) - set(documents))]:
        definition = whole["$defs"][name]
        about = definition.get("description", "").split("\n\n")
        yield f"({name.lower()})=\n## {name}\n\n{escaped(' '.join(about[0].split()))}\n"
        if not definition.get("properties"):
            continue
        yield "| key | type | contents |\n|---|---|---|"
        required = set(definition.get("required", ()))
        for key, kind in definition["properties"].items():
            always = "" if key in required else " *(optional)*"
            yield f"| `{key}`{always} | {typed(kind)} | {escaped(explained[name, key])} |"
        yield ""


def typed(kind: dict[str, Any]) -> str:
    """Describe a JSON Schema type in words, with a link to its description."""
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in kind:
        return " or ".join(dict.fromkeys(typed(option) for option in kind["anyOf"]))
    if "enum" in kind:
        values = [f"`{value}`" for value in kind["enum"]]
        return ", ".join(values)
    if "const" in kind:
        return f"`{kind['const']}`"
    if kind.get("type") == "array":
        items = kind.get("items") or next(iter(kind.get("prefixItems", [])), None)
        return f"list of {typed(items)}" if isinstance(items, dict) and items else "list"
    if kind.get("type") == "object":
        values = kind.get("additionalProperties")
        return f"by name: {typed(values)}" if isinstance(values, dict) and values else "object"
    names = {"number": "number", "integer": "whole number", "boolean": "true or false", "string": "text"}
    return names.get(str(kind.get("type")), str(kind.get("type", "anything")))


def gallery(folder: Path) -> Iterator[str]:
    """Draw the figures of the demo's result, each with its caption."""
    from spanwise.demo import generate
    from spanwise.reports.figures import save

    with tempfile.TemporaryDirectory() as corpus:
        demo = generate(corpus)
        result = spanwise.evaluate(demo.gold, dict(demo.systems), train=demo.train, name="demo")
    save(result.to_dict(), folder, names=list(FIGURES))
    sample = folder.parent / "sample"
    sample.mkdir(exist_ok=True)
    result.to_html(sample / "sample.html")  # served together with the pages of the site
    for name, text in FIGURES.items():
        yield f"## {name}\n\n{text}\n\n![{name}](reference/generated/figures/{name}.svg)\n"


def notebook(path: Path) -> Iterator[str]:
    """A notebook with what its cells show, as Jupyter would."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for cell in cells:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                yield f"{source}\n"
                continue
            yield f"```python\n{source}\n```\n"
            printed, value = ran(source, namespace)
            if hasattr(value, "_repr_html_"):
                yield f"```{{raw}} html\n{value._repr_html_()}\n```\n"
            elif value is not None:
                printed += f"{value!r}\n"
            if printed:
                yield f"```text\n{printed.rstrip()}\n```\n"


def ran(source: str, namespace: dict[str, Any]) -> tuple[str, Any]:
    """What a cell prints, and the value of its last expression; None if it ends with a statement."""
    *statements, last = ast.parse(source).body
    output = io.StringIO()
    value = None
    with contextlib.redirect_stdout(output):
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(statements, []), "<cell>", "exec"), namespace)
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)
        else:
            exec(compile(ast.Module([*statements, last], []), "<cell>", "exec"), namespace)
    return output.getvalue(), value


def api_index() -> Iterator[str]:
    """Every public name of the package itself, in full, and a list of the modules."""
    yield "# Python\n"
    yield "These are the names of the package itself. {doc}`api-documents` lists what results are made of,"
    yield "attribute by attribute; the modules below contain the rest. What these pages list is public;"
    yield "anything else serves the package itself and may change in any release.\n"
    for name, thing in PUBLIC.items():
        yield f"## `spanwise.{name}`\n"
        yield from described(f"spanwise.{name}", thing)
    yield "\n```{toctree}\n:maxdepth: 1\n\napi-documents"
    yield from (f"api-{room}" for room in MODULES)
    yield "```"


def api_documents() -> Iterator[str]:
    """Every type that documents are made of, with its attributes and methods."""
    script = (ROOT / "docs" / "reference" / "documents.py").read_text(encoding="utf-8")
    yield "# Documents and their parts\n"
    yield "A {py:class}`Result <spanwise.Result>` of `spanwise.evaluate` is made of the parts below."
    yield '`result["small"]` is a `SystemResult`, and its `exact.overall.f1` a number. Attributes have the'
    yield "names of the keys of the JSON document; optional ones that are missing are false. The examples,"
    yield "and those of methods on the other pages, read the documents of this script, which runs in an empty"
    yield "folder; dots stand for what is inside a part or does not fit.\n"
    yield f"```python\n{script}```\n"
    for name, kind in sorted(document_types().items()):
        room = kind.__module__.removeprefix("spanwise.")
        if kind in PUBLIC.values() or name in MODULES.get(room, "").split():  # on a page of their own
            continue
        yield f"## `{name}`\n"
        yield from described(f"{kind.__module__}.{name}", kind)


def package_names() -> dict[str, Any]:
    """The public names of the package, and what they stand for."""
    names = {name: getattr(spanwise, name) for name in sorted(spanwise.__all__)}
    # A module may have the same name as the function that it holds.
    return {name: getattr(thing, name) if inspect.ismodule(thing) else thing for name, thing in names.items()}


PUBLIC = package_names()


def known_as(kind: type) -> str:
    """The name of a class in the package, or else its own."""
    return next((name for name, thing in PUBLIC.items() if thing is kind), kind.__name__)


def document_types() -> dict[str, type]:
    """The types in the schema of all documents, by name."""
    from spanwise import document
    from spanwise.document.loading import schema

    wanted = {*schema()["$defs"], "Document", "ScoreGrid", "SystemResult"}
    modules = [document] + [
        import_module(f"spanwise.document.{module.name}")
        for module in pkgutil.iter_modules(document.__path__)
    ]
    found = {name: thing for module in modules for name, thing in vars(module).items() if name in wanted}
    return {name: kind for name, kind in found.items() if inspect.isclass(kind)}


def api(room: str) -> Iterator[str]:
    """The public functions, classes and registries of one module, with their signatures and docstrings."""
    module = imported(f"spanwise.{room}")
    yield f"# `spanwise.{room}`\n\n{escaped(inspect.getdoc(module) or '')}\n"
    for name in MODULES[room].split():
        thing = getattr(module, name)
        yield f"## `{name}`\n"
        if inspect.isclass(thing) or inspect.isroutine(thing):
            yield from described(f"spanwise.{room}.{name}", thing)
        else:
            yield from directive("data", f"spanwise.{room}.{name}", "", constant(module, name))


def imported(name: str) -> ModuleType:
    """A module; packages that it needs and that are not installed are stood in for."""
    try:
        return import_module(name)
    except ModuleNotFoundError as missing:
        from sphinx.ext.autodoc.mock import mock

        with mock([str(missing.name).partition(".")[0]]):
            module = imported(name)
        sys.modules.pop(name, None)  # others must find the package missing
        return module


def constant(module: ModuleType, name: str) -> Iterator[str]:
    """What a public value of a module is: the comment behind it, its size, or the value itself."""
    value = getattr(module, name)
    written = repr(value)
    if type(value).__name__ == "Registry":
        yield f":type: {type(value).__name__}\n"
        yield f"{len(list(value))} entries, by name: {{doc}}`names`."
        return
    if not inspect.ismodule(value) and " at 0x" not in written:
        yield f":value: {written if len(written) <= 88 else written[:87] + '…'}\n"
    said = re.search(rf"^{name}\b[^\n]*?  # (.+)$", inspect.getsource(module), re.MULTILINE)
    if said:
        yield f"{escaped(capital(said[1]))}."


def described(path: str, thing: Any) -> Iterator[str]:
    """A function or class as an object of the inventory; that of a class holds its attributes and methods."""
    if not inspect.isclass(thing):
        yield from directive("function", path, written(thing), sections(inspect.getdoc(thing) or ""))
        return
    kind = "exception" if issubclass(thing, BaseException) else "class"
    constructed = written(thing) if inspect.isfunction(vars(thing).get("__init__")) else ""
    fields = [name for name in fields_of(thing) if name not in inner(thing)]
    shown = attributes(thing, fields) if thing.__module__.startswith("spanwise.document") else ()
    lines = [*sections(own_doc(thing)), *shown, *members(path, thing)]
    yield from directive(kind, path, constructed, lines)


def fields_of(kind: type) -> tuple[str, ...]:
    """The fields of a class in order."""
    return getattr(kind, "__struct_fields__", None) or tuple(getattr(kind, "__dataclass_fields__", ()))


def inner(kind: type) -> set[str]:
    """The members of a class that are not public."""
    return {name for base in kind.__mro__ for name in INNER.get(known_as(base), "").split()}


def own_doc(kind: type) -> str:
    """The docstring of a class, without one that it inherits."""
    return inspect.cleandoc(vars(kind).get("__doc__") or "")


def members(path: str, kind: type) -> Iterator[str]:
    """The public fields, properties and methods of a class, with those of all documents for a result."""
    explained = explained_keys()
    hidden, fields = inner(kind), fields_of(kind)
    types = {
        name: text
        for base in reversed(kind.__mro__)
        for name, text in vars(base).get("__annotations__", {}).items()
    }
    for field in fields:
        if field in hidden:
            continue
        text = explained.get((kind.__name__, field), "")
        lines = [f":type: {types[field]}", "", *([f"{escaped(capital(text))}."] if text else [])]
        yield from directive("attribute", f"{path}.{field}", "", lines)
    for member, thing in methods(kind).items():
        if member in hidden or member in fields:
            continue
        function = getattr(thing, "__func__", thing)
        shown = [*sections(inspect.getdoc(thing) or ""), *called(kind, member)]
        if isinstance(thing, property | cached_property):
            getter = thing.fget if isinstance(thing, property) else thing.func
            given = inspect.signature(getter).return_annotation if getter else ""
            lines = [*([f":type: {given}"] if isinstance(given, str) else []), "", *shown]
            yield from directive("property", f"{path}.{member}", "", lines)
        elif inspect.isfunction(function):
            how = {classmethod: ":classmethod:", staticmethod: ":staticmethod:"}.get(type(thing))
            lines = [*([how, ""] if how else []), *shown]
            yield from directive(
                "method", f"{path}.{member}", written(function, bound=how != ":staticmethod:"), lines
            )


def methods(kind: type) -> dict[str, Any]:
    """What a class can be asked, of its own and, for a result or a study, of all documents."""
    from spanwise.document import Document
    from spanwise.document.evaluation import ScoreGrid

    bases = (ScoreGrid, Document) if issubclass(kind, ScoreGrid) and kind is not ScoreGrid else ()
    listed = {name: thing for base in (*reversed(bases), kind) for name, thing in vars(base).items()}
    return {name: thing for name, thing in listed.items() if not name.startswith("_")}


def called(kind: type, member: str) -> Iterator[str]:
    """The example of a method or property in `reference/calls.toml`, with what it shows."""
    asked = next(
        (call for base in kind.__mro__ if (call := calls().get(known_as(base), {}).get(member))), None
    )
    if asked:
        yield from example(asked)


def directive(kind: str, path: str, signature: str, lines: Iterable[str]) -> Iterator[str]:
    """A directive of Sphinx's Python domain; its fence is longer than every fence inside."""
    body = "\n".join(lines).strip("\n")
    longest = max((len(fence) for fence in re.findall(r"^[:`]{3,}", body, re.MULTILINE)), default=2)
    fence = ":" * max(longest + 1, 3)
    yield f"{fence}{{py:{kind}}} {path}{signature}\n{body}\n{fence}\n"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def written(thing: Any, *, bound: bool = False) -> str:
    """The signature in source form, with what `**reading` and `**options` stand for in their place."""
    signature = inspect.signature(thing)
    parameters = list(signature.parameters.values())[bound:]
    if parameters and parameters[-1].kind is _MANY and (options := keywords_of(thing, parameters[-1].name)):
        taken = {parameter.name for parameter in parameters}
        parameters[-1:] = [row for row in options if row.kind is _NAMED and row.name not in taken]
    starred = [row.name for row in parameters if row.kind is inspect.Parameter.VAR_POSITIONAL]
    texts, named = [], bool(starred)
    for parameter in parameters:
        if parameter.kind is _NAMED and not named:
            texts.append("*")
            named = True
        texts.append(_parameter(parameter))
    given = signature.return_annotation
    return f"({', '.join(texts)})" + (f" -> {given}" if isinstance(given, str) else "")


def keywords_of(thing: Any, name: str) -> list[inspect.Parameter]:
    """What `**reading` stands for, or `**options` by its docstring; nothing if that does not say."""
    about = re.search(r"`options` are keywords of `spanwise\.(\w+)`", inspect.getdoc(thing) or "")
    reading = list(inspect.signature(spanwise.read).parameters.values())
    if name == "reading" or "takes the keywords of `read`" in (inspect.getdoc(thing) or ""):
        return reading
    if name != "options" or about is None:
        return []
    # The sources of a result or of opened data, and how they are read, were given before.
    given = {*_OF_OPENING, *_ELSEWHERE, *(row.name for row in reading)}
    listed = inspect.signature(PUBLIC[about[1]]).parameters.values()
    return [row for row in listed if row.name not in given]


_MANY, _NAMED = inspect.Parameter.VAR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
_STARS = {_MANY: "**", inspect.Parameter.VAR_POSITIONAL: "*"}


def _parameter(parameter: inspect.Parameter) -> str:
    """A parameter in source form; a default that cannot be written as Python is an ellipsis."""
    text = _STARS.get(parameter.kind, "") + parameter.name
    annotated = isinstance(parameter.annotation, str)
    if annotated:
        text += f": {parameter.annotation}"
    if parameter.default is parameter.empty:
        return text
    default = repr(parameter.default)
    try:
        ast.parse(default)
    except SyntaxError:
        default = "..."
    return f"{text} = {default}" if annotated else f"{text}={default}"


def sections(text: str) -> Iterator[str]:
    """Convert a docstring to Markdown: prose unchanged, arguments as a list, examples as code."""
    title, lines = "", []
    for line in [*text.split("\n"), "End:"]:
        match = SECTION.match(line)
        if match or line == "End:":
            yield from section(title, lines)
            title, lines = (match.group(1), [match.group(2)]) if match else ("", [])
        else:
            lines.append(line)


def section(title: str, lines: list[str]) -> Iterator[str]:
    body = inspect.cleandoc("\n".join(lines)).strip() if title else "\n".join(lines).strip()
    if not body:
        return
    if title == "Examples" or ">>>" in body:
        yield f"```pycon\n{body}\n```\n"
    elif title:
        yield f"**{title}**\n\n```text\n{body}\n```\n"
    else:
        yield escaped(body) + "\n"


def escaped(text: str) -> str:
    """Escape the special characters of Markdown outside code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([*_<\[\]$|{}#])", r"\\\1", part) for part in parts
    )
