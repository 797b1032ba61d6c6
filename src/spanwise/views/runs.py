"""The tables of an evaluation for each dataset of a study: means and deviations over runs."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from spanwise.document.study import Study
from spanwise.views import Section, wording
from spanwise.views.cells import PAPER
from spanwise.views.evaluation import TABLES, evaluation_sections
from spanwise.views.shown import study_shown
from spanwise.views.systems import ShownSystems

OWN = ("holistic", "tough", "statements")  # a study has tables of its own under these names
TESTED = ("comparisons", "composition")  # tables that have no deviation over runs


def by_dataset(document: Study) -> Iterator[Section]:
    """The tables of every dataset, such as `labels`, or `labels/DATASET` if there are several."""
    several = len(document.datasets) > 1
    parts = [
        (dataset, {section.name: section for section in evaluation_sections(measured)})
        for dataset in study_shown(document.without_sentences())
        for measured in [ShownSystems(dataset.averaged, dataset.deviations)]
    ]
    for name in TABLES:
        for dataset, sections in parts:
            section = sections.get(name)
            if section is None or name in OWN or not section.is_on("paper"):
                continue
            caption = section.caption
            if name not in TESTED and any(map(dataset.several, dataset.runs)):
                caption += " Mean and sample standard deviation over runs."
            if several:
                caption = f"{wording.visible(dataset.name)}: {caption}"
                name_here = f"{name}/{dataset.name}"
            else:
                name_here = name
            yield replace(section, name=name_here, caption=caption, on=PAPER)
