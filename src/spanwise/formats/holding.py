"""What an annotation holds beside its words and mentions, and how much of it a file would lose."""

from __future__ import annotations

import json
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isnan

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Column, ints
from spanwise.corpus import Annotation, Corpus, Mentions, Pieces
from spanwise.errors import InputError, many
from spanwise.formats._format import in_tokens
from spanwise.formats._sentences import only_counting, texts_of

# What `Format.holds` may name, with its description for the table of formats.
ASPECTS = {
    "words": "the words",
    "white space": "the white space of a text",
    "tokens": "where tokens begin and end",
    "sentences": "where sentences begin and end",
    "sentence ids": "ids of sentences",
    "documents": "where documents begin and end",
    "document names": "names of documents",
    "nested": "mentions inside or across others",
    "discontinuous": "mentions with gaps",
    "scores": "scores of mentions",
    "fields": "further fields of sentences",
    "mention fields": "further fields of mentions",
    "columns": "further columns of tokens",
}

Row = tuple[int, Pieces, str]


class Loss(Struct, frozen=True):
    """Something that a file would lose: which aspect of the annotation, and how much of it in words."""

    aspect: str
    text: str


def declared_losses(annotation: Annotation, holds: frozenset[str] | None) -> list[Loss]:
    """What an annotation holds and a format, by its own declaration, cannot hold."""
    if holds is None:
        return []
    found = (measure(annotation, None) for aspect, measure in _MEASURES.items() if aspect not in holds)
    return [loss for loss in found if loss is not None]


def measured_losses(annotation: Annotation, again: Annotation, done: frozenset[str]) -> Iterator[Loss]:
    """What differs between an annotation and the file read back as `again`; the aspects `done` are skipped.

    The words and mentions themselves are compared by `changes`.
    """
    for aspect, measure in _MEASURES.items():
        if aspect not in done and (loss := measure(annotation, again)) is not None:
            yield loss


def changes(annotation: Annotation, again: Annotation) -> list[Loss]:
    """How the words, sentences and mentions differ from those read back from a file as `again`.

    Compares tokens (or texts, treating all white-space characters as equal), sentences, and mentions with
    their pieces and labels. If the file holds texts, the tokens are compared as the texts they were
    written as.
    """
    try:
        bodies, rows = content(annotation, again.corpus)
        kept_bodies, kept_rows = content(again, again.corpus)
    except InputError as error:
        return [Loss("words", str(error).partition("\n")[0])]
    found = []
    if len(bodies) != len(kept_bodies):
        what = "text" if again.corpus.unit == "character" else "sentence"
        found.append(f"{many(len(bodies), what)} would become {len(kept_bodies):,}")
    else:
        pairs = enumerate(zip(bodies, kept_bodies, strict=True))
        changed = [number for number, (body, kept) in pairs if body != kept]
        if changed:
            found.append(
                f"the words of {many(len(changed), 'sentence')} would change, "
                f"first {_short(bodies[changed[0]])} to {_short(kept_bodies[changed[0]])}"
            )
    missing, more = Counter(rows), Counter(kept_rows)
    lost, gained = missing - more, more - missing
    if lost:
        first = next(row for row in rows if row in lost)
        found.append(
            f"{lost.total():,} of {many(len(rows), 'mention')} cannot be kept, first {_named(first)}"
        )
    if gained and not found:
        found.append(f"{many(gained.total(), 'mention')} would be added")
    return [Loss("words", text) for text in found]


def content(annotation: Annotation, like: Corpus) -> tuple[Sequence[object], list[Row]]:
    """The words or texts, and the mentions, in the units of the corpus `like`."""
    if like.unit == "character" and not like.without_text:
        units = list(texts_of(annotation))
        bodies: list[object] = [_spaced(str(unit.body)) for unit in units]
        return bodies, [
            (number, pieces, label) for number, unit in enumerate(units) for pieces, label in unit.mentions
        ]
    if like.unit == "token":
        annotation = in_tokens(annotation)
    corpus, mentions = annotation.corpus, annotation.mentions
    rows = list(zip(mentions.sentence.tolist(), mentions.pieces(), mentions.names(), strict=True))
    if like.without_text or corpus.without_text:
        return [None] * len(corpus), rows
    return [corpus.words(number) for number in range(len(corpus))], rows


