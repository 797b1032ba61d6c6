"""The scores of one system on one dataset, and the comparison of two systems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType, field

from spanwise.document import Count, DocumentPart, Fraction, Halves, Interval, Probability
from spanwise.document.silver import SilverScores, SilverTest
from spanwise.rates import RATES, ByScore

Outcome: TypeAlias = Literal["TP", "LE", "BEs", "BEl", "BEo", "LBE", "FN", "FP"]
Subset: TypeAlias = Literal[
    "SEEN", "UNSEEN-TYPE", "UNSEEN-TOKENS", "UNSEEN-ANY", "TCM-ALL", "TCM-SEEN", "TCM-UNSEEN"
]
# What screens call the kinds of error and the tough subsets; these words are accepted as input too.
OUTCOME_WORDS: Mapping[str, str] = {
    "TP": "right",
    "LE": "wrong label",
    "BE": "wrong boundary",
    "BEs": "too short",
    "BEl": "too long",
    "BEo": "crossing",
    "LBE": "label + boundary",
    "FN": "missed",
    "FP": "spurious",
}
SUBSET_WORDS: Mapping[Subset, str] = {
    "SEEN": "seen in training",
    "UNSEEN-TYPE": "seen with another label",
    "UNSEEN-TOKENS": "never seen",
    "UNSEEN-ANY": "unseen with this label",
    "TCM-ALL": "type-confusable",
    "TCM-SEEN": "confusable, seen",
    "TCM-UNSEEN": "confusable, never seen",
}
_SPELLINGS = {"wrong label and boundary": "LBE"}
_CODES: Mapping[str, str] = {
    words.casefold(): code for code, words in (*OUTCOME_WORDS.items(), *SUBSET_WORDS.items())
} | _SPELLINGS


def code_of(words: str) -> str:
    """The code of a kind of error or a tough subset that is given in words; other text as it is.

    Examples:
        >>> code_of("wrong boundary"), code_of("Never seen"), code_of("LE")
        ('BE', 'UNSEEN-TOKENS', 'LE')
    """
    return _CODES.get(" ".join(words.split()).casefold(), words)


class Bounded(DocumentPart, frozen=True, kw_only=True):
    """Scores with their confidence intervals.

    An interval that is withheld is None, and `why` gives the reason. `few_units` is the number of units that
    contribute, set only if it is too small for reliable intervals; `carried_by` and `errors_carried_by` are
    the numbers of equal units that would carry the score, and its errors, as evenly, set only if small.
    """

    interval: Mapping[str, Interval | None] = field(default_factory=dict)
    why: str | None = None
    few_units: Count | UnsetType = UNSET
    carried_by: float | UnsetType = UNSET
    errors_carried_by: float | UnsetType = UNSET

    def ends(self, score: str) -> Interval | None:
        """The interval of one score, or None if it has none."""
        return self.interval.get(score)


class Rates(Bounded, frozen=True, kw_only=True):
    """Precision, recall and F1; None if undefined. In the JSON, `more` stands next to them, such as "f2"."""

    precision: Fraction
    recall: Fraction
    f1: Fraction
    more: Mapping[str, Fraction] = field(default_factory=dict)


class ExactScores(Rates, frozen=True, kw_only=True):
    """Counts and scores of exact matching: a mention is correct if its span and its label are both right."""

    gold: Count
    predicted: Count
    correct: Count
    accuracy: Fraction | UnsetType = UNSET


class MeanScores(Rates, frozen=True, kw_only=True):
    """Scores averaged over labels, and the number of labels."""

    labels: Count


class Exact(DocumentPart, frozen=True, kw_only=True):
    """The scores of exact matching, overall and by label."""

    overall: ExactScores
    macro: MeanScores
    weighted: MeanScores
    labels: Mapping[str, ExactScores]
    f1_without_copies: Fraction | UnsetType = UNSET  # if sentences repeat earlier ones


class BoundarySides(DocumentPart, frozen=True, kw_only=True):
    """Boundary errors by the side on which the spans differ: on the left, on the right, or on both sides.

    Mentions with gaps may have the same boundaries and differ inside; such errors are not counted here.
    """

    left: Count
    right: Count
    both: Count


class FairScores(Rates, frozen=True, kw_only=True):
    """Fair counts and scores: every error counts once, by kind; halves if it is shared between two labels."""

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
        """How often an outcome such as "TP" or "LE" occurred."""
        number: Halves = getattr(self, kind)
        return number


class ErrorShares(DocumentPart, frozen=True, kw_only=True):
    """The share of each kind of error among all errors, by traditional and by fair counting."""

    traditional: Mapping[str, Fraction]
    fair: Mapping[str, Fraction]


class Fair(DocumentPart, frozen=True, kw_only=True):
    """The scores of fair matching, overall and by label."""

    overall: FairScores
    labels: Mapping[str, FairScores]
    shares: ErrorShares | None = None


class CreditScores(DocumentPart, frozen=True, kw_only=True):
    """The scores under an additional credit, overall and by label."""

    overall: Rates
    labels: Mapping[str, Rates]


class GainLead(DocumentPart, frozen=True, kw_only=True):
    """How much the largest gain exceeds the second largest, with a paired test over units.

    p is corrected over all kinds of error, which are all compared with the first; `tied` are the kinds that
    cannot be told apart from it, the largest gain first.
    """

    over: str
    difference: float | None
    interval: Interval | None
    p: Probability
    tied: tuple[str, ...] = ()


class Gain(Bounded, frozen=True, kw_only=True):
    """How much F1 would rise if all errors of one kind were corrected."""

    gain: float | None
    lead: GainLead | UnsetType = UNSET


class Gains(DocumentPart, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The gain of each kind of error."""

    LE: Gain
    BE: Gain
    LBE: Gain
    FN: Gain
    FP: Gain

    def items(self) -> list[tuple[str, Gain]]:
        """Pairs of a kind of error and its gain."""
        return [(kind, self.of(kind)) for kind in self.__struct_fields__]

    def values(self) -> list[Gain]:
        """The gains of all kinds of error."""
        return [gain for _, gain in self.items()]

    def of(self, kind: str) -> Gain:
        """The gain of one kind of error."""
        gain: Gain = getattr(self, kind)
        return gain


