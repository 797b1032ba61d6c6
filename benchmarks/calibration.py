"""Do intervals cover what they say, and do tests reject what they should? Simulated corpora, many of them.

    python benchmarks/calibration.py [TRIALS]

Prints one Markdown table; one of 3,000 trials is kept in calibration.md beside this file.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from simulated import (
    DOCUMENTS,
    SENTENCES,
    World,
    coverage,
    detectable,
    family_errors,
    rejections,
    rejections_of_runs,
)


def row(what: str, units: str, share: float, trials: int, asked: str) -> None:
    """One line of the table: a share in percent with the standard error that its number of trials leaves."""
    spread = 100 * (share * (1 - share) / trials) ** 0.5
    print(f"| {what} | {units} | {100 * share:.1f} ± {spread:.1f} % | {trials:,} | {asked} |", flush=True)


def main(trials: int) -> None:
    """Measure everything and print it; what takes longer is tried less often, as its row says."""
    began = time.perf_counter()
    print("| what | units | measured | trials | asked |\n|---|---|---|---|---|", flush=True)
    for units in (300, 1000, 3000):
        few = max(600, trials * 300 // units)
        share = coverage(SENTENCES, units, trials=few, resamples=1000)
        row("coverage of 95 % intervals", f"{units:,} sentences", share, few, "93–97 %")
    for units in (10, 20, 30, 40, 60, 100, 200):
        share = coverage(DOCUMENTS, units, trials=trials, resamples=1000)
        asked = "93–97 %" if units >= 60 else "marked as few"
        row("coverage of 95 % intervals", f"{units} documents", share, trials, asked)
    for name, world, units in (("sentences", SENTENCES, 300), ("documents", DOCUMENTS, 60)):
        share = rejections(world, units, trials=trials, shuffles=999)
        row("paired test, true null", f"{units} {name}", share, trials, "4–6 %")
    few = max(600, trials // 5)
    share = family_errors(SENTENCES, 200, labels=8, trials=few)
    row("family-wise error under Holm, 24 tests", "200 sentences", share, few, "≤ 5 %")
    for runs, spread in ((3, 0.0), (3, 0.015), (3, 0.03), (10, 0.015)):
        shares = rejections_of_runs(SENTENCES, 300, runs=runs, spread=spread, trials=few)
        what = f"true null, {runs} runs whose recall varies by {100 * spread:g} points"
        row(f"bootstrap over units and runs, {what}", "300 sentences", shares[0], few, "≤ 5 %")
        row(f"interval over units alone, {what}", "300 sentences", shares[1], few, "reported")
    size = detectable(SENTENCES, 300)
    for part in (0.5, 1.0, 1.5):
        steps = (step / 1000 for step in range(150))
        better = next(s for s in steps if World(found=0.85 + s).f1 - SENTENCES.f1 >= part * size)
        share = rejections(SENTENCES, 300, trials=few, better=better, shuffles=999)
        what = f"power at {part:g} × the smallest detectable difference ({100 * part * size:.1f} points)"
        row(what, "300 sentences", share, few, "about 80 %" if part == 1 else "reported")
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
