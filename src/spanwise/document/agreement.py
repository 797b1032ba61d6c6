"""The document of the agreement between annotators."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType, field

from spanwise.document import Document, Interval


class Overlap(Struct, frozen=True, kw_only=True):
    """The mentions that two annotators share, those of each, and F1 = 2·both / (first + second)."""

    both: int
    first: int
    second: int
    f1: float | None


class LabelAgreement(Struct, frozen=True, kw_only=True):
    """Spans that both annotators marked once each, and how many of them have the same label."""

    spans: int
    equal: int
    share: float | None
    kappa: float | None


class AgreementPair(Struct, frozen=True, kw_only=True):
    """The agreement of two annotators on the documents that both annotated."""

    annotators: tuple[str, str]
    shared: int  # the number of documents that both annotated
    overall: Overlap
    labels: dict[str, Overlap]
    documents: dict[str, Overlap] | None  # None if all pairs together have too many
    spans: Overlap
    on_equal_spans: LabelAgreement
    fair: float | None  # the mean of both directions
    interval: dict[str, Interval | None] | UnsetType = UNSET  # of f1 and of kappa on equal spans


class PairMean(Struct, frozen=True, kw_only=True):
    """The mean and population standard deviation of F1 over the pairs for which it is defined.

    The standard deviation of a single pair is undefined.
    """

    f1: float | None
    std: float | None
    pairs: int
    interval: dict[str, Interval | None] | UnsetType = UNSET


class AgreementMeans(Struct, frozen=True, kw_only=True):
    """The means over all pairs of annotators."""

    overall: PairMean
    spans: PairMean
    fair: PairMean
    labels: dict[str, PairMean]
    documents: dict[str, PairMean]


class CohenPair(Struct, frozen=True, kw_only=True):
    """Cohen's κ of two annotators over the tokens of the documents that both annotated."""

    annotators: tuple[str, str]
    kappa: float | None
    interval: dict[str, Interval | None] | UnsetType = UNSET


class TokenAgreement(Struct, frozen=True, kw_only=True):
    """Chance-corrected agreement over tokens; undefined if mentions overlap, and `why` says so."""

    alpha: float | None = None
    alpha_marked: float | None = None
    fleiss: float | None = None
    cohen: tuple[CohenPair, ...] = ()
    units: str = "label"  # or "iob2"
    tokens: int = 0
    outside: float | None = None  # the share of token labels that are O
    why: str | None = None
    interval: dict[str, Interval | None] | UnsetType = UNSET
    no_interval: dict[str, str] | UnsetType = UNSET  # why a coefficient has no interval


class UnitizingAgreement(Struct, frozen=True, kw_only=True):
    """Krippendorff's α_u on the concatenation of the documents that all annotated, and on each document."""

    all: float | None
    documents: dict[str, float | None]
    observed: float | None = None
    expected: float | None = None
    labels: dict[str, float | None] = field(default_factory=dict)
    why: str | None = None
    interval: dict[str, Interval | None] | UnsetType = UNSET
    no_interval: dict[str, str] | UnsetType = UNSET
    groups: int | UnsetType = (
        UNSET  # how many groups of neighbouring documents were left out, if not single ones
    )


class HumanLevel(Struct, frozen=True, kw_only=True):
    """How well these annotators agree: the mean of their pairwise F1."""

    f1: float | None
    interval: Interval | None


class SystemLevel(Struct, frozen=True, kw_only=True):
    """The mean F1 of a system with each annotator, beside the human level on the same documents.

    `p` is that of sign flips over units, `p_corrected` by Holm over the systems.
    """

    f1: float | None
    interval: Interval | None
    difference: float | None  # the system minus the human level
    p: float | None
    human: float | None  # on the documents of the system
    difference_interval: Interval | None = None
    p_corrected: float | None = None
    significant: bool = False
    units: int = 0
    flips: int = 0  # 0: all signs were enumerated
    why: str | None = None  # why the difference has no interval, or no test


