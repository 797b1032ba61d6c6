"""Which token sequences carry two labels or more, among mentions at once or in parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from spanwise.attributes._context import Context
from spanwise.attributes._forms import Forms, Runs
from spanwise.columns import Bools, Codes, Column, Ints, codes, ints, offsets

_WAITING = 1 << 20  # tokens of sequences that wait before they are put together with the others


def shared_by_labels(form: Ints, label: Column, forms: int) -> Bools:
    """Which of the token sequences numbered below `forms` two or more labels share; -1 is none of them."""
    # A sequence is shared when some label of it differs from the last one written for it.
    some = np.full(forms + 1, -1, dtype=np.int64)
    some[form] = label
    shared = np.zeros(forms + 1, dtype=bool)
    shared[form[label != some[form]]] = True
    return shared[:-1]


class Labeled(Struct, frozen=True, eq=False):
    """Distinct pairs of a token sequence and a label: the tokens of all one after the other."""

    tokens: Codes
    at: Ints
    label: Ints
    labels: tuple[str, ...]

    @classmethod
    def of(cls, context: Context) -> Labeled:
        """The pairs among the gold mentions of a context that compares strings as written."""
        side, labels = context.side(context.gold), context.gold.labels
        some = np.flatnonzero(side.form >= 0)
        pair = side.form[some] * len(labels) + context.gold.label[some]
        present = np.zeros(side.forms * len(labels), dtype=bool)
        present[pair] = True
        form, label = np.divmod(np.flatnonzero(present), max(len(labels), 1))
        tokens, at = side.tree.sequences(ints(form))
        return cls(codes(tokens), at, ints(label), tuple(labels))


class Confusable(Struct, frozen=True, eq=False):
    """A tree that holds the token sequences of two labels or more, and which of its sequences those are."""

    forms: Forms
    shared: Bools

    def among(self, forms: Forms) -> Bools:
        """Which sequences of another tree are confusable."""
        return np.append(self.shared, False)[self.forms.places(forms)]


class Carried:
    """The labels that token sequences carry, gathered from mentions in parts of one vocabulary."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._labels: dict[str, int] = {}
        self._known: list[Labeled] = []  # the first of them holds what was put together, the others wait

    def add(self, part: Labeled) -> None:
        """Take the sequences of one more part."""
        table = ints([self._labels.setdefault(label, len(self._labels)) for label in part.labels])
        self._known.append(Labeled(part.tokens, part.at, ints(table[part.label]), ()))
        waiting = sum(len(one.tokens) for one in self._known[1:])
        if waiting > max(_WAITING, len(self._known[0].tokens)):
            self._known = [self._distinct()]

    def confusable(self) -> Confusable:
        """The sequences that carry two labels or more in all parts together."""
        every = _joined(self._known)
        forms, number = Forms.of(every.tokens, _rows(every), width=self._width)
        return Confusable(forms, shared_by_labels(number, every.label, len(forms)))

    def _distinct(self) -> Labeled:
        every = _joined(self._known)
        forms, number = Forms.of(every.tokens, _rows(every), width=self._width)
        wide = len(self._labels)
        present = np.zeros(len(forms) * wide, dtype=bool)
        present[number * wide + every.label] = True
        form, label = np.divmod(np.flatnonzero(present), wide)
        tokens, at = forms.sequences(ints(form))
        return Labeled(codes(tokens), at, ints(label), ())


def _rows(pairs: Labeled) -> Runs:
    return Runs(pairs.at, ints(np.arange(len(pairs.tokens))))


def _joined(parts: Sequence[Labeled]) -> Labeled:
    return Labeled(
        codes(np.concatenate([codes([]), *(part.tokens for part in parts)])),
        offsets(np.concatenate([ints([]), *(np.diff(part.at) for part in parts)])),
        ints(np.concatenate([ints([]), *(part.label for part in parts)])),
        (),
    )
