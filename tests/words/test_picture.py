"""The picture of the README shows what the screen prints now."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

PICTURE = Path(__file__).parents[2] / "docs" / "picture.py"


@pytest.mark.skipif(not PICTURE.is_file(), reason="this needs the documentation in the repository")
def test_the_picture_of_the_screen_is_what_the_screen_prints() -> None:
    script = runpy.run_path(str(PICTURE))
    drawn, target = script["drawn"](script["screen"]()), script["TARGET"]
    if os.environ.get("SPANWISE_REFRESH"):
        target.write_text(drawn, encoding="utf-8")
    assert target.read_text(encoding="utf-8") == drawn, "Run: python docs/picture.py"
