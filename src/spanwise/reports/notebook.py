"""What a notebook shows of a document, as plain HTML."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from spanwise.document import Document, DocumentLike
from spanwise.document.dataset import DatasetFacts, Description
from spanwise.document.evaluation import Evaluation
from spanwise.document.loading import as_document
from spanwise.reports._charts import axis_range, shortened
from spanwise.reports._document import short_signature
from spanwise.reports.tables import Cell, Number, Table, tables, text_of
from spanwise.tasks import MOST_LISTED
from spanwise.views.standing import ranked
from spanwise.views.tasks import shown_tasks
from spanwise.views.verdict import shown_findings, verdict
from spanwise.views.wording import PRIMARY_SCORES, count, points, visible

MOST_SYSTEMS = 12  # in the chart


def notebook_table(document: DocumentLike) -> str:
    """The answer, what could change it, a chart of the scores, the findings and the scores, as plain HTML.

    It has no styles or scripts, so a notebook shows it like its own tables; all text is escaped.
    """
    document = as_document(document)
    found = verdict(document)
    by_name = tables(document)
    parts = [f"<p><b>{_escaped(found.sentence)}</b></p>"]
    parts += [f"<p>{_escaped(text)}</p>" for text in (str(found.reason),) if text]
    parts += [f"<p><small>{_escaped(text)}</small></p>" for text in (found.test, *found.checks) if text]
    parts.append(_chart(document))
    findings = shown_findings(document)
    if findings:
        parts.append(f"<ul>{''.join(f'<li>{_escaped(text)}</li>' for text in findings)}</ul>")
    if isinstance(document, Evaluation):
        parts.append(_tasks(document))
    if "holistic" in by_name:
        parts.append(_table(by_name["holistic"]))
    if "labels" in by_name:
        parts.append(f"<details><summary>by label</summary>{_table(by_name['labels'])}</details>")
    parts.append("<p><small>The whole page: <code>result.to_html(&quot;report.html&quot;)</code></small></p>")
    if document.signature:
        parts.append(f"<p><small>{_escaped(short_signature(document.signature))}</small></p>")
    return f"<div>{''.join(part for part in parts if part)}</div>"


def _tasks(document: Evaluation) -> str:
    """What to do about the best system, with the commands; empty if there is nothing."""
    rows = "".join(
        f"<li><b>{_escaped(task.title)}</b> {_escaped(task.reason)}"
        + (f" <small>{_escaped(task.gain)}</small>" if task.gain else "")
        + (f"<br><code>{_escaped(task.command)}</code>" if task.command else "")
        + "</li>"
        for task in shown_tasks(document)[:MOST_LISTED]
    )
    return f"<ol>{rows}</ol>" if rows else ""


def _chart(document: Document) -> str:
    """The primary score of every system with its interval, as an SVG; empty for several datasets."""
    if not isinstance(document, Evaluation) or not document.systems:
        return ""
    primary = document.settings.primary or "f1"
    names = ranked(document)[:MOST_SYSTEMS]
    rows = [
        (name, score, document.systems[name].primary_ends(primary))
        for name in names
        for score in [document.systems[name].primary(primary)]
        if score is not None
    ]
    ends = [end for _, score, pair in rows for end in (score, *(pair or ())) if end is not None]
    if not ends:
        return ""
    low, high = axis_range([100 * end for end in ends])

    def at(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (100 * value - low) / (high - low), 1)

    drawn = []
    for index, (name, score, pair) in enumerate(rows):
        y = 16 + 24 * index
        drawn.append(
            f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{_escaped(shortened(name, 24))}</text>'
        )
        if pair is not None and None not in pair:
            first, last = (at(end) for end in pair if end is not None)
            drawn.append(
                f'<rect x="{first}" y="{y - 4}" width="{round(last - first, 1)}" height="8" rx="4" '
                'fill="#0969b8" fill-opacity="0.35"/>'
            )
        drawn.append(f'<circle cx="{at(score)}" cy="{y}" r="5" fill="#0969b8"/>')
        drawn.append(f'<text x="{WIDTH - RIGHT + 12}" y="{y + 4}">{points(score)}</text>')
    bottom = 24 * len(rows) + 8
    for value in (low, (low + high) / 2, high):
        x = at(value / 100)
        drawn.insert(
            0, f'<line x1="{x}" x2="{x}" y1="4" y2="{bottom}" stroke="currentColor" stroke-opacity="0.2"/>'
        )
        drawn.append(f'<text x="{x}" y="{bottom + 14}" text-anchor="middle">{value:g}</text>')
    title = f"{PRIMARY_SCORES[primary]} of every system with its interval"
    return (
        f'<svg width="{WIDTH}" height="{bottom + 20}" viewBox="0 0 {WIDTH} {bottom + 20}" role="img" '
        f'aria-label="{title}" font-size="12" font-family="sans-serif" fill="currentColor">'
        f"{''.join(drawn)}</svg>"
    )


WIDTH, LEFT, RIGHT = 560, 170, 60  # of the chart, and of its names and numbers


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
