"""Two files, two systems or two kinds of resamples at a time change no byte of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spanwise import evaluate
from spanwise.attributes import own
from spanwise.demo import generate
from spanwise.engines import machine
from spanwise.evaluation import _counting, _inputs


def written(folder: Path, monkeypatch: pytest.MonkeyPatch, *, cores: int, **options: Any) -> bytes:
    """The result of three systems as it is written, computed by so many threads."""
    monkeypatch.setattr(machine, "cores", lambda: cores)
    monkeypatch.setattr(_inputs, "LARGE", 0 if cores > 1 else 1 << 60)
    monkeypatch.setattr(_counting, "LONG", 0 if cores > 1 else 1 << 60)
    demo = generate(folder, sentences=300)
    result = evaluate(demo.gold, demo.systems, train=demo.train, resamples=50, **options)
    path = folder / f"{cores}.json"
    result.to_json(path)
    return path.read_bytes()


def capitals(mention: Any) -> int:
    """An attribute of one's own."""
    return sum(token[0].isupper() for token in mention.tokens)


@pytest.mark.parametrize(
    "options", [{}, {"attributes": ["eLen", own(capitals)]}, {"attributes": "all", "unit": "sentence"}]
)
def test_results_are_the_same_bytes_for_any_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    one = written(tmp_path, monkeypatch, cores=1, **options)
    assert one == written(tmp_path, monkeypatch, cores=2, **options)
    assert one == written(tmp_path, monkeypatch, cores=8, **options)


def test_somebodys_own_function_is_never_called_twice_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    real = machine.together

    def watched(calls: Any, *, threads: int = 2) -> list[Any]:
        asked.append(threads)
        return real(calls, threads=threads)

    monkeypatch.setattr(_counting, "together", watched)
    written(tmp_path, monkeypatch, cores=2)
    written(tmp_path, monkeypatch, cores=2, attributes=[own(capitals)])
    assert asked == [2, 1]
