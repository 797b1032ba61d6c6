"""The scores of one system on one dataset, and what tells two systems apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from spanwise.document import Count, Fraction, Halves, Interval, Part, Probability

Outcome: TypeAlias = Literal["TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP"]
Subset: TypeAlias = Literal[
    "SEEN", "UNSEEN-TYPE", "UNSEEN-TOKENS", "UNSEEN-ANY", "TCM-ALL", "TCM-SEEN", "TCM-UNSEEN"
]
ScoreName: TypeAlias = Literal["precision", "recall", "f1"]


class Bounded(Part, frozen=True, kw_only=True):
    """Scores with their intervals: None where one is withheld, and `why`; few units hold some of them."""

    interval: Mapping[str, Interval | None] = field(default_factory=dict)
    why: str | None = None
    few_units: Count | UnsetType = UNSET

    def ends(self, score: str) -> Interval | None:
        """The interval of one score, where there is one."""
        return self.interval.get(score)


class Rates(Bounded, frozen=True, kw_only=True):
    """Precision, recall and F1; None where undefined."""

    precision: Fraction
    recall: Fraction
    f1: Fraction


class ExactScores(Rates, frozen=True, kw_only=True):
    """Mentions whose span and label are both right, counted and scored."""

    gold: Count
    predicted: Count
    correct: Count
    accuracy: Fraction | UnsetType = UNSET


class MeanScores(Rates, frozen=True, kw_only=True):
    """An average over labels, and over how many."""

    labels: Count


class Exact(Part, frozen=True, kw_only=True):
    """Exact matching, overall and by label."""

    overall: ExactScores
    macro: MeanScores
    weighted: MeanScores
    labels: Mapping[str, ExactScores]


class BoundarySides(Part, frozen=True, kw_only=True):
    """Boundary errors by where the spans end differently: on the left, on the right, on both sides.

    Mentions with gaps may end alike and differ inside; such errors are in none of the three.
    """

    left: Count
    right: Count
    both: Count


class FairScores(Rates, frozen=True, kw_only=True):
    """Errors counted once, by kind; halves where an error is shared between two labels."""

    TP: Halves
    FP: Halves
    FN: Halves
    LE: Halves
    BE: Halves
    BEs: Halves
    BEl: Halves
    BEo: Halves
    LBE: Halves
    sides: BoundarySides | UnsetType = UNSET

    def count(self, kind: str) -> Halves:
        """How often an outcome occurred."""
        number: Halves = getattr(self, kind)
        return number


class ErrorShares(Part, frozen=True, kw_only=True):
    """The share of each kind of error among all errors, counted traditionally and fairly."""

    traditional: Mapping[str, Fraction]
    fair: Mapping[str, Fraction]


class Fair(Part, frozen=True, kw_only=True):
    """Fair matching, overall and by label."""

    overall: FairScores
    labels: Mapping[str, FairScores]
    shares: ErrorShares | None = None


class CreditScores(Part, frozen=True, kw_only=True):
    """The scores of one further credit, overall and by label."""

    overall: Rates
    labels: Mapping[str, Rates]


class GainLead(Part, frozen=True, kw_only=True):
    """By how much the largest gain exceeds the second, with a paired test over units."""

    over: str
    difference: float | None
    interval: Interval | None
    p: Probability


class Gain(Bounded, frozen=True, kw_only=True):
    """By how much F1 would rise if all errors of one kind were right."""

    gain: float | None
    lead: GainLead | UnsetType = UNSET


class Gains(Part, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The gain of each kind of error."""

    LE: Gain
    BE: Gain
    LBE: Gain
    FN: Gain
    FP: Gain

    def items(self) -> list[tuple[str, Gain]]:
        """Each kind of error with its gain."""
        return [(kind, self.of(kind)) for kind in self.__struct_fields__]

    def values(self) -> list[Gain]:
        """The gains of all kinds of error."""
        return [gain for _, gain in self.items()]

    def of(self, kind: str) -> Gain:
        """The gain of one kind of error."""
        gain: Gain = getattr(self, kind)
        return gain


