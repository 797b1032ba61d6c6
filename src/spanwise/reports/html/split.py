"""What the page of a split shows: its parts, the shares asked for and reached, what the test is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanwise.document.loading import as_document
from spanwise.document.split import Split


def parts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that the template asks for."""
    typed = as_document(document)
    assert isinstance(typed, Split)
    return {"template": "split.html.jinja", "title": "split", "data": None, "split": typed}
