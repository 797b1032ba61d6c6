"""The screen of an evaluation or a study: the answer, findings, tables, and at the end the inputs."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.document.evaluation import Evaluation
from spanwise.document.study import Study
from spanwise.reports.terminal import Detail, _study
from spanwise.reports.terminal._layout import (
    ScreenLine,
    few_units,
    files,
    heading,
    in_words,
    made_with,
    next_steps,
    sentence,
    warnings,
)
from spanwise.reports.terminal._tasks import tasks
from spanwise.reports.terminal._view import sections_lines
from spanwise.views.added import added
from spanwise.views.evaluation import TABLES, evaluation_sections, left_out
from spanwise.views.points import Points, shown_points
from spanwise.views.study import TABLES as STUDY_TABLES
from spanwise.views.systems import ShownSystems
from spanwise.views.verdict import verdict

MOST_LINES = 60  # of a study's screen, unless it is shown in full


def lines(
    document: Evaluation | Study,
    width: int,
    seconds: float | None,
    saved: Sequence[str],
    detail: Detail,
    command: str | None,
) -> list[ScreenLine]:
    """The answer first; then findings, tables, inputs and the next commands."""
    result = next((path for path in saved if str(path).endswith(".json")), None)
    known = shown_points(document, result)
    listed = [findings(known, width), tasks(known, width)]
    first, second = reversed(listed) if known.urgent else listed
    top = [*answer(document, width), *first, *second]
    run = document.settings.command or command
    next_lines = next_steps(document, width, saved, str(run or ""), full=detail == "full")
    if detail == "brief":
        return [*top, *next_lines]
    full = detail == "full"
    more = sections_lines(added(document, {*TABLES, *STUDY_TABLES}), width)
    if isinstance(document, Study):
        below = [*_study.inputs(document, width, seconds, notes=full), *next_lines]
        if full:
            return [*top, *_study.sections(document, width), *more, *in_words(document, width), *below]
        room = MOST_LINES - len(top) - len(below) - 4
        return [*top, *_study.main_sections(document, width, room), *more, *below]
    return [
        *top,
        *sections_lines(evaluation_sections(ShownSystems(document)), width, left_out(document, full=full)),
        *more,
        *(in_words(document, width) if full and len(document.systems) > 1 else []),
        *few_units(document, width),
        *_data(document, width, seconds),
        *next_lines,
    ]


def answer(document: Evaluation | Study, width: int) -> list[ScreenLine]:
    """The verdict from the first line on, how it was tested, and what could change it."""
    found = verdict(document)
    result = sentence(str(found.answer), width, indent=0, style="strong")
    if found.test:
        result += sentence(found.test, width, indent=0, style="faint")
    return [*result, *warnings(found.checks, width)]


def findings(known: Points, width: int) -> list[ScreenLine]:
    """The findings as sentences, without those that the verdict or a task states."""
    result: list[ScreenLine] = [[]] if known.findings else []
    for row in known.findings:
        first, *rest = sentence(row, width - 1, indent=4)
        result += [[("  • ", "mark"), *first[1:]], *rest]
    return result


def _data(document: Evaluation, width: int, seconds: float | None) -> list[ScreenLine]:
    """The files with the main facts about them, and notes on the data."""
    return [
        *heading("Data", made_with(document, seconds), width),
        *files(
            document.inputs, width, dataset=document.dataset, systems=document.systems,
            notes=document.notes or (),
        ),
    ]  # fmt: skip
