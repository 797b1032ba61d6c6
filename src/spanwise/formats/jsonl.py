"""JSON lines, one sentence per line: tokens with tags, tokens with spans, or text with character spans."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import isnan, nan
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from spanwise.columns import Column, Ints, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions, Parts, Reading, Source, Unit
from spanwise.errors import InputError, at, many
from spanwise.formats._format import (
    CutSource,
    Cutting,
    Format,
    JsonRecord,
    Options,
    Problem,
    annotated,
    impossible_tags,
    in_tokens,
    label_notes,
    problem_at,
)
from spanwise.formats._opening import File
from spanwise.formats._sentences import (
    ENDS,
    KEPT_IDS,
    LABELS,
    SCORES,
    STARTS,
    RepeatedKey,
    columns_of,
    hold_the_same,
    id_field,
    is_position,
    is_records,
    is_spans,
    json_line,
    name_of,
    no_json,
    own_tokens,
    parse_json,
    plain,
    possible_mentions,
    score_of,
    span_of,
    whole_spans,
)
from spanwise.formats._surveying import Batch
from spanwise.formats.annotators import by_annotator, chosen_records, refuse_several, refused, refused_note
from spanwise.formats.text_tokens import words
from spanwise.schemes import Tags, encode, malformed, spelled


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """The bytes of a JSON lines file: text or tokens with spans or, given a scheme, tokens with tags."""
    corpus, mentions = annotation.corpus, annotation.mentions
    record_of = _with_tags(annotation, scheme) if scheme is not None else _with_spans(corpus, mentions)
    documents = corpus.document_of_sentence
    lines = []
    for number in range(len(corpus)):
        record: dict[str, object] = {} if corpus.ids is None else {"id": corpus.ids[number]}
        if documents is not None:
            which = int(documents[number])
            record["document"] = which if corpus.document_ids is None else corpus.document_ids[which]
        record |= record_of(number)
        further = ((name, plain(column[number])) for name, column in corpus.fields.items())
        record |= {
            name: value
            for name, value in further
            if value is not None and name not in record and not _would_be_read(name, value, record)
        }
        lines.append(json.dumps(record, ensure_ascii=False, default=str))
    return ("\n".join(lines) + "\n").encode("utf-8")


def _would_be_read(name: str, value: object, record: JsonRecord) -> bool:
    """Whether a further field of this name would be read as words or mentions of the record."""
    if name == "text":
        return not record.get("tokens")  # beside which it is a further field
    return name in _READ_AS and isinstance(value, list)


def _with_tags(annotation: Annotation, scheme: str | None) -> Callable[[int], dict[str, object]]:
    annotation = in_tokens(annotation)
    corpus = annotation.corpus
    if corpus.without_text:
        raise InputError(
            at(annotation.reading.path, None, "the annotation has no tokens to tag.\nLeave the scheme out.")
        )
    tags = encode(annotation.mentions, corpus.lengths, scheme or "IOB2").lists()
    return lambda number: {"tokens": corpus.words(number), "tags": tags[number]}


def _with_spans(corpus: Corpus, mentions: Mentions) -> Callable[[int], dict[str, object]]:
    listed: list[list[dict[str, object]]] = [[] for _ in range(len(corpus))]
    scores = [nan] * len(mentions) if mentions.score is None else mentions.score.tolist()
    for row, ((sentence, start, end, label), pieces, score) in enumerate(
        zip(mentions.rows(), mentions.pieces(), scores, strict=True)
    ):
        span: dict[str, object] = {"start": start, "end": end, "label": label}
        if not isnan(score):
            span["score"] = score
        if len(pieces) > 1:
            span["parts"] = [list(piece) for piece in pieces]
        further = ((name, column[row]) for name, column in mentions.fields.items())
        span |= {name: plain(value) for name, value in further if value is not None and name not in span}
        listed[sentence].append(span)
    if corpus.texts is not None:
        texts = corpus.texts
        return lambda number: {"text": texts[number], **_tokens(corpus, number), "spans": listed[number]}
    if corpus.without_text:
        unit = {"unit": "character"} if corpus.unit == "character" else {}
        return lambda number: {"spans": listed[number], **unit}
    return lambda number: {"tokens": corpus.words(number), "spans": listed[number]}


def _tokens(corpus: Corpus, number: int) -> dict[str, object]:
    """The tokens of a text, if reading the text would find others."""
    borders, text = own_tokens(corpus, number), (corpus.texts or ())[number]
    if borders is None:
        return {}
    return {"tokens": [{"text": text[start:end], "start": start, "end": end} for start, end in borders]}


T = TypeVar("T")

_TOKENS = ("tokens", "words", "sentence")
_TAGS = ("tags", "ner_tags", "labels", "bio", "bio_tags", "ner", "iob")
SPANS = ("spans", "entities", "ents", "label", "labels", "mentions", "annotations", "ner")
_ANNOTATED = frozenset({*_TAGS, *SPANS})
_READ_AS = frozenset({*_TOKENS, *_ANNOTATED})
_LINE = "\x00line"  # a key that cannot occur in a record
DOCUMENTS = ("document", "doc_id", "document_id")


class JsonRecords(Struct, eq=False):
    """The records read so far; all records of a file are of one kind."""

    path: str
    kind: str = ""
    lines: list[int] = field(default_factory=list)
    tokens: list[list[str]] = field(default_factory=list)
    token_offsets: list[list[tuple[int, int]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    tags: list[list[str]] = field(default_factory=list)
    spans: list[tuple[int, int, int, str]] = field(default_factory=list)
    pieces: list[list[tuple[int, int]]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    records: list[JsonRecord] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)  # skipped records, by the annotator's answer
    twofold: set[tuple[str, str]] = field(default_factory=set)  # a key that was read, another with the same
    read: list[set[str]] = field(default_factory=list)  # the keys of each record whose content is read
    shapes: dict[tuple[str, ...], list[tuple[str, str]]] = field(default_factory=dict)  # of spans, by keys
    unlike: set[tuple[str, str]] = field(default_factory=set)  # a key of spans, another with other values

    @property
    def left_out(self) -> list[str]:
        """A note on the records that were left out, if any."""
        total = len(self.lines) + self.refused.total()
        return [refused_note(self.refused, total)] if self.refused else []

    @property
    def notes(self) -> list[str]:
        """The same, and notes on annotations that were given twice."""
        return [*self.left_out, *key_notes(self.twofold, self.unlike)]


def key_notes(twofold: Iterable[tuple[str, str]], unlike: Iterable[tuple[str, str]]) -> list[str]:
    """Notes on keys that repeat the mentions of the one that was read, and on keys of spans that differ."""
    return [
        *(f"read from {read!r}; {other!r} holds the same" for read, other in sorted(twofold)),
        *(f"spans are read from {read!r}; {other!r} holds something else" for read, other in sorted(unlike)),
    ]


def read(source: File | Sequence[object], options: Options, *, name: str = "<records>") -> Annotation:
    """Read a file with one JSON object per line or one JSON list of objects, or such a list in memory.

    The records of a list, which messages call `name`, are numbered from 1 like the lines of a file.
    """
    file = source if isinstance(source, File) else None
    path = name if file is None else file.path
    content = gather_records(
        path, records(source) if isinstance(source, File) else _listed(path, source), options
    )
    if not content.lines and content.refused:
        raise InputError(
            at(path, None, f"{content.notes[0]}, and none is left.\nExport records that were accepted.")
        )
    if not content.lines:
        raise InputError(at(path, None, "the file has no records.\nGive a JSON object in each line."))
    if options.annotator is None and content.kind == "text with spans of characters":
        refuse_several(path, content.records)
    return annotation_of(content, options, None if file is None else file.sha256)


def annotation_of(content: JsonRecords, options: Options, digest: str | None = None) -> Annotation:
    """The annotation of the gathered records."""
    batch, notes = batch_of(content, options), tuple(content.notes)
    left_out = tuple(content.left_out)
    reading = Reading(content.path, digest, "jsonl", evidence=content.kind, notes=notes, left_out=left_out)
    if batch.tags:
        return annotated(batch.corpus, batch.tags["only"], options, reading)
    mentions = batch.mentions["only"]
    return Annotation(batch.corpus, mentions, replace(reading, notes=(*notes, *label_notes(mentions))))


def batch_of(content: JsonRecords, options: Options) -> Batch:
    """The corpus of the gathered records, with their tags or mentions."""
    corpus, path = _corpus(content, options), content.path
    if content.kind == "tokens with tags":
        return Batch(corpus, tags={"only": Tags.of(content.tags)})
    mentions = _mentions(content)
    if options.further or options.columns:
        kept = columns_of(_extras(content))
        asked = {name: kept[str(key)] for name, key in options.columns.items() if str(key) in kept}
        mentions = replace(mentions, fields=kept if options.further else asked)
    mentions = mentions.sole(
        duplicates=options.duplicates,
        place=lambda row: f"{path}:{content.lines[content.spans[row][0]]}",
    )
    return Batch(corpus, mentions={"only": mentions})


def measured(content: JsonRecords, sizes: Sequence[int]) -> Batch:
    """The tags or mentions of the gathered records, on a corpus that has sizes and no words."""
    sentences, ids = offsets(sizes or [0] * len(content.lines)), _ids(content)
    words = np.zeros(int(sentences[-1]), dtype=np.int32)
    corpus = Corpus(words, ("",), sentences, without_text=True, ids=ids)
    if content.kind == "tokens with tags":
        return Batch(corpus, tags={"only": Tags.of(content.tags)})
    return Batch(corpus, mentions={"only": _mentions(content)})


def gather_records(
    path: str, pairs: Iterable[tuple[int, JsonRecord]], options: Options, kind: str = ""
) -> JsonRecords:
    """Gather the content of records; for a part of a file, `kind` is that of the whole file."""
    content = JsonRecords(path, kind)
    for line, record in pairs if options.annotator is None else _records_of(options.annotator, pairs):
        if (answer := refused(record)) is not None:
            content.refused[answer] += 1
            continue
        _gather(content, line, record, options)
    return content


def _records_of(annotator: str, pairs: Iterable[tuple[int, JsonRecord]]) -> Iterator[tuple[int, JsonRecord]]:
    """The records of one annotator, with their line numbers."""
    numbered = [{**record, _LINE: line} for line, record in pairs]
    for record in chosen_records(numbered, annotator):
        yield record.pop(_LINE), record


def read_layers(file: File, options: Options) -> dict[str, Annotation]:
    """Read gold and predictions from fields of the same records, such as "tags" and "predicted"."""
    from spanwise.formats.memory import annotated_columns

    annotations = annotated_columns(
        [record for _, record in records(file)], None, None, options, name=file.path
    )
    assert annotations is not None
    gold, systems = annotations
    if len(systems) > 1:
        raise InputError(
            at(file.path, None, f"the records hold predictions of several systems: {', '.join(systems)}.\n"
               "Read the records, and name the one that is meant: systems={…} of spanwise.evaluate.")
        )  # fmt: skip
    digest = file.sha256
    layers = {"gold": gold, "predicted": next(iter(systems.values()))}
    return {
        name: replace(layer, reading=replace(layer.reading, path=file.path, sha256=digest))
        for name, layer in layers.items()
    }


def _listed(path: str, source: Sequence[object]) -> Iterator[tuple[int, JsonRecord]]:
    """Each record of a list in memory with its number; pipeline output for one text is one record."""
    records = [source] if is_spans(source) else source
    for number, record in enumerate(records, start=1):
        yield number, as_record(path, number, plain(record))


def records(file: File) -> Iterator[tuple[int, JsonRecord]]:
    """Each record with its line number; if the file is a single JSON list, its items, all at line 1."""
    text = file.text
    if not file.first_line and text.lstrip()[:1] == "[" and (listed := _list_of(file, text)) is not None:
        for item in listed:
            yield 1, as_record(file.path, 1, item)
        return
    for line, row in enumerate(text.split("\n"), start=file.first_line or 1):
        if row.strip():
            yield line, as_record(file.path, line, json_line(file.path, line, row))


def _list_of(file: File, text: str) -> list[object] | None:
    """The items if the whole file is one JSON list; None if it has one list per line."""
    try:
        whole = parse_json(text)
    except RepeatedKey as error:
        raise error.at(file.path, None if "\n" in text.strip() else 1) from None
    except json.JSONDecodeError as error:
        first_line = text.lstrip().split("\n", 1)[0]
        try:
            json.loads(first_line)
        except (ValueError, RecursionError):
            raise no_json(file.path, error.lineno, error) from None
        return None
    except (ValueError, RecursionError):
        return None  # reading line by line will find the line at fault
    if is_spans(whole) and whole:
        return [whole]  # pipeline output for a single text
    return whole if whole and (isinstance(whole[0], Mapping) or all(map(is_spans, whole))) else None


def as_record(path: str, line: int, record: object) -> Mapping[str, object]:
    """The record as a mapping; also accepts lists of spans and spaCy's pairs [text, {"entities": …}]."""
    if is_spans(record):
        return {"entities": record, "unit": "character"}
    if isinstance(record, list) and len(record) == 2 and isinstance(record[0], str):
        rest = record[1] if isinstance(record[1], Mapping) else {"entities": record[1]}
        return {"text": record[0], **rest}
    if not isinstance(record, Mapping):
        raise InputError(
            at(path, line, f"a JSON object is expected, not {type(record).__name__}.\n"
               'Write for example {"tokens": [...], "tags": [...]}.')
        )  # fmt: skip
    return record


