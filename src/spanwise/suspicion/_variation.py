"""The same words read in different ways: variation n-grams, and how rare a reading is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from spanwise.columns import Column, Ints, Words, ints, offsets
from spanwise.corpus import Annotation, Corpus, Mentions
from spanwise.hashing import multipliers

_BITS = 20
OUTSIDE = 0  # the reading of words that no mention touches; labels follow from 1
NONE = -1  # partly covered, or with several labels at once


class Text(Struct, frozen=True, eq=False):
    """All sentences of several corpora behind each other, a mark before, between and behind them.

    `origin[i]` is where sentence `i` of the first corpus, then of the next, begins.
    """

    tokens: Column
    origin: Ints
    first: Ints  # number of the first sentence of each corpus


class Occurrences(Struct, frozen=True, eq=False):
    """Places where words stand that are a mention somewhere, with how they are read there.

    `surface` and `context` number equal words, and equal words between equal neighbours.
    """

    begin: Ints
    length: Ints
    reading: Ints
    surface: Ints
    context: Ints


class Readings(Struct, frozen=True, eq=False):
    """How often each group of occurrences is read in each way."""

    group: Ints  # of each occurrence with a reading
    total: Ints  # of each group
    cell: Ints  # sorted keys group * readings + reading
    count: Ints  # of each cell
    readings: int

    def of(self, group: Ints, reading: Ints) -> Ints:
        """How often each group has each reading."""
        key = group * self.readings + reading
        place = np.minimum(np.searchsorted(self.cell, key), max(len(self.cell) - 1, 0))
        if not len(self.cell):
            return ints(np.zeros(len(key)))
        return ints(np.where(self.cell[place] == key, self.count[place], 0))


class Variation(Struct, frozen=True, eq=False):
    """Occurrences in gold whose reading is not that of the majority, one row each."""

    row: Ints  # among the occurrences
    score: Column
    proposal: Ints  # the majority reading
    group: Ints


def in_tokens(corpus: Corpus, mentions: Mentions) -> Mentions:
    """The mentions by tokens; one that counts characters has the tokens it touches, or is left out."""
    if corpus.unit == "token" or corpus.token_start is None or corpus.token_end is None:
        return mentions
    stride = 1 + int(max(mentions.end.max(initial=0), corpus.token_end.max(initial=0)))
    line = np.repeat(np.arange(len(corpus)), corpus.lengths) * stride
    first = np.searchsorted(line + corpus.token_end, mentions.sentence * stride + mentions.start, "right")
    last = np.searchsorted(line + corpus.token_start, mentions.sentence * stride + mentions.end, "left")
    origin = corpus.sentences[mentions.sentence]
    found = Mentions(
        mentions.sentence,
        ints(first - origin),
        ints(last - origin),
        mentions.label,
        mentions.labels,
        fields=mentions.fields,
    )
    return found.take(np.flatnonzero(last > first))


def in_characters(corpus: Corpus, sentence: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Stretches of tokens in the positions of the corpus."""
    if corpus.unit == "token" or corpus.token_start is None or corpus.token_end is None:
        return start, end
    origin = corpus.sentences[sentence]
    return ints(corpus.token_start[origin + start]), ints(corpus.token_end[origin + end - 1])


def text_of(annotations: Sequence[Annotation]) -> Text:
    """One line of tokens; all corpora have one vocabulary."""
    mark = len(annotations[0].corpus.vocabulary)
    lengths = np.concatenate([one.corpus.lengths for one in annotations])
    origin = offsets(lengths + 1)[:-1] + 1
    tokens = np.full(int(lengths.sum() + len(lengths) + 1), mark, dtype=np.int64)
    inside = np.ones(len(tokens), dtype=bool)
    inside[0] = False
    inside[origin + lengths] = False
    tokens[inside] = np.concatenate([one.corpus.tokens for one in annotations])
    return Text(tokens, ints(origin), offsets([len(one.corpus) for one in annotations]))


def occurrences(text: Text, mentions: Sequence[Mentions], more: Sequence[Mentions] = ()) -> Occurrences:
    """Every place where the words of a mention stand; `more` are words to look for, not readings.

    Words are compared by 64-bit hashes of all tokens of a stretch.
    """
    begin, length, label = _placed(text, mentions)
    wanted_begin = np.concatenate([begin, _placed(text, more)[0]]) if more else begin
    wanted_length = np.concatenate([length, _placed(text, more)[1]]) if more else length
    longest = int(wanted_length.max(initial=0))
    factors = multipliers(longest + 3)
    with np.errstate(over="ignore"):
        mixed = _mixed(text.tokens)
        window = np.zeros(len(mixed), dtype=np.uint64)
        begins, lengths, hashes = [], [], []
        for size in range(1, longest + 1):
            window = window[: len(mixed) - size + 1] + mixed[size - 1 :] * factors[size - 1]
            keys = np.unique(window[wanted_begin[wanted_length == size]])
            if not len(keys):
                continue
            found = _members(window, keys)
            begins.append(found)
            lengths.append(np.full(len(found), size))
            hashes.append(window[found])
        if not begins:
            nothing = ints([])
            return Occurrences(nothing, nothing, nothing, nothing, nothing)
        places, sizes, surface = np.concatenate(begins), np.concatenate(lengths), np.concatenate(hashes)
        left, right = mixed[places - 1], mixed[places + sizes]
        context = _mixed(surface ^ _mixed(left * factors[longest] + right * factors[longest + 1]))
        # Words of different lengths never meet, whatever their hashes.
        surface = _mixed(surface + sizes.astype(np.uint64) * factors[longest + 2])
        context = _mixed(context + sizes.astype(np.uint64) * factors[longest + 2])
    return Occurrences(
        begin=ints(places),
        length=ints(sizes),
        reading=_readings(text, begin, length, label, places, sizes),
        surface=_numbers(surface),
        context=_numbers(context),
    )


