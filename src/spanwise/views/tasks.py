"""The one maker of sentences about tasks: what to do, the count that shows it, and what it could gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from spanwise.document import given
from spanwise.document.evaluation import Evaluation
from spanwise.document.scores import Pattern, SystemScores, TaskFinding
from spanwise.tasks import FEW_MENTIONS, tasks
from spanwise.views import wording
from spanwise.views.commands import errors_command, mapped_command, quoted
from spanwise.views.wording import visible

MOST_NAMED = 4  # labels and files that a sentence names
OVERLAPPING = "“Up to” is F1 gained if exactly these errors were right; gains may overlap."


class TaskWords(Struct, frozen=True, kw_only=True):
    """A task in words.

    Attributes:
        title: what to do, as a sentence.
        reason: the count that shows it.
        gain: what it could gain, such as "up to +3.0 F1"; empty if that is unknown.
        command: the command that opens its sentences or does it; for data in memory an option, or empty.
        option: the option of `spanwise errors` that chooses its sentences, or empty.
        code: the same as an expression in Python, in which the evaluation is called `result`; or empty.
        number: how many errors there are to look at, and `filter`, by which the page selects them.
        check: whether it is about the data, not about a system.
    """

    title: str
    reason: str
    gain: str = ""
    command: str = ""
    option: str = ""
    code: str = ""
    number: int = 0
    filter: Mapping[str, str] = {}
    check: bool = False


def shown_tasks(document: Evaluation, name: str | None = None, saved: str | None = None) -> list[TaskWords]:
    """The tasks about one system, by default the one with the highest score, in words.

    Args:
        saved: the file that the document was written to, which commands then name.
    """
    return [worded(document, task, saved) for task in tasks(document, name)]


def worded(document: Evaluation, task: TaskFinding, saved: str | None = None) -> TaskWords:
    """One task in words.

    Examples:
        >>> import spanwise
        >>> place = {"tokens": ["Port", "of", "Denby"], "tags": ["B-LOC", "I-LOC", "I-LOC"]}
        >>> short = {"tokens": ["Port", "of", "Denby"], "tags": ["B-LOC", "O", "O"]}
        >>> result = spanwise.evaluate([place] * 20, {"mine": [short] * 6 + [place] * 14}, resamples=0)
        >>> first = worded(result, result.tasks[0])
        >>> first.title, first.gain
        ('Teach mine where names with “of” end.', 'up to +30.0 F1')
        >>> first.reason
        '6 of its 6 wrong boundaries stop before “of”.'
    """
    title, reason = _sentences(document, task)
    return TaskWords(
        title=title,
        reason=reason,
        gain="" if task.gain is None else f"up to {wording.signed(task.gain)} F1",
        command=_command(document, task, saved),
        option=_option(task),
        code=_code(document, task),
        number=task.count if task.filter and task.kind != "truncation" else 0,
        filter=task.filter,
        check=task.system is None or task.kind in ("alias", "unknown"),
    )


def _sentences(document: Evaluation, task: TaskFinding) -> tuple[str, str]:
    """What to do about a task, and why."""
    names = [visible(name) for name in task.names]
    number = wording.count(task.count)
    match task.kind:
        case "pattern":
            system = document.systems[task.system or ""]
            return _pattern(visible(task.system or ""), _listed(system)[int(task.path[-1])])
        case "label":
            return f"Teach {visible(task.system or '')} more {names[0]}.", _weakest(document, task)
        case "alias":
            gold, predicted = names
            told = f"{_predictions(task)} {'is' if task.of == 1 and not task.others else 'are'}"
            whose = f"those of {visible(task.system or '')}" if task.others else "them"
            return (
                f"Map {predicted} to {gold}.",
                f"{told} labeled {predicted}, which gold does not have;"
                f" {number} of {whose} are exactly a gold {gold}.",
            )
        case "unknown":
            have = "has" if task.count == 1 and not task.others else "have"
            told = f"{_predictions(task)} {have} this label, which gold does not have."
            return f"Check the label {names[0]}.", told
        case "truncation":
            cut = given(document.systems[task.system or ""].truncation)
            assert cut is not None
            after, lost = f"token {wording.count(cut.after)}", f"{number} of {wording.count(cut.mentions)}"
            return (
                f"Check whether the input of {visible(task.system or '')} is cut at {after}.",
                f"Recall is {wording.points(cut.recall_before)} before {after} of a {cut.of} and"
                f" {wording.points(cut.recall)} after it, where {lost} are missed.",
            )
        case "copies":
            also = "sentence is" if task.count == 1 else "sentences are"
            return "Check the overlap with training.", f"{number} test {also} also in the training data."
        case "repairs":
            files = [name.replace("\\", "/").rsplit("/", 1)[-1] for name in names]
            tags = "impossible tag was" if task.count == 1 else "impossible tags were"
            return "Check the tags that were repaired.", f"{number} {tags} repaired in {_named(files)}."
        case "annotate":
            labels = "label has" if task.count == 1 else "labels have"
            told = f"{number} {labels} fewer than {FEW_MENTIONS} test mentions: {_named(names)}."
            return "Annotate more test data.", told


def _predictions(task: TaskFinding) -> str:
    """How many predictions of each system have a label that gold lacks."""
    number = given(task.of) or task.count
    first = f"{wording.plural(number, 'prediction')} of {visible(task.system or '')}"
    named = [f"{wording.count(count)} of {visible(name)}" for name, count in task.others.items()]
    return " and ".join([", ".join([first, *named[:-1]]), *named[-1:]])


def _listed(system: SystemScores) -> Sequence[Pattern]:
    return system.patterns.listed if system.patterns else ()


def _named(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


_SHAPES = {
    "digits": "numbers",
    "all caps": "names in capitals",
    "lower case": "names in lower case",
    "one token": "names of a single word",
}
_ARE = {
    "digits": "are numbers",
    "all caps": "are written in capitals",
    "lower case": "are written in lower case",
    "one token": "are a single word",
}


def _pattern(system: str, pattern: Pattern) -> tuple[str, str]:
    """What to do about a pattern, and the count behind it."""
    word, gold, predicted = (
        f"“{visible(pattern.text)}”",
        visible(pattern.gold or ""),
        visible(pattern.predicted or ""),
    )
    title, are = {
        "stops before": (f"Teach {system} where names with {word} end.", f"stop before {word}"),
        "starts after": (f"Teach {system} where names with {word} begin.", f"start after {word}"),
        "swallows before": (f"Keep {word} out of the start of names.", f"swallow {word} before the name"),
        "swallows after": (f"Keep {word} out of the end of names.", f"swallow {word} after the name"),
        "labels": (
            f"Tell {gold} from {predicted} in names that end in {word}.",
            f"call {gold} names that end in {word} {predicted}",
        ),
        "text": (_of_text(system, pattern, word), f"are {word}"),
        "shape": (_of_text(system, pattern, _SHAPES.get(pattern.text, word)), _ARE.get(pattern.text, word)),
        "follows": (_of_text(system, pattern, f"names after {word}"), f"follow {word}"),
        "precedes": (_of_text(system, pattern, f"names before {word}"), f"come before {word}"),
    }[pattern.cause]
    kind = {
        "BE": "wrong boundaries", "LE": "wrong labels", "FN": "missed mentions", "FP": "spurious mentions",
    }[pattern.kind]  # fmt: skip
    reason = f"{wording.count(pattern.count)} of its {wording.count(pattern.of)} {kind} {are}"
    beside = ", ".join(f"{visible(name)}: {wording.count(number)}" for name, number in pattern.others.items())
    return title, f"{reason} ({beside})." if beside and len(pattern.others) <= MOST_NAMED else f"{reason}."


def _of_text(system: str, pattern: Pattern, what: str) -> str:
    """What to do about mentions that are missed, or that are none."""
    return f"Teach {system} {what}." if pattern.kind == "FN" else f"Stop {system} from marking {what}."


def _weakest(document: Evaluation, task: TaskFinding) -> str:
    """Why a label is a task: its score, its mentions in training, and those never seen there."""
    (label,) = task.names
    cell = document.systems[task.system or ""].exact.labels[label]
    parts = [f"Weakest label, {wording.points(cell.f1)} F1"]
    training = document.dataset.train_labels
    never = (document.dataset.tough or {}).get("UNSEEN-TOKENS")
    if training:
        parts.append(f"training has {wording.count(training.get(label, 0))} of them")
    if never is not None and label in never.labels:
        number = wording.count(never.labels[label].mentions)
        parts.append(f"{number} of the {wording.count(cell.gold)} in the test set were never seen there")
    return f"{parts[0]}; {' and '.join(parts[1:])}." if len(parts) > 1 else f"{parts[0]}."


# The keyword of `result.errors`, which is also the option of `spanwise errors`, by the kind of task.
_KEYWORDS = {"pattern": "pattern", "label": "gold", "unknown": "predicted", "truncation": "kind"}


def _chosen(task: TaskFinding) -> tuple[str, str] | None:
    """The keyword and its value that choose the sentences of a task."""
    keyword = _KEYWORDS.get(task.kind)
    if keyword is None:
        return None
    return keyword, "missed" if task.kind == "truncation" else task.names[0]


def _option(task: TaskFinding) -> str:
    chosen = _chosen(task)
    return "" if chosen is None else f"--{chosen[0]} {quoted(chosen[1])}"


def _code(document: Evaluation, task: TaskFinding) -> str:
    """What opens the sentences of a task in Python, or how its labels are mapped."""
    if task.kind == "alias":
        label, alias = task.names
        return visible(f"map={{{alias!r}: {label!r}}}")
    chosen = _chosen(task)
    if chosen is None:
        return ""
    system = f"{task.system!r}, " if len(document.systems) > 1 else ""
    return visible(f"result.errors({system}{chosen[0]}={chosen[1]!r})")


def _command(document: Evaluation, task: TaskFinding, saved: str | None) -> str:
    """The command that opens the sentences of a task, or that does it; without files its option, or empty."""
    command, inputs = document.settings.command, document.inputs
    gold = next((row.path for row in inputs if row.role == "gold"), None)
    match task.kind:
        case "alias":
            label, alias = task.names
            return mapped_command(command, alias, label) if command else f"--map {quoted(f'{alias}={label}')}"
        case "repairs":
            files = [row.path for row in inputs if row.repairs and row.path]
            return " ".join(["spanwise validate", *map(quoted, files)]) if command and files else ""
        case "copies" | "annotate":
            train = [f"--train {quoted(row.path)}" for row in inputs if row.role == "train" and row.path]
            describe = ["spanwise describe", quoted(gold), *(train if task.kind == "copies" else [])]
            return " ".join(describe) if command and gold else ""
    reading = errors_command(document, task.system or next(iter(document.systems)), saved)
    return f"{reading} {_option(task)}" if reading else ""
