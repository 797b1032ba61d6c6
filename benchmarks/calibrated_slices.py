"""Experiments on slices and on the workbench: mentions in documents, errors that cluster, known truth.

The worlds are drawn as counts per document, so that hundreds of trials are cheap; the functions that decide
are those of the product: searches, the tests of the leaderboard and of slices, steps of a history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from calibrated import Event

from benchmarks.experiments import Experiment
from spanwise.columns import ints
from spanwise.conditions import Condition
from spanwise.counts import Counts
from spanwise.document.scores import PRIMARY
from spanwise.scores import EXACT, Measure, MeasureKey
from spanwise.slices import Facet, Items, search
from spanwise.slices import _search as searching
from spanwise.slices.index import SliceIndex
from spanwise.workbench.bench import Bench
from spanwise.workbench.index import Shelf, _tested
from spanwise.workbench.looks import level_of
from spanwise.workbench.standings import step_of
from spanwise.workbench.store import Board, Gold, PooledRuns, Result, Store
from spanwise.workbench.weakness import weakness

Draw = np.random.Generator
Flags = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]

CHANCE = 1.5  # the logit of finding a mention; with the spread of documents, F1 is about .8
HARD, OWN = 0.8, 0.3  # spread of documents, and of documents for one system
SPURIOUS = 0.2  # predicted mentions that are wrong, for each gold mention
PER_F1 = 7.0  # logits for a difference of 1 in F1


class Mentions:
    """Gold mentions in documents, with attributes of mentions and one of documents."""

    def __init__(self, draw: Draw, documents: int, each: int = 14, unequal: float = 0.0) -> None:
        sizes = np.maximum(1, np.rint(each * np.exp(draw.normal(-(unequal**2) / 2, unequal, documents))))
        self.unit = np.repeat(np.arange(documents), sizes.astype(int))
        self.documents, self.number = documents, len(self.unit)
        self.hard = draw.normal(0, HARD, documents)
        self.codes = [draw.integers(0, 4, self.number) for _ in range(4)]
        self.codes.append(draw.integers(0, 3, documents)[self.unit])

    def chance(self, draw: Draw, *, luck: float = 0.0, better: Numbers | float = 0.0) -> Numbers:
        """For each mention, the chance that a system finds it; the system has hard documents of its own."""
        own = draw.normal(0, OWN, self.documents)
        return 1 / (1 + np.exp(-(CHANCE + (self.hard + own)[self.unit] + better + luck)))

    def facets(self) -> tuple[Facet, ...]:
        """The attributes as facets."""
        return tuple(
            Facet.of_codes(f"a{at}", [str(value) for value in range(4 if at < 4 else 3)], ints(code))
            for at, code in enumerate(self.codes)
        )

    def items(self, weight: npt.ArrayLike, *, paired: bool = False) -> Items:
        """The gold mentions as items."""
        return Items(ints(self.unit), self.documents, np.asarray(weight, np.float64), self.facets(), paired)

    def measure(self, found: Flags, inside: Flags | None = None, spurious: Numbers | None = None) -> Measure:
        """The counts per document of a system that finds these mentions."""
        chosen = np.ones(self.number, dtype=bool) if inside is None else inside
        gold = np.bincount(self.unit[chosen], minlength=self.documents)
        correct = np.bincount(self.unit[chosen & found], minlength=self.documents)
        wrong = np.zeros(self.documents) if spurious is None else spurious
        table = np.stack([gold, correct + wrong, correct], axis=1).astype(np.int64)
        counts = Counts.of_matrix(["all"], EXACT, table)
        return Measure(MeasureKey("exact"), counts, "exact", (("exact", "overall"),), "exact", ("f1",))

    def system(self, draw: Draw, chance: Numbers) -> Measure:
        """The counts per document of one run."""
        sizes = np.bincount(self.unit, minlength=self.documents)
        return self.measure(
            draw.random(self.number) < chance, spurious=draw.binomial(sizes, SPURIOUS).astype(np.float64)
        )


def holding(draw: Draw, trial: int, *, documents: int, unequal: float = 0.0) -> Iterator[Event]:
    """Whether the intervals of all slices contain their true scores at once."""
    mentions = Mentions(draw, documents, unequal=unequal)
    shift = np.array([-0.4, 0.0, 0.0, 0.4])  # the first attribute has harder and easier values
    lost = draw.random(mentions.number) >= mentions.chance(draw, better=shift[mentions.codes[0]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    spread = np.hypot(HARD, OWN)
    scores = [
        float((weights / (1 + np.exp(-(CHANCE + move + spread * nodes)))).sum() / weights.sum())
        for move in shift
    ]
    blocks = list(searching._slices(mentions.items(lost), 1, 10 if documents < 20 else 50))
    tested = sum(len(block.keys) for block in blocks)
    held = True
    for block in blocks:
        for key, number, weight in zip(block.keys, block.number, block.weight, strict=True):
            (facet, value), *_ = key
            true = scores[value] if facet == 0 else float(np.mean(scores))
            low, high = searching.simultaneous(number, number - weight, tested)
            held &= low <= true <= high
    yield Event("all slices at once", held)


def differing(draw: Draw, trial: int, *, documents: int) -> Iterator[Event]:
    """Whether a slice is listed in which two equal systems are said to differ."""
    mentions = Mentions(draw, documents)
    a, b = (draw.random(mentions.number) >= mentions.chance(draw) for _ in range(2))
    found = search(mentions.items(a.astype(float) - b, paired=True), depth=2, flips=400, seed=trial)
    yield Event("a slice is listed", bool(found.listed))


class Counted(Shelf):
    """A shelf whose results are counts in memory."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        super().__init__(Path(), cast("Store", None))
        self.measures = measures

    def _counts(self, result: Result, score: str) -> Measure:
        return self.measures[result.id]


