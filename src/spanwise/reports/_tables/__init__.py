"""How tables are made of a document and written; `reports.tables` is the door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from spanwise.document.head import Document, plain_of
from spanwise.errors import unknown
from spanwise.reports._tables import _result, _study
from spanwise.reports._tables._latex import latex
from spanwise.reports._tables._table import Cell, Interval, Number, Table, markdown, text_of

__all__ = ["Cell", "Interval", "Number", "Table", "latex", "markdown", "names", "table", "tables", "text_of"]

_Maker = Callable[[Mapping[str, Any]], Table | None]


def names(document: Mapping[str, Any] | Document) -> list[str]:
    """The names of the tables that can be made of this document."""
    document = plain_of(document)
    return list(tables(document))


def tables(document: Mapping[str, Any] | Document) -> dict[str, Table]:
    """Every table that the document has the numbers for, by name."""
    document = plain_of(document)
    made = {name: maker(document) for name, maker in _makers(document).items()}
    return {name: found for name, found in made.items() if found is not None and found.rows}


def table(document: Mapping[str, Any] | Document, name: str) -> Table:
    """The table called `name`; the error for another name lists those there are."""
    document = plain_of(document)
    makers = _makers(document)
    found = makers[name](document) if name in makers else None
    if found is None or not found.rows:
        raise unknown("table of this document", name, names(document))
    return found


def _makers(document: Mapping[str, Any]) -> Mapping[str, _Maker]:
    return _study.TABLES if "analyses" in document else _result.TABLES
