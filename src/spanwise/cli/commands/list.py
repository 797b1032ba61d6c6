"""List the names of what there is: formats, schemes, attributes, bucketings, matchers, weights."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any

KINDS = {
    "formats": "formats:FORMATS",
    "schemes": "schemes:SCHEMES",
    "attributes": "attributes:ATTRIBUTES",
    "bucketings": "buckets:BUCKETINGS",
    "matchers": "matching:MATCHERS",
    "weights": "credits:CREDITS",
    "reports": "reports:REPORTS",
}

EPILOG = """examples:
  spanwise list attributes
  spanwise list formats --json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `spanwise list`."""
    parser.add_argument("kind", metavar="KIND", nargs="?", help="one of: " + ", ".join(KINDS))
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    """Print one kind of names, or the kinds."""
    from spanwise.errors import unknown
    from spanwise.registry import reach

    if args.kind is None:
        sys.stdout.write("\n".join(KINDS) + "\n")
        return 0
    if args.kind not in KINDS:
        raise unknown("kind", args.kind, KINDS)
    known = reach(KINDS[args.kind])
    rows = [_row(known, value) for value in known]
    if args.json:
        import json

        sys.stdout.write(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(_text(rows))
    return 0


def _row(known: Any, value: Any) -> dict[str, Any]:
    row = {"name": value.name, "summary": value.summary, "aliases": known.aliases(value.name)}
    for key in ("unit", "buckets", "source"):
        if getattr(value, key, ""):
            row[key] = str(getattr(value, key))
    if getattr(value, "needs", None):
        row["needs"] = sorted(value.needs)
    if hasattr(value, "write"):
        row["writes"] = value.write is not None
    return row


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
        about += ["read and written" if row["writes"] else "read"] if "writes" in row else []
        if about:
            lines += textwrap.wrap("; ".join(about), 76, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines) + "\n"
