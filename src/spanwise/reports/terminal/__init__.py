"""The screen: a result, comparison, description or study document as text for a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Literal, TypeAlias

from spanwise.document import DocumentLike

Detail: TypeAlias = Literal["brief", "usual", "full"]

WIDEST = 120
NARROWEST = 40

# The screens of all documents except evaluations; their modules are imported when needed.
SCREENS = {
    "explanation": "_analyses:explanation_lines",
}
TIMED = ("description",)  # screens that show how long the computation took


def render(
    document: DocumentLike,
    *,
    width: int | None = None,
    color: bool | None = None,
    saved: Sequence[str] = (),
    seconds: float | None = None,
    signature: Literal["short", "long"] = "short",
    detail: Detail = "usual",
    command: str | None = None,
) -> str:
    """Render the document as a screen with at most `width` cells per line.

    Args:
        width: by default that of `screen_width`; limited to between 40 and 120.
        color: whether to use escape codes; by default `wants_color` decides.
        saved: files that were written, listed at the end.
        seconds: how long the computation took, shown at the top.
        signature: "short" leaves out settings that have their default values, "long" shows all of them.
        detail: of an evaluation or a study, "brief" stops after the findings, "full" shows every table.
        command: the command that was run, whose next steps are shown, if the document does not name it.
    """
    from spanwise.document.evaluation import Evaluation
    from spanwise.document.loading import as_document
    from spanwise.document.study import Study
    from spanwise.reports.terminal import _answer, _layout, _view
    from spanwise.reports.terminal._layout import fit, paint
    from spanwise.views import has_view

    room = min(screen_width(width), WIDEST)
    color = wants_color() if color is None else color
    document = as_document(document)
    match document:
        case Evaluation() | Study():
            lines = _answer.lines(document, room, seconds, saved, detail, command)
        case _ if has_view(document):
            lines = _view.lines(document, room, seconds if document.kind in TIMED else None)
        case _:
            module, function = SCREENS[document.kind].split(":")
            timing = (seconds,) if document.kind in TIMED else ()
            screen = getattr(import_module(f"spanwise.reports.terminal.{module}"), function)
            lines = screen(document, room, *timing)
    lines += _layout.footer(document, room, saved, signature)
    return paint([fit(line, room) for line in lines], color=color)


def screen_width(requested: int | None = None, *, terminal: bool | None = None) -> int:
    """The number of columns to fill: `requested`, else COLUMNS, else the terminal's width, else 80.

    Args:
        terminal: whether the text is shown on a terminal; by default whether stdout is one.
    """
    if requested is not None:
        return max(requested, NARROWEST)
    if sys.stdout.isatty() if terminal is None else terminal:
        from shutil import get_terminal_size

        return max(get_terminal_size((80, 24)).columns, NARROWEST)
    columns = os.environ.get("COLUMNS", "")
    return max(int(columns), NARROWEST) if columns.isdecimal() and int(columns) else 80


def wants_color(choice: Literal["auto", "always", "never"] = "auto") -> bool:
    """Whether to write escape codes to stdout.

    With "auto", a non-empty variable NO_COLOR turns colour off, else a non-empty FORCE_COLOR turns it on;
    otherwise colour is used if stdout is a terminal and TERM is not "dumb".
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
