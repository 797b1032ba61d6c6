"""What a test set is like before any system is run: sizes, labels, ζ, tough mentions, conflicts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from spanwise import __version__
from spanwise.attributes import (
    Attribute,
    Context,
    Lexicon,
    Toughness,
    Values,
    choose,
    mention_views,
    toughness,
    values,
    why_absent,
)
from spanwise.buckets import default_strategy, fit
from spanwise.columns import Bools, Codes, Ints, codes, ints, offsets, plain, ratio, run_positions
from spanwise.corpus import Annotation, Corpus, Mentions, with_one_vocabulary
from spanwise.counts import CrossTable
from spanwise.formats import read, stem_of

SCHEMA = 1
ALL = None  # the column of all mentions, beside those of tough subsets
_BLOCK = 1 << 20  # tokens that are hashed at once
_ODD = np.uint64(0x9E3779B97F4A7C15)
_STEP_ODD = np.uint64(0xBF58476D1CE4E5B9)
Known = tuple[int, int]  # number of a corpus and of a sentence in it


@dataclass(frozen=True, eq=False)
class Description:
    """A described test set; its document is the one that reports and `--json` show."""

    document: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The document as plain data."""
        return dict(self.document)

    def to_json(self) -> str:
        """The document as JSON."""
        return json.dumps(self.document, ensure_ascii=False, allow_nan=False, indent=1)


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
    gold = _annotation(test, reading)
    training = [_annotation(source, reading) for source in _listed(train)]
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
    gold_values = {key: values(one, context, gold.mentions) for key, one in there.items()}
    tough = None
    if not gold.corpus.without_text:
        tough = toughness(gold.corpus, gold.mentions, lexicon, context=context)
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
        dataset["conflicts"] = _conflicts(gold, training, tough, most=0 if redact else examples)
    inputs = [input_entry("gold", gold), *(input_entry("train", one) for one in training)]
    return Description({"spanwise": __version__, "schema": SCHEMA, "inputs": inputs, "dataset": dataset})


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
    known = KnownSentences([one.corpus for one in train]) if train else None
    return dataset_entry(
        name,
        [DatasetPart.of(gold, known, toughness)],
        documents=None if gold.corpus.documents is None else len(gold.corpus.documents) - 1,
        zeta=zeta,
        absent=absent,
    )


@dataclass(frozen=True, eq=False)
class DatasetPart:
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
            len(gold.corpus), int(gold.corpus.sentences[-1]), members_by_label(gold.mentions, tough), repeated
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


def members_by_label(mentions: Mentions, tough: Toughness | None) -> CrossTable:
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
    return _composition(members_by_label(mentions, tough))


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


class KnownSentences:
    """The sentences of training data, to find those that a test set repeats token by token."""

    def __init__(self, corpora: Sequence[Corpus]) -> None:
        parts = with_one_vocabulary(corpora)
        self._vocabulary = parts[0].vocabulary
        one = len(parts) == 1
        self._tokens = parts[0].tokens if one else codes(np.concatenate([part.tokens for part in parts]))
        self._sentences = offsets(np.concatenate([part.lengths for part in parts]))
        hashes = _sentence_hashes(self._tokens, self._sentences)
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    def count(self, test: Corpus) -> int:
        """How many sentences of a test set stand in the training data; empty ones are none."""
        tokens = self._recoded(test)
        hashes = _sentence_hashes(tokens, test.sentences)
        first = np.searchsorted(self._hashes, hashes)
        found = np.append(self._hashes, 0)[first] == hashes
        rows = np.flatnonzero(found & (first < len(self._hashes)) & (test.lengths > 0))
        # Equal hashes are looked at token by token, so that the count is exact.
        same = self._equal(tokens, test.sentences, rows, self._order[first[rows]])
        return int(same.sum()) + sum(
            self._stands(tokens[test.sentences[i] : test.sentences[i + 1]], hashes[i])
            for i in rows[~same].tolist()  # as good as never
        )

    def _recoded(self, test: Corpus) -> Codes:
        """The tokens in codes of the training vocabulary, -1 for words that it lacks."""
        if test.vocabulary is self._vocabulary:
            return test.tokens
        number = {word: code for code, word in enumerate(self._vocabulary)}
        table = np.array([number.get(word, -1) for word in test.vocabulary], dtype=np.int32)
        return codes(table[test.tokens])

    def _equal(self, tokens: Codes, sentences: Ints, rows: Ints, known: Ints) -> Bools:
        """Whether each of the sentences `rows` has the tokens of the training sentence `known` beside it."""
        size = sentences[rows + 1] - sentences[rows]
        same: Bools = np.asarray(size == self._sentences[known + 1] - self._sentences[known])
        rows, known, size = rows[same], known[same], size[same]
        mine = tokens[run_positions(sentences[rows], size)]
        theirs = self._tokens[run_positions(self._sentences[known], size)]
        differs = np.repeat(np.arange(len(rows)), size)[mine != theirs]
        same[np.flatnonzero(same)[differs]] = False
        return same

    def _stands(self, sentence: Codes, hashed: np.uint64) -> bool:
        """Whether any training sentence of this hash is the sentence."""
        first, last = (np.searchsorted(self._hashes, hashed, side=side) for side in ("left", "right"))
        return any(
            np.array_equal(self._tokens[self._sentences[i] : self._sentences[i + 1]], sentence)
            for i in self._order[first:last].tolist()
        )


