"""What is known of a dataset and of its annotations: facts, description, split, agreement, suspects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from spanwise.document import Count, Document, Fraction, Interval, Part
from spanwise.document.scores import BucketEdges, Subset
from spanwise.registry import reach


class MentionShare(Part, frozen=True, kw_only=True):
    """How many mentions, and which share of all."""

    mentions: Count
    share: Fraction


class SubsetShares(Part, frozen=True, kw_only=True):
    """How many of the mentions are in a subset, overall and by label."""

    overall: MentionShare
    labels: Mapping[str, MentionShare]


class DescribedBucket(BucketEdges, frozen=True, kw_only=True):
    """How many gold units are in a bucket."""

    gold: Count
    share: Fraction


class DescribedAttribute(Part, frozen=True, kw_only=True):
    """The buckets of the gold units of one attribute."""

    unit: Literal["mention", "token"]
    kind: str
    strategy: str
    zeta: float | None
    buckets: tuple[DescribedBucket, ...]


class LabelConflict(Part, frozen=True, kw_only=True):
    """A token sequence with two or more labels, and how often it has each."""

    text: str
    labels: Mapping[str, Count]


class LabelConflicts(Part, frozen=True, kw_only=True):
    """Token sequences that carry two or more labels."""

    sequences: Count
    mentions: Count
    examples: tuple[LabelConflict, ...]


class AnnotatedSentence(Part, frozen=True, kw_only=True):
    """A sentence by its place, with its mentions as text."""

    place: str
    mentions: str


class SentenceConflicts(Part, frozen=True, kw_only=True):
    """Equal sentences that are annotated differently."""

    groups: Count
    examples: tuple[tuple[AnnotatedSentence, ...], ...]


class VariationPlace(Part, frozen=True, kw_only=True):
    """A stretch of words that is read differently elsewhere between the same neighbours."""

    place: str
    text: str
    label: str  # O where gold has no mention
    elsewhere: str  # how it is read most often
    score: Fraction


class VariationPlaces(Part, frozen=True, kw_only=True):
    """Places whose reading is not the most frequent one of the same words between the same neighbours."""

    places: Count
    examples: tuple[VariationPlace, ...]


class Conflicts(Part, frozen=True, kw_only=True):
    """Annotations that contradict each other."""

    labels: LabelConflicts
    sentences: SentenceConflicts
    variation: VariationPlaces | None = None


class DriftShares(Part, frozen=True, kw_only=True):
    """The same share in the training data and in the test set."""

    train: Fraction
    test: Fraction


class DriftValues(Part, frozen=True, kw_only=True):
    """Means in the training data and in the test set, and how far apart the two distributions are."""

    train: float | None
    test: float | None
    distance: Fraction


class Drift(Part, frozen=True, kw_only=True):
    """How far a test set differs from its training data.

    Unknown tokens and unseen mentions of the training data are those of each unit beside all the others.
    """

    labels: Mapping[str, DriftShares]
    label_distance: Fraction | None
    lengths: Mapping[str, DriftValues] = field(default_factory=dict)
    left_out: Literal["document", "sentence"] | None = None
    unknown_tokens: DriftShares | None = None
    tough: Mapping[Subset, DriftShares] = field(default_factory=dict)


class DatasetFacts(Part, frozen=True, kw_only=True):
    """The sizes, labels, attributes and tough mentions of a test set."""

    name: str
    sentences: Count
    documents: Count | None
    tokens: Count | None
    mentions: Count
    labels: Mapping[str, Count]
    label_order: tuple[str, ...] | UnsetType = UNSET
    tough: Mapping[Subset, SubsetShares] | UnsetType | None = UNSET
    zeta: Mapping[str, float | None]
    absent: Mapping[str, str] | UnsetType = UNSET
    duplicates_with_train: Count | UnsetType | None = UNSET
    attributes: Mapping[str, DescribedAttribute] = field(default_factory=dict)
    conflicts: Conflicts | None = None
    drift: Drift | None = None

    def __post_init__(self) -> None:
        if self.label_order is not UNSET and not set(self.label_order) <= set(self.labels):
            raise ValueError("label_order names a label that is not among labels")

    @property
    def labels_in_order(self) -> tuple[str, ...]:
        """The labels, the most frequent first."""
        return self.label_order or tuple(self.labels)


class Description(Document, frozen=True, kw_only=True):
    """A test set before any system is run."""

    kind: Literal["description"] = "description"
    dataset: DatasetFacts

    def __repr__(self) -> str:
        dataset = self.dataset
        sizes = f"{dataset.sentences:,} sentences, {dataset.mentions:,} mentions"
        return f"<spanwise.Description {dataset.name}: {sizes}, {len(dataset.labels)} labels>"

    def _repr_html_(self) -> str:
        return str(reach("reports.notebook:notebook_description")(self))


class SplitSettings(Part, frozen=True, kw_only=True, omit_defaults=False):
    """What was asked for."""

    test: float
    dev: float
    seed: int
    unit: Literal["document", "sentence"]


class SplitShare(Part, frozen=True, kw_only=True, omit_defaults=False):
    """The share of the test mentions that one tough subset should have and has, and what chance would give.

    `random` are the mean, the lowest and the highest share over random splits of the same size.
    """

    asked: Fraction
    reached: Fraction
    random: tuple[Fraction, Fraction, Fraction]


class SplitRun(Part, frozen=True, kw_only=True):
    """Sentences of one file, from `first` up to, not including, `last`, counted from 0."""

    file: Count
    first: Count
    last: Count


class SplitPart(Part, frozen=True, kw_only=True):
    """One part: what it is like beside the training part, and which sentences it holds."""

    facts: DatasetFacts
    units: Count
    sentences: tuple[SplitRun, ...]
    path: str | None = None


class Split(Document, frozen=True, kw_only=True):
    """A corpus divided into training, test and perhaps development data by how tough the test is."""

    kind: Literal["split"] = "split"
    settings: SplitSettings
    shares: Mapping[Subset, SplitShare]
    size: SplitShare
    parts: Mapping[Literal["train", "dev", "test"], SplitPart]
    notes: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {part.facts.sentences:,}" for name, part in self.parts.items())
        return f"<spanwise.Split sentences: {sizes}>"


class Overlap(Struct, frozen=True, kw_only=True):
    """Mentions of two annotators: those of both, those of each, and F1 = 2·both / (first + second)."""

    both: int
    first: int
    second: int
    f1: float | None


class LabelAgreement(Struct, frozen=True, kw_only=True):
    """Spans that both annotators marked once each, and how many of them carry the same label."""

    spans: int
    equal: int
    share: float | None
    kappa: float | None


class AgreementPair(Struct, frozen=True, kw_only=True):
    """Two annotators over the documents that both have."""

    annotators: tuple[str, str]
    shared: int  # documents
    overall: Overlap
    labels: dict[str, Overlap]
    documents: dict[str, Overlap] | None  # None where all pairs together have too many
    spans: Overlap
    on_equal_spans: LabelAgreement
    fair: float | None  # mean of both directions


class PairMean(Struct, frozen=True, kw_only=True):
    """Mean and population standard deviation over the pairs where F1 is defined."""

    f1: float | None
    std: float | None
    pairs: int


class AgreementMeans(Struct, frozen=True, kw_only=True):
    """Means over pairs."""

    overall: PairMean
    spans: PairMean
    fair: PairMean
    labels: dict[str, PairMean]
    documents: dict[str, PairMean]


class CohenPair(Struct, frozen=True, kw_only=True):
    """Cohen's κ of two annotators over the tokens of the documents that both have."""

    annotators: tuple[str, str]
    kappa: float | None


