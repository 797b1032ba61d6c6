"""Token sequences of mentions, numbered exactly, and where they occur in a text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import zip_longest

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Codes, Column, Ints, ints, offsets, run_positions
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
        """The tree of the rows of `runs` over `tokens`, whose codes lie below `width`, and each row's number.

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

    def occurrences(self, tokens: Column, last: Bools, *, wanted: Bools | None = None) -> Ints:
        """How often each sequence of two tokens or more occurs in a text; occurrences may overlap.

        `last` marks the last token of each sentence, which no occurrence goes beyond. With
        `wanted` only those sequences are looked for, and what is said of others means nothing.
        """
        counts = np.zeros(len(self), dtype=np.int64)
        keys = self.keys if wanted is None else self.keys[self._leading_to(wanted)[self.singles :]]
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

    def _leading_to(self, wanted: Bools) -> Bools:
        """Which sequences are wanted, or the beginning of one that is."""
        leading = wanted.copy()
        for level in reversed(list(self.levels())):
            parent = self.keys[level] // self.width
            leading[parent[leading[self.singles :][level]]] = True
        return leading

    def levels(self) -> Iterator[slice]:
        """Which keys are those of sequences of two tokens, of three, and so on."""
        begin, known = 0, self.singles
        while begin < len(self.keys):
            end = int(np.searchsorted(self.keys, known * self.width))
            yield slice(begin, end)
            begin, known = end, self.singles + end

    def within(self, width: int) -> tuple[Forms, Ints]:
        """The tree of the sequences with codes below `width` alone, and their numbers in it, or -1."""
        if width == self.width:
            return self, ints(np.arange(len(self)))
        single = ints(self.single[:width])
        singles = int((single >= 0).sum())
        place = np.full(len(self), -1, dtype=np.int64)
        place[:singles] = np.arange(singles)  # singles are numbered in the order of their codes
        levels, total = [], singles
        for level in self.levels():
            parent, code = np.divmod(self.keys[level], self.width)
            kept = np.flatnonzero((place[parent] >= 0) & (code < width))
            levels.append(place[parent[kept]] * width + code[kept])
            place[self.singles + level.start + kept] = np.arange(total, total + len(kept))
            total += len(kept)
        keys = np.concatenate(levels) if levels else np.empty(0, dtype=np.int64)
        return Forms(single, ints(keys), singles), ints(place)

    def recoded(self, table: Column, width: int) -> tuple[Forms, Ints]:
        """The tree with the codes `table[code]`, below `width`, and the number of each sequence in it.

        Sequences that are told apart no more, as by lower case, have one number.
        """
        heads = table[self.heads]
        present = np.zeros(width, dtype=bool)
        present[heads] = True
        single = np.where(present, np.cumsum(present) - 1, -1)
        place = np.empty(len(self), dtype=np.int64)
        place[: self.singles] = single[heads]
        levels, singles = [], int(present.sum())
        total = singles
        for level in self.levels():
            parent, code = np.divmod(self.keys[level], self.width)
            known, number = distinct(place[parent] * width + table[code])
            place[self.singles :][level] = total + number
            levels.append(known)
            total += len(known)
        keys = np.concatenate(levels) if levels else np.empty(0, dtype=np.int64)
        return Forms(ints(single), ints(keys), singles), ints(place)

    def joined(self, other: Forms) -> tuple[Forms, Ints, Ints]:
        """The tree of the sequences of both, which have codes of one width, and the numbers of each there."""
        sides = (self, other)
        present = (self.single >= 0) | (other.single >= 0)
        single = np.where(present, np.cumsum(present) - 1, -1)
        total = int(present.sum())
        places = [np.empty(len(side), dtype=np.int64) for side in sides]
        for side, place in zip(sides, places, strict=True):
            place[: side.singles] = single[side.single >= 0]
        levels = []
        nothing = slice(0, 0)
        for here, there in zip_longest(self.levels(), other.levels(), fillvalue=nothing):
            keys = []
            for side, place, level in zip(sides, places, (here, there), strict=True):
                parent, code = np.divmod(side.keys[level], self.width)
                keys.append(place[parent] * self.width + code)
            known, number = distinct(ints(np.concatenate(keys)))
            levels.append(known)
            for side, place, level, part in zip(
                sides, places, (here, there), np.split(number, [len(keys[0])]), strict=True
            ):
                place[side.singles :][level] = total + part
            total += len(known)
        keys_of_all = np.concatenate(levels) if levels else np.empty(0, dtype=np.int64)
        union = Forms(ints(single), ints(keys_of_all), int(present.sum()))
        return union, ints(places[0]), ints(places[1])

    def places(self, other: Forms) -> Ints:
        """The number here of each sequence of `other`, whose codes may go beyond ours; -1 where none."""
        place = np.full(len(other), -1, dtype=np.int64)
        heads = np.flatnonzero(other.single >= 0)
        common = heads < self.width
        place[: other.singles][common] = self.single[heads[common]]
        if not len(self.keys):
            return ints(place)
        for level in other.levels():
            parent, code = np.divmod(other.keys[level], other.width)
            going = np.flatnonzero((place[parent] >= 0) & (code < self.width))
            child = self._child(place[parent[going]], code[going])
            place[other.singles + level.start + going] = child
        return ints(place)

    def _child(self, number: Ints, code: Column) -> Ints:
        """The numbers of the sequences made longer by one code each, -1 where there is none."""
        key = number * self.width + code
        slots, crowded = self._slots
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
    def _slots(self) -> tuple[Codes, Bools]:
        """For each hash the place of a key that has it, 0 where none has, and whether several have it."""
        size = 1 << max(len(self.keys) * 4, 2).bit_length()
        places = np.arange(len(self.keys), dtype=np.int32)
        slot = hash_slots(self.keys, size.bit_length() - 1)
        slots = np.zeros(size, dtype=np.int32)
        slots[slot] = places
        crowded = np.zeros(size, dtype=bool)
        crowded[slot[slots[slot] != places]] = True
        return slots, crowded
