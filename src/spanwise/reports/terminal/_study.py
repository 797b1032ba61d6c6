"""The screen of a study: sections about all datasets together, then each dataset as an evaluation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

from spanwise.document.study import PlanNotes, Study
from spanwise.reports.terminal._layout import ScreenLine, and_more, flow, heading, sentence, text
from spanwise.reports.terminal._view import section_lines, sections_lines
from spanwise.reports.widths import cell_len
from spanwise.views import Section, study, wording
from spanwise.views.evaluation import evaluation_sections, left_out
from spanwise.views.shown import ShownDataset, study_shown
from spanwise.views.systems import ShownSystems

MOST_DATASETS = 3  # the maximum number of datasets shown one by one
LEAST_ROOM = 12  # lines that the first table has in any case
MAIN = (
    "holistic",
    "costs",
    "differences",
    "tough",
    "rank_flips",
    "model_wise",
)  # the main tables, in this order
FIRST, AT_THE_END = ("holistic", "costs"), ("datasets",)


def inputs(document: Study, width: int, seconds: float | None, *, notes: bool) -> list[ScreenLine]:
    """The datasets with their sizes, missing runs, and notes, which hints under the answer sum up."""
    shown = document.notes or () if notes else ()
    took = "" if seconds is None else f" · evaluated in {seconds:.1f} s"
    _, *table = section_lines(study.data(document), width)[1:]
    return [
        *heading("Data", f"spanwise {wording.visible(document.spanwise)}{took}", width),
        *table,
        *(_warnings(document.plan, width) if document.plan else []),
        *(line for note in shown for line in sentence(f"! {wording.visible(note)}", width)),
    ]


def sections(document: Study, width: int) -> list[ScreenLine]:
    """Every table of a study."""
    shown = study_shown(document.without_sentences())
    if len(document.datasets) > 1:
        return [
            *sections_lines(study.study_sections(document), width, AT_THE_END),
            *_by_dataset(shown, width),
        ]
    own = study.study_sections(document)
    evaluated = list(chain.from_iterable(map(_evaluated, shown)))
    first = {section.name: section for section in own if section.name in FIRST}
    order = [first.get("holistic"), *evaluated[:1], first.get("costs"), *evaluated[1:]]
    return [
        *sections_lines([section for section in order if section is not None], width),
        *sections_lines(own, width, (*AT_THE_END, *FIRST)),
    ]


def main_sections(document: Study, width: int, room: int) -> list[ScreenLine]:
    """The main tables of a study, as many as fit into `room` lines."""
    own = {group[0].name: group for group in _grouped(study.study_sections(document))}
    groups = [own[name] for name in MAIN if name in own]
    if len(document.datasets) < 2:
        shown = study_shown(document.without_sentences())
        evaluated = [group for dataset in shown for group in _grouped(_evaluated(dataset, full=False))]
        order = [own.get("holistic"), *evaluated[:1], own.get("costs"), *evaluated[1:], own.get("model_wise")]
        groups = [group for group in order if group is not None]
    result: list[ScreenLine] = []
    for group in groups:
        table = sections_lines(group, width)
        if table and (len(result) + len(table) <= room or not result):
            most = max(room, LEAST_ROOM)
            result += table if result or len(table) <= most else _cut_off(table, most)
    return result


def _grouped(sections: Sequence[Section]) -> list[list[Section]]:
    """The sections that a screen shows, each with those without a title that continue it."""
    groups: list[list[Section]] = []
    for section in sections:
        if section.is_on("screen"):
            if section.title or not groups:
                groups.append([])
            groups[-1].append(section)
    return groups


def _cut_off(table: list[ScreenLine], most: int) -> list[ScreenLine]:
    return [*table[: most - 1], [(f"  … {len(table) - most + 1} more lines; --full shows them", "faint")]]


def _evaluated(dataset: ShownDataset, *, brief: bool = False, full: bool = True) -> list[Section]:
    """The sections about systems from the screen of an evaluation, with means over runs."""
    shown = ShownSystems(dataset.averaged, dataset.deviations)
    without: Collection[str] = left_out(dataset.document, full=full, brief=brief)
    return [section for section in evaluation_sections(shown, notes=not brief) if section.name not in without]


def _by_dataset(shown: Sequence[ShownDataset], width: int) -> list[ScreenLine]:
    """The first datasets one after the other, each as on the screen of an evaluation."""
    result: list[ScreenLine] = []
    for dataset in shown[:MOST_DATASETS]:
        rule = "─" * max(0, width - 5 - cell_len(wording.visible(dataset.name)))
        result += [[], [(" ── ", "faint"), *text(dataset.name, "strong"), (f" {rule}", "faint")]]
        result += sections_lines(_evaluated(dataset, brief=True), width)
    return [*result, *and_more(len(shown) - MOST_DATASETS, width, "datasets")]


def _warnings(plan: PlanNotes, width: int) -> list[ScreenLine]:
    words = []
    if plan.missing:
        words.append(f"{wording.plural(len(plan.missing), 'run')} missing")
    if plan.identical:
        words.append(f"{wording.plural(len(plan.identical), 'file')} the same as another run, counted once")
    for row in plan.shared:
        named = " and ".join(
            f"{wording.visible(system)} (run {wording.visible(run)})" for system, run in row.runs
        )
        words.append(f"{wording.visible(row.dataset)}: {named} have the same predictions")
    return flow([[("! ", "warn"), *text(word)] for word in words], width)
