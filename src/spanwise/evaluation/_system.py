"""One system's part of the result document: its counts and scores under their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from spanwise.attributes import SUBSETS
from spanwise.buckets import Bucketing
from spanwise.columns import Ints, ratio
from spanwise.corpus import Mentions, with_one_labelling
from spanwise.counts import Counts
from spanwise.diagnosis import self_diagnosis
from spanwise.evaluation._dataset import Dataset
from spanwise.evaluation._measures import (
    Case,
    Side,
    bucket_measure,
    confusion,
    crossed,
    exact_measures,
    fair_measures,
    outcome_counts,
    relaxed_measure,
    tough_measures,
)
from spanwise.evaluation._uncertain import Scored, plain
from spanwise.matching import OUTCOMES, Matching, match
from spanwise.matching.overlap import CATEGORIES, relaxed_counts, relaxed_scores
from spanwise.scores import EXACT, Measure, with_overall

SMALL = 30  # gold units under which a bucket carries a mark


@dataclass(frozen=True, eq=False)
class Evaluated:
    """One system, matched and counted, before anything is divided."""

    case: Case
    matching: Matching
    measures: Sequence[Measure]
    gold_sides: Mapping[str, Side]
    predicted_sides: Mapping[str, Side]
    crosses: Mapping[str, tuple[str, str]]


def count_system(
    data: Dataset,
    predicted: Mentions,
    *,
    focus: str,
    credits: Sequence[str],
    crosses: Sequence[tuple[str, str]],
) -> Evaluated:
    """Match one system's mentions and count them into every table."""
    gold, other = with_one_labelling([data.gold, predicted])
    matching = match(gold, other)
    case = Case(data.inputs.corpus, data.units, gold, other, matching)
    events = matching.events()
    measures = [*exact_measures(case), *fair_measures(case, events, focus=focus, credits=credits)]
    measures.append(relaxed_measure(case))
    if data.toughness is not None:
        measures += tough_measures(case, data.toughness)
    gold_sides = {name: data.side(name, data.gold) for name in data.bucketings}
    predicted_sides = {name: data.side(name, predicted) for name in data.bucketings}
    for name, bucketing in data.bucketings.items():
        names = [bucket.name for bucket in bucketing.buckets]
        sides = gold_sides[name], predicted_sides[name]
        measures.append(bucket_measure(case, f"attribute {name}", *sides, names, ("attributes", name)))
    named = {}
    for one, two in crosses:
        measures.append(_cross(case, data, one, two, gold_sides, predicted_sides))
        named[f"{one},{two}"] = (one, two)
    return Evaluated(case, matching, measures, gold_sides, predicted_sides, named)


def _cross(
    case: Case,
    data: Dataset,
    one: str,
    two: str,
    gold_sides: Mapping[str, Side],
    predicted_sides: Mapping[str, Side],
) -> Measure:
    first, second = (data.bucketings[name].buckets for name in (one, two))
    widths = len(first), len(second)
    gold = crossed((gold_sides[one], gold_sides[two]), widths)
    predicted = crossed((predicted_sides[one], predicted_sides[two]), widths)
    names = [f"{a.name} × {b.name}" for a, b in product(first, second)]
    key = f"{one},{two}"
    measure = bucket_measure(case, f"cross {key}", gold, predicted, names, ("cross", key))
    # Crossed cells are shown with intervals; testing each would only weaken the family of buckets.
    return Measure(measure.name, measure.counts, "exact", measure.paths)


def system_document(data: Dataset, one: Evaluated, found: Scored) -> dict[str, Any]:
    """Everything the result document says of one system but its slices."""
    case, events = one.case, one.matching.events()
    tables = {measure.name: measure.counts for measure in one.measures}
    credits = [
        measure.name.split("/", 1)[1] for measure in one.measures if measure.name.startswith("credits/")
    ]
    document: dict[str, Any] = {
        "exact": _exact(case, tables["exact"], found),
        "fair": {
            **_fair(case, tables["fair"], found, _share(one)),
            "shares": _shares(tables["fair"], tables["exact"], _share(one)),
        },
        "credits": {name: _labeled(case, found, ("credits", name)) for name in credits},
        "gains": {path[1]: dict(found.cells[path]) for path in found.cells if path[0] == "gains"},
        "relaxed": _relaxed(tables["relaxed"], found),
        "confusion": confusion(case, events),
    }
    if data.toughness is not None:
        document["tough"] = _tough(data, one, tables["tough"], found)
    document["attributes"] = {name: _attribute(data, one, name, tables, found) for name in data.bucketings}
    if one.crosses:
        document["cross"] = {
            key: _crossed(data, key, pair, tables, found) for key, pair in one.crosses.items()
        }
    return document


def _share(one: Evaluated) -> float:
    return next(measure.share for measure in one.measures if measure.name == "fair")


def _exact(case: Case, counts: Counts, found: Scored) -> dict[str, Any]:
    totals = with_overall(counts.total.astype(np.float64)).astype(np.int64)
    cells = {
        name: {**dict(zip(EXACT, row, strict=True)), **found.cells[path]}
        for name, row, path in zip(
            ("overall", *case.labels),
            totals.tolist(),
            [("exact", "overall"), *(("exact", "labels", label) for label in case.labels)],
            strict=True,
        )
    }
    overall = cells.pop("overall")
    overall.setdefault("accuracy", None)
    return {
        "overall": overall,
        "macro": _average(case, counts, found, "macro"),
        "weighted": _average(case, counts, found, "weighted"),
        "labels": cells,
    }


