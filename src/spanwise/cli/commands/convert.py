"""Convert a file to another format or tag scheme; what the target cannot say is an error, never a loss."""

from __future__ import annotations

import argparse
import os
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
    parser.add_argument(
        "--lossy", action="store_true", help="leave out what the format cannot hold, and say what it was"
    )
    parser.add_argument(
        "--context",
        type=int,
        metavar="K",
        help="join up to K sentences of one document to one, for other trainers",
    )
    parser.add_argument(
        "--cross-documents", action="store_true", help="let joined sentences cross the borders of documents"
    )
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Read, write, and say what was read."""
    from spanwise.errors import ChoiceError
    from spanwise.formats import read, write

    if "-" not in (args.target, args.source) and _same_file(args.source, args.target):
        raise ChoiceError(f"{args.target} is the file to read, too.\nWrite to another file.")
    annotation = read(args.source, **reading_of(args))
    if args.context is not None:
        from spanwise.taggers.windowing import joined

        annotation = joined(annotation, args.context, cross=args.cross_documents)
    if args.target == "-":
        lost = _print(annotation, args)
    else:
        lost = write(annotation, args.target, format=args.to, scheme=args.to_scheme, lossy=args.lossy)
    reading = annotation.reading
    tags = "tag" if reading.repairs == 1 else "tags"
    repaired = f", {reading.repairs:,} {tags} repaired ({reading.repair})" if reading.repairs else ""
    say(
        f"{args.target}: {len(annotation.corpus):,} sentences, {len(annotation.mentions):,} mentions, "
        f"read as {reading.format} ({reading.evidence}){repaired}"
    )
    for note in reading.notes:
        say(f"note: {note}")
    for loss in lost:
        say(f"lost: {loss}")
    return 0


def _same_file(one: str, other: str) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)  # noqa: PTH110, PTH121


def _print(annotation: Annotation, args: argparse.Namespace) -> tuple[str, ...]:
    """Write to standard output, which has no suffix that names a format; what was lost."""
    from spanwise.errors import ChoiceError
    from spanwise.formats import FORMATS, to_bytes

    if args.to is None:
        raise ChoiceError("standard output does not tell the format.\nAdd --to FORMAT.")
    form = FORMATS.find(args.to)
    if form.write is None or form.write_folder is not None:
        raise ChoiceError(f"the format {form.name!r} cannot be written to standard output.\nName a file.")
    data, lost = to_bytes(annotation, form, scheme=args.to_scheme, lossy=args.lossy)
    put(data)
    return lost