class RelaxedScores(Rates, frozen=True, kw_only=True):
    """The counts and scores of one way of matching of SemEval-2013."""

    correct: Count
    incorrect: Count
    partial: Count
    missed: Count
    spurious: Count
    possible: Count
    actual: Count


class Confusion(Part, frozen=True, kw_only=True):
    """Which gold label (rows) met which predicted one (columns), and the mentions that met none."""

    labels: tuple[str, ...]
    counts: tuple[tuple[Count, ...], ...]
    missed: tuple[Count, ...]
    spurious: tuple[Count, ...]
    pairs: Mapping[str, tuple[tuple[str, str, Count], ...]] = field(default_factory=dict)


class SubsetRecall(Bounded, frozen=True, kw_only=True):
    """How many mentions of a subset were found."""

    mentions: Count
    correct: Count
    recall: Fraction


class SubsetScores(Part, frozen=True, kw_only=True):
    """The recall of one subset of tough mentions, overall and by label."""

    overall: SubsetRecall
    labels: Mapping[str, SubsetRecall]
    outcomes: Mapping[Outcome, Count] = field(default_factory=dict)


class BucketEdges(Part, frozen=True, kw_only=True):
    """A bucket: special values and ranges have `low` and `high`, categories a `value`, the rest neither."""

    name: str
    label: str | UnsetType = UNSET
    special: bool | UnsetType = UNSET
    rest: bool = False
    value: str | float | UnsetType = UNSET
    low: float | UnsetType | None = UNSET
    high: float | UnsetType | None = UNSET

    @property
    def is_category(self) -> bool:
        """Whether the bucket is a named value."""
        return self.value is not UNSET and self.value is not None

    @property
    def on_scale(self) -> bool:
        """Whether the bucket holds values of the attribute: all but `unplaced`, unless that is a value."""
        return self.is_category or not self.name.startswith("unplaced")

    @property
    def point(self) -> float | None:
        """The one value that the bucket holds, where it is a number."""
        if self.low is UNSET or self.low is None or self.low != self.high:
            return None
        return self.low

    @property
    def text(self) -> str:
        """The bucket as it is shown."""
        return self.label or self.name


class FairRates(Part, frozen=True, kw_only=True, omit_defaults=False):
    """Fair scores of a bucket; half of an error counts at its gold mention, half at the predicted one."""

    precision: Fraction
    recall: Fraction
    f1: Fraction


class BucketScores(BucketEdges, frozen=True, kw_only=True):
    """The mentions or tokens in one bucket, counted and scored as `Rates` are."""

    precision: Fraction
    recall: Fraction
    f1: Fraction
    interval: Mapping[str, Interval | None] = field(default_factory=dict)
    why: str | None = None
    few_units: Count | UnsetType = UNSET
    gold: Count
    predicted: Count
    correct: Count
    small: bool | UnsetType = UNSET
    outcomes: Mapping[Literal["gold", "predicted"], Mapping[Outcome, Count]] = field(default_factory=dict)
    fair: FairRates | UnsetType = UNSET  # of mentions alone

    def ends(self, score: str) -> Interval | None:
        """The interval of one score, where there is one."""
        return self.interval.get(score)


class AttributeScores(Part, frozen=True, kw_only=True):
    """The buckets of one attribute, and how the score moves over them."""

    unit: Literal["mention", "token"]
    kind: str | UnsetType = UNSET
    strategy: str | UnsetType = UNSET
    zeta: float | UnsetType | None = UNSET
    buckets: tuple[BucketScores, ...]
    spearman: float | None
    std: float | None
    best: str | None
    worst: str | None
    gap: Fraction
    best_f1: Fraction | UnsetType = UNSET
    worst_f1: Fraction | UnsetType = UNSET

    def bucket(self, name: str | None) -> BucketScores | None:
        """The bucket of this name."""
        return next((bucket for bucket in self.buckets if bucket.name == name), None)


