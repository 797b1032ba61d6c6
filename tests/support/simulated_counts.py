"""Simulated counts per document whose truth is known, tested by the functions behind studies and results.

A mention of a system is right with a chance whose logit is that of its document (`spread`), of the system in
this document (`apart`) and of the training run (`seeds`, in points of F1). Half of the other mentions are
missed, half have a wrong label. Without files and matching, a trial takes a few milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from calibrated import F1, Event
from simulated import Draw

from spanwise.counts import Counts
from spanwise.evaluation.comparisons import compare_runs
from spanwise.intervals import jackknife
from spanwise.scores import EXACT, Measure, MeasureKey
from spanwise.uncertainty import Resampling

LARGE = 400_000  # documents from which true scores are computed


@dataclass(frozen=True)
class Documents:
    """How documents are drawn: how many mentions they have, and how hard they are."""

    chance: float = 1.45  # the logit of being right, about .8 on average
    spread: float = 0.8
    apart: float = 0.3
    mentions: int = 14
    sizes: float = 0.0  # the standard deviation of the logarithm of their sizes
    large: float = 0.0  # how much less likely right, per logarithm of size
    hopeless: float = 0.0  # the share of documents in which almost nothing is right

    def drawn(self, draw: Draw, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The number of mentions of each document, and the logit of being right there."""
        normal = draw.standard_normal(number)
        relative = self.sizes * normal - self.sizes**2 / 2
        size = np.maximum(1, np.rint(self.mentions * np.exp(relative))).astype(np.int64)
        logit = self.chance + self.spread * draw.standard_normal(number) - self.large * self.sizes * normal
        return size, np.where(draw.random(number) < self.hopeless, -3.0, logit)


def right(logit: np.ndarray) -> np.ndarray:
    """The chance of being right."""
    return np.asarray(1 / (1 + np.exp(-logit)))


@lru_cache(maxsize=256)
def truth(world: Documents, seeds: float = 0.0, shift: float = 0.0) -> float:
    """The F1 of an infinite corpus, averaged over runs whose logits vary by `seeds` around `shift`."""
    draw = np.random.default_rng(0)
    size, logit = world.drawn(draw, LARGE)
    logit = logit + world.apart * draw.standard_normal(LARGE)
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    scores = []
    for node in nodes:
        correct = (size * right(logit + shift + seeds * node)).sum()
        scores.append(2 * correct / (size.sum() + (correct + size.sum()) / 2))
    return float(np.average(scores, weights=weights))


@lru_cache(maxsize=256)
def logits(world: Documents, points: float) -> float:
    """The change of the logit that changes F1 by so many points."""
    slope = (truth(world, 0.0, 0.05) - truth(world, 0.0, -0.05)) / 0.1
    return points / 100 / slope


def counted(counts: np.ndarray) -> Measure:
    """The exact scores of gold, predicted and correct mentions per document."""
    table = Counts.of_matrix(["all"], EXACT, counts.astype(np.int32))
    paths = (F1[:2], ("exact", "labels", "all"))
    return Measure(MeasureKey("exact"), table, "exact with overall", paths, "exact", ("f1",))


def drawn_runs(
    world: Documents,
    draw: Draw,
    documents: int,
    runs: Sequence[int],
    seeds: Sequence[float],
    shifts: Sequence[float] | None = None,
    *,
    shared: float | None = None,
) -> dict[str, list[list[Measure]]]:
    """The runs of systems on one test set; their F1 varies by `seeds` points over runs, and shifts by some.

    Args:
        shared: the correlation of the luck of runs with the same position; None: there is none.
    """
    size, logit = world.drawn(draw, documents)
    common = draw.standard_normal(max(runs))
    systems = {}
    for number, (many, sd, shift) in enumerate(zip(runs, seeds, shifts or [0.0] * len(runs), strict=True)):
        own = logit + world.apart * draw.standard_normal(documents) + logits(world, shift)
        luck = draw.standard_normal(many)
        if shared is not None:
            luck = np.sqrt(shared) * common[:many] + np.sqrt(1 - shared) * luck
        measures = []
        for run in range(many):
            correct = draw.binomial(size, right(own + logits(world, sd) * luck[run]))
            predicted = correct + draw.binomial(size - correct, 0.5)
            measures.append([counted(np.stack([size, predicted, correct], axis=1))])
        systems["abcdefgh"[number]] = measures
    return systems