def _placed(text: Text, mentions: Sequence[Mentions]) -> tuple[Ints, Ints, Ints]:
    """Begin on the line, length and label of all mentions, corpus by corpus."""
    begins = [
        text.origin[text.first[number] + own.sentence] + own.start for number, own in enumerate(mentions)
    ]
    lengths = [own.end - own.start for own in mentions]
    return (
        ints(np.concatenate(begins)),
        ints(np.concatenate(lengths)),
        ints(np.concatenate([own.label for own in mentions])),
    )


def _mixed(values: Column) -> Words:
    """Numbers spread over 64 bits (the finaliser of SplitMix64), the same everywhere."""
    mixed = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _members(window: Words, keys: Words) -> Ints:
    """Where the window is one of the sorted keys; most places are ruled out by a small table."""
    shift = np.uint64(64 - _BITS)
    table = np.zeros(1 << _BITS, dtype=bool)
    with np.errstate(over="ignore"):
        table[(_mixed(keys) >> shift).view(np.int64)] = True
        maybe = np.flatnonzero(table[(_mixed(window) >> shift).view(np.int64)])
    place = np.minimum(np.searchsorted(keys, window[maybe]), len(keys) - 1)
    return ints(maybe[keys[place] == window[maybe]])


def _numbers(hashes: Words) -> Ints:
    return ints(np.unique(hashes, return_inverse=True)[1])


def _readings(text: Text, begin: Ints, length: Ints, label: Ints, places: Ints, sizes: Ints) -> Ints:
    """The label of a mention that lies exactly there, 0 where no mention does, -1 for anything else."""
    change = np.zeros(len(text.tokens) + 1, dtype=np.int64)
    np.add.at(change, begin, 1)
    np.add.at(change, begin + length, -1)
    covered = offsets(np.cumsum(change) > 0)
    reading = np.where(covered[places + sizes] == covered[places], OUTSIDE, NONE)
    stride = int(max(length.max(initial=0), sizes.max(initial=0))) + 1
    key = begin * stride + length
    order = np.argsort(key, kind="stable")
    key, named = key[order], label[order]
    wanted = places * stride + sizes
    low = np.searchsorted(key, wanted, "left")
    number = np.searchsorted(key, wanted, "right") - low
    exact = number == 1
    reading[exact] = named[low[exact]] + 1
    return ints(reading)


def readings_of(group: Ints, reading: Ints, readings: int) -> Readings:
    """Counts of readings by group, over occurrences that have one."""
    there = reading != NONE
    size = int(group.max(initial=-1)) + 1
    cell, count = np.unique(group[there] * readings + reading[there], return_counts=True)
    total = np.bincount(group[there], minlength=size)
    return Readings(group[there], ints(total), ints(cell), ints(count), readings)


def variation(found: Occurrences, counts: Readings, within: int) -> Variation:
    """Occurrences before place `within` whose words are read otherwise elsewhere, in the same context.

    The score is the share of the most frequent reading times (1 - 1/n), n all occurrences with a
    reading. Where two readings are equally frequent each is held against the other.
    """
    groups, readings = len(counts.total), counts.readings
    owner, reading = counts.cell // readings, counts.cell % readings
    # Ties between readings: labels in order, then outside.
    rank = np.where(reading == OUTSIDE, readings, reading)
    order = np.lexsort((rank, -counts.count, owner))
    owner, reading, count = owner[order], reading[order], counts.count[order]
    start = np.searchsorted(owner, np.arange(groups))
    kinds = np.bincount(owner, minlength=groups)
    rows = np.flatnonzero((found.begin < within) & (found.reading != NONE) & (kinds[found.context] > 1))
    group = found.context[rows]
    top, second = start[group], start[group] + 1
    mine = found.reading[rows]
    own = counts.of(group, mine)
    most = count[top]
    tied = (own == most) & (count[second] == most)
    wrong = (own < most) | tied
    proposal = np.where(reading[top] == mine, reading[second], reading[top])
    share = most / counts.total[group]
    score = share * (1 - 1 / counts.total[group])
    return Variation(ints(rows[wrong]), score[wrong], ints(proposal[wrong]), ints(group[wrong]))
