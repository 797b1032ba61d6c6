"""Results in the structure of nervaluate 1.x: counts under four schemes, overall and per label.

nervaluate pairs mentions in the order of the predictions, so a prediction that only overlaps a
gold mention can take it away from a later prediction that equals it. Here the best pairs are
matched first; the numbers agree if every mention overlaps at most one on the other side.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property
from itertools import compress
from typing import TypedDict

import numpy as np
from msgspec import Struct

from spanwise.columns import Small
from spanwise.corpus import Mentions
from spanwise.document.evaluation import SystemResult
from spanwise.matching import CATEGORIES, OUTCOMES, SCHEMES, match, relaxed_counts, relaxed_scores

# The name of each scheme in nervaluate.
NAMES = {"strict": "strict", "partial": "partial", "type": "ent_type", "exact": "exact"}
INDICES = tuple(f"{name}_indices" for name in CATEGORIES)


class EvaluationResult(Struct, frozen=True):
    """The counts and scores of one scheme under nervaluate's names; undefined scores are 0, as there."""

    correct: int = 0
    incorrect: int = 0
    partial: int = 0
    missed: int = 0
    spurious: int = 0
    precision: float = 0.0
    recall: float = 0.0
    f1: float = 0.0
    actual: int = 0
    possible: int = 0


class EvaluationIndices:
    """The mentions of each category as pairs: (sentence, number of the mention in it).

    Missed mentions are numbered among gold mentions, all others among predictions. Lists are computed lazily.
    """

    def __init__(self, gold: _Places, predicted: _Places, scheme: str) -> None:
        self._gold, self._predicted = gold, predicted
        self._kinds = SCHEMES[scheme]

    @cached_property
    def correct_indices(self) -> list[tuple[int, int]]:
        """The predictions that count as correct."""
        return self._of("correct")

    @cached_property
    def incorrect_indices(self) -> list[tuple[int, int]]:
        """The predictions that overlap a gold mention but count as incorrect."""
        return self._of("incorrect")

    @cached_property
    def partial_indices(self) -> list[tuple[int, int]]:
        """The predictions that count half."""
        return self._of("partial")

    @cached_property
    def missed_indices(self) -> list[tuple[int, int]]:
        """The gold mentions not paired with any prediction."""
        return self._gold.of({"FN"})

    @cached_property
    def spurious_indices(self) -> list[tuple[int, int]]:
        """The predictions not paired with any gold mention."""
        return self._predicted.of({"FP"})

    def _of(self, category: str) -> list[tuple[int, int]]:
        return self._predicted.of({kind for kind, name in self._kinds.items() if name == category})

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in INDICES)
        return f"EvaluationIndices({shown})"


class Structure(TypedDict):
    """What nervaluate returns: scores by scheme, for all mentions and for each label."""

    overall: dict[str, EvaluationResult]
    entities: dict[str, dict[str, EvaluationResult]]
    overall_indices: dict[str, EvaluationIndices]
    entity_indices: dict[str, dict[str, EvaluationIndices]]


def to_nervaluate(system: SystemResult) -> Structure:
    """Return what `nervaluate.Evaluator(...).evaluate()` returns, for one system of a result.

    Examples:
        >>> from spanwise.evaluation import evaluate
        >>> result = evaluate([["B-PER", "I-PER", "O"]], {"mine": [["B-PER", "O", "O"]]}, resamples=0)
        >>> result.to_nervaluate("mine")["overall"]["partial"].f1
        0.5
    """
    return structure(system.gold, system.predicted)


def structure(gold: Mentions, predicted: Mentions) -> Structure:
    """Build the structure from gold and predicted mentions that share one list of labels.

    The numbers of a label only consider the mentions with that label on both sides.
    """
    overall, indices = _schemes(gold, predicted)
    entities: dict[str, dict[str, EvaluationResult]] = {}
    entity_indices: dict[str, dict[str, EvaluationIndices]] = {}
    for code, label in enumerate(gold.labels):
        in_gold, in_predicted = gold.label == code, predicted.label == code
        if in_gold.any() or in_predicted.any():
            entities[label], entity_indices[label] = _schemes(
                gold.take(in_gold), predicted.take(in_predicted)
            )
    return {
        "overall": overall,
        "entities": entities,
        "overall_indices": indices,
        "entity_indices": entity_indices,
    }


def _schemes(
    gold: Mentions, predicted: Mentions
) -> tuple[dict[str, EvaluationResult], dict[str, EvaluationIndices]]:
    matching = match(gold, predicted, matcher="overlap")
    events = matching.events()
    counts = relaxed_counts(np.bincount(events.outcome, minlength=len(OUTCOMES)))
    results, indices = {}, {}
    sides = _Places(gold, matching.gold_outcome), _Places(predicted, matching.predicted_outcome)
    for scheme, name in NAMES.items():
        correct, incorrect, partial, missed, spurious = (int(count) for count in counts[scheme])
        scores = {key: float(np.nan_to_num(value)) for key, value in relaxed_scores(counts[scheme]).items()}
        results[name] = EvaluationResult(
            correct=correct,
            incorrect=incorrect,
            partial=partial,
            missed=missed,
            spurious=spurious,
            precision=scores["precision"],
            recall=scores["recall"],
            f1=scores["f1"],
            actual=int(scores["actual"]),
            possible=int(scores["possible"]),
        )
        indices[name] = EvaluationIndices(*sides, scheme)
    return results, indices


class _Places:
    """The mentions of one side as pairs (sentence, number of the mention in it), with their outcomes."""

    def __init__(self, mentions: Mentions, outcome: Small) -> None:
        self._sentence, self._outcome = mentions.sentence, outcome

    @cached_property
    def _pairs(self) -> list[tuple[int, int]]:
        sentence = self._sentence
        within = np.arange(len(sentence)) - np.searchsorted(sentence, sentence, side="left")
        return list(zip(sentence.tolist(), within.tolist(), strict=True))

    def of(self, kinds: Set[str]) -> list[tuple[int, int]]:
        """The mentions whose outcome is of one of these kinds."""
        member = np.array([outcome.rstrip("slo") in kinds for outcome in OUTCOMES])
        return list(compress(self._pairs, member[self._outcome].tobytes()))
