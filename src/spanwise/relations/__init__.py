"""Tuples of mentions: relations, events, links and attributes, matched and scored on the same counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec import UNSET, Struct, convert
from msgspec.structs import replace

from spanwise import __version__
from spanwise.attributes import Values
from spanwise.buckets import Bucketing, fit
from spanwise.columns import Bools, Column, Ints, distinct, plain, ratio
from spanwise.counts import Counts
from spanwise.document import Input
from spanwise.document.scores import BucketScores, ExactScores, Gain, Rates
from spanwise.document.tuples import (
    CRITERIA,
    EVENT_SCORES,
    OUTCOMES,
    PREDICTED_OUTCOMES,
    Criterion,
    CriterionScores,
    FactRecall,
    FoundLinks,
    LinkScores,
    SeenFacts,
    SystemTuples,
    TupleOutcomes,
    TupleRuns,
    Tuples,
    TupleSettings,
    WeakTuples,
)
from spanwise.engines import Engine, cores, engine_of, local_engine
from spanwise.errors import ChoiceError, many, unknown
from spanwise.evaluation.choices import block_size, files_of_runs, named_sources
from spanwise.evaluation.comparisons import compare_runs
from spanwise.evaluation.scoring import score_and_test
from spanwise.formats import rules_of, says_label_rules
from spanwise.intervals import FEW_UNITS
from spanwise.labels import RULES, LabelRules
from spanwise.options import CheckedOptions
from spanwise.relations._parts import TupleSource, count_parts
from spanwise.relations._tally import (
    NAMES,
    NUMBERS,
    Tallying,
    TrainingTuples,
    TuplePart,
    TupleRows,
)
from spanwise.relations.relabeling import LabelCounts
from spanwise.scores import EXACT, GAINS, RECALL, Measure, MeasureKey
from spanwise.settings import CONFIDENCE, CORRECTION
from spanwise.uncertainty import Resampling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["READING", "TupleFloor", "check_floors", "tuples"]

Path = tuple[str, ...]
# The gains of the definition, as kinds of errors that are made in a first pass, missed or spurious.
_GAIN_OF = {"type": "LE.a", "filler": "BE.a", "mention missed": "LBE.b", "missed": "FN.b", "spurious": "FP.c"}
_GAIN_NAMES = tuple(_GAIN_OF)
_LEVEL = 0.05
_FREQUENCY = "type_frequency"  # of the type of a tuple, in training
READING = ("format", "encoding", "column", "tag_column", "annotator")  # keywords for readers of files


@says_label_rules
def tuples(
    gold: object,
    systems: object,
    *,
    criterion: Criterion = "strict",
    undirected: str | Sequence[str] = (),
    mentions: Literal["predicted", "gold"] = "predicted",
    with_trigger: bool = False,
    train: object = None,
    answers: str | None = None,
    response: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
    unit: str | None = None,
    kind: str | None = None,
    examples: int = 20,
    redact: bool = False,
    command: str | None = None,
    workers: int | None = 1,
    engine: Engine | SparkSession | None = None,
    **reading: Any,
) -> Tuples:
    """Score relations, events, links and attributes of mentions under every criterion.

    A predicted tuple is right if its type is, and each of its fillers equals one of gold in the same role.
    When fillers are equal is said by a criterion: by span and label (`strict`), by span (`boundaries`), by
    head (`head`), by a shared token (`overlap`), or not by their spans at all (`type`). Tuples are matched
    one-to-one, as many as possible, within their unit.

    Args:
        gold: a file of tuples, or records (see the page on tuples).
        systems: one system, or several by name; every pair of systems is compared. {run} in a path stands
            for the runs of a system, which are tested together.
        criterion: the one that the verdict, outcomes, gains, buckets and seen facts are about.
        undirected: the types whose fillers may be exchanged.
        mentions: whether the systems were given the gold mentions; it is only printed.
        with_trigger: an argument of an event is right only with the span of its trigger.
        train: training data, for seen and unseen facts and for the frequency of types.
        answers: the systems are answers of language models, which give texts in place of positions: place
            them by this policy of `place`, such as "first".
        response: the field of answers with the raw response of the model.
        resamples: shuffles of the paired tests; 0 for no interval and no test.
        unit: what is independent: "document" if the data mark at least two, "sentence", or "block:20".
        kind: keep units with this kind of error alone ("type", "filler", "mention missed", "missed" or
            "spurious"); it does not affect the scores.
        examples: the maximum number of units with an error in the document, for each system.
        redact: leave out all text.
        workers: the number of processes; it does not affect the result.
        engine: where tuples are counted: a Spark session, or any `Engine`.
        reading: what the reader of a format needs: `format`, `encoding`, `column`, `tag_column` and
            `annotator`; and the rules on labels of mentions, from `map` to `hierarchy_level`, as in
            `spanwise.read`. A tuple is left out with a mention that it names, an event only with its trigger.

    Examples:
        >>> mentions = [{"id": "a", "start": 0, "end": 2}, {"id": "b", "start": 3, "end": 4}]
        >>> leads = {"type": "leads", "roles": {"head": "a", "tail": "b"}}
        >>> unit = {"tokens": ["Ida", "Fenwick", "runs", "Petrel"], "mentions": mentions, "tuples": [leads]}
        >>> shorter = [{"id": "a", "start": 1, "end": 2}, mentions[1]]
        >>> found = tuples([unit], {"mine": [{**unit, "mentions": shorter}]}, resamples=0)
        >>> {name: scores.overall.f1 for name, scores in found.systems["mine"].criteria.items()}
        {'strict': 0.0, 'boundaries': 0.0, 'head': 1.0, 'overlap': 1.0, 'type': 1.0}
    """
    undirected = tuple(filter(None, undirected.split(",")) if isinstance(undirected, str) else undirected)
    examples = 0 if redact else examples
    options = TupleOptions.of(locals())
    rules = rules_of(reading)
    reading = {name: value for name, value in reading.items() if name not in RULES}
    for name in reading:
        if name not in READING:
            raise unknown("keyword of spanwise.tuples", name, (*READING, *RULES))
    files = files_of_runs(systems)
    runs = {name: [f"{name}.{run}" for run in own] for name, own in files.items()}
    if files:
        systems = {f"{name}.{run}": file for name, own in files.items() for run, file in own.items()}
    named = _named(systems)
    own = TupleSource(gold, None, reading)
    read: list[str] = []
    if answers is not None:
        from spanwise.relations.answers import place_tuples

        units = list(own.read())
        placed = {
            name: place_tuples(units, one, policy=answers, response=response) for name, one in named.items()
        }
        read = [one.note(name) for name, one in placed.items()]
        named = {name: one.records for name, one in placed.items()}
    others = {name: TupleSource(source, name, reading) for name, source in named.items()}
    learning = None if train is None else TupleSource(train, None, reading, "train")
    tallying = Tallying(
        criterion=criterion, undirected=options.undirected, with_trigger=with_trigger,
        facts=learning is not None, kind=kind, examples=options.examples, rules=rules,
    )  # fmt: skip
    runner = engine_of(engine) or local_engine(cores() if workers is None else workers)
    parts, training = count_parts(own, others, learning, tallying, runner)
    whole = _Whole(parts, training, options)
    labeled = whole.labeled()
    more = set[str]() if training is None else training.labeled.labels
    rules.check(labeled[None].labels | more, {name for key in others for name in labeled[key].labels})
    _check_types(options.undirected, whole)
    sources: dict[str | None, TupleSource] = {None: own} | others
    inputs = [Input(**one.input(), **_counted(labeled[key], rules)) for key, one in sources.items()]
    if learning is not None and training is not None:
        inputs.append(Input(**learning.input(), **_counted(training.labeled, rules)))
    document = whole.document(inputs, runs)
    return replace(document, notes=(*document.notes, *_lost(labeled), *read))


def _counted(labeled: LabelCounts, rules: LabelRules) -> dict[str, Any]:
    """How many mentions the rules on labels merged and dropped, if there are any."""
    return {"merged": labeled.merged, "dropped": labeled.dropped} if rules else {}


def _lost(labeled: Mapping[str | None, LabelCounts]) -> list[str]:
    """A note on tuples that are left out because they name a mention whose label is left out."""
    listed = [f"{own.lost:,} of {'gold' if key is None else key}" for key, own in labeled.items() if own.lost]
    return [f"Tuples left out with a mention whose label is left out: {', '.join(listed)}."] if listed else []


class TupleOptions(CheckedOptions, frozen=True, kw_only=True):
    """The checked options of `tuples`."""

    verb = "tuples"

    criterion: str
    undirected: tuple[str, ...]
    mentions: str
    with_trigger: bool
    resamples: int
    seed: int
    unit: str | None
    kind: str | None
    examples: int
    redact: bool
    command: str | None
    answers: str | None

    def __post_init__(self) -> None:
        super().__post_init__()
        block_size(self.unit)


def _named(systems: object) -> dict[str, object]:
    """The systems by name; records that are given without a name are one system."""
    if isinstance(systems, Sequence) and systems and isinstance(systems[0], Mapping):
        return {"predicted": systems}
    named = named_sources(systems) if systems is not None else {}
    if not named:
        raise ChoiceError("there is no system to evaluate.\nGive at least one file or list of predictions.")
    return named


def _check_types(undirected: Sequence[str], whole: _Whole) -> None:
    known = {name for rows, other in whole.rows.values() for side in (rows, other) for name in side.types}
    for name in undirected:
        if name not in known:
            raise unknown("type of tuples", name, known)


# ---- all parts together --------------------------------------------------------------------------------


class _Whole:
    """The rows of all parts, the units of intervals and tests, and the measures that are made of them."""

    def __init__(
        self, parts: Sequence[TuplePart], training: TrainingTuples | None, options: TupleOptions
    ) -> None:
        self.options, self.parts, self.training = options, parts, training
        self.units = sum(part.units for part in parts)
        sizes = [part.units for part in parts]
        self.rows: dict[str, tuple[TupleRows, TupleRows]] = {}
        for name in parts[0].systems:
            own = [part.systems[name] for part in parts]
            golds, others = [len(part.gold.unit) for part in own], [len(part.predicted.unit) for part in own]
            self.rows[name] = (
                TupleRows.joined([part.gold for part in own], sizes, others),
                TupleRows.joined([part.predicted for part in own], sizes, golds),
            )
        self.seen: Bools | None = None  # whether training has the fact of each gold tuple
        if training is not None:
            facts = [part.facts for part in parts if part.facts is not None]
            self.seen = np.concatenate([training.seen(own) for own in facts])
        self.holds, self.unit, self.of_unit = self._resampled()
        self.number = int(self.of_unit.max(initial=-1)) + 1
        rows = next(iter(self.rows.values()))[0]
        names = (*NUMBERS, _FREQUENCY, *NAMES)
        self.bucketings = {name: fitted for name in names if (fitted := self._fitted(rows, name))}

    def labeled(self) -> dict[str | None, LabelCounts]:
        """What the rules on labels did to gold (None) and to each system."""
        whole: dict[str | None, LabelCounts] = {key: LabelCounts.none() for key in self.parts[0].labeled}
        for part in self.parts:
            for key, own in part.labeled.items():
                whole[key].add(own)
        return whole

    def _resampled(self) -> tuple[str, str, Ints]:
        """What a record is, the unit of intervals and tests, and its number for each record."""
        requested = self.options.unit
        names = [name for part in self.parts for name in part.documents]
        marked = len(set(names)) > 1 and None not in names
        divided = sum(part.sentences for part in self.parts) > 0
        holds = "sentence" if marked else "document" if divided else "unit"
        numbers = np.arange(self.units)
        if requested == "document" and not marked and not divided:
            raise ChoiceError(
                "unit is 'document', but the data mark no documents.\n"
                "Give every record a 'document', or leave the option out if a record is a document."
            )
        if marked and requested in (None, "document"):
            table: dict[object, int] = {}
            return holds, "document", np.array([table.setdefault(name, len(table)) for name in names])
        size = block_size(requested)
        return holds, "block" if size > 1 else holds, numbers // size

    def measures(self, name: str) -> list[Measure]:
        """Every table of counts of one system."""
        gold, predicted = self.rows[name]
        chosen = self.options.criterion
        measures = []
        for criterion in (chosen, *(one for one in CRITERIA if one != chosen)):
            right = gold.right[criterion], predicted.right[criterion]  # type: ignore[index]
            types = self._counts(name, gold.type, predicted.type, (gold.types, predicted.types), right)
            paths = [("criteria", criterion, "types", one) for one in types.cells]
            first = ("criteria", criterion, "overall")
            kind = "exact" if criterion == chosen else "criterion"
            overall = types.summed(["overall"], [range(len(types.cells))])
            measures.append(_exact((kind, criterion), types, (first, *paths), scorer="exact with overall"))
            measures.append(
                _exact(("overall", criterion), overall, (first,), tested=("precision", "recall", "f1"))
            )
            if criterion == chosen:
                measures.append(_exact(("types", criterion), types, paths, tested=("f1",)))
            averaged = (("criteria", criterion, "macro"), ("criteria", criterion, "weighted"))
            measures.append(Measure(MeasureKey("macro", criterion), types, "averages", averaged))
        measures += self._gains(gold, predicted)
        measures += self._attributes(name)
        measures += self._parts_of(name)
        return measures

    def _counts(
        self,
        name: str,
        own: Column,
        other: Column,
        cells: tuple[Sequence[str], Sequence[str]],
        right: tuple[Column, Column],
        *,
        same: Column | None = None,
    ) -> Counts:
        """Counts per cell: gold tuples in the cells `own`, predicted ones in `other`; -1 is in no cell."""
        gold, predicted = self.rows[name]
        table = {cell: number for number, cell in enumerate(sorted({*cells[0], *cells[1]}))}
        codes = [
            np.array([*(table[cell] for cell in each), -1])[column]
            for each, column in zip(cells, (own, other), strict=True)
        ]
        correct = right[0] & (codes[0] >= 0)
        if same is not None:
            correct &= same
        events = [
            (gold.unit[codes[0] >= 0], codes[0][codes[0] >= 0], 0),
            (predicted.unit[codes[1] >= 0], codes[1][codes[1] >= 0], 1),
            (gold.unit[correct], codes[0][correct], 2),
        ]
        column = np.concatenate([np.full(len(unit), number) for unit, _, number in events])
        return Counts.of(
            tuple(table), EXACT,
            unit=self.of_unit[np.concatenate([unit for unit, _, _ in events])].astype(np.int64),
            cell=np.concatenate([cell for _, cell, _ in events]), column=column, units=self.number,
        )  # fmt: skip

    def _gains(self, gold: TupleRows, predicted: TupleRows) -> list[Measure]:
        matrix = np.zeros((self.number, len(GAINS)), dtype=np.int64)

        def add(column: str, unit: Ints) -> None:
            matrix[:, GAINS.index(column)] += np.bincount(self.of_unit[unit], minlength=self.number)

        add("gold", gold.unit)
        add("predicted", predicted.unit)
        add("correct", gold.unit[gold.outcome == 0])
        for outcome, words in enumerate(OUTCOMES[1:], 1):
            add(_GAIN_OF[words], gold.unit[gold.outcome == outcome])
        add(_GAIN_OF["spurious"], predicted.unit[predicted.outcome == len(PREDICTED_OUTCOMES) - 1])
        counts = Counts.of_matrix(["all"], GAINS, matrix)
        paths = tuple(("gains", words) for words in _GAIN_NAMES)
        return [Measure(MeasureKey("gains"), counts, "gains", paths)]

    def _attributes(self, name: str) -> list[Measure]:
        gold, predicted = self.rows[name]
        right = gold.outcome == 0, predicted.outcome == 0
        measures = []
        for attribute, bucketing in self.bucketings.items():
            own, other = (bucketing.assign(self._values(side, attribute)) for side in (gold, predicted))
            same = right[0].copy()
            same[right[0]] = own[right[0]] == other[gold.partner[right[0]]]
            names = [bucket.name for bucket in bucketing.buckets]
            counts = self._counts(name, own, other, (names, names), right, same=same)
            paths = [("attributes", attribute, cell) for cell in counts.cells]
            measures.append(_exact(("attribute", attribute), counts, paths, unplaced=bucketing.unplaced))
        return measures

    def _values(self, side: TupleRows, attribute: str) -> Values:
        if attribute in side.names:
            code = side.names[attribute]
            names = side.words[attribute]
            used = distinct(code[code >= 0])
            table = np.full(len(names) + 1, -1, dtype=np.int64)
            table[used] = np.arange(len(used))
            return Values(table[code], code >= 0, attribute, tuple(names[one] for one in used.tolist()))
        if attribute == _FREQUENCY:
            times = None if self.training is None else self.training.types
            of_type = [np.nan if times is None else times.get(name, 0) for name in side.types]
            value = np.array([*of_type, 0.0])[side.type]
        else:
            value = side.numbers[attribute]
        return Values(np.nan_to_num(value), ~np.isnan(value), attribute, whole=True)

    def _fitted(self, gold: TupleRows, attribute: str) -> Bucketing | None:
        """The buckets of an attribute of the gold tuples; None if they do not tell tuples apart."""
        values = self._values(gold, attribute)
        if len(distinct(values.value[values.defined])) < 2:
            return None
        bucketing = fit("automatic", values, attribute=attribute)
        return bucketing if len(bucketing.fitted) > 1 else None

    def _parts_of(self, name: str) -> list[Measure]:
        """Values of attributes, links, events, mentions and seen facts."""
        gold, predicted = self.rows[name]
        own = [part.systems[name] for part in self.parts]
        right = gold.outcome == 0, predicted.outcome == 0
        measures = []
        if (gold.value >= 0).any() or (predicted.value >= 0).any():
            cells = [_named_values(side) for side in (gold, predicted)]
            counts = self._counts(name, cells[0][1], cells[1][1], (cells[0][0], cells[1][0]), right)
            paths = [("values", *cell.split("\0")) for cell in counts.cells]
            measures.append(_exact(("values", ""), counts, paths))
        if gold.link.any() or predicted.link.any():
            strict = gold.right["strict"], predicted.right["strict"]
            codes = [np.where(side.link, 0, -1) for side in (gold, predicted)]
            counts = self._counts(name, codes[0], codes[1], (["link"], ["link"]), strict)
            measures.append(_exact(("links", ""), counts, [("links", "strict")], tested=("f1",)))
            found = self._summed([part.found for part in own])
            measures.append(
                _recall("found", Counts.of_matrix(["found"], RECALL, found), [("links", "found")])
            )
        if any(part.events is not None for part in own):
            wide = 3 * len(EVENT_SCORES)
            events = self._summed(
                [
                    np.zeros((units.units, wide), dtype=np.int64) if part.events is None else part.events
                    for part, units in zip(own, self.parts, strict=True)
                ]
            )
            counts = Counts.of_matrix(EVENT_SCORES, EXACT, events)
            paths = [("events", score) for score in EVENT_SCORES]
            measures.append(_exact(("events", ""), counts, paths, tested=("f1",)))
        mentions = self._summed([part.mentions for part in own])
        measures.append(_exact(("mentions", ""), Counts.of_matrix(["all"], EXACT, mentions), [("mentions",)]))
        if self.seen is not None:
            unit = self.of_unit[gold.unit]
            cell = np.where(self.seen, 0, 1)
            counts = Counts.of(
                ("SEEN", "UNSEEN"), RECALL,
                unit=np.concatenate([unit, unit[right[0]]]), cell=np.concatenate([cell, cell[right[0]]]),
                column=np.repeat([0, 1], [len(unit), int(right[0].sum())]), units=self.number,
            )  # fmt: skip
            measures.append(_recall("seen", counts, [("seen", "SEEN"), ("seen", "UNSEEN")]))
        return measures

    def _summed(self, parts: Sequence[Ints]) -> Ints:
        """Counts per record, summed per resampled unit."""
        matrix = np.concatenate(parts)
        if self.number == len(matrix):
            return matrix
        sums = np.zeros((self.number, matrix.shape[1]), dtype=np.int64)
        np.add.at(sums, self.of_unit, matrix)
        return sums

    # ---- the document ------------------------------------------------------------------------------

    def document(self, inputs: Sequence[Input], runs: Mapping[str, Sequence[str]]) -> Tuples:
        """Score all systems, compare them or the runs of each, and write everything down."""
        options = self.options
        measures = {name: self.measures(name) for name in self.rows}
        resampling = Resampling(self.number, options.resamples, options.seed)
        how: dict[str, Any] = {
            "confidence": CONFIDENCE, "correction": CORRECTION, "unit": self.unit,
            "primary": ("criteria", options.criterion, "overall", "f1"),
        }  # fmt: skip
        pairs = [] if runs else list(combinations(measures, 2))
        scored, comparisons = score_and_test(measures, pairs, resampling, **how)
        if runs:
            of_runs = {name: [measures[run] for run in own] for name, own in runs.items()}
            comparisons = compare_runs(of_runs, list(combinations(runs, 2)), resampling, **how)
        settings = TupleSettings(
            **options.kept_by(TupleSettings)
            | {"unit": self.unit, "answers": options.answers or UNSET, "kind": options.kind or UNSET},
            holds=self.holds, confidence=CONFIDENCE, correction=CORRECTION, number=self.number,
            few_units=self.number < FEW_UNITS, redacted=options.redact,
        )  # fmt: skip
        document = Tuples(
            spanwise=__version__,
            inputs=tuple(inputs),
            criterion=options.criterion,
            mentions=options.mentions,  # type: ignore[arg-type]
            settings=settings,
            units=self.units,
            duplicates=sum(part.duplicates for part in self.parts),
            systems={
                name: self._system(name, measures[name], scored[name].cells, scored[name].slices)
                for name in measures
            },
            comparisons=comparisons,
        )
        if runs:
            over = {name: _over_runs(own, document.systems) for name, own in runs.items()}
            document = replace(document, runs=over)
        document = replace(document, notes=_notes(document, self.training is not None))
        return replace(document, signature=_signature(document))

    def _system(
        self,
        name: str,
        measures: Sequence[Measure],
        cells: Mapping[Path, Mapping[str, Any]],
        slices: Mapping[Path, Mapping[str, Any]],
    ) -> SystemTuples:
        made: dict[Path, dict[str, Any]] = {}
        for measure in measures:
            if measure.scorer in ("averages", "gains"):
                made |= {path: dict(cells[path]) for path in measure.paths}
                continue
            one = measure.cell_by_cell
            for path, totals in zip(one.paths, one.counts.total.tolist(), strict=True):
                made[path] = {**dict(zip(one.counts.columns, totals, strict=True)), **cells[path]}

        def under(*start: str) -> dict[str, dict[str, Any]]:
            return {path[len(start)]: cell for path, cell in made.items() if path[: len(start)] == start}

        def cell(*path: str) -> ExactScores:
            return convert(made[path], ExactScores)

        own = [part.systems[name] for part in self.parts]
        gold, predicted = self.rows[name]
        roles: dict[str, int] = {}
        for part in own:
            for role, number in part.wrong.items():
                roles[role] = roles.get(role, 0) + number
        values: dict[str, dict[str, ExactScores]] = {}
        for path in made:
            if path[0] == "values":
                values.setdefault(path[1], {})[path[2]] = cell(*path)
        begins = np.cumsum([0, *(part.units for part in self.parts)]).tolist()
        return SystemTuples(
            criteria={
                criterion: CriterionScores(
                    overall=cell("criteria", criterion, "overall"),
                    types={
                        one: convert(each, ExactScores)
                        for one, each in under("criteria", criterion, "types").items()
                    },
                    macro=convert(made["criteria", criterion, "macro"], Rates),
                )
                for criterion in CRITERIA
            },
            outcomes=TupleOutcomes(
                gold=_times(OUTCOMES, gold.outcome),
                predicted=_times(PREDICTED_OUTCOMES, predicted.outcome),
                roles=dict(sorted(roles.items(), key=lambda item: (-item[1], item[0]))),
            ),
            gains={words: convert(made["gains", words], Gain) for words in _GAIN_NAMES},
            values=values,
            links=self._links(made),
            events=(
                {score: cell("events", score) for score in EVENT_SCORES}
                if ("events", EVENT_SCORES[0]) in made
                else UNSET
            ),
            seen=self._seen(gold, predicted, made),
            attributes={
                attribute: _buckets(bucketing, under("attributes", attribute))
                for attribute, bucketing in self.bucketings.items()
            },
            weak=_weak(slices, made, self.bucketings),
            mentions=cell("mentions"),
            duplicates=sum(part.duplicates for part in own),
            missing=sum(part.missing for part in own),
            sentences=tuple(
                replace(sentence, unit=sentence.unit + begin)
                for part, begin in zip(own, begins, strict=False)
                for sentence in part.sentences
            )[: self.options.examples],
        )

    def _links(self, made: Mapping[Path, Mapping[str, Any]]) -> LinkScores | Any:
        if ("links", "strict") not in made:
            return UNSET
        found = dict(made["links", "found"])
        found["right"] = found.pop("correct")
        return LinkScores(
            strict=convert(made["links", "strict"], ExactScores),
            found=convert(_renamed(found, "recall", "accuracy"), FoundLinks),
        )

    def _seen(
        self, gold: TupleRows, predicted: TupleRows, made: Mapping[Path, Mapping[str, Any]]
    ) -> SeenFacts | Any:
        if self.seen is None:
            return UNSET
        right = predicted.outcome == 0
        # A right tuple is seen if gold's is, whose entities may have further names.
        ignored = int(((gold.outcome == 0) & self.seen).sum())
        precision = plain(ratio(int(right.sum()) - ignored, len(right) - ignored))
        recall = plain(ratio(int(right.sum()), len(gold.outcome)))
        f1 = None
        if precision is not None and recall is not None:
            f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        return SeenFacts(
            **{
                part: convert({**made["seen", part], "tuples": made["seen", part]["mentions"]}, FactRecall)
                for part in ("SEEN", "UNSEEN")
            },
            ign=Rates(precision=precision, recall=recall, f1=f1),
        )


def _over_runs(runs: Sequence[str], systems: Mapping[str, SystemTuples]) -> TupleRuns:
    """Means and standard deviations over the runs in which a score is defined."""
    mean: dict[str, dict[str, float | None]] = {}
    std: dict[str, dict[str, float | None]] = {}
    for criterion in CRITERIA:
        cells = [systems[run].criteria[criterion].overall for run in runs]
        for score in ("precision", "recall", "f1"):
            values = [value for cell in cells if (value := getattr(cell, score)) is not None]
            mean.setdefault(criterion, {})[score] = float(np.mean(values)) if values else None
            spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
            std.setdefault(criterion, {})[score] = spread
    return TupleRuns(systems=tuple(runs), mean=mean, std=std)


def _renamed(cell: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """The cell with a score, and its interval, under another name."""
    cell = {**cell, new: cell[old]}
    if "interval" in cell:
        cell["interval"] = {new: cell["interval"][old]}
    return cell


def _exact(
    key: tuple[str, str],
    counts: Counts,
    paths: Iterable[Path],
    *,
    tested: tuple[str, ...] = (),
    scorer: str = "exact",
    unplaced: str = "unplaced",
) -> Measure:
    return Measure(
        MeasureKey(*key),
        counts,
        scorer,
        tuple(paths),
        "tuples" if tested else None,
        tested,
        unplaced=unplaced,
    )


def _recall(kind: str, counts: Counts, paths: Iterable[Path]) -> Measure:
    return Measure(MeasureKey(kind), counts, "recall", tuple(paths))


def _times(names: Sequence[str], outcome: Ints) -> dict[str, int]:
    times = np.bincount(outcome, minlength=len(names)).tolist()
    return dict(zip(names, times, strict=True))


def _named_values(side: TupleRows) -> tuple[list[str], Ints]:
    """The type and value of every tuple with a value, as cells."""
    values = side.words["value"]
    size = max(len(values), 1)
    packed = np.where(side.value >= 0, side.type.astype(np.int64) * size + side.value, -1)
    known, number = np.unique(packed[packed >= 0], return_inverse=True)
    code = np.full(len(packed), -1, dtype=np.int64)
    code[packed >= 0] = number.reshape(-1)
    return [f"{side.types[one // size]}\0{values[one % size]}" for one in known.tolist()], code


# ---- buckets and weak slices ---------------------------------------------------------------------------


def _buckets(bucketing: Bucketing, cells: Mapping[str, Mapping[str, Any]]) -> tuple[BucketScores, ...]:
    found = []
    for bucket in bucketing.buckets:
        cell = cells.get(bucket.name)
        if cell is None or (bucket.rest and not cell["gold"] + cell["predicted"]):
            continue
        ends: dict[str, Any] = {} if bucket.rest else {"low": bucket.low, "high": bucket.high}
        if bucket.value is not None:
            ends = {"value": bucket.value}
        undefined = bucket.name == bucketing.unplaced
        label = "without a value" if undefined else bucket.label or bucket.name
        found.append(convert({**cell, **ends, "name": bucket.name, "label": label}, BucketScores))
    return tuple(found)


def _weak(
    slices: Mapping[Path, Mapping[str, Any]],
    made: Mapping[Path, Mapping[str, Any]],
    bucketings: Mapping[str, Bucketing],
) -> tuple[WeakTuples, ...]:
    """The types and buckets that score lower than the rest, beyond chance, the clearest first."""
    found = []
    for path, test in slices.items():
        if not test["p"] < _LEVEL:
            continue
        attribute, value = ("type", path[-1]) if path[0] == "criteria" else path[1:]
        if attribute in bucketings:
            value = next(
                (one.label or one.name for one in bucketings[attribute].buckets if one.name == value), value
            )
        found.append(
            WeakTuples(
                attribute=attribute, value=value, gold=made[path]["gold"], f1=made[path]["f1"],
                interval=tuple(test["interval"]), t=test["t"], p=test["p"], of=test["of"],
            )
        )  # fmt: skip
    return tuple(sorted(found, key=lambda one: -one.t))


# ---- words -----------------------------------------------------------------------------------------------


def _notes(document: Tuples, trained: bool) -> tuple[str, ...]:
    """The traps: what was given, what a unit is, what was dropped, and what counts as equal."""
    settings = document.settings
    given = "were given to the systems" if document.mentions == "gold" else "were predicted, not given"
    notes = [f"Mentions {given}."]
    held = {
        "sentence": "A tuple lies within one sentence, and documents are the units of intervals and tests.",
        "document": "A tuple lies within one document.",
        "unit": "A tuple lies within one record; the data do not say whether it is a sentence or a document.",
    }[settings.holds]
    notes.append(held)
    dropped = [(document.duplicates, "gold")] if document.duplicates else []
    dropped += [(one.duplicates, name) for name, one in document.systems.items() if one.duplicates]
    if dropped:
        listed = ", ".join(f"{number:,} of {name}" for number, name in dropped)
        notes.append(f"Tuples that repeat another one of their unit count once; dropped: {listed}.")
    else:
        notes.append("No tuple occurs twice in a unit.")
    if settings.undirected:
        notes.append(f"The order of fillers does not count for {', '.join(settings.undirected)}.")
    if any(system.links is not UNSET for system in document.systems.values()):
        notes.append("NIL is an identifier like any other.")
    for name, system in document.systems.items():
        if system.missing:
            notes.append(
                f"{name} has no record for {many(system.missing, 'unit')}; what they hold is missed."
            )
    if trained:
        notes.append(
            "A fact is seen if training states the same type with the same strings; Ign scores leave right "
            "predictions of such facts out of precision, as DocRED does."
        )
    return tuple(notes)


def _signature(document: Tuples) -> str:
    settings = document.settings
    parts = ["spanwise", f"v:{__version__}", f"tuples:{document.criterion}", f"mentions:{document.mentions}"]
    if settings.undirected:
        parts.append(f"undirected:{','.join(sorted(settings.undirected))}")
    if settings.with_trigger:
        parts.append("with_trigger")
    if settings.answers:
        parts.append(f"answers:{settings.answers}")
    parts += [
        f"ci:{'logit-t' if settings.resamples else 'none'}.{settings.unit}",
        f"resamples:{settings.resamples}",
        f"seed:{settings.seed}",
    ]
    digest = document.inputs[0].sha256
    return "|".join([*parts, f"gold:{digest[:8]}"] if digest else parts).replace("\n", " ")


# ---- thresholds --------------------------------------------------------------------------------------------


class TupleFloor(Struct, frozen=True):
    """An F1 of tuples, or the lower end of its interval, held against the least that is allowed."""

    system: str
    type: str | None  # None: all tuples
    least: float  # in points
    value: float | None
    bound: bool

    @property
    def passed(self) -> bool:
        """Whether the floor holds; it does not if there is nothing to hold against it."""
        return self.value is not None and 100 * self.value >= self.least - 1e-9

    @property
    def message(self) -> str:
        """The floor in one line."""
        what = "lower end of F1" if self.bound else "F1"
        shown = "undefined" if self.value is None else f"{100 * self.value:.2f}"
        of = "" if self.type is None else f" of {self.type}"
        verdict = "held" if self.passed else "missed"
        return f"{verdict}: {self.system}: {what}{of} {shown}, at least {self.least:g} required"


def check_floors(
    document: Tuples, least: Mapping[str | None, float], *, bound: bool = False
) -> list[TupleFloor]:
    """Hold the F1 of all systems under the chosen criterion against floors in points, by type.

    Args:
        least: the floors; None stands for all tuples.
        bound: hold the lower end of the interval against the floor instead of the score.

    Raises:
        ChoiceError: no tuple has this type, a floor is not between 0 and 100, or `bound` is asked for, but
            there are no intervals.
    """
    if bound and not document.settings.resamples:
        raise ChoiceError("there are no intervals to hold against a floor.\nUse resamples above 0.")
    floors = []
    for kind, points in least.items():
        if not 0 <= points <= 100:
            raise ChoiceError(f"the floor {points!r} of F1 must be between 0 and 100 points.")
        for name, system in document.systems.items():
            scores = system.criteria[document.criterion]
            if kind is not None and kind not in scores.types:
                raise unknown("type of tuples", kind, scores.types)
            cell = scores.overall if kind is None else scores.types[kind]
            ends = cell.ends("f1")
            value = (None if ends is None else ends[0]) if bound else cell.f1
            floors.append(TupleFloor(name, kind, points, value, bound))
    return floors
