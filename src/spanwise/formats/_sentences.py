"""Convert sentences or texts with tags, spans or labeled pieces to annotations, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, pairwise
from math import isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import msgspec
import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from spanwise.columns import Column, codes, floats, ints
from spanwise.corpus import Annotation, Corpus, Mentions, Parts, Pieces, Reading, Source, joined_pieces
from spanwise.errors import InputError, at, many
from spanwise.formats._format import (
    Before,
    JsonRecord,
    Options,
    annotated,
    brief,
    in_tokens,
    label_notes,
    no_token,
)
from spanwise.formats._interning import Interner
from spanwise.formats._opening import File
from spanwise.formats.text_tokens import text_tokens, words
from spanwise.schemes import SCHEMES, Tags, decode, encode, malformed, spelled

if TYPE_CHECKING:
    from json import JSONDecodeError, JSONDecoder


class Record(Struct, frozen=True):
    """A sentence (a list of tokens) or a text (a string) with its mentions or its tags, as a file has it.

    Examples:
        >>> Record(["Ann", "left"], [(((0, 1),), "PER")], line=1).body
        ['Ann', 'left']
    """

    body: Sequence[str] | str
    mentions: Sequence[tuple[Pieces, str]] = ()
    id: str = ""
    document: str | None = None
    line: int | None = None  # the first line
    scores: Sequence[float] = ()  # one for each mention, if the file has scores
    tokens: Sequence[tuple[int, int]] | None = None  # the borders of a text's tokens, if the file has them
    tags: Sequence[str] | None = None  # one for each token, if the file has tags instead of mentions
    lines: Sequence[int] = ()  # of each token, if the file has a line for each
    left_out: Mapping[str, int] = {}  # how many things of each kind are not read, such as {"relations": 2}
    predicted: Record | None = None  # if the file holds gold and predictions


class Part(Struct, frozen=True):
    """Some consecutive lines of a file, or items of a list, and the number of the first, from 1.

    Examples:
        >>> list(Part("a.txt", first=7, data=b"Ann left\\nBo stayed").lines())
        [(7, 'Ann left'), (8, 'Bo stayed')]
        >>> Part("a.txt", data=b"Ann left").text
        'Ann left'
    """

    path: str
    first: int = 1
    data: bytes = b""
    items: Sequence[Any] = ()
    before: Before = Before()  # what the records before them leave
    head: Any = None  # what the format's `opened` returned for the file as a whole
    merged: bool = False  # whether gold and predictions are wanted
    words: Interner | None = None  # for formats that read columns

    @property
    def text(self) -> str:
        """The lines as a string."""
        return self.data.decode("utf-8")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Each line with its number in the whole file."""
        for number, line in enumerate(self.text.split("\n"), start=self.first):
            yield number, line.rstrip("\r")


def tagged_corpus(sentences: Sequence[Record], path: str, options: Options) -> tuple[Corpus, Tags]:
    """The corpus of tagged sentences, and their tags."""
    lines = [line for sentence in sentences for line in sentence.lines]
    firsts = [sentence.line for sentence in sentences if sentence.line is not None]
    in_lines = not lines and len(firsts) == len(sentences)
    source = Source(path, ints(firsts) if in_lines else None, ints(lines) if lines else None)
    corpus = Corpus.of([sentence.body for sentence in sentences], source=source)
    if any(sentence.id for sentence in sentences):
        corpus = replace(corpus, ids=tuple(sentence.id for sentence in sentences))
    corpus = with_documents(corpus, [sentence.document for sentence in sentences], options)
    return corpus, Tags.of([sentence.tags or () for sentence in sentences])


def with_documents(corpus: Corpus, names: Sequence[str | None], options: Options) -> Corpus:
    """The corpus with documents, if any are named: adjacent sentences with the same name form a document."""
    if options.documents == "none" or all(name is None for name in names):
        return corpus
    begins = [i for i in range(len(names)) if i == 0 or names[i] != names[i - 1]]
    documents = ints([*begins, len(names)])
    return replace(corpus, documents=documents, document_ids=tuple(names[i] or "" for i in begins))


