"""Documents about a dataset and its annotations: facts, description, split and suspects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from spanwise.document import Count, Document, DocumentPart, Fraction
from spanwise.document.scores import BucketEdges, Subset
from spanwise.registry import resolve


class MentionShare(DocumentPart, frozen=True, kw_only=True):
    """A number of mentions, and their share of all mentions."""

    mentions: Count
    share: Fraction


class SubsetShares(DocumentPart, frozen=True, kw_only=True):
    """How many mentions are in a subset, overall and by label."""

    overall: MentionShare
    labels: Mapping[str, MentionShare]


class DescribedBucket(BucketEdges, frozen=True, kw_only=True):
    """A bucket, and how many gold units are in it."""

    gold: Count
    share: Fraction


class DescribedAttribute(DocumentPart, frozen=True, kw_only=True):
    """An attribute, and how its gold units are distributed over buckets."""

    unit: Literal["mention", "token"]
    kind: str
    strategy: str
    zeta: float | None
    buckets: tuple[DescribedBucket, ...]


class LabelConflict(DocumentPart, frozen=True, kw_only=True):
    """A token sequence with two or more labels, and how often it has each of them."""

    text: str
    labels: Mapping[str, Count]


class LabelConflicts(DocumentPart, frozen=True, kw_only=True):
    """How many token sequences have two or more labels, with examples."""

    sequences: Count
    mentions: Count
    examples: tuple[LabelConflict, ...]


class AnnotatedSentence(DocumentPart, frozen=True, kw_only=True):
    """The location of a sentence, and its mentions as text."""

    place: str
    mentions: str


class SentenceConflicts(DocumentPart, frozen=True, kw_only=True):
    """Groups of identical sentences that are annotated differently."""

    groups: Count
    examples: tuple[tuple[AnnotatedSentence, ...], ...]


class VariationPlace(DocumentPart, frozen=True, kw_only=True):
    """A sequence of words that is annotated differently elsewhere between the same neighbours."""

    place: str
    text: str
    label: str  # O if gold has no mention here
    elsewhere: str  # the most frequent annotation of the same words
    score: Fraction


class VariationPlaces(DocumentPart, frozen=True, kw_only=True):
    """Words whose annotation is not the most frequent one of these words between the same neighbours."""

    places: Count
    examples: tuple[VariationPlace, ...]


class Conflicts(DocumentPart, frozen=True, kw_only=True):
    """Annotations that contradict each other."""

    labels: LabelConflicts
    sentences: SentenceConflicts
    variation: VariationPlaces | None = None


class DriftShares(DocumentPart, frozen=True, kw_only=True):
    """A share in the training data and in the test set."""

    train: Fraction
    test: Fraction


class DriftValues(DocumentPart, frozen=True, kw_only=True):
    """The means in the training data and in the test set, and the distance of the two distributions."""

    train: float | None
    test: float | None
    distance: Fraction


class Drift(DocumentPart, frozen=True, kw_only=True):
    """How much a test set differs from its training data.

    For the training data itself, unknown tokens and unseen mentions are determined by leaving out one unit
    (`left_out`) at a time and comparing it with all the others.
    """

    labels: Mapping[str, DriftShares]
    label_distance: Fraction | None
    lengths: Mapping[str, DriftValues] = field(default_factory=dict)
    left_out: Literal["document", "sentence"] | None = None
    unknown_tokens: DriftShares | None = None
    tough: Mapping[Subset, DriftShares] = field(default_factory=dict)


class DatasetFacts(DocumentPart, frozen=True, kw_only=True):
    """The size, labels, attributes and tough mentions of a test set."""

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
    train_labels: Mapping[str, Count] | UnsetType = UNSET  # mentions of the training data, by label
    duplicates_with_train: Count | UnsetType | None = UNSET
    duplicates: Count | UnsetType | None = UNSET  # sentences that repeat an earlier one
    attributes: Mapping[str, DescribedAttribute] = field(default_factory=dict)
    conflicts: Conflicts | None = None
    drift: Drift | None = None

    def __post_init__(self) -> None:
        if self.label_order is not UNSET and not set(self.label_order) <= set(self.labels):
            raise ValueError("label_order names a label that is not among labels")

    @property
    def labels_in_order(self) -> tuple[str, ...]:
        """The labels, most frequent first."""
        return self.label_order or tuple(sorted(self.labels, key=lambda label: -self.labels[label]))


class TupleTypeFacts(DocumentPart, frozen=True, kw_only=True):
    """How many tuples have a type, and which labels the mentions in their roles have, most frequent first.

    A value or a link stands among the labels as "value" or "link".
    """

    tuples: Count
    roles: dict[str, dict[str, Count]]


class Description(Document, frozen=True, kw_only=True):
    """The description of a test set, independent of any system."""

    kind: Literal["description"] = "description"
    dataset: DatasetFacts
    tuples: dict[str, TupleTypeFacts] | UnsetType = UNSET  # by type, if the file has tuples

    def __repr__(self) -> str:
        dataset = self.dataset
        sizes = f"{dataset.sentences:,} sentences, {dataset.mentions:,} mentions"
        return f"<spanwise.Description {dataset.name}: {sizes}, {len(dataset.labels)} labels>"

    def _repr_html_(self) -> str:
        return str(resolve("reports.notebook:notebook_description")(self))


class SplitSettings(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """The requested sizes, the seed and the unit of a split."""

    test: float
    dev: float
    seed: int
    unit: Literal["document", "sentence"]


class SplitShare(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """The share of the test data that was asked for and reached, and the share in random splits.

    The share is that of a tough subset among the test mentions or, for `size`, of the test part among all
    sentences. `random` has the mean, minimum and maximum over random splits of the same size.
    """

    asked: Fraction
    reached: Fraction
    random: tuple[Fraction, Fraction, Fraction]


class SplitRun(DocumentPart, frozen=True, kw_only=True):
    """Consecutive sentences of one file, from `first` up to but not including `last`, counted from 0."""

    file: Count
    first: Count
    last: Count


class SplitPart(DocumentPart, frozen=True, kw_only=True):
    """One part of a split: its facts, relative to the training part, and the sentences in it."""

    facts: DatasetFacts
    units: Count
    sentences: tuple[SplitRun, ...]
    path: str | None = None


class Split(Document, frozen=True, kw_only=True):
    """A corpus split into training, test and optionally development data by how tough the test is."""

    kind: Literal["split"] = "split"
    settings: SplitSettings
    shares: Mapping[Subset, SplitShare]
    size: SplitShare
    parts: Mapping[Literal["train", "dev", "test"], SplitPart]
    notes: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {part.facts.sentences:,}" for name, part in self.parts.items())
        return f"<spanwise.Split sentences: {sizes}>"

    def inconsistent(self) -> tuple[str, str] | None:
        """An error if there is no test part; see `Document.inconsistent`."""
        return None if "test" in self.parts else ("$.parts", "the part 'test' is missing")


class SuspectMention(Struct, frozen=True, kw_only=True):
    """A labeled span in a sentence."""

    start: int
    end: int
    label: str


class SuspectVotes(Struct, frozen=True, kw_only=True):
    """How many systems support the proposal (predict nothing, if it is a deletion) or the gold mention."""

    for_: int = field(name="for")
    against: int


class SuspectEvidence(Struct, frozen=True, kw_only=True):
    """The reasons for a second look, as numbers and in words."""

    votes: float | None = None  # the score of the votes alone
    variation: float | None = None  # the score of the variation n-gram alone
    rarity: float | None = None
    confidence: float | None = None
    readings: dict[str, int] = field(default_factory=dict)  # of the same words in the same context
    example: str | None = None  # a location with the majority annotation
    words: tuple[str, ...] = ()


class Suspect(Struct, frozen=True, kw_only=True):
    """A gold mention to check, or a missing one; the proposed annotation; and the score it is ranked by."""

    rank: int
    tied: int  # the number of suspects with this score, including this one
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
    """The F1 of a system if the first k proposals, made without its vote, were accepted."""

    k: int
    f1: float | None


class SuspectSettings(Struct, frozen=True, kw_only=True):
    """The choices that affect the list of suspects."""

    top: int | None  # None for all
    align: str


class Suspects(Document, frozen=True, kw_only=True):
    """Annotations in the gold data that are worth a second look, highest score first."""

    kind: str = "suspects"
    settings: SuspectSettings
    voters: tuple[str, ...]
    found: int  # the number of suspects with a positive score
    kinds: dict[str, int]
    suspects: tuple[Suspect, ...]
    effects: dict[str, tuple[SuspectEffect, ...]]
    notes: tuple[str, ...] = ()
