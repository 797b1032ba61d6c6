"""The structure of the package: layered rooms, short files, no catch-all modules."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest
from benchmarks.house import contract, module_of, parts

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "spanwise"
MODULES = sorted(SOURCE.rglob("*.py"))
ROOMS = {path.relative_to(SOURCE).with_suffix("").parts[0] for path in MODULES}


def rooms() -> list[list[str]]:
    """The rooms from the bottom layer up, as configured for import-linter."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers: list[str] = settings["contracts"][0]["layers"]
    return [[name.strip(" ()") for name in layer.split("|")] for layer in reversed(layers)]


def test_a_room_imports_only_from_rooms_below_it() -> None:
    pytest.importorskip("importlinter", reason="import-linter is not installed")
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    assert lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True) == EXIT_STATUS_SUCCESS


def test_the_core_is_exactly_what_an_evaluation_needs() -> None:
    grimp = pytest.importorskip("grimp", reason="import-linter is not installed")
    graph = grimp.build_graph("spanwise", exclude_type_checking_imports=True, cache_dir=None)
    needed = set(contract("core")["source_modules"])
    waiting = [*needed]
    while waiting:
        imported = graph.find_modules_directly_imported_by(waiting.pop()) - needed
        needed |= imported
        waiting += imported
    assert needed == {module_of(path) for path in parts(MODULES)["core"]}


def imported(path: Path) -> set[str]:
    """Everything of the package that a file imports, at the top or inside a function, by its full name."""
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {
        name
        for node in tree
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [f"{node.module}.{alias.name}" for alias in node.names]
            if isinstance(node, ast.ImportFrom)
            else [node.value.replace(":", ".")]  # looked up by name
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and ":" in node.value
            else []
        )
    }


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_room_imports_a_private_module_of_another(path: Path) -> None:
    own = path.relative_to(SOURCE).with_suffix("").parts[0]
    private = {
        name
        for name in imported(path)
        if re.fullmatch(r"[\w.]+", name) and re.search(r"\._[a-z]", name)
        if name.removeprefix("spanwise.").split(".")[0] in ROOMS - {own}
    }
    assert private == set()


def test_there_is_no_catch_all_module() -> None:
    names = {part for path in MODULES for part in path.relative_to(SOURCE).with_suffix("").parts}
    assert not names & {"utils", "util", "helpers", "misc", "common", "tools"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_file_has_a_docstring(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "the module has no docstring"


def test_the_design_page_names_every_room_in_its_order() -> None:
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.split("| room |")[1].splitlines() if line.startswith("| `")]
    named = {name.strip(" `") for row in rows for name in row.split(",")}
    present = {path.relative_to(SOURCE).with_suffix("").parts[0] for path in MODULES}
    expected = [name for level in rooms() for name in level if name in present]
    assert [name for name in expected if name not in named] == []


def test_only_a_few_rooms_draw_random_numbers() -> None:
    drawing = {
        path.relative_to(SOURCE).with_suffix("").parts[0]
        for path in MODULES
        if any(
            isinstance(node, ast.Attribute)
            and node.attr in {"default_rng", "Generator", "RandomState", "Philox"}
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )
    }
    assert drawing <= {"uncertainty", "statistics", "demo"}
