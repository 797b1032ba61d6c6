"""Load documents from files or plain data, migrate and validate them, and generate their JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType

from spanwise.document import MORE_SCORES, SCHEMA, Document, DocumentLike, apart
from spanwise.errors import ChoiceError, InputError, unknown
from spanwise.rates import FIELDS, RATES, SCORES, Rate
from spanwise.registry import resolve

# The type of each kind of document, imported only when such a document is loaded.
KINDS = {
    "evaluation": "document.evaluation:Evaluation",
    "comparison": "document.evaluation:Evaluation",
    "study": "document.study:Study",
    "description": "document.dataset:Description",
    "explanation": "document.analyses:Explanation",
    "placement": "document.analyses:PlacementDocument",
    "agreement": "document.agreement:Agreement",
    "confidence": "document.confidence:Confidence",
    "suspects": "document.dataset:Suspects",
    "slices": "document.analyses:Slices",
    "leaks": "document.leaks:Leaks",
    "leaks-study": "document.datasets:LeakStudy",
    "split": "document.dataset:Split",
    "tuples": "document.tuples:Tuples",
    "tuples-study": "document.datasets:TupleStudy",
    "plan": "document.planning:PlanDocument",
    "curve": "document.planning:LearningCurve",
    "changes": "document.changes:Changes",
}
SUMMARY = "document.evaluation:EvaluationSummary"

NEWLINE = b"\n"


class _Declaring(Struct):
    """The settings of a document that matter before the others."""

    scores: tuple[Rate, ...] = ()


class _Head(Struct):
    """The keys that tell one kind of document from another; the other keys are skipped."""

    spanwise: msgspec.Raw | UnsetType = UNSET
    schema: object = UNSET
    kind: object = UNSET
    systems: msgspec.Raw | UnsetType = UNSET
    settings: msgspec.Raw | UnsetType = UNSET
    datasets: msgspec.Raw | UnsetType = UNSET


def load(path: str | Path) -> Document:
    """Load a document that was written by `--json` or `to_json`.

    Examples:
        >>> import tempfile
        >>> import spanwise
        >>> result = spanwise.evaluate([["B-PER"]], {"mine": [["B-PER"]]}, resamples=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = result.to_json(f"{folder}/run.json")
        ...     load(f"{folder}/run.json")["mine"].exact.overall.f1
        1.0

    Raises:
        InputError: the file is missing, is not a document, was written by a newer spanwise, or is invalid;
            the message names the path inside the document.
    """
    return _loaded(path, KINDS)


def load_summary(path: str | Path) -> Document:
    """Like `load`, but skip the sentences of evaluations, which take up most of a file.

    Raises:
        InputError: as for `load`, except that sentences are not validated.
    """
    return _loaded(path, {**KINDS, **dict.fromkeys(("evaluation", "comparison"), SUMMARY)})


def _loaded(path: str | Path, kinds: Mapping[str, str]) -> Document:
    data: bytes = resolve("formats:read_bytes")(path)
    try:
        return _decoded(data, str(path), kinds)
    except RecursionError:
        raise InputError(
            f"{path}: the document is nested too deeply.\nMake one with spanwise evaluate … --json FILE."
        ) from None


def _decoded(data: bytes, location: str, kinds: Mapping[str, str]) -> Document:
    head = _head(data, location)
    kind = _type_of(
        head.kind, location, kinds, systems=head.systems is not UNSET, studies=head.datasets is not UNSET
    )
    settings = b"" if head.settings is UNSET else bytes(head.settings)
    more = len(RATES) > len(FIELDS) or any(f'"{name}"'.encode() in settings for name in MORE_SCORES)
    if head.schema != SCHEMA or more:
        return document_of(_plain(data, location), location=location)
    try:
        return _consistent(msgspec.json.decode(data, type=kind), location)
    except msgspec.ValidationError as error:
        raise wrong_part(error, _plain(data, location), kind, location) from None


def _plain(data: bytes, location: str) -> dict[str, object]:
    """The document as plain data, or an error for numbers such as 1e999, which are JSON but no float."""
    try:
        plain: dict[str, object] = msgspec.json.decode(data)
        return plain
    except msgspec.DecodeError as error:
        raise InputError(f"{location}: {_in_words(str(error).partition(' - at ')[0])}.\n{_AGAIN}") from None


def document_of(content: Mapping[str, object], *, location: str = "the document") -> Document:
    """Convert plain dicts and lists, as returned by `to_dict`, to a document."""
    if not isinstance(content, Mapping) or "spanwise" not in content or "schema" not in content:
        raise _not_ours(location)
    schema = _check_schema(content["schema"], location)
    migrated = _migrated(content) if schema < SCHEMA else dict(content)
    settings = content.get("settings")
    named = {*settings} if isinstance(settings, Mapping) else set()
    if len(RATES) > len(FIELDS) or named & {*MORE_SCORES}:
        _declare(settings, location)
        migrated = apart(migrated)
    kind = _type_of(
        migrated.get("kind", UNSET),
        location,
        KINDS,
        systems="systems" in content,
        studies="datasets" in content,
    )
    try:
        return _consistent(msgspec.convert(migrated, kind), location)
    except msgspec.ValidationError as error:
        raise wrong_part(error, migrated, kind, location) from None


def _declare(settings: object, location: str) -> None:
    """Make the scores known that a document declares, so that it can be shown without their package."""
    try:
        for score in msgspec.convert(settings, _Declaring).scores:
            SCORES.declare(score)
    except ChoiceError as error:
        raise InputError(f"{location}: settings.scores: {error}") from None
    except msgspec.ValidationError:
        return  # which the conversion of the whole document reports


def _consistent(document: Document, location: str) -> Document:
    """Return the document, or raise an error if its parts contradict each other."""
    wrong = resolve("document.consistency:contradiction")(document)
    if wrong is not None:
        raise InputError(f"{location}: {wrong[0]}: {wrong[1]}.\n{_AGAIN}")
    return document


def as_document(document: DocumentLike) -> Document:
    """Return a document unchanged, and convert plain data to one."""
    return document if isinstance(document, Document) else document_of(document)


def _head(data: bytes, location: str) -> _Head:
    try:
        head = msgspec.json.decode(data, type=_Head)
    except msgspec.ValidationError:
        raise _not_ours(location) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        match = re.search(r"\(byte (\d+)\)", str(error))
        end = int(match[1]) if match else len(data)  # an error without a position: the text is truncated
        line = f":{data.count(NEWLINE, 0, end) + 1}" if NEWLINE in data else ""
        raise InputError(
            f"{location}{line}: this is not a result document.\n"
            "Make one with spanwise evaluate … --json FILE."
        ) from error
    if head.spanwise is UNSET or head.schema is UNSET:
        raise _not_ours(location)
    _check_schema(head.schema, location)
    return head


def _not_ours(location: str) -> InputError:
    return InputError(
        f"{location}: this JSON is not a result document of spanwise.\n"
        "Make one with spanwise evaluate … --json FILE."
    )


def _check_schema(schema: object, location: str) -> int:
    """Return the schema of a document, or raise an error if this version cannot read it."""
    if isinstance(schema, bool) or not isinstance(schema, int) or not 1 <= schema <= SCHEMA:
        raise InputError(
            f"{location}: the document has schema {schema!r}, this spanwise reads up to {SCHEMA}.\n"
            "Install a newer spanwise, or make the document again."
        )
    return schema


def _type_of(
    kind: object, location: str, kinds: Mapping[str, str], *, systems: bool, studies: bool
) -> type[Document]:
    """The type of a document; its kind may be missing in schema 1, and is then inferred from its keys."""
    if kind is UNSET:
        kind = "study" if studies else "evaluation" if systems else "description"
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"{location}: {unknown('kind of document', str(kind), KINDS)}")
    kind_type: type[Document] = resolve(kinds[kind])
    return kind_type


def _migrated(content: Mapping[str, object]) -> dict[str, object]:
    """Convert a document of schema 1 to schema 2."""
    migrated = {**content, "schema": SCHEMA}
    if "kind" not in content:
        kind = "study" if "datasets" in content else "evaluation" if "systems" in content else "description"
        migrated["kind"] = kind
    if isinstance(comparisons := content.get("comparisons"), list):
        migrated["comparisons"] = [_with_plain_detectable(row) for row in comparisons]
    if isinstance(datasets := content.get("datasets"), Mapping):
        migrated["datasets"] = {name: _migrated_runs(part) for name, part in datasets.items()}
    return migrated


def _migrated_runs(part: object) -> object:
    if not isinstance(part, Mapping):
        return part
    rows = part.get("comparisons", [])
    return {
        **part,
        "dataset": part.get("dataset") or None,
        "comparisons": [_with_plain_detectable(row) for row in rows] if isinstance(rows, list) else rows,
    }


def _with_plain_detectable(comparison: object) -> object:
    """Replace `detectable`, which was an object with the single key f1 in schema 1, by its number."""
    if not isinstance(comparison, Mapping) or not isinstance(comparison.get("detectable"), Mapping):
        return comparison
    return {**comparison, "detectable": comparison["detectable"].get("f1")}


# ---- validation errors ----------------------------------------------------------------------

_WORDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "null": "null",
    "object": "an object",
    "array": "a list",
}


_AGAIN = "Make the document again with spanwise … --json FILE."


def wrong_part(
    error: msgspec.ValidationError,
    content: object,
    kind: type[object],
    location: str,
    advice: str = _AGAIN,
) -> InputError:
    """An error that names the path inside the document and what was expected there."""
    message, _, where = str(error).partition(" - at `")
    # For an invalid key, the decoder writes: at `key` in `$.tough`.
    path = _named(where.removeprefix("key` in `").rstrip("`") or "$", str(error), content, kind)
    return InputError(f"{location}: {path}: {_in_words(message)}.\n{advice}")


def _in_words(message: str) -> str:
    missing = re.fullmatch(r"Object missing required field `(.+)`", message)
    if missing:
        return f"the key {missing[1]!r} is missing"
    surplus = re.fullmatch(r"Object contains unknown field `(.+)`", message)
    if surplus:
        return f"there is no key {surplus[1]!r} here"
    got = re.fullmatch(r"Expected `(.+)`, got `(.+)`", message)
    if got:
        return f"expected {_types(got[1])}, but this is {_types(got[2])}"
    choice = re.fullmatch(r"Invalid enum value (.+)", message)
    if choice:
        return f"{choice[1]} is not a possible value"
    message = re.sub(r"`(\w+)`", lambda match: _WORDS.get(match[1], match[0]), message)
    return message[0].lower() + message[1:]


def _types(text: str) -> str:
    return " or ".join(_WORDS.get(part, part) for part in text.split(" | "))


def _named(path: str, message: str, content: object, kind: type[object]) -> str:
    """Fill in the keys of mappings, which the decoder writes as [...]: the first that causes the error."""
    named, *unnamed = path.split("[...]")
    steps = _steps(named)
    for index, after in enumerate(unnamed):
        key = next((key for key in _at(content, steps) if _fails(content, steps, key, kind, message)), None)
        if key is None:
            return "[...]".join([named, *unnamed[index:]])
        content = _with_only(content, steps, key)
        steps += [key, *_steps(after)]
        named += f"[{key!r}]{after}" if set(".[]") & set(key) else f".{key}{after}"
    return named


def _steps(path: str) -> list[str | int]:
    """Split a path of the decoder, such as `$.settings.tags` or `.slices[0]`, into keys and indices."""
    return [int(index) if index else key for key, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path)]


def _at(content: Any, steps: list[str | int]) -> Any:
    for step in steps:
        content = content[step]
    return content


def _with_only(content: Any, steps: list[str | int], key: str) -> object:
    """A copy of the content in which the object at `steps` has only this key."""
    if not steps:
        return {key: content[key]}
    first, *rest = steps
    inner = _with_only(content[first], rest, key)
    if isinstance(content, list):
        return [*content[: cast("int", first)], inner, *content[cast("int", first) + 1 :]]
    return {**content, first: inner}


def _fails(content: object, steps: list[str | int], key: str, kind: type[object], message: str) -> bool:
    try:
        msgspec.convert(_with_only(content, steps, key), kind)
    except msgspec.ValidationError as error:
        return str(error) == message
    return False


# ---- the schema -----------------------------------------------------------------------------


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of all kinds of document, generated from their types."""
    from inspect import cleandoc

    types = [resolve(path) for path in dict.fromkeys(KINDS.values())]
    references, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    for definition in definitions.values():
        if "description" in definition:  # a docstring, whose indentation Python strips since 3.13
            definition["description"] = cleandoc(definition["description"])
    complete = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Documents of spanwise",
        "anyOf": list(references),
        "$defs": dict(sorted(definitions.items())),
    }
    plain: dict[str, object] = msgspec.json.decode(msgspec.json.encode(complete))
    return plain
