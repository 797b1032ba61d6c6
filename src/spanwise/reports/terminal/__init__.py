"""The screen: a result, comparison, description or study document as text for a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

WIDEST = 120


def render(
    document: Mapping[str, Any],
    *,
    width: int | None = None,
    color: bool | None = None,
    saved: Sequence[str] = (),
    seconds: float | None = None,
) -> str:
    """The document as a screen of at most `width` cells a line.

    Args:
        width: the terminal's by default, 80 where there is none; more than 120 is not used.
        color: with escape codes; by default where stdout is a terminal that `NO_COLOR` does not forbid.
        saved: files that were written, to be named at the end.
        seconds: how long it took, to be named at the top.
    """
    from spanwise.reports.terminal import _dataset, _frame, _result, _several, _study
    from spanwise.reports.terminal._layout import fit, paint

    room = max(40, min(width or shutil.get_terminal_size((80, 24)).columns, WIDEST))
    if "analyses" in document or "datasets" in document:
        lines = _study.lines(document, room, seconds)
    elif "systems" not in document:
        lines = _dataset.lines(document, room, seconds)
    elif len(document["systems"]) == 1:
        lines = _result.lines(document, room, seconds, saved)
    else:
        lines = _several.lines(document, room, seconds, saved)
    lines += _frame.footer(document, room, saved)
    return paint([fit(line, room) for line in lines], color=_colored() if color is None else color)


def _colored() -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()
