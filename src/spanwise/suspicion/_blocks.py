"""Find suspects block by block: the words to compare, their readings, the candidates, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Bools, Ints, Words, codes, ints
from spanwise.corpus import Annotation, Corpus, Mentions, with_one_labelling
from spanwise.document.dataset import SuspectMention
from spanwise.evaluation.blocks import BlockSource, BlockSums, OneBlock, TrainingSource
from spanwise.evaluation.choices import Block
from spanwise.suspicion.contexts import BlockText, ContextCounts, Surfaces, contexts, joined_surfaces, varied
from spanwise.suspicion.ranking import (
    NONE,
    Candidates,
    ScoredPredictions,
    VariationTable,
    VoteCandidates,
    VotedMentions,
    count,
    in_tokens,
    join,
    kinds,
    lots,
    majority_of_runs,
    no_variation,
    places_of,
    voted_mentions,
    votes_for,
)

Voters = Mapping[str, tuple[str, ...]]  # the runs of each voter, by their names in the source


class OpenedVotes(Block, frozen=True, eq=False, dict=True):
    """An open block with cached derived data, which persists for a block that stays in memory."""

    @cached_property
    def line(self) -> BlockText:
        """The sentences laid end to end."""
        return BlockText.of(self.gold)

    @cached_property
    def placed(self) -> dict[str, Mentions]:
        """The predictions of every run that could be aligned with the text, with their scores."""
        return {name: _placed(system, self.predicted.get(name)) for name, system in self.systems.items()}

    def voting(self, voters: Voters) -> list[Mentions]:
        """The predictions of each voter."""
        return [majority_of_runs([self.placed[run] for run in runs]) for runs in voters.values()]


def _placed(mentions: Mentions, read: Annotation | None) -> Mentions:
    # Alignment keeps mentions in the order in which they were read.
    scored = mentions if read is None else replace(mentions, score=read.mentions.score)
    return scored if scored.placed.all() else scored.take(np.flatnonzero(scored.placed))


class CachedVotesBlock(OneBlock, frozen=True, eq=False):
    """Data in memory: a single block that stays open throughout."""

    opened: OpenedVotes

    @classmethod
    def of(cls, source: OneBlock, *, scores: bool) -> CachedVotesBlock:
        """Open a block; without `scores`, the scores of predictions are ignored."""
        block = source.inputs
        predicted = block.predicted if scores else {}
        return cls(block, OpenedVotes(block.gold, block.systems, predicted, block.alignment))

    def references(self, *, gold_only: bool = False) -> Iterator[Block]:
        """The block itself."""
        yield self.opened


class VotesContext(Struct, frozen=True, eq=False):
    """What the functions below need in addition to a block."""

    source: BlockSource
    more: TrainingSource | None
    voters: Voters
    labels: tuple[str, ...] = ()
    text: bool = True  # whether all sources have text, so that words can be compared
    surfaces: Surfaces = {}
    among: Words | None = None  # contexts of the test set
    counts: ContextCounts | None = None  # of contexts with two or more readings
    listed: Mapping[int, Sequence[ListedPlace]] = {}  # by block
    pairs: tuple[tuple[int, int], ...] = ()  # contexts and readings to show an example of
    redact: bool = False


class ListedPlace(Struct, frozen=True):
    """A suspect that is shown, in the positions of its block."""

    sentence: int
    gold: SuspectMention | None
    proposal: SuspectMention | None


def open_votes(reference: object, source: BlockSource) -> OpenedVotes:
    """Open a block if it is not open yet."""
    block = source.open(reference)
    if isinstance(block, OpenedVotes):
        return block
    return OpenedVotes(block.gold, block.systems, block.predicted, block.alignment)


# ---- which words are compared, under which labels ----


class WordsMarked(Struct, frozen=True, eq=False):
    """The words of mentions and of proposals of two voters, and the labels in use."""

    labels: frozenset[str]
    surfaces: Surfaces
    text: bool
    sums: Mapping[str, BlockSums]

    @classmethod
    def joined(cls, parts: Sequence[WordsMarked]) -> WordsMarked:
        """Merge the words of several blocks."""
        return cls(
            frozenset[str]().union(*(part.labels for part in parts)),
            joined_surfaces([part.surfaces for part in parts]),
            all(part.text for part in parts),
            BlockSums.added([part.sums for part in parts]),
        )


def mark_words(reference: object, shared: VotesContext) -> WordsMarked:
    """The words marked by the mentions and proposals of a test block."""
    block = open_votes(reference, shared.source)
    gold, *voting = with_one_labelling([block.gold.mentions, *block.voting(shared.voters)])
    sums = BlockSums.of_block(block) if block.predicted or not block.systems else {}
    if block.corpus.without_text:
        return WordsMarked(frozenset(gold.labels), {}, False, sums)
    distinct = voted_mentions(gold, voting).mentions
    supported = np.flatnonzero(distinct.by[1:].sum(axis=0) >= 2)
    proposals = Mentions(
        distinct.sentence[supported], distinct.start[supported], distinct.end[supported],
        codes(distinct.label[supported]), gold.labels,
    )  # fmt: skip
    own = block.line.surfaces(), block.line.surfaces(in_tokens(block.corpus, proposals))
    return WordsMarked(frozenset(gold.labels), joined_surfaces(own), True, sums)


def mark_elsewhere(reference: object, shared: VotesContext) -> WordsMarked:
    """The words marked by the mentions of a block of other text."""
    assert shared.more is not None
    file, annotation = shared.more.read(reference)
    (mentions,) = with_one_labelling([annotation.mentions])
    text = not annotation.corpus.without_text
    surfaces = BlockText.of(annotation).surfaces() if text else {}
    return WordsMarked(frozenset(mentions.labels), surfaces, text, {str(file): BlockSums.of(annotation)})


# ---- how words are read between their neighbours ----


def read_words(reference: object, shared: VotesContext) -> ContextCounts:
    """Count the readings of the words in a test block."""
    return contexts(open_votes(reference, shared.source).line, shared.surfaces, shared.labels)


def read_elsewhere(reference: object, shared: VotesContext) -> ContextCounts:
    """Count the readings of the words in a block of other text, in the contexts of the test set."""
    assert shared.more is not None
    _, annotation = shared.more.read(reference)
    return contexts(BlockText.of(annotation), shared.surfaces, shared.labels, shared.among)


# ---- candidates ----


class CandidateRows(Struct, frozen=True, eq=False):
    """Candidates with their order among ties, their kind, and the gold mention and words they concern."""

    candidates: Candidates
    lot: Ints  # orders ties
    gain: Ints  # change in right mentions of the left-out system if the proposal is accepted
    kind: Ints
    own_start: Ints  # of the gold mention
    own_end: Ints
    own_label: Ints  # -1: no gold mention
    surface: Words
    size: Ints  # number of tokens of the words, 0 if unknown

    @classmethod
    def joined(cls, parts: Sequence[CandidateRows], sentences: Sequence[int]) -> CandidateRows:
        """Concatenate consecutive blocks; `sentences` gives the first sentence of each."""
        moved = [
            replace(part.candidates, sentence=ints(part.candidates.sentence + first))
            for part, first in zip(parts, sentences, strict=True)
        ]
        columns = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in cls.__struct_fields__
            if name != "candidates"
        }
        return cls(candidates=_stacked(moved), **columns)


def _stacked(parts: Sequence[Candidates]) -> Candidates:
    names = Candidates.__struct_fields__
    return Candidates(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


class Judged(Struct, frozen=True, eq=False):
    """The candidates of a block, with all votes and without each voter's, and its numbers of mentions."""

    sentences: int
    everyone: CandidateRows
    without: tuple[CandidateRows, ...]
    gold: int
    predicted: Ints  # of each voter
    correct: Ints


