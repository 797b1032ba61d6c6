"""The document of `suspects`: places of the gold data that are worth a second look."""

from __future__ import annotations

from msgspec import Struct, field

from spanwise.document.head import Document


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
    example: str | None = None  # where the majority reading stands
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
