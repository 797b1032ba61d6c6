"""The document of an evaluation but its sentences: scores, tests and findings from what was counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import convert
from msgspec.structs import replace

from spanwise import __version__
from spanwise.diagnosis import letters
from spanwise.document import Input
from spanwise.document.dataset import DatasetFacts
from spanwise.document.evaluation import Evaluation
from spanwise.document.settings import Settings
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._dataset import Facts
from spanwise.evaluation._system import Counted, system_scores
from spanwise.evaluation._uncertain import tested
from spanwise.findings import findings
from spanwise.uncertainty import Resampling

FEW_UNITS = 60  # under which intervals cover less than they say


def summary_of(
    choices: Choices,
    facts: Facts,
    systems: Mapping[str, Counted],
    described: Mapping[str, Any],
    *,
    inputs: Sequence[Mapping[str, Any]],
    unit: str,
    units: int,
) -> Evaluation:
    """Divide, resample, test and diagnose."""
    found, comparisons = tested(
        {name: one.measures for name, one in systems.items()},
        choices.pairs_of(list(systems)),
        Resampling(units, choices.resamples, choices.seed),
        confidence=choices.confidence,
        correction=choices.correction,
        unit=unit,
    )
    dataset = convert(described, DatasetFacts)
    scores = {
        name: system_scores(facts, one, found[name], choices.crosses, dataset.mentions)
        for name, one in systems.items()
    }
    f1 = {name: one.exact.overall.f1 for name, one in scores.items()}
    summary = Evaluation(
        spanwise=__version__,
        inputs=convert(inputs, tuple[Input, ...]),
        settings=Settings(
            **choices.to_dict(),
            unit=unit,
            units=units,
            few_units=units < FEW_UNITS,
            attributes=tuple(facts.bucketings),
            buckets=dict(facts.strategies),
        ),
        dataset=dataset,
        systems=scores,
        comparisons=comparisons,
        letters=letters(f1, comparisons) if len(f1) > 1 else {},
    )
    return replace(summary, signature=signature(summary), findings=findings(summary))


def signature(document: Evaluation) -> str:
    """Every setting that shapes a number, in one line that can stand under a table."""
    settings, gold = document.settings, document.inputs[0]
    parts = [
        "spanwise",
        f"v:{document.spanwise}",
        "match:exact+fair",
        f"focus:{settings.focus}",
        f"scheme:{gold.scheme or gold.format}",
        f"repair:{settings.repair}",
        f"align:{settings.align}",
        f"ci:bootstrap.{settings.unit}.{settings.resamples}",
        f"conf:{settings.confidence}",
        f"seed:{settings.seed}",
    ]
    if settings.resamples and len(document.systems) > 1:
        parts.append(f"test:randomisation.{settings.correction}")
    if settings.attributes:
        cuts = (f"{name}[{settings.buckets[name]}]" for name in settings.attributes)
        parts.append("attributes:" + "+".join(cuts))
    if settings.credits:
        parts.append("weights:" + "+".join(settings.credits))
    if settings.lowercase:
        parts.append("lowercase")
    if settings.vocabulary is not None:
        parts.append(f"vocabulary:{settings.vocabulary}")
    placed = {str(row.evidence) for row in document.inputs if row.format == "answers"}
    parts += [f"answers[{how}]" for how in sorted(placed)]
    if gold.sha256:
        parts.append(f"gold:{gold.sha256[:8]}")
    return "|".join(parts).replace("\n", " ")
