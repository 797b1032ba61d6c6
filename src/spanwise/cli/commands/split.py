"""Divide a corpus into training and test data so that the test has the seen and unseen shares asked for.

Documents stay whole where they are marked. Lines of CoNLL files are copied as they are, with all columns.
"""

from __future__ import annotations

import argparse

EPILOG = """examples:
  spanwise split corpus.conll --unseen 60 -o parts
  spanwise split train.conll test.conll --unseen 60 --test 20 --dev 10 --seed 1 -o parts
  spanwise split corpus.conll --share UNSEEN-TOKENS=50 --share TCM-ALL=10 --json - --quiet"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise split`."""
    from spanwise.cli.arguments import add_reading, add_screen

    parser.add_argument("files", metavar="FILE", nargs="+", help="annotated files; several are pooled")
    group = parser.add_argument_group("what to divide")
    group.add_argument(
        "--unseen", type=float, metavar="PERCENT",
        help="test mentions that training does not show with their label (UNSEEN-ANY)",
    )  # fmt: skip
    group.add_argument("--seen", type=float, metavar="PERCENT", help="test mentions that training shows")
    group.add_argument(
        "--share", action="append", default=[], metavar="SUBSET=PERCENT",
        help="the share of any tough subset, such as UNSEEN-TOKENS=50; may be repeated",
    )  # fmt: skip
    group.add_argument(
        "--test", type=float, default=20.0, metavar="PERCENT", help="sentences for testing (default: 20)"
    )
    group.add_argument(
        "--dev", type=float, default=0.0, metavar="PERCENT",
        help="sentences for development, drawn at random (default: 0)",
    )  # fmt: skip
    group.add_argument("--seed", type=int, default=0, help="of every random choice (default: 0)")
    group = parser.add_argument_group("what to show and write")
    group.add_argument("-o", "--output", metavar="FOLDER", help="write the parts there")
    group.add_argument("--to", metavar="FORMAT", help="the format to write (default: that of FILE)")
    group.add_argument("--json", metavar="FILE", help="write the document (- for standard output)")
    group.add_argument("--html", metavar="FILE", help="write the page")
    group.add_argument("--quiet", action="store_true", help="do not show the screen")
    add_screen(group)
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Divide, write the parts, show what came of it."""
    from spanwise.cli.arguments import reading_of
    from spanwise.cli.showing import finish_document
    from spanwise.splitting import split

    reading = reading_of(args)
    document = split(
        args.files,
        shares=_shares(args),
        test=args.test / 100,
        dev=args.dev / 100,
        seed=args.seed,
        output=args.output,
        to=args.to,
        **reading,
    )
    paths = [part.path for part in document.parts.values() if part.path]
    finish_document(args, document, written=paths)
    return 0


def _shares(args: argparse.Namespace) -> dict[str, float]:
    from spanwise.errors import ChoiceError

    shares = {"UNSEEN-ANY": args.unseen, "SEEN": args.seen}
    asked = {subset: percent / 100 for subset, percent in shares.items() if percent is not None}
    for text in args.share:
        subset, _, percent = text.partition("=")
        try:
            asked[subset] = float(percent) / 100
        except ValueError:
            raise ChoiceError(
                f"--share {text!r} does not read as SUBSET=PERCENT, such as UNSEEN-TOKENS=50."
            ) from None
    return asked
