"""The document of `spanwise place`: how answers were read and placed, and what every rule makes of them."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct
from msgspec.structs import replace

from spanwise.document.head import Document


class Score(Struct, frozen=True, kw_only=True):
    """Counts and what follows from them; undefined scores are None."""

    gold: int
    predicted: int
    correct: int
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None


class UnitStatuses(Struct, frozen=True, kw_only=True):
    """How many units have each status."""

    read: int = 0
    repaired: int = 0
    failed: int = 0
    empty: int = 0
    absent: int = 0


class LevelCounts(Struct, frozen=True, kw_only=True):
    """How many answers have their candidates at each level."""

    exact: int = 0
    case: int = 0
    bare: int = 0
    article: int = 0
    fuzzy: int = 0


class AnswerCounts(Struct, frozen=True, kw_only=True):
    """What became of the answers: `given` is `placed` + `hallucinated` + `repeats`."""

    given: int
    placed: int
    ambiguous: int
    hallucinated: int
    repeats: int
    levels: LevelCounts
    unknown_labels: int = 0  # answers whose label gold does not have
    dropped: int = 0  # of them, those left out on request; they are not among `given`
    beyond: int = 0  # occurrence numbers beyond the last candidate
    markup_by_position: int = 0  # units whose markup was placed by position
    markup_as_texts: int = 0  # units whose markup has another text than gold


class Policies(Struct, frozen=True, kw_only=True):
    """The score of each policy, and the two bounds, which use gold."""

    first: Score
    all: Score
    next: Score
    ordered: Score
    worst: Score
    best: Score


class StringScores(Struct, frozen=True, kw_only=True):
    """Scores of texts and labels without positions, over sets and over multisets of each unit."""

    set: Score
    multiset: Score


class Ceilings(Struct, frozen=True, kw_only=True):
    """The F1 of each policy with the gold mentions themselves as answers."""

    first: float | None = None
    all: float | None = None
    next: float | None = None
    ordered: float | None = None


class Labels(Struct, frozen=True, kw_only=True):
    """How labels of answers were read: those that were renamed, and those that gold does not have."""

    renamed: dict[str, str]
    unknown: dict[str, int]


class Leftover(Struct, frozen=True, kw_only=True):
    """An answer without a place, or a unit whose response could not be read."""

    kind: str  # hallucinated, repeat, failed or repaired
    unit: int
    id: str | None = None
    source: str = ""
    text: str = ""
    label: str = ""
    why: str = ""
    sentence: str = ""  # the beginning of the unit's text


class PlacedAnswer(Struct, frozen=True, kw_only=True):
    """An answer with several candidates, or one spelled in another way, and the place it was given."""

    unit: int
    id: str | None = None
    source: str = ""
    text: str
    label: str
    sentence: str = ""
    level: str
    candidates: int
    start: int | None = None
    end: int | None = None
    surface: str = ""  # what the text says there
    right: bool | None = None  # whether gold has this mention there


class PlacementSettings(Struct, frozen=True, kw_only=True):
    """The choices that shaped the numbers."""

    policy: str
    level: str
    threshold: float
    repeats: str
    unknown: str
    prompt_unit: str
    response: str | None = None
    sample: str | None = None
    aliases: dict[str, str]


class PlacementDocument(Document, frozen=True, kw_only=True):
    """Answers without offsets, placed on the gold text."""

    settings: PlacementSettings
    units: UnitStatuses
    answers: AnswerCounts
    policies: Policies
    strings: StringScores
    normalised: dict[str, StringScores]  # string scores by normalisation
    presets: dict[str, Score]  # the rules of other projects, by name
    ceilings: Ceilings
    spread: tuple[float | None, float | None]
    readable: Score  # over units read, repaired or empty
    labels: Labels
    unplaced: tuple[Leftover, ...] = ()
    ambiguous: tuple[PlacedAnswer, ...] = ()  # the first with several candidates; `answers` counts all
    inexact: tuple[PlacedAnswer, ...] = ()  # the first found beyond level exact; `answers.levels` counts all

    def shortened(self, most: int) -> PlacementDocument:
        """The same with at most so many answers of each kind listed."""
        seen: Counter[str] = Counter()
        kept = []
        for one in self.unplaced:
            seen[one.kind] += 1
            if seen[one.kind] <= most:
                kept.append(one)
        return replace(
            self, unplaced=tuple(kept), ambiguous=self.ambiguous[:most], inexact=self.inexact[:most]
        )

    def redacted(self) -> PlacementDocument:
        """The same without any text of answers and sentences."""
        return replace(
            self,
            unplaced=tuple(replace(one, text="", sentence="", why="") for one in self.unplaced),
            ambiguous=tuple(replace(one, text="", sentence="", surface="") for one in self.ambiguous),
            inexact=tuple(replace(one, text="", sentence="", surface="") for one in self.inexact),
        )
