"""Find where a system is weak, or where two systems differ, among all combinations of conditions.

Every conjunction of conditions on the attributes of mentions is tested at once, by changing the
signs of documents at random, so that the error rate holds for the whole list.
"""

from __future__ import annotations

import argparse

EPILOG = """examples:
  spanwise slices gold.conll pred.conll --train train.conll
  spanwise slices gold.conll old=first.conll new=second.conll --over f1
  spanwise slices gold.conll pred.conll --train train.conll --depth 3 --confirm --json slices.json
  spanwise errors gold.conll pred.conll --where 'label=MISC & entity_length>=3'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise slices`."""
    from spanwise.cli.arguments import add_align, add_reading, add_screen, add_train, add_words
    from spanwise.cli.engine import add_engine

    parser.add_argument("gold", metavar="GOLD", help="gold annotation, or a file with both tags")
    parser.add_argument("systems", metavar="PRED", nargs="*", help="predictions: a file, or name=file")
    group = parser.add_argument_group("what to search")
    add_train(group)
    group.add_argument(
        "--over", choices=["recall", "f1"], default="recall",
        help="gold mentions that are missed (default: recall), or missed and wrong mentions together (f1)",
    )  # fmt: skip
    group.add_argument("--depth", type=int, default=2, help="the most conditions of a slice (default: 2)")
    group.add_argument(
        "--least", type=int, default=50, help="the fewest mentions inside and outside a slice (default: 50)"
    )
    group.add_argument(
        "--level", type=float, default=0.05, help="family-wise error rate, as a fraction (default: 0.05)"
    )
    group.add_argument("--flips", type=int, default=2000, help="random sign flips (default: 2000)")
    group.add_argument("--seed", type=int, default=0, help="of the flips (default: 0)")
    group.add_argument(
        "--confirm", action="store_true",
        help="also find slices on one half of the documents and test the best five on the other",
    )  # fmt: skip
    group.add_argument("--unit", choices=["sentence", "document"], help="what changes sign")
    group.add_argument(
        "--attributes", metavar="NAMES", default="fu20,label",
        help="names with commas, or all, fu20, fu19 (default: fu20,label); tough subsets always join",
    )  # fmt: skip
    group.add_argument(
        "--attribute", metavar="NAME=column:N", action="append", default=[],
        help="an attribute that comes with the data: NAME=column:N or NAME=field:NAME",
    )  # fmt: skip
    group.add_argument(
        "--buckets", metavar="ATTRIBUTE=HOW", action="append", default=[],
        help="how to cut an attribute: entity_length=1,2,3 or sentence_length=balanced:6; may be repeated",
    )  # fmt: skip
    add_words(group)
    add_align(group)
    group = parser.add_argument_group("what to show and write")
    group.add_argument("--json", metavar="FILE", help="write the document (- for standard output)")
    group.add_argument("--html", metavar="FILE", help="write the page")
    group.add_argument("--quiet", action="store_true", help="do not show the screen")
    add_screen(group)
    add_engine(parser)
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Search, write what is asked for, show the screen."""
    import shlex

    from spanwise.cli.arguments import reading_of
    from spanwise.cli.engine import gathering
    from spanwise.cli.evaluating import given_attributes, parted, read_vocabulary, sources_of
    from spanwise.cli.showing import finish_document
    from spanwise.slices import find_slices

    reading = reading_of(args)
    attributes, columns, fields = given_attributes(args)
    reading |= {key: value for key, value in (("columns", columns), ("fields", fields)) if value}
    gold, systems = sources_of(args, reading)
    with gathering(args, reading) as gathered:
        document = find_slices(
            gathered(gold),
            gathered(systems),
            train=gathered(args.train),
            over=args.over,
            depth=args.depth,
            least=args.least,
            level=args.level,
            flips=args.flips,
            seed=args.seed,
            confirm=args.confirm,
            unit=args.unit,
            attributes=attributes,
            buckets=dict(parted(text, "--buckets entity_length=1,2,3") for text in args.buckets),
            vocabulary=read_vocabulary(args.vocabulary),
            lowercase=args.lowercase,
            align=args.align,
            command=shlex.join(["spanwise", *args.command_line]),
            **reading,
        )
    finish_document(args, document)
    return 0