CauseName = Literal[
    "starts after", "swallows before", "stops before", "swallows after",
    "labels", "text", "shape", "follows", "precedes",
]  # fmt: skip


class Pattern(DocumentPart, frozen=True, kw_only=True):
    """Errors of one kind that share a visible cause; a description, not a test."""

    kind: Literal["BE", "LE", "FN", "FP"]
    cause: CauseName
    text: str
    gold: str | None = None  # the labels, if they are part of the cause
    predicted: str | None = None
    count: Count
    of: Count  # errors of the kind
    share: Fraction
    gain: float
    others: Mapping[str, Count] = field(default_factory=dict)  # the same count for every other system


class Patterns(DocumentPart, frozen=True, kw_only=True):
    """The patterns in the errors of a system, by kind of error; none, with the reason, without text."""

    listed: tuple[Pattern, ...] = ()
    why: str | UnsetType = UNSET


class RelaxedScores(Rates, frozen=True, kw_only=True):
    """The counts and scores of one matching scheme of SemEval-2013."""

    correct: Count
    incorrect: Count
    partial: Count
    missed: Count
    spurious: Count
    possible: Count
    actual: Count


class Confusion(DocumentPart, frozen=True, kw_only=True):
    """Gold labels (rows) against predicted labels (columns), and the mentions without a counterpart."""

    labels: tuple[str, ...]
    counts: tuple[tuple[Count, ...], ...]
    missed: tuple[Count, ...]
    spurious: tuple[Count, ...]
    pairs: Mapping[str, tuple[tuple[str, str, Count], ...]] = field(default_factory=dict)


