"""Pair gold and predicted mentions and give each an outcome: exact, fair and overlap matching."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from spanwise.citations import ORTMANN
from spanwise.columns import Bools, Codes, Column, Floats, Ints, frozen, ints, ratio
from spanwise.corpus import Mentions, Pieces, joined_pieces
from spanwise.matching._choosing import Contest, Prepared, match_cluster, pair_cluster, remaining
from spanwise.matching._overlaps import (
    OUTCOMES,
    TP,
    Events,
    FreeSide,
    Matching,
    Overlaps,
    Pairing,
    SpanLine,
    equal_mentions,
    greedy,
    lines,
    packed_order,
    relation,
)
from spanwise.registry import Registry

__all__ = [
    "CATEGORIES",
    "MATCHERS",
    "OUTCOMES",
    "SCHEMES",
    "Events",
    "Matcher",
    "Matching",
    "fair_and_overlap",
    "match",
    "relaxed",
    "relaxed_counts",
    "relaxed_scores",
]


def match_exact(gold: Mentions, predicted: Mentions) -> Matching:
    """Match mentions with the same span and label (TP); other gold mentions are FN, other predicted ones FP.

    Examples:
        >>> gold = Mentions.of([(0, 0, 2, "PER"), (0, 4, 5, "LOC")])
        >>> predicted = Mentions.of([(0, 0, 2, "PER"), (0, 4, 6, "LOC")])
        >>> match_exact(gold, predicted).events().rows()
        [(0, 0, 'TP', 0), (1, -1, 'FN', 0), (-1, 1, 'FP', 0)]
    """
    pairing = Pairing.none(len(gold), len(predicted))
    pairing.both(*equal_mentions(gold, predicted, *lines(gold, predicted)), TP)
    return pairing.matching()


class DistinctMentions(Struct, frozen=True, eq=False):
    """The distinct mentions of several parties, and who has which: `by` is parties × mentions."""

    sentence: Ints
    start: Ints
    end: Ints
    shape: Ints  # distinguishes discontinuous mentions with the same borders; 0 if contiguous
    label: Ints
    by: Bools
    pieces: tuple[Pieces, ...]  # the pieces of shapes 1, 2, …

    def __len__(self) -> int:
        return len(self.sentence)


def distinct_mentions(parties: Sequence[Mentions]) -> DistinctMentions:
    """The distinct mentions of several parties, sorted; their label codes must come from one list.

    Examples:
        >>> first = Mentions.of([(0, 0, 1, "PER")], labels=("PER",))
        >>> second = Mentions.of([(0, 0, 1, "PER"), (0, 2, 3, "PER")], labels=("PER",))
        >>> distinct_mentions([first, second]).by.tolist()
        [[True, False], [True, True]]
    """
    shapes: dict[Pieces, int] = {}
    columns = []
    for mentions in parties:
        shape = np.zeros(len(mentions), dtype=np.int64)
        if mentions.parts is not None:
            covers = (joined_pieces(own) for own in mentions.pieces())
            shape = ints([shapes.setdefault(own, len(shapes) + 1) if len(own) > 1 else 0 for own in covers])
        columns.append(
            (mentions.sentence, mentions.start, mentions.end, shape, mentions.label.astype(np.int64))
        )
    joined = [np.concatenate(column) for column in zip(*columns, strict=True)]
    order = np.lexsort(joined[::-1])
    ranked = [column[order] for column in joined]
    new = np.ones(len(order), dtype=bool)
    if len(order):
        new[1:] = np.any([column[1:] != column[:-1] for column in ranked], axis=0)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(new) - 1
    by = np.zeros((len(parties), int(new.sum())), dtype=bool)
    by[np.repeat(np.arange(len(parties)), [len(mentions) for mentions in parties]), number] = True
    sentence, start, end, shape, label = (ints(column[new]) for column in ranked)
    return DistinctMentions(sentence, start, end, shape, label, by, tuple(shapes))


def match_fair(gold: Mentions, predicted: Mentions, *, prepared: Prepared | None = None) -> Matching:
    """Match mentions by Ortmann's Algorithm 2, so that each error has a type and is counted once.

    1. Equal span and label: TP. Then equal span: LE. Both mentions are then used up.
    2. Same label and a shared token: BE (BEs: the predicted mention is inside the gold one,
       BEl: it contains it, BEo: they cross). The shortest gold mentions choose first.
       Then each remaining gold mention may join a predicted mention that is already matched,
       and then each remaining predicted mention a gold one, as long as they share a token
       that no earlier match has used.
    3. The same with different labels: LBE.
    4. Mentions still unmatched are FN or FP.

    The best partner shares the most remaining tokens, then differs in the fewest, then is the
    shortest, then comes first in the input. A `prepared` already built for both sides can be reused.

    Examples:
        >>> gold = Mentions.of([(0, 0, 2, "PER"), (0, 4, 5, "LOC"), (1, 0, 1, "PER")])
        >>> predicted = Mentions.of([(0, 0, 2, "LOC"), (0, 4, 6, "LOC")])
        >>> match_fair(gold, predicted).events().rows()
        [(0, 0, 'LE', 1), (1, 1, 'BEl', 1), (2, -1, 'FN', 0)]

    References:
        Ortmann (2022), Fine-Grained Error Analysis and Fair Evaluation of Labeled Spans, LREC.
    """
    contest = (Prepared(gold, predicted) if prepared is None else prepared).contest
    pairing = contest.pairing.copy()
    # No loop over sentences is needed, since they share no positions.
    for cluster in contest.clusters:
        match_cluster(*cluster, pairing)
    if len(contest.pairs):
        _Game(contest, pairing).play()
    return pairing.matching()


class _Game:
    """The state of fair matching: which mentions are free and which tokens remain; pairs are indices."""

    def __init__(self, contest: Contest, pairing: Pairing) -> None:
        sides = contest.gold, contest.predicted
        pairs = contest.pairs
        self.mentions = pairs.gold, pairs.predicted
        self.same = sides[0].label[pairs.gold] == sides[1].label[pairs.predicted]
        self.outcome = relation(pairs, *sides, self.same)
        self.unshared = pairs.shared.max(initial=0) - pairs.shared
        self.row = sides[0].row, sides[1].row
        self.rank = _ranks(sides[0].size), _ranks(sides[1].size)
        self.free = np.ones(len(sides[0]), dtype=bool), np.ones(len(sides[1]), dtype=bool)
        self.remaining = remaining(*sides)
        self.pairing = pairing

    def play(self) -> None:
        """Make three passes over the pairs with the same label, then three over the others."""
        for pairs in (np.flatnonzero(self.same), np.flatnonzero(~self.same)):
            self._first(pairs)
            self._late(pairs, turn=2)
            self._late(pairs, turn=3)

    def _first(self, pairs: Ints) -> None:
        """Pair free mentions: each gold mention, shortest first, takes its best free partner."""
        gold, predicted = self.mentions
        pairs = pairs[self.free[0][gold[pairs]] & self.free[1][predicted[pairs]]]
        # Free mentions are whole, so of two partners that share as many tokens, the shorter one differs less.
        order = packed_order(self.rank[0][gold[pairs]], self.unshared[pairs], self.rank[1][predicted[pairs]])
        pairs = pairs[order]
        chosen = pairs[greedy(gold[pairs], predicted[pairs])]
        first, second = gold[chosen], predicted[chosen]
        for mention, partner in zip(first.tolist(), second.tolist(), strict=True):
            self.remaining[0].match(mention, self.remaining[1], partner)
        self.free[0][first], self.free[1][second] = False, False
        self.pairing.both(self.row[0][first], self.row[1][second], self.outcome[chosen])

    def _late(self, pairs: Ints, *, turn: int) -> None:
        """Join each free mention of one side, shortest first, to the best matched mention of the other."""
        side, other = (0, 1) if turn == 2 else (1, 0)
        mention, partner = self.mentions[side], self.mentions[other]
        pairs = pairs[self.free[side][mention[pairs]] & ~self.free[other][partner[pairs]]]
        if not len(pairs):
            return
        pairs = pairs[packed_order(self.rank[side][mention[pairs]])]
        chosen = pairs[self.remaining[side].join(mention[pairs], self.remaining[other], partner[pairs])]
        self.free[side][mention[chosen]] = False
        rows = self.row[side][mention[chosen]], self.row[other][partner[chosen]]
        if turn == 2:
            self.pairing.first(*rows, self.outcome[chosen])
        else:
            self.pairing.second(*rows, self.outcome[chosen])


def _ranks(size: Ints) -> Ints:
    """The rank of each mention by size, shortest first; ties keep input order."""
    rank = np.empty(len(size), dtype=np.int64)
    rank[np.argsort(size, kind="stable")] = np.arange(len(size))
    return rank


CATEGORIES = ("correct", "incorrect", "partial", "missed", "spurious")

# The category of each one-to-one outcome in each scheme; in all of them FN is missed and FP spurious.
# A "BE" has the same label and overlaps, an "LBE" only overlaps, an "LE" has the same span only.
SCHEMES: Mapping[str, Mapping[str, str]] = {
    "strict": {"TP": "correct", "LE": "incorrect", "BE": "incorrect", "LBE": "incorrect"},
    "exact": {"TP": "correct", "LE": "correct", "BE": "incorrect", "LBE": "incorrect"},
    "partial": {"TP": "correct", "LE": "correct", "BE": "partial", "LBE": "partial"},
    "type": {"TP": "correct", "LE": "incorrect", "BE": "correct", "LBE": "incorrect"},
}


def match_overlap(gold: Mentions, predicted: Mentions, *, prepared: Prepared | None = None) -> Matching:
    """Pair overlapping mentions one to one, the best pairs first.

    Pairs are made greedily in this order: same span and label, same span, same label, more
    shared tokens, fewer differing ones, then gold start, end and label, then predicted
    start, end and label. The result therefore does not depend on input order.
    Outcomes are named as in fair matching: TP, LE (same span), BE (same label), LBE, FN, FP.
    A `prepared` already built for both sides can be reused.

    Examples:
        >>> gold = Mentions.of([(0, 0, 4, "PER")])
        >>> predicted = Mentions.of([(0, 0, 1, "PER"), (0, 1, 4, "PER")])
        >>> match_overlap(gold, predicted).events().rows()
        [(0, 1, 'BEs', 1), (-1, 0, 'FP', 0)]
    """
    prepared = Prepared(gold, predicted) if prepared is None else prepared
    # Equal spans are paired in the order of their labels, not of the input.
    label_rank = _label_rank(gold)
    contest = prepared.contest_by(label_rank)
    pairing = contest.pairing.copy()
    for first, second, pairs in _best_pairs(contest, prepared.lines, label_rank):
        same = first.label[pairs.gold] == second.label[pairs.predicted]
        outcome = relation(pairs, first, second, same)
        pairing.both(first.row[pairs.gold], second.row[pairs.predicted], outcome)
    return pairing.matching()


def _best_pairs(
    contest: Contest, lines: tuple[SpanLine, SpanLine], label_rank: Codes
) -> Iterator[tuple[FreeSide, FreeSide, Overlaps]]:
    """The pairs that result from taking the best first, with the sides they belong to."""
    for sides in contest.clusters:
        first, second = map(partial(_span_ranks, label_rank), lines, sides)
        yield *sides, pair_cluster(*sides, (first, second))
    gold, predicted, pairs = contest.gold, contest.predicted, contest.pairs
    if not len(pairs):
        return
    first, second = map(partial(_span_ranks, label_rank), lines, (gold, predicted))
    order = packed_order(
        gold.label[pairs.gold] != predicted.label[pairs.predicted],
        pairs.shared.max(initial=0) - pairs.shared,
        gold.size[pairs.gold] + predicted.size[pairs.predicted] - 2 * pairs.shared,
        first[pairs.gold],
        second[pairs.predicted],
    )
    pairs = pairs.take(order)
    yield gold, predicted, pairs.take(greedy(pairs.gold, pairs.predicted))


def _label_rank(side: Mentions) -> Codes:
    """The rank of each label code when labels are sorted by name."""
    return np.argsort(np.argsort(np.array(side.labels, dtype=object))).astype(np.int32)


def _span_ranks(label_rank: Codes, line: SpanLine, side: FreeSide) -> Ints:
    """The rank of each mention of a side by start, end, label and pieces."""
    rows = side.row
    columns: list[Column] = [line.start[rows], line.end[rows], label_rank[side.label]]
    if line.shape is not None:
        columns.append(line.shape[rows])
    rank = np.empty(len(rows), dtype=np.int64)
    rank[packed_order(*columns)] = np.arange(len(rows))
    return rank


def relaxed_counts(outcomes: Column) -> dict[str, Floats]:
    """Convert counts of one-to-one outcomes (… × 8) to counts of the categories (… × 5) of each scheme.

    Examples:
        >>> relaxed_counts(np.array([5, 1, 1, 0, 0, 2, 3, 4]))["partial"].tolist()
        [6.0, 0.0, 3.0, 3.0, 4.0]
    """
    return dict(zip(SCHEMES, np.moveaxis(relaxed_categories(outcomes), -2, 0), strict=True))


def relaxed_categories(outcomes: Column) -> Floats:
    """Convert counts of one-to-one outcomes (… × 8) to counts by scheme and category (… × 4 × 5)."""
    counts = np.asarray(outcomes, dtype=np.float64) @ _TABLE
    return counts.reshape(*counts.shape[:-1], len(SCHEMES), len(CATEGORIES))


def _table() -> Floats:
    """The matrix of 0 and 1 that converts outcomes: outcomes × (schemes · categories)."""
    table = np.zeros((len(OUTCOMES), len(SCHEMES), len(CATEGORIES)))
    for index, names in enumerate(SCHEMES.values()):
        full = {**names, "FN": "missed", "FP": "spurious"}
        for row, outcome in enumerate(OUTCOMES):
            kind = "BE" if outcome.startswith("BE") else outcome
            table[row, index, CATEGORIES.index(full[kind])] = 1
    return frozen(table.reshape(len(OUTCOMES), -1))


_TABLE = _table()


def relaxed_scores(categories: Column) -> dict[str, Floats]:
    """Possible, actual, precision, recall and F1 from categories (… × 5); a partial match counts as half.

    `possible` is the number of gold mentions, `actual` the number of predicted ones.

    Examples:
        >>> {name: float(value) for name, value in relaxed_scores(np.array([6, 0, 3, 3, 4])).items()}
        ... # doctest: +NORMALIZE_WHITESPACE
        {'possible': 12.0, 'actual': 13.0, 'precision': 0.5769230769230769, 'recall': 0.625, 'f1': 0.6}
    """
    correct, incorrect, partial, missed, spurious = np.moveaxis(np.asarray(categories, np.float64), -1, 0)
    paired = correct + incorrect + partial
    possible, actual = paired + missed, paired + spurious
    worth = correct + partial / 2
    return {
        "possible": possible,
        "actual": actual,
        "precision": ratio(worth, actual),
        "recall": ratio(worth, possible),
        "f1": ratio(2 * worth, possible + actual),
    }


def relaxed(gold: Mentions, predicted: Mentions) -> dict[str, dict[str, float]]:
    """Counts and scores over all mentions in the four schemes of SemEval-2013 task 9.1.

    strict: span and label; exact: only the span (boundaries); partial: the span, or
    half for an overlap, whatever the label; type: the label with any overlap.

    Examples:
        >>> gold = Mentions.of([(0, 0, 2, "PER"), (0, 4, 5, "PER")])
        >>> predicted = Mentions.of([(0, 0, 2, "PER"), (0, 4, 6, "PER")])
        >>> {name: scheme["f1"] for name, scheme in relaxed(gold, predicted).items()}
        {'strict': 0.5, 'exact': 0.5, 'partial': 0.75, 'type': 1.0}

    References:
        Chinchor and Sundheim (1993), MUC-5 evaluation metrics; Segura-Bedmar, Martínez and
        Herrero-Zazo (2013), SemEval-2013 task 9.
    """
    outcomes = np.bincount(match_overlap(gold, predicted).events().outcome, minlength=len(OUTCOMES))
    result = {}
    for scheme, counts in relaxed_counts(outcomes).items():
        named = {name: int(count) for name, count in zip(CATEGORIES, counts, strict=True)}
        scores = {name: float(value) for name, value in relaxed_scores(counts).items()}
        sizes = {name: int(scores.pop(name)) for name in ("possible", "actual")}
        result[scheme] = {**named, **sizes, **scores}
    return result


class Matcher(Struct, frozen=True):
    """A way to pair mentions.

    Examples:
        >>> MATCHERS.find("fair").summary
        "Ortmann's algorithm: every error is named, and counted once"
    """

    name: str
    summary: str
    function: Callable[[Mentions, Mentions], Matching]
    source: str = ""


MATCHERS: Registry[Matcher] = Registry("matcher", group="spanwise.matchers")
MATCHERS.add(Matcher("exact", "the same span and label", match_exact))
MATCHERS.add(
    Matcher(
        "fair",
        "Ortmann's algorithm: every error is named, and counted once",
        match_fair,
        ORTMANN,
    )
)
MATCHERS.add(
    Matcher(
        "overlap",
        "one to one, the pairs that overlap best first; used for the relaxed scores",
        match_overlap,
        "Segura-Bedmar, Martínez and Herrero-Zazo (2013), SemEval-2013 task 9",
    )
)


def match(gold: Mentions, predicted: Mentions, *, matcher: str | Matcher = "fair") -> Matching:
    """Pair gold and predicted mentions of the same sentences.

    The label codes of both sides must come from the same list of labels.

    Raises:
        InputError: a mention occurs twice in a sentence.

    Examples:
        >>> gold = Mentions.of([(0, 0, 2, "PER")])
        >>> match(gold, gold).events().names()
        ['TP']
    """
    _check_labels(gold, predicted)
    return MATCHERS.find(matcher).function(gold, predicted)


def fair_and_overlap(gold: Mentions, predicted: Mentions) -> tuple[Matching, Matching]:
    """The matchings for fair and relaxed scores; their common part is computed once.

    Examples:
        >>> gold = Mentions.of([(0, 0, 2, "PER")])
        >>> [matching.events().names() for matching in fair_and_overlap(gold, gold)]
        [['TP'], ['TP']]
    """
    _check_labels(gold, predicted)
    prepared = Prepared(gold, predicted)
    return match_fair(gold, predicted, prepared=prepared), match_overlap(gold, predicted, prepared=prepared)


def _check_labels(gold: Mentions, predicted: Mentions) -> None:
    if gold.labels != predicted.labels:
        raise ValueError("gold and predicted mentions have different lists of labels; use with_one_labelling")
