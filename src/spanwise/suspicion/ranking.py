"""The evidence for suspects (votes, variation of the same words, scores), and their ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Column, Floats, Ints, Words, codes, floats, ints, offsets, run_positions
from spanwise.corpus import Annotation, Corpus, Mentions, with_one_labelling
from spanwise.document.dataset import SuspectMention
from spanwise.hashing import mixed_words
from spanwise.matching import DistinctMentions, distinct_mentions


class VotedMentions(Struct, frozen=True, eq=False):
    """The distinct gold and predicted mentions, and which systems predict nothing at each gold mention.

    Row 0 of `mentions.by` is gold; the systems follow. `gold` holds the rows of gold mentions, and
    `silent[s, i]` is true if nothing that system `s` predicts overlaps the `i`-th gold mention.
    `pair_proposal` and `pair_gold` are the rows of overlapping mentions outside and inside gold.
    """

    mentions: DistinctMentions
    labels: tuple[str, ...]
    gold: Ints
    silent: Bools
    pair_proposal: Ints
    pair_gold: Ints

    @property
    def systems(self) -> int:
        """The number of systems that vote."""
        return len(self.silent)


class VoteCandidates(Struct, frozen=True, eq=False):
    """The best change to each gold mention (score 0: none), and proposals that overlap no gold mention."""

    votes: Ints  # of each distinct mention
    gold_score: Ints  # of each gold mention: votes for minus votes against
    gold_proposal: Ints  # row of the proposal, -1 to delete
    gold_for: Ints
    silent: Ints  # number of systems that predict nothing at each gold mention
    free: Ints  # rows of proposals that overlap no gold mention


def majority_of_runs(runs: Sequence[Mentions]) -> Mentions:
    """The mentions that more than half of the runs of one system predict."""
    if len(runs) == 1:
        return runs[0]
    runs = with_one_labelling(runs)
    distinct = distinct_mentions(runs)
    kept = np.flatnonzero(2 * distinct.by.sum(axis=0) > len(runs))
    return Mentions(
        sentence=distinct.sentence[kept],
        start=distinct.start[kept],
        end=distinct.end[kept],
        label=codes(distinct.label[kept]),
        labels=runs[0].labels,
    )


def voted_mentions(gold: Mentions, systems: Sequence[Mentions]) -> VotedMentions:
    """Prepare the counting of votes; all mentions must share one list of labels."""
    distinct = distinct_mentions([gold, *systems])
    stride = int(distinct.end.max(initial=0)) + 1
    begin, end = distinct.sentence * stride + distinct.start, distinct.sentence * stride + distinct.end
    inside = distinct.by[0]
    rows = np.flatnonzero(inside)
    silent = np.zeros((len(systems), len(rows)), dtype=bool)
    for number in range(len(systems)):
        own = np.flatnonzero(distinct.by[number + 1])
        begun = np.searchsorted(begin[own], end[rows], "left")
        ended = np.searchsorted(np.sort(end[own]), begin[rows], "right")
        silent[number] = begun == ended
    outside = np.flatnonzero(~inside)
    proposal, partner = overlapping(begin[outside], end[outside], begin[rows], end[rows])
    return VotedMentions(
        mentions=distinct,
        labels=tuple(gold.labels),
        gold=ints(rows),
        silent=silent,
        pair_proposal=ints(outside[proposal]),
        pair_gold=ints(rows[partner]),
    )


def overlapping(begin: Ints, end: Ints, other_begin: Ints, other_end: Ints) -> tuple[Ints, Ints]:
    """All pairs of overlapping spans of two sides, each sorted by begin."""
    if not len(begin) or not len(other_begin):
        return ints([]), ints([])
    reach = np.maximum.accumulate(other_end)
    low = np.searchsorted(reach, begin, "right")
    high = np.searchsorted(other_begin, end, "left")
    sizes = np.maximum(high - low, 0)
    mine = np.repeat(np.arange(len(begin)), sizes)
    other = run_positions(low, sizes)
    kept = other_end[other] > begin[mine]
    return ints(mine[kept]), ints(other[kept])


def count(voted: VotedMentions, voting: Bools) -> VoteCandidates:
    """Find the best change to each gold mention, and free proposals, by the votes of systems in `voting`."""
    distinct = voted.mentions
    votes = ints(distinct.by[1:][voting].sum(axis=0))
    silent = ints(voted.silent[voting].sum(axis=0))
    index_in_gold = np.full(len(distinct), -1, dtype=np.int64)
    index_in_gold[voted.gold] = np.arange(len(voted.gold))
    supported = votes[voted.pair_proposal] >= 2
    proposal, partner = voted.pair_proposal[supported], voted.pair_gold[supported]
    # A proposal over several gold mentions is assigned to the one with most votes; ties: the first.
    order = np.lexsort((partner, -votes[partner], proposal))
    first = _first_of(proposal[order])
    proposal, partner = proposal[order][first], partner[order][first]
    score = silent - votes[voted.gold]
    best = np.full(len(voted.gold), -1, dtype=np.int64)
    support = silent.copy()
    # Of several changes to one gold mention, take the best; ties: most votes, then the first.
    margin = votes[proposal] - votes[partner]
    order = np.lexsort((proposal, -votes[proposal], -margin, partner))
    first = _first_of(partner[order])
    chosen = order[first]
    row = index_in_gold[partner[chosen]]
    wins = margin[chosen] >= score[row]
    row, chosen = row[wins], chosen[wins]
    score[row], best[row], support[row] = margin[chosen], proposal[chosen], votes[proposal[chosen]]
    free = np.ones(len(distinct), dtype=bool)
    free[voted.gold] = False
    free[voted.pair_proposal] = False
    return VoteCandidates(
        votes=votes,
        gold_score=ints(score),
        gold_proposal=ints(best),
        gold_for=ints(support),
        silent=silent,
        free=ints(np.flatnonzero(free & (votes >= 2))),
    )


def _first_of(values: Ints) -> Bools:
    """Which values of a sorted column differ from the one before."""
    first = np.ones(len(values), dtype=bool)
    first[1:] = values[1:] != values[:-1]
    return first


_BITS = 20
OUTSIDE = 0  # the reading of words that no mention touches; labels follow from 1
NONE = -1  # partly covered, or with several labels at once


class Text(Struct, frozen=True, eq=False):
    """All sentences of several corpora laid end to end, with a mark before, between and after them.

    `origin[i]` is where sentence `i` begins, counting through all corpora.
    """

    tokens: Column
    origin: Ints
    first: Ints  # number of the first sentence of each corpus


class Occurrences(Struct, frozen=True, eq=False):
    """Occurrences of words that are a mention somewhere, with their reading at each position.

    Equal words have the same `surface`; equal words between equal neighbours, the same `context`.
    """

    begin: Ints
    length: Ints
    reading: Ints
    surface: Ints
    context: Ints


class Readings(Struct, frozen=True, eq=False):
    """How often each group of occurrences has each reading."""

    total: Ints  # of each group
    cell: Ints  # sorted keys: group * readings + reading
    count: Ints  # of each cell
    readings: int

    def of(self, group: Ints, reading: Ints) -> Ints:
        """The count of each pair of group and reading."""
        key = group * self.readings + reading
        index = np.minimum(np.searchsorted(self.cell, key), max(len(self.cell) - 1, 0))
        if not len(self.cell):
            return ints(np.zeros(len(key)))
        return ints(np.where(self.cell[index] == key, self.count[index], 0))


class Variation(Struct, frozen=True, eq=False):
    """Occurrences in gold whose reading is not the majority reading."""

    row: Ints  # index into the occurrences
    score: Column
    proposal: Ints  # the majority reading
    group: Ints


def in_tokens(corpus: Corpus, mentions: Mentions) -> Mentions:
    """Convert mentions to token positions: each covers the tokens it touches; drop those that touch none."""
    if corpus.unit == "token" or corpus.token_start is None or corpus.token_end is None:
        return mentions
    stride = 1 + int(max(mentions.end.max(initial=0), corpus.token_end.max(initial=0)))
    line = np.repeat(np.arange(len(corpus)), corpus.lengths) * stride
    first = np.searchsorted(line + corpus.token_end, mentions.sentence * stride + mentions.start, "right")
    last = np.searchsorted(line + corpus.token_start, mentions.sentence * stride + mentions.end, "left")
    origin = corpus.sentences[mentions.sentence]
    moved = Mentions(
        mentions.sentence,
        ints(first - origin),
        ints(last - origin),
        mentions.label,
        mentions.labels,
        fields=mentions.fields,
    )
    return moved.take(np.flatnonzero(last > first))


def in_characters(corpus: Corpus, sentence: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Convert spans of tokens to the positions of the corpus."""
    if corpus.unit == "token" or corpus.token_start is None or corpus.token_end is None:
        return start, end
    origin = corpus.sentences[sentence]
    return ints(corpus.token_start[origin + start]), ints(corpus.token_end[origin + end - 1])


