"""Build the document of an evaluation from its counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import UNSET, Struct, convert
from msgspec.structs import replace

from spanwise import __version__
from spanwise.corpus import Mentions
from spanwise.diagnosis import letters, with_leads
from spanwise.document import Input, Settings
from spanwise.document.dataset import DatasetFacts
from spanwise.document.evaluation import (
    Evaluation,
    ExampleCounts,
    Later,
    LiveEvaluation,
    MentionCodes,
    PackedMeasure,
    Sentence,
    UnitCounts,
)
from spanwise.document.scores import PRIMARY
from spanwise.evaluation._choices import Choices, Inputs, block_size
from spanwise.evaluation._counting import Whole
from spanwise.evaluation._system import Counted, Evaluated, system_scores
from spanwise.evaluation._uncertain import pack_measures, score_and_test, with_lead_intervals
from spanwise.findings import findings
from spanwise.intervals import FEW_UNITS
from spanwise.matching import Matching
from spanwise.settings import signed_parts
from spanwise.uncertainty import Resampling

Result = Evaluation


class ResultParts(Protocol):
    """What a result needs besides its summary: the counts and, if they fit into memory, the mentions."""

    @property
    def counted(self) -> Mapping[str, Counted]: ...
    @property
    def inputs(self) -> Inputs | None: ...
    def evaluated(self, name: str) -> Evaluated | None: ...
    def examples(self, settings: Settings) -> tuple[Sequence[Sentence], ExampleCounts]: ...
    def codes(self, block: int) -> MentionCodes: ...


class EvaluatedMentions(Struct, frozen=True, eq=False):
    """The gold and predicted mentions of one system, and the outcome of each of them."""

    evaluated: Evaluated

    @property
    def matching(self) -> Matching:
        """The outcome and the partner of each gold and each predicted mention."""
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
    """The inputs and mentions of an evaluation, if they are still in memory."""

    kept: ResultParts

    @property
    def inputs(self) -> Inputs | None:
        """The data that was read; None if it was evaluated in parts."""
        return self.kept.inputs

    def system(self, name: str) -> EvaluatedMentions | None:
        """One system with its mentions; None if they were not kept."""
        evaluated = self.kept.evaluated(name)
        return None if evaluated is None else EvaluatedMentions(evaluated)


def result_of(
    choices: Choices,
    whole: Whole,
    kept: ResultParts,
    *,
    training: Sequence[Input],
    unit: str,
    memory: int | None = None,
) -> Evaluation:
    """Build the document of an evaluation from its counts.

    Sentences, mentions and counts per unit are taken from `kept`, and computed only when they are accessed.

    Args:
        training: the entries that describe the training data in `inputs`.
        unit: what is resampled, "sentence" or "document".
        memory: a bound on the memory for resampling, in bytes; it does not change any number.
    """
    summary = _summary_of(choices, whole, training=training, unit=unit, memory=memory)
    settings = summary.settings
    sentences, about = kept.examples(settings)
    units = UnitCounts(
        kind=settings.unit,
        number=settings.units,
        systems={name: _packed_later(counted, settings.block or 1) for name, counted in kept.counted.items()},
    )
    codes = kept.codes(settings.block or 1)
    document = replace(summary, examples=about, units=units, mentions=codes, sentences=sentences)
    keys = {key: getattr(document, key) for key in Evaluation.__struct_fields__}
    return LiveEvaluation(**keys, live=KeptMentions(kept))


def _packed_later(counted: Counted, block: int) -> Later[PackedMeasure]:
    return Later(lambda: pack_measures([measure.in_blocks(block) for measure in counted.measures]))


UNMARKED = (
    "The data mark no documents, so sentences are treated as independent. If they come from documents, "
    "intervals are too narrow and tests reject too often: name the documents ({documents}) "
    "or use blocks of sentences ({unit})."
)


def _summary_of(
    choices: Choices,
    whole: Whole,
    *,
    training: Sequence[Input],
    unit: str,
    memory: int | None,
) -> Evaluation:
    """The document of an evaluation, but without sentences, mentions and counts per unit."""
    systems, units = whole.counted, whole.units
    size = block_size(choices.unit)
    unmarked = UNMARKED.format(documents="--documents FIELD", unit="--unit block:20")
    notes = (unmarked,) if unit == "sentence" and choices.unit is None and choices.resamples else UNSET
    if size > 1:  # consecutive sentences are joined into blocks
        unit, units = "block", -(-units // size)
    measures = {
        name: [measure.in_blocks(size) for measure in system.measures] for name, system in systems.items()
    }
    scored, comparisons = score_and_test(
        measures,
        choices.pairs_of(list(systems)),
        Resampling(units, choices.resamples, choices.seed, memory),
        confidence=choices.confidence,
        correction=choices.correction,
        primary=PRIMARY[choices.primary],
        unit=unit,
    )
    dataset = convert(whole.described, DatasetFacts)
    scores = {
        name: system_scores(whole.facts, system, scored[name], choices.crosses, dataset.mentions)
        for name, system in systems.items()
    }
    ranking = {name: score.primary(choices.primary) for name, score in scores.items()}
    summary = Evaluation(
        spanwise=__version__,
        inputs=(*whole.entries, *training),
        settings=Settings(
            **choices.to_dict(),
            unit=unit,
            units=units,
            few_units=units < FEW_UNITS,
            block=size if size > 1 else UNSET,
            attributes=tuple(whole.facts.bucketings),
            buckets=dict(whole.facts.strategies),
        ),
        dataset=dataset,
        systems=scores,
        comparisons=with_lead_intervals(
            with_leads(comparisons, {name: [score] for name, score in scores.items()}),
            {name: [own] for name, own in measures.items()},
            units if choices.resamples else 0,
            choices.confidence,
        ),
        letters=letters(ranking, comparisons, path=PRIMARY[choices.primary]) if len(ranking) > 1 else {},
        notes=notes,
    )
    return replace(summary, signature=signature(summary), findings=findings(summary))


def signature(document: Evaluation) -> str:
    """Every setting that affects a number, in one line that can be printed under a table."""
    settings, gold = document.settings, document.inputs[0]
    tests = ""
    if settings.resamples and len(document.systems) > 1:
        second = "maxt" if settings.correction == "holm" else settings.correction
        tests = f"test:randomisation.{settings.resamples}.{settings.correction}+{second}"
    parts = signature_parts(settings, document.inputs, tests)
    if gold.sha256:
        parts.append(f"gold:{gold.sha256[:8]}")
    return signature_of(parts)


def signature_parts(settings: Settings, inputs: Sequence[Input], tests: str = "") -> list[str]:
    """The parts of a signature that several datasets can share: settings, `tests` and how files were read."""
    others = {"scheme": f"scheme:{inputs[0].scheme or inputs[0].format}", "correction": tests}
    placed = {str(row.evidence) for row in inputs if row.format == "answers"}
    answers = [f"answers[{how}]" for how in sorted(placed)]
    return [f"v:{__version__}", *signed_parts(settings, others), *answers]


def signature_of(parts: Iterable[str]) -> str:
    """Join the parts of a signature into one line."""
    return "|".join(["spanwise", *parts]).replace("\n", " ")
