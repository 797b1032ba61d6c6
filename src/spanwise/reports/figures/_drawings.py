"""All charts that a document has the numbers for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from spanwise.reports._charts import agreement, confidence, diagnosis, errors, evaluation, study, where
from spanwise.reports._charts.marks import Drawing
from spanwise.reports._charts.style import Style

STYLE = Style()


def drawings(document: Mapping[str, Any]) -> list[Drawing]:
    """The drawings of an evaluation, a study or of confidence scores, each with its legend."""
    if document.get("kind") == "confidence":
        return confidence.drawings(document, STYLE)
    if document.get("kind") == "agreement":
        return agreement.drawings(document, STYLE)
    if document.get("kind") in ("slices", "suspects", "placement"):
        return []
    return of_study(document) if "analyses" in document else of_evaluation(document)


def of_evaluation(document: Mapping[str, Any]) -> list[Drawing]:
    """Charts of all systems first, then those of each one."""
    if not document.get("systems"):
        return []
    order = evaluation.shown(document)
    legend = tuple(enumerate(order))
    attributes = dict.fromkeys(a for name in order for a in document["systems"][name].get("attributes") or {})
    found: list[Drawing | None] = [evaluation.score(document, STYLE)]
    if evaluation.label_order(document):
        found.append(replace(where.labels(document, STYLE), legend=legend))
    found += [replace(where.attribute(document, name, STYLE), legend=legend) for name in attributes]
    for name in order:
        several = (
            errors.gains(document, name, STYLE), where.tough(document, name, STYLE),
            where.slices(document, name, STYLE), diagnosis.diagnosis(document, name, STYLE),
        )  # fmt: skip
        found += [replace(one, name=f"{one.name}-{name}", legend=legend) for one in several if one]
        alone = (errors.shares(document, name, STYLE), errors.confusion(document, name, STYLE))
        found += [replace(one, name=f"{one.name}-{name}") for one in alone]
    return [one for one in found if one is not None]


def of_study(document: Mapping[str, Any]) -> list[Drawing]:
    """Scores, what the datasets are like, what drives difficulty, and what each pair gains."""
    systems = tuple(enumerate(study.systems(document)))
    datasets = tuple(enumerate(document["datasets"]))
    found = [replace(study.holistic(document, STYLE), legend=systems)]
    zeta, rho = study.radar(document, "zeta", STYLE), study.radar(document, "rho1", STYLE)
    several = [zeta, rho and replace(rho, name="radar-rho"), study.drivers(document, STYLE)]
    found += [replace(one, legend=datasets) for one in several if one]
    lines = [study.factor(document, name, STYLE) for name in document["analyses"].get("factors") or {}]
    found += [one for one in lines if one]
    pairs = (document["analyses"].get("bucket_wise") or {}).get("comparative") or []
    found += [one for pair in pairs if (one := study.increase(pair, STYLE))]
    return found
