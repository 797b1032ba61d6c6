"""Generate the reference pages from the program itself, so that they cannot become outdated."""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

# The modules with a public Python interface, in the order in which data flows through them.
ROOMS = (
    "evaluation", "metric", "description", "studies", "gates", "formats", "corpus", "schemes", "alignment",
    "matching",
    "attributes", "buckets", "credits", "scores", "table", "uncertainty", "statistics", "diagnosis",
    "findings", "explanation", "engines", "interpreteval", "demo", "reproduction", "reports",
    "reports.outlets", "compat.evaluate", "compat.conlleval", "compat.nervaluate", "compat.spacy",
    "scorers", "scorers.dspy", "scorers.lm_eval", "citations", "registry", "errors",
)  # fmt: skip
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
    pages = {"commands": commands(), "names": names(), **{f"api-{room}": api(room) for room in ROOMS}}
    pages["api"] = api_index()
    pages["keys"] = keys()
    pages["gallery"] = gallery(folder / "figures")
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
    from spanwise.formats._holding import ASPECTS

    written = [form for form in FORMATS if form.holds is not None]
    yield f"| what | {' | '.join(f'`{form.name}`' for form in written)} |"
    yield "|---" * (len(written) + 1) + "|"
    for aspect, words in ASPECTS.items():
        cells = ["✓" if form.holds is not None and aspect in form.holds else "" for form in written]
        yield f"| {words} | {' | '.join(cells)} |"


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
    import tempfile

    import spanwise
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


def api_index() -> Iterator[str]:
    """The public names of the package itself, and a list of the modules."""
    import spanwise

    yield "# Python\n"
    yield "These are the names of the package itself; the modules below contain the rest.\n"
    for name in sorted(spanwise.__all__):
        if name.startswith("_"):
            continue
        thing = getattr(spanwise, name)
        if inspect.ismodule(thing):  # the module of the same name, which contains the function
            thing = getattr(thing, name)
        room = thing.__module__.split(".")[1]
        summary = (inspect.getdoc(thing) or "").split("\n")[0]
        link = f"[`spanwise.{name}`](api-{room}.md)" if room in ROOMS else f"`spanwise.{name}`"
        yield f"- {link}: {escaped(summary)}"
    yield "\n```{toctree}\n:maxdepth: 1\n"
    yield from (f"api-{room}" for room in ROOMS)
    yield "```"


def api(room: str) -> Iterator[str]:
    """The functions, classes and registries of one module, with their signatures and docstrings."""
    module = import_module(f"spanwise.{room}")
    yield f"# `spanwise.{room}`\n\n{escaped(inspect.getdoc(module) or '')}\n"
    for name in public(module):
        thing = getattr(module, name)
        if inspect.isclass(thing):
            yield from described_class(name, thing)
        elif inspect.isfunction(thing):
            yield from described(f"## `{name}`", thing)


def public(module: ModuleType) -> list[str]:
    """The public names of a module: its `__all__`, or else the names without underscore that it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed)
    return [
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", None) == module.__name__
    ]


def described_class(name: str, kind: type) -> Iterator[str]:
    yield from described(f"## `{name}`", kind)
    for member, thing in vars(kind).items():
        if member.startswith("_"):
            continue
        function = getattr(thing, "__func__", thing)
        if isinstance(thing, property):
            yield f"### `{name}.{member}`\n\n{escaped(inspect.getdoc(thing) or '')}\n"
        elif inspect.isfunction(function):
            yield from described(f"### `{name}.{member}`", function)


def described(title: str, thing: Any) -> Iterator[str]:
    yield f"{title}\n"
    if inspect.isfunction(thing) or hasattr(thing, "__dataclass_fields__"):
        yield f"```text\n{written(thing)}\n```\n"
    yield from sections(inspect.getdoc(thing) or "")


def written(thing: Any) -> str:
    """The signature in source form; long ones have one parameter per line."""
    signature = inspect.signature(thing)
    text = re.sub(r" at 0x[0-9a-f]+", "", str(signature))
    text = f"{thing.__name__}{unquoted(text)}"
    if len(text) <= 95 or not signature.parameters:
        return text
    lines, star = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            lines.append("    *,")
            star = True
        lines.append(f"    {unquoted(str(parameter))},")
        star = star or parameter.kind is parameter.VAR_POSITIONAL
    given = signature.return_annotation
    end = f" -> {given}" if isinstance(given, str) else ""  # a class has no return annotation
    return "\n".join([f"{thing.__name__}(", *lines, f"){end}"])


def unquoted(text: str) -> str:
    """Remove the quotes around annotations, which are strings in modules that postpone their evaluation."""
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)


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
