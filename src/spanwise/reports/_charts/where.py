"""The charts of where a system is weak: tough mentions, slices, buckets of attributes, labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spanwise.reports import _wording as words
from spanwise.reports._charts.evaluation import label_order, places, says, shown
from spanwise.reports._charts.marks import Drawing
from spanwise.reports._charts.rows import Layout, Line, Point, draw
from spanwise.reports._charts.style import Style, ends, share, shortened
from spanwise.reports._document import Document, compared, distinct_rows

MOST_LABELS = 30  # a taller chart is no longer read; the page says how many there are


def tough(document: Document, focus: str, style: Style) -> Drawing | None:
    """Recall on mentions grouped by what the training data showed."""
    names = shown(document, focus)
    subsets = document["systems"][focus].get("tough") or {}
    if not subsets:
        return None
    rows = [_recall_line(document, names, "All mentions", None, style)]
    for subset, name in words.TOUGH.items():
        if subset in subsets:
            rows.append(_recall_line(document, names, name.capitalize(), subset, style))
    layout = Layout(
        left=172, plot=140, columns=(44,), step=32, intervals=False, places=places(document, names)
    )
    return draw("tough", "Recall on tough mentions", rows, layout, style)


def _point(
    system: str,
    score: str,
    cell: Mapping[str, Any],
    wrong: int | None,
    href: str | None,
    *,
    interval: bool = True,
) -> Point:
    told = says(system, score, cell, wrong=wrong)
    return Point(share(cell.get(score)), ends(cell, score) if interval else None, told, href)


def _recall_line(
    document: Document, names: Sequence[str], title: str, subset: str | None, style: Style
) -> Line:
    points = []
    for name in names:
        system = document["systems"][name]
        cell = system["tough"][subset]["overall"] if subset else system["exact"]["overall"]
        mentions = cell["mentions"] if subset else cell["gold"]
        wrong = mentions - cell["correct"]
        href = style.link(wrong, unit="gold", system=name, outcome="wrong", tough=subset) if wrong else None
        points.append(_point(name, "recall", cell, wrong, href))
    first = document["systems"][names[0]]
    cell = first["tough"][subset]["overall"] if subset else first["exact"]["overall"]
    mentions = cell["mentions"] if subset else cell["gold"]
    href = style.link(mentions, unit="gold", tough=subset) if mentions else None
    return Line(title, words.plural(mentions, "mention"), points, href, [words.points(cell["recall"])])


def slices(document: Document, focus: str, style: Style, *, most: int = 8) -> Drawing | None:
    """The slices that cost most, with the interval of their score and what the others score there."""
    system = document["systems"][focus]
    costly = [row for row in system.get("slices") or () if (row.get("cost") or 0) > 0]
    groups = distinct_rows(costly, system)[:most]
    if not groups:
        return None
    names = shown(document, focus)
    lines = [_slice_line(document, names, row, others, style) for row, *others in groups]
    overall = share(document["systems"][focus]["exact"]["overall"]["f1"])
    layout = Layout(
        left=190, plot=130, heads=("score", "costs"), columns=(46, 42), step=36, reference=overall,
        reference_says=f"F1 {overall:.1f}" if overall is not None else "", places=places(document, names),
        intervals=len(names) <= 2,
    )  # fmt: skip
    return draw("slices", "Weakest slices", lines, layout, style)


def _slice_line(
    document: Document,
    names: Sequence[str],
    row: Mapping[str, Any],
    others: Sequence[Mapping[str, Any]],
    style: Style,
) -> Line:
    points = []
    unit = "mention"
    for name in names:
        cell, unit = cell_of(document["systems"][name], row)
        wrong = None if cell is None or unit != "mention" else _gold(cell) - cell["correct"]
        href = style.link(wrong, unit="gold", system=name, outcome="wrong", **_chosen(row)) if wrong else None
        cell = cell or {}
        points.append(_point(name, row["score"], cell, wrong, href, interval=name == names[0]))
    better = None
    if len(names) > 1:
        test = compared(document, names[0], names[1], path_of(row))
        if test and test.get("significant") and (test["difference"] or 0) < 0:
            better = f"{words.visible(names[1])} is better here, p {words.p_value(test.get('p_corrected'))}"
    href = style.link(row["gold"], unit="gold", **_chosen(row)) if unit == "mention" else None
    title = words.slice_title(row)
    under = words.plural(row["gold"], unit) + (", recall" if row["score"] == "recall" else "")
    if others:
        under += f"; also {', '.join(map(words.slice_title, others))}"
    return Line(
        title[:1].upper() + title[1:], under, points, href,
        [words.points(row["value"]), words.points(row["cost"])], flag=better,
    )  # fmt: skip


def _gold(cell: Mapping[str, Any]) -> int:
    return int(cell["gold"] if "gold" in cell else cell["mentions"])


def _chosen(row: Mapping[str, Any]) -> dict[str, str]:
    match row["kind"]:
        case "label":
            return {"gold": row["name"]}
        case "tough":
            return {"tough": row["name"]}
    return {"attribute": row["attribute"], "bucket": row["name"]}


def path_of(row: Mapping[str, Any]) -> list[str]:
    """Where the score of a slice stands under a system."""
    match row["kind"]:
        case "label":
            return ["exact", "labels", row["name"], row["score"]]
        case "tough":
            return ["tough", row["name"], "overall", row["score"]]
    return ["attributes", row["attribute"], row["name"], row["score"]]


def cell_of(system: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str]:
    """The counts and scores of a slice in one system, and the unit they count."""
    match row["kind"]:
        case "label":
            return system["exact"]["labels"].get(row["name"]), "mention"
        case "tough":
            return (system.get("tough") or {}).get(row["name"], {}).get("overall"), "mention"
    table = (system.get("attributes") or {}).get(row["attribute"])
    if table is None:
        return None, "mention"
    found = next((bucket for bucket in table["buckets"] if bucket["name"] == row["name"]), None)
    return found, table["unit"]


def attribute(document: Document, name: str, style: Style, *, drawing: str | None = None) -> Drawing:
    """F1 in every bucket of one attribute, with intervals, for every system."""
    names = [n for n in shown(document) if name in (document["systems"][n].get("attributes") or {})]
    tables = [document["systems"][system]["attributes"][name] for system in names]
    unit = tables[0]["unit"]
    lines = []
    for at, first in enumerate(tables[0]["buckets"]):
        points = []
        for system, table in zip(names, tables, strict=True):
            cell = table["buckets"][at]
            wrong = cell["gold"] - cell["correct"] if unit == "mention" else None
            chosen = {"attribute": name, "bucket": first["name"]}
            href = style.link(wrong, unit="gold", system=system, outcome="wrong", **chosen) if wrong else None
            points.append(_point(system, "f1", cell, wrong, href))
        href = None
        if unit == "mention" and first["gold"]:
            href = style.link(first["gold"], unit="gold", attribute=name, bucket=first["name"])
        shown_name, interval = shortened(first["name"], 16), words.bucket(first)
        title = shown_name if interval == shown_name else f"{shown_name}   {interval}"
        lines.append(
            Line(
                title,
                words.plural(first["gold"], unit) + (", few" if first.get("small") else ""),
                points,
                href,
                [words.points(first["f1"])],
                faint=bool(first.get("small")),
            )
        )
    overall = share(document["systems"][names[0]]["exact"]["overall"]["f1"]) if unit == "mention" else None
    layout = Layout(
        left=172, plot=150, columns=(44,), step=34, places=places(document, names), reference=overall,
        reference_says=f"overall {overall:.1f}" if overall is not None else "", intervals=len(names) <= 3,
    )  # fmt: skip
    return draw(drawing or f"attribute-{name}", f"F1 by {words.attribute(name)}", lines, layout, style)


def labels(document: Document, style: Style) -> Drawing:
    """F1 of every label, most frequent first."""
    names = shown(document)
    order = label_order(document)
    lines = []
    for label in order[:MOST_LABELS]:
        points = []
        for name in names:
            cell = document["systems"][name]["exact"]["labels"].get(label)
            if cell is None:
                points.append(Point(None))
                continue
            wrong = cell["gold"] - cell["correct"]
            href = style.link(wrong, unit="gold", system=name, outcome="wrong", gold=label) if wrong else None
            points.append(_point(name, "f1", cell, wrong, href))
        number = (document["dataset"].get("labels") or {}).get(label, 0)
        first = document["systems"][names[0]]["exact"]["labels"].get(label) or {}
        href = style.link(number, unit="gold", gold=label) if number else None
        lines.append(
            Line(
                shortened(label, 22),
                words.plural(number, "mention"),
                points,
                href,
                [words.points(first.get("f1"))],
            )
        )
    overall = share(document["systems"][names[0]]["exact"]["overall"]["f1"])
    layout = Layout(
        left=130, plot=220, columns=(44,), step=34, places=places(document, names), reference=overall,
        reference_says=f"overall {overall:.1f}" if overall is not None else "", intervals=len(names) <= 3,
    )  # fmt: skip
    return draw("labels", "F1 by label", lines, layout, style)
