"""Convert a file to another format or tag scheme; what the target cannot say is an error, never a loss."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from spanwise.cli.arguments import add_reading, reading_of
from spanwise.streams import put, say

if TYPE_CHECKING:
    from spanwise.corpus import Annotation

EPILOG = """examples:
  spanwise convert in.conll out.jsonl
  spanwise convert in.conll out.conll --to-scheme BIOES
  spanwise convert in.txt out.spans --scheme IOB1
  spanwise convert in.conll - --to jsonl | head -3"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise convert`."""
    parser.add_argument("source", metavar="IN", help="the file to read")
    parser.add_argument(
        "target", metavar="OUT", help="the file to write; its suffix names the format (-: standard output)"
    )
    parser.add_argument("--to", metavar="FORMAT", help="the format to write (default: from the suffix)")
    parser.add_argument("--to-scheme", metavar="SCHEME", help="the tag scheme to write")
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Read, write, and say what was read."""
    from spanwise.formats import read, write

    annotation = read(args.source, **reading_of(args))
    if args.target == "-":
        _print(annotation, args.to, args.to_scheme)
    else:
        write(annotation, args.target, format=args.to, scheme=args.to_scheme)
    reading = annotation.reading
    tags = "tag" if reading.repairs == 1 else "tags"
    repaired = f", {reading.repairs:,} {tags} repaired ({reading.repair})" if reading.repairs else ""
    say(
        f"{args.target}: {len(annotation.corpus):,} sentences, {len(annotation.mentions):,} mentions, "
        f"read as {reading.format} ({reading.evidence}){repaired}"
    )
    for note in reading.notes:
        say(f"note: {note}")
    return 0


def _print(annotation: Annotation, name: str | None, scheme: str | None) -> None:
    """Write to standard output, which has no suffix that names a format."""
    from spanwise.errors import ChoiceError
    from spanwise.formats import FORMATS

    if name is None:
        raise ChoiceError("standard output does not say which format is meant.\nAdd --to FORMAT.")
    form = FORMATS.find(name)
    if form.write is None or form.write_folder is not None:
        raise ChoiceError(f"the format {form.name!r} cannot be written to standard output.\nName a file.")
    data = form.write(annotation, scheme)
    put(data)
