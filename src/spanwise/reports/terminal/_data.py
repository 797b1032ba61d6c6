"""The screens for data and annotations: description, split, agreement and suspects."""

from __future__ import annotations

from msgspec import UNSET

from spanwise.document.dataset import (
    DatasetFacts,
    Description,
    LabelConflict,
)
from spanwise.document.scores import BucketEdges
from spanwise.reports.terminal._layout import (
    Column,
    ScreenCell,
    ScreenLine,
    and_more,
    banner,
    bar,
    files,
    flow,
    grid,
    heading,
    packed,
    tail,
    text,
)
from spanwise.reports.terminal._result import absent
from spanwise.views import wording as say

# ---- description -----------------------------------------------------------------------------------


MOST_LABELS = 30
MOST_NAMES = 12
MOST_GROUPS = 4
MOST_SAME = 2


def description_lines(document: Description, width: int, seconds: float | None) -> list[ScreenLine]:
    """All sections of a description."""
    dataset = document.dataset
    return [
        *banner(document, seconds),
        *files(document.inputs, width, dataset=dataset),
        *_described_labels(dataset, width),
        *tough_lines(dataset, width),
        *_attributes(dataset, width),
        *_drift(dataset, width),
        *_conflicts(dataset, width),
    ]


def _order(dataset: DatasetFacts) -> tuple[str, ...]:
    labels = dataset.labels
    return dataset.label_order or tuple(sorted(labels, key=lambda label: -labels[label]))


def _described_labels(dataset: DatasetFacts, width: int) -> list[ScreenLine]:
    labels, order = dataset.labels, _order(dataset)
    if not labels:
        return []
    top, total = max(labels.values()) or 1, dataset.mentions or 1
    rows: list[list[ScreenCell]] = [
        [text(label), say.count(labels[label]), say.percent(labels[label] / total), bar(labels[label] / top)]
        for label in order[:MOST_LABELS]
    ]
    columns = [
        Column("label", least=12), Column("mentions", right=True), Column("share", right=True),
        Column(least=16, most=50),
    ]  # fmt: skip
    sizes = (
        (dataset.documents, "document"), (dataset.sentences, "sentence"), (dataset.mentions, "mention"),
    )  # fmt: skip
    facts = [say.plural(number, noun) for number, noun in sizes if number]
    return [
        *heading("Labels", " · ".join(facts), width),
        *grid(columns, rows, width),
        *and_more(len(order) - MOST_LABELS, width, "labels"),
    ]


def tough_lines(dataset: DatasetFacts, width: int, *, title: str = "Tough mentions") -> list[ScreenLine]:
    """The number of gold mentions in each tough subset, and their share overall and by label."""
    order = _order(dataset)[: max(1, (width - 50) // 8)]
    rows: list[list[ScreenCell]] = []
    for subset, shares in (dataset.tough or {}).items():
        cells = [shares.labels.get(label) for label in order]
        rows.append(
            [
                say.TOUGH[subset],
                say.count(shares.overall.mentions),
                [(say.percent(shares.overall.share), "strong")],
                *(say.percent(None if cell is None else cell.share) for cell in cells),
            ]
        )
    columns = [Column("mentions", least=14), Column("gold", right=True), Column("share", right=True)]
    columns += [
        Column(say.visible(label), right=True, least=6, rank=index + 1) for index, label in enumerate(order)
    ]
    return (
        [*heading(title, "share of all, and of each label", width), *grid(columns, rows, width)]
        if rows
        else []
    )


def _attributes(dataset: DatasetFacts, width: int) -> list[ScreenLine]:
    zeta, tables = dataset.zeta, dataset.attributes
    rows: list[list[ScreenCell]] = []
    for name in dict.fromkeys([*tables, *zeta]):
        if name == "label":
            continue  # the labels are listed above
        buckets = tables[name].buckets if name in tables else ()
        shown = [[(f"{_bucket(bucket)} ", "faint"), (say.percent(bucket.share), "")] for bucket in buckets]
        rows.append([text(say.attribute(name)), _zeta(zeta.get(name)), packed(shown, join="  ")])
    columns = [Column("attribute", least=16), Column("ζ", right=True), Column("buckets", least=20, most=110)]
    result: list[ScreenLine] = []
    if rows:
        result += heading("Attributes", "ζ: mean over gold units · share of gold units in each bucket", width)
        result += grid(
            columns if tables else columns[:2], rows if tables else [row[:2] for row in rows], width
        )
    return [*result, *absent(dataset, width)]


def _zeta(value: float | None) -> str:
    return "" if value is None else say.plain(value)


def _bucket(bucket: BucketEdges) -> str:
    return say.bucket(bucket).replace(" ", "") if bucket.value is UNSET else say.bucket(bucket)


def _drift(dataset: DatasetFacts, width: int) -> list[ScreenLine]:
    """The test set compared with its training data: labels, lengths, unknown tokens, unseen mentions."""
    drift = dataset.drift
    if drift is None:
        return []
    rows: list[list[ScreenCell]] = [
        [text(title), train, test, apart] for title, train, test, apart in say.drift_rows(drift)
    ]
    columns = [
        Column("", least=24), Column("training", right=True), Column("test", right=True),
        Column("distance", right=True),
    ]  # fmt: skip
    units = f"training: each {drift.left_out} beside the others" if drift.left_out else ""
    return [*heading("Drift", units, width), *grid(columns, rows, width)]


def _conflicts(dataset: DatasetFacts, width: int) -> list[ScreenLine]:
    """Names with several labels and sentences annotated in several ways, which may need fixing."""
    if dataset.conflicts is None:
        return []
    names, sentences = dataset.conflicts.labels, dataset.conflicts.sentences
    result: list[ScreenLine] = []
    if names.sequences:
        mentions = say.plural(names.mentions, "mention")
        size = f"{say.plural(names.sequences, 'name')} with several labels, {mentions}"
        result += flow([text(size)], width, indent=2)
        result += flow([_name(row) for row in names.examples[:MOST_NAMES]], width, indent=4, join="  ")
    if sentences.groups:
        size = f"{say.plural(sentences.groups, 'sentence')} annotated in more than one way"
        result += flow([text(size)], width, indent=2)
        for group in sentences.examples[:MOST_GROUPS]:
            room = max(12, width // 2 - 6)
            sources = [text(tail(row.place, room), "faint") for row in group[:MOST_SAME]]
            result += flow(sources, width, indent=4, join=" ≠ ")
    variation = dataset.conflicts.variation
    if variation is not None and variation.places:
        places = say.plural(variation.places, "place")
        result += flow(
            [text(f"{places} read differently elsewhere between the same neighbours")], width, indent=2
        )
        parts: list[ScreenLine] = [
            [
                (say.visible(row.text), "strong"),
                (f" {say.visible(row.label)}, elsewhere {say.visible(row.elsewhere)}", "faint"),
            ]
            for row in variation.examples[:MOST_NAMES]
        ]
        result += flow(parts, width, indent=4, join="  ")
    return [*heading("Conflicts", "worth a look before any system is run", width), *result] if result else []


def _name(row: LabelConflict) -> ScreenLine:
    counts = " ".join(f"{say.visible(label)} {say.count(number)}" for label, number in row.labels.items())
    shown = text(row.text, "strong") if row.text else []
    return [*shown, (f" {counts}" if shown else counts, "faint")]
