"""A training text: sentences of token codes in blocks, and how often token sequences occur in them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from spanwise.attributes._forms import BLOCK, Forms
from spanwise.columns import Bools, Column, Ints, codes, ints, offsets
from spanwise.records import record


@record(eq=False)
class Text:
    """The tokens of a training text, codes below `width`; no sentence lies in two blocks."""

    blocks: tuple[tuple[Column, Ints], ...]  # the tokens, and where sentences begin and the last one ends
    width: int

    def __len__(self) -> int:
        return sum(len(tokens) for tokens, _ in self.blocks)

    @cached_property
    def frequency(self) -> Ints:
        """How often each code occurs."""
        counts = np.zeros(self.width, dtype=np.int64)
        for tokens, _ in self.blocks:
            counts += np.bincount(tokens, minlength=self.width)
        return ints(counts)

    def recoded(self, table: Column, width: int) -> Text:
        """The same text with the codes `table[code]`, which lie below `width`."""
        return Text(tuple((codes(table[tokens]), sentences) for tokens, sentences in self.blocks), width)

    def occurrences(self, forms: Forms, *, wanted: Bools | None = None) -> Ints:
        """How often each sequence occurs within a sentence; occurrences may overlap.

        With `wanted` only those are looked for, and what is said of others means nothing.
        """
        counts = np.zeros(len(forms), dtype=np.int64)
        counts[: forms.singles] = self.frequency[forms.heads]
        longer = np.ones(len(forms), dtype=bool) if wanted is None else wanted.copy()
        longer[: forms.singles] = False
        few = _Few(forms, ints(np.flatnonzero(longer)), self.frequency)
        # To look where the rarest token of each stands pays while those places are few.
        if 2 * few.places < len(self):
            return ints(counts + few.occurrences(self, len(forms)))
        for tokens, sentences in self.blocks:
            counts += forms.occurrences(tokens, _last(sentences), wanted=wanted)
        return ints(counts)

    def windows(self) -> Iterator[tuple[Column, Ints, slice]]:
        """The blocks, and places in them that stay in the processor's cache."""
        for tokens, sentences in self.blocks:
            for begin in range(0, len(tokens), BLOCK):
                yield tokens, sentences, slice(begin, min(begin + BLOCK, len(tokens)))


def _last(sentences: Ints) -> Bools:
    """Which tokens end their sentence."""
    last = np.zeros(sentences[-1], dtype=bool)
    last[sentences[1:][np.diff(sentences) > 0] - 1] = True
    return last


class _Few:
    """Sequences of two tokens or more that are looked for where the rarest token of each stands."""

    def __init__(self, forms: Forms, numbers: Ints, frequency: Ints) -> None:
        flat, at = forms.sequences(numbers)
        often = frequency[flat]
        rarest = np.minimum.reduceat(often, at[:-1]) if len(numbers) else often
        occurring = np.flatnonzero(rarest > 0)  # a sequence with a token that never occurs does not either
        first = _first_equal(often, at, rarest)[occurring]
        order = np.argsort(flat[at[occurring] + first], kind="stable")
        chosen = occurring[order]
        self.places = int(rarest.sum())
        self._numbers, self._offset, self._begin = numbers[chosen], first[order], at[chosen]
        self._size, self._flat = at[chosen + 1] - at[chosen], flat
        rare = flat[self._begin + self._offset]
        self._by_code = offsets(np.bincount(rare, minlength=forms.width))

    def occurrences(self, text: Text, size: int) -> Ints:
        """How often each sequence occurs, at its number below `size`."""
        counts = np.zeros(size, dtype=np.int64)
        each = np.diff(self._by_code)
        marked = each > 0
        for tokens, sentences, window in text.windows():
            place = np.flatnonzero(marked[tokens[window]]) + window.start
            code = tokens[place]
            times = each[code]
            begins = offsets(times)
            which = np.repeat(self._by_code[code] - begins[:-1], times) + np.arange(begins[-1])
            start = np.repeat(place, times) - self._offset[which]
            found = self._equal(which, start, tokens, sentences)
            counts += np.bincount(self._numbers[found], minlength=size)
        return ints(counts)

    def _equal(self, which: Ints, start: Ints, tokens: Column, sentences: Ints) -> Ints:
        """Those of the sequences `which` that stand, within one sentence, where they are said to start."""
        inside = np.flatnonzero((start >= 0) & (start + self._size[which] <= len(tokens)))
        which, start = which[inside], start[inside]
        left = np.arange(len(which))
        depth = 0
        equal = np.ones(len(which), dtype=bool)
        while len(left):
            same = tokens[start[left] + depth] == self._flat[self._begin[which[left]] + depth]
            equal[left[~same]] = False
            depth += 1
            left = left[same]
            left = left[self._size[which[left]] > depth]
        which, start = which[equal], start[equal]
        home = np.searchsorted(sentences, start, side="right")
        return ints(which[start + self._size[which] <= sentences[home]])


def _first_equal(values: Ints, at: Ints, wanted: Ints) -> Ints:
    """In each row `values[at[i]:at[i + 1]]` the first place of the value wanted of it, which it holds."""
    size = np.diff(at)
    hits = np.flatnonzero(values == np.repeat(wanted, size))
    return ints(hits[np.searchsorted(hits, at[:-1])] - at[:-1])
