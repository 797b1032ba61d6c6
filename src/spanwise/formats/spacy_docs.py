"""spaCy documents: `.spacy` files, DocBin, and lists of Doc or Example, with entities or a span group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from spanwise.corpus import Annotation, Corpus, Pieces
from spanwise.errors import ChoiceError, InputError, MissingExtra, at, many
from spanwise.formats._format import Format, JsonRecord, Limits, Options
from spanwise.formats._opening import File
from spanwise.formats._sentences import (
    Origin,
    Record,
    annotation,
    by_sentence,
    columns_of,
    only_piece,
    plain,
    scores_by_sentence,
    tokens_for,
)
from spanwise.formats.holding import listed

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, SpanGroup
    from spacy.vocab import Vocab


def accepts(source: object) -> bool:
    """Whether the object is a Doc, DocBin, Example or a list of Docs or Examples, without importing spaCy."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(_kind(item) in ("Doc", "Example") for item in source)
    return _kind(source) in ("Doc", "DocBin", "Example")


def are_examples(source: object) -> bool:
    """Whether the object is an Example, which holds gold and predictions, or a list of them."""
    listed = source if isinstance(source, list | tuple) else [source]
    return bool(listed) and all(_kind(item) == "Example" for item in listed)


def _kind(source: object) -> str | None:
    kind = type(source)
    return kind.__name__ if kind.__module__.partition(".")[0] == "spacy" else None


def read(source: object, options: Options) -> Annotation:
    """Read the entities of each document, or the spans of the group given as `tag_column`, such as "sc".

    Of an Example, the reference is read. Sentences are those of the document; if it has no sentence
    boundaries, or an entity crosses one, the document is a single sentence.
    """
    return _annotation(source, options, "reference")


def read_layers(source: object, options: Options) -> dict[str, Annotation]:
    """Read gold from the reference side of Examples and predictions from the predicted side."""
    if isinstance(source, File):
        raise ChoiceError("a .spacy file holds one annotation.\nGive gold and predictions as two files.")
    return {
        "gold": _annotation(source, options, "reference"),
        "predicted": _annotation(source, options, "predicted"),
    }


def _annotation(source: object, options: Options, side: str) -> Annotation:
    path = source.path if isinstance(source, File) else f"<{_kind(source) or 'spaCy'} documents>"
    units: list[Record] = []
    kept: list[JsonRecord] = []
    docs = list(_docs(source, side, options.limits))
    # Both sides of an Example use the sentences of the reference, so that they can be compared.
    gold = list(_docs(source, "reference", options.limits)) if are_examples(source) else docs
    others = list(_docs(source, "predicted", options.limits)) if are_examples(source) else docs
    group = str(options.tag_column) if options.tag_column is not None else _group(gold)
    for number, (doc, reference, predicted) in enumerate(zip(docs, gold, others, strict=True), start=1):
        name = f"document {number}"
        borders = _borders(reference, predicted, group, name, path)
        units.extend(_sentences(doc, borders, group, name, path))
        kept.extend(_kept(doc, units, len(kept)))
    digest = source.sha256 if isinstance(source, File) else None
    evidence = "entities" if group == "ents" else f"spans of the group {group!r}"
    result = annotation(units, Origin(path, "spacy", evidence, digest), options)
    fields = columns_of(kept) if options.further else {}
    return replace(result, corpus=replace(result.corpus, fields=fields)) if fields else result


def _kept(doc: Doc, units: list[Record], first: int) -> list[JsonRecord]:
    """The further fields of the sentences of a document, which also get the names that it stores for them."""
    size = len(units) - first
    stored = doc.user_data.get(_STORED)
    if not isinstance(stored, Mapping):
        return [{}] * size
    ids = stored.get("ids")
    if isinstance(ids, list | tuple) and len(ids) == size:
        units[first:] = [replace(unit, id=str(name)) for unit, name in zip(units[first:], ids, strict=True)]
    if "document" in stored:
        name = stored["document"]
        units[first:] = [
            replace(unit, document=None if name is None else str(name)) for unit in units[first:]
        ]
    fields = stored.get("fields")
    if not isinstance(fields, list | tuple) or len(fields) != size:
        return [{}] * size
    return [dict(own) if isinstance(own, Mapping) else {} for own in map(plain, fields)]