def _spaced(text: str) -> str:
    """The text with each white-space character replaced by a blank, and trailing blanks removed."""
    return "".join(" " if character.isspace() else character for character in text).rstrip(" ")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _named(row: Row) -> str:
    sentence, pieces, label = row
    spans = " and ".join(f"[{start}, {end})" for start, end in pieces)
    return f"{label!r} {spans} in sentence {sentence + 1}"


# ---- one measure for each aspect: how much of it is lost in `again`, or in a file that holds none of it ----


def _words(annotation: Annotation, again: Annotation | None) -> Loss | None:
    corpus = annotation.corpus
    gone = not corpus.without_text and (again is None or again.corpus.without_text)
    return Loss("words", many(len(corpus.tokens), "word")) if gone and len(corpus.tokens) else None


def _white_space(annotation: Annotation, again: Annotation | None) -> Loss | None:
    texts = annotation.corpus.texts
    if texts is None or (again is not None and again.corpus.without_text):
        return None
    kept = None if again is None else again.corpus.texts
    if kept is None:
        kept = [" ".join(annotation.corpus.words(number)) for number in range(len(texts))]
    if len(kept) != len(texts):
        return None  # which `changes` reports
    number = sum(text != other for text, other in zip(texts, kept, strict=True))
    return Loss("white space", f"the white space of {many(number, 'text')}") if number else None


def _tokens(annotation: Annotation, again: Annotation | None) -> Loss | None:
    if again is None or annotation.corpus.without_text or again.corpus.without_text:
        return None  # how a text is divided is known only when it has been read
    if again.corpus.unit == "token":
        return None  # which `changes` reports
    kept = Counter(_token_spans(again.corpus))
    own = _token_spans(annotation.corpus) if annotation.corpus.unit == "character" else _written(annotation)
    lost = Counter(own) - kept
    return Loss("tokens", f"the borders of {many(lost.total(), 'token')}") if lost else None


def _token_spans(corpus: Corpus) -> list[tuple[int, int, int]]:
    """The number of each token's text, its start and its end."""
    assert corpus.token_start is not None and corpus.token_end is not None
    owner = np.repeat(np.arange(len(corpus)), corpus.lengths)
    return list(zip(owner.tolist(), corpus.token_start.tolist(), corpus.token_end.tolist(), strict=True))


def _written(annotation: Annotation) -> list[tuple[int, int, int]]:
    """The same for the tokens of sentences that are written as texts."""
    corpus, spans = annotation.corpus, []
    for number, (first, last) in enumerate(pairwise(_document_offsets(corpus))):
        start = 0
        for sentence in range(first, last):
            for word in corpus.words(sentence):
                spans.append((number, start, start + len(word)))
                start += len(word) + 1
            start += not corpus.lengths[sentence]
    return spans


def _document_offsets(corpus: Corpus) -> list[int]:
    return [0, len(corpus)] if corpus.documents is None else corpus.documents.tolist()


def _sentences(annotation: Annotation, again: Annotation | None) -> Loss | None:
    corpus = annotation.corpus
    joined = again is None or (again.corpus.unit == "character" and not again.corpus.without_text)
    number = len(corpus) - len(_document_offsets(corpus)) + 1
    if not joined or corpus.unit == "character" or number < 1:
        return None
    return Loss("sentences", _counted(number, "sentence boundary", "sentence boundaries"))


def _sentence_ids(annotation: Annotation, again: Annotation | None) -> Loss | None:
    ids = _informative_ids(annotation.corpus)
    kept = _rows_of(again, annotation, lambda corpus: corpus.ids)
    number = sum(name != other for name, other in zip(ids, kept, strict=False) if name)
    return Loss("sentence ids", many(number, "sentence id")) if number else None


