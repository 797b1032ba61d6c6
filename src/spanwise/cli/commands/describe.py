"""Describe a test set before any system is run: sizes, labels, attributes, tough mentions, conflicts."""

from __future__ import annotations

import argparse

EPILOG = """examples:
  spanwise describe test.conll
  spanwise describe test.conll --train train.conll
  spanwise describe test.conll --train train.conll --html data.html
  spanwise describe test.conll --train train.conll --json - --quiet"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise describe`."""
    from spanwise.cli.arguments import add_reading, add_screen, add_train, add_words
    from spanwise.cli.engine import add_engine

    parser.add_argument("test", metavar="TEST", help="the gold file")
    group = parser.add_argument_group("what to compute")
    add_train(group)
    group.add_argument("--name", help="what to call the dataset; by default the file's stem")
    group.add_argument(
        "--attributes", metavar="NAMES", default="all", help="names with commas, or all (default), fu20, fu19"
    )
    add_words(group)
    group = parser.add_argument_group("what to show and write")
    group.add_argument("--json", metavar="FILE", help="write the document (- for standard output)")
    group.add_argument("--html", metavar="FILE", help="write the page")
    group.add_argument("--examples", type=int, default=20, help="the most conflicts shown (default: 20)")
    group.add_argument("--redact", action="store_true", help="leave out all text")
    group.add_argument("--quiet", action="store_true", help="do not show the screen")
    add_screen(group)
    add_engine(parser)
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Describe the file, write what is asked for, show the screen."""
    from spanwise.cli.arguments import reading_of
    from spanwise.cli.engine import gathering
    from spanwise.cli.evaluating import read_vocabulary
    from spanwise.cli.showing import give, show
    from spanwise.description import describe

    reading = reading_of(args)
    with gathering(args, reading) as gathered:
        described = describe(
            gathered(args.test),
            train=gathered(args.train),
            attributes=args.attributes,
            vocabulary=read_vocabulary(args.vocabulary),
            lowercase=args.lowercase,
            name=args.name,
            examples=args.examples,
            redact=args.redact,
            **reading,
        )
    if args.json:
        give(described.to_json(), args.json)
    if args.html:
        described.to_html(args.html)
    if not args.quiet and args.json != "-":
        show(described, saved=[path for path in (args.json, args.html) if path], args=args)
    return 0
