"""One system's part of the result document: its counts and scores under their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import product
from operator import add
from typing import Any

import numpy as np
from msgspec import Struct

from spanwise.attributes import SUBSETS
from spanwise.attributes import Side as AttributeSide
from spanwise.buckets import Bucketing
from spanwise.columns import Ints, plain, ratio
from spanwise.corpus import with_one_labelling
from spanwise.counts import Counts, CrossTable
from spanwise.diagnosis import self_diagnosis
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._dataset import Dataset, Facts, sides_of, sides_of_mentions
from spanwise.evaluation._measures import (
    NOBODY,
    Case,
    Side,
    bucket_measure,
    confusion_table,
    crossed,
    exact_measures,
    fair_measures,
    joined_measures,
    outcome_tables,
    relaxed_measure,
    same_tokens,
    tough_measures,
    tough_outcomes,
)
from spanwise.evaluation._uncertain import Scored
from spanwise.matching import OUTCOMES, Matching, fair_and_overlap
from spanwise.matching.overlap import CATEGORIES, relaxed_counts
from spanwise.scores import EXACT, RECALL, Measure, MeasureKey, with_overall

CONFUSING = ("LE", "LBE")  # the errors with two labels
SMALL = 30  # gold units under which a bucket carries a mark


class Counted(Struct, frozen=True, eq=False):
    """One system's counts, before anything is divided; those of two parts of a corpus add up."""

    labels: tuple[str, ...]
    measures: Sequence[Measure]
    tables: Mapping[MeasureKey, CrossTable]

    @classmethod
    def joined(cls, parts: Sequence[Counted]) -> Counted:
        """The counts over all parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        labels = tuple(sorted({label for part in parts for label in part.labels}))
        by_key = [{measure.key: measure for measure in part.measures} for part in parts]
        # A measure that a part does not have, such as accuracy where mentions overlap, the whole has not.
        shared = [key for key in by_key[0] if all(key in one for one in by_key)]
        measures = [joined_measures([one[key] for one in by_key], labels) for key in shared]
        tables = {key: reduce(add, [part.tables[key] for part in parts]) for key in parts[0].tables}
        return cls(labels, measures, tables)


class Evaluated(Struct, frozen=True, eq=False):
    """One system with its counts and with what they were counted from, mention by mention."""

    counted: Counted
    case: Case
    matching: Matching
    gold_sides: Mapping[str, Side]
    predicted_sides: Mapping[str, Side]


def evaluate_system(data: Dataset, predicted: AttributeSide, choices: Choices) -> Evaluated:
    """Match one system's mentions of a block and count them into every table."""
    gold, other = with_one_labelling([data.gold, predicted.mentions])
    matching, overlap = fair_and_overlap(gold, other)
    case = Case(data.inputs.corpus, data.units, gold, other, matching)
    events = matching.events()
    measures = [
        *exact_measures(case),
        *fair_measures(case, events, focus=choices.focus, credits=list(choices.credits)),
    ]
    measures.append(relaxed_measure(case, overlap))
    tables = {MeasureKey("confusion"): confusion_table(case, events)}
    tables |= {MeasureKey("confusion", kind): confusion_table(case, events, kind) for kind in CONFUSING}
    if data.toughness is not None:
        measures += tough_measures(case, data.toughness)
        tables[MeasureKey("tough")] = tough_outcomes(case, data.toughness)
    gold_sides, other_sides = data.gold_sides, sides_of(data.facts, predicted)
    # Attributes of tokens have the same units, so that the pairs of one are those of all.
    tokens = next((name for name, one in data.facts.attributes.items() if one.unit == "token"), None)
    token_pairs = None if tokens is None else same_tokens(case, gold_sides[tokens], other_sides[tokens])
    for name, bucketing in data.facts.bucketings.items():
        names = [bucket.name for bucket in bucketing.buckets]
        sides = gold_sides[name], other_sides[name]
        by_tokens = data.facts.attributes[name].unit == "token"
        pairs = token_pairs if by_tokens and token_pairs is not None else case.found_pairs
        key = MeasureKey("attribute", name)
        measures.append(bucket_measure(case, key, *sides, pairs, names, ("attributes", name)))
        if not by_tokens:
            tables |= outcome_tables(case, name, *sides, names)
    for one, two in choices.crosses:
        measures.append(_cross(case, data.facts, one, two, gold_sides, other_sides))
    counted = Counted(tuple(case.labels), measures, tables)
    return Evaluated(counted, case, matching, sides_of_mentions(gold_sides), sides_of_mentions(other_sides))


