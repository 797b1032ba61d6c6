"""All charts for which a document has the numbers, and the figures of the papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from spanwise.document import Document, given
from spanwise.document.agreement import Agreement
from spanwise.document.confidence import Confidence
from spanwise.document.evaluation import Evaluation
from spanwise.document.leaks import Leaks
from spanwise.document.planning import LearningCurve, PlanDocument
from spanwise.document.scores import (
    AttributeScores,
    BucketLead,
    BucketLeads,
    BucketScores,
    Confusion,
    SystemScores,
)
from spanwise.document.study import BucketSpread, SelfDiagnosis, Study
from spanwise.errors import InputError, unknown
from spanwise.registry import Registry
from spanwise.reports._charts import (
    Style,
    analyses,
    errors,
    evaluation,
    papers,
    planning,
    share,
    shortened,
    study,
)
from spanwise.reports._charts.marks import Drawing
from spanwise.reports._charts.papers import Bar, Panel
from spanwise.views import wording as words
from spanwise.views.lookups import label_order, union
from spanwise.views.shown import study_shown
from spanwise.views.standing import compared, ranked

STYLE = Style(most=1000)

# The axis titles of figures outside a page, by the beginning of their names.
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
    "holistic": "mean {score} over runs with its interval (points); small dots are runs",
    "radar-zeta": "ζ relative to the highest dataset (the outer ring is 1)",
    "radar-rho": "ρ: how much the attribute explains (the outer ring is 1)",
    "drivers": "|ρ| between bucket and {score}, mean over systems",
}


def _score(document: Document) -> str:
    """The score that the figures of a document are about, in words."""
    return words.study_score(document.analyses) if isinstance(document, Study) else "F1"


def _titled(drawing: Drawing, score: str = "F1") -> Drawing:
    """The drawing with an axis title, unless it already has one."""
    if drawing.axis:
        return drawing
    axis = next((text for name, text in _AXES.items() if drawing.name.startswith(name)), "")
    return replace(drawing, axis=axis.format(score=score))


def drawings(document: Document, *, narrow: bool = False) -> list[Drawing]:
    """The drawings of a document, each with its legend; none for documents without figures.

    With `narrow`, the main scores of a study fit one column of a paper.
    """
    match document:
        case Evaluation():
            return [_titled(chart) for chart in _of_evaluation(document)]
        case Study():
            own = [_titled(chart, _score(document)) for chart in _of_study(document, narrow)]
            return [*own, *_of_datasets(document)]
        case Agreement():
            return analyses.agreement_drawings(document, STYLE)
        case Leaks():
            return analyses.leak_drawings(document, STYLE)
        case Confidence():
            return analyses.confidence_drawings(document, STYLE)
        case PlanDocument():
            return planning.plan_drawings(document, STYLE)
        case LearningCurve():
            return planning.curve_drawings(document, STYLE)
    return []


def _of_evaluation(document: Evaluation) -> list[Drawing]:
    """The charts of all systems together, then those of each system."""
    if not document.systems:
        return []
    order = evaluation.shown(document, most=STYLE.most)
    legend = tuple(enumerate(order))
    attributes = union(document.systems[name].attributes for name in order)
    charts = [evaluation.score(document, STYLE)]
    if label_order(document):
        charts.append(replace(evaluation.labels(document, STYLE), legend=legend))
    charts += [replace(evaluation.attribute(document, name, STYLE), legend=legend) for name in attributes]
    for name in order:
        several = (
            errors.gains(document, name, STYLE), evaluation.tough(document, name, STYLE),
            evaluation.slices(document, name, STYLE), errors.diagnosis(document, name, STYLE),
        )  # fmt: skip
        charts += [replace(chart, name=f"{chart.name}-{name}", legend=legend) for chart in several if chart]
        alone = (
            errors.shares(document, name, STYLE),
            errors.confusion(document.systems[name].confusion, STYLE),
        )
        charts += [replace(chart, name=f"{chart.name}-{name}") for chart in alone]
    return charts


def _of_study(document: Study, narrow: bool) -> list[Drawing]:
    """Charts of scores, of dataset attributes and what drives difficulty, and of the gains of each pair."""
    systems = tuple(enumerate(study.systems(document)))
    datasets = tuple(enumerate(document.datasets))
    charts = [replace(study.holistic(document, STYLE, narrow=narrow), legend=systems)]
    zeta, rho = study.radar(document, "zeta", STYLE), study.radar(document, "rho1", STYLE)
    several = [zeta, rho and replace(rho, name="radar-rho"), study.drivers(document, STYLE)]
    charts += [replace(chart, legend=datasets) for chart in several if chart]
    lines = [study.factor(document, name, STYLE) for name in document.analyses.factors]
    charts += [chart for chart in lines if chart]
    table = document.analyses.performance_table
    attributes = dict.fromkeys(name for rows in table.values() for row in rows.values() for name in row)
    charts += [chart for name in attributes if (chart := papers.buckets(document, name, STYLE))]
    ranks = papers.critical_difference(document, STYLE)
    charts += [ranks] if ranks else []
    pairs = document.analyses.bucket_wise.comparative
    charts += [
        chart for pair in pairs if (chart := study.increase(pair, STYLE, score=_score(document), wide=440))
    ]
    return charts


def _of_datasets(document: Study) -> list[Drawing]:
    """The charts of an evaluation for every dataset, as means over runs; several are told apart by name."""
    charts = []
    for shown in study_shown(document.without_sentences()):
        named = f"/{shown.name}" if len(document.datasets) > 1 else ""
        for chart in _of_evaluation(shown.averaged):
            titled = _titled(chart)
            over = " · means over runs" if any(map(shown.several, shown.runs)) else ""
            charts.append(replace(titled, name=f"{chart.name}{named}", axis=f"{titled.axis}{over}"))
    return charts


# ---- the figures of the papers by name -------------------------------------------------------------


class Paper(Struct, frozen=True):
    """One figure of a paper: what it shows, how it is drawn, and what it needs from a document."""

    name: str
    summary: str
    function: Callable[[Document, Sequence[str]], Sequence[Drawing]]
    needs: str
    source: str
    axis: str = ""  # what the numbers are and their unit; {score} is the score of the document


PAPERS: Registry[Paper] = Registry("figure of a paper")


def summaries() -> dict[str, str]:
    """The names of the figures, and what each shows."""
    return {paper.name: f"{paper.summary} ({paper.source})" for paper in PAPERS}


def paper_drawings(document: Document, name: str, labels: Sequence[str] = ()) -> list[Drawing]:
    """The drawings of one figure, named after it; `labels` selects the labels of a confusion matrix."""
    figure = PAPERS.find(name)
    charts = list(figure.function(document, labels))
    if not charts:
        raise InputError(
            f"{figure.name} cannot be drawn from this document.\nIt needs {figure.needs}.\n"
            "Draw it from another one, or ask for another figure."
        )
    axis = figure.axis.format(score=_score(document))
    return [chart if chart.axis else replace(chart, axis=axis) for chart in charts]


def _figure_4(document: Document, labels: Sequence[str]) -> list[Drawing]:
    if not isinstance(document, Study):
        return []
    legend = tuple(enumerate(document.datasets))
    charts = []
    for measure, part in (("zeta", "zeta"), ("rho1", "rho")):
        drawing = study.radar(document, measure, STYLE)
        if drawing:
            axis = _AXES[f"radar-{part}"]
            charts.append(replace(drawing, name=f"fu20-figure4-{part}", legend=legend, axis=axis))
    return charts


def _table_3(document: Document, labels: Sequence[str]) -> list[Drawing]:
    """For each system, one histogram per dataset: best minus worst bucket, with the score of the worst."""
    drawings = []
    for name, parts in _tables(document).items():
        panels = []
        for dataset, score, tables in parts:
            groups = [
                (
                    study.alias(attribute),
                    [_gap(attribute, row, row.best)]
                    if words.defined(row.gap) and row.best is not None
                    else [],
                )
                for attribute, row in tables.items()
            ]
            if any(bars for _, bars in groups):
                panels.append(
                    Panel(shortened(dataset, 24), f"{_score(document)} {words.points(score)}", groups)
                )
        if panels:
            title = f"{words.visible(name)}: best less worst bucket"
            drawings.append(papers.panels(f"fu20-table3-{name}", title, panels, STYLE))
    return drawings


def _gap(attribute: str, row: Diagnosed, best: str) -> Bar:
    gap = share(row.gap) or 0.0
    worst = str(row.worst)
    says = f"{words.attribute(attribute)}: {worst} to {best}, {gap:.1f}"
    return Bar(gap, _short(best), True, says, _short(worst), words.points(given(row.worst_f1)))


def _table_4(document: Document, labels: Sequence[str]) -> list[Drawing]:
    """For each pair, one histogram per dataset: the biggest win and loss, with the scores of both systems."""
    drawings = []
    for (first, second), parts in _pairs(document).items():
        panels = []
        for dataset, scores, rows in parts:
            groups = [
                (
                    study.alias(attribute),
                    [_lead(attribute, row.best), _lead(attribute, row.worst)]
                    if row.best and row.worst
                    else [],
                )
                for attribute, row in rows.items()
            ]
            if any(bars for _, bars in groups):
                both = f"{_score(document)} {words.points(scores[0])} and {words.points(scores[1])}"
                panels.append(Panel(shortened(dataset, 24), both, groups))
        if panels:
            title = f"{words.visible(first)} less {words.visible(second)}: biggest win and biggest loss"
            drawings.append(papers.panels(f"fu20-table4-{first}-{second}", title, panels, STYLE))
    return drawings


def _lead(attribute: str, lead: BucketLead) -> Bar:
    value = share(lead.difference) or 0.0
    says = f"{words.attribute(attribute)} {lead.bucket}: {value:+.1f}"
    return Bar(value, _short(lead.bucket), value >= 0, says)


def _beta(document: Document, labels: Sequence[str]) -> list[Drawing]:
    """For each pair, one histogram of β per dataset; buckets are called S, M and L by their position."""
    drawings = []
    for (first, second), parts in _pairs(document).items():
        panels = []
        for dataset, scores, rows in parts:
            groups: list[tuple[str, list[Bar]]] = []
            for attribute, row in rows.items():
                beta = share(row.beta)
                if beta is None or not row.best or not row.worst:
                    groups.append((study.alias(attribute), []))
                    continue
                lead = row.best if (row.worst.difference or 0.0) > 0 else row.worst
                size = _size(row.buckets, lead.bucket)
                says = f"{words.attribute(attribute)}: β {beta:+.1f} in {lead.bucket}"
                groups.append((study.alias(attribute), [Bar(beta, size, beta >= 0, says)]))
            if any(bars for _, bars in groups):
                both = f"{_score(document)} {words.points(scores[0])} and {words.points(scores[1])}"
                panels.append(Panel(shortened(dataset, 24), both, groups))
        if panels:
            title = f"β of {words.visible(first)} against {words.visible(second)}"
            drawings.append(papers.panels(f"fu19-beta-{first}-{second}", title, panels, STYLE))
    return drawings


def _size(buckets: Sequence[str], name: str) -> str:
    """S for the first bucket, L for the last, M for those between; categories keep their names."""
    if name not in buckets or not all(
        bucket in ORDERED or (bucket[:1] == "B" and bucket[1:].isdigit()) for bucket in buckets
    ):
        return _short(name)
    index = list(buckets).index(name)
    return "S" if index == 0 else "L" if index == len(buckets) - 1 else "M"


ORDERED = ("XS", "S", "L", "XL")


def _signed_rho(document: Document, labels: Sequence[str]) -> list[Drawing]:
    """ρ² with its sign: one histogram per dataset."""
    if not isinstance(document, Study):
        return []
    panels = []
    for dataset, row in document.analyses.attribute_wise.items():
        groups = []
        for attribute, cell in row.items():
            bars = []
            if cell.rho2 is not None and words.defined(cell.rho2):
                text = words.correlation(cell.rho2)
                says = f"{words.attribute(attribute)}: {text}"
                bars = [Bar(cell.rho2, text, cell.rho2 >= 0, says)]
            groups.append((study.alias(attribute), bars))
        if any(bars for _, bars in groups):
            panels.append(Panel(shortened(dataset, 24), "ρ², mean over systems", groups))
    title = "Rank correlation of score and bucket, with its sign"
    return [papers.panels("fu19-rho2", title, panels, STYLE, digits=1)] if panels else []


def _sigma(document: Document, labels: Sequence[str]) -> list[Drawing]:
    if not isinstance(document, Study):
        return []
    drawing = study.radar(document, "sigma", STYLE)
    return (
        [replace(drawing, name="fu19-sigma", legend=tuple(enumerate(document.datasets)))] if drawing else []
    )


def _models(document: Document, labels: Sequence[str]) -> list[Drawing]:
    """Every system over the buckets of every attribute, one figure per dataset."""
    drawings = []
    rows: dict[str, dict[str, dict[str, list[tuple[str, float | None]]]]] = {}

    def add(
        dataset: str, attribute: str, system: str, buckets: Sequence[BucketScores | BucketSpread]
    ) -> None:
        cells = [(bucket.name, share(bucket.f1)) for bucket in buckets]
        rows.setdefault(dataset, {}).setdefault(attribute, {})[system] = cells

    if isinstance(document, Study):
        for system, datasets in document.analyses.performance_table.items():
            for dataset, spreads in datasets.items():
                for attribute, buckets in spreads.items():
                    add(dataset, attribute, system, buckets)
    elif isinstance(document, Evaluation):
        for system, scores in document.systems.items():
            for attribute, scored in scores.attributes.items():
                add(document.dataset.name, attribute, system, scored.buckets)
    for dataset, by_attribute in rows.items():
        named = {study.alias(attribute): by_system for attribute, by_system in by_attribute.items()}
        title = f"{words.capital(_score(document))} of every system over buckets, {words.visible(dataset)}"
        drawings.append(papers.models(f"fu20-models-{dataset}", title, named, STYLE))
    return drawings


Diagnosed: TypeAlias = AttributeScores | SelfDiagnosis  # the best and the worst bucket of an attribute
# For each dataset: its name, the score of a system, and its diagnosis by attribute.
Diagnoses: TypeAlias = list[tuple[str, float | None, Mapping[str, Diagnosed]]]


def _tables(document: Document) -> dict[str, Diagnoses]:
    """For each system, its best and worst buckets on every dataset."""
    if isinstance(document, Evaluation):
        return {
            name: [(document.dataset.name, system.exact.overall.f1, system.attributes)]
            for name, system in document.systems.items()
        }
    if not isinstance(document, Study):
        return {}
    return {
        name: [(dataset, _mean(document, name, dataset), rows) for dataset, rows in datasets.items()]
        for name, datasets in document.analyses.bucket_wise.self_.items()
    }


def _mean(document: Study, system: str, dataset: str) -> float | None:
    result = document.analyses.holistic.get(system, {}).get(dataset)
    return None if result is None else result.mean


Scores: TypeAlias = tuple[float | None, float | None]
Pairs: TypeAlias = dict[tuple[str, str], list[tuple[str, Scores, Mapping[str, BucketLeads]]]]


def _pairs(document: Document) -> Pairs:
    """For each pair, the buckets on every dataset in which the first system leads most and least."""
    if isinstance(document, Study):
        return {
            (first, second): [
                (dataset, (_mean(document, first, dataset), _mean(document, second, dataset)), rows)
                for dataset, rows in pair.datasets.items()
            ]
            for pair in document.analyses.bucket_wise.comparative
            for first, second in [pair.systems]
        }
    order = ranked(document) if isinstance(document, Evaluation) else []
    if not isinstance(document, Evaluation) or len(order) < 2:
        return {}
    first, second = order[:2]
    scores = [document.systems[name].exact.overall.f1 for name in (first, second)]
    rows = _leads(document, first, second)
    return {(first, second): [(document.dataset.name, (scores[0], scores[1]), rows)]}


def _leads(document: Evaluation, system: str, other: str) -> dict[str, BucketLeads]:
    """The buckets of each attribute in which the first system leads most and least, from the tests."""
    rows: dict[str, BucketLeads] = {}
    for attribute, table in document.systems[system].attributes.items():
        leads = []
        for bucket in table.buckets:
            test = compared(document, system, other, ("attributes", attribute, bucket.name, "f1"))
            if test is not None and test.difference is not None:
                leads.append((test.difference, BucketLead(bucket=bucket.name, difference=test.difference)))
        if leads:
            best, worst = max(leads, key=lambda lead: lead[0]), min(leads, key=lambda lead: lead[0])
            rows[attribute] = BucketLeads(best=best[1], worst=worst[1], beta=None, relative=())
    return rows


def _short(bucket: str) -> str:
    return shortened(bucket, 16)


def _figure_5(document: Document, labels: Sequence[str]) -> list[Drawing]:
    if not isinstance(document, Study):
        return []
    charts = [study.factor(document, name, STYLE) for name in document.analyses.factors]
    return _renamed(charts, "factor-", "fu20-figure5-")


def _figure_6(document: Document, labels: Sequence[str]) -> list[Drawing]:
    if not isinstance(document, Study):
        return []
    pairs = document.analyses.bucket_wise.comparative
    charts = [study.increase(pair, STYLE, score=_score(document)) for pair in pairs]
    return _renamed(charts, "increase-", "fu20-figure6-")


def _pays(document: Document, labels: Sequence[str]) -> list[Drawing]:
    if not isinstance(document, Study):
        return []
    table = document.analyses.attribute_wise
    charts = []
    for pair in document.analyses.bucket_wise.comparative:
        zetas = {
            attribute: {dataset: row[attribute].zeta for dataset, row in table.items() if attribute in row}
            for attribute in pair.pays
        }
        charts.append(papers.pays(pair, zetas, STYLE, score=_score(document)))
    return _renamed(charts, "pays-", "fu20-pays-")


def _renamed(charts: Sequence[Drawing | None], old: str, new: str) -> list[Drawing]:
    return [replace(chart, name=chart.name.replace(old, new)) for chart in charts if chart]


def _shares(document: Document, labels: Sequence[str]) -> list[Drawing]:
    """The kinds of errors of every system, or of every dataset and system of a study, in one figure."""
    rows = [
        (
            title,
            _traditional(scores),
            {kind: sum(run.fair.overall.count(kind) for run in scores) for kind in papers.KINDS},
        )
        for title, scores in _runs(document)
        if scores
    ]
    return [papers.shares("ort22-figure1", rows, STYLE)] if rows else []


def _runs(document: Document) -> list[tuple[str, list[SystemScores]]]:
    """Titles and runs for the figures of errors: each system, or each system on each dataset."""
    if isinstance(document, Evaluation):
        return [(name, [system]) for name, system in document.systems.items()]
    if not isinstance(document, Study):
        return []
    return [
        (f"{dataset}, {system}", list(runs.values()))
        for dataset, part in document.datasets.items()
        for system, runs in part.runs.items()
    ]


def _traditional(scores: Sequence[SystemScores]) -> dict[str, float]:
    counts = [run.exact.overall for run in scores]
    return {
        "FN": sum(count.gold - count.correct for count in counts),
        "FP": sum(count.predicted - count.correct for count in counts),
    }


def _confusion(document: Document, labels: Sequence[str]) -> list[Drawing]:
    """Gold against predicted labels; if `labels` are given, all others are added up.

    For a study, the datasets of a system are side by side, with its runs added up.
    """
    axis = _AXES["confusion"]
    if isinstance(document, Evaluation):
        charts = {
            name: errors.confusion(
                _narrowed(system.confusion, labels), STYLE, combined=OTHERS if labels else ""
            )
            for name, system in document.systems.items()
        }
    elif isinstance(document, Study):
        tables: dict[str, dict[str, Confusion]] = {}
        for dataset, part in document.datasets.items():
            for system, runs in part.runs.items():
                table = _added([scores.confusion for scores in runs.values()])
                tables.setdefault(system, {})[shortened(dataset, 24)] = table
        everywhere = {
            label for by_dataset in tables.values() for table in by_dataset.values() for label in table.labels
        }
        for label in labels:
            if label not in everywhere:
                raise unknown("label of this study", label, everywhere)
        tables = {
            system: {
                name: _narrowed(table, [label for label in labels if label in table.labels])
                for name, table in by_dataset.items()
            }
            for system, by_dataset in tables.items()
        }
        charts = {
            name: errors.confusions(table, STYLE, combined=OTHERS if labels else "")
            for name, table in tables.items()
        }
        axis += ", runs added up"
    else:
        return []
    return [
        replace(
            chart,
            name=f"ort22-figure2-{name}",
            axis=chart.axis or f"{axis} · dashed: right label, wrong boundaries",
        )
        for name, chart in charts.items()
    ]


def _added(tables: Sequence[Confusion]) -> Confusion:
    """The sum of the confusions of several runs, whose labels may differ."""
    labels = tuple(dict.fromkeys(label for table in tables for label in table.labels))

    def total(read: Callable[[Confusion, int, int], int], first: str, second: str) -> int:
        return sum(
            read(table, table.labels.index(first), table.labels.index(second))
            for table in tables
            if first in table.labels and second in table.labels
        )

    return Confusion(
        labels=labels,
        counts=tuple(tuple(total(lambda t, i, j: t.counts[i][j], a, b) for b in labels) for a in labels),
        missed=tuple(total(lambda t, i, _: t.missed[i], a, a) for a in labels),
        spurious=tuple(total(lambda t, i, _: t.spurious[i], a, a) for a in labels),
    )


OTHERS = "others"


def _narrowed(table: Confusion, labels: Sequence[str]) -> Confusion:
    """The chosen labels of a confusion, with one row and one column for all others."""
    if not labels:
        return table
    for label in labels:
        if label not in table.labels:
            raise unknown("label of this result", label, table.labels)
    groups = [[table.labels.index(label)] for label in labels]
    rest = [at for at, label in enumerate(table.labels) if label not in labels]
    groups += [rest] if rest else []
    # A single label that is left keeps its name, so that "others" always combines several.
    last = [OTHERS if len(rest) > 1 else table.labels[rest[0]]] if rest else []
    return Confusion(
        labels=(*labels, *last),
        counts=tuple(
            tuple(sum(table.counts[a][b] for a in rows for b in columns) for columns in groups)
            for rows in groups
        ),
        missed=tuple(sum(table.missed[a] for a in rows) for rows in groups),
        spurious=tuple(sum(table.spurious[a] for a in rows) for rows in groups),
    )


_FU20 = "Fu, Liu and Neubig 2020"
_ORT22 = "Ortmann 2022"
_FU19 = "Fu, Liu and Huang 2019"
_BUCKETS = "buckets of attributes, and for pairs two systems"
_STUDY = "a study document"
_RESULT = "the document of an evaluation or a study, with at least one system"
for _paper in (
    Paper("fu20-figure4", "radars of ζ and ρ over datasets", _figure_4,
          f"{_STUDY} with three attributes", _FU20),
    Paper("fu20-table3", "histograms of self-diagnosis, one panel per dataset", _table_3, _BUCKETS, _FU20,
          "{score} of the best bucket (green) less that of the worst (red, with its {score} below), points"),
    Paper("fu20-table4", "histograms of comparative diagnosis, one panel per dataset", _table_4, _BUCKETS,
          _FU20, "{score} of the first less that of the second in the bucket named, points"),
    Paper("fu20-models", "every system over the buckets of every attribute", _models, _BUCKETS, _FU20,
          "{score} (points) by bucket"),
    Paper("fu20-figure5", "score against a factor", _figure_5, f"{_STUDY} with a numeric factor", _FU20),
    Paper("fu20-figure6", "heat map of relative increase", _figure_6,
          f"{_STUDY} with a pair to compare", _FU20, "relative increase of {score} (percent)"),
    Paper("fu20-pays", "gain of one system over another against ζ, one panel per attribute", _pays,
          f"{_STUDY} with a pair to compare and two datasets", _FU20,
          "gain in {score} (points) against ζ, the mean of the attribute; r is Spearman's correlation"),
    Paper("fu19-rho2", "ρ² with its sign", _signed_rho, _STUDY, _FU19,
          "Spearman's correlation of {score} with the bucket number, mean over systems"),
    Paper("fu19-sigma", "radar of σ over datasets", _sigma, f"{_STUDY} with three attributes", _FU19,
          "σ: deviation of {score} over buckets, mean over systems"),
    Paper("fu19-beta", "histograms of β", _beta, f"{_STUDY} with a pair to compare", _FU19,
          "β: difference of {score} in the bucket named, points"),
    Paper("ort22-figure1", "shares of errors, traditional and fair, all systems and datasets", _shares,
          _RESULT, _ORT22, "share of all errors (percent)"),
    Paper("ort22-figure2", "confusion matrix of errors; of a study, its datasets side by side", _confusion,
          _RESULT, _ORT22),
):  # fmt: skip
    PAPERS.add(_paper)
