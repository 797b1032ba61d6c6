"""The tokens of mentions: positions, and sequences, numbered exactly, found in a text, counted by label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import zip_longest

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Codes, Column, Ints, ints, offsets, run_positions
from spanwise.corpus import Corpus, Mentions, Parts
from spanwise.hashing import distinct
from spanwise.hashing import slots as hash_slots

BLOCK = 1 << 19  # positions of a text looked at together, so that they stay in the processor's cache


class Runs(Struct, frozen=True, eq=False):
    """Ragged rows of token positions: row `i` holds `position[at[i]:at[i + 1]]`."""

    at: Ints
    position: Ints

    @property
    def size(self) -> Ints:
        """How many positions each row holds."""
        return ints(np.diff(self.at))

    @property
    def row(self) -> Ints:
        """The row that each position belongs to."""
        return ints(np.repeat(np.arange(len(self.at) - 1), np.diff(self.at)))

    @classmethod
    def spanning(cls, first: Column, size: Column) -> Runs:
        """Rows of successive positions that begin at `first`."""
        return cls(offsets(size), run_positions(first, size))


class Forms(Struct, frozen=True, eq=False, dict=True):
    """A tree of token sequences: every sequence asked for, and every beginning of one, has a number.

    Numbers are exact, not hashes, and nothing is ever cut off: sequences of one token
    are numbered by the table `single`, and a longer one by the place of
    (number of the sequence without its last token, last token) in the sorted `keys`.
    Looking for all of them in a text therefore takes one step per length for only
    those positions that still agree with some sequence.
    """

    single: Ints  # code -> number, -1 where no sequence begins with the code
    keys: Ints  # number of the beginning * width + code, ascending
    singles: int

    @classmethod
    def of(cls, tokens: Codes, runs: Runs, *, width: int) -> tuple[Forms, Ints]:
        """The tree of the rows of `runs` over `tokens`, whose codes are below `width`, and each row's number.

        A row of no token has the number -1.

        Examples:
            >>> tokens = np.array([5, 6, 5, 6], np.int32)
            >>> runs = Runs.spanning(np.array([0, 1, 2]), np.array([2, 1, 2]))
            >>> forms, numbers = Forms.of(tokens, runs, width=7)
            >>> numbers.tolist()
            [2, 1, 2]
        """
        size, begin = runs.size, runs.at[:-1]
        flat = tokens[runs.position]
        number = np.full(len(size), -1, dtype=np.int64)
        live = np.flatnonzero(size > 0)
        heads = flat[begin[live]]
        present = np.zeros(width, dtype=bool)
        present[heads] = True
        known = np.flatnonzero(present)
        single = np.full(width, -1, dtype=np.int64)
        single[known] = np.arange(len(known))
        number[live] = single[heads]
        levels, total, depth = [], len(known), 1
        live = live[size[live] > depth]
        while len(live):
            key = number[live] * width + flat[begin[live] + depth]
            level, place = distinct(key)
            number[live] = total + place
            levels.append(level)
            total += len(levels[-1])
            depth += 1
            live = live[size[live] > depth]
        # Numbers grow with the depth, so the keys of all depths together are in order.
        keys = np.concatenate(levels) if levels else np.empty(0, dtype=np.int64)
        return cls(ints(single), ints(keys), len(known)), ints(number)

    def __len__(self) -> int:
        return self.singles + len(self.keys)

    @property
    def width(self) -> int:
        """The bound of the codes."""
        return len(self.single)

    def occurrences(self, tokens: Column, last: Bools) -> Ints:
        """How often each sequence of two tokens or more occurs in a text; occurrences may overlap.

        `last` marks the last token of each sentence, which no occurrence goes beyond.
        """
        counts = np.zeros(len(self), dtype=np.int64)
        keys = self.keys
        if not len(keys) or not len(tokens):
            return ints(counts)
        grows = np.zeros(len(self), dtype=bool)
        grows[keys // self.width] = True
        opens = np.zeros(self.width, dtype=bool)
        opens[self.heads] = grows[: self.singles]
        inner = np.zeros(self.width, dtype=bool)
        inner[keys % self.width] = True
        for begin in range(0, len(tokens) - 1, BLOCK):
            end = min(begin + BLOCK, len(tokens) - 1)
            going = opens[tokens[begin:end]]
            going &= inner[tokens[begin + 1 : end + 1]]
            going &= ~last[begin:end]
            at = np.flatnonzero(going) + begin
            number = self.single[tokens[at]]
            while len(at):
                at += 1
                number = self._child(number, tokens[at])
                hit = np.flatnonzero(number >= 0)
                at, number = at[hit], number[hit]
                counts += np.bincount(number, minlength=len(self))
                further = np.flatnonzero(grows[number] & ~last[at])
                at, number = at[further], number[further]
        return ints(counts)

    def sequences(self, numbers: Ints) -> tuple[Ints, Ints]:
        """The tokens of some sequences, one after the other, and where each of them begins."""
        size = self.sizes[numbers]
        at = offsets(size)
        flat = np.empty(int(at[-1]), dtype=np.int64)
        place, number = at[1:] - 1, np.array(numbers)
        live = np.arange(len(numbers))
        while len(live):
            longer = number[live] >= self.singles
            done = live[~longer]
            flat[place[done]] = self.heads[number[done]]
            live = live[longer]
            number[live], flat[place[live]] = np.divmod(self.keys[number[live] - self.singles], self.width)
            place[live] -= 1
        return ints(flat), at

    @cached_property
    def heads(self) -> Ints:
        """The codes that sequences begin with, in the order of their numbers."""
        return ints(np.flatnonzero(self.single >= 0))

    @cached_property
    def sizes(self) -> Ints:
        """How many tokens each sequence has."""
        levels = [self.singles, *(level.stop - level.start for level in self.levels())]
        return ints(np.repeat(np.arange(1, len(levels) + 1), levels))

    def levels(self) -> Iterator[slice]:
        """Which keys are those of sequences of two tokens, of three, and so on."""
        begin, known = 0, self.singles
        while begin < len(self.keys):
            end = int(np.searchsorted(self.keys, known * self.width))
            yield slice(begin, end)
            begin, known = end, self.singles + end

    @classmethod
    def union(cls, trees: Sequence[tuple[Forms, Column | None]], width: int) -> tuple[Forms, list[Ints]]:
        """One tree of the sequences of several, and the number that each of their sequences has in it.

        A table says which code below `width` each code of a tree has here; without one they are the same.
        A sequence with a code that has none (-1) is left out and has the number -1; sequences that are told
        apart no more, as by lower case, have one number.
        """
        heads = [tree.heads if table is None else table[tree.heads] for tree, table in trees]
        present = np.zeros(width + 1, dtype=bool)  # the last place serves -1
        for head in heads:
            present[head] = True
        present[-1] = False
        single = np.where(present, np.cumsum(present) - 1, -1)
        places = [np.full(len(tree), -1, dtype=np.int64) for tree, _ in trees]
        for (tree, _), head, place in zip(trees, heads, places, strict=True):
            place[: tree.singles] = single[head]
        singles = total = int(present.sum())
        levels = []
        for slices in zip_longest(*(tree.levels() for tree, _ in trees), fillvalue=slice(0, 0)):
            keys, kept = [], []
            for (tree, table), place, level in zip(trees, places, slices, strict=True):
                parent, code = np.divmod(tree.keys[level], tree.width)
                code = code if table is None else table[code]
                going = np.flatnonzero((place[parent] >= 0) & (code >= 0))
                keys.append(place[parent[going]] * width + code[going])
                kept.append(tree.singles + level.start + going)
            known, number = distinct(ints(np.concatenate(keys)))
            levels.append(known)
            numbers = np.split(number, np.cumsum([len(some) for some in keys])[:-1])
            for place, some, part in zip(places, kept, numbers, strict=True):
                place[some] = total + part
            total += len(known)
        keys_of_all = np.concatenate(levels) if levels else np.empty(0, dtype=np.int64)
        return cls(ints(single[:-1]), ints(keys_of_all), singles), [ints(place) for place in places]

    def places(self, other: Forms, table: Column | None = None) -> Ints:
        """The number here of each sequence of `other`, -1 where it has none.

        A table says which code each of its codes has here, -1 where none; without one they are the same.
        """
        place = np.full(len(other), -1, dtype=np.int64)
        heads = other.heads if table is None else table[other.heads]
        place[: other.singles] = np.append(self.single, -1)[heads]
        if not len(self.keys):
            return ints(place)
        for level in other.levels():
            parent, code = np.divmod(other.keys[level], other.width)
            code = code if table is None else table[code]
            going = np.flatnonzero((place[parent] >= 0) & (code >= 0))
            child = self._child(place[parent[going]], code[going])
            place[other.singles + level.start + going] = child
        return ints(place)

    def _child(self, number: Ints, code: Column) -> Ints:
        """The numbers of the sequences made longer by one code each, -1 where there is none."""
        key = number * self.width + code
        slots, crowded = self.slots
        slot = hash_slots(key, len(slots).bit_length() - 1)
        place = slots[slot].astype(np.int64)
        right = self.keys[place] == key
        # A slot that several keys share shows one of them; the others are searched for.
        unsure = np.flatnonzero(crowded[slot] & ~right)
        result = np.where(right, place + self.singles, -1)
        if len(unsure):
            place = np.minimum(np.searchsorted(self.keys, key[unsure]), len(self.keys) - 1)
            right = self.keys[place] == key[unsure]
            result[unsure] = np.where(right, place + self.singles, -1)
        return result

    @cached_property
    def slots(self) -> tuple[Codes, Bools]:
        """For each hash the place of a key that has it, 0 where none has, and whether several have it."""
        size = 1 << max(len(self.keys) * 4, 2).bit_length()
        places = np.arange(len(self.keys), dtype=np.int32)
        slot = hash_slots(self.keys, size.bit_length() - 1)
        slots = np.zeros(size, dtype=np.int32)
        slots[slot] = places
        crowded = np.zeros(size, dtype=bool)
        crowded[slot[slots[slot] != places]] = True
        return slots, crowded


def mention_tokens(corpus: Corpus, mentions: Mentions) -> Runs:
    """The positions, in the whole corpus, of the tokens of each mention.

    In a text of characters a mention has the tokens it touches; a discontinuous
    mention has those of all its pieces; one that could not be placed has none.
    """
    if mentions.parts is not None:
        return _tokens_of_parts(corpus, mentions, mentions.parts)
    first, end = _borders(corpus, mentions.sentence, mentions.start, mentions.end)
    size = np.where(mentions.start >= 0, np.maximum(end - first, 0), 0)
    return Runs.spanning(first, size)


def _borders(corpus: Corpus, sentence: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """The positions in the corpus of the first token of each span and of the one after its last."""
    base = corpus.sentences[sentence]
    if corpus.unit == "token":
        return base + start, base + end
    if corpus.token_start is None or corpus.token_end is None:
        raise ValueError("a corpus of characters needs token_start and token_end")
    # Tokens follow one another, so (sentence, character) is in order over the
    # whole corpus, and one search finds the tokens a span touches.
    stride = int(max(corpus.token_end.max(initial=0), end.max(initial=0))) + 1
    owner = np.repeat(np.arange(len(corpus)), corpus.lengths) * stride
    first = np.searchsorted(owner + corpus.token_end, sentence * stride + start, side="right")
    behind = np.searchsorted(owner + corpus.token_start, sentence * stride + end, side="left")
    return ints(first), ints(behind)


def _tokens_of_parts(corpus: Corpus, mentions: Mentions, parts: Parts) -> Runs:
    pieces = np.diff(parts.at)
    owner = np.repeat(np.arange(len(mentions)), pieces)
    first, end = _borders(corpus, mentions.sentence[owner], parts.start, parts.end)
    size = np.where(mentions.start[owner] >= 0, np.maximum(end - first, 0), 0)
    if len(size) and corpus.unit == "character":
        # Two pieces may touch one token; it is the mention's once.
        same = np.zeros(len(size), dtype=bool)
        same[1:] = (owner[1:] == owner[:-1]) & (first[1:] < end[:-1]) & (size[1:] > 0)
        first, size = first + same, size - same
    runs = Runs.spanning(first, size)
    per_mention = np.bincount(owner, weights=size, minlength=len(mentions)).astype(np.int64)
    return Runs(offsets(per_mention), runs.position)


def distinct_units(position: Ints, label: Column, labels: int) -> Ints | None:
    """Which of the (position, label) pairs to keep so that each is there once; None keeps all.

    The first of equal pairs is kept, and the order stays; a position of -1 is never equal to another.
    """
    if len(position) < 2 or bool((position[1:] > position[:-1]).all()):
        return None
    key = position * max(labels, 1) + label
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    fresh = np.ones(len(key), dtype=bool)
    fresh[1:] = (ordered[1:] != ordered[:-1]) | (position[order][1:] < 0)
    return ints(np.sort(order[fresh]))


def one_occurrence(corpus: Corpus, mentions: Mentions, runs: Runs) -> Bools:
    """Which mentions are an occurrence of their tokens in the text, each (occurrence, label) once.

    A discontinuous mention is not, as its tokens do not follow one another;
    of two mentions of characters that touch the same tokens one is counted.
    """
    if mentions.parts is None and corpus.unit == "token":
        return np.ones(len(mentions), dtype=bool)
    size, at = runs.size, runs.at
    some = np.flatnonzero(size > 0)
    first, final = runs.position[at[some]], runs.position[at[some + 1] - 1]
    whole = some[final - first + 1 == size[some]]
    columns = (mentions.label[whole], size[whole], runs.position[at[whole]])
    order = np.lexsort(columns)
    fresh = np.zeros(len(whole), dtype=bool)
    fresh[:1] = True
    for column in columns:
        fresh[1:] |= column[order][1:] != column[order][:-1]
    mask = np.zeros(len(mentions), dtype=bool)
    mask[whole[order[fresh]]] = True
    return mask


class PairCounts(Struct, frozen=True, eq=False):
    """How often each (item, label) pair was met; both are small numbers, and -1 is never met.

    Only items that were met at all have a row, so the table is never larger
    than pairs × labels.
    """

    row: Ints
    table: Ints

    @classmethod
    def of(
        cls, item: Ints, label: Column, *, items: int, labels: int, times: Ints | None = None
    ) -> PairCounts:
        """The counts of the given pairs of `items` × `labels` possible ones; pairs with item -1 are left out.

        With `times` every pair was met so often.

        Examples:
            >>> pairs = PairCounts.of(np.array([7, 7, -1]), np.array([0, 1, 1]), items=9, labels=2)
            >>> pairs.count(np.array([7, 8]), np.array([1, 1])).tolist()
            [1, 0]
            >>> pairs.total(np.array([7, -1])).tolist()
            [2, 0]
        """
        met = item >= 0
        if not met.all():
            item, label = item[met], label[met]
            times = None if times is None else times[met]
        present = np.zeros(items, dtype=bool)
        present[item] = True
        rows = np.flatnonzero(present)
        row = np.full(items + 1, len(rows), dtype=np.int64)  # the last place serves -1
        row[rows] = np.arange(len(rows))
        # Sums of whole numbers are exact in floats up to 2⁵³.
        flat = np.bincount(row[item] * labels + label, weights=times, minlength=(len(rows) + 1) * labels)
        return cls(ints(row), ints(flat.reshape(len(rows) + 1, labels)))

    @classmethod
    def joined(cls, parts: Sequence[tuple[PairCounts, Ints, Ints]], *, items: int, labels: int) -> PairCounts:
        """The sum of tables, each with the new numbers of its items and of its labels."""
        met = [part.met() for part, _, _ in parts]
        items_met = [place[item] for (item, _, _), (_, place, _) in zip(met, parts, strict=True)]
        labels_met = [code[label] for (_, label, _), (_, _, code) in zip(met, parts, strict=True)]
        times = [number for _, _, number in met]
        columns = [ints(np.concatenate(column)) for column in (items_met, labels_met, times)]
        return cls.of(columns[0], columns[1], items=items, labels=labels, times=columns[2])

    def met(self) -> tuple[Ints, Ints, Ints]:
        """The pairs that were met, items and labels, and how often each was."""
        item = np.flatnonzero(self.row[:-1] < len(self.table) - 1)
        times = self.table[self.row[item]]
        place, label = np.nonzero(times)
        return ints(item[place]), ints(label), ints(times[place, label])

    def count(self, item: Ints, label: Column) -> Ints:
        """How often each pair was met; 0 for items or labels of -1."""
        if not self.table.shape[1]:
            return np.zeros(len(item), dtype=np.int64)
        return np.where(label >= 0, self.table[self.row[item], label], 0)

    def at(self, item: Ints) -> PairCounts:
        """The counts of other items, each of which is one of ours, or none (-1)."""
        return PairCounts(ints(self.row[np.append(item, -1)]), self.table)

    def total(self, item: Ints) -> Ints:
        """How often each item was met with any label."""
        return np.asarray(self.table.sum(axis=1)[self.row[item]])
