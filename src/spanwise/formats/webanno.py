"""WebAnno and INCEpTION TSV 3: tokens with character offsets, and a span layer with numbered mentions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from spanwise.corpus import Annotation, Pieces
from spanwise.errors import InputError, at
from spanwise.formats._format import Format, Options
from spanwise.formats._opening import File
from spanwise.formats._standoff import Origin, Standoff, annotation, by_sentence, tokens_for

_NAMED_ENTITY = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
_ESCAPED = re.compile(r"\\(.)")
_SPLIT = re.compile(r"(?<!\\)\|")
_NUMBERED = re.compile(r"(.*?)(?<!\\)\[(\d+)\]$", re.DOTALL)


class _Layer(Struct, frozen=True):
    """A span layer of the header, and the column of the feature that holds its labels."""

    name: str
    feature: str
    column: int


def read(file: File, options: Options) -> Annotation:
    """The mentions of the layer NamedEntity (or the first span layer) by its feature `value` (or its first).

    `tag_column="Layer"` or `"Layer.feature"` names others. Mentions on parts of a token are on the token.
    """
    lines = [line.rstrip("\r") for line in file.text.split("\n")]
    layer = _layer(file.path, lines, options)
    units: list[Standoff] = []
    tokens: list[str] = []
    marks: list[tuple[int, str, str | None]] = []  # token, label, number
    first = 0

    def close() -> None:
        if tokens:
            units.append(Standoff(tuple(tokens), _mentions(marks), line=first))
        tokens.clear()
        marks.clear()

    for number, line in enumerate(lines, start=1):
        if not line:
            close()
            continue
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) < 3 or not re.match(r"\d+-\d+", fields[0]):
            raise InputError(
                at(file.path, number, f"{line[:60]!r} is not a token.\n"
                   "Expected 'sentence-token<tab>begin-end<tab>token<tab>…', as WebAnno TSV 3 has it.")
            )  # fmt: skip
        if "." not in fields[0]:
            if not tokens:
                first = number
            tokens.append(_plain(fields[2]))
        value = fields[layer.column] if layer.column < len(fields) else "_"
        for label, identity in _values(value):
            marks.append((len(tokens) - 1, label, identity))
    close()
    evidence = f"the layer {layer.name.rpartition('.')[2]}, feature {layer.feature}"
    return annotation(units, Origin(file.path, "webanno", evidence, file.sha256), options)


def _layer(path: str, lines: Sequence[str], options: Options) -> _Layer:
    wanted = str(options.tag_column) if options.tag_column is not None else None
    layers = _layers(lines)
    for layer in layers:
        short = layer.name.rpartition(".")[2]
        if wanted in (short, layer.name, f"{short}.{layer.feature}", f"{layer.name}.{layer.feature}"):
            return layer
    if wanted is None and layers:
        named = [layer for layer in layers if layer.name.endswith(".NamedEntity")]
        return next((layer for layer in named if layer.feature == "value"), (named or layers)[0])
    known = ", ".join(f"{layer.name.rpartition('.')[2]}.{layer.feature}" for layer in layers) or "none"
    raise InputError(
        at(
            path,
            None,
            f"there is no span layer {wanted or 'at all'} in the header.\nThe span layers are: {known}.",
        )
    )


def _layers(lines: Sequence[str]) -> list[_Layer]:
    """Every feature of every span layer, with its column; other layers take columns too."""
    column = 3
    found: list[_Layer] = []
    for line in lines:
        if not line.startswith("#T_"):
            continue
        name, *features = line.partition("=")[2].split("|")
        for place, feature in enumerate(features or [""]):
            if line.startswith("#T_SP"):
                found.append(_Layer(name, feature or "value", column + place))
        column += max(len(features), 1)
    return found


def _values(field: str) -> list[tuple[str, str | None]]:
    """The labels of a field with their numbers; `_` is none, `*` a mention without a label."""
    if field == "_":
        return []
    result: list[tuple[str, str | None]] = []
    for part in _SPLIT.split(field):
        found = _NUMBERED.match(part)
        label, identity = (found[1], found[2]) if found else (part, None)
        result.append(("*" if label in ("*", "_") else _plain(label), identity))
    return result


def _mentions(marks: Sequence[tuple[int, str, str | None]]) -> list[tuple[Pieces, str]]:
    """A mention for every number, and one for every mark without a number, in order of their first token."""
    tokens: dict[tuple[str, str], list[int]] = {}
    for place, (token, label, identity) in enumerate(marks):
        key = identity if identity is not None else f"single {place}"
        tokens.setdefault((key, label), []).append(token)
    return [
        (tuple((token, token + 1) for token in sorted(set(where))), label)
        for (_, label), where in tokens.items()
    ]


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text)


def _escaped(text: str) -> str:
    return re.sub(r"([\\\[\]|_;*\t\n]|->)", r"\\\1", text)


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """TSV 3.3 with the layer NamedEntity; mentions of several tokens are numbered, discontinuous ones too."""
    annotation = tokens_for(annotation, "webanno", tokens="\t\n\r", labels="\t\n\r", empty=False)
    out = ["#FORMAT=WebAnno TSV 3.3\n", f"#T_SP={_NAMED_ENTITY}|identifier|value\n", "\n"]
    position, identity = 0, 0
    for number, mentions in enumerate(by_sentence(annotation)):
        words = annotation.corpus.words(number)
        labels: list[list[str]] = [[] for _ in words]
        for pieces, label in mentions:
            tokens = [token for start, end in pieces for token in range(start, end)]
            mark = _escaped(label)
            if len(tokens) > 1 or any(labels[token] for token in tokens):
                identity += 1
                mark += f"[{identity}]"
            for token in tokens:
                labels[token].append(mark)
        out.append(f"\n#Text={' '.join(words)}\n")
        for place, (word, here) in enumerate(zip(words, labels, strict=True), start=1):
            value = "|".join(here) or "_"
            empty = "|".join(re.sub(r"^.*?(\[\d+\])?$", r"*\1", mark) for mark in here) or "_"
            out.append(
                f"{number + 1}-{place}\t{position}-{position + len(word)}\t"
                f"{_escaped(word)}\t{empty}\t{value}\t\n"
            )
            position += len(word) + 1
    return "".join(out).encode("utf-8")


def recognise(file: Any) -> str | None:
    """`#FORMAT=WebAnno TSV 3` in the first line."""
    return "'#FORMAT=WebAnno TSV 3'" if file.head.startswith(b"#FORMAT=WebAnno TSV 3") else None


FORMAT = Format(
    name="webanno",
    summary="WebAnno and INCEpTION TSV 3",
    read=read,
    write=write,
    recognise=recognise,
    source="https://webanno.github.io/webanno/releases/3.6.7/docs/user-guide.html#sect_webannotsv",
)
