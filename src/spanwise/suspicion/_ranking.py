"""Votes and variation joined into one ranked list, one suspect per gold mention or empty place."""

from __future__ import annotations

from zlib import crc32

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Column, Floats, Ints, codes, floats, ints
from spanwise.corpus import Corpus, Mentions
from spanwise.suspicion._variation import (
    NONE,
    OUTSIDE,
    Occurrences,
    Text,
    Variation,
    in_characters,
    in_tokens,
)
from spanwise.suspicion._votes import Ballot, VoteCandidates

DIGITS = 12  # scores that are equal up to here are ties


class Candidates(Struct, frozen=True, eq=False):
    """Suspects as columns; `gold` is a place among the gold mentions, -1 where gold has nothing.

    The proposal is (`start`, `end`, `label`) of the sentence; label -1 proposes to delete.
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
        """The larger of both scores."""
        return np.maximum(self.vote_score, self.variation_score)

    def take(self, rows: Ints) -> Candidates:
        """The chosen rows."""
        return Candidates(*(getattr(self, name)[rows] for name in self.__struct_fields__))


class VariationPlaces(Struct, frozen=True, eq=False):
    """Variation by gold mention (score 0: none), and at places where gold has nothing."""

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
    found: Occurrences, varied: Variation, text: Text, ballot: Ballot, corpus: Corpus
) -> VariationPlaces:
    """Where in gold the varying occurrences lie."""
    begin, length = found.begin[varied.row], found.length[varied.row]
    sentence = np.searchsorted(text.origin, begin, "right") - 1
    start = begin - text.origin[sentence]
    reading = found.reading[varied.row]
    rows = ballot.gold
    gold = _gold_in_tokens(ballot, corpus)
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
    return VariationPlaces(
        floats(score), ints(proposal), ints(group), where, starts, ends,
        ints(varied.proposal[free] - 1), floats(varied.score[free]), ints(varied.group[free]),
    )  # fmt: skip


def _gold_in_tokens(ballot: Ballot, corpus: Corpus) -> Mentions:
    """The gold mentions of the ballot by tokens, each with its place among them in the field `row`."""
    distinct, rows = ballot.mentions, ballot.gold
    own = Mentions(
        distinct.sentence[rows],
        distinct.start[rows],
        distinct.end[rows],
        codes(distinct.label[rows]),
        ballot.labels,
        fields={"row": np.arange(len(rows))},
    )
    return in_tokens(corpus, own)


def no_variation(ballot: Ballot) -> VariationPlaces:
    """Nothing varies, or nothing could be compared."""
    size, nothing = len(ballot.gold), ints([])
    return VariationPlaces(
        floats(np.zeros(size)), ints(np.full(size, NONE)), ints(np.full(size, -1)), nothing, nothing,
        nothing, nothing, floats([]), nothing,
    )  # fmt: skip


def join(ballot: Ballot, counted: VoteCandidates, voters: int, varied: VariationPlaces) -> Candidates:
    """All suspects with a positive score, gold mentions first, then places where gold has nothing."""
    return _both(_on_gold(ballot, counted, voters, varied), _off_gold(ballot, counted, voters, varied))


def _on_gold(ballot: Ballot, counted: VoteCandidates, voters: int, varied: VariationPlaces) -> Candidates:
    distinct, rows = ballot.mentions, ballot.gold
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
        ballot, counted, distinct.sentence[rows[renamed]], start[renamed], end[renamed], label[renamed]
    )
    score = np.maximum(vote_score, varied.gold_score)
    kept = np.flatnonzero(score > 0)
    return Candidates(
        ints(np.arange(len(rows))), distinct.sentence[rows], ints(start), ints(end), ints(label),
        floats(np.maximum(vote_score, 0.0)), varied.gold_score, ints(supporting), counted.votes[rows],
        varied.gold_group,
    ).take(ints(kept))  # fmt: skip


def votes_for(
    ballot: Ballot, counted: VoteCandidates, sentence: Ints, start: Ints, end: Ints, label: Ints
) -> Ints:
    """The votes for mentions that may be nobody's."""
    distinct = ballot.mentions
    if not len(distinct) or not len(sentence):
        return ints(np.zeros(len(sentence)))
    top = int(max(distinct.end.max(), end.max())) + 1
    labels = len(ballot.labels)

    def key(s: Column, a: Column, b: Column, c: Column) -> Column:
        return np.asarray(((s * top + a) * top + b) * labels + c)

    known = key(distinct.sentence, distinct.start, distinct.end, distinct.label)
    order = np.argsort(known, kind="stable")
    wanted = key(sentence, start, end, label)
    place = order[np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)]
    return ints(np.where(known[place] == wanted, counted.votes[place], 0))


