"""What changed from one result to another over the same gold data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from spanwise.document import Count, Document, DocumentPart
from spanwise.document.scores import Outcome, ScoreTest
from spanwise.registry import resolve

Way: TypeAlias = Literal["broken", "fixed", "new", "gone"]
WAYS: tuple[Way, ...] = ("broken", "fixed", "new", "gone")


class ChangeCounts(DocumentPart, frozen=True, kw_only=True):
    """How many mentions changed; None where a document lacks the mentions to tell."""

    broken: Count | None
    fixed: Count | None
    new: Count | None
    gone: Count | None


class LabelChanges(ChangeCounts, frozen=True, kw_only=True):
    """The changes of one label: gold mentions by their own label, predicted ones by theirs."""

    gold: Count
    difference: ScoreTest | UnsetType = UNSET


class BucketChanges(ChangeCounts, frozen=True, kw_only=True):
    """The changes in one bucket of an attribute."""

    label: str = ""


class SystemChanges(ChangeCounts, frozen=True, kw_only=True):
    """The changes of one system.

    A kind of error is the one that a broken mention has now, or that a fixed one had before.
    """

    earlier: str  # its name in the earlier result
    runs: tuple[Count, Count]
    difference: ScoreTest | UnsetType = UNSET
    labels: Mapping[str, LabelChanges]
    kinds: Mapping[Outcome, ChangeCounts] | UnsetType = UNSET
    buckets: Mapping[str, Mapping[str, BucketChanges]] = {}


class ChangedSpan(Struct, frozen=True, kw_only=True):
    """A mention in its sentence; it starts at -1 if its answer is not in the text."""

    start: int
    end: int
    label: str
    text: str


class ChangedSentence(DocumentPart, frozen=True, kw_only=True):
    """A sentence with one mention that changed: what gold says, and what was predicted wrongly."""

    system: str
    change: Way
    outcome: Outcome
    id: str | int
    source: str | None
    before: str  # the text before the mention
    mention: str
    after: str
    gold: ChangedSpan | None
    predicted: ChangedSpan | None


class ChangesSettings(Struct, frozen=True, kw_only=True):
    """The unit of the tests, their resamples, seed and confidence, and how p is corrected."""

    unit: str
    units: Count
    resamples: Count
    seed: Count
    confidence: float
    correction: str


class Changes(Document, frozen=True, kw_only=True):
    """The mentions that a result broke and fixed since an earlier one, and the tests of the difference."""

    kind: Literal["changes"] = "changes"
    settings: ChangesSettings
    systems: Mapping[str, SystemChanges]
    sentences: tuple[ChangedSentence, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<spanwise.Changes {resolve('views.verdict:verdict')(self).answer}>"
