"""What a test set is like before any system is run: sizes, labels, ζ, tough mentions, drift, conflicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from hashlib import sha256
from itertools import pairwise
from math import fsum
from operator import add
from typing import Any, SupportsFloat

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
    left_out,
    mention_views,
    toughness,
    values_of,
    why_absent,
)
from spanwise.buckets import Bucketing, default_strategy, fit
from spanwise.columns import Column, Floats, Ints, Words, floats, ints, plain, ratio
from spanwise.corpus import Annotation, Corpus, Mentions, Reading, with_one_vocabulary
from spanwise.counts import CrossTable
from spanwise.document import Input
from spanwise.document.dataset import DatasetFacts, Description
from spanwise.formats import listed_sources, read, stem_of
from spanwise.hashing import find_hashes, ordered_hashes, sequence_hashes, word_hashes
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
    engine: Any = None,
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
        engine: a Spark session, or its engine: Spark reads the files, and executors count them in blocks.
        reading: how to read the files, as `spanwise.formats.read` takes it.
    """
    if engine is not None:
        elsewhere: Description | None = reach("suspicion._describing:described_elsewhere")(
            test, train=train, engine=engine, attributes=attributes,
            vocabulary=None if vocabulary is None else frozenset(vocabulary), lowercase=lowercase, name=name,
            examples=examples, redact=redact, reading=reading,
        )  # fmt: skip
        if elsewhere is not None:
            return elsewhere
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
    if lexicon is not None:
        dataset["drift"] = drift(gold, lexicon, tough)
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
) -> dict[str, object]:
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


def composition(mentions: Mentions, tough: Toughness) -> dict[str, object]:
    """Of each tough subset, how many mentions it holds and which share, of all and of each label.

    Examples:
        >>> mentions = Mentions.of([(0, 0, 1, "LOC"), (0, 1, 2, "LOC")])
        >>> composition(mentions, Toughness(("SEEN",), np.array([[True], [False]])))["SEEN"]["overall"]
        {'mentions': 1, 'share': 0.5}

    References:
        Tu and Lignos (2021), Tables 2 to 4.
    """
    return _composition(_members_by_label(mentions, tough))


def _composition(members: CrossTable) -> dict[str, object]:
    sizes = _sizes(members)
    whole = sum(sizes.values())
    result: dict[str, object] = {}
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
    counts = np.bincount(bucketing.assign(gold), minlength=len(bucketing))
    return attribute_entry(attribute, bucketing, gold.zeta, ints(counts), len(gold))


