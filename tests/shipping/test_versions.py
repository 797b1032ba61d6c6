"""Several versions of the documentation stand side by side, each with the list of all."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def versions() -> Any:
    spec = importlib.util.spec_from_file_location("versions", ROOT / "docs" / "versions.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def site(versions: Any, folder: Path) -> Path:
    """Two versions, of which the older one lacks a page; the script of the newer one is the real one."""
    script = (ROOT / "docs" / "_static" / "versions.js").read_text(encoding="utf-8")
    for version, pages in (("v2", ["index", "howto/new"]), ("v1", ["index"])):
        for page in pages:
            path = folder / version / f"{page}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            root = "../" if "/" in page else "./"
            path.write_text(
                f'<html data-content_root="{root}"><body><div class="sidebar-brand">{version}</div>'
                f"<script>{script}</script></body></html>"
            )
    versions.listed(folder, ["v2", "v1"])
    return folder


def test_every_version_is_listed_with_its_pages_and_the_first_is_shown(versions: Any, tmp_path: Path) -> None:
    site(versions, tmp_path)
    text = (tmp_path / "versions.js").read_text(encoding="utf-8")
    rows = json.loads(text.removeprefix("var spanwiseVersions = ").removesuffix(";\n"))
    assert rows == [
        {"name": "v2", "folder": "v2", "pages": ["howto/new.html", "index.html"]},
        {"name": "v1", "folder": "v1", "pages": ["index.html"]},
    ]
    assert "url=v2/index.html" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert versions.folder_of("fix/links") == "fix-links"


def test_the_menu_leads_to_the_same_page_or_to_the_first(versions: Any, tmp_path: Path, browser: Any) -> None:
    page = browser.new_page()
    base = site(versions, tmp_path).as_uri()
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
