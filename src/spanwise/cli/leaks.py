"""The command `leaks`: what masking leaves readable, and limits for it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from spanwise.cli.arguments import (
    ENGINE,
    READING,
    Arguments,
    Command,
    OptionGroup,
    finish_document,
    options_of,
    positional,
    shown,
)
from spanwise.cli.evaluating import compared
from spanwise.errors import ChoiceError
from spanwise.settings import Setting

LEAKS_EXAMPLES = """examples:
  spanwise leaks gold.jsonl masked.jsonl
  spanwise leaks gold.jsonl mine=a.jsonl rules=b.jsonl --identity entity_id --html leaks.html
  spanwise leaks gold.conll pred.conll --same-label --redact --json leaks.json
  spanwise leaks gold.jsonl masked.jsonl --max-leak PERSON=0.5 --max-leak 2 --floor-bound"""


LEAKS = Arguments(
    positional("gold", "GOLD", "what must be hidden, or a file with both tags"),
    positional("systems", "PRED", "what is masked: a file, or name=file", nargs="*"),
    OptionGroup("what to compute", options_of("leaks")),
    OptionGroup("limits (exit status 1 if one is missed)", [
        Setting(
            "max_leak",
            "the highest leak rate that is allowed, of a label (PERSON=0.5) or overall (2), in points; may "
            "be repeated", (), metavar="[LABEL=]POINTS", often=True,
        ),
        Setting(
            "gate", "a TOML file with limits under [leak], such as PERSON = 0.5", metavar="FILE", often=True
        ),
        Setting(
            "floor_bound", "hold the upper end of the interval against the limits instead of the rate", False
        ),
    ]),
    shown("leaks"), ENGINE, READING,
)  # fmt: skip


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


COMMANDS = {"leaks": Command(LEAKS, run_leaks, LEAKS_EXAMPLES)}
