"""The figures about the package on the design page, counted from the source files.

    python -m benchmarks.house            print the rows, the path of an evaluation, and the costs of verbs
    python -m benchmarks.house --write    insert the rows into docs/design.md

Lines include blank ones. `Any` is counted wherever it occurs outside imports. Which files are wings and which
lie around the core is read from the contracts of import-linter, which enforces them: the core is what is
left, and imports nothing from either.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "spanwise"
ROW = re.compile(r"^\| (?P<what>[^|]+) \| (?P<before>[^|]+) \| (?P<now>[^|]+) \|$", re.MULTILINE)


def files_of(folder: Path) -> list[Path]:
    """The Python files in a folder and its subfolders."""
    return sorted(folder.rglob("*.py"))


def lines_of(files: Iterable[Path]) -> int:
    """The total number of lines of the files."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def count(files: Iterable[Path], pattern: str) -> int:
    """The number of occurrences of a pattern in lines that are not imports."""
    lines = (line for path in files for line in path.read_text(encoding="utf-8").splitlines())
    return sum(len(re.findall(pattern, line)) for line in lines if not re.match(r"\s*(from|import)\s", line))


def shared_names(files: Iterable[Path]) -> int:
    """The number of names that two or more types share."""
    names = Counter(
        node.name
        for path in files
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    return sum(number > 1 for number in names.values())


def module_of(path: Path) -> str:
    """The name by which a file is imported."""
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def contract(name: str) -> dict[str, list[str]]:
    """A contract of import-linter."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    return next(row for row in settings["contracts"] if row["name"] == name)


def parts(files: Iterable[Path]) -> dict[str, list[Path]]:
    """The files of the core, the files around it, and the files of the wings."""
    wings = contract("wings")["protected_modules"]
    around = contract("core")["forbidden_modules"]
    by_part: dict[str, list[Path]] = {"core": [], "around": [], "wings": []}
    for path in files:
        name = module_of(path)
        if any(name == wing or name.startswith(f"{wing}.") for wing in wings):
            by_part["wings"].append(path)
        elif any(
            name == pattern or (pattern.endswith("**") and name.startswith(pattern[:-2]))
            for pattern in around
        ):
            by_part["around"].append(path)
        else:
            by_part["core"].append(path)
    return by_part


def sized(files: Sequence[Path]) -> str:
    """The number of files and of their lines, as text."""
    return f"{len(files)}, {lines_of(files):,}"


def figures() -> dict[str, str]:
    """The figures, by the beginning of their row."""
    every = files_of(SOURCE)
    house = parts(every)
    lines = lines_of(every)
    tests = lines_of(files_of(ROOT / "tests"))
    uses = count(every, r"\bAny\b")
    documents = count(files_of(SOURCE / "reports"), r"\.get\(\"")
    return {
        "core": sized(house["core"]),
        "around": sized(house["around"]),
        "wings": sized(house["wings"]),
        "all but wings": sized(house["core"] + house["around"]),
        "`Any` per 1,000 lines": f"{1000 * uses / lines:.1f}",
        '`.get("…")` in reports': str(documents),
        "types whose name": f"{shared_names(every)} names",
        "lines of tests per line": f"{tests / lines:.2f}",
    }


def main() -> int:
    """Print the rows, and insert them into the design page on request."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the figures into docs/design.md")
    args = parser.parse_args()
    values = figures()

    def row(match: re.Match[str]) -> str:
        now = next((value for name, value in values.items() if match["what"].startswith(name)), match["now"])
        return f"| {match['what']} | {match['before']} | {now} |"

    page = ROOT / "docs" / "design.md"
    if args.write:
        page.write_text(ROW.sub(row, page.read_text(encoding="utf-8")), encoding="utf-8")
    from benchmarks.walk import report  # runs an evaluation

    values |= report()
    sys.stdout.write("".join(f"{name}: {value}\n" for name, value in values.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
