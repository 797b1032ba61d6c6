"""Several versions of the documentation stand side by side, each with the list of all."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


CONF = """
import os
project = "p"
extensions = ["myst_parser"]
html_theme = "furo"
html_static_path = ["_static"]
html_js_files = ["versions.js"] if "SPANWISE_VERSIONS" in os.environ else []
"""


@pytest.fixture(scope="module")
def versions() -> Any:
    spec = importlib.util.spec_from_file_location("versions", ROOT / "docs" / "versions.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(versions: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation of a repository with two tags, of which the older one lacks a page."""
    pytest.importorskip("furo", reason="needs the extra docs")
    repository, folder = tmp_path_factory.mktemp("repository"), tmp_path_factory.mktemp("site")
    docs = repository / "docs"
    docs.joinpath("_static").mkdir(parents=True)
    docs.joinpath("_static", "versions.js").write_text(
        (ROOT / "docs" / "_static" / "versions.js").read_text(encoding="utf-8"), encoding="utf-8"
    )
    docs.joinpath("conf.py").write_text(CONF)

    def tagged(version: str) -> None:
        who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
        for words in (["add", "."], [*who, "commit", "-qm", version], ["tag", version]):
            subprocess.run(["git", *words], cwd=repository, check=True)

    subprocess.run(["git", "init", "-q", "."], cwd=repository, check=True)
    docs.joinpath("index.md").write_text("# First\n")
    tagged("v1")
    docs.joinpath("howto").mkdir()
    docs.joinpath("howto", "new.md").write_text("# New\n")
    docs.joinpath("index.md").write_text("# Second\n\n```{toctree}\nhowto/new\n```\n")
    tagged("v2")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(versions, "ROOT", repository)
        assert versions.main([str(folder), "v2", "v1"]) == 0
    return folder


def test_every_tag_is_built_from_its_own_files_and_the_first_is_shown(versions: Any, site: Path) -> None:
    text = (site / "versions.js").read_text(encoding="utf-8")
    rows = json.loads(text.removeprefix("var spanwiseVersions = ").removesuffix(";\n"))
    assert [(row["name"], row["folder"], "howto/new.html" in row["pages"]) for row in rows] == [
        ("v2", "v2", True),
        ("v1", "v1", False),
    ]
    assert "url=v2/index.html" in (site / "index.html").read_text(encoding="utf-8")
    for version, title in (("v1", "First"), ("v2", "Second")):
        assert f"<h1>{title}" in (site / version / "index.html").read_text(encoding="utf-8")
    assert versions.folder_of("fix/links") == "fix-links"


def test_the_menu_leads_to_the_same_page_or_to_the_first(site: Path, browser: Any) -> None:
    page = browser.new_page()
    base = site.as_uri()
    page.goto(f"{base}/v2/howto/new.html")
    page.wait_for_selector("select")
    options = page.eval_on_selector_all(
        "select option", "all => all.map(one => [one.textContent, one.value])"
    )
    assert options == [["v2", f"{base}/v2/howto/new.html"], ["v1", f"{base}/v1/index.html"]]
    page.select_option("select", label="v1")
    page.wait_for_url(f"{base}/v1/index.html")
    page.wait_for_selector("select")
    assert page.eval_on_selector("select", "menu => menu.selectedOptions[0].textContent") == "v1"
    page.close()
