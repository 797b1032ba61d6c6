"""Exact matching: the same sentence, span and label, and nothing else."""

from __future__ import annotations

from spanwise.corpus import Mentions
from spanwise.matching._events import TP, Matching, Pairing
from spanwise.matching._join import equal_mentions, lines


def match_exact(gold: Mentions, predicted: Mentions) -> Matching:
    """Equal span and label: TP; every other gold mention is FN, every other predicted one FP.

    Examples:
        >>> gold = Mentions.of([(0, 0, 2, "PER"), (0, 4, 5, "LOC")])
        >>> predicted = Mentions.of([(0, 0, 2, "PER"), (0, 4, 6, "LOC")])
        >>> match_exact(gold, predicted).events().rows()
        [(0, 0, 'TP', 0), (1, -1, 'FN', 0), (-1, 1, 'FP', 0)]
    """
    pairing = Pairing.none(len(gold), len(predicted))
    pairing.both(*equal_mentions(gold, predicted, *lines(gold, predicted)), TP)
    return pairing.matching()
