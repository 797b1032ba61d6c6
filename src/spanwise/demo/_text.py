"""Texts drawn from the inventory: which piece stands where, sentence by sentence, document by document."""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Ints, ints, offsets
from spanwise.demo._inventory import Inventory

Part = Literal["train", "test"]

_KNOWN = 0.7  # share of the names that training sentences may use
_NEW = 0.3  # share of the test mentions that are drawn from the other names
_SIZES = (6, 14)  # sentences of a document


class DrawnText(Struct, frozen=True, eq=False):
    """The pieces of a text in order; sentence `i` has pieces `sentences[i]:sentences[i + 1]`."""

    pieces: Ints
    sentences: Ints
    documents: Ints

    def __len__(self) -> int:
        return len(self.sentences) - 1


def draw(inventory: Inventory, part: Part, *, sentences: int, seed: int) -> DrawnText:
    """A text of the given number of sentences; one seed gives one training and one test text.

    A document has one topic. Names are drawn with a preference for those early in a shuffled list, so that
    some are frequent and most are rare. Training text keeps to the first part of each list.
    """
    order = np.random.default_rng([seed, 0])  # which names are known is the same for both parts
    random = np.random.default_rng([seed, 1 if part == "train" else 2])
    documents = _documents(sentences, random)
    topic = np.repeat(
        (random.random(len(documents) - 1) * len(inventory.topics)).astype(int), np.diff(documents)
    )
    patterns = [pattern for patterns in inventory.topics for pattern in patterns]
    first = offsets([len(patterns) for patterns in inventory.topics])
    chosen = first[topic] + (random.random(sentences) * np.diff(first)[topic]).astype(int)
    starts = offsets(np.array([len(pattern) for pattern in patterns])[chosen])
    pieces = np.empty(starts[-1], dtype=np.int64)
    shuffled = {
        slot: np.argsort(order.random(len(names)), kind="stable") + names.start
        for slot, names in inventory.slots.items()
    }
    for number, pattern in enumerate(patterns):
        at = starts[:-1][chosen == number]
        for place, filler in enumerate(pattern):
            drawn = _fill(shuffled[filler], len(at), part, random) if isinstance(filler, str) else filler
            pieces[at + place] = drawn
    return DrawnText(ints(pieces), starts, documents)


def _documents(sentences: int, random: np.random.Generator) -> Ints:
    low, high = _SIZES
    sizes = low + (random.random(sentences // low + 1) * (high - low + 1)).astype(int)
    ends = np.cumsum(sizes)
    ends = ends[ends < sentences]
    return ints([0, *ends.tolist(), sentences] if sentences else [0])


def _fill(names: Ints, number: int, part: Part, random: np.random.Generator) -> Ints:
    known = int(len(names) * _KNOWN)
    skewed = random.random(number) ** 3
    drawn = (skewed * known).astype(int)
    if part == "test":
        new = random.random(number) < _NEW
        drawn = np.where(new, known + (skewed * (len(names) - known)).astype(int), drawn)
    return ints(names[drawn])


def seen(inventory: Inventory, train: DrawnText, labels: Ints) -> Bools:
    """Which pieces are names that stand in the training text with the same label."""
    form = np.array(inventory.form)
    pairs = form * (labels.max() + 2) + labels + 1
    return np.asarray(np.isin(pairs, pairs[np.unique(train.pieces)]))
