"""How often token sequences occur in a training text, each looked for once however often it is asked for."""

from __future__ import annotations

import numpy as np

from spanwise.attributes._forms import Forms
from spanwise.attributes._text import Text
from spanwise.columns import Ints, ints


class Asked:
    """The sequences of a training text that were asked for, and their numbers of occurrences.

    A sequence with a code beyond the training vocabulary does not occur and is not kept.
    """

    def __init__(self, text: Text) -> None:
        self._text = text
        self._forms: Forms | None = None
        self._counts = ints([])

    def occurrences(self, forms: Forms) -> Ints:
        """How often each sequence occurs; those that are new are looked for in the text."""
        inner, place = forms.within(self._text.width)
        if self._forms is None:
            self._forms, self._counts = inner, self._text.occurrences(inner)
            return ints(np.append(self._counts, 0)[place])
        union, before, now = self._forms.joined(inner)
        known = np.zeros(len(union), dtype=bool)
        known[before] = True
        counts = np.zeros(len(union), dtype=np.int64)
        if not known.all():
            counts = np.array(self._text.occurrences_of_some(union, ~known))
        counts[before] = self._counts
        self._forms, self._counts = union, ints(counts)
        return ints(np.append(counts[now], 0)[place])
