"""Count planted errors that `spanwise suspects` finds: `python -m benchmarks.injection DATA [-o FILE.md]`.

3 % of the mentions of a real test set are changed: relabelled, moved at one boundary, removed, or added in
free text. The systems that come with the data vote. Precision among the first 100 and recall among the first
300 are means over all orders of ties and over several draws; existing errors in the data count as misses, so
precision is a lower bound. For comparison: choosing at random, and the token rule of cleanlab on shares of
votes, if it is installed.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

import spanwise
from spanwise.alignment import align
from spanwise.corpus import Annotation, Mentions

KINDS = ("label", "boundary", "missing", "spurious")
SHARE = 0.03
FIRST, DEPTH = 100, 300
DRAWS = 10

Row = tuple[int, int, int, str]
Place = tuple[int, int, int]  # sentence, start, end of a span to check


class Planted(Struct, frozen=True):
    """A planted error: its kind, its span, and whether gold now has a mention there."""

    kind: str
    place: Place
    marked: bool


class Dataset(Struct, frozen=True, eq=False):
    """A test set with aligned voters and training data."""

    name: str
    gold: Annotation
    train: Annotation
    voters: dict[str, list[Annotation]]


def datasets(data: Path) -> Iterator[Dataset]:
    """MasakhaNER with four systems of three runs each, and WNUT-17 with seven submissions."""
    for language in ("ewe", "kin", "pcm"):
        folder = data / "masakhaner" / language
        voters: dict[str, list[Path]] = defaultdict(list)
        for path in sorted((folder / "predictions").iterdir()):
            voters[path.name.split(".")[0]].append(path)
        yield _dataset(f"masakhaner {language}", folder / "test.txt", folder / "train.txt", voters)
    folder = data / "wnut17"
    voters = {path.stem: [path] for path in sorted((folder / "predictions").iterdir())}
    yield _dataset("wnut17", folder / "test.conll", folder / "train.conll", voters)


def _dataset(name: str, gold: Path, train: Path, voters: dict[str, list[Path]]) -> Dataset:
    whole = spanwise.read(gold)
    aligned = {
        system: [_on(whole, spanwise.read(path, prefer=whole.reading.scheme)) for path in paths]
        for system, paths in voters.items()
    }
    return Dataset(name, whole, spanwise.read(train), aligned)


def _on(gold: Annotation, predicted: Annotation) -> Annotation:
    mentions = align(gold, predicted, how="diff").mentions
    placed = mentions.take(np.flatnonzero(mentions.placed))
    return replace(predicted, corpus=gold.corpus, mentions=placed)


def plant(gold: Annotation, seed: int) -> tuple[Annotation, list[Planted]]:
    """The gold data with planted errors, equally many of each kind."""
    draw = random.Random(seed)
    rows = gold.mentions.rows()
    labels = sorted({row[3] for row in rows})
    number = max(round(SHARE * len(rows)), len(KINDS))
    chosen = draw.sample(range(len(rows)), len(rows))
    kept: list[Row | None] = list(rows)
    added: list[Row] = []
    planted: list[Planted] = []
    covered = {(row[0], at) for row in rows for at in range(row[1], row[2])}
    for turn in range(number):
        kind = KINDS[turn % len(KINDS)]
        while True:
            if kind == "spurious":
                spot = _free(gold, draw, covered)
                row = (*spot, draw.choice(labels))
                covered |= {(row[0], at) for at in range(row[1], row[2])}
                added.append(row)
                planted.append(Planted(kind, row[:3], True))
                break
            at = chosen.pop()
            row = rows[at]
            if kind == "missing":
                kept[at] = None
                planted.append(Planted(kind, row[:3], False))
                break
            new = _renamed(row, labels, draw) if kind == "label" else _moved(row, gold, covered, draw)
            if new is not None:
                kept[at] = new
                covered |= {(new[0], token) for token in range(new[1], new[2])}
                planted.append(Planted(kind, new[:3], True))
                break
    mentions = Mentions.of([*(row for row in kept if row is not None), *added], labels=labels)
    return replace(gold, mentions=mentions), planted


def _renamed(row: Row, labels: Sequence[str], draw: random.Random) -> Row:
    return (*row[:3], draw.choice([label for label in labels if label != row[3]]))


def _moved(row: Row, gold: Annotation, covered: set[tuple[int, int]], draw: random.Random) -> Row | None:
    """The mention with one boundary moved by a token, outwards or inwards; None if there is no room."""
    sentence, start, end, label = row
    size = int(gold.corpus.lengths[sentence])
    options = []
    if end - start > 1:
        options += [(start + 1, end), (start, end - 1)]
    if start > 0 and (sentence, start - 1) not in covered:
        options.append((start - 1, end))
    if end < size and (sentence, end) not in covered:
        options.append((start, end + 1))
    return (sentence, *draw.choice(options), label) if options else None


def _free(gold: Annotation, draw: random.Random, covered: set[tuple[int, int]]) -> Place:
    """A span of one or two tokens outside all mentions."""
    while True:
        sentence = draw.randrange(len(gold.corpus))
        size = int(gold.corpus.lengths[sentence])
        start = draw.randrange(size)
        end = min(start + draw.choice((1, 1, 2)), size)
        if all((sentence, at) not in covered for at in range(start, end)):
            return sentence, start, end


def hit(span: Place, marked: bool, planted: Sequence[Planted]) -> int | None:
    """The index of the planted error at a span: the same mention, or any overlap if gold has none there."""
    for number, error in enumerate(planted):
        same = span == error.place if error.marked else _overlap(span, error.place)
        if same and marked == error.marked:
            return number
    return None


def _overlap(first: Place, second: Place) -> bool:
    return first[0] == second[0] and first[1] < second[2] and second[1] < first[2]


def expected(scores: Sequence[float], hits: Sequence[int | None], first: int) -> dict[int, float]:
    """The probability of each planted error to be among the first, over all orders of ties."""
    result: dict[int, float] = defaultdict(float)
    at = 0
    while at < len(scores) and at < first:
        last = at
        while last < len(scores) and scores[last] == scores[at]:
            last += 1
        share = min(1.0, (first - at) / (last - at))
        for number in hits[at:last]:
            if number is not None:
                result[number] = min(1.0, result[number] + share)
        at = last
    return result


def by_sentence(planted: Sequence[Planted]) -> dict[int, list[tuple[int, Planted]]]:
    """The planted errors of each sentence, with their indices."""
    grouped: dict[int, list[tuple[int, Planted]]] = defaultdict(list)
    for number, error in enumerate(planted):
        grouped[error.place[0]].append((number, error))
    return grouped


def look(places: Sequence[tuple[Place, bool]], planted: Sequence[Planted]) -> list[int | None]:
    """For each span, the index of the planted error it points to."""
    grouped = by_sentence(planted)
    result: list[int | None] = []
    for span, marked in places:
        own = grouped.get(span[0], [])
        at = hit(span, marked, [error for _, error in own])
        result.append(None if at is None else own[at][0])
    return result


def ours(case: Dataset, gold: Annotation) -> tuple[list[tuple[Place, bool]], list[float]]:
    """The spans that `suspects` lists, with their scores."""
    document = spanwise.suspects(gold, case.voters, train=case.train, top=None)
    places = []
    for suspect in document.suspects:
        mention = suspect.gold or suspect.proposal
        assert mention is not None
        places.append(((suspect.sentence, mention.start, mention.end), suspect.gold is not None))
    return places, [round(suspect.score, 12) for suspect in document.suspects]


def cleanlab(case: Dataset, gold: Annotation) -> tuple[list[tuple[Place, bool]], list[float]] | None:
    """The spans of cleanlab's token rule: lowest probability of the given tag, here its share of votes."""
    try:
        from cleanlab.token_classification.rank import get_label_quality_scores
    except ImportError:
        return None
    labels = sorted(
        set(gold.mentions.labels).union(*(run.mentions.labels for own in case.voters.values() for run in own))
    )
    code = {label: number for number, label in enumerate(labels, start=1)}

    def tags(annotation: Annotation) -> np.ndarray:
        column = np.zeros(len(gold.corpus.tokens), dtype=np.int64)
        for sentence, start, end, label in annotation.mentions.rows():
            at = int(gold.corpus.sentences[sentence])
            column[at + start : at + end] = code[label]
        return column

    runs = [run for own in case.voters.values() for run in own]
    shares = np.zeros((len(gold.corpus.tokens), len(labels) + 1))
    for run in runs:
        shares[np.arange(len(shares)), tags(run)] += 1
    shares = (shares + 1e-3) / (len(runs) + 1e-3 * shares.shape[1])
    borders = gold.corpus.sentences[1:-1]
    given_tags = [part.tolist() for part in np.split(tags(gold), borders)]
    _, scores = get_label_quality_scores(given_tags, np.split(shares, borders))
    flat = np.concatenate([np.asarray(part, dtype=float) for part in scores])
    owner: dict[tuple[int, int], Place] = {}
    for sentence, start, end, _ in gold.mentions.rows():
        owner |= {(sentence, at): (sentence, start, end) for at in range(start, end)}
    best: dict[tuple[Place, bool], float] = {}
    for token in np.argsort(flat, kind="stable")[:20_000].tolist():
        sentence = int(np.searchsorted(gold.corpus.sentences, token, "right")) - 1
        at = token - int(gold.corpus.sentences[sentence])
        mention = owner.get((sentence, at))
        key = (mention, True) if mention else ((sentence, at, at + 1), False)
        best.setdefault(key, round(float(flat[token]), 9))
    return list(best), list(best.values())


