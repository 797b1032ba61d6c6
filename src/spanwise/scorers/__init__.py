"""Scorers for evaluation harnesses: counts per sample, which are added up and divided once for the corpus.

A harness averages the scores of samples, and the mean of their F1 is not the F1 of the corpus. These scorers
give each sample its counts of gold, predicted and correct mentions; the aggregate adds them up, divides, and
leaves out one sample at a time for the standard error. `spanwise.scorers.inspect`, `.pydantic_evals`, `.dspy`
and `.lm_eval` adapt them to the package of that name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct

from spanwise.columns import plain
from spanwise.counts import Counts
from spanwise.intervals import jackknife
from spanwise.placement import SampleCounts, count_sample
from spanwise.scores import EXACT, Measure, MeasureKey

__all__ = ["CorpusScore", "SampleCounts", "corpus_score", "count_sample"]


class CorpusScore(Struct, frozen=True):
    """The scores of a corpus; `low` to `high` is the 95% interval of F1. None where undefined.

    `unread` is the number of samples whose response could not be read; their gold mentions count as missed.

    Examples:
        >>> corpus_score([(2, 1, 1), (2, 2, 1)]).precision
        0.6666666666666666
    """

    samples: int
    unread: int
    gold: int
    predicted: int
    correct: int
    precision: float | None
    recall: float | None
    f1: float | None
    stderr: float | None
    low: float | None
    high: float | None


def corpus_score(samples: Iterable[SampleCounts | Sequence[int]]) -> CorpusScore:
    """Add up the counts of samples and divide once: `F1 = 2·correct / (gold + predicted)`.

    The standard error and the interval are those of `spanwise.evaluate` with samples as units:
    `SE² = (n−1)/n · Σ(F₋ᵢ − mean)²` over the n samples that have mentions, F₋ᵢ the F1 without sample i; None
    for fewer than two.

    Args:
        samples: what `count_sample` returned for each sample, or its numbers of gold, predicted and correct
            mentions, and as a fourth 1 if its response could not be read.

    Examples:
        Two samples with F1 2/3 and 1/2, whose mean is 0.583:

        >>> score = corpus_score([(2, 1, 1), (2, 2, 1)])
        >>> score.gold, score.predicted, score.correct, round(score.f1, 3), round(score.stderr, 3)
        (4, 3, 2, 0.571, 0.083)
    """
    rows = [sample.row if isinstance(sample, SampleCounts) else (*sample, 0)[:4] for sample in samples]
    # A sample without mentions changes nothing, and scores of no samples at all are undefined.
    matrix = np.array(rows or [(0, 0, 0, 0)], dtype=np.int64)
    counts = Counts.of_matrix(["overall"], EXACT, matrix[:, :3])
    scores = jackknife(Measure(MeasureKey("exact"), counts, "exact", (("exact", "overall"),)))
    low, high = scores["f1"].interval()[0]
    gold, predicted, correct, unread = matrix.sum(axis=0).tolist()
    return CorpusScore(
        samples=len(rows),
        unread=unread,
        gold=gold,
        predicted=predicted,
        correct=correct,
        **{name: plain(score.value[0]) for name, score in scores.items()},
        stderr=plain(scores["f1"].error[0]),
        low=plain(low),
        high=plain(high),
    )
