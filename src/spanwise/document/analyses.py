"""The documents of individual analyses: slices, placed answers and conventions."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from spanwise.document import Count, Document, DocumentPart, Fraction
from spanwise.errors import UnknownKey, many, unknown


class SliceCondition(Struct, frozen=True, kw_only=True):
    """One condition of a slice; `label` describes the values in a bucket."""

    attribute: str
    value: str
    label: str | UnsetType = UNSET


class SearchedSlice(Struct, frozen=True, kw_only=True):
    """A slice with a higher loss than the rest of the items.

    `units`, `loss` and `interval` refer to all mentions of the slice; `interval` is that of the score
    (1 − loss) and holds for all tested slices simultaneously. If the slice is listed after others, `t` is of
    the items that are not in those (`rest_units`, `rest_loss`), and there is no `p`.
    """

    conditions: tuple[SliceCondition, ...]
    where: str
    units: int
    loss: float | None
    interval: tuple[float, float] | None = None
    t: float
    p: float | None
    after: int = 0
    rest_units: int
    rest_loss: float | None


class DifferentSlice(Struct, frozen=True, kw_only=True):
    """A slice in which two systems differ.

    For recall, `difference` is the mean loss of the first system minus that of the second; for F1, it is the
    contribution of the slice to the lead of the first system.
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
    """All items of a system: the number of mentions, and their mean loss."""

    units: int
    loss: float | None


class Confirmation(Struct, frozen=True, kw_only=True):
    """The number of units on which slices were found, and of other units on which they were tested."""

    found_on: int
    tested_on: int


class WeakConfirmation(Confirmation, frozen=True, kw_only=True):
    """Slices of one system, found on one half of the documents and tested on the other."""

    slices: tuple[SearchedSlice, ...]


class DifferentConfirmation(Confirmation, frozen=True, kw_only=True):
    """Slices in which two systems differ, found on one half of the documents and tested on the other."""

    slices: tuple[DifferentSlice, ...]


class SystemSlices(Struct, frozen=True, kw_only=True):
    """The slices in which one system is weak."""

    overall: ItemsOverall
    tested: int
    significant: int
    critical: float | None
    groups: int | None
    slices: tuple[SearchedSlice, ...]
    confirmed: WeakConfirmation | UnsetType = UNSET


class PairSlices(Struct, frozen=True, kw_only=True):
    """The slices in which two systems differ."""

    systems: tuple[str, str]
    overall: dict[str, float | None]
    tested: int
    significant: int
    critical: float | None
    groups: int | None
    slices: tuple[DifferentSlice, ...]
    confirmed: DifferentConfirmation | UnsetType = UNSET


class SliceSettings(Struct, frozen=True, kw_only=True):
    """The choices that affect a search for slices."""

    depth: int
    least: int
    level: float
    seed: int
    unit: str
    number: int
    few_units: bool
    attributes: tuple[str, ...]
    absent: dict[str, str]
    block: Count | UnsetType = UNSET  # the number of consecutive sentences per unit
    command: str | None = None


class Slices(Document, frozen=True, kw_only=True):
    """The weak slices of each system and the slices where systems differ, with family-wise error control."""

    kind: Literal["slices"] = "slices"
    settings: SliceSettings
    over: str
    tested: int
    flips: int
    systems: dict[str, SystemSlices]
    comparison: tuple[PairSlices, ...] = ()
    notes: tuple[str, ...] = ()


class Score(Struct, frozen=True, kw_only=True):
    """Counts, and the scores computed from them; undefined scores are None."""

    gold: int
    predicted: int
    correct: int
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None


class UnitStatuses(Struct, frozen=True, kw_only=True):
    """The number of units with each status."""

    read: int = 0
    repaired: int = 0
    failed: int = 0
    empty: int = 0
    absent: int = 0


class ResponseCounts(Struct, frozen=True, kw_only=True):
    """The number of responses that were refused or truncated, and of requests that failed."""

    refused: int = 0
    truncated: int = 0
    errors: int = 0
    unread_mentions: int = 0  # gold mentions of units that failed or are absent
    unread_cost: float | None = None  # what F1 could gain at most if they had been found
    refused_cost: float | None = None  # the same for the gold mentions of units that were refused
    truncated_cost: float | None = None  # and for the missed ones of units whose response was truncated
    hallucinated_cost: float | None = None  # what F1 loses by answers that are not in the text


SPENT = ("input_tokens", "output_tokens", "cost")  # what adds up, unlike F1 for it


