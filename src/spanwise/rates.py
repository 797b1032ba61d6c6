"""The scores of mentions, each declared once: its name, its words, and the weights of its two sums.

Every such score is a ratio of two weighted sums of mentions that are *right* (TP), *false* (FP) and *missed*
(FN). Its value, the number of mentions behind it, its interval and test, and its place in settings,
documents, screens and tables follow from the declaration.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from math import inf
from typing import TypeVar

from msgspec import Struct

from spanwise.errors import ChoiceError
from spanwise.registry import Registry, registered

LARGE = 1000  # the β from which on both sides of the ratio are divided by β², which could overflow
_VAN_RIJSBERGEN = "van Rijsbergen (1979), Information Retrieval"
_F_BETA = re.compile(r"f(\d+(?:\.\d+)?)")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
# What stands beside scores in documents, and what else the primary question can be about.
_TAKEN = {
    "gold", "predicted", "correct", "accuracy", "labels", "more", "interval", "why", "few_units",
    "carried_by", "errors_carried_by", "sides", "name", "low", "high", "value", "label", "outcomes",
    "fair", "macro", "actual", "buckets", "incorrect", "missed", "partial", "possible", "rest", "small",
    "special", "spurious",
}  # fmt: skip


class Rate(Struct, frozen=True):
    """A ratio of weighted numbers of right, false and missed mentions; the more, the better.

    The size of a score is the number of mentions behind it: the sum below the line, divided by the weight of
    a right mention above it.

    Examples:
        >>> RATES["f1"].above, RATES["f1"].below
        ((2.0, 0.0, 0.0), (2.0, 1.0, 1.0))
        >>> RATES["recall"].summary
        'recall'
    """

    name: str  # the key in documents
    words: str  # on screens and in tables
    above: tuple[float, float, float]
    below: tuple[float, float, float]
    paper: str = ""

    def __post_init__(self) -> None:
        # Systems are ranked, tested and checked as better where a score is higher: of a rate of errors,
        # declare the share that is right.
        if not self.above[0] > 0 or min(self.above + self.below) < 0 or any(self.above[1:]):
            raise ValueError(
                f"the score {self.name!r} must count right mentions above the line, and no errors"
            )

    @property
    def summary(self) -> str:
        """What lists of scores say of it."""
        return f"{self.words}{f' ({self.paper})' if self.paper else ''}"


# Every declared score; a further one is computed, tested and shown wherever these are.
_DECLARED = (
    Rate("precision", "precision", above=(1.0, 0.0, 0.0), below=(1.0, 1.0, 0.0)),
    Rate("recall", "recall", above=(1.0, 0.0, 0.0), below=(1.0, 0.0, 1.0)),
    Rate("f1", "F1", above=(2.0, 0.0, 0.0), below=(2.0, 1.0, 1.0), paper=_VAN_RIJSBERGEN),
)
RATES: Mapping[str, Rate] = {score.name: score for score in _DECLARED}
FIELDS = ("precision", "recall", "f1")  # those that are fields of documents; others stand next to them


class _Scores(Registry[Rate]):
    """The scores that packages add; they are computed where they are asked for by name."""

    def add(self, value: Rate, *, aliases: tuple[str, ...] = (), replace: bool = False) -> Rate:
        """Register a score, unless its name means something else in a document."""
        taken = value.name in _TAKEN or value.name in RATES or _F_BETA.fullmatch(value.name)
        if taken or not _NAME.fullmatch(value.name):
            raise ChoiceError(
                f"a score cannot be called {value.name!r}.\n"
                "Choose another name of small letters, digits and underscores."
            )
        return super().add(value, aliases=aliases, replace=replace)

    def declare(self, value: Rate) -> Rate:
        """A score that a document or a call declares: registered now, or else the same as before."""
        if value.name not in self:
            return self.add(value)
        known = self.find(value.name)
        if (known.above, known.below) != (value.above, value.below):
            raise ChoiceError(
                f"there are two scores called {value.name!r}, with different weights.\nRename one of them."
            )
        return known

    def __contains__(self, name: str) -> bool:  # without importing the packages
        return name in self._values or name in registered("spanwise.scores")


SCORES = _Scores("score", group="spanwise.scores")


def f_beta(beta: float) -> Rate:
    """F-beta: recall counts β times as much as precision.

    `(1 + β²)·correct / (β²·gold + predicted)`; undefined where there are neither gold nor predicted mentions.

    Raises:
        ChoiceError: β is not a number above 0.

    Examples:
        >>> f_beta(2).name, f_beta(2).words, f_beta(2).below
        ('f2', 'F2', (5.0, 1.0, 4.0))
        >>> f_beta(1e6).name, f_beta(1e300).below
        ('f1000000', (1.0, 2.2250738585072014e-308, 1.0))
    """
    if isinstance(beta, bool) or not isinstance(beta, int | float) or not 0 < beta <= sys.float_info.max:
        raise ChoiceError(f"beta is {beta!r}, but must be a finite number above 0, such as 2 or 0.5.")
    least = sys.float_info.min  # in place of 0, so that the ratio is defined where mentions are on one side
    wrong, missed = 1.0, max(float(beta) * float(beta), least)
    if beta >= LARGE:
        wrong, missed = max(1 / float(beta) / float(beta), least), 1.0
    name = f"f{Decimal(f'{beta:g}'):f}"
    right = wrong + missed
    return Rate(name, name.upper(), (right, 0.0, 0.0), (right, wrong, missed), _VAN_RIJSBERGEN)


def rate(name: str) -> Rate:
    """The score with this name: precision, recall, F-beta for any β, such as f1 or f0.5, or an added one.

    Raises:
        KeyError: no score has this name.
    """
    found = RATES.get(name)
    if found is not None:
        return found
    if name in SCORES:
        return SCORES.find(name)
    match = _F_BETA.fullmatch(name)
    if match is None or not 0 < float(match[1]) < inf:
        return RATES[name]  # which it is not in
    return f_beta(float(match[1]))


def is_rate(name: str) -> bool:
    """Whether a score has this name."""
    beta = _F_BETA.fullmatch(name)
    return name in RATES or name in SCORES or (beta is not None and 0 < float(beta[1]) < inf)


Value = TypeVar("Value")


class ByScore(Mapping[str, Value]):
    """Something for each of some scores by name, and for every other F-beta by a rule.

    Examples:
        >>> words = ByScore({"f1": "F1"}, lambda score: score.words)
        >>> words["f0.5"], "f2" in words, "g1" in words, list(words)
        ('F0.5', True, False, ['f1'])
    """

    def __init__(self, listed: Mapping[str, Value], other: Callable[[Rate], Value]) -> None:
        self._listed, self._other = listed, other

    def __getitem__(self, name: str) -> Value:
        return self._listed[name] if name in self._listed else self._other(rate(name))

    def __contains__(self, name: object) -> bool:
        return name in self._listed or (isinstance(name, str) and is_rate(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)


class LeakRate(Struct, frozen=True):
    """A ratio of counts of leaks (definitions: leaks); columns above the line are added up.

    Where it is 0 or 1, `size` is the column whose count Wilson's interval takes as its n.
    """

    name: str  # the key in documents
    words: str  # on screens and in tables
    above: tuple[str, ...]
    below: str
    size: str


# Per unit and cell; "outside" are masked positions outside gold, "text" all positions outside gold.
LEAK_COUNTS = (
    "mentions", "hidden", "partly", "exposed", "positions", "leaked", "masked", "outside", "text", "spans",
    "documents", "documents_leaking", "identities", "identities_leaking",
)  # fmt: skip
LEAK_RATES: Mapping[str, LeakRate] = {
    rate.name: rate
    for rate in (
        LeakRate("leak_rate", "leak rate", ("partly", "exposed"), "mentions", "mentions"),
        LeakRate("exposure_rate", "exposure rate", ("exposed",), "mentions", "mentions"),
        LeakRate("leaked_share", "leaked share", ("leaked",), "positions", "mentions"),
        LeakRate(
            "document_leak_rate", "document leak rate", ("documents_leaking",), "documents", "documents"
        ),
        LeakRate(
            "identity_leak_rate", "identity leak rate", ("identities_leaking",), "identities", "identities"
        ),
        LeakRate("over_masking", "over-masking", ("outside",), "masked", "spans"),
        LeakRate("lost_text", "lost text", ("outside",), "text", "documents"),
    )
}
