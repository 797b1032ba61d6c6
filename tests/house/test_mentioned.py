"""The pages of the project name only tests and files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("SECURITY.md", "README.md", "CONTRIBUTING.md")]
PAGES += sorted((ROOT / "docs").rglob("*.md"))
# A path of a folder of the project, and the name of a test after it, if there is one.
MENTIONED = re.compile(r"(?<![\w/.-])((?:tests|fuzz|benchmarks|examples)/[\w./-]*[\w-])(?:::(\w+))?")


def mentions_of(text: str) -> set[tuple[str, str]]:
    return {(path, test) for path, test in MENTIONED.findall(text)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_path_and_test_that_a_page_mentions_exists(page: Path) -> None:
    missing = []
    for path, test in sorted(mentions_of(page.read_text(encoding="utf-8"))):
        file = ROOT / path
        known = file.exists() or file.with_name(f"{file.name}.py").exists()
        if not known or (test and f"def {test}(" not in file.read_text(encoding="utf-8")):
            missing.append(f"{path}::{test}" if test else path)
    assert not missing


def test_names_that_do_not_exist_are_noticed() -> None:
    assert mentions_of("see `tests/a/test_b.py::test_c`, tests/house.") == {
        ("tests/a/test_b.py", "test_c"), ("tests/house", ""),
    }  # fmt: skip
