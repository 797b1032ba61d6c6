"""Run processes one at a time and measure them from outside: wall time, CPU time and peak memory.

The measuring process uses only the standard library and stays small, because the operating system counts its
memory as the initial memory of every process it starts.
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
    """A process to be measured as a whole or, with `inside`, by the times it prints itself."""

    command: tuple[str, ...]
    inside: bool = False

    @classmethod
    def work(cls, name: str, *arguments: object) -> Job:
        """One piece of work of `benchmarks.work`, timed inside its process."""
        return cls((sys.executable, "-m", "benchmarks.work", name, *map(str, arguments)), inside=True)

    @classmethod
    def whole(cls, name: str, *arguments: object) -> Job:
        """One piece of work of `benchmarks.work`, measured as a whole process and done once."""
        return cls((sys.executable, "-m", "benchmarks.work", "--once", name, *map(str, arguments)))

    @classmethod
    def spanwise(cls, *arguments: object) -> Job:
        """The command line of spanwise, as a user calls it."""
        script = Path(sys.executable).with_name("spanwise")
        start = (str(script),) if script.exists() else (sys.executable, "-m", "spanwise")
        return cls((*start, *map(str, arguments)))


@dataclass(frozen=True)
class Measured:
    """Wall and CPU seconds, peak memory in bytes, and the answer of the process."""

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


def _faster(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The merged answers of two runs; of the times under "seconds", the shorter ones are kept."""
    joined = {**first, **second}
    if "seconds" in first and "seconds" in second:
        joined["seconds"] = {
            name: min(first["seconds"][name], seconds) for name, seconds in second["seconds"].items()
        }
    return joined


class Failed(Exception):
    """A job that failed, with its error output."""


class Bench:
    """Runs jobs in the same environment.

    Compiled modules are kept in `folder`, as for an installed package, whatever the environment variables of
    the calling shell; linear algebra uses one thread, so that CPU seconds are comparable.
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
            output = out.read().decode("utf-8", "replace")
            if status:
                raise Failed(f"{' '.join(job.command)}\n{error.read().decode('utf-8', 'replace')[-2000:]}")
        peak = usage.ru_maxrss * _PEAK_UNIT
        if not job.inside:
            return Measured(wall, usage.ru_utime + usage.ru_stime, peak)
        answer = json.loads(output.strip().rsplit("\n", 1)[-1])
        return Measured(answer.pop("wall"), answer.pop("cpu"), peak, answer)

    def best(self, jobs: Mapping[str, Job], *, rounds: int | None = None) -> dict[str, Measured]:
        """The best of several runs of each job; every round runs each job once."""
        results: dict[str, Measured] = {}
        for _ in range(rounds or self.rounds):
            for name, job in jobs.items():
                measured = self.run(job)
                results[name] = results[name].better(measured) if name in results else measured
        return results

    def warm(self, jobs: Sequence[Job]) -> None:
        """Run jobs without measuring, so that their modules are compiled and their files cached."""
        for job in jobs:
            self.run(job)
