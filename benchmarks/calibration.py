"""Do intervals cover what they say, and do tests reject what they should? Simulated corpora, many of them.

    python benchmarks/calibration.py [TRIALS]

Prints one Markdown table; the last one is kept in calibration.md beside this file.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from simulated import DOCUMENTS, SENTENCES, World, coverage, detectable, family_errors, rejections


def error(share: float, trials: int) -> str:
    """A share in percent with its standard error."""
    return f"{100 * share:.1f} ± {100 * (share * (1 - share) / trials) ** 0.5:.1f} %"


def main(trials: int) -> None:
    """Measure everything and print it."""
    began = time.perf_counter()
    print(f"| what | units | measured ({trials:,} trials) | asked |\n|---|---|---|---|", flush=True)
    for units in (300, 1000, 3000):
        few = max(200, trials * 300 // units)
        share = coverage(SENTENCES, units, trials=few, resamples=1000)
        print(
            f"| coverage of 95 % intervals | {units:,} sentences | {error(share, few)} | 93–97 % |",
            flush=True,
        )
    for units in (10, 20, 30, 40, 60, 100, 200):
        share = coverage(DOCUMENTS, units, trials=trials, resamples=1000)
        asked = "93–97 %" if units >= 60 else "marked as few"
        print(
            f"| coverage of 95 % intervals | {units} documents | {error(share, trials)} | {asked} |",
            flush=True,
        )
    for name, world, units in (("sentences", SENTENCES, 300), ("documents", DOCUMENTS, 60)):
        share = rejections(world, units, trials=trials, shuffles=999)
        print(f"| paired test, true null | {units} {name} | {error(share, trials)} | 4–6 % |", flush=True)
    few = max(200, trials // 5)
    share = family_errors(SENTENCES, 200, labels=8, trials=few)
    print(
        f"| family-wise error under Holm, 24 tests | 200 sentences | {error(share, few)} | ≤ 5 % |",
        flush=True,
    )
    size = detectable(SENTENCES, 300)
    for part in (0.5, 1.0, 1.5):
        better = next(
            s / 1000 for s in range(150) if World(found=0.85 + s / 1000).f1 - SENTENCES.f1 >= part * size
        )
        share = rejections(SENTENCES, 300, trials=few, better=better, shuffles=999)
        what = f"power at {part:g} × the smallest detectable difference ({100 * part * size:.1f} points)"
        asked = "about 80 %" if part == 1 else "reported"
        print(f"| {what} | 300 sentences | {error(share, few)} | {asked} |", flush=True)
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
