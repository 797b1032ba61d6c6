"""The process that evaluates one upload: it says how far it is, line by line, and writes the result."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, field


class Task(Struct, frozen=True, kw_only=True):
    """What to evaluate, and where the result goes."""

    gold: str
    train: tuple[str, ...]
    system: str
    upload: str
    json: str
    columns: str
    options: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    memory: int = 0  # bytes that the evaluation may take; 0: no limit


class Said(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the child."""

    step: str = ""
    done: int = 0
    total: int = 0
    error: str = ""


def main() -> int:
    """Evaluate what standard input asks for."""
    from spanwise.errors import ChoiceError, SpanwiseError
    from spanwise.evaluation import evaluate, mention_columns
    from spanwise.settings import in_options

    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    if hasattr(os, "nice"):
        os.nice(5)
    _limit(task.memory)

    def say(said: Said) -> None:
        sys.stdout.write(msgspec.json.encode(said).decode() + "\n")
        sys.stdout.flush()

    options: dict[str, Any] = dict(task.options)
    try:
        result = evaluate(
            task.gold, {task.system: task.upload}, train=list(task.train) or None, tags=task.tags,
            progress=lambda step, done, total: say(Said(step=step, done=done, total=total)),
            **options,
        )  # fmt: skip
        say(Said(step="write", done=0, total=2))
        mention_columns(result).save(task.columns)
        result.to_json(task.json)
        say(Said(step="write", done=2, total=2))
    except SpanwiseError as error:
        say(Said(error=in_options(str(error))))
        return 2 if isinstance(error, ChoiceError) else 3
    except MemoryError:
        say(
            Said(
                error=f"the evaluation needs more memory than the {task.memory / 1e9:.1f} GB it may take.\n"
                "Start the workbench with a higher --memory, or evaluate the file with "
                "spanwise evaluate --memory 1GB --json FILE and put the result into the folder."
            )
        )
        return 3
    return 0


def _limit(memory: int) -> None:
    """Let this process take no more memory than it may, where the system can hold it to that."""
    try:
        import resource
    except ImportError:
        return
    if memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


if __name__ == "__main__":
    sys.exit(main())
