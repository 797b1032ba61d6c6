"""What the page of a study shows: its charts, the rows of its tables, and each of its datasets."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from spanwise.document.study import MainResult, PairDiagnosis, Study
from spanwise.reports import _wording as words
from spanwise.reports._charts import marks, study
from spanwise.reports._charts.palette import PAGE
from spanwise.reports._charts.style import Style
from spanwise.reports._charts.svg import svg
from spanwise.reports._document import inner_keys
from spanwise.reports.html.evaluation import own_drawings, packed_set, view_of
from spanwise.reports.html.shown import study_shown
from spanwise.reports.html.verdicts import averages, overall_verdict, verdicts


class IncreaseTable(Struct, frozen=True):
    """The relative increase of F1 of one system over another, by dataset, attribute and bucket."""

    columns: list[tuple[str, list[str]]]
    rows: Mapping[str, Mapping[tuple[str, str], float | None]]
    most: float


def parts(document: Study) -> dict[str, object]:
    """Everything that the template of a study asks for."""
    analyses = document.analyses
    datasets = list(document.datasets)
    results = [cell for row in analyses.holistic.values() for cell in row.values()]
    subsets = {name for row in analyses.tough.values() for part in row.values() for name in part}
    shown = study_shown(document)
    drawn = svg(
        [
            *_drawings(document),
            *(
                replace(drawing, name=f"{at}/{drawing.name}")
                for at, dataset in enumerate(shown)
                for drawing in own_drawings(dataset.document, list(dataset.order))
            ),
        ]
    )
    charts = {name: chart for name, chart in drawn.items() if "/" not in name}
    sets = [
        view_of(dataset, {n.partition("/")[2]: c for n, c in drawn.items() if n.startswith(f"{at}/")})
        for at, dataset in enumerate(shown)
    ]
    return {
        "document": document,
        "template": "study.html.jinja",
        "title": words.visible(document.name or "study"),
        "sets": sets,
        "data": {"sets": [packed_set(dataset) for dataset in shown]} if sets else None,
        "names": study.systems(document),
        "score": words.study_score(analyses),
        "overall": overall_verdict(document),
        "verdicts": verdicts(document),
        "averages": averages(document),
        "datasets": datasets,
        "best": {dataset: _best(analyses.holistic, dataset) for dataset in datasets},
        "runs": max((cell.runs for cell in results), default=0),
        "attributes": inner_keys(analyses.model_wise),
        "alias": study.alias,
        "pairs": [(pair, _increase(pair)) for pair in analyses.bucket_wise.comparative],
        "factors": [name for name, row in analyses.factors.items() if row.line],
        "charts": {name: Markup(chart) for name, chart in charts.items()},
        "subsets": [subset for subset in words.TOUGH if subset in subsets],
    }


def _best(holistic: Mapping[str, Mapping[str, MainResult]], dataset: str) -> float | None:
    means = [row[dataset].mean for row in holistic.values() if dataset in row]
    return max((mean for mean in means if mean is not None), default=None)


def _increase(pair: PairDiagnosis) -> IncreaseTable:
    values = {
        dataset: {(attribute, bucket): value for attribute, bucket, value in study.heat_row(pair, dataset)}
        for dataset in pair.datasets
    }
    most = max((abs(v) for row in values.values() for v in row.values() if v is not None), default=0.0)
    return IncreaseTable(study.heat_columns(pair), values, most)


def _drawings(document: Study) -> list[marks.Drawing]:
    style = Style(PAGE)
    with marks.unchecked():
        drawings: list[marks.Drawing | None] = [
            study.holistic(document, style), study.radar(document, "zeta", style),
            study.radar(document, "rho1", style), study.drivers(document, style),
        ]  # fmt: skip
        for place, name in enumerate(document.analyses.factors):
            drawing = study.factor(document, name, style)
            drawings.append(replace(drawing, name=f"factor-{place}") if drawing else None)
    return [drawing for drawing in drawings if drawing is not None]
