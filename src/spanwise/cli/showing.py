"""What becomes of a document or a text: files written, and the screen shown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spanwise.document import Document as TypedDocument

from spanwise.streams import put


def give(text: str, path: str | None) -> None:
    """Write a text to a file, whole or not at all, or to standard output where none is named."""
    if path is None or path == "-":
        put(text)
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

        put(write_json(document))
    elif not args.quiet:
        show(document, saved=saved, args=args)


def finish_document(
    args: argparse.Namespace, document: TypedDocument, *, written: Sequence[str] = ()
) -> None:
    """Write the JSON and the page of a typed document where they were asked for, and show its screen.

    Args:
        written: other files that the command wrote.
    """
    saved = list(written)
    if args.json:
        give(document.to_json().rstrip("\n") + "\n", args.json)
        saved.append(args.json)
    if getattr(args, "html", None):
        document.to_html(args.html)
        saved.append(args.html)
    if not args.quiet and args.json != "-":
        from spanwise.reports.terminal import render, wants_color

        sys.stdout.write(render(document, width=args.width, color=wants_color(args.color), saved=saved))


def show(document: Mapping[str, Any], *, saved: Sequence[str] = (), args: argparse.Namespace) -> None:
    """Write the screen to standard output."""
    from spanwise.reports.terminal import render, wants_color

    sys.stdout.write(render(document, width=args.width, color=wants_color(args.color), saved=saved))
