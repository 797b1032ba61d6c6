"""Commands to run next, as they are typed."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

from spanwise.document.analyses import Slices
from spanwise.document.evaluation import Evaluation
from spanwise.document.leaks import Leaks
from spanwise.document.tuples import Tuples
from spanwise.labels import label_map
from spanwise.settings import SETTINGS
from spanwise.views import SCREEN, SHOWN, Remark, Section
from spanwise.views.cells import COMMAND, Block, Paragraphs, Surface, literal, note
from spanwise.views.wording import visible

# The options of an evaluation that `spanwise errors` needs in order to read the same mentions.
_READING = {
    *(setting.option for setting in SETTINGS.values() if setting.group == "read"),
    "--align", "--answers", "--answers-format", "--level", "--threshold", "--aliases", "--repeats",
    "--column", "--unknown", "--prompt-unit", "--response", "--sample", "--limit",
}  # fmt: skip
# The options that name a model, by the format of the predictions it makes.
MODEL_OPTIONS = {"spacy pipeline": "--spacy", "transformers": "--hf"}


def reading_options(command: str) -> list[str]:
    """The options in a command that control how files are read, quoted for the shell."""
    words = shlex.split(command)
    options = []
    for index, word in enumerate(words):
        if word in _READING and index + 1 < len(words):
            options += [word, quoted(words[index + 1])]
        elif word.partition("=")[0] in _READING:
            options.append(quoted(word))
    return options


def what_to_do(tasks: Iterable[Remark], about: str, on: tuple[Surface, ...] = SHOWN) -> Iterator[Section]:
    """All tasks, each with the command that shows what it is about; nothing if there are none."""
    blocks: list[Block] = []
    for task in tasks:
        blocks += [note(task.strong, "strong", 2), note(task.rest, "faint", 4)]
        if task.command:
            blocks.append(note(task.command, COMMAND, 4))
    if blocks:
        yield Section("tasks", literal("What to do"), tuple(blocks), about, on=on)


def next_section(document: Slices, verb: str, options: Iterable[str], system: str) -> Iterator[Section]:
    """The command that looks closer at the files of a document, see `closer_command`; none in memory."""
    command = closer_command(document, verb, options, system)
    if command:
        yield Section("next", literal("Next"), (Paragraphs((literal(command),), COMMAND),), on=SCREEN)


def closer_command(
    document: Leaks | Slices | Tuples, verb: str, options: Iterable[str], system: str | None = None
) -> str:
    """A command about the files of a document, which are read as they were; empty for data in memory.

    Args:
        options: what follows the files, quoted for the shell.
        system: the only system to look at.
    """
    gold = [row.path for row in document.inputs if row.role == "gold" and row.path]
    own = [row for row in document.inputs if row.role == "predicted" and system in (None, row.system)]
    predicted = [row.path for row in own if row.path]
    if not document.settings.command or not gold or not predicted:
        return ""
    train = [f"--train {quoted(row.path)}" for row in document.inputs if row.role == "train" and row.path]
    files = map(quoted, dict.fromkeys([*gold, *predicted]))  # one that holds both is named once
    return " ".join(["spanwise", verb, *files, *train, *options, *reading_options(document.settings.command)])


def mapped_command(command: str, label: str, target: str) -> str:
    """The command with one more label mapped to another, beside those that it maps already; "" if that is
    in a file, and predictions are mapped already, too.

    Examples:
        >>> mapped_command("spanwise evaluate gold.conll pred.conll --map NAME=PERS,X=Y", "PERS", "PER")
        'spanwise evaluate gold.conll pred.conll --map NAME=PER,X=Y'
        >>> mapped_command("spanwise evaluate gold.conll pred.conll", "PERS", "PER")
        'spanwise evaluate gold.conll pred.conll --map PERS=PER'
    """
    words = [part for word in shlex.split(command) for part in _apart(word)]
    if "--map" not in words:
        words += ["--map", f"{label}={target}"]
    elif "=" in words[at := words.index("--map") + 1]:
        rules = label_map(words[at], option="map")
        if label in rules.values():  # labels are mapped as read, all at once
            rules = {name: target if new == label else new for name, new in rules.items()}
        else:
            rules[label] = target
        words[at] = ",".join(f"{name}={new or ''}" for name, new in rules.items())
    elif "--predicted-map" in words:
        return ""
    else:
        words += ["--predicted-map", f"{label}={target}"]
    return visible(shlex.join(words))


def _apart(word: str) -> list[str]:
    option, equals, value = word.partition("=")
    return [option, value] if equals and option in ("--map", "--predicted-map") else [word]


def errors_command(
    document: Evaluation, system: str, saved: str | None = None, *, command: str | None = None
) -> str:
    """The command that lists the errors of a system: of a saved document, or of the files as they were read.

    Empty if the document was made from data in memory.

    Args:
        saved: the file that the document was written to.
        command: the command that read the files, if the document does not name it.
    """
    command = document.settings.command or command
    if saved is not None:
        chosen = f" --system {quoted(system)}" if len(document.systems) > 1 else ""
        return f"spanwise errors {quoted(saved)}{chosen}"
    gold = next((row.path for row in document.inputs if row.role == "gold"), None)
    predicted = [row for row in document.inputs if row.role == "predicted"]
    own = next((row for row in predicted if row.system == system), None)
    if not command or gold is None or own is None or own.path is None:
        return ""
    # A file that holds both gold and predictions is named once, as in the original command.
    merged = any(row.path == gold for row in predicted)
    if own.format in MODEL_OPTIONS:
        files = [quoted(gold), MODEL_OPTIONS[own.format], quoted(own.path)]
        files += ["--trust"] if "--trust" in shlex.split(command) else []
    else:
        files = [quoted(own.path)] if merged else [quoted(gold), quoted(own.path)]
    # A log can hold the predictions of several systems.
    shared = [row.system for row in predicted if row.path == own.path and row.system != system]
    one = ["--system", quoted(system)] if shared else []
    return " ".join(["spanwise errors", *files, *reading_options(command), *one])


def quoted(value: object) -> str:
    """A value quoted for the shell, in which invisible characters are made visible."""
    return visible(shlex.quote(str(value)))
