"""Commands to run next, as they are typed."""

from __future__ import annotations

import shlex

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


def quoted(value: object) -> str:
    """A value quoted for the shell, in which invisible characters are made visible."""
    return visible(shlex.quote(str(value)))