def sentences_of(annotation: Annotation, scheme: str | None) -> list[Record]:
    """The sentences of an annotation with tags in `scheme`, by default IOB2."""
    corpus = annotation.corpus
    tags = encode(annotation.mentions, corpus.lengths, scheme or "IOB2").lists()
    owner = corpus.document_of_sentence
    names = corpus.document_ids
    result = []
    for number, marks in enumerate(tags):
        document = None
        if owner is not None:
            which = int(owner[number])
            document = names[which] if names else str(which + 1)
        name = corpus.ids[number] if corpus.ids else ""
        result.append(Record(corpus.words(number), id=name, document=document, tags=marks))
    return result


# The fields that name a sentence; the first that a record has counts.
IDS = ("id", "sent_id", "sentence_id", "example_id", "uid", "uuid", "guid", "_id", "idx", "_input_hash")
KEPT_IDS = frozenset(("_input_hash",))  # which mean more than the name of the sentence


def id_field(record: Mapping[str, object]) -> str | None:
    """The field that holds the id of a record, if it has one."""
    return next((key for key in IDS if key in record and name_of(record[key])), None)


def name_of(value: object) -> str:
    """A value as the name of a sentence: text as it is, whole numbers in digits, lists and objects as JSON.

    Examples:
        >>> name_of("a"), name_of(7), name_of(7.0), name_of({"page": 3}), name_of(None)
        ('a', '7', '7', '{"page": 3}', '')
    """
    value = plain(value)
    if value is None or (isinstance(value, float) and isnan(value)):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool | list | dict):
        return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return str(value)


SCORES = ("score", "confidence", "probability")  # the keys under which a span holds its score
LABELS = ("label", "type", "entity", "entity_group", "tag", "name")


def score_of(span: Any, location: str) -> float:
    """The score of a span, given as an object or a list of four; NaN if it has none."""
    value = None
    if isinstance(span, Mapping):
        for key in SCORES:
            if (value := span.get(key)) is not None:
                break
    elif len(span) > 3:
        value = span[3]
    if value is None:
        return nan
    try:
        score = nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        score = nan
    if not isfinite(score):
        short = repr(span) if len(repr(span)) <= 60 else repr(span)[:60] + "…"
        raise InputError(
            f"{location}: the score {value!r} of {short} is not a finite number.\n"
            "Give a number, or leave the score out."
        )
    return score


STARTS, ENDS = ("start", "start_offset", "begin", "from"), ("end", "end_offset", "stop", "to")


def span_of(path: str, line: int, span: object) -> tuple[int, int, str, list[tuple[int, int]]]:
    """Start, end, label and pieces of a span: a list of three, of four with its score, or an object."""
    start: object
    end: object
    label: object
    parts: list[tuple[int, int]] | None = []
    if isinstance(span, Mapping):
        start, end, label = (_under(keys, span) for keys in (STARTS, ENDS, LABELS))
        parts = _parts(span["parts"], start, end) if "parts" in span else []
    elif isinstance(span, list) and len(span) in (3, 4):
        start, end, label = span[:3]
    else:
        start = end = label = None
    if isinstance(label, list) and len(label) == 1:
        label = label[0]
    if not (
        is_position(start) and is_position(end) and isinstance(label, str) and label and parts is not None
    ):
        raise InputError(
            at(path, line, f"{brief(span)} is not a span.\nWrite [start, end, \"label\"], or an object with "
               "'start', 'end' and 'label'.")
        )  # fmt: skip
    if not 0 <= start < end:
        raise InputError(
            at(path, line, f"the span [{start}, {end}) of {label} is empty or begins before the sentence.\n"
               "Positions are half-open: 0 <= start < end.")
        )  # fmt: skip
    return start, end, label, parts or [(start, end)]


def _under(keys: Sequence[str], span: Mapping[str, object]) -> object:
    """The value of the first of these keys that the span has."""
    for key in keys:
        if key in span:
            return span[key]
    return None


