"""The command `demo`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.cli.arguments import Arguments, Command, Either, named, positional, screen, show
from spanwise.settings import Setting
from spanwise.streams import write_message

if TYPE_CHECKING:
    from spanwise.demo import Demo, PlantedWeakness
    from spanwise.document import Document


EXAMPLES = """examples:
  spanwise demo
  spanwise demo corpus --nested
  spanwise demo facts --tuples
  spanwise demo large --sentences 2000000 --only-files"""


_ARGUMENTS = Arguments(
    positional("folder", "DIR", "where to put the files", nargs="?", default="spanwise-demo"),
    Setting("sentences", "number of test sentences, or of documents with --tuples (default: 1000)", 1000),
    Either("", {
        "nested": "include mentions inside mentions (as JSONL)",
        "tuples": "relations between mentions, and two systems",
    }),
    named("seed", help="random seed of the corpus and the systems (default: 0)"),
    Setting("only_files", "write the files without evaluating them", False),
    screen(),
)  # fmt: skip


def run_demo(args: argparse.Namespace) -> int:
    """Make a small corpus with three flawed systems, evaluate them, and show whether the planted flaws are
    found.

    The corpus has a training part, documents, names that are both place and team, long and unseen mentions.
    The systems score about the same for three different reasons.
    """
    if args.tuples:
        return _run_demo_of_tuples(args)
    from spanwise.demo import generate, verdicts

    demo = generate(args.folder, sentences=args.sentences, nested=args.nested, seed=args.seed)
    if args.only_files:
        _list_files(demo)
        return 0
    from spanwise.evaluation import evaluate

    gold, train, *systems = (
        shlex.quote(str(path)) for path in (demo.gold, demo.train, *demo.systems.values())
    )
    parts = [f"spanwise evaluate {gold}", *systems, f"--train {train}"]
    command = " ".join(parts)
    result = evaluate(demo.gold, dict(demo.systems), train=demo.train, name="demo", command=command)
    show(result, saved=_save(demo, result), args=args)
    by_hand = " \\\n    ".join(parts)
    sys.stdout.write(
        "\n".join(_verdict_lines(verdicts(result))) + f"\n\n To run this evaluation yourself:\n  {by_hand}\n"
    )
    return 0


def _run_demo_of_tuples(args: argparse.Namespace) -> int:
    """Make relations and two flawed systems, score them, and show whether the planted flaws are found."""
    from spanwise.demo.tuples import UNDIRECTED, generate_tuples, tuple_verdicts
    from spanwise.relations import tuples
    from spanwise.views.tuples import ATTRIBUTES

    demo = generate_tuples(args.folder, documents=args.sentences, seed=args.seed)
    if args.only_files:
        _list_files(demo)
        return 0
    gold, train, *systems = (
        shlex.quote(str(path)) for path in (demo.gold, demo.train, *demo.systems.values())
    )
    parts = [f"spanwise tuples {gold}", *systems, f"--train {train} --undirected {UNDIRECTED}"]
    document = tuples(
        demo.gold, dict(demo.systems), train=demo.train, undirected=[UNDIRECTED], command=" ".join(parts)
    )
    show(document, saved=_save(demo, document), args=args)
    lines = ["\n Planted and found"]
    for verdict in tuple_verdicts(document):
        lines.append(f"  {verdict.system}\n    planted    {verdict.weakness}")
        part = verdict.part
        where = (
            "no part" if part is None else f"{ATTRIBUTES.get(part.attribute, part.attribute)}: {part.value}"
        )
        score = "" if part is None else f", F1 {100 * (part.f1 or 0.0):.1f}, p = {part.p:.3f}"
        lines.append(f"    {'found' if verdict.found else 'NOT found':11}it is weakest in {where}{score}")
    by_hand = " \\\n    ".join(parts)
    sys.stdout.write("\n".join(lines) + f"\n\n To run this evaluation yourself:\n  {by_hand}\n")
    return 0


def _list_files(demo: Demo) -> None:
    sys.stdout.write("\n".join(str(path) for path in (demo.train, demo.gold, *demo.systems.values())) + "\n")


def _save(demo: Demo, result: Document) -> list[str]:
    from spanwise.errors import MissingExtra

    folder = Path(demo.gold).parent
    saved = [str(folder / "result.json")]
    result.to_json(saved[0])
    try:
        result.to_html(folder / "report.html")
        saved.append(str(folder / "report.html"))
    except MissingExtra as error:
        write_message(f"spanwise: {error}")
    return saved


_KINDS = {
    "LE": "wrong labels",
    "BE": "wrong boundaries",
    "LBE": "wrong labels and boundaries",
    "FN": "missed mentions",
    "FP": "spurious mentions",
}


def _verdict_lines(verdicts: list[PlantedWeakness]) -> Iterator[str]:
    from spanwise.views.wording import SCORES, slice_title

    outcomes = ["found" if verdict.found else "NOT found" for verdict in verdicts]
    width = max(map(len, ("planted", *outcomes))) + 2
    yield "\n Planted and found"
    for verdict, outcome in zip(verdicts, outcomes, strict=True):
        yield f"  {verdict.system}"
        yield f"    {'planted':{width}}{verdict.weakness}"
        kind, gain = verdict.gain
        evidence = [f"fixing {_KINDS[kind]} would add most, {100 * gain:.1f} points of F1"]
        if verdict.slice is not None:
            row = verdict.slice
            title, score = slice_title(row.kind, row.name, row.title), SCORES[row.score]
            evidence.append(f"the costliest slice is: {title}, {score} {100 * (row.value or 0.0):.1f}")
        if kind == "LE" and verdict.confused:
            pairs = ", ".join(f"{gold}→{predicted} {count}" for gold, predicted, count in verdict.confused)
            evidence.append(f"the labels confused most are {pairs}")
        for number, line in enumerate(evidence):
            yield f"    {'' if number else outcome:{width}}{line}"


DEMO = Command(_ARGUMENTS, run_demo, EXAMPLES)
