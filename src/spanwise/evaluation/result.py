"""From what was counted to the document of an evaluation, whose sentences are written when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from spanwise.corpus import Mentions
from spanwise.document.evaluation import Evaluation
from spanwise.document.sentences import ExampleCounts, Later, PackedMeasure, Sentence, UnitCounts
from spanwise.document.settings import Settings
from spanwise.evaluation._inputs import Inputs
from spanwise.evaluation._system import Counted, Evaluated
from spanwise.evaluation._units import packed
from spanwise.matching import Matching

Result = Evaluation


class Kept(Protocol):
    """What a result is made of beside its summary: counts always, mentions where they fit into memory."""

    @property
    def counted(self) -> Mapping[str, Counted]: ...
    @property
    def inputs(self) -> Inputs | None: ...
    def evaluated(self, name: str) -> Evaluated | None: ...
    def examples(self, settings: Settings) -> tuple[Sequence[Sentence], ExampleCounts]: ...


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
