"""Scalars with stable names."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from spanwise.document.head import Document, plain_of
from spanwise.reports._wording import ERRORS, defined

SCORES = ("precision", "recall", "f1")


def flat(document: Mapping[str, Any] | Document) -> dict[str, float]:
    """The main scores as fractions under names that do not change between versions; undefined ones are NaN.

    `f1`, `precision`, `recall`, `accuracy`, `macro/f1`, `weighted/f1`, `fair/f1`, `gain/LE` …,
    `label/PER/f1` …, `tough/SEEN/recall` …, `attribute/entity_length/XL/f1` …; with several systems each
    name stands behind its system's, `crf/f1`. Of a study: `news/crf/f1/mean`, `news/crf/f1/std` and
    the same of tough mentions.

    Examples:
        >>> scores = {"precision": 1.0, "recall": 0.5, "f1": 2 / 3}
        >>> flat({"systems": {"crf": {"exact": {"overall": scores, "labels": {}}}}})["recall"]
        0.5
    """
    document = plain_of(document)
    if "analyses" in document:
        return dict(_study(document["analyses"]))
    systems: Mapping[str, Any] = document.get("systems") or {}
    if len(systems) == 1:
        return dict(_system(next(iter(systems.values()))))
    return {f"{name}/{key}": value for name, one in systems.items() for key, value in _system(one)}


def flat_json(document: Mapping[str, Any] | Document) -> str:
    """The same as one JSON object, undefined scores null."""
    document = plain_of(document)
    values = {name: None if math.isnan(value) else value for name, value in flat(document).items()}
    return json.dumps(values, ensure_ascii=False, indent=1 if values else None, allow_nan=False) + "\n"


def _number(value: Any) -> float:
    return float(value) if defined(value) else math.nan


def _system(system: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    exact = system["exact"]
    for score in SCORES:
        yield score, _number(exact["overall"].get(score))
    yield "accuracy", _number(exact["overall"].get("accuracy"))
    for kind in ("macro", "weighted"):
        for score in SCORES:
            yield f"{kind}/{score}", _number((exact.get(kind) or {}).get(score))
    fair = (system.get("fair") or {}).get("overall") or {}
    for score in SCORES:
        yield f"fair/{score}", _number(fair.get(score))
    for name, credit in (system.get("credits") or {}).items():
        yield f"credit/{name}/f1", _number(credit["overall"].get("f1"))
    for kind in ERRORS:
        yield f"gain/{kind}", _number(((system.get("gains") or {}).get(kind) or {}).get("gain"))
    for label, cell in exact["labels"].items():
        for score in SCORES:
            yield f"label/{label}/{score}", _number(cell.get(score))
    for subset, cell in (system.get("tough") or {}).items():
        yield f"tough/{subset}/recall", _number(cell["overall"].get("recall"))
    for attribute, found in (system.get("attributes") or {}).items():
        for bucket in found["buckets"]:
            yield f"attribute/{attribute}/{bucket['name']}/f1", _number(bucket.get("f1"))


def _study(analyses: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for system, datasets in (analyses.get("holistic") or {}).items():
        for dataset, cell in datasets.items():
            for key in ("mean", "std"):
                yield f"{dataset}/{system}/f1/{key}", _number(cell.get(key))
    for system, datasets in (analyses.get("tough") or {}).items():
        for dataset, subsets in datasets.items():
            for subset, cell in subsets.items():
                for key in ("mean", "std"):
                    yield f"{dataset}/{system}/tough/{subset}/recall/{key}", _number(cell.get(key))