def judge(reference: object, shared: VotesContext) -> Judged:
    """Find the candidates of a test block."""
    block = open_votes(reference, shared.source)
    gold = block.gold.mentions.relabeled(shared.labels)
    voted = voted_mentions(
        gold, [mentions.relabeled(shared.labels) for mentions in block.voting(shared.voters)]
    )
    table = no_variation(voted)
    if shared.text:
        assert shared.counts is not None
        occurrences, variation = varied(block.line, shared.surfaces, shared.counts, shared.labels)
        table = places_of(occurrences, variation, block.line.line, voted, block.corpus)
    number = len(shared.voters)
    by, everyone = voted.mentions.by, np.ones(number, dtype=bool)
    rows = _rows(block, voted, count(voted, everyone), number, table, None, shared)
    without = []
    if number > 2:  # a system does not vote on itself
        for index in range(number):
            others = everyone.copy()
            others[index] = False
            counted = count(voted, others)
            without.append(_rows(block, voted, counted, number - 1, table, by[index + 1], shared))
    return Judged(
        len(block.corpus), rows, tuple(without), int(by[0].sum()), ints(by[1:].sum(axis=1)),
        ints((by[1:] & by[0]).sum(axis=1)),
    )  # fmt: skip


def _rows(
    block: OpenedVotes, voted: VotedMentions, counted: VoteCandidates, voters: int, table: VariationTable,
    left_out: Bools | None, shared: VotesContext,
) -> CandidateRows:  # fmt: skip
    candidates = join(voted, counted, voters, table)
    distinct, has = voted.mentions, candidates.gold >= 0
    at = (
        voted.gold[np.maximum(candidates.gold, 0)]
        if len(voted.gold)
        else ints(np.zeros(len(candidates.gold)))
    )
    nothing = ints(np.zeros(len(candidates.gold)))
    if len(distinct):
        start, end = np.where(has, distinct.start[at], -1), np.where(has, distinct.end[at], -1)
        label = np.where(has, distinct.label[at], -1)
    else:
        start = end = label = nothing - 1
    gain = nothing if left_out is None else _gain(voted, counted, candidates, at, left_out)
    surface, size = (
        _surfaces(block, candidates, ints(start), ints(end))
        if shared.text and left_out is None
        else (np.zeros(len(nothing), dtype=np.uint64), nothing)
    )
    return CandidateRows(
        candidates, lots(candidates, block.corpus), gain, ints(kinds(candidates, voted)), ints(start),
        ints(end), ints(label), surface, size,
    )  # fmt: skip


