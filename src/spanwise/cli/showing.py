"""What becomes of a document or a text: files written, and the screen shown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
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


@contextmanager
def progress_of(args: argparse.Namespace) -> Iterator[ProgressLine | None]:
    """What shows how far an evaluation is, on standard error: on a terminal, or where it was asked for."""
    asked = getattr(args, "progress", False)
    if getattr(args, "quiet", False) or not (asked or sys.stderr.isatty()):
        yield None
        return
    line = ProgressLine(one_line=sys.stderr.isatty())
    try:
        yield line
    finally:
        line.end()


class ProgressLine:
    """A line on standard error that says how far an evaluation is, once it has taken two seconds.

    On a terminal it is one line that also tells the time, so that a long step is seen to go on.
    """

    def __init__(self, *, one_line: bool) -> None:
        self._one_line = one_line
        self._begin = monotonic()
        self._shown = self._begin
        self._text = "reading"
        self._ended = Event()
        if one_line:
            Thread(target=self._tick, daemon=True).start()

    def __call__(self, step: str, done: int, total: int) -> None:
        self._text = f"{STEPS.get(step, step)}: {done:,} of {total:,}"
        if step == "count" and done == total:
            self._text = "testing differences"
        now = monotonic()
        if now - self._begin < PATIENCE or (now - self._shown < 0.2 and done < total):
            return
        self._shown = now
        if self._one_line:
            self._write()
        else:
            sys.stderr.write(f"spanwise: {self._text}\n")
            sys.stderr.flush()

    def _tick(self) -> None:
        while not self._ended.wait(1.0):
            if monotonic() - self._begin >= PATIENCE:
                self._write()

    def _write(self) -> None:
        sys.stderr.write(f"\r\x1b[K{self._text} · {monotonic() - self._begin:.0f} s")
        sys.stderr.flush()

    def end(self) -> None:
        """Wipe the line: what follows it on the screen is the result."""
        self._ended.set()
        if self._one_line and monotonic() - self._begin >= PATIENCE:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def save_document(args: argparse.Namespace, document: Document) -> list[str]:
    """Write the JSON and the page that were asked for; the names of the files."""
    saved = []
    if args.json and args.json != "-":  # first: everything else can be made from it
        give(document.encoded(), args.json)
        saved.append(args.json)
    if getattr(args, "html", None):
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
    show_document(args, document, [*written, *save_document(args, document)])


def show(document: Document, *, saved: Sequence[str] = (), args: argparse.Namespace) -> None:
    """Write the screen to standard output."""
    from spanwise.reports.terminal import render, wants_color

    sys.stdout.write(
        render(
            document, width=args.width, color=wants_color(args.color), saved=saved, signature=args.signature
        )
    )
