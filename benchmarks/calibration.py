"""Check on many simulated corpora that intervals have their coverage and tests their level.

    python -m benchmarks.calibration [FACTOR] [--workers N] [--only GROUP,…] [--out FILE] [--from FILE …]

Runs the experiments of experiments.py and writes calibration.md next to this file. FACTOR multiplies the
number of trials; 1 takes about 40 minutes of CPU time. Every trial has its own seed, so the number of workers
does not affect the results. Results are added to --out (JSON) as experiments finish; experiments that it
already contains with the same number of trials are not run again. An experiment that misses its target is
repeated once on fresh draws, and only what misses twice is called missed. --from only makes the table from
such files. Needs NumPy, SciPy and msgspec.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from functools import cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from calibrated import Shares, repeated

from benchmarks.experiments import Experiment, experiments

CHUNK = 5  # trials per task of a worker
AGAIN = 1  # added to the seed of an experiment that is repeated
TABLE = Path(__file__).with_name("calibration.md")
CELLS = ("F1", "P", "R", "macro", "fair", "gains", "labels", "rarest label", "buckets", "subsets", "points")
HEAD = """# Calibration

These experiments evaluate simulated corpora, whose true scores are known by construction
(`tests/support/simulated.py`), through the public functions. `python -m benchmarks.calibration {factor}`
wrote this page in {minutes:.0f} minutes of processor time, with {seeds}. All figures are percentages;
± is one standard error of the simulation. *Before* is the result of version 0.1 for the same question in
an independent simulation.

The targets are coverages of at least 93 % (and at most 97 % in cells with at least 30 units and 10 errors;
higher coverages are reported but do not count as misses) and sizes (rates of false positives) of at most
5 %, or 6 % over runs, each within two standard errors of the simulation. What misses its target is repeated
once on fresh draws, shown after a slash; figures that miss it twice are **bold**. A † marks a coverage above
97 % in such cells. Where *counts* is written, trials are made on counts per document through the functions
behind studies and results (`tests/support/simulated_counts.py`), without files, so that there can be more.

"""
TITLES = {
    "intervals": "Coverage of 95 % intervals",
    "sizes": "Two systems that do not differ",
    "tails": "Coverage of 95 % intervals of F1 if documents are very unequal",
    "runs": "Runs: letters between equal methods",
    "datasets": "Datasets: tests between equal methods",
    "buckets": "Buckets that do not differ",
    "findings": "Findings",
    "slices": "Slices listed by `find_slices`, nothing planted",
    "gates": "Gates",
    "workbench": "Workbench: leaderboard, looks, history and saved slices",
    "confidence": "Confidence scores",
    "agreement": "Annotators, and a system beside them",
    "judges": "Few gold labels and a judge",
    "power": "How often a true difference or weakness is found",
}


SIZES = {"size": 0.05, "size of runs": 0.06}  # the most that each kind of false positive may happen


def main(arguments: Sequence[str] | None = None) -> None:
    """Run experiments, or read their results, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("factor", nargs="?", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help=f"groups, separated by commas: {', '.join(TITLES)}")
    parser.add_argument("--out", type=Path, help="a JSON file that results are added to")
    parser.add_argument("--from", dest="sources", type=Path, nargs="+", help="files that --out wrote")
    chosen = parser.parse_args(arguments)
    if chosen.sources:
        results: dict[str, Any] = {}
        for path in chosen.sources:
            results |= json.loads(path.read_text(encoding="utf-8"))
    else:
        results = run(chosen.factor, chosen.workers, chosen.only, chosen.out)
    if not chosen.only:
        TABLE.write_text(page(results), encoding="utf-8")


def run(factor: float, workers: int, only: str, out: Path | None) -> dict[str, Any]:
    """The results of all experiments, or of the selected groups, by key."""
    groups = set(only.split(",")) if only else set(TITLES)
    if groups - set(TITLES):
        sys.exit(f"no such group: {', '.join(sorted(groups - set(TITLES)))}")
    kept = json.loads(out.read_text(encoding="utf-8")) if out and out.exists() else {}
    planned = {}
    for experiment in experiments():
        trials = max(CHUNK, round(experiment.trials * factor))
        if experiment.group in groups and kept.get(experiment.key, {}).get("trials") != trials:
            planned[experiment.key] = trials
    save = partial(_save, kept, out)
    for key, result in _run(planned, workers, 0):
        kept[key] = {"factor": factor, **result}
        save()
    again = {
        key: kept[key]["trials"]
        for key, experiment in _by_key().items()
        if key in kept and "again" not in kept[key] and misses(experiment, kept[key]["shares"])
    }
    for key, result in _run(again, workers, AGAIN):
        kept[key]["again"] = result
        save()
    return kept


def _save(kept: Mapping[str, Any], out: Path | None) -> None:
    if out:
        partial_file = out.with_suffix(".part")
        partial_file.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        partial_file.replace(out)