def results(numbers: Sequence[Sequence[int]]) -> list[PooledRuns]:
    """Results with these numbers, several for a system with several runs."""
    board = Board(scores={}, counted=("exact",))
    return [
        PooledRuns(tuple(Result(number, "", "", "", "", False, board) for number in own)) for own in numbers
    ]


def gold_of(documents: int) -> Gold:
    """A gold set of some documents."""
    return Gold(slug="g", name="g", sha256="g", sentences=0, mentions=0, unit="document", units=documents)


def leading(draw: Draw, trial: int, *, systems: int, runs: int, seeds: float) -> Iterator[Event]:
    """Whether any of several equal methods is called better on the leaderboard."""
    mentions, measures = Mentions(draw, 60), []
    for _ in range(systems):
        own = draw.normal(0, OWN, mentions.documents)[mentions.unit]
        for _ in range(runs):
            luck = draw.normal(0, seeds * PER_F1)
            chance = 1 / (1 + np.exp(-(CHANCE + mentions.hard[mentions.unit] + own + luck)))
            measures.append(mentions.system(draw, chance))
    pools = results([range(at * runs, (at + 1) * runs) for at in range(systems)])
    tests = Counted(measures).ties(gold_of(60), pools, "f1")
    rows = [comparison.score(PRIMARY["f1"]) for comparison in tests.values()]
    yield Event("a system is called better", any(row is not None and row.significant for row in rows))


class Sliceable:
    """Two systems in memory, as far as the tests of slices look at them."""

    def __init__(self, mentions: Mentions, found: dict[str, Flags]) -> None:
        self.mentions, self.found = mentions, found
        self.columns = SimpleNamespace(head=SimpleNamespace(units=mentions.documents))

    def defined(self, condition: object) -> bool:
        """Every slice has predictions."""
        return True

    def measure(self, name: str, condition: Any) -> Measure:
        """The counts of a system in a slice, which is given by its mentions."""
        return self.mentions.measure(self.found[name], condition)


def looking(draw: Draw, trial: int, *, most: int = 100) -> Iterator[Event]:
    """Whether two equal systems are called different in any of the slices that are looked at."""
    mentions = Mentions(draw, 60)
    found = {name: draw.random(mentions.number) < mentions.chance(draw) for name in "ab"}
    index = cast("SliceIndex", Sliceable(mentions, found))
    differ = False
    for look in range(1, most + 1):
        inside = draw.random(mentions.number) < draw.uniform(0.1, 0.9)
        code = mentions.codes[look % 5]
        inside &= code != draw.integers(0, code.max() + 1)
        test = _tested({name: [index] for name in "ab"}, cast("Condition", inside), "a", "b")
        differ |= test.p is not None and test.p <= (level_of(look) or 0)
        if look in (10, 30, 100):
            yield Event(f"{look} looks, one significant", differ)


