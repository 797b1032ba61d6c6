"""Compare this version with another one: the sections of `python -m benchmarks`, measured alternately.

    python -m benchmarks.turns --old CHECKOUT --python PYTHON

runs each section with the benchmarks of both versions, alternating in each of --rounds, prints the cost of
spanwise in both and the ratio, and writes the table to turns.md in --out; another call with the same --out
adds its rounds. CHECKOUT is the source tree of the other version, PYTHON the interpreter of an environment in
which it is installed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.measuring import ROOT
from benchmarks.tables import markdown, written

PROCESS = ("wall", "CPU", "peak")
STAGES = ("read", "decode", "match", "attributes", "count", "resample", "peak")
# The sections that both versions have, and their columns about spanwise; peers cost the same in both. Not
# `resampling`: it is the small difference of two long times, and `growth` measures the same directly.
SECTIONS = {
    **dict.fromkeys(("startup", "evaluation", "large", "study"), PROCESS),
    "reading": ("codes", "CPU"),
    "growth": STAGES,
    **dict.fromkeys(("matching", "lists", "report"), ("ours",)),
    "one_document": ("spanwise",),
}
LABELS = ("work", "file", "system", "peer", "tokens", "sentences")
GOAL = 1.10  # the largest allowed ratio of our cost to that of the other version

Measures = dict[tuple[str, str, str], float]  # section, row, column → the best so far


def main(arguments: list[str] | None = None) -> int:
    """Measure both versions; return 1 if ours costs more than the goal allows."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.turns",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--old", metavar="CHECKOUT", type=Path, required=True, help="the other version")
    parser.add_argument("--python", required=True, help="the interpreter with which the other version runs")
    parser.add_argument("--data", metavar="FOLDER", type=Path, help="real data, for the study")
    parser.add_argument("--sizes", default="50k,1M", help="test tokens of growth (default: %(default)s)")
    parser.add_argument("--folder", metavar="FOLDER", type=Path, help="where corpora are made and kept")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="where turns.md goes (default: nowhere)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each runs (default: %(default)s)")
    parser.add_argument(
        "--only", metavar="SECTION", action="append", choices=SECTIONS, help="one section; may be repeated"
    )
    args = parser.parse_args(arguments)
    folder = args.folder or Path(tempfile.gettempdir()) / "spanwise-benchmarks"
    sides = {"before": (args.python, args.old.resolve()), "after": (sys.executable, ROOT)}
    folder.mkdir(parents=True, exist_ok=True)
    call = ["-m", "benchmarks", "--rounds", "1", "--sizes", args.sizes, "--folder", str(folder.resolve())]
    call += [] if args.data is None else ["--data", str(args.data.resolve())]
    best = _loaded(None if args.out is None else args.out / "turns.json", sides)
    for section in args.only or SECTIONS:
        for _ in range(args.rounds):
            for side, (python, checkout) in sides.items():
                _keep(best[side], _measured(section, (python, *call), checkout))
        for row in _rows(best, section):
            print(*(f"{column} {written(column, row[column])}" for column in row), sep="; ", flush=True)
    rows = [row for section in SECTIONS for row in _rows(best, section)]
    slower = [row for row in rows if row["ratio"] > GOAL]
    verdict = f"{len(slower)} of {len(rows)} measures are more than {GOAL - 1:.0%} above the other version's."
    print(verdict)
    if args.out is not None:
        columns = ["section", "work", "measure", "before", "after", "ratio"]
        table = {
            "title": "In turns with the version before",
            "note": verdict,
            "columns": columns,
            "rows": rows,
        }
        args.out.mkdir(parents=True, exist_ok=True)
        Path(args.out, "turns.md").write_text(markdown(table), encoding="utf-8")
        plain = {side: [[*key, value] for key, value in measures.items()] for side, measures in best.items()}
        Path(args.out, "turns.json").write_text(json.dumps(plain), encoding="utf-8")
    return int(bool(slower))


def _loaded(path: Path | None, sides: Iterable[str]) -> dict[str, Measures]:
    """The best measurements of earlier calls, if there are any."""
    if path is None or not path.exists():
        return {side: {} for side in sides}
    saved = json.loads(path.read_text(encoding="utf-8"))
    return {side: {(*key,): value for *key, value in saved[side]} for side in sides}


def _measured(section: str, command: tuple[str, ...], checkout: Path) -> Measures:
    """The measurements of spanwise from one run of a section."""
    with tempfile.TemporaryDirectory() as out:
        run = (*command, "--only", section, "--out", out)
        subprocess.run(run, cwd=checkout, check=True, stderr=subprocess.DEVNULL)
        results = json.loads(Path(out, "results.json").read_text(encoding="utf-8"))
    return {
        (section, _label(row), column): row[column]
        for table in results["sections"]
        for row in table["rows"]
        for column in SECTIONS[section]
        if row.get(column) is not None
    }


def _label(row: Mapping[str, Any]) -> str:
    return ", ".join(written(name, row[name]) for name in LABELS if row.get(name) is not None)


def _keep(best: Measures, measured: Measures) -> None:
    """Merge another run: keep the shorter times and the larger peaks."""
    for key, value in measured.items():
        choose = max if key[2] == "peak" else min
        best[key] = choose(best.get(key, value), value)


def _rows(best: Mapping[str, Measures], section: str) -> Iterator[dict[str, Any]]:
    """The measures of a section that both versions have."""
    for key, after in best["after"].items():
        before = best["before"].get(key)
        if key[0] == section and before:
            _, work, measure = key
            unit = "peak" if measure == "peak" else "CPU"
            yield {
                "section": section, "work": work, "measure": measure,
                "before": written(unit, before), "after": written(unit, after), "ratio": after / before,
            }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
