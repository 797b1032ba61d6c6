"""Hostile inputs for Spark: folders of damaged files and frames with unusual rows, in one session."""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import spanwise
from fuzz import seeds
from fuzz.inputs import _bytes, _damaged, _damaged_json
from spanwise.errors import SpanwiseError

KINDS = ("conll", "jsonl", "parquet", "frame")
ODD_TOKENS: tuple[list[str | None] | None, ...] = (
    None,
    [],
    ["a", None],
    ["a", "b", "c"],
    ["\x00"],
    ["\ud7ff", " "],
    ["x" * 5000],
)
ODD_TAGS: tuple[list[str | None] | None, ...] = (
    None,
    [],
    ["O", None],
    ["B-PER"],
    ["I-PER", "I-LOC"],
    ["B-", "-PER"],
    ["PER", "7"],
    ["B-\x1b[2J", "O"],
)
ODD_DOCUMENTS = (None, "", "a", "b", "a\nb")


def run(inputs: int, first: int, session: Any) -> list[str]:
    """The failures among so many inputs, one line each."""
    failures = []
    for number in range(first, first + inputs):
        with tempfile.TemporaryDirectory() as folder:
            wrong = attempt(number, Path(folder), session)
        if wrong is not None:
            failures.append(f"input {number}: {wrong}")
            sys.stdout.write(f"{failures[-1]}\n")
    return failures


def attempt(number: int, folder: Path, session: Any) -> str | None:
    """What went wrong when Spark read an input, or None."""
    from spanwise.engines.spark import SparkEngine

    draw = random.Random(f"lake {number}")
    kind = KINDS[number % len(KINDS)]
    options: dict[str, Any] = {"engine": SparkEngine(session, draw.choice([1, 3])), "resamples": 0}
    began = time.monotonic()
    try:
        if kind == "frame":
            frame = _frame(draw, session)
            document = "document" if draw.random() < 0.5 else None
            spanwise.evaluate(
                frame, gold="tags", systems={"a": "predicted"}, tokens="tokens", document=document, **options
            ).to_json()
        else:
            gold, predicted = _folders(draw, folder, kind)
            spanwise.evaluate(gold, {"a": predicted}, **options).to_json()
    except SpanwiseError:
        pass
    except Exception as error:
        return f"{kind}: {type(error).__name__}: {str(error).strip()[:300]}"
    took = time.monotonic() - began
    return f"{kind}: took {took:.0f} s" if took > 60 else None


def _folders(draw: random.Random, folder: Path, kind: str) -> tuple[str, str]:
    """Folders of gold and predictions with two files each; files in one or both folders are damaged."""
    gold, predicted = folder / "gold", folder / "predicted"
    gold.mkdir()
    form = draw.choice(["jsonl-tags", "jsonl-spans"]) if kind == "jsonl" else kind
    data = seeds.parquet_file() if kind == "parquet" else seeds.TEXTS[form][1].encode()
    damage = {"conll": _damaged, "jsonl": _damaged_json, "parquet": _bytes}[kind]
    for part in ("1", "2"):
        (gold / f"part-{part}.{kind}").write_bytes(data)
    shutil.copytree(gold, predicted)
    for side in draw.sample([gold, predicted], k=draw.choice([1, 1, 2])):
        (side / f"part-{draw.choice('12')}.{kind}").write_bytes(damage(draw, data))
    return str(gold), str(predicted)


def _frame(draw: random.Random, session: Any) -> Any:
    """A frame of a few sentences, some of whose cells are unusual."""
    rows: list[tuple[Any, ...]] = [
        (["Ann", "left"], ["B-PER", "O"], ["B-PER", "O"], "a") for _ in range(draw.randrange(1, 6))
    ]
    for _ in range(draw.choice([0, 1, 1, 2])):
        at, column = draw.randrange(len(rows)), draw.randrange(4)
        odd = (ODD_TOKENS, ODD_TAGS, ODD_TAGS, ODD_DOCUMENTS)[column]
        rows[at] = (*rows[at][:column], draw.choice(odd), *rows[at][column + 1 :])
    lists = draw.choice(["array<string>", "array<string>", "array<string>", "string"])
    if lists == "string":
        rows = [
            tuple(" ".join(map(str, cell)) if isinstance(cell, list) else cell for cell in row)
            for row in rows
        ]
    schema = f"tokens {lists}, tags {lists}, predicted {lists}, document string"
    return session.createDataFrame(rows, schema)
