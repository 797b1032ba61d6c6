"""Counts of a corpus with known scores, of which a random part has gold and a judge annotated everything.

Units have effects of their own, so mentions of a unit are right or wrong together. A mention is right, wrong
or missed by a system under gold; the judge sees the same mention and agrees with gold to some degree.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from spanwise.columns import Floats, ints
from spanwise.silver import Sample
from spanwise.silver._estimate import Design

JUDGES = {"perfect": 1.0, "good": 0.9, "fair": 0.6, "useless": 0.0}  # the share of mentions judged as gold is


def population(
    draw: Generator, units: int, agreement: float, systems: int = 1
) -> list[tuple[Floats, Floats]]:
    """Counts (units × right, false, missed) under gold and under the judge, for each system."""
    unit = np.repeat(np.arange(units), 1 + draw.poisson(6, units))
    difficulty = draw.normal(0, 0.8, units)
    kept = draw.random(len(unit)) < agreement
    found = []
    for number in range(systems):
        own = difficulty + draw.normal(0, 0.3, units)
        chance = 1 / (1 + np.exp(-(1.6 - 0.2 * number + own[unit])))
        wrong = np.where(draw.random(len(unit)) < 0.6, 1, 2)
        truth = np.where(draw.random(len(unit)) < chance, 0, wrong)
        other = np.where(draw.random(len(unit)) < 0.8, 0, 1)
        tables = []
        for outcome in (truth, np.where(kept, truth, other)):
            counts = np.bincount(unit * 3 + outcome, minlength=3 * units).reshape(units, 3).astype(float)
            counts[:, 2] += counts[:, 1]  # a wrong mention is false and missed
            tables.append(counts)
        found.append((tables[0], tables[1]))
    return found


def sample_of(counts: tuple[Floats, Floats], drawn: object) -> Sample:
    """What is known of a system if only the drawn units have gold."""
    numbers = ints(drawn)
    gold, silver = (table[:, None, :] for table in counts)
    return Sample((), gold[numbers], silver[numbers], silver, Design.simple(len(numbers), len(gold)))