def _off_gold(ballot: Ballot, counted: VoteCandidates, voters: int, varied: VariationPlaces) -> Candidates:
    distinct, free = ballot.mentions, counted.free if voters >= 2 else counted.free[:0]
    number, other = len(free), len(varied.sentence)
    sentence = np.concatenate([distinct.sentence[free], varied.sentence])
    start = np.concatenate([distinct.start[free], varied.start])
    end = np.concatenate([distinct.end[free], varied.end])
    label = np.concatenate([distinct.label[free], varied.label])
    vote_score = np.concatenate([counted.votes[free] / max(voters, 1), np.zeros(other)])
    variation_score = np.concatenate([np.zeros(number), varied.score])
    group = np.concatenate([np.full(number, -1), varied.group])
    # The same proposal of both kinds is one: votes stand first in the order, variation behind them.
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
    found = Candidates(
        ints(np.full(len(first), -1)), ints(sentence), ints(start), ints(end), ints(label),
        floats(scores[first]), floats(varying[first]),
        votes_for(ballot, counted, sentence, start, end, label), ints(np.zeros(len(first))),
        ints(groups[first]),
    )  # fmt: skip
    return found.take(_best_of_overlapping(found))


def _best_of_overlapping(found: Candidates) -> Ints:
    """Of overlapping proposals the highest alone; ties: most votes, then the first."""
    order = np.lexsort((found.end, found.start, found.sentence))
    crowded = _crowded(found, order)
    kept = set(np.flatnonzero(~crowded).tolist())
    rows = np.flatnonzero(crowded)
    ranked = rows[
        np.lexsort(
            (
                found.label[rows], found.end[rows], found.start[rows], found.sentence[rows],
                -found.supporting[rows], -found.score[rows].round(DIGITS),
            )
        )
    ]  # fmt: skip
    taken: dict[int, list[tuple[int, int]]] = {}
    for row in ranked.tolist():
        start, end = int(found.start[row]), int(found.end[row])
        spans = taken.setdefault(int(found.sentence[row]), [])
        if all(end <= a or b <= start for a, b in spans):
            spans.append((start, end))
            kept.add(row)
    return ints(sorted(kept))


def _crowded(found: Candidates, order: Ints) -> Bools:
    """Which proposals overlap another one, or lie between two that might."""
    crowded = np.zeros(len(order), dtype=bool)
    if not len(order):
        return crowded
    stride = int(found.end.max()) + 1
    begin = (found.sentence * stride + found.start)[order]
    reach = np.maximum.accumulate((found.sentence * stride + found.end)[order])
    meets = np.zeros(len(order), dtype=bool)
    meets[1:] = begin[1:] < reach[:-1]
    crowded[order] = meets
    crowded[order[:-1]] |= meets[1:]
    # A long proposal may overlap one that is not its neighbour: its whole run is compared.
    run = np.cumsum(~meets) - 1
    busy = np.bincount(run) > 1
    crowded[order] = busy[run]
    return crowded


def _both(one: Candidates, other: Candidates) -> Candidates:
    return Candidates(
        *(np.concatenate([getattr(one, name), getattr(other, name)]) for name in one.__struct_fields__)
    )


def ranked(found: Candidates, corpus: Corpus) -> tuple[Ints, Ints, Ints]:
    """The order of suspects, and by place in it the rank and how many share it.

    Within ties the order follows from the words of the sentence, not from its place in the file: the part
    of a tie that a list shows is a sample that the order of the file does not choose.
    """
    score = found.score.round(DIGITS)
    drawn = {
        sentence: crc32(" ".join(corpus.words(sentence)).encode("utf-8", "replace"))
        for sentence in set(found.sentence.tolist())
    }
    lot = np.array([drawn[sentence] for sentence in found.sentence.tolist()], dtype=np.int64)
    order = np.lexsort((found.label, found.end, found.start, found.sentence, lot, -score))
    ordered = -score[order]
    rank = np.searchsorted(ordered, ordered, "left") + 1
    tied = np.searchsorted(ordered, ordered, "right") - rank + 1
    return ints(order), ints(rank), ints(tied)


def kinds(found: Candidates, ballot: Ballot) -> list[str]:
    """Label, boundary, missing or spurious."""
    distinct = ballot.mentions
    row = ballot.gold[np.maximum(found.gold, 0)] if len(ballot.gold) else np.zeros(len(found.gold), np.int64)
    same = (
        (distinct.start[row] == found.start) & (distinct.end[row] == found.end)
        if len(distinct)
        else np.zeros(len(found.gold), dtype=bool)
    )
    code = np.select([found.gold < 0, found.label < 0, same], [2, 3, 0], default=1)
    return [("label", "boundary", "missing", "spurious")[number] for number in code.tolist()]
