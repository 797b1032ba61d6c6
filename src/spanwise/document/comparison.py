"""Differences between systems, how sure they are, and what to know first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from spanwise.document.head import Count, Interval, Part, Probability

# The scores that the primary question may be about, by the name of the choice.
PRIMARY: Mapping[str, tuple[str, ...]] = {
    "f1": ("exact", "overall", "f1"),
    "precision": ("exact", "overall", "precision"),
    "recall": ("exact", "overall", "recall"),
    "macro": ("exact", "macro", "f1"),
    "fair": ("fair", "overall", "f1"),
}


class ScoreTest(Part, frozen=True, kw_only=True):
    """The difference of one score between two systems, first minus second."""

    path: tuple[str, ...]
    family: str | UnsetType = UNSET
    a: float | UnsetType | None = UNSET
    b: float | UnsetType | None = UNSET
    difference: float | None
    interval: Interval | None
    p: Probability
    p_corrected: Probability
    significant: bool
    role: str | UnsetType = UNSET
    units: Count | UnsetType = UNSET
    mentions: Count | UnsetType | None = UNSET
    why: str | None = None


class HierarchicalTest(Part, frozen=True, kw_only=True):
    """The difference of mean F1 over runs when units and runs are both drawn."""

    test: str
    runs: tuple[Count, ...]
    interval: Interval | None
    p: Probability
    significant: bool
    why: str | None = None


class BucketLead(Part, frozen=True, kw_only=True):
    """A bucket, by how much the first system leads in it, and the scores of both."""

    bucket: str
    difference: float | None
    first: float | UnsetType | None = UNSET
    second: float | UnsetType | None = UNSET


class BucketLeads(Part, frozen=True, kw_only=True, omit_defaults=False):
    """Where the first of two systems leads most and least over the buckets of one attribute."""

    best: BucketLead | None
    worst: BucketLead | None
    beta: float | None
    buckets: tuple[str, ...] = ()
    differences: tuple[float | None, ...] = ()
    relative: tuple[float | None, ...]


class LeadPart(Part, frozen=True, kw_only=True):
    """A part of the mentions, and what it contributes to the lead of the first system."""

    name: str
    contribution: float
    interval: Interval | UnsetType | None = UNSET


class Comparison(Part, frozen=True, kw_only=True):
    """The paired tests between two systems.

    `lead` holds, by label, tough subset and attribute, the parts whose contributions add up to the
    difference of F1.
    """

    systems: tuple[str, str]
    shuffles: Count | UnsetType = UNSET
    correction: str | UnsetType = UNSET
    scores: tuple[ScoreTest, ...]
    detectable: float | UnsetType | None = UNSET
    test: str | UnsetType = UNSET
    pairs: Count | UnsetType = UNSET
    tests: Count | UnsetType = UNSET
    undecided: bool | UnsetType = UNSET
    identical: bool | UnsetType = UNSET
    runs: tuple[Count, ...] = ()
    runs_pooled: bool = False
    hierarchical: HierarchicalTest | None = None
    interpreteval: Mapping[str, BucketLeads] = field(default_factory=dict)
    lead: Mapping[str, tuple[LeadPart, ...]] = field(default_factory=dict)

    def score(self, path: tuple[str, ...]) -> ScoreTest | None:
        """The test of one score, where it was made."""
        return next((row for row in self.scores if row.path == path), None)

    @property
    def primary(self) -> ScoreTest | None:
        """The test of the primary question: overall F1 unless another score was chosen."""
        chosen = next((row for row in self.scores if row.role == "primary"), None)
        return chosen or self.score(PRIMARY["f1"])


class Finding(Part, frozen=True, kw_only=True):
    """One of the few things to know first; `filter` chooses the sentences behind it."""

    kind: Literal["gain", "slice", "tough", "lead", "data"]
    system: str | None
    score: str | None
    value: int | float
    count: int | float | None
    path: tuple[str, ...]
    filter: Mapping[str, str]
    significant: bool | UnsetType = UNSET
    against: float | UnsetType | None = UNSET
    mentions: Count | UnsetType = UNSET
    cost: float | UnsetType = UNSET
    title: str | UnsetType = UNSET
    other: str | UnsetType = UNSET
    overall: float | UnsetType = UNSET
    p: Probability | UnsetType = UNSET
    interval: Interval | UnsetType | None = UNSET
    among: Count | UnsetType = UNSET  # the slices that were tested together
    tied: str | UnsetType = UNSET  # a kind of error that may cost as much
    loses: tuple[str, ...] = ()
    loss: float | UnsetType = UNSET
    even: bool = False
    of: Mapping[str, int] | UnsetType = UNSET
    few_units: Count | UnsetType | None = UNSET
    run: str | UnsetType = UNSET  # the run that the numbers are of, where there are several
    runs: tuple[Count, Count] | UnsetType = UNSET  # how many of how many runs show the same


Findings = Annotated[tuple[Finding, ...], Meta(max_length=4)]
