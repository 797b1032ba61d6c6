"""The description of the dataset and inputs in every result: sizes, labels, tough mentions, repetition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import add

import numpy as np
from msgspec import UNSET, Struct
from msgspec.structs import replace

from spanwise.attributes import Toughness
from spanwise.columns import Bools, Column, Ints, Words, codes, ints, offsets, plain, ratio
from spanwise.corpus import Annotation, Corpus, Mentions, Reading
from spanwise.counts import CrossTable
from spanwise.document import Input
from spanwise.hashing import find_hashes, ordered_hashes, sequence_hashes, sha256, word_hashes

__all__ = [
    "DatasetPart",
    "SentenceHashes",
    "content_of",
    "copies_in",
    "dataset_document",
    "dataset_entry",
    "input_entry",
    "reading_entry",
    "sentence_hashes",
]


ALL = None  # the column for all mentions, next to those for tough subsets


def dataset_document(
    name: str,
    gold: Annotation,
    train: Sequence[Annotation],
    *,
    toughness: Toughness | None,
    zeta: Mapping[str, float],
    absent: Mapping[str, str],
) -> dict[str, object]:
    """The `dataset` entry of a result document: facts about the test set, not the systems."""
    training = SentenceHashes.of(annotation.corpus for annotation in train) if train else None
    return dataset_entry(
        name,
        [DatasetPart.of(gold, training, toughness)],
        documents=None if gold.corpus.documents is None else len(gold.corpus.documents) - 1,
        zeta=zeta,
        absent=absent,
    )


class DatasetPart(Struct, frozen=True, eq=False):
    """What one part of a test set contributes to the description of the whole."""

    sentences: int
    tokens: int
    members: CrossTable  # labels × (all mentions, tough subsets)
    repeated: int | None  # sentences that also occur in the training data
    hashes: Words | None  # of each sentence, 0 if it is empty; None without text, or if there are too many

    @classmethod
    def of(
        cls, gold: Annotation, training_sentences: SentenceHashes | None, tough: Toughness | None
    ) -> DatasetPart:
        """Count one part; `training_sentences` is None if there are no training data."""
        repeated = (
            None
            if training_sentences is None or gold.corpus.without_text
            else training_sentences.count(gold.corpus)
        )
        return cls(
            len(gold.corpus),
            int(gold.corpus.sentences[-1]),
            _members_by_label(gold.mentions, tough),
            repeated,
            None if gold.corpus.without_text else _numbers_of(gold.corpus),
        )

    def inside(self, subset: str) -> int:
        """How many mentions are in a tough subset."""
        return int(self.members.chosen(self.members.rows, [subset]).sum())


def dataset_entry(
    name: str,
    parts: Sequence[DatasetPart],
    *,
    documents: int | None,
    zeta: Mapping[str, float],
    absent: Mapping[str, str],
) -> dict[str, object]:
    """The `dataset` entry of a result document, from the counts of its parts."""
    members = reduce(add, [part.members for part in parts])
    sizes = _sizes(members)
    repeated = [part.repeated for part in parts if part.repeated is not None]
    return {
        "name": name,
        "sentences": sum(part.sentences for part in parts),
        "documents": documents,
        "tokens": sum(part.tokens for part in parts) or None,  # unknown for span files
        "mentions": sum(sizes.values()),
        "labels": sizes,
        "label_order": list(sizes),
        "tough": _composition(members) if len(members.columns) > 1 else None,
        "zeta": {key: plain(value) for key, value in zeta.items()},
        "absent": dict(absent),
        "duplicates_with_train": sum(repeated) if repeated else None,
        "duplicates": None if (copies := copies_in(parts)) is None else int(copies.sum()),
    }


MOST_COMPARED = 200_000  # sentences; of more, copies are not looked for


def copies_in(parts: Sequence[DatasetPart]) -> Bools | None:
    """Which sentences of a test set repeat an earlier one; None if that is not known."""
    hashes = [part.hashes for part in parts if part.hashes is not None]
    if len(hashes) < len(parts) or sum(part.sentences for part in parts) > MOST_COMPARED:
        return None
    joined = np.concatenate(hashes)
    copies = np.ones(len(joined), dtype=bool)
    copies[np.unique(joined, return_index=True)[1]] = False
    return np.asarray(copies & (joined != 0))


def _numbers_of(corpus: Corpus) -> Words | None:
    """A hash of each sentence in one number, 0 for empty ones; None if there are too many."""
    if len(corpus) > MOST_COMPARED:
        return None
    return np.where(corpus.lengths > 0, _hashes_of(corpus)[:, 0] | np.uint64(1), np.uint64(0))


def _sizes(members: CrossTable) -> dict[str, int]:
    """How many mentions each label has, the most frequent first, ties by name."""
    sizes = members.chosen(members.rows, [ALL])[:, 0].tolist()
    ranked = sorted(zip(map(str, members.rows), sizes, strict=True), key=lambda pair: (-pair[1], pair[0]))
    return {name: size for name, size in ranked if size}


def _members_by_label(mentions: Mentions, tough: Toughness | None) -> CrossTable:
    """How many mentions each label has, overall and in each tough subset."""
    subsets = () if tough is None else tough.subsets
    inside = np.ones((len(mentions), 1), dtype=bool)
    if tough is not None:
        inside = np.concatenate([inside, tough.member], axis=1)
    mention, column = np.nonzero(inside)
    label = mentions.label[mention].astype(np.int64)
    return CrossTable.of(mentions.labels, (ALL, *subsets), row=label, column=ints(column))


def _composition(members: CrossTable) -> dict[str, object]:
    """The number and share of mentions in each tough subset, overall and by label.

    References:
        Tu and Lignos (2021), Tables 2 to 4.
    """
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


def _part(part: int, whole: int) -> dict[str, float | None]:
    return {"mentions": part, "share": plain(ratio(part, whole))}


# ---- what was read ----


def input_entry(role: str, annotation: Annotation) -> Input:
    """One entry of a document's `inputs`: what was read, how, and what was repaired on the way."""
    corpus, reading = annotation.corpus, annotation.reading
    if role == "gold" and reading.sha256 is None:  # gold in memory is identified by its content
        reading = replace(reading, sha256=content_of([annotation]))
    return reading_entry(
        role,
        reading,
        sentences=len(corpus),
        tokens=int(corpus.sentences[-1]),
        mentions=len(annotation.mentions),
    )


