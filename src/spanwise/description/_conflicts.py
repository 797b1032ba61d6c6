"""Find contradictions in gold and training data: names, sentences and words annotated in several ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.attributes import Confusable
from spanwise.columns import Words, distinct
from spanwise.composition import sentence_hashes
from spanwise.corpus import Annotation
from spanwise.description._counting import OpenedGold, TestPart, TrainPart, distinct_rows, open_gold
from spanwise.engines import Engine, Joining
from spanwise.evaluation.blocks import BlockSource, TrainingData, TrainingSource
from spanwise.hashing import find_hashes, numbered, ordered_hashes, word_hashes
from spanwise.suspicion.contexts import (
    BlockText,
    ContextCounts,
    Surfaces,
    contexts,
    joined_surfaces,
    relabeled,
    varied,
)
from spanwise.suspicion.ranking import (
    DIGITS,
    Candidates,
    VotedMentions,
    count,
    join,
    lots,
    places_of,
    ranked,
    voted_mentions,
)

Content = tuple[int, int]  # the hash of a sentence or of a token sequence
Order = tuple[float, ...]
NOBODY = np.ones(0, dtype=bool)  # voters: none


def conflicts(
    source: BlockSource, engine: Engine, train: TrainingData | None, tested: Sequence[TestPart],
    trained: TrainPart | None, confusable: Confusable, most: int,
) -> dict[str, object]:  # fmt: skip
    """Token sequences with several labels, and sentences and words annotated in several ways.

    Args:
        source: the test set.
        engine: where its blocks are processed.
        train: the training data.
        tested: the counts of the blocks of the test set.
        trained: the counts of the training data.
        confusable: the token sequences of the test set with two or more labels.
        most: the maximum number of examples of each kind.
    """
    all_parts: list[TestPart | TrainPart] = [*tested, *([] if trained is None else [trained])]
    labels = {label for part in tested for label in part.used} | set(() if trained is None else trained.seen)
    twice = _annotated_twice(np.concatenate([part.sentences for part in all_parts]))
    carried = _carried(tested)
    above, tied = _candidates(carried, most)
    asked = ConflictsContext(
        source, None if train is None else train.source, tuple(sorted(labels)),
        joined_surfaces([part.surfaces for part in all_parts]), most, twice, confusable, above, tied,
    )  # fmt: skip
    readings: Joining[ContextCounts] = Joining(ContextCounts.joined)
    first: dict[Content, None] = {}
    for block_words in engine.map(read_words, source.references(gold_only=True), asked):
        readings.add(block_words.counts)
        first.update(dict.fromkeys(block_words.sentences))
    chosen, counts = _hashes(list(first)[:most]), readings.total()
    asked = replace(asked, chosen=ordered_hashes(chosen), among=distinct(counts.context))
    rows: list[SentenceRow] = []
    if train is not None:
        elsewhere = train.map_and_join(read_elsewhere, asked)
        rows += elsewhere.rows
        counts = ContextCounts.joined([counts, elsewhere.counts])
    asked = replace(asked, counts=counts.varying(), among=None)
    places, texts = 0, dict[Content, str]()
    examples: list[tuple[Order, dict[str, object]]] = []
    for number, shown in enumerate(engine.map(show, source.references(gold_only=True), asked)):
        places += shown.places
        examples += [((*order[:2], number, *order[2:]), example) for order, example in shown.examples]
        rows += [replace(row, order=(0, number, *row.order)) for row in shown.rows]
        texts.update(shown.texts)
    named = sorted((_doubt(carried[key]), text, key) for key, text in texts.items())[:most]
    return {
        "labels": {
            "sequences": len(carried),
            "mentions": sum(part.confusable for part in tested),
            "examples": [
                {"text": text, "labels": dict(carried[key].most_common())} for _, text, key in named
            ],
        },
        "sentences": {
            "groups": len(twice),
            "examples": _grouped(rows, find_hashes(asked.chosen, chosen).tolist()),
        },
        "variation": {
            "places": places,
            "examples": [example for _, example in sorted(examples, key=lambda pair: pair[0])[:most]],
        },
    }


class ConflictsContext(Struct, frozen=True, eq=False):
    """What the functions below need in addition to a block."""

    source: BlockSource
    training: TrainingSource | None
    labels: tuple[str, ...]
    surfaces: Surfaces
    most: int
    twice: Words  # hashes of sentences with two or more annotations, sorted
    confusable: Confusable
    texts: Words  # hashes of token sequences to show, sorted
    tied: Words  # hashes of token sequences of which only the alphabetically first are shown
    chosen: Words = np.zeros((0, 2), dtype=np.uint64)  # hashes of sentences to show, sorted
    among: Words | None = None  # contexts of the test set
    counts: ContextCounts | None = None


class WordsRead(Struct, frozen=True, eq=False):
    """The readings of words in their contexts in a test block, and its first conflicting sentences."""

    counts: ContextCounts
    sentences: tuple[Content, ...]


def read_words(reference: object, shared: ConflictsContext) -> WordsRead:
    """Count the readings of the words of mentions in a test block."""
    block = open_gold(reference, shared.source)
    conflicting = (find_hashes(shared.twice, block.hashes) >= 0) & (block.corpus.lengths > 0)
    first = dict.fromkeys(_contents(block.hashes[conflicting]))
    return WordsRead(contexts(block.line, shared.surfaces, shared.labels), tuple(first)[: shared.most])


class SentenceRow(Struct, frozen=True, order=True):
    """One occurrence of a sentence to show."""

    order: tuple[int, ...]
    chosen: int  # index of the equal sentence among the chosen ones
    place: str
    mentions: str


class Elsewhere(Struct, frozen=True, eq=False):
    """The readings of words in their contexts in training data, and its sentences to show."""

    counts: ContextCounts
    rows: tuple[SentenceRow, ...]

    @classmethod
    def joined(cls, parts: Sequence[Elsewhere]) -> Elsewhere:
        """Merge the results of several blocks."""
        return cls(
            ContextCounts.joined([part.counts for part in parts]),
            tuple(row for part in parts for row in part.rows),
        )


def read_elsewhere(reference: object, shared: ConflictsContext) -> Elsewhere:
    """Count the readings of words in a training block, in the contexts of the test set."""
    assert shared.training is not None
    _, annotation = shared.training.read(reference)
    first = shared.training.first(reference)
    rows = [
        replace(row, order=(1, first + row.order[0]))
        for row in _rows(annotation, sentence_hashes(annotation.corpus), shared)
    ]
    return Elsewhere(
        contexts(BlockText.of(annotation), shared.surfaces, shared.labels, shared.among), tuple(rows)
    )


class ShownConflicts(Struct, frozen=True, eq=False):
    """The conflicts in a test block: varying words, sentences and token sequences."""

    places: int
    examples: list[tuple[Order, dict[str, object]]]  # with their sort keys
    rows: list[SentenceRow]
    texts: dict[Content, str]


def show(reference: object, shared: ConflictsContext) -> ShownConflicts:
    """Collect the conflicts in a test block."""
    assert shared.counts is not None
    block = open_gold(reference, shared.source)
    gold = relabeled(block.gold, shared.labels)
    occurrences, varying = varied(block.line, shared.surfaces, shared.counts, shared.labels)
    voted = voted_mentions(gold.mentions, [])
    table = places_of(occurrences, varying, block.line.line, voted, gold.corpus)
    candidates = join(voted, count(voted, NOBODY), 0, table)
    order, _, _ = ranked(candidates, lots(candidates, gold.corpus))
    return ShownConflicts(
        places=len(candidates.gold),
        examples=[_example(gold, voted, candidates, row) for row in order[: shared.most].tolist()],
        rows=_rows(block.gold, block.hashes, shared),
        texts=_texts(block, shared),
    )


def _example(
    gold: Annotation, voted: VotedMentions, candidates: Candidates, row: int
) -> tuple[Order, dict[str, object]]:
    corpus, labels = gold.corpus, gold.mentions.labels
    sentence, start, end = int(candidates.sentence[row]), int(candidates.start[row]), int(candidates.end[row])
    own = None
    if candidates.gold[row] >= 0:
        at = int(voted.gold[candidates.gold[row]])
        start, end = int(voted.mentions.start[at]), int(voted.mentions.end[at])
        own = labels[int(voted.mentions.label[at])]
    label = int(candidates.label[row])
    words = corpus.words(sentence)
    text = corpus.texts[sentence][start:end] if corpus.texts is not None else " ".join(words[start:end])
    lot = crc32(" ".join(words).encode("utf-8", "replace"))
    score = float(candidates.score[row])
    order = (
        -round(score, DIGITS),
        lot,
        sentence,
        int(candidates.start[row]),
        int(candidates.end[row]),
        label,
    )
    return order, {
        "place": corpus.place_of(sentence, start),
        "text": text,
        "label": "O" if own is None else own,
        "elsewhere": "O" if label < 0 else labels[label],
        "score": score,
    }


def _texts(block: OpenedGold, shared: ConflictsContext) -> dict[Content, str]:
    """The token sequences of a block to show, including the alphabetically first of the tied ones."""
    texts = sorted(set(block.confused(shared.confusable).texts))
    hashes = word_hashes(texts)
    wanted, tied = find_hashes(shared.texts, hashes) >= 0, find_hashes(shared.tied, hashes) >= 0
    first = np.flatnonzero(tied)[: shared.most].tolist()
    rows = sorted({*np.flatnonzero(wanted).tolist(), *first})
    return dict(zip(_contents(hashes[rows]), [texts[row] for row in rows], strict=True))


def _rows(annotation: Annotation, hashes: Words, shared: ConflictsContext) -> list[SentenceRow]:
    """The sentences of a block to show."""
    chosen = find_hashes(shared.chosen, hashes)
    sentences = np.flatnonzero((chosen >= 0) & (annotation.corpus.lengths > 0)).tolist()
    return [
        SentenceRow(
            (sentence,),
            int(chosen[sentence]),
            annotation.corpus.place(sentence),
            annotated(annotation, sentence),
        )
        for sentence in sentences
    ]


def annotated(annotation: Annotation, sentence: int) -> str:
    """The mentions of one sentence, such as `PER [0, 2); LOC [4, 5)`."""
    mentions = annotation.mentions
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


def _grouped(rows: Sequence[SentenceRow], chosen: Sequence[int]) -> list[list[dict[str, str]]]:
    """The chosen sentences, each with all its occurrences and their mentions."""
    groups: dict[int, list[SentenceRow]] = {}
    for row in sorted(rows):
        groups.setdefault(row.chosen, []).append(row)
    return [[{"place": row.place, "mentions": row.mentions} for row in groups[at]] for at in chosen]


def _carried(tested: Sequence[TestPart]) -> dict[Content, Counter[str]]:
    """The label counts of each token sequence with two or more labels."""
    result: dict[Content, Counter[str]] = {}
    for part in tested:
        for key, label, times in zip(_contents(part.texts), part.labels, part.times.tolist(), strict=True):
            result.setdefault(key, Counter())[label] += times
    return result


def _doubt(labels: Counter[str]) -> int:
    """Minus the number of mentions that do not have the most frequent label."""
    return max(labels.values()) - labels.total()


def _candidates(carried: Mapping[Content, Counter[str]], most: int) -> tuple[Words, Words]:
    """The sequences certain to be shown, and those tied for the remaining places."""
    doubt = {key: _doubt(labels) for key, labels in carried.items()}
    ranking = sorted(doubt.values())
    last = ranking[min(most, len(ranking)) - 1] if ranking and most else None
    above = [key for key, own in doubt.items() if last is not None and own < last]
    tied = [key for key, own in doubt.items() if own == last]
    return ordered_hashes(_hashes(above)), ordered_hashes(_hashes(tied))


def _contents(hashes: Words) -> list[Content]:
    return [(high, low) for high, low in hashes.tolist()]


def _hashes(contents: Sequence[Content]) -> Words:
    return np.reshape(np.array(contents, dtype=np.uint64), (-1, 2))


def _annotated_twice(pairs: Words) -> Words:
    """The sorted hashes of sentences that have two or more distinct annotations."""
    distinct_pairs = distinct_rows(pairs)
    if not len(distinct_pairs):
        return ordered_hashes(_hashes([]))
    first, number = numbered(np.ascontiguousarray(distinct_pairs[:, :2]))
    return ordered_hashes(distinct_pairs[first[np.bincount(number) > 1], :2])