def text_of(annotations: Sequence[Annotation]) -> Text:
    """Lay the tokens of all corpora, which share one vocabulary, end to end."""
    mark = len(annotations[0].corpus.vocabulary)
    lengths = np.concatenate([annotation.corpus.lengths for annotation in annotations])
    origin = offsets(lengths + 1)[:-1] + 1
    tokens = np.full(int(lengths.sum() + len(lengths) + 1), mark, dtype=np.int64)
    inside = np.ones(len(tokens), dtype=bool)
    inside[0] = False
    inside[origin + lengths] = False
    tokens[inside] = np.concatenate([annotation.corpus.tokens for annotation in annotations])
    return Text(tokens, ints(origin), offsets([len(annotation.corpus) for annotation in annotations]))


def placed_on(text: Text, mentions: Sequence[Mentions]) -> tuple[Ints, Ints, Ints]:
    """The begin on the line, length and label of all mentions, corpus by corpus."""
    begins = [
        text.origin[text.first[number] + own.sentence] + own.start for number, own in enumerate(mentions)
    ]
    lengths = [own.end - own.start for own in mentions]
    return (
        ints(np.concatenate(begins)),
        ints(np.concatenate(lengths)),
        ints(np.concatenate([own.label for own in mentions])),
    )


def members(window: Words, keys: Words) -> Ints:
    """Where the window is one of the sorted keys; a small table rules out most positions first."""
    shift = np.uint64(64 - _BITS)
    table = np.zeros(1 << _BITS, dtype=bool)
    with np.errstate(over="ignore"):
        table[(mixed_words(keys) >> shift).view(np.int64)] = True
        maybe = np.flatnonzero(table[(mixed_words(window) >> shift).view(np.int64)])
    index = np.minimum(np.searchsorted(keys, window[maybe]), len(keys) - 1)
    return ints(maybe[keys[index] == window[maybe]])


