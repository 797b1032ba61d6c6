"""Which token sequences carry two labels or more, among mentions at once or in blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from spanwise.attributes._context import Side
from spanwise.columns import Bools, Column, Ints, Words, frozen, ints
from spanwise.hashing import numbered, sequence_hashes, word_hashes

_WAITING = 1 << 20  # pairs that wait before they are put together with the others


def shared_by_labels(form: Ints, label: Column, forms: int) -> Bools:
    """Which of the token sequences numbered below `forms` two or more labels share; -1 is none of them."""
    # A sequence is shared when some label of it differs from the last one written for it.
    some = np.full(forms + 1, -1, dtype=np.int64)
    some[form] = label
    shared = np.zeros(forms + 1, dtype=bool)
    shared[form[label != some[form]]] = True
    return shared[:-1]


def form_hashes(side: Side, forms: Ints) -> Words:
    """The content of token sequences of a side as 128 bits each, whatever codes its tokens have."""
    tokens, at = side.tree.sequences(forms)
    used = np.zeros(side.tree.width, dtype=bool)
    used[tokens] = True
    place = np.cumsum(used) - 1
    words = word_hashes([side.context.strings[code] for code in np.flatnonzero(used).tolist()])
    return sequence_hashes(words[place[tokens]], at)


class Labeled(Struct, frozen=True, eq=False):
    """Distinct pairs of a token sequence, by its content, and a label."""

    hashes: Words
    label: Ints
    labels: tuple[str, ...]

    @classmethod
    def of(cls, side: Side) -> Labeled:
        """The pairs among the mentions of a side that compares strings as written."""
        labels = side.mentions.labels
        some = np.flatnonzero(side.form >= 0)
        pair = side.form[some] * len(labels) + side.mentions.label[some]
        present = np.zeros(side.forms * len(labels), dtype=bool)
        present[pair] = True
        form, label = np.divmod(np.flatnonzero(present), max(len(labels), 1))
        return cls(frozen(form_hashes(side, ints(form))), ints(label), tuple(labels))


class Confusable(Struct, frozen=True, eq=False):
    """The token sequences that carry two labels or more, by their content."""

    hashes: Words

    def among(self, side: Side) -> Bools:
        """Which of the sequences of a side's tree that are mentions of the side are confusable."""
        used = np.zeros(side.forms, dtype=bool)
        used[side.form[side.form >= 0]] = True
        forms = np.flatnonzero(used)
        _, number = numbered(np.concatenate([self.hashes, form_hashes(side, ints(forms))]))
        shared = np.zeros(len(number), dtype=bool)
        shared[number[: len(self.hashes)]] = True
        used[forms] = shared[number[len(self.hashes) :]]
        return used


class Carried:
    """The labels that token sequences carry, gathered from mentions in blocks."""

    def __init__(self) -> None:
        self._labels: dict[str, int] = {}
        self._pairs: list[Words] = []  # hashes and label; the first is put together, the others wait

    def add(self, part: Labeled) -> None:
        """Take the sequences of one more block."""
        table = ints([self._labels.setdefault(label, len(self._labels)) for label in part.labels])
        self._pairs.append(np.column_stack([part.hashes, table[part.label].astype(np.uint64)]))
        if sum(map(len, self._pairs[1:])) > max(_WAITING, len(self._pairs[0])):
            self._pairs = [_distinct(self._pairs)]

    def confusable(self) -> Confusable:
        """The sequences that carry two labels or more in all blocks together."""
        pairs = _distinct(self._pairs)
        first, number = numbered(np.ascontiguousarray(pairs[:, :2]))
        shared = shared_by_labels(ints(number), pairs[:, 2].astype(np.int64), len(first))
        return Confusable(frozen(pairs[first[shared], :2]))


def _distinct(pairs: Sequence[Words]) -> Words:
    every = np.concatenate([np.zeros((0, 3), dtype=np.uint64), *pairs])
    return np.asarray(every[numbered(every)[0]])
