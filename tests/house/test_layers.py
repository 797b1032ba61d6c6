"""The order of the rooms: a module uses what lies before it, siblings do not know each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "spanwise"

# Rooms that share a line do not use each other.
ORDER = [
    ["errors", "columns", "records", "spreadsheet"],
    ["registry", "citations"],
    ["corpus"],
    ["schemes"],
    ["formats", "alignment"],
    ["matching", "attributes"],
    ["buckets"],
    ["counts", "credits"],
    ["scores"],
    ["table", "statistics"],
    ["uncertainty"],
    ["diagnosis"],
    ["engines", "interpreteval", "description", "findings"],
    ["evaluation"],
    ["studies", "gates", "explanation"],
    ["demo", "reproduction"],
    ["reports"],
    ["compat"],
    ["cli"],
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
# What needs no room: the version, and the two doors to the program.
DOORS = {"__init__", "__main__"}

MODULES = sorted(SOURCE.rglob("*.py"))


def dotted(path: Path) -> tuple[str, ...]:
    """The parts of a module's name below spanwise; a package is named by its folder."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts


def imported(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The line and the module below spanwise of every import in a file, inside functions too."""
    known = {dotted(module) for module in MODULES}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are written in full"
            names = [f"{node.module}.{name.name}" for name in node.names]
        else:
            continue
        for name in names:
            parts = tuple(name.split("."))
            if parts[0] == "spanwise":
                below = parts[1:]
                # `from spanwise.corpus import Corpus` names a thing in a module, not a module.
                yield node.lineno, below if below in known else below[:-1]


def test_every_module_has_a_room() -> None:
    rooms = {dotted(path)[0] for path in MODULES} - DOORS
    assert rooms <= set(LEVEL), f"without a place in the order: {sorted(rooms - set(LEVEL))}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: "/".join(dotted(path)))
def test_nothing_is_imported_from_a_later_room(path: Path) -> None:
    room = dotted(path)[0]
    if room in DOORS:
        return
    wrong = [
        f"{path.name}:{line} imports {'.'.join(module)}"
        for line, module in imported(path)
        if module and module[0] != room and LEVEL.get(module[0], -1) >= LEVEL[room]
    ]
    assert not wrong, wrong


@pytest.mark.parametrize("path", MODULES, ids=lambda path: "/".join(dotted(path)))
def test_siblings_do_not_know_each_other(path: Path) -> None:
    """The files and folders of a room are siblings; what they share is private (`_rows`) or moves down."""
    here = dotted(path)
    if len(here) == 1 or here[0] == "cli":  # the room itself; commands have their own rule below
        return
    wrong = [
        f"{path.name}:{line} imports its sibling {'.'.join(module)}"
        for line, module in imported(path)
        if len(module) > 1 and module[0] == here[0] and module[1] != here[1] and not module[1].startswith("_")
    ]
    assert not wrong, wrong


def test_commands_do_not_know_each_other() -> None:
    for path in (SOURCE / "cli" / "commands").glob("*.py"):
        for line, module in imported(path):
            if module[:2] == ("cli", "commands") and len(module) == 3 and module[2] != path.stem:
                assert module[2].startswith("_"), f"{path.name}:{line} imports the command {module[2]}"


def test_there_is_no_drawer_for_odd_things() -> None:
    names = {part for path in MODULES for part in dotted(path)}
    assert not names & {"utils", "util", "helpers", "misc", "common", "tools"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: "/".join(dotted(path)))
def test_a_file_is_short_and_says_what_it_holds(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 500
    assert ast.get_docstring(ast.parse(text)), "the module opens with no sentence"


def test_the_design_page_names_every_room_in_its_order() -> None:
    page = (SOURCE.parents[1] / "docs" / "design.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.split("| room |")[1].splitlines() if line.startswith("| `")]
    named = [[name.strip(" `") for name in row.split(",")] for row in rows]
    assert named[: len(ORDER)] == ORDER


def test_random_numbers_are_drawn_in_two_rooms_only() -> None:
    drawing = {
        dotted(path)[0]
        for path in MODULES
        if any(
            isinstance(node, ast.Attribute)
            and node.attr in {"default_rng", "Generator", "RandomState", "Philox"}
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )
    }
    assert drawing <= {"uncertainty", "demo"}
