"""Compare the speed of the compatibility layers with that of the originals: `python benchmarks/compat.py`."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from typing import Any

import nervaluate
import seqeval.metrics as seqeval_metrics
import seqeval.scheme as seqeval_scheme
import torch
import torchmetrics

from spanwise import Metric
from spanwise.compat.nervaluate import structure
from spanwise.compat.seqeval import metrics, scheme
from spanwise.compat.torchmetrics import SpanMetric
from spanwise.corpus import Mentions, with_one_labelling
from spanwise.formats import from_tags

LABELS = ("PER", "LOC", "ORG", "MISC")


def tags(draw: random.Random, size: int) -> list[str]:
    """A sentence of IOB2 tags in which about one token in five belongs to a mention."""
    result: list[str] = []
    while len(result) < size:
        if draw.random() < 0.88:
            result.append("O")
        else:
            label = draw.choice(LABELS)
            result += [f"B-{label}", *[f"I-{label}"] * draw.choice([0, 0, 0, 1, 1, 2])]
    return result[:size]


def corpus(seed: int, sizes: list[int]) -> tuple[list[list[str]], list[list[str]]]:
    """Gold tags, and predictions in which one in five stretches of tokens differs."""
    draw = random.Random(seed)
    gold = [tags(draw, size) for size in sizes]
    predicted = []
    for sentence in gold:
        parts = [sentence[start : start + 13] for start in range(0, len(sentence), 13)]
        kept = [part if draw.random() < 0.8 else tags(draw, len(part)) for part in parts]
        predicted.append([tag for part in kept for tag in part])
    return gold, predicted


def seconds(repeats: int, call: Callable[..., Any], *arguments: Any, **options: Any) -> float:
    """The shortest of several times."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call(*arguments, **options)
        times.append(time.perf_counter() - begin)
    return min(times)


def row(what: str, ours: float, theirs: float | None) -> None:
    peer = "not run" if theirs is None else f"{theirs * 1000:,.1f} ms"
    times = "" if theirs is None else f"{theirs / ours:{',.0f' if theirs > ours else '.2f'}} ×"
    print(f"| {what} | {ours * 1000:,.1f} ms | {peer} | {times} |")


def reports() -> None:
    """Compare reports on a test set of the size of CoNLL-2003: 3,453 sentences, 46,410 tokens."""
    tags = corpus(0, [13] * 1932 + [14] * 1521)
    for mode in (None, "strict"):
        ours = seconds(7, metrics.classification_report, *tags, mode=mode, scheme=scheme.IOB2)
        peer = seqeval_metrics.classification_report
        theirs = seconds(3, peer, *tags, mode=mode, scheme=seqeval_scheme.IOB2)
        row(f"seqeval's classification_report, mode={mode}, size of CoNLL-2003", ours, theirs)


def long_documents() -> None:
    """Compare the packages on one document of growing length."""
    for size in (10_000, 40_000, 160_000, 640_000):
        tags = corpus(1, [size])
        ours = seconds(3, metrics.classification_report, *tags, mode="strict", scheme=scheme.IOB2)
        theirs = None
        if size <= 160_000:
            peer = seqeval_metrics.classification_report
            theirs = seconds(1, peer, *tags, mode="strict", scheme=seqeval_scheme.IOB2)
        row(f"the strict report of one document of {size:,} tokens", ours, theirs)
    for size in (1_000, 4_000, 16_000, 64_000):
        sides = with_one_labelling([from_tags(side).mentions for side in corpus(2, [size])])
        ours = seconds(3, structure, *sides)
        theirs = seconds(1, by_nervaluate, *sides) if size <= 16_000 else None
        row(f"nervaluate's schemes of one document of {size:,} tokens", ours, theirs)


def by_nervaluate(*sides: Mentions) -> Any:
    """The results of nervaluate for gold and predicted mentions."""
    lists = [
        [[{"label": label, "start": start, "end": end - 1} for _, start, end, label in side.rows()]]
        for side in sides
    ]
    return nervaluate.Evaluator(*lists, tags=list(LABELS), loader="dict").evaluate()


def batches() -> None:
    """Compare metrics that take batches: 400 of 32 sentences, as in one epoch of a training loop."""
    gold, predicted = corpus(3, [13] * 12_800)
    parts = [(gold[at : at + 32], predicted[at : at + 32]) for at in range(0, len(gold), 32)]

    def ours() -> float:
        metric = Metric()
        for sides in parts:
            metric.update(*sides)
        return float(metric.compute()["f1"])

    def kept() -> float:
        sides: tuple[list[list[str]], list[list[str]]] = ([], [])
        for part in parts:
            for side, more in zip(sides, part, strict=True):
                side.extend(more)
        return float(seqeval_metrics.f1_score(*sides))

    assert math.isclose(ours(), kept(), rel_tol=1e-12)
    row("spanwise.Metric, and seqeval on lists kept: 400 batches", seconds(5, ours), seconds(2, kept))
    names = ["O", *(f"{mark}-{label}" for label in LABELS for mark in "BI")]
    ids = [
        tuple(torch.tensor([[names.index(tag) for tag in tags] for tags in side]) for side in part)
        for part in parts
    ]

    def in_torch(metric: Any) -> Any:
        metric.reset()
        for target, guess in ids:
            metric.update(guess, target)
        return metric.compute()

    spans = SpanMetric(names=names)
    tokens = torchmetrics.F1Score("multiclass", num_classes=len(names), average="micro")
    row(
        "SpanMetric, and torchmetrics' F1 of tokens, which is not that of mentions: 400 batches",
        seconds(5, in_torch, spans), seconds(5, in_torch, tokens),
    )  # fmt: skip


if __name__ == "__main__":
    print("| what | spanwise | the package | times faster |\n|---|---|---|---|")
    reports()
    long_documents()
    batches()
