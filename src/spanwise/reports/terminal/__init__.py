"""The screen: a result, comparison, description or study document as text for a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Literal

from spanwise.document import DocumentLike

WIDEST = 120
NARROWEST = 40

# The screens of all documents but evaluations, loaded when such a document is shown.
SCREENS = {
    "study": "_study:lines",
    "description": "_data:description_lines",
    "split": "_data:split_lines",
    "agreement": "_data:agreement_lines",
    "suspects": "_data:suspects_lines",
    "confidence": "_analyses:confidence_lines",
    "slices": "_analyses:slices_lines",
    "placement": "_analyses:placement_lines",
    "explanation": "_analyses:explanation_lines",
}
TIMED = ("study", "description")  # screens that tell how long it took


def render(
    document: DocumentLike,
    *,
    width: int | None = None,
    color: bool | None = None,
    saved: Sequence[str] = (),
    seconds: float | None = None,
    signature: Literal["short", "long"] = "short",
) -> str:
    """The document as a screen of at most `width` cells a line.

    Args:
        width: by default that of `screen_width`; less than 40 and more than 120 is not used.
        color: with escape codes; by default as `wants_color` decides.
        saved: files that were written, to be named at the end.
        seconds: how long it took, to be named at the top.
        signature: "short" leaves out the settings that are the usual ones, "long" has all of them.
    """
    from spanwise.document.evaluation import Evaluation
    from spanwise.document.loading import as_document
    from spanwise.reports.terminal import _layout, _result, _several
    from spanwise.reports.terminal._layout import fit, paint

    room = min(screen_width(width), WIDEST)
    color = wants_color() if color is None else color
    document = as_document(document)
    match document:
        case Evaluation() if len(document.systems) == 1:
            lines = _result.lines(document, room, seconds, saved)
        case Evaluation():
            lines = _several.lines(document, room, seconds, saved)
        case _:
            module, function = SCREENS[document.kind].split(":")
            told = (seconds,) if document.kind in TIMED else ()
            screen = getattr(import_module(f"spanwise.reports.terminal.{module}"), function)
            lines = screen(document, room, *told)
    lines += _layout.footer(document, room, saved, signature)
    return paint([fit(line, room) for line in lines], color=color)


def screen_width(asked: int | None = None, *, terminal: bool | None = None) -> int:
    """The columns to fill: as asked, else the variable COLUMNS, else the terminal's, else 80.

    Args:
        terminal: whether a terminal shows the text; by default whether stdout is one.
    """
    if asked is not None:
        return max(asked, NARROWEST)
    if sys.stdout.isatty() if terminal is None else terminal:
        from shutil import get_terminal_size

        return max(get_terminal_size((80, 24)).columns, NARROWEST)
    columns = os.environ.get("COLUMNS", "")
    return max(int(columns), NARROWEST) if columns.isdecimal() and int(columns) else 80


def wants_color(choice: Literal["auto", "always", "never"] = "auto") -> bool:
    """Whether to write escape codes to stdout.

    "always" and "never" decide; then the variable NO_COLOR, then FORCE_COLOR, where they are not
    empty; then whether stdout is a terminal, and one that is not dumb.
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
