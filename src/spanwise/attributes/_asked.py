"""How often token sequences occur in a training text, each looked for once however often it is asked for."""

from __future__ import annotations

import numpy as np

from spanwise.attributes._forms import Forms
from spanwise.columns import Bools, Codes, Ints, ints


class Asked:
    """The sequences of a training text that were asked for, and their numbers of occurrences.

    A sequence with a code beyond the training vocabulary does not occur and is not kept.
    """

    def __init__(self, tokens: Codes, last: Bools, frequency: Ints) -> None:
        self._text = tokens, last, frequency
        self._forms: Forms | None = None
        self._counts = ints([])
        self.times = 0

    def occurrences(self, forms: Forms) -> Ints:
        """How often each sequence occurs; those that are new are looked for in the text."""
        self.times += 1
        inner, place = forms.within(len(self._text[2]))
        if self._forms is None:
            self._forms, self._counts = inner, inner.occurrences(*self._text)
            return ints(np.append(self._counts, 0)[place])
        union, before, now = self._forms.joined(inner)
        known = np.zeros(len(union), dtype=bool)
        known[before] = True
        counts = np.zeros(len(union), dtype=np.int64)
        if not known.all():
            counts = np.array(union.occurrences(*self._text, wanted=~known))
        counts[before] = self._counts
        self._forms, self._counts = union, ints(counts)
        return ints(np.append(counts[now], 0)[place])