def _gain(
    voted: VotedMentions, counted: VoteCandidates, candidates: Candidates, at: Ints, left_out: Bools
) -> Ints:
    """How many more mentions of a system are right if each proposal replaces the gold mention."""
    rows = np.flatnonzero(candidates.label >= 0)
    gain = np.zeros(len(candidates.gold), dtype=np.int64)
    has = replace(counted, votes=ints(left_out))
    gain[rows] = votes_for(
        voted,
        has,
        candidates.sentence[rows],
        candidates.start[rows],
        candidates.end[rows],
        candidates.label[rows],
    )
    if len(voted.gold):
        gain -= np.where(candidates.gold >= 0, left_out[at], False)
    return ints(gain)


def _surfaces(block: OpenedVotes, candidates: Candidates, start: Ints, end: Ints) -> tuple[Words, Ints]:
    """The words each candidate concerns: those of its gold mention or, without one, of its proposal."""
    own = start >= 0
    number = len(candidates.gold)
    mentions = Mentions(
        candidates.sentence,
        ints(np.where(own, start, candidates.start)),
        ints(np.where(own, end, candidates.end)),
        codes(np.zeros(number)),
        ("",),
        fields={"row": np.arange(number)},
    )
    placed = in_tokens(block.corpus, mentions)
    row = placed.fields["row"]
    surface, size = np.zeros(number, dtype=np.uint64), np.zeros(number, dtype=np.int64)
    size[row] = placed.end - placed.start
    surface[row] = block.line.hashes(placed)
    return surface, ints(size)


