"""A scorer for Inspect: `span_f1` counts the mentions of each sample, and its metrics divide over the corpus.

Inspect finds it by its entry point: `inspect score log.eval --scorer spanwise/span_f1`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
from inspect_ai.solver import TaskState

from spanwise.scorers import CorpusScore, corpus_score, count_sample

NAMES = ("gold", "predicted", "correct", "unread")


def corpus(scores: Sequence[SampleScore]) -> CorpusScore:
    """The scores of all samples of `span_f1` together.

    Of several epochs, Inspect gives the mean of the counts of each sample. F1 is the same for all multiples
    of the counts, so they are multiplied by the number that makes them whole again.
    """
    values = [score.score.value for score in scores]
    means = [
        [Fraction(float(value[name])).limit_denominator(1000) for name in NAMES]
        for value in values
        if isinstance(value, Mapping)
    ]
    factor = math.lcm(*(mean.denominator for row in means for mean in row[:3]))
    return corpus_score([*(int(mean * factor) for mean in row[:3]), int(row[3] > 0)] for row in means)


def _corpus_metric(name: str) -> Callable[[], Metric]:
    def make() -> Metric:
        def compute(scores: list[SampleScore]) -> float:
            value = getattr(corpus(scores), name)
            return math.nan if value is None else float(value)

        return compute

    return metric(name=f"corpus_{name}")(make)


METRICS = [
    _corpus_metric(name)() for name in ("f1", "stderr", "low", "high", "precision", "recall", "unread")
]


@scorer(metrics=METRICS)
def span_f1(
    text: str = "text",
    labels: Sequence[str] = (),
    policy: Any = "ordered",
    level: Any = "fuzzy",
    threshold: float = 0.85,
) -> Scorer:
    """Count the mentions in the output of a sample against its target, which is JSON in any shape of answers.

    Args:
        text: the key of the text in the sample's metadata; if there is none, the input is the text.
        labels, policy, level, threshold: as in `spanwise.scorers.count_sample`.
    """

    async def score(state: TaskState, target: Target) -> Score:
        given, answer = state.metadata.get(text, state.input_text), state.output.completion
        counts = count_sample(
            given, target.text, answer, labels=labels, policy=policy, level=level, threshold=threshold
        )
        value: dict[str, str | int | float | bool | None] = dict(zip(NAMES, counts.row, strict=True))
        return Score(value=value, answer=answer, explanation=f"response {counts.status}")

    return score