def _kind(record: JsonRecord) -> str:
    """The kind of a record, which decides how all records of the file are read; "" if it is unknown."""
    tokens = _first(record, _TOKENS, list)
    text = isinstance(record.get("text"), str)
    if text and (tokens is None or not tokens or isinstance(tokens[0], Mapping)):
        return "text with spans of characters" if _first(record, SPANS, list) is not None else ""
    if tokens is None:
        only = _first(record, SPANS, list)
        return "spans without text" if only is not None and not text else ""
    if _tags(record) is not None:
        return "tokens with tags"
    return "tokens with spans" if _first(record, SPANS, list) is not None else ""


def _first(record: Mapping[str, object], keys: tuple[str, ...], kind: type[T]) -> T | None:
    for key in keys:
        value = record.get(key)
        if isinstance(value, kind):
            return value
    return None


def _tags(record: JsonRecord) -> list[str | int] | None:
    """The list of tags, strings or numbers, one per token."""
    key = tags_key(record)
    return None if key is None else record[key]


def tags_key(record: Mapping[str, object]) -> str | None:
    """The key under which a record holds its list of tags, if any."""
    for key in _TAGS:
        value = record.get(key)
        if isinstance(value, list) and all(isinstance(tag, str) or is_position(tag) for tag in value):
            tokens = _first(record, _TOKENS, list)
            if value or not tokens:
                return key
    return None