def is_position(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**62


def _parts(listed: object, start: object, end: object) -> list[tuple[int, int]] | None:
    """The pieces of a mention; None unless they are in order and run from its start to its end."""
    if not isinstance(listed, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in listed):
        return None
    positions = [position for pair in listed for position in pair]
    if positions and (not all(map(is_position, positions)) or (positions[0], positions[-1]) != (start, end)):
        return None
    ordered = all(a < b for a, b in listed) and all(a[1] <= b[0] for a, b in pairwise(listed))
    return [(a, b) for a, b in listed] if ordered else None


SomeMentions: TypeAlias = frozenset[tuple[int, int, str]]


def possible_mentions(value: object, size: int | None, options: Options) -> Iterator[SomeMentions]:
    """The mentions that a list may stand for; nothing if it cannot annotate a sentence of `size` tokens.

    Tags may stand for other mentions in each scheme. Texts, whose `size` is None, have no tags.
    """
    if not isinstance(value, list):
        return
    if value and all(isinstance(tag, str) for tag in value):
        tags = [spelled(tag, options.spelling) for tag in value]
        if len(tags) != size or any(map(malformed, tags)):
            return
        listed = Tags.of([tags])
        for scheme in [options.declared] if options.declared else [scheme.name for scheme in SCHEMES]:
            yield frozenset(row[1:] for row in decode(listed, scheme).mentions.rows())
        return
    try:
        mentions = frozenset(span_of("", 0, span)[:3] for span in whole_spans(value))
    except InputError:
        return
    yield mentions


def hold_the_same(own: Sequence[SomeMentions], others: Iterator[SomeMentions]) -> bool | None:
    """Whether two annotations may stand for the same mentions; None if one of them is none."""
    if not own:
        return None
    same: bool | None = None
    for mentions in others:
        same = mentions in own
        if same:
            break
    return same


def is_spans(record: object) -> bool:
    """Whether a record is a bare list of spans, as returned by Hugging Face pipelines and GLiNER."""
    return isinstance(record, list | tuple) and all(
        isinstance(span, Mapping) and "end" in span and any(key in span for key in LABELS) for span in record
    )


def is_records(value: object) -> bool:
    """Whether a list holds records as in JSON lines, or the output of a Hugging Face pipeline.

    Other bare lists of spans do not count: their positions are tokens, while a pipeline's are characters.
    A pipeline's spans are recognised by keys such as "word" or "entity_group".

    Examples:
        >>> is_records([{"tokens": ["Rome"], "tags": ["B-LOC"]}]), is_records([[(0, 1, "LOC")]])
        (True, False)
        >>> is_records([[], [{"entity_group": "LOC", "score": 0.9, "word": "Rome", "start": 0, "end": 4}]])
        True
    """
    if not isinstance(value, list | tuple) or not value:
        return False
    if all(isinstance(item, Mapping) for item in value) or all(map(_is_pair, value)):
        return True
    return all(map(is_spans, value)) and any(_is_of_pipeline(span) for item in value for span in item)


def _is_pair(item: object) -> bool:
    """Whether this is a record in spaCy's old format: the text and {"entities": …}."""
    return (
        isinstance(item, list | tuple)
        and len(item) == 2
        and isinstance(item[0], str)
        and isinstance(item[1], Mapping)
    )


def _is_of_pipeline(span: Mapping[str, object]) -> bool:
    return any(key in span for key in ("entity_group", "entity", "word", "text"))


def whole_spans(listed: list[Any]) -> list[Any]:
    """Join the word pieces that a pipeline without aggregation returns into mentions; keep other spans.

    A piece `I-X` continues the previous piece if that has the same label; scores are averaged over pieces.
    """
    if not all(
        isinstance(piece, Mapping) and {"index", "entity", "start", "end"} <= piece.keys() for piece in listed
    ):
        return listed
    joined: list[list[JsonRecord]] = []
    for piece in (piece for piece in listed if piece["entity"] != "O"):
        mark, _, label = str(piece["entity"]).partition("-")
        before = joined[-1][-1] if joined else None
        follows = before is not None and piece["index"] == before["index"] + 1
        if (
            mark == "I"
            and follows
            and before is not None
            and str(before["entity"]).partition("-")[2] == label
        ):
            joined[-1].append(piece)
        else:
            joined.append([piece])
    return [
        {
            "start": pieces[0]["start"],
            "end": pieces[-1]["end"],
            "label": str(pieces[0]["entity"]).partition("-")[2] or str(pieces[0]["entity"]),
            "score": sum(float(piece["score"]) for piece in pieces) / len(pieces),
        }
        if all(isinstance(piece.get("score"), int | float) for piece in pieces)
        else pieces[0]
        for pieces in joined
    ]


def plain(value: object) -> object:
    """The value in JSON types: tuples and arrays as lists, NumPy numbers as Python numbers."""
    if isinstance(value, str | int | float) or value is None:
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return plain(value.tolist()) if isinstance(value, np.ndarray | np.generic) else value


def columns_of(rows: Sequence[JsonRecord]) -> dict[str, Column]:
    """The values of each key that occurs in any of the rows; None where it is missing."""
    names = dict.fromkeys(key for row in rows for key in row)
    columns = {}
    for name in names:
        columns[name] = np.empty(len(rows), dtype=object)
        columns[name][:] = [row.get(name) for row in rows]
    return {name: column for name, column in columns.items() if any(value is not None for value in column)}


class Origin(Struct, frozen=True):
    """Where sentences or texts came from, for the `Reading` of their annotation."""

    path: str
    format: str
    evidence: str = ""
    sha256: str | None = None
    notes: Sequence[str] = field(default_factory=tuple)

    def reading(self, notes: Sequence[str] = ()) -> Reading:
        """The `Reading` of an annotation with this origin, with further notes."""
        return Reading(
            self.path, self.sha256, self.format, evidence=self.evidence, notes=(*self.notes, *notes)
        )


def annotation(units: Sequence[Record], origin: Origin, options: Options) -> Annotation:
    """The annotation of sentences or of texts; `units` must not mix the two, nor tags and mentions."""
    if not units:
        raise no_text(origin.path)
    if any(unit.tags is not None for unit in units):
        if not any(unit.body for unit in units):
            raise no_token(origin.path)
        return annotated(*tagged_corpus(units, origin.path, options), options, origin.reading())
    corpus, mentions = content(units, origin, options)
    owner = mentions.sentence
    mentions = mentions.sole(
        duplicates=options.duplicates,
        place=lambda row: _place(origin, units[int(owner[row])], int(owner[row])),
    )
    return Annotation(corpus, mentions, origin.reading(label_notes(mentions)))


def content(
    units: Sequence[Record], origin: Origin, options: Options, first: int = 0
) -> tuple[Corpus, Mentions]:
    """The corpus and the mentions of sentences or of texts, which are numbered from `first` in messages.

    Adjacent units with the same `document` form a document; a text without one is a document of its own.
    """
    whole = isinstance(units[0].body, str)
    lines = None if any(unit.line is None for unit in units) else ints([unit.line for unit in units])
    # The line of a text is of no use for its characters, so only sentences keep their lines.
    source = Source(origin.path, lines=None if whole else lines)
    corpus = _texts(units, source) if whole else Corpus.of([unit.body for unit in units], source=source)
    if options.documents != "none":
        corpus = _with_documents(corpus, units, texts=whole)
    check_inside(units, origin, first)
    mentions = mentions_of([unit.mentions for unit in units])
    if any(unit.scores for unit in units):
        scores = [unit.scores or [nan] * len(unit.mentions) for unit in units]
        mentions = replace(mentions, score=floats(list(chain.from_iterable(scores))))
    return corpus, mentions


def no_text(path: str) -> InputError:
    """The error for a file without sentences or texts."""
    return InputError(at(path, None, "the file has neither sentences nor text.\nIs it complete?"))


def mentions_of(sentences: Sequence[Sequence[tuple[Pieces, str]]]) -> Mentions:
    """The mentions given as (pieces, label) in one list per sentence; adjacent pieces are joined."""
    labels = tuple(sorted({label for sentence in sentences for _, label in sentence}))
    code = {label: number for number, label in enumerate(labels)}
    rows = [
        (number, joined_pieces(pieces), code[label])
        for number, sentence in enumerate(sentences)
        for pieces, label in sentence
    ]
    parts = None
    if any(len(pieces) > 1 for _, pieces, _ in rows):
        parts = Parts.of([pieces for _, pieces, _ in rows])
    return Mentions(
        sentence=ints([number for number, _, _ in rows]),
        start=ints([pieces[0][0] for _, pieces, _ in rows]),
        end=ints([pieces[-1][1] for _, pieces, _ in rows]),
        label=codes([label for _, _, label in rows]),
        labels=labels,
        parts=parts,
    )


def by_sentence(annotation: Annotation) -> list[list[tuple[Pieces, str]]]:
    """For each sentence, its mentions as (pieces, label)."""
    result: list[list[tuple[Pieces, str]]] = [[] for _ in range(len(annotation.corpus))]
    mentions = annotation.mentions
    for sentence, pieces, label in zip(
        mentions.sentence.tolist(), mentions.pieces(), mentions.names(), strict=True
    ):
        result[sentence].append((pieces, label))
    return result


def scores_by_sentence(annotation: Annotation) -> list[list[float]]:
    """For each sentence, the scores of its mentions; empty lists if there are no scores."""
    result: list[list[float]] = [[] for _ in range(len(annotation.corpus))]
    mentions = annotation.mentions
    if mentions.score is not None:
        for sentence, score in zip(mentions.sentence.tolist(), mentions.score.tolist(), strict=True):
            result[sentence].append(score)
    return result


def _place(origin: Origin, unit: Record, number: int) -> str:
    if unit.line is not None:
        return f"{origin.path}:{unit.line}"
    return f"{origin.path}: {_named(unit, number)}"


def _named(unit: Record, number: int) -> str:
    return named_unit(isinstance(unit.body, str), unit.id, number)


def named_unit(whole: bool, id: str, number: int) -> str:
    """What messages call a sentence, or a `whole` text, whose number counts from 0."""
    kind = "text" if whole else "sentence"
    return f"{kind} {id!r}" if id else f"{kind} {number + 1}"


def _texts(units: Sequence[Record], source: Source) -> Corpus:
    texts = tuple(str(unit.body) for unit in units)
    if any(unit.tokens is not None for unit in units):
        return _divided(units, texts, source)
    tokens = text_tokens(texts)
    return Corpus(
        tokens.codes,
        tokens.vocabulary,
        tokens.sentences,
        unit="character",
        texts=texts,
        token_start=tokens.start,
        token_end=tokens.end,
        source=source,
    )


def _divided(units: Sequence[Record], texts: tuple[str, ...], source: Source) -> Corpus:
    """The corpus of texts of which some come with their tokens."""
    borders = [
        words(text) if unit.tokens is None else unit.tokens for unit, text in zip(units, texts, strict=True)
    ]
    plain = Corpus.of([[text[a:b] for a, b in own] for text, own in zip(texts, borders, strict=True)])
    flat = list(chain.from_iterable(borders))
    return Corpus(
        plain.tokens,
        plain.vocabulary,
        plain.sentences,
        unit="character",
        texts=texts,
        token_start=ints([start for start, _ in flat]),
        token_end=ints([end for _, end in flat]),
        source=source,
    )


def own_tokens(corpus: Corpus, number: int) -> list[tuple[int, int]] | None:
    """The borders of a text's tokens, unless they are found by reading the text alone."""
    if corpus.texts is None or corpus.token_start is None or corpus.token_end is None:
        return None
    some = slice(int(corpus.sentences[number]), int(corpus.sentences[number + 1]))
    borders = list(zip(corpus.token_start[some].tolist(), corpus.token_end[some].tolist(), strict=True))
    return None if borders == words(corpus.texts[number]) else borders


def only_counting(names: Sequence[str]) -> bool:
    """Whether names only count from 0 or 1, as those do that readers and writers give where there are none.

    Examples:
        >>> only_counting(["01", "02"]), only_counting(["document 1"]), only_counting(["2", "1"])
        (True, True, False)
    """
    counted = [name.removeprefix("document ") for name in names]
    if not all(name.isascii() and name.isdecimal() and len(name) < 19 for name in counted):
        return False
    first = int(counted[0]) if counted else 0
    return first in (0, 1) and all(int(name) == first + i for i, name in enumerate(counted))


def _with_documents(corpus: Corpus, units: Sequence[Record], *, texts: bool) -> Corpus:
    ids = None
    if any(unit.id for unit in units):
        ids = tuple(unit.id for unit in units)
    names = [unit.document for unit in units]
    if all(name is None for name in names):
        if not texts:
            return replace(corpus, ids=ids)
        return replace(corpus, ids=ids, documents=ints(np.arange(len(units) + 1)), document_ids=ids)
    begins = [i for i in range(len(names)) if i == 0 or names[i] is None or names[i] != names[i - 1]]
    return replace(
        corpus,
        ids=ids,
        documents=ints([*begins, len(names)]),
        document_ids=tuple(names[i] or "" for i in begins),
    )


def check_inside(units: Sequence[Record], origin: Origin, first: int = 0) -> None:
    """Raise InputError if a mention is outside its sentence or text; units are numbered from `first`."""
    for number, unit in enumerate(units, start=first):
        for pieces, label in unit.mentions:
            for start, end in pieces:
                if not 0 <= start < end <= len(unit.body):
                    raise InputError(_outside(unit, number, (start, end), label, origin))


def _outside(unit: Record, number: int, span: tuple[int, int], label: str, origin: Origin) -> str:
    counted = "character" if isinstance(unit.body, str) else "token"
    return at(
        origin.path,
        unit.line,
        f"the mention {label} [{span[0]}, {span[1]}) is not inside {_named(unit, number)}, "
        f"which has {many(len(unit.body), counted)}.\n"
        f"Positions count {counted}s from 0, and the end is the first one after the mention.",
    )


def texts_of(annotation: Annotation) -> Iterator[Record]:
    """The text of each document, with mentions in characters; blanks join tokens, line feeds sentences."""
    corpus = annotation.corpus
    if corpus.without_text:
        raise InputError(
            at(
                annotation.reading.path,
                None,
                "the sentences have no text that could be written.\nGive their tokens.",
            )
        )
    rows, scores = by_sentence(annotation), scores_by_sentence(annotation)
    if corpus.unit == "character":
        texts = corpus.texts or ()
        for number, text in enumerate(texts):
            name = corpus.ids[number] if corpus.ids else str(number + 1)
            yield Record(text, rows[number], name, scores=scores[number])
        return
    borders = [0, len(corpus)] if corpus.documents is None else corpus.documents.tolist()
    for number, (first, last) in enumerate(pairwise(borders)):
        name = corpus.document_ids[number] if corpus.document_ids else str(number + 1)
        unit = _written_out(corpus, rows, range(first, last), name)
        yield replace(unit, scores=list(chain.from_iterable(scores[first:last])))


def _written_out(
    corpus: Corpus, rows: Sequence[Sequence[tuple[Pieces, str]]], sentences: Sequence[int], name: str
) -> Record:
    lines: list[str] = []
    mentions: list[tuple[Pieces, str]] = []
    begin = 0
    for sentence in sentences:
        words = corpus.words(sentence)
        starts = begin + np.cumsum([0, *(len(word) + 1 for word in words)])
        for pieces, label in rows[sentence]:
            mentions.append((tuple((int(starts[a]), int(starts[b]) - 1) for a, b in pieces), label))
        line = " ".join(words)
        lines.append(line)
        begin += len(line) + 1
    return Record("\n".join(lines), mentions, name)


def only_piece(pieces: Pieces, label: str, unit: Record, format: str) -> tuple[int, int]:
    """The span of a mention, for formats that cannot represent discontinuous mentions."""
    if len(pieces) > 1:
        raise InputError(
            f"the mention {label} of document {unit.id!r} has {len(pieces)} pieces, which {format} "
            "cannot hold.\nWrite it as brat or w2ner."
        )
    return pieces[0]


def tokens_for(
    annotation: Annotation, format: str, *, tokens: str = "", labels: str = "", empty: bool = True
) -> Annotation:
    """The annotation with mentions in tokens, ready to be written in a token-based format.

    Raises InputError for what the format could not restore: sentences without text, a token or label with
    one of the characters in `tokens` or `labels`, and, unless `empty`, an empty token or sentence.
    """
    path = annotation.reading.path
    if annotation.corpus.without_text:
        raise InputError(
            at(
                path,
                None,
                f"the sentences have no words to be written as {format}.\nGive their tokens.",
            )
        )
    result = in_tokens(annotation)
    check_characters(result.corpus.vocabulary, tokens, "token", path, format)
    check_labels(result, labels, format)
    if not empty and ("" in result.corpus.vocabulary or not result.corpus.lengths.all()):
        raise InputError(
            at(path, None, f"an empty token or sentence cannot be written as {format}.\nWrite it as jsonl.")
        )
    return result


def check_labels(annotation: Annotation, forbidden: str, format: str) -> None:
    """Raise InputError if a label contains a character that the format cannot represent."""
    check_characters(annotation.mentions.labels, forbidden, "label", annotation.reading.path, format)


def check_characters(strings: Sequence[str], forbidden: str, kind: str, path: str, format: str) -> None:
    """Raise InputError if a string contains a character that the format cannot represent."""
    for string in strings:
        offending = next((character for character in string if character in forbidden), None)
        if offending is not None:
            raise InputError(
                at(path, None, f"the {kind} {string!r} holds {offending!r}, which {format} cannot hold.\n"
                   "Write it as jsonl.")
            )  # fmt: skip


_KEY_APART = re.compile(r'"[ \t\r\n]+:')


class RepeatedKey(ValueError):
    """Raised for a JSON object with a key that occurs twice, of which a parser keeps only the last."""

    def at(self, path: str, line: int | None) -> InputError:
        """The error for the user."""
        return InputError(
            at(path, line, f"the key {str(self)[:60]!r} occurs twice in one JSON object.\n"
               "Keep the one that is meant.")
        )  # fmt: skip


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        raise RepeatedKey(next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at])))
    return keys


