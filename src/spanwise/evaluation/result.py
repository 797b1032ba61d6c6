"""Build the document of an evaluation from its counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Literal, cast

import numpy as np
from msgspec import UNSET, UnsetType, convert
from msgspec.structs import asdict, replace

from spanwise import __version__
from spanwise.attributes import SUBSETS
from spanwise.buckets import Bucketing
from spanwise.columns import Floats, Ints, plain, ratio
from spanwise.counts import Counts, CrossTable
from spanwise.diagnosis import letters, self_diagnosis, slices, with_leads
from spanwise.document import Input, Settings
from spanwise.document.dataset import DatasetFacts
from spanwise.document.evaluation import (
    Evaluation,
    Later,
    LiveEvaluation,
    PackedMeasure,
    UnitCounts,
)
from spanwise.document.scores import (
    PRIMARY,
    AttributeScores,
    BoundarySides,
    BucketScores,
    Confusion,
    CreditScores,
    CrossBucket,
    CrossScores,
    ErrorShares,
    Exact,
    ExactScores,
    Fair,
    FairRates,
    FairScores,
    Gain,
    Gains,
    MeanScores,
    Outcome,
    Patterns,
    Rates,
    RelaxedScores,
    Subset,
    SubsetRecall,
    SubsetScores,
    SystemScores,
)
from spanwise.evaluation._hierarchy import all_levels, level_scores
from spanwise.evaluation._measures import NOBODY, ROLES, SIDES
from spanwise.evaluation._system import CONFUSING, Counted
from spanwise.evaluation._truncation import with_truncation
from spanwise.evaluation.choices import Choices, block_size
from spanwise.evaluation.counting import Whole
from spanwise.evaluation.dataset import Facts
from spanwise.evaluation.hints import hints
from spanwise.evaluation.scoring import Cell, ScoredSystem, pack_measures, score_and_test, with_lead_intervals
from spanwise.findings import findings
from spanwise.intervals import FEW_UNITS
from spanwise.matching import CATEGORIES, OUTCOMES, relaxed_counts
from spanwise.patterns import NO_TEXT, REDACTED, Causes, patterns
from spanwise.rates import f_beta
from spanwise.scores import EXACT, RECALL, Measure, MeasureKey, gain, with_overall
from spanwise.settings import signed_parts
from spanwise.tasks import tasks
from spanwise.uncertainty import Resampling

SMALL = 30  # a bucket with fewer gold units is marked as small


def result_of(choices: Choices, whole: Whole, *, memory: int | None = None) -> Evaluation:
    """Build the document of an evaluation from its counts.

    Sentences, mentions and counts per unit are computed only when they are accessed.

    Args:
        memory: a bound on the memory for resampling, in bytes; it does not change any number.
    """
    whole = replace(whole, counted=_all_levels(whole.counted))
    summary = _summary_of(choices, whole, memory)
    settings = summary.settings
    size = settings.block or 1
    sentences, about = whole.examples(settings)
    units = UnitCounts(
        kind=settings.unit,
        number=settings.units,
        systems={name: _packed_later(counted, size) for name, counted in whole.counted.items()},
    )
    codes = whole.codes(size)
    document = replace(summary, examples=about, units=units, mentions=codes, sentences=sentences)
    keys = {key: getattr(document, key) for key in Evaluation.__struct_fields__}
    return LiveEvaluation(**keys, live=whole)


def _all_levels(counted: Mapping[str, Counted]) -> Mapping[str, Counted]:
    """The counts of every system, with the same levels of a hierarchy of labels."""
    levels = all_levels({name: system.measures for name, system in counted.items()})
    return {name: replace(system, measures=levels[name]) for name, system in counted.items()}


def _packed_later(counted: Counted, block: int) -> Later[PackedMeasure]:
    return Later(lambda: pack_measures([measure.in_blocks(block) for measure in counted.measures]))


UNMARKED = (
    "The data mark no documents, so sentences are treated as independent. If they come from documents, "
    "intervals are too narrow and tests reject too often: name the documents ({documents}) "
    "or use blocks of sentences ({unit})."
)


def _summary_of(choices: Choices, whole: Whole, memory: int | None) -> Evaluation:
    """The document of an evaluation, but without sentences, mentions and counts per unit."""
    systems, unit, units = whole.counted, whole.unit, whole.units
    size = block_size(choices.unit)
    unmarked = UNMARKED.format(documents="--documents FIELD", unit="--unit block:20")
    notes = [unmarked] if unit == "sentence" and choices.unit is None and choices.resamples else []
    if size > 1:  # consecutive sentences are joined into blocks
        unit, units = "block", -(-units // size)
    more = (*(f_beta(beta).name for beta in choices.beta), *(score.name for score in choices.scores))
    measures = {
        name: [measure.with_rates(more).in_blocks(size) for measure in system.measures]
        for name, system in systems.items()
    }
    scored, comparisons = score_and_test(
        measures,
        choices.pairs_of(list(systems)),
        Resampling(units, choices.resamples, choices.seed, memory),
        confidence=choices.confidence,
        correction=choices.correction,
        primary=PRIMARY[choices.primary],
        unit=unit,
    )
    dataset = convert(whole.described, DatasetFacts)
    scores = {
        name: _with_copies(
            system_scores(whole.facts, system, scored[name], choices.crosses, dataset.mentions), system, whole
        )
        for name, system in systems.items()
    }
    resampling = Resampling(units, choices.resamples, choices.seed, memory)
    scores = {
        name: with_truncation(own, measures[name], systems[name].cuts, resampling, size)
        for name, own in scores.items()
    }
    scores = with_patterns(scores, {name: system.causes for name, system in systems.items()}, choices.redact)
    notes += _data_notes(whole, scores)
    ranking = {name: score.primary(choices.primary) for name, score in scores.items()}
    summary = Evaluation(
        spanwise=__version__,
        inputs=whole.entries,
        settings=Settings(
            **choices.to_dict(),
            unit=unit,
            units=units,
            few_units=units < FEW_UNITS,
            block=size if size > 1 else UNSET,
            attributes=tuple(whole.facts.bucketings),
            buckets=dict(whole.facts.strategies),
        ),
        dataset=dataset,
        systems=scores,
        comparisons=with_lead_intervals(
            with_leads(comparisons, {name: [score] for name, score in scores.items()}),
            {name: [own] for name, own in measures.items()},
            units if choices.resamples else 0,
            choices.confidence,
        ),
        letters=letters(ranking, comparisons, path=PRIMARY[choices.primary]) if len(ranking) > 1 else {},
        notes=tuple(notes) or UNSET,
    )
    found = (*hints(summary, whole.signs), *_rests_on(measures, unit if choices.resamples else ""))
    return replace(
        summary,
        signature=signature(summary),
        findings=findings(summary),
        tasks=tasks(summary),
        hints=found or UNSET,
    )


def _with_copies(scores: SystemScores, system: Counted, whole: Whole) -> SystemScores:
    """The scores with F1 without sentences that repeat earlier ones, if there are any."""
    if whole.copies is None or not whole.copies.any():
        return scores
    return replace(scores, exact=replace(scores.exact, f1_without_copies=system.f1_without(whole.copies)))


def with_patterns(
    scores: Mapping[str, SystemScores], causes: Mapping[str, Causes | None], redact: bool
) -> dict[str, SystemScores]:
    """The scores of every system with the patterns in its errors, or why there are none."""
    known = {name: own for name, own in causes.items() if own is not None}
    none = Patterns(why=REDACTED if redact else NO_TEXT)
    return {
        name: replace(system, patterns=patterns(name, known, system.exact.overall) if name in known else none)
        for name, system in scores.items()
    }


MOST_NAMED = 4  # systems or labels that a note names


def _data_notes(whole: Whole, scores: Mapping[str, SystemScores]) -> list[str]:
    """What a reader of the scores should know about the data."""
    notes = []
    if whole.copies is not None and whole.copies.any():
        values = [
            f"{100 * score.exact.f1_without_copies:.1f} ({name})"
            for name, score in scores.items()
            if score.exact.f1_without_copies not in (UNSET, None)
        ]
        beside = f"; without the copies, F1 is {', '.join(values[:MOST_NAMED])}" if values else ""
        more = f" and {len(values) - MOST_NAMED} more" if len(values) > MOST_NAMED else ""
        number = int(whole.copies.sum())
        repeats = "test sentence repeats" if number == 1 else "test sentences repeat"
        notes.append(f"{number:,} {repeats} an earlier one{beside}{more}.")
    lone = lone_labels({name: score.exact.labels for name, score in scores.items()})
    if lone:
        named = ", ".join(f"{label} ({', '.join(names[:MOST_NAMED])})" for label, names in lone[:MOST_NAMED])
        notes.append(
            f"Macro averages are over different labels: gold lacks {named}, which only some systems predict."
        )
    return notes


def _rests_on(measures: Mapping[str, Sequence[Measure]], unit: str) -> list[str]:
    """A sentence that names the unit with more than half of the gold mentions; `unit` is "" without tests."""
    exact = next((measure for measure in next(iter(measures.values()), ()) if measure.name == "exact"), None)
    if not unit or exact is None or exact.counts.units < 2:
        return []
    counts = exact.counts
    shape = len(counts.rows), len(counts.cells), len(counts.columns)
    gold = counts.rows.reshape(shape)[..., 0].sum(axis=1)[counts.row]
    if 2 * int(gold.max(initial=0)) <= int(gold.sum()):
        return []
    share = 100 * float(ratio(gold.max(), gold.sum()))
    named = f"{unit.capitalize()} {int(gold.argmax()) + 1} of {len(gold):,}"
    return [f"{named} holds {share:.0f} % of the gold mentions: every interval and test rests on it."]


def lone_labels(systems: Mapping[str, Mapping[str, ExactScores]]) -> list[tuple[str, list[str]]]:
    """The labels that gold lacks and only some systems predict, with the systems that do."""
    predicting: dict[str, list[str]] = {}
    for name, labels in systems.items():
        for label, row in labels.items():
            if not row.gold and row.predicted:
                predicting.setdefault(label, []).append(name)
    return [(label, names) for label, names in predicting.items() if len(names) < len(systems)]


def signature(document: Evaluation) -> str:
    """Every setting that affects a number, in one line that can be printed under a table."""
    settings, gold = document.settings, document.inputs[0]
    tests = ""
    if settings.resamples and len(document.systems) > 1:
        second = "maxt" if settings.correction == "holm" else settings.correction
        tests = f"test:randomisation.{settings.resamples}.{settings.correction}+{second}"
    parts = signature_parts(settings, document.inputs, tests)
    if gold.sha256:
        parts.append(f"gold:{gold.sha256[:8]}")
    return signature_of(parts)


def signature_parts(settings: Settings, inputs: Sequence[Input], tests: str = "") -> list[str]:
    """The parts of a signature that several datasets can share: settings, `tests` and how files were read."""
    others = {"scheme": f"scheme:{inputs[0].scheme or inputs[0].format}", "correction": tests}
    placed = {str(row.evidence) for row in inputs if row.format == "answers"}
    answers = [f"answers[{how}]" for how in sorted(placed)]
    return [f"v:{__version__}", *signed_parts(settings, others), *answers]


def signature_of(parts: Iterable[str]) -> str:
    """Join the parts of a signature into one line."""
    return "|".join(["spanwise", *parts]).replace("\n", " ")


# ---- the scores of one system ---------------------------------------------------------------


def system_scores(
    facts: Facts, counted: Counted, scored: ScoredSystem, crosses: Sequence[tuple[str, str]], mentions: int
) -> SystemScores:
    """All scores of one system in the document; `mentions` is the number of gold mentions."""
    measures = {measure.key: measure for measure in counted.measures}
    counts = {key: measure.counts for key, measure in measures.items()}
    exact, fair = counts[MeasureKey("exact")], counts[MeasureKey("fair")]
    share = measures[MeasureKey("fair")].share
    credits = [key.attribute for key in measures if key.kind == "credits"]
    scores = SystemScores(
        exact=_exact(counted.labels, exact, scored),
        fair=_fair(counted, fair, exact, scored, share),
        credits={name: _credit(counted.labels, scored, name) for name in credits},
        gains=Gains(**{path[1]: Gain(**cell) for path, cell in scored.cells.items() if path[0] == "gains"}),
        relaxed=_relaxed(counts[MeasureKey("relaxed")], scored),
        confusion=_confusion(counted.labels, counted.tables),
        tough=_tough(counted, counts[MeasureKey("tough")], scored) if MeasureKey("tough") in counts else {},
        attributes={
            name: _attribute(facts, counted, name, counts[MeasureKey("attribute", name)], scored)
            for name in facts.bucketings
        },
        cross={
            ",".join(pair): _crossed(facts, pair, counts[MeasureKey("cross", ",".join(pair))], scored)
            for pair in crosses
        },
        hierarchy=level_scores(measures, scored),
        label_gains=_label_gains(counted, with_overall(exact.total.astype(np.float64))[0]),
        slices=(),
    )
    return replace(scores, slices=slices(scores, mentions, scored.slices))


def _confusion(labels: Sequence[str], tables: Mapping[MeasureKey, CrossTable]) -> Confusion:
    table = tables[MeasureKey("confusion")]
    return Confusion(
        labels=tuple(labels),
        counts=tuple(map(tuple, table.chosen(labels, labels).tolist())),
        missed=tuple(table.chosen(labels, [NOBODY])[:, 0].tolist()),
        spurious=tuple(table.chosen([NOBODY], labels)[0].tolist()),
        pairs={kind: _label_pairs(labels, tables[MeasureKey("confusion", kind)]) for kind in CONFUSING},
    )


def _label_gains(counted: Counted, totals: Floats) -> dict[str, float]:
    """What fixing all errors of each gold label would add to F1."""
    roles = counted.tables[MeasureKey("roles")].chosen(counted.labels, ROLES)
    return {
        label: value
        for label, row in zip(counted.labels, roles, strict=True)
        if row.any() and (value := plain(gain(*totals, *row))) is not None
    }


def _label_pairs(labels: Sequence[str], table: CrossTable) -> tuple[tuple[str, str, int], ...]:
    """Pairs of gold and predicted label with their number, the most frequent first, then in label order."""
    counts = table.chosen(labels, labels)
    pairs = [(labels[row], labels[column], int(counts[row, column])) for row, column in np.argwhere(counts)]
    return tuple(sorted(pairs, key=lambda pair: -pair[2]))


def _exact(labels: Sequence[str], counts: Counts, scored: ScoredSystem) -> Exact:
    totals = with_overall(counts.total.astype(np.float64)).astype(np.int64).tolist()
    overall, *cells = (dict(zip(EXACT, row, strict=True)) for row in totals)
    return Exact(
        overall=ExactScores(**{"accuracy": None, **overall, **scored.cells["exact", "overall"]}),
        macro=_average(counts, scored, "macro"),
        weighted=_average(counts, scored, "weighted"),
        labels={
            label: ExactScores(**cell, **scored.cells["exact", "labels", label])
            for label, cell in zip(labels, cells, strict=True)
        },
    )


def _average(counts: Counts, scored: ScoredSystem, name: str) -> MeanScores:
    used = int((counts.total[:, :2].sum(axis=1) > 0).sum())
    return MeanScores(**scored.cells["exact", name], labels=used)


def _fair(counted: Counted, counts: Counts, exact: Counts, scored: ScoredSystem, share: float) -> Fair:
    overall, *cells = map(_outcomes, with_overall(counts.total.astype(np.float64)) * share)
    sides = counted.tables[MeasureKey("sides")].chosen(counted.labels, SIDES)
    return Fair(
        overall=FairScores(**overall, **scored.cells["fair", "overall"], sides=_sides(sides.sum(axis=0))),
        labels={
            label: FairScores(**cell, **scored.cells["fair", "labels", label], sides=_sides(row))
            for label, cell, row in zip(counted.labels, cells, sides, strict=True)
        },
        shares=_shares(counts, exact, share),
    )


def _sides(row: Ints) -> BoundarySides:
    return BoundarySides(**dict(zip(SIDES, row.tolist(), strict=True)))


def _outcomes(row: Iterable[float]) -> Cell:
    counts = {name: _whole(value) for name, value in zip(OUTCOMES, row, strict=True)}
    counts["BE"] = _whole(sum(counts[name] for name in ("BEs", "BEl", "BEo")))
    return {name: counts[name] for name in ("TP", "FP", "FN", "LE", "BE", "BEs", "BEl", "BEo", "LBE")}


def _whole(value: float) -> int | float:
    """A count as an int; as a float only if events were split between two labels."""
    return int(value) if float(value).is_integer() else float(value)


def _credit(labels: Sequence[str], scored: ScoredSystem, name: str) -> CreditScores:
    return CreditScores(
        overall=Rates(**scored.cells["credits", name, "overall"]),
        labels={label: Rates(**scored.cells["credits", name, "labels", label]) for label in labels},
    )


def _shares(fair: Counts, exact: Counts, share: float) -> ErrorShares:
    """The share of each kind of error among all errors, counted traditionally and fairly."""
    outcomes = _outcomes(fair.total.sum(axis=0) * share)
    gold, predicted, correct = exact.total.sum(axis=0).tolist()
    return ErrorShares(
        traditional=_parts({"FP": predicted - correct, "FN": gold - correct}),
        fair=_parts({name: outcomes[name] for name in ("LE", "BE", "LBE", "FN", "FP")}),
    )


def _parts(errors: Mapping[str, float]) -> dict[str, float | None]:
    whole = sum(errors.values())
    return {name: plain(ratio(number, whole)) for name, number in errors.items()}


def _relaxed(counts: Counts, scored: ScoredSystem) -> dict[str, RelaxedScores]:
    result = {}
    for scheme, row in relaxed_counts(counts.total[0]).items():
        categories: Cell = {name: int(number) for name, number in zip(CATEGORIES, row, strict=True)}
        paired = categories["correct"] + categories["incorrect"] + categories["partial"]
        result[scheme] = RelaxedScores(
            **categories,
            possible=paired + categories["missed"],
            actual=paired + categories["spurious"],
            **scored.cells["relaxed", scheme],
        )
    return result


def _tough(counted: Counted, counts: Counts, scored: ScoredSystem) -> dict[Subset, SubsetScores]:
    total = counts.total.reshape(len(SUBSETS), len(counted.labels) + 1, 2).tolist()
    result: dict[Subset, SubsetScores] = {}
    outcomes = _named_outcomes(counted.tables[MeasureKey("tough")], SUBSETS, "FP")
    for index, subset in enumerate(cast("Sequence[Subset]", SUBSETS)):
        cells: list[Cell] = [dict(zip(RECALL, row, strict=True)) for row in total[index]]
        overall, *labels = cells
        result[subset] = SubsetScores(
            overall=SubsetRecall(**overall, **scored.cells["tough", subset, "overall"]),
            labels={
                label: SubsetRecall(**cell, **scored.cells["tough", subset, "labels", label])
                for label, cell in zip(counted.labels, labels, strict=True)
            },
            outcomes=outcomes[index],
        )
    return result


def _named_outcomes(table: CrossTable, columns: Sequence[str], without: str) -> list[dict[Outcome, int]]:
    """The number of each outcome but one, for each of these columns of a table."""
    names = [name for name in cast("Sequence[Outcome]", OUTCOMES) if name != without]
    return [dict(zip(names, row, strict=True)) for row in table.chosen(names, columns).T.tolist()]


def _attribute(
    facts: Facts, counted: Counted, name: str, counts: Counts, scored: ScoredSystem
) -> AttributeScores:
    attribute, bucketing = facts.attributes[name], facts.bucketings[name]
    names = [bucket.name for bucket in bucketing.buckets]
    of_mentions = attribute.unit == "mention"
    outcomes = _bucket_outcomes(counted, name, names) if of_mentions else [{} for _ in names]
    fair: Sequence[FairRates | UnsetType] = (
        _bucket_fair(counted, name, names) if of_mentions else [UNSET for _ in names]
    )
    buckets = tuple(
        BucketScores(
            **bucket.to_dict(),
            **dict(zip(EXACT, numbers, strict=True)),
            **scored.cells["attributes", name, bucket.name],
            small=numbers[0] < SMALL,
            outcomes=outcomes[index],
            fair=fair[index],
        )
        for index, (bucket, numbers) in enumerate(zip(bucketing.buckets, counts.total.tolist(), strict=True))
        if any(numbers) or not bucket.rest
    )
    return AttributeScores(
        unit=attribute.unit,
        kind=bucketing.kind,
        strategy=facts.strategies[name],
        zeta=plain(facts.zeta[name]),
        buckets=buckets,
        **asdict(self_diagnosis(buckets)),
    )


def _bucket_outcomes(
    counted: Counted, attribute: str, buckets: Sequence[str]
) -> list[dict[Literal["gold", "predicted"], Mapping[Outcome, int]]]:
    """The outcomes of the gold and of the predicted mentions in every bucket."""
    gold, predicted = (
        _named_outcomes(counted.tables[MeasureKey(f"{side} outcomes", attribute)], buckets, without)
        for side, without in (("gold", "FP"), ("predicted", "FN"))
    )
    return [
        {"gold": gold_row, "predicted": predicted_row}
        for gold_row, predicted_row in zip(gold, predicted, strict=True)
    ]


def _bucket_fair(counted: Counted, attribute: str, buckets: Sequence[str]) -> list[FairRates]:
    """Fair scores over the events of every bucket; an error that two mentions share counts half for each."""
    halves = {}
    right = np.zeros(len(buckets), dtype=np.int64)
    for side, alone in (("gold", "FN"), ("predicted", "FP")):
        tables = [counted.tables[MeasureKey(f"{side} {which}", attribute)] for which in ("outcomes", "again")]
        first, again = (table.chosen(OUTCOMES, buckets) for table in tables)
        outcomes = dict(zip(OUTCOMES, first + again, strict=True))
        right = outcomes["TP"]
        shared = outcomes["LE"] + outcomes["BEs"] + outcomes["BEl"] + outcomes["BEo"] + outcomes["LBE"]
        halves[alone] = 2 * outcomes[alone] + shared
    missed, spurious = halves["FN"] / 2, halves["FP"] / 2
    of_events = (
        ratio(right, right + spurious),
        ratio(right, right + missed),
        ratio(2 * right, 2 * right + missed + spurious),
    )
    return [
        FairRates(precision=plain(precision), recall=plain(recall), f1=plain(f1))
        for precision, recall, f1 in zip(*of_events, strict=True)
    ]


def _crossed(facts: Facts, pair: tuple[str, str], counts: Counts, scored: ScoredSystem) -> CrossScores:
    first, second = (facts.bucketings[name] for name in pair)
    cells = []
    for index, names in enumerate(_bucket_pairs(first, second)):
        row = counts.total[index].tolist()
        if any(row):
            scores = scored.cells["cross", ",".join(pair), counts.cells[index]]
            cells.append(CrossBucket(buckets=names, **dict(zip(EXACT, row, strict=True)), **scores))
    return CrossScores(attributes=pair, cells=tuple(cells))


def _bucket_pairs(first: Bucketing, second: Bucketing) -> list[tuple[str, str]]:
    return [(left.name, right.name) for left, right in product(first.buckets, second.buckets)]