class TokenAgreement(Struct, frozen=True, kw_only=True):
    """Chance-corrected agreement over tokens; all undefined, with the reason, where mentions overlap."""

    alpha: float | None = None
    alpha_marked: float | None = None
    fleiss: float | None = None
    cohen: tuple[CohenPair, ...] = ()
    units: str = "label"  # or "iob2"
    tokens: int = 0
    outside: float | None = None  # the share of all token labels that are O
    why: str | None = None


class UnitizingAgreement(Struct, frozen=True, kw_only=True):
    """Krippendorff's α_u on the concatenation of the documents that all have, and on each document."""

    all: float | None
    documents: dict[str, float | None]
    observed: float | None = None
    expected: float | None = None
    labels: dict[str, float | None] = field(default_factory=dict)
    why: str | None = None


class HumanCeiling(Struct, frozen=True, kw_only=True):
    """F1 of each annotator against the majority of the others, and the mean over annotators."""

    mean: float | None
    annotators: dict[str, float | None]
    interval: dict[str, Interval | None] = field(default_factory=dict)
    why: str | None = None


class RankedAnnotator(Struct, frozen=True, kw_only=True):
    """One annotator: mean pairwise F1, F1 against the majority of the others, and what there is of theirs."""

    annotator: str
    documents: int
    mentions: int
    mean_f1: float | None
    others_f1: float | None
    missing: tuple[str, ...] = ()  # documents that someone else has


