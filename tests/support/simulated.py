"""Simulated corpora whose true scores are known, as counts per unit, to see how intervals and tests behave.

A sentence has a Poisson number of gold mentions; a system finds each with a chance that may
differ from document to document, and adds a Poisson number of spurious ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spanwise.counts import Counts
from spanwise.evaluation import tested
from spanwise.scores import EXACT, Measure, MeasureKey
from spanwise.studies._paired import _hierarchical, _spreads
from spanwise.uncertainty import Resampling, interval, p_value, standard_error


@dataclass(frozen=True)
class World:
    """How corpora are drawn: units of so many sentences, each with its own difficulty."""

    gold: float = 1.5  # mentions a sentence
    found: float = 0.85  # chance that a mention is found
    spurious: float = 0.2  # a sentence
    spread: float = 0.0  # standard deviation of the chance over documents
    sentences: tuple[int, int] = (1, 1)  # a unit has from … to … sentences

    @property
    def f1(self) -> float:
        """The score that an endless corpus would have."""
        correct = self.gold * self.found
        return 2 * correct / (self.gold + correct + self.spurious)

    def gold_of(self, draw: np.random.Generator, units: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sentences and gold mentions of every unit, and how its difficulty departs."""
        sentences = draw.integers(self.sentences[0], self.sentences[1] + 1, size=units)
        hard = draw.normal(0.0, self.spread, size=units) if self.spread else np.zeros(units)
        return sentences, draw.poisson(self.gold * sentences), hard

    def system(
        self, draw: np.random.Generator, given: tuple[np.ndarray, ...], better: float = 0.0
    ) -> np.ndarray:
        """Gold, predicted and correct of every unit for one system."""
        sentences, gold, hard = given
        # Clipped symmetrically, so that the mean chance stays what it is said to be.
        room = min(self.found, 1 - self.found)
        chance = np.clip(self.found + better + np.clip(hard, -room, room), 0.0, 1.0)
        correct = draw.binomial(gold, chance)
        return np.stack([gold, correct + draw.poisson(self.spurious * sentences), correct], axis=1)


SENTENCES = World()
DOCUMENTS = World(spread=0.08, sentences=(4, 16))


def measure(matrix: np.ndarray, cells: Sequence[str] = ("PER",)) -> Measure:
    """Counts per unit (units × cells · columns) as `evaluate` scores them."""
    counts = Counts.of_matrix(cells, EXACT, matrix)
    paths = (("exact", "overall"), *(("exact", "labels", cell) for cell in cells))
    return Measure(MeasureKey("exact"), counts, "exact with overall", paths, "exact", ("f1",))


def coverage(world: World, units: int, *, trials: int, resamples: int = 500, seed: int = 1) -> float:
    """How often the 95 % interval of F1 holds the true score."""
    draw = np.random.default_rng(seed)
    inside = 0
    for trial in range(trials):
        one = measure(world.system(draw, world.gold_of(draw, units)))
        totals = Resampling(units, resamples, trial).bootstrap([one.counts], [one.name])[0]
        low, high = interval(one.score(totals)["f1"][:, :1])[0]
        inside += low <= world.f1 <= high
    return inside / trials


def rejections(
    world: World, units: int, *, trials: int, better: float = 0.0, shuffles: int = 499, seed: int = 2
) -> float:
    """How often the paired test finds a difference at the level of .05."""
    draw = np.random.default_rng(seed)
    rejected = 0
    for trial in range(trials):
        given = world.gold_of(draw, units)
        one, other = (measure(world.system(draw, given, shift)) for shift in (better, 0.0))
        (totals,) = Resampling(units, shuffles, trial).shuffled([one.counts], [other.counts], ["exact"])
        moved = one.score(totals[0])["f1"][:, 0] - other.score(totals[1])["f1"][:, 0]
        seen = one.values()["f1"][0] - other.values()["f1"][0]
        rejected += bool(p_value(np.asarray(seen), moved) < 0.05)
    return rejected / trials


def rejections_of_runs(
    world: World, units: int, *, runs: int, spread: float, trials: int, seed: int = 5
) -> tuple[float, float]:
    """How often equal systems whose runs vary are called different: over units and runs, over units alone."""
    draw = np.random.default_rng(seed)
    both = data = 0
    for trial in range(trials):
        given = world.gold_of(draw, units)
        named = {
            name: {
                str(run): [measure(world.system(draw, given, draw.normal(0, spread)))] for run in range(runs)
            }
            for name in "ab"
        }
        resampling = Resampling(units, 400, trial)
        spreads = _spreads(named, resampling)
        both += _hierarchical(("a", "b"), spreads, resampling, 0.95)["significant"]
        low, high = interval((spreads["a"].mean(axis=0) - spreads["b"].mean(axis=0))[:, None])[0]
        data += not low <= 0 <= high
    return both / trials, data / trials


def family_errors(world: World, units: int, *, labels: int, trials: int, seed: int = 3) -> float:
    """How often at least one of all labels of three equal systems is called different under Holm."""
    draw = np.random.default_rng(seed)
    names = [f"L{at}" for at in range(labels)]
    wrong = 0
    for trial in range(trials):
        given = [world.gold_of(draw, units) for _ in names]
        systems = {
            name: [measure(np.concatenate([world.system(draw, part) for part in given], axis=1), names)]
            for name in "abc"
        }
        resampling = Resampling(units, 20, trial)  # shuffles follow the size of the family
        pairs = [("a", "b"), ("a", "c"), ("b", "c")]
        _, rows = tested(systems, pairs, resampling, confidence=0.95, correction="holm")
        wrong += any(
            row["significant"] for found in rows for row in found["scores"] if row["family"] == "labels"
        )
    return wrong / trials


def detectable(world: World, units: int, *, seed: int = 4, resamples: int = 1000) -> float:
    """The smallest detectable difference (2.80 standard errors) as one corpus estimates it."""
    draw = np.random.default_rng(seed)
    given = world.gold_of(draw, units)
    one, other = (measure(world.system(draw, given)) for _ in range(2))
    totals = Resampling(units, resamples, seed).bootstrap([one.counts, other.counts], ["a", "b"])
    scores = [part.score(total)["f1"][:, 0] for part, total in zip((one, other), totals, strict=True)]
    return 2.80 * float(standard_error(scores[0] - scores[1]))
