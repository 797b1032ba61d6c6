"""The command `tuples`: relations, events, links and attributes under every criterion, and floors."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spanwise.cli.arguments import (
    ENGINE,
    TUPLE_COLUMN,
    Arguments,
    Command,
    OptionGroup,
    asked,
    named,
    options_of,
    positional,
    shown,
)
from spanwise.cli.evaluating import named_systems
from spanwise.cli.manifests import MANIFEST, held, is_manifest, over_manifest, points_by_name
from spanwise.errors import ChoiceError
from spanwise.settings import RULES, Setting

if TYPE_CHECKING:
    from spanwise.document.tuples import Tuples

TUPLES_EXAMPLES = """examples:
  spanwise tuples gold.jsonl pred.jsonl
  spanwise tuples gold.jsonl joint=a.jsonl pipeline=b.jsonl --html tuples.html
  spanwise tuples gold.jsonl pred.jsonl --criterion boundaries --undirected married_to
  spanwise tuples gold.jsonl pred.jsonl --train train.jsonl --floor 60 --floor leads=55
  spanwise tuples gold.jsonl model=answers.jsonl --answers first
  spanwise tuples study.toml --criterion boundaries     every dataset of a manifest"""


TUPLES = Arguments(
    positional("gold", "GOLD", "a file of gold tuples, or a manifest STUDY.toml"),
    positional("systems", "PRED", "predicted tuples: a file, or name=file", nargs="*"),
    OptionGroup("what to compute", options_of("tuples")),
    MANIFEST,
    OptionGroup("limits (exit status 1 if one is missed)", [
        Setting(
            "floor",
            "the lowest F1 that is allowed, of a type (leads=55) or overall (60); may be repeated", (),
            metavar="[TYPE=]POINTS", often=True,
        ),
        Setting(
            "floor_bound", "hold the lower end of the interval against the floors instead of F1", False
        ),
    ]),
    shown("tuples"), ENGINE,
    OptionGroup("how to read the files", [
        Setting("format", "the format of all files (default: recognised)", metavar="NAME"),
        TUPLE_COLUMN,
        Setting("tag_column", "the column with entity tags (hipe, conllu)", metavar="NAME"),
        Setting("annotator", "whose annotations to read (label-studio)", metavar="NAME"),
        *named("encoding", *RULES),
    ]),
)  # fmt: skip


def run_tuples(args: argparse.Namespace) -> int:
    """Score relations, events, links and attributes of mentions under every criterion.

    All criteria stand side by side, with what became of each tuple and what fixing it would gain.
    """
    from spanwise.relations import READING, check_floors, tuples

    least = points_by_name(args.floor, "--floor", "leads=55", "60 for all tuples")
    if args.floor_bound and not least:
        raise ChoiceError("--floor-bound needs a floor.\nAdd one, such as --floor 60.")
    command = shlex.join(["spanwise", *args.command_line])
    reading = {name: given for name in (*READING, *RULES) if (given := getattr(args, name)) not in (None, ())}
    if is_manifest(args):
        document = over_manifest(args, "tuples", tuples, **reading)
    else:
        document = asked(args, tuples, args.gold, named_systems(args.systems), command=command, **reading)

    def types(own: Tuples) -> Iterator[str]:
        return (kind for one in own.systems.values() for kind in one.criteria[own.criterion].types)

    return held(args, document, least, types, check_floors)


COMMANDS = {"tuples": Command(TUPLES, run_tuples, TUPLES_EXAMPLES)}
