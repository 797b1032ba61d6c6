"""Commands to get to know spanwise: `demo`, `list` and `cite`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanwise.cli.arguments import Arguments, Command, Either, named, positional, screen, show
from spanwise.settings import Setting
from spanwise.streams import write_message

if TYPE_CHECKING:
    from spanwise.demo import Demo, PlantedWeakness
    from spanwise.document import Document
    from spanwise.registry import Named, Registry


DEMO_EXAMPLES = """examples:
  spanwise demo
  spanwise demo corpus --nested
  spanwise demo facts --tuples
  spanwise demo large --sentences 2000000 --only-files"""


DEMO = Arguments(
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


KINDS = {
    "formats": "formats:FORMATS",
    "schemes": "schemes:SCHEMES",
    "attributes": "attributes:ATTRIBUTES",
    "bucketings": "buckets:BUCKETINGS",
    "matchers": "matching:MATCHERS",
    "weights": "credits:CREDITS",
    "reports": "reports:REPORTS",
}

LIST_EXAMPLES = """examples:
  spanwise list attributes
  spanwise list formats --json"""


LIST = Arguments(
    positional("kind", "KIND", "one of: " + ", ".join(KINDS), nargs="?"),
    Setting("json", "print JSON", False),
)


def run_list(args: argparse.Namespace) -> int:
    """List the available formats, schemes, attributes, bucketings, matchers, weights and reports."""
    from spanwise.errors import unknown
    from spanwise.registry import resolve

    if args.kind is None:
        sys.stdout.write("\n".join(KINDS) + "\n")
        return 0
    if args.kind not in KINDS:
        raise unknown("kind", args.kind, KINDS)
    registry = resolve(KINDS[args.kind])
    rows = [_row(registry, value) for value in registry]
    if args.json:
        import json

        sys.stdout.write(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(_text(rows))
    return 0


def _row(registry: Registry[Named], value: Named) -> dict[str, object]:
    row: dict[str, object] = {"name": value.name, "summary": value.summary}
    row["aliases"] = registry.aliases(value.name)
    for key in ("unit", "buckets", "source"):
        if getattr(value, key, ""):
            row[key] = str(getattr(value, key))
    if needs := getattr(value, "needs", None):
        row["needs"] = sorted(needs)
    if hasattr(value, "write"):
        row["writes"] = any(getattr(value, name, None) is not None for name in ("write", "write_folder"))
        row["writes_scores"] = getattr(value, "keeps_scores", False)
    if holds := getattr(value, "holds", None):
        row["holds"] = [aspect for aspect in _aspects() if aspect in holds]
    return row


def _aspects() -> Iterable[str]:
    """What a format may hold, in the order in which it is listed."""
    from spanwise.formats.holding import ASPECTS

    return ASPECTS


def _text(rows: Iterable[dict[str, Any]]) -> str:
    import textwrap

    lines = []
    for row in rows:
        aliases = f"  (also {', '.join(row['aliases'])})" if row["aliases"] else ""
        lines.append(f"{row['name']}{aliases}")
        lines += textwrap.wrap(row["summary"], 76, initial_indent="    ", subsequent_indent="    ")
        about = [f"unit: {row['unit']}"] if "unit" in row else []
        about += [f"needs: {', '.join(row['needs'])}"] if "needs" in row else []
        about += [f"buckets: {row['buckets']}"] if "buckets" in row else []
        about += [f"source: {row['source']}"] if "source" in row else []
        if "writes" in row:
            also = ", with --scores also scores" if row["writes_scores"] else ""
            about.append(f"read and written{also}" if row["writes"] else "read only")
        about += [f"holds {', '.join(row['holds'])}"] if "holds" in row else []
        if about:
            lines += textwrap.wrap("; ".join(about), 76, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"


CITE_EXAMPLES = """examples:
  spanwise cite
  spanwise cite --bibtex > spanwise.bib
  spanwise cite tu2021tmr --bibtex"""


CITE = Arguments(
    positional("names", "PAPER", "the papers to print (default: all)", nargs="*"),
    Setting("bibtex", "print BibTeX entries", False),
)


def run_cite(args: argparse.Namespace) -> int:
    """Print the papers behind the numbers, to be cited along with them."""
    from spanwise.citations import find

    chosen = find(args.names)
    if args.bibtex:
        sys.stdout.write("\n\n".join(citation.bibtex for citation in chosen) + "\n")
        return 0
    import textwrap

    from spanwise.reports.terminal import screen_width

    width = min(96, screen_width())
    for citation in chosen:
        sys.stdout.write(f"{citation.name}: {citation.summary}\n")
        lines = textwrap.wrap(citation.text, width, initial_indent="    ", subsequent_indent="    ")
        sys.stdout.write("\n".join(lines) + "\n")
    return 0


COMMANDS = {
    "demo": Command(DEMO, run_demo, DEMO_EXAMPLES),
    "list": Command(LIST, run_list, LIST_EXAMPLES),
    "cite": Command(CITE, run_cite, CITE_EXAMPLES),
}
