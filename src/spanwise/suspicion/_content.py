"""Words that are read in several ways, found block by block, by hashes of content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from spanwise.columns import Ints, Words, ints
from spanwise.corpus import Annotation
from spanwise.hashing import multipliers, word_hashes
from spanwise.suspicion._ranking import (
    NONE,
    Occurrences,
    Readings,
    in_tokens,
    members,
    mixed_words,
    numbers_of,
    placed_on,
    readings_at,
    text_of,
    variation,
)

_MARK = np.uint64(0x2545F4914F6CDD1D)  # stands before, between and behind sentences
_LEFT, _RIGHT, _SIZE = multipliers(1 << 10)[-3:]

Surfaces = Mapping[int, Words]  # by length: the hashes of words that are a mention somewhere, in order


class BlockText(Struct, frozen=True, eq=False):
    """The sentences of a block on one line, each word by the hash of its content."""

    annotation: Annotation  # mentions by tokens
    line: Any
    mixed: Words

    @classmethod
    def of(cls, one: Annotation) -> BlockText:
        """Lay out a block."""
        line = text_of([one])
        words = np.append(word_hashes(one.corpus.vocabulary)[:, 0], _MARK)
        readable = Annotation(one.corpus, in_tokens(one.corpus, one.mentions))
        return cls(readable, line, words[line.tokens])

    def _windows(self, longest: int) -> Any:
        """For each length, the hash of the words from every place on."""
        window = np.zeros(len(self.mixed), dtype=np.uint64)
        factors = multipliers(longest)
        for size in range(1, longest + 1):
            window = window[: len(self.mixed) - size + 1] + self.mixed[size - 1 :] * factors[size - 1]
            yield size, window

    def surfaces(self) -> dict[int, Words]:
        """The words of the mentions of the block."""
        begin, length, _ = placed_on(self.line, [self.annotation.mentions])
        with np.errstate(over="ignore"):
            return {
                size: np.unique(window[begin[length == size]])
                for size, window in self._windows(int(length.max(initial=0)))
                if (length == size).any()
            }

    def occurrences(self, wanted: Surfaces) -> tuple[Occurrences, Words]:
        """Every place where wanted words stand, and the hash of the words with both neighbours."""
        begin, length, label = placed_on(self.line, [self.annotation.mentions])
        begins, lengths, hashes = [ints([])], [ints([])], [np.zeros(0, dtype=np.uint64)]
        longest = min(max(wanted, default=0), len(self.mixed))
        with np.errstate(over="ignore"):
            for size, window in self._windows(longest):
                keys = wanted.get(size)
                if keys is None or not len(keys):
                    continue
                found = members(window, keys)
                begins.append(found)
                lengths.append(ints(np.full(len(found), size)))
                hashes.append(window[found])
            places, sizes, surface = np.concatenate(begins), np.concatenate(lengths), np.concatenate(hashes)
            left, right = self.mixed[places - 1], self.mixed[places + sizes]
            context = mixed_words(surface ^ mixed_words(left * _LEFT + right * _RIGHT))
            context = mixed_words(context + sizes.astype(np.uint64) * _SIZE)
        reading = readings_at(self.line, begin, length, label, places, sizes)
        nothing = ints(np.zeros(len(places)))
        return Occurrences(ints(places), ints(sizes), reading, nothing, numbers_of(context)), context


class ContextCounts(Struct, frozen=True, eq=False):
    """How often words between the same neighbours are read in each way."""

    context: Words  # with the reading beside it, distinct and in order
    reading: Ints
    count: Ints

    @classmethod
    def of(cls, context: Words, reading: Ints, count: Ints) -> ContextCounts:
        """Count equal pairs together."""
        order = np.lexsort((reading, context))
        context, reading, count = context[order], reading[order], count[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (context[1:] != context[:-1]) | (reading[1:] != reading[:-1])
        first = np.flatnonzero(new)
        total = np.add.reduceat(count, first) if len(first) else count
        return cls(context[new], ints(reading[new]), ints(total))

    @classmethod
    def joined(cls, parts: Any) -> ContextCounts:
        """Those of several blocks."""
        columns = (np.concatenate([getattr(one, name) for one in parts]) for name in cls.__struct_fields__)
        return cls.of(*columns)

    def varying(self) -> ContextCounts:
        """Those contexts that are read in two ways or more."""
        _, number, times = np.unique(self.context, return_inverse=True, return_counts=True)
        several = times[number] > 1
        return ContextCounts(self.context[several], ints(self.reading[several]), ints(self.count[several]))


def contexts(one: Annotation, wanted: Surfaces, among: Words | None) -> ContextCounts:
    """How a block reads wanted words between their neighbours; only in the contexts `among` these."""
    found, context = BlockText.of(one).occurrences(wanted)
    here = found.reading != NONE
    if among is not None:
        place = np.minimum(np.searchsorted(among, context), max(len(among) - 1, 0))
        here &= (among[place] == context) if len(among) else False
    rows = np.flatnonzero(here)
    return ContextCounts.of(context[rows], ints(found.reading[rows]), ints(np.ones(len(rows))))


def varied(one: Annotation, wanted: Surfaces, counts: ContextCounts, labels: int) -> tuple[Any, Any, Any]:
    """The occurrences of a block whose reading is not that of the majority: text, occurrences, variation."""
    text = BlockText.of(one)
    found, context = text.occurrences(wanted)
    readings = labels + 1
    known, number = np.unique(context, return_inverse=True)
    place = np.minimum(np.searchsorted(known, counts.context), max(len(known) - 1, 0))
    here = np.flatnonzero(known[place] == counts.context) if len(known) else ints([])
    group = place[here]
    total = np.bincount(group, weights=counts.count[here], minlength=len(known)).astype(np.int64)
    cell = ints(group * readings + counts.reading[here])
    order = np.argsort(cell)
    table = Readings(ints(group), ints(total), ints(cell[order]), ints(counts.count[here][order]), readings)
    located = Occurrences(found.begin, found.length, found.reading, found.surface, ints(number))
    # Contexts that are read in one way alone are not among the counts: their total is 0.
    return text, located, variation(located, table, len(text.mixed))