def readings_at(text: Text, begin: Ints, length: Ints, label: Ints, places: Ints, sizes: Ints) -> Ints:
    """The reading at each place: the label code + 1 of the one mention exactly there, `OUTSIDE` or `NONE`."""
    change = np.zeros(len(text.tokens) + 1, dtype=np.int64)
    np.add.at(change, begin, 1)
    np.add.at(change, begin + length, -1)
    covered = offsets(np.cumsum(change) > 0)
    reading = np.where(covered[places + sizes] == covered[places], OUTSIDE, NONE)
    stride = int(max(length.max(initial=0), sizes.max(initial=0))) + 1
    key = begin * stride + length
    order = np.argsort(key, kind="stable")
    key, label_at = key[order], label[order]
    wanted = places * stride + sizes
    low = np.searchsorted(key, wanted, "left")
    number = np.searchsorted(key, wanted, "right") - low
    exact = number == 1
    reading[exact] = label_at[low[exact]] + 1
    return ints(reading)


def variation(occurrences: Occurrences, counts: Readings, within: int) -> Variation:
    """Occurrences before position `within` whose words are read differently elsewhere in the same context.

    The score is the share of the most frequent reading times (1 - 1/n), where n is the number of
    occurrences with a reading. If two readings are equally frequent, each is a suspect for the other.
    """
    groups, readings = len(counts.total), counts.readings
    owner, reading = counts.cell // readings, counts.cell % readings
    # Ties between readings: labels in order, then outside.
    rank = np.where(reading == OUTSIDE, readings, reading)
    order = np.lexsort((rank, -counts.count, owner))
    owner, reading, count = owner[order], reading[order], counts.count[order]
    start = np.searchsorted(owner, np.arange(groups))
    kinds = np.bincount(owner, minlength=groups)
    rows = np.flatnonzero(
        (occurrences.begin < within) & (occurrences.reading != NONE) & (kinds[occurrences.context] > 1)
    )
    group = occurrences.context[rows]
    top, second = start[group], start[group] + 1
    mine = occurrences.reading[rows]
    own = counts.of(group, mine)
    most = count[top]
    tied = (own == most) & (count[second] == most)
    wrong = (own < most) | tied
    proposal = np.where(reading[top] == mine, reading[second], reading[top])
    share = most / counts.total[group]
    score = share * (1 - 1 / counts.total[group])
    return Variation(ints(rows[wrong]), score[wrong], ints(proposal[wrong]), ints(group[wrong]))


