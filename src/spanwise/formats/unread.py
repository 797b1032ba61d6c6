"""What a file says beside the words and mentions that are read of it, for those who convert it."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from spanwise.corpus import Annotation
from spanwise.errors import many
from spanwise.formats._format import Options
from spanwise.formats._opening import File
from spanwise.formats.flair import LAYERS, ChosenColumn
from spanwise.formats.holding import listed
from spanwise.formats.inception import opened, unread_of_xml
from spanwise.formats.jsonl import records
from spanwise.formats.spacy_docs import unread_of_docs
from spanwise.formats.tsv import conllu_header, document_named, hipe_header, misc_keys
from spanwise.formats.webanno import all_layers, webanno_layer

_EMPTY = frozenset(
    ("", "_", "O", "*", "-", "EndOfSentence")
)  # in columns: nothing, or nothing that is not read
_READ_COMMENTS = frozenset(("sent_id", "newdoc", "newdoc id", "text", "global.columns"))
_FURTHER, _FEATURE = "further column", "further feature"
_TOKEN = frozenset(("text", "start", "end", "id", "ws"))  # of a token in JSON, whose text follows from them


def unread(source: str | os.PathLike[str], annotation: Annotation, **reading: Any) -> tuple[str, ...]:
    """Descriptions, with numbers, of what a file says and the annotation read from it lacks.

    These are columns, comments, features and results that are not mentions, relations, and records that
    were rejected. Objects and formats that keep everything have none.
    """
    count = _COUNTS.get(annotation.reading.format)
    left_out = annotation.reading.left_out
    if count is None:
        return left_out
    chosen = {name: reading[name] for name in ("tag_column", "encoding", "annotator") if name in reading}
    file = File(os.fspath(source), encoding=chosen.get("encoding"))
    return (*left_out, *count(file, Options(**chosen), annotation))


def _of_conll(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    line = next((line for line in file.text.split("\n") if line.strip() and "-DOCSTART-" not in line), "")
    width = len(line.split("\t") if "\t" in line else line.split())
    read = 2 + len(annotation.corpus.columns) + (annotation.mentions.score is not None)
    if width > read:
        yield many(width - read, _FURTHER)


def _of_conllu(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    head = conllu_header(file, options)
    filled: dict[str, None] = {}
    comments, skipped = 0, Counter[str]()
    for line in file.text.split("\n"):
        if line.startswith("#"):
            comments += line[1:].partition("=")[0].strip() not in _READ_COMMENTS
            continue
        number = line.partition("\t")[0]
        if "-" in number or "." in number:
            skipped["multiword token" if "-" in number else "empty node"] += 1
            continue
        for at, (name, value) in enumerate(zip(head.names, line.split("\t"), strict=False)):
            if name == "MISC" and head.key is not None and at == head.tags:
                filled.update(dict.fromkeys(misc_keys(value).keys() - {head.key} - _EMPTY))
            elif name != "ID" and at not in (head.form, head.tags) and value.strip() not in _EMPTY:
                filled[name] = None
    yield from _columns(filled)
    yield from (many(number, kind) for kind, number in skipped.items())
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


def _of_flair(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    yield from _columns({*LAYERS} - {ChosenColumn.of(file, options).layer})


def _of_jsonl(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    listed = (record.get("tokens") for _, record in records(file))
    tokens = (token for some in listed if isinstance(some, list) for token in some)
    names = dict.fromkeys(name for token in tokens if isinstance(token, Mapping) for name in token)
    if further := [name for name in names if name not in _TOKEN]:
        yield listed_fields(further, "tokens")


def _of_w2ner(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    fields: dict[str, None] = {}
    own: dict[str, None] = {}
    for row in json.loads(file.text.lstrip("\ufeff")):
        mentions = "ner" if "ner" in row else "entities"
        read = {"sentence" if "sentence" in row else "tokens", mentions, "relations"}
        read |= {"orig_id" if "orig_id" in row else "id"}
        fields |= dict.fromkeys(row.keys() - read)
        for mention in row[mentions]:
            own |= dict.fromkeys(mention.keys() - {"type", "index"} - ({*mention} & {"start", "end"}))
    for names, what in ((fields, "sentences"), (own, "mentions")):
        if names:
            yield listed_fields(sorted(names), what)


def _of_spacy(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    yield from unread_of_docs(file, options)


def _of_xmi(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    yield from _of_xml(*unread_of_xml(file, options))


def _of_xml(kinds: Counter[str], features: Iterable[str]) -> Iterator[str]:
    if kinds:
        yield f"{many(kinds.total(), 'annotation')} of other types ({_numbered(kinds)})"
    if found := sorted(features):
        yield listed(found, _FEATURE)


def _of_project(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    kinds: Counter[str] = Counter()
    features: set[str] = set()
    for part in opened(file, options).files():
        if part.suffix == ".xmi":
            some, named = unread_of_xml(part, options)
            kinds.update(some)
            features |= named
        else:
            features |= {*_features(part, options)}
    yield from _of_xml(kinds, features)


def _of_webanno(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    yield from _of_xml(Counter(), _features(file, options))


def _features(file: File, options: Options) -> Iterable[str]:
    """The features of a WebAnno file that are not read and hold something."""
    lines = file.text.split("\n")
    chosen = webanno_layer(file, options).column
    layers = [f"{layer.name.rpartition('.')[2]}.{layer.feature}" for _, layer in all_layers(lines)]
    rows = (line.split("\t") for line in lines if "\t" in line and not line.startswith("#"))
    return _filled(rows, ["", "", "", *layers], {0, 1, 2, chosen})


def _of_label_studio(file: File, options: Options, annotation: Annotation) -> Iterator[str]:
    texts = {*(annotation.corpus.texts or ())}
    kinds: Counter[str] = Counter()
    fields: dict[str, None] = {}
    predictions = 0
    for task in json.loads(file.text.lstrip("\ufeff")):
        data: Mapping[str, object] = task.get("data", {})
        fields.update(
            (name, None) for name, value in data.items() if not isinstance(value, str) or value not in texts
        )
        done = [*(task.get("annotations") or ()), *(task.get("predictions") or ())][:1]
        predictions += len(task.get("predictions") or ()) if task.get("annotations") else 0
        for result in (done[0].get("result") or ()) if done else ():
            if "labels" not in (result.get("value") or {}):
                kinds[str(result.get("type", "other"))] += 1
    if fields:
        yield listed_fields(list(fields), "tasks")
    if predictions:
        yield many(predictions, "prediction")
    if kinds:
        yield f"{many(kinds.total(), 'result')} without a mention ({_numbered(kinds)})"


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
            if at not in read and not _is_empty(value):
                found[name] = None
    return found


def _is_empty(value: str) -> bool:
    """Whether a cell says nothing; WebAnno lists a value for each annotation, numbered as in `*[1]|*[2]`."""
    return all(re.sub(r"\[\d+\]$", "", part).strip() in _EMPTY for part in value.split("|"))


def _numbered(kinds: Counter[str]) -> str:
    """The most frequent kinds with their numbers."""
    shown = [f"{number:,} {kind}" for kind, number in kinds.most_common(5)]
    return ", ".join([*shown, *(["…"] if len(kinds) > 5 else [])])


def listed_fields(names: Sequence[str], what: str) -> str:
    """How many further fields of these things there are, and what the first ones are called."""
    return f"{listed(names, 'further field')} of {what}"


def _columns(names: Iterable[str]) -> Iterator[str]:
    found = sorted(names)
    if found:
        yield listed(found, _FURTHER)


_COUNTS: Mapping[str, Callable[[File, Options, Annotation], Iterator[str]]] = {
    "conll": _of_conll,
    "conllu": _of_conllu,
    "flair": _of_flair,
    "hipe": _of_hipe,
    "inception": _of_project,
    "jsonl": _of_jsonl,
    "label-studio": _of_label_studio,
    "pubtator": _of_pubtator,
    "spacy": _of_spacy,
    "w2ner": _of_w2ner,
    "webanno": _of_webanno,
    "xmi": _of_xmi,
}
