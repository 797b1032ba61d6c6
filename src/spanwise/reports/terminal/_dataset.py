"""The screen of a test set before any system is run: labels, tough mentions, attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanwise.reports import _wording as say
from spanwise.reports._document import Document
from spanwise.reports.terminal._frame import banner, files
from spanwise.reports.terminal._layout import (
    Cell,
    Column,
    Line,
    and_more,
    bar,
    flow,
    grid,
    heading,
    packed,
    tail,
    text,
)
from spanwise.reports.terminal._result import absent

MOST_LABELS = 30
MOST_NAMES = 12
MOST_PLACES = 4
MOST_SAME = 2


def lines(document: Document, width: int, seconds: float | None) -> list[Line]:
    """All sections of a description."""
    dataset = document["dataset"]
    return [
        *banner(document, seconds),
        *files(document, width),
        *_labels(dataset, width),
        *tough_lines(dataset, width),
        *_attributes(dataset, width),
        *_conflicts(dataset, width),
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
    return [
        *heading("Types", " · ".join(facts), width),
        *grid(columns, rows, width),
        *and_more(len(order) - MOST_LABELS, width, "types"),
    ]


def tough_lines(dataset: Mapping[str, Any], width: int, *, title: str = "Tough mentions") -> list[Line]:
    """How many gold mentions lie in each tough subset, overall and by label."""
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
        [*heading(title, "share of all, and of each type", width), *grid(columns, rows, width)]
        if rows
        else []
    )


def _attributes(dataset: Mapping[str, Any], width: int) -> list[Line]:
    zeta: Mapping[str, Any] = dataset.get("zeta") or {}
    tables: Mapping[str, Any] = dataset.get("attributes") or {}
    rows: list[list[Cell]] = []
    for name in dict.fromkeys([*tables, *zeta]):
        if name == "label":
            continue  # the types stand above
        buckets = (tables.get(name) or {}).get("buckets") or ()
        shown = [
            [(f"{_bucket(bucket)} ", "faint"), (say.percent(bucket.get("share")), "")] for bucket in buckets
        ]
        rows.append([text(say.attribute(name)), _zeta(zeta.get(name)), packed(shown, join="  ")])
    columns = [Column("attribute", least=16), Column("ζ", right=True), Column("buckets", least=20, most=110)]
    result: list[Line] = []
    if rows:
        result += heading("Attributes", "ζ: mean over gold units · share of gold units in each bucket", width)
        result += grid(
            columns if tables else columns[:2], rows if tables else [row[:2] for row in rows], width
        )
    return [*result, *absent(dataset, width)]


def _zeta(value: Any) -> str:
    return "" if value is None else say.plain(value)


def _bucket(bucket: Mapping[str, Any]) -> str:
    return say.bucket(bucket).replace(" ", "") if "value" not in bucket else say.bucket(bucket)


def _conflicts(dataset: Mapping[str, Any], width: int) -> list[Line]:
    """Names that carry several types, and sentences annotated in two ways: what a reader may want to fix."""
    found: Mapping[str, Any] = dataset.get("conflicts") or {}
    names, sentences = found.get("labels") or {}, found.get("sentences") or {}
    result: list[Line] = []
    if names.get("sequences"):
        mentions = say.plural(names["mentions"], "mention")
        size = f"{say.plural(names['sequences'], 'name')} with several types, {mentions}"
        result += flow([text(size)], width, indent=2)
        rows = names.get("examples") or []
        result += flow([_name(row) for row in rows[:MOST_NAMES]], width, indent=4, join="  ")
    if sentences.get("groups"):
        size = f"{say.plural(sentences['groups'], 'sentence')} annotated in more than one way"
        result += flow([text(size)], width, indent=2)
        for group in (sentences.get("examples") or [])[:MOST_PLACES]:
            places = [
                text(tail(str(row.get("place", "")), max(12, width // 2 - 6)), "faint")
                for row in group[:MOST_SAME]
            ]
            result += flow(places, width, indent=4, join=" ≠ ")
    variation = found.get("variation") or {}
    if variation.get("places"):
        size = (
            f"{say.plural(variation['places'], 'place')} read otherwise elsewhere between the same neighbours"
        )
        result += flow([text(size)], width, indent=2)
        parts: list[Line] = [
            [
                (say.visible(row["text"]), "strong"),
                (f" {say.visible(row['label'])}, elsewhere {say.visible(row['elsewhere'])}", "faint"),
            ]
            for row in (variation.get("examples") or [])[:MOST_NAMES]
        ]
        result += flow(parts, width, indent=4, join="  ")
    return [*heading("Conflicts", "worth a look before any system is run", width), *result] if result else []


def _name(row: Mapping[str, Any]) -> Line:
    counts = " ".join(f"{say.visible(label)} {say.count(number)}" for label, number in row["labels"].items())
    shown = text(row["text"], "strong") if row.get("text") else []
    return [*shown, (f" {counts}" if shown else counts, "faint")]
