"""From what was counted to the document of an evaluation, whose sentences are written when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import UNSET, Struct, convert
from msgspec.structs import replace

from spanwise import __version__
from spanwise.corpus import Mentions
from spanwise.diagnosis import letters, with_leads
from spanwise.document import Input
from spanwise.document.dataset import DatasetFacts
from spanwise.document.evaluation import (
    AgreedMentions,
    Evaluation,
    ExampleCounts,
    Later,
    PackedMeasure,
    Sentence,
    UnitCounts,
)
from spanwise.document.head import Settings
from spanwise.document.scores import PRIMARY
from spanwise.evaluation._choices import Choices
from spanwise.evaluation._dataset import Facts
from spanwise.evaluation._inputs import Inputs, block_size
from spanwise.evaluation._leads import with_lead_intervals
from spanwise.evaluation._system import Counted, Evaluated, system_scores
from spanwise.evaluation._uncertain import packed, tested
from spanwise.findings import findings
from spanwise.intervals import FEW_UNITS
from spanwise.matching import Matching
from spanwise.settings import signed_parts
from spanwise.uncertainty import Resampling

Result = Evaluation


class Kept(Protocol):
    """What a result is made of beside its summary: counts always, mentions where they fit into memory."""

    @property
    def counted(self) -> Mapping[str, Counted]: ...
    @property
    def inputs(self) -> Inputs | None: ...
    def evaluated(self, name: str) -> Evaluated | None: ...
    def examples(self, settings: Settings) -> tuple[Sequence[Sentence], ExampleCounts]: ...
    def agreed(self, *, redact: bool) -> AgreedMentions | None: ...


class EvaluatedMentions(Struct, frozen=True, eq=False):
    """The mentions of one system, and what happened to each of them."""

    evaluated: Evaluated

    @property
    def matching(self) -> Matching:
        """For each gold and each predicted mention its outcome and its partner."""
        return self.evaluated.matching

    @property
    def gold(self) -> Mentions:
        """The gold mentions, in the order of the matching."""
        return self.evaluated.case.gold

    @property
    def predicted(self) -> Mentions:
        """The predicted mentions, in the order of the matching."""
        return self.evaluated.case.predicted


class KeptMentions(Struct, frozen=True, eq=False):
    """The mentions of an evaluation, where they were kept."""

    kept: Kept

    @property
    def inputs(self) -> Inputs | None:
        """What was read."""
        return self.kept.inputs

    def agreed(self, *, redact: bool) -> AgreedMentions | None:
        """The mentions of the sentences that have no error."""
        return self.kept.agreed(redact=redact)

    def system(self, name: str) -> EvaluatedMentions | None:
        """One system with its mentions."""
        evaluated = self.kept.evaluated(name)
        return None if evaluated is None else EvaluatedMentions(evaluated)


def result_of(summary: Evaluation, kept: Kept) -> Evaluation:
    """The document of an evaluation; sentences and counts per unit are made when they are asked for."""
    settings = summary.settings
    sentences, about = kept.examples(settings)
    units = UnitCounts(
        kind=settings.unit,
        number=settings.units,
        systems={name: _packed_later(one, settings.block or 1) for name, one in kept.counted.items()},
    )
    document = replace(summary, examples=about, units=units, sentences=sentences)
    return document.with_live(KeptMentions(kept))


def _packed_later(counted: Counted, block: int) -> Later[PackedMeasure]:
    return Later(lambda: packed([measure.in_blocks(block) for measure in counted.measures]))


UNMARKED = (
    "The data mark no documents, so sentences are taken as independent. Where they come from documents, "
    "intervals are too narrow and tests reject too often: name the documents (--documents FIELD) "
    "or take blocks of sentences (--unit block:20)."
)


def summary_of(
    choices: Choices,
    facts: Facts,
    systems: Mapping[str, Counted],
    described: Mapping[str, Any],
    *,
    inputs: Sequence[Mapping[str, Any]],
    unit: str,
    units: int,
    memory: int | None = None,
) -> Evaluation:
    """Divide, resample, test and diagnose; units that are blocks are joined from sentences here."""
    size = block_size(choices.unit)
    notes = (UNMARKED,) if unit == "sentence" and choices.unit is None and choices.resamples else UNSET
    if size > 1:
        unit, units = "block", -(-units // size)
    measures = {name: [measure.in_blocks(size) for measure in one.measures] for name, one in systems.items()}
    found, comparisons = tested(
        measures,
        choices.pairs_of(list(systems)),
        Resampling(units, choices.resamples, choices.seed, memory),
        confidence=choices.confidence,
        correction=choices.correction,
        primary=PRIMARY[choices.primary],
        unit=unit,
    )
    dataset = convert(described, DatasetFacts)
    scores = {
        name: system_scores(facts, one, found[name], choices.crosses, dataset.mentions)
        for name, one in systems.items()
    }
    ranking = {name: one.primary(choices.primary) for name, one in scores.items()}
    summary = Evaluation(
        spanwise=__version__,
        inputs=convert(inputs, tuple[Input, ...]),
        settings=Settings(
            **choices.to_dict(),
            unit=unit,
            units=units,
            few_units=units < FEW_UNITS,
            block=size if size > 1 else UNSET,
            attributes=tuple(facts.bucketings),
            buckets=dict(facts.strategies),
        ),
        dataset=dataset,
        systems=scores,
        comparisons=with_lead_intervals(
            with_leads(comparisons, scores), measures, units if choices.resamples else 0, choices.confidence
        ),
        letters=letters(ranking, comparisons, path=PRIMARY[choices.primary]) if len(ranking) > 1 else {},
        notes=notes,
    )
    return replace(summary, signature=signature(summary), findings=findings(summary))


def signature(document: Evaluation) -> str:
    """Every setting that shapes a number, in one line that can stand under a table."""
    settings, gold = document.settings, document.inputs[0]
    others = {"scheme": f"scheme:{gold.scheme or gold.format}"}
    if settings.resamples and len(document.systems) > 1:
        second = "maxt" if settings.correction == "holm" else settings.correction
        others["correction"] = f"test:randomisation.{settings.resamples}.{settings.correction}+{second}"
    parts = ["spanwise", f"v:{document.spanwise}", *signed_parts(settings, others)]
    placed = {str(row.evidence) for row in document.inputs if row.format == "answers"}
    parts += [f"answers[{how}]" for how in sorted(placed)]
    if gold.sha256:
        parts.append(f"gold:{gold.sha256[:8]}")
    return "|".join(parts).replace("\n", " ")
