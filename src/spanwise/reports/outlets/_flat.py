"""Scalars with stable names."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

from msgspec import UnsetType

from spanwise.document.evaluation import Evaluation
from spanwise.document.head import DocumentLike
from spanwise.document.loading import as_document
from spanwise.document.scores import Rates, SystemScores
from spanwise.document.study import Analyses, Study
from spanwise.reports._wording import ERRORS


def flat(document: DocumentLike) -> dict[str, float]:
    """The main scores as fractions under names that do not change between versions; undefined ones are NaN.

    `f1`, `precision`, `recall`, `accuracy`, `macro/f1`, `weighted/f1`, `fair/f1`, `gain/LE` …,
    `label/PER/f1` …, `tough/SEEN/recall` …, `attribute/entity_length/XL/f1` …; with several systems each
    name stands behind its system's, `crf/f1`. Of a study: `news/crf/f1/mean`, `news/crf/f1/std` and
    the same of tough mentions.

    Examples:
        >>> import spanwise
        >>> flat(spanwise.evaluate([["B-PER", "B-LOC"]], {"crf": [["B-PER", "O"]]}, resamples=0))["recall"]
        0.5
    """
    typed = as_document(document)
    if isinstance(typed, Study):
        return dict(_study(typed.analyses))
    if not isinstance(typed, Evaluation):
        return {}
    if len(typed.systems) == 1:
        return dict(_system(next(iter(typed.systems.values()))))
    return {f"{name}/{key}": value for name, one in typed.systems.items() for key, value in _system(one)}


def flat_json(document: DocumentLike) -> str:
    """The same as one JSON object, undefined scores null."""
    values = {name: None if math.isnan(value) else value for name, value in flat(document).items()}
    return json.dumps(values, ensure_ascii=False, indent=1 if values else None, allow_nan=False) + "\n"


def _number(value: float | UnsetType | None) -> float:
    return math.nan if value is None or isinstance(value, UnsetType) else float(value)


def _rates(rates: Rates) -> Iterator[tuple[str, float]]:
    yield "precision", _number(rates.precision)
    yield "recall", _number(rates.recall)
    yield "f1", _number(rates.f1)


def _system(system: SystemScores) -> Iterator[tuple[str, float]]:
    exact = system.exact
    yield from _rates(exact.overall)
    yield "accuracy", _number(exact.overall.accuracy)
    averages: dict[str, Rates] = {
        "macro": exact.macro,
        "weighted": exact.weighted,
        "fair": system.fair.overall,
    }
    for kind, rates in averages.items():
        yield from ((f"{kind}/{score}", value) for score, value in _rates(rates))
    for name, credit in (system.credits or {}).items():
        yield f"credit/{name}/f1", _number(credit.overall.f1)
    for kind in ERRORS:
        yield f"gain/{kind}", _number(system.gains.of(kind).gain)
    for label, scores in exact.labels.items():
        yield from ((f"label/{label}/{score}", value) for score, value in _rates(scores))
    for subset, recalls in system.tough.items():
        yield f"tough/{subset}/recall", _number(recalls.overall.recall)
    for attribute, table in system.attributes.items():
        for bucket in table.buckets:
            yield f"attribute/{attribute}/{bucket.name}/f1", _number(bucket.f1)


def _study(analyses: Analyses) -> Iterator[tuple[str, float]]:
    for system, datasets in analyses.holistic.items():
        for dataset, result in datasets.items():
            yield f"{dataset}/{system}/f1/mean", _number(result.mean)
            yield f"{dataset}/{system}/f1/std", _number(result.std)
    for system, parts in analyses.tough.items():
        for dataset, subsets in parts.items():
            for subset, recall in subsets.items():
                yield f"{dataset}/{system}/tough/{subset}/recall/mean", _number(recall.mean)
                yield f"{dataset}/{system}/tough/{subset}/recall/std", _number(recall.std)
