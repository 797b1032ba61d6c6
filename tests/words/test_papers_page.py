"""The page of the papers' figures is what its commands produce from the published data."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers.md"


def test_every_picture_of_the_page_exists_and_is_used() -> None:
    named = set(re.findall(r"\]\(papers/([^)]+\.svg)\)", PAGE.read_text(encoding="utf-8")))
    assert named == {path.name for path in (ROOT / "docs" / "papers").iterdir()}


def test_the_tables_of_the_page_are_up_to_date(data: Path) -> None:
    refresh = runpy.run_path(str(ROOT / "docs" / "papers.py"))["refresh"]
    assert refresh(data, check=True) == 0, "refresh the page: SPANWISE_DATA=PATH python docs/papers.py"
