"""The experiments of the calibration: worlds, sizes, numbers of trials, and targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from calibrated import (
    F1,
    NULL,
    SENTENCES,
    Size,
    Trial,
    chains,
    coverage,
    differences,
    findings,
    gates,
    greying,
    runs,
    slicing,
    weaker,
    worse,
)
from simulated import World

# Worlds that were not used to develop the methods: many rare labels and very unequal documents; one document
# in ten five times as hard as the mean; long documents harder than short ones.
SKEWED = World(
    labels=tuple("ABCDEFGH"),
    shares=(0.5, 0.2, 0.12, 0.08, 0.05, 0.03, 0.015, 0.005),
    errors=0.25,
    spread=0.9,
    sentences=(1, 40),
    together=0.8,
)
FEW_HARD = World(hardness="few")
APART = World(apart=0.8, spread=0.2, errors=0.3, sentences=(8, 24))
LONGER_HARDER = World(hardness="longer", sentences=(1, 40), errors=0.2)

Asked = Callable[[str], str]


class Experiment(NamedTuple):
    """One question in one world; `asked` maps each event to the target of its share."""

    group: str
    what: str
    where: str
    trial: Trial
    options: dict[str, Any]
    trials: int
    asked: Asked
    before: str = ""

    @property
    def key(self) -> str:
        """The name of the experiment in a file of results."""
        return f"{self.group} | {self.what} | {self.where}"


def reported(_: str) -> str:
    """No target: the share is only reported."""
    return "reported"


def size_of(_: str) -> str:
    """The target if the null hypothesis is true: at most 5 %."""
    return "size"


def size_of_runs(_: str) -> str:
    """The target over runs, whose variance is estimated from few of them: at most 6 %."""
    return "size of runs"


def experiments() -> Iterator[Experiment]:
    """All experiments, in the order of the table."""
    # These need `Experiment`.
    from benchmarks import (
        calibrated_claims,
        calibrated_judges,
        calibrated_people,
        calibrated_runs,
        calibrated_slices,
    )

    yield from _intervals()
    yield from _two_systems()
    yield from _runs()
    yield from _datasets()
    yield from _buckets()
    yield from _findings()
    yield from _gates()
    yield from calibrated_claims.experiments()
    yield from calibrated_runs.experiments()
    yield from calibrated_slices.experiments()
    yield from calibrated_people.experiments()
    yield from calibrated_judges.experiments()


def _where(size: Size) -> str:
    return ", ".join(f"{number:,} {unit}" for unit, number in size.items() if unit != "marked")


def _intervals() -> Iterator[Experiment]:
    rare = (0.55, 0.3, 0.13, 0.02)

    def asked(what: str) -> str:
        return {"points": "never", "no interval": "reported"}.get(what, "coverage")

    for name, world, size, trials in (
        ("F1 about .05", World(errors=0.93, spurious=0.9, spread=0.05), {"documents": 60}, 600),
        ("F1 about .5", World(errors=0.45, spurious=0.3), {"documents": 60}, 600),
        ("F1 about .85", World(), {"documents": 20}, 800),
        ("F1 about .85", World(), {"documents": 60}, 800),
        ("F1 about .85", World(), {"documents": 200}, 500),
        ("F1 about .95", World(errors=0.04, spurious=0.02), {"documents": 60}, 800),
        ("F1 .998", World(errors=0.002, spurious=0.0005), {"documents": 20}, 800),
        ("F1 .998", World(errors=0.002, spurious=0.0005), {"documents": 60}, 800),
        ("F1 .998", World(errors=0.002, spurious=0.0005), {"documents": 200}, 500),
        ("F1 exactly 1", World(errors=0.0, spurious=0.0), {"documents": 20}, 300),
        ("a label of about 20 mentions", World(shares=rare), {"documents": 60}, 800),
        ("a label of about 10 mentions", World(shares=rare), {"documents": 30}, 800),
        ("independent errors", SENTENCES, {"sentences": 100}, 800),
        ("independent errors", SENTENCES, {"sentences": 1000}, 500),
        ("independent errors", SENTENCES, {"sentences": 3000}, 300),
        ("other world: rare labels, unequal documents", SKEWED, {"documents": 100}, 500),
        ("other world: a few hard documents", FEW_HARD, {"documents": 60}, 600),
        ("other world: long documents are harder", LONGER_HARDER, {"documents": 60}, 600),
    ):
        before = "micro 79, a label 37, a bucket 19" if name == "F1 .998" and size["documents"] == 60 else ""
        options = {"world": world, "size": size}
        yield Experiment("intervals", name, _where(size), coverage, options, trials, asked, before)
    clustered = World(errors=0.3, sentences=(8, 24))
    size = {"documents": 60, "marked": False}
    for unit in (None, "block:40"):
        what = "documents not marked" + (f", --unit {unit}" if unit else "")
        options = {"world": clustered, "size": size, "unit": unit}
        before = "" if unit else "micro 80.5"
        yield Experiment(
            "intervals", what, "60 documents of 16 sentences", coverage, options, 400, reported, before
        )


def _two_systems() -> Iterator[Experiment]:
    def asked(what: str) -> str:
        if what in ("F1", "any other score"):
            return "size"
        return "coverage" if what.startswith("interval") else "reported"

    # The same F1 from different errors: one system misses mentions, the other gets their labels wrong.
    missing, mislabeling = World(kinds=(1.0, 0.0, 0.0)), World(kinds=(0.0, 1.0, 0.0))
    times = worse(mislabeling, mislabeling.truth()[F1] - missing.truth()[F1])
    even = replace(mislabeling, errors=mislabeling.errors * times, spurious=mislabeling.spurious * times)
    for what, world, other, size, trials in (
        ("two equal systems", World(), None, {"documents": 20}, 800),
        ("two equal systems", World(), None, {"documents": 60}, 800),
        ("two equal systems", SENTENCES, None, {"sentences": 300}, 800),
        ("two equal systems, each with hard documents of its own", APART, None, {"documents": 60}, 600),
        ("two equal systems, other world: rare labels", SKEWED, None, {"documents": 100}, 400),
        ("two equal systems, other world: a few hard documents", FEW_HARD, None, {"documents": 60}, 600),
        ("two equal systems, other world: long are harder", LONGER_HARDER, None, {"documents": 60}, 600),
        ("equal F1, other kinds of error", missing, even, {"documents": 60}, 800),
    ):
        before = "anything on the screen 15 to 20" if what == "two equal systems" else ""
        options = {"world": world, "size": size, "other": other}
        target = asked if other is None else (lambda of: "reported" if of == "any other score" else asked(of))
        yield Experiment("sizes", what, _where(size), differences, options, trials, target, before)
    size = {"documents": 60, "marked": False}
    for unit in (None, "block:40"):
        what = "the same, documents not marked" + (f", --unit {unit}" if unit else "")
        options = {"world": APART, "size": size, "unit": unit}
        yield Experiment(
            "sizes",
            what,
            "60 documents of 16 sentences",
            differences,
            options,
            300,
            reported,
            "" if unit else "F1 11",
        )
    for better, what in ((0.9, "a tenth"), (0.8, "a fifth"), (0.7, "three tenths")):
        options = {"world": World(), "size": {"documents": 60}, "better": better}
        description = f"{what} fewer errors"
        yield Experiment("power", description, "60 documents", differences, options, 300, _covered_only)


def _covered_only(what: str) -> str:
    return "coverage" if what.startswith("interval") else "reported"


def _runs() -> Iterator[Experiment]:
    size = {"documents": 60}
    for number, seeds, before, asked in (
        (1, 0.0, "", size_of),
        (1, 0.12, "23.6", reported),
        (2, 0.12, "14.0", size_of_runs),
        (3, 0.12, "16.4", size_of_runs),
        (5, 0.12, "25.6", size_of_runs),
        (5, 0.24, "49", size_of_runs),
        ((1, 3), 0.0, "", size_of),
    ):
        named = f"{number[0]} against {number[1]}" if isinstance(number, tuple) else str(number)
        spread = f"vary by {2 if seeds < 0.2 else 4} F1" if seeds else "models held fixed"
        what = f"letters of two equal systems, {named} run{'s'[: named != '1']}, {spread}"
        options = {"world": World(), "size": size, "number": number, "seeds": seeds}
        yield Experiment("runs", what, "60 documents", runs, options, 400, asked, before)
    options = {"world": FEW_HARD, "size": size, "number": 3, "seeds": 0.12}
    what = "letters of two equal systems, 3 runs, vary by 2 F1"
    yield Experiment(
        "runs", what, "other world: a few hard documents, 60 documents", runs, options, 400, size_of_runs
    )
    for better, named in ((0.8, "a fifth"), (0.7, "three tenths")):
        options = {"world": World(), "size": size, "number": 5, "seeds": 0.12, "better": better}
        what = f"letters, 5 runs, {named} fewer errors"
        yield Experiment("power", what, "60 documents", runs, options, 300, reported)


def _datasets() -> Iterator[Experiment]:
    def asked(what: str) -> str:
        return "size" if "over datasets" in what else "size of runs"

    size = {"documents": 40}
    for number in (3, 8):
        options = {"world": World(), "size": size, "number": 2, "seeds": 0.12, "datasets": number}
        what = f"two equal systems, 2 runs on each of {number} datasets"
        yield Experiment("datasets", what, "40 documents each", runs, options, 300, asked)
    options = {"world": World(), "size": size, "number": 2, "seeds": 0.12, "datasets": 8, "better": 0.8}
    what = "a fifth fewer errors, 2 runs on each of 8 datasets"
    yield Experiment("power", what, "40 documents each", runs, options, 300, reported)


def _buckets() -> Iterator[Experiment]:
    def asked(what: str) -> str:
        return "reported" if "fu20" in what else "size"

    alike = replace(NULL, together=0.8)  # runs of one system mostly get the same mentions wrong
    for number, datasets, trials in ((1, 1, 400), (3, 1, 300), (8, 1, 300), (1, 3, 300), (1, 8, 300)):
        documents = 60 if datasets == 1 else 40
        options = {"world": alike, "size": {"documents": documents}, "number": number, "datasets": datasets}
        what = f"equal buckets called different, {number} run{'s'[: number > 1]}, {datasets} dataset" + (
            "s" if datasets > 1 else ""
        )
        before = "91 to 93" if number == 8 else ""
        yield Experiment(
            "buckets", what, f"{documents} documents each", greying, options, trials, asked, before
        )
    options = {"world": weaker("C", 9), "size": {"documents": 60}, "number": 1}
    yield Experiment(
        "power", "buckets, a label weaker by 9 points", "60 documents", greying, options, 300, reported
    )


def _findings() -> Iterator[Experiment]:
    def asked(what: str) -> str:
        if what.startswith("interval"):
            return "coverage"
        return "size" if what.startswith("a weakness") else "reported"

    independent = replace(NULL, spread=0.0)
    for world, size, trials in (
        (NULL, {"documents": 60}, 500),
        (independent, {"sentences": 300}, 500),
        (independent, {"sentences": 1000}, 300),
        (independent, {"sentences": 20_000}, 300),  # so many that signs are flipped in groups
        (replace(FEW_HARD, kinds=NULL.kinds), {"documents": 60}, 300),
    ):
        what = "nothing planted" + (", other world: a few hard documents" if world.hardness == "few" else "")
        options = {"world": world, "size": size}
        before = "a weakness 25 to 29, worst slice 74"
        yield Experiment("findings", what, _where(size), findings, options, trials, asked, before)
        yield Experiment("slices", what, _where(size), slicing, options, trials, size_of)
    for points in (4, 9, 17):
        options = {"world": weaker("C", points), "size": {"documents": 60}, "weak": "C"}
        what = f"a label weaker by {points} points than all"
        yield Experiment("power", what, "60 documents", findings, options, 300, _covered_only)
        yield Experiment("power", f"{what}, find_slices", "60 documents", slicing, options, 300, reported)
    equal = World(kinds=(0.1, 0.45, 0.45), spurious=0.02)
    yield Experiment(
        "findings",
        "two kinds of error equal",
        "60 documents",
        findings,
        {"world": equal, "size": {"documents": 60}},
        300,
        lambda what: "size" if "cost" in what else "reported",
        "always one",
    )


def _gates() -> Iterator[Experiment]:
    # With a two-sided 95 % interval, a drop of exactly D is called larger in 2.5 %, and excluded in 2.5 %.
    null_at = {0: "--fail-drop 0 fails", 1: "--fail-drop 1 fails", 2: "--not-worse-than 2 passes"}
    for drop in (0, 1, 2, 4):
        options = {"world": World(), "size": {"documents": 107}, "drop": drop}
        before = "--fail-drop 20" if drop == 2 else ""

        def asked(what: str, drop: int = drop) -> str:
            return "size" if what == null_at.get(drop) else "reported"

        what = f"true drop of {drop} points"
        yield Experiment("gates", what, "107 documents", gates, options, 300, asked, before)
    options = {"world": World(), "size": {"documents": 107}, "loss": 0.5, "releases": 10}
    yield Experiment(
        "gates",
        "ten losses of 0.5 points fail somewhere",
        "107 documents",
        chains,
        options,
        300,
        reported,
        "48",
    )
