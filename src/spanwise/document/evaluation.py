"""The result of an evaluation: one dataset with its systems, comparisons and sentences."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeVar, overload

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from spanwise.document import Count, Document, DocumentLike, DocumentPart, Settings
from spanwise.document.analyses import PlacementDocument, Slices
from spanwise.document.dataset import DatasetFacts, Suspects
from spanwise.document.scores import Comparison, Findings, Outcome, Subset, SystemScores, TaskFinding
from spanwise.errors import ChoiceError, UnknownKey, unknown
from spanwise.registry import resolve

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from spanwise.corpus import Mentions
    from spanwise.document.changes import Changes
    from spanwise.document.confidence import Confidence, SystemConfidence
    from spanwise.evaluation import Inputs
    from spanwise.matching import Matching
    from spanwise.reports.notebook import ErrorList


class GoldMention(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A gold mention, with its outcome and its partner for every system."""

    start: int
    end: int
    label: str
    outcome: Mapping[str, Outcome]
    partner: Mapping[str, int | None]
    parts: Sequence[tuple[int, int]] = ()
    tough: Sequence[Subset] | UnsetType = UNSET
    buckets: Mapping[str, str | None] | UnsetType = UNSET


class PredictedMention(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A predicted mention, with its outcome and its gold partner."""

    start: int
    end: int
    label: str
    outcome: Outcome
    partner: int | None
    parts: Sequence[tuple[int, int]] = ()
    buckets: Mapping[str, str | None] | UnsetType = UNSET
    answer: str | UnsetType = UNSET  # the answer of the system, if it does not occur in the text


class Sentence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A sentence with its gold mentions and the mentions predicted by every system."""

    id: str | int
    source: str | None
    document: str | UnsetType | None = UNSET
    length: Count | UnsetType | None = UNSET  # the number of tokens, if the text is left out
    text: str | UnsetType = UNSET
    tokens: Sequence[str] | UnsetType = UNSET
    gold: Sequence[GoldMention]
    systems: Mapping[str, Sequence[PredictedMention]]


class ExampleCounts(DocumentPart, frozen=True, kw_only=True):
    """Which sentences a document includes, how many they are, and out of how many."""

    policy: str
    cap: Count
    shown: Count
    of: Count

    def __repr__(self) -> str:
        return f"<spanwise.ExampleCounts {self.shown:,} of {self.of:,} sentences ({self.policy})>"


class PackedMeasure(Struct, frozen=True, kw_only=True):
    """The counts per unit of one measure, compressed: the distinct rows, and the index of each unit's row."""

    name: str
    scorer: str
    family: str | None
    tested: tuple[str, ...]
    credit: str | None
    share: float
    unplaced: str | UnsetType = UNSET
    scores: tuple[str, ...] | UnsetType = UNSET  # if they are not precision, recall and F1
    paths: tuple[tuple[str, ...], ...]
    cells: tuple[str, ...]
    columns: tuple[str, ...]
    rows: str
    row: str


class UnitCounts(DocumentPart, frozen=True, kw_only=True):
    """The counts of every system per unit (document or sentence), so that two results can be compared."""

    kind: str
    number: Count
    systems: Mapping[str, Sequence[PackedMeasure]]


class PackedColumn(Struct, frozen=True, kw_only=True):
    """One number per mention, compressed: little-endian integers of `width` bytes."""

    name: str
    width: Literal[1, 2, 4]
    codes: str


class MentionCodes(DocumentPart, frozen=True, kw_only=True):
    """Every mention encoded as numbers, without any text, so that any combination of filters can be scored.

    Columns of gold: `unit` (each as the difference from the previous one), `label`, `tough` (one bit per
    subset) and `bucket NAME`. Columns of a system: `found` tells for each gold mention whether it was not
    found (0), found by a prediction with the same codes (1) or by one with different codes (2); the other
    columns list the predictions of the last kind, in the order of gold, and then all predictions that found
    no gold mention.
    """

    number: Count  # the number of mentions in gold and in all systems
    cap: Count  # the number of mentions above which the columns are left out
    labels: tuple[str, ...] = ()
    subsets: tuple[Subset, ...] = ()
    buckets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # bucket names by mention attribute
    gold: Sequence[PackedColumn] = ()
    systems: Mapping[str, Sequence[PackedColumn]] = field(default_factory=dict)

    def __repr__(self) -> str:
        kept = f"{self.number:,} mentions" if self.gold else f"{self.number:,} mentions, not kept"
        return f"<spanwise.MentionCodes {kept} of {', '.join(self.systems) or 'no system'}>"

    def made(self) -> MentionCodes:
        """A copy in which all columns have been computed."""
        systems = {name: list(columns) for name, columns in self.systems.items()}
        return replace(self, gold=list(self.gold), systems=systems)


T = TypeVar("T")


class Later(Sequence[T]):
    """A sequence whose items are computed on first access, because many results are never written."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make = make

    @cached_property
    def _items(self) -> Sequence[T]:
        return self._make()

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self._items[index]

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
    """The mentions of one system, available while the evaluation is in memory."""

    @property
    def matching(self) -> Matching: ...
    @property
    def gold(self) -> Mentions: ...
    @property
    def predicted(self) -> Mentions: ...


class Live(Protocol):
    """The inputs and systems of an evaluation in memory; None where mentions were not kept."""

    @property
    def inputs(self) -> Inputs | None: ...
    def system(self, name: str) -> LiveSystem | None: ...


class SystemResult(SystemScores, frozen=True, kw_only=True):
    """The scores of one system; `matching` has the outcome of each mention."""

    name: str
    document: Evaluation  # what it is a system of

    @classmethod
    def known_keys(cls) -> tuple[str, ...]:
        """All keys of the system in the document, set or not."""
        return SystemScores.__struct_fields__

    def __eq__(self, other: object) -> bool:
        """Compare scores only, so that a computed result can equal a loaded one."""
        return isinstance(other, SystemScores) and all(
            getattr(self, key) == getattr(other, key) for key in self.known_keys()
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def _live(self) -> LiveSystem:
        live = self.document.in_memory
        system = None if live is None else live.system(self.name)
        return system or resolve("evaluation.saved:saved_system")(self.document, self.name)

    @property
    def matching(self) -> Matching:
        """The outcome and the partner of each gold and each predicted mention."""
        return self._live.matching

    @property
    def gold(self) -> Mentions:
        """The gold mentions, in the order of the matching."""
        return self._live.gold

    @property
    def predicted(self) -> Mentions:
        """The predicted mentions, at positions in the gold text, in the order of the matching."""
        return self._live.predicted

    @property
    def confidence(self) -> SystemConfidence:
        """The assessment of the system's confidence scores, as in `spanwise.confidence`."""
        inputs_of(self.document.in_memory)  # an error if they are not in memory
        document: Confidence = resolve("calibration:confidence")(self.document.in_memory)
        return document.systems[self.name]

    def events(self) -> list[dict[str, object]]:
        """One row per counted event: the outcome, the gold mention and the predicted mention (or None)."""
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
        overall = self.exact.overall
        found = f"{overall.correct:,} right of {overall.gold:,} gold and {overall.predicted:,} predicted"
        return f"<spanwise.SystemResult {self.name}: F1 {_points(self)}; {found}>"

    def _repr_html_(self) -> str:
        return str(resolve("reports.notebook:notebook_system")(self.name, self))


def inputs_of(live: Live | None) -> object:
    """The inputs of an evaluation, if they are still in memory.

    Raises:
        ChoiceError: they are not.
    """
    if live is None or live.inputs is None:
        raise ChoiceError(_NOT_KEPT)
    return live.inputs


def files_command(document: Evaluation, verb: str) -> str:
    """The command that asks the same of the files of a result, as far as it names them."""
    rows = document.inputs
    gold = next((row.path for row in rows if row.role == "gold"), None) or "GOLD"
    systems = [f"{row.system}={row.path}" for row in rows if row.role == "predicted" and row.path]
    trained = [row.path for row in rows if row.role == "train" and row.path]
    words = ["spanwise", verb, str(gold), *(systems or ["PRED"])]
    return shlex.join([*words, *(word for path in trained for word in ("--train", str(path)))])


class DatasetRuns(DocumentPart, frozen=True, kw_only=True, omit_defaults=False):
    """The runs of every system on one dataset, and the tests between systems.

    Sentences, mentions and counts per unit are stored by system, each as in an evaluation whose systems are
    the runs.
    """

    dataset: DatasetFacts | None
    runs: Mapping[str, Mapping[str, SystemScores]]
    comparisons: tuple[Comparison, ...] = ()
    findings: Findings = ()
    examples: Mapping[str, ExampleCounts] | UnsetType = UNSET
    units: Mapping[str, UnitCounts] | UnsetType = UNSET  # of the scores that a gate can test
    mentions: Mapping[str, MentionCodes] | UnsetType = UNSET
    sentences: Mapping[str, Sequence[Sentence]] | UnsetType = UNSET

    def comparison(self, one: str, other: str) -> Comparison | None:
        """The tests between two systems, in either order; None if they were not compared."""
        return next((row for row in self.comparisons if set(row.systems) == {one, other}), None)

    def edges(self) -> dict[str, dict[str, object]]:
        """The buckets of every attribute, which all runs share, to be passed as `edges=`."""
        first = next((scores for runs in self.runs.values() for scores in runs.values()), None)
        return {} if first is None else first.edges()


UNNAMED_RUN = ""  # the name of the one run that each system of an evaluation has


class ScoreGrid(Document, frozen=True, kw_only=True):
    """Scores of datasets × systems × runs: the common base class of evaluations and studies.

    An evaluation is a study of one dataset with one run per system, so `datasets` has the same form in both.
    """

    if TYPE_CHECKING:  # a field of a study, but a computed property of an evaluation

        @property
        def datasets(self) -> Mapping[str, DatasetRuns]:
            """The runs of every system, and the tests between systems, by dataset."""

    def scored(self) -> Iterator[tuple[str, str, str, SystemScores]]:
        """Iterate over all runs as (dataset, system, run, scores)."""
        for name, dataset in self.datasets.items():
            for system, runs in dataset.runs.items():
                for run, scores in runs.items():
                    yield name, system, run, scores

    def to_pandas(self) -> pandas.DataFrame:
        """All scores as a pandas data frame, one row per score."""
        return resolve("reports.outlets:to_pandas")(self)

    def to_arrow(self, table: Literal["scores", "mentions"] = "scores") -> pyarrow.Table:
        """All scores, or the mentions of every system with their outcomes, as an Arrow table.

        A result that was loaded has its mentions if it holds all sentences (`examples="all"`).
        """
        return resolve("reports.outlets:to_arrow")(self, table)

    def to_polars(self) -> polars.DataFrame:
        """All scores as a polars data frame, one row per score."""
        frame: polars.DataFrame = resolve("reports.outlets:to_polars")(self)
        return frame

    def changes(self, other: DocumentLike, *, system: str | None = None) -> Changes:
        """The mentions that a later result over the same gold data broke and fixed, with tests of F1.

        Args:
            other: the later result.
            system: only the system of this name.
        """
        document: Changes = resolve("changing:changes")(self, other, system=system)
        return document


class Evaluation(ScoreGrid, frozen=True, kw_only=True):
    """The result of an evaluation: one dataset and any number of systems.

    `result["name"]` is one system, `result.dataset` the test set. Sentences and counts per unit are computed
    on first access.

    Examples:
        >>> import spanwise
        >>> gold, predicted = [["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "O"]]
        >>> result = spanwise.evaluate(gold, {"mine": predicted}, resamples=0)
        >>> result.dataset.mentions, result["mine"].exact.overall.recall, result["mine"].fair.overall.FN
        (2, 0.5, 1)
    """

    INDENT: ClassVar[int] = 0

    kind: Literal["evaluation", "comparison"] = "evaluation"
    settings: Settings
    dataset: DatasetFacts
    systems: Mapping[str, SystemScores]
    comparisons: tuple[Comparison, ...] = ()
    letters: Mapping[str, str] = field(default_factory=dict)
    findings: Findings = ()
    tasks: tuple[TaskFinding, ...] = ()
    notes: tuple[str, ...] | UnsetType = UNSET
    hints: tuple[str, ...] | UnsetType = UNSET  # what to check before believing the scores
    answers: Mapping[str, PlacementDocument] | UnsetType = UNSET  # for systems that give no positions
    weak: Slices | UnsetType = UNSET  # weak conjunctions of conditions, if requested
    suspects: Suspects | UnsetType = UNSET  # positions in gold that are worth a second look
    examples: ExampleCounts | UnsetType = UNSET
    units: UnitCounts | UnsetType = UNSET
    mentions: MentionCodes | UnsetType = UNSET
    sentences: Sequence[Sentence] = ()

    @property
    def datasets(self) -> Mapping[str, DatasetRuns]:
        """The dataset in the same form as in a study."""
        return {self.dataset.name: self._runs}

    @property
    def _runs(self) -> DatasetRuns:
        return DatasetRuns(
            dataset=self.dataset,
            runs={name: {UNNAMED_RUN: scores} for name, scores in self.systems.items()},
            comparisons=self.comparisons,
            findings=self.findings,
        )

    def with_answers(self, answers: Mapping[str, PlacementDocument]) -> Self:
        """A copy that includes how the answers of systems were read and placed."""
        several = len(self.systems) > 1
        unread = [
            f"{name}: {hint}" if several else hint
            for name, report in answers.items()
            for hint in report.troubles
        ]
        return replace(self, answers=answers, hints=(*unread, *(self.hints or ())) or UNSET)

    def document(self) -> Evaluation:
        """The document as it is written, without data that is only held in memory."""
        return self

    @property
    def in_memory(self) -> Live | None:
        """The inputs and mentions of the evaluation, or None if they are not in memory."""
        return None

    @property
    def _inputs(self) -> object:
        """The inputs with their mentions; an error if they are not in memory."""
        return inputs_of(self.in_memory)

    @property
    def keeps_mentions(self) -> bool:
        """Whether the mentions are still in memory, so that further analyses can use them."""
        return self.in_memory is not None and self.in_memory.inputs is not None

    def with_analyses(self, *, slices: Mapping[str, object] | None = None, suspects: int = 50) -> Self:
        """A copy that includes weak slices and suspects of gold, which its page then shows as cards.

        Args:
            slices: keywords of `spanwise.find_slices`.
            suspects: the maximum number of suspects to list; they are computed if there are two or more
                systems.
        """
        weak = self.find_slices(**(slices or {}))
        listed: Suspects | UnsetType = UNSET
        if len(self.systems) > 1:
            redact = bool(self.settings.redacted)
            listed = resolve("suspicion:suspects_of")(self._inputs, top=suspects, redact=redact)
        return replace(self, weak=weak, suspects=listed)

    def without_analyses(self) -> Self:
        """A copy that says that weak slices and suspects are left out, since the mentions were not kept."""
        missing = "weak slices and suspects" if len(self.systems) > 1 else "weak slices"
        commands = (
            "spanwise slices and spanwise suspects find" if len(self.systems) > 1 else "spanwise slices finds"
        )
        note = f"The files were read in parts, so {missing} are left out; {commands} them."
        return replace(self, notes=(*(self.notes or ()), note))

    def of_kind(self, kind: Literal["evaluation", "comparison"]) -> Self:
        """A copy with the given kind."""
        return replace(self, kind=kind)

    def __getitem__(self, name: str) -> SystemResult:
        if name not in self.systems:
            raise UnknownKey(str(unknown("system", name, self.systems)))
        scores = self.systems[name]
        keys = {key: getattr(scores, key) for key in scores.__struct_fields__}
        return SystemResult(**keys, name=name, document=self)

    if not TYPE_CHECKING:  # type checkers find such errors themselves

        def __getattr__(self, name: str) -> object:
            if hasattr(type(self), name):
                return object.__getattribute__(self, name)  # raises the more informative error of a property
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
        """The tests between two systems, in either order; None if they were not compared."""
        return self._runs.comparison(one, other)

    def inconsistent(self) -> tuple[str, str] | None:
        """An error if the document has no systems; see `Document.inconsistent`."""
        return None if self.systems else ("$.systems", "an evaluation has at least one system")

    def without_sentences(self) -> Self:
        """A copy without sentences, mentions and counts per unit, which a screen does not need."""
        return replace(self, sentences=(), units=UNSET, mentions=UNSET)

    def edges(self) -> dict[str, dict[str, object]]:
        """The buckets of every attribute, to be passed as `edges=` for another system or dataset."""
        return self._runs.edges()

    def find_slices(self, **options: object) -> Slices:
        """Find slices where systems are weak or differ; `options` are keywords of `spanwise.find_slices`.

        A result that was loaded has the attributes, buckets and units that it was evaluated with.
        """
        if not self.keeps_mentions:
            loaded: Slices = resolve("slices:slices_in")(self.document(), **options)
            return loaded
        redact = bool(self.settings.redacted)
        slices: Slices = resolve("slices:find_slices")(self.in_memory, **{"redact": redact, **options})
        return slices

    def confidence(self, **options: object) -> Confidence:
        """Assess the systems' confidence scores; `options` are keywords of `spanwise.confidence`."""
        inputs_of(self.in_memory)  # an error if they are not in memory
        document: Confidence = resolve("calibration:confidence")(self.in_memory, **options)
        return document

    def errors(
        self,
        system: str | None = None,
        *,
        kind: str | Sequence[str] | None = None,
        gold: str | None = None,
        predicted: str | None = None,
        where: str | None = None,
        pattern: str | None = None,
        limit: int = 50,
    ) -> ErrorList:
        """The errors of one system or of all, which show their sentences as text and in notebooks.

        Args:
            system: the system; by default all.
            kind: a kind of error in words ("wrong boundary", "missed") or as a code (BE, FN), or several.
            gold: the label of the gold mention.
            predicted: the label of the predicted mention.
            where: a condition on the mention, such as "never seen" or "text has of & entity_length>=3".
            pattern: errors that share a cause, as `tasks` names it, such as "stops before of".
            limit: how many errors are shown; all of them are in the list.
        """
        errors: ErrorList = resolve("reports.notebook:error_list")(
            self, system=system, outcome=kind, gold=gold, predicted=predicted, where=where, pattern=pattern,
            limit=limit,
        )  # fmt: skip
        return errors

    def to_pandas(self, what: Literal["scores", "mentions"] = "scores") -> pandas.DataFrame:
        """All scores as a pandas data frame, one row per score; or all mentions, one row per event.

        A row of "mentions" is a gold mention with the prediction that it was paired with, or either of them
        alone. A result that was loaded has its mentions if it holds all sentences (`examples="all"`).
        """
        if what == "mentions":
            return resolve("reports.outlets:mentions_frame")(self)
        return super().to_pandas()

    def to_nervaluate(self, system: str | None = None) -> dict[str, Any]:
        """The relaxed scores in the structure of nervaluate 1.x."""
        converted: dict[str, object] = resolve("compat.nervaluate:to_nervaluate")(
            self[system or next(iter(self))]
        )
        return converted

    def __repr__(self) -> str:
        return f"<spanwise.Result {self.dataset.name}: {_answer(self)}>"


Result = Evaluation  # the public name of what `evaluate` returns


class LiveEvaluation(Evaluation, frozen=True, kw_only=True):
    """An evaluation that still holds its inputs and mentions in memory; they are never written."""

    live: Live

    @property
    def in_memory(self) -> Live | None:
        """The inputs and mentions of the evaluation."""
        return self.live

    def document(self) -> Evaluation:
        """The document as it is written, without the inputs and mentions in memory."""
        return Evaluation(**{key: getattr(self, key) for key in Evaluation.__struct_fields__})

    def __eq__(self, other: object) -> bool:
        """Compare the documents only, not the data in memory."""
        return isinstance(other, Evaluation) and self.document() == other.document()

    __hash__ = None  # type: ignore[assignment]


class EvaluationSummary(Evaluation, frozen=True, kw_only=True):
    """An evaluation that is loaded without its sentences."""

    # No document has a key of this name, so the decoder skips the real key, "sentences".
    sentences: Sequence[Sentence] = field(default=(), name="no sentences")


def _answer(document: Document) -> str:
    return str(resolve("views.verdict:verdict")(document).answer)


def _points(system: SystemScores) -> str:
    value = system.exact.overall.f1
    return "n/a" if value is None else f"{100 * value:.2f}"
