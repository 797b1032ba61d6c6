"""The JSON Schema that every document of spanwise keeps."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def schema_text() -> str:
    """The schema as it stands in the package."""
    return files("spanwise").joinpath("schema.json").read_text(encoding="utf-8")


def schema() -> dict[str, Any]:
    """The schema of result, comparison, description and study documents (JSON Schema 2020-12)."""
    read: dict[str, Any] = json.loads(schema_text())
    return read
