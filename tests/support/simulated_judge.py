"""Counts of a corpus with known scores, of which a random part has gold and a judge annotated everything.

Units have effects of their own, so mentions of a unit are right or wrong together. A mention is right, wrong
or missed by a system under gold; the judge sees the same mention and agrees with gold to some degree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.random import Generator

from spanwise.columns import Floats, ints
from spanwise.silver import Sample
from spanwise.silver._estimate import Design

JUDGES = {"perfect": 1.0, "good": 0.9, "fair": 0.6, "useless": 0.0}  # the share of mentions judged as gold is
LARGE = 300_000  # units from which true scores are computed

Tables = tuple[Floats, Floats]


@dataclass(frozen=True)
class Units:
    """How units are drawn: the number of their mentions, and how much they differ in difficulty."""

    mentions: float = 6.0  # on average, beside `least`
    least: int = 1
    spread: float = 0.8
    apart: float = 0.3  # how much systems differ within a unit


DOCUMENTS = Units()
SENTENCES = Units(mentions=1.4, least=0, spread=0.3, apart=0.1)


def population(
    draw: Generator,
    units: int,
    agreement: float,
    systems: int = 1,
    *,
    world: Units = DOCUMENTS,
    favoured: bool = False,
) -> list[Tables]:
    """Counts (units × right, false, missed) under gold and under the judge, for each system.

    Where the judge does not agree with gold, it guesses; with `favoured`, it takes the side of the first
    system.
    """
    unit = np.repeat(np.arange(units), world.least + draw.poisson(world.mentions, units))
    difficulty = draw.normal(0, world.spread, units)
    kept = draw.random(len(unit)) < agreement
    found = []
    for number in range(systems):
        own = difficulty + draw.normal(0, world.apart, units)
        chance = 1 / (1 + np.exp(-(1.6 - 0.2 * number + own[unit])))
        wrong = np.where(draw.random(len(unit)) < 0.6, 1, 2)
        truth = np.where(draw.random(len(unit)) < chance, 0, wrong)
        guessed = 0.8 if not favoured else 0.97 if number == 0 else 0.6
        other = np.where(draw.random(len(unit)) < guessed, 0, 1)
        tables = []
        for outcome in (truth, np.where(kept, truth, other)):
            counts = np.bincount(unit * 3 + outcome, minlength=3 * units).reshape(units, 3).astype(float)
            counts[:, 2] += counts[:, 1]  # a wrong mention is false and missed
            tables.append(counts)
        found.append((tables[0], tables[1]))
    return found


@lru_cache(maxsize=16)
def true_sums(world: Units, systems: int = 2) -> tuple[tuple[float, ...], ...]:
    """The mean numbers of right, false and missed mentions per unit of each system, in a large corpus."""
    tables = population(np.random.default_rng(99), LARGE, 1.0, systems, world=world)
    return tuple(tuple(gold.mean(axis=0).tolist()) for gold, _ in tables)


def sample_of(counts: Tables, drawn: object, design: Design | None = None) -> Sample:
    """What is known of a system if only the drawn units have gold."""
    numbers = ints(drawn)
    gold, silver = (table[:, None, :] for table in counts)
    simple = Design.simple(len(numbers), len(gold))
    return Sample((), gold[numbers], silver[numbers], silver, design or simple)
