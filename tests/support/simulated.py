"""Simulated corpora whose true scores are known by construction, evaluated through the public interface.

A sentence has four slots; a slot holds a gold mention, a spurious prediction, or nothing. Whether a system
errs on a mention depends on its label, its length, whether it occurs in the training data, and how hard its
document is: the error rate is multiplied by a number whose mean over sentences is 1, so that the scores of
an infinite corpus follow from expected counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import spanwise
from spanwise.corpus import Annotation, Corpus, Mentions

SLOTS, WIDTH = 4, 6
KINDS = ("FN", "LE", "BE")
Draw = np.random.Generator


@dataclass(frozen=True)
class World:
    """The parameters from which corpora are drawn."""

    labels: tuple[str, ...] = ("A", "B", "C", "D")
    shares: tuple[float, ...] = (0.4, 0.3, 0.2, 0.1)
    lengths: tuple[float, ...] = (0.6, 0.3, 0.1)  # of 1, 2 and 3 tokens
    seen: float = 0.7
    errors: float = 0.15  # of an average mention
    kinds: tuple[float, ...] = (0.4, 0.3, 0.3)  # of errors: FN, LE, BE
    spurious: float = 0.06  # of an empty slot
    filled: float = 0.4  # of all slots
    spread: float = 0.6  # of documents
    sentences: tuple[int, int] = (4, 16)  # of a document, from … to
    together: float = 0.5  # how often two systems share the random draw of a mention
    apart: float = 0.0  # how much harder or easier a document may be for one system alone
    # A label, "length 3" or "unseen", and the factor on its number of errors.
    harder: Mapping[str, float] = field(default_factory=dict)
    # How hard documents are: "even" draws uniformly from 1 ± spread; with "few", one in ten is five times as
    # hard as the mean; with "longer", longer documents are harder.
    hardness: str = "even"

    def chance(self, label: int, length: int, seen: bool) -> float:
        """The share of mentions of this kind that a system gets wrong."""
        times = self.harder.get(self.labels[label], 1.0) * self.harder.get(f"length {length}", 1.0)
        return self.errors * times * (1.0 if seen else self.harder.get("unseen", 1.0))

    def truth(self) -> dict[tuple[str, ...], float]:
        """The scores of an infinite corpus, by path."""
        labels = len(self.labels)
        exact = np.zeros((labels, 3))
        buckets = np.zeros((5, 3))
        recall = np.zeros((2, 2))
        kinds = np.zeros(3)
        for (label, share), (length, part), (seen, some) in product(
            enumerate(self.shares), enumerate(self.lengths, 1), ((True, self.seen), (False, 1 - self.seen))
        ):
            n = share * part * some
            wrong = n * self.chance(label, length, seen)
            fn, le, be = (wrong * kind for kind in self.kinds)
            exact[label] += n, n - fn - le, n - wrong
            for other in range(labels):
                if other != label:
                    exact[other, 1] += le / (labels - 1)
            buckets[length] += n, n - fn - be, n - wrong
            buckets[length + 1, 1] += be
            recall[int(not seen)] += n, n - wrong
            kinds += fn, le, be
        spurious = (1 - self.filled) * self.spurious / self.filled
        exact[:, 1] += spurious * np.array(self.shares)
        buckets[1:4, 1] += spurious * np.array(self.lengths)
        gold, predicted, correct = exact.sum(axis=0)
        fn, le, be = kinds

        def f1(row: Sequence[float] | np.ndarray) -> float:
            return float(2 * row[2] / (row[0] + row[1]))

        half = (le + be) / 2
        scores = {
            ("exact", "overall", "f1"): f1((gold, predicted, correct)),
            ("exact", "overall", "precision"): correct / predicted,
            ("exact", "overall", "recall"): correct / gold,
            ("exact", "macro", "f1"): float(np.mean([f1(row) for row in exact])),
            ("fair", "overall", "f1"): 2 * correct / (2 * correct + spurious + fn + 2 * half),
            ("gains", "LE", "gain"): 2 * (correct + le) / (gold + predicted) - f1((gold, predicted, correct)),
            ("gains", "BE", "gain"): 2 * (correct + be) / (gold + predicted) - f1((gold, predicted, correct)),
            ("gains", "FN", "gain"): 2 * (correct + fn) / (gold + predicted + fn)
            - f1((gold, predicted, correct)),
            ("gains", "FP", "gain"): 2 * correct / (gold + predicted - spurious)
            - f1((gold, predicted, correct)),
            ("tough", "SEEN", "overall", "recall"): recall[0, 1] / recall[0, 0],
            ("tough", "UNSEEN-ANY", "overall", "recall"): recall[1, 1] / recall[1, 0],
        }
        scores |= {
            ("exact", "labels", name, "f1"): f1(row) for name, row in zip(self.labels, exact, strict=True)
        }
        scores |= {
            ("attributes", "entity_length", name, "f1"): f1(buckets[at]) for at, name in enumerate("SML", 1)
        }
        return {path: float(value) for path, value in scores.items()}


# The names that the document gives to the buckets of `truth`.
BUCKETS = {"S": "XS", "M": "S", "L": "L"}


@dataclass(frozen=True)
class Sample:
    """A test set drawn from a world, with the hardness of each document."""

    world: World
    gold: Annotation
    train: Annotation
    hard: np.ndarray  # of each sentence
    place: np.ndarray  # the document of each sentence
    slot: np.ndarray  # of each gold mention, among all slots
    kind: np.ndarray  # label, length, seen of each gold mention
    document: np.ndarray  # of each gold mention

    def of_cell(self, path: Sequence[str]) -> np.ndarray:
        """Which gold mentions belong to the cell at a path of `truth`."""
        label, length, seen = self.kind.T
        if path[:2] == ("exact", "labels"):
            return np.asarray(label == self.world.labels.index(path[2]))
        if path[0] == "attributes":
            return np.asarray(length == 1 + "SML".index(path[2]))
        if path[0] == "tough":
            return np.asarray(seen == (path[1] == "SEEN"))
        return np.ones(len(self.slot), dtype=bool)


def sample(
    world: World, draw: Draw, *, documents: int = 0, sentences: int = 0, marked: bool = True
) -> Sample:
    """Draw a test set of so many documents, or of so many one-sentence documents."""
    sizes = (
        draw.integers(world.sentences[0], world.sentences[1] + 1, size=documents)
        if documents
        else np.ones(sentences, dtype=np.int64)
    )
    number = int(sizes.sum())
    hard = np.repeat(_hardness(world, draw, sizes), sizes)
    slot = np.flatnonzero(draw.random(number * SLOTS) < world.filled)
    label = draw.choice(len(world.labels), p=world.shares, size=len(slot))
    length = 1 + draw.choice(len(world.lengths), p=world.lengths, size=len(slot))
    seen = draw.random(len(slot)) < world.seen
    tokens = np.zeros(number * SLOTS * WIDTH, dtype=np.int32)
    first = slot * WIDTH + 1
    tokens[first] = 1 + label * 2 + ~seen
    for inner in (1, 2):
        tokens[first[length > inner] + inner] = 1 + 2 * len(world.labels)
    words = ["o", *(f"{part}{name}" for name in world.labels for part in ("seen", "new")), "x"]
    corpus = Corpus(
        tokens,
        words,
        np.arange(number + 1) * SLOTS * WIDTH,
        np.concatenate([[0], np.cumsum(sizes)]) if documents and marked else None,
    )
    start = slot % SLOTS * WIDTH + 1
    mentions = Mentions(slot // SLOTS, start, start + length, label.astype(np.int32), world.labels)
    kind = np.stack([label, length, seen], axis=1)
    document_of_sentence = np.repeat(np.arange(len(sizes)), sizes)
    document = document_of_sentence[slot // SLOTS]
    gold = Annotation(corpus, mentions)
    return Sample(world, gold, _training(world, words), hard, document_of_sentence, slot, kind, document)


def _hardness(world: World, draw: Draw, sizes: np.ndarray) -> np.ndarray:
    """The hardness of each document; its mean over the sentences of an infinite corpus is 1."""
    if world.hardness == "few":
        return np.where(draw.random(len(sizes)) < 0.1, 5.0, 5 / 9)
    if world.hardness == "longer":
        lengths = np.arange(world.sentences[0], world.sentences[1] + 1)
        return np.asarray(sizes * lengths.mean() / (lengths**2).mean())
    return draw.uniform(1 - world.spread, 1 + world.spread, size=len(sizes))


def _training(world: World, words: Sequence[str]) -> Annotation:
    """Training data with every seen form once, under its label."""
    rows: list[tuple[int, int, int, str]] = []
    sentences: list[list[str]] = []
    for label, length in product(range(len(world.labels)), (1, 2, 3)):
        rows.append((len(sentences), 0, length, world.labels[label]))
        sentences.append([words[1 + 2 * label], *["x"] * (length - 1), "o"])
    return Annotation(Corpus.of(sentences), Mentions.of(rows, labels=world.labels))


def luck(test_set: Sample, draw: Draw) -> np.ndarray:
    """Random draws for every slot that systems may share."""
    return draw.random((3, len(test_set.hard) * SLOTS))


def system(
    test_set: Sample,
    draw: Draw,
    shared: np.ndarray | None = None,
    *,
    times: float = 1.0,
    world: World | None = None,
) -> Annotation:
    """The predictions of one system, which makes `times` as many errors as its world specifies."""
    world = world or test_set.world
    own = draw.random((3, len(test_set.hard) * SLOTS))
    if shared is not None:
        own = np.where(draw.random(own.shape[1]) < world.together, shared, own)
    table = np.array(
        [
            [[world.chance(label, length, seen) for seen in (False, True)] for length in (1, 2, 3)]
            for label in range(len(world.labels))
        ]
    )
    label, length, seen = test_set.kind.T
    sentence = test_set.slot // SLOTS
    hard = test_set.hard
    if world.apart:
        hard = (
            hard * draw.uniform(1 - world.apart, 1 + world.apart, size=test_set.place[-1] + 1)[test_set.place]
        )
    chance = np.minimum(table[label, length - 1, seen] * hard[sentence] * times, 1.0)
    wrong = own[0, test_set.slot] < chance
    kind = np.searchsorted(np.cumsum(world.kinds), own[1, test_set.slot], side="right")
    missed = wrong & (kind == 0)
    other = (label + 1 + (own[2, test_set.slot] * (len(world.labels) - 1)).astype(int)) % len(world.labels)
    new_label = np.where(wrong & (kind == 1), other, label)
    new_length = length + (wrong & (kind == 2))
    kept = ~missed
    empty = np.ones(len(test_set.hard) * SLOTS, dtype=bool)
    empty[test_set.slot] = False
    free = np.flatnonzero(empty)
    spurious = free[own[0, free] < np.minimum(world.spurious * hard[free // SLOTS] * times, 1.0)]
    of_spurious = np.searchsorted(np.cumsum(world.shares), own[1, spurious], side="right")
    slot = np.concatenate([test_set.slot[kept], spurious])
    start = slot % SLOTS * WIDTH + 1
    long = 1 + np.searchsorted(np.cumsum(world.lengths), own[2, spurious], side="right")
    size = np.concatenate([new_length[kept], np.minimum(long, len(world.lengths))])
    labels = np.concatenate([new_label[kept], np.minimum(of_spurious, len(world.labels) - 1)])
    order = np.argsort(slot, kind="stable")
    mentions = Mentions(
        (slot // SLOTS)[order], start[order], (start + size)[order], labels[order], world.labels
    )
    return Annotation(test_set.gold.corpus, mentions)


def evaluated(test_set: Sample, systems: Mapping[str, Annotation], **options: Any) -> dict[str, Any]:
    """The result document that `spanwise.evaluate` gives for systems on a test set."""
    chosen = {"attributes": ["entity_length"], "train": test_set.train, "examples": "none", **options}
    return spanwise.evaluate(test_set.gold, dict(systems), **chosen).to_dict()


def written(annotation: Annotation) -> str:
    """An annotation as two columns, tokens and IOB2 tags, with a marker before every document."""
    corpus, mentions = annotation.corpus, annotation.mentions
    first, second = corpus.sentences[mentions.sentence] + mentions.start, mentions.end - mentions.start
    tags = np.zeros(len(corpus.tokens), dtype=np.int64)
    for inner in range(int(second.max(initial=0))):
        long = second > inner
        tags[first[long] + inner] = 1 + 2 * mentions.label[long] + (inner > 0)
    lines = [f"{word} {tag}" for word in corpus.vocabulary for tag in _tags(mentions.labels)]
    code = corpus.tokens * (1 + 2 * len(mentions.labels)) + tags
    rows = np.array(lines, dtype=object)[code].tolist()
    marked = set() if corpus.documents is None else set(corpus.documents[:-1].tolist())
    text = []
    for sentence, (begin, end) in enumerate(pairwise(corpus.sentences.tolist())):
        text += ["-DOCSTART- O", ""] if sentence in marked else []
        text += [*rows[begin:end], ""]
    return "\n".join(text)


def _tags(labels: Sequence[str]) -> list[str]:
    return ["O", *(f"{part}-{label}" for label in labels for part in "BI")]


def studied(
    datasets: Mapping[str, tuple[Annotation, Mapping[str, Sequence[Annotation]]]], **settings: Any
) -> dict[str, Any]:
    """Write gold and every system's runs on each dataset to files, and return the document of their study."""
    with TemporaryDirectory() as temporary:
        root = Path(temporary)
        number = 0
        for dataset, (gold, systems) in datasets.items():
            (root / f"{dataset}.gold").write_text(written(gold), encoding="utf-8")
            for system_name, runs in systems.items():
                number = max(number, len(runs))
                for run, predicted in enumerate(runs):
                    path = root / f"{dataset}.{system_name}.{run}"
                    path.write_text(written(predicted), encoding="utf-8")
        names = next(iter(datasets.values()))[1]
        manifest = {
            "name": "simulated",
            "predictions": "{dataset}.{system}.{run}",
            "runs": [str(run) for run in range(number)],
            "datasets": {dataset: {"test": f"{dataset}.gold"} for dataset in datasets},
            "systems": {
                name: {"runs": [str(run) for run in range(len(runs))]} for name, runs in names.items()
            },
            "compare": [{"systems": list(names)}] if len(names) == 2 else [],
            **settings,
        }
        return spanwise.study(manifest, root=root, workers=1, cache=False).to_dict()


def cell(document: Mapping[str, Any], name: str, path: Sequence[str]) -> tuple[Any, Any]:
    """The score of one system at a path, and its interval."""
    node: Any = document["systems"][name]
    if path[0] == "attributes":
        bucket = BUCKETS.get(path[2], path[2])
        node = next(b for b in node["attributes"][path[1]]["buckets"] if b["name"] == bucket)
    else:
        for key in path[:-1]:
            node = node[key]
    return node[path[-1]], (node.get("interval") or {}).get(path[-1])
