"""Processing files, systems or kinds of resamples at the same time changes no byte of a result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spanwise import engines, evaluate
from spanwise.attributes import own
from spanwise.demo import generate


def written(folder: Path, monkeypatch: pytest.MonkeyPatch, *, cores: int, **options: Any) -> bytes:
    """The written result of three systems, computed by so many threads."""
    monkeypatch.setattr(engines, "cores", lambda: cores)
    monkeypatch.setattr("spanwise.evaluation.choices.TWO_READERS", 0 if cores > 1 else 1 << 60)
    monkeypatch.setattr("spanwise.evaluation.counting.LONG", 0 if cores > 1 else 1 << 60)
    demo = generate(folder, sentences=300)
    result = evaluate(demo.gold, demo.systems, train=demo.train, resamples=50, **options)
    path = folder / f"{cores}.json"
    result.to_json(path)
    return path.read_bytes()


def capitals(mention: Any) -> int:
    """A user-defined attribute."""
    return sum(token[0].isupper() for token in mention.tokens)


@pytest.mark.parametrize(
    "options", [{}, {"attributes": ["eLen", own(capitals)]}, {"attributes": "all", "unit": "sentence"}]
)
def test_results_are_the_same_bytes_for_any_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    expected = written(tmp_path, monkeypatch, cores=1, **options)
    assert expected == written(tmp_path, monkeypatch, cores=2, **options)
    assert expected == written(tmp_path, monkeypatch, cores=8, **options)


def test_a_user_function_is_never_called_from_two_threads_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested: list[int] = []
    real = engines.together

    def watched(calls: Any, *, threads: int = 2) -> list[Any]:
        requested.append(threads)
        return real(calls, threads=threads)

    monkeypatch.setattr("spanwise.evaluation.counting.together", watched)
    written(tmp_path, monkeypatch, cores=2)
    written(tmp_path, monkeypatch, cores=2, attributes=[own(capitals)])
    assert requested == [2, 1]


HASHED = """
import hashlib, sys
import os
import subprocess
import sys
from pathlib import Path
import numpy as np
from spanwise import evaluate, find_slices
from spanwise.demo import generate
from spanwise.uncertainty import Flips

demo = generate(Path(sys.argv[1]), sentences=1000)
result = evaluate(
    demo.gold, demo.systems, train=demo.train, unit="sentence", weights=["BE = 0.3 TP + 0.7 FN"], resamples=99
)
slices = find_slices(demo.gold, demo.systems, train=demo.train, over="f1", unit="sentence", flips=300)
found = [result.to_json(), slices.to_json()]
rows = np.random.default_rng(0).standard_normal((600, 1500))
found += [Flips(1500, 600, two_sided=both).maxima([rows]).tobytes().hex() for both in (False, True)]
print(*(hashlib.sha256(one.encode()).hexdigest() for one in found))
"""


def test_results_are_the_same_bytes_for_any_number_of_threads_of_the_algebra_library(tmp_path: Path) -> None:
    hashes = set()
    for threads in ("1", "2"):
        names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, threads)}
        command = [sys.executable, "-c", HASHED, str(tmp_path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        hashes.add(done.stdout)
    assert len(hashes) == 1
