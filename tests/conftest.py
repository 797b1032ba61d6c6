"""What all tests share: the folder of real data, where there is one, and one browser."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from browsing import browser

__all__ = ["browser", "data"]

# As on the command line: our matrices are small, and two cores are soon crowded by BLAS threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

DATA = Path(os.environ.get("SPANWISE_DATA") or Path(__file__).parents[2] / "shared" / "data")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with the real corpora; a test that needs it is skipped where it is missing."""
    if not DATA.is_dir():
        pytest.skip(f"no data at {DATA}; set SPANWISE_DATA to the folder with the corpora")
    return DATA
