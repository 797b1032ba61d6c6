"""Results in the structure of nervaluate 1.x: four schemes of counts, overall and per label.

nervaluate pairs mentions in the order of the predictions, so a prediction that overlaps a gold
mention takes it away from a later one that equals it. Here pairs are made best first: the
numbers are equal wherever every mention overlaps at most one of the other side.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from spanwise.columns import Bools, Ints
from spanwise.corpus import Mentions
from spanwise.matching import OUTCOMES, match
from spanwise.matching.overlap import SCHEMES, relaxed_counts, relaxed_scores
from spanwise.records import record

# nervaluate's name of each scheme.
NAMES = {"strict": "strict", "partial": "partial", "type": "ent_type", "exact": "exact"}


@record
class EvaluationResult:
    """The counts of one scheme and its scores, under nervaluate's names; what is undefined is 0, as there."""

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


@record
class EvaluationIndices:
    """Where the mentions of each category are: (sentence, number of the mention in it).

    Missed mentions count gold ones, all others predicted ones.
    """

    correct_indices: list[tuple[int, int]] = field(default_factory=list)
    incorrect_indices: list[tuple[int, int]] = field(default_factory=list)
    partial_indices: list[tuple[int, int]] = field(default_factory=list)
    missed_indices: list[tuple[int, int]] = field(default_factory=list)
    spurious_indices: list[tuple[int, int]] = field(default_factory=list)


def to_nervaluate(system: Any) -> dict[str, Any]:
    """What `nervaluate.Evaluator(...).evaluate()` gives back, for one system of a result.

    Examples:
        >>> from spanwise.evaluation import evaluate
        >>> result = evaluate([["B-PER", "I-PER", "O"]], {"mine": [["B-PER", "O", "O"]]}, resamples=0)
        >>> result.to_nervaluate("mine")["overall"]["partial"].f1
        0.5
    """
    return structure(system.gold, system.predicted)


def structure(gold: Mentions, predicted: Mentions) -> dict[str, Any]:
    """The structure of gold and predicted mentions that share one list of labels.

    The numbers of a label are those of its own mentions, the others left out on both sides.
    """
    overall, indices = _schemes(gold, predicted)
    entities: dict[str, Any] = {}
    entity_indices: dict[str, Any] = {}
    for code, label in enumerate(gold.labels):
        mine, theirs = gold.label == code, predicted.label == code
        if mine.any() or theirs.any():
            entities[label], entity_indices[label] = _schemes(gold.take(mine), predicted.take(theirs))
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
    sides = _Places(gold), _Places(predicted)
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
        indices[name] = _indices(sides, matching.gold_outcome, matching.predicted_outcome, scheme)
    return results, indices


class _Places:
    """The mentions of one side as (sentence, number of the mention in it)."""

    def __init__(self, mentions: Mentions) -> None:
        self._sentence: Ints = mentions.sentence
        first = np.searchsorted(self._sentence, self._sentence, side="left")
        self._within = np.arange(len(self._sentence)) - first

    def of(self, chosen: Bools) -> list[tuple[int, int]]:
        """Those of the chosen mentions."""
        return list(zip(self._sentence[chosen].tolist(), self._within[chosen].tolist(), strict=True))


def _indices(
    sides: tuple[_Places, _Places], gold_outcome: Any, predicted_outcome: Any, scheme: str
) -> EvaluationIndices:
    gold, predicted = sides

    def of(category: str) -> list[tuple[int, int]]:
        kinds = {kind for kind, name in SCHEMES[scheme].items() if name == category}
        member: Bools = np.array([outcome.rstrip("slo") in kinds for outcome in OUTCOMES])
        return predicted.of(np.asarray(member[predicted_outcome]))

    return EvaluationIndices(
        correct_indices=of("correct"),
        incorrect_indices=of("incorrect"),
        partial_indices=of("partial"),
        missed_indices=gold.of(np.asarray(gold_outcome == OUTCOMES.index("FN"))),
        spurious_indices=predicted.of(np.asarray(predicted_outcome == OUTCOMES.index("FP"))),
    )