class SystemBesideCeiling(Struct, frozen=True, kw_only=True):
    """A system against the majorities that the annotators were scored against, and against that of all."""

    f1: float | None  # mean over the majorities that each leave one annotator out
    annotators: dict[str, float | None]  # by the annotator left out
    majority: Overlap  # first: the system; second: the majority of all
    interval: dict[str, Interval | None] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


class MajorityCounts(Struct, frozen=True, kw_only=True):
    """How many mentions have the votes, tie, or fall short."""

    rule: str
    documents: int
    accepted: int
    unanimous: int
    tied: int
    rejected: int


class DisagreementMention(Struct, frozen=True, kw_only=True):
    """A mention of a sentence on which the annotators differ, and who marked it."""

    start: int
    end: int
    label: str
    annotators: tuple[str, ...]


class DisagreementExample(Struct, frozen=True, kw_only=True):
    """A sentence with mentions that only some of its annotators marked."""

    document: str
    source: str
    text: tuple[str, ...]  # tokens, or the text alone where positions are characters
    annotators: tuple[str, ...]
    mentions: tuple[DisagreementMention, ...]


class AgreementSettings(Struct, frozen=True, kw_only=True):
    """The choices behind the numbers."""

    votes: int | None  # None: more than half
    tokens: str
    unit: str  # what intervals rest on: document or sentence


class Agreement(Document, frozen=True, kw_only=True):
    """How well annotators agree."""

    kind: str = "agreement"
    settings: AgreementSettings
    annotators: tuple[str, ...]
    unit: str  # of positions: token or character
    documents: int  # that at least two annotators have
    pairs: tuple[AgreementPair, ...]
    mean: AgreementMeans
    disagreement: dict[str, int]  # fair outcomes pooled over ordered pairs
    tokens: TokenAgreement
    alpha_u: UnitizingAgreement
    gamma: dict[str, float | None] | None = None  # by document, where it was asked for
    ceiling: HumanCeiling
    ranking: tuple[RankedAnnotator, ...]
    systems: dict[str, SystemBesideCeiling]
    majority: MajorityCounts
    notes: tuple[str, ...] = ()
    sentences: tuple[DisagreementExample, ...] = ()

    def __post_init__(self) -> None:
        named = {name for pair in self.pairs for name in pair.annotators}
        named |= {name for pair in self.tokens.cohen for name in pair.annotators}
        if not named <= set(self.annotators):
            raise ValueError("pairs name an annotator that is not among annotators")


class SuspectMention(Struct, frozen=True, kw_only=True):
    """A labeled span of a sentence."""

    start: int
    end: int
    label: str


class SuspectVotes(Struct, frozen=True, kw_only=True):
    """Systems for the proposal (or silent, where it is to delete), and systems for the gold mention."""

    for_: int = field(name="for")
    against: int


class SuspectEvidence(Struct, frozen=True, kw_only=True):
    """What speaks for a second look, number by number, and in words."""

    votes: float | None = None  # score of the votes alone
    variation: float | None = None  # score of the variation n-gram alone
    rarity: float | None = None
    confidence: float | None = None
    readings: dict[str, int] = field(default_factory=dict)  # of the same words in the same context
    example: str | None = None  # where the majority reading is found
    words: tuple[str, ...] = ()


class Suspect(Struct, frozen=True, kw_only=True):
    """One place: a gold mention or none, a proposal or none, and the score it is ranked by."""

    rank: int
    tied: int  # suspects with this score, itself included
    score: float
    kind: str  # label, boundary, missing, spurious
    sentence: int  # from 0
    source: str
    gold: SuspectMention | None
    proposal: SuspectMention | None
    votes: SuspectVotes
    evidence: SuspectEvidence
    tokens: tuple[str, ...] = ()


class SuspectEffect(Struct, frozen=True, kw_only=True):
    """F1 of a system if the first k proposals were accepted, that system not voting."""

    k: int
    f1: float | None


class SuspectSettings(Struct, frozen=True, kw_only=True):
    """The choices behind the list."""

    top: int | None  # None: all
    align: str


class Suspects(Document, frozen=True, kw_only=True):
    """Places of the gold data that are worth a second look, the highest score first."""

    kind: str = "suspects"
    settings: SuspectSettings
    voters: tuple[str, ...]
    found: int  # suspects with a positive score
    kinds: dict[str, int]
    suspects: tuple[Suspect, ...]
    effects: dict[str, tuple[SuspectEffect, ...]]
    notes: tuple[str, ...] = ()
