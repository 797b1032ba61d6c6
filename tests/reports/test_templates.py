"""Templates are kept compiled beside their sources, and depend on nothing but these."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jinja2 import Environment, nodes

from spanwise.reports.templates import environment_of

PACKAGES = ["spanwise.reports.html", "spanwise.workbench"]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that bytecode is kept in, beside a package with one template."""
    (tmp_path / "leaflet" / "templates").mkdir(parents=True)
    (tmp_path / "leaflet" / "__init__.py").write_text("")
    (tmp_path / "leaflet" / "templates" / "one.jinja").write_text("<p>{{ word }}</p>")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "leaflet", raising=False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "kept"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return tmp_path / "kept"


def rendered() -> str:
    return environment_of("leaflet").get_template("one.jinja").render(word="a < b")


def files(kept: Path) -> list[Path]:
    return [path for path in kept.rglob("one*") if path.is_file()]


def test_a_template_is_compiled_once(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rendered() == "<p>a &lt; b</p>"
    assert [path.suffix for path in files(kept)] == [".pyc"]
    monkeypatch.setattr(Environment, "compile", None)
    assert rendered() == "<p>a &lt; b</p>"


def test_a_changed_template_is_compiled_again(kept: Path) -> None:
    rendered()
    (kept.parent / "leaflet" / "templates" / "one.jinja").write_text("<b>{{ word }}</b>")
    assert rendered() == "<b>a &lt; b</b>"


@pytest.mark.parametrize("content", [b"", b"other\n", b"\xff" * 40, None])
def test_a_damaged_compiled_template_is_compiled_again(content: bytes | None, kept: Path) -> None:
    rendered()
    (file,) = files(kept)
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.index(b"\n") + 20] if content is None else content)
    assert rendered() == "<p>a &lt; b</p>"
    assert file.read_bytes() == whole


def test_nothing_is_kept_where_python_writes_no_bytecode(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered() == "<p>a &lt; b</p>"
    assert not files(kept)


def test_a_folder_that_cannot_be_written_is_no_error(kept: Path) -> None:
    kept.write_text("a file in the place of the folder")
    assert rendered() == "<p>a &lt; b</p>"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_filter_or_test_is_evaluated_when_a_template_is_compiled(package: str) -> None:
    environment = environment_of(package)
    for name in environment.list_templates(extensions=["jinja"]):
        source = environment.loader and environment.loader.get_source(environment, name)[0]
        for node in environment.parse(source or "").find_all((nodes.Filter, nodes.Test)):
            own = node.name not in {*Environment().filters, *Environment().tests}
            assert not (own and isinstance(node.node, nodes.Const)), f"{name}:{node.lineno}: {node.name}"
