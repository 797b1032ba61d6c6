"""The tables of a document by name, each as LaTeX, Markdown or CSV."""

from __future__ import annotations

from spanwise.reports._tables import Cell, Interval, Number, Table, latex, markdown, names, table, tables

__all__ = ["Cell", "Interval", "Number", "Table", "latex", "markdown", "names", "table", "tables"]
