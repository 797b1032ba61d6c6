"""The child process that does one costly task: evaluate an upload, make a report or find weak slices.

An evaluation prints its progress, one JSON line per step; the other tasks print only their result.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from spanwise.alignment import TokenDifference, TokensDiffer
from spanwise.statistics import LEVEL


class Task(Struct, frozen=True, kw_only=True, tag="evaluate"):
    """An evaluation: its input files, options and output paths."""

    gold: str
    train: tuple[str, ...]
    system: str
    upload: str
    folder: str
    stem: str  # of the names of the document and its columns, if they are free
    options: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    memory: int = 0  # bytes that the evaluation may use; 0 means no limit


class ReportTask(Struct, frozen=True, kw_only=True, tag="report"):
    """A request for the HTML report of a document."""

    path: str
    memory: int = 0


class SearchTask(Struct, frozen=True, kw_only=True, tag="search"):
    """A request to search mention columns for weak slices."""

    folder: str
    files: tuple[tuple[str, int, int], ...]
    system: str
    other: str | None
    level: float = LEVEL
    flips: int = 2000
    memory: int = 0


class ChildMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of output from the child: progress or an error."""

    step: str = ""
    done: int = 0
    total: int = 0
    error: str = ""
    difference: TokenDifference | None = None  # the first difference from gold's tokens


def main() -> int:
    """Read a task from standard input and do it."""
    from spanwise.errors import ChoiceError, SpanwiseError

    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task | ReportTask | SearchTask)
    if hasattr(os, "nice"):
        os.nice(5)
    _limit(task.memory)
    if isinstance(task, Task):
        return _evaluate(task)
    try:
        answer = report_of(task.path).encode() if isinstance(task, ReportTask) else _searched(task)
    except (SpanwiseError, MemoryError) as error:
        sys.stderr.write(str(error) or TOO_LARGE)
        return 2 if isinstance(error, ChoiceError) else 3
    sys.stdout.buffer.write(answer)
    return 0


TOO_LARGE = "this needs more memory than the workbench may take.\nStart the workbench with a higher --memory."


def report_of(path: str | Path) -> str:
    """The HTML report of a document, as written by `--html`."""
    from spanwise.document.loading import load

    return load(path).to_html()


def _searched(task: SearchTask) -> bytes:
    from spanwise.slices.index import weak_slices
    from spanwise.workbench.index import combine_columns

    index = combine_columns(Path(task.folder), task.files, {}).index
    found = weak_slices(index, task.system, task.other, level=task.level, flips=task.flips)
    return msgspec.json.encode(found)


def _evaluate(task: Task) -> int:
    from spanwise.errors import ChoiceError, SpanwiseError
    from spanwise.evaluation import evaluate
    from spanwise.evaluation.columns import mention_columns
    from spanwise.settings import in_options
    from spanwise.workbench.private import COLUMNS, PART, UPLOADS, publish, upload_name

    def send(line: ChildMessage) -> None:
        sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
        sys.stdout.flush()

    options: dict[str, Any] = dict(task.options)
    if "hierarchy_level" in options:
        options["hierarchy_level"] = int(options["hierarchy_level"])
    try:
        result = evaluate(
            task.gold, {task.system: task.upload}, train=list(task.train) or None, tags=task.tags,
            progress=lambda step, done, total: send(ChildMessage(step=step, done=done, total=total)),
            **options,
        )  # fmt: skip
        send(ChildMessage(step="write", done=0, total=2))
        folder = Path(task.folder)
        columns, document = (
            folder / UPLOADS / upload_name(f"{ending}{PART}") for ending in (".npz", ".json")
        )
        mention_columns(result).save(columns)
        result.to_json(document)
        publish({columns: folder / COLUMNS / ".npz", document: folder / ".json"}, task.stem)
        send(ChildMessage(step="write", done=2, total=2))
    except SpanwiseError as error:
        difference = error.difference if isinstance(error, TokensDiffer) else None
        send(ChildMessage(error=in_options(str(error)), difference=difference))
        return 2 if isinstance(error, ChoiceError) else 3
    except MemoryError:
        send(
            ChildMessage(
                error=f"the evaluation needs more memory than the {task.memory / 1e9:.1f} GB it may take.\n"
                "Start the workbench with a higher --memory, or evaluate the file with "
                "spanwise evaluate --memory 1GB --json FILE and put the result into the folder."
            )
        )
        return 3
    return 0


def _limit(memory: int) -> None:
    """Limit the memory of this process, where the system supports it."""
    try:
        import resource
    except ImportError:
        return
    if memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


if __name__ == "__main__":
    sys.exit(main())
