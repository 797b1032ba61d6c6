"""Fixtures for all tests: the folder of real corpora, a browser, and small chunks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsing import browser
from hypothesis import HealthCheck, settings

__all__ = ["browser", "cut_chunks", "data"]

# As on the command line: our matrices are small, and BLAS threads would compete for the few cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Hypothesis tries the same examples every time, however slow the machine.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

DATA = Path(os.environ.get("SPANWISE_DATA") or Path(__file__).parents[2] / "shared" / "data")


@pytest.fixture(scope="session", autouse=True)
def few_shuffles() -> Iterator[None]:
    """Shuffles of large families are doubled less often: in tiny test sets some p is always undecided."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spanwise.families.MOST_SCORES", 1_000_000)
        yield


@pytest.fixture
def all_shuffles(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many shuffles as users get, for tests of what they see."""
    monkeypatch.setattr("spanwise.families.MOST_SCORES", 100_000_000)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with the real corpora; tests that need it are skipped if it is missing."""
    if not DATA.is_dir():
        pytest.skip(f"no data at {DATA}; set SPANWISE_DATA to the folder with the corpora")
    return DATA


@pytest.fixture
def cut_chunks(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """A function that sets the size in bytes of the first chunk of a column file, and the largest size."""

    def begin(first: int, most: int) -> None:
        monkeypatch.setattr("spanwise.formats._columns.FIRST_CHUNK", first)
        monkeypatch.setattr("spanwise.formats._columns.MOST_CHUNK", most)

    return begin
