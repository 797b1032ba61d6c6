"""The tables of a document by name, each as LaTeX, Markdown or CSV."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from spanwise.document import DocumentLike
from spanwise.document.loading import as_document
from spanwise.errors import unknown
from spanwise.reports.tables._latex import latex
from spanwise.reports.tables._table import Table, markdown, paper
from spanwise.views import has_view, view
from spanwise.views.cells import Interval, Number, text_of
from spanwise.views.cells import PaperCell as Cell

__all__ = [
    "Cell",
    "Interval",
    "Number",
    "Table",
    "latex",
    "markdown",
    "names",
    "paper",
    "table",
    "tables",
    "text_of",
]


def names(document: DocumentLike) -> list[str]:
    """The names of the tables that can be made from this document."""
    return list(tables(document))


def tables(document: DocumentLike, *, short: bool = False) -> dict[str, Table]:
    """Every table that the document has numbers for, by name; with `short`, attributes as eLen, eCon.

    A study of one dataset also has the tables of an evaluation, as means over runs; a study of several
    datasets has them for each dataset, as in `labels/DATASET`.
    """
    candidates = {name: maker() for name, maker in _makers(document, short).items()}
    return {name: table for name, table in candidates.items() if table is not None and table.rows}


def table(document: DocumentLike, name: str, *, short: bool = False) -> Table:
    """The table called `name`; the error for an unknown name lists those that exist."""
    makers = _makers(document, short)
    result = makers[name]() if name in makers else None
    if result is None or not result.rows:
        raise unknown("table of this document", name, names(document))
    return result


def _makers(document: DocumentLike, short: bool) -> Mapping[str, Callable[[], Table | None]]:
    typed = as_document(document)
    if has_view(typed):
        return {section.name: partial(paper, section) for section in view(typed, short=short).on("paper")}
    return {}
