"""How often are slices listed where nothing is weak, and a planted one found? With peers, and speed.

    python benchmarks/slices.py [TRIALS]

Prints Markdown tables; those of 1,000 trials are kept in slices.md beside this file. sliceline and
divexplorer stand beside spanwise where they are installed.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np
from simulated_slices import PLANTED, Listing, World, listing, trials_of

from spanwise.columns import floats, ints
from spanwise.slices._search import Facet, Items, search

WORLDS = [World(documents, clustered=clustered) for documents in (40, 100) for clustered in (False, True)]
POWER = [World(100, planted=True), World(100, clustered=True, planted=True)]


def main(trials: int) -> None:
    """Measure everything and print it."""
    print("| method | documents | errors | planted | anything listed | planted slice first | trials |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for name, function in (("spanwise", ours), ("sliceline", sliceline), ("divexplorer, t > 2", divexplorer)):
        for world in (*WORLDS, *POWER):
            number = trials if name == "spanwise" else max(20, trials // 10)
            try:
                found = function(world, number)
            except ImportError:
                continue
            row(name, world, found, number)
    speed()


def row(name: str, world: World, found: Listing, trials: int) -> None:
    """One line of the table."""
    spread = 100 * (found.anything * (1 - found.anything) / trials) ** 0.5
    kind = "clustered" if world.clustered else "independent"
    planted = "+20 points in 1/16" if world.planted else "nothing"
    first = f"{100 * found.planted:.1f} %" if world.planted else ""
    print(
        f"| {name} | {world.documents} | {kind} | {planted} | {100 * found.anything:.1f} ± {spread:.1f} % "
        f"| {first} | {trials:,} |",
        flush=True,
    )


def ours(world: World, trials: int) -> Listing:
    """What spanwise lists."""
    return listing(world, trials, flips=1000)


def sliceline(world: World, trials: int) -> Listing:
    """What sliceline lists with its default weighting (alpha 0.95) and the same support and depth."""
    from sliceline.slicefinder import Slicefinder

    def first(one: Items) -> frozenset[tuple[int, int]] | None:
        table = np.stack([facet.atom for facet in one.facets], axis=1) + 1
        finder = Slicefinder(alpha=0.95, k=5, max_l=2, min_sup=50, verbose=False)
        finder.fit(table, one.weight)
        if not len(finder.top_slices_):
            return None
        return frozenset(
            (at, value - 1) for at, value in enumerate(finder.top_slices_[0]) if value is not None
        )

    return counted(world, trials, first)


def divexplorer(world: World, trials: int) -> Listing:
    """What divexplorer shows with a t of more than 2, the highest t first."""
    import pandas as pd
    from divexplorer import DivergenceExplorer

    def first(one: Items) -> frozenset[tuple[int, int]] | None:
        frame = pd.DataFrame({facet.attribute: facet.atom.astype(str) for facet in one.facets})
        frame["loss"] = one.weight
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
    """How often a method lists anything, and how often the planted slice stands first."""
    found = [first(one) for one in trials_of(world, trials)]
    return Listing(
        sum(one is not None for one in found) / trials, sum(one == PLANTED for one in found) / trials
    )


def speed() -> None:
    """The search alone, on as many items as CoNLL-2003 has and on a million."""
    print("\n| items | documents | attributes | depth | slices | seconds | peak memory |")
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
        one = Items(ints(unit), documents, floats(rng.random(number) < 0.1), facets)
        began = time.perf_counter()
        found = search(one, depth=depth)
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"| {number:,} | {documents:,} | {len(sizes)} | {depth} | {found.tested:,} | {seconds:.2f} "
            f"| {peak:,.0f} MB |",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
