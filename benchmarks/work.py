"""Pieces of work, each run and timed in a separate process.

    python -m benchmarks.work NAME ARGUMENT …          prints its seconds as JSON
    python -m benchmarks.work --once NAME ARGUMENT …   runs once, to be measured from outside

A piece of work is prepared (imports, reading, lists) and then timed on its own, as often as fits into about a
second; the shortest time counts. Its answer, such as F1, is kept to check that all did the same.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import peers, reference, stages
from spanwise.engines import keep_freed_memory

Prepared = Callable[[], Any]

WORK: dict[str, Callable[..., Prepared]] = {**peers.WORK, **stages.WORK, **reference.WORK}
_ENOUGH = 1.0  # seconds
_MOST = 7  # times


def timed(work: Prepared) -> dict[str, Any]:
    """The shortest wall and CPU seconds of several runs, and the last answer."""
    wall = cpu = float("inf")
    began = time.perf_counter()
    answer: Any = None
    for _ in range(_MOST):
        first_wall, first_cpu = time.perf_counter(), time.process_time()
        answer = work()
        cpu = min(cpu, time.process_time() - first_cpu)
        wall = min(wall, time.perf_counter() - first_wall)
        if time.perf_counter() - began > _ENOUGH:
            break
    return {"wall": wall, "cpu": cpu, **(answer if isinstance(answer, dict) else {"answer": answer})}


def main(arguments: list[str]) -> None:
    """Run the piece of work that the arguments name."""
    once = arguments[0] == "--once"
    name, *rest = arguments[1:] if once else arguments
    if name in stages.WORK:
        keep_freed_memory()  # as the command line does
    work = WORK[name](*rest)
    print(json.dumps({"answer": work()} if once else timed(work)))


if __name__ == "__main__":
    main(sys.argv[1:])
