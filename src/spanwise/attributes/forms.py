"""The tokens of mentions: their positions, and their sequences, numbered, searched for and counted."""

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

BLOCK = 1 << 19  # positions of a text processed at a time, so that they stay in the processor's cache


class Runs(Struct, frozen=True, eq=False):
    """Ragged rows of token positions: row `i` holds `position[at[i]:at[i + 1]]`."""

    at: Ints
    position: Ints

    @property
    def size(self) -> Ints:
        """The number of positions in each row."""
        return ints(np.diff(self.at))

    @property
    def row(self) -> Ints:
        """The row that each position belongs to."""
        return ints(np.repeat(np.arange(len(self.at) - 1), np.diff(self.at)))

    @classmethod
    def spanning(cls, first: Column, size: Column) -> Runs:
        """Rows of consecutive positions that begin at `first`."""
        return cls(offsets(size), run_positions(first, size))


class Forms(Struct, frozen=True, eq=False, dict=True):
    """A prefix tree of token sequences, in which every sequence and every prefix of one has a number.

    Numbers are exact, not hashes, and sequences may have any length: those of one token
    are numbered by the table `single`, and a longer one by the index of
    (number of the sequence without its last token, last token) in the sorted `keys`.
    Searching a text for all of them therefore takes one step per length, and only for
    the positions that still match some sequence.
    """

    single: Ints  # code -> number, -1 if no sequence begins with the code
    keys: Ints  # number of the prefix * width + code, ascending
    singles: int  # number of sequences of one token

    @classmethod
    def of(cls, tokens: Codes, runs: Runs, *, width: int) -> tuple[Forms, Ints]:
        """Build the tree of the token sequences in the rows of `runs`; also return the number of each row.

        The codes in `tokens` must be below `width`. An empty row has the number -1.

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
        first_codes = np.flatnonzero(present)
        single = np.full(width, -1, dtype=np.int64)
        single[first_codes] = np.arange(len(first_codes))
        number[live] = single[heads]
        levels, total, depth = [], len(first_codes), 1
        live = live[size[live] > depth]
        while len(live):
            key = number[live] * width + flat[begin[live] + depth]
            level, index = distinct(key)
            number[live] = total + index
            levels.append(level)
            total += len(levels[-1])
            depth += 1
            live = live[size[live] > depth]
        # Numbers grow with depth, so the concatenated keys are sorted.
        keys = np.concatenate(levels) if levels else np.empty(0, dtype=np.int64)
        return cls(ints(single), ints(keys), len(first_codes)), ints(number)

    def __len__(self) -> int:
        return self.singles + len(self.keys)

    @property
    def width(self) -> int:
        """The exclusive upper bound of the codes."""
        return len(self.single)

    def occurrences(self, tokens: Column, last: Bools) -> Ints:
        """How often each sequence of two tokens or more occurs in a text; occurrences may overlap.

        `last` marks the last token of each sentence; no occurrence extends beyond it.
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
        """The tokens of the given sequences, one after the other, and where each sequence begins."""
        size = self.sizes[numbers]
        at = offsets(size)
        flat = np.empty(int(at[-1]), dtype=np.int64)
        position, number = at[1:] - 1, np.array(numbers)
        live = np.arange(len(numbers))
        while len(live):
            longer = number[live] >= self.singles
            done = live[~longer]
            flat[position[done]] = self.heads[number[done]]
            live = live[longer]
            number[live], flat[position[live]] = np.divmod(self.keys[number[live] - self.singles], self.width)
            position[live] -= 1
        return ints(flat), at

    @cached_property
    def heads(self) -> Ints:
        """The codes that sequences begin with, in the order of their numbers."""
        return ints(np.flatnonzero(self.single >= 0))

    @cached_property
    def sizes(self) -> Ints:
        """The number of tokens in each sequence."""
        levels = [self.singles, *(level.stop - level.start for level in self.levels())]
        return ints(np.repeat(np.arange(1, len(levels) + 1), levels))

    def levels(self) -> Iterator[slice]:
        """The slices of `keys` for sequences of two tokens, of three, and so on."""
        begin, total = 0, self.singles
        while begin < len(self.keys):
            end = int(np.searchsorted(self.keys, total * self.width))
            yield slice(begin, end)
            begin, total = end, self.singles + end

    @classmethod
    def union(cls, trees: Sequence[tuple[Forms, Column | None]], width: int) -> tuple[Forms, list[Ints]]:
        """Merge several trees into one; also return the new numbers of the sequences of each tree.

        A table maps the codes of a tree to codes below `width`; without one, they stay the same.
        A sequence with a code that maps to -1 is left out and has the number -1; sequences that
        become equal, for example in lower case, share a number.
        """
        heads = [tree.heads if table is None else table[tree.heads] for tree, table in trees]
        present = np.zeros(width + 1, dtype=bool)  # the last entry stands for -1
        for head in heads:
            present[head] = True
        present[-1] = False
        single = np.where(present, np.cumsum(present) - 1, -1)
        mappings = [np.full(len(tree), -1, dtype=np.int64) for tree, _ in trees]
        for (tree, _), head, mapping in zip(trees, heads, mappings, strict=True):
            mapping[: tree.singles] = single[head]
        singles = total = int(present.sum())
        levels = []
        for slices in zip_longest(*(tree.levels() for tree, _ in trees), fillvalue=slice(0, 0)):
            keys, extended = [], []
            for (tree, table), mapping, level in zip(trees, mappings, slices, strict=True):
                parent, code = np.divmod(tree.keys[level], tree.width)
                code = code if table is None else table[code]
                going = np.flatnonzero((mapping[parent] >= 0) & (code >= 0))
                keys.append(mapping[parent[going]] * width + code[going])
                extended.append(tree.singles + level.start + going)
            merged, number = distinct(ints(np.concatenate(keys)))
            levels.append(merged)
            numbers = np.split(number, np.cumsum([len(rows) for rows in keys])[:-1])
            for mapping, rows, part in zip(mappings, extended, numbers, strict=True):
                mapping[rows] = total + part
            total += len(merged)
        all_keys = np.concatenate(levels) if levels else np.empty(0, dtype=np.int64)
        return cls(ints(single[:-1]), ints(all_keys), singles), [ints(mapping) for mapping in mappings]

    def numbers_of(self, other: Forms, table: Column | None = None) -> Ints:
        """The number in this tree of each sequence of `other`, -1 if it is not in the tree.

        A table maps the codes of `other` to those of this tree (-1: none); without one, they are the same.
        """
        number = np.full(len(other), -1, dtype=np.int64)
        heads = other.heads if table is None else table[other.heads]
        number[: other.singles] = np.append(self.single, -1)[heads]
        if not len(self.keys):
            return ints(number)
        for level in other.levels():
            parent, code = np.divmod(other.keys[level], other.width)
            code = code if table is None else table[code]
            going = np.flatnonzero((number[parent] >= 0) & (code >= 0))
            child = self._child(number[parent[going]], code[going])
            number[other.singles + level.start + going] = child
        return ints(number)

    def _child(self, number: Ints, code: Column) -> Ints:
        """The number of each sequence extended by one code, -1 if it is not in the tree."""
        key = number * self.width + code
        slots, shared = self.slots
        slot = hash_slots(key, len(slots).bit_length() - 1)
        index = slots[slot].astype(np.int64)
        right = self.keys[index] == key
        # A slot that several keys share stores one of them; the others need a binary search.
        unsure = np.flatnonzero(shared[slot] & ~right)
        result = np.where(right, index + self.singles, -1)
        if len(unsure):
            index = np.minimum(np.searchsorted(self.keys, key[unsure]), len(self.keys) - 1)
            right = self.keys[index] == key[unsure]
            result[unsure] = np.where(right, index + self.singles, -1)
        return result

    @cached_property
    def slots(self) -> tuple[Codes, Bools]:
        """For each hash, the index of a key that has it (0 if none), and whether several keys have it."""
        size = 1 << max(len(self.keys) * 4, 2).bit_length()
        indices = np.arange(len(self.keys), dtype=np.int32)
        slot = hash_slots(self.keys, size.bit_length() - 1)
        slots = np.zeros(size, dtype=np.int32)
        slots[slot] = indices
        shared = np.zeros(size, dtype=bool)
        shared[slot[slots[slot] != indices]] = True
        return slots, shared


