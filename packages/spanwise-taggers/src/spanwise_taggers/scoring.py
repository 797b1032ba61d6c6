"""Scores of predicted mentions: the F1 that selects the best epoch, and the confidence of the tagger."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from spanwise.columns import Floats, floats
from spanwise.corpus import Annotation, Corpus, Mentions


def f1_of(gold: Annotation, predicted: Mentions) -> float:
    """The F1 of predicted mentions, which must have the span and label of a gold mention; 0 if none has."""
    sides = []
    names = {name: code for code, name in enumerate(sorted({*gold.mentions.labels, *predicted.labels}))}
    longest = int(gold.corpus.lengths.max(initial=0)) + 1
    for side in (gold.mentions, predicted):
        label = np.array([names[name] for name in side.labels] or [0], np.int64)[side.label]
        keys = ((side.sentence * longest + side.start) * longest + side.end) * max(len(names), 1) + label
        sides.append(np.unique(keys))
    gold_keys, predicted_keys = sides
    correct = len(np.intersect1d(gold_keys, predicted_keys, assume_unique=True))
    total = len(gold_keys) + len(predicted_keys)
    return 2 * correct / total if total else 0.0


def with_scores(mentions: Mentions, corpus: Corpus, sure: Floats) -> Mentions:
    """Add a score to each mention: the lowest of its tokens' values in `sure`, which has one per token."""
    begin = corpus.sentences[mentions.sentence]
    bounds = np.stack([begin + mentions.start, begin + mentions.end], axis=1).reshape(-1)
    lowest = np.minimum.reduceat(np.append(sure, 1.0), bounds)[::2] if len(mentions) else np.zeros(0)
    return replace(mentions, score=floats(lowest))
