"""The document of tuples: scores under every criterion, outcomes, events, links, seen facts and buckets."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise.document import Count, Document, Fraction, Interval
from spanwise.document.scores import Bounded, BucketScores, Comparison, ExactScores, Gain, Rates

Criterion: TypeAlias = Literal["strict", "boundaries", "head", "overlap", "type"]
CRITERIA: tuple[Criterion, ...] = ("strict", "boundaries", "head", "overlap", "type")
OUTCOMES = ("right", "type", "filler", "mention missed", "missed")  # of gold tuples, by number
PREDICTED_OUTCOMES = ("right", "type", "filler", "spurious")
ERRORS = (*OUTCOMES[1:], "spurious")
EVENT_SCORES = ("trigger_identified", "trigger_classified", "argument_identified", "argument_classified")


class CriterionScores(Struct, frozen=True, kw_only=True):
    """The scores if fillers are equal by one criterion."""

    overall: ExactScores
    types: dict[str, ExactScores]
    macro: Rates


class TupleOutcomes(Struct, frozen=True, kw_only=True):
    """What became of the tuples, by the name of the outcome, under the chosen criterion."""

    gold: dict[str, Count]
    predicted: dict[str, Count]
    roles: dict[str, Count]  # of the fillers that differ in tuples with the outcome "filler"


class FoundLinks(Bounded, frozen=True, kw_only=True):
    """Gold links whose mention was predicted, by span, and those of them with a right identifier."""

    mentions: Count
    right: Count
    accuracy: Fraction


class LinkScores(Struct, frozen=True, kw_only=True):
    """The scores of links."""

    strict: ExactScores
    found: FoundLinks


class FactRecall(Bounded, frozen=True, kw_only=True):
    """The recall of gold tuples whose fact the training data have, or do not have."""

    tuples: Count
    correct: Count
    recall: Fraction


class SeenFacts(Struct, frozen=True, kw_only=True):
    """Facts that the training data have, and facts that they do not have; DocRED's Ign scores.

    Their precision leaves out right predictions of facts in the training data.
    """

    SEEN: FactRecall
    UNSEEN: FactRecall
    ign: Rates


class WeakTuples(Struct, frozen=True, kw_only=True):
    """A type or bucket that scores lower than the rest, with a family-wise p and simultaneous interval."""

    attribute: str
    value: str
    gold: Count
    f1: Fraction
    interval: Interval | None
    t: float
    p: float
    of: Count  # how many were tested together


class ShownMention(Struct, frozen=True, kw_only=True):
    """A mention of a shown unit; `found` if the other side has the same span and label."""

    start: Count
    end: Count
    label: str
    found: bool


class ShownFiller(Struct, frozen=True, kw_only=True):
    """A filler of a shown tuple: the number of a mention of its side, or a value or identifier."""

    role: str
    mention: Count | UnsetType = UNSET
    text: str


class ShownTuple(Struct, frozen=True, kw_only=True):
    """A tuple of a shown unit, what became of it, and its partner on the other side."""

    type: str
    fillers: tuple[ShownFiller, ...]
    outcome: str
    right: tuple[str, ...] = ()  # the criteria under which it is right
    partner: Count | UnsetType = UNSET
    trigger: bool = False  # whether its first filler is a trigger


class ShownTuples(Struct, frozen=True, kw_only=True):
    """The mentions and tuples of one side of a shown unit."""

    mentions: tuple[ShownMention, ...]
    tuples: tuple[ShownTuple, ...]

    def inconsistent(self, others: int) -> str | None:
        """What is wrong if a tuple names a mention or a tuple of the other side that is not there."""
        for one in self.tuples:
            for filler in one.fillers:
                if filler.mention is not UNSET and filler.mention >= len(self.mentions):
                    return f"there is no mention {filler.mention}"
            if one.partner is not UNSET and one.partner >= others:
                return f"the other side has no tuple {one.partner}"
        return None


class TupleSentence(Struct, frozen=True, kw_only=True):
    """A unit with at least one error: its text, and both sides."""

    unit: Count
    source: str
    id: str | UnsetType = UNSET
    tokens: tuple[str, ...]
    gold: ShownTuples
    predicted: ShownTuples


class SystemTuples(Struct, frozen=True, kw_only=True):
    """The scores of one system."""

    criteria: dict[str, CriterionScores]
    outcomes: TupleOutcomes
    gains: dict[str, Gain]
    values: dict[str, dict[str, ExactScores]] = {}  # attributes of mentions: by type and value
    links: LinkScores | UnsetType = UNSET
    events: dict[str, ExactScores] | UnsetType = UNSET
    seen: SeenFacts | UnsetType = UNSET
    attributes: dict[str, tuple[BucketScores, ...]] = {}
    weak: tuple[WeakTuples, ...] = ()
    mentions: ExactScores | UnsetType = UNSET  # the exact scores of the mentions themselves
    duplicates: Count = 0  # tuples that repeat another one of their unit
    missing: Count = 0  # units of gold without a record
    sentences: tuple[TupleSentence, ...] = ()

    def inconsistent(self) -> tuple[str, str] | None:
        """A key that is missing, or a mention or tuple that a shown unit does not have."""
        for path, given, names in (
            (".criteria", self.criteria, CRITERIA),
            (".outcomes.gold", self.outcomes.gold, OUTCOMES),
            (".outcomes.predicted", self.outcomes.predicted, PREDICTED_OUTCOMES),
            (".gains", self.gains, ERRORS),
            (".events", EVENT_SCORES if self.events is UNSET else self.events, EVENT_SCORES),
        ):
            for name in names:
                if name not in given:
                    return path, f"{name!r} is missing"
        for number, sentence in enumerate(self.sentences):
            for name, side, other in (
                ("gold", sentence.gold, sentence.predicted),
                ("predicted", sentence.predicted, sentence.gold),
            ):
                wrong = side.inconsistent(len(other.tuples))
                if wrong:
                    return f".sentences[{number}].{name}", wrong
        return None


class TupleRuns(Struct, frozen=True, kw_only=True):
    """The scores of a system over its runs, by criterion: means, and sample standard deviations."""

    systems: tuple[str, ...]  # the names of its runs among the systems
    mean: dict[str, dict[str, Fraction]]
    std: dict[str, dict[str, Fraction]]  # null for one run


class TupleSettings(Struct, frozen=True, kw_only=True):
    """The choices that affect the scores of tuples."""

    undirected: tuple[str, ...]
    with_trigger: bool
    holds: str  # what a unit of the data is: "sentence", "document" or "unit" where it is not known
    resamples: Count
    seed: Count
    confidence: float
    correction: str
    unit: str
    number: Count
    few_units: bool
    redacted: bool = False
    command: str | None = None
    answers: str | UnsetType = UNSET  # the policy by which texts were placed
    kind: str | UnsetType = UNSET  # the kind of error that all units that are shown have


class Tuples(Document, frozen=True, kw_only=True):
    """Relations, events, links and attributes, scored under every criterion."""

    kind: Literal["tuples"] = "tuples"
    criterion: str
    mentions: Literal["gold", "predicted"]
    settings: TupleSettings
    units: Count
    duplicates: Count = 0  # gold tuples that repeat another one of their unit
    systems: dict[str, SystemTuples]
    runs: dict[str, TupleRuns] | UnsetType = UNSET  # by system, if a path stood for several runs
    comparisons: tuple[Comparison, ...] = ()  # of systems; over their runs, if there are several
    notes: tuple[str, ...] = ()

    def inconsistent(self) -> tuple[str, str] | None:
        """An error if something that all systems need is missing; see `Document.inconsistent`."""
        if self.criterion not in CRITERIA:
            return "$.criterion", f"no criterion is called {self.criterion!r}"
        if not self.systems:
            return "$.systems", "there is no system"
        for name, system in self.systems.items():
            wrong = system.inconsistent()
            if wrong:
                return f"$.systems.{name}{wrong[0]}", wrong[1]
        for name, own in (self.runs or {}).items():
            if not own.systems or not self.systems.keys() >= {*own.systems}:
                return f"$.runs.{name}.systems", "a run is not among the systems"
            if any({*table} != {*CRITERIA} for table in (own.mean, own.std)):
                return f"$.runs.{name}.mean", "a criterion is missing"
        return None

    @property
    def primary(self) -> tuple[str, ...]:
        """The score that the verdict is about."""
        return ("criteria", self.criterion, "overall", "f1")

    def without_sentences(self) -> Tuples:
        """A copy without sentences."""
        systems = {name: replace(system, sentences=()) for name, system in self.systems.items()}
        return replace(self, systems=systems)
