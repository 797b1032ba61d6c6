"""Packages are found by what they register, as `importlib.metadata` finds them but sooner."""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from spanwise import registry
from spanwise.cli.main import COMMANDS, WING
from spanwise.registry import Entry, foreign_packages, registered

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with two versions of one package, of which the first counts."""
    for version in ("1.0", "2.0"):
        metadata = tmp_path / f"toys-{version}.dist-info"
        metadata.mkdir()
        text = f"# toys\n[spanwise.moons]\nluna = toys.v{version[0]}:LUNA [extra]\n\n[others]\na = b:c\n"
        (metadata / "entry_points.txt").write_text(text, encoding="utf-8")
        (metadata / "METADATA").write_text(f"Name: toys\nVersion: {version}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_packages_are_found_as_by_importlib_metadata(folder: Path) -> None:
    points = entry_points()
    groups = {group for group in points.groups if group.startswith("spanwise.")} - {"spanwise.commands"}
    assert "spanwise.moons" in groups
    for group in groups:
        found = {name: entry.value for name, entry in registered(group).items()}
        assert found == {point.name: point.value for point in points.select(group=group)}
    assert "toys" in foreign_packages()


def test_in_archives_packages_are_found_by_importlib_metadata(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "archive.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    monkeypatch.syspath_prepend(folder / "archive.zip")
    assert registered("spanwise.moons") == {"luna": Entry("spanwise.moons", "luna", "toys.v1:LUNA [extra]")}


def test_the_file_of_the_package_is_what_its_distribution_registers() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {"scripts", "entry-points"} <= set(project["project"]["dynamic"])
    (file,) = project["tool"]["setuptools"]["dynamic"]["entry-points"]["file"]
    assert (ROOT / file).samefile(Path(registry.__file__).with_name("entry_points.txt"))


def test_wings_are_commands_that_the_project_registers() -> None:
    own = {name for name, entry in registered("spanwise.commands").items() if entry.package == "spanwise"}
    assert own == {name for name, (module, _) in COMMANDS.items() if module == WING}


def test_looking_for_packages_does_not_load_importlib_metadata() -> None:
    import subprocess

    code = "import sys, spanwise.registry as r; r.registered('spanwise.commands'); print(*sys.modules)"
    call = [sys.executable, "-S", "-c", f"import sys; sys.path += {sys.path!r}; {code}"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert "importlib.metadata" not in done.stdout.split()
