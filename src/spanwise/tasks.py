"""Tasks: the findings of a result with something to do, ordered by what it could gain."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from spanwise.columns import plain
from spanwise.diagnosis import LEAST_GOLD, lettering
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import Pattern, SystemScores, TaskFinding
from spanwise.findings import LEAST_EFFECT, alias_findings
from spanwise.scores import gain

FEW_MENTIONS = 20  # gold mentions below which the score of a label says little
MOST_LISTED = 5  # on a screen


def tasks(document: Evaluation, name: str | None = None) -> tuple[TaskFinding, ...]:
    """What to do about one system, by default the one with the highest primary score.

    Labels that gold does not have come first; then the patterns of errors and the label with the lowest F1,
    the largest gain first; then what to check in the data. Patterns and labels are listed if they are worth
    at least one point, or if no other is.
    """
    systems = document.systems
    if not systems:
        return ()
    primary = document.settings.primary or "f1"
    order = list(lettering({name: system.primary(primary) for name, system in systems.items()}))
    chosen = order[0] if name is None else name
    aliased = order if name is None else [name]
    labels = _joined([task for system in aliased for task in _unknown(system, systems[system])])
    # What an alias explains would otherwise be listed again as a weak label and as wrong labels.
    meant = {task.names for task in labels if task.kind == "alias"}
    about = [*_own(chosen, systems[chosen], meant), *_truncation(chosen, systems[chosen])]
    own = sorted(about, key=lambda task: -(task.gain or 0.0))
    worth = [task for task in own if (task.gain or 0.0) >= LEAST_EFFECT] or own[:1]
    return (*labels, *worth, *_checks(document))


def pattern_name(pattern: Pattern) -> str:
    """The name by which the errors of a pattern are selected.

    Examples:
        >>> shared = {"count": 5, "of": 9, "share": 0.5, "gain": 0.1}
        >>> pattern_name(Pattern(kind="BE", cause="stops before", text="of", **shared))
        'stops before of'
        >>> pattern_name(Pattern(kind="FN", cause="shape", text="all caps", **shared))
        'missed: all caps'
        >>> labels = {"gold": "ORG", "predicted": "LOC"}
        >>> pattern_name(Pattern(kind="LE", cause="labels", text="band", **labels, **shared))
        'ORG as LOC: band'
    """
    if pattern.kind == "BE":
        return f"{pattern.cause} {pattern.text}"
    if pattern.kind == "LE":
        return f"{pattern.gold} as {pattern.predicted}: {pattern.text}"
    cause = f"{pattern.cause} " if pattern.cause not in ("shape", "text") else ""
    text = f'"{pattern.text}"' if pattern.cause == "text" else pattern.text
    return f"{'missed' if pattern.kind == 'FN' else 'spurious'}: {cause}{text}"


def _unknown(name: str, system: SystemScores) -> Iterator[TaskFinding]:
    """Predicted labels that gold does not have: those that stand for a gold label, then all others."""
    overall = system.exact.overall
    found = {row.path[-1]: row for row in alias_findings(name, system, several=True)}
    size = overall.gold + overall.predicted
    for row in sorted(found.values(), key=lambda row: -row.value):
        yield TaskFinding(
            kind="alias",
            system=name,
            gain=2 * row.value / size,  # each is one wrong label, whose correction makes one mention right
            count=int(row.value),
            of=int(row.count or 0),
            path=row.path,
            names=row.path[-2:],
            filter=row.filter,
        )
    for label, cell in system.exact.labels.items():
        if not cell.gold and cell.predicted and label not in found:
            yield TaskFinding(
                kind="unknown",
                system=name,
                gain=None,
                count=cell.predicted,
                path=("exact", "labels", label, "predicted"),
                names=(label,),
                filter={"system": name, "predicted": label},
            )


def _joined(tasks: Sequence[TaskFinding]) -> list[TaskFinding]:
    """One task for each label that gold does not have, with the predictions of the other systems.

    The task is that of the system for which most of the label's mentions have one gold label.
    """
    by_label: dict[str, list[TaskFinding]] = {}
    for task in sorted(tasks, key=lambda task: (task.kind != "alias", -task.count)):
        by_label.setdefault(task.names[-1], []).append(task)
    return [
        replace(first, others={task.system: _predictions(task) for task in rest if task.system})
        for first, *rest in by_label.values()
    ]


def _predictions(task: TaskFinding) -> int:
    """How many predictions have the label of a task."""
    return task.of if task.of is not UNSET else task.count


def _own(name: str, system: SystemScores, meant: Collection[tuple[str, ...]]) -> Iterator[TaskFinding]:
    """The patterns of a system's errors, and its weakest label, but nothing that an alias explains."""
    for index, pattern in enumerate(system.patterns.listed if system.patterns else ()):
        if (pattern.gold, pattern.predicted) in meant:
            continue
        yield TaskFinding(
            kind="pattern",
            system=name,
            gain=pattern.gain,
            count=pattern.count,
            of=pattern.of,
            path=("patterns", "listed", str(index)),
            names=(pattern_name(pattern),),
            filter={"system": name, "pattern": pattern_name(pattern)},
        )
    scored = {
        label: cell
        for label, cell in system.exact.labels.items()
        if cell.gold >= LEAST_GOLD
        and cell.f1 is not None
        and label in system.label_gains
        and label not in {gold for gold, _ in meant}
    }
    if len(scored) > 1:
        label = min(scored, key=lambda label: (scored[label].f1 or 0.0, label))
        yield TaskFinding(
            kind="label",
            system=name,
            gain=system.label_gains[label],
            count=scored[label].gold - scored[label].correct,
            of=scored[label].gold,
            path=("exact", "labels", label, "f1"),
            names=(label,),
            filter={"system": name, "gold": label},
        )


def _truncation(name: str, system: SystemScores) -> Iterator[TaskFinding]:
    """The token after which recall drops, with what finding all mentions after it would gain."""
    cut, overall = system.truncation, system.exact.overall
    if cut:
        yield TaskFinding(
            kind="truncation",
            system=name,
            gain=plain(gain(overall.gold, overall.predicted, overall.correct, 0, cut.missed, 0)),
            count=cut.missed,
            of=cut.mentions,
            path=("truncation", cut.of),
            filter={"system": name, "outcome": "FN"},
        )


def _checks(document: Evaluation) -> Iterator[TaskFinding]:
    """What to check in the data before trusting the scores."""
    dataset = document.dataset
    if dataset.duplicates_with_train:
        yield TaskFinding(
            kind="copies",
            system=None,
            gain=None,
            count=dataset.duplicates_with_train,
            of=dataset.sentences,
            path=("dataset", "duplicates_with_train"),
        )
    repaired = [row for row in document.inputs if row.repairs]
    if repaired:
        yield TaskFinding(
            kind="repairs",
            system=None,
            gain=None,
            count=sum(row.repairs for row in repaired),
            path=("inputs",),
            names=tuple(row.path or row.role for row in repaired),
        )
    few = _few(document)
    if few:
        yield TaskFinding(
            kind="annotate", system=None, gain=None, count=len(few), of=len(dataset.labels),
            path=("dataset", "labels"), names=tuple(few),
        )  # fmt: skip


def _few(document: Evaluation) -> Sequence[str]:
    """The labels with too few gold mentions to say much about, the rarest first."""
    counts = {label: number for label, number in document.dataset.labels.items() if number < FEW_MENTIONS}
    return sorted(counts, key=lambda label: (counts[label], label))
