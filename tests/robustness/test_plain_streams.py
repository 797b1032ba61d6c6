"""Screens in encodings that lack what they draw: every mark has a plain form, words keep their letters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spanwise.demo import generate


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_no_mark_of_a_screen_is_shown_as_an_escape(tmp_path: Path, encoding: str) -> None:
    demo = generate(tmp_path, sentences=60)
    files = [str(demo.gold), str(demo.systems["swapper"]), str(demo.systems["memoriser"])]
    call = [sys.executable, "-m", "spanwise", "evaluate", *files, "--train", str(demo.train), "--full"]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(call, env=environment, capture_output=True, check=True)
    screen = done.stdout.decode(encoding)
    assert "kind" in screen
    # Only rho, a letter, is written by its number, as letters of the data are.
    assert "\\u" not in screen.replace("\\u03c1", "")
