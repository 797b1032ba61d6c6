"""What becomes of a document or a text: files written, and the terminal with its width and colours."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def give(text: str, path: str | None) -> None:
    """Write a text to a file, whole or not at all, or to standard output where none is named."""
    if path is None or path == "-":
        sys.stdout.write(text)
        return
    from spanwise.formats import write_atomically

    write_atomically(path, text)


def save_document(args: argparse.Namespace, document: Mapping[str, Any]) -> list[str]:
    """Write the JSON and the page that were asked for; the names of the files."""
    from spanwise.evaluation import write_json

    saved = []
    if args.json and args.json != "-":  # first: everything else can be made from it
        write_json(document, args.json)
        saved.append(args.json)
    if args.html:
        from spanwise.reports.html import render

        give(render(document), args.html)
        saved.append(args.html)
    return saved


def show_document(args: argparse.Namespace, document: Mapping[str, Any], saved: Sequence[str]) -> None:
    """Write the document to standard output where `--json -` asks for it, else its screen."""
    if args.json == "-":
        from spanwise.evaluation import write_json

        sys.stdout.write(write_json(document))
    elif not args.quiet:
        show(document, saved=saved, args=args)


def show(document: Mapping[str, Any], *, saved: Sequence[str] = (), args: argparse.Namespace) -> None:
    """Write the screen to standard output."""
    from spanwise.reports.terminal import render

    width = max(width_of(args.width, terminal=sys.stdout.isatty()), 80)
    sys.stdout.write(render(document, width=width, color=wants_color(args.color), saved=saved))


def width_of(asked: int | None, *, terminal: bool) -> int:
    """The columns to fill: as asked, else the terminal's, else 100."""
    return asked or (shutil.get_terminal_size((100, 24)).columns if terminal else 100)


def wants_color(choice: str) -> bool:
    """Colours on a terminal unless NO_COLOR is set; always or never when told so."""
    if choice != "auto":
        return choice == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
