"""The figures of the papers by name, in their own form, for any document that has their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from spanwise.errors import InputError
from spanwise.registry import Registry
from spanwise.reports import _wording as words
from spanwise.reports._charts import errors, marks, study
from spanwise.reports._charts.marks import Drawing
from spanwise.reports._charts.style import Style, reach, share
from spanwise.reports._document import Document, compared, ranked
from spanwise.reports.figures._drawings import STYLE


class Paper(Struct, frozen=True):
    """One figure of a paper: what it shows, how it is drawn, and what a document must have for it."""

    name: str
    summary: str
    function: Callable[[Document], Sequence[Drawing]]
    needs: str
    source: str


PAPERS: Registry[Paper] = Registry("figure of a paper")


def summaries() -> dict[str, str]:
    """The names and what each shows."""
    return {one.name: f"{one.summary} ({one.source})" for one in PAPERS}


def drawings(document: Document, name: str) -> list[Drawing]:
    """The drawings of one figure; their names begin with its name."""
    asked = PAPERS.find(name)
    found = list(asked.function(document))
    if not found:
        raise InputError(
            f"{asked.name} cannot be drawn from this document.\nIt needs {asked.needs}.\n"
            "Draw it from another one, or ask for another figure."
        )
    return found


def _figure_4(document: Document) -> list[Drawing]:
    if "analyses" not in document:
        return []
    legend = tuple(enumerate(document["datasets"]))
    found = []
    for measure, part in (("zeta", "zeta"), ("rho1", "rho")):
        drawing = study.radar(document, measure, STYLE)
        if drawing:
            found.append(replace(drawing, name=f"fu20-figure4-{part}", legend=legend))
    return found


def _table_3(document: Document) -> list[Drawing]:
    """One histogram a system (its gap) and one a pair (its biggest win and loss), for every dataset."""
    found = []
    for name, system, tables in _tables(document):
        bars = [
            (attribute, share(row.get("gap")), row["best"], row["worst"])
            for attribute, row in tables.items()
            if words.defined(row.get("gap")) and row.get("best") is not None
        ]
        if bars:
            title = f"Best less worst bucket, {words.visible(system)}"
            found.append(_gaps(f"fu20-table3-self-{name}", title, bars, STYLE))
    for name, pair, rows in _pairs(document):
        bars = [
            (attribute, share(row["best"]["difference"]), row["best"]["bucket"], row["worst"])
            for attribute, row in rows.items()
            if row.get("best") and row.get("worst")
        ]
        if bars:
            title = f"{words.visible(pair[0])} less {words.visible(pair[1])}"
            found.append(_differences(f"fu20-table3-comparative-{name}", title, bars, STYLE))
    return found


def _tables(document: Document) -> list[tuple[str, str, Mapping[str, Any]]]:
    if "analyses" not in document:
        systems = document.get("systems") or {}
        return [(name, name, system.get("attributes") or {}) for name, system in systems.items()]
    table = (document["analyses"].get("bucket_wise") or {}).get("self") or {}
    return [
        (f"{name}-{dataset}", f"{name} on {dataset}", rows)
        for name, datasets in table.items()
        for dataset, rows in datasets.items()
    ]


def _pairs(document: Document) -> list[tuple[str, tuple[str, str], Mapping[str, Any]]]:
    if "analyses" in document:
        pairs = (document["analyses"].get("bucket_wise") or {}).get("comparative") or []
        return [
            (f"{pair['systems'][0]}-{pair['systems'][1]}-{dataset}", tuple(pair["systems"]), rows)
            for pair in pairs
            for dataset, rows in pair["datasets"].items()
        ]
    order = ranked(document)
    if len(order) < 2:
        return []
    return [(f"{order[0]}-{order[1]}", (order[0], order[1]), _against(document, order[0], order[1]))]


def _against(document: Document, one: str, other: str) -> dict[str, Any]:
    """Where the first system leads most and least in each attribute, from the tests of the document."""
    rows: dict[str, Any] = {}
    for attribute, table in (document["systems"][one].get("attributes") or {}).items():
        found = []
        for bucket in table["buckets"]:
            path = ["attributes", attribute, bucket["name"], "f1"]
            test = compared(document, one, other, path)
            if test and words.defined(test["difference"]):
                found.append({"bucket": bucket["name"], "difference": test["difference"]})
        if found:
            lead = itemgetter("difference")
            rows[attribute] = {"best": max(found, key=lead), "worst": min(found, key=lead)}
    return rows


STEP, TALL = 34.0, 130.0


def _gaps(name: str, title: str, bars: Sequence[tuple[str, float | None, str, str]], style: Style) -> Drawing:
    """A bar an attribute from zero, with the best bucket above and the worst below it."""
    _, high = reach([gap for _, gap, _, _ in bars if gap is not None], zero=True)
    columns, tops, feet, names = [], [], [], []
    for at, (attribute, gap, best, worst) in enumerate(bars):
        x, y = STEP * (at + 0.5), TALL - TALL * (gap or 0.0) / high
        columns.append({"x": x, "y": y, "y2": TALL, "d": f"{words.attribute(attribute)}: {gap:.1f}"})
        tops.append({"x": x, "y": y - 8, "t": _short(best)})
        feet.append({"x": x, "y": TALL + 9, "t": _short(worst)})
        names.append({"x": x, "y": TALL + 23, "t": study.alias(attribute)})
    return _histogram(name, title, [(columns, "s0")], [*tops, *feet], names, high, 0.0, style)


def _differences(
    name: str, title: str, bars: Sequence[tuple[str, float | None, str, Mapping[str, Any]]], style: Style
) -> Drawing:
    """Two bars an attribute: the biggest win above or below zero, and the biggest loss."""
    values = [best or 0.0 for _, best, _, _ in bars]
    values += [share(worst["difference"]) or 0.0 for *_, worst in bars]
    low, high = reach([0.0, *values], pad=0.12)
    zero = TALL * high / (high - low)
    ahead: list[dict[str, Any]] = []
    behind: list[dict[str, Any]] = []
    texts, names = [], []
    for at, (attribute, best, bucket, worst) in enumerate(bars):
        pairs = ((best or 0.0, bucket, -7.0), (share(worst["difference"]) or 0.0, worst["bucket"], 7.0))
        for value, label, aside in pairs:
            x, y = STEP * (at + 0.5) + aside, zero - TALL * value / (high - low)
            row = {"x": x, "y": y, "y2": zero, "d": f"{words.attribute(attribute)} {label}: {value:+.1f}"}
            (ahead if value >= 0 else behind).append(row)
            texts.append({"x": x, "y": y + (-7 if value >= 0 else 8), "t": _short(label)})
        names.append({"x": STEP * (at + 0.5), "y": TALL + 23, "t": study.alias(attribute)})
    columns = [(ahead, "s0"), (behind, "s1")]
    return _histogram(name, title, columns, texts, names, high, low, style)


def _histogram(
    name: str, title: str, columns: Sequence[tuple[list[dict[str, Any]], str]], texts: list[dict[str, Any]],
    names: list[dict[str, Any]], high: float, low: float, style: Style,
) -> Drawing:  # fmt: skip
    width = STEP * len(names)
    across = marks.pixels("x", width)
    palette, zero = style.palette, TALL * high / (high - low)
    wide = 20 if len(columns) == 1 else 11
    layers: list[Any] = [
        marks.lines(rows, TALL, across, colour=palette[colour], strokeWidth=wide)
        for rows, colour in columns
        if rows
    ]
    sides = [{"y": 4.0, "t": f"{high:.0f}"}, {"y": zero, "t": "0"}]
    if low:
        sides.append({"y": TALL, "t": f"{low:.0f}"})
    layers += [
        marks.written(texts, TALL, across, colour=palette["ink"], fontSize=8.5),
        marks.written(names, TALL, across, colour=palette["ink"], fontSize=10),
        marks.texts(sides, TALL, at=-6, colour=palette["muted"], align="right", fontSize=9.5),
    ]
    return Drawing(name, title, marks.plot(*layers), width, TALL, 30, 8, 18, 34)


def _short(bucket: str) -> str:
    shown = words.visible(bucket)
    return shown if len(shown) <= 4 else shown[:3] + "…"


def _figure_5(document: Document) -> list[Drawing]:
    if "analyses" not in document:
        return []
    found = [study.factor(document, name, STYLE) for name in document["analyses"].get("factors") or {}]
    return [replace(one, name=one.name.replace("factor-", "fu20-figure5-")) for one in found if one]


def _figure_6(document: Document) -> list[Drawing]:
    pairs = ((document.get("analyses") or {}).get("bucket_wise") or {}).get("comparative") or []
    found = [study.increase(pair, STYLE) for pair in pairs]
    return [replace(one, name=one.name.replace("increase-", "fu20-figure6-")) for one in found if one]


def _pays(document: Document) -> list[Drawing]:
    analyses = document.get("analyses") or {}
    table: Mapping[str, Mapping[str, Any]] = analyses.get("attribute_wise") or {}
    found = []
    for pair in (analyses.get("bucket_wise") or {}).get("comparative") or []:
        for attribute in pair.get("pays") or {}:
            zeta = {dataset: row[attribute]["zeta"] for dataset, row in table.items() if attribute in row}
            found.append(study.pay(pair, attribute, zeta, STYLE))
    return [replace(one, name=one.name.replace("pays-", "fu20-pays-")) for one in found if one]


def _shares(document: Document) -> list[Drawing]:
    return [
        replace(errors.shares(document, name, STYLE), name=f"ort22-figure1-{name}")
        for name, system in (document.get("systems") or {}).items()
        if (system.get("fair") or {}).get("shares")
    ]


def _confusion(document: Document) -> list[Drawing]:
    return [
        replace(errors.confusion(document, name, STYLE), name=f"ort22-figure2-{name}")
        for name, system in (document.get("systems") or {}).items()
        if system.get("confusion")
    ]


_FU20 = "Fu, Liu and Neubig 2020"
_ORT22 = "Ortmann 2022"
_STUDY = "a study document"
_RESULT = "the document of an evaluation, with at least one system"
for _name, _summary, _function, _needs, _source in (
    ("fu20-figure4", "radars of ζ and ρ over datasets", _figure_4, f"{_STUDY} with three attributes", _FU20),
    (
        "fu20-table3",
        "histograms of self- and comparative diagnosis",
        _table_3,
        "buckets of attributes",
        _FU20,
    ),
    ("fu20-figure5", "score against a factor", _figure_5, f"{_STUDY} with a numeric factor", _FU20),
    ("fu20-figure6", "heat map of relative increase", _figure_6, f"{_STUDY} with a pair to compare", _FU20),
    (
        "fu20-pays",
        "gain of one system over another against ζ",
        _pays,
        f"{_STUDY} with a pair to compare and two datasets",
        _FU20,
    ),
    ("ort22-figure1", "shares of errors, traditional and fair", _shares, _RESULT, _ORT22),
    ("ort22-figure2", "confusion matrix of errors", _confusion, _RESULT, _ORT22),
):
    PAPERS.add(Paper(_name, _summary, _function, _needs, _source))
