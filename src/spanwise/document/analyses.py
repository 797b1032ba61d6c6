"""The documents of single questions: confidence scores, slices, placed answers and conventions."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise.document import Document, Fraction, Interval, Part
from spanwise.errors import UnknownKey, unknown


class ChanceError(Struct, frozen=True, kw_only=True):
    """ECE of scores that are perfectly calibrated: its mean and its 95 % point over random outcomes."""

    mean: float | None
    high: float | None


class Brier(Struct, frozen=True, kw_only=True):
    """The parts of the Brier score: reliability - resolution + uncertainty + within."""

    reliability: float
    resolution: float
    uncertainty: float
    within: float


class ReliabilityBin(Struct, frozen=True, kw_only=True):
    """Predictions whose scores are in one bin: low < score <= high."""

    low: float | None
    high: float | None
    predicted: int
    correct: int
    score: float
    precision: float


class ConfidenceCell(Struct, frozen=True, kw_only=True):
    """The assessment of the scores of some predictions; undefined numbers are null."""

    predicted: int
    correct: int
    gold: int
    average_precision: float | None
    ap101: float | None
    aurc: float | None
    e_aurc: float | None
    ece: float | None
    ece_width: float | None
    mce: float | None
    brier: float | None
    chance_ece: ChanceError
    parts: Brier | None = None
    bins: tuple[ReliabilityBin, ...] = ()
    interval: dict[str, Interval] | UnsetType = UNSET
    why: str | UnsetType = UNSET


class CurvePoint(Struct, frozen=True, kw_only=True):
    """Predictions with at least this score."""

    threshold: float
    predicted: int
    correct: int


class RiskPoint(Struct, frozen=True, kw_only=True):
    """The share of errors among the most confident predictions."""

    coverage: float
    risk: float


class Macro(Struct, frozen=True, kw_only=True):
    """Means over the labels whose average precision is defined."""

    average_precision: float | None
    ap101: float | None
    labels: int


class Threshold(Struct, frozen=True, kw_only=True):
    """The score with the highest F1 on a dev set, and what it gives on the test set."""

    value: float | None
    dev_f1: float | None
    test_f1: float | None
    optimism: float | None
    test_precision: float | None = None
    test_recall: float | None = None
    best: float | None = None
    best_f1: float | None = None
    interval: dict[str, Interval] | UnsetType = UNSET
    why: str | UnsetType = UNSET


class AtPrecision(Struct, frozen=True, kw_only=True):
    """The highest recall with at least this precision; chosen on the dev set where there is one."""

    precision: float
    threshold: float | None
    recall: float | None
    reached: float | None = None
    chosen_on: str = "test"


class EqualScore(Struct, frozen=True, kw_only=True):
    """The same score of two systems, each at a threshold of its own, and the first less the second."""

    at: float | None  # the recall or precision that both have; None: over the whole curve
    first: float | None
    second: float | None
    difference: float | None
    interval: tuple[float | None, float | None] | None = None
    thresholds: tuple[float | None, float | None] = (None, None)


class ConfidencePair(Struct, frozen=True, kw_only=True):
    """Two systems compared at equal recall (by precision), at equal precision (by recall), and by AP."""

    systems: tuple[str, str]
    average_precision: EqualScore
    at_recall: EqualScore
    at_precision: EqualScore


class SystemConfidence(Struct, frozen=True, kw_only=True):
    """The assessment of one system's scores."""

    overall: ConfidenceCell
    labels: dict[str, ConfidenceCell]
    buckets: dict[str, dict[str, ConfidenceCell]] = {}  # by attribute, where attributes were asked for
    macro: Macro
    curve: tuple[CurvePoint, ...]
    risk: tuple[RiskPoint, ...]
    threshold: Threshold
    at_precision: AtPrecision
    missing: int
    thinned: bool = False


class ConfidenceSettings(Struct, frozen=True, kw_only=True):
    """The choices that shape the numbers."""

    resamples: int
    seed: int
    unit: str
    number: int
    few_units: bool
    groups: int | None
    missing: str
    tokens: str | None = None
    command: str | None = None


class Confidence(Document, frozen=True, kw_only=True):
    """Curves, average precision, thresholds and calibration of scored predictions."""

    kind: Literal["confidence"] = "confidence"
    settings: ConfidenceSettings
    systems: dict[str, SystemConfidence]
    pairs: tuple[ConfidencePair, ...] = ()
    notes: tuple[str, ...] = ()


class SliceCondition(Struct, frozen=True, kw_only=True):
    """One condition of a slice; `label` says what a bucket holds."""

    attribute: str
    value: str
    label: str | UnsetType = UNSET


