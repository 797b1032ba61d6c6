"""Small tables in a notebook, as plain HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from spanwise.document import DocumentLike
from spanwise.document.dataset import DatasetFacts, Description
from spanwise.document.loading import as_document
from spanwise.reports._document import short_signature, worded_findings
from spanwise.reports.tables import Cell, Number, Table, tables, text_of
from spanwise.views.wording import count, visible


def notebook_table(document: DocumentLike) -> str:
    """The scores of every system, the findings and the scores by label, as plain HTML.

    It has no styles or scripts, so a notebook shows it like its own tables; all text is escaped.
    """
    document = as_document(document)
    by_name = tables(document)
    parts = [_table(by_name[name]) for name in ("holistic", "labels") if name in by_name]
    findings = worded_findings(document)
    if findings:
        parts.insert(1, f"<ul>{''.join(f'<li>{_escaped(text)}</li>' for text in findings)}</ul>")
    if document.signature:
        parts.append(f"<small>{_escaped(short_signature(document.signature))}</small>")
    return f"<div>{''.join(parts)}</div>"


def notebook_description(document: Description) -> str:
    """A test set's mentions by label and the shares of tough mentions, as plain HTML."""
    counted = Table("labels", "", ("label", "mentions"), tuple(_counts(document.dataset)))
    parts = [_table(counted), *map(_table, tables(document).values())]
    return f"<div>{''.join(parts)}</div>"


def _counts(dataset: DatasetFacts) -> Iterator[tuple[Cell, ...]]:
    for label, number in sorted(dataset.labels.items(), key=lambda pair: -pair[1]):
        yield label, Number(number, count(number))
    yield "all", Number(dataset.mentions, count(dataset.mentions))


def _table(table: Table) -> str:
    head = "".join(f"<th>{_escaped(title)}</th>" for title in table.header)
    rows = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(cell: Cell) -> str:
    if not isinstance(cell, Number):
        return f"<td>{_escaped(text_of(cell))}</td>"
    shown = f"<b>{_escaped(cell.text)}</b>" if cell.best else _escaped(cell.text)
    letters = f"<sup>{_escaped(cell.letters)}</sup>" if cell.letters else ""
    return f"<td>{shown}{letters}</td>"


def _escaped(value: object) -> str:
    return escape(visible(value))
