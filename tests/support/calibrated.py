"""How intervals, tests, findings and gates behave on simulated corpora whose truth is known.

Each experiment draws its own corpora from its own seed and returns shares by what they are about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from simulated import Sample, World, cell, evaluated, luck, sample, system

import spanwise
from spanwise.evaluation import unpacked
from spanwise.gates import gate
from spanwise.statistics import fisher
from spanwise.studies._greying import buckets_differ
from spanwise.studies._paired import paired
from spanwise.uncertainty import Resampling

F1 = ["exact", "overall", "f1"]
NULL = World(kinds=(1.0, 0.0, 0.0))  # labels, lengths and seen mentions are all alike
SENTENCES = World(spread=0.0)

Size = Mapping[str, int]  # documents or sentences


class Shares:
    """How often something happened, by what it is about."""

    def __init__(self) -> None:
        self.times: Counter[str] = Counter()
        self.of: Counter[str] = Counter()

    def add(self, what: str, happened: bool, tried: bool = True) -> None:
        self.of[what] += tried
        self.times[what] += happened and tried

    def __iter__(self) -> Iterator[tuple[str, float, int]]:
        return iter((what, self.times[what] / number, number) for what, number in self.of.items() if number)


def group(path: Sequence[str]) -> str:
    """What kind of cell a path names."""
    match path[0]:
        case "exact" if path[1] == "overall":
            return f"overall {path[2]}"
        case "exact":
            return "macro F1" if path[1] == "macro" else "label F1"
        case "attributes":
            return "bucket F1"
        case "tough":
            return "subset recall"
        case "gains":
            return "gain"
        case _:
            return "fair F1"


def coverage(world: World, size: Size, *, trials: int, seed: int = 1, **options: Any) -> Shares:
    """How often 95 % intervals hold the true score, by kind of cell; and how many are points."""
    draw, found, truth = np.random.default_rng(seed), Shares(), world.truth()
    for _ in range(trials):
        one = sample(world, draw, **size)
        document = evaluated(one, {"a": system(one, draw)}, resamples=20, **options)
        for path, true in truth.items():
            value, bounds = cell(document, "a", path)
            if value is None or bounds is None:
                found.add(f"{group(path)}: no interval", True)
                continue
            what = group(path) if path[0] != "exact" or path[1] != "labels" else f"label F1 {path[2]}"
            found.add(what, bounds[0] <= true <= bounds[1])
            found.add("a point", bounds[0] == bounds[1])
    return found


def differences(
    world: World,
    size: Size,
    *,
    trials: int,
    better: float = 1.0,
    seed: int = 2,
    resamples: int = 400,
    **options: Any,
) -> Shares:
    """How often two systems are called different: by F1, by anything else, by anything on the screen."""
    draw, found = np.random.default_rng(seed), Shares()
    for trial in range(trials):
        one = sample(world, draw, **size)
        shared = luck(one, draw)
        both = {"a": system(one, draw, shared, times=better), "b": system(one, draw, shared)}
        document = evaluated(one, both, resamples=resamples, seed=trial, **options)
        (comparison,) = document["comparisons"]
        rows = comparison["scores"]
        primary = next(row for row in rows if list(row["path"]) == F1)
        other = any(row["significant"] for row in rows if row is not primary)
        found.add("F1", primary["significant"])
        found.add("any other score", other)
        found.add("anything on the screen", other or primary["significant"])
        if primary["interval"]:
            true = replace(world, errors=world.errors * better, spurious=world.spurious * better).truth()
            difference = true[tuple(F1)] - world.truth()[tuple(F1)]
            found.add(
                "interval of the difference", primary["interval"][0] <= difference <= primary["interval"][1]
            )
    return found


def runs(
    world: World, size: Size, *, number: int, seeds: float, trials: int, better: float = 1.0, seed: int = 3
) -> Shares:
    """How often a letter says that one of two methods is better, when errors vary by `seeds` over seeds."""
    draw, found = np.random.default_rng(seed), Shares()
    for trial in range(trials):
        one = sample(world, draw, **size)
        shared = luck(one, draw)
        units = {
            name: _runs(one, shared, draw, number, seeds, times)
            for name, times in (("a", better), ("b", 1.0))
        }
        options = {"resamples": 200, "seed": trial, "confidence": 0.95, "correction": "holm"}
        result = paired(units, [], **options)
        found.add("a letter", any(result.letters.values()))
    return found


def _runs(one: Sample, shared: Any, draw: Any, number: int, seeds: float, times: float = 1.0) -> Any:
    luck_of = [times * float(np.exp(draw.normal(0, seeds))) for _ in range(number)]
    predicted = {f"{run}": system(one, draw, shared, times=by) for run, by in enumerate(luck_of)}
    result = spanwise.evaluate(one.gold, predicted, attributes="none", resamples=0, pairs=[], examples="none")
    return result.units


def greying(world: World, size: Size, *, number: int, trials: int, seed: int = 4) -> Shares:
    """How often the buckets of an attribute are said to differ, `number` runs of one system."""
    draw, found = np.random.default_rng(seed), Shares()
    for trial in range(trials):
        one = sample(world, draw, **size)
        shared = luck(one, draw)
        predicted = {
            f"{run}": system(one, draw, shared, times=float(np.exp(draw.normal(0, 0.08))))
            for run in range(number)
        }
        result = spanwise.evaluate(
            one.gold, predicted, attributes=["label", "entity_length"], resamples=0, pairs=[], examples="none"
        )
        units: Any = result.units
        measures = [unpacked(units.systems[run], place=run) for run in predicted]
        p = buckets_differ({"a": measures}, Resampling(units.number, 400, trial))["a"]
        for attribute, value in p.items():
            found.add(f"buckets of {attribute} differ", value < 0.05)
    return found


def findings(world: World, size: Size, *, trials: int, weak: str | None = None, seed: int = 5) -> Shares:
    """How often a weakness is named, and how often the interval of the worst slice holds the truth."""
    draw, found, truth = np.random.default_rng(seed), Shares(), world.truth()
    for trial in range(trials):
        one = sample(world, draw, **size)
        document = evaluated(one, {"a": system(one, draw)}, resamples=400, seed=trial)
        named = [row for row in document["findings"] if row["kind"] in ("slice", "tough")]
        found.add("a weakness is named", bool(named))
        if weak is not None:
            found.add("the planted one is named", any(weak in row["path"] for row in named))
        tested = [row for row in document["systems"]["a"]["slices"] if row.get("p") is not None]
        if tested:
            worst = min(tested, key=lambda row: (row["p"], -row["cost"]))
            true = _true(truth, worst)
            if true is not None and worst["interval"]:
                found.add("interval of the worst slice", worst["interval"][0] <= true <= worst["interval"][1])
        gain = [row for row in document["findings"] if row["kind"] == "gain"]
        found.add("one kind of error is said to cost the most", bool(gain) and not gain[0].get("tied"))
    return found


def _true(truth: Mapping[tuple[str, ...], float], row: Mapping[str, Any]) -> float | None:
    if row["kind"] == "label":
        return truth[("exact", "labels", row["name"], "f1")]
    if row["kind"] == "tough":
        return truth.get(("tough", row["name"], "overall", "recall"))
    name = {"XS": "S", "S": "M", "L": "L"}.get(row["name"], "")
    return truth.get(("attributes", row["attribute"], name, "f1"))


def gates(
    world: World,
    size: Size,
    *,
    drop: float,
    trials: int,
    seed: int = 6,
    fail: float = 0.0,
    allowed: float = 2.0,
) -> Shares:
    """How often a release that is worse by `drop` points fails --fail-drop, and passes --not-worse-than."""
    draw, found = np.random.default_rng(seed), Shares()
    times = worse(world, drop / 100)
    for trial in range(trials):
        one = sample(world, draw, **size)
        shared = luck(one, draw)
        options = {"attributes": "none", "examples": "none", "resamples": 200, "seed": trial}
        old = spanwise.evaluate(one.gold, {"a": system(one, draw, shared)}, **options)
        new = spanwise.evaluate(one.gold, {"a": system(one, draw, shared, times=times)}, **options)
        outcome = gate(new, against=old, fail_drop=fail, not_worse_than=allowed)
        by_name = {check.name: check.passed for check in outcome.checks}
        found.add(f"--fail-drop {fail:g} fails", not by_name["a drop"])
        found.add(f"--not-worse-than {allowed:g} passes", by_name["a not worse"])
    return found


def worse(world: World, by: float) -> float:
    """How many times as many errors a system of this world makes whose F1 is lower by so much."""
    low, high = 0.2, 6.0
    goal = world.truth()[tuple(F1)] - by
    for _ in range(50):
        middle = (low + high) / 2
        other = replace(world, errors=world.errors * middle, spurious=world.spurious * middle)
        low, high = (middle, high) if other.truth()[tuple(F1)] > goal else (low, middle)
    return (low + high) / 2


def chains(world: World, size: Size, *, loss: float, releases: int, trials: int, seed: int = 7) -> Shares:
    """How often a chain of releases, each worse by `loss` points, fails somewhere against the first."""
    draw, found = np.random.default_rng(seed), Shares()
    for trial in range(trials):
        one = sample(world, draw, **size)
        shared = luck(one, draw)
        options = {"attributes": "none", "examples": "none", "resamples": 100, "seed": trial}
        first = previous = spanwise.evaluate(one.gold, {"a": system(one, draw, shared)}, **options)
        fixed = moved = False
        for release in range(1, releases + 1):
            times = worse(world, release * loss / 100)
            new = spanwise.evaluate(one.gold, {"a": system(one, draw, shared, times=times)}, **options)
            fixed |= not gate(new, against=first, fail_drop=0).passed
            moved |= not gate(new, against=previous, fail_drop=0).passed
            previous = new
        found.add("against the first release: fails somewhere", fixed)
        found.add("against the one before: fails somewhere", moved)
    return found


def datasets(world: World, size: Size, *, number: int, trials: int, seed: int = 8) -> Shares:
    """How often Fisher's combination over datasets says that equal buckets differ."""
    draw, found = np.random.default_rng(seed), Shares()
    for trial in range(trials):
        p = []
        for _ in range(number):
            one = sample(world, draw, **size)
            result = spanwise.evaluate(
                one.gold,
                {"a": system(one, draw)},
                attributes=["label"],
                resamples=0,
                pairs=[],
                examples="none",
            )
            units: Any = result.units
            measures = [unpacked(units.systems["a"], place="a")]
            p.append(buckets_differ({"a": measures}, Resampling(units.number, 400, trial))["a"]["label"])
        found.add("buckets of label differ", fisher(p) < 0.05)
    return found
