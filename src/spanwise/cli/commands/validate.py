"""List every malformed line and every impossible tag of files, with what to do about each."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from spanwise.cli.arguments import add_reading, reading_of
from spanwise.streams import message, put

if TYPE_CHECKING:
    from spanwise.formats import Validation

EPILOG = """examples:
  spanwise validate gold.conll pred.conll
  spanwise validate old.conll --scheme IOB1 --most 20

exit status: 0 nothing is wrong; 1 tags are impossible, which reading repairs; 3 a file cannot be read"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise validate`."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="the files to check")
    parser.add_argument("--most", metavar="N", type=int, help="list at most N problems a file")
    parser.add_argument("--json", action="store_true", help="as JSON, a line for each problem")
    add_reading(parser)


def run(args: argparse.Namespace) -> int:
    """List the problems of each file, then a summary of it."""
    from spanwise.formats import validate

    reading = reading_of(args)
    status = 0
    for path in args.files:
        found = validate(path, **reading)
        _show(found, most=args.most, as_json=args.json)
        if any(not problem.repairable for problem in found.problems):
            status = 3
        elif found.problems:
            status = max(status, 1)
    return status


def _show(found: Validation, *, most: int | None, as_json: bool) -> None:
    listed = found.problems if most is None else found.problems[: max(most, 0)]
    if as_json:
        import json

        for problem in listed:
            row: dict[str, Any] = {"path": found.path, "line": problem.line, "text": problem.text}
            row["repairable"] = problem.repairable
            put(json.dumps(row, ensure_ascii=False) + "\n")
        return
    for problem in listed:
        place = found.path if problem.line is None else f"{found.path}:{problem.line}"
        named = problem.text.startswith(f"{found.path}:")
        _line(problem.text if named else f"{place}: {problem.text}")
    if len(listed) < len(found.problems):
        _line(f"{found.path}: {len(found.problems) - len(listed):,} more are not shown")
    _line(f"{found.path}: {_summary(found)}")


def _line(text: str) -> None:
    sys.stdout.write(f"{message(text)}\n")


def _summary(found: Validation) -> str:
    malformed = sum(not problem.repairable for problem in found.problems)
    impossible = len(found.problems) - malformed
    parts = []
    if found.annotation is not None:
        annotation = found.annotation
        parts.append(f"{annotation.reading.format}, {annotation.reading.evidence}")
        parts.append(f"{len(annotation.corpus):,} sentences, {len(annotation.mentions):,} mentions")
        parts += annotation.reading.notes
    if malformed:
        parts.append(f"{malformed:,} malformed, so the file cannot be used as it is")
    if impossible:
        parts.append(f"{impossible:,} impossible tags, which reading repairs")
    return "; ".join(parts) + ("" if found.problems else "; nothing is wrong")
