"""Experiments on few gold labels and a judge, in simulated worlds and on the predictions of real systems.

A trial draws a corpus of N units from a world, and n of them to be gold, and asks whether the intervals hold
the scores of the world. The world is a simulation, or the units of a real test set, from which N are drawn
with replacement: the judge is then a system that takes no part.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations
from pathlib import Path

import numpy as np
from calibrated import Event
from simulated import Draw
from simulated_judge import DOCUMENTS, SENTENCES, Tables, Units, population, sample_of, true_sums

import spanwise
from benchmarks.experiments import Experiment, reported
from spanwise.columns import Floats, Ints, floats, ints
from spanwise.rates import RATES
from spanwise.sampling import allocated
from spanwise.silver import counts_of, difference
from spanwise.silver._estimate import Design

SIZES = ((50, 1000), (150, 1000), (500, 2000))  # gold units, and all units
JUDGES = {
    "perfect": 1.0, "almost perfect": 0.98, "good": 0.9, "fair": 0.6, "poor": 0.3, "useless": 0.0,
}  # fmt: skip
FAVOURED = "favouring a system"
SCORES = {"F1": "f1", "P": "precision", "R": "recall"}
GOLD_ONLY, NONE, MARKED = "F1, gold only", "no interval", "F1 is marked as unreliable"
WIDER = "more than 5 % wider than gold only"
MOST = 1.05  # times the standard error of gold only
FILLED = 10  # right and wrong mentions among the gold units, from which a cell is well filled
DATA = Path(os.environ.get("SPANWISE_DATA") or "../shared/data") / "masakhaner"
SYSTEMS = ("afroxlmr", "mbert", "mdeberta", "rembert")
BLOCK = 10  # sentences of a block, where blocks stand for documents
TRIALS = 1000


def experiments() -> Iterator[Experiment]:
    """All experiments of this module; those on real systems only where their data are."""
    for world, units in (("documents", DOCUMENTS), ("sentences", SENTENCES)):
        for judge, agreement in {**JUDGES, FAVOURED: 0.6}.items():
            for gold, everything in SIZES:
                options = {
                    "world": units, "gold": gold, "everything": everything, "agreement": agreement,
                    "favoured": judge == FAVOURED, "strata": False,
                }  # fmt: skip
                where = f"{gold} of {everything:,} {world}, counts"
                yield Experiment("judges", f"judge {judge}", where, simulated, options, TRIALS, asked)
    for judge in ("good", "useless"):
        options = {
            "world": DOCUMENTS, "gold": 150, "everything": 1000, "agreement": JUDGES[judge], "strata": True,
        }  # fmt: skip
        what = f"judge {judge}, strata by length"
        yield Experiment("judges", what, "150 of 1,000 documents, counts", simulated, options, TRIALS, asked)
    for judge in ("almost perfect", "good"):  # hard: few gold units show the judge's errors, which is marked
        options = {
            "world": SENTENCES, "gold": 50, "everything": 20_000, "agreement": JUDGES[judge], "strata": False,
        }  # fmt: skip
        where = "50 of 20,000 sentences, counts"
        yield Experiment("judges", f"judge {judge}", where, simulated, options, 300, reported)
    if not DATA.is_dir():
        return
    for language, grouped in (("pcm", 1), ("kin", 1), ("pcm", BLOCK)):
        for gold, everything in SIZES:
            unit = "sentences" if grouped == 1 else f"blocks of {BLOCK} sentences"
            where = f"{gold} of {everything:,} {unit}, MasakhaNER {language}"
            options = {"language": language, "grouped": grouped, "gold": gold, "everything": everything}
            what = "judge: another of four systems"
            yield Experiment("judges", what, where, real, options, TRIALS, asked)


def asked(what: str) -> str:
    """Intervals have a coverage; no interval of gold and judge is much wider than that of gold only."""
    return {GOLD_ONLY: "reported", NONE: "reported", MARKED: "reported", WIDER: "never"}.get(what, "coverage")


def simulated(
    draw: Draw,
    trial: int,
    *,
    world: Units,
    gold: int,
    everything: int,
    agreement: float,
    strata: bool,
    favoured: bool = False,
) -> Iterator[Event]:
    """Two systems in a simulated world."""
    tables = population(draw, everything, agreement, 2, world=world, favoured=favoured)
    drawn, design = _drawn(draw, tables[0][1], gold, strata)
    yield from checked(tables, drawn, design, true_sums(world))


def _drawn(draw: Draw, silver: Floats, gold: int, strata: bool) -> tuple[Ints, Design]:
    """The gold units, at random or in proportion from four strata by the number of mentions of the judge."""
    order = draw.permutation(len(silver))
    if not strata:
        return ints(np.sort(order[:gold])), Design.simple(gold, len(silver))
    amount = silver.sum(axis=1)
    stratum = np.searchsorted(np.quantile(amount, (0.25, 0.5, 0.75)), amount)
    sizes = np.bincount(stratum)
    shares = allocated(sizes.tolist(), gold)
    drawn = np.sort(
        np.concatenate([order[stratum[order] == code][:share] for code, share in enumerate(shares)])
    )
    weight = (sizes / np.asarray(shares))[stratum[drawn]]
    return ints(drawn), Design(len(silver), floats(weight), ints(stratum[drawn]))


def real(
    draw: Draw, trial: int, *, language: str, grouped: int, gold: int, everything: int
) -> Iterator[Event]:
    """Two real systems, with another one as the judge; trials take turns with systems and judges."""
    choices = [chosen for chosen in permutations(SYSTEMS, 3) if chosen[0] < chosen[1]]
    first, second, judge = choices[trial % len(choices)]
    tables = [_real_counts(language, grouped, judge, system) for system in (first, second)]
    units = draw.integers(0, len(tables[0][0]), everything)
    corpus = [(own[units], other[units]) for own, other in tables]
    sums = [tuple(own.mean(axis=0).tolist()) for own, _ in tables]
    drawn = ints(np.sort(draw.permutation(everything)[:gold]))
    yield from checked(corpus, drawn, Design.simple(gold, everything), sums)


@lru_cache(maxsize=64)
def _real_counts(language: str, grouped: int, judge: str, system: str) -> Tables:
    """The counts of a system's first run per unit, under gold and under a judge."""
    folder = DATA / language
    paths = {name: folder / "predictions" / f"{name}.1.txt" for name in SYSTEMS}
    tables = []
    for gold in (folder / "test.txt", paths[judge]):
        result = spanwise.evaluate(
            gold, {"system": paths[system]}, resamples=0, attributes="none", examples="none", unit="sentence"
        )
        counts = counts_of(result, "system")[1].sum(axis=1)
        starts = np.arange(0, len(counts), grouped)
        tables.append(floats(np.add.reduceat(counts, starts)))
    return tables[0], tables[1]