@cache
def _decoder() -> JSONDecoder:
    import json

    return json.JSONDecoder(object_pairs_hook=_distinct)


def parse_json(text: str) -> Any:
    """Parse JSON; raises RepeatedKey, JSONDecodeError, or ValueError for a number with too many digits.

    A fast parser, which keeps the last of equal keys, goes first. Each key ends with `":`, which can
    otherwise occur only in strings, so if its result has as many of these, no key was dropped.
    """
    try:
        parsed = msgspec.json.decode(text)
        kept = msgspec.json.encode(parsed).count(b'":')
    except (msgspec.MsgspecError, ValueError, RecursionError):  # also NaN, which Python accepts
        return _decoder().decode(text)
    if kept == text.count('":') and not _otherwise_spelled(text):
        return parsed
    return _decoder().decode(text)


def _otherwise_spelled(text: str) -> bool:
    """Whether a quote or colon may be written as an escape, or a key apart from its colon."""
    if "\\u" in text and ("\\u0022" in text or "\\u003" in text):
        return True
    return any(f"{space}:" in text for space in " \t\r\n") and _KEY_APART.search(text) is not None


def json_of(file: File) -> object:
    """The parsed JSON document in a file; raises InputError with the line if it is not JSON."""
    import json

    try:
        return parse_json(file.text)
    except json.JSONDecodeError as error:
        raise InputError(
            at(file.path, error.lineno, f"this is not JSON ({error.msg}).\nIs the file complete?")
        ) from None
    except RepeatedKey as error:
        raise error.at(file.path, None) from None
    except (ValueError, RecursionError) as error:
        what = "a number has too many digits" if isinstance(error, ValueError) else "it is nested too deeply"
        raise InputError(
            at(file.path, 1, f"the JSON cannot be read: {what}.\nIs it the right file?")
        ) from None


def json_line(path: str, line: int, row: str) -> object:
    """The parsed JSON value of one line of a file; raises InputError with the line if it is not JSON."""
    import json

    try:
        return parse_json(row)
    except json.JSONDecodeError as error:
        raise no_json(path, line, error) from None
    except RepeatedKey as error:
        raise error.at(path, line) from None
    except (ValueError, RecursionError) as error:
        what = "a number has too many digits" if isinstance(error, ValueError) else "it is nested too deeply"
        raise InputError(at(path, line, f"the JSON cannot be read: {what}.\nFix the line.")) from None


def no_json(path: str, line: int, error: JSONDecodeError) -> InputError:
    """The error for a line that is not JSON."""
    return InputError(
        at(path, line, f"this is not JSON: {error.msg} (column {error.colno}).\n"
           "Give one JSON object in each line.")
    )  # fmt: skip
