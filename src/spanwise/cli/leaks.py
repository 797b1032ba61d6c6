"""The command `leaks`: what masking leaves readable, and limits for it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spanwise.cli.arguments import (
    ENGINE,
    READING,
    Arguments,
    Command,
    OptionGroup,
    options_of,
    positional,
    reading_of,
    shown,
)
from spanwise.cli.evaluating import buckets_of, compared
from spanwise.cli.manifests import MANIFEST, held, is_manifest, over_manifest, points_by_name
from spanwise.errors import ChoiceError
from spanwise.settings import Setting

if TYPE_CHECKING:
    from spanwise.document.leaks import Leaks

LEAKS_EXAMPLES = """examples:
  spanwise leaks gold.jsonl masked.jsonl
  spanwise leaks gold.jsonl mine=a.jsonl rules=b.jsonl --identity entity_id --html leaks.html
  spanwise leaks gold.conll pred.conll --same-label --redact --json leaks.json
  spanwise leaks gold.jsonl masked.jsonl --max-leak PERSON=0.5 --max-leak 2 --floor-bound
  spanwise leaks study.toml --max-leak 5        every dataset of a manifest"""


LEAKS = Arguments(
    positional("gold", "GOLD", "what must be hidden, a file with both tags, or a manifest STUDY.toml"),
    positional("systems", "PRED", "what is masked: a file, or name=file", nargs="*"),
    OptionGroup("what to compute", options_of("leaks")),
    MANIFEST,
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

    most = points_by_name(args.max_leak, "--max-leak", "PERSON=0.5", "2 for all mentions")
    if args.gate is not None:
        from spanwise.slices.index import read_gate

        limited = read_gate(args.gate).leak
        if not limited:
            raise ChoiceError(f"{args.gate} limits no leaks.\nWrite [leak] with PERSON = 0.5 below it.")
        for label, points in limited.items():
            most.setdefault(label, points)
    if args.floor_bound and not most:
        raise ChoiceError("--floor-bound needs a limit.\nAdd one, such as --max-leak PERSON=0.5.")
    if is_manifest(args):
        given = {"buckets": buckets_of(args)} if args.buckets else {}
        document = over_manifest(args, "leaks", leaks, **reading_of(args), **given)
    else:
        document = compared(args, leaks, runs=True)

    def labels(own: Leaks) -> Iterator[str]:
        return (label for system in own.systems.values() for label in system.labels)

    return held(args, document, most, labels, check_limits)


COMMANDS = {"leaks": Command(LEAKS, run_leaks, LEAKS_EXAMPLES)}