def _gather(content: JsonRecords, line: int, record: Mapping[str, object], options: Options) -> None:
    kind = _kind(record)
    content.kind = content.kind or kind
    if not content.kind or (kind != content.kind and not _fits(record, content.kind)):
        raise InputError(at(content.path, line, _wanted(record, content.kind)))
    content.read.append(_read_keys(content, line, record, options))
    content.lines.append(line)
    content.records.append(record)
    if content.kind == "text with spans of characters":
        _gather_text(content, line, record)
    elif content.kind == "spans without text":
        if (key := next((key for key in _TOKENS if isinstance(record.get(key), str)), None)) is not None:
            raise InputError(
                at(content.path, line, f"the {key!r} of the record is a string, not a list of tokens.\n"
                   "Give a list, or call it 'text' if the spans count characters.")
            )  # fmt: skip
        _gather_spans(content, line, record, None)
    else:
        _gather_tokens(content, line, record, options)


def _read_keys(content: JsonRecords, line: int, record: JsonRecord, options: Options) -> set[str]:
    """The keys with the words and mentions of a record, and those that hold the same once more.

    Other words and mentions are refused.
    """
    words = [key for key in _TOKENS if isinstance(record.get(key), list)]
    for key in words[1:]:
        if not _same_strings(record[words[0]], record[key]):
            raise InputError(
                at(content.path, line, f"{words[0]!r} and {key!r} of the record hold different tokens.\n"
                   "Keep the tokens that are meant.")
            )  # fmt: skip
    tagged = content.kind == "tokens with tags"
    spans = next((key for key in SPANS if isinstance(record.get(key), list)), None)
    read = tags_key(record) if tagged else spans
    same = set()
    if read is not None and len(_ANNOTATED.intersection(record)) > 1:
        same = _twofold(content, line, record, options, read)
        content.twofold |= same
    text = {"text"} if content.kind == "text with spans of characters" else set()
    return {*words, *text, *filter(None, [read]), *(key for _, key in same)}