_STORED = "spanwise"  # the key of a document's user data with what spaCy has no place for


def _group(docs: Sequence[Doc]) -> str:
    """The group that holds the mentions: "sc" if all documents have it and no entities, else "ents"."""
    return "sc" if docs and all("sc" in doc.spans and not doc.ents for doc in docs) else "ents"


def _docs(source: Any, side: str, limits: Limits) -> list[Doc]:
    if isinstance(source, File):
        spacy = _spacy()
        stored = source.stored
        _check_size(stored, source.path, limits)
        try:
            packed = spacy.tokens.DocBin().from_bytes(stored)
        except Exception as error:  # zlib, msgpack and spaCy each raise their own errors
            raise InputError(
                at(
                    source.path,
                    None,
                    f"this is not a file of spaCy documents ({error}).\nWrite it with DocBin.to_disk.",
                )
            ) from None
        return list(packed.get_docs(spacy.vocab.Vocab()))
    if _kind(source) == "DocBin":
        return list(source.get_docs(_spacy().vocab.Vocab()))
    listed = source if isinstance(source, (list, tuple)) else [source]
    return [getattr(item, side) if _kind(item) == "Example" else item for item in listed]


def _check_size(stored: bytes, path: str, limits: Limits) -> None:
    """Refuse a file that unpacks to more bytes than allowed, before spaCy unpacks all of it."""
    import zlib

    unpacking, size, rest = zlib.decompressobj(), 0, stored
    try:
        while rest and not unpacking.eof:
            size += len(unpacking.decompress(rest, 1 << 24))
            rest = unpacking.unconsumed_tail
            if size > limits.unpacked:
                raise InputError(limits.passed(path, "the file unpacks to too many bytes", "unpacked"))
    except zlib.error:
        return  # spaCy will report the error


def _spacy() -> ModuleType:
    try:
        import spacy
        import spacy.tokens
        import spacy.vocab
    except ImportError:
        raise MissingExtra.of("spacy", "spacy", "reading or writing spaCy documents") from None
    return spacy


def _listed(doc: Doc, group: str, name: str, path: str) -> Sequence[Span] | SpanGroup:
    """The entities of a document, or the spans of one of its groups."""
    if group != "ents" and group not in doc.spans:
        available = ", ".join(["ents", *doc.spans])
        raise InputError(at(path, None, f"{name} has no group of spans {group!r}.\nThere are: {available}."))
    return doc.ents if group == "ents" else doc.spans[group]


def _borders(reference: Doc, predicted: Doc, group: str, name: str, path: str) -> list[int]:
    """The starts of a document's sentences and the end of the last; no mention of either side crosses one.

    Empty if there are no such borders, so that the document is a single sentence.
    """
    if not reference.has_annotation("SENT_START"):
        return []
    if reference is not predicted and [token.text for token in reference] != [
        token.text for token in predicted
    ]:
        return []
    starts = {sentence.start for sentence in reference.sents}
    for doc in (reference, predicted):
        for span in _listed(doc, group, name, path):
            if starts & set(range(span.start + 1, span.end)):
                return []
    return [*sorted(starts), len(reference)]