def _cross(
    case: Case,
    facts: Facts,
    one: str,
    two: str,
    gold_sides: Mapping[str, Side],
    predicted_sides: Mapping[str, Side],
) -> Measure:
    first, second = (facts.bucketings[name].buckets for name in (one, two))
    widths = len(first), len(second)
    gold = crossed((gold_sides[one], gold_sides[two]), widths)
    predicted = crossed((predicted_sides[one], predicted_sides[two]), widths)
    names = [f"{a.name} × {b.name}" for a, b in product(first, second)]
    pair = f"{one},{two}"
    key = MeasureKey("cross", pair)
    measure = bucket_measure(case, key, gold, predicted, case.found_pairs, names, ("cross", pair))
    # Crossed cells are shown with intervals; testing each would only weaken the family of buckets.
    return Measure(measure.key, measure.counts, "exact", measure.paths)


def system_document(
    facts: Facts, one: Counted, found: Scored, crosses: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """Everything the result document says of one system but its slices."""
    measures = {measure.key: measure for measure in one.measures}
    counts = {key: measure.counts for key, measure in measures.items()}
    exact, fair = counts[MeasureKey("exact")], counts[MeasureKey("fair")]
    share = measures[MeasureKey("fair")].share
    credits = [key.attribute for key in measures if key.kind == "credits"]
    document: dict[str, Any] = {
        "exact": _exact(one.labels, exact, found),
        "fair": {
            **_fair(one.labels, fair, found, share),
            "shares": _shares(fair, exact, share),
        },
        "credits": {name: _labeled(one.labels, found, ("credits", name)) for name in credits},
        "gains": {path[1]: dict(found.cells[path]) for path in found.cells if path[0] == "gains"},
        "relaxed": _relaxed(counts[MeasureKey("relaxed")], found),
        "confusion": _confusion(one.labels, one.tables),
    }
    if MeasureKey("tough") in counts:
        document["tough"] = _tough(one, counts[MeasureKey("tough")], found)
    document["attributes"] = {
        name: _attribute(facts, one, name, counts[MeasureKey("attribute", name)], found)
        for name in facts.bucketings
    }
    if crosses:
        document["cross"] = {
            ",".join(pair): _crossed(facts, pair, counts[MeasureKey("cross", ",".join(pair))], found)
            for pair in crosses
        }
    return document


def _confusion(labels: Sequence[str], tables: Mapping[MeasureKey, CrossTable]) -> dict[str, Any]:
    table = tables[MeasureKey("confusion")]
    return {
        "labels": list(labels),
        "counts": table.chosen(labels, labels).tolist(),
        "missed": table.chosen(labels, [NOBODY])[:, 0].tolist(),
        "spurious": table.chosen([NOBODY], labels)[0].tolist(),
        "pairs": {kind: _label_pairs(labels, tables[MeasureKey("confusion", kind)]) for kind in CONFUSING},
    }


def _label_pairs(labels: Sequence[str], table: CrossTable) -> list[list[str | int]]:
    """How often each gold label met each predicted one, the most frequent first, then in order of labels."""
    counts = table.chosen(labels, labels)
    pairs = [(labels[row], labels[column], int(counts[row, column])) for row, column in np.argwhere(counts)]
    return [list(pair) for pair in sorted(pairs, key=lambda pair: -pair[2])]


def _exact(labels: Sequence[str], counts: Counts, found: Scored) -> dict[str, Any]:
    totals = with_overall(counts.total.astype(np.float64)).astype(np.int64)
    paths = [("exact", "overall"), *(("exact", "labels", label) for label in labels)]
    overall, *cells = (
        {**dict(zip(EXACT, row, strict=True)), **found.cells[path]}
        for row, path in zip(totals.tolist(), paths, strict=True)
    )
    overall.setdefault("accuracy", None)
    return {
        "overall": overall,
        "macro": _average(counts, found, "macro"),
        "weighted": _average(counts, found, "weighted"),
        "labels": dict(zip(labels, cells, strict=True)),
    }


def _average(counts: Counts, found: Scored, name: str) -> dict[str, Any]:
    used = int((counts.total[:, :2].sum(axis=1) > 0).sum())
    return {**found.cells[("exact", name)], "labels": used}


def _fair(labels: Sequence[str], counts: Counts, found: Scored, share: float) -> dict[str, Any]:
    totals = with_overall(counts.total.astype(np.float64)) * share
    cells = [
        {**_outcomes(row), **found.cells[path]}
        for row, path in zip(
            totals,
            [("fair", "overall"), *(("fair", "labels", label) for label in labels)],
            strict=True,
        )
    ]
    return {"overall": cells[0], "labels": dict(zip(labels, cells[1:], strict=True))}


def _outcomes(row: Any) -> dict[str, int | float]:
    counts = {name: _whole(value) for name, value in zip(OUTCOMES, row, strict=True)}
    counts["BE"] = _whole(sum(counts[name] for name in ("BEs", "BEl", "BEo")))
    return {name: counts[name] for name in ("TP", "FP", "FN", "LE", "BE", "BEs", "BEl", "BEo", "LBE")}


def _whole(value: Any) -> int | float:
    """A count as a whole number, and as a fraction only where events were halved between labels."""
    return int(value) if float(value).is_integer() else float(value)


def _labeled(labels: Sequence[str], found: Scored, prefix: tuple[str, ...]) -> dict[str, Any]:
    return {
        "overall": dict(found.cells[(*prefix, "overall")]),
        "labels": {label: dict(found.cells[(*prefix, "labels", label)]) for label in labels},
    }


def _shares(fair: Counts, exact: Counts, share: float) -> dict[str, Any]:
    """The share of each kind of error among all errors, counted traditionally and fairly."""
    outcomes = _outcomes(fair.total.sum(axis=0) * share)
    gold, predicted, correct = exact.total.sum(axis=0).tolist()
    return {
        "traditional": _parts({"FP": predicted - correct, "FN": gold - correct}),
        "fair": _parts({name: outcomes[name] for name in ("LE", "BE", "LBE", "FN", "FP")}),
    }


def _parts(errors: Mapping[str, float]) -> dict[str, float | None]:
    whole = sum(errors.values())
    return {name: plain(ratio(number, whole)) for name, number in errors.items()}


def _relaxed(counts: Counts, found: Scored) -> dict[str, Any]:
    result = {}
    for scheme, row in relaxed_counts(counts.total[0]).items():
        named = {name: int(number) for name, number in zip(CATEGORIES, row, strict=True)}
        paired = named["correct"] + named["incorrect"] + named["partial"]
        sizes = {"possible": paired + named["missed"], "actual": paired + named["spurious"]}
        result[scheme] = {**named, **sizes, **found.cells[("relaxed", scheme)]}
    return result


def _tough(one: Counted, counts: Counts, found: Scored) -> dict[str, Any]:
    total = counts.total.reshape(len(SUBSETS), len(one.labels) + 1, 2).tolist()
    result: dict[str, Any] = {}
    for place, subset in enumerate(SUBSETS):
        overall, *labels = (dict(zip(RECALL, row, strict=True)) for row in total[place])
        result[subset] = {
            "overall": {**overall, **found.cells[("tough", subset, "overall")]},
            "labels": {
                label: {**cell, **found.cells[("tough", subset, "labels", label)]}
                for label, cell in zip(one.labels, labels, strict=True)
            },
            "outcomes": _named_outcomes(_column(one.tables[MeasureKey("tough")], subset), "FP"),
        }
    return result


def _column(table: CrossTable, name: str) -> Ints:
    return table.chosen(OUTCOMES, [name])[:, 0]


def _named_outcomes(counts: Ints, without: str) -> dict[str, int]:
    return {name: int(number) for name, number in zip(OUTCOMES, counts, strict=True) if name != without}


def _attribute(facts: Facts, one: Counted, name: str, counts: Counts, found: Scored) -> dict[str, Any]:
    attribute, bucketing = facts.attributes[name], facts.bucketings[name]
    buckets = []
    for bucket, numbers in zip(bucketing.buckets, counts.total.tolist(), strict=True):
        if bucket.rest and not any(numbers):
            continue
        row = {
            **bucket.to_dict(),
            **dict(zip(EXACT, numbers, strict=True)),
            **found.cells[("attributes", name, bucket.name)],
            "small": numbers[0] < SMALL,
        }
        if attribute.unit == "mention":
            row["outcomes"] = {
                side: _named_outcomes(
                    one.tables[MeasureKey(f"{side} outcomes", name)].chosen(OUTCOMES, [bucket.name])[:, 0],
                    absent,
                )
                for side, absent in (("gold", "FP"), ("predicted", "FN"))
            }
        buckets.append(row)
    return {
        "unit": attribute.unit,
        "kind": bucketing.kind,
        "strategy": facts.strategies[name],
        "zeta": plain(facts.zeta[name]),
        "buckets": buckets,
        **self_diagnosis(buckets),
    }


def _crossed(facts: Facts, pair: tuple[str, str], counts: Counts, found: Scored) -> dict[str, Any]:
    first, second = (facts.bucketings[name] for name in pair)
    cells = []
    for place, (one, two) in enumerate(_bucket_pairs(first, second)):
        row = counts.total[place].tolist()
        if not any(row):
            continue
        scores = found.cells[("cross", ",".join(pair), counts.cells[place])]
        cells.append({"buckets": [one, two], **dict(zip(EXACT, row, strict=True)), **scores})
    return {"attributes": list(pair), "cells": cells}


def _bucket_pairs(first: Bucketing, second: Bucketing) -> list[tuple[str, str]]:
    return [(one.name, two.name) for one, two in product(first.buckets, second.buckets)]