def mention_tokens(corpus: Corpus, mentions: Mentions) -> Runs:
    """The positions, in the whole corpus, of the tokens of each mention.

    With unit "character", a mention has the tokens it touches; a discontinuous
    mention has those of all its pieces; an unplaced mention has none.
    """
    if mentions.parts is not None:
        return _tokens_of_parts(corpus, mentions, mentions.parts)
    first, end = _borders(corpus, mentions.sentence, mentions.start, mentions.end)
    size = np.where(mentions.start >= 0, np.maximum(end - first, 0), 0)
    return Runs.spanning(first, size)


def _borders(corpus: Corpus, sentence: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """The positions in the corpus of the first token of each span, and of the token after its last."""
    base = corpus.sentences[sentence]
    if corpus.unit == "token":
        return base + start, base + end
    if corpus.token_start is None or corpus.token_end is None:
        raise ValueError("a corpus of characters needs token_start and token_end")
    # Tokens are in text order, so (sentence, character) is sorted over the whole
    # corpus, and one search finds the tokens that a span touches.
    stride = int(max(corpus.token_end.max(initial=0), end.max(initial=0))) + 1
    owner = np.repeat(np.arange(len(corpus)), corpus.lengths) * stride
    first = np.searchsorted(owner + corpus.token_end, sentence * stride + start, side="right")
    after = np.searchsorted(owner + corpus.token_start, sentence * stride + end, side="left")
    return ints(first), ints(after)


def _tokens_of_parts(corpus: Corpus, mentions: Mentions, parts: Parts) -> Runs:
    pieces = np.diff(parts.at)
    owner = np.repeat(np.arange(len(mentions)), pieces)
    first, end = _borders(corpus, mentions.sentence[owner], parts.start, parts.end)
    size = np.where(mentions.start[owner] >= 0, np.maximum(end - first, 0), 0)
    if len(size) and corpus.unit == "character":
        # Two pieces may touch the same token, which counts only once.
        same = np.zeros(len(size), dtype=bool)
        same[1:] = (owner[1:] == owner[:-1]) & (first[1:] < end[:-1]) & (size[1:] > 0)
        first, size = first + same, size - same
    runs = Runs.spanning(first, size)
    per_mention = np.bincount(owner, weights=size, minlength=len(mentions)).astype(np.int64)
    return Runs(offsets(per_mention), runs.position)


def distinct_units(position: Ints, label: Column, labels: int) -> Ints | None:
    """The rows to keep so that each (position, label) pair occurs once, or None to keep all.

    The first of equal pairs is kept, in the original order; positions of -1 never count as equal.
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

    Discontinuous mentions are not, since their tokens do not follow one another. If two
    mentions of characters touch the same tokens, only one of them counts.
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
    """How often each (item, label) pair occurs; both are non-negative integers, -1 stands for none.

    Only items that occur at all have a row, so the table is never larger
    than pairs × labels.
    """

    row: Ints
    table: Ints

    @classmethod
    def of(
        cls, item: Ints, label: Column, *, items: int, labels: int, times: Ints | None = None
    ) -> PairCounts:
        """Count the given pairs, out of `items` × `labels` possible ones; pairs with item -1 are left out.

        With `times`, each pair is counted that many times.

        Examples:
            >>> pairs = PairCounts.of(np.array([7, 7, -1]), np.array([0, 1, 1]), items=9, labels=2)
            >>> pairs.count(np.array([7, 8]), np.array([1, 1])).tolist()
            [1, 0]
            >>> pairs.total(np.array([7, -1])).tolist()
            [2, 0]
        """
        valid = item >= 0
        if not valid.all():
            item, label = item[valid], label[valid]
            times = None if times is None else times[valid]
        present = np.zeros(items, dtype=bool)
        present[item] = True
        rows = np.flatnonzero(present)
        row = np.full(items + 1, len(rows), dtype=np.int64)  # the last entry stands for -1
        row[rows] = np.arange(len(rows))
        # Sums of integers are exact in floats up to 2⁵³.
        flat = np.bincount(row[item] * labels + label, weights=times, minlength=(len(rows) + 1) * labels)
        return cls(ints(row), ints(flat.reshape(len(rows) + 1, labels)))

    @classmethod
    def joined(cls, parts: Sequence[tuple[PairCounts, Ints, Ints]], *, items: int, labels: int) -> PairCounts:
        """The sum of several tables, each given with the new numbers of its items and labels."""
        met = [part.occurring() for part, _, _ in parts]
        items_met = [new_item[item] for (item, _, _), (_, new_item, _) in zip(met, parts, strict=True)]
        labels_met = [new_label[label] for (_, label, _), (_, _, new_label) in zip(met, parts, strict=True)]
        times = [number for _, _, number in met]
        columns = [ints(np.concatenate(column)) for column in (items_met, labels_met, times)]
        return cls.of(columns[0], columns[1], items=items, labels=labels, times=columns[2])

    def occurring(self) -> tuple[Ints, Ints, Ints]:
        """The items and the labels of the pairs that occur, and how often each pair does."""
        item = np.flatnonzero(self.row[:-1] < len(self.table) - 1)
        times = self.table[self.row[item]]
        index, label = np.nonzero(times)
        return ints(item[index]), ints(label), ints(times[index, label])

    def count(self, item: Ints, label: Column) -> Ints:
        """How often each pair occurs; 0 for an item or label of -1."""
        if not self.table.shape[1]:
            return np.zeros(len(item), dtype=np.int64)
        return np.where(label >= 0, self.table[self.row[item], label], 0)

    def at(self, item: Ints) -> PairCounts:
        """The counts of other items, each of which corresponds to an item here, or to none (-1)."""
        return PairCounts(ints(self.row[np.append(item, -1)]), self.table)

    def total(self, item: Ints) -> Ints:
        """How often each item occurs with any label."""
        return np.asarray(self.table.sum(axis=1)[self.row[item]])
