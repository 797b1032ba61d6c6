"""Relations in WebAnno TSV 3: rows of the target mention name the source mention's token and number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from spanwise.errors import InputError, at
from spanwise.formats import File
from spanwise.formats.inception import recognise_webanno
from spanwise.formats.webanno import plain_text, span_layers, values_of
from spanwise.relations.readers._records import (
    Options,
    mention,
    relation,
)
from spanwise.relations.records import TupleFormat, UnitRecord

_TOKEN = re.compile(r"(\d+-\d+)(\.\d+)?$")
_SOURCE = re.compile(r"(\d+-\d+)(?:\.\d+)?(?:\[(\d+)(?:_(\d+))?\])?$")


class _Layers(Struct, frozen=True):
    """The columns of the labels of mentions, of the types of relations, and of their sources."""

    labels: int
    types: int | None
    sources: int | None
    name: str


class _Rows(Struct):
    """What has been read of a file."""

    tokens: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)  # the token of each sentence-token number
    where: dict[str, list[int]] = field(default_factory=dict)  # the tokens of each mention
    labels: dict[str, str] = field(default_factory=dict)
    at: dict[int, dict[str, str]] = field(default_factory=dict)  # the mentions at each token, by number
    relations: list[tuple[int, int, str, str]] = field(default_factory=list)  # line, token, type, source


def read(file: File, options: Options) -> Iterator[UnitRecord]:
    """The documents of a TSV file, or of a folder of them: a record each."""
    if file.is_folder:
        for path in sorted(Path(file.path).glob("*.tsv")):
            yield _record(File(path, encoding=file.encoding), options)
        return
    yield _record(file, options)


def _record(file: File, options: Options) -> UnitRecord:
    lines = file.text.split("\n")
    layers = _layers(file.path, [line for line in lines if line.startswith("#T_")], options)
    rows = _Rows()
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r")
        if line and not line.startswith("#"):
            _add(rows, layers, line, number, file.path)
    mentions = []
    for name, tokens in rows.where.items():
        mentions.append(mention(name, _pieces(tokens), rows.labels[name]))
    tuples = [
        relation(type, *_ends(rows, token, source, file.path, line))
        for line, token, type, source in rows.relations
    ]
    return UnitRecord(id=Path(file.path).stem, tokens=rows.tokens, mentions=mentions, tuples=tuples)


def _layers(path: str, header: Sequence[str], options: Options) -> _Layers:
    """The relation layer, or the one that was chosen, and the span layer between whose mentions it holds."""
    column, found = 3, {}
    for line in header:
        name, *features = line.partition("=")[2].rstrip("\r").split("|")
        if line.startswith("#T_RL"):
            found[name.rpartition(".")[2]] = (name, features, column)
        column += max(len(features), 1)
    spans = span_layers(header)
    wanted = options.get("column") or next(iter(found), None)
    if wanted is None:
        raise InputError(
            at(path, None, "the header has no relation layer.\nExpected a line "
               "'#T_RL=layer|feature|BT_span layer'.")
        )  # fmt: skip
    if wanted not in found:
        raise InputError(
            at(path, None, f"there is no relation layer {wanted!r}.\nThere are: {', '.join(found)}.")
        )
    name, features, column = found[str(wanted)]
    base = features[-1].removeprefix("BT_")
    own = [layer for layer in spans if layer.name == base]
    if not own:
        raise InputError(
            at(path, None, f"the relations of {wanted} hold between mentions of {base}, which is not a span "
               "layer of the header.\nExport that layer, too.")
        )  # fmt: skip
    labels = next((layer.column for layer in own if layer.feature == "value"), own[0].column)
    types = column if len(features) > 1 else None
    return _Layers(labels, types, column + len(features) - 1, str(wanted))


def _add(rows: _Rows, layers: _Layers, line: str, number: int, path: str) -> None:
    fields = line.split("\t")
    match = _TOKEN.match(fields[0])
    if match is None or len(fields) < 3:
        raise InputError(
            at(path, number, f"{line[:60]!r} is not a token.\n"
               "Expected 'sentence-token<tab>begin-end<tab>token<tab>…', as in WebAnno TSV 3.")
        )  # fmt: skip
    if match[2] is None:
        rows.numbers[match[1]] = len(rows.tokens)
        rows.tokens.append(plain_text(fields[2]))
    token = len(rows.tokens) - 1
    for label, identity in values_of(_cell(fields, layers.labels)):
        name = f"m{identity}" if identity is not None else f"t{match[1]}{match[2] or ''}"
        rows.where.setdefault(name, []).append(token)
        rows.labels.setdefault(name, label)
        rows.at.setdefault(token, {})[identity or "0"] = name
    sources = _cell(fields, layers.sources)
    if sources != "_":
        types = values_of(_cell(fields, layers.types)) or [("*", None)]
        for index, source in enumerate(sources.split("|")):
            type = types[min(index, len(types) - 1)][0]
            rows.relations.append((number, token, layers.name if type == "*" else type, source))


def _cell(fields: Sequence[str], column: int | None) -> str:
    return fields[column] if column is not None and column < len(fields) else "_"


def _pieces(tokens: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """The runs of consecutive tokens."""
    pieces: list[tuple[int, int]] = []
    for token in sorted(set(tokens)):
        if pieces and pieces[-1][1] == token:
            pieces[-1] = (pieces[-1][0], token + 1)
        else:
            pieces.append((token, token + 1))
    return tuple(pieces)


def _ends(rows: _Rows, token: int, source: str, path: str, line: int) -> tuple[str, str]:
    """The source and the target mention of a relation that stands in the row of its target."""
    match = _SOURCE.match(source)
    head = _mention_at(rows.at, rows.numbers.get(match[1]), match[2]) if match else None
    tail = _mention_at(rows.at, token, match[3]) if match else None
    if head is None or tail is None:
        raise InputError(
            at(path, line, f"{source!r} names no mention as the source of this row's relation.\n"
               "Expected '1-3' or '1-3[4_5]': the source's token, then the numbers of both mentions.")
        )  # fmt: skip
    return head, tail


def _mention_at(at: Mapping[int, Mapping[str, str]], token: int | None, identity: str | None) -> str | None:
    """The mention at a token with this number; without a number, the only or first one there."""
    there = at.get(-1 if token is None else token, {})
    return there.get(identity) if identity is not None else next(iter(there.values()), None)


def recognise_relations(file: File) -> str | None:
    """Recognise WebAnno TSV 3, or a folder of such files."""
    if file.is_folder:
        found = any(recognise_webanno(File(path)) for path in sorted(Path(file.path).glob("*.tsv"))[:1])
        return "a folder of WebAnno TSV 3" if found else None
    return recognise_webanno(file)


FORMAT = TupleFormat(
    name="webanno",
    summary="WebAnno and INCEpTION TSV 3: the relations of a layer",
    read=read,
    recognise=recognise_relations,
    source="https://webanno.github.io/webanno/releases/3.6.7/docs/user-guide.html#sect_webannotsv",
)