def _average(case: Case, counts: Counts, found: Scored, name: str) -> dict[str, Any]:
    used = int((counts.total[:, :2].sum(axis=1) > 0).sum())
    return {**found.cells[("exact", name)], "labels": used}


def _fair(case: Case, counts: Counts, found: Scored, share: float) -> dict[str, Any]:
    totals = with_overall(counts.total.astype(np.float64)) * share
    cells = [
        {**_outcomes(row), **found.cells[path]}
        for row, path in zip(
            totals,
            [("fair", "overall"), *(("fair", "labels", label) for label in case.labels)],
            strict=True,
        )
    ]
    return {"overall": cells[0], "labels": dict(zip(case.labels, cells[1:], strict=True))}


def _outcomes(row: Any) -> dict[str, int | float]:
    counts = {name: _whole(value) for name, value in zip(OUTCOMES, row, strict=True)}
    counts["BE"] = _whole(sum(counts[name] for name in ("BEs", "BEl", "BEo")))
    return {name: counts[name] for name in ("TP", "FP", "FN", "LE", "BE", "BEs", "BEl", "BEo", "LBE")}


def _whole(value: Any) -> int | float:
    """A count as a whole number, and as a fraction only where events were halved between labels."""
    return int(value) if float(value).is_integer() else float(value)


def _labeled(case: Case, found: Scored, prefix: tuple[str, ...]) -> dict[str, Any]:
    return {
        "overall": dict(found.cells[(*prefix, "overall")]),
        "labels": {label: dict(found.cells[(*prefix, "labels", label)]) for label in case.labels},
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
        sizes = {name: int(relaxed_scores(row)[name]) for name in ("possible", "actual")}
        named = {name: int(number) for name, number in zip(CATEGORIES, row, strict=True)}
        result[scheme] = {**named, **sizes, **found.cells[("relaxed", scheme)]}
    return result


def _tough(data: Dataset, one: Evaluated, counts: Counts, found: Scored) -> dict[str, Any]:
    assert data.toughness is not None
    labels = ("overall", *one.case.labels)
    total = counts.total.reshape(len(SUBSETS), len(labels), 2).tolist()
    result: dict[str, Any] = {}
    for place, subset in enumerate(SUBSETS):
        cells = {
            label: {"mentions": row[0], "correct": row[1], **found.cells[_tough_path(subset, label)]}
            for label, row in zip(labels, total[place], strict=True)
        }
        member = data.toughness.member[:, place]
        outcomes = np.bincount(one.matching.gold_outcome[member], minlength=len(OUTCOMES))
        result[subset] = {
            "overall": cells.pop("overall"),
            "labels": cells,
            "outcomes": _named_outcomes(outcomes, "FP"),
        }
    return result


def _tough_path(subset: str, label: str) -> tuple[str, ...]:
    return ("tough", subset, "overall") if label == "overall" else ("tough", subset, "labels", label)


def _named_outcomes(counts: Ints, without: str) -> dict[str, int]:
    return {name: int(number) for name, number in zip(OUTCOMES, counts, strict=True) if name != without}


def _attribute(
    data: Dataset, one: Evaluated, name: str, tables: Mapping[str, Counts], found: Scored
) -> dict[str, Any]:
    attribute, bucketing = data.attributes[name], data.bucketings[name]
    counts = tables[f"attribute {name}"].total
    outcomes = None
    if attribute.unit == "mention":
        sides = one.gold_sides[name], one.predicted_sides[name]
        outcomes = outcome_counts(one.case, *sides, len(bucketing.buckets))
    buckets = []
    for place, bucket in enumerate(bucketing.buckets):
        if bucket.rest and not counts[place].any():
            continue
        row = {
            **bucket.to_dict(),
            **dict(zip(EXACT, counts[place].tolist(), strict=True)),
            **found.cells[("attributes", name, bucket.name)],
            "small": bool(counts[place, 0] < SMALL),
        }
        if outcomes is not None:
            row["outcomes"] = {
                "gold": _named_outcomes(outcomes[0][:, place], "FP"),
                "predicted": _named_outcomes(outcomes[1][:, place], "FN"),
            }
        buckets.append(row)
    return {
        "unit": attribute.unit,
        "kind": bucketing.kind,
        "strategy": data.strategies[name],
        "zeta": plain(data.gold_values[name].zeta),
        "buckets": buckets,
        **self_diagnosis(buckets),
    }


def _crossed(
    data: Dataset, key: str, pair: tuple[str, str], tables: Mapping[str, Counts], found: Scored
) -> dict[str, Any]:
    counts = tables[f"cross {key}"]
    first, second = (data.bucketings[name] for name in pair)
    cells = []
    for place, (one, two) in enumerate(_bucket_pairs(first, second)):
        row = counts.total[place].tolist()
        if not any(row):
            continue
        scores = found.cells[("cross", key, counts.cells[place])]
        cells.append({"buckets": [one, two], **dict(zip(EXACT, row, strict=True)), **scores})
    return {"attributes": list(pair), "cells": cells}


def _bucket_pairs(first: Bucketing, second: Bucketing) -> list[tuple[str, str]]:
    return [(one.name, two.name) for one, two in product(first.buckets, second.buckets)]
