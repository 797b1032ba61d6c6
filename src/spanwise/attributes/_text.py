"""A training text: sentences of token codes in blocks, and how often token sequences occur in them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from spanwise.attributes._forms import BLOCK, Forms
from spanwise.columns import Bools, Codes, Column, Ints, codes, ints, offsets, run_positions
from spanwise.hashing import pair_keys

_DEAR = 4  # a place where a sequence may stand costs as much as so many tokens on which the tree is tried


class Text(Struct, frozen=True, eq=False, dict=True):
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
        counts = self._of_single_tokens(forms)
        for tokens, sentences in self.blocks:
            counts += forms.occurrences(tokens, _last(sentences), wanted=wanted)
        return ints(counts)

    def occurrences_of_some(self, forms: Forms, wanted: Bools) -> Ints:
        """The same for some sequences of many, in the way that is cheaper for so many."""
        longer = wanted.copy()
        longer[: forms.singles] = False
        few = Few(forms, ints(np.flatnonzero(longer)), self)
        # To look at the places of the rarest pair of tokens of each pays while those are few.
        if _DEAR * few.places < len(self):
            return ints(self._of_single_tokens(forms) + few.occurrences())
        return self.occurrences(forms, wanted=wanted)

    def _of_single_tokens(self, forms: Forms) -> Ints:
        counts = np.zeros(len(forms), dtype=np.int64)
        counts[: forms.singles] = self.frequency[forms.heads]
        return counts

    @cached_property
    def pairs(self) -> tuple[PairIndex, ...]:
        """Where pairs of neighbouring tokens stand, window by window; made when somebody asks again."""
        return tuple(
            PairIndex.of(tokens, sentences, begin, min(begin + BLOCK, len(tokens) - 1))
            for tokens, sentences in self.blocks
            for begin in range(0, len(tokens) - 1, BLOCK)
        )


def _last(sentences: Ints) -> Bools:
    """Which tokens end their sentence."""
    last = np.zeros(sentences[-1], dtype=bool)
    last[sentences[1:][np.diff(sentences) > 0] - 1] = True
    return last


class PairIndex(Struct, frozen=True, eq=False):
    """The places of a window of a text, ordered by the key of the pair of tokens that begins there."""

    tokens: Column
    sentences: Ints
    place: npt.NDArray[np.uint32]
    at: Codes  # where the places of each key begin

    @classmethod
    def of(cls, tokens: Column, sentences: Ints, begin: int, end: int) -> PairIndex:
        """The index of the places from `begin` up to `end`, behind each of which there is a token."""
        key = pair_keys(tokens[begin:end], tokens[begin + 1 : end + 1])
        place = (np.argsort(key, kind="stable") + begin).astype(np.uint32)
        return cls(tokens, sentences, place, codes(offsets(np.bincount(key, minlength=1 << 16))))


class Few:
    """Sequences of two tokens or more that are looked for where the rarest pair of tokens of each stands."""

    def __init__(self, forms: Forms, numbers: Ints, text: Text) -> None:
        self._text, self._bound = text, len(forms)
        flat, at = forms.sequences(numbers)
        often = np.zeros(1 << 16, dtype=np.int64)
        for index in text.pairs:
            often += np.diff(index.at)
        keys = pair_keys(flat[:-1], flat[1:])
        times = often[keys]
        times[at[1:-1] - 1] = len(text) + 1  # the pair of the last token of one and the first of the next
        rarest = np.minimum.reduceat(times, at[:-1]) if len(numbers) else times
        self.places = int(rarest.sum())
        self._offset = _first_equal(times, at, rarest)
        self._key = keys[at[:-1] + self._offset]
        self._numbers, self._flat, self._begin, self._size = numbers, flat, at[:-1], np.diff(at)

    def occurrences(self) -> Ints:
        """How often each sequence occurs, at its number in the tree."""
        counts = np.zeros(self._bound, dtype=np.int64)
        for index in self._text.pairs:
            first, times = index.at[self._key], np.diff(index.at)[self._key]
            which = np.repeat(np.arange(len(times)), times)
            start = index.place[run_positions(first, times)] - self._offset[which]
            found = self._equal(which, start, index.tokens, index.sentences)
            counts += np.bincount(self._numbers[found], minlength=self._bound)
        return ints(counts)

    def _equal(self, which: Ints, start: Ints, tokens: Column, sentences: Ints) -> Ints:
        """Those of the sequences `which` that stand, within one sentence, where they are said to start."""
        inside = np.flatnonzero((start >= 0) & (start + self._size[which] <= len(tokens)))
        which, start = which[inside], start[inside]
        depth = 0
        left = np.arange(len(which))
        equal = np.ones(len(which), dtype=bool)
        while len(left):
            same = tokens[start[left] + depth] == self._flat[self._begin[which[left]] + depth]
            equal[left[~same]] = False
            depth += 1
            left = left[same]
            left = left[self._size[which[left]] > depth]
        which, start = which[equal], start[equal]
        behind = sentences[np.searchsorted(sentences, start, side="right")]
        return ints(which[start + self._size[which] <= behind])


def _first_equal(values: Ints, at: Ints, wanted: Ints) -> Ints:
    """In each row `values[at[i]:at[i + 1]]` the first place of the value wanted of it, which it holds."""
    size = np.diff(at)
    size[-1:] -= 1  # there is no pair behind the last token
    hits = np.flatnonzero(values == np.repeat(wanted, size))
    return ints(hits[np.searchsorted(hits, at[:-1])] - at[:-1])
