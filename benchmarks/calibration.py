"""Do intervals cover what they say, and do tests reject what they should? Simulated corpora, many of them.

    python benchmarks/calibration.py [FACTOR]

Writes calibration.md beside this file. FACTOR multiplies the number of trials: 1 takes about twelve minutes
on one core, 10 gives standard errors a third as large.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from calibrated import (
    NULL,
    SENTENCES,
    Shares,
    chains,
    coverage,
    datasets,
    differences,
    findings,
    gates,
    greying,
    runs,
)
from simulated import World

HEAD = """# Calibration

Simulated corpora whose true scores are known by construction (`tests/support/simulated.py`), evaluated
through the public interface; made by `python benchmarks/calibration.py {factor:g}` in {seconds:.0f} s, fixed
seeds. A ± is one standard error of the simulation. *Before* is what version 0.1 gave for the same
question in an independent simulation. Asked are coverages of at least 93 % and sizes of at most 6 %,
each within two standard errors of the simulation. A screen holds two families, the primary question and all
others, each at 5 %: something on it is called different in up to 10 % of true nulls. Where documents are not
marked, intervals are too narrow, blocks help, and the note on the screen is needed.

"""
# Another world than the one that methods were tried on: many rare labels, very unequal documents.
SKEWED = World(
    labels=tuple("ABCDEFGH"),
    shares=(0.5, 0.2, 0.12, 0.08, 0.05, 0.03, 0.015, 0.005),
    errors=0.25,
    spread=0.9,
    sentences=(1, 40),
    together=0.8,
)
COVERED = ("coverage", 0.93, 1.0)
SIZE = ("size", 0.0, 0.06)
REPORTED = ("reported", 0.0, 1.0)

Rows = list[tuple[str, str, float, int, str, tuple[str, float, float]]]


def rows(
    what: str, where: str, shares: Shares, asked: Callable[[str], tuple[str, float, float]], before: str = ""
) -> Rows:
    """One row for each thing that was counted."""
    return [(f"{what}: {of}", where, share, number, before, asked(of)) for of, share, number in shares]


def measured(factor: float) -> Rows:
    """Every experiment; what takes longer is tried less often."""
    table: Rows = []

    def trials(number: int) -> int:
        return max(12, round(number * factor))

    def add(*args: object, **options: object) -> None:
        found = rows(*args, **options)  # type: ignore[arg-type]
        table.extend(found)
        for row in found:
            print(line(row), flush=True)

    def covered(of: str) -> tuple[str, float, float]:
        return ("never", 0.0, 0.0) if of == "a point" else REPORTED if "no interval" in of else COVERED

    always = lambda kind: lambda _: kind  # noqa: E731
    rare = (0.55, 0.3, 0.13, 0.02)
    for name, world, size in (
        ("F1 about .05", World(errors=0.93, spurious=0.9, spread=0.05), {"documents": 60}),
        ("F1 about .5", World(errors=0.45, spurious=0.3), {"documents": 60}),
        ("F1 about .85", World(), {"documents": 20}),
        ("F1 about .85", World(), {"documents": 60}),
        ("F1 about .85", World(), {"documents": 200}),
        ("F1 about .95", World(errors=0.04, spurious=0.02), {"documents": 60}),
        ("F1 .998", World(errors=0.002, spurious=0.0005), {"documents": 20}),
        ("F1 .998", World(errors=0.002, spurious=0.0005), {"documents": 60}),
        ("F1 exactly 1", World(errors=0.0, spurious=0.0), {"documents": 20}),
        ("a rare label (D)", World(shares=rare), {"documents": 60}),
        ("independent", SENTENCES, {"sentences": 100}),
        ("independent", SENTENCES, {"sentences": 1000}),
        ("independent", SENTENCES, {"sentences": 3000}),
        ("skewed", SKEWED, {"documents": 100}),
    ):
        where = ", ".join((name, *(f"{number:,} {unit}" for unit, number in size.items())))
        number = trials(40 if name == "F1 exactly 1" or size.get("sentences", 0) > 2000 else 250)
        before = "micro 79, a label 37, a bucket 19" if name == "F1 .998" else ""
        add("interval", where, coverage(world, size, trials=number), covered, before)
    clustered = World(errors=0.3, sentences=(8, 24))
    for unit in (None, "block:40"):
        size = {"documents": 60, "marked": False}
        found = coverage(clustered, size, trials=trials(120), unit=unit)
        what = "interval, documents not marked" + (f", --unit {unit}" if unit else "")
        add(what, "60 documents of 16 sentences", found, always(REPORTED), "" if unit else "80.5")

    def sized(of: str) -> tuple[str, float, float]:
        return COVERED if of.startswith("interval") else REPORTED if of == "anything on the screen" else SIZE

    for where, world, size in (
        ("20 documents", World(), {"documents": 20}),
        ("60 documents", World(), {"documents": 60}),
        ("300 sentences", SENTENCES, {"sentences": 300}),
        ("skewed, 100 documents", SKEWED, {"documents": 100}),
    ):
        found = differences(world, size, trials=trials(250))
        add("two equal systems are called different", where, found, sized, "anything: 15-20")
    better = differences(World(), {"documents": 60}, trials=trials(80), better=0.8)
    add(
        "a fifth fewer errors are found",
        "60 documents",
        better,
        lambda of: COVERED if "interval" in of else REPORTED,
    )
    one = runs(World(), {"documents": 60}, number=1, seeds=0.0, trials=trials(200))
    add("letters, 1 run, models held fixed", "60 documents", one, always(SIZE))
    for number, before in ((2, "14.0"), (3, "16.4"), (5, "25.6")):
        found = runs(World(), {"documents": 60}, number=number, seeds=0.12, trials=trials(200))
        add(f"letters, {number} runs that vary by about 2 F1", "60 documents", found, always(SIZE), before)
    found = runs(World(), {"documents": 60}, number=5, seeds=0.12, trials=trials(60), better=0.7)
    add("letters, 5 runs, three tenths fewer errors", "60 documents", found, always(REPORTED))
    for number, before in ((1, ""), (8, "91")):
        found = greying(NULL, {"documents": 60}, number=number, trials=trials(100))
        add(f"not grey, equal buckets, {number} runs", "60 documents", found, always(SIZE), before)
    for number in (3, 8):
        found = datasets(NULL, {"documents": 40}, number=number, trials=trials(60))
        add(f"not grey, equal buckets, {number} datasets", "40 documents each", found, always(SIZE))

    def named(of: str) -> tuple[str, float, float]:
        return COVERED if of.startswith("interval") else SIZE if of.startswith("a weakness") else REPORTED

    for where, size in (("60 documents", {"documents": 60}), ("300 sentences", {"sentences": 300})):
        world = NULL if "documents" in size else World(kinds=NULL.kinds, spread=0.0)
        add(
            "findings, nothing planted",
            where,
            findings(world, size, trials=trials(200)),
            named,
            "25-29; worst slice 74",
        )
    for times in (1.52, 2.2, 3.3):
        world = World(kinds=NULL.kinds, harder={"C": times})
        found = findings(world, {"documents": 60}, trials=trials(50), weak="C")
        truth = world.truth()
        drop = 100 * (truth["exact", "overall", "f1"] - truth["exact", "labels", "C", "f1"])
        what = f"findings, a label weaker by {drop:.0f} points than all"
        add(what, "60 documents", found, lambda of: COVERED if of.startswith("interval") else REPORTED)
    equal = findings(World(kinds=(0.1, 0.45, 0.45), spurious=0.02), {"documents": 60}, trials=trials(120))
    add(
        "findings, two kinds of error equal",
        "60 documents",
        equal,
        lambda of: SIZE if "cost" in of else REPORTED,
        "always",
    )
    for drop in (0, 1, 2, 4):
        found = gates(World(), {"documents": 107}, drop=drop, trials=trials(80))
        asked = (
            (lambda of: SIZE if "fail-drop" in of else REPORTED)
            if drop == 0
            else ((lambda of: SIZE if "not-worse" in of else REPORTED) if drop >= 2 else always(REPORTED))
        )
        add(
            f"gate, true drop of {drop} points",
            "107 documents",
            found,
            asked,
            "20 at 2 points" if drop == 2 else "",
        )
    found = chains(World(), {"documents": 107}, loss=0.5, releases=10, trials=trials(10))
    add("gate, ten losses of 0.5 points", "107 documents", found, always(REPORTED), "48")
    return table


def line(row: tuple[str, str, float, int, str, tuple[str, float, float]]) -> str:
    """A row of the table: a share in percent with the standard error that its number of trials leaves."""
    what, where, share, number, before, (kind, low, high) = row
    error = (max(share * (1 - share), 0.25 / number) / number) ** 0.5
    missed = kind != "reported" and not low - 2 * error <= share <= high + 2 * error
    asked = {"coverage": "≥ 93 %", "size": "≤ 6 %", "never": "never"}.get(kind, "reported")
    shown = f"{100 * share:.1f} ± {100 * (share * (1 - share) / number) ** 0.5:.1f} %"
    return (
        f"| {what} | {where} | {shown} | {number:,} | {before} | {asked} | {'**missed**' if missed else ''} |"
    )


def main(factor: float) -> None:
    """Measure everything and write the table."""
    began = time.perf_counter()
    table = measured(factor)
    lines = [line(row) for row in table]
    missed = [one for one in lines if "**missed**" in one]
    text = HEAD.format(factor=factor, seconds=time.perf_counter() - began)
    text += "| what | where | measured | trials | before | asked | |\n|---|---|---|---|---|---|---|\n"
    text += "\n".join(lines) + "\n\n"
    text += f"{len(missed)} of {len(lines)} rows miss what is asked for.\n"
    Path(__file__).with_name("calibration.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