class UsageTotals(Struct, frozen=True, kw_only=True):
    """The tokens and dollars that a log records, and what F1 they gave; null where it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None  # in dollars
    f1_per_dollar: float | None = None  # F1 in points
    f1_per_1000_tokens: float | None = None  # F1 in points; input and output together


class LevelCounts(Struct, frozen=True, kw_only=True):
    """The number of answers whose candidates were found at each level of matching."""

    exact: int = 0
    case: int = 0
    bare: int = 0
    article: int = 0
    fuzzy: int = 0


class AnswerCounts(Struct, frozen=True, kw_only=True):
    """The number of answers by outcome: `given` is `placed` + `hallucinated` + `repeats`."""

    given: int
    placed: int
    ambiguous: int
    hallucinated: int
    repeats: int
    levels: LevelCounts
    unknown_labels: int = 0  # answers whose label does not occur in gold
    dropped: int = 0  # those of them that were left out on request and are not counted in `given`
    beyond: int = 0  # occurrence numbers beyond the last candidate
    markup_by_position: int = 0  # units whose markup was placed by position
    markup_as_texts: int = 0  # units whose markup differs from the gold text
    positions: int = 0  # answers placed at the position that they give
    alignments: dict[str, int] = {}  # how the program that gave positions found them


class Policies(Struct, frozen=True, kw_only=True):
    """The score under each policy, and the worst and best possible scores, which are chosen using gold."""

    first: Score
    all: Score
    next: Score
    ordered: Score
    worst: Score
    best: Score


class StringScores(Struct, frozen=True, kw_only=True):
    """Scores of pairs of text and label without positions, as sets and as multisets per unit."""

    set: Score
    multiset: Score


class Ceilings(Struct, frozen=True, kw_only=True):
    """The F1 of each policy if the gold mentions themselves are given as answers."""

    first: float | None = None
    all: float | None = None
    next: float | None = None
    ordered: float | None = None


class Labels(Struct, frozen=True, kw_only=True):
    """The labels of answers that were renamed, and those that do not occur in gold."""

    renamed: dict[str, str]
    unknown: dict[str, int]


class Leftover(Struct, frozen=True, kw_only=True):
    """An answer that could not be placed, or a unit whose response was repaired or could not be read."""

    kind: str  # hallucinated, repeat, failed or repaired
    unit: int
    id: str | None = None
    source: str = ""
    text: str = ""
    label: str = ""
    why: str = ""
    sentence: str = ""  # the beginning of the unit's text


class PlacedAnswer(Struct, frozen=True, kw_only=True):
    """An answer that is ambiguous or spelled differently from the text, and where it was placed."""

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
    surface: str = ""  # the text at this position
    right: bool | None = None  # whether gold has this mention at this position


class CasePiece(Struct, frozen=True, kw_only=True):
    """A piece of a text: placed rightly, placed wrongly, missed, or plain."""

    text: str
    state: str = "plain"
    label: str = ""


class CaseAnswer(Struct, frozen=True, kw_only=True):
    """An answer of a unit and what became of it: right, wrong, hallucinated or repeat."""

    text: str
    label: str
    outcome: str


class AnswerCase(Struct, frozen=True, kw_only=True):
    """A unit with an error: what the model was asked, what it wrote, and where its answers were placed."""

    unit: int
    id: str | None = None
    source: str = ""
    status: str = "read"
    why: str = ""
    prompt: str = ""  # empty if the log does not have it
    response: str = ""
    answers: tuple[CaseAnswer, ...] = ()
    pieces: tuple[CasePiece, ...] = ()  # of the text


class PlacementSettings(Struct, frozen=True, kw_only=True):
    """The choices that affect how answers are placed and scored."""

    policy: str
    level: str
    threshold: float
    repeats: str
    unknown: str
    prompt_unit: str
    response: str | None = None
    sample: str | None = None
    aliases: dict[str, str]
    rule: str | None = None  # a string-matching rule of another project; positions follow `policy`
    answers_format: str = "records"


class PlacementDocument(Document, frozen=True, kw_only=True):
    """A report on answers without offsets that were placed on the gold text."""

    settings: PlacementSettings
    units: UnitStatuses
    responses: ResponseCounts = ResponseCounts()
    usage: UsageTotals | UnsetType = UNSET  # only for logs that record it
    answers: AnswerCounts
    policies: Policies
    strings: StringScores
    normalised: dict[str, StringScores]  # by normalisation
    presets: dict[str, Score]  # under the rules of other projects, by name
    ceilings: Ceilings
    spread: tuple[float | None, float | None]
    readable: Score  # over units that were read, repaired or empty
    labels: Labels
    unplaced: tuple[Leftover, ...] = ()
    ambiguous: tuple[PlacedAnswer, ...] = ()  # the first ones only; `answers` counts all
    inexact: tuple[PlacedAnswer, ...] = ()  # the first ones only; `answers.levels` counts all
    cases: tuple[AnswerCase, ...] = ()  # the first units with an error

    @property
    def troubles(self) -> tuple[str, ...]:
        """Sentences about responses that could not be used, and what that costs; empty if there are none."""
        units, answers, said = self.units, self.answers, self.responses
        number = units.read + units.repaired + units.failed + units.empty + units.absent
        sentences = []
        parts = [f"{units.failed:,} of {many(number, 'response')} could not be read"] if units.failed else []
        if units.absent:
            of = "" if parts else f" of {many(number, 'response')}"
            parts.append(f"{units.absent:,}{of} {'is' if units.absent == 1 else 'are'} missing")
        if parts:
            most = "" if said.unread_cost is None else f": at most {100 * said.unread_cost:.1f} F1"
            sentences.append(f"{' and '.join(parts)}{most}.")
        refused = "" if said.refused_cost is None else f" (at most {100 * said.refused_cost:.1f} F1)"
        causes = [f"{said.refused:,} {_were(said.refused)} refused{refused}"] if said.refused else []
        if said.errors:
            causes.append(f"{many(said.errors, 'request')} failed")
        if causes:
            sentences.append(f"Of these, {' and '.join(causes)}.")
        if said.truncated:
            most = "" if said.truncated_cost is None else f": at most {100 * said.truncated_cost:.1f} F1"
            cut = f"{said.truncated:,} of {many(number, 'response')} {_were(said.truncated)} truncated"
            sentences.append(f"{cut}{most}.")
        if answers.hallucinated:
            cost = "" if said.hallucinated_cost is None else f": {100 * said.hallucinated_cost:.1f} F1"
            wrong = (
                "is not in the text and counts"
                if answers.hallucinated == 1
                else ("are not in the text and count")
            )
            given = many(answers.given, "answer")
            sentences.append(f"{answers.hallucinated:,} of {given} {wrong} as wrong{cost}.")
        return tuple(sentences)

    @property
    def chosen(self) -> str:
        """The name of the rule or policy that was chosen."""
        return self.settings.rule or self.settings.policy

    def inconsistent(self) -> tuple[str, str] | None:
        """An error if the document has no score under its rule or policy; see `Document.inconsistent`."""
        rule, policy = self.settings.rule, self.settings.policy
        if rule is None and not hasattr(self.policies, policy):
            return "$.settings.policy", f"there is no score under the policy {policy!r}"
        if rule is not None and rule not in (self.presets or {}):
            return "$.settings.rule", f"there is no score under the rule {rule!r}"
        return None

    @property
    def score(self) -> Score:
        """The score under the rule or policy that was chosen."""
        rule = self.settings.rule
        chosen: Score = getattr(self.policies, self.settings.policy) if rule is None else self.presets[rule]
        return chosen

    def shortened(self, most: int) -> PlacementDocument:
        """A copy that lists at most `most` answers of each kind."""
        seen: Counter[str] = Counter()
        unplaced = []
        for leftover in self.unplaced:
            seen[leftover.kind] += 1
            if seen[leftover.kind] <= most:
                unplaced.append(leftover)
        return replace(
            self, unplaced=tuple(unplaced), ambiguous=self.ambiguous[:most], inexact=self.inexact[:most]
        )

    def redacted(self) -> PlacementDocument:
        """A copy without the text of answers and sentences."""
        return replace(
            self,
            unplaced=tuple(replace(leftover, text="", sentence="", why="") for leftover in self.unplaced),
            ambiguous=tuple(replace(answer, text="", sentence="", surface="") for answer in self.ambiguous),
            inexact=tuple(replace(answer, text="", sentence="", surface="") for answer in self.inexact),
            cases=(),
        )


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


class Convention(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """The scores under one convention, the tools that use it, and why they differ from the first row.

    Scores that are undefined, or cannot be computed from the data, are None; `why` then gives the reason.
    """

    name: str
    tools: str
    why: str
    precision: Fraction = None
    recall: Fraction = None
    f1: Fraction = None
    difference: float | None = None


class Explanation(Document, frozen=True, kw_only=True):
    """The scores of one prediction under different conventions.

    The first row is the exact micro F1 that spanwise, conlleval and seqeval report.
    """

    kind: Literal["explanation"] = "explanation"
    gold: str
    predicted: str
    scheme: str | None
    rows: tuple[Convention, ...]
    spread: tuple[float | None, float | None] | None = None  # of F1 over policies, without positions
    prompt_unit: str | None = None  # the unit in which policies search for strings

    def __getitem__(self, name: str) -> Convention:
        for row in self.rows:
            if row.name == name:
                return row
        raise UnknownKey(str(unknown("convention", name, [row.name for row in self.rows])))

    def __repr__(self) -> str:
        first = self.rows[0]
        points = "n/a" if first.f1 is None else f"{100 * first.f1:.2f}"
        summary = f"{first.name} F1 {points} and {len(self.rows) - 1} other conventions"
        return f"<spanwise.Explanation {self.predicted}: {summary}>"
