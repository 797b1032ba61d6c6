"""One `engine` fixture: whatever is tested with it gives the same result wherever blocks run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sparking import session

from spanwise.engines.spark import SparkEngine
from spanwise.evaluation import _blocks

# How `evaluate` is called under each engine; another engine joins the tests by an entry here.
ENGINES: dict[str, Callable[[], dict[str, Any]]] = {
    "memory": dict,
    "blocks": lambda: {"memory": "1GB"},
    "processes": lambda: {"memory": "1GB", "workers": 2},
    "spark": lambda: {"engine": SparkEngine(session(), partitions=3)},
}


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, Any]]:
    """The keywords of `evaluate` for one engine, with blocks of a few sentences."""
    monkeypatch.setattr(_blocks, "LEAST_TOKENS", 60)
    monkeypatch.setattr(_blocks, "BYTES_PER_TOKEN", 1 << 60)
    return ENGINES[request.param]