def falling(draw: Draw, trial: int, *, steps: int = 30, seeds: float = 0.0) -> Iterator[Event]:
    """Whether a fall is marked in a history of equal results, of edits or of models trained again."""
    mentions, measures = Mentions(draw, 60), []
    chance = mentions.chance(draw)
    found = draw.random(mentions.number) < chance
    for _ in range(steps):
        if seeds:
            odds = np.log(chance / (1 - chance)) + draw.normal(0, seeds * PER_F1)
            found = draw.random(mentions.number) < 1 / (1 + np.exp(-odds))
        else:  # an edit changes a fifth of the answers
            again = draw.random(mentions.number) < 0.2
            found = np.where(again, draw.random(mentions.number) < chance, found)
        measures.append(mentions.measure(found))
    store = SimpleNamespace(references=lambda gold: {})
    bench = cast("Bench", SimpleNamespace(shelf=Counted(measures), store=store))
    own = results([[number] for number in range(steps)])
    tests = (step_of(bench, gold_of(60), own, at, "f1") for at in range(1, steps))
    yield Event("a fall is marked", any(step.fell or step.fell_since for step in tests))


def confirming(draw: Draw, trial: int) -> Iterator[Event]:
    """Whether the worst of all slices, none of which is weak, is called weak again, and is confirmed."""
    mentions = Mentions(draw, 60)
    first = draw.random(mentions.number) < mentions.chance(draw)
    items = mentions.items((~first).astype(float))
    best = searching._best(items, 2, 50, 1)
    if not best:
        return
    chosen = best[0]
    later = np.where(draw.random(mentions.number) < 0.8, first, draw.random(mentions.number) < 0.8)
    new = Mentions(draw, 60)
    for what, where, found in (
        ("seen again on the same data", mentions, later),
        ("confirmed by new documents", new, draw.random(new.number) < new.chance(draw)),
    ):
        index = cast("SliceIndex", Sliceable(where, {"a": found}))
        items = where.items((~found).astype(float))
        inside = items.mask(chosen)
        p = weakness(index, "a", cast("Condition", inside)).p
        if p is not None and where is mentions:
            p = max(p, searching.p_among_all(items, inside, flips=400, seed=trial))
        yield Event(f"{what}, if this were at 5 %", p is not None and p <= 0.05)
        yield Event(what, p is not None and p <= (level_of(1) or 0))


def experiments() -> Iterator[Experiment]:
    """The experiments on slices and on the workbench."""

    def coverage(_: str) -> str:
        return "coverage"

    def size(_: str) -> str:
        return "size"

    def reported(_: str) -> str:
        return "reported"

    before = {60: "93", 20: "87", 8: "71"}
    for documents in (8, 20, 60):
        for unequal, named in ((0.0, "documents of equal size"), (0.8, "sizes log-normal, sd .8")):
            yield Experiment(
                "slices", f"intervals of selected slices, {named}", f"{documents} documents", holding,
                {"documents": documents, "unequal": unequal}, 1000, coverage,
                before[documents] if not unequal else "",
            )  # fmt: skip
    for documents in (20, 60):
        yield Experiment(
            "slices", "two equal systems", f"{documents} documents", differing,
            {"documents": documents}, 500, size,
        )  # fmt: skip
    for systems, number, seeds in ((2, 3, 0.018), (2, 5, 0.018), (2, 3, 0.037), (2, 5, 0.037), (4, 3, 0.018)):
        what = f"leaderboard, {systems} equal methods, {number} runs, seed sd {100 * seeds:.1f} F1"
        options = {"systems": systems, "runs": number, "seeds": seeds}
        old = {(3, 0.018): "25", (5, 0.018): "23"}.get((number, seeds), "50") if systems == 2 else ""
        yield Experiment("workbench", what, "60 documents", leading, options, 800, size, old)
    yield Experiment(
        "workbench", "slices looked at, two equal systems", "60 documents", looking, {}, 300, size,
        "14 / 18.5 / 23",
    )  # fmt: skip
    for seeds, asked, old in ((0.0, size, "59"), (0.018, reported, "95")):
        named = "of single models trained again, seed sd 1.8 F1" if seeds else "of small edits"
        yield Experiment(
            "workbench", f"history of 30 equal results {named}", "60 documents", falling, {"seeds": seeds},
            300, asked, old,
        )  # fmt: skip
    yield Experiment(
        "workbench", "saved slice, nothing weak", "60 documents", confirming, {}, 1000, size, "37 to 58"
    )
