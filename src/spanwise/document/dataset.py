"""What a test set is like whatever the systems are, under the keys of the document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import UNSET, UnsetType, field

from spanwise.document.head import Count, Fraction, Part
from spanwise.document.scores import BucketEdges, Subset


class MentionShare(Part, frozen=True, kw_only=True):
    """How many mentions, and which share of all."""

    mentions: Count
    share: Fraction


class SubsetShares(Part, frozen=True, kw_only=True):
    """How many of the mentions are in a subset, overall and by label."""

    overall: MentionShare
    labels: Mapping[str, MentionShare]


class DescribedBucket(BucketEdges, frozen=True, kw_only=True):
    """How many gold units lie in a bucket."""

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
    """A stretch of words that is read otherwise elsewhere between the same neighbours."""

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

    def __post_init__(self) -> None:
        if self.label_order is not UNSET and not set(self.label_order) <= set(self.labels):
            raise ValueError("label_order names a label that is not among labels")

    @property
    def labels_in_order(self) -> tuple[str, ...]:
        """The labels, the most frequent first."""
        return self.label_order or tuple(self.labels)
