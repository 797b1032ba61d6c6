"""What several systems say against the gold data: their votes for other readings, and their silence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Ints, codes, ints, run_positions
from spanwise.corpus import Mentions, with_one_labelling
from spanwise.matching.exact import DistinctMentions, distinct_mentions


class Ballot(Struct, frozen=True, eq=False):
    """Gold and predicted mentions, each once, and who is silent where gold has one.

    Row 0 of `mentions.by` is gold; the systems follow. `gold` are the rows of gold mentions, and
    `silent[s, i]` says that system `s` has nothing that overlaps gold mention `i` of these.
    `pair_proposal` and `pair_gold` are the rows of mentions outside and inside gold that overlap.
    """

    mentions: DistinctMentions
    labels: tuple[str, ...]
    gold: Ints
    silent: Bools
    pair_proposal: Ints
    pair_gold: Ints

    @property
    def systems(self) -> int:
        """How many systems vote."""
        return len(self.silent)


class VoteCandidates(Struct, frozen=True, eq=False):
    """For each gold mention the best change (score 0: none), and proposals that overlap no gold mention."""

    votes: Ints  # of each distinct mention
    gold_score: Ints  # of each gold mention: votes for minus votes against
    gold_proposal: Ints  # row of the proposal, -1: to delete
    gold_for: Ints
    silent: Ints  # systems that have nothing at each gold mention
    free: Ints  # rows of proposals without gold


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


def ballot(gold: Mentions, systems: Sequence[Mentions]) -> Ballot:
    """Everything that votes are counted from; all label codes are from one list."""
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
    return Ballot(
        mentions=distinct,
        labels=tuple(gold.labels),
        gold=ints(rows),
        silent=silent,
        pair_proposal=ints(outside[proposal]),
        pair_gold=ints(rows[partner]),
    )


def overlapping(begin: Ints, end: Ints, other_begin: Ints, other_end: Ints) -> tuple[Ints, Ints]:
    """All pairs of spans of two sides that share a position; both sides sorted by their begins."""
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


def count(found: Ballot, voting: Bools) -> VoteCandidates:
    """The best change to each gold mention, and proposals where gold has nothing, by the systems `voting`."""
    distinct = found.mentions
    votes = ints(distinct.by[1:][voting].sum(axis=0))
    silent = ints(found.silent[voting].sum(axis=0))
    place = np.full(len(distinct), -1, dtype=np.int64)
    place[found.gold] = np.arange(len(found.gold))
    supported = votes[found.pair_proposal] >= 2
    proposal, partner = found.pair_proposal[supported], found.pair_gold[supported]
    # A proposal over several gold mentions stands under the one with most votes, ties the first.
    order = np.lexsort((partner, -votes[partner], proposal))
    first = _first_of(proposal[order])
    proposal, partner = proposal[order][first], partner[order][first]
    score = silent - votes[found.gold]
    best = np.full(len(found.gold), -1, dtype=np.int64)
    support = silent.copy()
    # Of several changes to one gold mention the highest counts; ties: most votes, then the first.
    margin = votes[proposal] - votes[partner]
    order = np.lexsort((proposal, -votes[proposal], -margin, partner))
    first = _first_of(partner[order])
    chosen = order[first]
    row = place[partner[chosen]]
    wins = margin[chosen] >= score[row]
    row, chosen = row[wins], chosen[wins]
    score[row], best[row], support[row] = margin[chosen], proposal[chosen], votes[proposal[chosen]]
    free = np.ones(len(distinct), dtype=bool)
    free[found.gold] = False
    free[found.pair_proposal] = False
    return VoteCandidates(
        votes=votes,
        gold_score=ints(score),
        gold_proposal=ints(best),
        gold_for=ints(support),
        silent=silent,
        free=ints(np.flatnonzero(free & (votes >= 2))),
    )


def _first_of(values: Ints) -> Bools:
    """Which values of a sorted column are the first of their kind."""
    first = np.ones(len(values), dtype=bool)
    first[1:] = values[1:] != values[:-1]
    return first
