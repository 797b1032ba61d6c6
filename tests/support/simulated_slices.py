"""Simulated mentions with or without a known weak slice, to see whether the search lists the right ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from spanwise.columns import floats, ints
from spanwise.slices import Facet, Items, search

ATTRIBUTES, VALUES, ERROR, MORE = 6, 4, 0.15, 0.20
PLANTED = frozenset({(0, 0), (1, 0)})  # the first values of the first two attributes: 1/16 of the units


class World(NamedTuple):
    """The numbers of documents and of units in each, whether errors cluster, and whether a slice is weak."""

    documents: int
    units: int = 20
    clustered: bool = False
    planted: bool = False


class Listing(NamedTuple):
    """The shares of trials in which anything was listed, and in which the planted slice came first."""

    anything: float
    planted: float


def items(world: World, rng: np.random.Generator) -> Items:
    """One simulated dataset. If errors cluster, half of the attributes depend on the document, too."""
    number = world.documents * world.units
    unit = np.repeat(np.arange(world.documents), world.units)
    facets = []
    for at in range(ATTRIBUTES):
        code = rng.integers(0, VALUES, number)
        if world.clustered and at % 2:
            usual = rng.integers(0, VALUES, world.documents)[unit]
            code = np.where(rng.random(number) < 0.6, usual, code)
        facets.append(Facet.of_codes(f"a{at}", [str(value) for value in range(VALUES)], ints(code)))
    chance = np.full(number, ERROR)
    if world.clustered:
        logit = np.log(ERROR / (1 - ERROR)) - 0.35 + rng.normal(0, 1, world.documents)[unit]
        chance = 1 / (1 + np.exp(-logit))
    if world.planted:
        chance = chance + MORE * ((facets[0].atom == 0) & (facets[1].atom == 0))
    return Items(ints(unit), world.documents, floats(rng.random(number) < chance), tuple(facets))


def trials_of(world: World, trials: int, seed: int = 0) -> Iterator[Items]:
    """Datasets drawn from one world."""
    rng = np.random.default_rng([seed, world.documents, world.units, world.clustered, world.planted])
    for _ in range(trials):
        yield items(world, rng)


def listing(world: World, trials: int, *, flips: int = 500, seed: int = 0) -> Listing:
    """What the search lists at a family-wise error rate of 5 %."""
    anything = planted = 0
    for number, dataset in enumerate(trials_of(world, trials, seed)):
        listed = search(dataset, flips=flips, seed=number).listed
        anything += bool(listed)
        planted += bool(listed) and frozenset(listed[0].key) == PLANTED
    return Listing(anything / trials, planted / trials)
