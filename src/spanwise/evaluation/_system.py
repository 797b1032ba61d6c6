"""The counts of one system, and its scores as the result document holds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import product
from operator import add
from typing import Literal, cast

import numpy as np
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from spanwise.attributes import SUBSETS
from spanwise.attributes import Side as AttributeSide
from spanwise.buckets import Bucketing
from spanwise.columns import Ints, plain, ratio
from spanwise.corpus import with_one_labelling
from spanwise.counts import Counts, CrossTable
from spanwise.diagnosis import self_diagnosis, slices
from spanwise.document.scores import (
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
    Rates,
    RelaxedScores,
    Subset,
    SubsetRecall,
    SubsetScores,
    SystemScores,
)
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._dataset import DatasetBlock, Facts, mention_sides, sides_of
from spanwise.evaluation._measures import (
    NOBODY,
    SIDES,
    BucketedSide,
    MatchedSystem,
    bucket_measure,
    confusion_table,
    crossed,
    exact_measures,
    fair_measures,
    joined_measures,
    outcome_tables,
    relaxed_measure,
    sides_table,
    token_events,
    tough_measures,
    tough_outcomes,
)
from spanwise.evaluation._uncertain import Cell, ScoredSystem
from spanwise.matching import CATEGORIES, OUTCOMES, Matching, fair_and_overlap, match, relaxed_counts
from spanwise.scores import EXACT, RECALL, Measure, MeasureKey, with_overall

CONFUSING = ("LE", "LBE")  # the errors with two labels
SMALL = 30  # a bucket with fewer gold units is marked as small


class Counted(Struct, frozen=True, eq=False):
    """One system's counts, before anything is divided; counts over parts of a corpus add up."""

    labels: tuple[str, ...]
    measures: Sequence[Measure]
    tables: Mapping[MeasureKey, CrossTable]

    @classmethod
    def joined(cls, parts: Sequence[Counted]) -> Counted:
        """Add up the counts of consecutive parts."""
        if len(parts) == 1:
            return parts[0]
        labels = tuple(sorted({label for part in parts for label in part.labels}))
        by_key = [{measure.key: measure for measure in part.measures} for part in parts]
        # The whole has the measures that all parts have: accuracy is missing where mentions overlap.
        shared = [key for key in by_key[0] if all(key in of_part for of_part in by_key)]
        measures = [joined_measures([of_part[key] for of_part in by_key], labels) for key in shared]
        tables = {key: reduce(add, [part.tables[key] for part in parts]) for key in parts[0].tables}
        return cls(labels, measures, tables)


class Evaluated(Struct, frozen=True, eq=False):
    """One system's counts, and the mentions and outcomes that were counted."""

    counted: Counted
    case: MatchedSystem
    matching: Matching
    gold_sides: Mapping[str, BucketedSide]
    predicted_sides: Mapping[str, BucketedSide]


def evaluate_system(data: DatasetBlock, predicted: AttributeSide, choices: Choices) -> Evaluated:
    """Match one system's mentions in a block, and count them into every table."""
    gold, other = with_one_labelling([data.gold, predicted.mentions])
    fair, overlap = fair_and_overlap(gold, other)
    chosen = choices.matcher
    matching = fair if chosen.name == "fair" else match(gold, other, matcher=chosen)
    case = MatchedSystem(data.inputs.corpus, data.units, gold, other, matching, fair)
    events = matching.events()
    measures = [
        *exact_measures(case),
        *fair_measures(case, events, focus=choices.focus, credits=list(choices.credits)),
    ]
    measures.append(relaxed_measure(case, overlap))
    tables = {MeasureKey("confusion"): confusion_table(case, events)}
    tables[MeasureKey("sides")] = sides_table(case, events)
    tables |= {MeasureKey("confusion", kind): confusion_table(case, events, kind) for kind in CONFUSING}
    if data.toughness is not None:
        measures += tough_measures(case, data.toughness)
        tables[MeasureKey("tough")] = tough_outcomes(case, data.toughness)
    gold_sides, other_sides = data.gold_sides, sides_of(data.facts, predicted)
    # All attributes of tokens have the same units, so their events are computed only once.
    tokens = next(
        (name for name, attribute in data.facts.attributes.items() if attribute.unit == "token"), None
    )
    by_token = None if tokens is None else token_events(case, gold_sides[tokens], other_sides[tokens])
    for name, bucketing in data.facts.bucketings.items():
        names = [bucket.name for bucket in bucketing.buckets]
        sides = gold_sides[name], other_sides[name]
        of_tokens = data.facts.attributes[name].unit == "token"
        counted_events = by_token if of_tokens and by_token is not None else case.mention_events
        key = MeasureKey("attribute", name)
        measure = bucket_measure(case, key, counted_events, sides, names, ("attributes", name))
        measures.append(replace(measure, unplaced=bucketing.unplaced))
        if not of_tokens:
            tables |= outcome_tables(case, name, *sides, names)
    for left, right in choices.crosses:
        measures.append(_cross(case, data.facts, left, right, gold_sides, other_sides))
    counted = Counted(tuple(case.labels), measures, tables)
    return Evaluated(counted, case, matching, mention_sides(gold_sides), mention_sides(other_sides))


def _cross(
    case: MatchedSystem,
    facts: Facts,
    left: str,
    right: str,
    gold_sides: Mapping[str, BucketedSide],
    predicted_sides: Mapping[str, BucketedSide],
) -> Measure:
    first, second = (facts.bucketings[name].buckets for name in (left, right))
    widths = len(first), len(second)
    gold = crossed((gold_sides[left], gold_sides[right]), widths)
    predicted = crossed((predicted_sides[left], predicted_sides[right]), widths)
    names = [f"{a.name} × {b.name}" for a, b in product(first, second)]
    pair = f"{left},{right}"
    key = MeasureKey("cross", pair)
    measure = bucket_measure(case, key, case.mention_events, (gold, predicted), names, ("cross", pair))
    # Crossed cells are shown with intervals, but not tested: that would weaken the tests of buckets.
    return Measure(measure.key, measure.counts, "exact", measure.paths)


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
    rates = (
        ratio(right, right + spurious),
        ratio(right, right + missed),
        ratio(2 * right, 2 * right + missed + spurious),
    )
    return [
        FairRates(precision=plain(precision), recall=plain(recall), f1=plain(f1))
        for precision, recall, f1 in zip(*rates, strict=True)
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
