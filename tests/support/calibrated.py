"""How intervals, tests, findings and gates behave on simulated corpora whose truth is known.

An experiment is a function of a random generator and a trial number; it yields one event for each thing it
checks. Each trial has its own generator, so trials can run in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from simulated import Draw, Sample, World, cell, evaluated, luck, sample, studied, system

import spanwise
from spanwise.corpus import Annotation
from spanwise.gates import gate

F1 = ("exact", "overall", "f1")
NULL = World(kinds=(1.0, 0.0, 0.0))  # labels, lengths and seen mentions are equally hard
SENTENCES = World(spread=0.0)

Size = Mapping[str, Any]  # documents or sentences


class Event(NamedTuple):
    """Whether something happened; `held` marks cells with at least 30 units and 10 errors."""

    what: str
    happened: bool
    held: bool = False


Trial = Callable[..., Iterator[Event]]


class Shares:
    """How often each kind of event happened."""

    def __init__(self) -> None:
        self.times: Counter[str] = Counter()
        self.of: Counter[str] = Counter()
        self.held: Counter[str] = Counter()

    def add(self, what: str, times: int, of: int, held: int) -> None:
        """Add `of` events, `times` of which happened."""
        self.of[what] += of
        self.times[what] += times
        self.held[what] += held

    def __iter__(self) -> Iterator[tuple[str, int, int, int]]:
        return iter((what, self.times[what], number, self.held[what]) for what, number in self.of.items())

    def share(self, what: str) -> float:
        """The share of events that happened, from 0 to 1."""
        return self.times[what] / self.of[what]


def repeated(trial: Trial, *, trials: int, seed: int = 0, first: int = 0, **options: Any) -> Shares:
    """The events of `trials` trials from number `first` on; each depends only on its seed and number."""
    shares = Shares()
    for number in range(first, first + trials):
        for what, happened, held in trial(np.random.default_rng([seed, number]), number, **options):
            shares.add(what, bool(happened), 1, held)
    return shares


# ---- intervals ------------------------------------------------------------------------------


def group(path: Sequence[str]) -> str:
    """The kind of cell at a path."""
    match path[0]:
        case "exact" if path[1] == "overall":
            return {"f1": "F1", "precision": "P", "recall": "R"}[path[2]]
        case "exact":
            return "macro" if path[1] == "macro" else "labels"
        case "attributes":
            return "buckets"
        case "tough":
            return "subsets"
        case "gains":
            return "gains"
        case _:
            return "fair"


def coverage(draw: Draw, trial: int, *, world: World, size: Size, **options: Any) -> Iterator[Event]:
    """Whether 95 % intervals contain the true score, by kind of cell, and whether they are points."""
    test_set = sample(world, draw, **size)
    document = evaluated(test_set, {"a": system(test_set, draw)}, resamples=20, **options)
    rarest = world.labels[int(np.argmin(world.shares))]
    for path, true in world.truth().items():
        value, bounds = cell(document, "a", path)
        if value is None or bounds is None:
            yield Event("no interval", True)
            continue
        chosen = test_set.of_cell(path)
        errors = chosen.sum() * (value if path[0] == "gains" else 1 - value)
        held = bool(len(np.unique(test_set.document[chosen])) >= 30 and errors >= 10)
        what = "rarest label" if path[:3] == ("exact", "labels", rarest) else group(path)
        yield Event(what, bounds[0] <= true <= bounds[1], held)
        yield Event("points", bounds[0] == bounds[1])


# ---- two systems ----------------------------------------------------------------------------


def differences(
    draw: Draw,
    trial: int,
    *,
    world: World,
    size: Size,
    better: float = 1.0,
    other: World | None = None,
    resamples: int = 400,
    **options: Any,
) -> Iterator[Event]:
    """Whether two systems are called different: by F1, by another score, or by anything on the screen.

    The second system follows its world; the first makes `better` times as many errors, or follows `other`.
    """
    test_set = sample(world, draw, **size)
    shared = luck(test_set, draw)
    first = other or replace(world, errors=world.errors * better, spurious=world.spurious * better)
    systems = {"a": system(test_set, draw, shared, world=first), "b": system(test_set, draw, shared)}
    document = evaluated(test_set, systems, resamples=resamples, seed=trial, **options)
    (comparison,) = document["comparisons"]
    rows = comparison["scores"]
    primary = next(row for row in rows if tuple(row["path"]) == F1)
    secondary = any(row["significant"] for row in rows if row is not primary)
    yield Event("F1", primary["significant"])
    yield Event("F1, method of 0.1", plain_p(test_set, systems["a"], systems["b"], draw, resamples) < 0.05)
    yield Event("any other score", secondary)
    yield Event("anything on the screen", secondary or primary["significant"])
    difference = first.truth()[F1] - world.truth()[F1]
    yield Event("interval of the difference", _holds(primary["interval"], difference))


def _holds(bounds: Sequence[float] | None, true: float) -> bool:
    return bounds is not None and bounds[0] <= true <= bounds[1]


def plain_p(test_set: Sample, first: Annotation, second: Annotation, draw: Draw, shuffles: int) -> float:
    """The two-sided p-value of version 0.1: units swapped at random a fixed number of times."""
    counts = np.stack([_per_unit(test_set.gold, side) for side in (first, second)])
    own = draw.random((shuffles, counts.shape[1])) < 0.5
    moved = own @ (counts[1] - counts[0])
    totals = counts.sum(axis=1)
    seen = _f1(totals[0]) - _f1(totals[1])
    swapped = _f1(totals[0] + moved) - _f1(totals[1] - moved)
    return float((1 + (np.abs(swapped) >= abs(seen) - 1e-12).sum()) / (1 + shuffles))


def _f1(counts: Any) -> Any:
    return 2 * counts[..., 1] / counts[..., 0]


def _per_unit(gold: Annotation, predicted: Annotation) -> np.ndarray:
    """Gold + predicted, and correct, mentions per document, or per sentence if documents are not marked."""
    starts = gold.corpus.documents
    number = len(gold.corpus.sentences) - 1
    unit = np.arange(number) if starts is None else np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    keys = [
        ((side.mentions.sentence * 64 + side.mentions.start) * 64 + side.mentions.end) * 64
        + side.mentions.label
        for side in (gold, predicted)
    ]
    right = np.isin(keys[1], keys[0])
    counts = np.zeros((int(unit.max()) + 1, 2))
    for side in (gold, predicted):
        counts[:, 0] += np.bincount(unit[side.mentions.sentence], minlength=len(counts))
    counts[:, 1] = np.bincount(unit[predicted.mentions.sentence[right]], minlength=len(counts))
    return counts


# ---- runs and datasets, through studies -----------------------------------------------------


def runs(
    draw: Draw,
    trial: int,
    *,
    world: World,
    size: Size,
    number: int | tuple[int, int],
    seeds: float,
    better: float = 1.0,
    datasets: int = 1,
) -> Iterator[Event]:
    """Whether a study calls one of two methods better, when errors vary by `seeds` over training seeds."""
    numbers = (number, number) if isinstance(number, int) else number
    inputs = {}
    for dataset in range(datasets):
        test_set = sample(world, draw, **size)
        shared = luck(test_set, draw)
        inputs[f"d{dataset}"] = (
            test_set.gold,
            {
                name: _runs(test_set, shared, draw, many, seeds, times)
                for name, times, many in (("a", better, numbers[0]), ("b", 1.0, numbers[1]))
            },
        )
    document = studied(inputs, attributes="none", resamples=200, seed=trial)
    analyses = document["analyses"]
    for name in inputs if datasets == 1 else ():
        yield Event("a letter", any(analyses["letters"][name].values()))
    (pair,) = analyses["bucket_wise"]["comparative"]
    if datasets > 1:
        letters = [any(row.values()) for row in analyses["letters"].values()]
        yield from (Event("a letter on a dataset", letter) for letter in letters)
        yield Event("the test over datasets", pair["over_datasets"]["significant"])


def _runs(
    test_set: Sample, shared: Any, draw: Draw, number: int, seeds: float, times: float = 1.0
) -> list[Annotation]:
    luck_of = [times * float(np.exp(draw.normal(0, seeds))) for _ in range(number)]
    return [system(test_set, draw, shared, times=by) for by in luck_of]


def greying(
    draw: Draw, trial: int, *, world: World, size: Size, number: int, datasets: int = 1
) -> Iterator[Event]:
    """Whether a study reports that the buckets of an attribute differ, by our test and by Fu20's."""
    inputs = {}
    for dataset in range(datasets):
        test_set = sample(world, draw, **size)
        shared = luck(test_set, draw)
        inputs[f"d{dataset}"] = test_set.gold, {"a": _runs(test_set, shared, draw, number, 0.08)}
    document = studied(inputs, attributes=["label", "entity_length"], resamples=400, seed=trial)
    for attribute, row in document["analyses"]["model_wise"]["a"].items():
        p = row["buckets_differ"]["p"]
        yield Event(f"buckets of {attribute}", p is not None and p < 0.05)
        p = row["friedman"]["p"]
        yield Event(f"buckets of {attribute}, fu20-friedman", p is not None and p < 0.05)