class WeakSlice(Part, frozen=True, kw_only=True):
    """A part of the data and its cost: its share of the gold units times how far it is below the whole."""

    kind: Literal["bucket", "label", "tough"]
    attribute: str | None
    name: str
    title: str
    score: Literal["f1", "recall"]
    value: Fraction
    overall: Fraction
    gold: Annotated[int, Meta(ge=50)]
    cost: float
    interval: Interval | None  # of a slice that was tested: one that holds for all tested slices at once
    t: float | UnsetType = UNSET
    p: Probability | UnsetType = UNSET  # that the slice is weaker than the rest, over all tested slices
    among: Count | UnsetType = UNSET  # the slices that were tested together


class CrossBucket(Rates, frozen=True, kw_only=True):
    """The mentions in two buckets at once."""

    buckets: tuple[str, str]
    gold: Count
    predicted: Count
    correct: Count


class CrossScores(Part, frozen=True, kw_only=True):
    """Two attributes of mentions, crossed."""

    attributes: tuple[str, str]
    cells: tuple[CrossBucket, ...]


# Where a run has each score that a study summarises over its runs.
SCORE_PATHS: Mapping[str, tuple[str, str, str]] = {
    "precision": ("exact", "overall", "precision"),
    "recall": ("exact", "overall", "recall"),
    "f1": ("exact", "overall", "f1"),
    "fair_precision": ("fair", "overall", "precision"),
    "fair_recall": ("fair", "overall", "recall"),
    "fair_f1": ("fair", "overall", "f1"),
    "macro_f1": ("exact", "macro", "f1"),
}
# The scores that the primary question may be about, by the name of the choice.
PRIMARY_SCORES = {
    "f1": "f1", "precision": "precision", "recall": "recall", "macro": "macro_f1", "fair": "fair_f1",
}  # fmt: skip
PRIMARY: Mapping[str, tuple[str, ...]] = {
    choice: SCORE_PATHS[score] for choice, score in PRIMARY_SCORES.items()
}
# The choice that asks for a score.
PRIMARY_OF = {score: choice for choice, score in PRIMARY_SCORES.items()}


class SystemScores(Part, frozen=True, kw_only=True):
    """Everything that a document says of one system in one run."""

    exact: Exact
    fair: Fair
    credits: Mapping[str, CreditScores] | UnsetType = UNSET
    gains: Gains
    relaxed: Mapping[str, RelaxedScores] | UnsetType = UNSET
    confusion: Confusion
    tough: Mapping[Subset, SubsetScores] = field(default_factory=dict)
    attributes: Mapping[str, AttributeScores]
    slices: tuple[WeakSlice, ...]
    cross: Mapping[str, CrossScores] = field(default_factory=dict)

    def about(self, primary: str) -> Rates:
        """The scores that include the primary one, with their intervals."""
        match primary:
            case "macro":
                return self.exact.macro
            case "fair":
                return self.fair.overall
            case _:
                return self.exact.overall

    def edges(self) -> dict[str, Any]:
        """The buckets of every attribute, which are fitted to gold, to be used as `edges=`."""
        keys = ("name", "label", "special", "rest", "value", "low", "high")
        return {
            name: {
                "attribute": name,
                "kind": table.kind,
                "strategy": table.strategy,
                "buckets": [
                    {key: getattr(bucket, key) for key in keys if getattr(bucket, key) is not UNSET}
                    for bucket in table.buckets
                    if not bucket.rest
                ],
            }
            for name, table in self.attributes.items()
        }

    def primary(self, primary: str) -> float | None:
        """The score that the primary question is about, by the name of the choice."""
        value: float | None = getattr(self.about(primary), PRIMARY[primary][-1])
        return value

    def primary_ends(self, primary: str) -> Interval | None:
        """Its interval, where there is one."""
        return self.about(primary).ends(PRIMARY[primary][-1])


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
    primary: str | UnsetType = UNSET  # the score of a lead, where it is not F1
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
