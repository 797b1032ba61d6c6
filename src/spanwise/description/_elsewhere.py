"""A test set described where it lies: what blocks of it and of training data add to its description."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any
from zlib import crc32

import numpy as np
from msgspec import Struct, convert
from msgspec.structs import replace

from spanwise import __version__
from spanwise.attributes import Attribute, Context, mention_views, values_of
from spanwise.attributes.forms import mention_tokens
from spanwise.columns import Floats, Ints, Words, floats, ints, ratio
from spanwise.composition import DatasetPart, dataset_entry, sentence_hashes
from spanwise.corpus import Annotation
from spanwise.description import LENGTHS, Description, annotated, attribute_entry, drift_pair, label_distance
from spanwise.description._training import (
    TrainingPlace,
    TrainingSource,
    order_of,
    training_place,
    units_of,
)
from spanwise.document import Input
from spanwise.document.dataset import DatasetFacts
from spanwise.engines import engine_of
from spanwise.engines.spark import SparkEngine
from spanwise.errors import ChoiceError
from spanwise.evaluation._blocks import BlockSource, BlockSums, Joining, TrainingFacts, learnt
from spanwise.evaluation._choices import Choices, check_keywords
from spanwise.evaluation._dataset import BlockContext, fixed, framed, looking_by, unheard
from spanwise.evaluation._frames import FrameBlocks, FrameColumns, is_frame, opened_frame
from spanwise.evaluation._lake import LakeBlocks, lake_blocks
from spanwise.formats import listed_sources
from spanwise.hashing import STIR, find_hashes, numbered, ordered_hashes, sequence_hashes, word_hashes
from spanwise.suspicion import BlockText, ContextCounts, Surfaces, contexts, varied
from spanwise.suspicion._ranking import DIGITS, Candidates, ballot, count, join, places_of, ranked

Histogram = tuple[Floats, Ints]  # distinct values in order, and how often each was met
NOTHING: Histogram = (floats([]), ints([]))


def described_elsewhere(
    test: Any,
    *,
    gold: str | None,
    train: Any,
    engine: Any,
    attributes: str | Attribute | Iterable[str | Attribute],
    vocabulary: frozenset[str] | None,
    lowercase: bool,
    name: str | None,
    examples: int,
    redact: bool,
    reading: Mapping[str, Any],
) -> Description | None:
    """The description of frames, or of files that Spark reads, from sums over blocks; None of anything else.

    Blocks are known to each other by hashes of their words, sentences and annotations; texts come back for
    what is shown alone.
    """
    place, named = engine_of(engine), dict(reading)
    columns = _columns(test, gold, named)
    asked: Any = attributes if isinstance(attributes, str) else list(_listed(attributes))
    choices = Choices.plain(
        attributes=asked, vocabulary=None if vocabulary is None else sorted(vocabulary), lowercase=lowercase,
        reading=named,
    )  # fmt: skip
    source: FrameBlocks | LakeBlocks
    if columns is not None:
        check_keywords(named)
        place = place if isinstance(place, SparkEngine) else SparkEngine(test.sparkSession)
        source, where = opened_frame(
            test, columns, choices, name=name or "frame", partitions=place.partitions
        )
    elif isinstance(place, SparkEngine) and all(map(_is_path, [test, *listed_sources(train)])):
        source, where = lake_blocks(place.session, test, {}, choices, name=name, partitions=place.partitions)
    else:
        return None
    files = None
    try:
        files = training_place(train, columns, choices, place)
        training = TrainingFacts()
        if files is not None:
            training = learnt(
                source, files.source, lowercase=lowercase, engine=where, training_engine=files.engine,
                bound=place.lexicon,
            )  # fmt: skip
        shared = BlockContext(
            source, choices, training.lexicon, training.known, "sentence", parts=training.parts,
            always_tough=True,
        )  # fmt: skip
        with_attributes, absent = shared.with_attributes()
        known = fixed(with_attributes, looking_by(where), absent, unheard)
        references = list(source.references(gold_only=True))
        tested = list(known.mapped(where, test_part, references))
        trained: TrainPart | None = None
        if files is not None:
            among = ordered_hashes(np.concatenate([one.sentences[:, :2] for one in tested]))
            trained = files.joined(
                TrainPart.joined, train_part, TrainAsked(files.source, among, files.marked)
            )
        assert known.facts is not None
        whole = _Whole(source, files, tested, trained, 0 if redact else examples)
        dataset = dataset_entry(
            source.name, [one.part for one in tested], documents=source.documents,
            zeta={
                key: known.facts.zeta[key] for key, one in known.attributes.items() if one.kind == "numeric"
            },
            absent=absent,
        )  # fmt: skip
        dataset["attributes"] = {
            key: attribute_entry(
                one, known.facts.bucketings[key], known.facts.zeta[key],
                ints(sum(part.buckets[key][0] for part in tested)),
                sum(part.buckets[key][1] for part in tested),
            )
            for key, one in known.attributes.items()
        }  # fmt: skip
        if all(one.text for one in tested):
            dataset["conflicts"] = whole.conflicts(where)
        if files is not None and trained is not None:
            dataset["drift"] = _drift(tested, trained, dataset, files.sources, files.marked)
    finally:
        where.packed.free()
        if files is not None:
            files.free()
    sums = tested[0].sums
    for one in tested[1:]:
        sums += one.sums
    inputs = [*source.entries({"": sums}), *training.entries]
    return Description(
        spanwise=__version__,
        inputs=convert(inputs, tuple[Input, ...]),
        dataset=convert(dataset, DatasetFacts),
    )


def _columns(test: Any, gold: str | None, reading: dict[str, Any]) -> FrameColumns | None:
    """The columns of a frame, whose names are taken out of `reading`; None of anything else."""
    if is_frame(test) and gold is None:
        raise ChoiceError(
            "a Spark frame needs the name of its column of tags or spans.\n"
            'Write describe(frame, gold="tags", tokens="tokens").'
        )
    if not is_frame(test) and gold is not None:
        raise ChoiceError(
            "gold names a column of a Spark frame, but the test set is no frame.\n"
            "Leave gold out, or give a frame."
        )
    return framed(test, gold, {}, reading)[2]


def _is_path(source: object) -> bool:
    return isinstance(source, str | os.PathLike)


def _listed(attributes: Any) -> Iterable[Any]:
    return [attributes] if isinstance(attributes, Attribute) else attributes


class TestPart(Struct, frozen=True, eq=False):
    """What a block of the test set adds."""

    __test__ = False  # of our own, not one of pytest's
    part: DatasetPart
    sums: BlockSums
    buckets: Mapping[str, tuple[Ints, int]]  # by attribute: units in each bucket, and of all
    texts: Words  # token sequences with two labels or more, each label in the order in which it is met
    labels: tuple[str, ...]  # beside them
    times: Ints
    confusable: int
    sentences: Words  # distinct pairs of a sentence, in two columns, and its annotation
    lengths: Mapping[str, Histogram]
    unknown: int
    surfaces: Surfaces
    used: Counter[str]
    text: bool


def test_part(reference: Any, shared: BlockContext) -> TestPart:
    """Count a block of the test set."""
    block = shared.source.open(reference, gold_only=True)
    gold, facts = block.gold, shared.facts
    assert facts is not None
    side = shared.context(gold).side(gold.mentions)
    tough = shared.toughness(block, side)
    buckets = {}
    for name, attribute in facts.attributes.items():
        values, bucketing = values_of(attribute, side), facts.bucketings[name]
        counts = np.bincount(bucketing.assign(values), minlength=len(bucketing))
        buckets[name] = (ints(counts), len(values))
    text = not gold.corpus.without_text
    carried = _carried(gold, tough.of("TCM-ALL")) if tough is not None else {}
    lexicon = shared.lexicon
    unknown = 0
    if text and lexicon is not None:
        unknown = int(Context(gold.corpus, gold.mentions, lexicon).unknown.sum())
    return TestPart(
        part=DatasetPart.of(gold, shared.known, tough),
        sums=BlockSums.of(gold),
        buckets=buckets,
        texts=word_hashes([one for one, _ in carried]),
        labels=tuple(label for _, label in carried),
        times=ints(list(carried.values())),
        confusable=0 if tough is None else int(tough.of("TCM-ALL").sum()),
        sentences=_annotations(gold) if text else np.zeros((0, 3), dtype=np.uint64),
        lengths=_lengths(gold) if text else {},
        unknown=unknown,
        surfaces=BlockText.of(gold).surfaces() if text else {},
        used=Counter(gold.mentions.names()),
        text=text,
    )


def _carried(gold: Annotation, which: Any) -> dict[tuple[str, str], int]:
    """How often each of the chosen token sequences carries each label, in the order in which it does."""
    chosen = gold.mentions.take(which)
    views = mention_views(Context(gold.corpus, chosen).side(chosen))
    return dict(Counter((" ".join(view.tokens), view.label) for view in views if view))


def _annotations(one: Annotation) -> Words:
    """Distinct pairs of a sentence that is not empty and how it is annotated."""
    pairs = np.column_stack([sentence_hashes(one.corpus), _written(one)])[one.corpus.lengths > 0]
    return np.asarray(pairs[numbered(pairs)[0]]) if len(pairs) else pairs


def _written(one: Annotation) -> Words:
    """The mentions of each sentence as one number, whatever their order."""
    mentions = one.mentions
    labels = word_hashes(list(mentions.labels))[:, 0]
    row = np.stack([mentions.start.astype(np.uint64), mentions.end.astype(np.uint64), labels[mentions.label]])
    at = ints(np.arange(len(mentions) + 1) * 3)
    flat = np.repeat(row.T.reshape(-1, 1), 2, axis=1)
    with np.errstate(over="ignore"):
        mixed = sequence_hashes(flat * STIR ^ (flat >> np.uint64(31)), at)[:, 0]
        mixed = (mixed ^ (mixed >> np.uint64(29))) * STIR
        result = np.zeros(len(one.corpus), dtype=np.uint64)
        np.add.at(result, mentions.sentence, mixed ^ (mixed >> np.uint64(32)))
    return result


def _lengths(one: Annotation) -> dict[str, Histogram]:
    result = {}
    for name, read in LENGTHS.items():
        value, times = np.unique(read(one.corpus, one.mentions), return_counts=True)
        result[name] = (floats(value), ints(times))
    return result


def _added(parts: Sequence[Histogram]) -> Histogram:
    value, place = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    times = np.concatenate([part[1] for part in parts])
    return floats(value), ints(np.bincount(place, weights=times, minlength=len(value)))


class UnitItems(Struct, frozen=True, eq=False):
    """Words or token sequences by their content: how often each was met, and whether in one unit alone."""

    hashes: Words
    times: Ints
    unit: Words  # one that has it
    several: Any

    @classmethod
    def of(cls, hashes: Words, times: Ints, unit: Words, several: Any) -> UnitItems:
        """Count equal items together."""
        if not len(hashes):
            return cls(hashes, times, unit, several)
        first, number = numbered(np.ascontiguousarray(hashes))
        more = several | (unit != unit[first][number])
        total = np.bincount(number, weights=times, minlength=len(first))
        return cls(
            hashes[first], ints(total), unit[first],
            np.bincount(number, weights=more, minlength=len(first)) > 0,
        )  # fmt: skip

    @classmethod
    def each(cls, hashes: Words, unit: Words) -> UnitItems:
        """UnitItems that were met once each."""
        return cls.of(hashes, ints(np.ones(len(hashes))), unit, np.zeros(len(hashes), dtype=bool))

    @classmethod
    def joined(cls, parts: Sequence[UnitItems]) -> UnitItems:
        """Those of several blocks."""
        return cls.of(
            *(np.concatenate([getattr(one, name) for one in parts]) for name in cls.__struct_fields__)
        )

    @property
    def alone(self) -> int:
        """How often items were met that one unit alone has."""
        return int(self.times[~self.several].sum())


class TrainPart(Struct, frozen=True, eq=False):
    """What training blocks add."""

    seen: Counter[str]  # labels of mentions
    lengths: Mapping[tuple[int, str], Histogram]  # by source
    tokens: int
    mentions: int  # that have tokens
    words: UnitItems
    forms: UnitItems
    pairs: UnitItems  # of a token sequence and a label
    sentences: Words  # those that the test set has, with their annotations
    surfaces: Surfaces

    @classmethod
    def joined(cls, parts: Sequence[TrainPart]) -> TrainPart:
        """Those of several blocks."""
        keys = {key for part in parts for key in part.lengths}
        pairs = np.concatenate([part.sentences for part in parts])
        return cls(
            sum((part.seen for part in parts), Counter[str]()),
            {key: _added([part.lengths.get(key, NOTHING) for part in parts]) for key in keys},
            sum(part.tokens for part in parts),
            sum(part.mentions for part in parts),
            UnitItems.joined([part.words for part in parts]),
            UnitItems.joined([part.forms for part in parts]),
            UnitItems.joined([part.pairs for part in parts]),
            np.asarray(pairs[numbered(pairs)[0]]) if len(pairs) else pairs,
            joined_surfaces([part.surfaces for part in parts]),
        )


def joined_surfaces(parts: Sequence[Surfaces]) -> dict[int, Words]:
    """The words of mentions of several blocks."""
    sizes = sorted({size for part in parts for size in part})
    return {size: np.unique(np.concatenate([part[size] for part in parts if size in part])) for size in sizes}


class TrainAsked(Struct, frozen=True, eq=False):
    """What `train_part` needs beside a file."""

    training: TrainingSource
    sentences: Words  # of the test set, in order
    marked: bool  # whether documents are units


def train_part(reference: Any, asked: TrainAsked) -> TrainPart:
    """Count a training file, or a block of a frame."""
    number, one = asked.training.read(reference)
    corpus, mentions = one.corpus, one.mentions
    units = units_of(corpus, reference, marked=asked.marked)
    words = word_hashes(corpus.vocabulary)
    runs = mention_tokens(corpus, mentions)
    some = np.flatnonzero(runs.size > 0)
    form = sequence_hashes(words[corpus.tokens[runs.position]], runs.at)[some]
    label = word_hashes(list(mentions.labels))[mentions.label[some]]
    with np.errstate(over="ignore"):
        pair = form ^ (label * STIR + np.uint64(1))
    of_mention = units[mentions.sentence[some]]
    sentences = _annotations(one)
    return TrainPart(
        seen=Counter(mentions.names()),
        lengths={(number, name): found for name, found in _lengths(one).items()},
        tokens=len(corpus.tokens),
        mentions=len(some),
        words=UnitItems.each(words[corpus.tokens], np.repeat(units, corpus.lengths)),
        forms=UnitItems.each(form, of_mention),
        pairs=UnitItems.each(pair, of_mention),
        sentences=sentences[find_hashes(asked.sentences, sentences[:, :2]) >= 0],
        surfaces=BlockText.of(one).surfaces(),
    )


def _drift(
    tested: Sequence[TestPart], trained: TrainPart, dataset: Mapping[str, Any], sources: int, marked: bool
) -> dict[str, Any]:
    """How far the test set lies from its training data, as `description.drift` has it."""
    sizes = sum((one.used for one in tested), Counter[str]())
    seen, whole = trained.seen, sizes.total()
    ranking = sorted({**dict.fromkeys(seen, 0), **sizes}.items(), key=lambda item: (-item[1], item[0]))
    labels = {
        label: drift_pair(ratio(seen[label], seen.total()), ratio(number, whole)) for label, number in ranking
    }
    found: dict[str, Any] = {"labels": labels, "label_distance": label_distance(labels)}
    if not all(one.text for one in tested):
        return found
    lengths = {}
    for name in LENGTHS:
        test = _added([one.lengths[name] for one in tested])
        parts = [trained.lengths.get((number, name), NOTHING) for number in range(sources)]
        if len(test[0]) and all(len(part[0]) for part in parts):
            lengths[name] = _moved(_added(parts), test)
    found["lengths"] = lengths
    found["left_out"] = "document" if marked else "sentence"
    unknown = ratio(sum(one.unknown for one in tested), sum(one.part.tokens for one in tested))
    found["unknown_tokens"] = drift_pair(ratio(trained.words.alone, trained.tokens), unknown)
    new_form, new_pair = trained.forms.alone, trained.pairs.alone
    counts = {
        "SEEN": trained.mentions - new_pair,
        "UNSEEN-TYPE": new_pair - new_form,
        "UNSEEN-TOKENS": new_form,
        "UNSEEN-ANY": new_pair,
    }
    tough = dataset["tough"]
    found["tough"] = {
        subset: drift_pair(
            ratio(number, trained.mentions), ratio(tough[subset]["overall"]["mentions"], whole)
        )
        for subset, number in counts.items()
    }
    return found


def _moved(train: Histogram, test: Histogram) -> dict[str, Any]:
    """Both means, and the largest difference of the two cumulative shares."""
    values = np.union1d(train[0], test[0])
    shares, means = [], []
    for value, times in (train, test):
        until = np.append(0, np.cumsum(times))
        shares.append(until[np.searchsorted(value, values, side="right")] / until[-1])
        means.append(fsum((value * times).tolist()) / int(until[-1]))
    return {**drift_pair(*means), "distance": float(np.abs(shares[0] - shares[1]).max())}


# ---- conflicts ----------------------------------------------------------------------------------------
class ShownConflicts(Struct, frozen=True, eq=False):
    """What is shown of conflicts: what the functions below need beside a block."""

    source: BlockSource
    training: TrainingSource | None
    labels: tuple[str, ...]
    surfaces: Surfaces
    most: int
    conflicting: Words  # sentences that are annotated in two ways or more, in order
    among: Words | None = None  # contexts of the test set
    chosen: Words | None = None  # sentences to show, in order
    counts: ContextCounts | None = None
    texts: Words | None = None  # token sequences to show, in order
    tied: Words | None = None  # token sequences of which the first in the order of their text are shown


SentenceRow = tuple[tuple[int, ...], int, str, str]  # order, place among the chosen, place, mentions


def _relabeled(one: Annotation, shared: ShownConflicts) -> Annotation:
    return replace(one, mentions=one.mentions.relabeled(shared.labels))


def test_contexts(reference: Any, shared: ShownConflicts) -> tuple[ContextCounts, Words]:
    """How a test block reads words between their neighbours; and the first sentences of it that conflict."""
    gold = _relabeled(shared.source.open(reference, gold_only=True).gold, shared)
    hashes = sentence_hashes(gold.corpus)
    here = hashes[(find_hashes(shared.conflicting, hashes) >= 0) & (gold.corpus.lengths > 0)]
    first = list(dict.fromkeys(map(tuple, here.tolist())))[: shared.most]
    return contexts(gold, shared.surfaces, None), np.reshape(np.array(first, dtype=np.uint64), (-1, 2))


class Elsewhere(Struct, frozen=True, eq=False):
    """How training data read words between their neighbours, and their sentences to show."""

    counts: ContextCounts
    rows: tuple[SentenceRow, ...]

    @classmethod
    def joined(cls, parts: Sequence[Elsewhere]) -> Elsewhere:
        """Those of several blocks."""
        return cls(
            ContextCounts.joined([part.counts for part in parts]),
            tuple(row for part in parts for row in part.rows),
        )


def train_contexts(reference: Any, shared: ShownConflicts) -> Elsewhere:
    """How a training block reads words in the contexts of the test set; and its sentences to show."""
    assert shared.training is not None
    number, one = shared.training.read(reference)
    one = _relabeled(one, shared)
    rows = _rows(one, shared, (1, number, order_of(reference, shared.training)))
    return Elsewhere(contexts(one, shared.surfaces, shared.among), tuple(rows))


def _rows(one: Annotation, shared: ShownConflicts, before: tuple[int, ...]) -> list[SentenceRow]:
    """The sentences of a block that are to be shown."""
    assert shared.chosen is not None
    place = find_hashes(shared.chosen, sentence_hashes(one.corpus))
    here = np.flatnonzero((place >= 0) & (one.corpus.lengths > 0)).tolist()
    return [
        ((*before, sentence), int(place[sentence]), one.corpus.place(sentence), annotated(one, sentence))
        for sentence in here
    ]


class Varied(Struct, frozen=True, eq=False):
    """What a test block shows: places that vary, sentences and token sequences."""

    places: int
    examples: list[tuple[tuple[float, ...], dict[str, Any]]]  # with what they are ordered by
    rows: list[SentenceRow]
    texts: list[tuple[tuple[int, int], str]]


def shown(reference: Any, shared: ShownConflicts) -> Varied:
    """What a test block shows."""
    assert shared.counts is not None and shared.texts is not None and shared.tied is not None
    block = shared.source.open(reference, gold_only=True)
    gold = _relabeled(block.gold, shared)
    text, found, varying = varied(gold, shared.surfaces, shared.counts, len(shared.labels))
    box = ballot(gold.mentions, [])
    table = places_of(found, varying, text.line, box, gold.corpus)
    candidates = join(box, count(box, np.ones(0, dtype=bool)), 0, table)
    order, _, _ = ranked(candidates, gold.corpus)
    return Varied(
        places=len(candidates.gold),
        examples=[_example(gold, box, candidates, row) for row in order[: shared.most].tolist()],
        rows=_rows(gold, shared, (0, reference.number)),
        texts=_texts(gold, shared),
    )


def _example(
    gold: Annotation, box: Any, found: Candidates, row: int
) -> tuple[tuple[float, ...], dict[str, Any]]:
    corpus, labels = gold.corpus, gold.mentions.labels
    sentence, start, end = int(found.sentence[row]), int(found.start[row]), int(found.end[row])
    own = None
    if found.gold[row] >= 0:
        at = int(box.gold[found.gold[row]])
        start, end = int(box.mentions.start[at]), int(box.mentions.end[at])
        own = labels[int(box.mentions.label[at])]
    label = int(found.label[row])
    words = corpus.words(sentence)
    text = corpus.texts[sentence][start:end] if corpus.texts is not None else " ".join(words[start:end])
    lot = crc32(" ".join(words).encode("utf-8", "replace"))
    score = float(found.score[row])
    key = (-round(score, DIGITS), lot, sentence, int(found.start[row]), int(found.end[row]), label)
    return key, {
        "place": corpus.place(sentence, start if corpus.unit == "token" else 0),
        "text": text,
        "label": "O" if own is None else own,
        "elsewhere": "O" if label < 0 else labels[label],
        "score": score,
    }


def _texts(gold: Annotation, shared: ShownConflicts) -> list[tuple[tuple[int, int], str]]:
    """The token sequences to show that a block has; of those that are tied the first ones."""
    assert shared.texts is not None and shared.tied is not None
    views = mention_views(Context(gold.corpus, gold.mentions).side(gold.mentions))
    every = sorted({" ".join(view.tokens) for view in views if view})
    hashes = word_hashes(every)
    wanted, tied = find_hashes(shared.texts, hashes) >= 0, find_hashes(shared.tied, hashes) >= 0
    first = np.flatnonzero(tied)[: shared.most].tolist()
    rows = sorted({*np.flatnonzero(wanted).tolist(), *first})
    return [((int(hashes[row, 0]), int(hashes[row, 1])), every[row]) for row in rows]


class _Whole(Struct, frozen=True, eq=False):
    """The sums over all blocks that conflicts follow from."""

    source: BlockSource
    training: TrainingPlace | None
    tested: Sequence[TestPart]
    trained: TrainPart | None
    most: int

    def conflicts(self, engine: Any) -> dict[str, Any]:
        """What contradicts: token sequences with two labels, sentences and words read in two ways."""
        tested, trained = self.tested, self.trained
        pairs = [one.sentences for one in tested] + ([] if trained is None else [trained.sentences])
        labels = {label for one in tested for label in one.used} | set(
            () if trained is None else trained.seen
        )
        conflicting = _annotated_twice(np.concatenate(pairs))
        surfaces = [one.surfaces for one in tested] + ([] if trained is None else [trained.surfaces])
        shared = ShownConflicts(
            self.source, None if self.training is None else self.training.source, tuple(sorted(labels)),
            joined_surfaces(surfaces), self.most, conflicting,
        )  # fmt: skip
        counts: Joining[ContextCounts] = Joining(ContextCounts.joined)
        first: dict[tuple[int, ...], None] = {}
        for found, sentences in engine.map(test_contexts, self._references(), shared):
            counts.add(found)
            first.update(dict.fromkeys(map(tuple, sentences.tolist())))
        chosen = list(first)[: self.most]
        in_order = ordered_hashes(np.reshape(np.array(chosen, dtype=np.uint64), (-1, 2)))
        mine = counts.total()
        shared = replace(shared, chosen=in_order, among=np.unique(mine.context))
        told: list[SentenceRow] = []
        if self.training is not None:
            theirs = self.training.joined(Elsewhere.joined, train_contexts, shared)
            told += theirs.rows
            mine = ContextCounts.joined([mine, theirs.counts])
        carried = self._carried()
        ranking = sorted(carried, key=lambda key: max(carried[key].values()) - carried[key].total())
        above, tied = self._candidates(carried, ranking)
        shared = replace(shared, counts=mine.varying(), among=None, texts=above, tied=tied)
        places, examples, texts = 0, [], {}
        for number, one in enumerate(engine.map(shown, self._references(), shared)):
            places += one.places
            examples += [((*key[:2], number, *key[2:]), example) for key, example in one.examples]
            told += one.rows
            texts.update(one.texts)
        named = sorted(
            ((carried[key], text) for key, text in texts.items()),
            key=lambda pair: (max(pair[0].values()) - pair[0].total(), pair[1]),
        )
        place = find_hashes(in_order, np.reshape(np.array(chosen, dtype=np.uint64), (-1, 2))).tolist()
        groups: dict[int, list[SentenceRow]] = {}
        for row in sorted(told):
            groups.setdefault(row[1], []).append(row)
        return {
            "labels": {
                "sequences": len(carried),
                "mentions": sum(one.confusable for one in tested),
                "examples": [
                    {"text": text, "labels": dict(counts_.most_common())}
                    for counts_, text in named[: self.most]
                ],
            },
            "sentences": {
                "groups": len(conflicting),
                "examples": [
                    [{"place": where_, "mentions": written} for _, _, where_, written in groups[at]]
                    for at in place
                ],
            },
            "variation": {
                "places": places,
                "examples": [
                    example for _, example in sorted(examples, key=lambda pair: pair[0])[: self.most]
                ],
            },
        }

    def _references(self) -> list[Any]:
        return list(self.source.references(gold_only=True))

    def _carried(self) -> dict[tuple[int, int], Counter[str]]:
        """The labels of each token sequence that carries two or more."""
        result: dict[tuple[int, int], Counter[str]] = {}
        for one in self.tested:
            for key, label, times in zip(one.texts.tolist(), one.labels, one.times.tolist(), strict=True):
                result.setdefault((key[0], key[1]), Counter())[label] += times
        return result

    def _candidates(
        self, carried: Mapping[tuple[int, int], Counter[str]], ranking: Sequence[tuple[int, int]]
    ) -> tuple[Words, Words]:
        """The sequences that are shown whatever they read, and those among which their text decides."""
        doubt = [max(carried[key].values()) - carried[key].total() for key in ranking]
        last = doubt[min(self.most, len(doubt)) - 1] if doubt and self.most else None
        above = [key for key, own in zip(ranking, doubt, strict=True) if last is not None and own < last]
        tied = [key for key, own in zip(ranking, doubt, strict=True) if own == last]
        found = [np.reshape(np.array(keys, dtype=np.uint64), (-1, 2)) for keys in (above, tied)]
        return ordered_hashes(found[0]), ordered_hashes(found[1])


def _annotated_twice(pairs: Words) -> Words:
    """The sentences, in order, that have two annotations or more among distinct pairs."""
    every = np.asarray(pairs[numbered(pairs)[0]]) if len(pairs) else pairs
    if not len(every):
        return ordered_hashes(np.zeros((0, 2), dtype=np.uint64))
    first, number = numbered(np.ascontiguousarray(every[:, :2]))
    return ordered_hashes(every[first[np.bincount(number) > 1], :2])
