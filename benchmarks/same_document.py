"""Compare two result documents and print the differences, ignoring order, schema number and version.

    python -m benchmarks.same_document before.json after.json

The exit status is 0 if nothing differs and 1 otherwise.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

IGNORED = ("spanwise", "schema")  # top-level keys
# Lists of named items, whose order does not matter.
NAMED = ("path", "systems", "role", "system", "name", "id")
PLANES = "planes:"  # numbers packed in byte planes, lowest bytes first
VERSION = re.compile(r"\|v:[^|]*")


def differences(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """One line per difference between two documents."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            inner = f"{path}/{key}"
            if key not in after:
                yield f"{inner}: only before ({_short(before[key])})"
            elif key not in before:
                yield f"{inner}: only after ({_short(after[key])})"
            else:
                yield from differences(before[key], after[key], inner)
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{path}: {len(before)} items before, {len(after)} after"
            return
        for index, (first, second) in enumerate(zip(_ordered(before), _ordered(after), strict=True)):
            yield from differences(first, second, f"{path}[{index}]")
    elif before != after and _opened(before) != _opened(after):
        yield f"{path}: {_short(before)} before, {_short(after)} after"


def _ordered(items: list[Any]) -> list[Any]:
    """The items sorted by name, if all of them have one."""
    if not items or not all(isinstance(item, dict) for item in items):
        return items
    keys = [json.dumps([item.get(name) for name in NAMED], sort_keys=True) for item in items]
    if len(set(keys)) < len(keys):
        return items
    return [item for _, item in sorted(zip(keys, items, strict=True), key=lambda pair: pair[0])]


def _opened(value: Any) -> Any:
    """Packed counts of units as numbers, however they were packed; anything else unchanged."""
    if not isinstance(value, str) or len(value) < 8:
        return value
    planes = value.startswith(PLANES)
    try:
        data = zlib.decompress(base64.b64decode(value.removeprefix(PLANES), validate=True))
    except (ValueError, zlib.error):
        return value
    return np.frombuffer(data, np.uint8).reshape(4, -1).T.tobytes() if planes else data


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 80 else f"{text[:77]}…"


def without_head(document: dict[str, Any]) -> dict[str, Any]:
    """The document without the keys that change with every version."""
    kept = {key: value for key, value in document.items() if key not in IGNORED}
    if isinstance(kept.get("signature"), str):
        kept["signature"] = VERSION.sub("", kept["signature"])
    return kept


def main() -> int:
    """Compare the two files named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--ignore", action="append", default=[], help="a key at the top to leave out")
    parser.add_argument("--most", type=int, default=20, help="how many differences to print (default: 20)")
    args = parser.parse_args()

    def kept(path: str) -> dict[str, Any]:
        document = without_head(json.loads(Path(path).read_text("utf-8")))
        return {key: value for key, value in document.items() if key not in args.ignore}

    lines = list(differences(kept(args.before), kept(args.after)))
    for line in lines[: args.most]:
        sys.stdout.write(f"{line}\n")
    more = f" ({len(lines) - args.most} not shown)" if len(lines) > args.most else ""
    sys.stdout.write(f"{len(lines)} differences{more}\n")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
