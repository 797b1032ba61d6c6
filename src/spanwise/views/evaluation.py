"""The view of an evaluation: the answer, then the scores of its systems overall and part by part."""

from __future__ import annotations

from spanwise.document.evaluation import Evaluation
from spanwise.views import Section, View, buckets, cells, outcomes, parts, scores
from spanwise.views.dataset import composition
from spanwise.views.points import shown_points
from spanwise.views.systems import ShownSystems
from spanwise.views.verdict import verdict

# The order of tables in papers, where related tables are together.
TABLES = (
    "holistic", "silver", "costs", "labels", "hierarchy", "errors", "fair", "fair_labels", "boundaries",
    "credits", "relaxed", "tough", "attributes", "buckets", "slices", "comparisons", "statements",
    "confusion", "composition",
)  # fmt: skip


def evaluation_view(document: Evaluation) -> View:
    """The answer, and all sections of an evaluation."""
    found = verdict(document)
    return View(
        title="evaluation",
        about=cells.literal(found.test),
        verdict=found.answer,
        sections=tuple(evaluation_sections(ShownSystems(document))),
        statements=tuple(map(cells.literal, shown_points(document).findings)),
        notes=found.checks,
        inputs=document.inputs,
        dataset=document.dataset,
        systems=tuple(document.systems),
        tables=TABLES,
    )


def evaluation_sections(measured: ShownSystems, *, notes: bool = True) -> list[Section]:
    """The sections of one or several systems, whose scores may be means over runs.

    Args:
        notes: whether to say on screens what else there is to know about the tests.
    """
    if not measured.of:
        return [composition(measured.document.dataset)]
    sections = [
        scores.overall(measured, notes=notes),
        scores.judged(measured),
        scores.costs(measured.document),
        scores.differences(measured),
        scores.where_they_differ(measured),
        outcomes.errors(measured),
        parts.by_level(measured),
        parts.by_label(measured),
        parts.on_tough(measured),
        buckets.slices(measured),
        buckets.by_attribute(measured),
        buckets.legend(measured),
        outcomes.fair(measured),
        outcomes.fair_labels(measured),
        outcomes.boundaries(measured),
        outcomes.credits(measured),
        outcomes.relaxed(measured),
        buckets.buckets(measured),
        scores.comparisons(measured),
        scores.in_words(measured.document),
        outcomes.confusion(measured),
        composition(measured.document.dataset),
    ]
    return [section for section in sections if section is not None]


def left_out(document: Evaluation, *, full: bool = True, brief: bool = False) -> frozenset[str]:
    """The sections that a screen leaves out.

    Args:
        full: whether to show where each of several systems is weak.
        brief: whether the screen is about several datasets, and shows differences and tough mentions for all.
    """
    several = len(document.systems) > 1
    names = {"slices", "attributes", "legend"} if several and not full else set()
    return frozenset(names | ({"differences", "tough", "attributes", "legend"} if brief else set()))