class Line(Struct, frozen=True):
    """One row of the table: precision among the first, and recall by kind."""

    method: str
    precision: float
    recall: float
    kinds: dict[str, float]


def measure(case: Dataset) -> tuple[int, int, list[Line]]:
    """The numbers of gold mentions and planted errors, and the mean over draws of each method."""
    sums: dict[str, list[Line]] = defaultdict(list)
    number = 0
    for seed in range(DRAWS):
        gold, planted = plant(case.gold, seed)
        number = len(planted)
        by_method = {
            "suspects": ours(case, gold),
            "cleanlab, token rule on shares of votes": cleanlab(case, gold),
        }
        for method, listed in by_method.items():
            if listed is None:
                continue
            places, scores = listed
            hits = look(places, planted)
            first, deep = expected(scores, hits, FIRST), expected(scores, hits, DEPTH)
            sums[method].append(
                Line(
                    method,
                    sum(first.values()) / min(FIRST, max(len(places), 1)),
                    sum(deep.values()) / number,
                    {kind: _of_kind(kind, planted, deep) for kind in KINDS},
                )
            )
        # By chance: draw from all gold mentions, including those that were removed.
        whole = len(gold.mentions) + sum(error.kind == "missing" for error in planted)
        recall = min(1.0, DEPTH / whole)
        sums["chance"].append(Line("chance", number / whole, recall, dict.fromkeys(KINDS, recall)))
    return len(case.gold.mentions), number, [_mean(lines) for lines in sums.values()]


