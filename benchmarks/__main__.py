"""Measure the cost of spanwise and its peers, and write the tables.

    python -m benchmarks --data PATH

makes the corpora (kept in --folder), runs everything and writes results.json, results.md and growth.svg to
--out. --quick measures tiny corpora once, to check that everything runs.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import beside, many, ours
from benchmarks.measuring import Bench
from benchmarks.planning import Plan
from benchmarks.tables import Section
from benchmarks.writing import write

SECTIONS: dict[str, Callable[[Plan], Section | None]] = {
    "startup": ours.startup,
    "evaluation": ours.evaluation,
    "small": ours.small,
    "pieces": ours.pieces,
    "large": ours.large,
    "reading": ours.reading,
    "resampling": ours.resampling,
    "growth": ours.growth,
    "study": ours.study,
    "systems": many.systems,
    "real": ours.real_files,
    "matching": beside.matching,
    "fair": beside.fair,
    "lists": beside.lists,
    "report": beside.report,
    "files": beside.files,
    "one_document": beside.one_document,
}
PACKAGES = ("spanwise", "numpy", "seqeval", "evaluate", "nervaluate", "seqscore", "conlleval", "spacy")


def main(arguments: list[str] | None = None) -> int:
    """Run the selected sections and write the results."""
    words = sys.argv[1:] if arguments is None else arguments
    args = parser().parse_args(words)
    if args.fair is not None and not Path(args.fair, "FairEval.py").is_file():
        parser().error(f"--fair: there is no FairEval.py in {args.fair}")
    folder = Path(args.folder or Path(tempfile.gettempdir()) / "spanwise-benchmarks")
    folder.mkdir(parents=True, exist_ok=True)
    plan = plan_of(args, folder)
    began = time.perf_counter()
    sections = []
    for name in args.only or SECTIONS:
        start = time.perf_counter()
        section = SECTIONS[name](plan)
        if section is None:
            _say(f"{name}: left out, there are no data for it")
            continue
        _say(f"{name}: {time.perf_counter() - start:.0f} s")
        sections.append(section.to_dict())
    results = {
        "command": " ".join(["python -m benchmarks", *("PATH" if "/" in word else word for word in words)]),
        "quick": args.quick,
        "seconds": round(time.perf_counter() - began),
        "load": round(os.getloadavg()[0], 1),
        "machine": machine(),
        "versions": versions(),
        "sections": sections,
    }
    write(results, Path(args.out))
    return 0


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    result = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("--quick", action="store_true", help="tiny corpora, each job once")
    result.add_argument("--data", metavar="FOLDER", help="real data: a folder with masakhaner/ and others")
    results = Path(__file__).resolve().parent / "results"
    result.add_argument("--out", metavar="FOLDER", default=results, help="where the tables go")
    result.add_argument("--folder", metavar="FOLDER", help="where corpora are made and kept")
    result.add_argument(
        "--sizes",
        default="50k,1M,10M,50M",
        help="test tokens at which growth is measured (default: %(default)s)",
    )
    result.add_argument(
        "--rounds", type=int, default=3, help="how often each job runs (default: %(default)s)"
    )
    result.add_argument(
        "--program", metavar="NAME=PATH", action="append", default=[],
        help="another program, called as PATH GOLD PREDICTED; may be repeated",
    )  # fmt: skip
    result.add_argument(
        "--fair", metavar="FOLDER", help="the folder with FairEval.py, the program of Ortmann (2022)"
    )
    result.add_argument(
        "--only", metavar="SECTION", action="append", choices=SECTIONS, help="one section; may be repeated"
    )
    return result


def plan_of(args: argparse.Namespace, folder: Path) -> Plan:
    """The plan that the options describe."""
    programs = dict(text.split("=", 1) for text in args.program)
    data = None if args.data is None else Path(args.data).resolve()
    fair = None if args.fair is None else Path(args.fair).resolve()
    bench = Bench(folder, rounds=1 if args.quick else args.rounds)
    if args.quick:
        tiny, spans = (500, 1_000), ("chunks-1k", "fields-1k")
        return Plan(
            bench, folder, ("2k", "4k"), "4k", None, data, programs, fair=fair, lengths=tiny, spans=spans
        )
    return Plan(bench, folder, tuple(args.sizes.split(",")), "0.93M", "large", data, programs, fair)


def machine() -> dict[str, Any]:
    """The machine on which the measurements ran."""
    model = platform.processor()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text(encoding="utf-8").splitlines()
        named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        model = named[0] if named else model
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """The versions of spanwise and of the peers that are installed."""
    result = {}
    for package in PACKAGES:
        try:
            result[package] = version(package)
        except PackageNotFoundError:
            result[package] = "not installed"
    return result


def _say(text: str) -> None:
    print(f"benchmarks: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