# ---- findings and slices --------------------------------------------------------------------


def findings(draw: Draw, trial: int, *, world: World, size: Size, weak: str | None = None) -> Iterator[Event]:
    """Whether a weakness is reported, and whether the interval of the worst slice contains the true score."""
    truth = world.truth()
    test_set = sample(world, draw, **size)
    document = evaluated(test_set, {"a": system(test_set, draw)}, resamples=400, seed=trial)
    named = [row for row in document["findings"] if row["kind"] in ("slice", "tough")]
    yield Event("a weakness is named", bool(named))
    if weak is not None:
        yield Event("the planted one is named", any(weak in row["path"] for row in named))
    tested = [row for row in document["systems"]["a"]["slices"] if row.get("p") is not None]
    if tested:
        worst = min(tested, key=lambda row: (row["p"], -row["cost"]))
        true = _true(truth, worst)
        if true is not None and worst["interval"]:
            yield Event("interval of the worst slice", _holds(worst["interval"], true))
    gain = [row for row in document["findings"] if row["kind"] == "gain"]
    yield Event("one kind of error is said to cost the most", bool(gain) and not gain[0].get("tied"))


def _true(truth: Mapping[tuple[str, ...], float], row: Mapping[str, Any]) -> float | None:
    if row["kind"] == "label":
        return truth[("exact", "labels", row["name"], "f1")]
    if row["kind"] == "tough":
        return truth.get(("tough", row["name"], "overall", "recall"))
    name = {"XS": "S", "S": "M", "L": "L"}.get(row["name"], "")
    return truth.get(("attributes", row["attribute"], name, "f1"))


