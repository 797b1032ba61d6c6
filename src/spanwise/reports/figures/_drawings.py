"""All charts that a document has the numbers for."""

from __future__ import annotations

from msgspec.structs import replace

from spanwise.document.agreement import Agreement
from spanwise.document.confidence import Confidence
from spanwise.document.evaluation import Evaluation
from spanwise.document.head import Document
from spanwise.document.study import Study
from spanwise.reports._charts import agreement, confidence, diagnosis, errors, evaluation, study, where
from spanwise.reports._charts.marks import Drawing
from spanwise.reports._charts.style import Style
from spanwise.reports._document import label_order, union

STYLE = Style()


def drawings(document: Document) -> list[Drawing]:
    """The drawings of an evaluation, a study or of confidence scores, each with its legend."""
    match document:
        case Evaluation():
            return _of_evaluation(document)
        case Study():
            return _of_study(document)
        case Agreement():
            return agreement.drawings(document, STYLE)
        case Confidence():
            return confidence.drawings(document, STYLE)
    return []


def _of_evaluation(document: Evaluation) -> list[Drawing]:
    """Charts of all systems first, then those of each one."""
    if not document.systems:
        return []
    order = evaluation.shown(document)
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
    pairs = document.analyses.bucket_wise.comparative
    charts += [chart for pair in pairs if (chart := study.increase(pair, STYLE))]
    return charts