class SubsetRecall(Bounded, frozen=True, kw_only=True):
    """The recall of the mentions in a subset, with its counts."""

    mentions: Count
    correct: Count
    recall: Fraction


class SubsetScores(DocumentPart, frozen=True, kw_only=True):
    """The recall of a subset of tough mentions, overall and by label."""

    overall: SubsetRecall
    labels: Mapping[str, SubsetRecall]
    outcomes: Mapping[Outcome, Count] = field(default_factory=dict)


class BucketEdges(DocumentPart, frozen=True, kw_only=True):
    """A bucket: ranges and special values have `low` and `high`, categories a `value`, the `rest` neither."""

    name: str
    label: str | UnsetType = UNSET
    special: bool | UnsetType = UNSET
    rest: bool = False
    value: str | float | UnsetType = UNSET
    low: float | UnsetType | None = UNSET
    high: float | UnsetType | None = UNSET

    @property
    def is_category(self) -> bool:
        """Whether the bucket is a category, that is, a single named value."""
        return self.value is not UNSET and self.value is not None

    @property
    def on_scale(self) -> bool:
        """Whether the bucket holds values of the attribute: all but `unplaced`, unless that is a category."""
        return self.is_category or not self.name.startswith("unplaced")

    @property
    def point(self) -> float | None:
        """The single number that the bucket holds; None if it is a range or a category."""
        if self.low is UNSET or self.low is None or self.low != self.high:
            return None
        return self.low

    @property
    def text(self) -> str:
        """The name of the bucket for display."""
        return self.label or self.name


