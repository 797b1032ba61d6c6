"""Find words with several readings block by block; only hashes of content are passed between blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from spanwise.columns import Ints, Words, distinct, ints
from spanwise.corpus import Annotation, Mentions
from spanwise.hashing import mixed_words, multipliers, word_hashes
from spanwise.suspicion.ranking import (
    NONE,
    OUTSIDE,
    Occurrences,
    Readings,
    Text,
    Variation,
    in_tokens,
    members,
    placed_on,
    readings_at,
    text_of,
    variation,
)

_MARK = np.uint64(0x2545F4914F6CDD1D)  # placed before, between and after sentences
_LEFT, _RIGHT, _SIZE = multipliers(1 << 10)[-3:]

Surfaces = Mapping[int, Words]  # by length: the sorted hashes of words that are a mention somewhere


def joined_surfaces(parts: Sequence[Surfaces]) -> dict[int, Words]:
    """Merge the words of mentions of several blocks."""
    sizes = sorted({size for part in parts for size in part})
    return {size: distinct(np.concatenate([part[size] for part in parts if size in part])) for size in sizes}


class BlockText(Struct, frozen=True, eq=False, dict=True):
    """The sentences of a block laid end to end, each word represented by its hash."""

    annotation: Annotation  # with mentions in token positions
    line: Text
    mixed: Words

    @classmethod
    def of(cls, annotation: Annotation) -> BlockText:
        """Lay out the sentences of a block."""
        line = text_of([annotation])
        words = np.append(word_hashes(annotation.corpus.vocabulary)[:, 0], _MARK)
        readable = Annotation(annotation.corpus, in_tokens(annotation.corpus, annotation.mentions))
        return cls(readable, line, words[line.tokens])

    @cached_property
    def _placed(self) -> tuple[Ints, Ints, Ints]:
        return placed_on(self.line, [self.annotation.mentions])

    @cached_property
    def _found(self) -> dict[int, tuple[Surfaces, tuple[Occurrences, Words]]]:
        return {}

    def _windows(self, longest: int) -> Iterator[tuple[int, Words]]:
        """For each length, the hash of that many words from every position on."""
        window = np.zeros(len(self.mixed), dtype=np.uint64)
        factors = multipliers(longest)
        for size in range(1, longest + 1):
            window = window[: len(self.mixed) - size + 1] + self.mixed[size - 1 :] * factors[size - 1]
            yield size, window

    def hashes(self, mentions: Mentions) -> Words:
        """The hash of the words of each mention; mentions are in token positions."""
        begin, length, _ = placed_on(self.line, [mentions])
        result = np.zeros(len(mentions), dtype=np.uint64)
        with np.errstate(over="ignore"):
            for step, factor in enumerate(multipliers(int(length.max(initial=0)))):
                inside = length > step
                result[inside] += self.mixed[begin[inside] + step] * factor
        return result

    def surfaces(self, mentions: Mentions | None = None) -> dict[int, Words]:
        """The words of the given mentions (in token positions), or of the block's own."""
        begin, length, _ = self._placed if mentions is None else placed_on(self.line, [mentions])
        with np.errstate(over="ignore"):
            return {
                size: distinct(window[begin[length == size]])
                for size, window in self._windows(int(length.max(initial=0)))
                if (length == size).any()
            }

    def occurrences(self, wanted: Surfaces) -> tuple[Occurrences, Words]:
        """Every occurrence of the wanted words, and the hash of the words with both neighbours.

        Readings use the label codes of the block. Results are cached by the identity of `wanted`.
        """
        if id(wanted) not in self._found:
            self._found[id(wanted)] = wanted, self._search(wanted)
        return self._found[id(wanted)][1]

    def _search(self, wanted: Surfaces) -> tuple[Occurrences, Words]:
        begin, length, label = self._placed
        begins, lengths, hashes = [ints([])], [ints([])], [np.zeros(0, dtype=np.uint64)]
        longest = min(max(wanted, default=0), len(self.mixed))
        with np.errstate(over="ignore"):
            for size, window in self._windows(longest):
                keys = wanted.get(size)
                if keys is None or not len(keys):
                    continue
                hits = members(window, keys)
                begins.append(hits)
                lengths.append(ints(np.full(len(hits), size)))
                hashes.append(window[hits])
            positions, sizes, surface = (
                np.concatenate(begins),
                np.concatenate(lengths),
                np.concatenate(hashes),
            )
            left, right = self.mixed[positions - 1], self.mixed[positions + sizes]
            context = mixed_words(surface ^ mixed_words(left * _LEFT + right * _RIGHT))
            context = mixed_words(context + sizes.astype(np.uint64) * _SIZE)
        reading = readings_at(self.line, begin, length, label, positions, sizes)
        # The hash serves as the number of the words; contexts are identified by their own hashes.
        number, nothing = surface.view(np.int64), ints(np.zeros(len(positions)))
        return Occurrences(ints(positions), ints(sizes), reading, ints(number), nothing), context

    def readings(self, occurrences: Occurrences, labels: Sequence[str]) -> Ints:
        """The readings of occurrences as codes of `labels`, which must include all labels of the block."""
        code = {label: number for number, label in enumerate(labels, start=OUTSIDE + 1)}
        table = [NONE, OUTSIDE, *(code.get(label, NONE) for label in self.annotation.mentions.labels)]
        return ints(ints(table)[occurrences.reading - NONE])


