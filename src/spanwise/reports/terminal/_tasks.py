"""What to do next about a system, on a screen."""

from __future__ import annotations

from spanwise.reports.terminal._layout import ScreenLine, command_lines, heading, sentence, size
from spanwise.views import wording
from spanwise.views.points import Points
from spanwise.views.tasks import OVERLAPPING


def tasks(known: Points, width: int) -> list[ScreenLine]:
    """The tasks, each with its reason and its command."""
    if not known.tasks:
        return []
    gains = sum(bool(task.gain) for task in known.tasks)
    about = "up to: F1 if these errors were right" if gains else ""
    lines: list[ScreenLine] = heading("What to do", about, width)
    for number, task in enumerate(known.tasks, start=1):
        end = len(task.gain) + 2 if task.gain else 0
        first, *rest = sentence(task.title, width - end, indent=5, style="strong")
        gap = max(1, width - size(first) - len(task.gain))
        lines.append([(f"  {number}  ", "mark"), *first[1:], (" " * gap, ""), (task.gain, "strong")])
        lines += [*rest, *sentence(task.reason, width, indent=5, style="faint")]
        if task.command:
            lines += command_lines(task.command, width, indent=5, rest=5)
    if known.left > 0:
        lines += sentence(f"{wording.plural(known.left, 'more task')} on the page.", width, style="faint")
    return [*lines, *(sentence(OVERLAPPING, width, style="faint") if gains > 1 else [])]
