"""One self-contained page from a result document: no network, no server, the same bytes every time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def render(document: Mapping[str, Any]) -> str:
    """The page of an evaluation, a comparison, a description or a study.

    Needs the packages of the extra `report`.
    """
    from spanwise.errors import MissingExtra

    try:
        from spanwise.reports.html import page
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "spanwise":
            raise
        raise MissingExtra.of(error.name or "altair", "report", "The HTML page") from error
    return page.render(document)