def checked(
    tables: Sequence[Tables], drawn: Ints, design: Design, sums: Sequence[Sequence[float]]
) -> Iterator[Event]:
    """Whether the intervals of two systems hold the truth, and whether a judge makes them wider."""
    first, second = (sample_of(own, drawn, design) for own in tables)
    right, false, missed = tables[0][0][drawn].sum(axis=0)
    held = bool(len(drawn) >= 30 and min(right, false, missed) >= FILLED)
    for what, name in SCORES.items():
        found = first.estimated(0, RATES[name])
        ends = found.interval(0.95) if found else None
        yield Event(NONE, ends is None)
        if found is None or ends is None:
            continue
        true = _score(name, sums[0])
        yield Event(what, ends[0] <= true <= ends[1], held)
        yield Event(WIDER, found.se > MOST * found.gold_se)
        if name == "f1":
            yield Event(MARKED, found.few_carry)
        if name == "f1" and (alone := found.gold_interval(0.95)):
            yield Event(GOLD_ONLY, alone[0] <= true <= alone[1], held)
    both = difference(first, second)
    if both is None:
        return
    low, high = both.difference_interval(0.95)
    true = _score("f1", sums[0]) - _score("f1", sums[1])
    yield Event("difference", low <= true <= high, held)
    yield Event(WIDER, both.se > MOST * both.gold_se)


def _score(name: str, sums: Sequence[float]) -> float:
    rate = RATES[name]
    return float(np.dot(rate.above, sums) / np.dot(rate.below, sums))
