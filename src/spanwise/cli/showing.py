"""What becomes of a document or a text: files written, and the screen shown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from spanwise.streams import put

if TYPE_CHECKING:
    from spanwise.document import Document


def give(text: str, path: str | None) -> None:
    """Write a text to a file, whole or not at all, or to standard output where none is named."""
    if path is None or path == "-":
        put(text)
        return
    from spanwise.formats import write_atomically

    write_atomically(path, text)


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
