"""The screen of a test set before any system is run: labels, tough mentions, attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanwise.reports import _wording as say
from spanwise.reports.terminal._frame import Document, banner, files
from spanwise.reports.terminal._layout import Cell, Column, Line, bar, flow, grid, heading, text
from spanwise.reports.terminal._result import absent

MOST_LABELS = 30


def lines(document: Document, width: int, seconds: float | None) -> list[Line]:
    """All sections of a description."""
    dataset = document["dataset"]
    return [
        *banner(document, seconds),
        *files(document, width),
        *_labels(dataset, width),
        *_tough(dataset, width),
        *_attributes(dataset, width),
    ]


def _order(dataset: Mapping[str, Any]) -> list[str]:
    labels: Mapping[str, int] = dataset.get("labels") or {}
    return list(dataset.get("label_order") or sorted(labels, key=lambda label: -labels[label]))


def _labels(dataset: Mapping[str, Any], width: int) -> list[Line]:
    labels, order = dataset.get("labels") or {}, _order(dataset)
    if not labels:
        return []
    top, total = max(labels.values()) or 1, dataset.get("mentions") or 1
    rows: list[list[Cell]] = [
        [text(label), say.count(labels[label]), say.percent(labels[label] / total), bar(labels[label] / top)]
        for label in order[:MOST_LABELS]
    ]
    columns = [
        Column("type", least=12), Column("mentions", right=True), Column("share", right=True),
        Column(least=16, most=50),
    ]  # fmt: skip
    facts = [
        say.plural(dataset[key], key[:-1])
        for key in ("documents", "sentences", "mentions")
        if dataset.get(key)
    ]
    result = [*heading("Types", " · ".join(facts), width), *grid(columns, rows, width)]
    if len(order) > MOST_LABELS:
        result += flow(
            [[(f"… and {len(order) - MOST_LABELS} more types, all in the JSON", "faint")]], width, indent=2
        )
    return result


def _tough(dataset: Mapping[str, Any], width: int) -> list[Line]:
    tough = dataset.get("tough") or {}
    order = _order(dataset)[: max(1, (width - 50) // 8)]
    rows: list[list[Cell]] = []
    for subset, cell in tough.items():
        if not isinstance(cell, Mapping) or not cell.get("overall"):
            continue
        shares = [say.percent((cell["labels"].get(label) or {}).get("share")) for label in order]
        overall = cell["overall"]
        rows.append(
            [
                say.TOUGH.get(subset, subset),
                say.count(overall["mentions"]),
                [(say.percent(overall["share"]), "strong")],
                *shares,
            ]
        )
    columns = [Column("mentions", least=14), Column("gold", right=True), Column("share", right=True)]
    columns += [
        Column(say.visible(label), right=True, least=6, rank=at + 1) for at, label in enumerate(order)
    ]
    return (
        [*heading("Tough mentions", "share of all, and of each type", width), *grid(columns, rows, width)]
        if rows
        else []
    )


def _attributes(dataset: Mapping[str, Any], width: int) -> list[Line]:
    zeta: Mapping[str, Any] = dataset.get("zeta") or {}
    rows: list[list[Cell]] = [[text(say.attribute(name)), say.plain(value)] for name, value in zeta.items()]
    result: list[Line] = []
    if rows:
        result += heading("Attributes", "ζ, the mean over gold units", width)
        result += grid([Column("attribute", least=16), Column("ζ", right=True)], rows, width)
    return [*result, *absent(dataset, width)]
