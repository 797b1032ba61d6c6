"""What all tests share: the folder of real data, where there is one, and one browser."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from browsing import browser
from hypothesis import HealthCheck, settings

__all__ = ["browser", "data"]

# As on the command line: our matrices are small, and two cores are soon crowded by BLAS threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Laws are tried on the same examples every time, however slow the machine.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

DATA = Path(os.environ.get("SPANWISE_DATA") or Path(__file__).parents[2] / "shared" / "data")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with the real corpora; a test that needs it is skipped where it is missing."""
    if not DATA.is_dir():
        pytest.skip(f"no data at {DATA}; set SPANWISE_DATA to the folder with the corpora")
    return DATA
