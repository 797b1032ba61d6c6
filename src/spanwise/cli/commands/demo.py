"""Make a small corpus with three flawed systems, evaluate them and tell what was planted and what was found.

The corpus has a training part, documents, names that are both place and team, long and unseen mentions.
The systems score about the same for three different reasons.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.streams import say

if TYPE_CHECKING:
    from spanwise.demo import Demo, Verdict
    from spanwise.evaluation import Result

EPILOG = """examples:
  spanwise demo
  spanwise demo corpus --nested
  spanwise demo large --sentences 2000000 --only-files"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise demo`."""
    from spanwise.cli.arguments import add_screen

    parser.add_argument(
        "folder", metavar="DIR", nargs="?", default="spanwise-demo", help="where to put the files"
    )
    parser.add_argument("--sentences", type=int, default=1000, help="test sentences (default: 1000)")
    parser.add_argument("--nested", action="store_true", help="with mentions inside mentions, as JSONL")
    parser.add_argument("--seed", type=int, default=0, help="of the corpus and the systems (default: 0)")
    parser.add_argument("--only-files", action="store_true", help="write the files and evaluate nothing")
    add_screen(parser)


def run(args: argparse.Namespace) -> int:
    """Generate, evaluate, show, and compare what was planted with what was found."""
    from spanwise.demo import generate, verdicts

    demo = generate(args.folder, sentences=args.sentences, nested=args.nested, seed=args.seed)
    if args.only_files:
        sys.stdout.write(
            "\n".join(str(path) for path in (demo.train, demo.gold, *demo.systems.values())) + "\n"
        )
        return 0
    from spanwise.cli.showing import show
    from spanwise.evaluation import evaluate

    gold, train, *systems = (
        shlex.quote(str(path)) for path in (demo.gold, demo.train, *demo.systems.values())
    )
    parts = [f"spanwise evaluate {gold}", *systems, f"--train {train}"]
    command = " ".join(parts)
    result = evaluate(demo.gold, dict(demo.systems), train=demo.train, name="demo", command=command)
    show(result, saved=_save(demo, result), args=args)
    by_hand = " \\\n    ".join(parts)
    sys.stdout.write("\n".join(_told(verdicts(result))) + f"\n\n The same by hand:\n  {by_hand}\n")
    return 0


def _save(demo: Demo, result: Result) -> list[str]:
    from spanwise.errors import MissingExtra

    folder = Path(demo.gold).parent
    saved = [str(folder / "result.json")]
    result.to_json(saved[0])
    try:
        result.to_html(folder / "report.html")
        saved.append(str(folder / "report.html"))
    except MissingExtra as error:
        say(f"spanwise: {error}")
    return saved


_KINDS = {
    "LE": "wrong labels",
    "BE": "wrong boundaries",
    "LBE": "wrong labels and boundaries",
    "FN": "missed mentions",
    "FP": "spurious mentions",
}


def _told(found: list[Verdict]) -> Iterator[str]:
    from spanwise.reports._wording import SCORES, slice_title

    yield "\n Planted and found"
    for verdict in found:
        yield f"  {verdict.system}"
        yield f"    planted  {verdict.weakness}"
        kind, gain = verdict.gain
        evidence = [f"fixing {_KINDS[kind]} would add most, {100 * gain:.1f} points of F1"]
        if verdict.slice is not None:
            row = verdict.slice
            title, score = slice_title(row.kind, row.name, row.title), SCORES[row.score]
            evidence.append(f"the costliest slice is: {title}, {score} {100 * (row.value or 0.0):.1f}")
        if kind == "LE" and verdict.confused:
            pairs = ", ".join(f"{gold}→{predicted} {count}" for gold, predicted, count in verdict.confused)
            evidence.append(f"the labels confused most are {pairs}")
        yield f"    {'found' if verdict.found else 'NOT found'}    " + "\n             ".join(evidence)
