"""Processes run one at a time and measured from outside: wall clock, CPU seconds and peak memory.

The measuring process keeps to the standard library and stays small, because the system counts its memory
as the first memory of every process it starts.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_PEAK_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Job:
    """A process to be measured: as a whole, or, with `inside`, by what it prints of a part of itself."""

    command: tuple[str, ...]
    inside: bool = False

    @classmethod
    def work(cls, name: str, *arguments: object) -> Job:
        """One piece of work of `benchmarks.work`, timed inside its process."""
        return cls((sys.executable, "-m", "benchmarks.work", name, *map(str, arguments)), inside=True)

    @classmethod
    def whole(cls, name: str, *arguments: object) -> Job:
        """The same from the start of its process to its end, done once."""
        return cls((sys.executable, "-m", "benchmarks.work", "--once", name, *map(str, arguments)))

    @classmethod
    def spanwise(cls, *arguments: object) -> Job:
        """The command line of spanwise, as a user calls it."""
        script = Path(sys.executable).with_name("spanwise")
        start = (str(script),) if script.exists() else (sys.executable, "-m", "spanwise")
        return cls((*start, *map(str, arguments)))


@dataclass(frozen=True)
class Measured:
    """Seconds of wall clock and CPU, bytes of peak memory, and what the process answered."""

    wall: float
    cpu: float
    peak: int
    answer: Mapping[str, Any] = field(default_factory=dict)

    def better(self, other: Measured) -> Measured:
        """The shorter times and the larger peak of two runs of the same job."""
        return Measured(
            wall=min(self.wall, other.wall),
            cpu=min(self.cpu, other.cpu),
            peak=max(self.peak, other.peak),
            answer=_faster(self.answer, other.answer),
        )


def _faster(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The answers of two runs; those under "seconds" are times, of which the shorter ones count."""
    joined = {**one, **other}
    if "seconds" in one and "seconds" in other:
        joined["seconds"] = {
            name: min(one["seconds"][name], seconds) for name, seconds in other["seconds"].items()
        }
    return joined


class Failed(Exception):
    """A job that did not end well, with what it said."""


class Bench:
    """Runs jobs with an environment that is the same for all of them.

    Compiled modules are kept in `folder`, as an installed package keeps them, whatever the variables of
    the calling shell say; linear algebra has one thread everywhere, so that CPU seconds compare.
    """

    def __init__(self, folder: Path, *, rounds: int = 5) -> None:
        self.rounds = rounds
        self.environment = {
            **{key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
            "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
            "PYTHONPATH": str(ROOT),
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "120",
            "TOKENIZERS_PARALLELISM": "false",
            "HF_HUB_OFFLINE": "1",
        }

    def run(self, job: Job) -> Measured:
        """Run one job to its end."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            began = time.perf_counter()
            process = os.posix_spawnp(
                job.command[0],
                job.command,
                self.environment,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, out.fileno(), 1),
                    (os.POSIX_SPAWN_DUP2, error.fileno(), 2),
                ],
            )
            _, status, usage = os.wait4(process, 0)
            wall = time.perf_counter() - began
            out.seek(0)
            error.seek(0)
            said = out.read().decode("utf-8", "replace")
            if status:
                raise Failed(f"{' '.join(job.command)}\n{error.read().decode('utf-8', 'replace')[-2000:]}")
        peak = usage.ru_maxrss * _PEAK_UNIT
        if not job.inside:
            return Measured(wall, usage.ru_utime + usage.ru_stime, peak)
        answer = json.loads(said.strip().rsplit("\n", 1)[-1])
        return Measured(answer.pop("wall"), answer.pop("cpu"), peak, answer)

    def best(self, jobs: Mapping[str, Job], *, rounds: int | None = None) -> dict[str, Measured]:
        """The best of several runs of each job; in every round each job has its turn."""
        found: dict[str, Measured] = {}
        for _ in range(rounds or self.rounds):
            for name, job in jobs.items():
                measured = self.run(job)
                found[name] = found[name].better(measured) if name in found else measured
        return found

    def warm(self, jobs: Sequence[Job]) -> None:
        """Run jobs unmeasured, so that their modules are compiled and their files are in memory."""
        for job in jobs:
            self.run(job)
