"""What becomes of a document or a text: files written, and the screen shown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from spanwise.streams import put

if TYPE_CHECKING:
    from spanwise.document import Document

PATIENCE = 2.0  # seconds before progress is shown
STEPS = {"read": "files read", "look": "blocks of gold looked at", "count": "blocks counted"}


def give(text: str | bytes, path: str | None) -> None:
    """Write a text to a file, whole or not at all, or to standard output where none is named."""
    if path is None or path == "-":
        if isinstance(text, bytes):
            sys.stdout.buffer.write(text)
        else:
            put(text)
        return
    from spanwise.formats import write_atomically

    write_atomically(path, text)


def progress_of(args: argparse.Namespace) -> Callable[[str, int, int], None] | None:
    """What shows how far an evaluation is, on standard error: on a terminal, or where it was asked for."""
    asked = getattr(args, "progress", False)
    if getattr(args, "quiet", False) or not (asked or sys.stderr.isatty()):
        return None
    return ProgressLine(one_line=sys.stderr.isatty())


class ProgressLine:
    """A line on standard error that says how far an evaluation is, once it has taken two seconds."""

    def __init__(self, *, one_line: bool) -> None:
        self._one_line = one_line
        self._begin = monotonic()
        self._shown = self._begin

    def __call__(self, step: str, done: int, total: int) -> None:
        now = monotonic()
        if now - self._begin < PATIENCE or (now - self._shown < 0.2 and done < total):
            return
        self._shown = now
        text = f"{STEPS.get(step, step)}: {done:,} of {total:,}"
        # The line is wiped with the last step: what follows it on the screen is the result.
        end = "\r" if step == "count" and done == total else ""
        sys.stderr.write(f"\r\x1b[K{'' if end else text}" if self._one_line else f"spanwise: {text}\n")
        sys.stderr.flush()


def save_document(args: argparse.Namespace, document: Document) -> list[str]:
    """Write the JSON and the page that were asked for; the names of the files."""
    saved = []
    if args.json and args.json != "-":  # first: everything else can be made from it
        document.to_json(args.json)
        saved.append(args.json)
    if args.html:
        document.to_html(args.html)
        saved.append(args.html)
    return saved


def show_document(args: argparse.Namespace, document: Document, saved: Sequence[str]) -> None:
    """Write the document to standard output where `--json -` asks for it, else its screen."""
    if args.json == "-":
        put(document.to_json())
    elif not args.quiet:
        show(document, saved=saved, args=args)


def finish_document(args: argparse.Namespace, document: Document, *, written: Sequence[str] = ()) -> None:
    """Write the JSON and the page of a document where they were asked for, and show its screen.

    Args:
        written: other files that the command wrote.
    """
    saved = list(written)
    if args.json:
        give(document.to_json(), args.json)
        saved.append(args.json)
    if getattr(args, "html", None):
        document.to_html(args.html)
        saved.append(args.html)
    if not args.quiet and args.json != "-":
        show(document, saved=saved, args=args)


def show(document: Document, *, saved: Sequence[str] = (), args: argparse.Namespace) -> None:
    """Write the screen to standard output."""
    from spanwise.reports.terminal import render, wants_color

    sys.stdout.write(render(document, width=args.width, color=wants_color(args.color), saved=saved))
