"""Tag a file with a tagger that spanwise trained."""

from __future__ import annotations

import argparse
import sys

from spanwise.cli.arguments import add_reading, reading_of

EPILOG = """examples:
  spanwise tag lstm/ new.conll -o new.tagged.conll
  spanwise tag lstm/ test.conll -o test.jsonl --scores"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise tag`."""
    parser.add_argument("tagger", metavar="FOLDER", help="what 'spanwise train' wrote")
    parser.add_argument("source", metavar="FILE", help="the text to tag; its own tags are not looked at")
    parser.add_argument(
        "-o", "--output", metavar="OUT", required=True, help="the file to write; its suffix names the format"
    )
    parser.add_argument("--to", metavar="FORMAT", help="the format to write (default: from the suffix)")
    parser.add_argument(
        "--scores", action="store_true", help="write how sure the tagger is of each mention (to .jsonl)"
    )
    parser.add_argument("--device", default="auto", metavar="NAME", help="auto, cpu or cuda (default: auto)")
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Tag, write, and say how much was found."""
    from spanwise.errors import ChoiceError
    from spanwise.formats import write
    from spanwise.taggers import predict

    if args.scores and not args.output.endswith((".jsonl", ".jsonl.gz")) and args.to != "jsonl":
        raise ChoiceError(
            f"--scores cannot be written to {args.output!r}: tags have no place for scores.\n"
            "Name a file that ends in .jsonl."
        )
    found = predict(args.tagger, args.source, scores=args.scores, device=args.device, **reading_of(args))
    write(found, args.output, format=args.to)
    sys.stderr.write(f"{args.output}: {len(found.corpus):,} sentences, {len(found.mentions):,} mentions\n")
    return 0
