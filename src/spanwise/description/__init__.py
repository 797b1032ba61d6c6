"""What a test set is like before any system is run: sizes, labels, ζ, tough mentions, conflicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from hashlib import sha256
from operator import add
from typing import Any

import numpy as np
from msgspec import Struct, convert
from msgspec.structs import replace

from spanwise import __version__
from spanwise.attributes import (
    Attribute,
    Context,
    Lexicon,
    Toughness,
    Values,
    choose,
    toughness,
    values_of,
    why_absent,
)
from spanwise.buckets import default_strategy, fit
from spanwise.columns import ints, plain, ratio
from spanwise.corpus import Annotation, Mentions, Reading
from spanwise.counts import CrossTable
from spanwise.description._conflicts import conflicts
from spanwise.description._repeated import KnownSentences
from spanwise.document import Input
from spanwise.document.dataset import DatasetFacts, Description
from spanwise.formats import listed_sources, read, stem_of
from spanwise.registry import reach

__all__ = [
    "DatasetPart",
    "Description",
    "KnownSentences",
    "composition",
    "content_of",
    "dataset_document",
    "dataset_entry",
    "describe",
    "input_entry",
    "reading_entry",
]

ALL = None  # the column of all mentions, beside those of tough subsets


def describe(
    test: Any,
    *,
    train: Any = None,
    attributes: str | Attribute | Iterable[str | Attribute] = "all",
    vocabulary: Iterable[str] | None = None,
    lowercase: bool = False,
    name: str | None = None,
    examples: int = 20,
    redact: bool = False,
    **reading: Any,
) -> Description:
    """Describe a test set, beside its training data where they are given.

    Args:
        test: the gold file, or an annotation that was read.
        train: the training file, or several.
        attributes: those whose ζ (the mean over gold units) and buckets are wanted.
        vocabulary: known words, in place of the training vocabulary.
        lowercase: compare the strings of attributes in lower case; tough mentions stay as written.
        name: what to call the dataset; its file's stem without it.
        examples: how many conflicting annotations to show at most.
        redact: leave out all text.
        reading: how to read the files, as `spanwise.formats.read` takes it.
    """
    gold = read(test, **reading)
    training = [read(source, **reading) for source in listed_sources(train)]
    lexicon = Lexicon.of(training) if training else None
    context = Context(
        gold.corpus,
        gold.mentions,
        lexicon,
        known=None if vocabulary is None else frozenset(vocabulary),
        lowercase=lowercase,
    )
    chosen = choose(attributes)
    absent = {one.name: why for one in chosen if (why := why_absent(one, context)) is not None}
    there = {one.name: one for one in chosen if one.name not in absent}
    side = context.side(gold.mentions)
    gold_values = {key: values_of(one, side) for key, one in there.items()}
    tough = None
    if not gold.corpus.without_text:
        tough = toughness(gold.corpus, gold.mentions, lexicon, side=side)
    dataset = dataset_document(
        name or stem_of(gold.reading.path),
        gold,
        training,
        toughness=tough,
        zeta={key: one.zeta for key, one in gold_values.items() if one.kind == "numeric"},
        absent=absent,
    )
    dataset["attributes"] = {key: _attribute(there[key], one) for key, one in gold_values.items()}
    if tough is not None:
        most = 0 if redact else examples
        dataset["conflicts"] = conflicts(gold, training, tough, most=most)
        dataset["conflicts"]["variation"] = reach("suspicion:variation_places")(gold, training, most=most)
    inputs = [input_entry("gold", gold), *(input_entry("train", one) for one in training)]
    return Description(
        spanwise=__version__,
        inputs=convert(inputs, tuple[Input, ...]),
        dataset=convert(dataset, DatasetFacts),
    )


def dataset_document(
    name: str,
    gold: Annotation,
    train: Sequence[Annotation],
    *,
    toughness: Toughness | None,
    zeta: Mapping[str, float],
    absent: Mapping[str, str],
) -> dict[str, Any]:
    """The `dataset` of a result document: what can be said of the test set whatever the systems are."""
    known = KnownSentences.of(one.corpus for one in train) if train else None
    return dataset_entry(
        name,
        [DatasetPart.of(gold, known, toughness)],
        documents=None if gold.corpus.documents is None else len(gold.corpus.documents) - 1,
        zeta=zeta,
        absent=absent,
    )


class DatasetPart(Struct, frozen=True, eq=False):
    """What one part of a test set adds to the description of the whole."""

    sentences: int
    tokens: int
    members: CrossTable  # labels × (all mentions, tough subsets)
    repeated: int | None  # sentences that training data have too

    @classmethod
    def of(cls, gold: Annotation, known: KnownSentences | None, tough: Toughness | None) -> DatasetPart:
        """Count one part; `known` are the training sentences, where there are training data."""
        repeated = None if known is None or gold.corpus.without_text else known.count(gold.corpus)
        return cls(
            len(gold.corpus),
            int(gold.corpus.sentences[-1]),
            _members_by_label(gold.mentions, tough),
            repeated,
        )


def dataset_entry(
    name: str,
    parts: Sequence[DatasetPart],
    *,
    documents: int | None,
    zeta: Mapping[str, float],
    absent: Mapping[str, str],
) -> dict[str, Any]:
    """The `dataset` of a result document, from the counts of its parts."""
    members = reduce(add, [part.members for part in parts])
    sizes = _sizes(members)
    repeated = [part.repeated for part in parts if part.repeated is not None]
    return {
        "name": name,
        "sentences": sum(part.sentences for part in parts),
        "documents": documents,
        "tokens": sum(part.tokens for part in parts) or None,  # span files tell no lengths
        "mentions": sum(sizes.values()),
        "labels": sizes,
        "label_order": list(sizes),
        "tough": _composition(members) if len(members.columns) > 1 else None,
        "zeta": {key: plain(value) for key, value in zeta.items()},
        "absent": dict(absent),
        "duplicates_with_train": sum(repeated) if repeated else None,
    }


def _sizes(members: CrossTable) -> dict[str, int]:
    """How many mentions each label has, the most frequent first, equally frequent ones by name."""
    sizes = members.chosen(members.rows, [ALL])[:, 0].tolist()
    ranked = sorted(zip(map(str, members.rows), sizes, strict=True), key=lambda pair: (-pair[1], pair[0]))
    return {name: size for name, size in ranked if size}


def _members_by_label(mentions: Mentions, tough: Toughness | None) -> CrossTable:
    """How many mentions of each label there are, and in each tough subset."""
    subsets = () if tough is None else tough.subsets
    inside = np.ones((len(mentions), 1), dtype=bool)
    if tough is not None:
        inside = np.concatenate([inside, tough.member], axis=1)
    mention, column = np.nonzero(inside)
    label = mentions.label[mention].astype(np.int64)
    return CrossTable.of(mentions.labels, (ALL, *subsets), row=label, column=ints(column))


def composition(mentions: Mentions, tough: Toughness) -> dict[str, Any]:
    """Of each tough subset, how many mentions it holds and which share, of all and of each label.

    Examples:
        >>> mentions = Mentions.of([(0, 0, 1, "LOC"), (0, 1, 2, "LOC")])
        >>> composition(mentions, Toughness(("SEEN",), np.array([[True], [False]])))["SEEN"]["overall"]
        {'mentions': 1, 'share': 0.5}

    References:
        Tu and Lignos (2021), Tables 2 to 4.
    """
    return _composition(_members_by_label(mentions, tough))


def _composition(members: CrossTable) -> dict[str, Any]:
    sizes = _sizes(members)
    whole = sum(sizes.values())
    result: dict[str, Any] = {}
    for subset in members.columns[1:]:
        inside = members.chosen(list(sizes), [subset])[:, 0].tolist()
        result[str(subset)] = {
            "overall": _part(sum(inside), whole),
            "labels": {name: _part(number, sizes[name]) for name, number in zip(sizes, inside, strict=True)},
        }
    return result


def _part(part: int, whole: int) -> dict[str, Any]:
    return {"mentions": part, "share": plain(ratio(part, whole))}


def _attribute(attribute: Attribute, gold: Values) -> dict[str, Any]:
    """The buckets of the gold units of one attribute under its default strategy."""
    bucketing = fit(default_strategy(attribute), gold)
    counts = np.bincount(bucketing.assign(gold), minlength=len(bucketing)).tolist()
    return {
        "unit": attribute.unit,
        "kind": bucketing.kind,
        "strategy": bucketing.strategy,
        "zeta": plain(gold.zeta),
        "buckets": [
            {**bucket.to_dict(), "gold": count, "share": plain(ratio(count, len(gold)))}
            for bucket, count in zip(bucketing.buckets, counts, strict=True)
            if count or not bucket.rest
        ],
    }


def input_entry(role: str, annotation: Annotation) -> dict[str, Any]:
    """One of the `inputs` of a document: what was read, how, and what was fixed on the way."""
    corpus, reading = annotation.corpus, annotation.reading
    if role == "gold" and reading.sha256 is None:  # gold in memory is known by its content
        reading = replace(reading, sha256=content_of(annotation))
    return reading_entry(
        role,
        reading,
        sentences=len(corpus),
        tokens=int(corpus.sentences[-1]),
        mentions=len(annotation.mentions),
    )


def content_of(annotation: Annotation) -> str:
    """A hash of the words, sentences, documents and mentions of an annotation, whatever their codes.

    Two corpora with the same counts are not the same gold data.
    """
    corpus, mentions = annotation.corpus, annotation.mentions
    digest = sha256()
    used, place = np.unique(corpus.tokens, return_inverse=True)
    words = [sha256(corpus.vocabulary[code].encode("utf-8", "surrogatepass")).digest()[:8] for code in used]
    digest.update(np.frombuffer(b"".join(words), dtype=np.uint64)[place].tobytes())
    for text in corpus.texts or ():
        digest.update(text.encode("utf-8", "surrogatepass"))
    digest.update("\0".join(mentions.labels).encode("utf-8", "surrogatepass"))
    parts = (
        corpus.sentences,
        corpus.documents,
        mentions.sentence,
        mentions.start,
        mentions.end,
        mentions.label,
    )
    for part in parts:
        digest.update(b"|" if part is None else np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def reading_entry(
    role: str, reading: Reading, *, sentences: int, tokens: int, mentions: int
) -> dict[str, Any]:
    """The same from how a source was read and how much it holds."""
    return {
        "role": role,
        "path": reading.path,
        "sha256": reading.sha256,
        "format": reading.format,
        "scheme": reading.scheme,
        "evidence": reading.evidence,
        "repair": reading.repair,
        "repairs": reading.repairs,
        "notes": list(reading.notes),
        "sentences": sentences,
        "tokens": tokens or None,  # span files tell no lengths
        "mentions": mentions,
        "alignment": None,
    }
