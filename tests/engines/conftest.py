"""The `engine` fixture: a test that uses it checks that results do not depend on where blocks run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from parts import small_parts
from sparking import session

from spanwise.demo import Demo, generate
from spanwise.engines.spark import SparkEngine

# The keywords of `evaluate` for each engine; add an entry here to test another engine.
ENGINES: dict[str, Callable[[], dict[str, Any]]] = {
    "memory": dict,
    "blocks": lambda: {"memory": "1GB"},
    "processes": lambda: {"memory": "1GB", "workers": 2},
    "spark": lambda: {"engine": SparkEngine(session(), partitions=3)},
}


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """A demo corpus of sixty sentences."""
    return generate(tmp_path_factory.mktemp("demo"), sentences=60)


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, Any]]:
    """The keywords of `evaluate` for one engine, with blocks of a few sentences."""
    small_parts(monkeypatch, tokens=60)
    return ENGINES[request.param]


@pytest.fixture
def cut_records(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """A function that makes records be read in parts of about so many tokens from then on."""

    def begin(tokens: int) -> None:
        small_parts(monkeypatch, tokens=tokens)
        monkeypatch.setattr("spanwise.evaluation.choices.BYTES_PER_BYTE", 1 << 40)

    return begin