def _same_strings(tokens: Sequence[object], others: Sequence[object]) -> bool:
    """Whether two lists hold the same tokens, as strings or as objects with their text."""
    return [*map(_string, tokens)] == [*map(_string, others)]


def _twofold(
    content: JsonRecords, line: int, record: JsonRecord, options: Options, read: str
) -> set[tuple[str, str]]:
    """The key that is read, and each other key with the same mentions; other mentions are refused."""
    size = len(_first(record, _TOKENS, list) or ()) if content.kind.startswith("tokens") else None
    own = [*possible_mentions(record[read], size, options)]
    same = set()
    for key in sorted(_ANNOTATED.intersection(record) - {read}):
        agree = hold_the_same(own, possible_mentions(record[key], size, options))
        if agree is False:
            raise InputError(
                at(content.path, line, f"{read!r} and {key!r} of the record hold different mentions.\n"
                   "Keep the annotation that is meant.")
            )  # fmt: skip
        if agree:
            same.add((read, key))
    return same


def _fits(record: Mapping[str, object], kind: str) -> bool:
    """Whether the record is of the file's kind, but cannot be recognised because its list is empty."""
    empty = {"tokens with tags": _TAGS, "tokens with spans": SPANS}.get(kind)
    return (
        empty is not None and _first(record, _TOKENS, list) is not None and _first(record, empty, list) == []
    )


