"""The figures of the house on the design page, counted from the files as they are.

    python -m benchmarks.house            print the rows
    python -m benchmarks.house --write    put them into docs/design.md

Lines are those of the files, blank ones included. `Any` is counted wherever it is named outside imports.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "spanwise"
WINGS = ("compat", "interpreteval", "reproduction", "demo", "taggers", "workbench")
ROW = re.compile(r"^\| (?P<what>[^|]+) \| (?P<before>[^|]+) \| (?P<now>[^|]+) \|$", re.MULTILINE)


def files_of(folder: Path) -> list[Path]:
    """The Python files below a folder."""
    return sorted(folder.rglob("*.py"))


def lines_of(files: Iterable[Path]) -> int:
    """How many lines files have."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def count(files: Iterable[Path], pattern: str) -> int:
    """How often a pattern occurs in lines that are not imports."""
    lines = (line for path in files for line in path.read_text(encoding="utf-8").splitlines())
    return sum(len(re.findall(pattern, line)) for line in lines if not re.match(r"\s*(from|import)\s", line))


def shared_names(files: Iterable[Path]) -> int:
    """How many names two types or more have."""
    names = Counter(
        node.name
        for path in files
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    return sum(number > 1 for number in names.values())


def figures() -> dict[str, str]:
    """The figures by the beginnings of their rows."""
    every = files_of(SOURCE)
    wings = [path for path in every if path.relative_to(SOURCE).parts[0].removesuffix(".py") in WINGS]
    core = [path for path in every if path not in wings]
    lines = lines_of(every)
    tests = lines_of(files_of(ROOT / "tests"))
    uses = count(every, r"\bAny\b")
    documents = count(files_of(SOURCE / "reports"), r"\.get\(\"")
    return {
        "core: files, lines": f"{len(core)}, {lines_of(core):,}",
        "wings": f"{len(wings)}, {lines_of(wings):,}",
        "`Any` per 1,000 lines": f"{1000 * uses / lines:.1f}",
        '`.get("…")` in reports': str(documents),
        "types whose name": f"{shared_names(every)} names",
        "lines of tests per line": f"{tests / lines:.2f}",
    }


def main() -> int:
    """Print the rows, or put them into the design page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the figures into docs/design.md")
    args = parser.parse_args()
    known = figures()

    def row(match: re.Match[str]) -> str:
        now = next((value for name, value in known.items() if match["what"].startswith(name)), match["now"])
        return f"| {match['what']} | {match['before']} | {now} |"

    page = ROOT / "docs" / "design.md"
    if args.write:
        page.write_text(ROW.sub(row, page.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write("".join(f"{name}: {value}\n" for name, value in known.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
