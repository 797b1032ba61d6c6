"""The result of an evaluation: one dataset, its systems, their comparisons and sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeVar, overload

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from spanwise.document import Count, Document, Part, Settings
from spanwise.document.analyses import PlacementDocument, Slices
from spanwise.document.dataset import DatasetFacts, Suspects
from spanwise.document.scores import Comparison, Findings, Outcome, Subset, SystemScores
from spanwise.errors import ChoiceError, UnknownKey, unknown
from spanwise.registry import reach

if TYPE_CHECKING:
    from spanwise.corpus import Mentions
    from spanwise.document.analyses import Confidence, SystemConfidence
    from spanwise.matching import Matching


class GoldMention(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A gold mention, and what every system made of it."""

    start: int
    end: int
    label: str
    outcome: Mapping[str, Outcome]
    partner: Mapping[str, int | None]
    parts: Sequence[tuple[int, int]] = ()
    tough: Sequence[Subset] | UnsetType = UNSET
    buckets: Mapping[str, str | None] | UnsetType = UNSET


class PredictedMention(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A predicted mention, and what became of it."""

    start: int
    end: int
    label: str
    outcome: Outcome
    partner: int | None
    parts: Sequence[tuple[int, int]] = ()
    buckets: Mapping[str, str | None] | UnsetType = UNSET
    answer: str | UnsetType = UNSET  # what a system said that the text does not hold


class Sentence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A sentence with its gold mentions and those of every system."""

    id: str | int
    source: str | None
    document: str | UnsetType | None = UNSET
    length: Count | UnsetType | None = UNSET  # in place of text that is not shown
    text: str | UnsetType = UNSET
    tokens: Sequence[str] | UnsetType = UNSET
    gold: Sequence[GoldMention]
    systems: Mapping[str, Sequence[PredictedMention]]


class ExampleCounts(Part, frozen=True, kw_only=True):
    """Which sentences a document holds, and how many of how many."""

    policy: str
    cap: Count
    shown: Count
    of: Count


class PackedMeasure(Struct, frozen=True, kw_only=True):
    """The counts per unit of one measure: distinct rows, and the row of every unit, compressed."""

    name: str
    scorer: str
    family: str | None
    tested: tuple[str, ...]
    credit: str | None
    share: float
    unplaced: str | UnsetType = UNSET
    paths: tuple[tuple[str, ...], ...]
    cells: tuple[str, ...]
    columns: tuple[str, ...]
    rows: str
    row: str


class UnitCounts(Part, frozen=True, kw_only=True):
    """The counts of every system per document or sentence, so that two documents can be compared."""

    kind: str
    number: Count
    systems: Mapping[str, Sequence[PackedMeasure]]


class PackedColumn(Struct, frozen=True, kw_only=True):
    """One number per mention, compressed: whole numbers of `width` bytes, the lowest byte first."""

    name: str
    width: Literal[1, 2, 4]
    codes: str


class MentionCodes(Part, frozen=True, kw_only=True):
    """Every mention as numbers, so that any combination of filters can be scored; without any text.

    Columns of gold: `unit` (each as the difference from the one before), `label`, `tough` (one bit per
    subset) and `bucket NAME`. Columns of a system: `found` says of each gold mention whether it was not
    found (0), found by a prediction whose codes are all the same (1) or found by one with other codes (2);
    the other columns list the latter predictions in the order of gold, then those that found nothing.
    """

    number: Count  # mentions of gold and of all systems
    cap: Count  # of mentions, beyond which there are no columns
    labels: tuple[str, ...] = ()
    subsets: tuple[Subset, ...] = ()
    buckets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by attribute of mentions
    gold: Sequence[PackedColumn] = ()
    systems: Mapping[str, Sequence[PackedColumn]] = field(default_factory=dict)

    def made(self) -> MentionCodes:
        """The same with all columns made now."""
        systems = {name: list(columns) for name, columns in self.systems.items()}
        return replace(self, gold=list(self.gold), systems=systems)


T = TypeVar("T")


class Later(Sequence[T]):
    """Items that are made when the first of them is asked for: many results are never written."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make = make

    @cached_property
    def _items(self) -> Sequence[T]:
        return self._make()

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        return self._items[place]

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._items)


_NOT_KEPT = (
    "a loaded document and an evaluation in parts do not keep their mentions.\n"
    "Evaluate again, without memory=, to inspect them."
)


class LiveSystem(Protocol):
    """The mentions of one system, as long as the evaluation is in memory."""

    @property
    def matching(self) -> Matching: ...
    @property
    def gold(self) -> Mentions: ...
    @property
    def predicted(self) -> Mentions: ...


class Live(Protocol):
    """The systems of an evaluation with their mentions; None for those whose mentions were not kept."""

    @property
    def inputs(self) -> Any: ...
    def system(self, name: str) -> LiveSystem | None: ...


class SystemResult(SystemScores, frozen=True, kw_only=True):
    """The scores of one system; `matching` tells what happened to each mention."""

    name: str
    live: Live | None  # what is in memory of the evaluation

    @classmethod
    def known_keys(cls) -> tuple[str, ...]:
        """All keys of the document, set or not."""
        return SystemScores.__struct_fields__

    def __eq__(self, other: object) -> bool:
        """Scores are compared, wherever they were computed or read."""
        return isinstance(other, SystemScores) and all(
            getattr(self, key) == getattr(other, key) for key in self.known_keys()
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def _live(self) -> LiveSystem:
        system = None if self.live is None else self.live.system(self.name)
        if system is None:
            raise ChoiceError(_NOT_KEPT)
        return system

    @property
    def matching(self) -> Matching:
        """For each gold and each predicted mention its outcome and its partner."""
        return self._live.matching

    @property
    def gold(self) -> Mentions:
        """The gold mentions, in the order of the matching."""
        return self._live.gold

    @property
    def predicted(self) -> Mentions:
        """The predicted mentions in the gold file's positions, in the order of the matching."""
        return self._live.predicted

    @property
    def confidence(self) -> SystemConfidence:
        """The assessment of its confidence scores, as `spanwise.confidence` gives it."""
        found: Confidence = reach("calibration:confidence_of")(inputs_of(self.live))
        return found.systems[self.name]

    def events(self) -> list[dict[str, object]]:
        """One row for everything that is counted: the outcome, and both mentions where there are two."""
        gold, predicted = self.gold.rows(), self.predicted.rows()
        keys = ("sentence", "start", "end", "label")
        return [
            {
                "outcome": outcome,
                "turn": turn,
                "gold": dict(zip(keys, gold[g], strict=True)) if g >= 0 else None,
                "predicted": dict(zip(keys, predicted[p], strict=True)) if p >= 0 else None,
            }
            for g, p, outcome, turn in self.matching.events().rows()
        ]

    def __repr__(self) -> str:
        keys = [key for key in self.known_keys() if getattr(self, key)]
        return f"<spanwise.SystemResult {self.name}: F1 {_points(self)}; {', '.join(keys)}>"


def inputs_of(live: Live | None) -> object:
    """What was read, as long as it is in memory."""
    if live is None or live.inputs is None:
        raise ChoiceError(_NOT_KEPT)
    return live.inputs


class DatasetRuns(Part, frozen=True, kw_only=True, omit_defaults=False):
    """The runs of every system on one dataset, and the tests between systems.

    Sentences, mentions and counts per unit are kept by system, in the form of an evaluation whose systems
    are the runs.
    """

    dataset: DatasetFacts | None
    runs: Mapping[str, Mapping[str, SystemScores]]
    comparisons: tuple[Comparison, ...] = ()
    findings: Findings = ()
    examples: Mapping[str, ExampleCounts] | UnsetType = UNSET
    units: Mapping[str, UnitCounts] | UnsetType = UNSET  # of the scores that a gate can be about
    mentions: Mapping[str, MentionCodes] | UnsetType = UNSET
    sentences: Mapping[str, Sequence[Sentence]] | UnsetType = UNSET

    def comparison(self, one: str, other: str) -> Comparison | None:
        """The tests between two systems, whichever of them comes first."""
        return next((row for row in self.comparisons if set(row.systems) == {one, other}), None)

    def edges(self) -> dict[str, Any]:
        """The buckets of every attribute, which all runs share, to be passed on as `edges=`."""
        first = next((scores for runs in self.runs.values() for scores in runs.values()), None)
        return {} if first is None else first.edges()


ONLY_RUN = ""  # the name of the one run that each system of an evaluation has


class ScoreGrid(Document, frozen=True, kw_only=True):
    """Scores of datasets × systems × runs: the common base of evaluations and studies.

    An evaluation is a study of one dataset with one run per system: `datasets` has the same form in both.
    """

    if TYPE_CHECKING:  # a key of a study, and computed by an evaluation

        @property
        def datasets(self) -> Mapping[str, DatasetRuns]:
            """The runs of every system, and the tests between systems, by dataset."""

    def scored(self) -> Iterator[tuple[str, str, str, SystemScores]]:
        """Dataset, system, run and scores of every run."""
        for name, dataset in self.datasets.items():
            for system, runs in dataset.runs.items():
                for run, scores in runs.items():
                    yield name, system, run, scores

    def to_pandas(self) -> Any:
        """Every score as one row of a pandas frame."""
        return reach("reports.outlets:to_pandas")(self)

    def to_polars(self) -> Any:
        """Every score as one row of a polars frame."""
        return reach("reports.outlets:to_polars")(self)

    def _repr_html_(self) -> str:
        return str(reach("reports.notebook:notebook_table")(self))


class Evaluation(ScoreGrid, frozen=True, kw_only=True):
    """The result of an evaluation: one dataset, any number of systems.

    `result["name"]` is one system, `result.dataset` the test set. The sentences and the counts per unit
    are computed when they are first asked for.
    """

    INDENT: ClassVar[int] = 0

    kind: Literal["evaluation", "comparison"] = "evaluation"
    settings: Settings
    dataset: DatasetFacts
    systems: Mapping[str, SystemScores]
    comparisons: tuple[Comparison, ...] = ()
    letters: Mapping[str, str] = field(default_factory=dict)
    findings: Findings = ()
    notes: tuple[str, ...] | UnsetType = UNSET
    answers: Mapping[str, PlacementDocument] | UnsetType = UNSET  # of systems that give no positions
    weak: Slices | UnsetType = UNSET  # conjunctions of conditions, where they were looked for
    suspects: Suspects | UnsetType = UNSET  # places of gold that several systems read differently
    examples: ExampleCounts | UnsetType = UNSET
    units: UnitCounts | UnsetType = UNSET
    mentions: MentionCodes | UnsetType = UNSET
    sentences: Sequence[Sentence] = ()

    @property
    def datasets(self) -> Mapping[str, DatasetRuns]:
        """The one dataset, in the form that a study has."""
        return {self.dataset.name: self._runs}

    @property
    def _runs(self) -> DatasetRuns:
        return DatasetRuns(
            dataset=self.dataset,
            runs={name: {ONLY_RUN: scores} for name, scores in self.systems.items()},
            comparisons=self.comparisons,
            findings=self.findings,
        )

    def with_answers(self, answers: Mapping[str, PlacementDocument]) -> Self:
        """The same document with how the answers of systems were read and placed."""
        return replace(self, answers=answers)

    def document(self) -> Evaluation:
        """The document alone, without what is only in memory."""
        return self

    @property
    def in_memory(self) -> Live | None:
        """What is in memory beside the document: the inputs, and the systems with their mentions."""
        return None

    @property
    def _inputs(self) -> object:
        """The mentions in memory."""
        return inputs_of(self.in_memory)

    @property
    def keeps_mentions(self) -> bool:
        """Whether the mentions are still in memory, so that more can be computed of them."""
        return self.in_memory is not None and self.in_memory.inputs is not None

    def with_analyses(self, *, slices: Mapping[str, object] | None = None, suspects: int = 50) -> Self:
        """The same document with weak slices and suspects of gold, which its page then shows as cards.

        Args:
            slices: keywords of `spanwise.find_slices`.
            suspects: the maximum number of suspects to list; they need two systems.
        """
        weak = self.find_slices(**(slices or {}))
        found: Suspects | UnsetType = UNSET
        if len(self.systems) > 1:
            redact = bool(self.settings.redacted)
            found = reach("suspicion:suspects_of")(self._inputs, top=suspects, redact=redact)
        return replace(self, weak=weak, suspects=found)

    def of_kind(self, kind: Literal["evaluation", "comparison"]) -> Self:
        """The same document under another name of its kind."""
        return replace(self, kind=kind)

    def __getitem__(self, name: str) -> SystemResult:
        if name not in self.systems:
            raise UnknownKey(str(unknown("system", name, self.systems)))
        scores = self.systems[name]
        keys = {key: getattr(scores, key) for key in scores.__struct_fields__}
        return SystemResult(**keys, name=name, live=self.in_memory)

    if not TYPE_CHECKING:  # type checkers find such errors themselves

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)  # an error inside a property is more informative
            text = f"a result has no {name!r}."
            if not name.startswith("_") and len(self.systems):
                first = next(iter(self.systems))
                text += f"\nScores are under their system: result[{first!r}].exact.overall.f1."
            raise AttributeError(text)

    def __iter__(self) -> Iterator[str]:
        return iter(self.systems)

    def __len__(self) -> int:
        return len(self.systems)

    def comparison(self, one: str, other: str) -> Comparison | None:
        """The tests between two systems, whichever of them comes first."""
        return self._runs.comparison(one, other)

    def inconsistent(self) -> tuple[str, str] | None:
        """The place of the systems, where there are none."""
        return None if self.systems else ("$.systems", "an evaluation has at least one system")

    def without_sentences(self) -> Self:
        """The document without sentences, mentions and counts per unit: all that a screen needs."""
        return replace(self, sentences=(), units=UNSET, mentions=UNSET)

    def edges(self) -> dict[str, Any]:
        """The buckets of every attribute, to be used for another system or dataset as `edges=`."""
        return self._runs.edges()

    def find_slices(self, **options: Any) -> Slices:
        """Where the systems are weak or differ, under the keywords of `spanwise.find_slices`."""
        redact = bool(self.settings.redacted)
        slices: Slices = reach("slices:slices_of")(self._inputs, **{"redact": redact, **options})
        return slices

    def confidence(self, **options: object) -> Confidence:
        """What the systems' scores are worth, under the keywords of `spanwise.confidence`."""
        found: Confidence = reach("calibration:confidence_of")(self._inputs, **options)
        return found

    def to_nervaluate(self, system: str | None = None) -> dict[str, Any]:
        """The relaxed scores in the structure of nervaluate 1.x."""
        converted: dict[str, Any] = reach("compat.nervaluate:to_nervaluate")(self[system or next(iter(self))])
        return converted

    def __repr__(self) -> str:
        scores = ", ".join(f"{name}: F1 {_points(system)}" for name, system in self.systems.items())
        return f"<spanwise.Result {self.dataset.name}: {scores}>"


class LiveEvaluation(Evaluation, frozen=True, kw_only=True):
    """An evaluation with what is in memory beside the document, which is no key of it and never written."""

    live: Live

    @property
    def in_memory(self) -> Live | None:
        """The inputs, and the systems with their mentions."""
        return self.live

    def document(self) -> Evaluation:
        """The document alone."""
        return Evaluation(**{key: getattr(self, key) for key in Evaluation.__struct_fields__})

    def __eq__(self, other: object) -> bool:
        """Documents are compared, not what is in memory."""
        return isinstance(other, Evaluation) and self.document() == other.document()

    __hash__ = None  # type: ignore[assignment]


class EvaluationSummary(Evaluation, frozen=True, kw_only=True):
    """An evaluation that is read without its sentences."""

    # No document has a field of this name, so that the field of its real name is ignored.
    sentences: Sequence[Sentence] = field(default=(), name="no sentences")


def _points(system: SystemScores) -> str:
    value = system.exact.overall.f1
    return "n/a" if value is None else f"{100 * value:.2f}"