def _wanted(record: Mapping[str, object], kind: str) -> str:
    if {"spanwise", "schema", "kind"} <= record.keys():
        return (
            "this is a saved result, not annotated text.\n"
            "Read it with spanwise.load in Python, or show it with spanwise report, table or export."
        )
    keys = ", ".join(map(repr, sorted(record))) or "none"
    any_kind = "'tokens' with 'tags' or 'spans', or 'text' with 'spans'"
    wanted = f"{kind}, as in the records before" if kind else any_kind
    advice = "Rename its keys, or name another format."
    if not kind and not {"response", "answers"}.isdisjoint(record):
        advice = "Answers of a language model are placed on the gold text with answers='ordered'."
    return f"the record needs {wanted}; its keys are: {keys}.\n{advice}"


def _gather_tokens(content: JsonRecords, line: int, record: JsonRecord, options: Options) -> None:
    strings: list[str] = []
    for token in _first(record, _TOKENS, list) or ():
        string = _string(token)
        if not isinstance(string, str):
            raise InputError(
                at(
                    content.path,
                    line,
                    f"the token {string!r} is not a string.\nGive the tokens as a list of strings.",
                )
            )
        strings.append(string)
    content.tokens.append(strings)
    if content.kind == "tokens with spans":
        _gather_spans(content, line, record, len(strings))
        return
    tags = _tags(record) or []
    if len(tags) != len(strings):
        raise InputError(
            at(content.path, line, f"the record has {many(len(tags), 'tag')}, but "
               f"{many(len(strings), 'token')}.\nGive one tag for each token.")
        )  # fmt: skip
    content.tags.append([_tag_name(content.path, line, tag, options) for tag in tags])