def _informative_ids(corpus: Corpus) -> Sequence[str]:
    """The ids of sentences, unless they only count or repeat the names of their documents."""
    if corpus.ids is None or only_counting(corpus.ids):
        return ()
    alone = corpus.documents is not None and len(corpus.documents) == len(corpus) + 1
    return () if alone and tuple(corpus.document_ids or ()) == tuple(corpus.ids) else corpus.ids


def named_as_documents(annotation: Annotation) -> Annotation:
    """The annotation with one name for each text and its document, if it has only one of the two.

    Formats that write every text as a document of its own keep both in the same place.
    """
    corpus = annotation.corpus
    alone = corpus.documents is None or len(corpus.documents) == len(corpus) + 1
    if corpus.unit != "character" or not alone:
        return annotation
    ids = () if corpus.ids is None or only_counting(corpus.ids) else corpus.ids
    names = () if corpus.document_ids is None or only_counting(corpus.document_ids) else corpus.document_ids
    if all(ids) and ids and not names:
        documents = ints(np.arange(len(corpus) + 1))
        return replace(annotation, corpus=replace(corpus, documents=documents, document_ids=tuple(ids)))
    if all(names) and names and not ids and corpus.documents is not None:
        return replace(annotation, corpus=replace(corpus, ids=tuple(names)))
    return annotation


def _rows_of(
    again: Annotation | None, annotation: Annotation, which: Callable[[Corpus], Sequence[str] | None]
) -> Sequence[str]:
    """Names of the sentences of `again`, empty where it has none or other sentences."""
    size = len(annotation.corpus)
    names = None if again is None or len(again.corpus) != size else which(again.corpus)
    return [""] * size if names is None else names


def _documents(annotation: Annotation, again: Annotation | None) -> Loss | None:
    corpus = annotation.corpus
    if corpus.documents is None:
        return None
    borders = Counter(corpus.documents[1:-1].tolist())
    if again is None:
        kept: Counter[int] = Counter()
    elif len(again.corpus) == len(corpus) or again.corpus.unit == "token":
        kept = Counter(() if again.corpus.documents is None else again.corpus.documents[1:-1].tolist())
    else:  # each document was written as one text
        borders = Counter(range(1, len(corpus.documents) - 1))
        kept = Counter(() if again.corpus.documents is None else again.corpus.documents[1:-1].tolist())
    lost, gained = borders - kept, kept - borders
    if lost:
        text = _counted(lost.total(), "document boundary", "document boundaries")
        return Loss("documents", text)
    if gained and again is not None:
        text = _counted(gained.total(), "document boundary", "document boundaries")
        return Loss("documents", f"{text} would be added")
    return None


def _document_names(annotation: Annotation, again: Annotation | None) -> Loss | None:
    names = annotation.corpus.document_ids
    if annotation.corpus.documents is None or names is None or only_counting(names):
        return None
    kept = None if again is None or again.corpus.documents is None else again.corpus.document_ids
    if kept is None or len(kept) != len(names):
        kept = [""] * len(names)
    number = sum(name != other for name, other in zip(names, kept, strict=True) if name)
    return Loss("document names", many(number, "document name")) if number else None


def _nested(annotation: Annotation, again: Annotation | None) -> Loss | None:
    number = int((~is_flat(annotation.mentions) & ~has_gaps(annotation.mentions)).sum())
    if again is not None or not number:
        return None  # which `changes` reports
    return Loss("nested", many(number, "nested or overlapping mention"))


def _discontinuous(annotation: Annotation, again: Annotation | None) -> Loss | None:
    number = int(has_gaps(annotation.mentions).sum())
    if again is not None or not number:
        return None  # which `changes` reports
    return Loss("discontinuous", many(number, "discontinuous mention"))


def has_gaps(mentions: Mentions) -> Bools:
    """Which mentions have several pieces."""
    if mentions.parts is None:
        return np.zeros(len(mentions), dtype=bool)
    return np.asarray(np.diff(mentions.parts.at) > 1)