class AgreementLevels(Struct, frozen=True, kw_only=True):
    """The human level and the levels of systems, true of these annotators alone."""

    human: HumanLevel
    systems: dict[str, SystemLevel]


class HumanCeiling(Struct, frozen=True, kw_only=True):
    """The F1 of each annotator against the majority of the others, and the mean over annotators."""

    mean: float | None
    annotators: dict[str, float | None]
    interval: dict[str, Interval | None] = field(default_factory=dict)
    why: str | None = None


class RankedAnnotator(Struct, frozen=True, kw_only=True):
    """One annotator: mean pairwise F1, F1 against the majority of the others, and the amount annotated."""

    annotator: str
    documents: int
    mentions: int
    mean_f1: float | None
    others_f1: float | None
    missing: tuple[str, ...] = ()  # documents that others annotated, but not this annotator


class SystemBesideCeiling(Struct, frozen=True, kw_only=True):
    """The scores of a system against the same majorities as the annotators, and against that of all."""

    f1: float | None  # the mean over the majorities, each of which leaves out one annotator
    annotators: dict[str, float | None]  # by the annotator left out
    majority: Overlap  # first: the system; second: the majority of all
    interval: dict[str, Interval | None] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


class MajorityCounts(Struct, frozen=True, kw_only=True):
    """How many mentions are accepted, tied or rejected by the vote of the annotators."""

    rule: str
    documents: int
    accepted: int
    unanimous: int
    tied: int
    rejected: int


class DisagreementMention(Struct, frozen=True, kw_only=True):
    """A mention in a sentence on which the annotators differ, and who marked it."""

    start: int
    end: int
    label: str
    annotators: tuple[str, ...]


class DisagreementExample(Struct, frozen=True, kw_only=True):
    """A sentence in which some mentions were marked by only some of its annotators."""

    document: str
    source: str
    text: tuple[str, ...]  # the tokens, or the whole text as one item if positions are characters
    annotators: tuple[str, ...]
    mentions: tuple[DisagreementMention, ...]


class ConfusedLabels(Struct, frozen=True, kw_only=True):
    """How often an annotator gave one label where the majority gave another."""

    own: str
    majority: str
    count: int


class RepeatedDifference(Struct, frozen=True, kw_only=True):
    """A difference that occurs more than once with the same words; a text is empty if a side has none."""

    kind: str
    own: str
    majority: str
    count: int


class AnnotatorDifferences(Struct, frozen=True, kw_only=True):
    """How one annotator differs from the majority: how often, in which labels and words.

    Where only two annotators have a document, each is compared with the other.

    `kinds` counts the annotator's mentions by how they differ (longer, shorter, crossing, label, label and
    boundary, extra), and the mentions of the majority that are missed.
    """

    kinds: dict[str, int]
    joins: int  # mentions that hold several of the majority
    labels: tuple[ConfusedLabels, ...] = ()
    repeated: tuple[RepeatedDifference, ...] = ()


class AgreementSettings(Struct, frozen=True, kw_only=True):
    """The choices that affect the numbers of an agreement document."""

    votes: int | None  # None for more than half
    tokens: str
    unit: str  # of intervals: document or sentence


class Agreement(Document, frozen=True, kw_only=True):
    """The agreement between annotators."""

    kind: str = "agreement"
    settings: AgreementSettings
    annotators: tuple[str, ...]
    unit: str  # what positions count: tokens or characters
    documents: int  # the number of documents with at least two annotators
    pairs: tuple[AgreementPair, ...]
    mean: AgreementMeans
    disagreement: dict[str, int]  # fair outcomes pooled over ordered pairs
    differences: dict[str, AnnotatorDifferences] | UnsetType = UNSET  # by annotator
    tokens: TokenAgreement
    alpha_u: UnitizingAgreement
    gamma: dict[str, float | None] | None = None  # by document, if requested
    levels: AgreementLevels | UnsetType = UNSET
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