DIGITS = 12  # scores equal to this many digits are ties


class Candidates(Struct, frozen=True, eq=False):
    """Suspects as columns; `gold` is an index into the gold mentions, -1 if gold has nothing there.

    The proposal is (`start`, `end`, `label`) in the sentence; label -1 proposes to delete the gold mention.
    """

    gold: Ints
    sentence: Ints
    start: Ints
    end: Ints
    label: Ints
    vote_score: Floats
    variation_score: Floats
    supporting: Ints
    opposing: Ints
    group: Ints  # of the variation, -1: none

    @property
    def score(self) -> Floats:
        """The larger of the two scores."""
        return np.maximum(self.vote_score, self.variation_score)

    def take(self, rows: Ints) -> Candidates:
        """The chosen rows."""
        return Candidates(*(getattr(self, name)[rows] for name in self.__struct_fields__))


class VariationTable(Struct, frozen=True, eq=False):
    """Variation at gold mentions (score 0: none), and at spans where gold has nothing."""

    gold_score: Floats
    gold_reading: Ints
    gold_group: Ints
    sentence: Ints
    start: Ints
    end: Ints
    label: Ints
    score: Floats
    group: Ints


def places_of(
    occurrences: Occurrences, varied: Variation, text: Text, voted: VotedMentions, corpus: Corpus
) -> VariationTable:
    """Map the varying occurrences to gold mentions, or to spans where gold has nothing."""
    begin, length = occurrences.begin[varied.row], occurrences.length[varied.row]
    sentence = np.searchsorted(text.origin, begin, "right") - 1
    start = begin - text.origin[sentence]
    reading = occurrences.reading[varied.row]
    rows = voted.gold
    gold = _gold_in_tokens(voted, corpus)
    stride = int(max(length.max(initial=0), (gold.end - gold.start).max(initial=0))) + 1
    key = (text.origin[gold.sentence] + gold.start) * stride + gold.end - gold.start
    order = np.argsort(key, kind="stable")
    marked = reading > OUTSIDE
    at = gold.fields["row"][order[np.searchsorted(key[order], (begin * stride + length)[marked])]]
    score, proposal, group = np.zeros(len(rows)), np.full(len(rows), NONE), np.full(len(rows), -1)
    score[at] = varied.score[marked]
    proposal[at] = varied.proposal[marked]
    group[at] = varied.group[marked]
    free = ~marked
    where = ints(sentence[free])
    starts, ends = in_characters(corpus, where, ints(start[free]), ints((start + length)[free]))
    return VariationTable(
        floats(score), ints(proposal), ints(group), where, starts, ends,
        ints(varied.proposal[free] - 1), floats(varied.score[free]), ints(varied.group[free]),
    )  # fmt: skip


