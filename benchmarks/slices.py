"""How often slices are listed if nothing is weak, and if one is planted; peers for comparison, and speed.

    python -m benchmarks.slices [all|spanwise|sliceline|divexplorer|speed] [TRIALS]

Prints Markdown tables; those of 1,000 trials are kept in slices.md next to this file. sliceline and
divexplorer are included if they are installed, with a tenth of the trials.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np
from msgspec.structs import replace
from simulated_slices import PLANTED, Listing, World, listing, trials_of

from spanwise.calibration import confidence
from spanwise.columns import codes, floats, ints
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.formats import read
from spanwise.slices import Facet, Items, find_slices, search

WORLDS = [World(documents, clustered=clustered) for documents in (40, 100) for clustered in (False, True)]
POWER = [World(100, planted=True), World(100, clustered=True, planted=True)]


def main(what: str = "all", trials: str = "1000") -> None:
    """Measure everything, one method or the speed, and print the results."""
    chosen = {"all": list(METHODS), "speed": []}.get(what, [what])
    if chosen:
        lists(chosen, int(trials))
    if what in ("all", "speed"):
        speed()


def lists(chosen: Sequence[str], trials: int) -> None:
    """Print how often each method lists anything, and lists the planted slice first."""
    print("| method | documents | errors | planted | anything listed | planted slice first | trials |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in chosen:
        for world in (*WORLDS, *POWER):
            number = trials if name == "spanwise" else max(20, trials // 10)
            try:
                shares = METHODS[name](world, number)
            except ImportError:
                continue
            row("divexplorer, t > 2" if name == "divexplorer" else name, world, shares, number)


def row(name: str, world: World, shares: Listing, trials: int) -> None:
    """Print one row of the table."""
    spread = 100 * (shares.anything * (1 - shares.anything) / trials) ** 0.5
    kind = "clustered" if world.clustered else "independent"
    planted = "+20 points in 1/16" if world.planted else "nothing"
    first = f"{100 * shares.planted:.1f} %" if world.planted else ""
    print(
        f"| {name} | {world.documents} | {kind} | {planted} | {100 * shares.anything:.1f} ± {spread:.1f} % "
        f"| {first} | {trials:,} |",
        flush=True,
    )


def ours(world: World, trials: int) -> Listing:
    """The listing rates of spanwise."""
    return listing(world, trials, flips=1000)


def sliceline(world: World, trials: int) -> Listing:
    """The listing rates of sliceline with its default weighting (alpha 0.95), the same support and depth."""
    from sliceline.slicefinder import Slicefinder

    def first(items: Items) -> frozenset[tuple[int, int]] | None:
        table = np.stack([facet.atom for facet in items.facets], axis=1) + 1
        finder = Slicefinder(alpha=0.95, k=5, max_l=2, min_sup=50, verbose=False)
        finder.fit(table, items.weight)
        if not len(finder.top_slices_):
            return None
        return frozenset(
            (at, value - 1) for at, value in enumerate(finder.top_slices_[0]) if value is not None
        )

    return counted(world, trials, first)


def divexplorer(world: World, trials: int) -> Listing:
    """The listing rates of divexplorer with t > 2, the highest t first."""
    import pandas as pd
    from divexplorer import DivergenceExplorer

    def first(items: Items) -> frozenset[tuple[int, int]] | None:
        frame = pd.DataFrame({facet.attribute: facet.atom.astype(str) for facet in items.facets})
        frame["loss"] = items.weight
        explorer = DivergenceExplorer(frame)
        rows = explorer.get_pattern_divergence(min_support=50 / len(frame), boolean_outcomes=["loss"])
        rows = rows[(rows["length"].between(1, 2)) & (rows["loss_div"] > 0) & (rows["loss_t"] > 2)]
        if not len(rows):
            return None
        best = rows.sort_values("loss_t", ascending=False).iloc[0]["itemset"]
        return frozenset((int(item.split("=")[0][1:]), int(item.split("=")[1])) for item in best)

    return counted(world, trials, first)


def counted(
    world: World, trials: int, first: Callable[[Items], frozenset[tuple[int, int]] | None]
) -> Listing:
    """How often a method lists anything, and how often the planted slice comes first."""
    firsts = [first(items) for items in trials_of(world, trials)]
    return Listing(
        sum(key is not None for key in firsts) / trials, sum(key == PLANTED for key in firsts) / trials
    )


METHODS: dict[str, Callable[[World, int], Listing]] = {
    "spanwise": ours,
    "sliceline": sliceline,
    "divexplorer": divexplorer,
}


class Cost(NamedTuple):
    """CPU seconds, and the peak memory of the process so far."""

    cpu: float
    peak: float

    @classmethod
    def of(cls, work: Callable[[], object]) -> Cost:
        """The cost of one call."""
        began = time.process_time()
        work()
        seconds = time.process_time() - began
        return cls(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def speed() -> None:
    """Time the search at the size of CoNLL-2003 and on a million items, CoNLL-2003 itself, and confidence."""
    print("\n| items | documents | attributes | depth | slices | CPU seconds | peak memory |")
    print("|---|---|---|---|---|---|---|")
    for number, documents, depth in ((5_648, 231, 2), (5_648, 231, 3), (1_000_000, 60_000, 2)):
        rng = np.random.default_rng(0)
        sizes = (4, 4, 4, 4, 4, 4, 5, 5, 5, 4, 5)
        facets = tuple(
            Facet.of_codes(
                f"a{at}", [str(value) for value in range(size)], ints(rng.integers(0, size, number))
            )
            for at, size in enumerate(sizes)
        )
        unit = np.sort(rng.integers(0, documents, number))
        items = Items(ints(unit), documents, floats(rng.random(number) < 0.1), facets)
        slices = search(items, depth=depth, flips=1).tested
        cost = Cost.of(partial(search, items, depth=depth))
        print(
            f"| {number:,} | {documents:,} | {len(sizes)} | {depth} | {slices:,} | {cost.cpu:.2f} "
            f"| {cost.peak:,.0f} MB |",
            flush=True,
        )
    print("\n| work | CPU seconds | peak memory |\n|---|---|---|")
    folder = Path(os.environ.get("SPANWISE_DATA", "../shared/data")) / "conll2003"
    if folder.is_dir():
        gold, train = read(folder / "test.txt"), read(folder / "train.txt")
        systems = {"mine": damaged(gold, np.random.default_rng(0))}
        cost = Cost.of(lambda: find_slices(gold, systems, train=train, attributes="all", depth=3))
        print(
            f"| `find_slices`, CoNLL-2003, all attributes, depth 3 | {cost.cpu:.2f} | {cost.peak:,.0f} MB |"
        )
    gold, systems = scored(1_000_000)
    cost = Cost.of(lambda: confidence(gold, systems, resamples=1000))
    print(f"| `confidence`, 1,000,000 predictions, 1,000 resamples | {cost.cpu:.2f} | {cost.peak:,.0f} MB |")


def damaged(gold: Annotation, rng: np.random.Generator) -> Annotation:
    """Predictions in which a tenth of gold is missing and a tenth has another label."""
    kept = gold.mentions.take(rng.random(len(gold.mentions)) > 0.1)
    other = rng.random(len(kept)) < 0.1
    label = np.where(other, (kept.label + 1) % len(kept.labels), kept.label)
    return Annotation(gold.corpus, replace(kept, label=codes(label)))


def scored(number: int) -> tuple[Annotation, dict[str, Annotation]]:
    """Gold, and predictions with perfectly calibrated scores."""
    rng = np.random.default_rng(0)
    corpus = Corpus(
        tokens=codes(np.zeros(number * 5)),
        vocabulary=["word"],
        sentences=ints(np.arange(0, number * 5 + 1, 20)),
        documents=ints(np.arange(0, number // 4 + 1, 10)),
    )
    at = np.arange(number)
    start, label = at % 4 * 5, codes(rng.integers(0, 3, number))
    gold = Mentions(ints(at // 4), ints(start), ints(start + 2), label, ["LOC", "ORG", "PER"])
    score = rng.beta(4, 1, number)
    wrong = rng.random(number) > score
    end = ints(np.where(wrong, gold.end + 1, gold.end))
    predicted = replace(gold, end=end, score=floats(score))
    return Annotation(corpus, gold), {"mine": Annotation(corpus, predicted)}


if __name__ == "__main__":
    main(*sys.argv[1:])
