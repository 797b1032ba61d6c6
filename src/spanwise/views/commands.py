"""Commands to run next, as they are typed."""

from __future__ import annotations

import shlex

from spanwise.document.evaluation import Evaluation
from spanwise.views.wording import visible

# The options of an evaluation that `spanwise errors` needs in order to read the same mentions.
_READING = (
    "--align", "--format", "--token-column", "--tag-column", "--separator", "--scheme", "--repair",
    "--comments", "--duplicates", "--labels", "--documents", "--annotator", "--encoding", "--answers",
    "--level", "--threshold", "--aliases", "--repeats", "--unknown", "--prompt-unit", "--response",
    "--sample",
)  # fmt: skip


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


def errors_command(document: Evaluation, system: str, saved: str | None = None) -> str:
    """The command that lists the errors of a system: of a saved document, or of the files as they were read.

    Empty if the document was made from data in memory.
    """
    if saved is not None:
        chosen = f" --system {quoted(system)}" if len(document.systems) > 1 else ""
        return f"spanwise errors {quoted(saved)}{chosen}"
    gold = next((row.path for row in document.inputs if row.role == "gold"), None)
    predicted = [row for row in document.inputs if row.role == "predicted"]
    own = next((row.path for row in predicted if row.system == system), None)
    if not document.settings.command or gold is None or own is None:
        return ""
    # A file that holds both gold and predictions is named once, as in the original command.
    merged = any(row.path == gold for row in predicted)
    files = [own] if merged else [gold, own]
    return " ".join(["spanwise errors", *map(quoted, files), *reading_options(document.settings.command)])


def quoted(value: object) -> str:
    """A value quoted for the shell, in which invisible characters are made visible."""
    return visible(shlex.quote(str(value)))
