"""What the page of a split shows: its parts, the shares asked for and reached, what the test is made of."""

from __future__ import annotations

from spanwise.document.dataset import Split


def parts(document: Split) -> dict[str, object]:
    """Everything that the template asks for."""
    return {"template": "split.html.jinja", "title": "split", "data": None, "split": document}
