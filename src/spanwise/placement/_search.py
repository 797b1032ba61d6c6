"""Runs of whole tokens that spell one of many patterns, found in one walk over the text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from spanwise.columns import Bools, Codes, Ints, codes, ints, offsets, run_positions
from spanwise.corpus import Corpus

BLANK, BORDER = ord(" "), 0  # in a stream of characters
CHARACTERS = 0x110000  # a number above every character


def characters(text: str) -> list[int]:
    """The numbers of the characters of a text; NUL, which stands for a border, is none."""
    return [ord(char) or -1 for char in text]


class Stream(Struct, frozen=True, eq=False):
    """The tokens of a corpus as symbols (words or characters), with a border behind every sentence.

    Token `i` has the symbols `begin[i]` … `end[i] - 1`; it may have none.
    """

    symbols: Codes
    begin: Ints
    end: Ints

    @classmethod
    def of(
        cls, corpus: Corpus, spelled: Sequence[Sequence[int]], *, border: int, blank: int | None
    ) -> Stream:
        """The stream of a corpus, given how each word of its vocabulary is spelled.

        Args:
            border: the symbol behind each sentence.
            blank: the symbol between two tokens with white space between them; None: nothing.
        """
        sizes = np.fromiter(map(len, spelled), np.int64, len(spelled))
        at = offsets(sizes)
        flat = np.fromiter((symbol for word in spelled for symbol in word), np.int32, int(at[-1]))
        own = sizes[corpus.tokens]
        behind = np.zeros(len(own), dtype=np.int64)
        if blank is not None:
            behind[_spaced(corpus)] = 1
        full = corpus.sentences[1:][corpus.lengths > 0]
        behind[full - 1] = 1
        places = offsets(own + behind)
        symbols = np.full(int(places[-1]), border if blank is None else blank, dtype=np.int32)
        symbols[run_positions(places[:-1], own)] = flat[run_positions(at[:-1][corpus.tokens], own)]
        symbols[places[full] - 1] = border
        return cls(codes(symbols), ints(places[:-1]), ints(places[:-1] + own))


def _spaced(corpus: Corpus) -> Bools:
    """Behind which tokens there is white space: all, unless the text itself says otherwise."""
    if corpus.token_start is None or corpus.token_end is None:
        return np.ones(len(corpus.tokens), dtype=bool)
    spaced = np.zeros(len(corpus.tokens), dtype=bool)
    spaced[:-1] = corpus.token_end[:-1] != corpus.token_start[1:]
    return spaced


class Found(Struct, frozen=True, eq=False):
    """Runs of tokens that spell a pattern: the number of the pattern, first token, one behind the last."""

    pattern: Ints
    start: Ints
    end: Ints


def find(stream: Stream, patterns: Sequence[Sequence[int]], size: int) -> Found:
    """Every run of whole tokens whose symbols are one of the patterns.

    Args:
        patterns: distinct, none of them empty.
        size: a number above every symbol.
    """
    token_behind = np.full(len(stream.symbols) + 1, -1, dtype=np.int64)
    spelled = np.flatnonzero(stream.end > stream.begin)
    token_behind[stream.end[spelled]] = spelled + 1
    pattern, origin, behind = _walk(stream.symbols, stream.begin[spelled], patterns, size, token_behind >= 0)
    return Found(pattern, ints(spelled[origin]), ints(token_behind[behind]))


def find_everywhere(symbols: Codes, patterns: Sequence[Sequence[int]], size: int) -> tuple[Ints, Ints]:
    """The number and the place of every occurrence of a pattern among symbols, at any place."""
    anywhere = np.ones(len(symbols) + 1, dtype=bool)
    pattern, place, _ = _walk(symbols, ints(np.arange(len(symbols))), patterns, size, anywhere)
    return pattern, place


def _walk(
    symbols: Codes, places: Ints, patterns: Sequence[Sequence[int]], size: int, may_end: Bools
) -> tuple[Ints, Ints, Ints]:
    """Which patterns begin at which of the places, and the position behind their last symbol.

    All places are walked at once through the tree of the patterns' beginnings, one symbol per step, and
    drop out where no pattern goes on, so that the cost is that of reading the text, whatever the
    number of patterns.
    """
    lengths = np.fromiter(map(len, patterns), np.int64, len(patterns))
    at = offsets(lengths)
    flat = np.fromiter((symbol for one in patterns for symbol in one), np.int64, int(at[-1]))
    origin, place = np.arange(len(places)), np.asarray(places)
    node = np.zeros(len(places), dtype=np.int64)
    rest, own = np.arange(len(patterns)), np.zeros(len(patterns), dtype=np.int64)
    found: list[tuple[Ints, Ints, Ints]] = [(ints([]), ints([]), ints([]))]
    for depth in range(int(lengths.max(initial=0))):
        longer = lengths[rest] > depth
        rest = rest[longer]
        edges, own = np.unique(own[longer] * size + flat[at[rest] + depth], return_inverse=True)
        inside = place < len(symbols)
        origin, place, node = origin[inside], place[inside], node[inside]
        key = node * size + symbols[place]
        edge = np.searchsorted(edges, key)
        edge[edge == len(edges)] = 0
        onward = edges[edge] == key
        origin, place, node = origin[onward], place[onward] + 1, edge[onward]
        complete = np.full(len(edges), -1, dtype=np.int64)
        ending = lengths[rest] == depth + 1
        complete[own[ending]] = rest[ending]
        at_end = (complete[node] >= 0) & may_end[place]
        found.append((ints(complete[node[at_end]]), ints(origin[at_end]), ints(place[at_end])))
    pattern, begun, behind = (ints(np.concatenate([one[i] for one in found])) for i in range(3))
    return pattern, begun, behind
