"""JSON lists of sentences with nested or discontinuous mentions, as used by W2NER and SpERT."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from spanwise.corpus import Annotation, Pieces
from spanwise.errors import InputError, at
from spanwise.formats._format import CutSource, Cutting, Format, JsonRecord, Options, whole
from spanwise.formats._opening import File
from spanwise.formats._sentences import (
    Origin,
    Standoff,
    annotation,
    by_sentence,
    json_of,
    tokens_for,
)
from spanwise.formats._surveying import notes_on


def read(file: File, options: Options) -> Annotation:
    """Read a list of sentences in the format of W2NER or SpERT.

    W2NER has `sentence` and `ner` (with the mention's tokens as `index`), SpERT has `tokens` and
    `entities` (with `start` and `end`).
    """
    rows = json_of(file)
    if not isinstance(rows, list):
        raise InputError(
            at(file.path, 1, "this is not a list of sentences.\nExpected [{'sentence': […], 'ner': […]}].")
        )
    reader = _SentenceListReader(file.path)
    units = reader.units(rows, 1)
    return annotation(units, Origin(file.path, "w2ner", reader.evidence, file.sha256, reader.notes), options)


class _SentenceListReader(Struct):
    """Reads the sentences of a whole list or of a part, and counts the relations, which it leaves out."""

    path: str
    evidence: str = "a JSON list of sentences"
    relations: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on what was left out, if anything."""
        return tuple(notes_on({"relations": self.relations}))

    def units(self, items: Sequence[object], first: int) -> list[Standoff]:
        """The sentences, which are numbered from `first`."""
        found = (row.get("relations") for row in items if isinstance(row, Mapping))
        self.relations += sum(len(listed) for listed in found if isinstance(listed, list))
        return [_sentence(row, number, self.path) for number, row in enumerate(items, start=first)]

    def check(self) -> None:
        """Do nothing: sentences are independent of each other."""


def _readers(path: str, options: Options, merged: bool) -> dict[str, _SentenceListReader] | None:
    return None if merged else {"only": _SentenceListReader(path)}


def survey(file: File, options: Options, cutting: Cutting) -> CutSource | None:
    """Scan the list and decide where to cut it."""
    from spanwise.formats._json_surveys import survey_items

    return survey_items("w2ner", _readers, file, options, cutting)


def _sentence(row: Any, number: int, path: str) -> Standoff:
    where = f"sentence {number}"
    try:
        tokens = row["sentence"] if "sentence" in row else row["tokens"]
        entities = row["ner"] if "ner" in row else row["entities"]
        mentions = [_mention(mention) for mention in entities]
        words = [str(token) for token in tokens]
        name = str(row.get("orig_id", ""))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            at(
                path,
                None,
                f"{where} cannot be read ({type(error).__name__}: {error}).\n"
                "Expected 'sentence' with 'ner' ({'index': [0, 1], 'type': 'PER'}), "
                "or 'tokens' with 'entities' ({'start': 0, 'end': 2, 'type': 'PER'}).",
            )
        ) from None
    return Standoff(words, mentions, name)


def _mention(mention: JsonRecord) -> tuple[Pieces, str]:
    label = str(mention["type"])
    if "index" in mention:
        if not mention["index"]:
            raise ValueError("a mention without tokens")
        return tuple((whole(token), whole(token) + 1) for token in mention["index"]), label
    return ((whole(mention["start"]), whole(mention["end"])),), label


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """The bytes of a file in W2NER's format, with one sentence per line."""
    annotation = tokens_for(annotation, "w2ner")
    rows = []
    for number, mentions in enumerate(by_sentence(annotation)):
        ner = [
            {"index": [token for start, end in pieces for token in range(start, end)], "type": label}
            for pieces, label in mentions
        ]
        ids = annotation.corpus.ids
        name = {} if ids is None else {"orig_id": ids[number]}
        row = {**name, "sentence": annotation.corpus.words(number), "ner": ner}
        rows.append(json.dumps(row, ensure_ascii=False))
    return ("[" + ",\n".join(rows) + "]\n").encode("utf-8")


def recognise(file: File) -> str | None:
    """Recognise a JSON list whose beginning has `sentence` and `ner`, or `tokens` and `entities`."""
    head = file.head.lstrip()
    for tokens, mentions in ((b'"sentence"', b'"ner"'), (b'"tokens"', b'"entities"')):
        if head.startswith(b"[") and tokens in head and mentions in head:
            return f"a JSON list with {tokens.decode()} and {mentions.decode()}"
    return None


FORMAT = Format(
    name="w2ner",
    summary="W2NER's and SpERT's JSON: sentences with nested and discontinuous mentions",
    read=read,
    write=write,
    recognise=recognise,
    survey=survey,
    holds=frozenset(("words", "tokens", "sentences", "sentence ids", "nested", "discontinuous")),
    source="https://github.com/ljynlp/W2NER",
)
