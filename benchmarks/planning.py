"""The plan of a benchmark run: what it measures, where its corpora are, and its other inputs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.measuring import Bench, Failed, Job, Measured

if TYPE_CHECKING:  # to keep the measuring process small
    from benchmarks.data import Described


@dataclass(frozen=True)
class Plan:
    """The names of corpora (see benchmarks.data), how often to measure, and how long to wait for peers."""

    bench: Bench
    folder: Path
    sizes: tuple[str, ...]  # at which growth is measured
    peers_at: str  # the corpus on which peers are measured
    large: str | None
    data: Path | None = None
    programs: Mapping[str, str] = field(default_factory=dict)
    fair: Path | None = None  # the folder of the program of Ortmann (2022)
    spans: tuple[str, ...] = ("chunks-101k", "fields-64k")  # span files on which it is measured
    lengths: tuple[int, ...] = (4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 900_000)
    patience: float = 1.0  # seconds after which a peer gets no longer documents

    def corpus(self, name: str) -> Described:
        """The description of a corpus, which is made in a separate process if it does not exist."""
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.data", str(self.folder), name],
            env=self.bench.environment,
            check=True,
            capture_output=True,
        )
        results: Described = json.loads(done.stdout)
        return results

    def files(self, name: str) -> tuple[str, str, str, str]:
        """Gold, both systems and training data of a corpus."""
        paths = self.corpus(name)["files"]
        return paths["gold"], paths["shortsighted"], paths["memoriser"], paths["train"]

    def tried(self, jobs: Mapping[str, Job], *, rounds: int) -> tuple[dict[str, Measured], dict[str, str]]:
        """The best of several rounds of all jobs, and why some could not be run."""
        results: dict[str, Measured] = {}
        left_out: dict[str, str] = {}
        for _ in range(rounds):
            for name, job in jobs.items():
                if name in left_out:
                    continue
                try:
                    measured = self.bench.run(job)
                except (Failed, OSError) as error:
                    left_out[name] = str(error).strip().rsplit("\n", 1)[-1]
                    continue
                results[name] = results[name].better(measured) if name in results else measured
        return results, left_out


def shown(measured: Measured) -> dict[str, Any]:
    """The columns of a measurement of a whole process."""
    return {"wall": measured.wall, "CPU": measured.cpu, "peak": measured.peak}
