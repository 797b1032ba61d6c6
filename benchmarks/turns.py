"""Measure `spanwise evaluate` beside another version of its source, in turns.

    python -m benchmarks.turns --old PATH/TO/OLD/src

prints for each corpus, without resamples and with 1,000, the CPU seconds of both (the best of --rounds runs,
each version in its turn), the ratio of ours to theirs, and how much of ours tests weak slices. Corpora are
made by benchmarks.data and kept in --folder.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.data import make
from benchmarks.measuring import ROOT, Bench, Job, Measured

CORPORA = "50k,1M"  # test tokens; training data are those of the generator
RESAMPLES = (0, 1000)
GOAL = 1.10  # CPU of ours, of that of the other version, at most


def main(arguments: list[str] | None = None) -> int:
    """Measure both versions on all corpora; 1 where one of them costs more than the goal allows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.turns",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--old", metavar="FOLDER", type=Path, required=True, help="the other version's src")
    parser.add_argument("--folder", metavar="FOLDER", type=Path, help="where corpora are made and kept")
    parser.add_argument("--sizes", default=CORPORA, help="corpora (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=10, help="how often each runs (default: %(default)s)")
    args = parser.parse_args(arguments)
    if not (args.old / "spanwise" / "__init__.py").is_file():
        parser.error(f"--old: there is no package spanwise in {args.old}")
    folder = args.folder or Path(tempfile.gettempdir()) / "spanwise-benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    worst = 0.0
    for name in args.sizes.split(","):
        for ratio, line in _measured(folder, name, args.old.resolve(), args.rounds):
            worst = max(worst, ratio)
            print(line, flush=True)
    print(f"highest ratio {worst:.2f}, goal at most {GOAL:.2f}")
    return int(worst > GOAL)


def _measured(folder: Path, name: str, old: Path, rounds: int) -> Iterator[tuple[float, str]]:
    """The ratio and the line of each number of resamples on one corpus."""
    corpus = make(folder, name)
    files = corpus["files"]
    paths = [files[key] for key in ("gold", "memoriser", "shortsighted", "train")]
    gold, first, second, train = paths
    sides = {"old": _bench(folder, old), "new": _bench(folder, ROOT / "src")}
    for number in RESAMPLES:
        call = (gold, f"a={first}", f"b={second}", "--train", train, "--resamples", number, "--workers", 1)
        # Not the script of an environment: it would find the version that is installed there.
        job = Job((sys.executable, "-m", "spanwise", "evaluate", *map(str, call)))
        for bench in sides.values():
            bench.warm([job])
        best: dict[str, Measured] = {}
        for _ in range(rounds):
            for side, bench in sides.items():
                found = bench.run(job)
                best[side] = found.better(best.get(side, found))
        weak = sides["new"].best({"weak": Job.work("weak slices", *paths, number)}, rounds=2)["weak"]
        ours, theirs, slices = best["new"].cpu, best["old"].cpu, weak.answer["seconds"]["weak slices"]
        line = (
            f"{name} ({corpus['tokens']:,} + {corpus['training_tokens']:,} tokens), {number:,} resamples:"
            f" CPU {theirs:.3f} s old, {ours:.3f} s new, ratio {ours / theirs:.2f};"
            f" weak slices {slices:.3f} s of the new ({slices / ours:.0%})"
        )
        yield ours / theirs, line


def _bench(folder: Path, source: Path) -> Bench:
    """What runs the version of one source."""
    bench = Bench(folder)
    bench.environment["PYTHONPATH"] = f"{source}:{ROOT}"
    return bench


if __name__ == "__main__":
    sys.exit(main())
