"""The processes of the fuzzer: each tries its inputs and reports failures."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz.inputs import Input


def source_of(source: str) -> Callable[[int], Input]:
    """The function that makes an input from its number: of `fuzz.inputs` or `fuzz.documents`."""
    make: Callable[[int], Input] = import_module(f"fuzz.{source}").input_of
    return make


def work(
    pipe: Connection, numbers: range, until: float | None, target: str | None, source: str = "inputs"
) -> None:
    """Try the inputs with these numbers, or only those with one target."""
    from fuzz.targets import attempt, costs, forget_costs, unexpected
    from fuzz.verbs import warm_up

    done, input_of = 0, source_of(source)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files(folder)
        for number in range(100_000_000, 100_000_000 + (300 if source == "inputs" else 40)):
            attempt(input_of(number), folder, number)  # the first of each kind pays for imports
        warm_up(folder)
        forget_costs()
        for number in numbers:
            if until is not None and time.monotonic() > until:
                break
            if done % 500 == 0:
                pipe.send(("at", number))
            attack = input_of(number)
            if target is not None and attack.target != target:
                continue
            wrong = attempt(attack, folder, number)
            done += 1
            if wrong is not None:
                pipe.send(("wrong", (number, wrong)))
    pipe.send(("done", (done, unexpected(), costs())))
    pipe.close()


def files(folder: Path) -> None:
    """Write the files that manifests name."""
    from fuzz import seeds

    for name in ("gold.conll", "a.1.conll", "a.2.conll", "b.1.conll"):
        (folder / name).write_text(seeds.TEXTS["conll"][1], encoding="utf-8")


def lay_out(folder: Path) -> None:
    """Write the files that commands name."""
    from fuzz import seeds

    (folder / "a.conll").write_text(seeds.TEXTS["conll"][1], encoding="utf-8")
    (folder / "s.jsonl").write_text(seeds.SCORED, encoding="utf-8")
    (folder / "answers.jsonl").write_text(seeds.ANSWERS[0], encoding="utf-8")
    (folder / "result.json").write_bytes(seeds.documents()[0])