def reading_entry(role: str, reading: Reading, *, sentences: int, tokens: int, mentions: int) -> Input:
    """Like `input_entry`, given how a source was read and how much it contains."""
    return Input(
        role=role,
        path=reading.path,
        sha256=reading.sha256,
        format=reading.format,
        scheme=reading.scheme,
        evidence=reading.evidence,
        repair=reading.repair,
        repairs=reading.repairs,
        notes=reading.notes,
        sentences=sentences,
        tokens=tokens or None,  # unknown for span files
        mentions=mentions,
        paired=reading.paired or UNSET,
        merged=reading.counted(reading.merged),
        dropped=reading.counted(reading.dropped),
    )


def content_of(parts: Iterable[Annotation]) -> str:
    """A hash of the words, sentences, documents and mentions of an annotation, whatever their codes are.

    Corpora with equal counts may still be different gold data. An annotation split into `parts` has the
    same hash as the whole; parts that have texts are iterated over twice.
    """
    digest = sha256()
    lengths: list[Ints] = []
    documents: list[Ints] | None = []
    mentions: list[Mentions] = []
    has_texts = False
    for part in parts:
        corpus = part.corpus
        if not corpus.without_text:
            digest.update(_word_hashes(corpus).tobytes())
        before = sum(map(len, lengths))
        lengths.append(corpus.lengths)
        mentions.append(replace(part.mentions, sentence=ints(part.mentions.sentence + before)))
        starts = corpus.documents
        documents = None if starts is None or documents is None else [*documents, ints(starts[:-1] + before)]
        has_texts |= corpus.texts is not None
    for part in parts if has_texts else ():
        for text in part.corpus.texts or ():
            digest.update(text.encode("utf-8", "surrogatepass"))
    labels = (
        mentions[0].labels
        if len(mentions) == 1
        else sorted({name for mention in mentions for name in mention.labels})
    )
    digest.update("\0".join(labels).encode("utf-8", "surrogatepass"))
    sentences = offsets(np.concatenate(lengths))
    code = {label: number for number, label in enumerate(labels)}
    columns = (
        sentences,
        None if documents is None else ints(np.concatenate([*documents, [len(sentences) - 1]])),
        *(
            np.concatenate([getattr(mention, name) for mention in mentions])
            for name in ("sentence", "start", "end")
        ),
        np.concatenate(
            [codes([code[name] for name in mention.labels])[mention.label] for mention in mentions]
        ),
    )
    for column in columns:
        digest.update(b"|" if column is None else np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def _word_hashes(corpus: Corpus) -> Words:
    """A hash of each token."""
    used = np.flatnonzero(np.bincount(corpus.tokens))
    words = [
        sha256(corpus.vocabulary[code].encode("utf-8", "surrogatepass")).digest()[:8]
        for code in used.tolist()
    ]
    table = np.zeros(int(used.max(initial=-1)) + 1, dtype=np.uint64)
    table[used] = np.frombuffer(b"".join(words), dtype=np.uint64)
    return np.asarray(table[corpus.tokens])


# ---- sentences of the test set that occur in the training data ----


_BLOCK = 1 << 16  # tokens hashed at once, so that they stay in the processor's cache


class SentenceHashes(Struct, frozen=True, eq=False):
    """The sentences of training data, to find those that a test set repeats; parts can be joined."""

    hashes: Words  # of each distinct sentence, in order

    @classmethod
    def of(cls, corpora: Iterable[Corpus]) -> SentenceHashes:
        """The sentences of these corpora."""
        words: tuple[Sequence[str], Words] | None = None
        parts = [np.zeros((0, 2), dtype=np.uint64)]
        for corpus in corpora:
            if words is None or words[0] is not corpus.vocabulary:
                words = corpus.vocabulary, word_hashes(corpus.vocabulary)
            parts.append(_sentence_hashes(words[1], corpus.tokens, corpus.sentences))
        return cls(ordered_hashes(np.concatenate(parts)))

    @classmethod
    def joined(cls, parts: Sequence[SentenceHashes]) -> SentenceHashes:
        """The sentences of all parts."""
        return cls(ordered_hashes(np.concatenate([part.hashes for part in parts])))

    def within(self, others: SentenceHashes) -> SentenceHashes:
        """The sentences that are also in `others`."""
        return SentenceHashes(self.hashes[find_hashes(others.hashes, self.hashes) >= 0])

    def count(self, test: Corpus) -> int:
        """How many sentences of a test set occur in the training data; empty ones do not count."""
        hashes = _hashes_of(test)[test.lengths > 0]
        return int(np.count_nonzero(find_hashes(self.hashes, hashes) >= 0))


def _hashes_of(corpus: Corpus) -> Words:
    """Like `sentence_hashes`, for a corpus that uses few of the words of its vocabulary."""
    used = np.zeros(len(corpus.vocabulary), dtype=bool)
    used[corpus.tokens] = True
    words = np.zeros((len(used), 2), dtype=np.uint64)
    words[used] = word_hashes([corpus.vocabulary[code] for code in np.flatnonzero(used).tolist()])
    return _sentence_hashes(words, corpus.tokens, corpus.sentences)


def sentence_hashes(corpus: Corpus) -> Words:
    """A 128-bit hash of each sentence of a corpus, whatever the codes of its tokens are."""
    return _sentence_hashes(word_hashes(corpus.vocabulary), corpus.tokens, corpus.sentences)


def _sentence_hashes(words: Words, tokens: Column, sentences: Ints) -> Words:
    """A 128-bit hash of each sentence, computed in blocks to limit memory."""
    result = np.zeros((len(sentences) - 1, 2), dtype=np.uint64)
    begin = 0
    while begin < len(result):
        end = max(begin + 1, int(np.searchsorted(sentences, sentences[begin] + _BLOCK, side="right")) - 1)
        starts = sentences[begin : end + 1]
        hashes = words.take(tokens[starts[0] : starts[-1]], axis=0)  # far faster than indexing
        result[begin:end] = sequence_hashes(hashes, starts - starts[0])
        begin = end
    return result
