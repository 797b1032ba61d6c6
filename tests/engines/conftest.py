"""One `engine` fixture: whatever is tested with it gives the same result wherever blocks run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from spanwise.evaluation import _blocks

# How `evaluate` is called under each engine; another engine joins the tests by an entry here.
ENGINES: dict[str, dict[str, Any]] = {
    "memory": {},
    "blocks": {"memory": "1GB"},
    "processes": {"memory": "1GB", "workers": 2},
}


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, Any]]:
    """The keywords of `evaluate` for one engine, with blocks of a few sentences."""
    monkeypatch.setattr(_blocks, "LEAST_TOKENS", 60)
    monkeypatch.setattr(_blocks, "BYTES_PER_TOKEN", 1 << 60)
    return lambda: dict(ENGINES[request.param])
