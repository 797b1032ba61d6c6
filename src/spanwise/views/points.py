"""What to know and to do after the answer: at most five findings and tasks, the same on every surface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from spanwise.diagnosis import lettering
from spanwise.document import DocumentLike, given
from spanwise.document.evaluation import Evaluation, ScoreGrid
from spanwise.document.loading import as_document
from spanwise.document.scores import Comparison, Finding
from spanwise.document.study import Study
from spanwise.tasks import tasks
from spanwise.views import wording
from spanwise.views.commands import quoted
from spanwise.views.shown import ShownDataset, middle_run, study_shown
from spanwise.views.tasks import TaskWords, shown_tasks, worded
from spanwise.views.verdict import means_over_datasets, selected

MOST = 5  # findings and tasks together
SAVED = "study.json"  # as the next command of a study that was not saved names it
MOST_TASKS = 3  # of these about systems, if there are findings as well
# What is said elsewhere: by the answer itself, by the hints under it, or by a task.
_ANSWERED = ("lead", "alias", "truncation")
_CHECKED = frozenset(["repairs", "duplicates_with_train", "changed_tokens", "unplaced"])


class Points(Struct, frozen=True):
    """The findings and tasks to show under an answer.

    Attributes:
        findings: sentences about the errors that nothing can be done about with one command.
        tasks: what to do, the largest gain first, and what to check in the data.
        left: how many more tasks there are.
    """

    findings: Sequence[str] = ()
    tasks: Sequence[TaskWords] = ()
    left: int = 0

    @property
    def urgent(self) -> bool:
        """Whether tasks come first: labels that gold does not have make all findings doubtful."""
        return any(task.check and task.filter for task in self.tasks)


def shown_points(document: DocumentLike, saved: str | None = None) -> Points:
    """At most five findings and tasks of an evaluation or a study; other documents have none.

    Args:
        saved: the file that the document was written to, which commands then name.
    """
    document = as_document(document)
    match document:
        case Evaluation():
            rows = [(row, "") for row in document.findings if not _said(row)]
            return _at_most(rows, shown_tasks(document, saved=saved))
        case Study() if len(document.datasets) == 1:
            return _at_most(_found(document), study_tasks(document, saved))
        case Study():
            return _at_most(_found(document), study_tasks(document, saved))
    return Points()


def _said(row: Finding) -> bool:
    """Whether a finding about an evaluation is said by its answer, a hint or a task."""
    return row.kind in _ANSWERED or (row.kind == "data" and set(given(row.of) or ()) <= _CHECKED)


def _at_most(found: Sequence[tuple[Finding, str]], listed: Sequence[TaskWords]) -> Points:
    """Up to three tasks about systems and one about the data, then findings, then the other tasks."""
    about = [row for row in listed if not row.check or row.filter]
    checks = [row for row in listed if row.check and not row.filter]
    number = min(len(about), MOST_TASKS) + min(len(checks), 1)
    found = found[: MOST - number]
    room = MOST - len(found)
    kept = min(len(checks), max(1, room - len(about)))
    about = about[: room - kept]
    chosen = [*about, *checks[:kept]]
    return Points(_sentences(found), chosen, len(listed) - len(chosen))


def _sentences(found: Sequence[tuple[Finding, str]]) -> list[str]:
    """The findings after the names of their datasets; the first weak slice says that its score is biased."""
    slices = [row for row, _ in found if row.kind == "slice"][:1]
    return [
        " ".join([f"{where}{wording.finding(row)}", *(selected([row]) if row in slices else [])])
        for row, where in found
    ]


def _found(document: ScoreGrid) -> list[tuple[Finding, str]]:
    """The findings of all datasets in turn: the costliest kinds of errors first, then weak parts."""
    several = len(document.datasets) > 1
    rows = {
        name: [row for row in part.findings if row.kind != "lead"] for name, part in document.datasets.items()
    }
    first = sorted(
        rows, key=lambda name: -max((row.value for row in rows[name] if row.kind == "gain"), default=0.0)
    )
    return [
        (rows[name][turn], f"{wording.visible(name)}: " if several else "")
        for turn in range(max(map(len, rows.values()), default=0))
        for name in first
        if turn < len(rows[name])
    ]


# ---- the tasks of a study ------------------------------------------------------------------------


def study_tasks(study: Study, saved: str | None = None) -> list[TaskWords]:
    """Where no winner can be named, what to fix in the best system, and what to check in the data.

    What to fix is that of the run with the median score on each dataset, the largest gain first.
    """
    order = list(lettering(means_over_datasets(study)))
    if not order:
        return []
    datasets = study_shown(study.without_sentences())
    undecided = _undecided(study, order[0], order[1]) if len(order) > 1 else None
    fixes = [row for dataset in datasets for row in _fixes(study, dataset, order[0], saved)]
    fixes.sort(key=lambda row: -row[0])
    return [*([undecided] if undecided else []), *(row for _, row in fixes)]


def _undecided(study: Study, first: str, second: str) -> TaskWords | None:
    """The datasets on which the two best systems cannot be told apart, and what could be seen there."""
    rows = {name: part.comparison(first, second) for name, part in study.datasets.items()}
    open_ = {name: row for name, row in rows.items() if row is not None and _is_open(row)}
    sizes = [row.detectable for row in open_.values() if row.detectable]
    if not open_ or not sizes:
        return None
    score = wording.DIFFERENCES[study.settings.primary or "f1"]
    low, high = wording.points(min(sizes)), wording.points(max(sizes))
    seen = f"about {low} {score}" if low == high else f"about {low} to {high} {score}"
    names = wording.either([wording.visible(name) for name in open_], "and")
    where = "there" if len(study.datasets) > 1 else "here"
    return TaskWords(
        title=f"Do not name a winner on {names}.",
        reason=(
            f"The data show differences between {wording.visible(first)} and {wording.visible(second)} "
            f"{where} only from {seen} on, four times in five: use more test data or more runs."
        ),
    )


def _is_open(row: Comparison) -> bool:
    return row.primary is not None and row.primary.p_corrected is not None and not row.primary.significant


def _fixes(
    study: Study, dataset: ShownDataset, name: str, saved: str | None
) -> Iterator[tuple[float, TaskWords]]:
    """The tasks about one system on one dataset, with what they could gain there."""
    document = dataset.document
    if name not in document.systems:
        return
    where = f" on {wording.visible(dataset.name)}" if len(study.datasets) > 1 else ""
    for task in tasks(document, name):
        if task.system is None:
            continue
        row = worded(document, task)
        run = f" (run {wording.visible(middle_run(dataset.runs[name]))})" if dataset.several(name) else ""
        chosen = [f"--dataset {quoted(dataset.name)}"] if len(study.datasets) > 1 else []
        words = ["spanwise errors", quoted(saved or SAVED), *chosen, f"--system {quoted(name)}", row.option]
        command = " ".join(word for word in words if word)
        row = replace(
            row,
            title=f"{row.title.removesuffix('.')}{where}.",
            reason=f"{row.reason.removesuffix('.')}{run}.",
            command=command,
        )
        yield task.gain or 0.0, row