def slicing(draw: Draw, trial: int, *, world: World, size: Size, weak: str | None = None) -> Iterator[Event]:
    """Whether `find_slices` lists anything, and whether the planted label comes first."""
    test_set = sample(world, draw, **size)
    document = spanwise.find_slices(
        test_set.gold,
        {"a": system(test_set, draw)},
        train=test_set.train,
        attributes=["label", "entity_length"],
        flips=400,
        seed=trial,
    ).to_dict()
    listed = document["systems"]["a"]["slices"]
    yield Event("a slice is listed", bool(listed))
    if weak is not None:
        first = listed[0]["conditions"] if listed else []
        yield Event("the planted one is first", any(str(row["value"]) == weak for row in first))


# ---- gates ----------------------------------------------------------------------------------


def gates(draw: Draw, trial: int, *, world: World, size: Size, drop: float) -> Iterator[Event]:
    """Whether a release that is worse by `drop` points fails --fail-drop, and passes --not-worse-than."""
    times = worse(world, drop / 100)
    test_set = sample(world, draw, **size)
    shared = luck(test_set, draw)
    options: dict[str, Any] = {"attributes": "none", "examples": "none", "resamples": 200, "seed": trial}
    before, after = system(test_set, draw, shared), system(test_set, draw, shared, times=times)
    old = spanwise.evaluate(test_set.gold, {"a": before}, **options)
    new = spanwise.evaluate(test_set.gold, {"a": after}, **options)
    for fail in (0.0, 1.0):
        outcome = gate(new, against=old, fail_drop=fail, not_worse_than=2.0)
        by_name = {check.name: check.passed for check in outcome.checks}
        yield Event(f"--fail-drop {fail:g} fails", not by_name["a drop"])
    yield Event("--not-worse-than 2 passes", by_name["a not worse"])
    scores = [side.to_dict()["systems"]["a"]["exact"]["overall"]["f1"] for side in (old, new)]
    p = plain_p(test_set, before, after, draw, 200)
    yield Event("--fail-drop 0 of version 0.1 fails", scores[0] > scores[1] and p < 0.05)


def worse(world: World, by: float) -> float:
    """The factor on the number of errors that lowers the F1 of a system in this world by `by`."""
    low, high = 0.2, 6.0
    goal = world.truth()[F1] - by
    for _ in range(50):
        middle = (low + high) / 2
        other = replace(world, errors=world.errors * middle, spurious=world.spurious * middle)
        low, high = (middle, high) if other.truth()[F1] > goal else (low, middle)
    return (low + high) / 2


def weaker(label: str, by: float, world: World = NULL) -> World:
    """A world in which the F1 of one label is `by` points below the overall F1."""
    low, high = 1.0, 6.0
    for _ in range(50):
        middle = (low + high) / 2
        truth = replace(world, harder={label: middle}).truth()
        deficit = truth[F1] - truth["exact", "labels", label, "f1"]
        low, high = (middle, high) if deficit < by / 100 else (low, middle)
    return replace(world, harder={label: (low + high) / 2})


def chains(
    draw: Draw, trial: int, *, world: World, size: Size, loss: float, releases: int
) -> Iterator[Event]:
    """Whether a chain of releases, each worse by `loss` points, fails somewhere."""
    test_set = sample(world, draw, **size)
    shared = luck(test_set, draw)
    options: dict[str, Any] = {"attributes": "none", "examples": "none", "resamples": 100, "seed": trial}
    first = previous = spanwise.evaluate(test_set.gold, {"a": system(test_set, draw, shared)}, **options)
    fixed = moved = False
    for release in range(1, releases + 1):
        times = worse(world, release * loss / 100)
        new = spanwise.evaluate(test_set.gold, {"a": system(test_set, draw, shared, times=times)}, **options)
        fixed |= not gate(new, against=first, fail_drop=0).passed
        moved |= not gate(new, against=previous, fail_drop=0).passed
        previous = new
    yield Event("against the first release", fixed)
    yield Event("against the one before", moved)
