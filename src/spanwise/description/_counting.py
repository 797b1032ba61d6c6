"""Count blocks of a test set and its training data for the description: sums, and hashes of content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from msgspec import Struct

from spanwise.attributes import Attribute, Confusable, Context, Side, Values, values_of
from spanwise.attributes.forms import Forms, mention_tokens
from spanwise.columns import Bools, Column, Floats, Ints, Words, floats, ints
from spanwise.composition import DatasetPart, sentence_hashes
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.evaluation.blocks import BlockSource, BlockSums, OneBlock, TrainingSource
from spanwise.evaluation.choices import Block
from spanwise.evaluation.dataset import BlockContext, Look, look_at, with_original_case
from spanwise.hashing import STIR, distinct, find_hashes, numbered, sequence_hashes, word_hashes
from spanwise.suspicion.contexts import BlockText, Surfaces, joined_surfaces

Histogram = tuple[Floats, Ints]  # sorted distinct values, and the count of each
NOTHING: Histogram = (floats([]), ints([]))
NO_SENTENCES: Words = np.zeros((0, 3), dtype=np.uint64)


class OpenedGold(Block, frozen=True, eq=False, dict=True):
    """The gold of an open block with cached derived data, which persists for a block in memory."""

    @property
    def text(self) -> bool:
        """Whether there is text, and not just positions."""
        return not self.gold.corpus.without_text

    @cached_property
    def hashes(self) -> Words:
        """The hash of each sentence's content."""
        return sentence_hashes(self.gold.corpus)

    @cached_property
    def line(self) -> BlockText:
        """The sentences laid end to end."""
        return BlockText.of(self.gold)

    @cached_property
    def _values(self) -> dict[str, Values]:
        return {}

    @cached_property
    def _sides(self) -> dict[bool, Side]:
        return {}

    @cached_property
    def _confused(self) -> dict[Confusable, ConfusedTexts]:
        return {}

    def side(self, shared: BlockContext, *, written: bool = False) -> Side:
        """The mentions for computing attributes; with `written`, strings are compared as written."""
        if written not in self._sides:
            side = self.side(shared) if written else shared.context(self.gold).side(self.gold.mentions)
            self._sides[written] = with_original_case(side) if written else side
        return self._sides[written]

    def values(self, attribute: Attribute, side: Side) -> Values:
        """The values of an attribute, cached."""
        values = self._values.get(attribute.name)
        if values is None or attribute.kind not in (None, values.kind):
            values = self._values[attribute.name] = values_of(attribute, side)
        return values

    def confused(self, confusable: Confusable) -> ConfusedTexts:
        """The confusable token sequences of the mentions, with their labels."""
        if confusable not in self._confused:
            mentions = self.gold.mentions
            side = self._sides.get(True) or Context(self.gold.corpus, mentions).side(mentions)
            self._confused[confusable] = ConfusedTexts.of(side, confusable)
        return self._confused[confusable]

    def forget_values(self) -> None:
        """Clear the cached attribute values to free memory."""
        self._values.clear()


class CachedGoldBlock(OneBlock, frozen=True, eq=False):
    """Data in memory: a single block that stays open throughout."""

    opened: OpenedGold

    @classmethod
    def of(cls, source: OneBlock) -> CachedGoldBlock:
        """Open a block."""
        return cls(source.inputs, OpenedGold(source.inputs.gold, {}, {}, {}))

    def references(self, *, gold_only: bool = False) -> Iterator[Block]:
        """The block itself."""
        yield self.opened


def open_gold(reference: object, source: BlockSource) -> OpenedGold:
    """Open a block if it is not open yet."""
    block = source.open(reference, gold_only=True)
    return block if isinstance(block, OpenedGold) else OpenedGold(block.gold, {}, {}, {})


