"""One name, one meaning: no two types of the package share a name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import spanwise

# The same metric in two harnesses, each of which knows it by this name.
ADAPTERS = {"SpanF1": ["scorers/dspy.py", "scorers/pydantic_evals.py"]}
HOUSE = Path(spanwise.__file__).parent


def test_no_type_shares_its_name_with_another() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted(HOUSE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(HOUSE)))
    twice = {name: files for name, files in homes.items() if len(files) > 1}
    assert twice == ADAPTERS
