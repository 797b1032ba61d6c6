"""Tables whose rows are sentences or tokens become annotations, whatever library holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from spanwise.corpus import Annotation, Pieces, Reading
from spanwise.errors import InputError, at, many
from spanwise.formats._format import Options, numbered_column, whole
from spanwise.formats._scored import score_of
from spanwise.formats._standoff import Origin, Standoff
from spanwise.formats._standoff import annotation as standoff_annotation
from spanwise.formats._tagged import Tagged
from spanwise.formats._tagged import annotation as tagged_annotation

_TOKENS = ("tokens", "token", "words", "word", "form", "text")
_TAGS = ("ner_tags", "tags", "tag", "ner", "labels", "label", "ne_tags")
_SPANS = ("spans", "entities", "mentions", "ents")
_SENTENCES = ("sentence", "sentence_id", "sent_id", "sentence #", "sent")
_DOCUMENTS = ("document", "document_id", "doc_id", "doc")
_IDS = ("id", "sent_id", "sentence_id")


def annotation(
    table: Mapping[str, Sequence[Any]],
    reading: Reading,
    options: Options,
    *,
    names: Sequence[str] | None = None,
) -> Annotation:
    """The annotation of columns by name.

    A row is a sentence where its tokens are a list (tags as strings or numbers of `names`, or spans), a
    text where it is a string with spans, and a token where a column numbers the sentences.
    """
    columns = {name.lower(): name for name in table}
    token = _column(columns, _TOKENS, options.token_column, reading.path, "tokens")
    if not len(table[token]):
        raise InputError(at(reading.path, None, "the table has no row.\nGive at least one sentence."))
    spans = next((columns[name] for name in _SPANS if name in columns), None)
    listed = not isinstance(table[token][0], str)
    sentence = next((columns[name] for name in _SENTENCES if name in columns), None)
    if spans is not None and options.tag_column is None:
        return _of_spans(table, token, spans, columns, reading, options)
    tag = _column(columns, _TAGS, options.tag_column, reading.path, "tags")
    labels = options.labels if options.labels is not None else names
    if listed:
        rows = zip(
            table[token], table[tag], _of(table, columns, _IDS), _of(table, columns, _DOCUMENTS), strict=True
        )
        sentences = [
            Tagged(
                [str(one) for one in tokens],
                _named(tags, labels, reading.path, f"sentence {number}"),
                name or "",
                document,
            )
            for number, (tokens, tags, name, document) in enumerate(rows, start=1)
        ]
        return tagged_annotation(_checked(sentences, reading.path), reading, options)
    if sentence is None:
        raise InputError(
            at(reading.path, None, "a row of the table is a token, but no column numbers the sentences; "
               f"it has: {', '.join(table)}.\nAdd a column 'sentence', or give lists of tokens.")
        )  # fmt: skip
    return tagged_annotation(
        _gathered(table, token, tag, sentence, columns, labels, reading.path), reading, options
    )


def _column(
    columns: Mapping[str, str], known: Sequence[str], wanted: int | str | None, path: str, what: str
) -> str:
    names = list(columns.values())
    if isinstance(wanted, int):
        return names[numbered_column(wanted, len(names), path)]
    looked = known if wanted is None else (wanted.lower(),)
    for name in looked:
        if name in columns:
            return columns[name]
    raise InputError(
        at(
            path,
            None,
            f"no column holds {what}; looked for {', '.join(looked)}.\nThe columns are: {', '.join(names)}.",
        )
    )


def _of(
    table: Mapping[str, Sequence[Any]], columns: Mapping[str, str], known: Sequence[str]
) -> list[str | None]:
    name = next((columns[one] for one in known if one in columns), None)
    size = len(next(iter(table.values())))
    return [None] * size if name is None else [str(value) for value in table[name]]


def _named(tags: Sequence[Any], names: Sequence[str] | None, path: str, place: str) -> list[str]:
    if all(isinstance(tag, str) for tag in tags):
        return list(tags)
    if names is None:
        raise InputError(
            at(path, None, "the tags are numbers.\n"
               "Say what they mean with labels=, the list of tags in their order.")
        )  # fmt: skip
    try:
        numbers = [whole(tag) for tag in tags]
    except ValueError as error:
        raise InputError(at(path, None, f"{place}: the tag {error}.\nGive tags, or their numbers.")) from None
    for number in numbers:
        if not 0 <= number < len(names):
            raise InputError(
                at(path, None, f"{place}: the tag {number} is outside the {len(names)} labels that were "
                   "given.\nGive all of them, in their order.")
            )  # fmt: skip
    return [names[number] for number in numbers]


def _checked(sentences: Sequence[Tagged], path: str) -> Sequence[Tagged]:
    for number, sentence in enumerate(sentences, start=1):
        if len(sentence.tokens) != len(sentence.tags):
            raise InputError(
                at(path, None, f"sentence {number} has {many(len(sentence.tags), 'tag')}, but "
                   f"{many(len(sentence.tokens), 'token')}.\nGive one tag for each token.")
            )  # fmt: skip
    return sentences


def _gathered(
    table: Mapping[str, Sequence[Any]],
    token: str,
    tag: str,
    sentence: str,
    columns: Mapping[str, str],
    labels: Sequence[str] | None,
    path: str,
) -> list[Tagged]:
    """Rows of tokens with the same sentence, and the same document, put together; they stand side by side."""
    documents = _of(table, columns, _DOCUMENTS)
    tags = _named(list(table[tag]), labels, path, f"the column {tag!r}")
    result: list[tuple[list[str], list[str], str, str | None]] = []
    before: object = object()
    for word, mark, number, document in zip(table[token], tags, table[sentence], documents, strict=True):
        if (number, document) != before:
            before = (number, document)
            result.append(([], [], str(number), document))
        result[-1][0].append(str(word))
        result[-1][1].append(mark)
    return [Tagged(*row) for row in result]


def _of_spans(
    table: Mapping[str, Sequence[Any]],
    token: str,
    spans: str,
    columns: Mapping[str, str],
    reading: Reading,
    options: Options,
) -> Annotation:
    rows = zip(
        table[token], table[spans], _of(table, columns, _IDS), _of(table, columns, _DOCUMENTS), strict=True
    )
    units = []
    for number, (body, mentions, name, document) in enumerate(rows, start=1):
        found = [_mention(mention, reading.path, number) for mention in mentions]
        scores = [score_of(mention, f"{reading.path}: row {number}") for mention in mentions]
        text: Any = body if isinstance(body, str) else [str(word) for word in body]
        units.append(
            Standoff(text, found, name or "", document, scores=scores if any(map(isfinite, scores)) else ())
        )
    origin = Origin(reading.path, reading.format, reading.evidence, reading.sha256)
    return standoff_annotation(units, origin, options)


def _mention(mention: Any, path: str, number: int) -> tuple[Pieces, str]:
    try:
        if isinstance(mention, Mapping):
            label = mention.get("label", mention.get("type"))
            start, end = mention["start"], mention["end"]
        else:
            start, end, label = list(mention)[:3]
        if not isinstance(label, str):
            raise TypeError(label)
        return ((whole(start), whole(end)),), label
    except (KeyError, TypeError, ValueError):
        raise InputError(
            at(
                path,
                None,
                f"row {number} has {mention!r} among its spans.\nA span has 'start', 'end' and 'label'.",
            )
        ) from None
