"""Show the same predictions under every convention in use: which F1 it is, who reports it, why it differs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

SUMMARY = "show the same predictions under every convention in use"

EPILOG = """examples:
  spanwise explain gold.conll pred.conll
  spanwise explain merged.txt --json -"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise explain`."""
    from spanwise.cli.arguments import add_reading

    parser.add_argument(
        "gold", metavar="GOLD", help="gold annotation, or one file with gold and predicted tags"
    )
    parser.add_argument("predicted", metavar="PRED", nargs="?", help="predictions")
    parser.add_argument(
        "--align", choices=["strict", "position", "characters", "diff"], default="strict",
        help="how predictions are put on the gold text (default: strict)",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="write the rows as JSON (- for standard output)")
    parser.add_argument("--width", type=int, help="columns of the screen")
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """Explain, and show the table."""
    from spanwise.cli.arguments import reading_of
    from spanwise.explanation import explain

    explanation = explain(args.gold, args.predicted, align=args.align, **reading_of(args))
    document = explanation.to_dict()
    if args.json:
        import json

        text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
        if args.json == "-":
            sys.stdout.write(text)
            return 0
        from spanwise.formats import write_atomically

        write_atomically(args.json, text)
    _show(document, args.width)
    return 0


def _show(document: dict[str, Any], width: int | None) -> None:
    import shutil
    from textwrap import wrap

    width = max(width or shutil.get_terminal_size((100, 24)).columns, 80)
    name = max(len(row["name"]) for row in document["rows"])
    lines = [f"{'convention':<{name}}      P      R     F1  change", ""]
    for row in document["rows"]:
        numbers = " ".join(f"{_points(row[key]):>6}" for key in ("precision", "recall", "f1"))
        change = "" if row is document["rows"][0] else _points(row["difference"], signed=True)
        lines.append(f"{row['name']:<{name}} {numbers} {change:>7}")
        told = f"{row['tools']}: {row['why']}."
        lines += [f"    {line}" for line in wrap(told, width - 4)]
    sys.stdout.write("\n".join(lines) + "\n")


def _points(value: float | None, *, signed: bool = False) -> str:
    if value is None:
        return "n/a"
    return f"{100 * value:+.2f}" if signed else f"{100 * value:.2f}"