def _string(token: object) -> object:
    return token.get("text") if isinstance(token, Mapping) else token


def _tag_name(path: str, line: int, tag: str | int, options: Options) -> str:
    if isinstance(tag, str):
        return tag
    if options.labels is None:
        raise InputError(
            at(path, line, f"the tag {tag!r} is a number.\nSay what the numbers mean with labels=, "
               "the list of tags in order.")
        )  # fmt: skip
    if not 0 <= tag < len(options.labels):
        raise InputError(
            at(path, line, f"the tag {tag!r} is outside the {len(options.labels)} labels that were given.\n"
               "Give all of them, in order.")
        )  # fmt: skip
    return options.labels[tag]


def _gather_text(content: JsonRecords, line: int, record: JsonRecord) -> None:
    text = record["text"]
    content.texts.append(text)
    listed = _first(record, _TOKENS, list)
    token_spans = words(text)
    if listed and all(isinstance(token, Mapping) and {"start", "end"} <= token.keys() for token in listed):
        token_spans = [(token["start"], token["end"]) for token in listed]
        if not all(is_position(a) and is_position(b) and 0 <= a <= b <= len(text) for a, b in token_spans):
            raise InputError(
                at(content.path, line, "a token ends after the text, which has "
                   f"{many(len(text), 'character')}.\nFix 'start' and 'end' of the tokens.")
            )  # fmt: skip
        for token in listed:
            start, end, string = token["start"], token["end"], token.get("text")
            if isinstance(string, str) and string != text[start:end]:
                raise InputError(
                    at(content.path, line, f"the token {string!r} is {text[start:end]!r} in the text "
                       f"[{start}, {end}).\nFix the text, or 'start' and 'end' of the tokens.")
                )  # fmt: skip
        # White-space tokens are dropped: in a mention they would count as tokens without content.
        token_spans = [span for span in token_spans if text[slice(*span)].strip()]
    content.token_offsets.append(token_spans)
    _gather_spans(content, line, record, len(text))


def _gather_spans(content: JsonRecords, line: int, record: JsonRecord, size: int | None) -> None:
    sentence = len(content.lines) - 1
    for span in whole_spans(_first(record, SPANS, list) or []):
        start, end, label, pieces = span_of(content.path, line, span)
        if size is not None and end > size:
            what = "character" if content.texts else "token"
            raise InputError(
                at(content.path, line, f"the mention {label} [{start}, {end}) ends after the sentence, "
                   f"which has {many(size, what)}.\nPositions are half-open and count {what}s from 0.")
            )  # fmt: skip
        if isinstance(span, Mapping):
            content.unlike |= {
                pair for pair in _rivals(content, span) if span[pair[1]] not in (None, span[pair[0]])
            }
        content.spans.append((sentence, start, end, label))
        content.pieces.append(pieces)
        content.scores.append(score_of(span, f"{content.path}:{line}"))


# Keys of a span of which the first that it has is read, and keys that repeat where it is.
_CHOICES = (STARTS, ENDS, LABELS, SCORES)
_READ = frozenset(("parts", "text", "word", "index", "token_start", "token_end"))


def _rivals(content: JsonRecords, span: JsonRecord) -> list[tuple[str, str]]:
    """The keys of a span that are read, each with another key of the same meaning."""
    shape = tuple(span)
    if shape not in content.shapes:
        given = [[name for name in names if name in span] for names in (STARTS, ENDS, LABELS)]
        content.shapes[shape] = [(names[0], other) for names in given for other in names[1:]]
    return content.shapes[shape]


def _extras(content: JsonRecords) -> list[JsonRecord]:
    """The fields of each span that are not read."""
    return [
        _unread(span) if isinstance(span, Mapping) else {}
        for record in content.records
        for span in whole_spans(_first(record, SPANS, list) or [])
    ]


def _unread(span: JsonRecord) -> JsonRecord:
    """The fields of a span that are not read, including second names that hold something else."""
    read = set(_READ)
    for names in _CHOICES:
        given = [name for name in names if span.get(name) is not None]
        read |= {name for name in names if span.get(name) in (None, *(span[name] for name in given[:1]))}
    return {key: value for key, value in span.items() if key not in read}