def _gold_in_tokens(voted: VotedMentions, corpus: Corpus) -> Mentions:
    """The gold mentions that were voted on in token positions, each with its index in the field `row`."""
    distinct, rows = voted.mentions, voted.gold
    own = Mentions(
        distinct.sentence[rows],
        distinct.start[rows],
        distinct.end[rows],
        codes(distinct.label[rows]),
        voted.labels,
        fields={"row": np.arange(len(rows))},
    )
    return in_tokens(corpus, own)


def no_variation(voted: VotedMentions) -> VariationTable:
    """A table without variation, for when no words can be compared."""
    size, nothing = len(voted.gold), ints([])
    return VariationTable(
        floats(np.zeros(size)), ints(np.full(size, NONE)), ints(np.full(size, -1)), nothing, nothing,
        nothing, nothing, floats([]), nothing,
    )  # fmt: skip


def join(voted: VotedMentions, counted: VoteCandidates, voters: int, varied: VariationTable) -> Candidates:
    """All suspects with a positive score: gold mentions first, then spans where gold has nothing."""
    return _both(_on_gold(voted, counted, voters, varied), _off_gold(voted, counted, voters, varied))


def _on_gold(
    voted: VotedMentions, counted: VoteCandidates, voters: int, varied: VariationTable
) -> Candidates:
    distinct, rows = voted.mentions, voted.gold
    vote_score = counted.gold_score / voters if voters >= 2 else np.zeros(len(rows))
    by_variation = varied.gold_score > vote_score
    proposal = counted.gold_proposal
    start = np.where(proposal >= 0, distinct.start[proposal], distinct.start[rows])
    end = np.where(proposal >= 0, distinct.end[proposal], distinct.end[rows])
    label = np.where(proposal >= 0, distinct.label[proposal], -1)
    supporting = counted.gold_for.copy()
    start[by_variation], end[by_variation] = (
        distinct.start[rows[by_variation]],
        distinct.end[rows[by_variation]],
    )
    label[by_variation] = varied.gold_reading[by_variation] - 1
    changed = np.flatnonzero(by_variation)
    deleted = changed[label[changed] < 0]
    renamed = changed[label[changed] >= 0]
    silent = counted.silent
    supporting[deleted] = silent[deleted]
    supporting[renamed] = votes_for(
        voted, counted, distinct.sentence[rows[renamed]], start[renamed], end[renamed], label[renamed]
    )
    score = np.maximum(vote_score, varied.gold_score)
    kept = np.flatnonzero(score > 0)
    return Candidates(
        ints(np.arange(len(rows))), distinct.sentence[rows], ints(start), ints(end), ints(label),
        floats(np.maximum(vote_score, 0.0)), varied.gold_score, ints(supporting), counted.votes[rows],
        varied.gold_group,
    ).take(ints(kept))  # fmt: skip


def votes_for(
    voted: VotedMentions, counted: VoteCandidates, sentence: Ints, start: Ints, end: Ints, label: Ints
) -> Ints:
    """The number of votes for each of the given mentions."""
    distinct = voted.mentions
    if not len(distinct) or not len(sentence):
        return ints(np.zeros(len(sentence)))
    top = int(max(distinct.end.max(), end.max())) + 1
    labels = len(voted.labels)

    def key(s: Column, a: Column, b: Column, c: Column) -> Column:
        return np.asarray(((s * top + a) * top + b) * labels + c)

    keys = key(distinct.sentence, distinct.start, distinct.end, distinct.label)
    order = np.argsort(keys, kind="stable")
    wanted = key(sentence, start, end, label)
    index = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
    return ints(np.where(keys[index] == wanted, counted.votes[index], 0))


