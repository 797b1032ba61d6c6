"""A self-contained HTML page for a result document: no network, no server, reproducible byte for byte."""

from __future__ import annotations

from spanwise.document import DocumentLike


def render(document: DocumentLike, against: DocumentLike | None = None) -> str:
    """Render the page of an evaluation, a comparison, a description or a study.

    With an earlier result of the same gold data, the page says what changed. Needs the packages of the
    `report` extra.
    """
    from spanwise.errors import MissingExtra

    try:
        from spanwise.reports.html import page

        return page.render(document, against)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "spanwise":
            raise
        raise MissingExtra.of(error.name or "altair", "report", "the HTML page") from error