def _mentions(content: JsonRecords) -> Mentions:
    has_scores = not all(isnan(score) for score in content.scores)
    mentions = Mentions.of(content.spans, score=content.scores if has_scores else None)
    if all(len(pieces) == 1 for pieces in content.pieces):
        return mentions
    return replace(mentions, parts=Parts.of(content.pieces))


def _corpus(content: JsonRecords, options: Options) -> Corpus:
    source = Source(content.path, ints(content.lines), _token_lines(content))
    asked = {name: _field(content, key) for name, key in options.fields.items()}
    more: dict[str, Any] = {
        **_documents(content, options),
        "ids": (ids := _ids(content)),
        "keys": _keys(content) if ids is None else {},
        "fields": {**(_further(content, options) if options.further else {}), **asked},
        "source": source,
    }
    if content.kind == "spans without text":
        sentences = offsets(np.zeros(len(content.lines), dtype=np.int64))
        characters = any(record.get("unit") == "character" for record in content.records)
        unit: Unit = "character" if characters else "token"
        return Corpus(np.zeros(0, dtype=np.int32), (), sentences, unit=unit, without_text=True, **more)
    if content.kind != "text with spans of characters":
        plain = Corpus.of(content.tokens)
        return Corpus(plain.tokens, plain.vocabulary, plain.sentences, **more)
    strings = [
        [text[a:b] for a, b in places]
        for text, places in zip(content.texts, content.token_offsets, strict=True)
    ]
    plain = Corpus.of(strings)
    flat = [span for places in content.token_offsets for span in places]
    return Corpus(
        plain.tokens,
        plain.vocabulary,
        plain.sentences,
        unit="character",
        texts=tuple(content.texts),
        token_start=ints([span[0] for span in flat]),
        token_end=ints([span[1] for span in flat]),
        **more,
    )


def _token_lines(content: JsonRecords) -> Ints | None:
    """For each token, the line of its record."""
    sizes = [len(tokens) for tokens in (content.tokens or content.token_offsets)]
    return ints(np.repeat(content.lines, sizes)) if sizes else None


def _ids(content: JsonRecords) -> tuple[str, ...] | None:
    """The id of each record, "" if it has none; None if no record has one."""
    ids = tuple(id_of(record) for record in content.records)
    return ids if any(ids) else None


def id_of(record: JsonRecord) -> str:
    """The id of a record, or "" if it has none."""
    key = id_field(record)
    return "" if key is None else name_of(record[key])


def _keys(content: JsonRecords) -> dict[str, tuple[str, ...]]:
    """The fields with a text or a whole number in each record, no two of which are the same."""
    first, *others = [_flat(record) for record in content.records]
    keys = {}
    for key, value in first.items():
        values = [name_of(value), *(name_of(other.get(key)) for other in others)]
        if key not in content.read[0] and all(values) and len({*values}) == len(values):
            keys[key] = tuple(values)
    return keys


def _flat(record: JsonRecord) -> JsonRecord:
    """The fields of a record and of its "meta" that hold a text or a whole number."""
    meta = record.get("meta")
    inner = {f"meta.{key}": value for key, value in meta.items()} if isinstance(meta, Mapping) else {}
    return {
        key: value
        for key, value in {**record, **inner}.items()
        if isinstance(value, str) or is_position(value)
    }


def _field(content: JsonRecords, key: str) -> Column:
    """The value of a field in each record or in its "meta"; None where it is missing."""
    values = np.empty(len(content.records), dtype=object)
    for number, record in enumerate(content.records):
        meta = record.get("meta")
        values[number] = record.get(key, meta.get(key) if isinstance(meta, Mapping) else None)
    if all(value is None for value in values):
        raise InputError(
            at(content.path, content.lines[0], f"no record has a field {key!r}.\n"
               f"There are: {', '.join(sorted(content.records[0]))}.")
        )  # fmt: skip
    return values


