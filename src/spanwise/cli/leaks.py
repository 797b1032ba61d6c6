"""The command `leaks`: what masking leaves readable, and limits for it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from spanwise.cli.arguments import (
    Command,
    add_align,
    add_attributes,
    add_document,
    add_engine,
    add_parts,
    add_reading,
    add_setting,
    add_train,
    finish_document,
)
from spanwise.cli.evaluating import compared
from spanwise.errors import ChoiceError
from spanwise.settings import column

LEAKS_EXAMPLES = """examples:
  spanwise leaks gold.jsonl masked.jsonl
  spanwise leaks gold.jsonl mine=a.jsonl rules=b.jsonl --identity entity_id --html leaks.html
  spanwise leaks gold.conll pred.conll --same-label --redact --json leaks.json
  spanwise leaks gold.jsonl masked.jsonl --max-leak PERSON=0.5 --max-leak 2 --floor-bound"""


def add_leaks(parser: argparse.ArgumentParser) -> None:
    """Add the options of `spanwise leaks`."""
    parser.add_argument("gold", metavar="GOLD", help="what must be hidden, or a file with both tags")
    parser.add_argument("systems", metavar="PRED", nargs="*", help="what is masked: a file, or name=file")
    group = parser.add_argument_group("what to compute")
    group.add_argument(
        "--same-label",
        often=True,
        action="store_true",
        help="only a prediction with the mention's label hides it",
    )
    group.add_argument(
        "--identity", often=True, metavar="COLUMN|KEY", type=column,
        help="the key of gold spans, or the column (a number from 0 or a name), that says whom they name",
    )  # fmt: skip
    group.add_argument(
        "--identity-across", action="store_true", help="the same identity means the same in all documents"
    )
    add_train(group)
    add_attributes(
        group, "none", "attributes in whose buckets leaks are counted too, such as fu20 (default: none)",
        given=False,
    )  # fmt: skip
    add_setting(group, "resamples")
    add_setting(group, "seed")
    add_setting(group, "unit")
    add_align(group)
    add_parts(group, "count")
    group = parser.add_argument_group("limits (exit status 1 if one is missed)")
    group.add_argument(
        "--max-leak", often=True, metavar="[LABEL=]POINTS", action="append", default=[],
        help="the highest leak rate that is allowed, of a label (PERSON=0.5) or overall (2), in points; may "
        "be repeated",
    )  # fmt: skip
    group.add_argument(
        "--gate",
        often=True,
        metavar="FILE",
        help="a TOML file with limits under [leak], such as PERSON = 0.5",
    )
    group.add_argument(
        "--floor-bound", action="store_true",
        help="hold the upper end of the interval against the limits instead of the rate",
    )  # fmt: skip
    group = parser.add_argument_group("what to show and write")
    add_document(group, examples="leaking sentences on the page", redact=True)
    add_engine(parser)
    add_reading(parser)


def run_leaks(args: argparse.Namespace) -> int:
    """Say which mentions stay readable if predicted spans are masked, and what is masked without need.

    Leaks are counted by document, identity, mention and position, overall and by label.
    """
    from spanwise.leakage import check_limits, leaks
    from spanwise.streams import say

    most = _limits(args.max_leak)
    if args.gate is not None:
        from spanwise.slices.index import read_gate

        limited = read_gate(args.gate).leak
        if not limited:
            raise ChoiceError(f"{args.gate} limits no leaks.\nWrite [leak] with PERSON = 0.5 below it.")
        for label, points in limited.items():
            most.setdefault(label, points)
    if args.floor_bound and not most:
        raise ChoiceError("--floor-bound needs a limit.\nAdd one, such as --max-leak PERSON=0.5.")
    document = compared(args, leaks, runs=True)
    limits = check_limits(document, most, bound=args.floor_bound)
    finish_document(args, document)
    for limit in limits:
        say(limit.message)
    return 0 if all(limit.passed for limit in limits) else 1


def _limits(texts: Sequence[str]) -> dict[str | None, float]:
    """The limits by label; None stands for all mentions."""
    most: dict[str | None, float] = {}
    for text in texts:
        label, _, points = text.rpartition("=")
        try:
            most[label or None] = float(points)
        except ValueError:
            raise ChoiceError(
                f"--max-leak {text!r} is not a limit.\n"
                "Write it as --max-leak PERSON=0.5, or --max-leak 2 for all mentions."
            ) from None
    return most


COMMANDS = {"leaks": Command(add_leaks, run_leaks, LEAKS_EXAMPLES)}