def _sentence_hashes(tokens: Codes, sentences: Ints) -> npt.NDArray[np.uint64]:
    """A number for each sentence that is equal where all its tokens are, in blocks of bounded memory."""
    result = np.zeros(len(sentences) - 1, dtype=np.uint64)
    begin = 0
    while begin < len(result):
        end = max(begin + 1, int(np.searchsorted(sentences, sentences[begin] + _BLOCK, side="right")) - 1)
        starts = sentences[begin : end + 1]
        block = tokens[starts[0] : starts[-1]].astype(np.uint64) + np.uint64(1)
        place = np.arange(len(block)) - np.repeat(starts[:-1] - starts[0], np.diff(starts))
        with np.errstate(over="ignore"):
            mixed = (block * _ODD) ^ (block * _ODD >> np.uint64(29))
            mixed *= (place.astype(np.uint64) + np.uint64(1)) * _STEP_ODD | np.uint64(1)
            running = np.concatenate([[np.uint64(0)], np.cumsum(mixed, dtype=np.uint64)])
            result[begin:end] = running[starts[1:] - starts[0]] - running[starts[:-1] - starts[0]]
        begin = end
    return result


def _sentences(corpus: Corpus) -> list[bytes]:
    """Each sentence's codes as bytes: equal where all its tokens are."""
    whole, width = corpus.tokens.tobytes(), corpus.tokens.itemsize
    at = (corpus.sentences * width).tolist()
    return [whole[begin:end] for begin, end in pairwise(at)]


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


# --- conflicting annotations --------------------------------------------------------------------


def _conflicts(
    gold: Annotation, train: Sequence[Annotation], tough: Toughness, *, most: int
) -> dict[str, Any]:
    """Token sequences with two or more labels, and equal sentences annotated differently."""
    return {
        "labels": _differing_labels(gold, tough, most),
        "sentences": _shown(_differing_sentences(gold, train), most),
    }


def _differing_labels(gold: Annotation, tough: Toughness, most: int) -> dict[str, Any]:
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
    """The mentions of one sentence, such as `PER [0, 2); LOC [4, 5)`."""
    number, sentence = known
    mentions = annotations[number].mentions
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


def _shown(groups: Sequence[Sequence[tuple[str, str]]], most: int) -> dict[str, Any]:
    return {
        "groups": len(groups),
        "examples": [
            [{"place": place, "mentions": mentions} for place, mentions in group] for group in groups[:most]
        ],
    }


# --- reading ------------------------------------------------------------------------------------


def input_entry(role: str, annotation: Annotation) -> dict[str, Any]:
    """One of the `inputs` of a document: what was read, how, and what was mended on the way."""
    reading, corpus = annotation.reading, annotation.corpus
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
        "sentences": len(corpus),
        "tokens": int(corpus.sentences[-1]) or None,  # span files tell no lengths
        "mentions": len(annotation.mentions),
        "alignment": None,
    }


def _annotation(source: Any, reading: Mapping[str, Any]) -> Annotation:
    return source if isinstance(source, Annotation) else read(source, **reading)


def _listed(train: Any) -> Sequence[Any]:
    if train is None:
        return []
    return [train] if isinstance(train, str | Path | Annotation) else list(train)
