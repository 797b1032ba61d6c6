"""Attack spanwise: `python -m fuzz --inputs 20000`, its processes (`--kills 50`) or Spark (`--spark 200`).

`--documents 20000` damages result documents by structure and shows them in every way, `--folders 200` serves
folders whose `.spanwise` is hostile.

Inputs are numbered, and a number always gives the same bytes: `--only NUMBER` repeats one and shows its
traceback. Anything but a result or an error of our own is a failure, and so is an input that takes more than
5 seconds of CPU time, a minute of wall time or 500 MB of additional memory, or that ends the process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path

from fuzz.targets import Costs
from fuzz.working import files, work


def main() -> int:
    """Run the attack and report the outcome; the exit status is 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--documents", type=int, help="so many damaged result documents instead")
    parser.add_argument("--folders", type=int, help="so many folders for the workbench instead")
    parser.add_argument("--inputs", type=int, default=20_000, help="how many (default: 20000)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one (default: 0)")
    parser.add_argument("--only", type=int, help="repeat one input and show its traceback")
    parser.add_argument("--target", help="only inputs of this kind, such as document or answers")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--kills", type=int, help="kill so many workers, commands and studies instead")
    parser.add_argument("--spark", type=int, help="so many folders and frames for Spark instead")
    parser.add_argument("--minutes", type=float, help="stop after so long")
    args = parser.parse_args()
    if args.kills is not None:
        return _kills(args.kills)
    if args.spark is not None:
        return _spark(args.spark, args.first)
    if args.folders is not None:
        return _folders(args.folders, args.first)
    source = "inputs" if args.documents is None else "documents"
    if args.only is not None:
        return _only(args.only, source)
    return _inputs(args, args.inputs if args.documents is None else args.documents, source)


def _inputs(args: argparse.Namespace, count: int, source: str) -> int:
    context = get_context("spawn")
    began = time.monotonic()
    until = began + 60 * args.minutes if args.minutes else None
    done, failures, unexpected = 0, Counter[str](), dict[str, int]()
    examples: dict[str, int] = {}
    spent: list[Costs] = []
    pipes: dict[Connection, tuple[SpawnProcess, int]] = {}
    for worker in range(args.workers):
        ours, theirs = context.Pipe()
        numbers = range(args.first + worker, args.first + count, args.workers)
        process = context.Process(
            target=work, args=(theirs, numbers, until, args.target, source), daemon=True
        )
        process.start()
        theirs.close()
        pipes[ours] = (process, worker)
    last = {ours: args.first + worker for ours, (_, worker) in pipes.items()}
    while pipes:
        for ours in [ready for ready in wait(list(pipes)) if isinstance(ready, Connection)]:
            try:
                kind, value = ours.recv()
            except EOFError:
                process, _ = pipes.pop(ours)
                process.join()
                if process.exitcode:
                    failures["the process ended"] += 1
                    examples["the process ended"] = last[ours]
                continue
            if kind == "at":
                last[ours] = value
            elif kind == "wrong":
                text = value[1].partition(":")[0]
                failures[text] += 1
                examples.setdefault(text, value[0])
                sys.stdout.write(f"input {value[0]}: {value[1]}\n")
            elif kind == "done":
                done += value[0]
                unexpected |= value[1]
                spent.append(value[2])
    rate = done / (time.monotonic() - began)
    sys.stdout.write(f"{done:,} {source}, {failures.total():,} failures, {rate:,.0f} {source}/s\n")
    if spent:
        slowest, largest = max(spent), max(spent, key=lambda cost: cost.megabytes)
        sys.stdout.write(
            f"the slowest took {slowest.seconds:.2f} s of a processor (input {slowest.slowest}); "
            f"the largest needed {largest.megabytes} MB (input {largest.largest})\n"
        )
    for text, number in failures.most_common():
        sys.stdout.write(f"  {number:>6,} {text} (such as input {examples[text]})\n")
    if unexpected:
        sys.stdout.write("answered by the last resort, in words that could be clearer:\n")
        for site, number in sorted(unexpected.items()):
            sys.stdout.write(f"  {site} (such as input {number})\n")
    return 1 if failures else 0


def _only(number: int, source: str) -> int:
    from fuzz.targets import _use
    from fuzz.working import source_of

    attack = source_of(source)(number)
    sys.stdout.write(f"{attack}\n")
    with tempfile.TemporaryDirectory() as folder:
        files(Path(folder))
        _use(attack, Path(folder), number)
    return 0


def _kills(times: int) -> int:
    from fuzz import faults

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        failures = faults.run(Path(folder), times)
    for kind, wrong in failures.items():
        sys.stdout.write(f"{kind}: {times} kills, {len(wrong)} failures\n")
        sys.stdout.write("".join(f"  {text}\n" for text in wrong))
    sys.stdout.write(f"{time.monotonic() - began:.0f} s\n")
    return 1 if any(failures.values()) else 0


def _folders(inputs: int, first: int) -> int:
    from fuzz import folders

    began = time.monotonic()
    failures = folders.run(inputs, first)
    sys.stdout.write("".join(f"folder {number}: {wrong}\n" for number, wrong in failures.items()))
    passed = time.monotonic() - began
    sys.stdout.write(f"{inputs:,} folders, {len(failures)} failures, {passed:.0f} s\n")
    return 1 if failures else 0


def _spark(inputs: int, first: int) -> int:
    from fuzz import lake
    from spanwise.engines.spark import spark_session

    began = time.monotonic()
    failures = lake.run(inputs, first, spark_session("local[2]"))
    passed = time.monotonic() - began
    sys.stdout.write(f"{inputs:,} inputs for Spark, {len(failures)} failures, {passed:.0f} s\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