def _further(content: JsonRecords, options: Options) -> dict[str, Column]:
    """The fields that are neither read nor asked for, one value per record."""
    key = _document_key(content, options)
    always = {"unit", key, *options.fields.values()}

    def further(record: JsonRecord, own: set[str]) -> JsonRecord:
        read = {*always, *own, *({id_field(record)} - KEPT_IDS)}
        return {
            name: value
            for name, value in record.items()
            if name not in read and not (name in _READ_AS and value == [])
        }

    return columns_of([further(*pair) for pair in zip(content.records, content.read, strict=True)])


def _document_key(content: JsonRecords, options: Options) -> str | None:
    """The field that names the document of each record, if any."""
    if options.documents == "none":
        return None
    if options.documents is not None:
        return options.documents
    return next((name for name in DOCUMENTS if all(name in record for record in content.records)), None)


def _documents(content: JsonRecords, options: Options) -> dict[str, object]:
    """Offsets and names of documents: adjacent records with the same field value form a document."""
    key = _document_key(content, options)
    if key is None:
        return {}
    field_values = _field(content, key)
    values = [json.dumps(value, sort_keys=True, default=str) for value in field_values]
    starts = [i for i, value in enumerate(values) if i == 0 or value != values[i - 1]]
    return {
        "documents": ints([*starts, len(values)]),
        "document_ids": tuple(str(field_values[i]) for i in starts),
    }


def problems(file: File, options: Options) -> list[Problem]:
    """List every invalid record and every impossible tag."""
    listed: list[Problem] = []
    kind = ""
    tags: list[list[str]] = []
    lines: list[int] = []
    rows = enumerate(file.text.split("\n"), start=1)
    for line, row in ((line, row) for line, row in rows if row.strip()):
        content = JsonRecords(file.path, kind)
        try:
            _gather(content, line, as_record(file.path, line, json_line(file.path, line, row)), options)
            _mentions(content).sole(
                duplicates=options.duplicates, place=partial("{}:{}".format, file.path, line)
            )
        except InputError as error:
            listed.append(problem_at(file.path, line, str(error)))
            continue
        kind = content.kind
        for sentence in content.tags:
            troubles = [malformed(spelled(tag, options.spelling)) for tag in sentence]
            listed += [Problem(line, trouble) for trouble in troubles if trouble]
            tags.append(["O" if wrong else tag for tag, wrong in zip(sentence, troubles, strict=True)])
            lines.append(line)
    listed += impossible_tags(Tags.of(tags), options, lambda sentence, token: lines[sentence])
    return sorted(listed, key=lambda problem: problem.line or 0)


def recognise(file: File) -> str | None:
    """Recognise a file that begins with a JSON object or a list of objects, or has a JSON lines suffix."""
    head = b"" if file.is_folder else file.head.lstrip(b" \t\r\n")
    if head.startswith(b"{") and (b'"' in head[:64] or head[1:2] == b"}"):
        return "lines of JSON"
    inner = head[1:].lstrip(b" \t\r\n")[:1]
    if head.startswith(b"[") and (inner == b"{" or (inner == b'"' and b"entities" in head)):
        return "lines of JSON"
    return "lines of JSON" if file.suffix in (".jsonl", ".ndjson") else None


def survey(file: File, options: Options, cutting: Cutting) -> CutSource | None:
    """Scan a file of JSON records and decide where to cut it."""
    from spanwise.formats._json_surveys import survey_json

    return survey_json(file, options, cutting)


FORMAT = Format(
    name="jsonl",
    summary="one JSON object per line: tokens with tags or spans, or text with spans (Prodigy, doccano, "
    "spaCy)",
    read=read,
    write=write,
    recognise=recognise,
    problems=problems,
    suffixes=(".jsonl", ".ndjson", ".json"),
    accepts=is_records,
    read_layers=read_layers,
    read_annotators=by_annotator,
    survey=survey,
    holds=frozenset(
        ("words", "white space", "tokens", "sentences", "sentence ids", "documents", "document names",
         "nested", "discontinuous", "scores", "fields", "mention fields")
    ),
)  # fmt: skip
