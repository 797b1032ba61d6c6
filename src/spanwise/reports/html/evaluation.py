"""What the page of an evaluation shows: its charts, its words and its packed sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from spanwise.document.evaluation import Evaluation
from spanwise.reports import _wording as words
from spanwise.reports._charts import diagnosis, errors, evaluation, marks, where
from spanwise.reports._charts.palette import PAGE
from spanwise.reports._charts.style import Style, titled
from spanwise.reports._charts.svg import svg
from spanwise.reports._document import compared, label_order
from spanwise.reports.html import board
from spanwise.reports.html.matrices import ConfusionView, confusion_view
from spanwise.reports.html.packing import contents, labels_of
from spanwise.reports.html.pairs import packed_pairs
from spanwise.reports.html.placement import panel
from spanwise.reports.html.shown import Shown, evaluation_shown
from spanwise.reports.html.slices import conditions
from spanwise.reports.html.suspects import readings
from spanwise.reports.html.verdict import findings, verdict

FEWEST_ON_BOARD = 3  # systems from which on a page has a leaderboard


class DatasetView(Struct, frozen=True):
    """What the templates show of one dataset: the leaderboard, and each system alone."""

    name: str
    document: Evaluation
    order: Sequence[str]
    labels: Sequence[str]
    attributes: Sequence[str]
    confusions: Mapping[str, ConfusionView]
    standings: Sequence[board.Standing]
    tied: int
    matrix: Sequence[Sequence[board.MatrixCell | None]]
    charts: Mapping[str, Markup]
    middle: Mapping[str, str]  # which run stands for a system that has several


def view_of(shown: Shown, drawn: Mapping[str, str]) -> DatasetView:
    """What the templates show of one dataset, with the charts that were drawn of it."""
    standings = board.standings(shown)
    return DatasetView(
        name=shown.name,
        document=shown.document,
        order=list(shown.order),
        labels=labels_of(shown.document),
        attributes=_attributes(shown),
        confusions={name: confusion_view(shown.document.systems[name].confusion) for name in shown.order},
        standings=standings,
        tied=board.brackets(standings),
        matrix=board.matrix(shown),
        charts={name: Markup(chart) for name, chart in drawn.items()},
        middle={name: shown.middle(name) for name in shown.order if shown.several(name)},
    )


def parts(document: Evaluation) -> dict[str, object]:
    """Everything that the template of an evaluation asks for."""
    shown = evaluation_shown(document)
    few = len(shown.order) < FEWEST_ON_BOARD
    order = list(shown.order)
    drawings = _drawings(document, _attributes(shown)) if few else own_drawings(document, order)
    view = view_of(shown, svg(drawings))
    suspects = document.suspects.suspects if document.suspects else ()
    answers = {name: placed.to_dict() for name, placed in (document.answers or {}).items()}
    return {
        "document": document,
        "title": _title(document),
        "view": view,
        "weak": document.weak,
        "conditions": conditions,
        "suspects": document.suspects,
        "readings": [readings(suspect)["gold" if suspect.gold else "proposal"] for suspect in suspects],
        "answers": [(name, placed, panel(placed)) for name, placed in answers.items()],
        "data": {"sets": [packed_set(shown)]},
        **(_few(document, view) if few else {"template": "many.html.jinja", "sets": [view]}),
    }


def packed_set(shown: Shown) -> dict[str, object]:
    """What the scripts know of one dataset; with two systems or more, of every pair of them."""
    packed = contents(shown)
    return {**packed, "board": packed_pairs(shown)} if len(shown.order) > 1 else packed


def _few(document: Evaluation, view: DatasetView) -> dict[str, object]:
    """The page of one system or two, which are compared in every chart."""
    return {
        "template": "evaluation.html.jinja",
        "order": view.order,
        "labels": view.labels,
        "attributes": view.attributes,
        "verdict": verdict(document),
        "findings": findings(document),
        "most_labels": where.MOST_LABELS,
        "charts": view.charts,
        "compared": compared,
        "comparison": next(iter(document.comparisons), None),
    }


def own_drawings(document: Evaluation, order: Sequence[str]) -> list[marks.Drawing]:
    """The charts of each system alone: what it is compared by is drawn for the pair that is chosen."""
    style = Style(PAGE, linked=True)
    drawings = []
    with marks.unchecked():
        for place, name in enumerate(order):
            alone = replace(document, systems={name: document.systems[name]}, comparisons=())
            for make in (errors.gains, errors.shares, where.slices, diagnosis.diagnosis):
                drawing = make(alone, name, style)
                if drawing is not None:
                    drawings.append(replace(drawing, name=f"{drawing.name}-{place}"))
    return drawings


def _title(document: Evaluation) -> str:
    names = ", ".join(words.visible(name) for name in document.systems)
    data = words.visible(document.dataset.name or "data")
    return f"{names} on {data}" if names else data


def _attributes(shown: Shown) -> list[str]:
    """The attributes that any system has, the widest gap of the best system first."""
    found: dict[str, float] = {}
    for name in shown.order:
        for attribute, table in shown.document.systems[name].attributes.items():
            found.setdefault(attribute, float(table.gap or 0.0))
    return sorted(found, key=lambda name: (-found[name], titled(name)))


def _drawings(document: Evaluation, attributes: Sequence[str]) -> list[marks.Drawing]:
    style = Style(PAGE, linked=True)
    with marks.unchecked():
        found: list[marks.Drawing | None] = [evaluation.score(document, style)]
        for place, focus in enumerate(evaluation.shown(document)):
            per_system = (
                errors.gains(document, focus, style),
                errors.shares(document, focus, style),
                where.tough(document, focus, style),
                where.slices(document, focus, style),
                diagnosis.diagnosis(document, focus, style),
            )
            found += [replace(drawing, name=f"{drawing.name}-{place}") for drawing in per_system if drawing]
        found += [where.attribute(document, name, style) for name in attributes]
        if label_order(document):
            found.append(where.labels(document, style))
    return [drawing for drawing in found if drawing is not None]