def _off_gold(
    voted: VotedMentions, counted: VoteCandidates, voters: int, varied: VariationTable
) -> Candidates:
    distinct, free = voted.mentions, counted.free if voters >= 2 else counted.free[:0]
    number, other = len(free), len(varied.sentence)
    sentence = np.concatenate([distinct.sentence[free], varied.sentence])
    start = np.concatenate([distinct.start[free], varied.start])
    end = np.concatenate([distinct.end[free], varied.end])
    label = np.concatenate([distinct.label[free], varied.label])
    vote_score = np.concatenate([counted.votes[free] / max(voters, 1), np.zeros(other)])
    variation_score = np.concatenate([np.zeros(number), varied.score])
    group = np.concatenate([np.full(number, -1), varied.group])
    # Merge equal proposals from votes and from variation; in the order, votes come first.
    order = np.lexsort((np.arange(number + other), label, end, start, sentence))
    columns = [column[order] for column in (sentence, start, end, label)]
    same = np.zeros(len(order), dtype=bool)
    if len(order):
        same[1:] = np.all([column[1:] == column[:-1] for column in columns], axis=0)
    first = np.flatnonzero(~same)
    again = np.flatnonzero(same)
    scores, varying, groups = vote_score[order], variation_score[order], group[order]
    varying[again - 1] = varying[again]
    groups[again - 1] = groups[again]
    sentence, start, end, label = (column[first] for column in columns)
    candidates = Candidates(
        ints(np.full(len(first), -1)), ints(sentence), ints(start), ints(end), ints(label),
        floats(scores[first]), floats(varying[first]),
        votes_for(voted, counted, sentence, start, end, label), ints(np.zeros(len(first))),
        ints(groups[first]),
    )  # fmt: skip
    return candidates.take(_best_of_overlapping(candidates))


def _best_of_overlapping(candidates: Candidates) -> Ints:
    """Of overlapping proposals, keep only the best; ties: most votes, then the first."""
    order = np.lexsort((candidates.end, candidates.start, candidates.sentence))
    contested = _contested(candidates, order)
    kept = set(np.flatnonzero(~contested).tolist())
    rows = np.flatnonzero(contested)
    ranked = rows[
        np.lexsort(
            (
                candidates.label[rows], candidates.end[rows], candidates.start[rows],
                candidates.sentence[rows],
                -candidates.supporting[rows], -candidates.score[rows].round(DIGITS),
            )
        )
    ]  # fmt: skip
    taken: dict[int, list[tuple[int, int]]] = {}
    for row in ranked.tolist():
        start, end = int(candidates.start[row]), int(candidates.end[row])
        spans = taken.setdefault(int(candidates.sentence[row]), [])
        if all(end <= a or b <= start for a, b in spans):
            spans.append((start, end))
            kept.add(row)
    return ints(sorted(kept))


def _contested(candidates: Candidates, order: Ints) -> Bools:
    """Which proposals may overlap another one."""
    contested = np.zeros(len(order), dtype=bool)
    if not len(order):
        return contested
    stride = int(candidates.end.max()) + 1
    begin = (candidates.sentence * stride + candidates.start)[order]
    reach = np.maximum.accumulate((candidates.sentence * stride + candidates.end)[order])
    meets = np.zeros(len(order), dtype=bool)
    meets[1:] = begin[1:] < reach[:-1]
    # A long proposal may overlap one that is not its neighbour, so compare its whole run.
    run = np.cumsum(~meets) - 1
    busy = np.bincount(run) > 1
    contested[order] = busy[run]
    return contested