def _sentences(doc: Doc, borders: Sequence[int], group: str, name: str, path: str) -> list[Record]:
    listed = _listed(doc, group, name, path)
    spans = [(span.start, span.end, span.label_) for span in listed]
    scores = _scores_of_ents(doc) if group == "ents" else _scores(doc.spans[group], group, name, path)
    words = [token.text for token in doc]
    units = []
    for first, last in pairwise(borders or [0, len(doc)]):
        chosen = [at for at, (start, _, _) in enumerate(spans) if first <= start < last]
        inside: list[tuple[Pieces, str]] = [
            (((start - first, end - first),), label) for start, end, label in (spans[at] for at in chosen)
        ]
        chosen_scores = [scores[at] for at in chosen] if scores else []
        units.append(Record(words[first:last], inside, document=name, scores=chosen_scores))
    return units


def _scores(listed: SpanGroup, group: str, name: str, path: str) -> list[float]:
    """The scores that spaCy's span categorizer stores with a group of spans; empty if there are none."""
    stored = listed.attrs.get("scores")
    if stored is None:
        return []
    scores = [float(score) for score in stored]
    if len(scores) != len(listed):
        raise InputError(
            at(path, None, f"{name} has {many(len(listed), 'span')} of the group {group!r}, but "
               f"{many(len(scores), 'score')}.\nGive one score for each span.")
        )  # fmt: skip
    return scores


def _scores_of_ents(doc: Doc) -> list[float]:
    """The scores of entities, if the group "sc" holds the same spans with scores."""
    if "sc" not in doc.spans:
        return []
    group = doc.spans["sc"]
    stored = group.attrs.get("scores")
    if not isinstance(stored, list | tuple) or len(stored) != len(group):
        return []
    by_span = {
        (span.start, span.end, span.label): float(score) for span, score in zip(group, stored, strict=True)
    }
    keys = [(span.start, span.end, span.label) for span in doc.ents]
    return [by_span[key] for key in keys] if set(keys) == set(by_span) else []


def unread_of_docs(source: File, options: Options) -> Iterator[str]:
    """Descriptions of what documents hold beside their words, sentences and mentions."""
    docs = _docs(source, "reference", options.limits)
    group = str(options.tag_column) if options.tag_column is not None else _group(docs)
    layers = {name: None for name in _LAYERS if any(doc.has_annotation(name) for doc in docs)}
    if layers:
        yield listed([*layers], "further layer") + " of tokens"
    spaced = sum(any(not token.whitespace_ for token in doc[:-1]) for doc in docs)
    if spaced:
        yield f"the white space of {many(spaced, 'text')}"
    others: Counter[str] = Counter()
    for doc in docs:
        read = {group, "sc"} if group == "ents" and _scores_of_ents(doc) else {group}
        spans = {"ents": len(doc.ents), **{name: len(own) for name, own in doc.spans.items()}}
        others.update({name: number for name, number in spans.items() if number and name not in read})
    for name, number in others.items():
        yield f"{many(number, 'span')} of the group {name!r}"
    listed_spans = [span for doc in docs for span in (doc.ents if group == "ents" else doc.spans[group])]
    identifiers = sum(bool(span.kb_id or span.ent_id) for span in listed_spans)
    if identifiers:
        yield many(identifiers, "identifier") + " of mentions"
    if categories := sum(len(doc.cats) for doc in docs):
        yield many(categories, "label") + " of texts"
    data = {str(key[1] if isinstance(key, tuple) else key): None for doc in docs for key in doc.user_data}
    if further := [name for name in data if name != _STORED]:
        yield listed(further, "further field")


_LAYERS = ("TAG", "POS", "MORPH", "LEMMA", "DEP")  # annotation of tokens


