"""A small study on disk: generated sentences, systems with known error rates, and a manifest."""

from __future__ import annotations

import random
from pathlib import Path

NAMES = ["Ada", "Bo", "Cy", "Dee", "Eve", "Fay", "Gus", "Hal", "Ida", "Jo", "Kay", "Lee"]
WORDS = ["walks", "to", "the", "old", "town", "and", "sings", "at", "noon", "with", "friends", "again"]
LABELS = ["PER", "LOC", "ORG"]


def sentences(count: int, seed: int) -> list[list[tuple[str, str]]]:
    """Sentences of (token, IOB2 tag) with one or two mentions each."""
    draw = random.Random(seed)
    result = []
    for _ in range(count):
        rows: list[tuple[str, str]] = []
        for _ in range(draw.choice([1, 2])):
            rows += [(draw.choice(WORDS), "O") for _ in range(draw.randint(1, 4))]
            label = draw.choice(LABELS)
            for position in range(draw.choice([1, 1, 2, 3, 4])):
                rows.append((draw.choice(NAMES), f"{'I' if position else 'B'}-{label}"))
            rows.append((draw.choice(WORDS), "O"))
        result.append(rows)
    return result


def predicted(gold: list[list[tuple[str, str]]], rate: float, seed: int) -> list[list[tuple[str, str]]]:
    """The gold tags with mentions dropped or relabelled at this rate."""
    draw = random.Random(seed)
    result = []
    for rows in gold:
        changed, now = [], ""
        for token, tag in rows:
            if tag.startswith("B-"):
                now = draw.choice(["O", *LABELS]) if draw.random() < rate else tag[2:]
            changed.append((token, tag if tag == "O" else "O" if now == "O" else f"{tag[0]}-{now}"))
        result.append(changed)
    return result


def write(path: Path, rows: list[list[tuple[str, str]]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join("".join(f"{token} {tag}\n" for token, tag in sentence) for sentence in rows)
    path.write_text(text, encoding="utf-8")


MANIFEST = """predictions = "{dataset}/predictions/{system}.{run}.txt"
attributes = "fu20"
resamples = 50

[datasets.north]
train = "north/train.txt"
test = "north/test.txt"

[datasets.south]
train = "south/train.txt"
test = "south/test.txt"

[systems.large]
factors = {size = 300}

[systems.small]
factors = {size = 100}

[systems.rules]
factors = {size = 200}
"""


def make(folder: Path, *, runs: tuple[str, ...] = ("1", "2", "3"), count: int = 60) -> Path:
    """Write two datasets and the runs of three systems; return the path of the manifest."""
    for at, dataset in enumerate(("north", "south")):
        write(folder / dataset / "train.txt", sentences(2 * count, 100 + at))
        gold = sentences(count, at)
        write(folder / dataset / "test.txt", gold)
        for system, rate in (("large", 0.1), ("small", 0.3), ("rules", 0.5)):
            for run in runs:
                seed = hash_of(dataset, system, run)
                write(folder / dataset / "predictions" / f"{system}.{run}.txt", predicted(gold, rate, seed))
    manifest = folder / "study.toml"
    manifest.write_text(MANIFEST, encoding="utf-8")
    return manifest


def hash_of(*parts: str) -> int:
    """A seed that is the same in every process."""
    return sum((at + 1) * ord(letter) for at, letter in enumerate("/".join(parts)))