class ContextCounts(Struct, frozen=True, eq=False):
    """How often the same words between the same neighbours have each reading."""

    context: Words  # pairs of context and reading are distinct and sorted
    reading: Ints
    count: Ints

    @classmethod
    def of(cls, context: Words, reading: Ints, count: Ints) -> ContextCounts:
        """Add up the counts of equal pairs."""
        order = np.lexsort((reading, context))
        context, reading, count = context[order], reading[order], count[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (context[1:] != context[:-1]) | (reading[1:] != reading[:-1])
        first = np.flatnonzero(new)
        total = np.add.reduceat(count, first) if len(first) else count
        return cls(context[new], ints(reading[new]), ints(total))

    @classmethod
    def joined(cls, parts: Sequence[ContextCounts]) -> ContextCounts:
        """Add up the counts of several blocks."""
        columns = (np.concatenate([getattr(part, name) for part in parts]) for name in cls.__struct_fields__)
        return parts[0] if len(parts) == 1 else cls.of(*columns)

    def varying(self) -> ContextCounts:
        """Only the contexts with two or more readings."""
        again = self.context[1:] == self.context[:-1]
        several = np.append(False, again) | np.append(again, False) if len(self.context) else again
        return ContextCounts(self.context[several], ints(self.reading[several]), ints(self.count[several]))


def contexts(
    text: BlockText, wanted: Surfaces, labels: Sequence[str], among: Words | None = None
) -> ContextCounts:
    """Count the readings of the wanted words in their contexts; if given, only contexts in `among`."""
    occurrences, context = text.occurrences(wanted)
    reading = text.readings(occurrences, labels)
    chosen = reading != NONE
    if among is not None:
        index = np.minimum(np.searchsorted(among, context), max(len(among) - 1, 0))
        chosen &= (among[index] == context) if len(among) else False
    rows = np.flatnonzero(chosen)
    return ContextCounts.of(context[rows], ints(reading[rows]), ints(np.ones(len(rows))))


def varied(
    text: BlockText, wanted: Surfaces, counts: ContextCounts, labels: Sequence[str]
) -> tuple[Occurrences, Variation]:
    """The occurrences of a block in known contexts, and those whose reading is not the majority reading.

    `counts` must cover all blocks; contexts with a single reading may be left out.
    """
    occurrences, context = text.occurrences(wanted)
    readings = len(labels) + 1
    contexts = distinct(counts.context)
    index = np.minimum(np.searchsorted(contexts, context), max(len(contexts) - 1, 0))
    rows = np.flatnonzero(contexts[index] == context) if len(contexts) else ints([])
    group = ints(np.searchsorted(contexts, counts.context))
    total = np.bincount(group, weights=counts.count, minlength=len(contexts)).astype(np.int64)
    table = Readings(ints(total), ints(group * readings + counts.reading), counts.count, readings)
    located = Occurrences(
        occurrences.begin[rows], occurrences.length[rows], text.readings(occurrences, labels)[rows],
        occurrences.surface[rows], ints(index[rows]),
    )  # fmt: skip
    return located, variation(located, table, len(text.mixed))


def relabeled(annotation: Annotation, labels: Sequence[str]) -> Annotation:
    """The annotation with label codes from the labels of all blocks."""
    return replace(annotation, mentions=annotation.mentions.relabeled(labels))
