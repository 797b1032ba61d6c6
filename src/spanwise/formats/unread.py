"""What a file says beside the words and mentions that are read of it, for those who convert it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from spanwise.corpus import Annotation
from spanwise.errors import many
from spanwise.formats._format import Options
from spanwise.formats._opening import File
from spanwise.formats.holding import listed
from spanwise.formats.tsv import conllu_header, document_named, hipe_header, misc_keys
from spanwise.formats.webanno import all_layers, webanno_layer

_EMPTY = frozenset(
    ("", "_", "O", "*", "-", "EndOfSentence")
)  # in columns: nothing, or nothing that is not read
_READ_COMMENTS = frozenset(("sent_id", "newdoc", "newdoc id", "text", "global.columns"))
_FURTHER = "further column"


def unread(source: str | os.PathLike[str], annotation: Annotation, **reading: Any) -> tuple[str, ...]:
    """Descriptions, with numbers, of what a file says and the annotation read from it lacks.

    These are columns, comments, features and results that are not mentions. Folders, objects and formats that
    keep everything have none; relations and records that are left out are among the notes of reading.
    """
    count = _COUNTS.get(annotation.reading.format)
    if count is None or not Path(source).is_file():
        return ()
    chosen = {name: reading[name] for name in ("tag_column", "encoding") if name in reading}
    return tuple(count(File(os.fspath(source)), Options(**chosen), annotation))


def _of_conll(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    line = next((line for line in file.text.split("\n") if line.strip() and "-DOCSTART-" not in line), "")
    width = len(line.split("\t") if "\t" in line else line.split())
    read = 2 + len(annotation.corpus.columns) + (annotation.mentions.score is not None)
    if width > read:
        yield many(width - read, _FURTHER)


def _of_conllu(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    head = conllu_header(file, options)
    filled: dict[str, None] = {}
    comments = 0
    for line in file.text.split("\n"):
        if line.startswith("#"):
            comments += line[1:].partition("=")[0].strip() not in _READ_COMMENTS
            continue
        for at, (name, value) in enumerate(zip(head.names, line.split("\t"), strict=False)):
            if name == "MISC" and head.key is not None and at == head.tags:
                filled.update(dict.fromkeys(misc_keys(value).keys() - {head.key} - _EMPTY))
            elif name != "ID" and at not in (head.form, head.tags) and value.strip() not in _EMPTY:
                filled[name] = None
    yield from _columns(filled)
    if comments:
        yield many(comments, "comment")


def _of_hipe(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    head = hipe_header(file, options)
    lines = file.text.split("\n")[1:]
    rows = (line.split("\t") for line in lines if line.strip() and not line.startswith("#"))
    yield from _columns(_filled(rows, head.names, {0, head.tags}))
    comments = sum(line.startswith("#") and document_named(line) is None for line in lines)
    if comments:
        yield many(comments, "comment")


def _of_webanno(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    lines = file.text.split("\n")
    chosen = webanno_layer(file, options).column
    layers = [f"{layer.name.rpartition('.')[2]}.{layer.feature}" for _, layer in all_layers(lines)]
    rows = (line.split("\t") for line in lines if "\t" in line and not line.startswith("#"))
    found = list(_filled(rows, ["", "", "", *layers], {0, 1, 2, chosen}))
    if found:
        yield listed(found, "further feature")


def _of_label_studio(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    texts = {*(annotation.corpus.texts or ())}
    kinds: Counter[str] = Counter()
    fields: dict[str, None] = {}
    for task in json.loads(file.text.lstrip("\ufeff")):
        data: Mapping[str, object] = task.get("data", {})
        fields.update(
            (name, None) for name, value in data.items() if not isinstance(value, str) or value not in texts
        )
        done = [*(task.get("annotations") or ()), *(task.get("predictions") or ())][:1]
        for result in (done[0].get("result") or ()) if done else ():
            if "labels" not in (result.get("value") or {}):
                kinds[str(result.get("type", "other"))] += 1
    if fields:
        yield listed(list(fields), "further field") + " of tasks"
    if kinds:
        named = ", ".join(f"{number:,} of type {kind}" for kind, number in kinds.items())
        yield f"{many(kinds.total(), 'result')} without a mention ({named})"


def _of_pubtator(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    rows = (line.split("\t") for line in file.text.split("\n"))
    identifiers = sum(len(row) > 5 and row[5].strip() not in _EMPTY for row in rows)
    if identifiers:
        yield many(identifiers, "identifier") + " of mentions"


def _filled(rows: Iterable[Sequence[str]], names: Sequence[str], read: set[int]) -> dict[str, None]:
    """The names of the columns that are not read and hold something."""
    found: dict[str, None] = {}
    for row in rows:
        for at, (name, value) in enumerate(zip(names, row, strict=False)):
            if at not in read and value.strip() not in _EMPTY:
                found[name] = None
    return found


def _columns(names: Iterable[str]) -> Iterator[str]:
    found = sorted(names)
    if found:
        yield listed(found, _FURTHER)


_COUNTS: Mapping[str, Callable[[File, Options, Annotation], Iterator[str]]] = {
    "conll": _of_conll,
    "conllu": _of_conllu,
    "hipe": _of_hipe,
    "label-studio": _of_label_studio,
    "pubtator": _of_pubtator,
    "webanno": _of_webanno,
}
