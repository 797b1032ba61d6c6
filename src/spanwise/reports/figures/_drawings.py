"""All charts that a document has the numbers for."""

from __future__ import annotations

from msgspec.structs import replace

from spanwise.document.analyses import Confidence
from spanwise.document.dataset import Agreement
from spanwise.document.evaluation import Evaluation
from spanwise.document.head import Document
from spanwise.document.study import Study
from spanwise.reports._charts import (
    agreement,
    confidence,
    diagnosis,
    errors,
    evaluation,
    panels,
    study,
    where,
)
from spanwise.reports._charts.marks import Drawing
from spanwise.reports._charts.style import Style
from spanwise.reports._document import label_order, union

STYLE = Style(most=1000)

# What stands under the axis of a figure that has no page around it, by the beginning of its name.
_AXES = {
    "score": "F1 and its differences (points), with intervals where tested",
    "labels": "F1 (points)",
    "attribute": "F1 (points)",
    "gains": "F1 gained if these errors were fixed (points)",
    "tough": "recall (points)",
    "slices": "F1, or recall where it says so (points)",
    "diagnosis": "F1 of the best and the worst bucket (points)",
    "shares": "share of all errors (percent)",
    "confusion": "rows: gold label · columns: predicted label · numbers: mentions",
    "holistic": "mean F1 over runs (points); small dots are runs",
    "radar-zeta": "ζ relative to the highest dataset (the outer ring is 1)",
    "radar-rho": "ρ: how much the attribute explains (the outer ring is 1)",
    "drivers": "|ρ| between bucket and F1, mean over systems",
}


def _titled(drawing: Drawing) -> Drawing:
    """The drawing with the title of its axis, unless it has one."""
    if drawing.axis:
        return drawing
    known = next((text for name, text in _AXES.items() if drawing.name.startswith(name)), "")
    return replace(drawing, axis=known)


def drawings(document: Document) -> list[Drawing]:
    """The drawings of an evaluation, a study or of confidence scores, each with its legend."""
    match document:
        case Evaluation():
            return [_titled(chart) for chart in _of_evaluation(document)]
        case Study():
            return [_titled(chart) for chart in _of_study(document)]
        case Agreement():
            return agreement.drawings(document, STYLE)
        case Confidence():
            return confidence.drawings(document, STYLE)
    return []


def _of_evaluation(document: Evaluation) -> list[Drawing]:
    """Charts of all systems first, then those of each one."""
    if not document.systems:
        return []
    order = evaluation.shown(document, most=STYLE.most)
    legend = tuple(enumerate(order))
    attributes = union(document.systems[name].attributes for name in order)
    charts = [evaluation.score(document, STYLE)]
    if label_order(document):
        charts.append(replace(where.labels(document, STYLE), legend=legend))
    charts += [replace(where.attribute(document, name, STYLE), legend=legend) for name in attributes]
    for name in order:
        several = (
            errors.gains(document, name, STYLE), where.tough(document, name, STYLE),
            where.slices(document, name, STYLE), diagnosis.diagnosis(document, name, STYLE),
        )  # fmt: skip
        charts += [replace(chart, name=f"{chart.name}-{name}", legend=legend) for chart in several if chart]
        alone = (errors.shares(document, name, STYLE), errors.confusion(document, name, STYLE))
        charts += [replace(chart, name=f"{chart.name}-{name}") for chart in alone]
    return charts


def _of_study(document: Study) -> list[Drawing]:
    """Scores, what the datasets are like, what drives difficulty, and what each pair gains."""
    systems = tuple(enumerate(study.systems(document)))
    datasets = tuple(enumerate(document.datasets))
    charts = [replace(study.holistic(document, STYLE), legend=systems)]
    zeta, rho = study.radar(document, "zeta", STYLE), study.radar(document, "rho1", STYLE)
    several = [zeta, rho and replace(rho, name="radar-rho"), study.drivers(document, STYLE)]
    charts += [replace(chart, legend=datasets) for chart in several if chart]
    lines = [study.factor(document, name, STYLE) for name in document.analyses.factors]
    charts += [chart for chart in lines if chart]
    table = document.analyses.performance_table
    attributes = dict.fromkeys(name for rows in table.values() for row in rows.values() for name in row)
    charts += [chart for name in attributes if (chart := panels.buckets(document, name, STYLE))]
    ranks = panels.critical_difference(document, STYLE)
    charts += [ranks] if ranks else []
    pairs = document.analyses.bucket_wise.comparative
    charts += [chart for pair in pairs if (chart := study.increase(pair, STYLE, wide=440))]
    return charts
