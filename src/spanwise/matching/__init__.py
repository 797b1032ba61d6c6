"""Pairs gold and predicted mentions and names what happened to each of them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from spanwise.citations import ORTMANN
from spanwise.corpus import Mentions
from spanwise.matching._choosing import Ground
from spanwise.matching._overlaps import OUTCOMES, Events, Matching
from spanwise.matching.exact import match_exact
from spanwise.matching.fair import match_fair
from spanwise.matching.overlap import (
    CATEGORIES,
    SCHEMES,
    match_overlap,
    relaxed,
    relaxed_counts,
    relaxed_scores,
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


class Matcher(Struct, frozen=True):
    """A way to pair mentions."""

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
        "one to one, the pairs that overlap best first; the relaxed scores rest on it",
        match_overlap,
        "Segura-Bedmar, Martínez and Herrero-Zazo (2013), SemEval-2013 task 9",
    )
)


def match(gold: Mentions, predicted: Mentions, *, matcher: str | Matcher = "fair") -> Matching:
    """Pair gold and predicted mentions of the same sentences.

    Both sides must have their label codes from the same list of labels.

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
    """The matchings that fair and relaxed scores rest on; what they have in common is found once.

    Examples:
        >>> gold = Mentions.of([(0, 0, 2, "PER")])
        >>> [matching.events().names() for matching in fair_and_overlap(gold, gold)]
        [['TP'], ['TP']]
    """
    _check_labels(gold, predicted)
    ground = Ground(gold, predicted)
    return match_fair(gold, predicted, ground=ground), match_overlap(gold, predicted, ground=ground)


def _check_labels(gold: Mentions, predicted: Mentions) -> None:
    if gold.labels != predicted.labels:
        raise ValueError("gold and predicted mentions have different lists of labels; use with_one_labelling")
