"""What all tests share: the folder of real data, where there is one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("SPANWISE_DATA") or Path(__file__).parents[2] / "shared" / "data")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with the real corpora; a test that needs it is skipped where it is missing."""
    if not DATA.is_dir():
        pytest.skip(f"no data at {DATA}; set SPANWISE_DATA to the folder with the corpora")
    return DATA