def letters(
    draw: Draw,
    trial: int,
    *,
    world: Documents,
    documents: int,
    runs: Sequence[int],
    seeds: Sequence[float],
    shared: float | None = None,
    declared: bool = False,
    shift: float = 0.0,
) -> Iterator[Event]:
    """Whether equal methods are told apart; with a `shift`, whether the first is found to be better."""
    shifts = equal_shifts(world, tuple(seeds))
    shifts[0] += shift
    systems = drawn_runs(world, draw, documents, runs, seeds, shifts, shared=shared)
    pairs = [(a, b) for a in systems for b in systems if a < b]
    comparisons = compare_runs(
        systems, pairs, Resampling(documents, 200, trial), confidence=0.95, correction="holm", primary=F1,
        shared_seeds=declared, only_primary=True,
    )  # fmt: skip
    rows = [row for comparison in comparisons if (row := comparison.primary) is not None]
    yield Event("a letter", any(row.significant for row in rows))
    if len(rows) == 1:
        low, high = rows[0].interval or (None, None)
        first, second = (
            truth(world, logits(world, sd), logits(world, by)) for sd, by in zip(seeds, shifts, strict=True)
        )
        yield Event(
            "interval of the difference",
            low is not None and high is not None and low <= first - second <= high,
        )


def mean_of_runs(
    draw: Draw, trial: int, *, world: Documents, documents: int, runs: int, seeds: float
) -> Iterator[Event]:
    """Whether the interval of a score, or of its mean over runs, holds that of the method; and its marks."""
    (measures,) = drawn_runs(world, draw, documents, [runs], [seeds]).values()
    estimate = jackknife(*(run[0] for run in measures))["f1"]
    low, high = estimate.interval()[0]
    true = truth(world, logits(world, seeds))
    yield Event("interval", low <= true <= high)
    yield Event("few documents carry the score", bool(estimate.few_carry[0]))
    yield Event("few documents carry the errors", bool(estimate.few_carry_errors[0]))


def detected(
    draw: Draw, trial: int, *, world: Documents, documents: int, number: int, seeds: float
) -> Iterator[Event]:
    """Whether a true difference of the size that is printed as detectable, on average, is found."""
    runs, spread = [number] * 2, [seeds] * 2
    shift = -_shift(world, seeds, usual_detectable(world, documents, number, seeds))
    yield from letters(draw, trial, world=world, documents=documents, runs=runs, seeds=spread, shift=shift)


@lru_cache(maxsize=16)
def usual_detectable(world: Documents, documents: int, number: int, seeds: float) -> float:
    """The mean of the detectable differences that are printed for equal methods."""
    printed = []
    for trial in range(60):
        systems = drawn_runs(world, np.random.default_rng([1, trial]), documents, [number] * 2, [seeds] * 2)
        (comparison,) = compare_runs(
            systems, [("a", "b")], Resampling(documents, 200, trial), confidence=0.95, correction="holm",
            primary=F1, only_primary=True,
        )  # fmt: skip
        printed.append(comparison.detectable or 0.0)
    return float(np.mean(printed))


def equal_shifts(world: Documents, seeds: tuple[float, ...]) -> list[float]:
    """By how many nominal points each method must shift for all to have the same F1.

    F1 is lower on average the more it varies over runs.
    """
    scores = [truth(world, logits(world, sd)) for sd in seeds]
    lowest = min(scores)
    return [
        -_shift(world, sd, score - lowest) if score > lowest else 0.0
        for sd, score in zip(seeds, scores, strict=True)
    ]


@lru_cache(maxsize=16)
def _shift(world: Documents, seeds: float, by: float) -> float:
    """By how many nominal points a method must fall for its true F1 to fall by `by`."""
    low, high = 0.0, 300.0
    goal = truth(world, logits(world, seeds)) - by
    for _ in range(12):
        middle = (low + high) / 2
        fallen = truth(world, logits(world, seeds), -logits(world, middle))
        low, high = (middle, high) if fallen > goal else (low, middle)
    return (low + high) / 2