def write(annotation: Annotation, scheme: str | None) -> bytes:
    """The bytes of a DocBin with one Doc per document (or sentence).

    Mentions are entities or, if any of them overlap, spans of the group "sc"; this group also holds the
    scores. Names and further fields are in the user data.
    """
    annotation = tokens_for(annotation, "spacy", empty=False)
    spacy = _spacy()
    vocab = spacy.vocab.Vocab()
    corpus = annotation.corpus
    borders = range(len(corpus) + 1) if corpus.documents is None else corpus.documents.tolist()
    rows = by_sentence(annotation)
    scores = scores_by_sentence(annotation)
    docs = [_doc(spacy, vocab, corpus, rows, range(first, last)) for first, last in pairwise(borders)]
    flat = all(former.end <= latter.start for _, spans in docs for former, latter in pairwise(spans))
    attributes = ["ORTH", "SPACY", "SENT_START", "ENT_IOB", "ENT_TYPE"]
    packed = spacy.tokens.DocBin(attrs=attributes, store_user_data=True)
    for number, ((doc, spans), (first, last)) in enumerate(zip(docs, pairwise(borders), strict=True)):
        if flat:
            doc.set_ents(spans)
        if not flat or annotation.mentions.score is not None:
            doc.spans["sc"] = spans
        if annotation.mentions.score is not None:
            doc.spans["sc"].attrs["scores"] = _in_order(rows, scores, range(first, last))
        doc.user_data[_STORED] = _stored(corpus, number, range(first, last))
        packed.add(doc)
    data: bytes = packed.to_bytes()
    return data


def _in_order(
    rows: Sequence[Sequence[tuple[Pieces, str]]], scores: Sequence[Sequence[float]], sentences: Sequence[int]
) -> list[float]:
    """The scores of a document's mentions, in the order of its spans."""
    listed = []
    for sentence in sentences:
        pairs = zip(rows[sentence], scores[sentence], strict=True)
        listed += [(sentence, pieces[0], label, score) for (pieces, label), score in pairs]
    return [score for *_, score in sorted(listed, key=lambda row: row[:3])]


def _stored(corpus: Corpus, number: int, sentences: Sequence[int]) -> dict[str, object]:
    """What spaCy has no place for: the name of a document, and the ids and fields of its sentences."""
    name = None
    if corpus.documents is not None:
        name = str(number + 1) if corpus.document_ids is None else corpus.document_ids[number]
    stored: dict[str, object] = {"document": name}
    if corpus.ids is not None:
        stored["ids"] = [corpus.ids[sentence] for sentence in sentences]
    if corpus.fields:
        stored["fields"] = [
            {
                key: plain(column[sentence])
                for key, column in corpus.fields.items()
                if column[sentence] is not None
            }
            for sentence in sentences
        ]
    return stored


def _doc(
    spacy: ModuleType,
    vocab: Vocab,
    corpus: Corpus,
    rows: Sequence[Sequence[tuple[Pieces, str]]],
    sentences: Sequence[int],
) -> tuple[Doc, list[Span]]:
    """A Doc and its sorted spans, which are not yet set on it."""
    words: list[str] = []
    starts: list[bool] = []
    spans: list[tuple[int, int, str]] = []
    for sentence in sentences:
        for pieces, label in rows[sentence]:
            start, end = only_piece(pieces, label, Record("", id=f"sentence {sentence + 1}"), "spacy")
            spans.append((len(words) + start, len(words) + end, label))
        tokens = corpus.words(sentence)
        starts += [index == 0 for index in range(len(tokens))]
        words += tokens
    doc = spacy.tokens.Doc(vocab, words=words, sent_starts=starts)
    return doc, [spacy.tokens.Span(doc, start, end, label=label) for start, end, label in sorted(spans)]


def recognise(file: File) -> str | None:
    """Recognise the suffix .spacy."""
    return "the suffix .spacy" if file.suffix == ".spacy" and not file.is_folder else None


FORMAT = Format(
    name="spacy",
    summary="spaCy's .spacy files, DocBin, Doc and Example",
    read=read,
    read_layers=read_layers,
    write=write,
    recognise=recognise,
    suffixes=(".spacy",),
    accepts=accepts,
    layered=are_examples,
    source="https://spacy.io/api/docbin",
    holds=frozenset(
        (
            "words",
            "tokens",
            "sentences",
            "sentence ids",
            "documents",
            "document names",
            "nested",
            "scores",
            "fields",
        )
    ),
)