# ---- evidence to show ----


class ShownPlace(Struct, frozen=True):
    """What is shown of a suspect in addition to its numbers."""

    source: str
    tokens: tuple[str, ...]
    confidence: float | None


class ShownEvidence(Struct, frozen=True, eq=False):
    """The evidence from a block: its suspects, the readings of their words, and the first examples."""

    places: tuple[ShownPlace, ...]
    readings: Mapping[tuple[int, int, int], int]  # by hash of the words, number of words and reading
    examples: Mapping[tuple[int, int], str]  # by context and reading

    @classmethod
    def joined(cls, parts: Sequence[ShownEvidence]) -> ShownEvidence:
        """Merge the evidence of consecutive blocks."""
        readings: dict[tuple[int, int, int], int] = {}
        examples: dict[tuple[int, int], str] = {}
        for part in parts:
            for key, number in part.readings.items():
                readings[key] = readings.get(key, 0) + number
            examples = {**part.examples, **examples}
        return cls(tuple(shown for part in parts for shown in part.places), readings, examples)


def show(numbered: tuple[int, object], shared: VotesContext) -> ShownEvidence:
    """Collect the evidence in a test block, which comes with its number."""
    number, reference = numbered
    opened = open_votes(reference, shared.source)
    listed = shared.listed.get(number, ())
    scored = ScoredPredictions.of(
        {name: [opened.placed[run] for run in runs] for name, runs in shared.voters.items()},
        ints([suspect.sentence for suspect in listed]),
    )
    places = tuple(_shown(opened.corpus, suspect, scored, shared) for suspect in listed)
    if not shared.text:
        return ShownEvidence(places, {}, {})
    return ShownEvidence(places, *_readings(opened.line, shared))


def show_elsewhere(reference: object, shared: VotesContext) -> ShownEvidence:
    """Collect the evidence in a block of other text."""
    assert shared.more is not None
    _, annotation = shared.more.read(reference)
    return ShownEvidence((), *_readings(BlockText.of(annotation), shared))


def _shown(
    corpus: Corpus, suspect: ListedPlace, scored: ScoredPredictions, shared: VotesContext
) -> ShownPlace:
    first = suspect.gold or suspect.proposal
    text: tuple[str, ...] = ()
    if not (shared.redact or corpus.without_text):
        text = (
            tuple(corpus.words(suspect.sentence))
            if corpus.texts is None
            else (corpus.texts[suspect.sentence],)
        )
    return ShownPlace(
        corpus.place_of(suspect.sentence, first.start if first else 0),
        text,
        scored.of_label(suspect.sentence, suspect.gold, suspect.proposal),
    )


def _readings(
    text: BlockText, shared: VotesContext
) -> tuple[dict[tuple[int, int, int], int], dict[tuple[int, int], str]]:
    """Count the readings of the words of suspects, and locate the first example of each requested pair."""
    occurrences, context = text.occurrences(shared.surfaces)
    reading = text.readings(occurrences, shared.labels)
    readable = np.flatnonzero(reading != NONE)
    rows = np.stack([occurrences.surface[readable], occurrences.length[readable], reading[readable]], axis=1)
    distinct, times = np.unique(rows, axis=0, return_counts=True)
    readings = {(a, b, c): n for (a, b, c), n in zip(distinct.tolist(), times.tolist(), strict=True)}
    corpus, line, examples = text.annotation.corpus, text.line, {}
    for pair in shared.pairs:
        begins = occurrences.begin[(context == np.uint64(pair[0])) & (reading == pair[1])]
        if len(begins):
            begin = int(begins.min())
            sentence = int(np.searchsorted(line.origin, begin, "right")) - 1
            examples[pair] = corpus.place(sentence, begin - int(line.origin[sentence]))
    return readings, examples