def _run(planned: Mapping[str, int], workers: int, offset: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The results of experiments with so many trials each, as they finish."""
    parts: dict[str, dict[int, tuple[list[tuple[str, int, int, int]], float]]] = defaultdict(dict)
    began, ended = time.perf_counter(), 0
    with ProcessPoolExecutor(workers) as pool:
        pending: dict[Future[Any], tuple[str, int]] = {}
        for key, trials in planned.items():
            for first in range(0, trials, CHUNK):
                number = min(CHUNK, trials - first)
                pending[pool.submit(chunk, key, first, number, offset)] = key, first
        for done in as_completed(pending):
            key, first = pending.pop(done)
            parts[key][first] = done.result()
            trials = planned[key]
            if len(parts[key]) < -(-trials // CHUNK):
                continue
            result = {"trials": trials, "seed": crc32(key.encode()) + offset, **joined(parts.pop(key))}
            ended += 1
            summary = ", ".join(
                f"{what} {100 * times / of:.1f}" for what, (times, of, _) in result["shares"].items()
            )
            at = time.perf_counter() - began
            print(
                f"{ended}/{len(planned)} {at:.0f} s | {key} | {result['seconds']:.0f} CPU-s | {summary}",
                flush=True,
            )
            yield key, result


def chunk(key: str, first: int, number: int, offset: int) -> tuple[list[tuple[str, int, int, int]], float]:
    """The events of some trials of one experiment, seeded by its name, and their CPU time."""
    experiment = _by_key()[key]
    began = time.process_time()
    shares = repeated(
        experiment.trial, trials=number, seed=crc32(key.encode()) + offset, first=first, **experiment.options
    )
    return list(shares), time.process_time() - began


@cache
def _by_key() -> dict[str, Experiment]:
    """All experiments by their key; making them takes a second."""
    return {experiment.key: experiment for experiment in experiments()}


def joined(parts: Mapping[int, tuple[list[tuple[str, int, int, int]], float]]) -> dict[str, Any]:
    """The counts of all parts of an experiment, merged in the order of trials."""
    shares = Shares()
    for first in sorted(parts):
        for row in parts[first][0]:
            shares.add(*row)
    return {
        "seconds": round(sum(seconds for _, seconds in parts.values()), 2),
        "shares": {what: [times, of, held] for what, times, of, held in shares},
    }


# ---- the table ------------------------------------------------------------------------------


def page(results: Mapping[str, Any]) -> str:
    """The Markdown page of all available results."""
    ran = [experiment for experiment in experiments() if experiment.key in results]
    factors = sorted({results[experiment.key]["factor"] for experiment in ran})
    factor = " and ".join(f"{value:g}" for value in factors)
    other = sum(results[experiment.key].get("seed") != crc32(experiment.key.encode()) for experiment in ran)
    seeds = "fixed seeds"
    if other:
        seeds += f" ({other} of {len(ran)} experiments with seeds that the command no longer uses)"
    every = [results[experiment.key] for experiment in ran]
    every += [result["again"] for result in every if "again" in result]
    minutes = sum(result["seconds"] for result in every) / 60
    missed, above, rows = [], [], 0
    body = ""
    for group, title in TITLES.items():
        own = [experiment for experiment in ran if experiment.group == group]
        if not own:
            continue
        table, bad, high, number = (matrix if group == "intervals" else listing)(own, results)
        missed += bad
        above += high
        rows += number
        body += f"## {title}\n\n{table}\n"
    head = HEAD.format(factor=factor, minutes=minutes, seeds=seeds)
    head += f"{len(missed)} of {rows} figures miss their target{':' if missed else '.'}\n\n"
    head += "".join(f"- {text}\n" for text in missed) + ("\n" if missed else "")
    near = [text for experiment in ran for text in nearly(experiment, results[experiment.key]["shares"])]
    if near:
        head += (
            f"{len(near)} more are on the wrong side of the target, but within two standard errors; "
            "only more trials could decide:\n\n"
        )
        head += "".join(f"- {text}\n" for text in near) + "\n"
    if above:
        head += f"{len(above)} coverages are above 97 % in well-filled cells:\n\n"
        head += "".join(f"- {text}\n" for text in above) + "\n"
    left = [experiment.key for experiment in experiments() if experiment.key not in results]
    head += "Not run yet:\n\n" + "".join(f"- {key}\n" for key in left) + "\n" if left else ""
    return head + NOTES + body


NOTES = """Limitations:

- A screen shows two families of tests, the primary question and all others, each at 5 %. If there is no
  difference at all, something on the screen is therefore still called different in up to 10 % of cases.
- If the data consists of documents that are not marked, intervals are too narrow and tests reject too often;
  using blocks of sentences as units helps, but not completely. A note on the screen says so.
- With one run each, tests concern these trained models: the luck of a training seed counts as a difference.

"""


def matrix(here: Iterable[Experiment], results: Mapping[str, Any]) -> tuple[str, list[str], list[str], int]:
    """One row per world, one column per kind of cell."""
    missed: list[str] = []
    above: list[str] = []
    number = 0
    lines = [
        "| world | size | trials | " + " | ".join(CELLS) + " | before |",
        "|---" * (len(CELLS) + 4) + "|",
    ]
    for experiment in here:
        result, row = results[experiment.key], []
        for name in CELLS:
            if name not in result["shares"]:
                row.append("")
                continue
            times, of, _ = result["shares"][name]
            verdict, repeated_share = twice(experiment, name, result)
            number += experiment.asked(name) != "reported"
            shown = f"{100 * times / of:.1f}"
            description = f"{experiment.what}, {experiment.where}, {name}: {described(times, of)}"
            if repeated_share:
                shown += f" / {100 * repeated_share[0] / repeated_share[1]:.1f}"
                description += f", again {described(*repeated_share)}"
            if verdict == "missed":
                missed.append(description)
                shown = f"**{shown}**"
            elif verdict == "above":
                above.append(description)
                shown += " †"
            row.append(shown)
        lines.append(
            f"| {experiment.what} | {experiment.where} | {result['trials']:,} | {' | '.join(row)} "
            f"| {experiment.before} |"
        )
    note = (
        "One standard error of a figure of 95 % is 0.7 for 1,000 intervals; gains, labels, buckets and "
        "subsets pool several cells per trial, which are not independent, so their errors are larger than "
        "their numbers suggest. *Points* are intervals of width 0; the target is none.\n"
    )
    return note + "\n" + "\n".join(lines) + "\n", missed, above, number


def listing(here: Iterable[Experiment], results: Mapping[str, Any]) -> tuple[str, list[str], list[str], int]:
    """One row per counted event."""
    missed: list[str] = []
    above: list[str] = []
    number = 0
    lines = ["| what | where | counted | measured | target | before |", "|---|---|---|---|---|---|"]
    words = {"coverage": "≥ 93", "never": "0", "reported": ""}
    words |= {kind: f"≤ {100 * most:g}" for kind, most in SIZES.items()}
    for experiment in here:
        for name, (times, of, _) in results[experiment.key]["shares"].items():
            target = experiment.asked(name)
            verdict, repeated_share = twice(experiment, name, results[experiment.key])
            number += target != "reported"
            shown = described(times, of)
            if repeated_share:
                shown += f" / {described(*repeated_share)}"
            if verdict == "missed":
                missed.append(f"{experiment.what}, {experiment.where}, {name}: {shown}")
                shown = f"**{shown}**"
            elif verdict == "above":
                above.append(f"{experiment.what}, {experiment.where}, {name}: {shown}")
                shown += " †"
            lines.append(
                f"| {experiment.what} | {experiment.where} | {name} | {shown} | {words[target]} "
                f"| {experiment.before} |"
            )
    return "\n".join(lines) + "\n", missed, above, number


def nearly(experiment: Experiment, shares: Mapping[str, Sequence[int]]) -> list[str]:
    """The shares on the wrong side of their target whose distance to it may be chance."""
    texts = []
    for name, (times, of, held) in shares.items():
        target = experiment.asked(name)
        wrong = (target == "coverage" and times / of < 0.93) or times / of > SIZES.get(target, 1.0)
        if wrong and judged(target, times, of, held) != "missed":
            texts.append(f"{experiment.what}, {experiment.where}, {name}: {described(times, of)}")
    return texts


def misses(experiment: Experiment, shares: Mapping[str, Sequence[int]]) -> bool:
    """Whether any share of an experiment misses its target."""
    return any(judged(experiment.asked(name), *share) == "missed" for name, share in shares.items())


def twice(experiment: Experiment, name: str, result: Mapping[str, Any]) -> tuple[str, tuple[int, int] | None]:
    """The verdict on a share, and the share of the repetition if it missed its target the first time."""
    verdict = judged(experiment.asked(name), *result["shares"][name])
    if verdict != "missed" or name not in result.get("again", {}).get("shares", {}):
        return verdict, None
    times, of, held = result["again"]["shares"][name]
    return judged(experiment.asked(name), times, of, held), (times, of)


def described(times: int, of: int) -> str:
    """A share in percent, with its standard error and the number of events."""
    share = times / of
    return f"{100 * share:.1f} ± {100 * (share * (1 - share) / of) ** 0.5:.1f} (of {of:,})"


def judged(asked: str, times: int, of: int, held: int) -> str:
    """Whether a share misses its target, or is above 97 % although most cells are well filled."""
    share = times / of
    error = 2 * (max(share * (1 - share), 0.25 / of) / of) ** 0.5
    if asked == "never":
        return "missed" if times else ""
    if asked in SIZES:
        return "missed" if share - error > SIZES[asked] else ""
    if asked != "coverage":
        return ""
    if share + error < 0.93:
        return "missed"
    return "above" if held > of / 2 and share - error > 0.97 else ""


if __name__ == "__main__":
    main()