class FairRates(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """The fair scores of a bucket; an error counts half for its gold and half for its predicted mention."""

    precision: Fraction
    recall: Fraction
    f1: Fraction


class BucketScores(BucketEdges, frozen=True, kw_only=True):
    """The counts and scores of the mentions or tokens in one bucket; see `Rates`."""

    precision: Fraction
    recall: Fraction
    f1: Fraction
    more: Mapping[str, Fraction] = field(default_factory=dict)
    interval: Mapping[str, Interval | None] = field(default_factory=dict)
    why: str | None = None
    few_units: Count | UnsetType = UNSET
    carried_by: float | UnsetType = UNSET
    errors_carried_by: float | UnsetType = UNSET
    gold: Count
    predicted: Count
    correct: Count
    small: bool | UnsetType = UNSET
    outcomes: Mapping[Literal["gold", "predicted"], Mapping[Outcome, Count]] = field(default_factory=dict)
    fair: FairRates | UnsetType = UNSET  # only for attributes of mentions

    def ends(self, score: str) -> Interval | None:
        """The interval of one score, or None if it has none."""
        return self.interval.get(score)


class AttributeScores(DocumentPart, frozen=True, kw_only=True):
    """The buckets of one attribute, and how the score varies over them."""

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
        """The bucket with this name, or None."""
        return next((bucket for bucket in self.buckets if bucket.name == name), None)


class WeakSlice(DocumentPart, frozen=True, kw_only=True):
    """A part of the data and its cost: its share of gold units times how far its score is below overall."""

    kind: Literal["bucket", "label", "tough"]
    attribute: str | None
    name: str
    title: str
    score: Literal["f1", "recall"]
    value: Fraction
    overall: Fraction
    gold: Annotated[int, Meta(ge=50)]
    cost: float
    interval: Interval | None  # simultaneous for all tested slices, if the slice was tested
    t: float | UnsetType = UNSET
    p: Probability | UnsetType = UNSET  # for being weaker than the rest, corrected over all tested slices
    among: Count | UnsetType = UNSET  # the number of slices that were tested together


class CrossBucket(Rates, frozen=True, kw_only=True):
    """The counts and scores of the mentions that are in two given buckets at once."""

    buckets: tuple[str, str]
    gold: Count
    predicted: Count
    correct: Count


class CrossScores(DocumentPart, frozen=True, kw_only=True):
    """The crossed buckets of two mention attributes."""

    attributes: tuple[str, str]
    cells: tuple[CrossBucket, ...]


# The path, in the scores of a run, of each score that a study summarises over its runs.
SCORE_PATHS: Mapping[str, tuple[str, str, str]] = ByScore(
    {
        **{name: ("exact", "overall", name) for name in RATES},
        **{f"fair_{name}": ("fair", "overall", name) for name in RATES},
        "macro_f1": ("exact", "macro", "f1"),
    },
    lambda score: ("exact", "overall", score.name),
)
# The scores that the primary question can be about, by the value of the setting `primary`.
PRIMARY_SCORES = ByScore(
    {"f1": "f1", "precision": "precision", "recall": "recall", "macro": "macro_f1", "fair": "fair_f1"},
    lambda score: score.name,
)
PRIMARY: Mapping[str, tuple[str, ...]] = ByScore(
    {choice: SCORE_PATHS[score] for choice, score in PRIMARY_SCORES.items()},
    lambda score: ("exact", "overall", score.name),
)


def primary_name(path: tuple[str, ...]) -> str:
    """The value of the setting `primary` that selects the score at this path."""
    return next((name for name, own in PRIMARY.items() if own == path), path[-1])


# The inverse: the value of the setting `primary` that selects a score.
PRIMARY_OF = {score: choice for choice, score in PRIMARY_SCORES.items()}


class LevelExact(DocumentPart, frozen=True, kw_only=True):
    """The scores of exact matching at one level of a hierarchy of labels."""

    overall: ExactScores
    labels: Mapping[str, ExactScores]


class LevelFair(DocumentPart, frozen=True, kw_only=True):
    """The fair scores at one level of a hierarchy of labels."""

    overall: FairScores
    labels: Mapping[str, FairScores]


class LevelScores(DocumentPart, frozen=True, kw_only=True):
    """All scores at one level of a hierarchy of labels."""

    exact: LevelExact
    fair: LevelFair


class Truncation(DocumentPart, frozen=True, kw_only=True):
    """A token after which recall drops significantly and by 20 points or more: inputs may be truncated."""

    of: Literal["document", "sentence"]  # in which tokens are counted
    after: Count  # the number of tokens before the first mention that counts as after it
    recall_before: float
    recall: float
    mentions: Count
    missed: Count
    t: float
    p: Probability
    among: Count  # the number of cuts that were tested together


class SystemScores(DocumentPart, frozen=True, kw_only=True):
    """All scores of one system in one run."""

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
    hierarchy: Mapping[str, LevelScores] | UnsetType = UNSET  # by level: "0" is one label for all
    label_gains: Mapping[str, float] = field(default_factory=dict)  # of all errors of a gold label
    patterns: Patterns | UnsetType = UNSET
    truncation: Truncation | UnsetType = UNSET  # only if recall drops after some token
    silver: SilverScores | UnsetType = UNSET  # if there is a judge's annotation of all units

    def about(self, primary: str) -> Rates:
        """The group of scores that contains the primary score, with their intervals."""
        match primary:
            case "macro":
                return self.exact.macro
            case "fair":
                return self.fair.overall
            case _:
                return self.exact.overall

    def edges(self) -> dict[str, dict[str, object]]:
        """The buckets of every attribute, which were fitted to gold, to be passed as `edges=`."""
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
        """The primary score, given the value of the setting `primary`."""
        value: float | None = getattr(self.about(primary), PRIMARY[primary][-1])
        return value

    def primary_ends(self, primary: str) -> Interval | None:
        """The interval of the primary score, or None if it has none."""
        return self.about(primary).ends(PRIMARY[primary][-1])


class ScoreTest(DocumentPart, frozen=True, kw_only=True):
    """The difference in one score between two systems, first minus second, and its test."""

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


class BucketLead(DocumentPart, frozen=True, kw_only=True):
    """A bucket, how much the first system leads in it, and the scores of both systems."""

    bucket: str
    difference: float | None
    first: float | UnsetType | None = UNSET
    second: float | UnsetType | None = UNSET


class BucketLeads(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """The buckets of one attribute in which the first of two systems leads most and least."""

    best: BucketLead | None
    worst: BucketLead | None
    beta: float | None
    buckets: tuple[str, ...] = ()
    differences: tuple[float | None, ...] = ()
    relative: tuple[float | None, ...]


class LeadPart(DocumentPart, frozen=True, kw_only=True):
    """A group of mentions, and how much it contributes to the lead of the first system."""

    name: str
    contribution: float
    interval: Interval | UnsetType | None = UNSET


class Comparison(DocumentPart, frozen=True, kw_only=True):
    """The paired tests between two systems.

    `lead` splits the difference in F1 by label, by tough subset and by each attribute; within each of these,
    the contributions of the parts add up to the difference.
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
    differing: Count | UnsetType = UNSET  # the units in which the counts of the primary score differ
    unreachable: str | UnsetType = UNSET  # why the primary test cannot reach its level; unset if it can
    runs: tuple[Count, ...] = ()
    runs_pooled: bool = False
    interpreteval: Mapping[str, BucketLeads] = field(default_factory=dict)
    lead: Mapping[str, tuple[LeadPart, ...]] = field(default_factory=dict)
    silver: SilverTest | UnsetType = UNSET  # the same difference with the help of a judge

    def score(self, path: tuple[str, ...]) -> ScoreTest | None:
        """The test of one score, or None if it was not tested."""
        return next((row for row in self.scores if row.path == path), None)

    @property
    def primary(self) -> ScoreTest | None:
        """The test of the primary score: overall F1 unless another score was chosen."""
        chosen = next((row for row in self.scores if row.role == "primary"), None)
        return chosen or self.score(PRIMARY["f1"])


class Finding(DocumentPart, frozen=True, kw_only=True):
    """One of the few things to know first; `filter` selects the sentences behind it."""

    kind: Literal["gain", "slice", "tough", "lead", "data", "alias", "truncation"]
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
    primary: str | UnsetType = UNSET  # the score of a lead, if it is not F1
    p: Probability | UnsetType = UNSET
    interval: Interval | UnsetType | None = UNSET
    among: Count | UnsetType = UNSET  # the number of slices that were tested together
    tied: tuple[str, ...] | str = ()  # other kinds of error that may cost just as much; in 0.2 at most one
    loses: tuple[str, ...] = ()
    loss: float | UnsetType = UNSET
    even: bool = False
    of: Mapping[str, int] | UnsetType = UNSET
    few_units: Count | UnsetType | None = UNSET
    run: str | UnsetType = UNSET  # the run that the numbers belong to, if there are several
    runs: tuple[Count, Count] | UnsetType = UNSET  # the number of runs that show the same, out of how many

    @property
    def ties(self) -> tuple[str, ...]:
        """The other kinds of error that may cost just as much."""
        return (self.tied,) if isinstance(self.tied, str) else self.tied


class TaskFinding(DocumentPart, frozen=True, kw_only=True):
    """A finding with something to do; reports put it into words, and `filter` selects its sentences.

    `gain` is what F1 would gain if exactly the errors behind it were right; null if that is not a number of
    errors. Gains of several tasks may overlap.
    """

    kind: Literal[
        "alias", "unknown", "pattern", "label", "truncation", "copies", "repairs", "annotate"
    ]  # fmt: skip
    system: str | None
    gain: float | None
    count: Count
    of: Count | UnsetType = UNSET
    path: tuple[str, ...]
    names: tuple[str, ...] = ()  # labels, or the name of a pattern
    others: Mapping[str, int] = field(default_factory=dict)  # predictions of other systems with this label
    filter: Mapping[str, str] = field(default_factory=dict)


Findings = Annotated[tuple[Finding, ...], Meta(max_length=4)]
