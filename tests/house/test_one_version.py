"""One version in every file that names one."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import spanwise

ROOT = Path(__file__).parents[2]
# Where the version stands, besides `spanwise.__version__`.
PLACES = {
    "CITATION.cff": r"^version: (.*)$",
    "CHANGELOG.md": r"^## (\S+)",
    "packaging/conda/meta.yaml": r'set version = "(.*?)"',
    "docs/howto/ci.md": r"rev: v(\S+)",
}


@pytest.mark.parametrize("name", PLACES)
def test_a_file_names_the_version(name: str) -> None:
    found = re.search(PLACES[name], (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert found and found[1] == spanwise.__version__


def test_both_packages_have_the_version_and_the_second_needs_the_first() -> None:
    for folder in (ROOT, ROOT / "packages" / "spanwise-taggers"):
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert project["version"] == spanwise.__version__
    assert project["dependencies"] == [f"spanwise=={spanwise.__version__}"]


def test_the_action_in_the_how_to_is_that_of_the_version() -> None:
    series = spanwise.__version__.rpartition(".")[0]
    used = re.findall(r"spanwise/spanwise@v(\S+)", (ROOT / "docs/howto/ci.md").read_text(encoding="utf-8"))
    assert used and set(used) == {series}


def test_the_changelog_and_the_citation_have_the_same_date() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    dates = [
        re.search(rf"^## {re.escape(spanwise.__version__)} \((.*?)\)", changelog, re.MULTILINE),
        re.search(r"^date-released: (.*)$", citation, re.MULTILINE),
    ]
    assert len({found[1] for found in dates if found}) == 1 and all(dates)


def test_the_recipe_needs_what_the_package_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    needed = re.findall(r"^    - (.*)$", recipe.partition("  run:\n")[2].partition("\n\n")[0], re.MULTILINE)
    expected = [f"python{project['requires-python']}", *project["dependencies"]]
    assert [line.replace(" ", "") for line in needed] == expected
