"""The processes of the fuzzer: each attempts its numbers, and says what went wrong."""

from __future__ import annotations

import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path


def work(pipe: Connection, numbers: range, until: float | None) -> None:
    """Attempt the inputs with these numbers."""
    from fuzz.inputs import input_of
    from fuzz.targets import attempt, unexpected

    done = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files(folder)
        for number in range(100_000_000, 100_000_300):
            attempt(input_of(number), folder, number)  # the first of each kind pays for imports
        for number in numbers:
            if until is not None and time.monotonic() > until:
                break
            if done % 500 == 0:
                pipe.send(("at", number))
            wrong = attempt(input_of(number), folder, number)
            done += 1
            if wrong is not None:
                pipe.send(("wrong", (number, wrong)))
    pipe.send(("done", (done, unexpected())))
    pipe.close()


def files(folder: Path) -> None:
    """The files that manifests name."""
    from fuzz import seeds

    for name in ("gold.conll", "a.1.conll", "a.2.conll", "b.1.conll"):
        (folder / name).write_text(seeds.TEXTS["conll"][1], encoding="utf-8")
