"""The result document but its sentences: scores, tests and findings from what was counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spanwise import __version__
from spanwise.description import SCHEMA
from spanwise.diagnosis import letters, slices
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._dataset import Facts
from spanwise.evaluation._system import Counted, system_document
from spanwise.evaluation._uncertain import tested
from spanwise.findings import findings
from spanwise.uncertainty import Resampling

FEW_UNITS = 60  # under which intervals cover less than they say


def summary_of(
    choices: Choices,
    facts: Facts,
    systems: Mapping[str, Counted],
    described: dict[str, Any],
    *,
    inputs: Sequence[Mapping[str, Any]],
    unit: str,
    units: int,
) -> dict[str, Any]:
    """Divide, resample, test and diagnose."""
    resampling = Resampling(units, choices.resamples, choices.seed)
    measures = {name: one.measures for name, one in systems.items()}
    found, comparisons = tested(
        measures,
        choices.pairs_of(list(systems)),
        resampling,
        confidence=choices.confidence,
        correction=choices.correction,
        unit=unit,
    )
    documents = {
        name: system_document(facts, one, found[name], choices.crosses) for name, one in systems.items()
    }
    for document in documents.values():
        document["slices"] = slices(document, described)
    summary: dict[str, Any] = {
        "spanwise": __version__,
        "schema": SCHEMA,
        "kind": "evaluation",
        "signature": "",
        "inputs": list(inputs),
        "settings": {
            **choices.to_dict(),
            "unit": unit,
            "units": units,
            "few_units": units < FEW_UNITS,
            "attributes": list(facts.bucketings),
            "buckets": dict(facts.strategies),
        },
        "dataset": described,
        "systems": documents,
        "comparisons": comparisons,
        "letters": letters(documents, comparisons) if len(documents) > 1 else {},
        "findings": [],
    }
    summary["signature"] = signature(summary)
    summary["findings"] = findings(summary)
    return summary


def signature(document: Mapping[str, Any]) -> str:
    """Every setting that shapes a number, in one line that can stand under a table."""
    settings, gold = document["settings"], document["inputs"][0]
    parts = [
        "spanwise",
        f"v:{document['spanwise']}",
        "match:exact+fair",
        f"focus:{settings['focus']}",
        f"scheme:{gold['scheme'] or gold['format']}",
        f"repair:{settings['repair']}",
        f"align:{settings['align']}",
        f"ci:bootstrap.{settings['unit']}.{settings['resamples']}",
        f"conf:{settings['confidence']}",
        f"seed:{settings['seed']}",
    ]
    if settings["resamples"] and len(document["systems"]) > 1:
        parts.append(f"test:randomisation.{settings['correction']}")
    if settings["attributes"]:
        parts.append(
            "attributes:"
            + "+".join(f"{name}[{settings['buckets'][name]}]" for name in settings["attributes"])
        )
    if settings["credits"]:
        parts.append("weights:" + "+".join(settings["credits"]))
    if settings["lowercase"]:
        parts.append("lowercase")
    if settings["vocabulary"] is not None:
        parts.append(f"vocabulary:{settings['vocabulary']}")
    if gold["sha256"]:
        parts.append(f"gold:{gold['sha256'][:8]}")
    return "|".join(parts).replace("\n", " ")
