"""One-to-one matching of overlapping mentions, and the relaxed scores of MUC and SemEval-2013 on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from spanwise.columns import Codes, Column, Floats, Ints, frozen, ratio
from spanwise.corpus import Mentions
from spanwise.matching._choosing import Contest, Ground, pair_crowd
from spanwise.matching._join import Line, packed_order
from spanwise.matching._overlaps import OUTCOMES, Matching, Overlaps, Side, greedy, relation

CATEGORIES = ("correct", "incorrect", "partial", "missed", "spurious")

# What each outcome of the one-to-one matching is in each scheme; FN is missed and FP spurious in all.
# A "BE" has the same label and overlaps, an "LBE" only overlaps, an "LE" has the same span only.
SCHEMES: Mapping[str, Mapping[str, str]] = {
    "strict": {"TP": "correct", "LE": "incorrect", "BE": "incorrect", "LBE": "incorrect"},
    "exact": {"TP": "correct", "LE": "correct", "BE": "incorrect", "LBE": "incorrect"},
    "partial": {"TP": "correct", "LE": "correct", "BE": "partial", "LBE": "partial"},
    "type": {"TP": "correct", "LE": "incorrect", "BE": "correct", "LBE": "incorrect"},
}


def match_overlap(gold: Mentions, predicted: Mentions, *, ground: Ground | None = None) -> Matching:
    """Pair overlapping mentions one to one, the best pairs first.

    Pairs are made greedily in this order: same span and label, same span, same label, more
    shared tokens, fewer differing ones, then gold start, end and label, then predicted
    start, end and label. So the result does not depend on the order of the input.
    Outcomes are named as in fair matching: TP, LE (same span), BE (same label), LBE, FN, FP.
    Where the `ground` of both is known already, it need not be made anew.

    Examples:
        >>> gold = Mentions.of([(0, 0, 4, "PER")])
        >>> predicted = Mentions.of([(0, 0, 1, "PER"), (0, 1, 4, "PER")])
        >>> match_overlap(gold, predicted).events().rows()
        [(0, 1, 'BEs', 1), (-1, 0, 'FP', 0)]
    """
    ground = Ground(gold, predicted) if ground is None else ground
    # Among equal spans the labels decide, not the input.
    rank = _label_rank(gold)
    contest = ground.contest_by(rank)
    pairing = contest.pairing.copy()
    for first, second, pairs in _best_pairs(contest, ground.lines, rank):
        same = first.label[pairs.gold] == second.label[pairs.predicted]
        outcome = relation(pairs, first, second, same)
        pairing.both(first.row[pairs.gold], second.row[pairs.predicted], outcome)
    return pairing.matching()


def _best_pairs(
    contest: Contest, lines: tuple[Line, Line], rank: Codes
) -> Iterator[tuple[Side, Side, Overlaps]]:
    """The pairs that are made when the best are made first, and the sides they are pairs of."""
    for sides in contest.crowds:
        first, second = map(partial(_places, rank), lines, sides)
        yield *sides, pair_crowd(*sides, (first, second))
    gold, predicted, pairs = contest.gold, contest.predicted, contest.pairs
    if not len(pairs):
        return
    first, second = map(partial(_places, rank), lines, (gold, predicted))
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
    """The place of each label code among the labels in order of their names."""
    return np.argsort(np.argsort(np.array(side.labels, dtype=object))).astype(np.int32)


def _places(rank: Codes, line: Line, side: Side) -> Ints:
    """The place of each mention of a side by start, end, the rank of its label, and pieces."""
    rows = side.row
    columns: list[Column] = [line.start[rows], line.end[rows], rank[side.label]]
    if line.shape is not None:
        columns.append(line.shape[rows])
    place = np.empty(len(rows), dtype=np.int64)
    place[packed_order(*columns)] = np.arange(len(rows))
    return place


def relaxed_counts(outcomes: Column) -> dict[str, Floats]:
    """Counts of outcomes (… × 8) of the one-to-one matching as categories (… × 5) of each scheme.

    Examples:
        >>> relaxed_counts(np.array([5, 1, 1, 0, 0, 2, 3, 4]))["partial"].tolist()
        [6.0, 0.0, 3.0, 3.0, 4.0]
    """
    return dict(zip(SCHEMES, np.moveaxis(relaxed_categories(outcomes), -2, 0), strict=True))


def relaxed_categories(outcomes: Column) -> Floats:
    """Counts of outcomes (… × 8) of the one-to-one matching as schemes and their categories (… × 4 × 5)."""
    counts = np.asarray(outcomes, dtype=np.float64) @ _TABLE
    return counts.reshape(*counts.shape[:-1], len(SCHEMES), len(CATEGORIES))


def _table() -> Floats:
    """Outcomes × (schemes · categories)."""
    table = np.zeros((len(OUTCOMES), len(SCHEMES), len(CATEGORIES)))
    for place, names in enumerate(SCHEMES.values()):
        full = {**names, "FN": "missed", "FP": "spurious"}
        for row, outcome in enumerate(OUTCOMES):
            kind = "BE" if outcome.startswith("BE") else outcome
            table[row, place, CATEGORIES.index(full[kind])] = 1
    return frozen(table.reshape(len(OUTCOMES), -1))


_TABLE = _table()


def relaxed_scores(categories: Column) -> dict[str, Floats]:
    """Possible, actual, precision, recall and F1 of categories (… × 5); a partial match is worth one half.

    `possible` is the number of gold mentions, `actual` that of predicted ones.

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
    """The four schemes of SemEval-2013 task 9.1 over all mentions.

    strict: span and label; exact: the span alone (boundaries); partial: the span, and half
    for an overlap, whatever the label; type: the label with any overlap.

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