def is_flat(mentions: Mentions) -> Bools:
    """Which mentions belong to a set without overlaps, chosen greedily from the longest down.

    Mentions with gaps do not.
    """
    taken: dict[int, list[tuple[int, int]]] = {}  # by sentence, sorted and without overlaps
    chosen = np.zeros(len(mentions), dtype=bool)
    order = np.lexsort((np.arange(len(mentions)), mentions.start, -mentions.length))
    order = order[~has_gaps(mentions)[order]]
    spans = list(zip(mentions.sentence.tolist(), mentions.start.tolist(), mentions.end.tolist(), strict=True))
    for row in order.tolist():
        sentence, start, end = spans[row]
        own = taken.setdefault(sentence, [])
        index = bisect(own, (start, end))
        before = index == 0 or own[index - 1][1] <= start
        if start >= 0 and before and (index == len(own) or end <= own[index][0]):
            own.insert(index, (start, end))
            chosen[row] = True
    return chosen


def _scores(annotation: Annotation, again: Annotation | None) -> Loss | None:
    own = _by_row(annotation, again, annotation.mentions.score)
    lost = own - (Counter() if again is None else _by_row(again, again, again.mentions.score))
    return Loss("scores", many(lost.total(), "score")) if lost else None


def _by_row(annotation: Annotation, like: Annotation | None, values: Column | None) -> Counter[object]:
    """How often each mention, in the units of `like`, has each value."""
    if values is None:
        return Counter()
    try:
        _, rows = content(annotation, annotation.corpus if like is None else like.corpus)
    except InputError:
        rows = list(zip(range(len(values)), [()] * len(values), [""] * len(values), strict=True))
    listed = ((row, value) for row, value in zip(rows, values.tolist(), strict=True) if not _missing(value))
    return Counter((row, value if isinstance(value, float) else _plain(value)) for row, value in listed)


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


def _plain(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _fields(annotation: Annotation, again: Annotation | None) -> Loss | None:
    own = annotation.corpus.fields
    same = again is not None and len(again.corpus) == len(annotation.corpus)
    kept: Mapping[str, Column] = again.corpus.fields if again is not None and same else {}
    lost = [name for name, column in own.items() if _differ(column, kept.get(name))]
    return Loss("fields", listed(lost, "further field")) if lost else None


def _differ(column: Column, kept: Column | None) -> bool:
    values = column.tolist()
    others = [None] * len(values) if kept is None else kept.tolist()
    return any(
        _missing(value) != _missing(other) or (not _missing(value) and _plain(value) != _plain(other))
        for value, other in zip(values, others, strict=True)
    )


def _mention_fields(annotation: Annotation, again: Annotation | None) -> Loss | None:
    lost = []
    for name, column in annotation.mentions.fields.items():
        kept = None if again is None else again.mentions.fields.get(name)
        found = Counter() if again is None else _by_row(again, again, kept)
        if _by_row(annotation, again, column) - found:
            lost.append(name)
    return Loss("mention fields", listed(lost, "further field") + " of mentions") if lost else None


def _columns(annotation: Annotation, again: Annotation | None) -> Loss | None:
    kept = {} if again is None else again.corpus.columns
    lost = [name for name in annotation.corpus.columns if name not in kept]
    return Loss("columns", listed(lost, "further column") + " of tokens") if lost else None


def listed(names: Sequence[str], what: str) -> str:
    """How many of these there are, and what the first ones are called."""
    shown = [name if len(name) <= 30 else f"{name[:30]}…" for name in names]
    return f"{many(len(names), what)} ({', '.join([*shown[:5], *(['…'] if len(shown) > 5 else [])])})"


def _counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


_MEASURES: Mapping[str, Callable[[Annotation, Annotation | None], Loss | None]] = {
    "words": _words,
    "white space": _white_space,
    "tokens": _tokens,
    "sentences": _sentences,
    "sentence ids": _sentence_ids,
    "documents": _documents,
    "document names": _document_names,
    "nested": _nested,
    "discontinuous": _discontinuous,
    "scores": _scores,
    "fields": _fields,
    "mention fields": _mention_fields,
    "columns": _columns,
}
assert _MEASURES.keys() == ASPECTS.keys()
