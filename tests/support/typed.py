"""Typed parts of documents, built from the values a test gives; the rest is filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import UnsetType

import spanwise
from spanwise.document import Document
from spanwise.document.dataset import DatasetFacts
from spanwise.document.evaluation import DatasetRuns
from spanwise.document.scores import BucketScores, SystemScores

Plain: TypeAlias = dict[str, Any]  # the content of a document, as JSON has it

T = TypeVar("T")
D = TypeVar("D", bound=Document)

_RATES = {"precision": None, "recall": None, "f1": None}
_COUNTS = {"gold": 0, "predicted": 0, "correct": 0}
_FAIR = dict.fromkeys(("TP", "FP", "FN", "LE", "BE", "BEs", "BEl", "BEo", "LBE"), 0)
_DIAGNOSIS = {"unit": "mention", "spearman": None, "std": None, "best": None, "worst": None, "gap": None}
_DATASET = {"name": "d", "sentences": 1, "documents": None, "tokens": None, "mentions": 1, "labels": {}}


def present(value: T | UnsetType | None) -> T:
    """A value that must be defined and present in its document."""
    assert value is not None and not isinstance(value, UnsetType)
    return value


def loaded(path: Path, kind: type[D]) -> D:
    """The document in a file, which must be of this kind."""
    document = spanwise.load(path)
    assert isinstance(document, kind)
    return document


def changed(document: D, path: Sequence[str], value: object) -> D:
    """A copy of the document with a new value at a path, such as ("systems", "mine", "exact")."""
    content: Plain = plain(document)
    *outer, last = path
    node = content
    for key in outer:
        node = node[key]
    node[last] = value
    return msgspec.convert(content, type(document))


def plain(value: Any) -> Any:
    """A typed value as plain dicts and lists."""
    return msgspec.json.decode(msgspec.json.encode(value))


def typed_buckets(rows: Sequence[Mapping[str, Any]]) -> tuple[BucketScores, ...]:
    """Buckets for which a test gives the name and a score."""
    return msgspec.convert([{**_COUNTS, **_RATES, **row} for row in rows], tuple[BucketScores, ...])


def typed_system(content: Mapping[str, Any]) -> SystemScores:
    """A system for which a test gives labels, subsets or attributes."""
    exact, average = content["exact"], {**_RATES, "labels": 0}
    filled = {
        "exact": {
            "overall": {**_COUNTS, **_RATES, **exact["overall"]},
            "macro": average,
            "weighted": average,
            "labels": {name: {**_COUNTS, **_RATES, **row} for name, row in exact.get("labels", {}).items()},
        },
        "fair": {"overall": {**_FAIR, **_RATES}, "labels": {}},
        "gains": {kind: {"gain": None} for kind in ("LE", "BE", "LBE", "FN", "FP")},
        "confusion": {"labels": [], "counts": [], "missed": [], "spurious": []},
        "tough": {name: _subset(row) for name, row in content.get("tough", {}).items()},
        "attributes": {
            name: {**_DIAGNOSIS, **table, "buckets": plain(typed_buckets(table["buckets"]))}
            for name, table in content.get("attributes", {}).items()
        },
        "slices": [],
    }
    return msgspec.convert(filled, SystemScores)


def _subset(content: Mapping[str, Any]) -> dict[str, Any]:
    none = {"mentions": 0, "correct": 0, "recall": None}
    labels = {name: {**none, **row} for name, row in content.get("labels", {}).items()}
    return {**content, "overall": {**none, **content["overall"]}, "labels": labels}


def typed_facts(**content: object) -> DatasetFacts:
    """A dataset for which a test gives ζ or sizes."""
    return msgspec.convert({**_DATASET, "zeta": {}, **content}, DatasetFacts)


def typed_datasets(content: Mapping[str, Any]) -> dict[str, DatasetRuns]:
    """The datasets of a study for which a test gives runs and ζ."""
    return {
        name: DatasetRuns(
            dataset=typed_facts(**part["dataset"]),
            runs={
                system: {run: typed_system(scores) for run, scores in runs.items()}
                for system, runs in part["runs"].items()
            },
        )
        for name, part in content.items()
    }