def _both(first: Candidates, second: Candidates) -> Candidates:
    return Candidates(
        *(np.concatenate([getattr(first, name), getattr(second, name)]) for name in first.__struct_fields__)
    )


def lots(candidates: Candidates, corpus: Corpus) -> Ints:
    """A pseudo-random number for each suspect, from the words of its sentence, to order ties.

    If a list shows only part of a tie, that part is a sample independent of the order of the file.
    """
    drawn = {
        sentence: crc32(" ".join(corpus.words(sentence)).encode("utf-8", "replace"))
        for sentence in set(candidates.sentence.tolist())
    }
    return ints([drawn[sentence] for sentence in candidates.sentence.tolist()])


def ranked(candidates: Candidates, lot: Ints) -> tuple[Ints, Ints, Ints]:
    """The order of suspects and, in that order, their ranks and how many share each rank."""
    score = candidates.score.round(DIGITS)
    order = np.lexsort((candidates.label, candidates.end, candidates.start, candidates.sentence, lot, -score))
    ordered = -score[order]
    rank = np.searchsorted(ordered, ordered, "left") + 1
    tied = np.searchsorted(ordered, ordered, "right") - rank + 1
    return ints(order), ints(rank), ints(tied)


KINDS = ("label", "boundary", "missing", "spurious")


def kinds(candidates: Candidates, voted: VotedMentions) -> Ints:
    """The kind of each suspect, as an index into `KINDS`."""
    distinct = voted.mentions
    row = (
        voted.gold[np.maximum(candidates.gold, 0)]
        if len(voted.gold)
        else np.zeros(len(candidates.gold), np.int64)
    )
    same = (
        (distinct.start[row] == candidates.start) & (distinct.end[row] == candidates.end)
        if len(distinct)
        else np.zeros(len(candidates.gold), dtype=bool)
    )
    return ints(np.select([candidates.gold < 0, candidates.label < 0, same], [2, 3, 0], default=1))


ScoredSpan = tuple[int, int, str, float]  # start, end, label and score of a prediction


class ScoredPredictions(Struct, frozen=True):
    """The predictions with scores in some sentences, for each run of each system."""

    systems: tuple[Mapping[int, Sequence[ScoredSpan]], ...]

    @classmethod
    def of(cls, systems: Mapping[str, Sequence[Mentions]], sentences: Ints) -> ScoredPredictions:
        """Collect the predictions with a score in the given sentences."""
        wanted = set(sentences.tolist())
        predictions = []
        for mentions in (run for runs in systems.values() for run in runs if run.score is not None):
            assert mentions.score is not None
            by_sentence: dict[int, list[ScoredSpan]] = {}
            for (sentence, start, end, label), score in zip(
                mentions.rows(), mentions.score.tolist(), strict=True
            ):
                if sentence in wanted and 0 <= score <= 1:
                    by_sentence.setdefault(sentence, []).append((start, end, label, score))
            predictions.append(by_sentence)
        return cls(tuple(predictions))

    def of_label(
        self, sentence: int, own: SuspectMention | None, proposal: SuspectMention | None
    ) -> float | None:
        """The lowest probability of gold's label over the tokens of a span; None if there are no scores.

        A system that predicts gold's label on a token contributes its score, one that predicts another label
        contributes one minus its score, and one that predicts nothing does not contribute. The probability
        of a token is the mean over systems and runs.
        """
        span = own or proposal
        if span is None or not self.systems:
            return None
        label = None if own is None else own.label
        lowest = None
        for token in range(span.start, span.end):
            probabilities = [
                max(score if name == label else 1 - score for start, end, name, score in covering)
                for run in self.systems
                if (covering := [item for item in run.get(sentence, ()) if item[0] <= token < item[1]])
            ]
            if probabilities:
                mean = sum(probabilities) / len(probabilities)
                lowest = mean if lowest is None else min(lowest, mean)
        return lowest
