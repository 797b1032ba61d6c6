"""Show a document on the terminal: colours where it can have them, its width, what was saved."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def show(document: Mapping[str, Any], *, saved: Sequence[str] = (), args: argparse.Namespace) -> None:
    """Write the screen to standard output."""
    from spanwise.reports.terminal import render

    width = args.width or (shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100)
    color = wants_color(args.color)
    sys.stdout.write(render(document, width=max(width, 80), color=color, saved=saved))


def wants_color(choice: str) -> bool:
    """Colours on a terminal unless NO_COLOR is set; always or never when told so."""
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
