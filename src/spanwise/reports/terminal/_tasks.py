"""What to do next about a system, on a screen."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.document.evaluation import Evaluation
from spanwise.reports.terminal._layout import ScreenLine, command_lines, heading, sentence, size
from spanwise.tasks import MOST_LISTED
from spanwise.views import wording as say
from spanwise.views.tasks import OVERLAPPING, shown_tasks


def tasks(document: Evaluation, width: int, saved: Sequence[str] = ()) -> list[ScreenLine]:
    """At most five tasks, each with its reason and its command."""
    result = next((path for path in saved if str(path).endswith(".json")), None)
    rows = shown_tasks(document, saved=result)
    if not rows:
        return []
    lines: list[ScreenLine] = heading("What to do", "up to: F1 if these errors were right", width)
    for number, task in enumerate(rows[:MOST_LISTED], start=1):
        end = len(task.gain) + 2 if task.gain else 0
        first, *rest = sentence(task.title, width - end, indent=5, style="strong")
        gap = max(1, width - size(first) - len(task.gain))
        lines.append([(f"  {number}  ", "mark"), *first[1:], (" " * gap, ""), (task.gain, "strong")])
        lines += [*rest, *sentence(task.reason, width, indent=5, style="faint")]
        if task.command:
            lines += command_lines(task.command, width, indent=5, rest=5)
    more = len(rows) - MOST_LISTED
    if more > 0:
        lines += sentence(f"{say.plural(more, 'more task')} on the page.", width, style="faint")
    several = sum(bool(task.gain) for task in rows[:MOST_LISTED]) > 1
    return [*lines, *(sentence(OVERLAPPING, width, style="faint") if several else [])]