class SearchedSlice(Struct, frozen=True, kw_only=True):
    """A slice with a higher loss than the rest of the items.

    `units` and `loss` are those of all its mentions. A slice that is listed after others has t of the
    items that those leave (`rest_units`, `rest_loss`), and no p.
    """

    conditions: tuple[SliceCondition, ...]
    where: str
    units: int
    loss: float | None
    t: float
    p: float | None
    after: int = 0
    rest_units: int
    rest_loss: float | None


class DifferentSlice(Struct, frozen=True, kw_only=True):
    """A slice in which two systems differ.

    Over recall, `difference` is the mean loss of the first system minus that of the second; over F1 it is
    the part of the first system's lead that the slice contributes.
    """

    conditions: tuple[SliceCondition, ...]
    where: str
    units: int
    difference: float | None
    t: float
    p: float | None
    better: str
    after: int = 0
    rest_units: int
    rest_difference: float | None


class ItemsOverall(Struct, frozen=True, kw_only=True):
    """All items: how many mentions, and their mean loss."""

    units: int
    loss: float | None


class Confirmation(Struct, frozen=True, kw_only=True):
    """How many units slices were found on, and how many others they were tested on."""

    found_on: int
    tested_on: int


class WeakConfirmation(Confirmation, frozen=True, kw_only=True):
    """Slices of one system, found on one half of the documents and tested on the other."""

    slices: tuple[SearchedSlice, ...]


class DifferentConfirmation(Confirmation, frozen=True, kw_only=True):
    """Slices of two systems, found and tested in the same way."""

    slices: tuple[DifferentSlice, ...]


class SystemSlices(Struct, frozen=True, kw_only=True):
    """Where one system is weak."""

    overall: ItemsOverall
    tested: int
    significant: int
    critical: float | None
    groups: int | None
    slices: tuple[SearchedSlice, ...]
    confirmed: WeakConfirmation | UnsetType = UNSET


class PairSlices(Struct, frozen=True, kw_only=True):
    """Where two systems differ."""

    systems: tuple[str, str]
    overall: dict[str, float | None]
    tested: int
    significant: int
    critical: float | None
    groups: int | None
    slices: tuple[DifferentSlice, ...]
    confirmed: DifferentConfirmation | UnsetType = UNSET


class SliceSettings(Struct, frozen=True, kw_only=True):
    """The choices that shape a search."""

    depth: int
    least: int
    level: float
    seed: int
    unit: str
    number: int
    few_units: bool
    attributes: tuple[str, ...]
    absent: dict[str, str]
    command: str | None = None


class Slices(Document, frozen=True, kw_only=True):
    """Weak slices of each system, and slices in which systems differ, with family-wise error control."""

    kind: Literal["slices"] = "slices"
    settings: SliceSettings
    over: str
    tested: int
    flips: int
    systems: dict[str, SystemSlices]
    comparison: tuple[PairSlices, ...] = ()
    notes: tuple[str, ...] = ()


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
    markup_as_texts: int = 0  # units whose markup differs from the gold text


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
    rule: str | None = None  # a rule of another project that compares strings; places are by `policy`


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

    @property
    def chosen(self) -> str:
        """The name of the rule that was asked for."""
        return self.settings.rule or self.settings.policy

    @property
    def score(self) -> Score:
        """The score by the rule that was asked for."""
        rule = self.settings.rule
        chosen: Score = getattr(self.policies, self.settings.policy) if rule is None else self.presets[rule]
        return chosen

    def shortened(self, most: int) -> PlacementDocument:
        """The same with at most this many answers of each kind listed."""
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


class Convention(Part, frozen=True, kw_only=True, omit_defaults=False):
    """The scores of one convention, what reports them, and why they differ from the first row.

    Scores that are undefined, or that these data cannot give, are None; `why` then says so.
    """

    name: str
    tools: str
    why: str
    precision: Fraction = None
    recall: Fraction = None
    f1: Fraction = None
    difference: float | None = None


class Explanation(Document, frozen=True, kw_only=True):
    """The rows; the first one is the exact micro F1 that spanwise, conlleval and seqeval report."""

    kind: Literal["explanation"] = "explanation"
    gold: str
    predicted: str
    scheme: str | None
    rows: tuple[Convention, ...]
    spread: tuple[float | None, float | None] | None = None  # F1 over policies, where positions are lost
    prompt_unit: str | None = None  # the unit that policies look for strings in

    def __getitem__(self, name: str) -> Convention:
        for row in self.rows:
            if row.name == name:
                return row
        raise UnknownKey(str(unknown("convention", name, [row.name for row in self.rows])))

    def __repr__(self) -> str:
        first = self.rows[0]
        points = "n/a" if first.f1 is None else f"{100 * first.f1:.2f}"
        shown = f"{first.name} F1 {points} and {len(self.rows) - 1} other conventions"
        return f"<spanwise.Explanation {self.predicted}: {shown}>"
