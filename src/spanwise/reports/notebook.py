"""What a notebook shows of a document, as plain HTML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from spanwise.document import Document, DocumentLike
from spanwise.document.dataset import DatasetFacts, Description
from spanwise.document.evaluation import Evaluation, ScoreGrid, Sentence
from spanwise.document.loading import as_document
from spanwise.document.scores import SystemScores
from spanwise.reports._charts import axis_range, shortened
from spanwise.reports._document import short_signature
from spanwise.reports.errors import (
    COLUMNS,
    ListedError,
    ShownMention,
    cells_of,
    incomplete,
    listing,
    location_of,
    to_text,
    words_of,
)
from spanwise.reports.outlets import frame
from spanwise.reports.tables import Cell, Number, Table, paper, tables, text_of
from spanwise.views import Section, has_view, view
from spanwise.views.added import added
from spanwise.views.cells import Paragraphs
from spanwise.views.points import shown_points
from spanwise.views.standing import ranked
from spanwise.views.tasks import TaskWords
from spanwise.views.verdict import verdict
from spanwise.views.wording import OUTCOMES, PRIMARY_SCORES, count, interval, plural, points, visible

if TYPE_CHECKING:
    import pandas

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
    known = shown_points(document)
    said = "".join(f"<li>{_escaped(text)}</li>" for text in known.findings)
    listed = [f"<ul>{said}</ul>" if said else "", _tasks(known.tasks)]
    parts += reversed(listed) if known.urgent else listed
    if isinstance(document, ScoreGrid):
        if "holistic" in by_name:
            parts.append(_table(by_name["holistic"]))
        if "labels" in by_name:
            parts.append(f"<details><summary>by label</summary>{_table(by_name['labels'])}</details>")
    else:
        parts += _other(document, by_name)
    scored = isinstance(document, ScoreGrid)
    parts += [_section(section) for section in added(document) if scored or not section.table]
    parts.append("<p><small>The whole page: <code>result.to_html(&quot;report.html&quot;)</code></small></p>")
    if document.signature:
        parts.append(f"<p><small>{_escaped(short_signature(document.signature))}</small></p>")
    return f"<div>{''.join(part for part in parts if part)}</div>"


def _other(document: Document, by_name: Mapping[str, Table]) -> Iterator[str]:
    """What supports the answer of any other document, its first table, and the others folded."""
    said = view(document).statements if has_view(document) else ()
    if said:
        yield f"<ul>{''.join(f'<li>{_escaped(text)}</li>' for text in said)}</ul>"
    for at, (name, table) in enumerate(by_name.items()):
        title = _escaped(name.replace("_", " "))
        yield _table(table) if not at else f"<details><summary>{title}</summary>{_table(table)}</details>"


def _section(section: Section) -> str:
    """The tables and sentences of a section, folded under its title."""
    table = paper(section)
    said = (text for block in section.blocks if isinstance(block, Paragraphs) for text in block.texts)
    body = "".join([_table(table) if table else "", *(f"<p>{_escaped(text)}</p>" for text in said)])
    return f"<details><summary>{_escaped(section.title)}</summary>{body}</details>"


def _tasks(tasks: Sequence[TaskWords]) -> str:
    """What to do about the best system, with the code to paste; empty if there is nothing."""
    rows = "".join(
        f"<li><b>{_escaped(task.title)}</b> {_escaped(task.reason)}"
        + (f" <small>{_escaped(task.gain)}</small>" if task.gain else "")
        + (f"<br><code>{_escaped(shown)}</code>" if (shown := task.code or task.command) else "")
        + "</li>"
        for task in tasks
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
        drawn.append(f'<text x="{x}" y="{bottom + 14}" text-anchor="middle">{value:.1f}</text>')
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
    own = [section for section in added(document) if not section.table]
    parts = [_table(counted), *map(_table, tables(document).values()), *map(_section, own)]
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


# ---- one system, and its errors ----------------------------------------------------------------------


def notebook_system(name: str, system: SystemScores) -> str:
    """The scores of one system, what its errors cost, and its labels, as plain HTML."""
    overall, counts = system.exact.overall, system.fair.overall
    head = f"{name} scores {points(overall.f1)} F1"
    ends = interval(overall.ends("f1"))
    if ends:
        head += f" ({ends})"
    head += f", precision {points(overall.precision)}, recall {points(overall.recall)}."
    errors = [
        (
            OUTCOMES[kind],
            Number(counts.count(kind), count(counts.count(kind))),
            Number(gain.gain, f"+{points(gain.gain)}"),
        )
        for kind, gain in system.gains.items()
    ]
    labels = [
        (label, Number(cell.gold, count(cell.gold)), Number(cell.f1, points(cell.f1)))
        for label, cell in sorted(system.exact.labels.items(), key=lambda row: -row[1].gold)
    ]
    tables = [
        Table("errors", "", ("error", "number", "F1 if fixed"), tuple(errors)),
        Table("labels", "", ("label", "gold", "F1"), tuple(labels)),
    ]
    hint = f"<code>result.errors({_escaped(repr(name))}, kind=&quot;wrong boundary&quot;)</code>"
    shown = "".join(map(_table, tables))
    return f"<div><p><b>{_escaped(head)}</b></p>{shown}<p><small>Its errors: {hint}</small></p></div>"


CONTEXT = 60  # characters shown on both sides of a mention


class ErrorList(Struct, frozen=True):
    """The errors that were asked for; as text and in notebooks it shows the first `limit` of them.

    `len(errors)` counts all of them, and `errors[0]` is the first.
    """

    errors: tuple[ListedError, ...]
    limit: int
    note: str = ""  # that the document lacks some of the sentences

    def __len__(self) -> int:
        return len(self.errors)

    def __iter__(self) -> Iterator[ListedError]:
        return iter(self.errors)

    def __getitem__(self, index: int) -> ListedError:
        return self.errors[index]

    def _left(self) -> str:
        left = len(self.errors) - self.limit
        return f"… and {count(left)} more; limit= shows them" if left > 0 else ""

    def __str__(self) -> str:
        notes = [text for text in (self._left(), self.note) if text]
        return to_text(self.errors[: self.limit]) + "".join(f"{text}\n" for text in notes)

    def __repr__(self) -> str:
        return str(self) or "no errors"

    def to_pandas(self) -> pandas.DataFrame:
        """One row per error, with the columns of `spanwise errors --as csv`."""
        return frame(lambda: [cells_of(error) for error in self.errors], COLUMNS)

    def _repr_html_(self) -> str:
        kinds: dict[str, int] = {}
        for error in self.errors:
            kinds[OUTCOMES[error.outcome]] = kinds.get(OUTCOMES[error.outcome], 0) + 1
        parts = " · ".join(f"{count(number)} {kind}" for kind, number in kinds.items())
        head = f"<p><b>{plural(len(self.errors), 'error')}</b> <small>{_escaped(parts)}</small></p>"
        rows = "".join(_drawn(error) for error in self.errors[: self.limit])
        notes = "".join(
            f"<p><small>{_escaped(text)}</small></p>" for text in (self._left(), self.note) if text
        )
        return f"<div>{head}<table>{rows}</table>{notes}</div>"


def error_list(document: Document, *, limit: int, **chosen: Any) -> ErrorList:
    """The errors of a document, as `spanwise errors` chooses them."""
    return ErrorList(tuple(listing(document, **chosen)), limit, incomplete(document) or "")


# How a mention is drawn: by a line under gold, and a dashed frame around a wrong prediction.
_GOLD = "border-bottom: 3px solid #57606a; padding: 0 2px"
_WRONG = "border: 1px dashed #b3123f; border-radius: 3px; padding: 0 2px"


def _drawn(error: ListedError) -> str:
    """A table row: where the error is and its kind, and how gold and the system read the sentence."""
    sides = (("gold", error.gold, _GOLD), (error.system, error.predicted, _WRONG))
    read = [
        f"<small>{_escaped(name)}</small> {_marked(error.sentence, mention, style)}"
        if mention is not None
        else f"<small>{_escaped(name)}</small> <i>{'missed' if name != 'gold' else 'nothing here'}</i>"
        for name, mention, style in sides
    ]
    where = _escaped(location_of(error) or error.sentence.id or "")
    return (
        f"<tr><td valign='top'><small>{where}<br>{_escaped(OUTCOMES[error.outcome])}</small></td>"
        f'<td align="left">{"<br>".join(read)}</td></tr>'
    )


def _marked(sentence: Sentence, mention: ShownMention, style: str) -> str:
    """The mention in its sentence, with its label, and at most `CONTEXT` characters on both sides."""
    label = f"<sub>{_escaped(mention.label)}</sub>"
    words = words_of(sentence, mention)
    inside = f'<b style="{style}">{_escaped(words or "…")}</b>{label}'
    if mention.start < 0 or words is None:
        return inside
    if sentence.tokens:
        before, after = (
            " ".join(part) for part in (sentence.tokens[: mention.start], sentence.tokens[mention.end :])
        )
        before, after = f"{before} " if before else "", f" {after}" if after else ""
    else:
        text = sentence.text or ""
        before, after = text[: mention.start], text[mention.end :]
    start = before if len(before) <= CONTEXT else f"… {before[-CONTEXT:]}"
    end = after if len(after) <= CONTEXT else f"{after[:CONTEXT]} …"
    return f"{_escaped(start)}{inside}{_escaped(end)}"
