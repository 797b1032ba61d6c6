"""Commands to get to know spanwise: `list` and `cite`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from spanwise.cli.arguments import Arguments, Command, positional
from spanwise.settings import Setting

if TYPE_CHECKING:
    from spanwise.registry import Named, Registry


KINDS = {
    "formats": "formats:FORMATS",
    "schemes": "schemes:SCHEMES",
    "attributes": "attributes:ATTRIBUTES",
    "bucketings": "buckets:BUCKETINGS",
    "matchers": "matching:MATCHERS",
    "weights": "credits:CREDITS",
    "scores": "rates:SCORES",
    "sections": "views.added:SECTIONS",
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
    """List the available formats, schemes, attributes, bucketings, scores and other names."""
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
    "list": Command(LIST, run_list, LIST_EXAMPLES),
    "cite": Command(CITE, run_cite, CITE_EXAMPLES),
}
