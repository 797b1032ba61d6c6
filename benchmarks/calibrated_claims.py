"""Experiments on what an evaluation of one gold set claims: families, findings, gates, few documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from calibrated import F1, NULL, Event, Size, worse
from simulated import Draw, World, evaluated, luck, sample, studied, system

import spanwise
from benchmarks.experiments import Experiment, reported
from spanwise.document.loading import as_document
from spanwise.document.study import Study
from spanwise.gates import gate
from spanwise.statistics import LEVEL, spearman
from spanwise.views.lookups import reversals

PLAIN: dict[str, Any] = {"attributes": "none", "examples": "none", "resamples": 200}
KINDS = ("FN", "LE", "BE")


def experiments() -> Iterator[Experiment]:
    """All experiments of this module."""
    yield from _pairs()
    yield from _costs()
    yield from _drops()
    yield from _reversals()
    yield from _others()
    yield from _few()
    yield from _unrelated()


# ---- more than two systems ------------------------------------------------------------------


def families(draw: Draw, trial: int, *, world: World, size: Size, systems: int) -> Iterator[Event]:
    """Whether any pair of equal systems is called different in the primary score, or in any other."""
    test_set = sample(world, draw, **size)
    shared = luck(test_set, draw)
    made = {f"s{number}": system(test_set, draw, shared) for number in range(systems)}
    document = spanwise.evaluate(test_set.gold, made, seed=trial, **PLAIN)
    rows = [row for comparison in document.comparisons for row in comparison.scores]
    yield Event("a letter", any(document.letters.values()))
    yield Event("a pair differs in F1", any(row.significant for row in rows if row.role == "primary"))
    yield Event(
        "a pair differs in another score", any(row.significant for row in rows if row.role != "primary")
    )


def _pairs() -> Iterator[Experiment]:
    for number, trials in ((3, 400), (5, 300)):
        options = {"world": World(), "size": {"documents": 40}, "systems": number}
        what = f"{number} equal systems"
        yield Experiment("sizes", what, "40 documents", families, options, trials, lambda _: "size")


# ---- the kind of error that costs the most --------------------------------------------------


def costliest(draw: Draw, trial: int, *, world: World, size: Size, equal: Sequence[str]) -> Iterator[Event]:
    """Whether a kind of error is said to cost more than another that costs just as much."""
    test_set = sample(world, draw, **size)
    document = evaluated(
        test_set, {"a": system(test_set, draw)}, attributes="none", resamples=20, seed=trial, train=None
    )
    gain = [row for row in document["findings"] if row["kind"] == "gain"]
    named = {gain[0]["path"][1], *gain[0].get("tied", ())} if gain else set(equal)
    yield Event("one kind is said to cost the most", len(named) == 1)
    yield Event("an equal kind is left out", not set(equal) <= named)


def equal_kinds() -> World:
    """A world in which missed mentions, wrong labels and wrong boundaries cost the same."""
    low, high = 0.1, 0.9
    for _ in range(50):
        missed = (low + high) / 2
        world = World(kinds=(missed, (1 - missed) / 2, (1 - missed) / 2), spurious=0.01, errors=0.2)
        truth = world.truth()
        more = truth["gains", "FN", "gain"] > truth["gains", "LE", "gain"]
        low, high = (low, missed) if more else (missed, high)
    return world


def _costs() -> Iterator[Experiment]:
    for documents in (20, 60):
        options = {"world": equal_kinds(), "size": {"documents": documents}, "equal": KINDS}
        yield Experiment(
            "findings",
            "three kinds of error equal",
            f"{documents} documents",
            costliest,
            options,
            600,
            lambda _: "size",
        )


# ---- gates ----------------------------------------------------------------------------------


def drops(draw: Draw, trial: int, *, world: World, size: Size, drop: float) -> Iterator[Event]:
    """Whether a release that is worse by exactly D fails --fail-drop D, or passes --not-worse-than D."""
    test_set = sample(world, draw, **size)
    shared = luck(test_set, draw)
    options = {**PLAIN, "seed": trial, "resamples": 50}
    old = spanwise.evaluate(test_set.gold, {"a": system(test_set, draw, shared)}, **options)
    times = worse(world, drop / 100)
    new = spanwise.evaluate(test_set.gold, {"a": system(test_set, draw, shared, times=times)}, **options)
    outcome = gate(new, against=old, fail_drop=drop, not_worse_than=drop)
    states = {check.name: check.state for check in outcome.checks}
    p = outcome.changes[0].p
    yield Event("--fail-drop fails", states["a drop"] == "failed")
    yield Event("--not-worse-than passes", states["a not worse"] == "passed")
    yield Event("fails with p ≥ .05", "failed" in states.values() and (p is None or p >= 0.05))


def unchanged(
    draw: Draw, trial: int, *, world: World, size: Size, systems: int, seeds: float = 0.0
) -> Iterator[Event]:
    """Whether --fail-drop 0 fails for any of several systems that are as good as before.

    If they were trained again, their errors vary by `seeds` over training seeds.
    """
    test_set = sample(world, draw, **size)
    shared = luck(test_set, draw)
    options = {**PLAIN, "seed": trial, "resamples": 50, "pairs": []}
    old, new = (
        spanwise.evaluate(
            test_set.gold,
            {
                f"s{k}": system(test_set, draw, shared, times=float(np.exp(draw.normal(0, seeds))))
                for k in range(systems)
            },
            **options,
        )
        for _ in range(2)
    )
    yield Event("--fail-drop 0 fails for one", not gate(new, against=old, fail_drop=0).passed)


def _gates_asked(what: str) -> str:
    return "never" if "p ≥" in what else "size"


def _drops() -> Iterator[Experiment]:
    for documents in (8, 20, 60):
        for drop in (0.0, 2.0):
            options = {"world": World(), "size": {"documents": documents}, "drop": drop}
            what = f"true drop of exactly D = {drop:g}"
            yield Experiment("gates", what, f"{documents} documents", drops, options, 400, _gates_asked, "")
    options = {"world": World(), "size": {"documents": 40}, "systems": 8}
    yield Experiment(
        "gates", "8 unchanged systems", "40 documents", unchanged, options, 300, lambda _: "size", "22"
    )
    options = {"world": World(), "size": {"documents": 60}, "systems": 1, "seeds": 0.12}
    yield Experiment(
        "gates", "a system trained again, vary by 2 F1", "60 documents", unchanged, options, 300, reported,
        "15 to 31",
    )  # fmt: skip


# ---- orders that reverse ---------------------------------------------------------------------


def reversing(draw: Draw, trial: int, *, world: World, size: Size, datasets: int) -> Iterator[Event]:
    """Whether the order of two equal systems is said to reverse in some slice."""
    inputs = {}
    for dataset in range(datasets):
        test_set = sample(world, draw, **size)
        shared = luck(test_set, draw)
        systems = {name: [system(test_set, draw, shared)] for name in "ab"}
        inputs[f"d{dataset}"] = (test_set.gold, systems)
    study = as_document(studied(inputs, attributes=["entity_length"], resamples=200, seed=trial))
    assert isinstance(study, Study)
    yield Event("an order has reversed in a slice", bool(study.analyses.bucket_wise.rank_flips))
    yield Event("an order is said to reverse", bool(reversals(study)))


def _reversals() -> Iterator[Experiment]:
    def asked(what: str) -> str:
        return "size" if "said" in what else "reported"

    for datasets, trials in ((1, 300), (3, 300)):
        options = {"world": World(), "size": {"documents": 40}, "datasets": datasets}
        what = f"two equal systems, {datasets} dataset{'s'[: datasets != 1]}"
        yield Experiment(
            "datasets", what, "40 documents each", reversing, options, trials, asked, "91 (untested)"
        )


# ---- something else is true -----------------------------------------------------------------


def otherwise(draw: Draw, trial: int, *, world: World, other: World, size: Size) -> Iterator[Event]:
    """Whether scores that are truly equal are called different in systems that truly differ elsewhere."""
    test_set = sample(world, draw, **size)
    shared = luck(test_set, draw)
    made = {"a": system(test_set, draw, shared), "b": system(test_set, draw, shared, world=other)}
    document = spanwise.evaluate(test_set.gold, made, seed=trial, **PLAIN)
    truth, elsewhere = world.truth(), other.truth()
    equal = {path for path, value in truth.items() if abs(value - elsewhere[path]) < 1e-6}
    rows = [row for comparison in document.comparisons for row in comparison.scores]
    significant = {row.path for row in rows if row.significant}
    yield Event("F1 is called different", F1 in significant)
    yield Event("another equal score is called different", bool(significant & (equal - {F1})))
    yield Event("a score that differs is called different", bool(significant - equal))


def _as_good(world: World, target: World, key: str) -> World:
    """The world with `errors`, or the difficulty of one label, set so that its F1 is that of the target."""
    low, high = 0.01, 4.0
    goal = target.truth()[F1]
    for _ in range(60):
        middle = (low + high) / 2
        changed = (
            replace(world, errors=target.errors * middle)
            if key == "errors"
            else replace(world, harder={**world.harder, key: middle})
        )
        low, high = (middle, high) if changed.truth()[F1] > goal else (low, middle)
    return changed


def _others_asked(what: str) -> str:
    return "reported" if what.startswith("a score that differs") else "size"


def _others() -> Iterator[Experiment]:
    missing = _as_good(replace(World(), kinds=(1.0, 0.0, 0.0)), World(), "errors")
    traded = _as_good(replace(NULL, harder={"B": 1.8}), NULL, "A")
    for what, world, other in (
        ("equal F1, other kinds of error, other equal scores", World(), missing),
        ("equal F1, one label worse and another better", NULL, traded),
    ):
        options = {"world": world, "other": other, "size": {"documents": 60}}
        yield Experiment("sizes", what, "60 documents", otherwise, options, 400, _others_asked)


# ---- few documents --------------------------------------------------------------------------


def few(draw: Draw, trial: int, *, world: World, size: Size) -> Iterator[Event]:
    """Whether two equal systems on a few documents are called different, by the result or by a gate."""
    test_set = sample(world, draw, **size)
    shared = luck(test_set, draw)
    made = {"a": system(test_set, draw, shared), "b": system(test_set, draw, shared)}
    document = spanwise.evaluate(test_set.gold, made, seed=trial, **PLAIN)
    (comparison,) = document.comparisons
    primary = comparison.primary
    assert primary is not None
    yield Event("F1 is called different", primary.significant)
    others = (row.significant for row in comparison.scores if row is not primary)
    yield Event("another score is called different", any(others))
    unreachable = bool(comparison.unreachable)
    yield Event(
        "significant, or detectable, where the test cannot reach its level",
        unreachable and (primary.significant or comparison.detectable is not None),
    )


def _few() -> Iterator[Experiment]:
    for documents in (4, 5, 6, 8):

        def asked(what: str, documents: int = documents) -> str:
            never = "where the test" in what or (documents < 6 and what.startswith("F1"))
            return "never" if never else "size"

        options = {"world": World(), "size": {"documents": documents}}
        yield Experiment(
            "sizes", "two equal systems, few documents", f"{documents} documents", few, options, 500, asked
        )


# ---- rank correlations ----------------------------------------------------------------------


def unrelated(draw: Draw, trial: int, *, values: int, rounded: bool) -> Iterator[Event]:
    """Whether the rank correlation of two unrelated lists of values is significant."""
    first, second = draw.standard_normal((2, values)).round(0 if rounded else 9)
    test = spearman(first, second)
    if not np.isnan(test.p):
        yield Event("ρ is significant", test.p <= LEVEL)
        yield Event("p is 0", test.p <= 0)


def _unrelated() -> Iterator[Experiment]:
    for values, rounded in ((6, False), (9, False), (12, False), (12, True)):
        options = {"values": values, "rounded": rounded}
        what = "Spearman's ρ of unrelated values" + (", some of them equal" if rounded else "")
        yield Experiment(
            "buckets", what, f"{values} values", unrelated, options, 1000,
            lambda what: "never" if what == "p is 0" else "size",
        )  # fmt: skip
