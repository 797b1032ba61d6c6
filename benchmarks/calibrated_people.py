"""Experiments on confidence scores and on annotators: worlds whose truth is known, drawn as sums by document.

The numbers go through the functions that the package uses, without files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from calibrated import Event

from benchmarks.experiments import Experiment
from spanwise.agreement._jackknife import UnitPlan
from spanwise.agreement._levels import LevelSums, level_scores
from spanwise.agreement._shared import Presence
from spanwise.calibration._resampling import Draws, chance, intervals
from spanwise.calibration.measures import Calibration, Scored, average_precision, brier, risk_area
from spanwise.columns import Floats, Ints, floats, ints

MANY = 20_000  # documents from which true values are computed


# ---- confidence -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ScoredWorld:
    """Documents of predictions whose scores are the probabilities of being right, plus `excess`.

    The outcomes of a document share a normal number with correlation `icc`. Scores are Beta(`high`, 1), which
    is near 1 for 30; sizes are equal, or log-normal with this standard deviation.
    """

    icc: float = 0.0
    high: float = 4.0
    sizes: float = 0.0
    excess: float = 0.0
    mentions: int = 14

    def drawn(self, rng: np.random.Generator, documents: int) -> Scored:
        """The scored predictions of some documents, with a few gold mentions missed in each."""
        from scipy import special

        size = np.full(documents, self.mentions)
        if self.sizes:
            size = np.maximum(1, rng.lognormal(np.log(self.mentions), self.sizes, documents).astype(int))
        unit = np.repeat(np.arange(documents), size)
        chance_of = rng.beta(self.high, 1.0, len(unit))
        common = rng.standard_normal(documents)[unit]
        luck = np.sqrt(self.icc) * common + np.sqrt(1 - self.icc) * rng.standard_normal(len(unit))
        right = special.ndtr(luck) < chance_of
        missed = rng.poisson(0.15 * size)
        score = np.clip(chance_of + self.excess * (1 - chance_of), 0, 1)
        gold = np.bincount(unit[right], minlength=documents) + missed
        return Scored(floats(score), right, ints(unit), ints(gold))


@lru_cache(maxsize=64)
def true_measures(world: ScoredWorld) -> dict[str, float]:
    """The measures of a very large sample."""
    sample = world.drawn(np.random.default_rng(1), MANY)
    return {
        "average_precision": average_precision(sample.curve),
        "aurc": risk_area(sample.curve)[0],
        "brier": brier(sample.score, sample.right),
    }


def scoring(rng: np.random.Generator, number: int, *, world: ScoredWorld, documents: int) -> Iterator[Event]:
    """Whether scores are called not calibrated, and which intervals contain the true measures."""
    sample = world.drawn(rng, documents)
    draws = Draws.of(documents, 1, number)
    found = chance(sample, Calibration.balanced(sample.score, sample.right), draws)
    yield Event("called not calibrated", max(found.p_units, found.p_outcomes) <= 0.05, True)
    bounds = intervals(sample, draws, calibrated=True).interval
    for name, truth in true_measures(world).items():
        ends = bounds[name]
        if ends is not None and ends[0] is not None and ends[1] is not None:
            yield Event(f"interval of {name.replace('_', ' ')}", ends[0] <= truth <= ends[1], True)


# ---- annotators -----------------------------------------------------------------------------


@dataclass(frozen=True)
class AnnotatedWorld:
    """Documents whose true mentions are marked by people and a system, alike but for `better`.

    Documents differ (logit standard deviation .8), and people differ within documents (.3). Besides true
    mentions each marks some that no one else does. `better` is added to the logit of the system.
    """

    people: int = 3
    better: float = 0.0
    sizes: float = 0.0

    def drawn(self, rng: np.random.Generator, documents: int) -> Ints:
        """Marks in common and of both: documents × (pairs of people, then people with the system) × 2."""
        size = np.full(documents, 14)
        if self.sizes:
            size = np.maximum(1, rng.lognormal(np.log(14), self.sizes, documents).astype(int))
        unit = np.repeat(np.arange(documents), size)
        parties = self.people + 1
        logit = 2.9 + 0.8 * rng.standard_normal(documents) + 0.3 * rng.standard_normal((parties, documents))
        logit[-1] += self.better
        marked = rng.random((parties, len(unit))) < (1 / (1 + np.exp(-logit)))[:, unit]
        extra = rng.poisson(0.05 * size, (parties, documents))
        own = np.stack([np.bincount(unit[row], minlength=documents) for row in marked]) + extra
        pairs = [*combinations(range(self.people), 2), *((at, self.people) for at in range(self.people))]
        both = [np.bincount(unit[marked[i] & marked[j]], minlength=documents) for i, j in pairs]
        return ints(np.stack([both, [own[i] + own[j] for i, j in pairs]], axis=-1).transpose(1, 0, 2))


@lru_cache(maxsize=64)
def true_levels(world: AnnotatedWorld) -> tuple[float, float]:
    """The human level and the level of the system in a very large sample."""
    total = world.drawn(np.random.default_rng(1), 10 * MANY).sum(axis=0)
    f1: Floats = 2 * total[:, 0] / total[:, 1]
    pairs = world.people * (world.people - 1) // 2
    human, system = float(f1[:pairs].mean()), float(f1[pairs:].mean())
    return (human, system) if world.better else ((human + system) / 2,) * 2


def annotating(
    rng: np.random.Generator, number: int, *, world: AnnotatedWorld, documents: int
) -> Iterator[Event]:
    """Whether the system is called different, and which intervals contain the true levels."""
    names = tuple(f"a{at}" for at in range(world.people))
    everything = np.ones((world.people, documents), dtype=bool)
    presence = Presence(
        names,
        ("s",),
        tuple(map(str, range(documents))),
        everything,
        everything[:1],
        marked=True,
        unit="token",
    )
    sums = LevelSums(ints(np.arange(documents)), world.drawn(rng, documents))
    found = level_scores(presence, sums, UnitPlan(True, documents))
    human, truth = true_levels(world)
    system = found.systems["s"]
    yield Event("called different", system.significant, True)
    for name, ends, value in (
        ("interval of the human level", found.human.interval, human),
        ("interval of the system", system.interval, truth),
        ("interval of the difference", system.difference_interval, truth - human),
    ):
        if ends is not None and ends[0] is not None and ends[1] is not None:
            yield Event(name, ends[0] <= value <= ends[1], True)


# ---- the experiments ------------------------------------------------------------------------


def experiments() -> Iterator[Experiment]:
    """Confidence scores, then annotators."""
    yield from _confidence()
    yield from _agreement()


def _asked(what: str) -> str:
    return "coverage" if what.startswith("interval") else "size"


def _power(what: str) -> str:
    return "coverage" if what.startswith("interval") else "reported"


def _confidence() -> Iterator[Experiment]:
    before = "11 to 15 of clustered scores; AP 92 to 94, AURC 90 to 93, Brier 91 to 92"
    for high, sizes, what in (
        (4.0, 0.0, "calibrated scores"),
        (30.0, 0.0, "calibrated scores near 1"),
        (4.0, 1.0, "calibrated scores, log-normal documents"),
    ):
        for icc in (0.0, 0.15, 0.3) if not sizes else (0.15,):
            for documents in (20, 60):
                options = {"world": ScoredWorld(icc, high, sizes), "documents": documents}
                named = f"{what}, correlation {icc:g} within documents"
                where = f"{documents} documents"
                yield Experiment("confidence", named, where, scoring, options, 600, _asked, before)
    for documents in (20, 60):
        options = {"world": ScoredWorld(0.1, excess=0.45), "documents": documents}
        named = "scores too high by 9 points, correlation 0.1 within documents"
        yield Experiment("confidence", named, f"{documents} documents", scoring, options, 400, _power)


def _agreement() -> Iterator[Experiment]:
    for people in (2, 3, 4):
        for documents in (8, 20, 60):
            options = {"world": AnnotatedWorld(people), "documents": documents}
            what = f"a system just like {people} annotators"
            yield Experiment(
                "agreement", what, f"{documents} documents", annotating, options, 1500, _asked,
                "human ceiling 87.4, 84.8, 90.1 with 2, 3, 4 annotators",
            )  # fmt: skip
    for documents in (20, 60):
        options = {"world": AnnotatedWorld(3, sizes=1.0), "documents": documents}
        what = "a system just like 3 annotators, log-normal documents"
        yield Experiment("agreement", what, f"{documents} documents", annotating, options, 800, _asked)
    options = {"world": AnnotatedWorld(3, better=0.4), "documents": 60}
    what = "a system that marks more of what is there than 3 annotators"
    yield Experiment("agreement", what, "60 documents", annotating, options, 400, _power)
