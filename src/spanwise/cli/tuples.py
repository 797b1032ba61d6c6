"""The command `tuples`: relations, events, links and attributes under every criterion, and floors."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from spanwise.cli.arguments import (
    Command,
    add_document,
    add_engine,
    add_setting,
    asked,
    finish_document,
)
from spanwise.cli.evaluating import named_systems
from spanwise.errors import ChoiceError

TUPLES_EXAMPLES = """examples:
  spanwise tuples gold.jsonl pred.jsonl
  spanwise tuples gold.jsonl joint=a.jsonl pipeline=b.jsonl --html tuples.html
  spanwise tuples gold.jsonl pred.jsonl --criterion boundaries --undirected married_to
  spanwise tuples gold.jsonl pred.jsonl --train train.jsonl --floor 60 --floor leads=55
  spanwise tuples gold.jsonl model=answers.jsonl --answers first"""


def add_tuples(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise tuples`."""
    parser.add_argument("gold", metavar="GOLD", help="a file of gold tuples")
    parser.add_argument("systems", metavar="PRED", nargs="+", help="predicted tuples: a file, or name=file")
    group = parser.add_argument_group("what to compute")
    group.add_argument(
        "--criterion", default="strict", choices=["strict", "boundaries", "head", "overlap", "type"],
        help="when fillers are equal, for the verdict; all are shown (default: strict)",
    )  # fmt: skip
    group.add_argument(
        "--undirected", default="", metavar="A,B", help="the types whose fillers may be exchanged"
    )
    group.add_argument(
        "--mentions", default="predicted", choices=["predicted", "gold"],
        help="whether systems were given the gold mentions; only printed (default: predicted)",
    )  # fmt: skip
    group.add_argument(
        "--with-trigger", action="store_true", help="an argument of an event also needs its trigger's span"
    )
    group.add_argument(
        "--answers", metavar="POLICY",
        help="the predictions are answers of language models without positions: place their texts (such as "
             "first), as spanwise place does",
    )  # fmt: skip
    group.add_argument("--response", metavar="FIELD", help="the field of answers with the raw response")
    group.add_argument("--train", metavar="FILE", help="training data, for seen and unseen facts")
    add_setting(group, "resamples")
    add_setting(group, "seed")
    add_setting(group, "unit")
    add_setting(group, "workers")
    group = parser.add_argument_group("limits (exit status 1 if one is missed)")
    group.add_argument(
        "--floor", metavar="[TYPE=]POINTS", action="append", default=[],
        help="the lowest F1 that is allowed, of a type (leads=55) or overall (60); may be repeated",
    )  # fmt: skip
    group.add_argument(
        "--floor-bound", action="store_true",
        help="hold the lower end of the interval against the floors instead of F1",
    )  # fmt: skip
    group = parser.add_argument_group("what to show and write")
    add_document(group, examples="units with an error on the page", redact=True)
    add_engine(parser)
    group = parser.add_argument_group("how to read the files")
    group.add_argument("--format", metavar="NAME", help="the format of all files (default: recognised)")
    group.add_argument(
        "--column", metavar="NAME",
        help="the column or key with links (hipe: NEL-LIT; conllu), or the layer of relations (webanno)",
    )  # fmt: skip
    group.add_argument("--tag-column", metavar="NAME", help="the column with entity tags (hipe, conllu)")
    group.add_argument("--annotator", metavar="NAME", help="whose annotations to read (label-studio)")
    for name in ("encoding", "map", "predicted_map", "only", "without"):
        add_setting(group, name)


def run_tuples(args: argparse.Namespace) -> int:
    """Score relations, events, links and attributes of mentions under every criterion.

    All criteria stand side by side, with what became of each tuple and what fixing it would gain.
    """
    from spanwise.labels import RULES
    from spanwise.relations import READING, check_floors, tuples
    from spanwise.streams import say

    least = _floors(args.floor)
    if args.floor_bound and not least:
        raise ChoiceError("--floor-bound needs a floor.\nAdd one, such as --floor 60.")
    command = shlex.join(["spanwise", *args.command_line])
    reading = {name: given for name in (*READING, *RULES) if (given := getattr(args, name))}
    document = asked(args, tuples, args.gold, named_systems(args.systems), command=command, **reading)
    floors = check_floors(document, least, bound=args.floor_bound)
    finish_document(args, document)
    for floor in floors:
        say(floor.message)
    return 0 if all(floor.passed for floor in floors) else 1


def _floors(texts: Sequence[str]) -> dict[str | None, float]:
    """The floors by type; None stands for all tuples."""
    least: dict[str | None, float] = {}
    for text in texts:
        kind, _, points = text.rpartition("=")
        try:
            least[kind or None] = float(points)
        except ValueError:
            raise ChoiceError(
                f"--floor {text!r} is not a floor.\n"
                "Write it as --floor leads=55, or --floor 60 for all tuples."
            ) from None
    return least


COMMANDS = {"tuples": Command(add_tuples, run_tuples, TUPLES_EXAMPLES)}