def attribute_entry(
    attribute: Attribute, bucketing: Bucketing, zeta: float, counts: Ints, units: int
) -> dict[str, Any]:
    """The description of one attribute, from how many of its gold units lie in each bucket."""
    return {
        "unit": attribute.unit,
        "kind": bucketing.kind,
        "strategy": bucketing.strategy,
        "zeta": plain(zeta),
        "buckets": [
            {**bucket.to_dict(), "gold": count, "share": plain(ratio(count, units))}
            for bucket, count in zip(bucketing.buckets, counts.tolist(), strict=True)
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
) -> dict[str, object]:
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


# ---- drift: how far the test set lies from the training data ----


def drift(gold: Annotation, lexicon: Lexicon, tough: Toughness | None) -> dict[str, Any]:
    """How labels, lengths, unknown tokens and unseen mentions of a test set differ from the training data.

    Labels and lengths are compared with those of the training data. Unknown tokens and unseen mentions are
    compared with what each training document, or sentence where no documents are marked, would show if the
    rest were its training data.
    """
    seen: Counter[str] = Counter()
    for part in lexicon.parts:
        seen.update(part.mentions.names())
    sizes = Counter(gold.mentions.names())
    labels = {
        label: drift_pair(ratio(seen[label], seen.total()), ratio(number, len(gold.mentions)))
        for label, number in sorted(
            {**dict.fromkeys(seen, 0), **sizes}.items(), key=lambda item: (-item[1], item[0])
        )
    }
    found: dict[str, Any] = {"labels": labels, "label_distance": label_distance(labels)}
    parts = [(one.corpus, one.mentions) for one in lexicon.parts]
    if gold.corpus.without_text or any(corpus.without_text for corpus, _ in parts):
        return found
    test = [(gold.corpus, gold.mentions)]
    found["lengths"] = {
        name: _moved(np.concatenate([read(*one) for one in parts]), read(gold.corpus, gold.mentions))
        for name, read in LENGTHS.items()
        if all(len(read(*one)) for one in (*parts, *test))
    }
    rest = left_out(lexicon)
    found["left_out"] = rest.unit
    side = Context(gold.corpus, gold.mentions, lexicon)
    unknown = ratio(int(side.unknown.sum()), len(gold.corpus.tokens))
    found["unknown_tokens"] = drift_pair(ratio(rest.unknown, rest.tokens), unknown)
    if tough is not None:
        found["tough"] = {
            subset: drift_pair(
                ratio(number, rest.mentions), ratio(int(tough.of(subset).sum()), len(gold.mentions))
            )
            for subset, number in rest.subsets.items()
        }
    return found


def drift_pair(train: SupportsFloat, test: SupportsFloat) -> dict[str, float | None]:
    """The same share, or mean, in the training data and in the test set."""
    return {"train": plain(train), "test": plain(test)}


def label_distance(shares: Mapping[str, Mapping[str, float | None]]) -> float | None:
    """Half the sum of the differences: the share of mentions that would need another label."""
    differences = [
        abs(one["train"] - one["test"])
        for one in shares.values()
        if one["train"] is not None and one["test"] is not None
    ]
    return fsum(differences) / 2 if differences else None


def _sentence_lengths(corpus: Corpus, mentions: Mentions) -> Floats:
    return floats(corpus.lengths)


def _mention_lengths(corpus: Corpus, mentions: Mentions) -> Floats:
    values = values_of("entity_length", Context(corpus, mentions).side(mentions))
    return floats(values.value[values.defined])


def _mentions_per_sentence(corpus: Corpus, mentions: Mentions) -> Floats:
    return floats(np.bincount(mentions.sentence, minlength=len(corpus)))


LENGTHS = {
    "sentence_length": _sentence_lengths,
    "entity_length": _mention_lengths,
    "mentions_per_sentence": _mentions_per_sentence,
}


def _moved(train: Floats, test: Floats) -> dict[str, Any]:
    """Both means, and the largest difference of the two cumulative shares (Kolmogorov and Smirnov's D)."""
    values = np.union1d(train, test)
    shares = [np.searchsorted(np.sort(one), values, side="right") / len(one) for one in (train, test)]
    means = [fsum(one.tolist()) / len(one) for one in (train, test)]
    return {**drift_pair(*means), "distance": float(np.abs(shares[0] - shares[1]).max())}


# ---- conflicts: one name with two labels, one sentence annotated in two ways ----

Known = tuple[int, int]  # number of a corpus and of a sentence in it


def conflicts(
    gold: Annotation, train: Sequence[Annotation], tough: Toughness, *, most: int
) -> dict[str, Any]:
    """Token sequences with two or more labels, and equal sentences annotated differently."""
    return {
        "labels": _differing_labels(gold, tough, most),
        "sentences": _shown(_differing_sentences(gold, train), most),
    }


def _differing_labels(gold: Annotation, tough: Toughness, most: int) -> dict[str, object]:
    """Token sequences that carry two or more labels among the gold mentions, those with most doubt first."""
    confusable = gold.mentions.take(tough.of("TCM-ALL"))
    carried: dict[str, Counter[str]] = {}
    views = mention_views(Context(gold.corpus, confusable).side(confusable))
    for view in filter(None, views):
        carried.setdefault(" ".join(view.tokens), Counter())[view.label] += 1
    ranked = sorted(carried.items(), key=lambda item: (max(item[1].values()) - item[1].total(), item[0]))
    return {
        "sequences": len(carried),
        "mentions": len(confusable),
        "examples": [{"text": text, "labels": dict(counts.most_common())} for text, counts in ranked[:most]],
    }


def _differing_sentences(test: Annotation, train: Sequence[Annotation]) -> list[list[tuple[str, str]]]:
    """Groups of equal sentences, a test sentence among them, that are annotated in two or more ways.

    A sentence is given by its place and by its mentions as text.
    """
    annotations = [test, *train]
    corpora = with_one_vocabulary([annotation.corpus for annotation in annotations])
    met: dict[bytes, list[Known]] = {}
    for number, corpus in enumerate(corpora):
        for sentence, key in enumerate(_sentences(corpus)):
            if key and (number == 0 or key in met):
                met.setdefault(key, []).append((number, sentence))
    groups = []
    for places in met.values():
        if len(places) > 1:
            written = [(_place(annotations, place), _written(annotations, place)) for place in places]
            if len({mentions for _, mentions in written}) > 1:
                groups.append(written)
    return groups


def _place(annotations: Sequence[Annotation], known: Known) -> str:
    number, sentence = known
    return annotations[number].corpus.place(sentence)


def _written(annotations: Sequence[Annotation], known: Known) -> str:
    number, sentence = known
    return annotated(annotations[number], sentence)


def annotated(one: Annotation, sentence: int) -> str:
    """The mentions of one sentence, such as `PER [0, 2); LOC [4, 5)`."""
    mentions = one.mentions
    first, last = np.searchsorted(mentions.sentence, [sentence, sentence + 1]).tolist()
    rows = sorted(
        (start, end, mentions.labels[label])
        for start, end, label in zip(
            mentions.start[first:last].tolist(),
            mentions.end[first:last].tolist(),
            mentions.label[first:last].tolist(),
            strict=True,
        )
    )
    return "; ".join(f"{label} [{start}, {end})" for start, end, label in rows) or "none"


def _shown(groups: Sequence[Sequence[tuple[str, str]]], most: int) -> dict[str, object]:
    return {
        "groups": len(groups),
        "examples": [
            [{"place": place, "mentions": mentions} for place, mentions in group] for group in groups[:most]
        ],
    }


def _sentences(corpus: Corpus) -> list[bytes]:
    """Each sentence's codes as bytes: equal where all its tokens are."""
    whole, width = corpus.tokens.tobytes(), corpus.tokens.itemsize
    at = (corpus.sentences * width).tolist()
    return [whole[begin:end] for begin, end in pairwise(at)]


# ---- sentences of the test set that stand in the training data ----

_BLOCK = 1 << 16  # tokens that are hashed at once, so that they stay in the processor's cache


class KnownSentences(Struct, frozen=True, eq=False):
    """The sentences of training data, to find those that a test set repeats; those of parts add up."""

    hashes: Words  # of each distinct sentence, in order

    @classmethod
    def of(cls, corpora: Iterable[Corpus]) -> KnownSentences:
        """The sentences of some corpora."""
        words: tuple[Sequence[str], Words] | None = None
        parts = [np.zeros((0, 2), dtype=np.uint64)]
        for one in corpora:
            if words is None or words[0] is not one.vocabulary:
                words = one.vocabulary, word_hashes(one.vocabulary)
            parts.append(_sentence_hashes(words[1], one.tokens, one.sentences))
        return cls(ordered_hashes(np.concatenate(parts)))

    @classmethod
    def joined(cls, parts: Sequence[KnownSentences]) -> KnownSentences:
        """The sentences of all parts."""
        return cls(ordered_hashes(np.concatenate([part.hashes for part in parts])))

    def within(self, others: KnownSentences) -> KnownSentences:
        """Those that are among others too."""
        return KnownSentences(self.hashes[find_hashes(others.hashes, self.hashes) >= 0])

    def count(self, test: Corpus) -> int:
        """How many sentences of a test set stand in the training data; empty ones are none."""
        used = np.zeros(len(test.vocabulary), dtype=bool)
        used[test.tokens] = True
        words = np.zeros((len(used), 2), dtype=np.uint64)
        words[used] = word_hashes([test.vocabulary[code] for code in np.flatnonzero(used).tolist()])
        hashes = _sentence_hashes(words, test.tokens, test.sentences)[test.lengths > 0]
        return int(np.count_nonzero(find_hashes(self.hashes, hashes) >= 0))


def sentence_hashes(corpus: Corpus) -> Words:
    """The content of each sentence of a corpus as 128 bits, whatever codes its tokens have."""
    return _sentence_hashes(word_hashes(corpus.vocabulary), corpus.tokens, corpus.sentences)


def _sentence_hashes(words: Words, tokens: Column, sentences: Ints) -> Words:
    """The content of each sentence as 128 bits, in blocks of bounded memory."""
    result = np.zeros((len(sentences) - 1, 2), dtype=np.uint64)
    begin = 0
    while begin < len(result):
        end = max(begin + 1, int(np.searchsorted(sentences, sentences[begin] + _BLOCK, side="right")) - 1)
        starts = sentences[begin : end + 1]
        result[begin:end] = sequence_hashes(words[tokens[starts[0] : starts[-1]]], starts - starts[0])
        begin = end
    return result
