"""The figures of the papers by name, in their own form, for any document that has their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from spanwise.document.comparison import BucketLead
from spanwise.document.evaluation import Evaluation
from spanwise.document.head import Document
from spanwise.document.scores import AttributeScores
from spanwise.document.study import SelfDiagnosis, Study
from spanwise.errors import InputError
from spanwise.registry import Registry
from spanwise.reports import _wording as words
from spanwise.reports._charts import errors, marks, study
from spanwise.reports._charts.marks import Drawing, Layer, Row
from spanwise.reports._charts.style import Style, reach, share
from spanwise.reports._document import compared, ranked
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
    return {paper.name: f"{paper.summary} ({paper.source})" for paper in PAPERS}


def drawings(document: Document, name: str) -> list[Drawing]:
    """The drawings of one figure; their names begin with its name."""
    asked = PAPERS.find(name)
    charts = list(asked.function(document))
    if not charts:
        raise InputError(
            f"{asked.name} cannot be drawn from this document.\nIt needs {asked.needs}.\n"
            "Draw it from another one, or ask for another figure."
        )
    return charts


def _figure_4(document: Document) -> list[Drawing]:
    if not isinstance(document, Study):
        return []
    legend = tuple(enumerate(document.datasets))
    charts = []
    for measure, part in (("zeta", "zeta"), ("rho1", "rho")):
        drawing = study.radar(document, measure, STYLE)
        if drawing:
            charts.append(replace(drawing, name=f"fu20-figure4-{part}", legend=legend))
    return charts


def _table_3(document: Document) -> list[Drawing]:
    """One histogram per system (its gap) and one per pair (its biggest win and loss), for every dataset."""
    charts = []
    for name, system, tables in _tables(document):
        gaps = [
            (attribute, gap, str(table.best), str(table.worst))
            for attribute, table in tables.items()
            for gap in [share(table.gap)]
            if gap is not None and table.best is not None
        ]
        if gaps:
            title = f"Best less worst bucket, {words.visible(system)}"
            charts.append(_gaps(f"fu20-table3-self-{name}", title, gaps, STYLE))
    for name, pair, leads in _pairs(document):
        if leads:
            title = f"{words.visible(pair[0])} less {words.visible(pair[1])}"
            charts.append(_differences(f"fu20-table3-comparative-{name}", title, leads, STYLE))
    return charts


# The attribute, and the buckets in which the first system leads most and least.
_Lead: TypeAlias = tuple[str, BucketLead, BucketLead]


def _tables(document: Document) -> list[tuple[str, str, Mapping[str, AttributeScores | SelfDiagnosis]]]:
    if isinstance(document, Evaluation):
        return [(name, name, system.attributes) for name, system in document.systems.items()]
    if not isinstance(document, Study):
        return []
    return [
        (f"{name}-{dataset}", f"{name} on {dataset}", rows)
        for name, datasets in document.analyses.bucket_wise.self_.items()
        for dataset, rows in datasets.items()
    ]


def _pairs(document: Document) -> list[tuple[str, tuple[str, str], list[_Lead]]]:
    if isinstance(document, Study):
        return [
            (
                f"{pair.systems[0]}-{pair.systems[1]}-{dataset}",
                pair.systems,
                [(name, row.best, row.worst) for name, row in rows.items() if row.best and row.worst],
            )
            for pair in document.analyses.bucket_wise.comparative
            for dataset, rows in pair.datasets.items()
        ]
    order = ranked(document) if isinstance(document, Evaluation) else []
    if not isinstance(document, Evaluation) or len(order) < 2:
        return []
    first, second = order[:2]
    return [(f"{first}-{second}", (first, second), _leads(document, first, second))]


def _leads(document: Evaluation, one: str, other: str) -> list[_Lead]:
    """Where the first system leads most and least in each attribute, from the tests of the document."""
    rows: list[_Lead] = []
    for attribute, table in document.systems[one].attributes.items():
        leads = []
        for bucket in table.buckets:
            test = compared(document, one, other, ("attributes", attribute, bucket.name, "f1"))
            if test is not None and test.difference is not None:
                leads.append((test.difference, BucketLead(bucket=bucket.name, difference=test.difference)))
        if leads:
            best, worst = max(leads, key=lambda lead: lead[0]), min(leads, key=lambda lead: lead[0])
            rows.append((attribute, best[1], worst[1]))
    return rows


STEP, TALL = 34.0, 130.0


def _gaps(name: str, title: str, bars: Sequence[tuple[str, float, str, str]], style: Style) -> Drawing:
    """A bar per attribute from zero, with the best bucket above and the worst below it."""
    _, high = reach([gap for _, gap, _, _ in bars], zero=True)
    columns, tops, feet, names = [], [], [], []
    for at, (attribute, gap, best, worst) in enumerate(bars):
        x, y = STEP * (at + 0.5), TALL - TALL * gap / high
        columns.append({"x": x, "y": y, "y2": TALL, "d": f"{words.attribute(attribute)}: {gap:.1f}"})
        tops.append({"x": x, "y": y - 8, "t": _short(best)})
        feet.append({"x": x, "y": TALL + 9, "t": _short(worst)})
        names.append({"x": x, "y": TALL + 23, "t": study.alias(attribute)})
    return _histogram(name, title, [(columns, "s0")], [*tops, *feet], names, high, 0.0, style)


def _differences(name: str, title: str, leads: Sequence[_Lead], style: Style) -> Drawing:
    """Two bars per attribute: the biggest win above or below zero, and the biggest loss."""
    values = [share(best.difference) or 0.0 for _, best, _ in leads]
    values += [share(worst.difference) or 0.0 for *_, worst in leads]
    low, high = reach([0.0, *values], pad=0.12)
    zero = TALL * high / (high - low)
    ahead: list[Row] = []
    behind: list[Row] = []
    texts, names = [], []
    for at, (attribute, best, worst) in enumerate(leads):
        for lead, aside in ((best, -7.0), (worst, 7.0)):
            value, label = share(lead.difference) or 0.0, lead.bucket
            x, y = STEP * (at + 0.5) + aside, zero - TALL * value / (high - low)
            row = {"x": x, "y": y, "y2": zero, "d": f"{words.attribute(attribute)} {label}: {value:+.1f}"}
            (ahead if value >= 0 else behind).append(row)
            texts.append({"x": x, "y": y + (-7 if value >= 0 else 8), "t": _short(label)})
        names.append({"x": STEP * (at + 0.5), "y": TALL + 23, "t": study.alias(attribute)})
    columns = [(ahead, "s0"), (behind, "s1")]
    return _histogram(name, title, columns, texts, names, high, low, style)


def _histogram(
    name: str, title: str, columns: Sequence[tuple[list[Row], str]], texts: list[Row],
    names: list[Row], high: float, low: float, style: Style,
) -> Drawing:  # fmt: skip
    width = STEP * len(names)
    across = marks.pixels("x", width)
    palette, zero = style.palette, TALL * high / (high - low)
    wide = 20 if len(columns) == 1 else 11
    layers: list[Layer] = [
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
    if not isinstance(document, Study):
        return []
    charts = [study.factor(document, name, STYLE) for name in document.analyses.factors]
    return _renamed(charts, "factor-", "fu20-figure5-")


def _figure_6(document: Document) -> list[Drawing]:
    if not isinstance(document, Study):
        return []
    charts = [study.increase(pair, STYLE) for pair in document.analyses.bucket_wise.comparative]
    return _renamed(charts, "increase-", "fu20-figure6-")


def _pays(document: Document) -> list[Drawing]:
    if not isinstance(document, Study):
        return []
    table = document.analyses.attribute_wise
    charts = []
    for pair in document.analyses.bucket_wise.comparative:
        for attribute in pair.pays:
            zeta = {dataset: row[attribute].zeta for dataset, row in table.items() if attribute in row}
            charts.append(study.pay(pair, attribute, zeta, STYLE))
    return _renamed(charts, "pays-", "fu20-pays-")


def _renamed(charts: Sequence[Drawing | None], old: str, new: str) -> list[Drawing]:
    return [replace(chart, name=chart.name.replace(old, new)) for chart in charts if chart]


def _shares(document: Document) -> list[Drawing]:
    if not isinstance(document, Evaluation):
        return []
    return [
        replace(errors.shares(document, name, STYLE), name=f"ort22-figure1-{name}")
        for name, system in document.systems.items()
        if system.fair.shares is not None
    ]


def _confusion(document: Document) -> list[Drawing]:
    if not isinstance(document, Evaluation):
        return []
    return [
        replace(errors.confusion(document, name, STYLE), name=f"ort22-figure2-{name}")
        for name in document.systems
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