def _of_kind(kind: str, planted: Sequence[Planted], chances: dict[int, float]) -> float:
    own = [number for number, error in enumerate(planted) if error.kind == kind]
    return sum(chances.get(number, 0.0) for number in own) / len(own)


def _mean(lines: Sequence[Line]) -> Line:
    return Line(
        lines[0].method,
        float(np.mean([line.precision for line in lines])),
        float(np.mean([line.recall for line in lines])),
        {kind: float(np.mean([line.kinds[kind] for line in lines])) for kind in KINDS},
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.injection", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder with masakhaner and wnut17")
    parser.add_argument("-o", "--output", type=Path, help="write the table there too")
    args = parser.parse_args(arguments)
    head = f"| data | method | precision, first {FIRST} | recall, first {DEPTH} | {' | '.join(KINDS)} |"
    lines = [head, "|---|---|---|---|---|---|---|---|"]
    for case in datasets(args.data):
        mentions, planted, rows = measure(case)
        for row in rows:
            kinds = " | ".join(f"{100 * row.kinds[kind]:.0f} %" for kind in KINDS)
            lines.append(
                f"| {case.name} ({mentions:,} mentions, {planted} planted) | {row.method} | "
                f"{100 * row.precision:.1f} % | {100 * row.recall:.1f} % | {kinds} |"
            )
            print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    if args.output:
        args.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