class ConfusedTexts(Struct, frozen=True, eq=False):
    """Pairs of token sequence and label, for sequences with two or more labels, in order of occurrence."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]  # parallel to `texts`
    times: Ints
    mentions: int

    @classmethod
    def of(cls, side: Side, confusable: Confusable) -> ConfusedTexts:
        """Find the confusable sequences among the mentions of a side that compares strings as written."""
        labels = side.mentions.labels
        rows = np.flatnonzero(np.append(confusable.among(side), False)[side.form])
        key = side.form[rows] * len(labels) + side.mentions.label[rows]
        pairs, first, times = np.unique(key, return_index=True, return_counts=True)
        order = np.argsort(first)
        form, label = np.divmod(pairs[order], max(len(labels), 1))
        tokens, at = side.tree.sequences(ints(form))
        words = [side.context.strings[code] for code in tokens.tolist()]
        texts = (" ".join(words[begin:end]) for begin, end in pairwise(at.tolist()))
        counts: Counter[tuple[str, str]] = Counter()
        for text, code, number in zip(texts, label.tolist(), times[order].tolist(), strict=True):
            counts[text, labels[code]] += number
        return cls(
            tuple(text for text, _ in counts), tuple(label for _, label in counts),
            ints(list(counts.values())), len(rows),
        )  # fmt: skip


# ---- the test set ----


def look(reference: object, shared: BlockContext) -> Look:
    """Survey the gold mentions of one block."""
    block = open_gold(reference, shared.source)
    return look_at(block.side(shared), shared, block.values)


class TestPart(Struct, frozen=True, eq=False):
    """The counts of a block of the test set."""

    __test__ = False  # not a pytest class
    part: DatasetPart
    sums: BlockSums
    buckets: Mapping[str, tuple[Ints, int]]  # by attribute: units in each bucket, and in total
    texts: Words  # hashes of token sequences with two or more labels, once per label
    labels: tuple[str, ...]  # parallel to `texts`
    times: Ints
    confusable: int
    sentences: Words  # distinct pairs of sentence (two columns) and annotation, as hashes
    lengths: Mapping[str, Histogram]
    unknown: int
    surfaces: Surfaces
    used: Counter[str]
    text: bool


def count(reference: object, shared: BlockContext) -> TestPart:
    """Count a block of the test set."""
    block = open_gold(reference, shared.source)
    gold, facts, text = block.gold, shared.facts, block.text
    assert facts is not None
    side = block.side(shared)
    buckets = {}
    for name, attribute in facts.attributes.items():
        values, bucketing = block.values(attribute, side), facts.bucketings[name]
        counts = np.bincount(bucketing.assign(values), minlength=len(bucketing))
        buckets[name] = (ints(counts), len(values))
    block.forget_values()
    tough, confused, unknown = None, NONE_CONFUSED, 0
    if text and shared.confusable is not None:
        tough = shared.toughness(block, block.side(shared, written=True))
        confused = block.confused(shared.confusable)
    if text and shared.lexicon is not None:
        unknown = int(Context(gold.corpus, gold.mentions, shared.lexicon).unknown.sum())
    return TestPart(
        part=DatasetPart.of(gold, shared.training_sentences, tough),
        sums=BlockSums.of(gold),
        buckets=buckets,
        texts=word_hashes(confused.texts),
        labels=confused.labels,
        times=confused.times,
        confusable=confused.mentions,
        sentences=annotated_sentences(gold, block.hashes) if text else NO_SENTENCES,
        lengths=lengths(gold) if text else {},
        unknown=unknown,
        surfaces=block.line.surfaces() if text else {},
        used=Counter(gold.mentions.names()),
        text=text,
    )


NONE_CONFUSED = ConfusedTexts((), (), ints([]), 0)


def annotated_sentences(annotation: Annotation, hashes: Words) -> Words:
    """The distinct pairs of non-empty sentence and annotation, as hashes."""
    pairs = np.column_stack([hashes, _written(annotation)])[annotation.corpus.lengths > 0]
    return distinct_rows(pairs)


def distinct_rows(rows: Words) -> Words:
    """The distinct rows."""
    return np.asarray(rows[numbered(rows)[0]]) if len(rows) else rows


def _written(annotation: Annotation) -> Words:
    """A hash of the mentions of each sentence, independent of their order."""
    mentions = annotation.mentions
    labels = word_hashes(list(mentions.labels))[:, 0]
    row = np.stack([mentions.start.astype(np.uint64), mentions.end.astype(np.uint64), labels[mentions.label]])
    at = ints(np.arange(len(mentions) + 1) * 3)
    flat = np.repeat(row.T.reshape(-1, 1), 2, axis=1)
    with np.errstate(over="ignore"):
        mixed = sequence_hashes(flat * STIR ^ (flat >> np.uint64(31)), at)[:, 0]
        mixed = (mixed ^ (mixed >> np.uint64(29))) * STIR
        result = np.zeros(len(annotation.corpus), dtype=np.uint64)
        np.add.at(result, mentions.sentence, mixed ^ (mixed >> np.uint64(32)))
    return result


# ---- lengths ----


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


def lengths(annotation: Annotation) -> dict[str, Histogram]:
    """Histograms of sentence lengths, mention lengths, and numbers of mentions per sentence."""
    result = {}
    for name, read in LENGTHS.items():
        value, times = np.unique(read(annotation.corpus, annotation.mentions), return_counts=True)
        result[name] = (floats(value), ints(times))
    return result


def added(parts: Sequence[Histogram]) -> Histogram:
    """Add up histograms."""
    value, index = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    times = np.concatenate([part[1] for part in parts])
    return floats(value), ints(np.bincount(index, weights=times, minlength=len(value)))


# ---- training data: what units (documents or sentences) have in common ----


class UnitItems(Struct, frozen=True, eq=False):
    """Words or token sequences by hash: how often each occurs, and whether in more than one unit."""

    hashes: Words
    times: Ints
    unit: Ints  # a unit in which it occurs
    several: Bools  # whether it occurs in others as well

    @classmethod
    def counted(cls, item: Column, unit: Ints, items: int) -> tuple[Ints, Ints, Bools]:
        """For each of `items` items: its count, a unit in which it occurs, and whether others have it."""
        owner = np.full(items, -1, dtype=np.int64)
        owner[item] = unit
        several = np.zeros(items, dtype=bool)
        several[item[owner[item] != unit]] = True
        return ints(np.bincount(item, minlength=items)), ints(owner), several

    @classmethod
    def of(cls, hashes: Words, item: Column, unit: Ints) -> UnitItems:
        """Count items; `item` and `unit` give the index into `hashes` and the unit of each occurrence."""
        times, owner, several = cls.counted(item, unit, len(hashes))
        met = np.flatnonzero(times)
        return cls(hashes[met], times[met], owner[met], several[met])

    @classmethod
    def joined(cls, parts: Sequence[UnitItems]) -> UnitItems:
        """Merge the items of several blocks."""
        if len(parts) == 1:
            return parts[0]
        hashes, times, unit, several = (
            np.concatenate([getattr(part, name) for part in parts]) for name in cls.__struct_fields__
        )
        first, item = numbered(np.ascontiguousarray(hashes))
        _, owner, again = cls.counted(item, unit, len(first))
        total = np.bincount(item, weights=times, minlength=len(first))
        again[item[several]] = True
        return cls(hashes[first], ints(total), owner, again)

    @property
    def alone(self) -> int:
        """The number of occurrences of items that occur in only one unit."""
        return int(self.times[~self.several].sum())


NO_ITEMS = UnitItems(np.zeros((0, 2), dtype=np.uint64), ints([]), ints([]), np.zeros(0, dtype=bool))


class TrainPart(Struct, frozen=True, eq=False):
    """The counts of one or more blocks of training data."""

    seen: Counter[str]  # labels of mentions
    lengths: Mapping[tuple[int, str], Histogram]  # by source
    tokens: int
    mentions: int  # mentions with tokens
    words: UnitItems
    forms: UnitItems
    pairs: UnitItems  # of token sequence and label
    sentences: Words  # those that also occur in the test set, with their annotations
    surfaces: Surfaces
    text: bool

    @classmethod
    def joined(cls, parts: Sequence[TrainPart]) -> TrainPart:
        """Add up the counts of several blocks."""
        keys = {key for part in parts for key in part.lengths}
        return cls(
            sum((part.seen for part in parts), Counter[str]()),
            {key: added([part.lengths.get(key, NOTHING) for part in parts]) for key in keys},
            sum(part.tokens for part in parts),
            sum(part.mentions for part in parts),
            UnitItems.joined([part.words for part in parts]),
            UnitItems.joined([part.forms for part in parts]),
            UnitItems.joined([part.pairs for part in parts]),
            distinct_rows(np.concatenate([part.sentences for part in parts])),
            joined_surfaces([part.surfaces for part in parts]),
            all(part.text for part in parts),
        )


class TrainingContext(Struct, frozen=True, eq=False):
    """What `count_training` needs in addition to a block."""

    source: TrainingSource
    sentences: Words  # sorted hashes of the sentences of the test set


def count_training(reference: object, shared: TrainingContext) -> TrainPart:
    """Count a block of training data."""
    number, annotation = shared.source.read(reference)
    corpus, mentions, seen = annotation.corpus, annotation.mentions, Counter(annotation.mentions.names())
    if corpus.without_text:
        return TrainPart(seen, {}, 0, 0, NO_ITEMS, NO_ITEMS, NO_ITEMS, NO_SENTENCES, {}, False)
    units, words = shared.source.units(reference, corpus), word_hashes(corpus.vocabulary)
    tree, form = Forms.of(corpus.tokens, mention_tokens(corpus, mentions), width=len(words))
    some = np.flatnonzero(form >= 0)
    of_mention, form = ints(units[mentions.sentence[some]]), form[some]
    tokens, at = tree.sequences(ints(np.arange(len(tree))))
    forms = sequence_hashes(words[tokens], at)
    labels = max(len(mentions.labels), 1)
    cells, pair = distinct(ints(form * labels + mentions.label[some]))
    of_form, label = np.divmod(cells, labels)
    with np.errstate(over="ignore"):
        pairs = forms[of_form] ^ (word_hashes(list(mentions.labels))[label] * STIR + np.uint64(1))
    sentences = annotated_sentences(annotation, sentence_hashes(corpus))
    return TrainPart(
        seen=seen,
        lengths={(number, name): histogram for name, histogram in lengths(annotation).items()},
        tokens=len(corpus.tokens),
        mentions=len(some),
        words=UnitItems.of(words, corpus.tokens, ints(np.repeat(units, corpus.lengths))),
        forms=UnitItems.of(forms, form, of_mention),
        pairs=UnitItems.of(pairs, pair, of_mention),
        sentences=sentences[find_hashes(shared.sentences, sentences[:, :2]) >= 0],
        surfaces=BlockText.of(annotation).surfaces(),
        text=True,
    )
