"""JSON lists of sentences with nested or discontinuous mentions, as used by W2NER and SpERT."""

from __future__ import annotations

import json
from collections.abc import Iterator

from spanwise.corpus import Annotation, Pieces
from spanwise.formats._format import Format, JsonRecord, Options, Problem, whole
from spanwise.formats._opening import File
from spanwise.formats._sentences import Part, Record, by_sentence, name_of, tokens_for


def records(part: Part, options: Options) -> Iterator[Record | Problem]:
    """The sentences of a list in the format of W2NER or SpERT.

    W2NER has `sentence` and `ner` (with the mention's tokens as `index`), SpERT has `tokens` and
    `entities` (with `start` and `end`).
    """
    for number, row in enumerate(part.items, start=part.first):
        try:
            tokens = row["sentence"] if "sentence" in row else row["tokens"]
            entities = row["ner"] if "ner" in row else row["entities"]
            mentions = [_mention(mention) for mention in entities]
            if not all(pieces for pieces, _ in mentions):
                yield Problem(
                    None, f"sentence {number} has a mention without tokens.\nGive their numbers, from 0."
                )
                continue
            relations = row.get("relations")
            left_out = {"relations": len(relations)} if isinstance(relations, list) else {}
            words, name = [str(token) for token in tokens], name_of(row.get("orig_id", row.get("id")))
            yield Record(words, mentions, name, left_out=left_out)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            yield Problem(
                None,
                f"sentence {number} cannot be read ({type(error).__name__}: {error}).\n"
                "Expected 'sentence' with 'ner' ({'index': [0, 1], 'type': 'PER'}), "
                "or 'tokens' with 'entities' ({'start': 0, 'end': 2, 'type': 'PER'}).",
            )


def _mention(mention: JsonRecord) -> tuple[Pieces, str]:
    label = str(mention["type"])
    if "index" in mention:
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
    recognise=recognise,
    records=records,
    no_list="this is not a list of sentences.\nExpected [{'sentence': […], 'ner': […]}].",
    evidence="a JSON list of sentences",
    write=write,
    holds=frozenset(("words", "tokens", "sentences", "sentence ids", "nested", "discontinuous")),
    source="https://github.com/ljynlp/W2NER",
)
